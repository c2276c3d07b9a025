#include "quorate/stream/dataset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/make.h"
#include "support/temp.h"

namespace quorate::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<double> values(const Features& x) { return {x.value.begin(), x.value.end()}; }

TEST(Dataset, KeepsDenseAndSparseExamplesAsTheyCame) {
  Dataset data;
  data.add(0, kYes, dense({1, 2}));
  data.add(1, kNo, sparse({3, 9}, {5, 6}));
  data.add(0, {}, dense({}));
  data.add(2, kYes, sparse({9}, {7}));
  ASSERT_EQ(data.size(), 4u);
  EXPECT_TRUE(data.example(0).x.dense());
  EXPECT_THAT(values(data.example(0).x), ElementsAre(1, 2));
  EXPECT_THAT(std::vector<Index>(data.example(1).x.index.begin(), data.example(1).x.index.end()), ElementsAre(3, 9));
  EXPECT_THAT(values(data.example(1).x), ElementsAre(5, 6));
  EXPECT_EQ(data.example(2).x.size(), 0u);
  EXPECT_THAT(values(data.example(3).x), ElementsAre(7));
  EXPECT_EQ(data.example(3).task, 2u);
  EXPECT_EQ(data.label(1).code(), -1);
  EXPECT_EQ(data.label(2).code(), 0);
  EXPECT_EQ(data.distinct_features(), 4u) << "0, 1, 3 and 9";
}

TEST(Dataset, ReadsAFileWithItsTasksAndLabels) {
  const TempDir dir;
  Featurizer featurizer({.bits = 0, .bias = false, .normalize = false});
  Labels labels("yes");
  ExampleReader examples(dir.write("a.csv", "id,task,label,n\n1,u,yes,5\n2,v,no,6\n3,u,,7\n4,,yes,8\n"), {}, featurizer,
                         labels);
  NameTable tasks;
  tasks.intern("v");
  Dataset data;
  data.read(examples, tasks);
  ASSERT_EQ(data.size(), 4u);
  EXPECT_EQ(data.task(0), 1u);
  EXPECT_EQ(data.task(1), 0u);
  EXPECT_EQ(tasks[data.task(3)], kOnlyTask) << "no task named";
  EXPECT_THAT((std::vector{int{data.label(0).code()}, int{data.label(1).code()}, int{data.label(2).code()},
                           int{data.label(3).code()}}),
              ElementsAre(1, -1, 0, 1));
}

TEST(Dataset, KnowsTheTimesThereAre) {
  const TempDir dir;
  Featurizer featurizer;
  Labels labels;
  ReadOptions o;
  o.time = "when";
  ExampleReader examples(dir.write("a.csv", "when,label,a\n,1,1\n1970-01-02,1,1\n,1,1\n0.5,1,1\n"), o, featurizer, labels);
  NameTable tasks;
  Dataset data;
  data.read(examples, tasks);
  ASSERT_EQ(data.size(), 4u);
  EXPECT_EQ(data.time(0), std::nullopt);
  EXPECT_EQ(data.time(1), 86400);
  EXPECT_EQ(data.time(2), std::nullopt);
  EXPECT_EQ(data.time(3), 0.5);
  data = {};
  data.add(0, kYes, dense({1}));
  EXPECT_EQ(data.time(0), std::nullopt) << "no time at all";
}

TEST(ExampleReader, ALabelOutsideTheSetIsABadLine) {
  const TempDir dir;
  const std::string path = dir.write("a.svm", "1 1:1\nspam 1:2\n-1 1:3\n0 1:4\n1 1:5\n");
  Featurizer featurizer;
  Labels labels;
  ExampleReader::Item item;
  {
    ExampleReader examples(path, {}, featurizer, labels);
    EXPECT_TRUE(examples.next(item));
    try {
      examples.next(item);
      FAIL() << "accepted";
    } catch (const LineError& e) {
      EXPECT_THAT(e.what(), AllOf(HasSubstr(path + ":2"), HasSubstr("'spam'"), HasSubstr("expected")));
    }
  }
  ReadOptions o;
  o.skip_bad_lines = true;
  ExampleReader examples(path, o, featurizer, labels);
  std::vector<int> seen;
  while (examples.next(item)) seen.push_back(item.label.code());
  EXPECT_THAT(seen, ElementsAre(1, -1, 1)) << "-1 first, so 0 is another kind of negative";
  EXPECT_EQ(examples.skipped(), 2u);
  EXPECT_THAT(examples.first_skipped(), HasSubstr(path + ":2"));
}

}  // namespace
}  // namespace quorate::test
