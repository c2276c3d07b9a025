#include "quorate/experiments/experiment_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/temp.h"

namespace quorate::test {
namespace {

TEST(ExperimentData, ReadsBothPartsWithOneSetOfTasksAndFeatures) {
  const TempDir dir;
  const std::string learn = dir.write("a.csv", "task,label,n\nu,1,5\nv,-1,6\n"),
                    test = dir.write("b.csv", "task,label,n\nv,1,7\nw,-1,8\n");
  ExperimentData data;
  data.read(learn, {}, data.train);
  data.read(test, {}, data.test);
  data.tested = true;
  data.finish();
  EXPECT_EQ(data.tasks.size(), 3u);
  EXPECT_EQ(data.train.task(1), data.test.task(0));
  EXPECT_EQ(data.train.example(0).x.size(), data.test.example(0).x.size());
  SimulateOptions run;
  run.learner = parse_spec("perceptron");
  EXPECT_EQ(data.examples(run), 2u);
  EXPECT_FALSE(std::isnan(data.simulate(run).runs[0].all.test.accuracy));
}

TEST(ExperimentData, ClassesComeInOrderAndAreTheTasks) {
  const TempDir dir;
  ExperimentData data({}, "", "one-vs-rest");
  data.read(dir.write("a.csv", "label,n\nred,1\nblue,2\nred,3\n"), {}, data.train);
  data.finish();
  EXPECT_THAT(data.reduction.classes(), testing::ElementsAre("blue", "red"));
  EXPECT_EQ(data.train.label(0).class_index(), 1u);
  EXPECT_EQ(data.tasks.size(), 2u);
}

TEST(ExperimentData, CountsSkippedLinesAndEndsWhenStopped) {
  const TempDir dir;
  const std::string path = dir.write("a.csv", "label,n\n1,1\n1,x\n0,3\n1,4\n");
  ReadOptions options;
  options.skip_bad_lines = true;
  ExperimentData data;
  const auto skipped = data.read(path, options, data.train);
  EXPECT_EQ(skipped.lines, 1u);
  EXPECT_THAT(skipped.first, testing::HasSubstr("'x'"));
  std::stop_source stop;
  stop.request_stop();
  options.stop = stop.get_token();
  ExperimentData none;
  none.read(path, options, none.train);
  EXPECT_EQ(none.train.size(), 0u);
}

TEST(ExperimentData, RefusesAReductionThereIsNotAndClassesWithAPositiveWord) {
  EXPECT_THROW(ExperimentData({}, "", "one"), UsageError);
  EXPECT_THROW(ExperimentData({}, "spam", "one-vs-one"), UsageError);
}

}  // namespace
}  // namespace quorate::test
