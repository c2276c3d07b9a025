// The parts of cohort, each against its formula.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <memory_resource>
#include <span>
#include <vector>

#include "quorate/algorithms/cohort/classes.h"
#include "quorate/algorithms/cohort/decided.h"
#include "quorate/algorithms/cohort/guesses.h"
#include "quorate/algorithms/cohort/instance.h"
#include "quorate/algorithms/cohort/mixture.h"
#include "quorate/algorithms/cohort/multiclass.h"
#include "quorate/algorithms/cohort/questions.h"
#include "quorate/algorithms/cohort/replays.h"
#include "quorate/algorithms/cohort/threshold.h"
#include "quorate/algorithms/cohort/two_level.h"
#include "quorate/weights/hedge.h"

namespace quorate::cohort {
namespace {

std::pmr::memory_resource* heap() { return std::pmr::get_default_resource(); }

TEST(CohortParts, HedgeIsAMeanByPastMistakes) {
  Hedge<3> hedge(true, heap());
  const std::array values{1.0, 2.0, 4.0};
  EXPECT_DOUBLE_EQ(hedge.mean(values, 0.5), 7.0 / 3) << "equal at first";
  for (int n = 0; n < 4; ++n) hedge.count([](std::size_t j) { return j > 0; });
  hedge.count([](std::size_t j) { return j == 2; });
  const double two = std::exp(-0.5 * 4), three = std::exp(-0.5 * 5);
  EXPECT_NEAR(hedge.mean(values, 0.5), (1 + 2 * two + 4 * three) / (1 + two + three), 1e-12);
  EXPECT_EQ(Hedge<3>(false, heap()).mean(values, 0.5), 0) << "nothing is counted";
}

const std::vector<Index> kIndex{1, 4};
const std::vector<double> kValue{0.6, 0.8};
const Example kExample{2, {kIndex, kValue}};

TEST(CohortParts, TwoLevelTakesAStepOfAROWOnBothLevels) {
  TwoLevel model(0, 0, heap());
  const Coupling c{0.8, 0.6, 0.25};
  const Estimate first = model(kExample, c);
  EXPECT_EQ(first.p, 0);
  EXPECT_NEAR(first.r, c.E * c.E + c.O * c.O, 1e-12) << "|x| = 1, variances 1";
  const OfMeans alpha = model.learn(kExample, -1, first, 0.1, c);
  EXPECT_NEAR(alpha[0], 1 / (first.r + 0.1), 1e-12) << "(1 - y p) / (r + noise)";
  EXPECT_NEAR(alpha[1], 1 / (first.r + 2), 1e-12) << "20 times the noise";
  const Estimate second = model(kExample, c);
  for (std::size_t k : {0u, 1u}) {
    EXPECT_NEAR(second.p_of[k], -alpha[k] * (c.E * c.E + c.O * c.O), 1e-6) << "w = -alpha E x, v = -alpha O x";
    EXPECT_NEAR(second.own.mean[k], -alpha[k] * c.O, 1e-6);
  }
  EXPECT_NEAR(second.p, 0.75 * second.p_of[0] + 0.25 * second.p_of[1], 1e-12);
  const double fourth = (std::pow(c.E, 4) + std::pow(c.O, 4)) * (std::pow(0.6, 4) + std::pow(0.8, 4));
  EXPECT_NEAR(second.r, first.r - fourth / (first.r + 0.2), 1e-6) << "twice the noise";
  const OfMeans again = model.learn_again(kExample, -1, second, 0.1, alpha, 100, c);
  EXPECT_NEAR(again[0], alpha[0] + (1 + second.p_of[0] - 0.1 * alpha[0]) / (second.r + 0.1), 1e-9);
  EXPECT_NEAR(again[1], alpha[1] + (1 + second.p_of[1] - 2 * alpha[1]) / (second.r + 2), 1e-9);
  EXPECT_DOUBLE_EQ(model(kExample, c).r, second.r) << "variances stay";
  EXPECT_EQ(model.learn_again(kExample, 1, model(kExample, c), 0.1, {0.5, 0.5}, 0.25, c), (OfMeans{0.25, 0.0125}))
      << "at most";
}

TEST(CohortParts, NoiseBalancesTheClasses) {
  Classes classes(2, heap());
  for (int n = 0; n < 15; ++n) classes.add(1, -1, 1);
  classes.add(1, 1, 3);
  EXPECT_DOUBLE_EQ(classes.factor(1, -1), std::pow(16.0 / 4, 0.75));
  EXPECT_DOUBLE_EQ(classes.factor(1, 1), std::pow(4.0 / 16, 0.25));
  EXPECT_DOUBLE_EQ(classes.factor(0, 1), 1) << "of another group";
  EXPECT_EQ(classes.bought(), 16U);
  EXPECT_EQ(classes.rarer_labels(), 1);
  EXPECT_TRUE(classes.is_rare(1, true));
  EXPECT_EQ(classes.weight(1), 3);
  EXPECT_EQ(classes.weight(-1), 15);
}

TEST(CohortParts, GuessesCountByTheLabelsOfTheTaskAndTheBalanceOfGuesses) {
  OfTask task{60};
  EXPECT_NEAR(task.weight_of_guess(2, 0, 50, 1), 0.5, 1e-12) << "certain, half at 60 labels";
  EXPECT_NEAR(task.weight_of_guess(2, 0, -0.6, 1), 0.5 * std::tanh(0.3), 1e-12);
  EXPECT_NEAR(task.weight_of_guess(1, 3, 50, 0.5), 0.25 * std::sqrt(0.5), 1e-12);
  task.add_guess(1, 0.9);
  EXPECT_NEAR(task.weight_of_guess(2, 0, 50, 1), 0.5 * std::pow(0.1, 3), 1e-6) << "(0.1 / 1)^3";
  EXPECT_NEAR(task.weight_of_guess(-2, 0, -50, 1), 0.5, 1e-6);
}

TEST(CohortParts, FewLabelsAreAskedForAtLeast) {
  Classes classes(1, heap());
  EXPECT_EQ(least_probability(evidence(classes, 0)), 1) << "no label";
  for (int n = 0; n < 50; ++n) classes.add(0, n % 2 == 0 ? 1 : -1, 1);
  EXPECT_NEAR(least_probability(evidence(classes, 0)), 2 / (1 + 4 * 25.5 * 25.5 / 50), 1e-12);
}

TEST(CohortParts, MarginsThatAreUnusualTowardsARareClassCountAsUncertain) {
  Classes classes(1, heap());
  Margins margins(1, heap());
  for (int n = 0; n < 10; ++n) classes.add(0, -1, 1);
  EXPECT_NEAR(Margins::most_odds(margins.margins, 0, 1.5, classes), std::exp(0.5) / 2, 1e-12)
      << "mean 0, variance 1 at first";
  for (int n = 0; n < 10; ++n) classes.add(0, 1, 1);
  EXPECT_TRUE(std::isinf(Margins::most_odds(margins.margins, 0, 1.5, classes))) << "none is rare";
}

TEST(CohortParts, TheThresholdFollowsCostsAndTheShareOfLabels) {
  Calibration calibration;
  Classes even(1, heap());
  for (int n = 0; n < 400; ++n) {
    const double y = n % 2 == 0 ? 1 : -1;
    even.add(0, y, 1);
    calibration.add(y * 0.4 + (n % 7 - 3) * 0.2, y, 1);
  }
  EXPECT_NEAR(Threshold(CostEqual{}).shift(calibration, even), 0, 0.2);
  const double missed = Threshold(CostOfPositives{.times = 9}).shift(calibration, even);
  EXPECT_NEAR(missed * calibration.slope(), std::log(9) + calibration.offset(), std::abs(calibration.offset()) + 1e-9);
  Threshold balanced(CostBalanced{});
  EXPECT_EQ(balanced.shift(calibration, even), 0) << "nothing was decided on";
  for (int n = 0; n < 2'000; ++n) balanced.count(-1.5, calibration, even);
  EXPECT_GT(balanced.shift(calibration, even), 0) << "positives are rare in the stream";
}

TEST(CohortParts, AShareOfPositivesStaysInItsRangeWhateverIsCounted) {
  for (const double margin : {-1e6, 1e6}) {
    Calibration calibration;
    Classes even(1, heap());
    for (int n = 0; n < 10; ++n) even.add(0, n % 2 == 0 ? 1 : -1, 1);
    Threshold balanced(CostBalanced{});
    for (int n = 0; n < 3; ++n) {
      balanced.count(margin, calibration, even);
      EXPECT_NO_THROW(balanced.check()) << margin;
    }
  }
}

TEST(CohortParts, ClassesLearnByTheMarginsBetweenThem) {
  NameTable names;
  for (const char* name : {"a", "b", "c"}) names.intern(name);
  LearnerContext context{names, heap()};
  context.exclusive = true;
  Multiclass classes(context);
  ASSERT_EQ(classes.size(), 3u);
  const Example e = classes.of(kExample, 1);
  EXPECT_EQ(e.task, 1u);
  TwoLevel model(0, 0, heap());
  const Coupling c{0, 1, 0};
  const auto estimates = [&] {
    return std::array{model(classes.of(e, 0), c), model(classes.of(e, 1), c), model(classes.of(e, 2), c)};
  };
  std::array<double, 6> alpha{};
  std::array now = estimates();
  const auto of = [&](std::size_t k) -> const Estimate& { return now[k]; };
  EXPECT_TRUE(classes.right(model, e, 1, of, 0.1, alpha, c, {.first = true}));
  const double first = 1 / 2.1, second = (1 - first) / 2.1;  // (1 - (p_1 - p_k)) / (1 + 1 + 0.1), p_1 grown by the first
  EXPECT_NEAR(alpha[0], first, 1e-12);
  EXPECT_NEAR(alpha[4], second, 1e-12);
  EXPECT_EQ(alpha[2], 0);
  const std::array after = estimates();
  EXPECT_NEAR(after[0].p, -first, 1e-6);
  EXPECT_NEAR(after[1].p, first + second, 1e-6);
  EXPECT_NEAR(after[2].p, -second, 1e-6);
  EXPECT_LT(after[1].r, 1) << "variances shrink";

  now = after;
  EXPECT_TRUE(classes.right(model, e, 1, of, 0.1, alpha, c, {})) << "again, the larger margin first";
  const auto step = [&](double p, std::size_t k, double before) {
    return before + (1 - (p - after[k].p) - 0.1 * before) / (after[1].r + after[k].r + 0.1);
  };
  EXPECT_NEAR(alpha[4], step(after[1].p, 2, second), 1e-6);
  EXPECT_NEAR(alpha[0], step(after[1].p + (alpha[4] - second) * after[1].r, 0, first), 1e-6);
  EXPECT_EQ(estimates()[0].r, after[0].r) << "variances stay";

  now = estimates();
  std::array<double, 6> no{};
  EXPECT_TRUE(classes.wrong(model, e, 0, of, 0.1, no, c, true));
  EXPECT_NEAR(estimates()[0].p, now[0].p - no[0] * now[0].r, 1e-6);
  EXPECT_EQ(estimates()[1].p, now[1].p) << "a no says nothing of the others";
}

TEST(CohortParts, TheMixtureLeansToWhatWasRight) {
  Mixture mixture(0.5, 0, 0, 0, true, heap());
  const Coupling first = mixture.coupling;
  Prediction j;
  j.x.shared.mean = {1, 1};
  j.x.own.mean = {-1, -1};
  for (int n = 0; n < 20; ++n) mixture.count(1, j);  // the shared weights are right
  EXPECT_GT(mixture.coupling.E, first.E);
  EXPECT_LT(mixture.coupling.O, first.O);
  EXPECT_NEAR(mixture.coupling.E * mixture.coupling.E + mixture.coupling.O * mixture.coupling.O, Mixture::kTotal, 0.1);
}

TEST(CohortParts, TheMixtureTurnsToTheMeanThatIsWrongLessOften) {
  Mixture mixture(0.5, 0, 0, 0, true, heap());
  EXPECT_LT(mixture.coupling.u, 0.25) << "labels are taken for right at first";
  Prediction j;
  j.x.shared.mean = {-1, 0.2};
  for (int n = 0; n < 40; ++n) mixture.count(1, j);
  EXPECT_GT(mixture.coupling.u, 0.9);
}

TEST(CohortParts, AQuestionIsFoundAgainByItsFeaturesNotByTheirBuffer) {
  Decided decided;
  EXPECT_FALSE(decided.is(kExample)) << "none was kept";
  decided.keep(kExample);
  std::vector<double> value = kValue;
  EXPECT_TRUE(decided.is({2, {kIndex, value}})) << "another buffer";
  EXPECT_FALSE(decided.is({3, {kIndex, value}}));
  EXPECT_FALSE(decided.is({2, {kIndex, value}, 1}));
  EXPECT_FALSE(decided.is({2, {{}, value}})) << "dense";
  value[1] = 0.7;
  EXPECT_FALSE(decided.is({2, {kIndex, value}}));
  decided.forget();
  EXPECT_FALSE(decided.is(kExample));
  const std::vector<double> large(Decided::kMost + 1, 1.0);
  decided.keep({2, {{}, large}});
  EXPECT_FALSE(decided.is({2, {{}, large}}));
}

TEST(CohortParts, ReplaysBecomeFewerFromTheFiveHundredTwelfthLabelOn) {
  Replays replays(10);
  EXPECT_EQ(replays.take(1, 0), 0u) << "none is kept";
  EXPECT_EQ(replays.take(5, 4), 4u) << "as many as are kept";
  EXPECT_EQ(replays.coming(512, 512), 10u);
  std::uint64_t sum = 0;
  for (std::uint64_t n = 10'001; n <= 11'000; ++n) {
    const std::uint64_t coming = replays.coming(n, 512);
    EXPECT_EQ(replays.take(n, 512), coming);
    sum += coming;
  }
  const double integral = 40 * (std::pow(11'000, 0.25) - std::pow(10'000, 0.25)) * std::pow(512, 0.75);
  EXPECT_NEAR(static_cast<double>(sum), integral, 2) << "10 (512 / n)^(3/4) on average";
  replays.due = 512;
  EXPECT_THROW(replays.check(), DataError);
}

TEST(CohortParts, DualVariablesFollowTheLabelsThatAreKept) {
  Duals duals(2, heap());
  for (double n = 0; n < 3; ++n) {
    duals.latest = {n, n + 0.5};
    duals.keep();
  }
  duals.move_oldest(false);
  EXPECT_EQ(duals.values, (std::pmr::vector<double>{1, 1.5, 2, 2.5}));
  duals.move_oldest(true);
  EXPECT_EQ(duals.values, (std::pmr::vector<double>{2, 2.5, 1, 1.5}));
  EXPECT_EQ(duals[1][0], 1);
  EXPECT_TRUE(duals.good(2));
  EXPECT_FALSE(duals.good(3));
}

/// Names and context of three classes against the rest, or of tasks of yes or no.
struct Context {
  explicit Context(bool exclusive) {
    for (const char* name : {"a", "b", "c"}) names.intern(name);
    of.exclusive = exclusive;
  }
  NameTable names;
  LearnerContext of{names, heap()};
};

TEST(CohortParts, AnInstanceLearnsByTheStepsOfItsKind) {
  for (const bool exclusive : {false, true}) {
    Context context(exclusive);
    OfInstance instance(0.1, context.of);
    ASSERT_EQ(instance.size(), exclusive ? 3u : 1u);
    Mixture mixture(0.5, 0, 0, exclusive ? 3 : 0, !exclusive, heap());
    Classes labels(3, heap());
    EXPECT_EQ(instance.group(kExample), exclusive ? 2u : 0u);
    labels.add(0, 1, 3);  // q = 4 for a label +1 of the group of yes or no
    instance.predict(mixture, kExample);
    instance.keep(kExample);
    EXPECT_TRUE(instance.keeps(kExample));
    const double r = instance.predictions()[0].r;
    std::array<double, 6> alpha{};
    EXPECT_TRUE(instance.learn(mixture, labels, kExample, 1, alpha, {}, true));
    EXPECT_FALSE(instance.keeps(kExample)) << "its prediction has changed";
    EXPECT_NEAR(alpha[0], 1 / ((exclusive ? 2 : 1) * r + 0.1 * (exclusive ? 1 : std::pow(4, 0.75))), 1e-12);
    std::array<double, 3> p{};
    const auto margins = std::span(p).first(instance.size());
    instance.margins(mixture, kExample, margins);
    instance.predict(mixture, kExample);
    for (std::size_t k = 0; k < instance.size(); ++k) EXPECT_EQ(instance.predictions()[k].p, p[k]);
    EXPECT_GT(margins.back(), 0);
    if (exclusive) {
      EXPECT_EQ(instance.lead(mixture, kExample), p[2] - std::max(p[0], p[1]));
      EXPECT_TRUE(instance.guess_class(mixture, kExample, 2, 0.5));
    } else {
      EXPECT_TRUE(instance.guess(mixture, kExample, instance.predictions()[0], 1, 0.5));
    }
    EXPECT_GT(mixture.predict(kExample).p, margins.back());
  }
}

TEST(CohortParts, GuessesNeedALabelOfTheTaskAndEndAfterSixtyFour) {
  Context context(false);
  OfInstance instance(0.1, context.of);
  Mixture mixture(0.5, 0, 0, 0, true, heap());
  Guesses guesses(1, heap());
  const auto guess = [&] {
    instance.predict(mixture, kExample);
    Prediction j = instance.predictions()[0];
    j.p = 0.1;
    guesses.guess(kExample, j, instance, mixture);
  };
  guess();
  EXPECT_FALSE(guesses.any()) << "no label yet";
  guesses.bought(1, 1);
  guess();
  EXPECT_EQ(guesses.left, 64u) << "none of this task";
  guesses.bought(2, 2);
  guess();
  EXPECT_EQ(guesses.left, 63u);
  EXPECT_EQ(guesses.tasks[2].labels, 1u);
  EXPECT_GT(guesses.tasks[2].positive, 0);
  EXPECT_GT(mixture.predict(kExample).p, 0);
  guesses.left = 65;
  EXPECT_THROW(guesses.check(), DataError);
}

TEST(CohortParts, TheLikeliestClassLeadsByTheLeast) {
  const std::array p{0.2, 0.9, 0.5};
  const auto margin = [&](std::size_t k) { return p[k]; };
  const Leaders leaders(3, margin);
  EXPECT_EQ(leaders.top, 1u);
  EXPECT_EQ(leaders.second, 2u);
  EXPECT_DOUBLE_EQ(leaders.standing(1, margin).lead, 0.4);
  EXPECT_DOUBLE_EQ(leaders.standing(2, margin).lead, 0.8);
  EXPECT_DOUBLE_EQ(leaders.standing(0, margin).lead, 1.1);
  EXPECT_FALSE(leaders.standing(0, margin).top);
}

TEST(CohortParts, QuestionsAreRaisedToTheLeastProbabilityUnlessPaced) {
  Context context(true);
  const Questions questions({}, context.of, 1);
  Decision d{.probability = 0.1, .draw = 0.3};
  questions.ask_least(3, 0.5, d);
  EXPECT_FALSE(d.ask) << "paced";
  questions.ask_least(3, 1, d);
  EXPECT_TRUE(d.ask);
  EXPECT_EQ(d.probability, 0.5) << "2 / (1 + 3)";
  questions.ask_once(true, d);
  EXPECT_TRUE(d.ask);
  questions.ask_once(false, d);
  EXPECT_FALSE(d.ask);
  Classes classes(1, heap());
  for (int n = 0; n < 10; ++n) classes.add(0, n % 2 == 0 ? 1 : -1, 1);
  std::vector<double> seen;
  Margins::start(seen, 1);
  EXPECT_DOUBLE_EQ(questions.odds(0, -0.5, Calibration(), classes, seen), 1.5) << "a = 3, no class is rare";
  EXPECT_EQ(evidence_of_class(classes, 0), 4 * 5.1 * 5.1 / 10);
}

}  // namespace
}  // namespace quorate::cohort
