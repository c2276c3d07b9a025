// Numbers of many blocks, a block being a task, or what tasks share: how all linear learners store what they know.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "quorate/base/features.h"
#include "quorate/base/memory.h"
#include "quorate/base/prefetch.h"
#include "quorate/weights/table.h"

namespace quorate {

/// One Cell for every block and feature, Cell{} unless it was changed. Any number of either, none known beforehand: a block
/// costs nothing until something in it changes. Each block lies in a plain row or in a hash table of its own, whichever is
/// smaller, so that a small problem is a matrix and one of a million tasks touches only the memory of the task at hand. A
/// row is several times as fast: unless memory is limited, kSpare bytes in all may go to rows that are larger than a table
/// would be. Which of the two it is never shows in a result.
template <class Cell>
class SparseBlocks {
 public:
  static constexpr std::size_t kSpare = std::size_t{4} << 20;

  explicit SparseBlocks(std::pmr::memory_resource* memory)
      : place_(memory), blocks_(memory), spare_(is_limited(memory) ? 0 : kSpare) {}

  std::pmr::memory_resource* memory() const { return blocks_.get_allocator().resource(); }

  /// Asks the processor for x's cells.
  void prefetch(std::uint32_t block, const Features& x) const {
    const std::uint32_t* place = place_.find(block);
    if (place == nullptr) return;
    const Block& b = blocks_[*place];
    if (const auto* cells = std::get_if<Cells>(&b)) {
      for (std::size_t k = 0; k < x.size(); ++k) cells->prefetch(x.at(k));
    } else {
      const Row& row = std::get<Row>(b);
      if (blocks_.size() == 1 && row.size() * sizeof(Cell) <= kSpare / 2) return;  // it stays in the cache
      for (std::size_t k = 0; k < x.size(); ++k)
        if (x.at(k) < row.size()) quorate::prefetch(&row[x.at(k)]);
    }
  }
  /// use(cell), where cell(feature) is the block's cell, for features of x only; nothing if the block never changed.
  template <class F>
  void read(std::uint32_t block, const Features& x, F use) const {
    const std::uint32_t* place = place_.find(block);
    if (place == nullptr) return;
    const Block& b = blocks_[*place];
    if (const auto* cells = std::get_if<Cells>(&b)) {
      use([cells](Index feature) { return cells->get(feature); });
      return;
    }
    const Row& row = std::get<Row>(b);
    const Cell* cell = row.data();
    const std::size_t extent = row.size();
    if (x.extent() <= extent)
      use([cell](Index feature) { return cell[feature]; });
    else
      use([cell, extent](Index feature) { return feature < extent ? cell[feature] : Cell{}; });
  }
  /// change(k, cell) for every feature k of x, in order. O(non-zeros), amortised when it grows.
  template <class F>
  void change(std::uint32_t block, const Features& x, F change_one) {
    std::uint32_t& place = place_.at(block);
    if (place_.size() > blocks_.size()) {
      place = static_cast<std::uint32_t>(blocks_.size());
      blocks_.emplace_back(Cells(memory()));
    }
    Block& b = blocks_[place];
    reserve_for(b, x);
    if (auto* cells = std::get_if<Cells>(&b)) {
      for (std::size_t k = 0; k < x.size(); ++k) change_one(k, cells->at(x.at(k)));
    } else {
      Cell* row = std::get<Row>(b).data();
      for (std::size_t k = 0; k < x.size(); ++k) change_one(k, row[x.at(k)]);
    }
  }
  /// f(block, feature, cell) for every cell that is not Cell{}, in ascending order of (block, feature).
  template <class F>
  void for_each(F f) const {
    std::vector<std::pair<Index, Cell>> entries;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> blocks;
    place_.for_each([&](std::uint32_t block, std::uint32_t place) { blocks.emplace_back(block, place); });
    std::sort(blocks.begin(), blocks.end());
    for (const auto& block : blocks) {
      entries.clear();
      const auto put = [&](Index feature, const Cell& cell) {
        if (!(cell == Cell{})) entries.emplace_back(feature, cell);
      };
      const Block& b = blocks_[block.second];
      if (const auto* cells = std::get_if<Cells>(&b)) {
        cells->for_each(put);
        std::sort(entries.begin(), entries.end(), [](const auto& a, const auto& c) { return a.first < c.first; });
      } else {
        const Row& row = std::get<Row>(b);
        for (std::size_t f0 = 0; f0 < row.size(); ++f0) put(static_cast<Index>(f0), row[f0]);
      }
      for (const auto& entry : entries) f(block.first, entry.first, entry.second);
    }
  }

 private:
  using Cells = Table<Index, Cell>;
  using Row = std::pmr::vector<Cell>;
  using Block = std::variant<Cells, Row>;

  /// Whether a row may have so many bytes more than it would deserve; then they are taken.
  bool spare(std::size_t bytes) {
    if (bytes > spare_) return false;
    spare_ -= bytes;
    return true;
  }
  /// Lets x be changed in the block: a row long enough, or a table that has slots enough unless a row is to be had.
  void reserve_for(Block& b, const Features& x) {
    const std::size_t extent = x.extent();
    if (auto* cells = std::get_if<Cells>(&b)) {
      if (cells->has_room(x.size())) return;
      std::size_t end = extent;  // of the features there are
      cells->for_each([&](Index feature, const Cell&) { end = std::max(end, std::size_t{feature} + 1); });
      if (end * sizeof(Cell) > Cells::slots_for(cells->size() + x.size()) * Cells::kSlotBytes && !spare(end * sizeof(Cell)))
        return cells->reserve(cells->size() + x.size());
      Row row(end, Cell{}, memory());
      cells->for_each([&](Index feature, const Cell& cell) { row[feature] = cell; });
      b.template emplace<Row>(std::move(row));
      return;
    }
    Row& row = std::get<Row>(b);
    if (extent <= row.size()) return;
    const auto used = row.size() - static_cast<std::size_t>(std::count(row.begin(), row.end(), Cell{}));
    // Twice as large as a table before it becomes one.
    const std::size_t grown = std::max(extent, row.size() + row.size() / 2);
    if (extent * sizeof(Cell) <= 2 * Cells::slots_for(used + x.size()) * Cells::kSlotBytes ||
        spare((grown - row.size()) * sizeof(Cell))) {
      row.reserve(grown);
      row.resize(row.capacity(), Cell{});
      return;
    }
    Cells cells(memory());
    cells.reserve(used + x.size());
    for (std::size_t f = 0; f < row.size(); ++f)
      if (!(row[f] == Cell{})) cells.at(static_cast<Index>(f)) = row[f];
    b.template emplace<Cells>(std::move(cells));
  }

  Table<std::uint32_t, std::uint32_t> place_;  // block -> its place in blocks_, in order of first use
  std::pmr::vector<Block> blocks_;
  std::size_t spare_;  // bytes of kSpare that are left
};

}  // namespace quorate
