#include "quorate/base/number.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>

namespace quorate {
namespace {

TEST(ParseNumber, ReadsTheWholeTextOrNothing) {
  EXPECT_EQ(parse_number<std::uint64_t>("18446744073709551615"), 18446744073709551615u);
  EXPECT_EQ(parse_number<double>("-2.5e3"), -2500.0);
  EXPECT_EQ(parse_number<int>("-7"), -7);
  for (const char* text : {"", " ", "1 ", " 1", "+1", "1x", "x", "1,000", "0x10"}) {
    EXPECT_FALSE(parse_number<double>(text)) << text;
    EXPECT_FALSE(parse_number<std::uint64_t>(text)) << text;
  }
  EXPECT_FALSE(parse_number<double>({}));
}

TEST(ParseNumber, RefusesWhatDoesNotFit) {
  EXPECT_FALSE(parse_number<std::uint64_t>("18446744073709551616"));
  EXPECT_FALSE(parse_number<std::uint64_t>("-1"));
  EXPECT_FALSE(parse_number<std::uint64_t>("1.5"));
  EXPECT_FALSE(parse_number<double>("1e999"));
  EXPECT_TRUE(std::isinf(*parse_number<double>("inf"))) << "whether that will do is for the caller to say";
}

}  // namespace
}  // namespace quorate
