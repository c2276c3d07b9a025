// Weight vectors of many blocks, a block being a task, or a group that tasks share.
#pragma once
#include <memory_resource>
#include <variant>
#include <vector>

#include "quorate/base/features.h"
#include "quorate/models/table.h"

namespace quorate {

/// w: blocks x features, float. Any number of either, none known beforehand: a block costs nothing until something
/// is added to it. Each block lies in a plain row or in a hash table of its own, whichever is smaller, so that a
/// small problem is a matrix and one of a million tasks touches only the memory of the task at hand; which of the two
/// never shows in a result.
class Linear {
 public:
  explicit Linear(std::pmr::memory_resource* memory) : place_(memory), blocks_(memory) {}

  /// <w_block, x>. O(non-zeros).
  double operator()(std::uint32_t block, const Features& x) const;
  /// out[k] = the weight of x's feature begin + k. O(out.size()).
  void gather(std::uint32_t block, const Features& x, std::size_t begin, std::span<double> out) const;
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
  using Weights = Table<Index, float>;  // 8 bytes a slot
  using Row = std::pmr::vector<float>;  // 4 bytes a feature
  using Block = std::variant<Weights, Row>;

  std::pmr::memory_resource* memory() const { return blocks_.get_allocator().resource(); }
  void make_room(Block& block, const Features& x);

  Table<std::uint32_t, std::uint32_t> place_;  // block -> its place in blocks_, in order of first use
  std::pmr::vector<Block> blocks_;
};

}  // namespace quorate
