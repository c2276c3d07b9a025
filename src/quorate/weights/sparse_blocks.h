// The sparse storage of all linear learners: cells by block and feature, a block being a task or the shared weights.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <memory_resource>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "quorate/base/column.h"
#include "quorate/base/error.h"
#include "quorate/base/features.h"
#include "quorate/base/memory.h"
#include "quorate/base/prefetch.h"
#include "quorate/weights/table.h"

namespace quorate {

/// The allocated room of every block, in ascending order of the blocks. A model with a memory limit saves it, so that a
/// loaded model has as much memory left as the saved one.
struct BlockRooms {
  Column<std::uint32_t> block;
  Column<std::uint64_t> room;  ///< table: 2 * slots; row: 2 * length + 1
  template <class S>
  static void state(S& s, auto&& v) {
    visit_unless_empty(v, "block", s.block);
    visit_unless_empty(v, "room", s.room);
  }
};

/// One Cell for every block and feature, Cell{} unless it was changed. Blocks and features need not be declared: a block
/// costs nothing until one of its cells changes. Each block is stored in a plain row or in a hash table of its own,
/// whichever is smaller. So a small problem is a matrix, and with a million tasks an example touches only the memory of its
/// own task. A row is several times as fast: unless memory is limited, rows may together take kSpare bytes more than tables
/// would. The representation never affects results.
template <class Cell>
class SparseBlocks {
 public:
  static constexpr std::size_t kSpare = std::size_t{4} << 20;

  explicit SparseBlocks(std::pmr::memory_resource* memory)
      : place_(memory), blocks_(memory), limited_(is_limited(memory)), spare_(limited_ ? 0 : kSpare) {}

  std::pmr::memory_resource* memory() const { return blocks_.get_allocator().resource(); }

