#include "quorate/experiments/compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/experiment.h"

namespace quorate::test {
namespace {

using testing::ElementsAre;

TEST(Compare, EveryLearnerAtEveryBudgetBesideTheFirstAtTheSameBudget) {
  const ExperimentData data = small_experiment();
  WorkDone done;
  const Comparison found = compare(data, {"perceptron", "cmtl"}, "10,50%", {}, done);
  ASSERT_EQ(found.rows.size(), 4u);
  EXPECT_EQ(found.by, "progressive_f1") << "no test set";
  EXPECT_THAT(values_of(found.rows[1].result, "labels"), ElementsAre(20));
  EXPECT_EQ(&found.baseline(found.rows[3]), &found.rows[1]);
  EXPECT_EQ(done.fraction(), 1);
  const Json out = document(found);
  EXPECT_EQ(out["learners"][0]["label_budget"], 10);
  EXPECT_EQ(out["learners"][0]["against_first"]["difference"], 0.0);
}

TEST(Compare, RefusesBudgetsThatAreNoNumbersOrBesideALimit) {
  const ExperimentData data = small_experiment();
  WorkDone done;
  for (const char* budgets : {"x", "1.5", "101%", "1,,2", "-1"})
    EXPECT_THROW(compare(data, {"cmtl"}, budgets, {}, done), UsageError) << budgets;
  SimulateOptions run;
  run.learning.labels = {"5"};
  EXPECT_THROW(compare(data, {"cmtl"}, "5", run, done), UsageError);
}

TEST(Compare, StopsWhenAsked) {
  const ExperimentData data = small_experiment();
  std::stop_source stop;
  stop.request_stop();
  SimulateOptions run;
  run.stop = stop.get_token();
  WorkDone done;
  EXPECT_TRUE(compare(data, {"cmtl", "cohort"}, "", run, done).interrupted);
}

}  // namespace
}  // namespace quorate::test
