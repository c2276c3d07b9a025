#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/read.h"
#include "support/temp.h"

namespace quorate::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(VwReader, ReadsLabelsTagsNamespacesAndValues) {
  const TempDir dir;
  const std::string path = dir.write("a.vw",
                                     "1 'id1 |task t1 |f a b:0.5 c:d:2 |g:3 a:2 a\r\n"
                                     "\n"
                                     "-1 1.0 tag|task t2 | x 12 007:5\n"
                                     "'only|task t |f\n"
                                     "| a\n"
                                     "|f a | b |task u |f c\n"
                                     "spam | a");
  EXPECT_THAT(
      read_rows(path),
      ElementsAre(Row{"id1", "t1", "1", "", false, {{"f^a", 1}, {"f^b", 0.5}, {"f^c:d", 2}, {"g^a", 6}, {"g^a", 3}}},
                  Row{"tag", "t2", "-1", "", false, {{"x", 1}, {"12", 1}, {"007", 5}}}, Row{"only", "t", "", "", false, {}},
                  Row{"", "", "", "", false, {{"a", 1}}}, Row{"", "u", "", "", false, {{"f^a", 1}, {"b", 1}, {"f^c", 1}}},
                  Row{"", "", "spam", "", false, {{"a", 1}}}));
}

TEST(VwReader, AWordThatTouchesTheBarIsATag) {
  const TempDir dir;
  EXPECT_THAT(read_rows(dir.write("a.vw", "x| a\n1 x| a\n")),
              ElementsAre(Row{"x", "", "", "", false, {{"a", 1}}}, Row{"x", "", "1", "", false, {{"a", 1}}}));
  EXPECT_THAT(refusal_of(dir.write("b.vw", "1| a\n")), HasSubstr("'1'; expected a space after a label"));
}

TEST(VwReader, AValueMayBeAWord) {
  const TempDir dir;
  EXPECT_THAT(read_rows(dir.write("a.vw", "1 |place city:Berlin n:2\n")),
              ElementsAre(Row{"", "", "1", "", false, {{"place^city=Berlin", 1}, {"place^n", 2}}}));
}

TEST(VwReader, TheTaskMayLieInAnotherNamespace) {
  const TempDir dir;
  ReadOptions o;
  o.task = "user";
  EXPECT_THAT(read_rows(dir.write("a.vw", "1 |user u |task x\n"), o),
              ElementsAre(Row{"", "u", "1", "", false, {{"task^x", 1}}}));
}

TEST(VwReader, TakesAByteOrderMark) {
  const TempDir dir;
  EXPECT_THAT(read_rows(dir.write("a.vw",
                                  "\xEF\xBB\xBF"
                                  "1 | a\n")),
              ElementsAre(Row{"", "", "1", "", false, {{"a", 1}}}));
}

TEST(VwReader, FeaturesMayHaveNoNameAndExamplesAnImportance) {
  const TempDir dir;
  const auto reader = open_reader(dir.write("a.vw", "1 2 0.5 |n :5 a :6\n-1 0 | :7\n1 1 | b\n"));
  std::vector<Row> rows;
  for (Record r; reader->next(r);) rows.push_back(row_of(r));
  EXPECT_THAT(rows, ElementsAre(Row{"", "", "1", "", false, {{"n^:0", 5}, {"n^a", 1}, {"n^:1", 6}}, "", 2},
                                Row{"", "", "", "", false, {{":0", 7}}}, Row{"", "", "1", "", false, {{"b", 1}}}));
  EXPECT_THAT(reader->left_out(), HasSubstr("1 example has a base"));
}

TEST(VwReader, ANamespaceMayBeIgnored) {
  const TempDir dir;
  ReadOptions o;
  o.ignore = {"b"};
  EXPECT_THAT(read_rows(dir.write("a.vw", "1 |a x |b y z |c w\n"), o),
              ElementsAre(Row{"", "", "1", "", false, {{"a^x", 1}, {"c^w", 1}}}));
}

TEST(VwReader, ABadLineIsNamedWithPlaceValueAndWhatWasExpected) {
  const TempDir dir;
  const std::vector<std::pair<std::string, std::vector<std::string>>> all{
      {"1 1:2", {":2:1: ", "'1 1:2'", "expected VW text"}},
      {"1 -2 | a", {":2:3: ", "'-2'", "importance"}},
      {"1:2 | a", {":2:1: ", "'1:2'", "cost-sensitive"}},
      {"1:2:0.5 | a", {":2:1: ", "'1:2:0.5'", "contextual bandit"}},
      {"ca 185.121:0.657567:6.20426e-05 | a", {":2:4: ", "'185.121:0.657567:6.20426e-05'", "continuous actions"}},
      {"shared | a", {":2:1: ", "'shared'", "contextual bandit"}},
      {"1,2 | a", {":2:1: ", "'1,2'", "several"}},
      {"1 x y z | a", {":2:3: ", "'x'", "expected a number"}},
      {"1 1 0 y | a", {":2:7: ", "'y'", "at most"}},
      {"'tag 1 | a", {":2:1: ", "'tag", "right before"}},
      {"1 | a:1x", {":2:7: ", "'1x'", "expected a number"}},
      {"1 | a:", {":2:", "expected a number"}},
      {"1 | a:nan", {":2:7: ", "'nan'", "finite"}},
      {"1 | a:inf", {":2:7: ", "'inf'", "finite"}},
      {"1 | a:1e19", {":2:7: ", "'1e19'", "1e18"}},
      {"1 |f:x a", {":2:6: ", "'x'", "expected a number"}},
      {"1 |task", {":2:4: ", "'task'", "one feature"}},
      {"1 |task a b", {":2:11: ", "'b'", "one feature"}},
      {"1 | \xC0\xAF", {":2:5: ", "0xc0", "expected UTF-8"}},
      {"1 |f:1e18 a:1e18", {":2:", "1e18"}},
  };
  for (const auto& [text, says] : all) {
    const std::string path = dir.write("bad.vw", "1 | a\n" + text + "\n-1 | a\n"), said = refusal_of(path);
    EXPECT_THAT(said, testing::StartsWith(path)) << text;
    for (const std::string& word : says) EXPECT_THAT(said, HasSubstr(word)) << text;
    ReadOptions o;
    o.skip_bad_lines = true;
    EXPECT_EQ(read_rows(path, o).size(), 2u) << text;
  }
  EXPECT_THAT(refusal_of(dir.write("bad.vw", "\n")), HasSubstr("no example"));
}

}  // namespace
}  // namespace quorate::test
