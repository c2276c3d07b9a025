#include "quorate/base/nearest.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>

namespace quorate::test {
namespace {

TEST(Nearest, CountsInsertedRemovedReplacedAndSwappedBytes) {
  EXPECT_EQ(edit_distance("", ""), 0u);
  EXPECT_EQ(edit_distance("train", "train"), 0u);
  EXPECT_EQ(edit_distance("trian", "train"), 1u);
  EXPECT_EQ(edit_distance("trin", "train"), 1u);
  EXPECT_EQ(edit_distance("traain", "train"), 1u);
  EXPECT_EQ(edit_distance("brain", "train"), 1u);
  EXPECT_EQ(edit_distance("", "train"), 5u);
  EXPECT_EQ(edit_distance("ca", "abc"), 3u);  // no byte is changed twice
  EXPECT_EQ(edit_distance("SPAM", "spam"), 0u);
}

RC_GTEST_PROP(Nearest, IsSymmetricAndNoMoreThanTheLongerText, (const std::string& a, const std::string& b)) {
  RC_ASSERT(edit_distance(a, b) == edit_distance(b, a));
  RC_ASSERT(edit_distance(a, b) <= std::max(a.size(), b.size()));
}

TEST(Nearest, NamesTheNearestOrNone) {
  constexpr std::array<std::string_view, 5> names{"--data", "--model", "--label-column", "--labels", "b"};
  EXPECT_EQ(nearest("--dta", names), "--data");
  EXPECT_EQ(nearest("--label", names), "--labels");
  EXPECT_EQ(nearest("--label-col", names), "--label-column");  // begins with it, though --labels is nearer
  EXPECT_EQ(nearest("--nonsense", names), "");
  EXPECT_EQ(nearest("c", names), "");  // another letter is no mistyped one
  EXPECT_EQ(nearest("B", names), "b");
  EXPECT_EQ(nearest("", names), "");
  EXPECT_EQ(nearest("x", {}), "");
  constexpr std::array<std::string_view, 3> commands{"serve", "train", "help"};
  EXPECT_EQ(nearest("merge", commands), "");  // two of five letters are another word
  EXPECT_EQ(nearest("trian", commands), "train");
  EXPECT_EQ(nearest("sreve", commands), "serve");
  EXPECT_EQ(nearest("hepl", commands), "help");
}

TEST(Nearest, AsksInAMessage) {
  constexpr std::array<std::string_view, 1> names{"user"};
  EXPECT_EQ(did_you_mean("usr", names), " (did you mean user?)");
  EXPECT_EQ(did_you_mean("nonsense", names), "");
}

}  // namespace
}  // namespace quorate::test
