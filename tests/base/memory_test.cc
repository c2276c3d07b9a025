#include "quorate/base/memory.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace quorate::test
