// cohort: what all tasks share, what each has of its own, how sure of either, and how much to lean on which.
//
// Source  docs/papers.md section 5; docs/cohort.md has the experiments. Shared and own weights: the complete graph of
//         Cavallanti et al. Variances: AROW, diagonal. Leaning: exponential weights on past mistakes, as AMLC's.
// Round   any number of examples; at most one label per example.
// Shapes  d features; w, s: d, shared; v_i, t_i: d, of task i; s and t are 1 at first. Of an instance
//           p = E <w, x> + O <v_i, x>,   r = E^2 sum_f s_f x_f^2 + O^2 sum_f t_if x_f^2.
//         Leaning j of kRatio.size(): E_j^2 + O_j^2 = kTotal, O_j^2 / E_j^2 = kRatio[j]; m_j: how many of the labels bought
//         so far p_j = E_j <w, x> + O_j <v_i, x> would have got wrong. E and O are the means of E_j and O_j weighted by
//         exp(-eta m_j): whether tasks have much in common is learned, by two numbers for all.
// Learn   m_j, E, O, p, r anew; if y p < 1: beta = 1 / (r + noise), alpha = (1 - y p) beta y, then in the shared block, with
//         z = E x: w += alpha s z, s -= beta (s z)^2, and in the task's own with z = O x alike.
// Guess   an example that is not asked about, while fewer than kGuesses of them taught something since the last label:
//         y = sign(p), alpha as above times guess n / (n + kHalf) sqrt(|p| / sqrt(p^2 + r)) min(1, (g_-y + 0.1) / (g_y +
//         0.1))^3; s and t stay. n: labels bought for the task; g_y: the sum of these weights of its guesses y so far. So a
//         task without labels learns nothing from guesses, a rare class is not guessed away, and nothing moves for long once
//         no more labels come.
// Cost    O(non-zeros) per example for any number of tasks. Memory: exact, 8 bytes for each weight that ever changed; under
//         a memory limit, two tables made once.
// Draws   decide: what the query rule draws, example by example. learn: none.
#include <algorithm>
#include <array>
#include <cmath>

#include "quorate/base/memory.h"
#include "quorate/base/portable_math.h"
#include "quorate/base/prefetch.h"
#include "quorate/base/segmented_vector.h"
#include "quorate/queries/query_rules.h"
#include "quorate/scaled_learner.h"
#include "quorate/weights/beliefs.h"
#include "quorate/weights/calibration.h"

namespace quorate {
namespace {

/// Labels of which the learner is not sure. One draw per example.
struct ConfidenceQuery {
  static constexpr std::string_view name = "confidence",
                                    meaning =
                                        "buy a label with probability 1 / (1 + (log-odds / b)^3), the log-odds of the "
                                        "prediction being right";
  static constexpr QueryTraits traits{.paced = true, .draws = true};
  double b = 0.5;
  static constexpr auto fields() {
    return std::tuple{
        Field{&ConfidenceQuery::b, "b", kPositive, "log-odds at which one label in two is bought", "docs/cohort.md"}};
  }

  void operator()(Rng& rng, Decision& d) const {
    const double odds = d.selection_score / b;
    ask_with(1 / (1 + odds * odds * odds), rng, d);
  }
};

struct StoreAuto {
  static constexpr std::string_view name = "auto", meaning = "hashed under a memory limit, else exact";
  static constexpr auto fields() { return std::tuple{}; }
};
struct StoreExact {
  static constexpr std::string_view name = "exact", meaning = "every weight has a place of its own";
  static constexpr auto fields() { return std::tuple{}; }
};
struct StoreHashed {
  static constexpr std::string_view name = "hashed", meaning = "2^bits own and 2^bits / 4 shared weights, places by a hash";
  std::uint64_t bits = 22;
  static constexpr auto fields() {
    return std::tuple{
        Field{&StoreHashed::bits, "bits", Interval{4, 31}, "size of the tables: 10 bytes times 2^bits", "docs/cohort.md"}};
  }
};

struct Cohort {
  static constexpr std::string_view name = "cohort", title = "Shared and own weights that know how sure they are",
                                    source = "docs/cohort.md";
  struct Params {
    QueryWith<ConfidenceQuery> query;
    double noise = 0.1, guess = 1, eta = 0.3;
    std::variant<StoreAuto, StoreExact, StoreHashed> store;
    static constexpr auto fields() {
      return std::tuple{
          query_field(&Params::query),
          Field{&Params::noise, "noise", kPositive, "of labels: larger learns less from each", "AROW's r; docs/cohort.md"},
          Field{&Params::guess, "guess", kProbability, "weight of sure guesses beside labels; 0: labels only",
                "docs/cohort.md"},
          Field{&Params::eta, "eta", Interval{0, 100}, "how fast past mistakes decide between shared and own weights",
                "docs/cohort.md"},
          Field{&Params::store, "store", kAny, "where weights lie", "docs/cohort.md"}};
    }
  };
  static constexpr std::array kRatio{1.0 / 32, 1.0 / 8, 1.0 / 2, 2.0, 8.0};
  static constexpr double kTotal = 1.2, kHalf = 60;  // kHalf: labels of a task until its guesses count half
  static constexpr std::uint32_t kGuesses = 64;

