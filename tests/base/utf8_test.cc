#include "quorate/base/utf8.h"

#include <gtest/gtest.h>

namespace quorate::test {
namespace {

TEST(Utf8, FindsTheFirstByteThatIsNone) {
  EXPECT_EQ(find_not_utf8(""), std::string_view::npos);
  EXPECT_EQ(find_not_utf8("plain \xC3\xA4 \xE2\x82\xAC \xF0\x9F\x98\x80"), std::string_view::npos);
  EXPECT_EQ(find_not_utf8("ab\xFF"), 2u);
  EXPECT_EQ(find_not_utf8("\xC3\xA4\xC3"), 2u) << "cut in the middle";
  EXPECT_EQ(find_not_utf8("a\xC0\xAF"), 1u) << "longer than needed";
  EXPECT_EQ(find_not_utf8("\xED\xA0\x80"), 0u) << "half of a surrogate pair";
}

TEST(Utf8, SaysWhichByte) { EXPECT_EQ(not_utf8('\xFF'), "byte 0xff; expected UTF-8 text"); }

}  // namespace
}  // namespace quorate::test
