#include "quorate/model/report.h"

#include <gtest/gtest.h>

#include "support/make.h"

namespace quorate::test {
namespace {

Model learned(Reduction reduction, const LearningOptions& options, int examples) {
  Labels labels = reduction.has_classes() ? Labels::of_classes(ClassNames(reduction.classes()), false) : Labels("");
  Model model = Model::make(parse_spec("cohort(query=always)"), options, {.bits = 12}, std::move(labels), reduction);
  for (int n = 0; n < examples; ++n) {
    const Vector x = dense({1, n % 2 ? 1.0 : -1.0});
    model.learn({model.task(n % 3 ? "ann" : "bob"), x}, reduction.label_of(static_cast<std::size_t>(n % 2)));
  }
  return model;
}

TEST(Report, SaysWhatTheModelHolds) {
  Model model = learned({}, {.labels = {"30", "5/10"}, .labels_per_task = 20, .memory = ByteSize{1'000'000}}, 40);
  const Vector x = dense({1, 0});
  const Instance one{model.task("ann"), x};
  model.session.set_limits({.total = 31});
  ASSERT_TRUE(model.decide({&one, 1}).outcomes[0].ticket);
  const Json report = to_json(Report(model));
  EXPECT_EQ(report["learner"], to_text(model.session.spec()));
  EXPECT_EQ(report["examples"], 41);
  EXPECT_EQ(report["labels"]["bought"], report["labels"]["answered"].get<int>() + 1);
  EXPECT_EQ(report["labels"]["pending"], 1);
  EXPECT_EQ(report["labels"]["limit"], 31);
  EXPECT_EQ(report["memory_limit"], 1'000'000);
  EXPECT_EQ(report["task_count"], 2);
  EXPECT_TRUE(report["audit"].is_null());
  EXPECT_TRUE(report["reduction"].is_null());
  EXPECT_TRUE(report["users"].is_null());
  EXPECT_EQ(report["settings"]["bits"], 12);
  EXPECT_EQ(report["settings"]["labels"], Json({"30", "5/10"}));
  EXPECT_EQ(report["settings"]["memory"], 1'000'000);
  EXPECT_EQ(report["settings"]["keep_labels"], 16'000'000);
  EXPECT_TRUE(report["settings"]["pace"].is_null());
}

TEST(Report, OfClassesAndUsersHasTheirNumbersAndAudits) {
  const Model model = learned(Reduction(Reduction::Kind::kOneVsRest, {"a", "b", "c"}, true), {.audit = 0.5}, 200);
  const Report report(model);
  EXPECT_EQ(report.users, 2U);
  EXPECT_EQ(report.tasks, 6U);
  EXPECT_EQ(report.reduction, "one-vs-rest");
  EXPECT_EQ(report.classes, (std::vector<std::string>{"a", "b", "c"}));
  ASSERT_TRUE(report.audit);
  EXPECT_EQ(report.audit->labels, model.session.audit()->bought());
  const Json audit = to_json(report)["audit"];
  EXPECT_EQ(audit["now"]["accuracy"]["audits"], report.audit->now.accuracy.examples);
  EXPECT_TRUE(audit["now"]["recall"]["value"].is_null()) << "of many classes there is none, and NaN is no JSON";
}

}  // namespace
}  // namespace quorate::test
