// The inverse of a Gram matrix to which vectors are added and removed: projections on their span in O(n^2).
#pragma once
#include <algorithm>
#include <cmath>
#include <memory_resource>
#include <span>
#include <vector>

#include "quorate/weights/symmetric_matrix.h"

namespace quorate {

/// H^-1 for H[i,j] = <v_i, v_j>, kept by rank-one updates (block inversion). The caller passes columns of H where needed.
class GramInverse {
 public:
  explicit GramInverse(std::pmr::memory_resource* memory) : T_(memory), column_(memory) {}

  /// Squared distances below this share of the vector's squared length count as 0; nothing is divided by them.
  static constexpr double kFloor = 1e-10;
  /// Largest error of H^-1 H in an entry before the inverse must be rebuilt.
  static constexpr double kDrift = 1e-7;

  std::size_t size() const { return T_.size(); }
  double operator()(std::size_t i, std::size_t j) const { return T_(i, j); }

  /// g = H^-1 k, the coefficients of v's projection, for k[j] = <v_j, v> and vv = |v|^2. Returns the squared distance of v
  /// from the span, at least 0. O(n^2).
  double project(std::span<const double> k, double vv, std::span<double> g) const;
  /// Adds v as the last vector; g and the squared distance, above kFloor vv, are those of project(). O(n^2).
  void add(std::span<const double> g, double squared_distance);
  /// Removes vector r; the last one moves to its index. O(n^2).
  void remove(std::size_t r);
  /// Largest |H^-1 h - e_j| for h, column j of H. O(n^2).
  double residual(std::span<const double> h, std::size_t j);
  /// Whether its diagonal may be that of the inverse of a Gram matrix. O(n).
  bool sound() const;
  /// Rebuilds the inverse in place: column(i, h) gives column i of H. A vector that depends on those before it, within
  /// kFloor of its squared length, is removed: drop(i, c) takes the coefficients of its projection on them, and removes it
  /// from the caller's lists as remove() does. O(n^3).
  template <class Column, class Drop>
  void rebuild(Column column, Drop drop) {
    for (std::size_t i = 0; i < size();) {
      const std::span<double> h(column_.data(), size());
      column(i, h);
      std::copy_n(h.begin(), i + 1, T_.row(i));
      const double pivot = T_.factor_row(i);
      if (std::isfinite(pivot) && pivot > kFloor * h[i]) {
        T_.row(i)[i] = std::sqrt(pivot);
        ++i;
        continue;
      }
      T_.solve_row(i);
      const std::span<double> c(T_.row(i), i);
      if (!std::all_of(c.begin(), c.end(), [](double v) { return std::isfinite(v); })) std::fill(c.begin(), c.end(), 0.0);
      drop(i, std::span<const double>(c));
      T_.pop();
    }
    T_.invert_factor();
    fit_scratch();
  }
  /// Multiplies H by a. O(n^2).
  void scale(double a) { T_.scale(1 / a); }

  /// Bytes that add() adds, and the largest array that add(), remove() or rebuild() copies meanwhile.
  std::size_t bytes_to_add() const { return T_.bytes_to_grow() + bytes_to_fit(column_, size() + 1); }
  std::size_t bytes_to_copy() const { return T_.bytes_to_copy(); }
  std::size_t bytes() const { return T_.bytes() + bytes_of(column_); }

  struct Packed {
    std::uint64_t size = 0;
    Column<double> value;  // lower triangle, row by row
    template <class S>
    static void state(S& s, auto&& v) {
      v("size", s.size);
      v("value", s.value);
    }
  };
  Packed pack() const;
  void unpack(const Packed& packed);  ///< throws DataError: size does not fit, not finite, not positive

 private:
  void fit_scratch() {
    quorate::fit_scratch(column_, size());
    column_.resize(std::max(column_.size(), size()));
  }

  SymmetricMatrix T_;
  std::pmr::vector<double> column_;  // scratch
};

}  // namespace quorate
