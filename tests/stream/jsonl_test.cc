#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/read.h"
#include "support/temp.h"

namespace quorate::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(JsonlReader, ReadsObjectsArraysAndText) {
  const TempDir dir;
  const std::string path =
      dir.write("a.jsonl",
                "{\"id\":\"e1\",\"task\":\"t\",\"label\":1,\"x\":{\"a\":0.5,\"7\":2,\"on\":true,\"off\":false,\"c\":\"red\","
                "\"none\":null}}\r\n"
                "\n  \t\n"
                "{\"label\":-1,\"x\":[1,0,-2.5e1],\"ignored\":{\"deep\":[1]}}\n"
                "{\"id\":17,\"task\":18446744073709551615,\"label\":null,\"text\":\"caf\\u00e9 \\\"q\\\"\\n\"}\n"
                "{\"id\":0.5,\"label\":\"spam\",\"text\":null,\"x\":{}}");
  EXPECT_THAT(
      read_rows(path),
      ElementsAre(Row{"e1", "t", "1", "", false, {{"a", 0.5}, {"7", 2}, {"on", 1}, {"off", 0}, {"c=red", 1}, {"none=?", 1}}},
                  Row{"", "", "-1", "", false, {{"0", 1}, {"1", 0}, {"2", -25}}},
                  Row{"17", "18446744073709551615", "", "caf\xC3\xA9 \"q\"\n", true, {}},
                  Row{"0.5", "", "spam", "", false, {}}));
}

TEST(JsonlReader, KeysMayHaveOtherNames) {
  const TempDir dir;
  ReadOptions o;
  o.id = "key";
  o.task = "user";
  o.label = "spam";
  o.text = "body";
  EXPECT_THAT(
      read_rows(dir.write("a.ndjson", "{\"key\":\"k\",\"user\":\"u\",\"spam\":0,\"body\":\"b\",\"id\":1,\"text\":2}\n"), o),
      ElementsAre(Row{"k", "u", "0", "b", true, {{"id", 1}, {"text", 2}}}));
  EXPECT_THAT(
      read_rows(dir.write("a.ndjson", "{\"key\":\"k\",\"user\":\"u\",\"spam\":0,\"body\":\"b\",\"x\":{},\"id\":1}\n"), o),
      ElementsAre(Row{"k", "u", "0", "b", true, {}}))
      << "with x, other keys are passed over";
}

TEST(JsonlReader, WithoutXEveryKeyIsAColumn) {
  const TempDir dir;
  const std::string path = dir.write("a.jsonl",
                                     "{\"id\":1,\"from\":{\"host\":\"a.org\",\"age\":3},\"tags\":[\"x\",\"y\"],\"html\":"
                                     "true,\"subject\":\"free money for you\",\"label\":1}\n"
                                     "{\"id\":2,\"from\":{\"host\":\"b.org\",\"age\":null},\"html\":false,\"subject\":"
                                     "\"lunch at noon today\",\"label\":0,\"size\":1.5}\n");
  const auto reader = open_reader(path);
  std::vector<Row> rows;
  for (Record r; reader->next(r);) rows.push_back(row_of(r));
  EXPECT_THAT(
      rows,
      ElementsAre(Row{"1",
                      "",
                      "1",
                      "free money for you",
                      true,
                      {{"from.host=a.org", 1}, {"from.age", 3}, {"tags=x", 1}, {"tags=y", 1}, {"html", 1}, {"size=?", 1}}},
                  Row{"2",
                      "",
                      "0",
                      "lunch at noon today",
                      true,
                      {{"from.host=b.org", 1}, {"from.age=?", 1}, {"html", 0}, {"size", 1.5}, {"tags=?", 1}}}));
  EXPECT_EQ(reader->left_out(), "");
}

TEST(JsonlReader, ListsOfTrueAndFalseAreVectors) {
  const TempDir dir;
  EXPECT_THAT(read_rows(dir.write("a.jsonl", "{\"label\":1,\"f\":[true,false]}\n{\"label\":0,\"f\":[0,true]}\n")),
              ElementsAre(Row{"", "", "1", "", false, {{"f.0", 1}, {"f.1", 0}}},
                          Row{"", "", "0", "", false, {{"f.0", 0}, {"f.1", 1}}}));
}

