// Instances one after the other: how examples are kept outside of a learner.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <vector>

#include "quorate/base/features.h"
#include "quorate/base/memory.h"

namespace quorate {

/// A growing list of vectors, sparse ones and dense ones, in compressed rows.
///
/// Thread-safety: const members may be called by many threads while nobody changes it.
class FeatureRows {
 public:
  explicit FeatureRows(std::pmr::memory_resource* memory = std::pmr::get_default_resource())
      : index_end_(memory), value_end_(memory), index_(memory), value_(memory), norm_(memory) {}

  std::size_t size() const { return norm_.size(); }
  /// Row i; valid until the next add(). O(1).
  Features operator[](std::size_t i) const {
    const std::uint64_t index = i == 0 ? 0 : index_end_[i - 1], value = i == 0 ? 0 : value_end_[i - 1];
    return {{index_.data() + index, index_end_[i] - index}, {value_.data() + value, value_end_[i] - value}, norm_[i]};
  }
  /// Bytes that add(x) may allocate, what it then frees included.
  std::size_t bytes_to_add(const Features& x) const {
    return bytes_to_reserve(index_, index_.size() + x.index.size()) +
           bytes_to_reserve(value_, value_.size() + x.value.size()) + bytes_to_reserve(index_end_, size() + 1) +
           bytes_to_reserve(value_end_, size() + 1) + bytes_to_reserve(norm_, size() + 1);
  }
  void add(const Features& x) {
    reserve(index_, index_.size() + x.index.size());
    reserve(value_, value_.size() + x.value.size());
    for (auto* ends : {&index_end_, &value_end_}) reserve(*ends, size() + 1);
    reserve(norm_, size() + 1);
    index_.insert(index_.end(), x.index.begin(), x.index.end());
    value_.insert(value_.end(), x.value.begin(), x.value.end());
    index_end_.push_back(index_.size());
    value_end_.push_back(value_.size());
    norm_.push_back(x.norm);
  }
  void clear() {
    index_end_.clear();
    value_end_.clear();
    index_.clear();
    value_.clear();
    norm_.clear();
  }
  std::size_t values() const { return value_.size(); }  ///< in all rows
  /// Bytes of the numbers in all rows.
  std::size_t bytes() const { return index_.size() * sizeof(Index) + value_.size() * sizeof(double); }

 private:
  std::pmr::vector<std::uint64_t> index_end_, value_end_;  // of each row; of a dense one index_end is that of the row before
  std::pmr::vector<Index> index_;
  std::pmr::vector<double> value_, norm_;
};

}  // namespace quorate
