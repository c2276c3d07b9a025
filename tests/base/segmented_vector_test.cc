#include "quorate/base/segmented_vector.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <vector>

#include "quorate/base/memory.h"

namespace quorate::test {
namespace {

RC_GTEST_PROP(SegmentedVector, HoldsWhatAVectorHolds, ()) {
  SegmentedVector<std::uint64_t> steady(std::pmr::get_default_resource());
  std::vector<std::uint64_t> plain;
  const auto steps = *rc::gen::container<std::vector<std::uint32_t>>(rc::gen::inRange(0u, 9'000u));
  for (const std::uint32_t more : steps) {
    const std::size_t before = plain.size();
    plain.resize(before + more);
    steady.resize(plain.size());
    RC_ASSERT(steady.size() == plain.size());
    for (std::size_t i = before; i < plain.size(); ++i) {
      RC_ASSERT(steady[i] == 0u);
      steady[i] = plain[i] = 3 * i + more;
    }
  }
  const SegmentedVector<std::uint64_t> copy = steady;
  for (std::size_t i = 0; i < plain.size(); ++i) RC_ASSERT(copy[i] == plain[i]);
}

TEST(SegmentedVector, NeverAllocatesMoreThanItSays) {
  using Steady = SegmentedVector<std::uint64_t>;
  for (const std::size_t step : {std::size_t{1}, std::size_t{7}, std::size_t{5'000}, 3 * Steady::kBlock + 1}) {
    std::size_t size = 0;
    Memory memory;
    Steady steady(&memory);
    for (int n = 0; n < 2'000 && size < 400'000; ++n) {
      const std::size_t before = memory.bytes(), said = steady.bytes_to_grow(size += step);
      steady.resize(size);
      ASSERT_LE(memory.bytes(), before + said) << size;
      ASSERT_TRUE(said > 0 || memory.bytes() == before) << size;
    }
  }
}

TEST(SegmentedVector, GrowsWithinTheBytesThatItSaid) {
  using Steady = SegmentedVector<std::uint64_t>;
  for (std::size_t size = 1; size < 6 * Steady::kBlock; size += 1'111) {
    for (const std::size_t before : {std::size_t{0}, size / 3, size - 1}) {
      Memory none;
      Steady trial(&none);
      trial.resize(before);
      Memory memory(none.peak() + trial.bytes_to_grow(size));
      Steady steady(&memory);
      steady.resize(before);
      ASSERT_NO_THROW(steady.resize(size)) << before << " to " << size;
    }
  }
}

TEST(SegmentedVector, TakesTheSameBytesHoweverItGrew) {
  for (const std::size_t size : {1u, 100u, 8'191u, 8'193u, 100'000u, 777'777u}) {
    Memory memory, other;
    SegmentedVector<std::uint64_t> at_once(&memory), step_by_step(&other);
    at_once.resize(size);
    for (std::size_t n = 1; n <= size; ++n) step_by_step.resize(n);
    EXPECT_EQ(memory.bytes(), other.bytes()) << size;
  }
}

TEST(SegmentedVector, PastItsFirstBlockNothingMovesAndNoSecondCopyIsMade) {
  using Steady = SegmentedVector<std::uint64_t>;
  Memory memory;
  Steady steady(&memory);
  steady.resize(Steady::kBlock);
  const std::uint64_t* first = &steady[0];
  std::size_t peak = 0;
  for (std::size_t size = Steady::kBlock + 1; size < 1'000'000; size += 1'000) {
    steady.resize(size);
    ASSERT_EQ(&steady[0], first);
    peak = std::max(peak, memory.peak());
    ASSERT_LE(peak, size * sizeof(std::uint64_t) + 65'536 + 20'000)
        << "a block and the table of blocks more than what it holds";
  }
}

TEST(SegmentedVector, WhenMemoryIsRefusedWhatWasThereStays) {
  Memory memory(100'000);
  SegmentedVector<std::uint64_t> steady(&memory);
  steady.resize(5'000);
  steady[4'999] = 7;
  EXPECT_THROW(steady.resize(1'000'000), MemoryError);
  EXPECT_EQ(steady.size(), 5'000u);
  EXPECT_EQ(steady[4'999], 7u);
  EXPECT_THROW(steady.resize(20'000), MemoryError);
  EXPECT_EQ(steady.size(), 5'000u);
}

}  // namespace
}  // namespace quorate::test