TEST(JsonlReader, AnIgnoredKeyIsIgnoredBesideAListOfItsName) {
  const TempDir dir;
  const std::string path = dir.write("a.jsonl", "{\"p\":1,\"p.0\":2,\"g\":1,\"label\":\"b\"}\n");
  ReadOptions o;
  o.ignore = {"p"};
  const auto reader = open_reader(path, o);
  ReadOptions later;
  later.schema = &reader->schema();
  EXPECT_EQ(read_rows(path, later), read_rows(path, o));
}

TEST(JsonlReader, ListsOfOneNumberDifferInLengthFromLongerOnes) {
  const TempDir dir;
  for (const char* one : {"[5.3]", "5.3", "[true]"}) {
    const std::string rows = std::string("{\"label\":1,\"seen\":") + one + "}\n{\"label\":0,\"seen\":[5.1,1.0]}\n";
    const auto reader = open_reader(dir.write("a.jsonl", rows));
    EXPECT_EQ(reader->schema().find("seen.0"), ColumnKind::kIgnored) << one;
    EXPECT_THAT(reader->guesses(), HasSubstr("of lists that differ in length")) << one;
    // Where the first lines have lists of one length, another is a bad line.
    const auto lists = open_reader(dir.write("b.jsonl", "{\"label\":0,\"seen\":[5.1,1.0]}\n{\"label\":0,\"seen\":null}\n"));
    ReadOptions o;
    o.schema = &lists->schema();
    EXPECT_THAT(refusal_of(dir.write("c.jsonl", rows), o),
                HasSubstr("key 'seen': expected a list of numbers, as long as in the first lines"))
        << one;
  }
}

TEST(JsonlReader, TrueAndFalseAreTheSameInTextsAndCategories) {
  const TempDir dir;
  EXPECT_THAT(read_rows(dir.write("a.jsonl",
                                  "{\"label\":1,\"paid\":true,\"seen\":\"True\"}\n"
                                  "{\"label\":0,\"paid\":\"false\",\"seen\":\"False\"}\n")),
              ElementsAre(Row{"", "", "1", "", false, {{"paid", 1}, {"seen", 1}}},
                          Row{"", "", "0", "", false, {{"paid", 0}, {"seen", 0}}}));
  ReadOptions o;
  o.categorical = {"paid"};
  EXPECT_THAT(read_rows(dir.write("b.jsonl", "{\"label\":1,\"paid\":true}\n"), o),
              ElementsAre(Row{"", "", "1", "", false, {{"paid=true", 1}}}));
}

TEST(JsonlReader, ObjectsAndListsInsideXAreReadAsOutside) {
  const TempDir dir;
  EXPECT_THAT(
      read_rows(dir.write("a.jsonl",
                          "{\"x\":{\"from\":{\"host\":\"a.org\",\"age\":3,\"ip\":{\"v6\":true},\"zip\":null},"
                          "\"tags\":[\"y\",\"x\",\"y\",null]}}\n")),
      ElementsAre(Row{
          "",
          "",
          "",
          "",
          false,
          {{"from.host=a.org", 1}, {"from.age", 3}, {"from.ip.v6", 1}, {"from.zip=?", 1}, {"tags=x", 1}, {"tags=y", 1}}}));
  ReadOptions o;
  o.ignore = {"from.age", "tags"};
  EXPECT_THAT(read_rows(dir.write("b.jsonl", "{\"x\":{\"from\":{\"host\":\"a.org\",\"age\":3},\"tags\":[\"x\"]}}\n"), o),
              ElementsAre(Row{"", "", "", "", false, {{"from.host=a.org", 1}}}));
}

TEST(JsonlReader, AWordInAListCountsOnce) {
  const TempDir dir;
  EXPECT_THAT(
      read_rows(dir.write("a.jsonl", "{\"tags\":[\"y\",\"x\",\"y\"]}\n{\"tags\":[\"x\"]}\n")),
      ElementsAre(Row{"", "", "", "", false, {{"tags=y", 1}, {"tags=x", 1}}}, Row{"", "", "", "", false, {{"tags=x", 1}}}));
}

