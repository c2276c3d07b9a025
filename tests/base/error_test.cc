#include "quorate/base/error.h"

#include <gtest/gtest.h>

namespace quorate::test {
namespace {

TEST(Error, WhatIsOneLineWhateverIsInIt) {
  const DataError error(std::string("a\nb\tc\0d\x7f", 8));
  EXPECT_STREQ(error.what(), "a\\nb\\tc\\x00d\\x7f");
}

TEST(Shown, CutsLongValuesBetweenCharacters) {
  EXPECT_EQ(quoted_value("short"), "'short'");
  EXPECT_EQ(quoted_value(std::string(60, 'x')), "'" + std::string(60, 'x') + "'");
  EXPECT_EQ(quoted_value(std::string(61, 'x')), "'" + std::string(60, 'x') + "...'");
  EXPECT_EQ(quoted_value(std::string(59, 'x') + "\xC3\xA4" + "y"),
            "'" + std::string(59, 'x') + "...'");  // 60 would cut the a umlaut
}

}  // namespace
}  // namespace quorate::test
