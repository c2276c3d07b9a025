#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <limits>
#include <string>

#include "support/read.h"
#include "support/temp.h"

namespace quorate::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(CsvReader, KnowsItsColumnsByName) {
  const TempDir dir;
  const std::string path =
      dir.write("a.csv", "height,task,label,id,text,weight\n1.5,t,1,x1,some words,-2e3\n+0.5,u,,x2,,7\n");
  const auto rows = read_rows(path);
  EXPECT_THAT(rows, ElementsAre(Row{"x1", "t", "1", "some words", true, {{"height", 1.5}, {"weight", -2000}}},
                                Row{"x2", "u", "", "", true, {{"height", 0.5}, {"weight", 7}}}));
  EXPECT_THAT(open_reader(path)->columns(), ElementsAre("height", "weight"));
}

TEST(CsvReader, ATextThatIsAListOfNumbersIsAVector) {
  const TempDir dir;
  const std::string path = dir.write("a.csv", "label,e,a\n1,\"[1, -2.5]\",3\n0,[0.5 1.],4\n1,NA,5\n");
  const std::vector<Row> rows{Row{"", "", "1", "", false, {{"e.0", 1}, {"e.1", -2.5}, {"a", 3}}},
                              Row{"", "", "0", "", false, {{"e.0", 0.5}, {"e.1", 1}, {"a", 4}}},
                              Row{"", "", "1", "", false, {{"e.0=?", 1}, {"e.1=?", 1}, {"a", 5}}}};
  EXPECT_EQ(read_rows(path), rows);
  const auto reader = open_reader(path);
  EXPECT_THAT(reader->columns(), ElementsAre("e.0", "e.1", "a"));
  ReadOptions o;
  o.schema = &reader->schema();
  EXPECT_EQ(read_rows(path, o), rows);
  const std::string other = dir.write("c.csv", "label,e,a\n1,[1 2 3],1\n");
  try {
    read_rows(other, o);
    ADD_FAILURE();
  } catch (const DataError& e) {
    EXPECT_THAT(e.what(), HasSubstr("column 'e': 3 numbers; expected 2, as before"));
  }
}

TEST(CsvReader, ColumnsMayBeGivenOtherRoles) {
  const TempDir dir;
  const std::string path =
      dir.write("a.csv", "user,spam,key,body,colour,junk,n\nu1,yes,k1,hello,red,?,3\nu2,no,k2,bye,,x,4\n");
  ReadOptions o;
  o.task = "user";
  o.label = "spam";
  o.id = "key";
  o.text = "body";
  o.categorical = {"colour"};
  o.ignore = {"junk"};
  EXPECT_THAT(read_rows(path, o), ElementsAre(Row{"k1", "u1", "yes", "hello", true, {{"colour=red", 1}, {"n", 3}}},
                                              Row{"k2", "u2", "no", "bye", true, {{"colour=?", 1}, {"n", 4}}}));
}

TEST(CsvReader, TrueAndFalseAreNumbersAsInJson) {
  const TempDir dir;
  const std::string path = dir.write("a.csv", "label,paid\n1,True\n0,false\n1,\n");
  EXPECT_THAT(read_rows(path),
              ElementsAre(Row{"", "", "1", "", false, {{"paid", 1}}}, Row{"", "", "0", "", false, {{"paid", 0}}},
                          Row{"", "", "1", "", false, {{"paid=?", 1}}}));
  const auto reader = open_reader(path);
  ReadOptions o;
  o.schema = &reader->schema();
  EXPECT_THAT(read_rows(dir.write("b.csv", "label,paid\n1,0\n0,TRUE\n"), o),
              ElementsAre(Row{"", "", "1", "", false, {{"paid", 0}}}, Row{"", "", "0", "", false, {{"paid", 1}}}));
}

TEST(CsvReader, TextsOfNumbersAreTexts) {
  const TempDir dir;
  std::string rows = "label,words\n";
  for (int n = 0; n < 300; ++n) {
    rows += std::to_string(n % 2);
    for (int k = 0; k < 5; ++k) rows += (k == 0 ? "," : " ") + std::to_string(100 + (n * 7 + k * 31) % 200);
    rows += "\n";
  }
  EXPECT_EQ(open_reader(dir.write("a.csv", rows))->schema().find("words"), ColumnKind::kText);
}