  /// Prefetches x's cells.
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
  /// Calls use(cell), where cell(feature) is the block's cell, for features of x only; no call if the block never changed.
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
  /// Makes room, so that change(block, x) cannot fail as long as nothing else changes. If memory is refused no cell changed.
  /// O(1), amortised.
  void reserve(std::uint32_t block, const Features& x) { block_for(block, x.size(), x.extent()); }
  /// Calls change_one(k, cell) for every feature k of x, in order. If memory is refused no cell changed. O(non-zeros),
  /// amortised when it grows.
  template <class F>
  void change(std::uint32_t block, const Features& x, F change_one) {
    Block& b = block_for(block, x.size(), x.extent());
    if (auto* cells = std::get_if<Cells>(&b)) {
      for (std::size_t k = 0; k < x.size(); ++k) change_one(k, cells->at(x.at(k)));
    } else {
      Cell* row = std::get<Row>(b).data();
      for (std::size_t k = 0; k < x.size(); ++k) change_one(k, row[x.at(k)]);
    }
  }
  /// The positions of the cells other than Cell{}, in ascending order of (block, feature): parts of a row, or a whole table.
  /// Under a memory limit also cells of tables that became Cell{} again, as they take memory.
  struct Part {
    std::uint32_t block, place;
    Index begin;            ///< row: its first feature
    std::size_t steps = 0;  ///< table: the offset of its features in Order::steps
  };
  struct Order {
    std::vector<Part> parts;
    std::vector<std::size_t> ends;   ///< for each part: the number of cells up to its end
    std::deque<std::uint8_t> steps;  ///< features of tables, each as its distance from the one before, 7 bits a byte
  };
  /// Blocks must not change while columns made of this order are read.
  std::shared_ptr<const Order> order() const {
    const auto out = std::make_shared<Order>();
    std::size_t parts = 0;
    for (const Block& b : blocks_) {
      const auto* row = std::get_if<Row>(&b);
      parts += row == nullptr || row->empty() ? 1 : (row->size() + kPartOfRow - 1) / kPartOfRow;
    }
    out->parts.reserve(parts);
    out->ends.reserve(parts);
    place_.for_each([&](std::uint32_t block, std::uint32_t place) {
      const auto* row = std::get_if<Row>(&blocks_[place]);
      std::size_t begin = 0;
      do out->parts.push_back({block, place, static_cast<Index>(begin)});
      while (row != nullptr && (begin += kPartOfRow) < row->size());
    });
    std::sort(out->parts.begin(), out->parts.end(),
              [](const Part& a, const Part& b) { return std::pair(a.block, a.begin) < std::pair(b.block, b.begin); });
    std::size_t cells = 0;
    std::vector<Index> features;
    for (Part& part : out->parts) {
      part.steps = out->steps.size();
      if (std::holds_alternative<Row>(blocks_[part.place]))
        for_each(part, [&](Index, const Cell&) { ++cells; });
      else
        cells += put_steps(part, out->steps, features);
      out->ends.push_back(cells);
    }
    return out;
  }
  /// The block of each of these cells.
  static Column<std::uint32_t> block_column(const std::shared_ptr<const Order>& order) {
    const auto same = std::make_shared<std::vector<std::uint32_t>>();
    return Column<std::uint32_t>::joined({order, &order->ends}, [order, same](std::size_t i, std::size_t, std::size_t n) {
      same->assign(n, order->parts[i].block);
      return std::span<const std::uint32_t>(*same);
    });
  }
  /// get(feature, cell) of each of these cells.
  template <class T, class Get>
  Column<T> column(const std::shared_ptr<const Order>& order, Get get) const {
    struct Read {
      std::size_t part = ~std::size_t{0};
      std::vector<Index> features;  // row: the features of the part
      std::size_t cell = 0, step = 0;
      Index feature = 0;  // table: the feature read last
      std::vector<T> out;
    };
    const auto read = std::make_shared<Read>();
    return Column<T>::joined(
        {order, &order->ends}, [this, order, read, get](std::size_t i, std::size_t begin, std::size_t n) {
          const Part& part = order->parts[i];
          const bool table = std::holds_alternative<Cells>(blocks_[part.place]);
          if (read->part != i || (table && begin < read->cell)) {
            read->part = i;
            read->features.clear();
            read->cell = 0;
            read->step = part.steps;
            read->feature = 0;
            if (!table) for_each(part, [&](Index feature, const Cell&) { read->features.push_back(feature); });
          }
          read->out.clear();
          const auto put = [&](Index feature) { read->out.push_back(get(feature, cell(part.place, feature))); };
          if (table) {
            for (; read->cell < begin + n; ++read->cell) {
              read->feature += step(order->steps, read->step);
              if (read->cell >= begin) put(read->feature);
            }
          } else {
            for (const Index feature : std::span(read->features).subspan(begin, n)) put(feature);
          }
          return std::span<const T>(read->out);
        });
  }
  /// The rooms of the blocks in `order`; empty without a memory limit.
  BlockRooms rooms(const std::shared_ptr<const Order>& order) const {
    if (!limited_) return {};
    const auto first = std::make_shared<std::vector<std::uint32_t>>();  // part of each block
    for (std::size_t i = 0; i < order->parts.size(); ++i)
      if (order->parts[i].begin == 0) first->push_back(static_cast<std::uint32_t>(i));
    return {
        Column<std::uint32_t>::of(first->size(), [order, first](std::size_t i) { return order->parts[(*first)[i]].block; }),
        Column<std::uint64_t>::of(first->size(), [this, order, first](std::size_t i) {
          const Block& b = blocks_[order->parts[(*first)[i]].place];
          if (const auto* cells = std::get_if<Cells>(&b)) return 2 * std::uint64_t{cells->slots()};
          return 2 * std::uint64_t{std::get<Row>(b).size()} + 1;
        })};
  }
  /// Makes room for `blocks` blocks; under a memory limit with the saved rooms, if the file has them. Throws DataError.
  void reserve_blocks(std::size_t blocks, const BlockRooms& rooms) {
    const auto check = [](bool good, const char* why) {
      if (!good) throw DataError(std::string("blocks: ") + why);
    };
    check(rooms.block.size() == rooms.room.size(), "block and room differ in size");
    const std::size_t given = limited_ ? rooms.block.size() : 0, all = std::max(blocks, given);
    place_.reserve(all);
    fit(blocks_, all);
    blocks_.reserve(all);
    for (std::size_t i = 0; i < given; ++i) {
      const std::uint32_t block = rooms.block[i];
      const std::uint64_t room = rooms.room[i] / 2;
      check(block != 0xFFFFFFFFu && place_.find(block) == nullptr, "expected room for each block once, below 4294967295");
      Block made{Cells(memory())};
      if (rooms.room[i] % 2 == 0) {
        check(std::get<Cells>(made).reserve_slots(room), "expected a table of 0 slots, or of a power of two from 4 to 2^33");
      } else {
        check(room <= std::size_t{kMaxIndex} + 2, "expected a row of at most 4294967295 cells");
        made.template emplace<Row>(room, Cell{}, memory());
      }
      place_.at(block) = static_cast<std::uint32_t>(blocks_.size());
      blocks_.push_back(std::move(made));
    }
  }
  /// Fills a block that never changed with n cells: feature(k), in ascending order, and value(k), k < n. After
  /// reserve_blocks() it takes no more memory than the saved block.
  template <class Feature, class Value>
  void restore(std::uint32_t block, std::size_t n, Feature feature, Value value) {
    Block& b = block_for(block, n, std::size_t{feature(n - 1)} + 1);
    for (std::size_t k = 0; k < n; ++k) {
      if (auto* cells = std::get_if<Cells>(&b))
        cells->at(feature(k)) = value(k);
      else
        std::get<Row>(b)[feature(k)] = value(k);
    }
  }

