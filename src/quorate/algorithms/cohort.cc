// cohort: shared and per-task weights with variances; the mixing ratio of the two is learned online.
//
// Source  docs/papers.md section 5; docs/cohort.md has the experiments. Shared and own weights: the complete graph of
//         Cavallanti et al. Variances: AROW, diagonal. Mixing ratio: exponential weights on past mistakes, as in AMLC.
// Round   any number of examples; at most one label per example.
// Shapes  d features; w, s: d, shared; v_i, t_i: d, of task i; s and t are initially 1. Where tasks are in groups (a user's
//         tasks, one for each class), each group has its own w and s. For an instance
//           p = E <w, x> + O <v_i, x>,   r = E^2 sum_f s_f x_f^2 + O^2 sum_f t_if x_f^2.
//         Mixing ratio j of kRatio.size(): E_j^2 + O_j^2 = kTotal, O_j^2 / E_j^2 = kRatio[j]; m_j: the number of bought
//         labels that p_j = E_j <w, x> + O_j <v_i, x> predicted wrong. E and O are the means of E_j and O_j, weighted by
//         exp(-eta m_j). Two numbers, for all tasks together, so learn how much the tasks have in common.
// Learn   Update m_j, E, O, p, r. q = (n_y + 1) / (n_-y + 1), n_y: total weight of the labels y bought in the group,
//         including this one; nu = noise q^3/4 if q > 1, else noise q^1/4, divided by the label's weight: this balances the
//         two classes. If y p < 1: beta = 1 / (r + nu), alpha = (1 - y p) beta y, then in the shared block, with z = E x:
//         w += alpha s z, s -= beta (s z)^2, and likewise in the task's own block with z = O x.
// Replay  The latest labelled examples are kept (recent_labels.h), each with its a = |alpha|, 0 if it caused no update.
//         Before label n is kept, `replays` of them, in cyclic order (from the 512th on `replays` 512 / n), are learned
//         again: with x scaled anew and the current p, r and nu, a' = max(0, a + (1 - y p - nu a) / (r + nu)), at most the
//         label's weight / noise, and w += (a' - a) y s z, likewise v; s and t stay. This is coordinate ascent on the dual
//         of a hinge loss, of which Learn is the first step. The loss is a square that becomes a line, so that a label on
//         the wrong side, perhaps a mistake, has a bounded effect. Classes against the rest: the square alone, as
//         hyperplanes seldom separate them.
// Query   confidence, while it is not paced: with probability at least kFloor / (1 + h), n = n_+ + n_-, h = 4 (n_+ + 0.01
//         n) (n_- + 0.01 n) / n, because few labels, or labels of one class, are weak evidence. Where a class has less than
//         a quarter of 5 labels or more, this is multiplied by 2 exp(z - 1/2), z - 1/2 at most 3: z is the number of
//         standard deviations of p towards that class, from the group's earlier p, each weighing 1 / 100 or more (initially
//         mean 0, variance 1). Where a class has less than a quarter of the labels, the uncertainty of an example of it
//         follows its margin or its calibrated log-odds, whichever is nearer to 0. Classes against the rest: nu = noise, and
//         no class is rare, as the largest margin of an instance's tasks wins; without users h is the number of labels of
//         the class's task.
// Decide  The margin is p plus a shift, which depends on `cost` and the calibration. Where a class has less than a quarter
//         of 100 labels or more, the margin is positive where the calibrated odds are above even; with costs, above 1 to the
//         cost. With equal costs the calibration's offset c is replaced by c k / (k + 30), k the labels of the rare class,
//         as few of them say little about its share. Where no class is so rare the offset is (c + l) / 2 max(0, 1 - 5
//         v / l^2), from the first label on: l = ln((n_+ + 1) / (n_- + 1)) of all groups, v = 1 / (n_+ + 1) + 1 / (n_- + 1)
//         its variance. As nu balances the classes, the log-odds of p = 0 should be l. The offset is 0 where c and l differ
//         in sign. With equal costs it is multiplied by k / (k + 100 min(1, u^4)), u the variance of the calibrated log-odds
//         over the labels: where u is small, features are uninformative, and the more frequent class is most often correct.
//         To become a margin, the offset is divided by the calibration's slope, which is shrunk towards its initial value 3
//         as by labels of curvature 2. `balanced`: positive where the calibrated probability is above its own mean q over
//         the examples decided on. q is the share of positives in the stream, not among labels. p is moved by t / (t + 200)
//         (c - ln(q / (1 - q))) / a, a: the slope, t: the number of examples counted, from 5 labels of each class on; the
//         latest weighs at least 1 / 2000.
// Guess   an example that is not asked about, while fewer than kGuesses of them caused an update since the last label:
//         y = sign(p), alpha = (1 - y p) y / (r + noise) times guess n / (n + kHalf) sqrt(|p| / sqrt(p^2 + r)) min(1, (g_-y
//         + 0.1) / (g_y + 0.1))^3; s and t stay. n: labels bought for the task; g_y: the sum of these weights of its guesses
//         y so far. So a task without labels learns nothing from guesses, guesses do not drive out a rare class, and updates
//         end soon after the last label.
// Embed   `represent=svd`, while only counts are scaled: V is computed from all examples, labelled or not (directions.h).
//         The embedding is z = V^T x / |V^T x|, none if that is 0. A second model of the same kind learns from z alone: w',
//         s', v'_i, t'_i, p' and r' with the same E and O. Learn, Replay and Guess run in each model with its own p and r,
//         Replay with its own a. Trust l_j = 0, 1/4, 1/2, 3/4: (1 - l_j) p + l_j p' has its count of bought labels that it
//         predicted wrong, counted before E and O change; l is the mean of l_j weighted by exp(-eta of that count).
//         Predictions, questions and guesses use (1 - l) p + l p' and (1 - l) r + l r'. When V changes w' = v' = 0,
//         s' = t' = 1, and the kept labels are learned in order, then replayed kTurns times. So p is the same as without
//         embeddings, and l approaches 0 where they do not help.
// Cost    O(non-zeros) per example for any number of tasks, with embeddings `rank` times as much; a label up to 1 +
//         `replays` times as much. Memory: exact, 8 bytes for each weight that ever changed, and the kept examples; under a
//         memory limit, two tables of fixed size, and no embeddings.
// Draws   decide: the draws of the query rule, in order of the examples. learn: none.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "quorate/base/memory.h"
#include "quorate/base/portable_math.h"
#include "quorate/base/prefetch.h"
#include "quorate/base/segmented_vector.h"
#include "quorate/queries/query_rules.h"
#include "quorate/scaled_learner.h"
#include "quorate/weights/beliefs.h"
#include "quorate/weights/calibration.h"
#include "quorate/weights/directions.h"
#include "quorate/weights/recent_labels.h"

