#include "quorate/engine/explanation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "quorate/engine/round_builder.h"
#include "quorate/learner.h"

namespace quorate {
namespace {

using ::testing::ElementsAre;

/// A model of two users that learned which of two words means +1; "own" does so for ann only.
Model learned(const std::string& learner, std::optional<Classes> classes = {}) {
  Labels labels = classes ? Labels::of_classes(ClassNames(classes->names()), false) : Labels("");
  Model model = Model::make(parse_spec(learner), {}, {.bits = 0}, std::move(labels), std::move(classes));
  RoundBuilder builder(model.session, model.classes ? &*model.classes : nullptr,
                       resolve_rounds({}, model.classes.has_value(), model.session.learner().capabilities()));
  for (int n = 0; n < 200; ++n) {
    Record r;
    const bool yes = n % 3 == 0, ann = n % 2 == 0;
    r.add_name(yes ? "good" : "bad", 1);
    if (yes == ann) r.add_name("own", 1);
    r.add_name("same", 1);
    const bool by_task = !model.classes || model.users();
    const Task task = by_task ? model.session.task(ann ? "ann" : "bob") : 0;
    builder.add(task, model.labels(model.classes ? (yes ? "b" : "a") : (yes ? "1" : "-1")), {}, model.featurizer(r));
  }
  builder.flush();
  return model;
}

std::vector<Reason> reasons_of(Model& model, const char* user, std::size_t count, std::size_t predicted = 0) {
  Record r;
  for (const char* name : {"good", "own", "same"}) r.add_name(name, 1);
  const Features x = model.featurizer(r, false);
  return explain(model, model.session.known_task(user), x, model.featurizer.names(r), predicted, count);
}

TEST(Explanation, NamesTheFeaturesThatDecidedInOrder) {
  Model model = learned("cohort(query=always, scale=none)");
  const auto found = reasons_of(model, "ann", 10);
  ASSERT_EQ(found.size(), 4u);  // and the constant
  EXPECT_EQ(found[0].feature, "good");
  EXPECT_GT(found[0].part.shared, 0);
  double last = 1e9;
  for (const Reason& r : found) {
    EXPECT_NEAR(r.value, 1, 1e-12);
    EXPECT_GT(r.part.uncertainty, 0);
    EXPECT_LE(std::abs(r.part.shared + r.part.own), last);
    last = std::abs(r.part.shared + r.part.own);
  }
  EXPECT_EQ(reasons_of(model, "ann", 2).size(), 2u);
  for (const Reason& r : reasons_of(model, "a stranger", 10)) EXPECT_EQ(r.part.own, 0) << r.feature;
}

TEST(Explanation, OfClassesSumsToTheMarginOfThePredictedOne) {
  for (const auto reduction : {Classes::Reduction::kOneVsRest, Classes::Reduction::kOneVsOne}) {
    Model model = learned("cohort(query=always)", Classes(reduction, {"a", "b"}, true));
    Record r;
    r.add_name("good", 1);
    const Features x = model.featurizer(r, false);
    std::vector<double> margins;
    Classes::Ballot ballot;
    const Task ann = model.session.known_task("ann");
    model.classes->score(model.session.learner(), ann, x, margins);
    const auto predicted = model.classes->predict(margins, ballot);
    EXPECT_EQ(predicted.index, 1u);
    double sum = 0;
    for (const Reason& reason : explain(model, ann, x, model.featurizer.names(r), predicted.index, 10))
      sum += reason.part.shared + reason.part.own;
    EXPECT_NEAR(sum, predicted.margin, 1e-9);
  }
}

TEST(Explanation, OfALearnerWhoseMarginsAreNoSumsIsRefused) {
  Model model = learned("kernel-perceptron");
  EXPECT_THROW(reasons_of(model, "ann", 1), UsageError);
}

}  // namespace
}  // namespace quorate