 private:
  using Cells = Table<Index, Cell>;
  using Row = std::pmr::vector<Cell>;
  using Block = std::variant<Cells, Row>;
  static constexpr std::size_t kPartOfRow = 4096;

  Cell cell(std::uint32_t place, Index feature) const {
    const auto* cells = std::get_if<Cells>(&blocks_[place]);
    return cells != nullptr ? cells->get(feature) : std::get<Row>(blocks_[place])[feature];
  }
  /// f(feature, cell) for the cells of a part, in no useful order.
  template <class F>
  void for_each(const Part& part, F f) const {
    const auto put = [&](Index feature, const Cell& cell) {
      if (!(cell == Cell{})) f(feature, cell);
    };
    if (const auto* cells = std::get_if<Cells>(&blocks_[part.place]))
      return limited_ ? cells->for_each(f) : cells->for_each(put);
    const Row& row = std::get<Row>(blocks_[part.place]);
    const std::size_t end = std::min(row.size(), part.begin + kPartOfRow);
    for (std::size_t feature = part.begin; feature < end; ++feature) put(static_cast<Index>(feature), row[feature]);
  }

  /// Appends the features of a table in ascending order; returns their number. A large table is sorted range by range, as a
  /// list of all its features would be half as large as the table. `features` is scratch.
  std::size_t put_steps(const Part& part, std::deque<std::uint8_t>& steps, std::vector<Index>& features) const {
    constexpr std::size_t kAtOnce = 65'536, kSample = 1024;
    const std::size_t size = std::get<Cells>(blocks_[part.place]).size(), ranges = size / kAtOnce + 1;
    std::vector<Index> limits;  // of the ranges, from a sample: ranges have about equally many cells
    if (ranges > 1) {
      std::size_t n = 0;
      for_each(part, [&](Index feature, const Cell&) {
        if (n++ % (size / kSample) == 0) limits.push_back(feature);
      });
      std::sort(limits.begin(), limits.end());
      for (std::size_t r = 1; r < ranges; ++r) limits[r - 1] = limits[r * limits.size() / ranges];
      limits.resize(ranges - 1);
    }
    std::size_t cells = 0;
    Index before = 0, begin = 0;
    for (std::size_t r = 0; r < ranges; ++r) {
      const bool last = r + 1 == ranges;
      const Index end = last ? 0 : limits[r];
      features.clear();
      for_each(part, [&](Index feature, const Cell&) {
        if (feature >= begin && (last || feature < end)) features.push_back(feature);
      });
      std::sort(features.begin(), features.end());
      for (const Index feature : features) {
        Index step = feature - before;
        for (; step > 0x7F; step >>= 7) steps.push_back(static_cast<std::uint8_t>(step | 0x80));
        steps.push_back(static_cast<std::uint8_t>(step));
        before = feature;
      }
      cells += features.size();
      begin = end;
    }
    return cells;
  }
  /// Reads the step at byte `at`, and moves `at` past it.
  static Index step(const std::deque<std::uint8_t>& steps, std::size_t& at) {
    Index out = 0;
    for (unsigned shift = 0;; shift += 7) {
      const std::uint8_t byte = steps[at++];
      out |= static_cast<Index>(byte & 0x7F) << shift;
      if (byte < 0x80) return out;
    }
  }

