#include "quorate/stream/source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "quorate/base/error.h"
#include "quorate/base/rng.h"
#include "quorate/store/files.h"
#include "support/allocations.h"
#include "support/temp.h"

namespace quorate::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> lines_of(const std::string& path) {
  std::vector<std::string> out;
  LineReader lines(path);
  for (std::string_view line; lines.next(line);) out.emplace_back(line);
  return out;
}

struct Packer {
  std::string name, ending, command;
};
void PrintTo(const Packer& p, std::ostream* os) { *os << p.command; }

class Packed : public testing::TestWithParam<Packer> {
 protected:
  void SetUp() override {
    if (std::system((GetParam().command + " --version >/dev/null 2>&1").c_str()) != 0) GTEST_SKIP() << "not installed";
  }
  /// The file packed as name + ending; returns the bytes.
  std::string pack(const std::string& name, std::string_view bytes) const {
    const std::string path = dir_.write(name, bytes), out = path + GetParam().ending;
    EXPECT_EQ(std::system((GetParam().command + " -c " + path + " > " + out).c_str()), 0);
    return read_file(out);
  }
  TempDir dir_;
};

TEST(LineReader, LinesEndInNewlineOrReturnNewlineOrTheFile) {
  const TempDir dir;
  EXPECT_THAT(lines_of(dir.write("a", "one\ntwo\r\n\nfour")), ElementsAre("one", "two", "", "four"));
  EXPECT_THAT(lines_of(dir.write("a", "one\n")), ElementsAre("one"));
  EXPECT_THAT(lines_of(dir.write("a", "\n")), ElementsAre(""));
  EXPECT_THAT(lines_of(dir.write("a", "a\rb\n\r\n")), ElementsAre("a\rb", "")) << "a return inside a line stays";
  EXPECT_THAT(lines_of(dir.write("a", "")), ElementsAre());
}

TEST(LineReader, LinesOfEveryLengthComeWhole) {
  const TempDir dir;
  std::string text;
  std::vector<std::string> expected;
  for (std::size_t n : {1u, 65535u, 0u, 65536u, 65537u, 3u, 200'000u, 131'072u, 7u}) {
    expected.push_back(std::string(n, static_cast<char>('a' + expected.size())));
    text += expected.back() + "\n";
  }
  EXPECT_EQ(lines_of(dir.write("a", text)), expected);
  LineReader lines(dir.at("a"));
  std::string_view line;
  for (std::uint64_t n = 1; n <= expected.size(); ++n) {
    ASSERT_TRUE(lines.next(line));
    EXPECT_EQ(lines.line_number(), n);
  }
  EXPECT_FALSE(lines.next(line));
  EXPECT_FALSE(lines.next(line));
  EXPECT_EQ(lines.consumed(), text.size());
}

