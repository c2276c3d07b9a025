#include "quorate/model/explanation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "quorate/learner.h"
#include "quorate/model/round_builder.h"

namespace quorate {
namespace {

using ::testing::ElementsAre;

/// A model of two users that learned which of two words means +1; "own" does so for ann only.
Model learned(const std::string& learner, Reduction reduction = {}, const LearningOptions& options = {},
              std::uint32_t bits = 0) {
  const bool classes = reduction.has_classes();
  Labels labels = classes ? Labels::of_classes(ClassNames(reduction.classes()), false) : Labels("");
  Model model = Model::make(parse_spec(learner), options, {.bits = bits}, std::move(labels), std::move(reduction));
  RoundBuilder builder(model);
  for (int n = 0; n < 200; ++n) {
    Record r;
    const bool yes = n % 3 == 0, ann = n % 2 == 0;
    r.add_name(yes ? "good" : "bad", 1);
    if (yes == ann) r.add_name("own", 1);
    r.add_name("same", 1);
    const Task task = model.reduction.by_task() ? model.session.task(ann ? "ann" : "bob") : 0;
    builder.add({task, model.featurizer(r)}, model.labels(classes ? (yes ? "b" : "a") : (yes ? "1" : "-1")));
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
  for (const auto reduction : {Reduction::Kind::kOneVsRest, Reduction::Kind::kOneVsOne}) {
    Model model = learned("cohort(query=always)", Reduction(reduction, {"a", "b"}, true));
    Record r;
    r.add_name("good", 1);
    const Features x = model.featurizer(r, false);
    std::vector<double> margins;
    Reduction::Ballot ballot;
    const Task ann = model.session.known_task("ann");
    model.reduction.score(model.session.learner(), ann, x, margins);
    const auto predicted = model.reduction.predict(margins, ballot);
    EXPECT_EQ(predicted.label, 1u);
    double sum = 0;
    for (const Reason& reason : explain(model, ann, x, model.featurizer.names(r), predicted.label, 10))
      sum += reason.part.shared + reason.part.own;
    EXPECT_NEAR(sum, predicted.margin, 1e-9);
  }
}

/// What model and data say of each feature, by name.
std::map<std::string, HeavyFeature> heavy_features(HeavyFeatures& heavy, std::size_t count = 100) {
  std::map<std::string, HeavyFeature> out;
  for (const HeavyFeature& f : heavy.top(count)) out[f.feature] = f;
  return out;
}

TEST(HeavyFeatures, AreMeansOfWhatExamplesAreExplainedBy) {
  for (const char* learner : {"cohort(query=always)", "perceptron", "cmtl", "amtl", "peer", "shampo"}) {
    Model model = learned(learner);
    HeavyFeatures heavy(model);
    std::map<std::string, double> size, sum;
    std::map<std::string, std::uint64_t> examples;
    for (const char* user : {"ann", "bob"}) {
      for (const char* word : {"good", "bad"}) {
        Record r;
        for (const char* name : {word, "same"}) r.add_name(name, 1);
        const Features x = model.featurizer(r, false);
        const Task task = model.session.known_task(user);
        double margin = 0;
        for (const Reason& reason : explain(model, task, x, model.featurizer.names(r), 0, 100)) {
          const double c = reason.part.shared + reason.part.own;
          margin += c;
          size[reason.feature] += std::abs(c);
          sum[reason.feature] += c;
          ++examples[reason.feature];
        }
        EXPECT_NEAR(margin, model.session.learner().score({task, x}), 1e-12) << learner;
        heavy.add(task, x, model.featurizer.names(r));
      }
    }
    EXPECT_EQ(heavy.examples(), 4u);
    const auto found = heavy_features(heavy);
    EXPECT_EQ(found.size(), size.size()) << learner;
    for (const auto& [name, f] : found) {
      EXPECT_EQ(f.examples, examples[name]) << learner << " " << name;
      EXPECT_NEAR(std::abs(f.contribution), size[name] / static_cast<double>(f.examples), 1e-12) << learner << " " << name;
      if (std::abs(sum[name]) > 1e-9) {
        EXPECT_EQ(f.contribution > 0, sum[name] > 0) << learner << " " << name;
      }
    }
    EXPECT_GT(found.at("good").contribution, 0) << learner;
    EXPECT_LT(found.at("bad").contribution, 0) << learner;
    double last = 1e300;
    for (const HeavyFeature& f : heavy.top(100)) {
      const double all = std::abs(f.contribution) * static_cast<double>(f.examples);
      EXPECT_LE(all, last * (1 + 1e-9)) << learner;
      last = all;
    }
    EXPECT_EQ(heavy.top(2).size(), 2u);
    EXPECT_FALSE(heavy.unnamed());
  }
}

TEST(HeavyFeatures, OfTheKeptLabelsAreOfTheirTasksOrOfOne) {
  LearningOptions options;
  options.keep_labels = {1 << 20};
  Model model = learned("cohort(query=always, scale=none)", {}, options);
  HeavyFeatures each(model), of_ann(model), of_a_stranger(model);
  each.add_kept();
  of_ann.add_kept(model.session.known_task("ann"));
  of_a_stranger.add_kept(kUntracked);
  EXPECT_EQ(each.examples(), 200u);
  auto all = heavy_features(each), ann = heavy_features(of_ann), stranger = heavy_features(of_a_stranger);
  EXPECT_GT(all.at("good").contribution, 0);
  EXPECT_LT(all.at("bad").contribution, 0);
  EXPECT_NEAR(ann.at("own").contribution, ann.at("own").shared + ann.at("own").own, 1e-12);
  EXPECT_GT(ann.at("own").own, 0);  // for ann it means +1
  for (const auto& [name, f] : stranger) EXPECT_EQ(f.own, 0) << name;
}

TEST(HeavyFeatures, OfANumberGoWithItsValue) {
  Model model = Model::make(parse_spec("cohort(query=always)"), {}, {}, Labels(""));
  const std::vector<std::string> columns{"size"};
  model.featurizer.begin(columns, "a table");
  model.begin_file();
  RoundBuilder builder(model);
  HeavyFeatures heavy(model);
  const Task task = model.session.task("all");
  const auto row = [&](int n) {
    Record r;
    r.add(Entry::Kind::kColumn, 0, "size", 1000.0 + n % 50);
    return r;
  };
  for (int n = 0; n < 400; ++n) builder.add({task, model.featurizer(row(n))}, model.labels(n % 50 < 25 ? "1" : "-1"));
  for (int n = 0; n < 50; ++n) heavy.add(task, model.featurizer(row(n), false), model.featurizer.names(row(n)));
  EXPECT_LT(heavy_features(heavy).at("size").contribution, -0.1);
}

TEST(HeavyFeatures, OfClassesAreOfEachAndHashedNamesThatMeetAreJoined) {
  Model model = learned("cohort(query=always)", Reduction(Reduction::Kind::kOneVsRest, {"a", "b"}, true), {}, 1);
  HeavyFeatures heavy(model), unnamed(model);
  for (const char* name : {"good", "bad", "own"}) {
    Record r;
    r.add_name(name, 1);
    heavy.add(model.session.known_task("ann"), model.featurizer(r, false), model.featurizer.names(r));
    unnamed.add(model.session.known_task("ann"), model.featurizer(r, false));
  }
  const auto found = heavy.top(1);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].label, 0u);
  EXPECT_EQ(found[1].label, 1u);
  bool joined = false;  // three names have two places
  for (const HeavyFeature& f : heavy.top(9)) joined |= f.feature.find(" / ") != std::string::npos;
  EXPECT_TRUE(joined);
  EXPECT_FALSE(heavy.unnamed());
  unnamed.top(9);
  EXPECT_TRUE(unnamed.unnamed());
}

TEST(Explanation, OfALearnerWhoseMarginsAreNoSumsIsRefused) {
  Model model = learned("kernel-perceptron");
  EXPECT_THROW(reasons_of(model, "ann", 1), UsageError);
  EXPECT_THROW(HeavyFeatures{model}, UsageError);
}

}  // namespace
}  // namespace quorate
