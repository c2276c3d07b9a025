// A K x K matrix of doubles over the tasks, whose K may grow.
#pragma once
#include <algorithm>
#include <cmath>
#include <memory_resource>
#include <span>
#include <vector>

#include "quorate/base/column.h"
#include "quorate/base/error.h"
#include "quorate/base/features.h"
#include "quorate/base/memory.h"

namespace quorate {

class TaskMatrix {
 public:
  static constexpr std::size_t kMost = 1'000'000;  ///< limit of tasks in a model file

  /// Entries of a new task, in its row and in its column, start at `initial`.
  TaskMatrix(double initial, std::pmr::memory_resource* memory) : initial_(initial), values_(memory) {}

  std::size_t tasks() const { return tasks_; }
  /// At least K tasks from now on. O(K^2) when it grows.
  void ensure_tasks(std::size_t K) {
    reserve_tasks(K);
    tasks_ = std::max(tasks_, K);
  }
  /// Bytes that reserve_tasks(K) allocates, the old ones being freed afterwards.
  std::size_t bytes_to_reserve(std::size_t K) const {
    return K <= stride_ ? 0 : stride_for(K) * stride_for(K) * sizeof(double);
  }
  /// Makes room for K tasks, so that ensure_tasks(K) cannot fail.
  void reserve_tasks(std::size_t K) {
    if (K <= stride_) return;
    const std::size_t stride = stride_for(K);
    std::pmr::vector<double> grown(stride * stride, initial_, values_.get_allocator());
    for (std::size_t j = 0; j < tasks_; ++j) std::copy_n(values_.data() + j * stride_, tasks_, grown.data() + j * stride);
    values_.swap(grown);
    stride_ = stride;
  }

  std::span<double> row(std::size_t j) { return {values_.data() + j * stride_, tasks_}; }
  std::span<const double> row(std::size_t j) const { return {values_.data() + j * stride_, tasks_}; }
  double operator()(std::size_t j, std::size_t l) const { return values_[j * stride_ + l]; }

  /// value: K x K, row by row.
  struct Packed {
    std::uint64_t tasks = 0;
    Column<double> value;
    template <class S>
    static void state(S& s, auto&& v) {
      v("tasks", s.tasks);
      v("value", s.value);
    }
  };
  Packed pack() const {
    return {tasks_, Column<double>::of(tasks_ * tasks_, [this](std::size_t i) { return (*this)(i / tasks_, i % tasks_); })};
  }
  void unpack(const Packed& packed) {  ///< throws DataError: not K x K, not finite
    const std::size_t K = packed.tasks;
    if (K > kMost || packed.value.size() != K * K) throw DataError("matrix of tasks: expected tasks x tasks values");
    for (std::size_t i = 0; i < K * K; ++i)
      if (!std::isfinite(packed.value[i])) throw DataError("matrix of tasks: a value is not finite");
    TaskMatrix out(initial_, values_.get_allocator().resource());
    out.ensure_tasks(K);
    for (std::size_t j = 0; j < K; ++j) packed.value.read(j * K, out.row(j));
    *this = std::move(out);
  }

 private:
  std::size_t stride_for(std::size_t K) const {
    return is_limited(values_.get_allocator().resource()) ? room_for(K) : std::max(K, stride_ + stride_ / 2);
  }

  double initial_;
  std::size_t tasks_ = 0, stride_ = 0;
  std::pmr::vector<double> values_;  // stride_ x stride_, row-major; initial_ outside tasks_ x tasks_
};

}  // namespace quorate