TEST(LineReader, MemoryDoesNotGrowWithTheFile) {
  const TempDir dir;
  std::string text;
  while (text.size() < 3'000'000) text += "a line of some bytes\n";
  const std::string path = dir.write("a", text);
  reset_largest_allocation();
  const std::size_t before = live_bytes();
  LineReader lines(path);
  std::string_view line;
  while (lines.next(line)) ASSERT_LT(live_bytes() - before, 200'000u);
}

TEST(LineReader, AFileThatCannotBeOpenedIsNamed) {
  const TempDir dir;
  for (const std::string& path :
       {dir.at("missing"), dir.at("missing.gz"), dir.at("missing.xz"), dir.at("missing.zst"), dir.path()}) {
    try {
      LineReader lines(path);
      FAIL() << path;
    } catch (const FileError& e) {
      EXPECT_THAT(e.what(), HasSubstr(path));
    }
  }
}

std::string sample_text() {
  std::string out;
  Rng rng = make_rng(1, 0);
  for (int n = 0; n < 4000; ++n) out += "line " + std::to_string(n) + " " + std::to_string(rng()) + "\n";
  return out;
}

TEST_P(Packed, IsReadAsIfItWerePlain) {
  for (const std::string& text : {sample_text(), std::string("x\n"), std::string("no newline"), std::string()}) {
    const std::string bytes = pack("a", text);
    EXPECT_EQ(lines_of(dir_.at("a") + GetParam().ending), lines_of(dir_.at("a")));
    LineReader lines(dir_.at("a") + GetParam().ending);
    for (std::string_view line; lines.next(line);) {
    }
    EXPECT_EQ(lines.consumed(), bytes.size());
  }
}

TEST_P(Packed, OfVeryRepetitiveTextIsReadToTheEnd) {
  // Little input gives much output: the unpacker has everything to write and nothing left to read.
  for (const std::size_t size : {60'000u, 70'000u, 100'000u, 131'072u, 140'000u, 300'000u, 1'000'000u}) {
    std::string text(size, 'x');
    for (std::size_t n = 999; n < size; n += 1000) text[n] = '\n';
    pack("a", text);
    EXPECT_EQ(lines_of(dir_.at("a") + GetParam().ending), lines_of(dir_.at("a"))) << size;
  }
}

TEST_P(Packed, MayBeSeveralOneAfterTheOther) {
  const std::string one = pack("a", "one\ntwo\n"), two = pack("b", "three\n");
  EXPECT_THAT(lines_of(dir_.write("c" + GetParam().ending, one + two + one)),
              ElementsAre("one", "two", "three", "one", "two"));
}

TEST_P(Packed, TruncatedAnywhereIsADataErrorThatNamesTheFile) {
  const std::string whole = pack("a", sample_text());
  const std::string path = dir_.at("cut" + GetParam().ending);
  for (std::size_t n = 0; n < whole.size(); n += 1 + whole.size() / 50) {
    dir_.write("cut" + GetParam().ending, whole.substr(0, n));
    try {
      lines_of(path);
      ADD_FAILURE() << n << " of " << whole.size() << " bytes accepted";
    } catch (const DataError& e) {
      EXPECT_THAT(e.what(), AllOf(HasSubstr(path), HasSubstr("damaged")));
    }
  }
  dir_.write("cut" + GetParam().ending, whole.substr(0, whole.size() - 1));
  EXPECT_THROW(lines_of(path), DataError) << "one byte short";
}

TEST_P(Packed, DamagedOrOtherDataIsADataError) {
  std::string damaged = pack("a", sample_text());
  const std::string path = dir_.at("bad" + GetParam().ending);
  dir_.write("bad" + GetParam().ending, sample_text());
  EXPECT_THROW(lines_of(path), DataError) << "plain text under that name";
  for (std::size_t n = damaged.size() / 2; n < damaged.size() / 2 + 40; ++n) damaged[n] = static_cast<char>(~damaged[n]);
  dir_.write("bad" + GetParam().ending, damaged);
  EXPECT_THROW(lines_of(path), DataError);
}

TEST_P(Packed, UnderAnotherNameIsRefusedWithTheWayToReadIt) {
  const std::string bytes = pack("a", sample_text()), ending = GetParam().ending;
  const auto refusal = [&](const std::string& name, std::string_view content) -> std::string {
    try {
      lines_of(dir_.write(name, content));
      return "accepted";
    } catch (const DataError& e) {
      return e.what();
    }
  };
  EXPECT_THAT(refusal("b.csv", bytes), AllOf(HasSubstr("b.csv: "), HasSubstr("whose name ends in " + ending)));
  EXPECT_THAT(refusal("b.csv" + ending, sample_text()), HasSubstr("; expected a name without " + ending));
  const std::string other = ending == ".gz" ? ".xz" : ".gz";
  EXPECT_THAT(refusal("b.csv" + other, bytes), HasSubstr("; expected a name that ends in " + ending));
  EXPECT_THAT(refusal("c" + ending, pack("once", bytes)), HasSubstr("packed twice"));
}

INSTANTIATE_TEST_SUITE_P(Tools, Packed,
                         testing::Values(Packer{"gzip", ".gz", "gzip"}, Packer{"xz", ".xz", "xz"},
                                         Packer{"zstd", ".zst", "zstd -q"},
                                         Packer{"zstd_without_checksum", ".zst", "zstd -q --no-check"}),
                         [](const auto& p) { return p.param.name; });

TEST(LineReader, ALineOfHundredsOfMegabytesIsRefusedInBoundedMemory) {
  const TempDir dir;
  // gzip files may follow each other, so that 200 MiB in one line take 200 small parts.
  const std::string path = dir.write("m", std::string(1 << 20, 'x'));
  if (std::system(("gzip -9 -c " + path + " > " + path + ".gz").c_str()) != 0) GTEST_SKIP() << "no gzip";
  const std::string part = read_file(path + ".gz");
  dir.write("n", "\nnext line\n");
  ASSERT_EQ(std::system(("gzip -c " + dir.at("n") + " > " + dir.at("n.gz")).c_str()), 0);
  std::string packed;
  for (int n = 0; n < 200; ++n) packed += part;
  LineReader lines(dir.write("long.gz", packed + read_file(dir.at("n.gz"))));
  std::string_view line;
  reset_largest_allocation();
  try {
    lines.next(line);
    FAIL() << "accepted";
  } catch (const LineError& e) {
    EXPECT_THAT(e.what(), AllOf(HasSubstr(dir.at("long.gz") + ":1"), HasSubstr("67108864"), HasSubstr("expected")));
  }
  EXPECT_LE(largest_allocation(), 2 * LineReader::kLongest);
  ASSERT_TRUE(lines.next(line)) << "reading goes on after it";
  EXPECT_EQ(line, "next line");
  EXPECT_EQ(lines.line_number(), 2u);
  EXPECT_FALSE(lines.next(line));
}

TEST(LineReader, Utf16WithoutAMarkIsNamed) {
  const TempDir dir;
  std::string little, big;
  for (const char c : std::string("label,a\n1,2\n")) little.append({c, '\0'}), big.append({'\0', c});
  for (const auto& [encoding, text] : {std::pair{std::string("utf-16le"), little}, {"utf-16be", big}}) {
    const std::string path = dir.write("a", text);
    try {
      lines_of(path);
      ADD_FAILURE() << encoding << " accepted";
    } catch (const DataError& e) {
      EXPECT_THAT(e.what(), AllOf(HasSubstr(path), HasSubstr("--encoding " + encoding)));
    }
    LineReader lines(path, {}, encoding);
    std::string_view line;
    ASSERT_TRUE(lines.next(line));
    EXPECT_EQ(line, "label,a");
  }
}

TEST(LineReader, LinesOfAnotherEncodingMayBeLong) {
  const TempDir dir;
  const std::string text(400'000, 'x');
  std::string wide = "\xFF\xFE";
  for (const char c : text + "\n" + text + "\n") wide.append({c, '\0'});
  EXPECT_THAT(lines_of(dir.write("a", wide)), ElementsAre(text, text));
}

}  // namespace
}  // namespace quorate::test