namespace quorate {
namespace {

/// Asks where the prediction is uncertain. One draw per example.
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

struct StoreAuto : Tag<"auto", "hashed under a memory limit, else exact"> {};
struct StoreExact : Tag<"exact", "every weight has a place of its own"> {};
struct StoreHashed {
  static constexpr std::string_view name = "hashed", meaning = "2^bits own and 2^bits / 4 shared weights, places by a hash";
  std::uint64_t bits = 22;
  static constexpr auto fields() {
    return std::tuple{
        Field{&StoreHashed::bits, "bits", Interval{4, 31}, "size of the tables: 10 bytes times 2^bits", "docs/cohort.md"}};
  }
};

struct RepresentNone : Tag<"none", "instances alone"> {};
struct RepresentSvd {
  static constexpr std::string_view name = "svd", meaning =
                                                      "of texts and other counts also their place in a truncated SVD of all "
                                                      "examples, labelled or not; without a memory limit";
  std::uint64_t rank = 64;
  static constexpr auto fields() {
    return std::tuple{Field{&RepresentSvd::rank, "rank", Interval{1, static_cast<double>(Directions::kMostRank)},
                            "directions that are kept", "docs/cohort.md"}};
  }
};

struct CostEqual : Tag<"equal", "the likelier answer is predicted"> {};
struct CostBalanced : Tag<"balanced", "mistakes of both classes weigh the same together, however rare one is"> {};
struct CostOfPositives {
  static constexpr std::string_view name = "missed", meaning = "a missed positive costs as much as a number of false alarms";
  double times = 1;
  static constexpr auto fields() {
    return std::tuple{Field{&CostOfPositives::times, "times", kPositive, "false alarms that a missed positive is worth",
                            "docs/cohort.md"}};
  }
};

struct Cohort {
  static constexpr std::string_view name = "cohort", title = "Shared and own weights, each with a variance",
                                    source = "docs/cohort.md";
  struct Params {
    QueryWith<ConfidenceQuery> query;
    double noise = 0.1, guess = 1, eta = 0.3;
    std::uint64_t replays = 10;
    std::variant<CostEqual, CostBalanced, CostOfPositives> cost;
    std::variant<StoreAuto, StoreExact, StoreHashed> store;
    std::variant<RepresentSvd, RepresentNone> represent;
    std::size_t rank() const {
      const auto* svd = std::get_if<RepresentSvd>(&represent);
      return svd != nullptr ? svd->rank : 0;
    }
    static constexpr auto fields() {
      return std::tuple{
          query_field(&Params::query),
          Field{&Params::noise, "noise", kPositive, "of labels: larger learns less from each", "AROW's r; docs/cohort.md"},
          Field{&Params::guess, "guess", kProbability, "weight of certain guesses beside labels; 0: labels only",
                "docs/cohort.md"},
          Field{&Params::eta, "eta", Interval{0, 100}, "how fast past mistakes decide between shared and own weights",
                "docs/cohort.md"},
          Field{&Params::replays, "replays", Interval{0, 1000}, "kept examples that teach again at each label",
                "docs/cohort.md"},
          Field{&Params::cost, "cost", kAny, "of mistakes: decides what is predicted", "docs/cohort.md"},
          Field{&Params::store, "store", kAny, "storage of the weights", "docs/cohort.md"},
          Field{&Params::represent, "represent", kAny, "what is learned from besides the instance", "docs/cohort.md"}};
    }
    /// Exact weights may use all memory, so a task that arrives later may be an error: the memory left for it depends on the
    /// earlier updates.
    void refine(Capabilities& can) const { can.untracked_tasks &= !std::holds_alternative<StoreExact>(store); }
  };
  static constexpr std::array kRatio{1.0 / 32, 1.0 / 8, 1.0 / 2, 2.0, 8.0};
  static constexpr double kTotal = 1.2, kHalf = 60;  // kHalf: labels of a task until its guesses count half
  static constexpr std::uint32_t kGuesses = 64;
  static constexpr double kFloor = 2;
  static constexpr double kFewest = 5;  // labels before a class can count as rare in floor_of()
  static constexpr double kMostMargin = 1e6;
  static constexpr double kMostMargins = 100;  // largest count; from then on each weighs 1 / 100
  static constexpr std::uint64_t kManyLabels = 100;
  static constexpr double kMostShift = 100;  // largest shift of a margin
  static constexpr double kFewRare = 30;     // labels of the rare class until its share counts half
  static constexpr double kFewOfEither = 100, kDoubt = 5, kSlopeDoubt = 2;
  static constexpr std::array kTrust{0.0, 0.25, 0.5, 0.75};
  static constexpr double kFewDecided = 200, kMostDecided = 2000, kLeastShare = 1e-6;  // cost=balanced
  static constexpr int kTurns = 5;  // replays of each kept label when directions change

