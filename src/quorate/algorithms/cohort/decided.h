// Predictions that are not made twice: of an instance in several tasks, of the latest question.
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "quorate/base/example.h"

namespace quorate::cohort {

/// Whether they are the same features in memory, as those of an instance in several tasks of a round.
inline bool is_same(const Features& a, const Features& b) {
  return a.value.data() == b.value.data() && a.size() == b.size();
}

/// The example of the latest question. If its label arrives before anything else changes, the prediction is not made again.
/// Features are compared: a caller may use the same buffer for another example. Cost O(non-zeros).
class Decided {
 public:
  static constexpr std::size_t kMost = 512;  // non-zeros; so it takes no memory that a limit would have to count

  /// Does nothing if e is larger.
  void keep(const Example& e) {
    known_ = e.x.size() <= kMost;
    if (!known_) return;
    task_ = e.task;
    group_ = e.group;
    size_ = e.x.size();
    indices_ = e.x.index.size();
    std::ranges::copy(e.x.index, index_.begin());
    std::ranges::copy(e.x.value, value_.begin());
  }
  void forget() { known_ = false; }
  bool is(const Example& e) const {
    return known_ && task_ == e.task && group_ == e.group &&
           std::ranges::equal(std::span(index_).first(indices_), e.x.index) &&
           std::ranges::equal(std::span(value_).first(size_), e.x.value);
  }

 private:
  bool known_ = false;
  Task task_ = 0;
  std::uint32_t group_ = 0;
  std::size_t size_ = 0, indices_ = 0;
  std::array<Index, kMost> index_;
  std::array<double, kMost> value_;
};

}  // namespace quorate::cohort
