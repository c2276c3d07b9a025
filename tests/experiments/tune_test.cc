#include "quorate/experiments/tune.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/experiment.h"

namespace quorate::test {
namespace {

using testing::ElementsAre;

TEST(Tune, AGridHasAllCombinationsAndRangesAtEqualRatios) {
  const Grid grid = parse_grid("cmtl(query=margin)", "query.b=1..100:3,scale=none,auto");
  EXPECT_THAT(grid.parameters, ElementsAre("query.b", "scale"));
  ASSERT_EQ(grid.settings.size(), 6u);
  EXPECT_THAT(grid.settings[2].values, ElementsAre("10", "none"));
  EXPECT_THAT(grid.settings[5].values, ElementsAre("100", "auto"));
}

TEST(Tune, RefusesABadGrid) {
  for (const char* text : {"1,2", "b=", "b=1..0:3", "b=1..2:1", "b=1..2:1001", "b=0..1:3"})
    EXPECT_THROW(parse_grid("perceptron", text), UsageError) << text;
}

TEST(Tune, OfEqualSettingsTheFirstIsBest) {
  const ExperimentData data = small_experiment();
  SimulateOptions run;
  run.folds = 4;
  WorkDone done;
  const Tuned tuned = tune(data, parse_grid("perceptron", "scale=none,none"), "accuracy", run, done);
  EXPECT_EQ(tuned.best, 0u);
  ASSERT_EQ(tuned.rows.size(), 2u);
  EXPECT_EQ(tuned.rows[0].score.mean, tuned.rows[1].score.mean);
  const Json out = document(tuned);
  EXPECT_EQ(out["folds"], 4);
  EXPECT_EQ(out["settings"][0]["parameters"]["scale"], "none");
  EXPECT_THROW(tune(data, parse_grid("perceptron", "scale=none"), "no such measure", run, done), DataError);
}

}  // namespace
}  // namespace quorate::test
