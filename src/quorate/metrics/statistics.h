// Means, standard deviations, and paired comparisons of learners on the same splits.
#pragma once
#include <cstdint>
#include <limits>
#include <span>

namespace quorate {

/// Mean and standard deviation (n - 1) of the finite values; NaN without enough values (one for the mean, two).
struct Summary {
  double mean, deviation;
};
Summary summary(std::span<const double> values);

/// Mean of b - a over the same runs, and its 95 % interval (Student's t); the ends are NaN with fewer than two runs.
struct Paired {
  double difference, low, high;
};
Paired paired(std::span<const double> a, std::span<const double> b);

/// The 97.5 % quantile of Student's t with `degrees` >= 1 degrees of freedom, within 0.1 %.
double t_quantile(std::size_t degrees);

/// The 95 % interval of Clopper and Pearson (1934) for a share seen as `right` among n > 0: it holds the true share in at
/// least 95 % of samples, however small. n need not be whole: an effective number of equally weighted examples.
struct Share {
  double low, high;
};
Share exact_interval(double right, double n);

/// The lower end of Wilson's (1927) one-sided interval of a share seen among n > 0, at most the share itself, whatever
/// rounding does. Plain arithmetic and a square root: the same bits everywhere.
double wilson_low(double share, double n, double squared_z);

/// A share among examples and its 95 % interval (exact_interval() of `effective` examples, as Korn and Graubard 1998: it
/// holds at small numbers, too); NaN without examples.
struct Estimate {
  double value = std::numeric_limits<double>::quiet_NaN(), low = value, high = value;
  std::uint64_t examples = 0;  ///< it rests on
  double effective = 0;        ///< examples of equal weight that would say as much
};
Estimate estimate(double value, std::uint64_t examples, double effective);

}  // namespace quorate
