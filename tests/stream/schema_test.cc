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
  EXPECT_EQ(judged("f", {"", "?"}).kind, kCategory);
}

TEST(Schema, NumbersMayHaveADecimalCommaWhereTheReaderSaysSo) {
  for (const auto& [text, value] : {std::pair{"40,6", 40.6}, {"-0,25", -0.25}, {"+3,0", 3.0}, {"1,5e3", 1500.0}})
    EXPECT_EQ(number_with_comma(text), value) << text;
  for (const char* text : {"40", "4.5", "1.234,5", "1,2,3", ",5", "5,", "a,b", "1,2x", "", ",", "-,5", "1,5e400"})
    EXPECT_FALSE(number_with_comma(text)) << text;
  ColumnSample with, without, words;
  for (const char* value : {"40,6", "3", "7,25", ""}) {
    with.add(value, "", ColumnSample::Type::kPlain, true);
    without.add(value, "");
  }
  for (const char* value : {"a", "b", "1,5"}) words.add(value, "", ColumnSample::Type::kPlain, true);
  EXPECT_EQ(with.judge("f").kind, kNumber);
  EXPECT_EQ(with.judge("f").why, "numbers with a decimal comma");
  EXPECT_EQ(without.judge("f").kind, kCategory);
  EXPECT_EQ(words.judge("f").kind, kCategory);
}

TEST(Schema, SecondsAreADateByTheNameOnly) {
  EXPECT_EQ(judged("sent_at", {"1763765000", "1763851400"}).kind, kDate);
  EXPECT_EQ(judged("amount", {"1763765000", "1763851400"}).kind, kCount);
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