  Cohort(const Params& params, const LearnerContext& context)
      : Cohort(params, context, context.restore ? 0 : slots(params, context.memory)) {}
  Cohort(const Params& params, const LearnerContext& context, std::size_t slots)
      : p(params),
        query(params.query, context),
        w(slots / 4, context.memory),
        v(slots, context.memory),
        tasks(context.memory),
        mistakes(kRatio.size(), context.memory),
        exclusive(context.exclusive),
        groups(context.tasks_per_name),
        labels_of(2 * groups, context.memory),
        weight_of(2 * groups, context.memory),
        margins(3 * groups, context.memory),
        recent(context.memory),
        limited(is_limited(context.memory)),
        directions(params.rank(), context.memory),
        wz(0, context.memory),
        vz(0, context.memory),
        betas(context.memory),
        mistakes_of(directions.rank() > 0 ? kTrust.size() : 0, context.memory) {
    if (exclusive && !std::holds_alternative<CostEqual>(p.cost))
      throw UsageError(
          "cost: of classes against the rest the largest margin wins, so it would have no effect; leave it out, "
          "or use --classes one-vs-one");
    for (std::size_t g = 0; g < groups; ++g) margins[3 * g + 1] = 1;
    lean();
  }

  std::size_t slots() const { return v.slots(); }
  /// Slots of own weights; shared weights have a quarter as many. Both take half of a memory limit, tasks and counters the
  /// rest.
  static std::size_t slots(const Params& params, std::pmr::memory_resource* memory) {
    if (const auto* hashed = std::get_if<StoreHashed>(&params.store)) return std::size_t{1} << hashed->bits;
    if (std::holds_alternative<StoreExact>(params.store) || !is_limited(memory)) return 0;
    return std::clamp<std::size_t>(bytes_left(memory) / (5 * Beliefs::kSlotBytes / 2), 4, std::size_t{1} << 32);
  }

  /// From the instance, or from its embedding.
  struct Estimate {
    MarginEstimate shared, own;
    double p = 0, r = 0;
  };
  struct Prediction {
    Estimate x, z;
    double p = 0, r = 0;
    bool placed = false;
  };
  static_assert(sizeof(Prediction) + sizeof(double) <= kBytesOfScratch);  // with a shared annotator's scratch
  using Place = std::array<double, Directions::kMostRank>;
  Estimate combine(const MarginEstimate& shared, const MarginEstimate& own) const {
    return {shared, own, E * shared.mean + O * own.mean, E * E * shared.variance + O * O * own.variance};
  }
  void combine(Prediction& j) const {
    j.x = combine(j.x.shared, j.x.own);
    j.p = j.x.p;
    j.r = j.x.r;
    if (!j.placed) return;
    j.z = combine(j.z.shared, j.z.own);
    j.p = mixed(trust, j);
    j.r = (1 - trust) * j.x.r + trust * j.z.r;
  }
  static double mixed(double of_place, const Prediction& j) { return (1 - of_place) * j.x.p + of_place * j.z.p; }
  /// Starts with the task's own cells, which are the slowest to load.
  void prefetch(const Example& e) const {
    if (e.task < tasks.size()) quorate::prefetch(&tasks[e.task]);
    if (e.task != kUntracked) v.prefetch(e.task, e.x);
    w.prefetch(e.group, e.x);
  }
  /// same_instance: the prediction for another task of the same instance, whose embedding `place` still holds.
  Prediction predict(const Example& e, Place& place, const Prediction* same_instance = nullptr) const {
    Prediction j;
    j.x = estimate(w, v, e);
    if (directions.any()) {
      j.placed = same_instance != nullptr ? same_instance->placed : find_place(e.x, place);
      if (j.placed) j.z = estimate_place(place_of(e, place));
    }
    combine(j);
    return j;
  }
  Estimate estimate(const Beliefs& shared, const Beliefs& own, const Example& e) const {
    return combine(shared(e.group, e.x), e.task == kUntracked ? MarginEstimate{0, squared_norm(e.x)} : own(e.task, e.x));
  }
  Estimate estimate_place(const Example& z) const { return estimate(wz, vz, z); }
  /// e with its embedding z instead of x.
  Example place_of(const Example& e, const Place& place) const {
    return {e.task, {{}, std::span(place).first(directions.rank())}, e.group, e.weight};
  }
  /// Writes the embedding z; false if no feature of x is known.
  bool find_place(const Features& x, std::span<double> z) const {
    const double length = directions.place(x, z);
    if (!(length > 0)) return false;
    for (double& a : z.first(directions.rank())) a /= length;
    return true;
  }

