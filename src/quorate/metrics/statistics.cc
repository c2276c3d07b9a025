#include "quorate/metrics/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace quorate {

Summary summary(std::span<const double> values) {
  double n = 0, sum = 0, squares = 0;
  for (const double v : values)
    if (std::isfinite(v)) {
      ++n;
      sum += v;
    }
  const double nan = std::numeric_limits<double>::quiet_NaN(), mean = n > 0 ? sum / n : nan;
  for (const double v : values)
    if (std::isfinite(v)) squares += (v - mean) * (v - mean);
  return {mean, n > 1 ? std::sqrt(squares / (n - 1)) : nan};
}

double t_quantile(std::size_t degrees) {
  constexpr double kFirst[] = {12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281};
  if (degrees <= std::size(kFirst)) return kFirst[degrees - 1];
  const double z = 1.959963984540054, n = static_cast<double>(degrees);  // Cornish-Fisher expansion in 1/n
  return z + (std::pow(z, 3) + z) / (4 * n) + (5 * std::pow(z, 5) + 16 * std::pow(z, 3) + 3 * z) / (96 * n * n) +
         (3 * std::pow(z, 7) + 19 * std::pow(z, 5) + 17 * std::pow(z, 3) - 15 * z) / (384 * n * n * n);
}

namespace {

/// The logarithm of the gamma function of a > 0. std::lgamma also writes its sign to a global variable, which all threads
/// share.
double log_gamma(double a) {
  int sign = 0;
  return lgamma_r(a, &sign);
}

/// I_x(a, b), the regularised incomplete beta function: its continued fraction by Lentz's method.
double incomplete_beta(double a, double b, double x) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  if (x > (a + 1) / (a + b + 2)) return 1 - incomplete_beta(b, a, 1 - x);
  constexpr double kTiny = 1e-300;
  double c = 1, d = 1 - (a + b) * x / (a + 1);
  d = 1 / (std::abs(d) < kTiny ? kTiny : d);
  double out = d;
  for (int k = 1; k < 1000; ++k) {
    const double m = k, even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    double change = 1;
    for (const double term : {even, odd}) {
      d = 1 + term * d;
      c = 1 + term / c;
      d = 1 / (std::abs(d) < kTiny ? kTiny : d);
      if (std::abs(c) < kTiny) c = kTiny;
      change = c * d;
      out *= change;
    }
    if (std::abs(change - 1) < 1e-14) break;
  }
  const double front = log_gamma(a + b) - log_gamma(a) - log_gamma(b) + a * std::log(x) + b * std::log1p(-x);
  return std::exp(front) * out / a;
}

/// x with I_x(a, b) = p, by bisection.
double beta_quantile(double p, double a, double b) {
  double low = 0, high = 1;
  for (int step = 0; step < 60; ++step) {
    const double middle = (low + high) / 2;
    (incomplete_beta(a, b, middle) < p ? low : high) = middle;
  }
  return (low + high) / 2;
}

}  // namespace

Share exact_interval(double right, double n) {
  const double wrong = n - right;
  return {right > 0 ? beta_quantile(0.025, right, wrong + 1) : 0, wrong > 0 ? beta_quantile(0.975, right + 1, wrong) : 1};
}

double wilson_low(double share, double n, double squared_z) {
  const double centre = share + squared_z / (2 * n);
  const double half = std::sqrt(squared_z * (share * (1 - share) / n + squared_z / (4 * n * n)));
  return std::clamp((centre - half) / (1 + squared_z / n), 0.0, share);
}

Estimate estimate(double value, std::uint64_t examples, double effective) {
  if (examples == 0) return {};
  const double inside = std::clamp(value, 0.0, 1.0);
  const Share ends = exact_interval(inside * effective, effective);
  return {inside, std::min(ends.low, inside), std::max(ends.high, inside), examples, effective};
}

Paired paired(std::span<const double> a, std::span<const double> b) {
  std::vector<double> differences;
  for (std::size_t i = 0; i < a.size(); ++i) differences.push_back(b[i] - a[i]);
  const Summary s = summary(differences);
  std::erase_if(differences, [](double d) { return !std::isfinite(d); });
  const double n = static_cast<double>(differences.size());
  const double half =
      n > 1 ? t_quantile(differences.size() - 1) * s.deviation / std::sqrt(n) : std::numeric_limits<double>::quiet_NaN();
  return {s.mean, s.mean - half, s.mean + half};
}

}  // namespace quorate
