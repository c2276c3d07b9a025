// What is asked about besides uncertain predictions: few labels are weak evidence, and rare positives are worth finding.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory_resource>
#include <span>
#include <variant>
#include <vector>

#include "quorate/algorithms/cohort/classes.h"
#include "quorate/algorithms/cohort/multiclass.h"
#include "quorate/algorithms/cohort/params.h"
#include "quorate/base/error.h"
#include "quorate/base/learner_context.h"
#include "quorate/base/memory.h"
#include "quorate/base/portable_math.h"
#include "quorate/queries/query_rules.h"
#include "quorate/weights/calibration.h"

namespace quorate::cohort {

/// The least probability of asking, by the evidence h of the labels: 2 / (1 + h).
inline double least_probability(double h) { return std::min(1.0, 2 / (1 + h)); }
/// h = 4 (n_+ + 0.01 n) (n_- + 0.01 n) / n, n = n_+ + n_-; 0 without labels.
inline double evidence(double positive, double negative) {
  const double n = positive + negative;
  return n > 0 ? 4 * (positive + 0.01 * n) * (negative + 0.01 * n) / n : 0;
}
/// Of a question of yes or no: of the labels of its group.
inline double evidence(const Classes& classes, std::uint32_t group) {
  return evidence(classes.labels(group, 1), classes.labels(group, -1));
}
/// Of a question about a class against the rest: of all labels, the others being against it.
inline double evidence_of_class(const Classes& classes, std::uint32_t c) {
  const double positive = classes.labels(c, 1);
  return evidence(positive, static_cast<double>(classes.bought()) - positive);
}

/// The margins p decided on in each group: mean and variance, each p weighing 1 / kMostMargins or more (initially mean 0,
/// variance 1). Cost O(1).
class Margins {
 public:
  Margins(std::size_t groups, std::pmr::memory_resource* memory) : margins(memory) { start(margins, groups); }
  /// As none were decided on.
  static void start(auto& margins, std::size_t groups) {
    margins.assign(3 * groups, 0.0);
    for (std::size_t g = 0; g < groups; ++g) margins[3 * g + 1] = 1;
  }

  /// The most that the log-odds of p count when a question is decided on: 1/2 exp(2 - z), z the standard deviations from the
  /// mean to p, towards the rarer class, if it has less than a quarter of the labels; else infinite. Counts p
  /// among those seen, three numbers of each group as in `margins`.
  static double most_odds(std::span<double> seen, std::uint32_t group, double p, const Classes& classes) {
    const double positive = classes.labels(group, 1), negative = classes.labels(group, -1), n = positive + negative,
                 z = deviations(seen.subspan(3 * group, 3), p), x = positive < negative ? z : -z;
    if (!Classes::is_rare(std::min(positive, negative), n)) return std::numeric_limits<double>::infinity();
    return 0.5 * (x < kFar ? 1 / exp_negative(x - kFar) : exp_negative(kFar - x));
  }
  /// After loading. Throws DataError.
  void check(std::size_t groups) const {
    bool good = margins.size() == 3 * groups;
    for (std::size_t g = 0; g < groups && good; ++g)
      good = std::isfinite(margins[3 * g]) && margins[3 * g + 1] >= 0 && std::isfinite(margins[3 * g + 1]) &&
             margins[3 * g + 2] >= 0 && margins[3 * g + 2] <= kMostMargins;
    if (!good) throw DataError("cohort: mean and variance of margins out of range");
  }

  std::pmr::vector<double> margins;  ///< of each group: mean, variance, count up to kMostMargins

 private:
  static constexpr double kFar = 2;            // standard deviations at which an example counts like log-odds of 1/2
  static constexpr double kMostMargin = 1e6;   // beyond it margins are cut
  static constexpr double kMostMargins = 100;  // largest count; from then on each weighs 1 / 100

  /// Standard deviations of the margin from the mean of the group's earlier ones; then counts it.
  static double deviations(std::span<double> of_group, double margin) {
    double &mean = of_group[0], &variance = of_group[1], &count = of_group[2];
    const double apart = std::clamp(margin, -kMostMargin, kMostMargin) - mean, deviation = std::sqrt(variance),
                 z = deviation > 1e-9 ? apart / deviation : 0, share = std::max(1 / kMostMargins, 1 / (count + 2));
    mean += share * apart;
    variance = (1 - share) * (variance + share * apart * apart);
    count = std::min(count + 1, kMostMargins);
    return z;
  }
};

/// The query rule. It is given d, the log-odds of the prediction being right:
///   yes or no  a |p|; if y = sign(p) has less than a quarter of the labels at most |a p + c|; at most Margins::most_odds
///   classes    a times the lead (multiclass.h); an instance is asked about once, for its likeliest class
/// The rule `confidence` asks with least_probability or more while nothing paces it: a pace already asks for ever.
class Questions : public QueryPolicy<decltype(Params::query)> {
 public:
  Questions(const Params& params, const LearnerContext& context, std::size_t groups)
      : QueryPolicy(params.query, context),
        margins(groups, context.memory),
        by_confidence_(std::holds_alternative<ConfidenceQuery>(params.query)),
        selects_(traits_of(params.query).selects) {}

  /// d of yes or no. Counts p among the margins `seen`, as Margins does.
  double odds(std::uint32_t group, double p, const Calibration& calibration, const Classes& classes,
              std::span<double> seen) const {
    double out = calibration.slope() * std::abs(p);
    if (classes.is_rare(group, p > 0)) out = std::min(out, std::abs(calibration.log_odds(p)));
    return by_confidence_ ? std::min(out, Margins::most_odds(seen, group, p, classes)) : out;
  }
  /// After the rule decided with this scale of b: raises the probability to the least one, by the evidence h of the labels.
  void ask_least(double h, double scale, Decision& d) const {
    if (!by_confidence_ || scale != 1) return;
    const double least = least_probability(h);
    if (d.probability >= least) return;
    d.probability = least;
    d.ask = d.draw < least;
  }
  /// Of classes: applies the rule to a round. One that selects chooses among instances, each by its likeliest class.
  void choose(std::span<const Example> round, std::span<const Standing> standings, Rng& rng, std::span<Decision> out) {
    if (!selects_) return (*this)(round, rng, out);
    renew(likeliest_, round.size());
    renew(decisions_, round.size());
    for (std::size_t n = 0; n < round.size(); ++n) {
      if (!standings[n].top) continue;
      likeliest_.push_back(round[n]);
      decisions_.push_back(out[n]);
    }
    (*this)(likeliest_, rng, decisions_);
    for (std::size_t n = 0, k = 0; n < round.size(); ++n)
      if (standings[n].top) out[n] = decisions_[k++];
  }
  /// Of classes: the likeliest one is asked about, as its answer is the class.
  static void ask_once(bool top, Decision& d) {
    if (top) return;
    d.ask = false;
    d.probability = 0;
  }
  void release_scratch() {
    likeliest_ = {};
    decisions_ = {};
  }

  Margins margins;

 private:
  bool by_confidence_, selects_;
  std::vector<Example> likeliest_;   // scratch: of a round's instances
  std::vector<Decision> decisions_;  // scratch: about these
};

}  // namespace quorate::cohort
