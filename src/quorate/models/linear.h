// Weight vectors of many blocks, a block being a task, or a group that tasks share.
#pragma once
#include <memory_resource>

#include "quorate/base/features.h"
#include "quorate/models/table.h"

namespace quorate {

/// w: blocks x features, float. Any number of either, none known beforehand: a weight never touched is 0 and costs
/// nothing. Small problems (up to 2^18 places) lie in a plain matrix, larger ones in a hash table; which of the two
/// never shows in a result.
class Linear {
 public:
  explicit Linear(std::pmr::memory_resource* memory) : dense_(memory), table_(memory) {}

  /// <w_block, x>. O(non-zeros).
  double operator()(std::uint32_t block, const Features& x) const;
  /// w_block += a x. O(non-zeros), amortised when it grows.
  void add(std::uint32_t block, double a, const Features& x);

  /// Non-zero weights in ascending order of (block, feature).
  struct Packed {
    std::pmr::vector<std::uint32_t> block, feature;
    std::pmr::vector<float> value;
    template <class S>
    static void state(S& s, auto&& v) {
      v("block", s.block);
      v("feature", s.feature);
      v("value", s.value);
    }
  };
  Packed pack() const;
  void unpack(const Packed& packed);  ///< throws DataError: sizes differ, out of order, not finite

 private:
  static constexpr std::size_t kDensePlaces = std::size_t{1} << 18;  // 1 MiB, what a second-level cache holds

  bool fits(std::uint32_t block, std::size_t extent) const { return block < blocks_ && extent <= features_; }
  void make_room(std::uint32_t block, std::size_t extent);
  static std::uint64_t key(std::uint32_t block, Index feature) { return std::uint64_t{block} << 32 | feature; }
  float& place(std::uint32_t block, Index feature) {
    return in_table_ ? table_.at(key(block, feature)) : dense_[block * features_ + feature];
  }

  bool in_table_ = false;
  std::size_t blocks_ = 0, features_ = 0;  // of the matrix
  std::pmr::vector<float> dense_;          // blocks x features, row-major
  Table<std::uint64_t, float> table_;      // (block, feature) -> weight
};

}  // namespace quorate