  static bool is_rare(double of_class, double all) { return 4 * of_class < all; }
  /// Added to p, so that 0 is where the cost-weighted odds are even. With few labels p itself is more accurate
  /// (docs/cohort.md).
  double shift() const {
    if (exclusive) return 0;
    if (balanced()) {
      const double t = decided[1];
      const double share = log_positive(decided[0] / (1 - decided[0]));
      return t == 0 ? 0 : moved(t / (t + kFewDecided) * (calibration.offset() - share), calibration.slope());
    }
    const auto* cost = std::get_if<CostOfPositives>(&p.cost);
    double odds = cost != nullptr ? log_positive(cost->times) : 0;
    odds += offset(cost != nullptr);
    return moved(odds, cost != nullptr || is_rare() ? calibration.slope() : calibration.slope_drawn_back(kSlopeDoubt));
  }
  static double moved(double odds, double slope) {
    return odds == 0 ? 0 : std::clamp(odds / std::max(slope, 1e-3), -kMostShift, kMostShift);
  }
  bool balanced() const { return std::holds_alternative<CostBalanced>(p.cost); }
  /// Counts the margin p among those decided on, once there are enough labels to calibrate it.
  void count_decided(double margin) {
    double &q = decided[0], &t = decided[1];
    if (t == 0 && static_cast<double>(std::min(positives(), bought - positives())) < kFewest) return;
    t = std::min(t + 1, kMostDecided);
    q += (std::clamp(calibration(margin), kLeastShare, 1 - kLeastShare) - q) / t;
  }
  std::uint64_t positives() const {
    std::uint64_t n = 0;
    for (std::size_t g = 0; g < groups; ++g) n += labels_of[2 * g + 1];
    return n;
  }
  double rarer_weight() const { return std::min(weight_positive, weight_all - weight_positive); }
  bool is_rare() const { return is_rare(rarer_weight(), weight_all); }
  /// Log-odds of +1 at a margin of 0, shrunk where labels are few. costs: whether the costs of mistakes differ.
  double offset(bool costs) const {
    const double k = rarer_weight(), c = calibration.offset();
    if (is_rare()) return bought < kManyLabels ? 0 : costs ? c : c * k / (k + kFewRare);
    const double positive = weight_positive + 1, negative = weight_all - weight_positive + 1,
                 share = log_positive(positive / negative);
    if (share * c <= 0) return 0;
    const double variance = 1 / positive + 1 / negative,
                 sure = (c + share) / 2 * std::max(0.0, 1 - kDoubt * variance / (share * share)), u = calibration.spread();
    return costs ? sure : sure * k / (k + kFewOfEither * std::min(1.0, u * u * u * u));
  }
  double score(const Example& e) const {
    Place place;
    return predict(e, place).p + shift();
  }
  double variance(const Example& e) const {
    Place place;
    return predict(e, place).r;
  }
  /// With directions a margin is a sum over features only for a fixed length of V^T x, as here.
  void explain(const Example& e, std::span<Contribution> out) const {
    Place place, part, with, without;
    const Prediction whole = predict(e, place);
    const double length = whole.placed ? directions.place(e.x, part) : 1, of_place = whole.placed ? trust : 0;
    for (std::size_t k = 0; k < e.x.size(); ++k) {
      out[k] = {};
      if (e.x.value[k] == 0) continue;
      const Index index = e.x.at(k);
      const Features alone{{&index, 1}, {&e.x.value[k], 1}};
      const auto add = [&](double share, const Beliefs& shared, const Beliefs& own, const Features& x) {
        out[k].shared += share * E * shared(e.group, x).mean;
        if (e.task != kUntracked) out[k].own += share * O * own(e.task, x).mean;
      };
      const auto variance_of = [&](const Beliefs& shared, const Beliefs& own, const Features& x) {
        return estimate(shared, own, {e.task, x, e.group}).r;
      };
      add(1 - of_place, w, v, alone);
      out[k].uncertainty = (1 - of_place) * variance_of(w, v, alone);
      if (index == 0) out[k].shared += shift();
      if (of_place == 0) continue;
      directions.place(alone, part);
      for (std::size_t a = 0; a < directions.rank(); ++a) {
        part[a] /= length;
        with[a] = place[a] + part[a];
        without[a] = place[a] - part[a];
      }
      const auto dense = [this](const auto& z) { return Features{{}, std::span<const double>(z).first(directions.rank())}; };
      add(of_place, wz, vz, dense(part));
      out[k].uncertainty += of_place * (variance_of(wz, vz, dense(with)) - variance_of(wz, vz, dense(without))) / 4;
    }
  }
  /// `margin` includes the shift. The result never contradicts the prediction, as after few labels the sign of the margin is
  /// more accurate (docs/cohort.md), except with cost=balanced or cost=missed.
  double log_odds(double margin) const {
    const double z = calibration.log_odds(margin - shift());
    if (!std::holds_alternative<CostEqual>(p.cost)) return z;
    return margin > 0 ? std::max(z, 1e-9) : std::min(z, 0.0);
  }