TEST(CsvReader, TheModelsMarksStayUnlessAFileCanBeReadInOneWayOnly) {
  const TempDir dir;
  const auto reader = open_reader(dir.write("a.csv", "label;v\n1;0,67\n0;12,5\n"));
  ReadOptions o;
  o.schema = &reader->schema();
  const auto values = [&](const std::string& text) {
    std::vector<double> out;
    for (const Row& row : read_rows(dir.write("b.csv", text), o)) out.push_back(row.features.at(0).second);
    return out;
  };
  EXPECT_THAT(values("label;v\n0;1,125\n1;2,125\n0;3,125\n1;7\n"), ElementsAre(1.125, 2.125, 3.125, 7));
  EXPECT_THAT(values("label;v\n0;1.125,5\n"), ElementsAre(1125.5));
  EXPECT_THAT(values("label;v\n0;0.5\n1;1.125\n"), ElementsAre(0.5, 1.125)) << "no thousands";
  EXPECT_THAT(values("v,label\n\"1.100,00\",1\n2.000,0\n"), ElementsAre(1100, 2000));
  EXPECT_THAT(values("v,label\n\"1,125\",1\n"), ElementsAre(1.125));
  EXPECT_THROW(values("v,label\n1.125,1\n"), DataError) << "either";
}

TEST(CsvReader, AColumnWithAUsualNameMayBeIgnored) {
  const TempDir dir;
  ReadOptions o;
  o.ignore = {"text", "id"};
  EXPECT_THAT(read_rows(dir.write("a.csv", "id,text,label,n\n1,words,1,5\n"), o),
              ElementsAre(Row{"", "", "1", "", false, {{"n", 5}}}));
}

TEST(CsvReader, TakesWhatSpreadsheetsWrite) {
  const TempDir dir;
  // Byte order mark, CRLF, quoted commas, quotes and newlines, blank lines, no newline at the end.
  const std::string path = dir.write(
      "a.csv", "\xEF\xBB\xBF\r\nid,text,\"a,b\"\r\n\r\n1,\"two\nlines\",3\r\n2,\"say \"\"hi\"\"\",4\r\n\r\n3,\"a,b\",\"5\"");
  EXPECT_THAT(read_rows(path),
              ElementsAre(Row{"1", "", "", "two\nlines", true, {{"a,b", 3}}},
                          Row{"2", "", "", "say \"hi\"", true, {{"a,b", 4}}}, Row{"3", "", "", "a,b", true, {{"a,b", 5}}}));
}

TEST(CsvReader, KeepsLineEndsInsideOfQuotes) {
  const TempDir dir;
  EXPECT_THAT(read_rows(dir.write("a.csv", "id,text,n\r\r\n1,\"a\nb\r\nc\r\r\nd\",1\r\r\n")),
              ElementsAre(Row{"1", "", "", "a\nb\r\nc\r\r\nd", true, {{"n", 1}}}));
}

TEST(CsvReader, AQuoteInsideAPlainFieldDoesNotOpenOrCloseAnother) {
  const TempDir dir;
  EXPECT_THAT(
      read_rows(dir.write("a.csv", "id,text,n\n5\" disk,\"two\nlines\",1\n3\" tape,\"one\"\"line\",2\nx,\"a\nb\",3\n")),
      ElementsAre(Row{"5\" disk", "", "", "two\nlines", true, {{"n", 1}}},
                  Row{"3\" tape", "", "", "one\"line", true, {{"n", 2}}}, Row{"x", "", "", "a\nb", true, {{"n", 3}}}));
}

TEST(CsvReader, AStrayQuoteThatALaterOneClosesIsReportedWhereItOpens) {
  const TempDir dir;
  const std::string path = dir.write("a.csv", "text,n\nx,1\n\"y,2\nz,3\n\"v,4\nw,5\n");
  EXPECT_THAT(refusal_of(path),
              HasSubstr(path + ":3: a quote that opens in this line closes in line 5: text after a closing quote"));
}

