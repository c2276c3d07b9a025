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
/// accurate, so the shift is shrunk (docs/cohort.md). c, a: offset and slope of the calibration; n_+, n_-: weights of
/// labels.
///
/// Where a class has less than a quarter of kManyLabels labels or more, the margin is positive where the calibrated odds are
/// above even; with costs, above 1 to the cost. With equal costs c is replaced by c k / (k + kFewRare), k the labels of the
/// rare class, as few of them say little about its share.
/// Where no class is so rare the offset is (c + l) / 2 max(0, 1 - kDoubt v / l^2), from the first label on: l = ln((n_+ + 1)
/// / (n_- + 1)), v = 1 / (n_+ + 1) + 1 / (n_- + 1) its variance. As the noise balances the classes, the log-odds of p = 0
/// should be l. The offset is 0 where c and l differ in sign. With equal costs it is multiplied by k / (k + kFewOfEither
/// min(1, u^4)), u the variance of the calibrated log-odds over the labels: where u is small, features are uninformative,
/// and the more frequent class is most often correct. To become a margin, the offset is divided by a, which is shrunk
/// towards its initial value 3 as by labels of curvature kSlopeDoubt. `balanced`: positive where the calibrated probability
/// is above its own mean q over the examples decided on, which is the share of positives in the stream, not among labels: p
/// is moved by t / (t + kFewDecided) (c - ln(q / (1 - q))) / a, t the number of examples counted, from kFewest labels of
/// each class on; the latest weighs at least 1 / kMostDecided.
///
/// Cost O(1).
class Threshold {
 public:
  explicit Threshold(const Cost& cost) : cost_(cost) {}

  bool equal() const { return std::holds_alternative<CostEqual>(cost_); }

  double shift(const Calibration& calibration, const Classes& classes) const {
    if (balanced()) {
      const double t = decided;
      const double odds = log_positive(share / (1 - share));
      return t == 0 ? 0 : moved(t / (t + kFewDecided) * (calibration.offset() - odds), calibration.slope());
    }
    const auto* missed = std::get_if<CostOfPositives>(&cost_);
    double odds = missed != nullptr ? log_positive(missed->times) : 0;
    odds += offset(calibration, classes);
    return moved(odds,
                 missed != nullptr || classes.any_rare() ? calibration.slope() : calibration.slope_drawn_back(kSlopeDoubt));
  }
  /// Of cost=balanced: counts the margin p of an example that is decided on, once there are enough labels to calibrate it.
  void count(double margin, const Calibration& calibration, const Classes& classes) {
    if (!balanced() || (decided == 0 && classes.rarer_labels() < kFewest)) return;
    decided = std::min(decided + 1, kMostDecided);
    share += (std::clamp(calibration(margin), kLeastShare, 1 - kLeastShare) - share) / decided;
  }
  /// After loading. Throws DataError.
  void check() const {
    if (!(share >= kLeastShare && share <= 1 - kLeastShare && decided >= 0 && decided <= kMostDecided))
      throw DataError("cohort: share of positives out of range");
  }

  double share = 0.5, decided = 0;  ///< cost=balanced: q, and t, up to kMostDecided

 private:
  static constexpr double kMostShift = 100;
  static constexpr double kFewest = 5;                     // labels of each class before q is counted
  static constexpr std::uint64_t kManyLabels = 100;        // before a class can count as rare here
  static constexpr double kFewRare = 30;                   // labels of the rare class until its share counts half
  static constexpr double kFewOfEither = 100, kDoubt = 5;  // the same if none is rare; of the variance of l
  static constexpr double kSlopeDoubt = 2;                 // curvature of the slope's initial value
  static constexpr double kFewDecided = 200, kMostDecided = 2000, kLeastShare = 1e-6;

  bool balanced() const { return std::holds_alternative<CostBalanced>(cost_); }
  static double moved(double odds, double slope) {
    return odds == 0 ? 0 : std::clamp(odds / std::max(slope, 1e-3), -kMostShift, kMostShift);
  }
  /// Log-odds of +1 at a margin of 0, shrunk where labels are few.
  double offset(const Calibration& calibration, const Classes& classes) const {
    const double k = classes.rarer_weight(), c = calibration.offset();
    if (classes.any_rare()) return classes.bought() < kManyLabels ? 0 : equal() ? c * k / (k + kFewRare) : c;
    const double positive = classes.positive_weight() + 1, negative = classes.negative_weight() + 1,
                 l = log_positive(positive / negative);
    if (l * c <= 0) return 0;
    const double variance = 1 / positive + 1 / negative,
                 certain = (c + l) / 2 * std::max(0.0, 1 - kDoubt * variance / (l * l)), u = calibration.spread();
    return equal() ? certain * k / (k + kFewOfEither * std::min(1.0, u * u * u * u)) : certain;
  }

  Cost cost_;
};

}  // namespace quorate::cohort
