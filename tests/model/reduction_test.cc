#include "quorate/model/reduction.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "quorate/base/error.h"

namespace quorate::test {
namespace {

using testing::HasSubstr;
using enum Reduction::Kind;

TEST(Reduction, OneVsRestAsksOncePerClass) {
  const Reduction classes(kOneVsRest, {"3", "8", "b"});
  ASSERT_EQ(classes.tasks(), 3u);
  EXPECT_EQ(classes.size(), 3u);
  EXPECT_EQ(classes.task_name(1), "8");
  EXPECT_EQ(classes.question(2), "class = b?");
  for (Task task = 0; task < 3; ++task)
    for (std::size_t truth = 0; truth < 3; ++truth) EXPECT_EQ(classes.feedback(task, truth), task == truth ? 1 : -1);
}

TEST(Reduction, OneVsOneAsksOncePerPairTheFirstClassFirst) {
  const Reduction classes(kOneVsOne, {"3", "8", "b", "a"});
  const std::vector<std::pair<std::size_t, std::size_t>> pairs{{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}};
  ASSERT_EQ(classes.tasks(), pairs.size());
  EXPECT_EQ(classes.task_name(0), "3 or 8");
  EXPECT_EQ(classes.question(5), "b or a?");
  const NameTable names = classes.task_names();
  ASSERT_EQ(names.size(), pairs.size());
  for (Task task = 0; task < pairs.size(); ++task) {
    EXPECT_EQ(names[task], classes.classes().at(pairs[task].first) + " or " + classes.classes().at(pairs[task].second));
    for (std::size_t truth = 0; truth < 4; ++truth)
      EXPECT_EQ(classes.feedback(task, truth), truth == pairs[task].first ? 1 : truth == pairs[task].second ? -1 : 0);
  }
}

TEST(Reduction, OfYesAndNoIsOneTaskForEachOfTheStream) {
  const Reduction none;
  EXPECT_EQ(none.tasks(), 1u);
  EXPECT_EQ(none.size(), 2u);
  EXPECT_TRUE(none.by_task());
  EXPECT_FALSE(none.has_classes());
  EXPECT_FALSE(none.users());
  EXPECT_EQ(none.bytes(), 0u);
  for (const Answer y : {kNo, kYes}) {
    const std::size_t number = y == kYes;
    EXPECT_EQ(none.number_of(y), number);
    EXPECT_EQ(none.label_of(number), Label(y));
    EXPECT_EQ(none.feedback(0, number), y);
    EXPECT_EQ(none.said(0, y), number);
    EXPECT_EQ(none.reply(y, {5, {}}), y);
    EXPECT_EQ(none.towards(number), 1u) << "the margin is that of yes";
  }
  EXPECT_EQ(none.said(0, kNeither), std::nullopt);
  EXPECT_EQ(none.reply({}, {5, {}}), Reply::unknown());
  for (const Task first : {7u, kUntracked}) {
    const Example e = none.example(first, 0, {});
    EXPECT_EQ(e.task, first);
    EXPECT_EQ(e.group, 0u);
    EXPECT_EQ(none.first_of(e), first);
  }
  Reduction::Ballot ballot;
  for (const double margin : {-2.0, 0.0, 3.0}) {
    const auto [label, of_yes] = none.predict(std::vector{margin}, ballot);
    EXPECT_EQ(label, std::size_t{margin > 0});
    EXPECT_EQ(of_yes, margin);
  }
  std::vector<double> p;
  none.probabilities(std::vector{std::log(3)}, 1, p);
  EXPECT_THAT(p, testing::ElementsAre(testing::DoubleNear(0.25, 1e-12), testing::DoubleNear(0.75, 1e-12)));
}

TEST(Reduction, FewerThanTwoAreRefused) {
  for (const auto kind : {kOneVsRest, kOneVsOne}) {
    EXPECT_THROW(Reduction(kind, {}), DataError);
    try {
      Reduction(kind, {"only"});
      FAIL() << "one class accepted";
    } catch (const DataError& e) {
      EXPECT_THAT(e.what(), AllOf(HasSubstr("1;"), HasSubstr("expected at least two")));
    }
    EXPECT_EQ(Reduction(kind, {"a", "b"}).tasks(), kind == kOneVsRest ? 2u : 1u);
  }
}

TEST(Reduction, QuestionsThatReadTheSameAreRefused) {
  const Reduction classes(kOneVsOne, {"a or b", "c", "a", "b or c"});  // "a or b" or "c"; "a" or "b or c"
  EXPECT_THROW(classes.task_names(), DataError);
}

/// The class that the margins say, and how sure.
std::pair<std::size_t, double> says(Reduction::Kind kind, std::size_t C, const std::vector<double>& margins) {
  std::vector<std::string> names;
  for (std::size_t c = 0; c < C; ++c) names.push_back(std::to_string(c));
  Reduction::Ballot ballot{{7, 7, 7}, {9, 9}};  // what was left of another example
  const auto p = Reduction(kind, names).predict(margins, ballot);
  return {p.label, p.margin};
}
using Said = std::pair<std::size_t, double>;

TEST(Reduction, OneVsRestSaysTheLargestMarginAndTheFirstOfEquals) {
  EXPECT_EQ(says(kOneVsRest, 3, {-3, -1, -2}), Said(1, -1));
  EXPECT_EQ(says(kOneVsRest, 3, {0, 2, 5}), Said(2, 5));
  EXPECT_EQ(says(kOneVsRest, 3, {1, 4, 4}), Said(1, 4));
  EXPECT_EQ(says(kOneVsRest, 3, {0, 0, 0}), Said(0, 0));
}

TEST(Reduction, OneVsOneSaysTheMostVotesWhateverTheMargins) {
  // (0,1), (0,2), (1,2): class 0 beats both by a little, 1 beats 2 by a lot.
  EXPECT_EQ(says(kOneVsOne, 3, {0.5, 0.25, 100}), Said(0, 0.75));
  EXPECT_EQ(says(kOneVsOne, 3, {-1, -2, -0.5}), Said(2, 2.5));
}

TEST(Reduction, AMarginOfZeroVotesForTheSecondOfThePair) {
  EXPECT_EQ(says(kOneVsOne, 2, {0}), Said(1, 0));
  EXPECT_EQ(says(kOneVsOne, 3, {0, 0, 0}), Said(2, 0)) << "2 beats 0 and 1";
  EXPECT_EQ(says(kOneVsOne, 2, {1e-300}), Said(0, 1e-300));
}

TEST(Reduction, AmongEqualVotesTheSumOfMarginsDecidesThenTheFirst) {
  // 0 beats 1, 1 beats 2, 2 beats 0: a vote each.
  EXPECT_EQ(says(kOneVsOne, 3, {1, -2, 4}), Said(1, 3));  // sums: -1, 3, -2
  EXPECT_EQ(says(kOneVsOne, 3, {1, -5, 3}), Said(1, 2));  // sums: -4, 2, 2: the first of equals
  EXPECT_EQ(says(kOneVsOne, 3, {1, -5, 2}), Said(2, 3));  // sums: -4, 1, 3
  EXPECT_EQ(says(kOneVsOne, 3, {1, -1, 1}), Said(0, 0));  // all sums 0
  EXPECT_EQ(says(kOneVsOne, 3, {7, -5, 6}), Said(0, 2)) << "0 is neither last nor has it more votes";
}

TEST(Reduction, AnInstanceIsAnExampleOfEveryTaskOfItsUser) {
  const std::vector<double> x{1, 2};
  for (const bool users : {false, true}) {
    const Reduction classes(kOneVsOne, {"a", "b", "c"}, users);
    EXPECT_EQ(classes.users(), users);
    for (const Task first : {0u, 6u, kUntracked}) {
      std::vector<Example> examples;
      classes.add_examples(first, {{}, x}, examples);
      ASSERT_EQ(examples.size(), 3u);
      for (Task task = 0; task < 3; ++task) {
        EXPECT_EQ(examples[task].task, !users ? task : first == kUntracked ? kUntracked : first + task);
        EXPECT_EQ(examples[task].group, users ? task : 0);
        EXPECT_EQ(classes.task_of(examples[task]), task);
        EXPECT_EQ(examples[task].x.value.data(), x.data());
      }
    }
  }
}

/// Probabilities of classes given the log-odds of all tasks.
std::vector<double> chances(Reduction::Kind kind, std::size_t C, const std::vector<double>& log_odds,
                            std::size_t predicted) {
  std::vector<std::string> names;
  for (std::size_t c = 0; c < C; ++c) names.push_back(std::to_string(c));
  std::vector<double> out{7, 7};  // of another example
  Reduction(kind, names).probabilities(log_odds, predicted, out);
  return out;
}

TEST(Reduction, ProbabilitiesAgainstTheRestAreNormalised) {
  const auto p = chances(kOneVsRest, 3, {std::log(2), std::log(0.5), std::log(0.5)}, 0);
  for (std::size_t c = 0; c < 3; ++c) EXPECT_NEAR(p[c], c == 0 ? 2.0 / 3 : 1.0 / 6, 1e-12);  // odds of 2, 1/2 and 1/2
}

TEST(Reduction, ProbabilitiesOfPairsThatAgreeAreExact) {
  const double of[] = {0.6, 0.3, 0.1};
  const auto p = chances(kOneVsOne, 3, {std::log(of[0] / of[1]), std::log(of[0] / of[2]), std::log(of[1] / of[2])}, 0);
  for (std::size_t c = 0; c < 3; ++c) EXPECT_NEAR(p[c], of[c], 1e-12);
}

RC_GTEST_PROP(Reduction, ProbabilitiesSumToOneWhateverTheOddsAndThePredictedClassHasTheLargest, ()) {
  const auto C = *rc::gen::inRange<std::size_t>(2, 7), predicted = *rc::gen::inRange<std::size_t>(0, C);
  for (const auto kind : {kOneVsRest, kOneVsOne}) {
    std::vector<double> log_odds(kind == kOneVsRest ? C : C * (C - 1) / 2);
    for (double& z : log_odds) z = *rc::gen::element(-1e12, -800.0, -3.0, -1e-9, 0.0, 1e-9, 0.5, 40.0, 800.0, 1e12);
    const auto p = chances(kind, C, log_odds, predicted);
    RC_ASSERT(p.size() == C);
    double sum = 0;
    for (const double v : p) {
      RC_ASSERT(v >= 0 && v <= p[predicted]);
      sum += v;
    }
    RC_ASSERT(std::abs(sum - 1) < 1e-12);
  }
}

RC_GTEST_PROP(Reduction, PerfectMarginsSayTheTruth, ()) {
  const auto C = *rc::gen::inRange<std::size_t>(2, 8), truth = *rc::gen::inRange<std::size_t>(0, C);
  std::vector<std::string> names;
  for (std::size_t c = 0; c < C; ++c) names.push_back(std::to_string(c));
  for (const auto kind : {kOneVsRest, kOneVsOne}) {
    const Reduction classes(kind, names);
    std::vector<double> margins;
    for (Task task = 0; task < classes.tasks(); ++task) {
      const int y = classes.feedback(task, truth);  // of a pair that truth is not in: anything
      margins.push_back(y != 0 ? 0.01 * y : *rc::gen::inRange(-9, 10));
    }
    Reduction::Ballot ballot;
    RC_ASSERT(classes.predict(margins, ballot).label == truth);
  }
}

}  // namespace
}  // namespace quorate::test
