// Where the margin becomes positive: the shift that is added to p.
#pragma once
#include <algorithm>
#include <cmath>
#include <variant>

#include "quorate/algorithms/cohort/classes.h"
#include "quorate/base/error.h"
#include "quorate/base/portable_math.h"
#include "quorate/params/params.h"
#include "quorate/weights/calibration.h"

namespace quorate::cohort {

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
using Cost = std::variant<CostEqual, CostBalanced, CostOfPositives>;

/// The shift after which 0 is where the odds, weighted by the costs of mistakes, are even. With few labels p itself is more
/// accurate, so the shift is shrunk (docs/decisions/cohort.md). c, a: offset and slope of the calibration; n_+, n_-: weights
/// of labels.
///
/// The log-odds of p = 0 are c max(0, 1 - v / l^2), l = ln((n_+ + 1) / (n_- + 1)), v = 1 / (n_+ + 1) + 1 / (n_- + 1)
/// its variance, or 0 where c and l differ in sign: as the noise balances the classes, they should be l. So they count where
/// the share of labels is surely other than a half. With equal costs they are multiplied by k / (k + kFewRare), k the labels
/// of the rarer class: few of them say little about its share. The margin is positive where the odds are above even; with a
/// cost, above 1 to the cost. `balanced`: positive where the calibrated probability is above its own mean q
/// over the examples, which is the share of positives in the stream, not among labels: p is moved by t / (t +
/// kFewDecided) (c - ln(q / (1 - q))) / a, t the number of examples counted, from kFewestOfEach labels of each class on; the
/// latest weighs at least 1 / kMostDecided.
///
/// Cost O(1).
class Threshold {
 public:
  /// used: false of classes against the rest, of which the largest margin is predicted. Throws UsageError.
  explicit Threshold(const Cost& cost, bool used = true) : cost_(cost), used_(used) {
    if (!used_ && !equal())
      throw UsageError(
          "cost: of classes against the rest the largest margin wins, so it would have no effect; leave it out, "
          "or use --classes one-vs-one");
  }

  bool equal() const { return std::holds_alternative<CostEqual>(cost_); }

  double shift(const Calibration& calibration, const Classes& classes) const {
    if (!used_) return 0;
    if (balanced()) {
      const double t = decided;
      const double odds = log_positive(share / (1 - share));
      return t == 0 ? 0 : moved(t / (t + kFewDecided) * (calibration.offset() - odds), calibration.slope());
    }
    const auto* missed = std::get_if<CostOfPositives>(&cost_);
    const double odds = missed != nullptr ? log_positive(missed->times) : 0;
    return moved(odds + offset(calibration, classes), calibration.slope());
  }
  /// Of cost=balanced: counts the margin p of an example, when it is not asked about or before its label is learned, once
  /// there are enough labels to calibrate it.
  void count(double margin, const Calibration& calibration, const Classes& classes) {
    if (!balanced() || (decided == 0 && classes.rarer_labels() < kFewestOfEach)) return;
    decided = std::min(decided + 1, kMostDecided);
    share = std::clamp(share + (calibration(margin) - share) / decided, kLeastShare, 1 - kLeastShare);
  }
  /// After loading. Throws DataError.
  void check() const {
    if (!(share >= kLeastShare && share <= 1 - kLeastShare && decided >= 0 && decided <= kMostDecided))
      throw DataError("cohort: share of positives out of range");
  }

  double share = 0.5, decided = 0;  ///< cost=balanced: q, and t, up to kMostDecided

 private:
  static constexpr double kMostShift = 100;
  static constexpr double kFewestOfEach = 5;  // labels of each class before q is counted
  static constexpr double kFewRare = 30;      // labels of the rarer class until the offset counts half
  static constexpr double kFewDecided = 200, kMostDecided = 2000, kLeastShare = 1e-6;

  bool balanced() const { return std::holds_alternative<CostBalanced>(cost_); }
  static double moved(double odds, double slope) {
    return odds == 0 ? 0 : std::clamp(odds / std::max(slope, 1e-3), -kMostShift, kMostShift);
  }
  /// Log-odds of +1 at p = 0, as far as labels support them.
  double offset(const Calibration& calibration, const Classes& classes) const {
    const double positive = classes.weight(1) + Classes::kPrior, negative = classes.weight(-1) + Classes::kPrior,
                 l = log_positive(positive / negative), c = calibration.offset(),
                 k = std::min(positive, negative) - Classes::kPrior;
    if (l * c <= 0) return 0;
    const double certain = c * std::max(0.0, 1 - (1 / positive + 1 / negative) / (l * l));
    return equal() ? certain * k / (k + kFewRare) : certain;
  }

  Cost cost_;
  bool used_;
};

}  // namespace quorate::cohort
