#include "quorate/stream/formats.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "support/read.h"
#include "support/temp.h"

namespace quorate::test {
namespace {

using testing::HasSubstr;

// --- which file, which format ---

TEST(Formats, AreKnownByNameAndByEnding) {
  EXPECT_EQ(format_named("csv"), Format::kCsv);
  EXPECT_EQ(format_named("vw"), Format::kVw);
  EXPECT_THROW(format_named("CSV"), UsageError);
  EXPECT_EQ(format_of("a/b.csv"), Format::kCsv);
  EXPECT_EQ(format_of("b.jsonl.gz"), Format::kJsonl);
  EXPECT_EQ(format_of("b.ndjson.xz"), Format::kJsonl);
  EXPECT_EQ(format_of("b.svm.zst"), Format::kSvmlight);
  EXPECT_EQ(format_of("b.libsvm"), Format::kSvmlight);
  EXPECT_EQ(format_of("b.vw"), Format::kVw);
  for (const std::string bad : {"b.txt", "b", "b.csv.bz2", "b.gz", "-", "csv"}) {
    try {
      format_of(bad);
      ADD_FAILURE() << bad;
    } catch (const UsageError& e) {
      EXPECT_THAT(e.what(), AllOf(HasSubstr(bad), HasSubstr("--format"), HasSubstr(".jsonl")));
    }
  }
}

TEST(Formats, AGivenFormatIsStrongerThanTheEnding) {
  const TempDir dir;
  ReadOptions o;
  o.format = "svmlight";
  EXPECT_EQ(read_rows(dir.write("a.csv", "1 1:2\n"), o).size(), 1u);
  o.format = "excel";
  EXPECT_THROW(open_reader(dir.at("a.csv"), o), UsageError);
}

TEST(FindData, FindsTheOneFileThatIsMeant) {
  const TempDir dir;
  const std::string train = dir.at("train");
  EXPECT_THROW(find_data(train), FileError);
  const std::string one = dir.write("train.vw.gz", "x");
  EXPECT_EQ(find_data(train), one);
  EXPECT_EQ(find_data(one), one);
  EXPECT_EQ(find_data("-"), "-");
  const std::string two = dir.write("train.csv", "x");
  try {
    find_data(train);
    FAIL() << "one of two taken";
  } catch (const FileError& e) {
    EXPECT_THAT(e.what(), AllOf(HasSubstr(one), HasSubstr(two)));
  }
  dir.write("train", "x");
  EXPECT_EQ(find_data(train), train) << "a file of just that name is meant first";
  std::filesystem::create_directory(dir.at("folder"));
  EXPECT_THROW(find_data(dir.at("folder")), FileError);
  const std::string beside = dir.write("folder.svm", "x");
  EXPECT_EQ(find_data(dir.at("folder")), beside);
}

// --- numbers ---

RC_GTEST_PROP(Formats, TheShortestNumberReadsBackTheSame, ()) {
  const double v = std::ldexp(static_cast<double>(*rc::gen::arbitrary<std::int64_t>()), *rc::gen::inRange(-1100, 0));
  RC_ASSERT(std::strtod(shortest(v).c_str(), nullptr) == v);
}

TEST(Formats, APlainNumberIsAnIndexAsOneWritesIt) {
  Index index = 7;
  EXPECT_TRUE(plain_number("0", &index) && index == 0);
  EXPECT_TRUE(plain_number("4294967293", &index) && index == kMaxIndex);
  for (const std::string bad : {"", "00", "01", "-1", "+1", "1.0", "1e3", "4294967294", "99999999999", " 1", "1 ", "0x1"})
    EXPECT_FALSE(plain_number(bad, &index)) << bad;
}

// --- writers: what is written reads back the same, or is refused ---

/// A record that owns its text.
struct Owned {
  Row row;
  std::vector<Entry> entries;
  Record record() const {
    Record r;
    r.id = row.id;
    r.task = row.task;
    r.label = row.label;
    r.text = row.text;
    r.has_text = row.has_text;
    r.entries = entries;
    return r;
  }
};

std::string arbitrary_word() {
  const auto parts = *rc::gen::container<std::vector<std::string>>(
      rc::gen::element<std::string>("a", "b", "7", "0", ":", "|", "'", "\"", ",", "#", "^", "=", "?", "\xC3\xA9",
                                    "\xE2\x82\xAC", " ", "\t", "\n", "\r", "\\", "\x01", "task", "-", "."));
  std::string out;
  for (const std::string& part : parts) out += part;
  return out;
}

/// Mostly tame, sometimes anything.
std::string word() {
  return *rc::gen::inRange(0, 3) == 0 ? arbitrary_word() : *rc::gen::element<std::string>("", "a", "b1", "c-d");
}

std::deque<std::string> kept;  // names of entries, for as long as a test lasts

Owned arbitrary_record(bool names) {
  Owned out;
  out.row.id = word();
  out.row.task = word();
  out.row.label = word();
  if (out.row.label == "?") out.row.label = "";  // the same thing
  out.row.has_text = *rc::gen::inRange(0, 4) == 0;
  if (out.row.has_text) out.row.text = arbitrary_word();
  for (int n = *rc::gen::inRange(0, 5); n > 0; --n) {
    const double value =
        *rc::gen::oneOf(rc::gen::just(1.0), rc::gen::just(-0.25), rc::gen::just(1e18), rc::gen::just(5e-324),
                        rc::gen::map(rc::gen::arbitrary<std::int32_t>(), [](std::int32_t v) { return v / 7.0; }));
    Entry e{Entry::Kind::kIndex, *rc::gen::element<Index>(0, 1, 2, 77, kMaxIndex), {}, value};
    if (names && *rc::gen::arbitrary<bool>()) {
      kept.push_back("n" + arbitrary_word());  // no name is a plain number: that would be an index
      e = {Entry::Kind::kName, 0, kept.back(), value};
    }
    out.entries.push_back(e);
  }
  out.row = row_of(out.record());
  return out;
}

/// Whether the writer took it; if so, it must read back the same.
bool survives(Format format, const std::string& ending, const Owned& in, bool sorted = false) {
  const auto writer = make_writer(format);
  std::string line;
  try {
    line = writer->line(in.record());
  } catch (const DataError&) {
    return false;
  }
  const TempDir dir;
  const std::string path = dir.write("a" + ending, line);
  std::vector<Row> out;
  try {
    out = read_rows(path);
  } catch (const Error& e) {
    RC_FAIL("written as <" + line + "> and refused: " + e.what());
  }
  RC_LOG() << "written as <" << line << ">\n";
  RC_ASSERT(out.size() == 1u);
  Row expected = in.row;
  if (sorted) {
    std::sort(expected.features.begin(), expected.features.end());
    std::sort(out[0].features.begin(), out[0].features.end());
  }
  RC_ASSERT(out[0] == expected);
  return true;
}

RC_GTEST_PROP(JsonlWriter, WhatItWritesReadsBackTheSame, ()) { survives(Format::kJsonl, ".jsonl", arbitrary_record(true)); }
RC_GTEST_PROP(SvmlightWriter, WhatItWritesReadsBackTheSame, ()) {
  survives(Format::kSvmlight, ".svm", arbitrary_record(*rc::gen::inRange(0, 8) == 0), true);
}
RC_GTEST_PROP(VwWriter, WhatItWritesReadsBackTheSame, ()) { survives(Format::kVw, ".vw", arbitrary_record(true)); }

RC_GTEST_PROP(CsvWriter, WhatItWritesReadsBackTheSame, ()) {
  Owned in = arbitrary_record(false);
  const std::vector<std::string> columns{"n one", "n,two", "77"};
  in.entries.clear();
  in.row.features.clear();
  for (const std::string& name : columns) {
    const double value = *rc::gen::arbitrary<std::int32_t>() / 3.0;
    in.row.features.emplace_back(name, value);
    if (value == 0 && *rc::gen::arbitrary<bool>()) continue;  // a column that a record does not name is 0
    if (name == "77")
      in.entries.push_back({Entry::Kind::kIndex, 77, {}, value});
    else
      in.entries.push_back({Entry::Kind::kName, 0, name, value});
  }
  const auto writer = make_writer(Format::kCsv, columns, in.row.has_text);
  const std::string text = writer->header() + writer->line(in.record());
  RC_LOG() << "written as <" << text << ">\n";
  const TempDir dir;
  const auto out = read_rows(dir.write("a.csv", text));
  RC_ASSERT(out.size() == 1u);
  RC_ASSERT(out[0] == in.row);
}

TEST(Writers, RefuseWhatTheirFormatCannotHold) {
  const auto refuses = [](Format format, const Record& r) {
    try {
      make_writer(format)->line(r);
      return false;
    } catch (const DataError&) {
      return true;
    }
  };
  const auto record = [](std::string_view id, std::string_view task, std::string_view label,
                         std::vector<Entry> entries = {}) {
    Record r;
    r.id = id;
    r.task = task;
    r.label = label;
    r.entries = std::move(entries);
    return r;
  };
  const Entry name{Entry::Kind::kName, 0, "word", 1}, index{Entry::Kind::kIndex, 3, {}, 1};
  Record text;
  text.text = "words";
  text.has_text = true;

  EXPECT_FALSE(refuses(Format::kSvmlight, record("an id", "t", "1", {index})));
  EXPECT_TRUE(refuses(Format::kSvmlight, text));
  EXPECT_TRUE(refuses(Format::kSvmlight, record("", "", "1", {name}))) << "a name for a feature";
  EXPECT_TRUE(refuses(Format::kSvmlight, record("", "", "two words")));
  EXPECT_TRUE(refuses(Format::kSvmlight, record("", "", "a:b")));
  EXPECT_TRUE(refuses(Format::kSvmlight, record("", "", "a\nb"))) << "a label of two lines";
  EXPECT_TRUE(refuses(Format::kSvmlight, record("", "two words", "1")));
  EXPECT_TRUE(refuses(Format::kSvmlight, record("a#b", "", "1")));
  EXPECT_TRUE(refuses(Format::kSvmlight, record("\ta", "", "1")));
  EXPECT_TRUE(refuses(Format::kSvmlight, record("", "", "1", {index, index}))) << "an index twice";

  EXPECT_FALSE(refuses(Format::kVw, record("id", "t", "1", {index, name, name})));
  EXPECT_TRUE(refuses(Format::kVw, text));
  EXPECT_TRUE(refuses(Format::kVw, record("two words", "", "1")));
  EXPECT_TRUE(refuses(Format::kVw, record("", "two words", "1")));
  EXPECT_TRUE(refuses(Format::kVw, record("", "", "a|b")));
  EXPECT_TRUE(refuses(Format::kVw, record("", "", "a\nb")));
  EXPECT_TRUE(refuses(Format::kVw, record("a\nb", "", "1")));
  EXPECT_TRUE(refuses(Format::kVw, record("", "", "1", {{Entry::Kind::kName, 0, "two words", 1}})));
  EXPECT_TRUE(refuses(Format::kVw, record("", "", "1", {{Entry::Kind::kName, 0, "task^x", 1}})))
      << "it would be read as the task";

  EXPECT_FALSE(refuses(Format::kJsonl, record("any\nthing", "|", "#", {index, name})));
  EXPECT_TRUE(refuses(Format::kJsonl, record("", "", "1", {name, name}))) << "a feature twice";
}

TEST(Writers, CsvRefusesAColumnThatWouldMeanSomethingElse) {
  EXPECT_THROW(make_writer(Format::kCsv, {"a", "label"})->header(), DataError);
  EXPECT_THROW(make_writer(Format::kCsv, {"a", "text"})->header(), DataError);
}

}  // namespace
}  // namespace quorate::test
