// The least probability of asking: few labels, or labels of one class, are weak evidence.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <vector>

#include "quorate/algorithms/cohort/classes.h"
#include "quorate/base/error.h"
#include "quorate/base/portable_math.h"

namespace quorate::cohort {

/// kFloor / (1 + h), n = n_+ + n_- labels of the group, h = 4 (n_+ + 0.01 n) (n_- + 0.01 n) / n. Where a class has less than
/// a quarter of kFewest labels or more, this is multiplied by 2 exp(z - 1/2), z - 1/2 at most 3: z is the number of standard
/// deviations of p towards that class, from the group's earlier p, each weighing 1 / kMostMargins or more (initially mean 0,
/// variance 1). Cost O(1).
class QuestionFloor {
 public:
  QuestionFloor(std::size_t groups, std::pmr::memory_resource* memory) : margins(3 * groups, memory) {
    for (std::size_t g = 0; g < groups; ++g) margins[3 * g + 1] = 1;
  }

  /// Also counts the margin p. h: of the labels of the example's group.
  double operator()(std::uint32_t group, double margin, const Classes& classes) {
    const double positive = classes.labels(group, 1), negative = classes.labels(group, -1), n = positive + negative,
                 z = deviations(group, margin);
    double least = of(evidence(classes, group));
    if (n >= kFewest && Classes::is_rare(std::min(positive, negative), n)) least *= tilt(positive < negative ? z : -z);
    return std::min(1.0, least);
  }
  /// Of h, the evidence of labels.
  static double of(double h) { return kFloor / (1 + h); }
  static double evidence(const Classes& classes, std::uint32_t group) {
    const double positive = classes.labels(group, 1), negative = classes.labels(group, -1), n = positive + negative;
    return n > 0 ? 4 * (positive + 0.01 * n) * (negative + 0.01 * n) / n : 0;
  }
  /// After loading. Throws DataError.
  void check(std::size_t groups) const {
    bool good = margins.size() == 3 * groups;
    for (std::size_t g = 0; g < groups && good; ++g)
      good = std::isfinite(margins[3 * g]) && margins[3 * g + 1] >= 0 && std::isfinite(margins[3 * g + 1]) &&
             margins[3 * g + 2] >= 0 && margins[3 * g + 2] <= kMostMargins;
    if (!good) throw DataError("cohort: mean and variance of margins out of range");
  }

  std::pmr::vector<double> margins;  ///< p seen in each group: mean, variance, count up to kMostMargins

 private:
  static constexpr double kFloor = 2;
  static constexpr double kFewest = 5;         // labels before a class can count as rare here
  static constexpr double kMostMargin = 1e6;   // beyond it margins are cut
  static constexpr double kMostMargins = 100;  // largest count; from then on each weighs 1 / 100

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
};

}  // namespace quorate::cohort
