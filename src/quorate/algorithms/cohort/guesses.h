// Guesses: how much an example without a label teaches.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory_resource>

#include "quorate/base/column.h"
#include "quorate/base/error.h"
#include "quorate/base/portable_math.h"
#include "quorate/base/segmented_vector.h"

namespace quorate::cohort {

/// A task's statistics, apart from its weights.
struct OfTask {
  std::uint32_t labels = 0;          // bought
  float positive = 0, negative = 0;  // sums of the weights of its guesses: g

  /// The weight of a guess sign(p), p with variance r and calibrated log-odds d: guess n / (n + kHalf) tanh(|d| / 2)
  /// sqrt(|p| / sqrt(p^2 + r)) min(1, (g_-y + 0.1) / (g_y + 0.1))^3, n the task's labels. So a task without labels learns
  /// nothing from guesses, nor does any while predictions are right by chance, and guesses do not drive out a rare class.
  double weight_of_guess(double p, double r, double log_odds, double guess) const {
    return weight(p, r, 2 * logistic(std::abs(log_odds)) - 1, p > 0 ? positive : negative, p > 0 ? negative : positive,
                  guess);
  }
  /// The same of a guess that is right with probability (1 + surely) / 2. of_this, of_other: g_y and g_-y.
  double weight(double p, double r, double surely, double of_this, double of_other, double guess) const {
    constexpr double kHalf = 60;  // labels until guesses count half
    const double n = labels, certain = std::abs(p) / std::sqrt(p * p + r),
                 balance = std::min(1.0, (of_other + 0.1) / (of_this + 0.1));
    return guess * (n / (n + kHalf)) * surely * std::sqrt(certain) * (balance * balance * balance);
  }
  void add_guess(double p, double weight) {
    float& of_this = p > 0 ? positive : negative;
    of_this = static_cast<float>(of_this + weight);
  }
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
    if (!good) throw DataError("cohort: sums of the tasks' guesses: expected finite numbers from 0, a row for each task");
    resize(n);
    for (std::size_t i = 0; i < n; ++i) (*this)[i] = {packed.labels[i], packed.positive[i], packed.negative[i]};
  }
};

}  // namespace quorate::cohort