  void decide(std::span<const Example> round, Rng& rng, std::span<Decision> out) {
    renew(predictions, round.size());
    const double shifted = shift();
    Place place;
    const auto again = [&](std::size_t n, std::size_t before) {
      const Features &x = round[n].x, &other = round[before].x;
      return x.value.data() == other.value.data() && x.size() == other.size();
    };
    for (std::size_t n = 0; n < round.size(); ++n) {
      const Prediction* same_instance = n > 0 && again(n, n - 1) ? &predictions[n - 1] : nullptr;
      const Prediction& j = predictions.emplace_back(predict(round[n], place, same_instance));
      out[n].margin = j.p + shifted;
      if (balanced()) count_decided(j.p);
      out[n].selection_score = calibration.slope() * std::abs(j.p);
      const double* of_group = &weight_of[2 * round[n].group];
      if (!exclusive && is_rare(of_group[j.p > 0], of_group[0] + of_group[1]))
        out[n].selection_score = std::min(out[n].selection_score, std::abs(calibration.log_odds(j.p)));
    }
    query(round, rng, out);
    if (std::holds_alternative<ConfidenceQuery>(p.query) && query.scale() == 1)
      for (std::size_t n = 0; n < round.size(); ++n) {
        const double least = floor_of(round[n], predictions[n].p);
        if (out[n].probability >= least) continue;
        out[n].probability = least;
        out[n].ask = out[n].draw < least;
      }
    std::size_t placed = round.size() - 1;  // index of the example whose embedding is in `place`
    for (std::size_t n = 0; n < round.size() && p.guess > 0; ++n)
      if (!out[n].ask)
        guess(round[n], predictions[n], [&]() -> const Place& {
          if (!again(n, placed)) find_place(round[n].x, place);
          placed = n;
          return place;
        });
  }
  void release_scratch() { predictions = {}; }

  /// Before learn(e): allocates all weights that it and its replays may change, so that under a memory limit neither can
  /// fail. If memory is refused nothing was learned.
  void reserve(const Example& e) {
    if (slots() == 0 && limited) touch_all(e);
    if (e.task != kUntracked && e.task >= tasks.size()) tasks.reserve(std::size_t{e.task} + 1);
  }
  void touch_all(const Example& e) {
    const auto touch = [this](const Example& one) {
      w.touch(one.group, one.x);
      if (one.task != kUntracked) v.touch(one.task, one.x);
    };
    touch(e);
    const std::uint64_t replays = replays_of(due + replay_share(bought + 1));
    for (std::uint64_t k = 0; k < replays; ++k) touch(recent.coming(k));
  }
  bool learn(const Example& e, const Decision& d, double y, Rng&) {
    if (e.task != kUntracked) {
      if (e.task >= tasks.size()) tasks.resize(std::size_t{e.task} + 1);
      ++tasks[e.task].labels;
    }
    guesses = kGuesses;
    Place place;
    Prediction j = predict(e, place);
    for (std::size_t l = 0; l < kRatio.size(); ++l)
      if (mistaken(y, E_j(l) * j.x.shared.mean + O_j(l) * j.x.own.mean)) ++mistakes[l];
    for (std::size_t l = 0; j.placed && l < kTrust.size(); ++l)
      if (mistaken(y, mixed(kTrust[l], j))) ++mistakes_of[l];
    lean();
    combine(j);
    calibration.add(j.p, y, d.probability / e.weight);
    ++labels_of[2 * e.group + (y > 0)];
    ++bought;
    weight_of[2 * e.group + (y > 0)] += e.weight;
    sum_weights();
    const double noise = noise_of(e.group, y) / e.weight, of_x = 1 / (j.x.r + noise), of_z = 1 / (j.z.r + noise);
    latest_alpha = latest_beta = 0;
    if (y * j.x.p < 1) {
      move(e, of_x * (1 - y * j.x.p) * y, of_x);
      latest_alpha = (1 - y * j.x.p) * of_x;
    }
    if (j.placed && y * j.z.p < 1) {
      move_place(place_of(e, place), of_z * (1 - y * j.z.p) * y, of_z);
      latest_beta = (1 - y * j.z.p) * of_z;
    }
    return y * j.x.p < 1 || (j.placed && y * j.z.p < 1);
  }

