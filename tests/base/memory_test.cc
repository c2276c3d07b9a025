#include "quorate/base/memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace quorate::test {
namespace {

TEST(Memory, CountsWhatIsThereNowAndAtMost) {
  Memory memory;
  EXPECT_EQ(memory.bytes(), 0u);
  {
    std::pmr::vector<double> a(100, &memory);
    EXPECT_EQ(memory.bytes(), 800u);
    std::pmr::vector<char> b(50, &memory);
    EXPECT_EQ(memory.bytes(), 850u);
    a.resize(200);
    EXPECT_EQ(memory.bytes(), 1650u);
    EXPECT_EQ(memory.peak(), 2450u) << "old and new lay side by side for a moment";
  }
  EXPECT_EQ(memory.bytes(), 0u);
  EXPECT_EQ(memory.peak(), 2450u);
}

TEST(Memory, IsEqualToItselfOnly) {
  Memory a, b;
  EXPECT_TRUE(a.is_equal(a));
  EXPECT_FALSE(a.is_equal(b));
}

TEST(Memory, HonoursAlignment) {
  Memory memory;
  void* p = memory.allocate(100, 64);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(p) % 64, 0u);
  memory.deallocate(p, 100, 64);
  EXPECT_EQ(memory.bytes(), 0u);
}

TEST(Memory, ExactlyTheLimitFits) {
  Memory memory(1000);
  EXPECT_EQ(memory.limit(), 1000u);
  EXPECT_EQ(memory.left(), 1000u);
  void* most = memory.allocate(900);
  EXPECT_EQ(memory.left(), 100u);
  void* rest = memory.allocate(100);
  EXPECT_EQ(memory.bytes(), 1000u);
  EXPECT_EQ(memory.left(), 0u);
  EXPECT_THROW((void)memory.allocate(1), MemoryError);
  memory.deallocate(most, 900);
  EXPECT_EQ(memory.left(), 900u) << "what is given back may be used again";
  most = memory.allocate(900);
  memory.deallocate(rest, 100);
  memory.deallocate(most, 900);
  EXPECT_EQ(memory.left(), 1000u);
}

TEST(Memory, WhatTheLimitRefusesIsNotCounted) {
  Memory memory(1000);
  std::pmr::vector<double> kept({1, 2, 3}, &memory);
  try {
    kept.resize(123);  // 984 bytes, which would fit if the 24 were freed first
    FAIL() << "984 bytes more than 24 in 1000";
  } catch (const MemoryError& e) {
    EXPECT_THAT(e.what(), AllOf(testing::HasSubstr("limit of 1000 bytes"), testing::HasSubstr("24 are in use"),
                                testing::HasSubstr("984 more are needed"), testing::HasSubstr("--memory")));
  }
  EXPECT_EQ(memory.bytes(), 24u);
  EXPECT_EQ(memory.peak(), 24u) << "it never lay there";
  EXPECT_EQ(memory.left(), 976u);
  EXPECT_THAT(kept, testing::ElementsAre(1, 2, 3));
  EXPECT_THROW((void)memory.allocate(Memory::kNoLimit), MemoryError) << "24 and this overflow to less than the limit";
  kept.resize(122);
  EXPECT_EQ(memory.peak(), 1000u);
}

TEST(Memory, WithoutALimitEverythingIsLeft) {
  Memory memory;
  EXPECT_EQ(memory.limit(), Memory::kNoLimit);
  EXPECT_EQ(bytes_left(&memory), Memory::kNoLimit);
  EXPECT_EQ(bytes_left(std::pmr::new_delete_resource()), Memory::kNoLimit) << "it does not count";
  Memory limited(100);
  const std::pmr::vector<char> some(30, &limited);
  EXPECT_EQ(bytes_left(&limited), 70u);
}

TEST(Memory, ReserveAllocatesWhatItSaysAndUnderALimitByTheSizeAlone) {
  for (const std::size_t limit : {Memory::kNoLimit, std::size_t{1} << 20}) {
    Memory memory(limit);
    std::pmr::vector<double> v(&memory), jumped(&memory);
    for (std::size_t n = 1; n < 3000; n += 1 + n / 50) {
      const std::size_t before = v.capacity(), expected = bytes_to_reserve(v, n);
      reserve(v, n);
      ASSERT_EQ(expected, v.capacity() == before ? 0 : v.capacity() * sizeof(double)) << n;
      v.resize(n);
      if (limit == Memory::kNoLimit) continue;
      ASSERT_EQ(v.capacity(), room_for(n)) << n;
    }
    const std::size_t before = memory.bytes();
    EXPECT_EQ(before, v.capacity() * sizeof(double));
    if (limit == Memory::kNoLimit) continue;
    EXPECT_THROW(reserve(v, 1 << 20), MemoryError);
    EXPECT_EQ(memory.bytes(), before) << "what is refused leaves no trace";
    reserve(jumped, v.size());
    EXPECT_EQ(jumped.capacity(), v.capacity());
  }
}

TEST(Memory, SomethingIsRefusedAsAWhole) {
  Memory memory(100);
  check_bytes_left(&memory, 100);
  EXPECT_THROW(check_bytes_left(&memory, 101), MemoryError);
  check_bytes_left(std::pmr::new_delete_resource(), Memory::kNoLimit);
  EXPECT_EQ(memory.bytes(), 0u);
}

}  // namespace
}  // namespace quorate::test
