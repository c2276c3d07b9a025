// A symmetric matrix, stored as its lower triangle.
#pragma once
#include <cstddef>
#include <memory_resource>
#include <span>
#include <vector>

#include "quorate/base/column.h"
#include "quorate/base/features.h"
#include "quorate/base/memory.h"

namespace quorate {

/// T: n x n, symmetric, double. Each row of the lower triangle is an array of its own, so that n grows without moving
/// anything. Outside n x n it is the identity.
class SymmetricMatrix {
 public:
  explicit SymmetricMatrix(std::pmr::memory_resource* memory) : rows_(memory) {}

  std::size_t size() const { return n_; }
  void grow(std::size_t n);     ///< to at least n x n; if memory is refused nothing changed
  void reserve(std::size_t n);  ///< makes room, so that grow(n) cannot fail
  /// Removes the last row and column. Their memory is kept for the next ones, unless memory is limited.
  void pop() {
    --n_;
    if (!is_limited(rows_.get_allocator().resource())) return;
    while (rows_.size() > n_) rows_.pop_back();
    fit(rows_);
  }
  /// Bytes that reserve(n) allocates before it frees the old list of rows.
  std::size_t bytes_to_reserve(std::size_t n) const {
    if (n <= rows_.size()) return 0;
    std::size_t bytes = quorate::bytes_to_reserve(rows_, n);
    for (std::size_t i = rows_.size(); i < n; ++i) bytes += (i + 1) * sizeof(double);
    return bytes;
  }
  /// Bytes that grow(size() + 1) adds.
  std::size_t bytes_to_grow() const {
    return n_ < rows_.size() ? 0 : bytes_to_fit(rows_, n_ + 1) + (n_ + 1) * sizeof(double);
  }
  /// Bytes of the list of rows, which is copied when it grows or shrinks.
  std::size_t bytes_to_copy() const { return room_for(n_) * sizeof(decltype(rows_)::value_type); }
  /// Bytes of all rows. O(n).
  std::size_t bytes() const {
    std::size_t bytes = bytes_of(rows_);
    for (const auto& row : rows_) bytes += bytes_of(row);
    return bytes;
  }
  double operator()(std::size_t i, std::size_t j) const { return i >= j ? row(i)[j] : row(j)[i]; }

  /// x^T T x. O(non-zeros^2 / 2), sums in one order.
  double quadratic(const Features& x) const;
  /// out = T x; out.size() == size() >= x.extent(). O(n non-zeros).
  void times(const Features& x, std::span<double> out) const;
  /// T += a u u^T; u.size() == size(). O(n^2 / 2).
  void add_outer(double a, std::span<const double> u);
  /// T += x x^T; size() >= x.extent(). O(non-zeros^2 / 2).
  void add_outer(const Features& x);
  /// T *= a. O(n^2 / 2).
  void scale(double a);

  /// The inverse in place, row by row, by the Cholesky factor L: T = L L^T. factor_row(i), where the rows before are rows of
  /// L, makes row i a row of L except for its diagonal, and returns the square of that diagonal. The caller stores the root
  /// there; or calls solve_row(i), if the row depends on those before. O(i^2).
  double factor_row(std::size_t i);
  /// Makes row i, without its diagonal, the coefficients of its projection on the rows before. O(i^2).
  void solve_row(std::size_t i);
  /// After all rows: makes L the inverse of T. O(n^3).
  void invert_factor();

  /// Row i of the lower triangle: i + 1 values.
  const double* row(std::size_t i) const { return rows_[i].data(); }
  double* row(std::size_t i) { return rows_[i].data(); }

  /// Reads n (n + 1) / 2 values, row by row, starting at `begin`.
  void assign(std::size_t n, const Column<double>& values, std::size_t begin = 0);

 private:
  std::size_t n_ = 0;
  std::pmr::vector<std::pmr::vector<double>> rows_;  // n_ of them and, without a memory limit, those that were popped
};

/// The values of matrices one after the other, row by row. The matrices must not change until the column is read.
Column<double> values_of(const std::vector<const SymmetricMatrix*>& matrices);

}  // namespace quorate
