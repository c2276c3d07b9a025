#include "quorate/base/name_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <string>

#include "quorate/base/memory.h"

namespace quorate::test {
namespace {

using testing::HasSubstr;

RC_GTEST_PROP(NameTable, GivesPlacesInOrderOfFirstAppearance, (std::vector<std::string> words)) {
  NameTable names;
  std::map<std::string, std::uint32_t> expected;
  for (const std::string& word : words) {
    for (int step = 0; step < 3; ++step) names.prefetch(word, step);
    RC_ASSERT(names.find(word).has_value() == expected.contains(word));
    const auto [at, fresh] = expected.try_emplace(word, static_cast<std::uint32_t>(expected.size()));
    RC_ASSERT(names.intern(word) == at->second);
  }
  RC_ASSERT(names.size() == expected.size());
  for (const auto& [word, place] : expected) {
    RC_ASSERT(names[place] == word);
    RC_ASSERT(names.find(word) == place);
  }
  NameTable back;
  back.unpack(names.pack());
  RC_ASSERT(back.size() == names.size());
  for (const auto& [word, place] : expected) RC_ASSERT(back.find(word) == place);
}

TEST(NameTable, MayBeManyEmptyOrHoldAnyByte) {
  Memory memory;
  NameTable names(&memory);
  for (std::uint32_t i = 0; i < 100'000; ++i) ASSERT_EQ(names.intern("name " + std::to_string(i)), i);
  for (std::uint32_t i = 0; i < 100'000; i += 7) ASSERT_EQ(names.find("name " + std::to_string(i)), i);
  EXPECT_FALSE(names.find("name 100000").has_value());
  EXPECT_EQ(names.intern(""), 100'000u);
  EXPECT_EQ(names.intern(std::string_view("\0", 1)), 100'001u);
  EXPECT_EQ(names.intern(""), 100'000u);
  EXPECT_EQ(names[100'001], std::string_view("\0", 1));
  EXPECT_LT(memory.bytes(), 6u << 20) << "a name of 11 bytes costs a few times that";
}

TEST(NameTable, AMillionTakeLittleMoreThanTheirTextAndNoSecondCopy) {
  Memory memory;
  NameTable names(&memory);
  std::size_t text = 0;
  for (std::uint32_t i = 0; i < 1'000'000; ++i) {
    const std::string name = "u" + std::to_string(i);
    text += name.size();
    ASSERT_EQ(names.intern(name), i);
    ASSERT_LE(memory.peak(), text + 24 * names.size() + 350'000) << i;
  }
  EXPECT_LE(memory.peak(), text + 24 * names.size() + 350'000);
  for (std::uint32_t i = 0; i < 1'000'000; i += 997) ASSERT_EQ(names.find("u" + std::to_string(i)), i);
}

TEST(NameTable, OfAnyLengthAreKeptWhole) {
  NameTable names;
  std::vector<std::string> all;
  for (const std::size_t length : {1u, 60'000u, 70'000u, 5'000u, 65'536u, 200'000u, 3u, 65'535u, 65'537u, 2u})
    all.emplace_back(length, static_cast<char>('a' + all.size()));
  for (std::uint32_t i = 0; i < all.size(); ++i) ASSERT_EQ(names.intern(all[i]), i);
  NameTable copy = names;
  for (std::uint32_t i = 0; i < all.size(); ++i) ASSERT_EQ(names[i], all[i]);
  EXPECT_EQ(copy.intern("one more"), all.size());
  for (std::uint32_t i = 0; i < all.size(); ++i) ASSERT_EQ(copy[i], all[i]) << "a copy is one of its own";
  EXPECT_FALSE(names.find("one more"));
}

/// bytes_to_add() is what it takes; with a byte less at some point the set refuses and is as it was.
TEST(NameTable, SayWhatOneMoreTakesAndLoseNothingWhenItIsRefused) {
  Memory memory(3'000'000);
  NameTable names(&memory);
  std::uint32_t n = 0;
  const auto name = [](std::uint32_t i) { return std::string(i % 50 == 49 ? 3'000 : 1, 'x') + std::to_string(i); };
  try {
    for (;; ++n) {
      const std::size_t before = memory.bytes(), said = names.bytes_to_add(name(n));
      const bool fits = said <= memory.left();
      ASSERT_EQ(names.intern(name(n)), n);
      ASSERT_LE(memory.bytes(), before + said);
      ASSERT_TRUE(fits || memory.bytes() < before + said);
    }
  } catch (const MemoryError&) {
    EXPECT_GT(names.bytes_to_add(name(n)), memory.left()) << "said to fit";
  }
  EXPECT_GT(n, 10'000u);
  EXPECT_EQ(names.size(), n);
  EXPECT_FALSE(names.find(name(n)));
  for (std::uint32_t i = 0; i < n; ++i) ASSERT_EQ(names.find(name(i)), i);
}

TEST(NameTable, ARenamedOneIsAsIfTheNameHadComeThere) {
  for (const std::size_t size : {1u, 3u, 40u, 5000u}) {
    Memory memory, other;
    NameTable names(&memory), expected(&other);
    for (std::size_t i = 0; i < size; ++i) names.intern("name " + std::to_string(i));
    const auto place = static_cast<std::uint32_t>(size / 2);
    const std::string name = "(a name that is longer than the others)";
    for (std::size_t i = 0; i < size; ++i) expected.intern(i == place ? name : "name " + std::to_string(i));
    names.rename(place, name);
    EXPECT_EQ(memory.bytes(), other.bytes()) << size;
    EXPECT_FALSE(names.find("name " + std::to_string(place)));
    for (std::uint32_t i = 0; i < size; ++i) ASSERT_EQ(names.find(expected[i]), i);
    EXPECT_EQ(names.intern("one more"), size);
  }
}

TEST(NameTable, IsRenamedInFullMemoryOrStaysAsItIs) {
  for (const std::size_t size : {3u, 5000u, 20'000u}) {
    Memory large(100'000'000);
    NameTable same(&large);
    for (std::size_t i = 0; i < size; ++i) same.intern("name " + std::to_string(i));
    Memory memory(large.peak());
    NameTable names(&memory);
    for (std::size_t i = 0; i < size; ++i) names.intern("name " + std::to_string(i));
    memory.take(memory.left());
    names.rename(1, "gone");  // no longer than it was
    EXPECT_EQ(names[1], "gone");
    EXPECT_THROW(names.rename(0, std::string(100'000, 'x')), MemoryError);
    for (std::uint32_t i = 0; i < size; ++i) ASSERT_EQ(names.find(i == 1 ? "gone" : "name " + std::to_string(i)), i);
  }
}

TEST(NameTable, UnpackRefusesWhatIsNoListOfNames) {
  const auto unpack = [](const std::string& text, std::vector<std::uint64_t> end) {
    NameTable names;
    names.unpack({std::vector<char>(text.begin(), text.end()), end});
    return names.size();
  };
  EXPECT_EQ(unpack("abcd", {1, 3, 3, 4}), 4u);
  EXPECT_EQ(unpack("", {}), 0u);
  EXPECT_THROW(unpack("abcd", {3, 1, 4}), DataError) << "out of order";
  EXPECT_THROW(unpack("abcd", {1, 5}), DataError) << "beyond the text";
  EXPECT_THROW(unpack("abcd", {1, 3}), DataError) << "text left over";
  EXPECT_THROW(unpack("abcd", {}), DataError);
  EXPECT_THROW(unpack("aba", {1, 2, 3}), DataError) << "twice";
  EXPECT_THROW(unpack("", {0, 0}), DataError) << "the empty name twice";
  try {
    unpack("xayax", {1, 3, 5});
  } catch (const DataError& e) {
    FAIL() << e.what();
  }
  try {
    unpack("ayay", {2, 4});
    FAIL() << "accepted";
  } catch (const DataError& e) {
    EXPECT_THAT(e.what(), HasSubstr("'ay'"));
  }
}

}  // namespace
}  // namespace quorate::test