TEST(CsvReader, LineNumbersCountLinesNotRecords) {
  const TempDir dir;
  const std::string path = dir.write("a.csv", "text,n\n\"1\n2\n3\",1\nx,bad\ny,2\nz,3\n");
  EXPECT_THAT(refusal_of(path), HasSubstr(path + ":5:3: "));
}

struct Bad {
  std::string text, place;  // what, and where it must be said to be
  std::vector<std::string> says;
};

TEST(CsvReader, ABadFileIsNamedWithPlaceValueAndWhatWasExpected) {
  const TempDir dir;
  const std::vector<Bad> all{
      {"label,a\n1,x\n1,2\n1,3\n1,4\n", ":2:3: ", {"'a'", "'x'", "expected a finite number", "--categorical-column a"}},
      {"label,a\n1,inf\n", ":2:3: ", {"'inf'", "expected"}},
      {"label,a\n1,-inf\n", ":2:3: ", {"'-inf'", "expected"}},
      {"label,a\n1,1e19\n", ":2:3: ", {"'1e19'", "1e18"}},
      {"label,a\n1,1e999\n", ":2:3: ", {"'1e999'", "1e18"}},
      {"label,a\n1,1.5x\n1,2\n1,3\n1,4\n", ":2:3: ", {"'1.5x'", "expected"}},
      {"label,a\n1,2\n1,1 1\n0,3\n", ":3:3: ", {"'1 1'", "expected"}},
      {"label,a\n1,+-1\n1,2\n1,3\n1,4\n", ":2:3: ", {"'+-1'", "expected"}},
      {"label,a\n1,0x1\n1,2\n1,3\n1,4\n", ":2:3: ", {"'0x1'", "expected"}},
      {"label,a\n1,1\n1\n", ":3:", {"1 fields", "expected 2"}},
      {"label,a\n1,1,1\n", ":2:5: ", {"3 fields", "expected 2"}},
      {"label,a\n1,\"1\"2\n", ":2:6: ", {"expected ','"}},
      {"label,text\n1,ok\n1,\"open\n1,2\n", ":3: ", {"quote", "expected"}},
      {"label,\"a\n1,2\n", ":1:", {"quote"}},
      {"label,a,a\n1,2,3\n", ":1:9: ", {"'a'", "twice"}},
      {"label,,a\n1,2,3\n", ":1:7: ", {"without a name", "expected"}},
      {"label,a\n1,\xFF\n", ":2:3: ", {"0xff", "expected UTF-8"}},
      {"label,\xC3(\n1,1\n", ":1:7: ", {"0xc3", "expected UTF-8"}},
      {"label,text\n1,\"a\n\xE2\x82\"\n", ":3:1: ", {"0xe2", "expected UTF-8"}},
      {"", ": ", {"no example", "expected"}},
      {"\n\n", ": ", {"no example", "expected"}},
      {"label,a\n", ": ", {"no example", "expected"}},
  };
  for (const Bad& bad : all) {
    const std::string path = dir.write("bad.csv", bad.text), said = refusal_of(path);
    EXPECT_THAT(said, testing::StartsWith(path + bad.place)) << bad.text;
    for (const std::string& word : bad.says) EXPECT_THAT(said, HasSubstr(word)) << bad.text;
    EXPECT_EQ(said.find('\n'), said.npos) << "a message is one line";
  }
}

TEST(CsvReader, AColumnThatIsAskedForMustBeThere) {
  const TempDir dir;
  const std::string path = dir.write("a.csv", "id,label,a\n1,1,1\n");
  ReadOptions o;
  o.task = "user";
  EXPECT_THAT(refusal_of(path, o), AllOf(HasSubstr(path), HasSubstr("'user'"), HasSubstr("id, label, a")));
  o.task = "a";
  o.label = "a";
  EXPECT_THROW(open_reader(path, o), UsageError) << "one column, two meanings";
}

