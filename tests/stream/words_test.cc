#include "quorate/stream/words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace quorate::test {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> out;
  std::string name = "t^";
  for_each_word(text, name, [&](std::string_view word) { out.emplace_back(word); });
  EXPECT_EQ(name, "t^");
  return out;
}

TEST(Words, AreLettersAndDigitsInARowSymbolsAndPairs) {
  EXPECT_THAT(words_of("Error 503, a \u20AC 5"), ElementsAre("t^error", "t^503", "t^\u20AC"));
  EXPECT_THAT(words_of("abc\u6211\u559C\u6B22 \u597D"),
              ElementsAre("t^abc", "t^\u6211\u559C", "t^\u559C\u6B22", "t^\u597D"));
  EXPECT_THAT(words_of("\xFF"
                       "ab\xC3"),
              ElementsAre("t^ab"));  // bytes that are no UTF-8
  EXPECT_THAT(words_of(""), ElementsAre());
}

TEST(Words, AreCountedByTheSpacesBetweenThem) {
  EXPECT_EQ(count_words(""), 0u);
  EXPECT_EQ(count_words(" two  words\n"), 2u);
  EXPECT_EQ(count_words("\u00C9t\u00E9 \u00E0 Paris"), 3u);
  EXPECT_EQ(count_words("\u6211\u559C\u6B22\u597D"), 3u) << "pairs";
}

TEST(Words, LettersAndDigitsThatStandAloneAreLost) {
  EXPECT_EQ(count_lost("a b1 2 cc"), 2u);
  EXPECT_EQ(count_lost("x"), 1u);
  EXPECT_EQ(count_lost("\u6211 \u20AC"), 0u);
}

}  // namespace
}  // namespace quorate::test