  double labels(std::uint32_t group, double y) const { return static_cast<double>(labels_of[2 * group + (y > 0)]); }
  /// nu of a label y. A frequent class is changed more (q^3/4) than a rare one (q^1/4).
  double noise_of(std::uint32_t group, double y) const {
    if (exclusive) return p.noise;
    const double *of_group = &weight_of[2 * group], root = std::sqrt((of_group[y > 0] + 1) / (of_group[y < 0] + 1)),
                 fourth = std::sqrt(root);
    return p.noise * (root > 1 ? root * fourth : fourth);
  }
  /// Least probability of asking about e. Also counts `margin` (deviations()).
  double floor_of(const Example& e, double margin) {
    const double positive = labels(e.group, 1), negative = labels(e.group, -1), n = positive + negative;
    double h = n > 0 ? 4 * (positive + 0.01 * n) * (negative + 0.01 * n) / n : 0;
    if (exclusive && groups == 1) h = e.task < tasks.size() ? tasks[e.task].labels : 0;
    double least = kFloor / (1 + h);
    if (!exclusive) {
      const double z = deviations(e.group, margin);
      if (n >= kFewest && is_rare(std::min(positive, negative), n)) least *= tilt(positive < negative ? z : -z);
    }
    return std::min(1.0, least);
  }
  /// 2 exp(z - 1/2), at most 2 e^3: the mean over normal margins is 2.
  static double tilt(double z) {
    const double x = std::min(z - 0.5, 3.0);
    return 2 * (x < 0 ? exp_negative(x) : 1 / exp_negative(-x));
  }
  /// Standard deviations of the margin from the mean of the group's earlier ones; then counts it.
  double deviations(std::uint32_t group, double margin) {
    double &mean = margins[3 * group], &variance = margins[3 * group + 1], &count = margins[3 * group + 2];
    const double apart = std::clamp(margin, -kMostMargin, kMostMargin) - mean, deviation = std::sqrt(variance),
                 z = deviation > 1e-9 ? apart / deviation : 0, share = std::max(0.01, 1 / (count + 2));
    mean += share * apart;
    variance = (1 - share) * (variance + share * apart * apart);
    count = std::min(count + 1, kMostMargins);
    return z;
  }

  /// The number of replays for the latest label; they run before it is kept.
  std::uint64_t replays_due() {
    due += replay_share(bought);
    const std::uint64_t now = replays_of(due);
    due %= RecentLabels::kMost;
    return now;
  }
  /// The contribution of label number n to `due`.
  std::uint64_t replay_share(std::uint64_t n) const {
    constexpr std::uint64_t kMost = RecentLabels::kMost;
    return p.replays * (n <= kMost ? kMost : kMost * kMost / n);
  }
  std::uint64_t replays_of(std::uint64_t all) const {
    return std::min<std::uint64_t>(all / RecentLabels::kMost, recent.size());
  }
  double most_alpha(const Example& e) const { return exclusive ? std::numeric_limits<double>::max() : e.weight / p.noise; }
  void learn_again(RecentLabels::Item& item, const Example& e) {
    const double noise = noise_of(e.group, item.y) / e.weight, before = item.alpha;
    Place place;
    const Prediction j = predict(e, place);
    item.alpha = std::clamp(before + (1 - item.y * j.x.p - noise * before) / (j.x.r + noise), 0.0, most_alpha(e));
    if (item.alpha != before) move(e, (item.alpha - before) * item.y, 0);
    if (j.placed) learn_place_again(static_cast<std::size_t>(&item - &recent[0]), place_of(e, place), j.z);
  }
  /// z: the embedding of kept label number `at`; z_now: its current estimate.
  void learn_place_again(std::size_t at, const Example& z, const Estimate& z_now) {
    const double y = recent[at].y, noise = noise_of(z.group, y) / z.weight, before = betas[at];
    betas[at] = std::clamp(before + (1 - y * z_now.p - noise * before) / (z_now.r + noise), 0.0, most_alpha(z));
    if (betas[at] != before) move_place(z, (betas[at] - before) * y, 0);
  }
  /// The latest label was kept, and may have replaced older ones.
  void kept_latest() {
    if (directions.rank() == 0) return;
    betas.erase(betas.begin(), betas.end() - static_cast<std::ptrdiff_t>(recent.size() - 1));
    betas.push_back(latest_beta);
  }
  /// The directions changed: the weights of embeddings are learned anew from the kept labels.
  template <class Scaled>
  void turn(Scaled scaled) {
    wz = Beliefs(0, directions.memory());
    vz = Beliefs(0, directions.memory());
    const std::size_t rank = directions.rank();
    std::pmr::vector<double> places(recent.size() * rank, directions.memory());
    std::pmr::vector<char> placed(recent.size(), directions.memory());
    const auto at = [&](std::size_t i) { return std::span(places).subspan(i * rank, rank); };
    for (std::size_t i = 0; i < recent.size(); ++i) {
      Example e = scaled(recent.example(i));
      placed[i] = find_place(e.x, at(i));
      betas[i] = 0;
      if (!placed[i]) continue;
      e.x = {{}, at(i)};
      const Estimate z = estimate_place(e);
      const double y = recent[i].y, rate = 1 / (z.r + noise_of(e.group, y) / e.weight);
      if (y * z.p >= 1) continue;
      betas[i] = (1 - y * z.p) * rate;
      move_place(e, betas[i] * y, rate);
    }
    for (int again = 0; again < kTurns; ++again)
      for (std::size_t i = 0; i < recent.size(); ++i) {
        if (!placed[i]) continue;
        const Example z{recent[i].task, {{}, at(i)}, recent[i].group, recent[i].weight};
        learn_place_again(i, z, estimate_place(z));
      }
  }