TEST(JsonlReader, TextsMayBeLists) {
  const TempDir dir;
  const auto reader = open_reader(dir.write("a.jsonl",
                                            "{\"text\":[\"a b\",null,\"c\"],\"x\":{}}\n"
                                            "{\"text\":{\"subject\":\"a\",\"body\":[\"b\",\"c\"]},\"x\":{}}\n"));
  std::vector<std::string> texts;
  for (Record r; reader->next(r);)
    for (const RawText& t : r.texts) texts.push_back(std::string(t.name) + ": " + std::string(t.text));
  EXPECT_THAT(texts, ElementsAre("text: a b", "text: c", "subject: a", "body: b", "body: c"));
}

TEST(JsonlReader, AKeyThatIsNullOrAbsentIsAMissingValueUnlessMostKeysAre) {
  const TempDir dir;
  Schema schema;
  for (const char* name : {"a", "b", "c"}) schema.add(name, ColumnKind::kNumber);
  schema.add("d", ColumnKind::kCategory);
  schema.add("label", ColumnKind::kLabel);
  ReadOptions o;
  o.schema = &schema;
  EXPECT_THAT(read_rows(dir.write("a.jsonl", "{\"a\":1,\"b\":null,\"d\":\"NA\"}\n{\"d\":\"x\",\"a\":0}\n{\"b\":2}\n"), o),
              ElementsAre(Row{"", "", "", "", false, {{"a", 1}, {"b=?", 1}, {"d=NA", 1}, {"c=?", 1}}},
                          Row{"", "", "", "", false, {{"d=x", 1}, {"a", 0}, {"b=?", 1}, {"c=?", 1}}},
                          Row{"", "", "", "", false, {{"b", 2}}}));
}

TEST(JsonlReader, AKeyThatTheModelHasNotSeenIsLeftOutAndTold) {
  const TempDir dir;
  Schema schema;
  schema.add("a", ColumnKind::kNumber);
  schema.add("label", ColumnKind::kLabel);
  ReadOptions o;
  o.schema = &schema;
  const auto reader = open_reader(dir.write("a.jsonl", "{\"a\":1,\"b\":2,\"label\":1}\n{\"a\":2,\"b\":2}\n"), o);
  std::vector<Row> rows;
  for (Record r; reader->next(r);) rows.push_back(row_of(r));
  EXPECT_THAT(rows, ElementsAre(Row{"", "", "1", "", false, {{"a", 1}}}, Row{"", "", "", "", false, {{"a", 2}}}));
  EXPECT_THAT(reader->left_out(), testing::AllOf(testing::HasSubstr("'b' (line 1)"), testing::HasSubstr("2 times")));
}

TEST(JsonlReader, TakesAByteOrderMark) {
  const TempDir dir;
  EXPECT_THAT(read_rows(dir.write("a.jsonl", "\xEF\xBB\xBF{\"label\":1,\"x\":{}}\n")),
              ElementsAre(Row{"", "", "1", "", false, {}}));
}

