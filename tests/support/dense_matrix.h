// Dense matrices written out, for tests of what the library keeps in smaller forms.
#pragma once
#include <cmath>
#include <utility>
#include <vector>

#include "support/make.h"

namespace quorate::test {

using DenseVector = std::vector<double>;
using DenseMatrix = std::vector<DenseVector>;

inline DenseMatrix identity(std::size_t n) {
  DenseMatrix out(n, DenseVector(n, 0.0));
  for (std::size_t i = 0; i < n; ++i) out[i][i] = 1;
  return out;
}
inline double product(const DenseVector& a, const DenseVector& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}
inline DenseVector product(const DenseMatrix& a, const DenseVector& b) {
  DenseVector out;
  for (const DenseVector& row : a) out.push_back(product(row, b));
  return out;
}
/// m += a u u^T.
inline void add_outer(DenseMatrix& m, double a, const DenseVector& u) {
  for (std::size_t i = 0; i < u.size(); ++i)
    for (std::size_t j = 0; j < u.size(); ++j) m[i][j] += a * u[i] * u[j];
}
/// The inverse of m, and the logarithm of its determinant, by elimination with pivoting.
inline std::pair<DenseMatrix, double> inverse_of(DenseMatrix m) {
  const std::size_t n = m.size();
  DenseMatrix out = identity(n);
  double log_determinant = 0;
  for (std::size_t c = 0; c < n; ++c) {
    std::size_t pivot = c;
    for (std::size_t r = c + 1; r < n; ++r)
      if (std::abs(m[r][c]) > std::abs(m[pivot][c])) pivot = r;
    std::swap(m[c], m[pivot]);
    std::swap(out[c], out[pivot]);
    log_determinant += std::log(std::abs(m[c][c]));
    const double divisor = m[c][c];
    for (std::size_t k = 0; k < n; ++k) {
      m[c][k] /= divisor;
      out[c][k] /= divisor;
    }
    for (std::size_t r = 0; r < n; ++r) {
      const double factor = r == c ? 0 : m[r][c];
      for (std::size_t k = 0; k < n; ++k) {
        m[r][k] -= factor * m[c][k];
        out[r][k] -= factor * out[c][k];
      }
    }
  }
  return {out, log_determinant};
}

/// x as n numbers; features from n on are left out.
inline DenseVector spread(const Features& x, std::size_t n) {
  DenseVector out(n, 0.0);
  for (std::size_t k = 0; k < x.size(); ++k)
    if (x.at(k) < n) out[x.at(k)] = x.value[k];
  return out;
}

/// Dense or sparse, features below `limit`; never without a feature. Some values are 0.
inline Vector some_vector(Rng& rng, std::size_t limit) {
  const auto value = [&] { return below(8, rng) == 0 ? 0 : 2 * uniform(rng) - 1; };
  Vector out;
  if (below(2, rng) == 0) {
    out.value.resize(1 + below(limit, rng));
    for (double& v : out.value) v = value();
    return out;
  }
  for (Index f = 0; f < limit; ++f)
    if (f + 1 == limit ? out.value.empty() : below(3, rng) == 0) {
      out.index.push_back(f);
      out.value.push_back(value());
    }
  return out;
}

}  // namespace quorate::test
