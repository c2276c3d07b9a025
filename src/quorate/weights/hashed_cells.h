// Cells by block and feature in a table of fixed size, where several cells may share a slot.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <vector>

#include "quorate/base/features.h"
#include "quorate/base/prefetch.h"

namespace quorate {

/// One Cell for every block and feature, as SparseBlocks, but in a fixed number of slots. A hash of block and feature gives
/// the slot, which is shared on collisions; cells are never moved or removed. O(1), one cache line, per look-up.
template <class Cell>
class HashedCells {
 public:
  /// slots: 1 to 2^32.
  HashedCells(std::size_t slots, std::pmr::memory_resource* memory) : cells_(slots, memory) {}

  /// Prefetches x's cells: about a hundred arrive in the time of ten that are loaded one by one.
  void prefetch(std::uint32_t block, const Features& x) const {
    for (std::size_t k = 0; k < x.size(); ++k) quorate::prefetch(&cells_[slot_of(block, x.at(k))]);
  }
  /// change_one(k, cell) for every feature k of x, in order.
  template <class F>
  void change(std::uint32_t block, const Features& x, F change_one) {
    for (std::size_t k = 0; k < x.size(); ++k) change_one(k, cells_[slot_of(block, x.at(k))]);
  }
  Cell at(std::uint32_t block, Index feature) const { return cells_[slot_of(block, feature)]; }
  Cell& at(std::uint32_t block, Index feature) { return cells_[slot_of(block, feature)]; }
  const std::pmr::vector<Cell>& cells() const { return cells_; }
  std::pmr::vector<Cell>& cells() { return cells_; }

 private:
  std::size_t slot_of(std::uint32_t block, Index feature) const {
    std::uint64_t h = (std::uint64_t{block} << 32 | feature) * 0x9E3779B97F4A7C15u;
    h = (h ^ h >> 29) * 0xBF58476D1CE4E5B9u;
    return ((h >> 32) * cells_.size()) >> 32;
  }

  std::pmr::vector<Cell> cells_;
};

}  // namespace quorate
