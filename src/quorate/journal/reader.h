// Reads a journal from any record on, and distinguishes a commit that was never finished from damage.
//
// A process that is killed leaves the first bytes of its last commit. A machine that loses power leaves any of its
// blocks, the others reading as zeros or missing at the end. Nothing else is a torn tail. In detail, for a bad record:
//   in a segment before the last, or followed by a commit's first record       damage: the next commit was written after
//   this
//                                                                              one was on disk
//   the file ends within its header, or before the length in an intact header  torn tail
//   one of its blocks of 512 bytes reads as zeros (from the record on)         torn tail
//   anything else                                                              damage
// So for a journal that was closed or whose process was killed:
//   - Cut after any byte of the last segment's records: the records wholly before the cut are read, the rest is reported as
//     torn. A cut between two records is a shorter journal, which only its owner can notice (a snapshot that is later).
//   - Cut within a segment's header, or in a segment before the last: damage. A segment is given its name after its header
//     is on disk, and a successor after its records are.
//   - Any bits of one byte flipped: damage, also in the very last record, with two exceptions in the last commit: a byte
//   that
//     becomes 0 and was the only one of its block, and a record whose payload fills a block with zeros.
//     Both read as torn. A journal that is opened for writing keeps the bytes that it cuts.
//   - Never is a payload returned that was not written as this record.
#pragma once
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quorate/base/error.h"
#include "quorate/journal/record.h"

namespace quorate {

/// A journal that is not as it was written. what() names file, offset, record, and the commands that help.
struct JournalDamage : DataError {
  JournalDamage(std::string_view what, std::uint64_t at) : DataError(what), sequence(at) {}

  std::uint64_t sequence;  ///< of the damaged record; those before it are intact, as far as they were read
};

/// A file that is closed at the end.
class OpenFile {
 public:
  explicit OpenFile(int descriptor = -1) : descriptor_(descriptor) {}
  ~OpenFile();
  OpenFile(OpenFile&& other) noexcept : descriptor_(other.release()) {}
  OpenFile& operator=(OpenFile&& other) noexcept;
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  explicit operator bool() const { return descriptor_ >= 0; }
  int get() const { return descriptor_; }
  int release();  ///< the descriptor, which is the caller's now

 private:
  int descriptor_;
};

/// The folder of the journal of `dir`: DIR/journal.
std::string journal_folder(const std::string& dir);

/// A file of a journal.
struct Segment {
  std::string path;
  std::uint64_t first = 0;               ///< sequence number of its first record
  std::optional<std::uint64_t> records;  ///< nothing if unknown: of the last segment of journal_segments()
  std::uint64_t bytes = 0;
};

/// The segments of the journal of `dir`, the oldest first, without reading them; none if there is no journal.
/// Throws FileError.
std::vector<Segment> journal_segments(const std::string& dir);

/// The end of a journal that is no whole record.
struct TornTail {
  std::string path;            ///< of the segment
  std::uint64_t offset = 0;    ///< in bytes, where it begins
  std::uint64_t sequence = 0;  ///< of its first record, the first one lost
  std::uint64_t bytes = 0;
  std::string reason;
};

/// One pass through a journal. Memory is bounded by twice the longest record and 64 KiB, whatever the files contain. A
/// journal may be read while it is written, also by another process: then the pass ends before the first record that is not
/// whole yet, and without `until` it may return records that are not on disk
/// yet.
class JournalReader {
 public:
  static constexpr std::uint64_t kAll = std::numeric_limits<std::uint64_t>::max();

  struct Record {
    std::uint64_t sequence = 0;
    std::string_view payload;  ///< valid until the next call of next()
  };
  /// The place after the last record read.
  struct Position {
    std::string path;          ///< of the segment
    std::uint64_t offset = 0;  ///< in bytes, in the segment
    std::uint64_t sequence = 0;
    std::uint64_t chain = 0;   ///< hash of the record before
    std::uint64_t commit = 0;  ///< offset of the commit that record belongs to
  };

  /// Starts at record `from` and stops before `until`, which may be the number of durable records of a journal at work.
  /// The chain is checked from the beginning of the segment with `from`, whose bytes before it are read by the first next().
  /// Throws FileError if there is no journal; UsageError if `from` is before its first segment; JournalDamage.
  explicit JournalReader(const std::string& dir, std::uint64_t from = 0, std::uint64_t until = kAll);

  /// The next record, or nothing at the end (also if the journal ends before `from`: see position()). After the end it
  /// may be called again, for records written since. Throws JournalDamage, after the records before it; FileError. After
  /// an exception the reader cannot be used.
  std::optional<Record> next();

  /// The next records end before `until`, which is not less than before.
  void set_until(std::uint64_t until) {
    until_ = until;
    forget();  // what was read ahead may have been written since
  }

  const SegmentHeader& header() const { return header_; }             ///< of the current segment
  const Position& position() const { return at_; }                    ///< at the end: the end of the journal
  const std::optional<TornTail>& torn_tail() const { return torn_; }  ///< set by next() when it finds one at the end

 private:
  void open_segment(std::uint64_t first);
  void follow_chain();
  bool still_last();
  std::string_view fill(std::size_t bytes);
  void forget();
  std::uint64_t torn_bytes(std::uint64_t end) const;
  [[noreturn]] void damaged(const std::string& what) const;

  std::string dir_;
  std::uint64_t from_, until_;
  Position at_;
  SegmentHeader header_;
  OpenFile file_;
  bool last_ = false;   // no segment was after this one when it was last looked at
  std::string buffer_;  // bytes of the file from at_.offset - begin_ on
  std::size_t begin_ = 0;
  std::uint64_t retried_ = 0;  // offset of a record that was read a second time before it was judged
  std::optional<TornTail> torn_;
};

}  // namespace quorate
