// A symmetric matrix, stored once: its lower triangle.
#pragma once
#include <cstddef>
#include <memory_resource>
#include <span>
#include <vector>

#include "quorate/base/features.h"
#include "quorate/base/memory.h"

namespace quorate {

/// T: n x n, symmetric, double, each row of the lower triangle by itself, so that n grows without moving anything. Outside
/// n x n it is the identity.
class SymmetricMatrix {
 public:
  explicit SymmetricMatrix(std::pmr::memory_resource* memory) : rows_(memory) {}

  std::size_t size() const { return n_; }
  void grow(std::size_t n);  ///< at least n x n
  void pop() { --n_; }       ///< the last row and column go; their memory stays until trim()
  void trim() { rows_.resize(n_); }
  /// Bytes that grow(size() + 1) allocates.
  std::size_t bytes_to_grow() const { return n_ < rows_.size() ? 0 : growth(rows_, 1) + (n_ + 1) * sizeof(double); }
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
  void invert(const SymmetricMatrix& of);

  /// Row i of the lower triangle: i + 1 values.
  const double* row(std::size_t i) const { return rows_[i].data(); }
  double* row(std::size_t i) { return rows_[i].data(); }

  /// Puts the n (n + 1) / 2 values row by row at the end of `out`; takes them from `values`.
  void append_to(std::pmr::vector<double>& out) const;
  void assign(std::size_t n, std::span<const double> values);

 private:
  std::size_t n_ = 0;
  std::pmr::vector<std::pmr::vector<double>> rows_;  // n_ of them, and those that were popped
};

}  // namespace quorate