  /// Takes `bytes` of the slack kSpare for a row larger than its table would be; false if too few are left.
  bool spare(std::size_t bytes) {
    if (bytes > spare_) return false;
    spare_ -= bytes;
    return true;
  }
  /// The block, made if it is new, with room for `more` features below `extent`. If memory is refused the blocks and their
  /// allocated memory are unchanged.
  Block& block_for(std::uint32_t block, std::size_t more, std::size_t extent) {
    if (const std::uint32_t* place = place_.find(block)) {
      Block& b = blocks_[*place];
      reserve_for(b, more, extent);
      return b;
    }
    Block made{Cells(memory())};
    reserve_for(made, more, extent);
    const std::size_t blocks = blocks_.size() + 1;
    if (limited_) check_bytes_left(memory(), place_.bytes_to_reserve(blocks) + bytes_to_reserve(blocks_, blocks));
    place_.reserve(blocks);
    quorate::reserve(blocks_, blocks);
    place_.at(block) = static_cast<std::uint32_t>(blocks_.size());  // from here on nothing can fail
    blocks_.push_back(std::move(made));
    return blocks_.back();
  }
  /// Makes room for `more` features below `extent`: in a long enough row, or in a table with enough slots if a row would be
  /// too large.
  void reserve_for(Block& b, std::size_t more, std::size_t extent) {
    if (auto* cells = std::get_if<Cells>(&b)) {
      if (cells->has_room(more)) return;
      std::size_t end = extent;  // of all features
      cells->for_each([&](Index feature, const Cell&) { end = std::max(end, std::size_t{feature} + 1); });
      if (end * sizeof(Cell) > Cells::slots_for(cells->size() + more) * Cells::kSlotBytes && !spare(end * sizeof(Cell)))
        return cells->reserve(cells->size() + more);
      Row row(end, Cell{}, memory());
      cells->for_each([&](Index feature, const Cell& cell) { row[feature] = cell; });
      b.template emplace<Row>(std::move(row));
      return;
    }
    Row& row = std::get<Row>(b);
    if (extent <= row.size()) return;
    const auto used = row.size() - static_cast<std::size_t>(std::count(row.begin(), row.end(), Cell{}));
    // A row becomes a table when it would be more than twice as large.
    const bool small = extent * sizeof(Cell) <= 2 * Cells::slots_for(used + more) * Cells::kSlotBytes;
    std::size_t grown = std::max(extent, row.size() + row.size() / 2);
    // Of 2^bits hashed features the first example has nearly the last: a little more room is enough.
    if (!small && (grown - row.size()) * sizeof(Cell) > spare_) grown = std::max(extent, row.size() + row.size() / 16);
    if (small || spare((grown - row.size()) * sizeof(Cell))) {
      row.reserve(grown);
      row.resize(limited_ ? grown : row.capacity(), Cell{});
      return;
    }
    Cells cells(memory());
    cells.reserve(used + more);
    for (std::size_t f = 0; f < row.size(); ++f)
      if (!(row[f] == Cell{})) cells.at(static_cast<Index>(f)) = row[f];
    b.template emplace<Cells>(std::move(cells));
  }

  Table<std::uint32_t, std::uint32_t> place_;  // block -> its index in blocks_, in order of first use
  std::pmr::vector<Block> blocks_;
  bool limited_;       // whether memory is
  std::size_t spare_;  // bytes left of kSpare
};

}  // namespace quorate
