// SHAMPO of first and second order: rounds worked by hand, identities with simpler learners, and the bounds of the slides.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "quorate/learner.h"
#include "quorate/registry.h"
#include "support/dense_matrix.h"
#include "support/rounds.h"

namespace quorate::test {
namespace {

/// A learner without a session, so that a test says which labels it learns.
struct Alone {
  explicit Alone(const std::string& spec, Task K = 2)
      : tasks(task_names(K)), learner(make_learner(parse_spec(spec), {tasks, &memory})) {}

  /// A round of one instance for each task.
  std::vector<Decision> decide(const std::vector<Vector>& x) {
    std::vector<Example> round;
    for (Task i = 0; i < x.size(); ++i) round.push_back({i, x[i]});
    std::vector<Decision> out(x.size());
    learner->decide({round}, rng, out);
    return out;
  }
  bool learn(Task task, const Vector& x, const Decision& d, int y) {
    return learner->learn({task, x}, d, answer_of(y), rng);
  }
  double score(Task task, const Vector& x) const { return learner->score({task, x}); }

  Memory memory;
  NameTable tasks;
  std::unique_ptr<Learner> learner;
  Rng rng = make_rng(1, 1);
};

TEST(Shampo, ThreeRoundsWorkedByHand) {
  Alone a("shampo(b=1)");
  // Round 1. w = 0: both margins are 0, either task has probability 1/2. Task 0 learns +1: 0 is a mistake, w_0 = (1, 0).
  std::vector<Vector> x{dense({1, 0}), dense({0, 1})};
  auto d = a.decide(x);
  EXPECT_EQ(d[0].margin, 0);
  EXPECT_EQ(d[0].probability, 0.5);
  EXPECT_EQ(d[1].probability, 0.5);
  EXPECT_EQ(d[0].ask + d[1].ask, 1);
  EXPECT_TRUE(a.learn(0, x[0], d[0], 1));
  // Round 2. Margins 0.6 and 0; 1/(1 + 0.6) to 1/(1 + 0) is 5 to 8. Task 1 learns -1, as predicted, but 0 is a mistake
  // all the same: w_1 = (0, -1).
  x = {dense({0.6, 0.8}), dense({0, 1})};
  d = a.decide(x);
  EXPECT_NEAR(d[0].margin, 0.6, 1e-7);
  EXPECT_EQ(d[1].margin, 0);
  EXPECT_NEAR(d[0].probability, 5.0 / 13, 1e-7);
  EXPECT_NEAR(d[1].probability, 8.0 / 13, 1e-7);
  EXPECT_TRUE(a.learn(1, x[1], d[1], -1));
  // Round 3. Margins 0.6 and -0.8; the least |p| is taken off: 1/1 to 1/1.2 is 6 to 5. Task 1 was right: nothing. Task 0
  // was wrong: w_0 = (1, 0) - (0.6, -0.8) = (0.4, 0.8).
  x = {dense({0.6, -0.8}), dense({0.6, 0.8})};
  d = a.decide(x);
  EXPECT_NEAR(d[0].margin, 0.6, 1e-7);
  EXPECT_NEAR(d[1].margin, -0.8, 1e-7);
  EXPECT_NEAR(d[0].probability, 6.0 / 11, 1e-7);
  EXPECT_NEAR(d[1].probability, 5.0 / 11, 1e-7);
  EXPECT_FALSE(a.learn(1, x[1], d[1], -1));
  EXPECT_TRUE(a.learn(0, x[0], d[0], -1));
  EXPECT_NEAR(a.score(0, dense({1, 0})), 0.4, 1e-7);
  EXPECT_NEAR(a.score(0, dense({0, 1})), 0.8, 1e-7);
  EXPECT_NEAR(a.score(1, dense({1, 1})), -1, 1e-7);
}

TEST(SecondOrderShampo, ThreeRoundsWorkedByHand) {
  for (const std::string diagonal : {"false", "true"}) {  // A stays diagonal here
    Alone a("shampo-second-order(b=1, diagonal=" + diagonal + ")");
    // Round 1. A = I, w = 0. Task 0 learns +1 on (1, 0): A_0 = diag(2, 1), w_0 = (1, 0).
    std::vector<Vector> x{dense({1, 0}), dense({0, 1})};
    auto d = a.decide(x);
    EXPECT_EQ(d[0].probability, 0.5);
    EXPECT_TRUE(a.learn(0, x[0], d[0], 1));
    // Round 2. x_0 = (0.6, 0.8): A^-1 x = (0.3, 0.8), r = 0.18 + 0.64 = 0.82, p = 0.3 / 1.82. Task 1 knows nothing: 0.
    x = {dense({0.6, 0.8}), dense({0, 1})};
    d = a.decide(x);
    EXPECT_NEAR(d[0].margin, 0.3 / 1.82, 1e-6);
    EXPECT_EQ(d[1].margin, 0);
    EXPECT_NEAR(d[0].probability, 1 / (1 + 0.3 / 1.82) / (1 + 1 / (1 + 0.3 / 1.82)), 1e-6);
    // Task 1 learns -1 on (0, 1): A_1 = diag(1, 2), w_1 = (0, -1).
    EXPECT_TRUE(a.learn(1, x[1], d[1], -1));
    // Round 3. x_0 = (1, 0): r = 1/2, p = (1/2) / (3/2) = 1/3. x_1 = (0, 2): r = 2, p = -1 / 3. Task 1 was right: nothing.
    // Task 0 was wrong: A_0 = diag(3, 1), w_0 = 0.
    x = {dense({1, 0}), dense({0, 2})};
    d = a.decide(x);
    EXPECT_NEAR(d[0].margin, 1.0 / 3, 1e-6);
    EXPECT_NEAR(d[1].margin, -1.0 / 3, 1e-6);
    EXPECT_FALSE(a.learn(1, x[1], d[1], -1));
    EXPECT_TRUE(a.learn(0, x[0], d[0], -1));
    EXPECT_EQ(a.score(0, dense({1, 1})), 0);
    EXPECT_NEAR(a.score(1, dense({0, 2})), -1.0 / 3, 1e-6);
  }
}

TEST(SecondOrderShampo, AggressiveGoesByFAndUpdatesWhereItIsNotPositive) {
  for (const std::string diagonal : {"false", "true"}) {
    Alone a("shampo-second-order(b=0.5, aggressive=true, diagonal=" + diagonal + ")", 3);
    // Task 0 learns (1, 0) and task 1 (3, 0), both +1. Then A_0 = diag(2, 1), w_0 = (1, 0); A_1 = diag(10, 1), w_1 = (3, 0).
    std::vector<Vector> x{dense({1, 0}), dense({3, 0}), dense({1, 0})};
    auto d = a.decide(x);
    for (const Decision& one : d) EXPECT_LT(one.selection_score, 0) << "margin 0 and r > 0";
    EXPECT_TRUE(a.learn(0, x[0], d[0], 1));
    EXPECT_TRUE(a.learn(1, x[1], d[1], 1));
    // x = (1, 0): r_0 = 1/2, p_0 = (1/2) / (3/2) = 1/3, F = 3/2 / 9 + 2/3 - 1/3 = 1/2.
    // r_1 = 1/10, p_1 = (3/10) / (11/10) = 3/11, F = 11/10 * 9/121 + 6/11 - 1/11 = 59/110.
    // r_2 = 1, p_2 = 0, F = -1/2: counts as 0.
    x = {dense({1, 0}), dense({1, 0}), dense({1, 0})};
    d = a.decide(x);
    const double F[] = {0.5, 59.0 / 110, -0.5};
    const double sum = 1 / (0.5 + F[0]) + 1 / (0.5 + F[1]) + 1 / 0.5;
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_NEAR(d[i].selection_score, F[i], 1e-6);
      EXPECT_NEAR(d[i].probability, 1 / (0.5 + std::max(F[i], 0.0)) / sum, 1e-6);
    }
    EXPECT_FALSE(a.learn(0, x[0], d[0], 1)) << "right, and F > 0";
    EXPECT_TRUE(a.learn(1, x[1], d[1], -1)) << "wrong";
    // x = (0.1, 1): r_0 = 0.005 + 1, p_0 = 0.05 / 2.005; F < 0: it is right, and updates all the same.
    x = {dense({0.1, 1}), dense({1, 0}), dense({1, 0})};
    d = a.decide(x);
    EXPECT_NEAR(d[0].margin, 0.05 / 2.005, 1e-6);
    EXPECT_LT(d[0].selection_score, 0);
    EXPECT_TRUE(a.learn(0, x[0], d[0], 1));
    Alone calm("shampo-second-order(b=0.5, diagonal=" + diagonal + ")", 3);
    const Vector first = dense({1, 0}), second = dense({0.1, 1});
    EXPECT_TRUE(calm.learn(0, first, {.margin = 0}, 1));
    EXPECT_FALSE(calm.learn(0, second, calm.decide({second})[0], 1)) << "not aggressive: right is right";
  }
}

TEST(Shampo, AggressiveUpdatesBelowLambdaToo) {
  const Stream s = make_rounds(200, 3, 5, 41);
  const NameTable names = task_names(3);
  Session session(parse_spec("shampo(b=0.1, aggressive=0.3)"), {.seed = 1, .tasks = &names});
  int narrow = 0;
  for (const Outcome& outcome : play(session, s, 3)) {
    const double m = outcome.decision.margin;
    if (!outcome.asked) {
      EXPECT_FALSE(outcome.updated);
      continue;
    }
    EXPECT_EQ(outcome.updated, mistaken(*outcome.answer, m) || std::abs(m) < 0.3);
    narrow += !mistaken(*outcome.answer, m) && std::abs(m) < 0.3;
  }
  EXPECT_GT(narrow, 10);
  Alone a("shampo(aggressive=1)", 1);
  EXPECT_TRUE(a.learn(0, dense({1}), {.margin = 0}, 1));
  EXPECT_FALSE(a.learn(0, dense({1}), {.margin = 1}, 1)) << "at lambda it is not below";
  EXPECT_FALSE(a.learn(0, dense({1}), {.margin = -1}, -1));
  EXPECT_TRUE(a.learn(0, dense({1}), {.margin = 0.999}, 1));
}

std::vector<Outcome> play(const std::string& spec, const Stream& s, Task K, std::uint64_t labels_per_round = 1,
                          std::uint64_t labels = LabelLimits::kNone) {
  const NameTable names = task_names(K);
  Session session(parse_spec(spec),
                  {.seed = 5, .limits = {.total = labels}, .tasks = &names, .labels_per_round = labels_per_round});
  return play(session, s, K);
}

TEST(Shampo, ThatWatchesAllIsThePerceptronToTheBit) {
  for (const bool holes : {false, true}) {
    const Stream s = make_rounds(150, 4, 5, 42, holes);
    EXPECT_EQ(play("shampo(choose=all)", s, 4), play("perceptron", s, 4));
    EXPECT_EQ(play("shampo(choose=all)", s, 4, 1, 77), play("perceptron", s, 4, 1, 77));
    EXPECT_EQ(play("shampo", s, 4, 4), play("perceptron", s, 4)) << "as many labels as tasks";
  }
}

TEST(Shampo, IsAQueryRuleOfPerceptronsThatAreNotCoupled) {
  for (const std::string choice :
       {"b=0.3", "b=0.3, choose=smallest", "b=1, prior=counts, adaptive=counts", "choose=uniform"})
    for (const std::uint64_t m : {1u, 2u}) {
      const Stream s = make_rounds(200, 4, 5, 43);
      const auto expected = play("shampo(" + choice + ")", s, 4, m, 150);
      EXPECT_EQ(play("cmtl(graph=disconnected, query=shared(" + choice + "))", s, 4, m, 150), expected) << choice;
      EXPECT_EQ(play("perceptron(query=shared(" + choice + "))", s, 4, m, 150), expected) << choice;
    }
}

TEST(Shampo, OfOneTaskIsThePerceptron) {
  const Stream s = make_rounds(200, 1, 5, 44);
  const auto perceptron = play("perceptron", s, 1);
  for (const std::string choose : {"margin", "uniform", "smallest", "all"})
    EXPECT_EQ(play("shampo(b=0.1, choose=" + choose + ")", s, 1), perceptron) << choose;
}

TEST(Shampo, OfEndlessBIsUniform) {
  const Stream s = make_rounds(4000, 5, 5, 45);
  for (const std::string learner : {"shampo", "shampo-second-order"}) {
    const auto steps = play(learner + "(b=1e300)", s, 5);
    EXPECT_EQ(steps, play(learner + "(choose=uniform)", s, 5));
    std::vector<int> asked(5);
    for (std::size_t n = 0; n < steps.size(); ++n) asked[s.task[n]] += steps[n].asked;
    for (const int count : asked) EXPECT_NEAR(count, 800, 5 * std::sqrt(4000 * 0.2 * 0.8));
  }
}

TEST(Shampo, OfTinyBAsksForTheMostDoubtful) {
  // Once no two margins are equal: from then on the smallest |p| has all of the probability but about 1e-10.
  const Stream s = make_rounds(300, 4, 5, 46);
  const auto steps = play("shampo(b=1e-14)", s, 4);
  int rounds = 0;
  for (std::size_t r = 100; r < 300; ++r) {
    std::size_t best = 4 * r;
    for (std::size_t n = 4 * r; n < 4 * r + 4; ++n)
      if (std::abs(steps[n].decision.margin) < std::abs(steps[best].decision.margin)) best = n;
    rounds += steps[best].asked;
  }
  EXPECT_EQ(rounds, 200);
}

TEST(SecondOrderShampo, DiagonalIsFullWhereInstancesHaveOneFeature) {
  Stream s = make_rounds(300, 3, 5, 47);
  Rng rng = make_rng(47, 0);
  for (Vector& x : s.x) x = sparse({static_cast<Index>(below(6, rng))}, {0.1 + uniform(rng)});
  for (const std::string other : {"", ", aggressive=true"}) {
    const auto full = play("shampo-second-order(b=0.1" + other + ")", s, 3),
               diagonal = play("shampo-second-order(b=0.1, diagonal=true" + other + ")", s, 3);
    for (std::size_t n = 0; n < s.size(); ++n) {
      ASSERT_NEAR(full[n].decision.margin, diagonal[n].decision.margin, 1e-5);
      ASSERT_EQ(full[n].asked, diagonal[n].asked);
      ASSERT_EQ(full[n].updated, diagonal[n].updated);
    }
  }
}

const std::vector<std::string> kEveryShampo{"shampo(", "shampo-second-order(", "shampo-second-order(diagonal=true, "};

/// Two tasks that have learned something.
std::unique_ptr<Alone> trained(const std::string& spec) {
  auto out = std::make_unique<Alone>(spec);
  for (const auto& [task, x, y] : {std::tuple{Task{0}, dense({1, 0.5}), 1}, {1, dense({0, 1}), -1}, {0, dense({-1, 1}), -1}})
    out->learn(task, x, {.margin = 0}, y);
  return out;
}

TEST(AnswerZero, IsIgnoredUnlessSaidOtherwise) {
  const Vector x = dense({0.5, 1});
  for (const std::string& spec : kEveryShampo) {
    const auto a = trained(spec + "zero=ignore)");
    const double before = a->score(0, x);
    Rng rng = a->rng;
    EXPECT_FALSE(a->learn(0, x, {.margin = before}, 0));
    EXPECT_EQ(a->score(0, x), before);
    EXPECT_EQ(a->rng, rng);
  }
}

TEST(AnswerZero, AtRandomIsAnAnswerByACoin) {
  const Vector x = dense({0.5, 1});
  for (const std::string& spec : kEveryShampo) {
    int updates = 0;
    for (std::uint64_t seed = 0; seed < 64; ++seed) {
      const auto a = trained(spec + "zero=random)"), b = trained(spec + "zero=random)");
      a->rng = b->rng = make_rng(seed, 1);
      const Decision d{.margin = a->score(0, x)};
      const bool updated = a->learn(0, x, d, 0);
      EXPECT_EQ(updated, b->learn(0, x, d, uniform(b->rng) < 0.5 ? 1 : -1));
      EXPECT_EQ(a->rng, b->rng) << "one draw";
      EXPECT_EQ(a->score(0, x), b->score(0, x));
      EXPECT_EQ(a->score(0, x) != d.margin, updated);
      updates += updated;
    }
    EXPECT_GT(updates, 10) << spec;
    EXPECT_LT(updates, 54) << spec;
  }
}

TEST(AnswerZero, AsAWeakUpdateStrengthensThePrediction) {
  const Vector x = dense({0.5, 1});
  for (const std::string& spec : kEveryShampo) {
    const auto a = trained(spec + "zero=weak(eta=0.25))");
    for (const Task task : {0u, 1u}) {
      const double before = a->score(task, x), sign = before > 0 ? 1 : -1;
      Rng rng = a->rng;
      EXPECT_TRUE(a->learn(task, x, {.margin = before}, 0));
      EXPECT_EQ(a->rng, rng);
      const double moved = sign * (a->score(task, x) - before);
      EXPECT_GT(moved, 0.01) << spec;
      if (spec == "shampo(") {
        EXPECT_NEAR(moved, 0.25 * 1.25, 1e-6) << "eta |x|^2";
      }
      EXPECT_TRUE(a->learn(task, x, {.margin = before}, 0));
      EXPECT_NEAR(sign * (a->score(task, x) - before), 2 * moved, 1e-6) << "A stays: the next step is as large";
    }
  }
  Alone fresh("shampo(zero=weak(eta=0.5))");
  EXPECT_TRUE(fresh.learn(0, x, {.margin = 0}, 0));
  EXPECT_NEAR(fresh.score(0, x), -0.5 * 1.25, 1e-6) << "0 predicts -1";
}

TEST(AnswerZero, CountsAsAQueryAndAsAnUpdateIfItWasOne) {
  for (const std::string& spec : kEveryShampo) {
    const Vector x = dense({0.5, 1});
    // 1 / (b_j + score), b_j = b (1 + updates)^10 (1 + queries)^-10: what was counted shows in the next probabilities.
    const std::string adaptive = "b=1, choose=uniform, prior=counts, ";
    Alone ignore(spec + adaptive + "zero=ignore)"), weak(spec + adaptive + "zero=weak)");
    for (int n = 0; n < 2; ++n) ignore.learn(0, x, {.margin = 0.5}, 0);
    const auto d = ignore.decide({x, x});  // a = (1 + 0) / (2 + 2) and 1 / 2
    EXPECT_DOUBLE_EQ(d[0].probability, 1.0 / 3) << "a query, and no mistake";
    weak.learn(0, x, {.margin = 0.5}, 0);
    EXPECT_DOUBLE_EQ(weak.decide({x, x})[0].probability, (1.0 / 3) / (1.0 / 3 + 0.5));
    const std::string by_updates = "b=1e9, adaptive=counts(kappa=1, eta=0), ";
    Alone one(spec + by_updates + "zero=ignore)"), other(spec + by_updates + "zero=weak)");
    one.learn(0, x, {.margin = 0.5}, 0);
    other.learn(0, x, {.margin = 0.5}, 0);
    EXPECT_NEAR(one.decide({x, x})[0].probability, 0.5, 1e-6) << "no update";
    EXPECT_NEAR(other.decide({x, x})[0].probability, 1.0 / 3, 1e-6) << "an update: b is doubled";
  }
}

TEST(AnswerZero, OfALearnerThatKnowsNothingOfItTeachesNothing) {
  for (const std::string spec : {"perceptron", "cmtl", "amtl", "amlc", "peer", "perceptron(query=shared)"}) {
    Alone a(spec);
    const Vector x = dense({0.5, 1});
    const auto d = a.decide({x, x});
    const Rng rng = a.rng;
    const double before = a.score(0, x);
    EXPECT_FALSE(a.learn(0, x, d[0], 0)) << spec;
    EXPECT_EQ(a.score(0, x), before) << spec;
    EXPECT_EQ(a.rng, rng) << spec;
  }
}

// --- the bounds ---

/// Data that u_1 .. u_K separate: y <u_i, x> >= 1 and |x| = 1; rounds of K.
struct Separable {
  Separable(Task K, std::size_t d, double gap, std::size_t rounds, std::uint64_t seed) : u(K, DenseVector(d)) {
    Rng rng = make_rng(seed, 9);
    const auto unit = [&](DenseVector& v) {
      do
        for (double& f : v) f = 2 * uniform(rng) - 1;
      while (product(v, v) < 0.01);
      const double norm = std::sqrt(product(v, v));
      for (double& f : v) f /= norm;
    };
    for (DenseVector& w : u) {
      unit(w);
      for (double& f : w) f /= gap;
    }
    for (std::size_t n = 0; n < rounds * K; ++n) {
      const auto i = static_cast<Task>(n % K);
      Vector x = dense(DenseVector(d));
      do unit(x.value);
      while (std::abs(product(u[i], x.value)) < 1);
      s.task.push_back(i);
      s.y.push_back(product(u[i], x.value) > 0 ? 1 : -1);
      s.x.push_back(x);
    }
  }
  double squared_norms() const {
    double sum = 0;
    for (const DenseVector& w : u) sum += product(w, w);
    return sum;
  }
  std::vector<DenseVector> u;
  Stream s;
};

/// Wrong predictions of all tasks, asked for or not. A margin of 0 is wrong.
double mistakes(const Stream& s, const std::vector<Outcome>& steps) {
  double out = 0;
  for (std::size_t n = 0; n < s.size(); ++n) out += mistaken(s.y[n], steps[n].decision.margin);
  return out;
}

// "Perceptron SHAMPO bound" with gamma = 1, no loss, X = 1, lambda = 0 and delta <= K:
// E[mistakes] <= K (2 b + 1)^2 sum |u_i|^2 / (8 b). The rounds are so many that a learner that never learned would make
// twice as many mistakes.
RC_GTEST_PROP(MistakeBound, OfShampoHoldsForAllPredictions, ()) {
  const auto K = *rc::gen::inRange<Task>(1, 6);
  const std::size_t d = *rc::gen::inRange<std::size_t>(2, 5);
  const double b = std::pow(2, *rc::gen::inRange(-4, 4)), gap = 0.1 * *rc::gen::inRange(3, 8);
  const double bound = K * (2 * b + 1) * (2 * b + 1) * (K / (gap * gap)) / (8 * b);
  const auto rounds = static_cast<std::size_t>(std::ceil(2 * bound / K));
  const Separable data(K, d, gap, rounds, *rc::gen::arbitrary<std::uint64_t>());
  RC_ASSERT(std::abs(data.squared_norms() - K / (gap * gap)) < 1e-9 * bound);
  constexpr int kSeeds = 10;
  const NameTable names = task_names(K);
  const Spec spec = parse_spec("shampo(b=" + std::to_string(b) + ")");
  double sum = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    Session session(spec, {.seed = seed, .tasks = &names});
    sum += mistakes(data.s, play(session, data.s, K));
  }
  RC_ASSERT(sum >= kSeeds * K);  // all of the first round
  RC_ASSERT(sum / kSeeds <= bound);
}

