// Means, spreads, and whether one learner beat another on the same splits.
#pragma once
#include <span>

namespace quorate {

/// Mean and standard deviation (n - 1) of the finite values; NaN where there are too few.
struct Summary {
  double mean, deviation;
};
Summary summary(std::span<const double> values);

/// Mean of b - a over the same runs, and the ends of its 95 % interval (Student's t); NaN ends with fewer than two runs.
struct Paired {
  double difference, low, high;
};
Paired paired(std::span<const double> a, std::span<const double> b);

/// The 97.5 % point of Student's t, within 0.1 % for every degrees >= 1.
double t_quantile(std::size_t degrees);

}  // namespace quorate
