// Inner products of the tasks' weight vectors, kept without ever passing over the features.
#pragma once
#include <algorithm>
#include <memory_resource>
#include <span>
#include <vector>

#include "quorate/base/error.h"
#include "quorate/base/features.h"

namespace quorate {

/// G[j,l] = <w_j, w_l>, K x K double, symmetric, while every w_j += c_j x is told to it.
class Gram {
 public:
  explicit Gram(std::pmr::memory_resource* memory) : g_(memory) {}

  std::size_t tasks() const { return tasks_; }
  /// Makes room for at least K tasks; new ones have zero weights. O(K^2) when it grows.
  void cover(std::size_t K) {
    if (K <= tasks_) return;
    if (K > stride_) {
      const std::size_t stride = std::max(K, stride_ + stride_ / 2);
      std::pmr::vector<double> grown(stride * stride, 0.0, g_.get_allocator());
      for (std::size_t j = 0; j < tasks_; ++j) std::copy_n(g_.data() + j * stride_, tasks_, grown.data() + j * stride);
      g_.swap(grown);
      stride_ = stride;
    }
    tasks_ = K;
  }

  /// w_j += c[j] x for all j, where p[j] = <w_j, x> before and xx = |x|^2:
  /// G[j,l] += c_j p_l + c_l p_j + c_j c_l |x|^2. c.size() == p.size() == tasks(). O(K^2).
  void add(std::span<const double> c, std::span<const double> p, double xx) {
    for (std::size_t j = 0; j < tasks_; ++j) {
      double* row = g_.data() + j * stride_;
      for (std::size_t l = 0; l < tasks_; ++l) row[l] += (c[j] * p[l] + c[l] * p[j]) + c[j] * c[l] * xx;
    }
  }

  /// |w_j - w_l|^2, never below 0. Both tasks covered.
  double squared_distance(Task j, Task l) const {
    return std::max(0.0, (g_[j * stride_ + j] + g_[l * stride_ + l]) - 2 * g_[j * stride_ + l]);
  }

  /// value: K x K.
  struct Packed {
    std::uint64_t tasks = 0;
    std::pmr::vector<double> value;
    template <class S>
    static void state(S& s, auto&& v) {
      v("tasks", s.tasks);
      v("value", s.value);
    }
  };
  Packed pack() const {
    Packed out;
    out.tasks = tasks_;
    for (std::size_t j = 0; j < tasks_; ++j)
      out.value.insert(out.value.end(), g_.data() + j * stride_, g_.data() + j * stride_ + tasks_);
    return out;
  }
  void unpack(const Packed& packed) {  ///< throws DataError: no such matrix is a Gram matrix
    const std::size_t K = packed.tasks;
    if (K > 1'000'000 || packed.value.size() != K * K) throw DataError("Gram matrix: expected tasks x tasks values");
    for (std::size_t j = 0; j < K; ++j)
      for (std::size_t l = 0; l <= j; ++l)
        if (packed.value[j * K + l] != packed.value[l * K + j] || packed.value[j * K + l] - packed.value[j * K + l] != 0)
          throw DataError("Gram matrix: not symmetric or not finite at " + std::to_string(j) + ", " + std::to_string(l));
    for (std::size_t j = 0; j < K; ++j)
      if (packed.value[j * K + j] < -1e-6) throw DataError("Gram matrix: negative squared length of " + std::to_string(j));
    cover(K);
    for (std::size_t j = 0; j < K; ++j) std::copy_n(packed.value.data() + j * K, K, g_.data() + j * stride_);
  }

 private:
  std::size_t tasks_ = 0, stride_ = 0;
  std::pmr::vector<double> g_;  // stride_ x stride_, row-major
};

}  // namespace quorate
