#include "quorate/experiments/splits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "support/make.h"

namespace quorate::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// Examples of the tasks given, in order.
Dataset data_of(const std::vector<Task>& tasks) {
  Dataset out;
  for (const Task task : tasks) out.add(task, kYes, dense({1}));
  return out;
}

TEST(Splits, EachGroupGivesAsManyToLearnFromAndTheRestIsTestedOn) {
  const Dataset data = data_of({0, 1, 0, 1, 0, 2, 0});
  Rng rng = make_rng(1, 0);
  const auto task = [&](std::uint64_t i) { return std::size_t{data.task(i)}; };
  const auto name = [](std::size_t g) { return "task " + std::to_string(g); };
  const Split split = split_per_group(data.size(), 2, task, name, 2, rng);  // task 2 is left out
  std::size_t learned[2] = {0, 0};
  for (const std::uint64_t i : split.learn) ++learned[data.task(i)];
  EXPECT_THAT(learned, ElementsAre(2, 2));
  std::set<std::uint64_t> all(split.learn.begin(), split.learn.end());
  all.insert(split.test.begin(), split.test.end());
  EXPECT_THAT(all, ElementsAre(0, 1, 2, 3, 4, 6));
  EXPECT_EQ(split.learn.size() + split.test.size(), 6u);
  try {
    split_per_group(data.size(), 3, task, name, 2, rng);
    FAIL();
  } catch (const DataError& e) {
    EXPECT_THAT(e.what(), HasSubstr("task 2 has 1 example; expected at least the 2"));
  }
}

TEST(Splits, FoldsTestEveryExampleOnce) {
  std::multiset<std::uint64_t> tested;
  for (std::uint64_t fold = 0; fold < 3; ++fold) {
    const Split split = split_folds(10, 3, fold, make_rng(5, 0));
    EXPECT_EQ(split.learn.size() + split.test.size(), 10u);
    tested.insert(split.test.begin(), split.test.end());
  }
  EXPECT_EQ(tested.size(), 10u);
  for (std::uint64_t i = 0; i < 10; ++i) EXPECT_EQ(tested.count(i), 1u);
}

TEST(Splits, RoundsTakeTheNextExampleOfEveryTask) {
  const Dataset data = data_of({1, 1, 0, 2, 0, 1});
  const std::vector<std::uint64_t> order{5, 0, 2, 3, 4, 1};
  const Schedule s = rounds_per_task(data, order, 3);
  ASSERT_EQ(s.rounds(), 3u);
  EXPECT_THAT(s.round(0), ElementsAre(2, 5, 3));
  EXPECT_THAT(s.round(1), ElementsAre(4, 0));
  EXPECT_THAT(s.round(2), ElementsAre(1));
  const Schedule ones = rounds_of_one(order);
  ASSERT_EQ(ones.rounds(), 6u);
  EXPECT_THAT(ones.round(0), ElementsAre(5));
  EXPECT_THAT(ones.round(5), ElementsAre(1));
}

TEST(Splits, AShareIsHeldOutAtRandomOrAtTheEnd) {
  Rng rng = make_rng(3, 0);
  for (const double share : {0.0001, 0.2, 0.9999}) {
    const Split split = split_share(50, share, false, rng);
    std::vector<std::uint64_t> all = split.learn;
    EXPECT_TRUE(std::is_sorted(all.begin(), all.end()));
    all.insert(all.end(), split.test.begin(), split.test.end());
    std::sort(all.begin(), all.end());
    EXPECT_EQ(all, learn_all(50).learn);
    EXPECT_EQ(split.test.size(), share == 0.2 ? 10u : share < 0.2 ? 1u : 49u);
  }
  EXPECT_NE(split_share(50, 0.2, false, rng).test, split_share(50, 0.2, false, rng).test);
  EXPECT_EQ(split_share(5, 0.4, true, rng).test, (std::vector<std::uint64_t>{3, 4}));
}

}  // namespace
}  // namespace quorate::test