TEST(CsvReader, SkippingCountsBadLinesAndReadsTheOthers) {
  const TempDir dir;
  const std::string path = dir.write("a.csv", "id,a\n1,1\n2,x\n3\n4,4\n\xFF,5\n6,\"1\"2\n7,7\n");
  ReadOptions o;
  o.skip_bad_lines = true;
  const auto reader = open_reader(path, o);
  std::vector<std::string> ids;
  for (Record r; reader->next(r);) ids.emplace_back(r.id);
  EXPECT_THAT(ids, ElementsAre("1", "4", "7"));
  EXPECT_EQ(reader->skipped(), 4u);
  EXPECT_THAT(reader->first_skipped(), HasSubstr(path + ":3:3"));
  EXPECT_THAT(refusal_of(dir.write("b.csv", "a\ninf\n1e999\n"), o), HasSubstr("no example")) << "nothing but bad lines";
}

TEST(CsvReader, AMissingValueIsNoFeatureButSaysThatItIsMissing) {
  const TempDir dir;
  for (const std::string missing : {"", "?", "NA", "N/A", "nan", "NaN", "null", "NULL"})
    EXPECT_THAT(
        read_rows(dir.write("a.csv", "label,a,b\n1,5,0\n0," + missing + ",1\n")),
        ElementsAre(Row{"", "", "1", "", false, {{"a", 5}, {"b", 0}}}, Row{"", "", "0", "", false, {{"a=?", 1}, {"b", 1}}}))
        << missing;
}

TEST(CsvReader, AMissingNumberIsComparedByValue) {
  const TempDir dir;
  ReadOptions o;
  o.missing = {"-999"};
  EXPECT_THAT(read_rows(dir.write("a.csv", "label,v,w,e\n1,-999.0,3,[1 2]\n0,2.5,4,[1 -999.0]\n1,-999,-9.99e2,[2 2]\n"), o),
              ElementsAre(Row{"", "", "1", "", false, {{"v=?", 1}, {"w", 3}, {"e.0", 1}, {"e.1", 2}}},
                          Row{"", "", "0", "", false, {{"v", 2.5}, {"w", 4}, {"e.0", 1}, {"e.1=?", 1}}},
                          Row{"", "", "1", "", false, {{"v=?", 1}, {"w=?", 1}, {"e.0", 2}, {"e.1", 2}}}));
  EXPECT_EQ(open_reader(dir.at("a.csv"), o)->schema().find("w"), ColumnKind::kCount);
}

TEST(CsvReader, AWholeNumberWithZerosBehindItsPointIsTheSameTaskAndWord) {
  const TempDir dir;
  ReadOptions o;
  o.categorical = {"zip"};
  const auto of = [&](const std::string& text) {
    const Row row = read_rows(dir.write("a.csv", "task,label,zip\n" + text + ",1," + text + "\n"), o).at(0);
    EXPECT_EQ(row.features.at(0).first, "zip=" + row.task);
    return row.task;
  };
  EXPECT_EQ(of("4.0"), "4");
  EXPECT_EQ(of("80331.00"), "80331");
  EXPECT_EQ(of("-1.0"), "-1");
  EXPECT_EQ(of("0.0"), "0");
  for (const std::string other : {"4", "40", "4.5", "4.50", "04.0", "v4.0", "1.2.0", ".0", "4.", "a.0", "10.0.0.0"})
    EXPECT_EQ(of(other), other);
  o.decimal = ",";
  o.thousands = ".";
  EXPECT_EQ(of("4.000"), "4.000") << "a thousand";
}

TEST(CsvReader, FindsTheDelimiter) {
  const TempDir dir;
  const std::vector<Row> expected{Row{"", "u", "1", "", false, {{"a", 5}, {"b,c", 1.5}}}};
  for (const char c : {',', ';', '\t', '|'}) {
    const std::string d(1, c);
    EXPECT_EQ(
        read_rows(dir.write("a.csv", "label" + d + "task" + d + "a" + d + "\"b,c\"\n1" + d + "u" + d + "5" + d + "1.5\n")),
        expected)
        << d;
  }
  ReadOptions o;
  o.delimiter = ";";
  EXPECT_THAT(read_rows(dir.write("a.csv", "label;a,b\n1;2\n"), o), ElementsAre(Row{"", "", "1", "", false, {{"a,b", 2}}}));
  o.delimiter = "x";
  EXPECT_THAT(refusal_of(dir.at("a.csv"), o), AllOf(HasSubstr("'x'"), HasSubstr("expected")));
}

