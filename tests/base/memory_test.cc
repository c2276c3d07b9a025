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

TEST(Memory, GrowthIsWhatAVectorAllocatesForTheNextElement) {
  Memory memory;
  std::pmr::vector<double> v(&memory);
  for (int n = 0; n < 300; ++n) {
    if (n == 100) v.reserve(137);
    const std::size_t before = v.capacity(), expected = growth(v, 1);
    v.push_back(n);
    ASSERT_EQ(expected, v.capacity() == before ? 0 : v.capacity() * sizeof(double)) << n;
  }
  for (const std::size_t more : {1u, 5u, 1000u, 1001u, 1500u}) {  // at most doubled, at least what is asked for
    std::pmr::vector<double> w(1000, &memory);
    w.reserve(1005);
    const std::size_t expected = growth(w, more);
    w.resize(1000 + more);
    if (more <= 5)
      EXPECT_EQ(expected, 0u) << more;
    else
      EXPECT_GE(expected, w.capacity() * sizeof(double)) << more;
    EXPECT_LE(expected, std::max<std::size_t>(2 * 1005, 1000 + more) * sizeof(double)) << more;
  }
}

}  // namespace
}  // namespace quorate::test
