#include "quorate/queries/shared_annotator.h"

#include "quorate/registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "quorate/base/error.h"
#include "quorate/base/memory.h"
#include "support/make.h"
#include "support/temp.h"

namespace quorate::test {
namespace {

using testing::HasSubstr;

constexpr int kDraws = 100'000;

/// A chooser and what it lives in. args: parameters of SharedAnnotatorParams as text.
struct Made {
  explicit Made(const std::string& args, std::size_t labels = 1, bool restore = false)
      : tasks(task_names(4)),
        chooser(read_params<SharedAnnotatorParams>(parse_spec("choice(" + args + ")")), {tasks, &memory, restore, labels}) {}
  Memory memory;
  NameTable tasks;
  SharedAnnotator chooser;
};

TEST(SharedAnnotator, OfAUserAllTasksHaveTheWeightOfTheName) {
  const TempDir dir;
  Memory memory;
  NameTable tasks = task_names(2);
  const std::string prior = "choice(prior=weights(file=" + dir.write("w.csv", "task,weight\nt1,4\n") + "))";
  const SharedAnnotator chooser(read_params<SharedAnnotatorParams>(parse_spec(prior)), {tasks, &memory, false, 1, 3});
  const auto weight = chooser.pack().weight;
  EXPECT_THAT(std::vector<double>(weight.begin(), weight.end()), testing::ElementsAre(1, 1, 1, 4, 4, 4));
}

struct Round {
  std::vector<Example> examples;
  std::vector<Decision> decisions;
};
Round round_of(const std::vector<Task>& tasks, const std::vector<double>& margins) {
  Round out;
  for (std::size_t n = 0; n < tasks.size(); ++n) {
    out.examples.push_back({tasks[n], {}});
    out.decisions.push_back({.margin = margins[n]});
  }
  return out;
}
std::vector<Task> first_tasks(std::size_t K) {
  std::vector<Task> out(K);
  std::iota(out.begin(), out.end(), Task{0});
  return out;
}
std::vector<std::size_t> asked(const Round& r) {
  std::vector<std::size_t> out;
  for (std::size_t n = 0; n < r.decisions.size(); ++n)
    if (r.decisions[n].ask) out.push_back(n);
  return out;
}

/// The scores of Perceptron SHAMPO.
std::vector<double> scores_of(const std::vector<double>& margins) {
  std::vector<double> out;
  double least = INFINITY;
  for (const double m : margins) least = std::min(least, std::abs(m));
  for (const double m : margins) out.push_back(std::abs(m) - least);
  return out;
}

/// Pearson's statistic of counts against probabilities, and the value that it exceeds once in a million times
/// (Wilson and Hilferty).
double chi_square(const std::vector<double>& counts, const std::vector<double>& probabilities) {
  const double n = std::accumulate(counts.begin(), counts.end(), 0.0);
  double sum = 0;
  for (std::size_t i = 0; i < counts.size(); ++i)
    sum += (counts[i] - n * probabilities[i]) * (counts[i] - n * probabilities[i]) / (n * probabilities[i]);
  return sum;
}
double once_in_a_million(std::size_t cells) {
  const double k = static_cast<double>(cells - 1), root = 1 - 2 / (9 * k) + 4.753 * std::sqrt(2 / (9 * k));
  return k * root * root * root;
}

/// What each task has been through before the draws: (queries, mistakes, updates).
struct Past {
  int queries, mistakes, updates;
};
constexpr Past kPast[] = {{3, 1, 2}, {0, 0, 0}, {8, 8, 8}, {1, 0, 0}};  // 12 queries in all
void live_through(SharedAnnotator& chooser) {
  for (Task i = 0; i < 4; ++i)
    for (int q = 0; q < kPast[i].queries; ++q) chooser.learned(i, q < kPast[i].mistakes, q < kPast[i].updates);
}

TEST(SharedAnnotator, DrawsTasksAsOftenAsTheFormulaSays) {
  const TempDir dir;
  const std::string file = "prior=weights(file=" + dir.write("w.csv", "task,weight\nt2,3\nt0,0.5\n") + ")";
  using List = std::vector<double>;
  const List same{1, 1, 1, 1}, weights{0.5, 1, 3, 1}, counts{2.0 / 5, 1.0 / 2, 9.0 / 10, 1.0 / 3};
  // 0.5 (1 + updates)^0.5 (1 + queries)^-0.25, the queries being the task's, or all 12.
  List own, all;
  for (const Past& past : kPast) {
    own.push_back(0.5 * std::sqrt(1.0 + past.updates) / std::pow(1.0 + past.queries, 0.25));
    all.push_back(0.5 * std::sqrt(1.0 + past.updates) / std::pow(13, 0.25));
  }
  const List half{0.5, 0.5, 0.5, 0.5}, tiny{0.01, 0.01, 0.01, 0.01};
  struct Case {
    std::string args;
    List a, b;  // by task
    bool uniform = false;
  };
  const std::string adaptive = "b=0.5, adaptive=counts(kappa=0.5, eta=-0.25, queries=";
  const std::vector<Case> cases{{"b=0.5", same, half},
                                {"b=0.01", same, tiny},
                                {"b=0.5, choose=uniform", same, half, true},
                                {"b=0.5, " + file, weights, half},
                                {"b=0.5, choose=uniform, " + file, weights, half, true},
                                {"b=0.5, prior=counts", counts, half},
                                {"b=0.5, choose=uniform, prior=counts", counts, half, true},
                                {adaptive + "own)", same, own},
                                {adaptive + "all)", same, all},
                                {adaptive + "own), prior=counts", counts, own}};
  const std::vector<Task> tasks{2, 0, 3, 1};
  const List margins{0.4, -0.1, 2, -0.7}, scores{0.2, -0.3, 1, 0};  // a score below 0 counts as 0
  for (const bool by_margin : {true, false})
    for (const Case& c : cases) {
      List expected, excess = by_margin ? scores_of(margins) : scores;
      for (std::size_t n = 0; n < 4; ++n)
        expected.push_back(c.a[tasks[n]] / (c.uniform ? 1 : c.b[tasks[n]] + std::max(excess[n], 0.0)));
      const double sum = std::accumulate(expected.begin(), expected.end(), 0.0);
      for (double& p : expected) p /= sum;
      Made made(c.args);
      live_through(made.chooser);
      Rng rng = make_rng(17, 1);
      List chosen(4);
      for (int i = 0; i < kDraws; ++i) {
        Round r = round_of(tasks, margins);
        for (std::size_t n = 0; n < 4; ++n) r.decisions[n].selection_score = scores[n];
        if (by_margin)
          made.chooser.by_margin(r.examples, rng, r.decisions);
        else
          made.chooser.by_score(r.examples, rng, r.decisions);
        ASSERT_EQ(asked(r).size(), 1u);
        ++chosen[asked(r)[0]];
        for (std::size_t n = 0; n < 4; ++n) {
          ASSERT_NEAR(r.decisions[n].probability, expected[n], 1e-12) << c.args;
          ASSERT_EQ(r.decisions[n].margin, margins[n]);
          ASSERT_DOUBLE_EQ(r.decisions[n].selection_score, excess[n]);
        }
      }
      EXPECT_LT(chi_square(chosen, expected), once_in_a_million(4)) << c.args << (by_margin ? ", by margin" : ", by score");
    }
}

TEST(SharedAnnotator, TwoLabelsAreTwoDrawsWithoutReplacement) {
  const std::vector<double> margins{0, 0.2, -0.5, 1, -3};
  std::vector<double> p;
  for (const double d : scores_of(margins)) p.push_back(1 / (0.4 + d));
  const double sum = std::accumulate(p.begin(), p.end(), 0.0);
  for (double& v : p) v /= sum;
  std::map<std::vector<std::size_t>, double> counts;
  const Made made("b=0.4", 2);
  Rng rng = make_rng(18, 1);
  for (int i = 0; i < kDraws; ++i) {
    Round r = round_of(first_tasks(5), margins);
    made.chooser.by_margin(r.examples, rng, r.decisions);
    ++counts[asked(r)];
  }
  std::vector<double> seen, expected;
  for (std::size_t i = 0; i < 5; ++i)
    for (std::size_t j = i + 1; j < 5; ++j) {
      seen.push_back(counts[{i, j}]);
      expected.push_back(p[i] * p[j] / (1 - p[i]) + p[j] * p[i] / (1 - p[j]));  // i first, or j first
    }
  EXPECT_EQ(counts.size(), 10u) << "pairs, and nothing else";
  EXPECT_LT(chi_square(seen, expected), once_in_a_million(10));
}

/// A round of 2 to 8 examples with margins of all sizes; some of them equal.
Round any_round() {
  const auto K = *rc::gen::inRange<std::size_t>(2, 9);
  std::vector<double> margins;
  for (std::size_t n = 0; n < K; ++n) margins.push_back(0.25 * *rc::gen::inRange(-8, 9));
  std::vector<Task> tasks = *rc::gen::container<std::vector<Task>>(K, rc::gen::inRange<Task>(0, 6));
  return round_of(tasks, margins);
}

RC_GTEST_PROP(SharedAnnotator, BuysExactlyAsManyLabelsAsItIsTold, ()) {
  Round r = any_round();
  const std::size_t K = r.examples.size();
  Rng rng = make_rng(*rc::gen::arbitrary<std::uint64_t>(), 1);
  const std::string choose = *rc::gen::element<std::string>("margin", "uniform", "smallest");
  for (const std::size_t m : {std::size_t{1}, std::size_t{2}, K - 1, K, K + 3}) {
    const Made made("b=0.01, choose=" + choose, m);
    Rng same = rng;
    made.chooser.by_margin(r.examples, rng, r.decisions);
    const auto chosen = asked(r);
    RC_ASSERT(chosen.size() == std::min(m, K));
    for (const Decision& d : r.decisions) RC_ASSERT(d.probability >= 0.0 && d.probability <= 1.0);
    same.discard(m >= K || choose == "smallest" ? 0 : m);
    RC_ASSERT(rng == same);  // a draw per label, none where nothing is left to chance
    if (m >= K)
      for (const Decision& d : r.decisions) RC_ASSERT(d.probability == 1.0);
  }
}

// The documented rule, replayed with a copy of the generator: a draw u takes the first example not yet taken whose running
// sum of a / (b + score) exceeds u times their sum.
RC_GTEST_PROP(SharedAnnotator, ADrawTakesTheFirstExampleWhoseRunningSumExceedsIt, ()) {
  Round r = any_round();
  const std::size_t K = r.examples.size(), m = *rc::gen::inRange<std::size_t>(1, K);
  const double b = std::pow(10, *rc::gen::inRange(-4, 3));
  Made made("b=" + std::to_string(b) + ", prior=counts", m);
  live_through(made.chooser);
  Rng rng = make_rng(*rc::gen::arbitrary<std::uint64_t>(), 1), copy = rng;
  std::vector<double> margins, weight;
  for (const Decision& d : r.decisions) margins.push_back(d.margin);
  for (std::size_t n = 0; n < K; ++n) {
    const Task i = r.examples[n].task;
    const double a = i < 4 ? (1.0 + kPast[i].mistakes) / (2.0 + kPast[i].queries) : 0.5;
    weight.push_back(a / (b + scores_of(margins)[n]));
  }
  made.chooser.by_margin(r.examples, rng, r.decisions);
  std::vector<bool> taken(K);
  std::vector<double> probability(K);
  for (std::size_t label = 0; label < m; ++label) {
    double sum = 0, running = 0;
    for (std::size_t n = 0; n < K; ++n) sum += taken[n] ? 0 : weight[n];
    const double u = uniform(copy);
    std::size_t next = 0;
    for (std::size_t n = 0; n < K; ++n) {
      if (taken[n]) continue;
      probability[n] = weight[n] / sum;
      if (running <= u * sum) next = n;
      running += weight[n];
    }
    taken[next] = true;
    RC_ASSERT(r.decisions[next].draw == u);
  }
  RC_ASSERT(rng == copy);
  for (std::size_t n = 0; n < K; ++n) {
    RC_ASSERT(r.decisions[n].ask == taken[n]);
    RC_ASSERT(std::isnan(r.decisions[n].draw) == !taken[n]);
    RC_ASSERT(std::abs(r.decisions[n].probability - probability[n]) < 1e-12);
  }
}

TEST(SharedAnnotator, SmallestTakesTheMostDoubtfulAndTheEarlierOfEquals) {
  Rng rng = make_rng(1, 1), same = rng;
  const auto taken = [&](std::size_t m, const std::vector<double>& margins) {
    const Made made("choose=smallest", m);
    Round r = round_of(first_tasks(margins.size()), margins);
    made.chooser.by_margin(r.examples, rng, r.decisions);
    for (const Decision& d : r.decisions) {
      EXPECT_EQ(d.probability, d.ask ? 1 : 0);
      EXPECT_TRUE(std::isnan(d.draw));
    }
    return asked(r);
  };
  using Places = std::vector<std::size_t>;
  EXPECT_EQ(taken(1, {0.5, -0.2, 0.3}), Places({1}));
  EXPECT_EQ(taken(2, {0.5, -0.2, 0.3}), Places({1, 2}));
  EXPECT_EQ(taken(1, {0.5, -0.2, 0.2}), Places({1})) << "+ or - is the same";
  EXPECT_EQ(taken(2, {0, 0, 0, 0}), Places({0, 1}));
  EXPECT_EQ(taken(2, {3, 1, 2, 1, 1}), Places({1, 3}));
  const Made made("choose=smallest", 1);
  Round r = round_of({0, 1}, {0, 0});
  r.decisions[0].selection_score = -0.1;
  r.decisions[1].selection_score = -0.2;
  made.chooser.by_score(r.examples, rng, r.decisions);
  EXPECT_EQ(asked(r), Places({1})) << "below 0, too";
  EXPECT_EQ(rng, same);
}

TEST(SharedAnnotator, AllBuysEveryLabelAndDrawsNothing) {
  const Made made("choose=all", 1);
  EXPECT_FALSE(capabilities(parse_spec("shampo(choose=all)")).selects);
  EXPECT_TRUE(capabilities(parse_spec("shampo(choose=smallest)")).selects);
  EXPECT_TRUE(capabilities(parse_spec("shampo")).selects);
  Rng rng = make_rng(1, 1), same = rng;
  Round r = round_of({0, 1, 2}, {0, 5, -1});
  made.chooser.by_margin(r.examples, rng, r.decisions);
  EXPECT_EQ(asked(r).size(), 3u);
  for (const Decision& d : r.decisions) EXPECT_EQ(d.probability, 1);
  EXPECT_EQ(rng, same);
}

TEST(SharedAnnotator, NoNumberIsTooLargeOrTooSmallForIt) {
  constexpr std::uint64_t kMany = std::uint64_t{1} << 53;
  SharedAnnotator::Packed past{{0, kMany, 0, kMany}, {0, kMany, 0, 5}, {0, kMany, kMany, kMany}, {1e-9, 1e9, 1, 1e-9}};
  const TempDir dir;
  const std::string file = "prior=weights(file=" + dir.write("w.csv", "task,weight\n") + ")";
  Rng rng = make_rng(19, 1);
  for (const std::string b : {"5e-324", "1e-300", "1", "1e300", "1.7e308"})
    for (const std::string kappa : {"-10", "10"})
      for (const std::string eta : {"-10", "10"})
        for (const std::string queries : {"own", "all"})
          for (const auto& margins : std::vector<std::vector<double>>{
                   {0, 0, 0, 0}, {1e-300, 1e300, -1.7e308, 0}, {1.7e308, -1.7e308, 1, 1e-308}, {1e300, 1e300, 1e300, 1e300}})
            for (const std::size_t m : {1u, 3u}) {
              Made made(
                  "b=" + b + ", adaptive=counts(kappa=" + kappa + ", eta=" + eta + ", queries=" + queries + "), " + file, m);
              made.chooser.unpack(past);
              Round r = round_of({0, 1, 2, 3}, margins);
              made.chooser.by_margin(r.examples, rng, r.decisions);
              ASSERT_EQ(asked(r).size(), m) << b;
              double sum = 0;
              for (const Decision& d : r.decisions) {
                ASSERT_TRUE(d.probability >= 0 && d.probability <= 1) << d.probability;
                sum += d.probability;
              }
              if (m == 1) {
                ASSERT_NEAR(sum, 1, 1e-12) << b;
              }
            }
}

TEST(SharedAnnotator, AtItsEndsBIsUniformOrTheMostDoubtful) {
  const auto probabilities = [](const std::string& args) {
    constexpr std::uint64_t kMany = std::uint64_t{1} << 53;
    Made made(args);
    made.chooser.unpack({{0, 0, 0}, {kMany, kMany, kMany}, {kMany, kMany, kMany}, {}});
    Rng rng = make_rng(20, 1);
    Round r = round_of({0, 1, 2}, {2, -1, 3});
    made.chooser.by_margin(r.examples, rng, r.decisions);
    std::vector<double> out;
    for (const Decision& d : r.decisions) out.push_back(d.probability);
    return out;
  };
  const std::string larger = ", adaptive=counts(kappa=10, eta=0)", smaller = ", adaptive=counts(kappa=0, eta=-10)";
  for (const std::string& args : {std::string("b=1e300"), "b=1.7e308" + larger})  // the second is more than a number can be
    EXPECT_EQ(probabilities(args), std::vector<double>(3, 1.0 / 3)) << args;
  for (const std::string& args : {std::string("b=1e-300"), "b=5e-324" + smaller}) {  // and less
    EXPECT_EQ(probabilities(args)[1], 1) << args;
    EXPECT_GT(probabilities(args)[0], 0) << args;
    EXPECT_LT(probabilities(args)[0], 1e-290) << args;
  }
}

TEST(SharedAnnotator, APriorFileMayNameTasksThatNeverComeAndOthersHaveOne) {
  const TempDir dir;
  const std::string file = dir.write("w.csv", "task,weight\n\"gh,ost\",1e9\nt1,1e-9\n");
  Made made("choose=uniform, prior=weights(file=" + file + ")");
  EXPECT_EQ(made.tasks.size(), 5u);
  Rng rng = make_rng(21, 1);
  Round r = round_of({0, 1, 77}, {0, 0, 0});
  made.chooser.by_margin(r.examples, rng, r.decisions);
  EXPECT_NEAR(r.decisions[0].probability, 0.5, 1e-8);
  EXPECT_NEAR(r.decisions[1].probability, 0.5e-9, 1e-15);
  EXPECT_NEAR(r.decisions[2].probability, 0.5, 1e-8);
}

TEST(SharedAnnotator, ABadPriorFileIsRefusedWithItsLineAndWhatWasExpected) {
  const TempDir dir;
  const auto refusal = [](const std::string& file) -> std::string {
    try {
      Made("prior=weights(file=" + file + ")");
    } catch (const Error& e) {
      return e.what();
    }
    return "accepted";
  };
  const std::string missing = dir.at("none.csv"), file = dir.at("w.csv");
  EXPECT_THROW(Made("prior=weights(file=" + missing + ")"), FileError);
  EXPECT_THAT(refusal(missing), HasSubstr(missing));
  EXPECT_THROW(Made("prior=weights"), UsageError);
  EXPECT_THAT(refusal("\"\""), AllOf(HasSubstr("prior"), HasSubstr("file=PATH"), HasSubstr("task,weight")));
  const auto bad = [&](const std::string& text, const std::string& where, const std::string& value,
                       const std::string& expected) {
    dir.write("w.csv", text);
    EXPECT_THROW(Made("prior=weights(file=" + file + ")"), DataError) << text;
    EXPECT_THAT(refusal(file), AllOf(HasSubstr(file + where), HasSubstr(value), HasSubstr("expected " + expected))) << text;
  };
  bad("", ": ", "empty", "the header task,weight");
  bad("weight,task\nt0,1\n", ":1: ", "'weight,task'", "the header task,weight");
  bad("t0,1\n", ":1: ", "'t0,1'", "the header task,weight");
  bad("task,weight\nt0,1\nt1\n", ":3: ", "'t1'", "two fields");
  for (const std::string weight : {"0", "-1", "1e10", "9e-10", "1e999", "inf", "nan", "heavy", "1x", "0x1"})
    bad("task,weight\nt0,1\nt1," + weight + "\n", ":3: ", "'" + weight + "'", "a number from 1e-09 to 1000000000");
  bad("task,weight\nt0,1\nt3,1\nt0,1\n", ":4: ", "'t0' comes twice", "one weight for each task");
  dir.write("w.csv", "task,weight\nt0,1e-9\nt1,1e9\n");
  EXPECT_EQ(refusal(file), "accepted") << "the ends belong to the range";
}

TEST(SharedAnnotator, RestoredReadsNoFile) {
  EXPECT_NO_THROW(Made("prior=weights(file=none.csv)", 1, true));
  EXPECT_THROW(Made("prior=weights(file=none.csv)", 1, false), FileError);
}

TEST(SharedAnnotator, PackAndUnpackIsTheSameChooser) {
  const TempDir dir;
  const std::string args =
      "adaptive=counts(queries=all), prior=weights(file=" + dir.write("w.csv", "task,weight\nt2,3\nt0,0.5\n") + ")";
  Made made(args), back(args, 1, true);
  live_through(made.chooser);
  const SharedAnnotator::Packed packed = made.chooser.pack();
  EXPECT_THAT(packed.queries.list(), testing::ElementsAre(3, 0, 8, 1));
  EXPECT_THAT(packed.mistakes.list(), testing::ElementsAre(1, 0, 8, 0));
  EXPECT_THAT(packed.updates.list(), testing::ElementsAre(2, 0, 8, 0));
  EXPECT_THAT(packed.weight, testing::ElementsAre(0.5, 1, 3));
  back.chooser.unpack(packed);
  Rng one = make_rng(22, 1), other = one;
  for (int i = 0; i < 200; ++i) {
    Round a = round_of(first_tasks(4), {0.1 * i, 1, 2, -1}), b = a;
    made.chooser.by_margin(a.examples, one, a.decisions);
    back.chooser.by_margin(b.examples, other, b.decisions);
    ASSERT_EQ(asked(a), asked(b));
    for (std::size_t n = 0; n < 4; ++n) ASSERT_EQ(a.decisions[n].probability, b.decisions[n].probability);
    const Task chosen = static_cast<Task>(asked(a)[0]);
    made.chooser.learned(chosen, i % 2 == 0, i % 3 == 0);
    back.chooser.learned(chosen, i % 2 == 0, i % 3 == 0);
  }
  EXPECT_EQ(made.chooser.pack().updates.list(), back.chooser.pack().updates.list());
}

TEST(SharedAnnotator, UnpackRefusesCountsAndWeightsThatCannotBe) {
  const auto unpack = [](const SharedAnnotator::Packed& packed) {
    Made made("");
    made.chooser.unpack(packed);
  };
  EXPECT_NO_THROW(unpack({{}, {}, {}, {}}));
  EXPECT_NO_THROW(unpack({{1, 0}, {1, 2}, {1, 2}, {0.5}}));
  EXPECT_THROW(unpack({{1}, {1, 1}, {1, 1}, {}}), DataError) << "sizes differ";
  EXPECT_THROW(unpack({{1, 1}, {1}, {1, 1}, {}}), DataError);
  EXPECT_THROW(unpack({{1, 1}, {1, 1}, {1}, {}}), DataError);
  EXPECT_THROW(unpack({{2}, {0}, {1}, {}}), DataError) << "more mistakes than queries";
  EXPECT_THROW(unpack({{0}, {2}, {1}, {}}), DataError) << "more updates than queries";
  EXPECT_THROW(unpack({{0}, {0}, {(std::uint64_t{1} << 53) + 1}, {}}), DataError);
  for (const double weight : {0.0, -1.0, 1e10, 1e-10, std::nan(""), static_cast<double>(INFINITY)})
    EXPECT_THROW(unpack({{}, {}, {}, {weight}}), DataError) << weight;
}

}  // namespace
}  // namespace quorate::test
