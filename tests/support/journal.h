// Journals made for tests: their bytes, a disk without waiting, and all that a reader finds.
#pragma once
#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quorate/base/hash.h"
#include "quorate/journal/journal.h"
#include "quorate/store/files.h"
#include "temp.h"

namespace quorate::test {

/// A disk that does not wait: as safe as a process can see.
class FastDisk : public Disk {
 public:
  int fdatasync(int) override { return 0; }
  int fsync(int) override { return 0; }
};

using Commits = std::vector<std::vector<std::string>>;  // of payloads

/// Makes segments byte by byte, as Journal writes them.
class SegmentMaker {
 public:
  explicit SegmentMaker(std::string text, std::uint64_t first = 0)
      : text_(std::move(text)), sequence_(first), chain_(hash64(text_)) {}

  struct Made {
    std::string name, bytes;
    std::size_t header = 0;         // bytes of the header
    std::vector<std::size_t> ends;  // offset after each record
    std::size_t last_commit = 0;    // offset of the last commit
    std::uint64_t first = 0;
  };
  /// The next segment.
  Made next(const Commits& commits) {
    Made out{segment_name(sequence_), SegmentHeader{sequence_, chain_, text_}.to_bytes(), 0, {}, 0, sequence_};
    out.header = out.last_commit = out.bytes.size();
    const std::uint64_t key = chain_;
    for (const auto& commit : commits) {
      out.last_commit = out.bytes.size();
      for (std::size_t n = 0; n < commit.size(); ++n) {
        const std::size_t at = out.bytes.size();
        out.bytes += std::string(RecordHeader::kBytes, '\0') + commit[n] + '\0';
        seal_record({out.bytes.data() + at, out.bytes.size() - at}, n == 0, sequence_++, key, chain_);
        out.ends.push_back(out.bytes.size());
      }
    }
    return out;
  }

 private:
  std::string text_;
  std::uint64_t sequence_, chain_;
};

/// Writes a file of the journal of `dir`, in place: a file that is emptied first waits for the disk.
inline std::string put(const TempDir& dir, const std::string& name, std::string_view bytes) {
  std::filesystem::create_directories(dir.at("journal"));
  const std::string path = dir.at("journal/" + name);
  const OpenFile file(open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666));
  if (pwrite(file.get(), bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()) ||
      ftruncate(file.get(), static_cast<off_t>(bytes.size())) != 0)
    throw std::runtime_error("cannot write " + path);
  return path;
}

/// All that a reader finds.
struct Found {
  std::vector<std::string> payloads;
  std::optional<TornTail> torn;
  std::string damage;          // the message
  std::uint64_t sequence = 0;  // of the damage, else of the end

  std::size_t size() const { return payloads.size(); }
};

inline Found read_journal(const std::string& dir, std::uint64_t from = 0, std::uint64_t until = JournalReader::kAll) {
  Found out;
  try {
    JournalReader reader(dir, from, until);
    while (const auto record = reader.next()) {
      if (record->sequence != from + out.payloads.size()) throw std::logic_error("records out of order");
      out.payloads.emplace_back(record->payload);
    }
    out.torn = reader.torn_tail();
    out.sequence = reader.position().sequence;
  } catch (const JournalDamage& e) {
    out.damage = e.what();
    out.sequence = e.sequence;
  }
  return out;
}

/// Names and bytes of the files of the journal of `dir`, without its lock.
inline std::map<std::string, std::string> journal_files(const TempDir& dir) {
  std::map<std::string, std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator(dir.at("journal")))
    if (entry.path().filename() != "lock") out[entry.path().filename().string()] = read_file(entry.path().string());
  return out;
}

}  // namespace quorate::test
