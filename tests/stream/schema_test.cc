#include "quorate/stream/schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "quorate/base/error.h"

namespace quorate {
namespace {

using ::testing::ElementsAre;
using enum ColumnKind;

/// What a column of these values is taken for; each row has the label of its turn.
ColumnReport judged(const std::string& name, const std::vector<std::string>& values, std::size_t times = 10,
                    const std::vector<std::string>& labels = {}) {
  ColumnSample sample;
  for (std::size_t n = 0; n < times * values.size(); ++n)
    sample.add(values[n % values.size()], labels.empty() ? "" : labels[n % labels.size()]);
  return sample.judge(name);
}

TEST(Schema, KindsFollowFromValues) {
  EXPECT_EQ(judged("f", {"0.5", "-1", "3e4"}).kind, kNumber);
  EXPECT_EQ(judged("f", {"-1", "2"}).kind, kNumber);
  EXPECT_EQ(judged("f", {"3", "0", "12"}).kind, kCount);
  EXPECT_EQ(judged("f", {"0", "1"}).kind, kFlag);
  EXPECT_EQ(judged("f", {"mail", "chat"}).kind, kCategory);
  EXPECT_EQ(judged("f", {"2026-11-22", "2026-11-23T10:00:00Z"}).kind, kDate);
  EXPECT_EQ(judged("f", {"a b c d", "e f g h", "i j k"}, 1).kind, kText);
  EXPECT_EQ(judged("f", {"1", "2", "?", "NA", ""}).kind, kCount);
  EXPECT_EQ(judged("f", {"", "?"}).kind, kUndecided);
  EXPECT_EQ(judged("f", {"True", "False"}).kind, kFlag);
  EXPECT_EQ(judged("f", {"true", "0", "NA", "FALSE"}).kind, kFlag);
  EXPECT_EQ(judged("f", {"true", "7"}).kind, kNumber);
  EXPECT_EQ(judged("f", {"true", "unknown"}).kind, kCategory);
}

TEST(Schema, WordsThatMayBeNumbersAreReported) {
  for (const char* grouped : {"24,000", "-1,234,567", "0,5"}) {
    const ColumnReport report = judged("salary", {grouped, "87,000"});
    EXPECT_EQ(report.kind, kCategory) << grouped;
    EXPECT_TRUE(report.guess) << grouped;
    EXPECT_NE(report.why.find("--thousands"), std::string::npos) << report.why;
  }
  for (const char* word : {"1,2,3", "1.2.3", "24,00,000", "a,000", "12:30", "126 159 101"})
    EXPECT_EQ(judged("f", {word, "other"}).why.find("--thousands"), std::string::npos) << word;
}

TEST(Schema, NumbersAreReadAsPeopleWriteThem) {
  constexpr NumberStyle kEnglish{true, false, ','}, kGerman{false, true, '.'}, kPlain{}, kEither{true, true, 0};
  struct Case {
    const char* text;
    NumberStyle style;
    double value;
  };
  for (const Case& c : {Case{"40,6", kEither, 40.6},
                        {"-0,25", kEither, -0.25},
                        {"+3,0", kEither, 3},
                        {"1,5e3", kEither, 1500},
                        {",5", kEither, 0.5},
                        {"-,5", kEither, -0.5},
                        {"4.5", kEither, 4.5},
                        {"1,234", kEnglish, 1234},
                        {"1,234,567.5", kEnglish, 1234567.5},
                        {"1.234,5", kGerman, 1234.5},
                        {"40,6", kGerman, 40.6},
                        {"$16.36", kPlain, 16.36},
                        {"-$5", kPlain, -5},
                        {"$ -5", kPlain, -5},
                        {"5 %", kPlain, 5},
                        {"5%", kPlain, 5},
                        {"(12)", kPlain, -12},
                        {"16_360", kPlain, 16360},
                        {"1\u202F234", kPlain, 1234},
                        {"\u22125", kPlain, -5},
                        {"1.234,50 \u20AC", kGerman, 1234.5}})
    EXPECT_EQ(written_number(c.text, c.style), c.value) << c.text;
  for (const Case& c : {Case{"1,2,3", kEither, 0},
                        {"1.234,5", kEither, 0},
                        {"5,", kEither, 0},
                        {"a,b", kEither, 0},
                        {"1,2x", kEither, 0},
                        {"", kEither, 0},
                        {",", kEither, 0},
                        {"1,5e400", kEither, 0},
                        {"1,5", kPlain, 0},
                        {"12,34", kEnglish, 0},
                        {"1.2", kGerman, 0},
                        {"1234,567", kEnglish, 0},
                        {"()", kPlain, 0}})
    EXPECT_FALSE(written_number(c.text, c.style)) << c.text;
}

TEST(Schema, TheStyleOfNumbersFollowsFromAllValues) {
  const auto style = [](const std::vector<std::string>& values) {
    NumberEvidence column, all;
    for (const std::string& value : values) column.add(value);
    all.add(column);
    return all.style({});
  };
  constexpr NumberStyle kEnglish{true, false, ','}, kGerman{false, true, '.'};
  EXPECT_EQ(style({"1", "2.5"}), NumberStyle{});
  EXPECT_EQ(style({"1,5", "2,25"}), kGerman);
  EXPECT_EQ(style({"1.234,5"}), kGerman);
  EXPECT_EQ(style({"1.234.567", "1.234"}), kGerman);
  EXPECT_EQ(style({"1,234", "2.5"}), kEnglish);
  EXPECT_EQ(style({"1,234.5"}), kEnglish);
  EXPECT_EQ(style({"$1,234.50", "$2.50"}), kEnglish);
  EXPECT_EQ(style({"1.234,50 \u20AC"}), kGerman);
  EXPECT_EQ(style({"-\u20AC 2.100,50", "\u22125,25"}), kGerman);
  EXPECT_EQ(style({"(2,100.50)"}), kEnglish);
  EXPECT_EQ(style({"1,5", "2.5"}), NumberStyle{});                 // contradict each other
  EXPECT_EQ(style({"1.234"}), NumberStyle{});                      // may be either
  EXPECT_EQ(style({"517", "4.292", "1.287", "12.001"}), kGerman);  // three decimals would be 517.000
  EXPECT_EQ(style({"517", "4,292", "1,287", "12,001"}), kEnglish);
  EXPECT_EQ(style({"5170", "4.292", "1.287", "12.001"}), NumberStyle{});
  EXPECT_EQ(style({"0.517", "4.292", "1.287", "12.001"}), NumberStyle{});
}

TEST(Schema, NumbersWithMarksAreAGuess) {
  ColumnSample with, without, words;
  constexpr NumberStyle kComma{false, true, '.'};
  for (const char* value : {"40,6", "3", "7,25", ""}) {
    with.add(value, "", ColumnSample::Type::kPlain, kComma);
    without.add(value, "");
  }
  for (const char* value : {"a", "b", "1,5"}) words.add(value, "", ColumnSample::Type::kPlain, kComma);
  EXPECT_EQ(with.judge("f").kind, kNumber);
  EXPECT_EQ(with.judge("f").why, "numbers, written as 40,6");
  EXPECT_TRUE(with.judge("f").guess);
  EXPECT_EQ(without.judge("f").kind, kCategory);
  EXPECT_EQ(words.judge("f").kind, kCategory);
}

TEST(Schema, LeadingZerosMakeWords) {
  EXPECT_EQ(judged("zip", {"01067", "80331", "20095"}).kind, kCategory);
  EXPECT_EQ(judged("f", {"0", "0.5", "10"}).kind, kNumber);
}

TEST(Schema, SecondsAreADateByTheNameOnly) {
  EXPECT_EQ(judged("sent_at", {"1763765000", "1763851400"}).kind, kDate);
  EXPECT_EQ(judged("amount", {"1763765000", "1763851400"}).kind, kCount);
  EXPECT_EQ(judged("sent_at", {"1763765000123456789", "1763851400000000000"}).kind, kDate);
  EXPECT_EQ(judged("sent_at", {"963765000123456789", "1763851400000000000"}).kind, kDate);
  EXPECT_EQ(judged("amount", {"1763765000123456789", "1763851400000000000"}).kind, kCategory);
}

TEST(Schema, WholeNumbersThatDoublesMergeAreNames) {
  for (const char* name : {"9007199254740993", "-9007199254740993", "12345678901234567", "1000000000000000001",
                           "1764000000000000000", "18446744073709551615", "99999999999999999999"})
    EXPECT_TRUE(is_beyond_numbers(name)) << name;
  for (const char* number :
       {"", "-", "5", "9007199254740992", "-9007199254740992", "12345678901234568", "100000000000000000",
        "1000000000000000000", "00012345678901234567", "1234567890123456.5", "1234567890123456e1"})
    EXPECT_FALSE(is_beyond_numbers(number)) << number;
  const std::vector<std::string> users{"12345678901234567", "12345678901234568", "-12345678901234569", "5",
                                       "12345678901234567890"};
  EXPECT_EQ(judged("user", users).kind, kCategory);
  EXPECT_EQ(judged("user", users).distinct, 5u);
  ColumnSample strings, ids, close, same, sums;
  for (std::uint64_t n = 0; n < 40; ++n) {
    strings.add(std::to_string(12345678901234567 + n % 7), "", ColumnSample::Type::kString);
    ids.add(std::to_string(9876543210987654321u - 12345678987654321u * n), "");
    close.add(std::to_string(1234567890123456789 + n), "");
    same.add("9007199254740992", "");
    sums.add(n == 0 ? "12345678901234567" : std::to_string(n * n), "");
  }
  EXPECT_EQ(strings.judge("id_str").kind, kCategory);
  EXPECT_EQ(ids.judge("key").kind, kId);
  EXPECT_THAT(ids.judge("key").why, ::testing::HasSubstr("more digits"));
  EXPECT_THAT(close.judge("key").why, ::testing::HasSubstr("more digits"));
  EXPECT_EQ(judged("user", {"9876543210987654321", "8876543210987654321", "guest"}).kind, kCategory);
  EXPECT_EQ(same.judge("bytes").kind, kCount);
  EXPECT_EQ(sums.judge("bytes").kind, kCount);
}

TEST(Schema, WhatNeverRepeatsIsAnId) {
  ColumnSample rows, words, few;
  for (int n = 0; n < 40; ++n) {
    rows.add(std::to_string(7 + n), "");
    words.add("x" + std::to_string(n * n), "");
    if (n < 5) few.add("x" + std::to_string(n), "");
  }
  EXPECT_EQ(rows.judge("n").kind, kId);
  EXPECT_EQ(words.judge("key").kind, kId);
  EXPECT_EQ(few.judge("key").kind, kCategory);  // too few to say
}

TEST(Schema, AFewWordsAmongNumbersAreMistakesButManyAreCategories) {
  EXPECT_EQ(judged("f", {"1", "2", "3", "oops"}).kind, kNumber);
  EXPECT_EQ(judged("f", {"1", "two", "three", "four"}).kind, kCategory);
}

TEST(Schema, AColumnThatIsTheLabelIsFound) {
  EXPECT_TRUE(judged("f", {"a", "b"}, 10, {"spam", "ham"}).decides_label);
  EXPECT_FALSE(judged("f", {"a", "b"}, 10, {"spam", "ham", "spam"}).decides_label);
  EXPECT_FALSE(judged("f", {"a", "b"}).decides_label);
}

TEST(Schema, MissingValuesAreCountedAndAreNoExamples) {
  const ColumnReport found = judged("f", {"x", "?", "y", "null"}, 3);
  EXPECT_EQ(found.rows, 12u);
  EXPECT_EQ(found.missing, 6u);
  EXPECT_EQ(found.distinct, 2u);
  EXPECT_THAT(found.examples, ElementsAre("x", "y"));
  for (const char* missing : {"", "?", "NA", "N/A", "nan", "NaN", "null", "NULL"})
    EXPECT_TRUE(is_missing(missing)) << missing;
  for (const char* value : {"0", "-", "none", "na", "??"}) EXPECT_FALSE(is_missing(value)) << value;
}

TEST(Schema, ColumnsAreFoundByNameAndByKind) {
  Schema schema;
  schema.add("user", kTask);
  schema.add("x", kNumber);
  EXPECT_EQ(schema.find("x"), kNumber);
  EXPECT_EQ(schema.find("y"), std::nullopt);
  EXPECT_EQ(schema.column_of(kTask), "user");
  EXPECT_EQ(schema.column_of(kLabel), std::nullopt);
  Schema other;
  other.add("user", kTask);
  EXPECT_FALSE(schema == other);
  other.add("x", kNumber);
  EXPECT_TRUE(schema == other);
}

}  // namespace
}  // namespace quorate
