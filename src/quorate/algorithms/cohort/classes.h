// The labels of both classes: how many were bought, and how much more a rare one counts.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <numeric>
#include <vector>

#include "quorate/base/error.h"

namespace quorate::cohort {

/// Numbers and weights of the labels bought in each group: -1, then +1. Cost O(1).
class Classes {
 public:
  static constexpr double kPrior = 1;  // labels of each class before any is bought

  Classes(std::size_t groups, std::pmr::memory_resource* memory)
      : labels_of(2 * groups, memory), weight_of(2 * groups, memory) {}

  void add(std::uint32_t group, double y, double weight) {
    ++labels_of[2 * group + (y > 0)];
    ++bought_;
    weight_of[2 * group + (y > 0)] += weight;
    sum_weights();
  }
  std::uint64_t bought() const { return bought_; }
  double labels(std::uint32_t group, double y) const { return static_cast<double>(labels_of[2 * group + (y > 0)]); }
  /// The number of labels of the class that has fewer, of all groups.
  double rarer_labels() const {
    std::uint64_t positives = 0;
    for (std::size_t i = 1; i < labels_of.size(); i += 2) positives += labels_of[i];
    return static_cast<double>(std::min(positives, bought_ - positives));
  }
  /// q^3/4 if q > 1, else q^1/4, q = (n_y + 1) / (n_-y + 1): multiplies the noise of a label y, which balances the classes.
  double factor(std::uint32_t group, double y) const {
    const double *of_group = &weight_of[2 * group],
                 root = std::sqrt((of_group[y > 0] + kPrior) / (of_group[y < 0] + kPrior)), fourth = std::sqrt(root);
    return root > 1 ? root * fourth : fourth;
  }
  /// Whether a class has less than a quarter of the labels.
  static bool is_rare(double of_class, double all) { return 4 * of_class < all; }
  bool is_rare(std::uint32_t group, bool positive) const {
    const double* of_group = &weight_of[2 * group];
    return is_rare(of_group[positive], of_group[0] + of_group[1]);
  }
  /// Of the labels y of all groups.
  double weight(double y) const { return y > 0 ? positive_ : all_ - positive_; }

  /// After loading. Throws DataError.
  void check(std::size_t groups) {
    if (labels_of.size() != 2 * groups || weight_of.size() != 2 * groups)
      throw DataError("cohort: labels_of or weight_of has another size than its parameters give");
    if (std::ranges::any_of(labels_of, [](std::uint64_t n) { return n >> 48 != 0; }))
      throw DataError("cohort: labels_of: expected counts below 2^48");
    if (std::ranges::any_of(weight_of, [](double sum) { return !(sum >= 0 && sum < 0x1p58); }))
      throw DataError("cohort: sums of weights out of range");
    bought_ = std::accumulate(labels_of.begin(), labels_of.end(), std::uint64_t{0});
    sum_weights();
  }

  std::pmr::vector<std::uint64_t> labels_of;  ///< n_y of each group
  std::pmr::vector<double> weight_of;         ///< total weight of these labels

 private:
  void sum_weights() {
    all_ = positive_ = 0;
    for (std::size_t i = 0; i < weight_of.size(); ++i) {
      all_ += weight_of[i];
      if (i % 2 == 1) positive_ += weight_of[i];
    }
  }

  std::uint64_t bought_ = 0;       // sum of labels_of
  double all_ = 0, positive_ = 0;  // sums of weight_of
};

}  // namespace quorate::cohort
