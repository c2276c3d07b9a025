#include "quorate/weights/hashed_cells.h"

#include <gtest/gtest.h>

#include <set>

#include "quorate/base/memory.h"
#include "support/make.h"

namespace quorate::test {
namespace {

TEST(HashedCells, ABlockAndAFeatureHaveOnePlaceHoweverOneComesToIt) {
  Memory memory;
  HashedCells<int> table(1000, &memory);
  const Vector x = sparse({0, 5, kMaxIndex + 1}, {1, 2, 3});
  for (const std::uint32_t block : {0u, 1u, 0xFFFFFFFEu}) {
    table.prefetch(block, x);
    std::size_t expected = 0;
    table.change(block, x, [&](std::size_t k, int& cell) {
      EXPECT_EQ(k, expected++);
      cell = static_cast<int>(10 * k) + 1;
      EXPECT_EQ(&cell, &table.at(block, x.index[k]));
    });
    EXPECT_EQ(expected, 3u);
    for (std::size_t k = 0; k < x.index.size(); ++k)
      EXPECT_EQ(std::as_const(table).at(block, x.index[k]), static_cast<int>(10 * k) + 1);
  }
}

TEST(HashedCells, EveryPlaceIsWithinATableOfAnySize) {
  Rng rng = make_rng(1, 0);
  for (const std::size_t slots : {1u, 2u, 3u, 64u, 1000u, 65537u}) {
    Memory memory;
    HashedCells<char> table(slots, &memory);
    ASSERT_EQ(table.cells().size(), slots);
    const char* first = table.cells().data();
    for (int n = 0; n < 20'000; ++n) {
      const auto block = static_cast<std::uint32_t>(rng()), feature = static_cast<std::uint32_t>(rng());
      const auto place = &table.at(block, feature) - first;
      ASSERT_GE(place, 0);
      ASSERT_LT(place, static_cast<std::ptrdiff_t>(slots));
    }
  }
}

TEST(HashedCells, NeighboursSpreadAsIfDrawn) {
  // n places drawn among n slots use 1 - 1/e = 63.2 % of them, whatever the blocks and features are.
  constexpr std::size_t kSlots = 1 << 14;
  Memory memory;
  HashedCells<char> table(kSlots, &memory);
  for (const std::uint32_t features : {1u, 16u, 128u, 1u << 14}) {
    std::set<const char*> used;
    for (std::uint32_t n = 0; n < kSlots; ++n) used.insert(&table.at(n / features, n % features));
    // One feature of many blocks, as the constant one: a little less like chance.
    EXPECT_NEAR(static_cast<double>(used.size()) / kSlots, 0.632, features == 1 ? 0.06 : 0.02) << features;
  }
}

TEST(HashedCells, ItsMemoryIsThatOfItsSlotsForEver) {
  Memory memory;
  HashedCells<double> table(777, &memory);
  EXPECT_EQ(memory.bytes(), 777 * sizeof(double));
  for (std::uint32_t n = 0; n < 10'000; ++n) table.at(n, n) += 1;
  EXPECT_EQ(memory.bytes(), 777 * sizeof(double));
  EXPECT_EQ(memory.peak(), 777 * sizeof(double));
}

}  // namespace
}  // namespace quorate::test
