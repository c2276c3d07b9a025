// A symmetric matrix, stored once: its lower triangle.
#pragma once
#include <cstddef>
#include <memory_resource>
#include <span>
#include <vector>

#include "quorate/base/features.h"

namespace quorate {

/// T: n x n, symmetric, double, rows of the lower triangle one after the other, so that n grows without moving anything.
/// Outside n x n it is the identity.
class Triangle {
 public:
  explicit Triangle(std::pmr::memory_resource* memory) : values_(memory) {}

  std::size_t size() const { return n_; }
  void grow(std::size_t n);  ///< at least n x n
  double operator()(std::size_t i, std::size_t j) const { return i >= j ? row(i)[j] : row(j)[i]; }

  /// x^T T x. O(non-zeros^2 / 2), sums in one order.
  double quadratic(const Features& x) const;
  /// out = T x; out.size() == size() >= x.extent(). O(n non-zeros).
  void times(const Features& x, std::span<double> out) const;
  /// T += a u u^T; u.size() == size(). O(n^2 / 2).
  void add_outer(double a, std::span<const double> u);
  /// T += x x^T; size() >= x.extent(). O(non-zeros^2 / 2).
  void add_outer(const Features& x);
  /// Makes this the inverse of `of`. O(n^3), and two n x n matrices for a while. Throws DataError if it is not positive
  /// definite.
  void invert(const Triangle& of);

  std::span<const double> values() const { return values_; }  ///< n (n + 1) / 2
  void assign(std::size_t n, std::span<const double> values);

 private:
  const double* row(std::size_t i) const { return values_.data() + i * (i + 1) / 2; }
  double* row(std::size_t i) { return values_.data() + i * (i + 1) / 2; }

  std::size_t n_ = 0;
  std::pmr::vector<double> values_;
};

}  // namespace quorate
