#include "quorate/base/csv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "quorate/base/error.h"

namespace quorate::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> split(const std::string& line) {
  std::vector<CsvField> fields(3);  // memory of an earlier line
  fields[0].text = "left over";
  std::string unquoted = "left over";
  if (!split_csv(line, fields, unquoted)) return {"OPEN"};
  std::vector<std::string> out;
  for (const CsvField& f : fields) out.emplace_back(f.text);
  return out;
}

TEST(Csv, SplitsAsRfc4180Says) {
  EXPECT_THAT(split("a,b,c"), ElementsAre("a", "b", "c"));
  EXPECT_THAT(split(""), ElementsAre(""));
  EXPECT_THAT(split(","), ElementsAre("", ""));
  EXPECT_THAT(split("a,,"), ElementsAre("a", "", ""));
  EXPECT_THAT(split("\"a,b\",c"), ElementsAre("a,b", "c"));
  EXPECT_THAT(split("\"a\"\"b\""), ElementsAre("a\"b"));
  EXPECT_THAT(split("\"\""), ElementsAre(""));
  EXPECT_THAT(split("\"\"\"\""), ElementsAre("\""));
  EXPECT_THAT(split("\"two\nlines\",x"), ElementsAre("two\nlines", "x"));
  EXPECT_THAT(split(" a , b"), ElementsAre(" a ", " b")) << "spaces are part of a field";
  EXPECT_THAT(split("a\"b,c"), ElementsAre("a\"b", "c")) << "a quote inside a plain field is a quote";
  EXPECT_THAT(split("\"open"), ElementsAre("OPEN"));
  EXPECT_THAT(split("a,\"open\"\""), ElementsAre("OPEN"));
}

TEST(Csv, FieldsKnowWhereTheyStart) {
  std::vector<CsvField> fields;
  std::string unquoted;
  ASSERT_TRUE(split_csv("ab,\"c,d\",,e", fields, unquoted));
  ASSERT_EQ(fields.size(), 4u);
  EXPECT_EQ(fields[0].at, 0u);
  EXPECT_EQ(fields[1].at, 3u);
  EXPECT_EQ(fields[2].at, 9u);
  EXPECT_EQ(fields[3].at, 10u);
}

TEST(Csv, TextAfterAClosingQuoteIsRefusedWithItsPlace) {
  std::vector<CsvField> fields;
  std::string unquoted;
  try {
    split_csv("a,\"b\"c", fields, unquoted);
    FAIL() << "accepted";
  } catch (const LineError& e) {
    EXPECT_THAT(e.what(), AllOf(HasSubstr("6:"), HasSubstr("expected")));
  }
}

RC_GTEST_PROP(Csv, SplittingWhatWasQuotedGivesTheFieldsBack, ()) {
  const auto field = rc::gen::container<std::string>(
      rc::gen::oneOf(rc::gen::element(',', '"', '\n', '\r', ' ', 'a'), rc::gen::arbitrary<char>()));
  const auto fields = *rc::gen::nonEmpty(rc::gen::container<std::vector<std::string>>(field));
  std::string line;
  for (std::size_t i = 0; i < fields.size(); ++i) line += (i ? "," : "") + csv_quoted(fields[i]);
  RC_ASSERT(split(line) == fields);
}

TEST(Csv, QuotesOnlyWhatNeedsIt) {
  EXPECT_EQ(csv_quoted("plain text"), "plain text");
  EXPECT_EQ(csv_quoted("a,b"), "\"a,b\"");
  EXPECT_EQ(csv_quoted("say \"hi\""), "\"say \"\"hi\"\"\"");
}

}  // namespace
}  // namespace quorate::test
