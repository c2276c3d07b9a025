#include "quorate/stream/example_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <tuple>

#include "quorate/base/error.h"
#include "quorate/base/rng.h"
#include "quorate/store/files.h"
#include "support/temp.h"

namespace quorate::test {
namespace {

using testing::HasSubstr;

/// All that comes of a file, errors included, as text that shows every bit.
std::string all_of(const std::string& path, const ReadOptions& options, bool ahead, const FeatureSettings& settings = {}) {
  Featurizer featurizer(settings);
  Labels labels;
  std::string out;
  try {
    ExampleReader examples(path, options, featurizer, labels, ahead);
    try {
      for (ExampleReader::Item item; examples.next(item);) {
        out += std::string(item.id) + "/" + std::string(item.task) + "/" + std::to_string(item.label.code()) + "/" +
               (item.time ? shortest(*item.time) : "-") + "/" + shortest(item.x.norm);
        for (std::size_t k = 0; k < item.x.size(); ++k)
          out += " " + std::to_string(item.x.at(k)) + ":" + shortest(item.x.value[k]);
        out += " @" + std::to_string(examples.line_number()) + " skipped " + std::to_string(examples.skipped()) +
               examples.first_skipped() + "\n";
      }
    } catch (const Error& e) {
      out += std::string("error: ") + e.what() + "\n";
    }
    return out + "end @" + std::to_string(examples.line_number()) + " " + std::to_string(examples.skipped()) +
           examples.first_skipped();
  } catch (const Error& e) {
    return e.what();
  }
}

void expect_same(const std::string& path, const ReadOptions& options = {}) {
  EXPECT_EQ(all_of(path, options, true), all_of(path, options, false)) << path;
}

/// Lines of several blocks; `bad` maps a line to what stands there instead.
std::string svmlight(int lines, const std::vector<std::pair<int, std::string>>& bad = {}) {
  Rng rng = make_rng(3, 0);
  std::string out;
  for (int n = 1; n <= lines; ++n) {
    std::string line =
        (below(2, rng) == 0 ? "1 task:t" : "-1 task:u") + std::to_string(below(5, rng)) + " time:" + std::to_string(n);
    Index index = 0;
    for (int k = 0; k < 30; ++k)
      line += " " + std::to_string(index += 1 + static_cast<Index>(below(900, rng))) + ":" +
              shortest(static_cast<double>(below(2000, rng)) / 16 - 50);
    for (const auto& [at, text] : bad)
      if (at == n) line = text;
    out += line + "\n";
  }
  return out;
}

TEST(ExampleReader, ReadAheadAreThoseReadOneByOne) {
  const TempDir dir;
  const std::string text = svmlight(5000);
  ASSERT_GT(text.size(), 1'000'000u) << "several blocks";
  expect_same(dir.write("a.svm", text));
  expect_same(dir.write("a.svm", text.substr(0, text.size() - 1)));
  expect_same(dir.write("a.svm", text.substr(0, text.size() / 2)));
  std::string vw = "id,label,a,text\n";
  for (int n = 0; n < 6000; ++n)
    vw += std::to_string(n) + ",1," + std::to_string(n % 7) + ",some words of w" + std::to_string(n) + " in a text\n";
  expect_same(dir.write("a.csv", vw));
}

TEST(ExampleReader, ReadAheadEndInTheSameErrorAtTheSameExample) {
  const TempDir dir;
  for (const int line : {1, 2, 700, 701, 1500, 4999, 5000})
    for (const char* bad : {"1 2:x", "spam 1:1", "0 1:1", "1 3:1 2:1"}) {
      const std::string path = dir.write("a.svm", svmlight(5000, {{line, bad}}));
      expect_same(path);
      EXPECT_THAT(all_of(path, {}, true), HasSubstr("error: " + path + ":")) << bad;
    }
}

TEST(ExampleReader, ReadAheadPassOverTheSameBadLines) {
  const TempDir dir;
  ReadOptions options;
  options.skip_bad_lines = true;
  expect_same(dir.write("a.svm", svmlight(5000, {{3, "1 2:x"}, {5, "spam 1:1"}, {2000, "1 2"}, {5000, "?:"}})), options);
  expect_same(dir.write("a.svm", svmlight(5000, {{3, "spam 1:1"}, {5, "1 2:x"}, {4999, "spam"}, {5000, "1 :"}})), options);
  expect_same(dir.write("a.svm", svmlight(5000, {{5000, "1 2:x"}})), options);
  expect_same(dir.write("a.svm", "1 x\n"), options);
}

TEST(ExampleReader, OfEmptyFilesAndVeryLongLinesAreTheSame) {
  const TempDir dir;
  expect_same(dir.write("a.svm", ""));
  expect_same(dir.write("a.svm", "\n\n# nothing\n"));
  std::string line = "1";
  for (int k = 1; k < 200'000; ++k) line += " " + std::to_string(k) + ":1";
  expect_same(dir.write("a.svm", "1 1:1\n" + line + "\n-1 2:1\n" + line));
}

TEST(ExampleReader, MayBeLeftBeforeTheEnd) {
  const TempDir dir;
  const std::string path = dir.write("a.svm", svmlight(5000));
  for (const int most : {0, 1, 700, 2000}) {
    Featurizer featurizer;
    Labels labels;
    ExampleReader examples(path, {}, featurizer, labels);
    ExampleReader::Item item;
    for (int n = 0; n < most; ++n) ASSERT_TRUE(examples.next(item));
    EXPECT_EQ(examples.line_number(), static_cast<std::uint64_t>(most));
  }
}

TEST(ExampleReader, TellWhoseTheNextOnesAre) {
  const TempDir dir;
  const std::string path = dir.write("a.svm", svmlight(5000));
  for (const bool ahead : {true, false}) {
    Featurizer featurizer;
    Labels labels;
    ExampleReader examples(path, {}, featurizer, labels, ahead);
    EXPECT_EQ(examples.coming_task(1), "") << "nothing is read yet";
    std::vector<std::pair<std::uint64_t, std::string>> told;
    std::vector<std::string> tasks{""};
    for (ExampleReader::Item item; examples.next(item); tasks.emplace_back(item.task))
      for (const std::uint64_t n : {1u, 3u, 5000u})
        if (const auto task = examples.coming_task(n); !task.empty()) told.emplace_back(tasks.size() + n, task);
    for (const auto& [line, task] : told) ASSERT_EQ(tasks.at(line), task);
    EXPECT_EQ(told.size() > 9000, ahead) << "most are known when a block is read ahead";
  }
}

std::vector<std::filesystem::path> files_in(const std::string& folder) {
  std::vector<std::filesystem::path> out;
  if (std::filesystem::exists(folder))
    for (const auto& entry : std::filesystem::directory_iterator(folder)) out.push_back(entry.path());
  return out;
}

TEST(ExampleReader, OfACacheAreThoseOfTheFile) {
  const TempDir dir;
  std::string csv = "label,task,time,a,b,word\n", vw;
  for (int n = 0; n < 3000; ++n) {
    csv += "1,t" + std::to_string(n % 7) + ",2026-11-21," + std::to_string(n) + ",0.5,w" + std::to_string(n % 11) + "\n";
    vw += std::string(n % 2 == 0 ? "1" : "-1") + " 'id" + std::to_string(n) + "|w a b:2 a w" + std::to_string(n) + "\n";
  }
  ReadOptions of_csv, skipping;
  of_csv.time = "time";
  of_csv.categorical = {"word"};
  skipping.skip_bad_lines = true;
  const std::tuple<std::string, ReadOptions, FeatureSettings> cases[] = {
      {dir.write("a.svm", svmlight(5000)), {}, {}},
      {dir.write("few.svm", svmlight(3)), {}, {.bias = false, .normalize = false}},
      {dir.write("bad.svm", svmlight(5000, {{7, "x"}, {4000, "1 0:"}, {5000, "3 1:1"}})), skipping, {}},
      {dir.write("a.csv", csv), of_csv, {}},
      {dir.write("a.vw", vw), {}, {.bits = 4}}};
  int n = 0;
  for (auto [path, options, settings] : cases)
    for (const bool ahead : {true, false}) {
      const std::string expected = all_of(path, options, ahead, settings);
      options.cache = dir.at("cache" + std::to_string(n++));
      EXPECT_EQ(all_of(path, options, ahead, settings), expected) << "made, " << path;
      ASSERT_EQ(files_in(options.cache).size(), 1u) << path;
      EXPECT_EQ(all_of(path, options, ahead, settings), expected) << "taken from it, " << path;
      EXPECT_EQ(all_of(path, options, !ahead, settings), expected) << "taken from it, " << path;
      EXPECT_EQ(files_in(options.cache).size(), 1u) << path;
    }
}

TEST(ExampleReader, OfACacheAreMadeAnewWhenTheFileOrTheWayToReadItChanged) {
  const TempDir dir;
  const std::string path = dir.write("a.svm", svmlight(1000));
  ReadOptions options;
  options.cache = dir.at("cache");
  std::size_t made = 0;
  const auto expect_new = [&](const FeatureSettings& settings) {
    ReadOptions plain = options;
    plain.cache.clear();
    EXPECT_EQ(all_of(path, options, true, settings), all_of(path, plain, true, settings));
    EXPECT_EQ(files_in(options.cache).size(), ++made);
  };
  expect_new({});
  expect_new({.bits = 10});
  expect_new({.bias = false});
  options.skip_bad_lines = true;
  expect_new({});
  dir.write("a.svm", svmlight(1001));
  expect_new({});
}

TEST(ExampleReader, MakeNoCacheOfWhatWasNotGoneThroughToItsEnd) {
  const TempDir dir;
  ReadOptions options;
  options.cache = dir.at("cache");
  expect_same(dir.write("bad.svm", svmlight(5000, {{4000, "1 0:"}})), options);
  EXPECT_TRUE(files_in(options.cache).empty()) << "an error";
  const std::string path = dir.write("a.svm", svmlight(5000));
  {
    Featurizer featurizer;
    Labels labels;
    ExampleReader examples(path, options, featurizer, labels);
    ExampleReader::Item item;
    for (int n = 0; n < 1000; ++n) ASSERT_TRUE(examples.next(item));
  }
  EXPECT_TRUE(files_in(options.cache).empty()) << "left";
  std::stop_source stop;
  options.stop = stop.get_token();
  stop.request_stop();
  all_of(path, options, true);
  EXPECT_TRUE(files_in(options.cache).empty()) << "stopped";
  options.stop = {};
  const std::string whole = all_of(path, options, true);
  EXPECT_EQ(files_in(options.cache).size(), 1u);
  options.stop = stop.get_token();
  EXPECT_EQ(all_of(path, options, true), whole) << "taken from it, nothing is left out";
}

TEST(ExampleReader, OfADamagedCacheAreRefused) {
  const TempDir dir;
  const std::string path = dir.write("a.svm", svmlight(1500));
  ReadOptions options;
  options.cache = dir.at("cache");
  all_of(path, options, true);
  const std::string file = files_in(options.cache).at(0).string(), whole = read_file(file);
  const auto refused = [&](const std::string& bytes) {
    OutputFile out(file);
    out.write(bytes);
    out.commit();
    const std::string said = all_of(path, options, true);
    EXPECT_THAT(said, HasSubstr(file));
    EXPECT_THAT(said, HasSubstr("delete it"));
  };
  Rng rng = make_rng(5, 0);
  for (int n = 0; n < 60; ++n) {
    std::string bytes = whole;
    const std::size_t at = n < 30 ? static_cast<std::size_t>(n) * 9 : below(bytes.size(), rng);
    bytes[at] = static_cast<char>(bytes[at] ^ (1 + static_cast<int>(below(255, rng))));
    refused(bytes);
  }
  for (const std::size_t size : {std::size_t{0}, std::size_t{10}, whole.size() / 2, whole.size() - 1})
    refused(whole.substr(0, size));
  refused(std::string(whole.size(), '\xff'));
}

TEST(ExampleReader, HaveACacheOnlyIfTheyCanBeReadAgainAndDependOnNothingElse) {
  const TempDir dir;
  ReadOptions options;
  options.cache = dir.at("cache");
  EXPECT_THAT(all_of(dir.write("a.svm", svmlight(3)), options, true, {.bits = 0}), HasSubstr("names are kept"));
  options.format = "svmlight";
  EXPECT_THAT(all_of("/dev/null", options, true), HasSubstr("can be read once only"));
  options.cache = dir.at("a.svm");
  EXPECT_THAT(all_of(dir.at("a.svm"), options, true), HasSubstr("expected a folder"));
}

TEST(ExampleReader, NamesGetTheirPlacesAsTheyAreTaken) {
  const TempDir dir;
  std::string text;
  for (int n = 0; n < 20'000; ++n) text += "1 | name" + std::to_string(n) + " b c d\n";
  Featurizer featurizer({.bits = 0}), other({.bits = 0});
  Labels labels;
  ExampleReader examples(dir.write("a.vw", text), {}, featurizer, labels);
  ExampleReader::Item item;
  for (int n = 0; n < 10; ++n) ASSERT_TRUE(examples.next(item));
  Record record;
  record.add_name("new", 1);
  const Features x = featurizer(record);
  EXPECT_EQ(x.index.back(), 1u + 10 + 3) << "ten names and b, c, d came before it";
}

}  // namespace
}  // namespace quorate::test
