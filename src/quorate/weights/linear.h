// Weight vectors by block, a block being a task or a group of tasks.
#pragma once
#include <memory_resource>
#include <vector>

#include "quorate/base/features.h"
#include "quorate/weights/sparse_blocks.h"

namespace quorate {

/// w: blocks x features, float; stored in SparseBlocks.
class Linear {
 public:
  explicit Linear(std::pmr::memory_resource* memory) : w_(memory) {}

  void prefetch(std::uint32_t block, const Features& x) const { w_.prefetch(block, x); }  ///< as Blocks
  /// <w_block, x>. O(non-zeros).
  double operator()(std::uint32_t block, const Features& x) const;
  /// out[k] = the weight of x's feature begin + k. O(out.size()).
  void gather(std::uint32_t block, const Features& x, std::size_t begin, std::span<double> out) const;
  void reserve(std::uint32_t block, const Features& x) { w_.reserve(block, x); }  ///< as SparseBlocks
  /// w_block += a x. If memory is refused nothing changed. O(non-zeros), amortised when it grows.
  void add(std::uint32_t block, double a, const Features& x);

  /// Non-zero weights in ascending order of (block, feature), as in SparseBlocks::Order.
  struct Packed {
    Column<std::uint32_t> block, feature;
    Column<float> value;
    BlockRooms rooms = {};
    template <class S>
    static void state(S& s, auto&& v) {
      v("block", s.block);
      v("feature", s.feature);
      v("value", s.value);
      v("rooms", s.rooms);
    }
  };
  Packed pack() const;
  void unpack(const Packed& packed);  ///< throws DataError: sizes differ, out of order, not finite

 private:
  SparseBlocks<float> w_;
};

}  // namespace quorate