TEST(JsonlReader, ABadLineIsNamedWithPlaceValueAndWhatWasExpected) {
  const TempDir dir;
  const std::vector<std::pair<std::string, std::vector<std::string>>> all{
      {"{\"x\":{\"a\":}}", {":2:11: ", "expected JSON"}},
      {"{\"x\":{\"a\":1}", {":2:", "expected JSON"}},
      {"{\"x\":{}} {\"x\":{}}", {":2:10: ", "expected JSON"}},
      {"{\"x\":{\"a\":nan}}", {":2:", "expected JSON"}},
      {"{\"x\":{\"a\":Infinity}}", {":2:", "expected JSON"}},
      {"{\"x\":{\"a\":NaN}}", {":2:11: ", "'NaN'; expected JSON", "null is a missing value"}},
      {"{\"x\":{\"a\":-Infinity,\"b\":1}}", {":2:12: ", "'Infinity'; expected JSON", "null"}},
      {"{\"text\":[\"a\",5]}", {":2:2: ", "'text'", "expected a string"}},
      {"{\"x\":{\"a\":1e999}}", {":2:", "expected JSON", "double"}},
      {"[1,2]", {":2:1: ", "[1,2]", "expected a JSON object"}},
      {"1 1:2 3:4", {":2:", "expected JSON"}},
      {"{\"label\":1}", {":2:1: ", "expected a key x"}},
      {"{\"x\":5}", {":2:2: ", "'x'", "expected an object"}},
      {"{\"x\":{\"a\":1e19}}", {":2:7: ", "'a'", "1e18"}},
      {"{\"x\":{\"a\":[1]}}", {":2:7: ", "'a'", "expected a number"}},
      {"{\"x\":{\"a\":{\"b\":[{}]}}}", {":2:1: ", "'a.b'", "a list of strings"}},
      {"{\"x\":[1,null]}", {":2:2: ", "'x'", "expected numbers"}},
      {"{\"x\":[1,\"2\"]}", {":2:2: ", "'x'", "expected a number"}},
      {"{\"x\":{\"a\":1,\"b\":2,\"a\":3}}", {":2:7: ", "'a'", "each feature once"}},
      {"{\"x\":{\"5\":1,\"5\":3}}", {":2:", "'5'", "each feature once"}},
      {"{\"x\":{},\"x\":{}}", {":2:", "'x'", "once"}},
      {"{\"text\":5}", {":2:2: ", "'text'", "expected a string"}},
      {"{\"text\":\"a\",\"text\":\"b\"}", {":2:2: ", "'text'", "once"}},
      {"{\"task\":[],\"x\":{}}", {":2:2: ", "'task'", "expected a string or a number"}},
      {"{\"label\":{},\"x\":{}}", {":2:2: ", "'label'", "expected a string or a number"}},
      {"{\"id\":[1],\"x\":{}}", {":2:2: ", "'id'", "expected a string or a number"}},
      {"{\"x\":{\"\xFF\":1}}", {":2:8: ", "0xff", "expected UTF-8"}},
  };
  for (const auto& [text, says] : all) {
    const std::string path = dir.write("bad.jsonl", "{\"x\":{}}\n" + text + "\n"), said = refusal_of(path);
    EXPECT_THAT(said, testing::StartsWith(path)) << text;
    for (const std::string& word : says) EXPECT_THAT(said, HasSubstr(word)) << text;
    EXPECT_EQ(said.find('\n'), said.npos) << "a message is one line";
  }
  EXPECT_THAT(refusal_of(dir.write("bad.jsonl", "")), HasSubstr("no example"));
}

TEST(JsonlReader, LabelTaskAndIdComeOnceOrNotAtAll) {
  const TempDir dir;
  for (const std::string key : {"label", "task", "id"})
    EXPECT_THAT(refusal_of(dir.write("bad.jsonl", "{\"" + key + "\":1,\"" + key + "\":-1,\"x\":{}}\n")),
                AllOf(HasSubstr("'" + key + "'"), HasSubstr("once")));
}