// "Expected mistake bound" of the second order with gamma = 1, no loss and delta <= K:
// E[mistakes] <= K b / 2 sum u_i^T E[A_i] u_i + K / (2 b) sum E[ln det A_i]. The slides have ln(1 + eigenvalue of A), which
// is more.
RC_GTEST_PROP(MistakeBound, OfSecondOrderShampoHoldsForAllPredictions, ()) {
  const auto K = *rc::gen::inRange<Task>(1, 5);
  const std::size_t d = *rc::gen::inRange<std::size_t>(2, 4);
  const double b = std::pow(2, *rc::gen::inRange(-4, 1)), gap = 0.1 * *rc::gen::inRange(3, 8);
  const Separable data(K, d, gap, 300, *rc::gen::arbitrary<std::uint64_t>());
  constexpr int kSeeds = 10;
  const NameTable names = task_names(K);
  const Spec spec = parse_spec("shampo-second-order(b=" + std::to_string(b) + ")");
  double mean = 0, bound = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    Session session(spec, {.seed = seed, .tasks = &names});
    const auto steps = play(session, data.s, K);
    mean += mistakes(data.s, steps) / kSeeds;
    std::vector<DenseMatrix> A(K, identity(d));
    for (std::size_t n = 0; n < steps.size(); ++n)
      if (steps[n].updated) add_outer(A[data.s.task[n]], 1, data.s.x[n].value);
    for (Task i = 0; i < K; ++i)
      bound += (K * b / 2 * product(data.u[i], product(A[i], data.u[i])) + K / (2 * b) * inverse_of(A[i]).second) / kSeeds;
  }
  RC_ASSERT(mean <= bound);
}

}  // namespace
}  // namespace quorate::test