TEST(CsvReader, ALongFirstRowDoesNotHideTheKindsOfTheOthers) {
  const TempDir dir;
  const std::string rows =
      "label,subject,size\n1," + std::string(9'000'000, 'a') + ",1.5\n0,free money for you,2.5\n1,lunch,7\n";
  const auto reader = open_reader(dir.write("a.csv", rows));
  EXPECT_THAT(reader->columns(), ElementsAre("size"));
}

TEST(CsvReader, ALongFirstRowLeavesRoomForTheKindsThatOthersShow) {
  const TempDir dir;
  std::string rows = "label,text,code\n1," + std::string(9'000'000, 'a') + ",12\n";
  for (int n = 0; n < 50; ++n) rows += "0,lunch,w" + std::to_string(n % 7) + "\n";
  ReadOptions o;
  const auto reader = open_reader(dir.write("a.csv", rows), o);
  std::size_t read = 0;
  for (Record r; reader->next(r);) ++read;
  EXPECT_EQ(read, 51u);
}

TEST(CsvReader, ALineThatIsTooLongIsSaidAndTakesNoOtherAlong) {
  const TempDir dir;
  for (const std::size_t longest : {1u << 20, 5u << 20, 1u << 26})
    for (const std::size_t at : {0u, 10u, 20u}) {
      const std::string line = "99,1," + std::string(longest + (longest < (1u << 26) ? 3'000'000 : 5'000'000), 'y');
      std::string rows = "id,label,text,size\n";
      for (std::size_t n = 0; n < 20; ++n)
        rows += (n == at ? line + ",1\n" : "") + std::to_string(n) + ",1,lunch," + std::to_string(n) + ".5\n";
      if (at == 20) rows += line;
      ReadOptions o;
      o.longest_line = longest;
      const std::string path = dir.write("a.csv", rows);
      EXPECT_THAT(refusal_of(path, o), HasSubstr(path + ":" + std::to_string(at + 2) + ": a line of more than"));
      o.skip_bad_lines = true;
      const auto reader = open_reader(path, o);
      EXPECT_THAT(reader->columns(), ElementsAre("size")) << longest << " " << at;
      std::size_t read = 0;
      for (Record r; reader->next(r);) ++read;
      EXPECT_EQ(read, 20u) << longest << " " << at;
      EXPECT_EQ(reader->skipped(), 1u) << longest << " " << at;
    }
}

TEST(CsvReader, AStrayQuoteInTheFirstRowLeavesTheKindsToTheOthers) {
  const TempDir dir;
  std::string rows = "label,text,size\n1,\"never closed,1.5\n";
  for (int n = 0; n < 20; ++n) rows += "0,lunch," + std::to_string(n) + ".5\n";
  ReadOptions o;
  o.skip_bad_lines = true;
  const auto reader = open_reader(dir.write("a.csv", rows), o);
  EXPECT_THAT(reader->columns(), ElementsAre("size"));
  std::size_t read = 0;
  for (Record r; reader->next(r);) ++read;
  EXPECT_EQ(read, 20u);
  EXPECT_EQ(reader->skipped(), 1u);
}

TEST(CsvReader, AQuoteThatNeverClosesCostsNoMoreThanReadingOn) {
  const TempDir dir;
  const auto cost = [&](int lines) {  // processor time, the least of three
    std::string text = "label,text\n1,\"open\n";
    for (int n = 0; n < lines; ++n) text += "1,a line of some sixty bytes, as a file of reviews may have\n";
    const std::string path = dir.write("a.csv", text);
    std::clock_t least = std::numeric_limits<std::clock_t>::max();
    for (int run = 0; run < 3; ++run) {
      const std::clock_t start = std::clock();
      EXPECT_THAT(refusal_of(path), HasSubstr(path + ":2"));
      least = std::min(least, std::clock() - start);
    }
    return static_cast<double>(least);
  };
  const double quarter = cost(100'000);
  EXPECT_LT(cost(400'000), 9 * quarter + 0.05 * CLOCKS_PER_SEC) << "4 if in proportion, 16 if not";
}

}  // namespace
}  // namespace quorate::test
