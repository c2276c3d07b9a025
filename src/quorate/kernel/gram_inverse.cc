#include "quorate/kernel/gram_inverse.h"

#include <algorithm>
#include <cmath>

#include "quorate/base/error.h"

namespace quorate {

double GramInverse::project(std::span<const double> k, double vv, std::span<double> g) const {
  T_.times({{}, k}, g);
  return std::max(0.0, vv - dot({{}, k}, [&](Index j) { return g[j]; }));
}

void GramInverse::add(std::span<const double> g, double squared_distance) {
  const std::size_t n = size();
  T_.add_outer(1 / squared_distance, g);
  T_.grow(n + 1);
  double* last = T_.row(n);
  for (std::size_t j = 0; j < n; ++j) last[j] = -g[j] / squared_distance;
  last[n] = 1 / squared_distance;
  fit_scratch();
}

void GramInverse::remove(std::size_t r) {
  const std::size_t last = size() - 1;
  for (std::size_t i = 0; i <= last; ++i) column_[i] = T_(i, r);
  T_.add_outer(-1 / column_[r], {column_.data(), last + 1});
  for (std::size_t i = 0; i < last; ++i)
    if (i != r) (i < r ? T_.row(r)[i] : T_.row(i)[r]) = T_.row(last)[i];
  if (r != last) T_.row(r)[r] = T_.row(last)[last];
  T_.pop();
  fit_scratch();
}

bool GramInverse::sound() const {
  for (std::size_t i = 0; i < size(); ++i)
    if (!(T_(i, i) > 0 && std::isfinite(T_(i, i)))) return false;
  return true;
}

double GramInverse::residual(std::span<const double> h, std::size_t j) {
  const std::span<double> e(column_.data(), size());
  T_.times({{}, h}, e);
  e[j] -= 1;
  double worst = 0;
  for (const double v : e) worst = std::isfinite(v) ? std::max(worst, std::abs(v)) : 1e300;
  return worst;
}

GramInverse::Packed GramInverse::pack() const { return {size(), values_of({&T_})}; }

void GramInverse::unpack(const Packed& packed) {
  const std::size_t n = packed.size;
  if (n > 1'000'000 || packed.value.size() != n * (n + 1) / 2)
    throw DataError("Gram inverse: expected n (n + 1) / 2 values");
  for (std::size_t i = 0; i < packed.value.size(); ++i)
    if (!std::isfinite(packed.value[i])) throw DataError("Gram inverse: a value is not finite");
  for (std::size_t i = 0; i < n; ++i)
    if (!(packed.value[i * (i + 1) / 2 + i] > 0)) throw DataError("Gram inverse: not positive");
  T_.assign(n, packed.value);
  fit_scratch();
}

}  // namespace quorate
