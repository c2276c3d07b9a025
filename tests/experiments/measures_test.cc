#include "quorate/experiments/measures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "support/experiment.h"

namespace quorate::test {
namespace {

TEST(Measures, WhatIsNotDefinedIsNullAndCountsAreWhole) {
  EXPECT_TRUE(number(std::nan("")).is_null());
  EXPECT_EQ(object({{"labels", 3}, {"accuracy", std::nan("")}}).dump(), R"({"labels":3,"accuracy":null})");
  EXPECT_EQ(limits_json({}, true).dump(), R"({"total":null,"rate":null,"per_task":null,"pace":"even"})");
}

TEST(Measures, TheDocumentHasEveryRunAndItsMeans) {
  const ExperimentData data = small_experiment();
  SimulateOptions run;
  run.learner = parse_spec("perceptron");
  run.runs = 3;
  run.per_task = true;
  std::vector<Json> steps;
  run.trace = [&](const TraceLine& line) { steps.push_back(trace_json(line, data)); };
  const SimulateResult result = data.simulate(run);
  const Json out = document(result, data, run);
  ASSERT_EQ(out["runs"].size(), 3u);
  EXPECT_EQ(out["runs"][0]["labels"], 40);
  EXPECT_EQ(out["mean"]["labels"], 40.0);
  EXPECT_EQ(out["std"]["labels"], 0.0);
  EXPECT_EQ(out["runs"][2]["per_task"]["u"]["examples"], 20);
  EXPECT_THAT(values_of(result, "labels"), testing::ElementsAre(40, 40, 40));
  ASSERT_EQ(steps.size(), 120u);
  EXPECT_EQ(steps.back()["run"], 2);
}

}  // namespace
}  // namespace quorate::test
