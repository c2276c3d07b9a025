#include "quorate/weights/recent_labels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <tuple>
#include <vector>

#include "quorate/base/memory.h"
#include "quorate/base/rng.h"
#include "quorate/store/state.h"

namespace quorate {
namespace {

struct Made {
  std::vector<Index> index;
  std::vector<double> value;
  Task task;
  Example example() const { return {task, {index, value, 1}, 0}; }
};

Made made(std::size_t features, Task task) {
  Made out{{}, {}, task};
  for (std::size_t k = 0; k < features; ++k) {
    out.index.push_back(static_cast<Index>(3 * k + task));
    out.value.push_back(static_cast<double>(task) + 0.5 * static_cast<double>(k));
  }
  return out;
}

TEST(RecentLabels, KeepTheLatestAndGoRoundThem) {
  RecentLabels kept(std::pmr::get_default_resource());
  const Task all = 3 * RecentLabels::kMost + 10;
  for (Task i = 0; i < all; ++i)
    kept.add(made(i % 5, i).example(), {i % 2 == 0 ? 1.0 : -1.0, static_cast<double>(i), 2.0 * i});
  EXPECT_EQ(kept.size(), RecentLabels::kMost);
  for (std::size_t round = 0; round < 2; ++round)
    for (Task i = all - RecentLabels::kMost; i < all; ++i) {
      const auto [item, e] = kept.next();
      const Made m = made(i % 5, i);
      EXPECT_EQ(item->task, i);
      EXPECT_TRUE(std::ranges::equal(e.x.index, m.index));
      EXPECT_TRUE(std::ranges::equal(e.x.value, m.value));
      EXPECT_EQ(item->y, i % 2 == 0 ? 1 : -1);
      EXPECT_EQ(item->alpha, i);
      EXPECT_EQ(item->second, 2.0 * i);
    }
}

TEST(RecentLabels, OfARareClassStay) {
  constexpr std::size_t kMost = RecentLabels::kMost;
  for (const bool stay : {true, false}) {
    RecentLabels kept(std::pmr::get_default_resource(), 0, stay);
    std::vector<Task> order;  // the tasks of the kept labels, oldest first
    const auto positive = [](Task i) { return i % 50 == 0; };
    for (Task i = 0; i < 9 * kMost; ++i) {
      const auto moved = [&](bool stays) {
        std::rotate(order.begin(), order.begin() + 1, order.end());
        if (!stays) order.pop_back();
      };
      ASSERT_TRUE(kept.add(made(i % 5, i).example(), {positive(i) ? 1.0 : -1.0, 0.5 * i, 0}, moved));
      order.push_back(i);
      ASSERT_EQ(kept.size(), order.size());
    }
    std::size_t positives = 0;
    for (std::size_t k = 0; k < kMost; ++k) {
      const Made m = made(order[k] % 5, order[k]);
      EXPECT_EQ(kept[k].task, order[k]);
      EXPECT_EQ(kept[k].alpha, 0.5 * order[k]);
      EXPECT_TRUE(std::ranges::equal(kept.example(k).x.index, m.index));
      EXPECT_TRUE(std::ranges::equal(kept.example(k).x.value, m.value));
      positives += positive(order[k]);
    }
    EXPECT_EQ(positives, stay ? 93 : 11) << "all of them, or those of the latest";
  }
}

TEST(RecentLabels, OfARareClassStayUpToAQuarter) {
  RecentLabels kept(std::pmr::get_default_resource());
  Rng rng = make_rng(5, 0);
  for (Task i = 0; i < 20'000; ++i) kept.add(made(i % 5, i).example(), {below(10, rng) == 0 ? 1.0 : -1.0, 0, 0});
  std::size_t positives = 0;
  for (std::size_t k = 0; k < kept.size(); ++k) positives += kept[k].y > 0;
  EXPECT_TRUE(positives == 127 || positives == 128) << positives;
}

TEST(RecentLabels, OneOfARareClassThatFillsAllRoomDoesNotStay) {
  RecentLabels kept(std::pmr::get_default_resource());
  kept.add(made(300'000, 0).example(), {1, 0, 0});
  for (Task i = 1; i < 600; ++i) kept.add(made(1'000, i).example(), {-1, 0, 0});
  EXPECT_EQ(kept.size(), RecentLabels::kMostBytes / 12 / 1'000);
  EXPECT_EQ(kept[0].y, -1);
}

TEST(RecentLabels, OfARareClassAreAllReturnedHoweverRarelyNextIsCalled) {
  for (const double each : {0.1, 0.5, 1.0, 3.0}) {
    RecentLabels kept(std::pmr::get_default_resource());
    std::vector<int> times(100);
    double due = 0, all = 0, rare = 0;
    for (Task i = 0; i < 50'000; ++i) {  // the first hundred labels are positive, no later one
      for (due += each; due >= 1 && kept.size() > 0; --due, ++all) {
        const auto task = kept.next().first->task;
        if (task < 100) ++times[task], ++rare;
      }
      kept.add(made(3, i).example(), {i < 100 ? 1.0 : -1.0, 0, 0});
    }
    const auto [least, most] = std::ranges::minmax(times);
    EXPECT_GT(least, 0) << each;
    EXPECT_LT(most, 2 * least + 2) << each;
    if (each >= 0.5) {  // fewer calls favour them
      EXPECT_NEAR(rare / all, 100.0 / 512, 0.05) << each;
    }
  }
}

TEST(RecentLabels, StayWithinTheirPartOfTheMemoryWhateverTheSizesAre) {
  for (const std::size_t limit : {200u, 2'000u, 28'000u, 200'000u}) {
    Memory memory(limit);
    RecentLabels kept(&memory);
    Rng rng = make_rng(7, 0);
    for (Task i = 0; i < 5'000; ++i) {
      const std::size_t features = below(10, rng) == 0 ? below(1'000, rng) : below(20, rng);
      kept.add(made(features, i).example(), {below(10, rng) == 0 ? -1.0 : 1.0, 0, 0});
      EXPECT_LE(memory.bytes(), limit / 16) << limit << ' ' << i;
    }
    EXPECT_EQ(kept.size() > 2, limit == 200'000 || limit == 28'000) << limit;
    kept.add(made(limit, 1).example(), {1, 0, 0});  // larger than all room: not kept
    EXPECT_LE(memory.peak(), limit / 16);
  }
}

TEST(RecentLabels, SavedAndLoadedTheyGoOnAsIfNeverSaved) {
  for (const std::size_t limit : {std::size_t{20'000}, Memory::kNoLimit}) {
    Memory here(limit);
    RecentLabels one(&here);
    Rng rng = make_rng(3, 0);
    for (Task i = 0; i < 700; ++i) {
      one.add(made(below(12, rng), i).example(), {below(9, rng) == 0 ? 1.0 : -1.0, 0.25, 0.5});
      one.next();
      if (i % 97 != 5) continue;
      Memory there(limit);
      RecentLabels two(&there);
      two.unpack(one.pack());
      if (limit != Memory::kNoLimit) {
        EXPECT_EQ(there.bytes(), here.bytes()) << i;
      }
      for (Task more = 0; more < 40; ++more) {
        const Made m = made(below(12, rng), i + more);
        one.add(m.example(), {1, static_cast<double>(more), 0.5});
        two.add(m.example(), {1, static_cast<double>(more), 0.5});
        const auto [a, of_a] = one.next();
        const auto [b, of_b] = two.next();
        EXPECT_EQ(std::tie(a->task, a->y, a->alpha), std::tie(b->task, b->y, b->alpha));
        EXPECT_TRUE(std::ranges::equal(of_a.x.index, of_b.x.index) && std::ranges::equal(of_a.x.value, of_b.x.value));
      }
    }
  }
}

TEST(RecentLabels, ADamagedFileIsRefused) {
  RecentLabels kept(std::pmr::get_default_resource());
  for (Task i = 0; i < 5; ++i) kept.add(made(3, i).example(), {1, 0, 0});
  const auto refused = [&](auto damage) {
    RecentLabels::Packed packed = kept.pack();
    damage(packed);
    RecentLabels other(std::pmr::get_default_resource());
    EXPECT_THROW(other.unpack(packed), DataError);
  };
  refused([](auto& p) { p.turn = 6; });
  refused([](auto& p) { std::get<0>(p.queue.extra) = {1, 1, 1, 1}; });
  refused([](auto& p) { std::get<0>(p.queue.extra) = {1, 1, 1, 1, 0.5}; });
  refused([](auto& p) { std::get<1>(p.queue.extra) = {0, 0, 0, 0, -1}; });
  const auto with = [](auto column, std::size_t i, auto value) {
    auto list = column.list();
    list[i] = value;
    return decltype(column)(list);
  };
  refused([&](auto& p) { p.queue.value = with(p.queue.value, 0, std::numeric_limits<double>::infinity()); });
  refused([&](auto& p) { p.queue.index = with(p.queue.index, 0, Index{7}); });
  refused([&](auto& p) { p.queue.index_end = with(p.queue.index_end, 0, std::uint64_t{7}); });
  refused([&](auto& p) { p.queue.value = p.queue.value.part(0, p.queue.value.size() - 1); });
}

}  // namespace
}  // namespace quorate