  Cohort(const Params& params, const LearnerContext& context)
      : Cohort(params, context, context.restore ? 0 : slots(params, context.memory)) {}
  Cohort(const Params& params, const LearnerContext& context, std::size_t slots)
      : p(params),
        query(params.query, context),
        w(slots / 4, context.memory),
        v(slots, context.memory),
        tasks(context.memory),
        mistakes(kRatio.size(), context.memory) {
    lean();
  }

  /// Own weights; a quarter as many are shared. Half of a memory limit is for both, the other for tasks and what they count.
  static std::size_t slots(const Params& params, std::pmr::memory_resource* memory) {
    if (const auto* hashed = std::get_if<StoreHashed>(&params.store)) return std::size_t{1} << hashed->bits;
    if (std::holds_alternative<StoreExact>(params.store) || !is_limited(memory)) return 0;
    return std::clamp<std::size_t>(bytes_left(memory) / (5 * Beliefs::kSlotBytes / 2), 4, std::size_t{1} << 32);
  }

  struct Prediction {
    MarginEstimate shared, own;
    double p, r;
  };
  Prediction combine(const MarginEstimate& shared, const MarginEstimate& own) const {
    return {shared, own, E * shared.mean + O * own.mean, E * E * shared.variance + O * O * own.variance};
  }
  /// What memory is slowest to give first: what the task has of its own.
  void prefetch(const Example& e) const {
    if (e.task < tasks.size()) quorate::prefetch(&tasks[e.task]);
    if (e.task != kUntracked) v.prefetch(e.task, e.x);
    w.prefetch(0, e.x);
  }
  Prediction predict(const Example& e) const {
    return combine(w(0, e.x), e.task == kUntracked ? MarginEstimate{0, squared_norm(e.x)} : v(e.task, e.x));
  }

  double score(const Example& e) const { return predict(e).p; }
  /// Never against the prediction: after few labels the margin's sign is the better judge of the two (docs/cohort.md).
  double log_odds(double margin) const {
    const double z = calibration.log_odds(margin);
    return margin > 0 ? std::max(z, 1e-9) : std::min(z, 0.0);
  }

  void decide(std::span<const Example> round, Rng& rng, std::span<Decision> out) {
    predictions.resize(std::max(predictions.size(), round.size()));
    for (std::size_t n = 0; n < round.size(); ++n) {
      const Prediction j = predictions[n] = predict(round[n]);
      out[n].margin = j.p;
      out[n].selection_score = calibration.slope() * std::abs(j.p);
    }
    query(round, rng, out);
    for (std::size_t n = 0; n < round.size() && p.guess > 0; ++n)
      if (!out[n].ask) guess(round[n], predictions[n]);
  }

  bool learn(const Example& e, const Decision& d, double y, Rng&) {
    if (e.task != kUntracked) {
      if (e.task >= tasks.size()) tasks.resize(std::size_t{e.task} + 1);
      ++tasks[e.task].labels;
    }
    guesses = kGuesses;
    Prediction j = predict(e);
    for (std::size_t l = 0; l < kRatio.size(); ++l)
      if (mistaken(y, E_j(l) * j.shared.mean + O_j(l) * j.own.mean)) ++mistakes[l];
    lean();
    j = combine(j.shared, j.own);
    calibration.add(j.p, y, d.probability);
    return step(e, j, y, 1, 1 / (j.r + p.noise));
  }

  void guess(const Example& e, const Prediction& j) {
    if (guesses == 0 || e.task >= tasks.size() || tasks[e.task].labels == 0 || j.p == 0) return;
    OfTask& t = tasks[e.task];
    float& of_this = j.p > 0 ? t.positive : t.negative;
    const float of_other = j.p > 0 ? t.negative : t.positive;
    const double n = t.labels, sure = std::abs(j.p) / std::sqrt(j.p * j.p + j.r);
    const double balance = std::min(1.0, (of_other + 0.1) / (of_this + 0.1));
    const double trust = p.guess * (n / (n + kHalf)) * std::sqrt(sure) * (balance * balance * balance);
    of_this = static_cast<float>(of_this + trust);
    if (step(e, j, predicted(j.p), trust, 0)) --guesses;
  }

