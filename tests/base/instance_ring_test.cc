#include "quorate/base/instance_ring.h"

#include <gtest/gtest.h>

#include <deque>
#include <limits>

#include "quorate/base/rng.h"

namespace quorate {
namespace {

struct RingNote {
  double number = 0;
  static constexpr auto fields() { return std::make_tuple(std::pair{"number", &RingNote::number}); }
};
using Ring = InstanceRing<RingNote>;

struct RingMade {
  std::vector<Index> index;
  std::vector<double> value;
  Task task;
  Example example() const { return {task, {index, value, 2}, 0}; }
};

RingMade made_for_ring(std::size_t features, Task task, bool dense) {
  RingMade out{{}, {}, task};
  for (std::size_t k = 0; k < features; ++k) {
    if (!dense) out.index.push_back(static_cast<Index>(5 * k + task % 3));
    out.value.push_back(0.5 * static_cast<double>(k + task));
  }
  return out;
}

void expect_same(const Ring& ring, const std::deque<RingMade>& model) {
  ASSERT_EQ(ring.size(), model.size());
  UnpackedInstance memory;
  for (std::size_t i = 0; i < model.size(); ++i) {
    const Example e = ring.example(i, memory);
    EXPECT_EQ(e.task, model[i].task);
    EXPECT_EQ(e.x.norm, 2);
    EXPECT_EQ(ring[i].number, model[i].task);
    EXPECT_TRUE(std::ranges::equal(e.x.index, model[i].index));
    EXPECT_TRUE(std::ranges::equal(e.x.value, model[i].value));
  }
}

TEST(InstanceRing, IsAListOfInstancesWhateverIsPushedPoppedAndErased) {
  for (const std::size_t limit : {std::size_t{100'000}, Memory::kNoLimit}) {
    Memory memory(limit);
    Ring ring(&memory, 40, 900);
    std::deque<RingMade> model;
    Rng rng = make_rng(4, 0);
    std::vector<std::byte> buffer;
    std::size_t bytes_before = 0;
    for (Task task = 0; task < 3'000; ++task) {
      const RingMade m = made_for_ring(below(20, rng), task % 300, below(2, rng) == 0);
      const auto packed = pack_instance(m.example().x, buffer);
      ASSERT_TRUE(ring.could_fit(packed.size()));
      ASSERT_TRUE(ring.take_memory());
      if (bytes_before == 0 && limit != Memory::kNoLimit) bytes_before = memory.bytes();
      for (; !ring.fits(packed.size()); ring.pop()) model.pop_front();
      ring.push(m.example(), packed, {static_cast<double>(m.task)});
      model.push_back(m);
      if (limit != Memory::kNoLimit) {
        EXPECT_EQ(memory.bytes(), bytes_before) << "all was taken at the first";
      }
      if (task % 50 != 49) continue;
      const auto odd = [](const auto& item) { return item.task % 7 == 3; };
      EXPECT_EQ(ring.erase_if(odd), std::erase_if(model, odd));
      expect_same(ring, model);
      Memory there(limit);
      Ring loaded(&there, 40, 900);
      loaded.unpack(ring.pack());
      expect_same(loaded, model);
      if (limit != Memory::kNoLimit) {
        EXPECT_EQ(there.bytes(), memory.bytes());
      }
    }
  }
}

TEST(InstanceRing, AnEmptiedOneGivesItsMemoryBack) {
  Memory memory(100'000);
  Ring ring(&memory, 10, 1'000);
  ASSERT_TRUE(ring.take_memory());
  std::vector<std::byte> buffer;
  const RingMade m = made_for_ring(3, 1, false);
  ring.push(m.example(), pack_instance(m.example().x, buffer), {1});
  EXPECT_GT(memory.bytes(), 0u);
  ring.erase_if([](const auto&) { return true; });
  EXPECT_EQ(memory.bytes(), 0u);
}

TEST(InstanceRing, RefusesWhatCannotBe) {
  Ring ring(std::pmr::get_default_resource(), 10, 1'000);
  std::vector<std::byte> buffer;
  for (Task task = 0; task < 3; ++task) {
    const RingMade m = made_for_ring(4, task, false);
    ring.push(m.example(), pack_instance(m.example().x, buffer), {0});
  }
  const Ring::Packed good = ring.pack();
  const auto refused = [&](auto spoil) {
    Ring::Packed packed = good;
    spoil(packed);
    Ring loaded(std::pmr::get_default_resource(), 10, 1'000);
    EXPECT_THROW(loaded.unpack(packed), DataError);
  };
  refused([](auto& p) { p.norm = {1.0, 2.0}; });
  refused([](auto& p) { p.norm = {1.0, 2.0, std::numeric_limits<double>::quiet_NaN()}; });
  refused([](auto& p) { p.end = {4, 8, 11}; });
  refused([](auto& p) {
    auto end = p.end.list();
    std::swap(end[0], end[1]);
    p.end = end;
  });
  refused([](auto& p) { std::get<0>(p.extra) = {0.0}; });
  refused([](auto& p) {
    auto bytes = p.bytes.list();
    bytes[4] = 3;  // three bytes for a difference
    p.bytes = bytes;
  });
  refused([](auto& p) {
    auto bytes = p.bytes.list();
    bytes.push_back(0);
    p.bytes = bytes;
  });
  Ring small(std::pmr::get_default_resource(), 2, 1'000);
  EXPECT_THROW(small.unpack(good), DataError);
}

}  // namespace
}  // namespace quorate
