// What Linear, which lies in Blocks too, does not already test (linear_test.cc).
#include "quorate/weights/sparse_blocks.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>

#include "quorate/base/memory.h"
#include "support/make.h"

namespace quorate::test {
namespace {

struct Cell {
  float a = 0, b = 0;
  bool operator==(const Cell&) const = default;
};

RC_GTEST_PROP(SparseBlocks, AreAMapFromBlockAndFeatureToACell, ()) {
  Rng rng = make_rng(*rc::gen::arbitrary<std::uint64_t>(), 0);
  const Index far = below(2, rng) == 0 ? 1 : 1'000'003;  // rows, or tables
  Memory memory;
  SparseBlocks<Cell> blocks(&memory);
  std::map<std::pair<std::uint32_t, Index>, Cell> oracle;
  for (int n = 0; n < 80; ++n) {
    const auto block = static_cast<std::uint32_t>(below(4, rng)) * 1'000'000;
    Vector x;
    for (Index f = 0; f < 20; ++f)
      if (uniform(rng) < 0.3) {
        x.index.push_back(f * far);
        x.value.push_back(0);
      }
    if (x.index.empty()) continue;
    const auto value = static_cast<float>(below(3, rng));  // 0 makes a cell as if it had never changed
    blocks.change(block, x, [&](std::size_t k, Cell& cell) {
      cell = {value, value == 0 ? 0 : cell.b + 1};
      oracle[{block, x.index[k]}] = cell;
    });
    const Vector all = sparse({0, far, 7 * far, 19 * far, 4'000'000'000u}, {0, 0, 0, 0, 0});
    blocks.read(block, all, [&](auto cell) {
      for (const Index f : all.index) {
        const auto found = oracle.find({block, f});
        RC_ASSERT(cell(f) == (found == oracle.end() ? Cell{} : found->second));
      }
    });
  }
  std::erase_if(oracle, [](const auto& entry) { return entry.second == Cell{}; });
  const auto order = blocks.order();
  const auto block = blocks.block_column(order);
  const auto feature = blocks.column<Index>(order, [](Index f, const Cell&) { return f; });
  const auto cell = blocks.column<Cell>(order, [](Index, const Cell& c) { return c; });
  RC_ASSERT(block.size() == oracle.size() && feature.size() == oracle.size() && cell.size() == oracle.size());
  SparseBlocks<Cell> back(&memory);
  std::size_t i = 0, begin = 0;
  for (auto next = oracle.begin(); next != oracle.end();) {  // ascending, as a map is
    RC_ASSERT((next->first == std::pair{block[i], feature[i]}));
    RC_ASSERT(next->second == cell[i]);
    ++i;
    if (++next != oracle.end() && next->first.first == block[begin]) continue;
    back.restore(
        block[begin], i - begin, [&](std::size_t k) { return feature[begin + k]; },
        [&](std::size_t k) { return cell[begin + k]; });
    begin = i;
  }
  const auto same = back.order();
  RC_ASSERT(back.block_column(same).list() == block.list());
  RC_ASSERT((back.column<Cell>(same, [](Index, const Cell& c) { return c; }).list() == cell.list()));
}

/// Under a memory limit, with the limit reached now and then: saved and loaded they take the same bytes, and go on alike.
RC_GTEST_PROP(SparseBlocks, TakeTheSameBytesWhetherTheyWereSavedOrNot, ()) {
  Rng rng = make_rng(*rc::gen::arbitrary<std::uint64_t>(), 0);
  const std::size_t limit = 2'000 + below(30'000, rng);
  struct Kept {
    explicit Kept(std::size_t limit) : memory(limit), blocks(&memory) {}
    Memory memory;
    SparseBlocks<Cell> blocks;
  };
  const auto never = std::make_unique<Kept>(limit);
  auto often = std::make_unique<Kept>(limit);
  for (int n = 0; n < 120; ++n) {
    const auto block = static_cast<std::uint32_t>(below(40, rng));
    const Index far = block % 2 == 0 ? 1 : 1'003;
    Vector x;
    for (Index f = 0; f < 60; ++f)
      if (uniform(rng) < 0.1) {
        x.index.push_back(f * far);
        x.value.push_back(0);
      }
    const auto value = static_cast<float>(below(3, rng));  // 0: the cell is as if it had never changed, but has its room
    const bool change = below(4, rng) > 0;
    const auto full = [&](Kept& kept) {
      try {
        if (change)
          kept.blocks.change(block, x, [&](std::size_t, Cell& cell) { cell = {value, 0}; });
        else
          kept.blocks.reserve(block, x);
      } catch (const MemoryError&) {
        return true;
      }
      return false;
    };
    RC_ASSERT(full(*never) == full(*often));
    RC_ASSERT(never->memory.bytes() == often->memory.bytes());
    if (n % 7 != 0) continue;
    auto back = std::make_unique<Kept>(limit);
    const SparseBlocks<Cell>& from = often->blocks;
    const auto order = from.order();
    const auto of_block = from.block_column(order);
    const auto feature = from.column<Index>(order, [](Index f, const Cell&) { return f; });
    const auto cell = from.column<Cell>(order, [](Index, const Cell& c) { return c; });
    back->blocks.reserve_blocks(0, from.rooms(order));
    for (std::size_t begin = 0, end = 0; begin < cell.size(); begin = end) {
      while (end < cell.size() && of_block[end] == of_block[begin]) ++end;
      back->blocks.restore(
          of_block[begin], end - begin, [&](std::size_t k) { return feature[begin + k]; },
          [&](std::size_t k) { return cell[begin + k]; });
    }
    RC_ASSERT(back->memory.bytes() == never->memory.bytes());
    RC_ASSERT(back->memory.peak() <= limit);
    often = std::move(back);
  }
}

TEST(SparseBlocks, RefuseRoomsThatCannotBe) {
  const auto reserve = [](std::vector<std::uint32_t> block, std::vector<std::uint64_t> room) {
    Memory memory(100'000);
    SparseBlocks<Cell> blocks(&memory);
    blocks.reserve_blocks(1, {std::move(block), std::move(room)});
    return memory.bytes();
  };
  EXPECT_GT(reserve({1, 4}, {2 * 8, 2 * 5 + 1}), 8 * sizeof(Cell)) << "8 slots; a row of 5";
  EXPECT_GT(reserve({1}, {0}), 0u) << "an example without features";
  EXPECT_THROW(reserve({1}, {2 * 9}), DataError) << "no power of two";
  EXPECT_THROW(reserve({1}, {2 * 2}), DataError) << "too few slots";
  EXPECT_THROW(reserve({1, 1}, {16, 16}), DataError) << "twice";
  EXPECT_THROW(reserve({0xFFFFFFFFu}, {16}), DataError);
  EXPECT_THROW(reserve({1}, {16, 16}), DataError) << "sizes differ";
  EXPECT_THROW(reserve({1}, {~std::uint64_t{0}}), DataError) << "a row of too many";
  EXPECT_THROW(reserve({1}, {std::uint64_t{1} << 33}), MemoryError);
  EXPECT_THROW(reserve({1}, {std::uint64_t{1} << 62}), DataError) << "more slots than there are features";
}

TEST(SparseBlocks, ABlockThatNeverChangedIsNotReadAndCostsNothing) {
  Memory memory;
  SparseBlocks<Cell> blocks(&memory);
  const auto never = [](auto) { ADD_FAILURE() << "there is nothing to read"; };
  blocks.read(5, sparse({1}, {1}), never);
  EXPECT_EQ(memory.bytes(), 0u);
  blocks.change(4, sparse({1}, {1}), [](std::size_t, Cell& cell) { cell.a = 1; });
  const std::size_t bytes = memory.bytes();
  for (std::uint32_t block = 5; block < 1000; ++block) blocks.read(block, sparse({1}, {1}), never);
  EXPECT_EQ(memory.bytes(), bytes);
}

TEST(SparseBlocks, CellsComeInTheOrderOfTheInstance) {
  Memory memory;
  SparseBlocks<Cell> blocks(&memory);
  for (const Vector& x : {dense({9, 9, 9}), sparse({3, 70, 4'000'000'000u}, {1, 1, 1})}) {
    std::size_t next = 0;
    blocks.change(0, x, [&](std::size_t k, Cell& cell) {
      EXPECT_EQ(k, next++);
      cell.a = static_cast<float>(x.view().at(k)) + 1;
    });
    EXPECT_EQ(next, 3u);
  }
  std::size_t cells = 0;
  const auto order = blocks.order();
  const auto feature = blocks.column<Index>(order, [](Index f, const Cell&) { return f; });
  const auto cell = blocks.column<Cell>(order, [](Index, const Cell& c) { return c; });
  for (; cells < cell.size(); ++cells) EXPECT_EQ(cell[cells].a, static_cast<float>(feature[cells]) + 1);
  EXPECT_EQ(cells, 6u);
}

}  // namespace
}  // namespace quorate::test
