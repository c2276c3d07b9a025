#include "quorate/metrics/statistics.h"

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
