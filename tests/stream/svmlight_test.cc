#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/read.h"
#include "support/temp.h"

namespace quorate::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(SvmlightReader, ReadsLabelsTasksFeaturesAndIds) {
  const TempDir dir;
  const std::string path = dir.write("a.svm",
                                     "# a comment line\n"
                                     "+1 qid:7 1:0.5 4294967293:-2e3 # id one \r\n"
                                     "\n"
                                     "  -1   task:a:b \t 0:1 2:+3\n"
                                     "? 5:1#x\n"
                                     "spam\n"
                                     "1 task:t");
  EXPECT_THAT(read_rows(path),
              ElementsAre(Row{"id one", "7", "+1", "", false, {{"1", 0.5}, {"4294967293", -2000}}},
                          Row{"", "a:b", "-1", "", false, {{"0", 1}, {"2", 3}}}, Row{"x", "", "", "", false, {{"5", 1}}},
                          Row{"", "", "spam", "", false, {}}, Row{"", "t", "1", "", false, {}}));
}

TEST(SvmlightReader, TakesAByteOrderMark) {
  const TempDir dir;
  EXPECT_THAT(read_rows(dir.write("a.svm", "\xEF\xBB\xBF+1 1:1\n")), ElementsAre(Row{"", "", "+1", "", false, {{"1", 1}}}));
}

TEST(SvmlightReader, ABadLineIsNamedWithPlaceValueAndWhatWasExpected) {
  const TempDir dir;
  const std::vector<std::pair<std::string, std::vector<std::string>>> all{
      {"1:2 3:4", {":2:1: ", "'1:2'", "expected a label first"}},
      {"1 5", {":2:3: ", "'5'", "expected index:value"}},
      {"1 5:", {":2:3: ", "'5:'", "expected index:value"}},
      {"1 :5", {":2:3: ", "':5'", "expected index:value"}},
      {"1 a:5", {":2:3: ", "'a'", "expected an index"}},
      {"1 -1:5", {":2:3: ", "'-1'", "expected an index"}},
      {"1 4294967294:5", {":2:3: ", "'4294967294'", "to 4294967293"}},
      {"1 99999999999999999999:5", {":2:3: ", "expected an index"}},
      {"1 1:1 1:2", {":2:7: ", "'1'", "each index once"}},
      {"1 3:1 2:2", {":2:7: ", "'2'", "ascending", "3"}},
      {"1 1:nan", {":2:5: ", "'nan'", "expected a finite number"}},
      {"1 1:inf", {":2:5: ", "'inf'", "expected a finite number"}},
      {"1 1:1e19", {":2:5: ", "'1e19'", "1e18"}},
      {"1 1:x", {":2:5: ", "'x'", "expected a number"}},
      {"1 1:2:3", {":2:5: ", "'2:3'", "expected a number"}},
      {"1 1:+-2", {":2:5: ", "'+-2'", "expected a number"}},
      {"1 1:++2", {":2:5: ", "'++2'", "expected a number"}},
      {"1 task:a task:b 1:1", {":2:10: ", "'task'", "expected an index"}},
      {"1 1:1 task:b", {":2:7: ", "'task'", "expected an index"}},
      {"1 1:1 # \xFF", {":2:9: ", "0xff", "expected UTF-8"}},
      {"{\"label\":1,\"x\":{}}", {":2:1: ", "expected a label first"}},
      {"id,task,label,a", {":2:", "expected"}},
  };
  for (const auto& [text, says] : all) {
    const std::string path = dir.write("bad.svm", "1 1:1\n" + text + "\n-1 1:1\n");
    ReadOptions o;
    std::string said = refusal_of(path, o);
    if (said == "accepted" && text == "id,task,label,a") continue;  // a label without features: refused as a label
    EXPECT_THAT(said, testing::StartsWith(path)) << text;
    for (const std::string& word : says) EXPECT_THAT(said, HasSubstr(word)) << text;
    o.skip_bad_lines = true;
    EXPECT_EQ(read_rows(path, o).size(), 2u) << text;
  }
  EXPECT_THAT(refusal_of(dir.write("bad.svm", "# nothing\n\n")), HasSubstr("no example"));
}

TEST(SvmlightReader, NumbersTooSmallForADoubleAreZero) {
  const TempDir dir;
  EXPECT_THAT(read_rows(dir.write("a.svm", "1 1:1e-999 2:-1E-500 3:4.9e-324\n")),
              ElementsAre(Row{"", "", "1", "", false, {{"1", 0}, {"2", 0}, {"3", 4.9e-324}}}));
}

TEST(SvmlightReader, NumbersTooSmallForADoubleAreZeroHoweverTheyAreWritten) {
  const TempDir dir;
  const auto reader = open_reader(dir.write("a.svm", "1 1:1e-400 2:0." + std::string(400, '0') + "1 3:-1E-999\n"));
  Record r;
  ASSERT_TRUE(reader->next(r));
  for (const Entry& e : r.entries) EXPECT_EQ(e.value, 0);
}

}  // namespace
}  // namespace quorate::test