  void look(const Example& e) {
    if (p.guess == 0) return;
    Place place;
    const Prediction j = predict(e, place);
    guess(e, j, [&]() -> const Place& { return place; });
  }
  template <class PlaceOfIt>
  void guess(const Example& e, const Prediction& j, PlaceOfIt place) {
    if (guesses == 0 || e.task >= tasks.size() || tasks[e.task].labels == 0 || j.p == 0) return;
    OfTask& t = tasks[e.task];
    float& of_this = j.p > 0 ? t.positive : t.negative;
    const float of_other = j.p > 0 ? t.negative : t.positive;
    const double n = t.labels, sure = std::abs(j.p) / std::sqrt(j.p * j.p + j.r);
    const double balance = std::min(1.0, (of_other + 0.1) / (of_this + 0.1));
    const double weight = p.guess * (n / (n + kHalf)) * std::sqrt(sure) * (balance * balance * balance);
    if (limited && predicted(j.p) * j.x.p < 1) {  // no embeddings under a limit
      w.reserve(e.group, e.x);
      v.reserve(e.task, e.x);
    }
    of_this = static_cast<float>(of_this + weight);
    const double y = predicted(j.p);
    if (y * j.x.p < 1) move(e, weight / (j.x.r + p.noise) * (1 - y * j.x.p) * y, 0);
    if (j.placed && y * j.z.p < 1) move_place(place_of(e, place()), weight / (j.z.r + p.noise) * (1 - y * j.z.p) * y, 0);
    if (y * j.x.p < 1 || (j.placed && y * j.z.p < 1)) --guesses;
  }

  void move(const Example& e, double alpha, double beta) {
    w.learn(e.group, e.x, E, alpha, beta);
    if (e.task != kUntracked) v.learn(e.task, e.x, O, alpha, beta);
  }
  void move_place(const Example& z, double alpha, double beta) {
    wz.learn(z.group, z.x, E, alpha, beta);
    if (z.task != kUntracked) vz.learn(z.task, z.x, O, alpha, beta);
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
    trust = sum = 0;
    for (std::size_t l = 0; l < mistakes_of.size(); ++l) {
      const double share =
          exp_negative(-p.eta * static_cast<double>(mistakes_of[l] - *std::ranges::min_element(mistakes_of)));
      sum += share;
      trust += share * kTrust[l];
    }
    if (sum > 0) trust /= sum;
  }

  std::size_t bytes_for_tasks(std::size_t K) const { return tasks.bytes_to_grow(K) + query.bytes_for_tasks(K); }
  void reserve_tasks(std::size_t K) {
    tasks.reserve(K);
    if (K > 0) query.reserve_task(static_cast<Task>(K - 1));
  }

  double influence(Task to, Task from) const { return to == from ? 1 : E * E / (E * E + O * O); }

  /// A task's statistics, apart from its weights.
  struct OfTask {
    std::uint32_t labels = 0;          // bought
    float positive = 0, negative = 0;  // sums of the weights of its guesses: g
  };
  class Tasks : public SegmentedVector<OfTask> {
   public:
    explicit Tasks(std::pmr::memory_resource* memory) : SegmentedVector(memory) {}