TEST(JsonlReader, VeryDeepJsonIsRefused) {
  const TempDir dir;
  EXPECT_THAT(refusal_of(dir.write("bad.jsonl", std::string(100'000, '[') + "\n")), HasSubstr(":1:"));
  EXPECT_THAT(refusal_of(dir.write("bad.jsonl", "{\"o\":" + std::string(100'000, '[') + std::string(100'000, ']') + "}\n")),
              HasSubstr(":1:"));
}

TEST(JsonlReader, SkippingCountsBadLinesAndReadsTheOthers) {
  const TempDir dir;
  ReadOptions o;
  o.skip_bad_lines = true;
  const auto reader = open_reader(
      dir.write("a.jsonl", "{\"id\":1,\"x\":{}}\nnonsense\n{\"id\":3}\n{\"id\":4,\"x\":{\"a\":\n{\"id\":5,\"x\":{}}\n"), o);
  std::vector<std::string> ids;
  for (Record r; reader->next(r);) ids.emplace_back(r.id);
  EXPECT_THAT(ids, ElementsAre("1", "5"));
  EXPECT_EQ(reader->skipped(), 3u);
}

TEST(JsonlReader, ALongFirstLineDoesNotHideTheKeysOfTheOthers) {
  const TempDir dir;
  const std::string other = "{\"id\":2,\"label\":0,\"subject\":\"lunch at noon, or later\",\"size\":7}\n";
  const std::string good = "{\"id\":1,\"label\":1,\"subject\":\"free money for you\",\"size\":1.5}\n";
  for (const std::string& first : {std::string(5'000'000, 'x') + "\n",  // skipped
                                   "{\"subject\":\"" + std::string(9'000'000, 'a') + "\",\"size\":2.5}\n"}) {
    ReadOptions o;
    o.skip_bad_lines = true;
    const auto reader = open_reader(dir.write("a.jsonl", first + good + other), o);
    EXPECT_TRUE(reader->schema().place("subject"));
    EXPECT_TRUE(reader->schema().place("size"));
    std::size_t rows = 0;
    for (Record r; reader->next(r);) rows += r.entries.size() == 1 && r.texts.size() == 1;
    EXPECT_EQ(rows + reader->skipped(), 3u);
    EXPECT_EQ(reader->left_out(), "");
  }
}

TEST(JsonlReader, ALongFirstLineLeavesRoomForKeysThatOthersHave) {
  const TempDir dir;
  const std::string few = "{\"label\":1,\"a\":1.5}\n",
                    good = "{\"label\":1,\"subject\":\"free money for you\",\"size\":1.5}\n";
  for (const std::string& first :
       {std::string(5'000'000, 'x') + "\n" + few, "{\"label\":1,\"a\":\"" + std::string(9'000'000, 'a') + "\"}\n"}) {
    ReadOptions o;
    o.skip_bad_lines = true;
    const auto reader = open_reader(dir.write("a.jsonl", first + good + good), o);
    for (Record r; reader->next(r);) {
    }
    EXPECT_TRUE(reader->schema().place("size"));
    EXPECT_EQ(reader->left_out(), "");
  }
}

TEST(JsonlReader, AMissingNumberIsComparedByValue) {
  const TempDir dir;
  ReadOptions o;
  o.missing = {"-999"};
  EXPECT_THAT(
      read_rows(dir.write("a.jsonl",
                          "{\"label\":1,\"v\":-999,\"w\":\"-999.0\"}\n"
                          "{\"label\":0,\"v\":2.5,\"w\":\"3\"}\n"
                          "{\"label\":1,\"v\":-999.0,\"w\":\"4\"}\n"),
                o),
      ElementsAre(Row{"", "", "1", "", false, {{"v=?", 1}, {"w=?", 1}}}, Row{"", "", "0", "", false, {{"v", 2.5}, {"w", 3}}},
                  Row{"", "", "1", "", false, {{"v=?", 1}, {"w", 4}}}));
  EXPECT_THAT(read_rows(dir.write("b.jsonl", "{\"label\":1,\"x\":{\"v\":-999,\"w\":-998,\"c\":\"-999\"}}\n"), o),
              ElementsAre(Row{"", "", "1", "", false, {{"v=?", 1}, {"w", -998}, {"c=?", 1}}}));
}

TEST(JsonlReader, IdsThatDoublesMergeStayDifferent) {
  const TempDir dir;
  std::string lines;
  for (int n = 0; n < 20; ++n)
    lines += "{\"label\":1,\"a\":\"1234567890123456" + std::to_string(n % 2 + 7) + "\",\"b\":1234567890123456" +
             std::to_string(n % 2 + 7) + "}\n";
  const auto rows = read_rows(dir.write("a.jsonl", lines));
  EXPECT_EQ(rows.at(0), (Row{"", "", "1", "", false, {{"a=12345678901234567", 1}, {"b=12345678901234567", 1}}}));
  EXPECT_EQ(rows.at(1), (Row{"", "", "1", "", false, {{"a=12345678901234568", 1}, {"b=12345678901234568", 1}}}));
}

TEST(JsonlReader, AFileOfTheNameThatBytesAreGivenChangesNothing) {
  const TempDir dir;
  std::string lines;
  for (int n = 0; n < 150; ++n) lines += n < 120 ? "{\"a\":" + std::to_string(n) + ".5}\n" : "{\"a\":1,\"late\":2.5}\n";
  const std::string_view bytes = lines;
  const auto columns = [&](const std::string& path) {
    ReadOptions o;
    o.format = "jsonl";
    o.bytes = &bytes;
    const auto reader = open_reader(path, o);
    return std::vector<std::string>(reader->columns().begin(), reader->columns().end());
  };
  EXPECT_EQ(columns(dir.write("examples", lines)), columns(dir.path() + "/none"));
}

}  // namespace
}  // namespace quorate::test
