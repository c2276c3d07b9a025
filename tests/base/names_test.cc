#include "quorate/base/names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <string>

#include "quorate/base/memory.h"

namespace quorate::test {
namespace {

using testing::HasSubstr;

RC_GTEST_PROP(Names, GivesPlacesInOrderOfFirstAppearance, (std::vector<std::string> words)) {
  Names names;
  std::map<std::string, std::uint32_t> expected;
  for (const std::string& word : words) {
    RC_ASSERT(names.find(word).has_value() == expected.contains(word));
    const auto [at, fresh] = expected.try_emplace(word, static_cast<std::uint32_t>(expected.size()));
    RC_ASSERT(names.intern(word) == at->second);
  }
  RC_ASSERT(names.size() == expected.size());
  for (const auto& [word, place] : expected) {
    RC_ASSERT(names[place] == word);
    RC_ASSERT(names.find(word) == place);
  }
  Names back;
  back.unpack(names.pack());
  RC_ASSERT(back.size() == names.size());
  for (const auto& [word, place] : expected) RC_ASSERT(back.find(word) == place);
}

TEST(Names, MayBeManyEmptyOrHoldAnyByte) {
  Memory memory;
  Names names(&memory);
  for (std::uint32_t i = 0; i < 100'000; ++i) ASSERT_EQ(names.intern("name " + std::to_string(i)), i);
  for (std::uint32_t i = 0; i < 100'000; i += 7) ASSERT_EQ(names.find("name " + std::to_string(i)), i);
  EXPECT_FALSE(names.find("name 100000").has_value());
  EXPECT_EQ(names.intern(""), 100'000u);
  EXPECT_EQ(names.intern(std::string_view("\0", 1)), 100'001u);
  EXPECT_EQ(names.intern(""), 100'000u);
  EXPECT_EQ(names[100'001], std::string_view("\0", 1));
  EXPECT_LT(memory.bytes(), 6u << 20) << "a name of 11 bytes costs a few times that";
}

TEST(Names, UnpackRefusesWhatIsNoListOfNames) {
  const auto unpack = [](const std::string& text, std::vector<std::uint64_t> end) {
    Names names;
    names.unpack({{text.begin(), text.end()}, {end.begin(), end.end()}});
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
