// Inner products of the tasks' weight vectors, updated without a pass over the features.
#pragma once
#include <array>
#include <cstdint>
#include <memory_resource>
#include <span>
#include <vector>

#include "quorate/base/features.h"
#include "quorate/weights/task_matrix.h"

namespace quorate {

/// G[j,l] = <w_j, w_l>, K x K double, symmetric; updated at every w_j += c_j x. Stored are the diagonal, the triangle below
/// it, and the last few updates, which are applied together because the matrix is larger than any cache.
class TaskGram {
 public:
  explicit TaskGram(std::pmr::memory_resource* memory) : diagonal_(memory), below_(memory), c_(memory), p_(memory) {}

  std::size_t tasks() const { return diagonal_.size(); }
  /// At least K tasks from now on; new ones have zero weights. O(K^2) when it grows.
  void ensure_tasks(std::size_t K);
  /// Makes room for K tasks, so that ensure_tasks(K) cannot fail.
  void reserve_tasks(std::size_t K);
  /// Bytes that reserve_tasks() allocates before it frees the old ones.
  std::size_t bytes_to_reserve(std::size_t K) const;

  /// w_j += c[j] x for all j, where p[j] = <w_j, x> before and xx = |x|^2:
  /// G[j,l] += c_j p_l + c_l p_j + c_j c_l |x|^2. c.size() == p.size() == tasks(). O(K^2).
  void add(std::span<const double> c, std::span<const double> p, double xx);

  /// |w_j - w_l|^2, never below 0. Both tasks covered. O(1).
  double squared_distance(Task j, Task l) const;
  /// out[j] = |w_j - w_i|^2 for all j; out.size() == tasks(). O(K).
  void squared_distances(Task i, std::span<double> out) const;

  using Packed = TaskMatrix::Packed;
  Packed pack() const;
  void unpack(const Packed& packed);  ///< throws DataError: not a Gram matrix

 private:
  static constexpr std::size_t kWaiting = 8;
  static std::size_t row(std::size_t j) { return j * (j - 1) / 2; }  // where row j >= 1 begins in below_
  double at(std::size_t j, std::size_t l) const;
  void apply();

  std::pmr::vector<double> diagonal_, below_;  // K; K (K - 1) / 2, row by row
  // Updates not yet applied to below_: the n-th is c_[n K ..], p_[n K ..], xx_[n]. diagonal_ has them.
  std::size_t waiting_ = 0;
  std::pmr::vector<double> c_, p_;  // kWaiting x K
  std::array<double, kWaiting> xx_{};
};

}  // namespace quorate
