// One cell for each feature, exact or in a hash table of fixed size.
#pragma once
#include <cstdint>
#include <memory_resource>
#include <utility>
#include <variant>

#include "quorate/base/column.h"
#include "quorate/base/features.h"
#include "quorate/weights/hashed_cells.h"
#include "quorate/weights/sparse_blocks.h"

namespace quorate {

/// Block 0 of SparseBlocks or of HashedCells, as its constructor says.
template <class Cell>
class FeatureCells {
 public:
  /// slots: of the hash table; 0: exact.
  FeatureCells(std::size_t slots, std::pmr::memory_resource* memory) : cells_(Exact(memory)) {
    if (slots > 0) cells_.template emplace<Fixed>(slots, memory);
  }

  /// Of the hash table; 0: exact.
  std::size_t slots() const {
    const auto* fixed = std::get_if<Fixed>(&cells_);
    return fixed != nullptr ? fixed->cells().size() : 0;
  }
  void prefetch(const Features& x) const {
    std::visit([&](const auto& cells) { cells.prefetch(0, x); }, cells_);
  }
  /// Calls change_one(k, cell) for every feature k of x, in order.
  template <class F>
  void change(const Features& x, F change_one) {
    std::visit([&](auto& cells) { cells.change(0, x, change_one); }, cells_);
  }
  /// Calls use(at), where at(feature) is the cell of a feature of x.
  template <class Use>
  void read(const Features& x, Use use) const {
    if (const auto* fixed = std::get_if<Fixed>(&cells_)) return use([fixed](Index f) { return fixed->at(0, f); });
    bool none = true;
    std::get<Exact>(cells_).read(0, x, [&](auto at) {
      none = false;
      use(at);
    });
    if (none) use([](Index) { return Cell{}; });
  }

  /// The features, ascending, and columns made of their cells: pairs of a column and of how it is made of a cell. Of a hash
  /// table all slots, and no features. Nothing must change while the columns are read.
  template <class... Part>
  void pack(Column<std::uint32_t>& feature, Part... part) const {
    if (const auto* fixed = std::get_if<Fixed>(&cells_)) {
      const auto& all = fixed->cells();
      const auto take = [&all]<class T>(Column<T>* column, auto get) {
        *column = Column<T>::of(all.size(), [&all, get](std::size_t i) { return get(all[i]); });
      };
      return (take(part.first, part.second), ...);
    }
    const Exact& exact = std::get<Exact>(cells_);
    const auto order = exact.order();
    feature = exact.template column<Index>(order, [](Index f, const Cell&) { return f; });
    const auto take = [&exact, &order]<class T>(Column<T>* column, auto get) {
      *column = exact.template column<T>(order, [get](Index, const Cell& cell) { return get(cell); });
    };
    (take(part.first, part.second), ...);
  }
  /// The opposite: cell(i) is the one of feature i or, without features, of slot i, for i below size.
  template <class Get>
  void unpack(std::size_t size, const Column<std::uint32_t>& feature, std::pmr::memory_resource* memory, Get cell) {
    if (size > 0 && feature.empty()) {
      auto& fixed = cells_.template emplace<Fixed>(size, memory);
      for (std::size_t i = 0; i < size; ++i) fixed.cells()[i] = cell(i);
      return;
    }
    auto& exact = cells_.template emplace<Exact>(memory);
    if (size == 0) return;
    exact.reserve_blocks(1, {});
    exact.restore(
        0, size, [&](std::size_t k) { return feature[k]; }, cell);
  }

 private:
  using Exact = SparseBlocks<Cell>;
  using Fixed = HashedCells<Cell>;

  std::variant<Exact, Fixed> cells_;
};

}  // namespace quorate
