#include "quorate/base/instance_queue.h"

#include <gtest/gtest.h>

#include <deque>

#include "quorate/base/rng.h"

namespace quorate {
namespace {

struct Note {
  double number = 0;
  static constexpr auto fields() { return std::make_tuple(std::pair{"number", &Note::number}); }
};
using Queue = InstanceQueue<Note>;

struct Made {
  std::vector<Index> index;
  std::vector<double> value;
  Task task;
  Example example() const { return {task, {index, value, 2}, 0}; }
};

Made made(std::size_t features, Task task, bool dense) {
  Made out{{}, {}, task};
  for (std::size_t k = 0; k < features; ++k) {
    if (!dense) out.index.push_back(static_cast<Index>(5 * k + task % 3));
    out.value.push_back(0.5 * static_cast<double>(k + task));
  }
  return out;
}

void expect_same(const Queue& queue, const std::deque<Made>& model) {
  ASSERT_EQ(queue.size(), model.size());
  std::size_t values = 0;
  for (std::size_t i = 0; i < model.size(); ++i) {
    const Example e = queue.example(i);
    EXPECT_EQ(e.task, model[i].task);
    EXPECT_EQ(e.x.norm, 2);
    EXPECT_EQ(queue[i].number, model[i].task);
    EXPECT_TRUE(std::ranges::equal(e.x.index, model[i].index));
    EXPECT_TRUE(std::ranges::equal(e.x.value, model[i].value));
    values += model[i].value.size();
  }
  EXPECT_EQ(queue.values(), values);
}

TEST(InstanceQueue, IsAListOfInstancesWhateverIsPushedPoppedAndErased) {
  for (const std::size_t limit : {std::size_t{100'000}, Memory::kNoLimit}) {
    Memory memory(limit);
    Queue queue(&memory, 40, 300, true);
    std::deque<Made> model;
    Rng rng = make_rng(4, 0);
    for (Task task = 0; task < 3'000; ++task) {
      const Made m = made(below(20, rng), task, below(2, rng) == 0);
      ASSERT_TRUE(queue.could_fit(m.value.size()));
      ASSERT_TRUE(queue.take_memory());
      const std::size_t bytes = memory.bytes();
      for (; !queue.fits(m.value.size()); queue.pop()) model.pop_front();
      queue.push(m.example(), {static_cast<double>(task)});
      model.push_back(m);
      if (limit != Memory::kNoLimit) {
        EXPECT_EQ(memory.bytes(), bytes) << "all was taken at the first";
      }
      if (task % 50 != 49) continue;
      const auto odd = [](const auto& item) { return item.task % 7 == 3; };
      EXPECT_EQ(queue.erase_if(odd), std::erase_if(model, odd));
      expect_same(queue, model);
      Memory there(limit);
      Queue loaded(&there, 40, 300, true);
      loaded.unpack(queue.pack());
      expect_same(loaded, model);
      EXPECT_EQ(there.bytes() == memory.bytes(), limit != Memory::kNoLimit || there.bytes() == memory.bytes());
    }
  }
}

TEST(InstanceQueue, AnEmptiedOneGivesItsMemoryBack) {
  Memory memory(100'000);
  Queue queue(&memory, 10, 100, false);
  ASSERT_TRUE(queue.take_memory());
  queue.push(made(3, 1, false).example(), {1});
  EXPECT_GT(memory.bytes(), 0u);
  queue.erase_if([](const auto&) { return true; });
  EXPECT_EQ(memory.bytes(), 0u);
}

TEST(InstanceQueue, RefusesWhatCannotBe) {
  Queue queue(std::pmr::get_default_resource(), 10, 100, false);
  for (Task task = 0; task < 3; ++task) queue.push(made(4, task, false).example(), {0});
  const Queue::Packed good = queue.pack();
  const auto refused = [&](auto spoil) {
    Queue::Packed packed = good;
    spoil(packed);
    Queue loaded(std::pmr::get_default_resource(), 10, 100, false);
    EXPECT_THROW(loaded.unpack(packed), DataError);
  };
  refused([](auto& p) { p.norm = {1.0, 2.0}; });
  refused([](auto& p) { p.norm = {1.0, 2.0, std::numeric_limits<double>::quiet_NaN()}; });
  refused([](auto& p) { p.value_end = {4, 8, 11}; });
  refused([](auto& p) { p.value_end = {4, 2, 12}; });
  refused([](auto& p) { p.index_end = {3, 8, 12}; });
  refused([](auto& p) { std::get<0>(p.extra) = {0.0}; });
  refused([](auto& p) {
    auto list = p.index.list();
    std::swap(list[0], list[1]);
    p.index = list;
  });
  Queue small(std::pmr::get_default_resource(), 2, 100, false);
  EXPECT_THROW(small.unpack(good), DataError);
}

}  // namespace
}  // namespace quorate
