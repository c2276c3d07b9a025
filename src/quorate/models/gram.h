// Inner products of the tasks' weight vectors, kept without ever passing over the features.
#pragma once
#include "quorate/models/square.h"

namespace quorate {

/// G[j,l] = <w_j, w_l>, K x K double, symmetric, while every w_j += c_j x is told to it.
class Gram {
 public:
  explicit Gram(std::pmr::memory_resource* memory) : g_(0, memory) {}

  std::size_t tasks() const { return g_.tasks(); }
  /// Makes room for at least K tasks; new ones have zero weights. O(K^2) when it grows.
  void cover(std::size_t K) { g_.cover(K); }

  /// w_j += c[j] x for all j, where p[j] = <w_j, x> before and xx = |x|^2:
  /// G[j,l] += c_j p_l + c_l p_j + c_j c_l |x|^2. c.size() == p.size() == tasks(). O(K^2).
  void add(std::span<const double> c, std::span<const double> p, double xx) {
    for (std::size_t j = 0; j < tasks(); ++j) {
      const std::span<double> row = g_.row(j);
      for (std::size_t l = 0; l < row.size(); ++l) row[l] += (c[j] * p[l] + c[l] * p[j]) + c[j] * c[l] * xx;
    }
  }

  /// |w_j - w_l|^2, never below 0. Both tasks covered.
  double squared_distance(Task j, Task l) const { return std::max(0.0, (g_(j, j) + g_(l, l)) - 2 * g_(j, l)); }

  using Packed = Square::Packed;
  Packed pack() const { return g_.pack(); }
  void unpack(const Packed& packed) {  ///< throws DataError: no such matrix is a Gram matrix
    g_.unpack(packed);
    for (std::size_t j = 0; j < tasks(); ++j) {
      if (g_(j, j) < -1e-6) throw DataError("Gram matrix: negative squared length of " + std::to_string(j));
      for (std::size_t l = 0; l < j; ++l)
        if (g_(j, l) != g_(l, j))
          throw DataError("Gram matrix: not symmetric at " + std::to_string(j) + ", " + std::to_string(l));
    }
  }

 private:
  Square g_;
};

}  // namespace quorate
