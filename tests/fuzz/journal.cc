// A journal of two segments, damaged as the input says: cut, overwritten, zeroed. Never is a record returned that was not
// written, a reader and a writer agree on the end, and a writer changes nothing where there is damage.
// Half of the inputs are a segment as it is, with the checksum of its header corrected.
#include "support/journal.h"

#include <array>

#include "fuzz.h"

namespace {

using namespace quorate;

/// The input as a segment whose header is intact, if its length allows.
std::string corrected(std::string_view input) {
  const std::string header = SegmentHeader{0, 0, ""}.to_bytes();
  std::string fixed(header.substr(0, SegmentHeader::kFixed));
  fixed.replace(24, 8, std::string(input.substr(0, 8)) + std::string(8 - std::min<std::size_t>(input.size(), 8), '\0'));
  std::uint64_t sum = hash64(fixed);
  for (int n = 0; n < 8; ++n, sum >>= 8) fixed += static_cast<char>(sum & 255);
  return fixed + std::string(input.substr(std::min<std::size_t>(input.size(), 8)));
}

void damage(std::string& bytes, fuzz::Input& in) {
  while (!in.empty() && !bytes.empty()) {
    const std::uint8_t kind = in.byte();
    std::size_t at = in.byte();
    at = (at << 8 | in.byte()) % bytes.size();
    if (kind % 4 == 0) {
      bytes.resize(at);
    } else if (kind % 4 == 1) {
      bytes[at] = static_cast<char>(bytes[at] ^ in.byte());
    } else if (kind % 4 == 2) {
      const std::size_t end = std::min(bytes.size(), at / kDiskBlock * kDiskBlock + kDiskBlock);
      std::fill(bytes.begin() + static_cast<long>(at), bytes.begin() + static_cast<long>(end), '\0');
    } else {
      bytes.insert(at, bytes.substr(at, in.byte()));
    }
  }
}

/// A writer either reports damage, which the reader has found too, and changes nothing, or continues the journal.
void open_for_writing(const test::TempDir& dir, const test::Found& before) {
  static test::FastDisk disk;
  JournalOptions options;
  options.waiting_bytes = 1000;
  const auto files = test::journal_files(dir);
  try {
    std::uint64_t end = 0;
    {
      Journal journal(dir.path(), options, disk);
      if (before.damage.empty())  // damage of an earlier segment concerns readers alone
        fuzz::require(journal.cut().has_value() == before.torn.has_value() && journal.end() == before.sequence,
                      "reader and writer agree on the tail");
      end = journal.end();
      fuzz::require(journal.wait(journal.append("after")), "a record after the cut is on disk");
    }
    const test::Found after = test::read_journal(dir.path(), journal_segments(dir.path()).back().first);
    fuzz::require(after.damage.empty() && !after.torn && after.sequence == end + 1 && after.payloads.back() == "after",
                  "the journal continues");
  } catch (const JournalDamage&) {
    fuzz::require(!before.damage.empty(), "reader and writer agree on damage");
    fuzz::require(test::journal_files(dir) == files, "no file is changed");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const test::TempDir dir;
  std::filesystem::remove_all(dir.at("journal"));
  fuzz::Input in(data, size);
  const bool as_it_is = in.flag();
  std::vector<std::string> written;
  if (as_it_is) {
    test::put(dir, segment_name(0), corrected(in.rest()));
  } else {
    test::SegmentMaker maker("{}");
    std::array<std::string, 2> segments;
    for (std::string& segment : segments) {
      test::Commits commits(1 + in.byte() % 4);
      for (auto& commit : commits)
        for (int n = in.byte() % 4; n >= 0; --n) {
          const std::size_t length = std::size_t{5} * in.byte();
          commit.push_back(std::to_string(written.size()) + std::string(length, static_cast<char>(in.byte())));
          written.push_back(commit.back());
        }
      const auto made = maker.next(commits);
      segment = made.name;
      test::put(dir, made.name, made.bytes);
    }
    const std::string& name = segments[in.flag()];
    std::string bytes = read_file(dir.at("journal/" + name));
    damage(bytes, in);
    test::put(dir, name, bytes);
  }
  fuzz::only_errors([&] {
    const test::Found found = test::read_journal(dir.path());
    for (std::size_t n = 0; n < found.size() && !as_it_is; ++n)
      fuzz::require(n < written.size() && found.payloads[n] == written[n], "a record is as it was written");
    fuzz::require(found.damage.find('\n') == std::string::npos, "an error is one line");
    open_for_writing(dir, found);
  });
  return 0;
}