    struct Packed {
      Column<std::uint32_t> labels;
      Column<float> positive, negative;
      template <class S>
      static void state(S& s, auto&& visit) {
        visit("labels", s.labels);
        visit("positive", s.positive);
        visit("negative", s.negative);
      }
    };
    Packed pack() const {
      return {Column<std::uint32_t>::of(size(), [this](std::size_t i) { return (*this)[i].labels; }),
              Column<float>::of(size(), [this](std::size_t i) { return (*this)[i].positive; }),
              Column<float>::of(size(), [this](std::size_t i) { return (*this)[i].negative; })};
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
  Beliefs w;  // groups x d: w and s
  Beliefs v;  // K x d: v and t
  Tasks tasks;
  std::pmr::vector<std::uint64_t> mistakes;  // m_j
  double E = 0, O = 0;                       // of mistakes
  std::uint32_t guesses = 0;                 // updates by guesses left before the next label
  Calibration calibration;
  bool exclusive;  // the largest margin of an instance's tasks wins, so a rare "yes" is no rare class
  std::size_t groups;
  std::pmr::vector<std::uint64_t> labels_of;   // n_y of each group: -1, then +1
  std::uint64_t bought = 0;                    // sum of labels_of
  std::pmr::vector<double> weight_of;          // total weight of these labels
  double weight_all = 0, weight_positive = 0;  // sums of weight_of
  std::pmr::vector<double> margins;            // p seen in each group: mean, variance, count up to kMostMargins
  std::array<double, 2> decided{0.5, 0};       // cost=balanced: q and t, up to kMostDecided
  RecentLabels recent;
  bool limited;  // whether memory is
  Directions directions;
  Beliefs wz, vz;                               // groups x rank, K x rank: w and v of embeddings
  std::pmr::vector<double> betas;               // of the recent labels: a in the embedding model
  std::pmr::vector<std::uint64_t> mistakes_of;  // of each trust l_j
  double trust = 0;                             // l, from mistakes_of
  double latest_alpha = 0, latest_beta = 0;
  std::uint64_t due = 0;                // replays, in units of 1 / RecentLabels::kMost
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
    visit("labels_of", s.labels_of);
    visit("weight_of", s.weight_of);
    visit("margins", s.margins);
    visit("share", s.decided[0]);
    visit("decided", s.decided[1]);
    visit("recent", s.recent);
    visit("due", s.due);
    if (s.directions.rank() == 0) return;
    visit("directions", s.directions);
    visit("wz", s.wz);
    visit("vz", s.vz);
    visit("betas", s.betas);
    visit("mistakes_of", s.mistakes_of);
  }
  void sum_weights() {
    weight_all = weight_positive = 0;
    for (std::size_t i = 0; i < weight_of.size(); ++i) {
      weight_all += weight_of[i];
      if (i % 2 == 1) weight_positive += weight_of[i];
    }
  }
  void check() {
    for (std::size_t i = 0; i < recent.size(); ++i)
      if (recent[i].group >= groups) throw DataError("cohort: a recent label of an unknown group");
    if (betas.size() != (directions.rank() > 0 ? recent.size() : 0) ||
        std::any_of(betas.begin(), betas.end(), [](double b) { return !(b >= 0) || std::isinf(b); }))
      throw DataError("cohort: betas: expected a finite number from 0 for each recent label; none without directions");
    if (guesses > kGuesses || due >= RecentLabels::kMost)
      throw DataError("cohort: guesses " + std::to_string(guesses) + ", due " + std::to_string(due) + "; expected at most " +
                      std::to_string(kGuesses) + ", and less than " + std::to_string(RecentLabels::kMost));
    if (mistakes.size() != kRatio.size() || mistakes_of.size() != (directions.rank() > 0 ? kTrust.size() : 0) ||
        labels_of.size() != 2 * groups)
      throw DataError("cohort: mistakes, mistakes_of or labels_of has another size than its parameters give");
    if (std::any_of(labels_of.begin(), labels_of.end(), [](std::uint64_t n) { return n >> 48 != 0; }))
      throw DataError("cohort: labels_of: expected counts below 2^48");
    bought = std::accumulate(labels_of.begin(), labels_of.end(), std::uint64_t{0});
    if (weight_of.size() != labels_of.size() ||
        std::any_of(weight_of.begin(), weight_of.end(), [](double sum) { return !(sum >= 0 && sum < 0x1p58); }))
      throw DataError("cohort: sums of weights out of range");
    sum_weights();
    bool good = margins.size() == 3 * groups;
    for (std::size_t g = 0; g < groups && good; ++g)
      good = std::isfinite(margins[3 * g]) && margins[3 * g + 1] >= 0 && std::isfinite(margins[3 * g + 1]) &&
             margins[3 * g + 2] >= 0 && margins[3 * g + 2] <= kMostMargins;
    if (!good) throw DataError("cohort: mean and variance of margins out of range");
    if (!(decided[0] >= kLeastShare && decided[0] <= 1 - kLeastShare && decided[1] >= 0 && decided[1] <= kMostDecided))
      throw DataError("cohort: share of positives out of range");
    calibration.check();
    lean();
  }
};

}  // namespace

extern const Algorithm kCohort;
constexpr Algorithm kCohort = registered<Cohort,
                                         Capabilities{.calibrated = true,
                                                      .learns_unasked = true,
                                                      .untracked_tasks = true,
                                                      .additive = true,
                                                      .groups = true,
                                                      .rebuilds = true,
                                                      .weighs = true},
                                         ScaleAuto>();

}  // namespace quorate
