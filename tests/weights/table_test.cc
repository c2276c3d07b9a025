#include "quorate/weights/table.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>

#include "quorate/base/memory.h"

namespace quorate::test {
namespace {

RC_GTEST_PROP(Table, IsAMap, ()) {
  Memory memory;
  Table<std::uint64_t, float> table(&memory);
  std::map<std::uint64_t, float> oracle;
  // Keys that collide: few distinct low and high halves.
  const auto keys = *rc::gen::container<std::vector<std::pair<std::uint64_t, std::uint64_t>>>(
      rc::gen::pair(rc::gen::inRange<std::uint64_t>(0, 30), rc::gen::inRange<std::uint64_t>(0, 30)));
  float value = 0;
  for (const auto& [high, low] : keys) {
    const std::uint64_t key = high << 32 | low;
    RC_ASSERT((table.find(key) != nullptr) == oracle.contains(key));
    if (!oracle.contains(key)) RC_ASSERT(table.at(key) == 0.0f);
    table.at(key) = oracle[key] = ++value;
  }
  RC_ASSERT(table.size() == oracle.size());
  std::map<std::uint64_t, float> seen;
  table.for_each([&](std::uint64_t key, float v) { RC_ASSERT(seen.emplace(key, v).second); });
  RC_ASSERT(seen == oracle);
}

TEST(Table, AKnownKeyNeedsNoRoom) {
  Memory memory;
  Table<std::uint32_t, float> table(&memory);
  table.reserve(48);
  for (std::uint32_t i = 0; i < 48; ++i) table.at(i) = 1;
  const std::size_t bytes = memory.bytes();
  EXPECT_FALSE(table.has_room(1));
  for (std::uint32_t i = 0; i < 48; ++i) EXPECT_EQ(table.at(i), 1);
  EXPECT_EQ(memory.bytes(), bytes);
  table.at(48) = 1;
  EXPECT_GT(memory.bytes(), bytes);
}

TEST(Table, GrowsToManyEntriesAndStaysReasonablyFull) {
  Memory memory;
  Table<std::uint32_t, std::uint32_t> table(&memory);
  EXPECT_EQ(table.find(1), nullptr) << "an empty table owns nothing and answers";
  EXPECT_EQ(memory.bytes(), 0u);
  for (std::uint32_t i = 0; i < 200'000; ++i) table.at(i * 64) = i;
  for (std::uint32_t i = 0; i < 200'000; ++i) {
    const std::uint32_t* found = table.find(i * 64);
    ASSERT_NE(found, nullptr);
    ASSERT_EQ(*found, i);
  }
  EXPECT_EQ(table.find(1), nullptr);
  EXPECT_EQ(table.size(), 200'000u);
  EXPECT_LE(memory.bytes(), 200'000u * 8 * 8 / 3) << "at least 3/8 full after growing";
}

}  // namespace
}  // namespace quorate::test
