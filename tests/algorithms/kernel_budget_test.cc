// Kernel learners on a budget: their theory, and their memory.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "quorate/experiments/generate_drift.h"
#include "quorate/learner.h"
#include "quorate/model/model.h"
#include "quorate/session/session.h"
#include "support/make.h"
#include "support/settings.h"

namespace quorate::test {
namespace {

/// K tasks with one target u in d dimensions that turns now and then; every instance has margin 0.9 with it.
struct Shifting {
  Stream stream;
  double path = 0;  // sum of |u_t - u_{t-1}|
};
Shifting shifting(std::size_t n, Task K, std::size_t d, std::size_t every, std::uint64_t seed) {
  Rng rng = make_rng(seed, 0);
  const auto direction = [&] {
    std::vector<double> v(d);
    double squares = 0;
    for (double& x : v) x = uniform(rng) - 0.5;
    for (const double x : v) squares += x * x;
    for (double& x : v) x /= std::sqrt(squares);
    return v;
  };
  Shifting out;
  std::vector<double> u = direction();
  for (std::size_t t = 0; t < n; ++t) {
    if (t > 0 && t % every == 0) {
      const std::vector<double> to = direction();
      double squares = 0;
      for (std::size_t f = 0; f < d; ++f) squares += (to[f] - u[f]) * (to[f] - u[f]);
      out.path += std::sqrt(squares);
      u = to;
    }
    std::vector<double> x = direction();
    double along = 0, across = 0;
    for (std::size_t f = 0; f < d; ++f) along += x[f] * u[f];
    for (std::size_t f = 0; f < d; ++f) x[f] -= along * u[f], across += x[f] * x[f];
    const int y = uniform(rng) < 0.5 ? -1 : 1;
    for (std::size_t f = 0; f < d; ++f) x[f] = y * 0.9 * u[f] + std::sqrt(0.19 / across) * x[f];
    out.stream.task.push_back(static_cast<Task>(t % K));
    out.stream.x.push_back(dense(x));
    out.stream.y.push_back(y);
  }
  return out;
}

/// Theorem 1: with all references g equal to c u, the trace of K A is K c^2 in any graph, the hinge loss is 0 for c >= 1 /
/// 0.9, and E[M] <= (c_G S sqrt(B) + eps B^1.5 / 2 + eps B / 4 ln(B / 3)) / (1 - eps), S = sqrt(K) c times the path of u.
TEST(BudgetRandom, MakesNoMoreMistakesThanTheorem1Allows) {
  constexpr double kB = 100, kEps = 0.5;
  for (const Task K : {1u, 4u})
    for (const bool complete : {true, false}) {
      const double c = 1 / 0.9, cG = complete ? std::sqrt(2.0 / (K + 1)) : 1;
      ASSERT_LE(std::sqrt(static_cast<double>(K)) * c, kEps * std::sqrt(kB) / (2 * cG))
          << "the comparison class of the theorem";
      double mistakes = 0, bound = 0;
      constexpr int kRuns = 20;
      for (int run = 0; run < kRuns; ++run) {
        const Shifting s = shifting(3000, K, 10, 500, static_cast<std::uint64_t>(run));
        const NameTable names = task_names(K);
        Session session(parse_spec(std::string("budget-random(budget=100, kernel=linear, graph=") +
                                   (complete ? "complete)" : "disconnected)")),
                        {.seed = static_cast<std::uint64_t>(run), .tasks = &names});
        for (const Outcome& outcome : feed(session, s.stream))
          mistakes += mistaken(*outcome.answer, outcome.decision.margin);
        const double S = std::sqrt(static_cast<double>(K)) * c * s.path;
        bound += (cG * S * std::sqrt(kB) + kEps * std::pow(kB, 1.5) / 2 + kEps * kB / 4 * std::log(kB / 3)) / (1 - kEps);
      }
      EXPECT_LE(mistakes, bound) << "K " << K << (complete ? " complete" : " disconnected");
      EXPECT_LT(bound / kRuns, 1500) << "a bound that says something: guessing makes 1500 mistakes";
      EXPECT_GT(mistakes, 0);
    }
}

/// Tasks that join make c_G smaller, and with it the bound that Q has to stay below.
TEST(BudgetForgetron, TasksThatJoinLaterNeverMakeItsWeightsExplode) {
  for (const char* kernel : {"gaussian", "linear", "polynomial"}) {
    const Spec spec = parse_spec(std::string("budget-forgetron(budget=8, kernel=") + kernel + ")");
    Model model = Model::make(spec, {.seed = 1}, FeatureSettings{}, Labels{});
    const Stream s = make_stream(600, 1, 6, 8);
    for (std::size_t n = 0; n < s.size(); ++n) {
      const Task task = model.session.task(task_name(n < 200 ? 0 : static_cast<Task>(n)));  // then a new one each time
      const Outcome done = feed_one(model.session, {task, s.x[n]}, (n * 2654435761u >> 7) % 2 == 0 ? 1 : -1);
      ASSERT_LT(std::abs(done.decision.margin), 1e3) << kernel << " at example " << n;
    }
    EXPECT_NO_THROW(Model::from_bytes(model.to_bytes())) << kernel;
  }
}

class OnABudget : public testing::TestWithParam<const char*> {};

TEST_P(OnABudget, MemoryIsFilledAndNeverExceededWhateverComes) {
  const std::string learner = GetParam();
  for (const char* kernel : {"gaussian", "polynomial", "linear"})
    for (const std::size_t limit : {60'000u, 250'000u})
      for (const bool sparse_data : {false, true}) {
        const std::string spec = learner + "(budget=0, kernel=" + kernel + ", graph=disconnected)";
        Session session(parse_spec(spec), {.seed = 1, .memory_limit = limit});
        const Stream s = make_stream(1500, 6, sparse_data ? 300 : 40, 5, sparse_data);
        for (std::size_t n = 0; n < s.size(); ++n) {
          // Labels by a coin: nothing can be learned, so mistakes and evictions never end.
          const int y = (n * 2654435761u >> 7) % 2 == 0 ? 1 : -1;
          const Task task = session.task("user " + std::to_string(n % (n / 20 + 1)));  // tasks keep arriving
          const Outcome done = feed_one(session, {task, s.x[n]}, y);
          ASSERT_TRUE(std::isfinite(done.decision.margin)) << spec;
          ASSERT_LE(session.peak_bytes(), limit) << spec;
        }
        // 41 instances span what a linear kernel can tell apart; shared by all tasks, more are never kept.
        if (learner == "budget-projectron-shared" && std::string(kernel) == "linear" && !sparse_data) continue;
        EXPECT_GE(session.peak_bytes(), limit * 8 / 10) << spec << " at " << limit << (sparse_data ? " sparse" : " dense");
      }
}

TEST_P(OnABudget, TheLabelBudgetHoldsBesideTheMemory) {
  const std::string spec = std::string(GetParam()) + "(budget=0, query=margin(b=1))";
  Session session(parse_spec(spec), {.seed = 1, .limits = {.total = 50}, .memory_limit = 100'000});
  const Stream s = make_stream(1000, 6, 60, 6);
  feed(session, s);
  EXPECT_EQ(session.total().labels, 50u);
  EXPECT_LE(session.peak_bytes(), 100'000u);
}

INSTANTIATE_TEST_SUITE_P(All, OnABudget,
                         testing::Values("budget-random", "budget-forgetron", "budget-projectron",
                                         "budget-projectron-shared"),
                         [](const auto& param) {
                           std::string name = param.param;
                           for (char& c : name)
                             if (c == '-') c = '_';
                           return name;
                         });

/// Instances that nearly depend on each other: whole numbers, copies that differ in the last digits, huge and tiny values.
Stream dependent(std::size_t n, std::uint64_t seed) {
  Rng rng = make_rng(seed, 0);
  Stream s;
  for (std::size_t i = 0; i < n; ++i) {
    std::vector<double> x(5);
    const std::size_t kind = below(4, rng);
    for (double& v : x) v = kind == 0 ? static_cast<double>(below(1000, rng)) : uniform(rng);
    if (kind == 1 && i > 0) {
      x = s.x[below(i, rng)].value;
      for (double& v : x) v *= 1 + 1e-9 * uniform(rng);
    }
    if (kind == 3)
      for (double& v : x) v *= below(2, rng) == 0 ? 1e17 : 1e-17;
    s.x.push_back(dense(x));
    s.task.push_back(static_cast<Task>(below(30, rng)));
    s.y.push_back(below(2, rng) == 0 ? 1 : -1);
  }
  return s;
}

TEST(Projectron, NoFiniteInstanceEndsARunOrMakesAModelThatCannotBeLoaded) {
  for (const char* learner : {"budget-projectron", "budget-projectron-shared"})
    for (const char* kernel : {"linear", "polynomial(degree=3)", "polynomial(degree=20)", "gaussian"})
      for (const char* rest : {"eta=0", "eta=1e-5", "eta=0.01", "eta=0, budget=20"})
        for (const std::uint64_t seed : {1u, 2u}) {
          const std::string spec = std::string(learner) + "(kernel=" + kernel + ", " + rest + ")";
          Session session(parse_spec(spec), {.seed = 1});
          const Stream s = dependent(400, seed);
          ASSERT_NO_THROW({
            for (std::size_t n = 0; n < s.size(); ++n)
              ASSERT_TRUE(std::isfinite(feed(session, s, n).decision.margin)) << spec << " at " << n;
          }) << spec;
          Tensors saved;
          session.save(saved);
          Reader reader(saved);
          ASSERT_NO_THROW(Session::load(parse_spec(spec), session.options(), reader)) << spec;
        }
}

TEST(BudgetForgetron, HugeWeightsOfAModelFileGiveFiniteMargins) {
  const Spec spec = canonical(parse_spec("budget-forgetron(kernel=polynomial)"));
  Session session(spec, {.seed = 1});
  const Stream s = make_stream(60, 6, 5, 10);
  feed(session, s);
  Tensors saved;
  session.save(saved);
  const std::size_t weights = saved.tensors.at("learner.beta").bytes.size() / sizeof(double);
  std::vector<double> huge(weights);
  for (std::size_t i = 0; i < weights; ++i) huge[i] = i % 2 == 0 ? 1.7e308 : -1.7e308;
  Writer{saved}("learner.beta", huge);
  Reader reader(saved);
  Session loaded = Session::load(spec, session.options(), reader);
  for (std::size_t n = 0; n < s.size(); ++n) {
    EXPECT_TRUE(std::isfinite(loaded.learner().score({s.task[n], dense({1e9, 1e9, 1e9, 1e9, 1e9})})));
    EXPECT_TRUE(std::isfinite(feed(loaded, s, n).decision.margin));
  }
}

/// Above 20,000 tasks every instance of the complete graph is shorter than eta.
TEST(Projectron, LearnsHoweverManyTasksThereAre) {
  const Stream s = make_stream(500, 500, 5, 9);
  const auto mistakes = [&](Task tasks, const std::string& spec) {
    NameTable names = task_names(tasks);
    Session session(parse_spec(spec), {.seed = 1, .tasks = &names});
    feed(session, s);
    EXPECT_GE(session.learner().support_vectors(), 5u) << tasks;
    return session.total().mistakes;
  };
  // A unit instance is as long as eta with 19,999 tasks, and twice as long with 4,999.
  for (const Task tasks : {4'000u, 6'000u, 19'000u, 19'990u, 25'000u}) {
    const auto all = mistakes(tasks, "budget-projectron(kernel=linear, eta=0)");
    EXPECT_LE(mistakes(tasks, "budget-projectron(kernel=linear)"), all + all / 10) << tasks;
  }
}

TEST(Projectron, LearnsFromSmallValuesAndWithALargeEta) {
  const Stream s = make_stream(300, 3, 5, 9);
  for (const char* learner : {"budget-projectron", "budget-projectron-shared"})
    for (const auto& [eta, scale] : {std::pair{"0.01", 1e-3}, {"1", 1.0}, {"100", 1.0}}) {
      Session session(parse_spec(std::string(learner) + "(kernel=linear, eta=" + eta + ")"), {.seed = 1});
      for (std::size_t n = 0; n < s.size(); ++n) {
        Vector x = s.x[n];
        for (double& v : x.value) v *= scale;
        feed_one(session, {session.task("t" + std::to_string(s.task[n])), x.view()}, s.y[n]);
      }
      EXPECT_GE(session.learner().support_vectors(), 3u) << learner << ' ' << eta;
      EXPECT_LE(session.total().mistakes, 110u) << learner << ' ' << eta;
    }
}

TEST(KernelMemory, AnInstanceThatWouldNotFitAloneMakesNoneLeave) {
  const Stream s = make_stream(300, 3, 400, 5, true);
  std::vector<double> wide(60'000, 0.004);
  for (const char* learner : {"budget-random", "budget-forgetron", "budget-projectron", "budget-projectron-shared"}) {
    Session session(parse_spec(std::string(learner) + "(budget=0)"), {.seed = 1, .memory_limit = 500'000});
    feed(session, s);
    const auto kept = session.learner().support_vectors();
    EXPECT_GE(kept, 20u) << learner;
    for (int y : {1, -1})  // one of them is a mistake
      try {
        feed_one(session, {0, {{}, wide}}, y);
      } catch (const MemoryError&) {
      }
    EXPECT_EQ(session.learner().support_vectors(), kept) << learner;
  }
}

TEST(KernelMemory, TasksWithoutEndDoNotTakeThePlaceOfAllInstances) {
  for (const char* learner : {"budget-random", "budget-forgetron", "budget-projectron", "budget-projectron-shared"}) {
    Session session(parse_spec(std::string(learner) + "(budget=0, kernel=linear)"), {.seed = 1, .memory_limit = 200'000});
    const Stream s = make_stream(400, 3, 400, 5, true);
    feed(session, s);
    const auto kept = session.learner().support_vectors();
    try {
      for (int n = 0; n < 100'000; ++n) session.task("a user with a name " + std::to_string(n));
      ADD_FAILURE() << learner;
    } catch (const MemoryError&) {
    }
    EXPECT_GE(session.learner().support_vectors(), std::min<std::size_t>(kept, 10)) << learner;
    EXPECT_LE(session.peak_bytes(), 200'000u);
  }
}

TEST(KernelMemory, WhatEveryTaskNeedsOfAnInstanceIsPartOfIt) {
  for (std::size_t limit = 10'000; limit < 60'000; limit += 1'700)
    for (const char* learner : {"budget-random", "budget-forgetron", "budget-projectron", "budget-projectron-shared"}) {
      Session session(parse_spec(std::string(learner) + "(budget=0, kernel=linear)"), {.seed = 1, .memory_limit = limit});
      Rng rng = make_rng(3, 0);
      std::size_t least = 1000;
      try {
        for (int n = 0; n < 15'000; ++n) {  // a new task now and then, as schools in their file
          const Task task = session.task("school number " + std::to_string(n / 50));
          Vector x;
          for (int k = 0; k < 9; ++k) x.value.push_back(uniform(rng) - 0.5);
          feed_one(session, {task, x.view()}, uniform(rng) < 0.5 ? 1 : -1);
          if (n > 50) least = std::min(least, session.learner().support_vectors());
        }
      } catch (const MemoryError&) {
      }
      EXPECT_GE(session.learner().support_vectors(), 1u) << learner << ' ' << limit;
      EXPECT_GE(least, 1u) << learner << ' ' << limit;
      EXPECT_LE(session.peak_bytes(), limit);
    }
}

TEST(MemoryLimit, LearnersThatCannotForgetSayThatItDoesNotHoldThem) {
  for (const char* spec : {"cmtl", "perceptron", "kernel-perceptron", "shampo-second-order"}) {
    Session session(parse_spec(spec), {.seed = 1, .memory_limit = 20'000});
    const Stream s = make_stream(500, 6, 3000, 7, true);
    try {
      feed(session, s);
      FAIL() << spec;
    } catch (const MemoryError& e) {
      EXPECT_NE(std::string(e.what()).find("20000"), std::string::npos) << e.what();
    }
    EXPECT_LE(session.peak_bytes(), 20'000u);
  }
}

}  // namespace
}  // namespace quorate::test
