// The inverse of a Gram matrix whose vectors come and go: projections on their span in O(n^2).
#pragma once
#include <memory_resource>
#include <span>
#include <vector>

#include "quorate/weights/symmetric_matrix.h"

namespace quorate {

/// H^-1 for H[i,j] = <v_i, v_j>, kept by rank-one updates (block inversion). The caller knows H: it gives columns of it.
class GramInverse {
 public:
  explicit GramInverse(std::pmr::memory_resource* memory) : T_(memory), column_(memory) {}

  /// Squared distances below this share of the vector's squared length are taken for 0: nothing is divided by them.
  static constexpr double kFloor = 1e-10;
  /// Largest error of H^-1 H in an entry before the inverse has to be made anew.
  static constexpr double kDrift = 1e-7;

  std::size_t size() const { return T_.size(); }
  double operator()(std::size_t i, std::size_t j) const { return T_(i, j); }

  /// g = H^-1 k, the coefficients of v's projection, for k[j] = <v_j, v> and vv = |v|^2. Returns the squared distance of v
  /// from the span, at least 0. O(n^2).
  double project(std::span<const double> k, double vv, std::span<double> g) const;
  /// v becomes the last vector; g and the squared distance, above kFloor vv, as project() gave them. O(n^2).
  void add(std::span<const double> g, double squared_distance);
  /// Vector r leaves; the last one takes its place. O(n^2).
  void remove(std::size_t r);
  /// Largest |H^-1 h - e_j| for h, column j of H. O(n^2).
  double residual(std::span<const double> h, std::size_t j);
  /// Makes it anew from H, of the same size. O(n^3). Throws DataError, and stays as it is, if H is not positive definite.
  void rebuild(const SymmetricMatrix& H) { T_.invert(H); }
  void trim() { T_.trim(); }  ///< gives back memory that is kept for the next vector

  std::size_t bytes_to_add() const {
    return T_.bytes_to_grow() + growth(column_, size() + 1 - std::min(size(), column_.size()));
  }

  struct Packed {
    std::uint64_t size = 0;
    std::pmr::vector<double> value;  // lower triangle, row by row
    template <class S>
    static void state(S& s, auto&& v) {
      v("size", s.size);
      v("value", s.value);
    }
  };
  Packed pack() const;
  void unpack(const Packed& packed);  ///< throws DataError: size does not fit, not finite, not positive

 private:
  SymmetricMatrix T_;
  std::pmr::vector<double> column_;  // scratch
};

}  // namespace quorate
