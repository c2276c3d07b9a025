// What cohort promises beyond the contract of every learner; tests/cli/test_cohort_traces.py compares it step by step.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <numeric>
#include <string_view>
#include <thread>
#include <vector>

#include "quorate/learner.h"
#include "quorate/metrics/metrics.h"
#include "quorate/registry.h"
#include "quorate/session/session.h"
#include "quorate/store/tensors.h"
#include "quorate/weights/beliefs.h"
#include "support/make.h"

namespace quorate::test {
namespace {

// E and O while no leaning has made fewer mistakes than another: the means of sqrt(1.2 / (1 + q)) and sqrt(1.2 q / (1 + q))
// over the ratios q.
constexpr double kRatios[] = {1.0 / 32, 1.0 / 8, 1.0 / 2, 2.0, 8.0};
double first_E() {
  double sum = 0;
  for (const double q : kRatios) sum += std::sqrt(1.2 / (1 + q));
  return sum / 5;
}
double first_O() {
  double sum = 0;
  for (const double q : kRatios) sum += std::sqrt(1.2 * q / (1 + q));
  return sum / 5;
}

/// A learner without a session around it: who decides and who learns is up to the test.
struct Bare {
  explicit Bare(const std::string& spec, Task K = 8)
      : tasks(task_names(K)), learner(make_learner(canonical(parse_spec(spec)), {tasks, &memory})) {}
  Decision decide(const Example& e) {
    Decision d;
    learner->decide({{&e, 1}}, rng, {&d, 1});
    return d;
  }
  bool learn(const Example& e, int y) { return learner->learn(e, {.probability = 1}, answer_of(y), rng); }
  std::string state() const {
    Tensors out;
    learner->save(Writer{out});
    return to_bytes(out);
  }

