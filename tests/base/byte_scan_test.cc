#include "quorate/base/byte_scan.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <bit>
#include <charconv>
#include <string>
#include <vector>

#include "quorate/base/rng.h"

namespace quorate::test {
namespace {

TEST(Separators, AreFoundInTextsOfEveryLength) {
  Rng rng = make_rng(1, 0);
  for (std::size_t size = 0; size < 300; ++size) {
    std::string text(size, 'x');
    for (char& c : text)
      if (const auto draw = below(6, rng); draw < 3) c = " :\0"[draw];
    std::vector<std::size_t> expected, found;
    for (std::size_t i = 0; i < size; ++i)
      if (text[i] == ' ' || text[i] == ':') expected.push_back(i);
    expected.push_back(size);
    Separators<' ', ':'> separators(text);
    do found.push_back(separators.next());
    while (found.back() < size);
    EXPECT_EQ(found, expected) << size;
  }
}

TEST(WordEdges, AreWhereRunsBeginAndEnd) {
  Rng rng = make_rng(2, 0);
  for (std::size_t size = 0; size < 300; ++size)
    for (const std::uint64_t kinds : {3u, 40u}) {  // short runs, and some longer than 64 bytes
      std::string text(size, 'x');
      for (char& c : text) {
        const auto draw = below(kinds, rng);
        c = draw == 0 ? "@[`{ \0'\x7F/:"[below(10, rng)] : "aAzZ09\x80\xC3\xFF"[below(9, rng)];
      }
      const auto in = [&](std::size_t i) {
        return i < size && (std::isalnum(static_cast<unsigned char>(text[i])) != 0 || (text[i] & 0x80) != 0);
      };
      std::vector<std::size_t> expected, found;
      for (std::size_t i = 0; i < size; ++i)
        if (in(i) != (i > 0 && in(i - 1))) expected.push_back(i);
      expected.push_back(size);
      WordEdges edges(text);
      do found.push_back(edges.next());
      while (found.back() < size);
      EXPECT_EQ(found, expected) << size;
    }
}

/// What short_decimal says must be what std::from_chars says, wherever the text lies in a line.
void check(const std::string& text) {
  double expected = 0;
  const auto r = std::from_chars(text.data(), text.data() + text.size(), expected);
  const bool number = r.ec == std::errc{} && r.ptr == text.data() + text.size();
  for (const std::string& after : {std::string(), std::string(" 7"), std::string(" 123456789")}) {
    const std::string line = text + after;
    double out = 0;
    if (!short_decimal(std::string_view(line).substr(0, text.size()), line.data() + line.size(), &out)) continue;
    ASSERT_TRUE(number) << text;
    ASSERT_EQ(std::bit_cast<std::uint64_t>(out), std::bit_cast<std::uint64_t>(expected)) << text;
  }
}

TEST(ShortDecimal, IsWhatFromCharsSays) {
  for (const char* text : {"",
                           "0",
                           "7",
                           "-7",
                           "-0",
                           "00",
                           "1.5",
                           "-1.5",
                           "0.1",
                           "0.000001",
                           "99999999",
                           "9999.999",
                           "3.4874",
                           ".5",
                           "5.",
                           ".",
                           "-",
                           "--1",
                           "+1",
                           "1-",
                           "1.2.3",
                           "1e5",
                           "nan",
                           "inf",
                           "0x1",
                           "a",
                           ":",
                           "/",
                           "1:2",
                           "\xB1",
                           "1\xAE"
                           "5",
                           "123456789",
                           "-12345678",
                           "-123456.7",
                           "1 2"})
    check(text);
  Rng rng = make_rng(2, 0);
  for (int n = 0; n < 200'000; ++n) {
    std::string text;
    for (auto size = 1 + below(9, rng); size > 0; --size) text += "00112233445566778899.-e"[below(23, rng)];
    check(text);
  }
}

TEST(ShortDecimal, TakesTheNumbersThatDataHave) {
  for (const std::string text : {"0", "1", "-1", "0.5", "-0.25", "1234567", "12345678", "3.14159", "-123.4567"}) {
    double out = 0;
    EXPECT_TRUE(short_decimal(text, text.data() + text.size(), &out)) << text;
  }
}

TEST(ShortWhole, IsOneToEightDigits) {
  for (const std::string text : {"0", "7", "42", "00000042", "99999999"}) {
    std::uint32_t out = 0;
    ASSERT_TRUE(short_whole(text, text.data() + text.size(), &out)) << text;
    EXPECT_EQ(out, std::stoul(text));
  }
  for (const std::string text : {"", "-1", "+1", "1.", "1 ", "a", "123456789", "1a345678", "\xFF"}) {
    std::uint32_t out = 0;
    EXPECT_FALSE(short_whole(text, text.data() + text.size(), &out)) << text;
  }
}

}  // namespace
}  // namespace quorate::test
