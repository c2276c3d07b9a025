#include "quorate/base/two_column_csv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "quorate/base/error.h"
#include "support/temp.h"

namespace quorate::test {
namespace {

using testing::HasSubstr;

class Pairs : public testing::Test {
 protected:
  /// "left|right" of every line, or the message.
  std::vector<std::string> read(const std::string& text) {
    const std::string file = dir_.write("p.csv", text);
    std::vector<std::string> out;
    try {
      read_pairs("map", file, "task", "group",
                 [&](const std::string& left, const std::string& right, const std::string& where) {
                   EXPECT_THAT(where, HasSubstr(file + ":"));
                   out.push_back(left + "|" + right + where.substr(file.size()));
                 });
    } catch (const DataError& e) {
      return {e.what()};
    }
    return out;
  }
  using Lines = std::vector<std::string>;
  TempDir dir_;
};

TEST_F(Pairs, EveryLineIsAPairAndKnowsItsPlace) {
  EXPECT_EQ(read("task,group\na,b\nc,d\n"), Lines({"a|b:2: ", "c|d:3: "}));
  EXPECT_EQ(read("task,group\na,b"), Lines({"a|b:2: "})) << "no end of the last line";
  EXPECT_EQ(read("task,group\n"), Lines());
}

TEST_F(Pairs, QuotesByteOrderMarksAndOtherLineEndsAreRead) {
  EXPECT_EQ(read("\xEF\xBB\xBFtask,group\r\n\r\n\"a,\"\"b\",c d\r\n"), Lines({"a,\"b|c d:3: "}));
  EXPECT_EQ(read("\n\ntask,group\n\na,b\n"), Lines({"a|b:5: "})) << "empty lines count as lines";
}

TEST_F(Pairs, AnythingElseIsRefusedWithItsLineAndWhatWasExpected) {
  const auto refused = [&](const std::string& text, const std::string& where, const std::string& expected) {
    const Lines said = read(text);
    ASSERT_EQ(said.size(), 1u) << text;
    EXPECT_THAT(said[0], AllOf(HasSubstr("p.csv" + where), HasSubstr(expected))) << text;
  };
  refused("", ": ", "empty; expected the header task,group");
  refused("\n\n", ": ", "empty; expected the header task,group");
  refused("group,task\n", ":1: ", "'group,task'; expected the header task,group");
  refused("task,group,more\n", ":1: ", "expected the header task,group");
  refused("task,group\na\n", ":2: ", "'a'; expected two fields, task,group");
  refused("task,group\na,b,c\n", ":2: ", "expected two fields");
  refused("task,group\na,\n", ":2: ", "expected two fields");
  refused("task,group\n,b\n", ":2: ", "expected two fields");
  refused("task,group\n\"a,b\n", ":2: ", "expected the quote in it to be closed");
  refused("task,group\na,b\n\xFF,b\n", ":3: ", "UTF-8");
}

TEST_F(Pairs, AFileThatIsNotNamedOrNotThereIsTheCallersFault) {
  const auto ignore = [](const std::string&, const std::string&, const std::string&) {};
  try {
    read_pairs("graph", "", "from", "to", ignore);
    FAIL() << "no file accepted";
  } catch (const UsageError& e) {
    EXPECT_THAT(e.what(), AllOf(HasSubstr("graph"), HasSubstr("file=PATH"), HasSubstr("from,to")));
  }
  try {
    read_pairs("graph", dir_.at("none.csv"), "from", "to", ignore);
    FAIL() << "a missing file accepted";
  } catch (const FileError& e) {
    EXPECT_THAT(e.what(), HasSubstr(dir_.at("none.csv")));
  }
}

}  // namespace
}  // namespace quorate::test