  NameTable tasks;
  Memory memory;
  std::unique_ptr<Learner> learner;
  Rng rng = make_rng(1, 1);
};

/// Share of right predictions from example `begin` on.
double accuracy(const std::vector<Outcome>& steps, const Stream& s, std::size_t begin) {
  Confusion out;
  for (std::size_t n = begin; n < s.size(); ++n) out.add(s.y[n], predicted(steps[n].decision.margin));
  return out.accuracy();
}

std::vector<Outcome> run(const std::string& spec, const Stream& s, const SessionOptions& options = {}) {
  Session session(parse_spec(spec), options);
  return feed(session, s);
}

// noise = 0.5, E = 0.800709, O = 0.623104 (eta = 0: they stay), E^2 = 0.641135, O^2 = 0.388258, their sum 1.029394.
// u = 1/2 (eta = 0). nu = noise q^3/4 for q > 1, the label's class having q times the labels of the other, one added to
// either.
//   1. t0, x = (1, 0), y = +1: q = 2, nu = 0.840896, p_k = 0, r = 1.029394
//        a_0 = 1 / (r + nu) = 0.534676, a_1 = 1 / (r + 20 nu) = 0.056031, beta = 1 / (r + 2 nu) = 0.368842
//        w_k0 = a_k E = 0.428120, 0.044864    s_0 = 1 - beta E^2 = 0.763522
//        v_k0 = a_k O = 0.333159, 0.034913    t_00 = 1 - beta O^2 = 0.856794
//   2. t1, x = (1, 1), y = -1: q = 1, nu = 0.5, p_k = E w_k0 = 0.342800, 0.035923, p = 0.189362
//        r = E^2 (0.763522 + 1) + O^2 2 = 1.907173, a_k = (1 + p_k) / (r + nu_k) = 0.557833, 0.087000, beta = 0.343977
//        w_0 = (0.428120, 0) - a_0 E (0.763522, 1) = (0.087084, -0.446662), likewise w_1 = (-0.008324, -0.069662)
//        s = (0.763522 - beta E^2 0.763522^2, 1 - beta E^2) = (0.634957, 0.779464)
//        v_k = -a_k O (1, 1): -0.347588, -0.054210; t_1 = 1 - beta O^2 = 0.866448
//   3. t0, x = (0, 1), y = +1: q = 3/2, nu = 0.677702, p_k = E w_k1 = -0.357646, -0.055779, p = -0.206713
//        r = E^2 0.779464 + O^2 = 0.888001, a_k = (1 - p_k) / (r + nu_k) = 0.867117, 0.073105
//        w_k1 += a_k E 0.779464 = 0.094527, -0.024035; v_k1 = a_k O = 0.540304, 0.045552
TEST(Cohort, ThreeRoundsByHand) {
  EXPECT_NEAR(first_E(), 0.800709, 1e-6);
  EXPECT_NEAR(first_O(), 0.623104, 1e-6);
  const NameTable names = task_names(3);
  Session session(parse_spec("cohort(query=always, noise=0.5, eta=0, replays=0, scale=none)"), {.seed = 1, .tasks = &names});
  EXPECT_EQ(feed_one(session, {0, dense({1, 0})}, 1).decision.margin, 0);
  EXPECT_NEAR(session.learner().score({0, dense({1, 0})}),
              (0.800709 * (0.428120 + 0.044864) + 0.623104 * (0.333159 + 0.034913)) / 2, 2e-6);
  EXPECT_NEAR(feed_one(session, {1, dense({1, 1})}, -1).decision.margin, 0.189362, 1e-6);
  EXPECT_NEAR(feed_one(session, {0, dense({0, 1})}, 1).decision.margin, -0.206713, 1e-6);
  EXPECT_EQ(session.total().updates, 3u);
  const auto score = [&](Task i, double a, double b) { return session.learner().score({i, dense({a, b})}); };
  // A task without labels knows what is shared; the others add their own.
  EXPECT_NEAR(score(2, 1, 0), 0.031532, 2e-6);
  EXPECT_NEAR(score(2, 0, 1), 0.028222, 2e-6);
  EXPECT_NEAR(score(0, 0, 1), 0.210746, 2e-6);
  EXPECT_NEAR(score(1, 0, 1), -0.096959, 2e-6);
  EXPECT_NEAR(session.learner().influence(0, 1), 0.641135 / 1.029394, 1e-6);
  EXPECT_EQ(session.learner().influence(1, 1), 1);
}

/// Texts of twelve words on one of eight subjects, each with forty words of its own; the label is the subject's.
struct Texts {
  explicit Texts(std::size_t n) {
    Rng rng = make_rng(9, 0);
    for (std::size_t i = 0; i < n; ++i) {
      const Index subject = static_cast<Index>(rng() % 8);
      std::vector<Index>& words = index.emplace_back();
      for (int k = 0; k < 12; ++k)
        words.push_back(static_cast<Index>(1 + (k < 9 ? subject * 40 + rng() % 40 : rng() % 320)));
      std::ranges::sort(words);
      words.erase(std::unique(words.begin(), words.end()), words.end());
      value.emplace_back(words.size(), 1.0);
      y.push_back(subject % 2 == 0 ? 1 : -1);
    }
  }
  Example operator[](std::size_t n) const { return {static_cast<Task>(n % 2), {index[n], value[n]}}; }
  std::vector<std::vector<Index>> index;
  std::vector<std::vector<double>> value;
  std::vector<int> y;
};
constexpr const char* kPlaced = "cohort(query=always, represent=svd(rank=8))";

/// Every eighth example is labelled.
void feed(Bare& bare, const Texts& texts, std::size_t begin, std::size_t end) {
  for (std::size_t n = begin; n < end; ++n) {
    bare.decide(texts[n]);
    if (n % 8 < 2) bare.learn(texts[n], texts.y[n]);
  }
}

TEST(Cohort, PlacesHelpWhereLabelsAreFewAndChangeNothingBeforeTheyAreKnown) {
  const Texts texts(800);
  Bare with(kPlaced, 2), without("cohort(query=always, represent=none)", 2);
  std::size_t right[2] = {0, 0};
  for (std::size_t n = 0; n < 600; ++n) {
    const double a = with.decide(texts[n]).margin, b = without.decide(texts[n]).margin;
    if (n < 199) {
      EXPECT_EQ(a, b);
    }
    if (n % 100 > 1) continue;
    with.learn(texts[n], texts.y[n]);
    without.learn(texts[n], texts.y[n]);
  }
  for (std::size_t n = 600; n < 800; ++n) {
    right[0] += predicted(with.learner->score(texts[n])) == texts.y[n];
    right[1] += predicted(without.learner->score(texts[n])) == texts.y[n];
  }
  EXPECT_GT(right[0], right[1] + 5);
  EXPECT_GT(right[0], 170u);
}

TEST(Cohort, WithPlacesSavedAndContinuedEqualsNeverSaved) {
  const Texts texts(900);
  Bare never(kPlaced, 2), saved(kPlaced, 2), loaded(kPlaced, 2);
  feed(never, texts, 0, 900);
  feed(saved, texts, 0, 500);
  Tensors file;
  saved.learner->save(Writer{file});
  Reader reader(file);
  loaded.learner->load(reader);
  reader.finish();
  loaded.rng = saved.rng;
  feed(loaded, texts, 500, 900);
  EXPECT_EQ(loaded.state(), never.state());
}

TEST(Cohort, WithPlacesFeaturesStillBringTheMarginAndItsVariance) {
  const Texts texts(500);
  Bare bare(kPlaced, 2);
  feed(bare, texts, 0, 500);
  for (std::size_t n = 0; n < 50; ++n) {
    std::vector<Contribution> parts(texts[n].x.size());
    bare.learner->explain(texts[n], parts);
    double sum = 0, variance = 0;
    for (const Contribution& part : parts) {
      sum += part.shared + part.own;
      variance += part.uncertainty;
    }
    EXPECT_NEAR(sum, bare.learner->score(texts[n]), 1e-6);
    EXPECT_GT(variance, 0);
  }
}

TEST(Cohort, WithPlacesUndoingLabelsAtOnceOrOneByOneIsTheSame) {
  const Texts texts(500);
  const NameTable names = task_names(2);
  const auto trained = [&] {
    auto session = std::make_unique<Session>(
        parse_spec(kPlaced), SessionOptions{.seed = 1, .tasks = &names, .keep_labels = std::size_t{1} << 24});
    session->set_limits({.total = 60});
    for (std::size_t n = 0; n < 500; ++n) feed_one(*session, texts[n], texts.y[n]);
    return session;
  };
  const auto state = [](const Session& session) {
    Tensors out;
    session.learner().save(Writer{out});
    return to_bytes(out);
  };
  const auto once = trained(), by_one = trained(), strict = trained();
  once->undo({3, 7}, false);
  by_one->undo({3}, false);
  by_one->undo({7}, false);
  EXPECT_EQ(state(*once), state(*by_one));
  strict->undo({3, 7}, true);
  const std::string counted = state(*strict);
  strict->rebuild(true);
  EXPECT_EQ(state(*strict), counted);
}

// While variances hardly move (noise is large), <E w + O v, x> of a task that is alone is that of one vector whose steps are
// alpha (E^2 + O^2); so are both its means.
TEST(Cohort, OfOneTaskSharedAndOwnActAsOneVector) {
  Stream s = make_stream(300, 1, 5, 31);
  for (std::size_t n = 0; n < s.size(); ++n) {  // the classes in turn, so that no share of labels moves a margin
    if (s.y[n] == (n % 2 == 0 ? 1 : -1)) continue;
    s.y[n] = -s.y[n];
    for (double& v : s.x[n].value) v = -v;
  }
  const double scale = first_E() * first_E() + first_O() * first_O(), noise = 1e9;
  const auto steps = run("cohort(query=always, eta=0, replays=0, scale=none, noise=1e9)", s);
  std::array<std::vector<double>, 2> u{std::vector<double>(5), std::vector<double>(5)};
  std::map<int, double> labels{{1, 1}, {-1, 1}};
  for (std::size_t n = 0; n < s.size(); ++n) {
    OfMeans p;
    for (std::size_t k : {0u, 1u}) p[k] = dot(s.x[n], [&](Index f) { return u[k][f]; });
    ASSERT_NEAR(steps[n].decision.margin, (p[0] + p[1]) / 2, 1e-5 * std::sqrt(squared_norm(dense(u[0])))) << n;
    const double q = ++labels[s.y[n]] / labels[-s.y[n]], nu = noise * std::pow(q, q > 1 ? 0.75 : 0.25);
    for (std::size_t k : {0u, 1u}) {
      const double alpha = (1 - s.y[n] * p[k]) / (scale + (k == 0 ? 1 : 20) * nu) * s.y[n];  // |x| = 1
      for (std::size_t f = 0; f < 5; ++f) u[k][f] += alpha * scale * s.x[n].value[f];
    }
  }
  EXPECT_GT(squared_norm(dense(u[0])), 0) << "it learned";
  EXPECT_GT(accuracy(steps, s, 150), 0.8);
}

TEST(Cohort, TasksThatAgreeLeanToWhatIsSharedAndOppositeOnesToTheirOwn) {
  const NameTable names = task_names(2);
  const auto influence = [&](double flip, const char* eta) {
    Stream s = make_stream(600, 1, 8, 32);
    for (std::size_t n = 0; n < s.size(); n += 2) {
      s.task[n] = 1;
      s.y[n] = static_cast<int>(flip) * s.y[n];
    }
    Session session(parse_spec(std::string("cohort(query=always, scale=none, eta=") + eta + ")"), {.tasks = &names});
    feed(session, s);
    return session.learner().influence(0, 1);
  };
  const double at_first = first_E() * first_E() / (first_E() * first_E() + first_O() * first_O());
  EXPECT_GT(influence(1, "0.3"), at_first + 0.1);
  EXPECT_LT(influence(-1, "0.3"), 0.2);
  EXPECT_NEAR(influence(1, "0"), at_first, 1e-12) << "eta 0: nothing is learned of it";
  EXPECT_NEAR(influence(-1, "0"), at_first, 1e-12);
}

TEST(Cohort, GuessesNeverTeachBeforeATasksFirstLabel) {
  const Stream s = make_stream(400, 3, 6, 33);
  Bare bare("cohort(query=random(p=0), scale=none)");
  for (std::size_t n = 0; n < 100; ++n) bare.decide(s.example(n));  // nobody has labels
  for (std::size_t n = 0; n < 100; ++n)
    if (s.task[n] == 2) bare.learn(s.example(n), s.y[n]);
  const std::string before = bare.state();
  for (std::size_t n = 100; n < 400; ++n)
    if (s.task[n] != 2) {
      EXPECT_NE(bare.decide(s.example(n)).margin, 0) << "it has an opinion";
    }
  EXPECT_EQ(bare.state(), before);
  for (std::size_t n = 100; n < 110; ++n) bare.decide({2, s.x[n]});
  EXPECT_NE(bare.state(), before);
}

TEST(Cohort, AtMostSixtyFourGuessesTeachBetweenTwoLabels) {
  const Stream s = make_stream(1500, 3, 6, 34);
  Bare bare("cohort(query=random(p=0), scale=none)");
  std::size_t n = 0;
  for (; n < 40; ++n) bare.learn(s.example(n), s.y[n]);
  for (int label = 0; label < 4; ++label) {
    bare.learn(s.example(n), s.y[n]);
    ++n;
    int taught = 0;
    for (const std::size_t end = n + 300; n < end; ++n) {
      const double before = bare.learner->score(s.example(n));
      bare.decide(s.example(n));
      taught += bare.learner->score(s.example(n)) != before;
    }
    EXPECT_EQ(taught, 64) << "and there were 300 to guess";
  }
}

TEST(Cohort, WithGuessZeroOnlyLabelsTeach) {
  const Stream s = make_stream(400, 3, 6, 35);
  Bare bare("cohort(query=random(p=0), guess=0, scale=none)");
  for (std::size_t n = 0; n < 50; ++n) bare.learn(s.example(n), s.y[n]);
  const std::string before = bare.state();
  for (std::size_t n = 50; n < s.size(); ++n) bare.decide(s.example(n));
  EXPECT_EQ(bare.state(), before);
}

TEST(Cohort, WithEveryLabelBoughtNothingIsGuessed) {
  const Stream s = make_stream(300, 3, 6, 36);
  const auto with = run("cohort(query=always, guess=1)", s), without = run("cohort(query=always, guess=0)", s);
  for (std::size_t n = 0; n < s.size(); ++n) ASSERT_TRUE(with[n] == without[n]) << n;
}

TEST(Cohort, ARareClassIsNotGuessedAway) {
  // One example in ten is positive: those whose margin by the rule of make_stream is highest.
  constexpr std::size_t kExamples = 4000, d = 10;
  double guessed = 0, plain = 0;
  for (const std::uint64_t seed : {41u, 42u, 43u, 44u}) {
    Rng rng = make_rng(seed, 9);
    std::vector<double> rule(d);
    for (double& v : rule) v = uniform(rng) - 0.5;
    Stream s = make_stream(kExamples, 5, d, seed);
    std::vector<double> margin;
    for (const Vector& x : s.x) margin.push_back(dot(x, [&](Index f) { return rule[f]; }));
    std::vector<double> sorted = margin;
    std::sort(sorted.begin(), sorted.end());
    for (std::size_t n = 0; n < s.size(); ++n) {
      s.x[n].value.push_back(0.5);  // the constant feature: the rule has a threshold
      s.y[n] = margin[n] > sorted[kExamples * 9 / 10] ? 1 : -1;
    }
    const auto recall = [&](const char* spec) {
      const auto steps = run(spec, s, {.seed = seed, .limits = {.total = 400}});
      Confusion c;
      for (std::size_t n = kExamples / 4; n < kExamples; ++n) c.add(s.y[n], predicted(steps[n].decision.margin));
      return static_cast<double>(c.true_positive) / static_cast<double>(c.true_positive + c.false_negative);
    };
    guessed += recall("cohort(query=random(p=0.1), scale=none)") / 4;
    plain += recall("cohort(query=random(p=0.1), guess=0, scale=none)") / 4;
  }
  RecordProperty("recall_percent", static_cast<int>(100 * guessed));
  EXPECT_GT(plain, 0.5);
  EXPECT_GT(guessed, plain - 0.05);
}

/// Twenty examples in a hundred are `rare`, the others are -rare, on the other side of a plane.
Stream with_rare(int rare, std::size_t n) {
  Stream s = make_stream(n, 3, 6, 83);
  for (std::size_t k = 0; k < n; ++k) {
    s.y[k] = k % 5 == 0 ? rare : -rare;
    s.x[k].value[0] = static_cast<float>(s.y[k]);
  }
  return s;
}

TEST(Cohort, AsksMoreWhereARareClassIsLikelier) {
  for (const int rare : {1, -1}) {
    const Stream s = with_rare(rare, 400);
    Bare bare("cohort(scale=none)");
    double sum[2]{}, count[2]{};
    for (std::size_t k = 0; k < s.size(); ++k) {
      const Decision d = bare.decide(s.example(k));
      const bool is_rare = s.y[k] == rare;
      if (k >= 100) sum[is_rare] += d.probability, ++count[is_rare];
      if (k < 30) bare.learn(s.example(k), s.y[k]);
    }
    EXPECT_GT(sum[1] / count[1], 3 * sum[0] / count[0]) << rare;
  }
}

TEST(Cohort, WithARareClassSavedAndContinuedEqualsNeverSaved) {
  const Stream s = with_rare(1, 600);
  Bare never("cohort(scale=none)"), saved("cohort(scale=none)"), loaded("cohort(scale=none)");
  const auto feed = [&](Bare& bare, std::size_t begin, std::size_t end) {
    for (std::size_t k = begin; k < end; ++k) {
      const Decision d = bare.decide(s.example(k));
      if (d.ask) bare.learner->learn(s.example(k), d, answer_of(s.y[k]), bare.rng);
    }
  };
  feed(never, 0, 600);
  feed(saved, 0, 300);
  Tensors file;
  saved.learner->save(Writer{file});
  Reader reader(file);
  loaded.learner->load(reader);
  reader.finish();
  loaded.rng = saved.rng;
  feed(loaded, 300, 600);
  EXPECT_EQ(loaded.state(), never.state());
}

TEST(Cohort, UnderAMemoryLimitItNeverTakesAByteMoreWhileTenThousandTasksCome) {
  constexpr std::size_t kLimit = 4'000'000;
  for (const char* spec : {"cohort", "cohort(scale=none)", "cohort(query=shared)", "cohort(query=margin(b=0.1))"}) {
    Session session(parse_spec(spec), {.seed = 1, .memory_limit = kLimit});
    EXPECT_GT(session.model_bytes(), kLimit / 3) << "tables made once";
    Rng rng = make_rng(51, 0);
    std::size_t right = 0;
    for (int n = 0; n < 20'000; ++n) {
      Vector x;  // a text of 8 words, the first 40 of which say what it is
      for (Index f = 0; f < 8; ++f) x.index.push_back(1000 * f + static_cast<Index>(below(f == 0 ? 40 : 1000, rng)));
      x.value.assign(8, std::sqrt(1.0 / 8));
      const Outcome done =
          feed_one(session, {session.task(task_name(static_cast<Task>(n % 10'000))), x}, x.index[0] % 2 == 0 ? 1 : -1);
      ASSERT_LE(session.peak_bytes(), kLimit) << n;
      right += n >= 10'000 && predicted(done.decision.margin) == (x.index[0] % 2 == 0 ? 1 : -1);
    }
    EXPECT_EQ(session.tasks().size(), 10'000u);
    EXPECT_GT(right, 9'000u) << spec << ": and it still learns";
  }
}

TEST(Cohort, WithoutALimitItsMemoryFollowsWhatItLearned) {
  Session session(parse_spec("cohort"), {.seed = 1});
  EXPECT_LT(session.model_bytes(), 2000u);
  feed_one(session, {session.task("t0"), sparse({5, 4'000'000'000u}, {0.6, 0.8})}, 1);
  EXPECT_LT(session.model_bytes(), 5000u);
}

TEST(Cohort, BeatsPerceptronsAloneAndTogetherWithTheSameLabels) {
  double ours = 0, alone = 0, together = 0;
  for (const std::uint64_t seed : {61u, 62u, 63u}) {
    const Stream s = make_stream(4000, 20, 30, seed);
    std::vector<std::vector<Outcome>> steps;
    for (const char* spec : {"cohort(query=random(p=0.2))", "perceptron(query=random(p=0.2))", "cmtl(query=random(p=0.2))"})
      steps.push_back(run(spec, s, {.seed = seed}));
    for (std::size_t n = 0; n < s.size(); ++n)
      ASSERT_TRUE(steps[0][n].asked == steps[1][n].asked && steps[0][n].asked == steps[2][n].asked);
    ours += accuracy(steps[0], s, 1000) / 3;
    alone += accuracy(steps[1], s, 1000) / 3;
    together += accuracy(steps[2], s, 1000) / 3;
  }
  RecordProperty("ours", std::to_string(ours));
  EXPECT_GT(ours, together + 0.02) << alone;
  EXPECT_GT(together, alone);
}

TEST(Cohort, HugeValuesNeverMakeAModelThatIsNoNumberOrCannotBeLoaded) {
  // The largest value that a reader takes, and labels that nothing explains.
  Session session(parse_spec("cohort(query=always, scale=none)"), {.seed = 1});
  Rng rng = make_rng(65, 0);
  for (int n = 0; n < 1000; ++n) {
    const Vector x = dense({1e18, uniform(rng), 1e-18});
    const Outcome done =
        feed_one(session, {session.task(task_name(static_cast<Task>(n % 2))), x}, below(2, rng) == 0 ? 1 : -1);
    ASSERT_TRUE(std::isfinite(done.decision.margin)) << n;
  }
  Tensors saved;
  session.save(saved);
  Reader reader(saved);
  EXPECT_NO_THROW(Session::load(session.spec(), session.options(), reader));
}

TEST(Cohort, ScoreIsPureAndTheSameFromFourThreadsAtOnce) {
  for (const char* spec : {"cohort", "cohort(scale=log-idf)", "cohort(store=hashed(bits=10), scale=none)"}) {
    const Stream s = make_stream(600, 5, 8, 71, true);
    Bare bare(spec);
    for (std::size_t n = 0; n < 300; ++n) {
      const Decision d = bare.decide(s.example(n));
      if (d.ask) bare.learner->learn(s.example(n), d, answer_of(s.y[n]), bare.rng);
    }
    const std::string before = bare.state();
    std::vector<double> expected;
    for (std::size_t n = 0; n < s.size(); ++n) expected.push_back(bare.learner->score(s.example(n)));
    std::vector<std::vector<double>> got(4);
    std::vector<std::thread> threads;
    for (auto& mine : got)
      threads.emplace_back([&mine, &bare, &s] {
        for (std::size_t n = 0; n < s.size(); ++n) mine.push_back(bare.learner->score(s.example(n)));
      });
    for (std::thread& t : threads) t.join();
    for (const auto& mine : got) EXPECT_EQ(mine, expected) << spec;
    EXPECT_EQ(bare.state(), before);
  }
}

TEST(Cohort, ACountOfLeaningsOrGuessesThatCannotBeIsRefused) {
  const Stream s = make_stream(50, 3, 6, 81);
  Bare bare("cohort(query=random(p=0))");
  for (std::size_t n = 0; n < s.size(); ++n) bare.learn(s.example(n), s.y[n]);
  Tensors good;
  bare.learner->save(Writer{good});
  const auto load = [](const Tensors& saved) {
    Bare other("cohort(query=random(p=0))");
    Reader reader(saved);
    other.learner->load(reader);
    return other.state();
  };
  EXPECT_EQ(load(good), bare.state());
  Tensors bad = good;
  Writer{bad}("guesses", std::uint32_t{65});
  EXPECT_THROW(load(bad), DataError);
  bad = good;
  Writer{bad}("mistakes", std::pmr::vector<std::uint64_t>{1, 2, 3});
  EXPECT_THROW(load(bad), DataError);
  bad = good;
  Writer{bad}("mistakes_of_second", std::pmr::vector<std::uint64_t>{1, 2, 3});
  EXPECT_THROW(load(bad), DataError);
  bad = good;
  Writer{bad}("tasks.positive", std::pmr::vector<float>{0, -1, 0});
  EXPECT_THROW(load(bad), DataError);
  bad = good;
  Writer{bad}("tasks.labels", std::pmr::vector<std::uint32_t>{1, 1});
  EXPECT_THROW(load(bad), DataError);
  for (const std::pmr::vector<double>& margins :
       {std::pmr::vector<double>{0, 1}, {0, -1, 3}, {0, 1, 101}, {NAN, 1, 3}, {0, INFINITY, 3}}) {
    bad = good;
    Writer{bad}("margins", margins);
    EXPECT_THROW(load(bad), DataError);
  }
}

TEST(Cohort, ARuleThatSelectsAsksAboutAnInstanceOfClassesOnce) {
  constexpr Task kClasses = 3;
  constexpr std::size_t kInstances = 4, kLabels = 2;
  for (const char* spec :
       {"cohort(query=shared)", "cohort(query=shared(choose=smallest))", "cohort(query=shared(choose=all))"}) {
    Session session(parse_spec(spec),
                    {.seed = 2, .tasks_per_name = kClasses, .exclusive = true, .labels_per_round = kLabels});
    const Stream s = make_stream(200, 3, 6, 5, true);
    for (std::size_t n = 0; n + kInstances <= s.size(); n += kInstances) {
      std::vector<Example> round;
      for (std::size_t i = n; i < n + kInstances; ++i) {
        const Task first = session.task(task_name(s.task[i]));
        for (Task k = 0; k < kClasses; ++k) round.push_back({first + k, s.x[i].view(), k});
      }
      std::array<std::size_t, kInstances> questions{};
      const auto outcomes = session.decide({round, kClasses});
      while (const auto question = session.next_question()) {
        const std::size_t i = question->example / kClasses;
        ++questions[i];
        for (Task k = 0; k < kClasses; ++k)
          EXPECT_LE(outcomes[i * kClasses + k].decision.margin, outcomes[question->example].decision.margin);
        session.reply(Reply(kYes, s.y[n + i] > 0 ? 0 : 1 + i % 2));
      }
      EXPECT_LE(*std::ranges::max_element(questions), 1u) << spec;
      const std::size_t all = std::string_view(spec).find("=all") == std::string_view::npos ? kLabels : kInstances;
      EXPECT_EQ(std::accumulate(questions.begin(), questions.end(), std::size_t{0}), all) << spec;
    }
  }
}

}  // namespace
}  // namespace quorate::test