  bool step(const Example& e, const Prediction& j, double y, double weight, double beta) {
    if (y * j.p >= 1) return false;
    const double alpha = weight * (1 - y * j.p) / (j.r + p.noise) * y;
    w.learn(0, e.x, E, alpha, beta);
    if (e.task != kUntracked) v.learn(e.task, e.x, O, alpha, beta);
    return true;
  }

  static double E_j(std::size_t j) { return std::sqrt(kTotal / (1 + kRatio[j])); }
  static double O_j(std::size_t j) { return std::sqrt(kTotal * kRatio[j] / (1 + kRatio[j])); }
  void lean() {
    const std::uint64_t fewest = *std::min_element(mistakes.begin(), mistakes.end());
    double sum = 0;
    E = O = 0;
    for (std::size_t j = 0; j < kRatio.size(); ++j) {
      const double share = exp_negative(-p.eta * static_cast<double>(mistakes[j] - fewest));
      sum += share;
      E += share * E_j(j);
      O += share * O_j(j);
    }
    E /= sum;
    O /= sum;
  }

  std::size_t bytes_for_tasks(std::size_t K) const { return tasks.bytes_to_grow(K); }
  void reserve_tasks(std::size_t K) { tasks.reserve(K); }

  double influence(Task to, Task from) const { return to == from ? 1 : E * E / (E * E + O * O); }

  /// What is known of a task besides its weights.
  struct OfTask {
    std::uint32_t labels = 0;          // bought
    float positive = 0, negative = 0;  // sums of the weights of its guesses: g
  };
  class Tasks : public SegmentedVector<OfTask> {
   public:
    explicit Tasks(std::pmr::memory_resource* memory) : SegmentedVector(memory) {}

    struct Packed {
      std::pmr::vector<std::uint32_t> labels;
      std::pmr::vector<float> positive, negative;
      template <class S>
      static void state(S& s, auto&& visit) {
        visit("labels", s.labels);
        visit("positive", s.positive);
        visit("negative", s.negative);
      }
    };
    Packed pack() const {
      Packed out;
      for (std::size_t i = 0; i < size(); ++i) {
        const OfTask& t = (*this)[i];
        out.labels.push_back(t.labels);
        out.positive.push_back(t.positive);
        out.negative.push_back(t.negative);
      }
      return out;
    }
    void unpack(const Packed& packed) {
      const std::size_t n = packed.labels.size();
      bool good = packed.positive.size() == n && packed.negative.size() == n;
      for (std::size_t i = 0; i < n && good; ++i)
        good = packed.positive[i] >= 0 && packed.negative[i] >= 0 && std::isfinite(packed.positive[i] + packed.negative[i]);
      if (!good) throw DataError("cohort: what is known of tasks cannot be");
      resize(n);
      for (std::size_t i = 0; i < n; ++i) (*this)[i] = {packed.labels[i], packed.positive[i], packed.negative[i]};
    }
  };

  Params p;
  QueryPolicy<decltype(Params::query)> query;
  Beliefs w;  // d: w and s
  Beliefs v;  // K x d: v and t
  Tasks tasks;
  std::pmr::vector<std::uint64_t> mistakes;  // m_j
  double E = 0, O = 0;                       // of mistakes
  std::uint32_t guesses = 0;                 // that may still teach before the next label
  Calibration calibration;
  std::vector<Prediction> predictions;  // scratch

  template <class S>
  static void state(S& s, auto&& visit) {
    visit("query", s.query);
    visit("w", s.w);
    visit("v", s.v);
    visit("tasks", s.tasks);
    visit("mistakes", s.mistakes);
    visit("guesses", s.guesses);
    visit("calibration", s.calibration);
  }
  void check() {
    if (guesses > kGuesses || mistakes.size() != kRatio.size()) throw DataError("cohort: counts that cannot be");
    calibration.check();
    lean();
  }
};

}  // namespace

extern const Algorithm kCohort;
constexpr Algorithm kCohort =
    registered<Cohort, Capabilities{.calibrated = true, .learns_unasked = true, .untracked_tasks = true}, ScaleAuto>();

}  // namespace quorate
