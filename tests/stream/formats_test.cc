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

TEST(Formats, AreNamedInTheHelp) {
  const std::vector<ParamInfo> options = describe_params<ReadOptions>();
  const auto format = std::find_if(options.begin(), options.end(), [](const ParamInfo& o) { return o.name == "format"; });
  std::string names;
  for (const std::string_view name : names_of_formats()) {
    if (!names.empty()) names += name == names_of_formats().back() ? " or " : ", ";
    names += name;
  }
  EXPECT_TRUE(format->meaning.starts_with(names + ";")) << format->meaning;
}

TEST(Formats, AreKnownByNameAndByEnding) {
  EXPECT_EQ(&format_named("csv"), &FileFormat::kCsv);
  EXPECT_EQ(&format_named("vw"), &FileFormat::kVw);
  EXPECT_THROW(format_named("CSV"), UsageError);
  EXPECT_EQ(&format_of("a/b.csv"), &FileFormat::kCsv);
  EXPECT_EQ(&format_of("b.jsonl.gz"), &FileFormat::kJsonl);
  EXPECT_EQ(&format_of("b.ndjson.xz"), &FileFormat::kJsonl);
  EXPECT_EQ(&format_of("b.svm.zst"), &FileFormat::kSvmlight);
  EXPECT_EQ(&format_of("b.libsvm"), &FileFormat::kSvmlight);
  EXPECT_EQ(&format_of("b.vw"), &FileFormat::kVw);
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
  try {
    find_data(dir.path());
    FAIL() << "a directory taken";
  } catch (const FileError& e) {
    EXPECT_THAT(e.what(), HasSubstr("is a directory; expected a file"));
  }
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

// --- times ---

std::vector<std::pair<std::string, std::optional<double>>> times_of(const std::string& path, const std::string& column) {
  ReadOptions o;
  o.time = column;
  const auto reader = open_reader(path, o);
  std::vector<std::pair<std::string, std::optional<double>>> out;
  for (Record r; reader->next(r);) out.emplace_back(r.time, r.seconds);
  return out;
}

TEST(Times, EveryFormatHasThemAsWrittenAndInSeconds) {
  const TempDir dir;
  const std::vector<std::pair<std::string, std::optional<double>>> expected{
      {"1970-01-02T01:00:00+01:00", 86400}, {"", {}}, {"12.50", 12.5}};
  EXPECT_EQ(times_of(dir.write("a.csv", "task,when,a\nt,1970-01-02T01:00:00+01:00,1\nt,,1\nt,12.50,1\n"), "when"), expected);
  EXPECT_EQ(times_of(dir.write("a.jsonl",
                               "{\"when\":\"1970-01-02T01:00:00+01:00\",\"x\":{}}\n{\"when\":null,\"x\":{}}\n"
                               "{\"when\":\"12.50\",\"x\":{}}\n"),
                     "when"),
            expected);
  EXPECT_EQ(times_of(dir.write("a.vw", "1 |when 1970-01-02T01:00:00+01:00 |task t | a\n1 |when |a b\n1 | a |when 12.50\n"),
                     "when"),
            expected);
  for (const std::string column : {"", "when"})
    EXPECT_EQ(
        times_of(dir.write("a.svm", "1 task:t time:1970-01-02T01:00:00+01:00 1:2\n1 task:t 1:2\n1 time:12.50 task:t\n"),
                 column),
        expected);
  EXPECT_EQ(times_of(dir.write("b.jsonl", "{\"time\":86400,\"x\":{}}\n{\"time\":-0.5,\"x\":{}}\n{\"x\":{}}\n"), "time"),
            (std::vector<std::pair<std::string, std::optional<double>>>{{"86400", 86400}, {"-0.5", -0.5}, {"", {}}}));
}

TEST(Times, AColumnOfThatNameIsWhatItWasUnlessAskedFor) {
  const TempDir dir;
  EXPECT_EQ(read_rows(dir.write("a.csv", "time,a\n7,1\n")),
            (std::vector{Row{"", "", "", "", false, {{"time", 7}, {"a", 1}}}}));
  EXPECT_EQ(read_rows(dir.write("a.vw", "1 |time a |b c\n")),
            (std::vector{Row{"", "", "1", "", false, {{"time^a", 1}, {"b^c", 1}}}}));
  EXPECT_EQ(read_rows(dir.write("a.jsonl", "{\"time\":[\"anything\"],\"x\":{}}\n")),
            (std::vector{Row{"", "", "", "", false, {}}}));
}

TEST(Times, WhatIsNoTimeIsABadLineWhereTimesDecide) {
  const TempDir dir;
  ReadOptions o;
  o.time = "when";
  o.times_decide = true;
  for (const auto& [name, text, place] :
       {std::tuple{"a.csv", "a,when\n1,0\n1,soon\n", ":3:3: 'soon'"},
        {"a.jsonl", "{\"when\":0,\"x\":{}}\n{\"x\":{},\"when\":\"soon\"}\n", ":2:9: 'soon'"},
        {"a.jsonl", "{\"when\":0,\"x\":{}}\n{\"x\":{},\"when\":true}\n", ":2:9: key 'when'"},
        {"a.jsonl", "{\"when\":0,\"x\":{}}\n{\"x\":{},\"when\":1,\"when\":1}\n", ":2:9: key 'when'"},
        {"a.vw", "1 |when 0\n1 |when soon\n", ":2:9: 'soon'"},
        {"a.vw", "1 |when 0\n1 |when 1 2\n", ":2:11: '2'"},
        {"a.vw", "1 |when 0\n1 |when 1 |when 2\n", ":2:12: 'when'"},
        {"a.svm", "1 time:0\n1 task:t time:soon\n", ":2:15: 'soon'"},
        {"a.svm", "1 time:0\n1 time:1 time:2\n", ":2:10: 'time'"}}) {
    const std::string path = dir.write(name, text);
    EXPECT_THAT(refusal_of(path, o), AllOf(HasSubstr(path + place), HasSubstr("expected")));
    o.skip_bad_lines = true;
    EXPECT_EQ(read_rows(path, o).size(), 1u) << text;
    o.skip_bad_lines = false;
  }
  EXPECT_THAT(refusal_of(dir.write("b.csv", "a,time\n1,2026-11-21\n1,2\n1,3\n1,4\n")), HasSubstr("--time-column time"));
  EXPECT_THAT(refusal_of(dir.write("b.csv", "a,time\n1,2\n"), o), HasSubstr("no column 'when'"));
  o.task = "when";
  EXPECT_THROW(open_reader(dir.at("a.jsonl"), o), UsageError) << "one key, two meanings";
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
    r.time = row.time;
    r.weight = row.weight;
    if (row.has_text) r.texts.push_back({"text", row.text});
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
  out.row.label = *rc::gen::inRange(0, 8) == 0 ? *rc::gen::element<std::string>("shared", "1:2", "a:b:c:d", "1,2") : word();
  if (out.row.label == "?") out.row.label = "";  // the same thing
  out.row.time =
      *rc::gen::element<std::string>("", "", "0", "-1.50", "2026-11-21", "2026-11-21T13:15:00+01:00", "2026-11-21 13:15:00");
  if (!out.row.label.empty()) out.row.weight = *rc::gen::element(1.0, 1.0, 2.0, 0.125, 1000.0, 1e-9);
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

/// Times are read if the record has one; SVMlight needs not be told.
ReadOptions with_times(const Owned& in, const FileFormat& format) {
  ReadOptions out;
  if (!in.row.time.empty() && &format != &FileFormat::kSvmlight) out.time = "time";
  if (in.row.weight != 1) out.weight = "weight";
  return out;
}

/// Whether the writer took it; if so, it must read back the same.
bool survives(const FileFormat& format, const std::string& ending, const Owned& in, bool sorted = false) {
  const auto writer = format.write({});
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
    out = read_rows(path, with_times(in, format));
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

RC_GTEST_PROP(JsonlWriter, WhatItWritesReadsBackTheSame, ()) {
  survives(FileFormat::kJsonl, ".jsonl", arbitrary_record(true));
}
RC_GTEST_PROP(SvmlightWriter, WhatItWritesReadsBackTheSame, ()) {
  survives(FileFormat::kSvmlight, ".svm", arbitrary_record(*rc::gen::inRange(0, 8) == 0), true);
}
RC_GTEST_PROP(VwWriter, WhatItWritesReadsBackTheSame, ()) { survives(FileFormat::kVw, ".vw", arbitrary_record(true)); }

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
  const auto writer =
      FileFormat::kCsv.write({columns, in.row.has_text ? std::vector<std::string>{"text"} : std::vector<std::string>{},
                              !in.row.time.empty(), in.row.weight != 1});
  const std::string text = writer->header() + writer->line(in.record());
  RC_LOG() << "written as <" << text << ">\n";
  const TempDir dir;
  const auto out = read_rows(dir.write("a.csv", text), with_times(in, FileFormat::kCsv));
  RC_ASSERT(out.size() == 1u);
  RC_ASSERT(out[0] == in.row);
}

std::vector<std::pair<std::string, std::string>> texts_of(const Record& r) {
  std::vector<std::pair<std::string, std::string>> out;
  for (const RawText& t : r.texts) out.emplace_back(t.name, t.text);
  return out;
}

TEST(JsonlWriter, TextsOfOneNameAreAListThatReadsBackTheSame) {
  const TempDir dir;
  for (const std::vector<RawText>& texts : {std::vector<RawText>{{"text", "a b"}, {"text", "c d"}},
                                            {{"subject", "a"}, {"body", "b"}, {"body", ""}},
                                            {{"text", "a"}, {"body", "b"}},
                                            {{"body", "b"}}}) {
    Record r;
    r.texts = texts;
    const std::string line = FileFormat::kJsonl.write({})->line(r);
    const auto reader = open_reader(dir.write("a.jsonl", line));
    Record back;
    ASSERT_TRUE(reader->next(back)) << line;
    EXPECT_EQ(texts_of(back), texts_of(r)) << line;
    EXPECT_EQ(row_of(back).features, row_of(r).features) << line;
  }
}

TEST(CsvWriter, AMissingNumberIsAnEmptyCell) {
  Record r;
  r.add_category("v=?");
  r.add_category("7=?");
  r.add_category("colour=?");
  const auto writer = FileFormat::kCsv.write({.features = {"7", "v", "w", "colour=?"}});
  EXPECT_EQ(writer->line(r), ",,,,,0,1\n");
  r.clear();
  r.add_name("v=?", 1);
  EXPECT_EQ(FileFormat::kCsv.write({.features = {"v", "v=?"}})->line(r), ",,,0,1\n") << "a feature of that name";
}

TEST(Writers, RefuseWhatTheirFormatCannotHold) {
  const auto refuses = [](const FileFormat& format, const Record& r) {
    try {
      format.write({})->line(r);
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
  text.texts.push_back({"text", "words"});

  EXPECT_FALSE(refuses(FileFormat::kSvmlight, record("an id", "t", "1", {index})));
  EXPECT_TRUE(refuses(FileFormat::kSvmlight, text));
  EXPECT_TRUE(refuses(FileFormat::kSvmlight, record("", "", "1", {name}))) << "a name for a feature";
  EXPECT_TRUE(refuses(FileFormat::kSvmlight, record("", "", "two words")));
  EXPECT_TRUE(refuses(FileFormat::kSvmlight, record("", "", "a:b")));
  EXPECT_TRUE(refuses(FileFormat::kSvmlight, record("", "", "a\nb"))) << "a label of two lines";
  EXPECT_TRUE(refuses(FileFormat::kSvmlight, record("", "two words", "1")));
  EXPECT_TRUE(refuses(FileFormat::kSvmlight, record("a#b", "", "1")));
  EXPECT_TRUE(refuses(FileFormat::kSvmlight, record("\ta", "", "1")));
  EXPECT_TRUE(refuses(FileFormat::kSvmlight, record("", "", "1", {index, index}))) << "an index twice";

  EXPECT_FALSE(refuses(FileFormat::kVw, record("id", "t", "1", {index, name, name})));
  EXPECT_TRUE(refuses(FileFormat::kVw, text));
  EXPECT_TRUE(refuses(FileFormat::kVw, record("two words", "", "1")));
  EXPECT_TRUE(refuses(FileFormat::kVw, record("", "two words", "1")));
  EXPECT_TRUE(refuses(FileFormat::kVw, record("", "", "a|b")));
  EXPECT_TRUE(refuses(FileFormat::kVw, record("", "", "a\nb")));
  EXPECT_TRUE(refuses(FileFormat::kVw, record("a\nb", "", "1")));
  EXPECT_TRUE(refuses(FileFormat::kVw, record("", "", "1", {{Entry::Kind::kName, 0, "two words", 1}})));
  EXPECT_TRUE(refuses(FileFormat::kVw, record("", "", "1", {{Entry::Kind::kName, 0, "task^x", 1}})))
      << "it would be read as the task";

  Record timed = record("", "", "1");
  timed.time = "2026-11-21 13:15";
  EXPECT_TRUE(refuses(FileFormat::kSvmlight, timed));
  EXPECT_TRUE(refuses(FileFormat::kVw, timed));
  timed.time = "2026-11-21T13:15";
  EXPECT_FALSE(refuses(FileFormat::kSvmlight, timed));
  EXPECT_FALSE(refuses(FileFormat::kVw, timed));
  timed.entries = {{Entry::Kind::kName, 0, "time^x", 1}};
  EXPECT_TRUE(refuses(FileFormat::kVw, timed)) << "it would be read as the time";
  timed.time = {};
  EXPECT_FALSE(refuses(FileFormat::kVw, timed)) << "without a time it is a feature";

  EXPECT_FALSE(refuses(FileFormat::kJsonl, record("any\nthing", "|", "#", {index, name})));
  EXPECT_TRUE(refuses(FileFormat::kJsonl, record("", "", "1", {name, name}))) << "a feature twice";

  text.texts.push_back({"text", "more"});
  EXPECT_THROW(FileFormat::kCsv.write({.features = {}, .texts = {"text"}})->line(text), DataError) << "two texts";
}

TEST(Writers, CsvRefusesAColumnThatWouldMeanSomethingElse) {
  EXPECT_THROW(FileFormat::kCsv.write({.features = {"a", "label"}})->header(), DataError);
  EXPECT_THROW(FileFormat::kCsv.write({.features = {"a", "text"}})->header(), DataError);
  EXPECT_THROW(FileFormat::kCsv.write({.features = {"a", "time"}, .time = true})->header(), DataError);
  EXPECT_EQ(FileFormat::kCsv.write({.features = {"a", "time"}})->header(), "id,task,label,a,time\n");
}

}  // namespace
}  // namespace quorate::test
