// The journal of `quorate serve`: an append-only file of records, each on disk before it is acknowledged.
//
// One thread of the journal's own writes commits: everything that waits, in one write and one fdatasync. Files are in the
// folder DIR/journal:
//   000000000000.qj      segments, named by their first record; a new one starts before a commit that would exceed
//   segment_bytes torn-000000000017    bytes that were cut from the end, after record 16; -2, -3, .. if there is one already
//   lock                 locked while a process has the journal open for writing, with its process id
#pragma once
#include <sys/types.h>

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "quorate/journal/reader.h"

namespace quorate {

/// The system calls by which a journal is written, with their results and errno. Tests replace some of them.
class Disk {
 public:
  virtual ~Disk() = default;
  virtual int open(const char* path, int flags);
  virtual ssize_t pwrite(int file, const void* bytes, std::size_t size, off_t offset);
  virtual int fdatasync(int file);
  virtual int fsync(int folder);
  virtual int ftruncate(int file, off_t size);
  virtual int rename(const char* from, const char* to);
  virtual int unlink(const char* path);

  static Disk& real();
};

struct JournalOptions {
  std::string header;       ///< text for the header of each new segment
  std::uint64_t first = 0;  ///< sequence number of the first record, if there is no journal yet
  /// A journal that is there and cannot be written, as on a full disk, is opened all the same, failed from the start.
  bool may_fail = false;
  /// Bytes after which a new segment starts; a commit is never divided.
  std::uint64_t segment_bytes = std::uint64_t{64} << 20;
  /// Bytes that may wait for the disk; append() waits while there are more. Memory is bounded by twice this, or by twice
  /// the longest record if that is longer.
  std::size_t waiting_bytes = std::size_t{16} << 20;
  /// Called by the journal's thread after each commit: every record before `durable` is on disk. Called once more after a
  /// failure, with its text: no other record will ever be acknowledged. `failure` is empty otherwise. It must not throw,
  /// append, wait, or destroy the journal.
  std::function<void(std::uint64_t durable, const std::string& failure)> on_durable = nullptr;
};

/// A journal that is open for writing. All members may be called from any thread.
class Journal {
 public:
  /// Opens the journal of `dir`, or creates one. Reads the last segment; cuts a torn tail, whose bytes are kept in a file
  /// beside it; writes the last commit again and waits until it is on disk, as the process before may have ended (or an
  /// fdatasync of it failed) before it was.
  /// Throws FileError (but see may_fail), also if another process has the journal open; JournalDamage, and then no file was
  /// changed;
  /// UsageError for a header text that is too long.
  Journal(std::string dir, JournalOptions options, Disk& disk = Disk::real());
  /// Writes all that waits, and returns after the last call of on_durable.
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  /// Adds a record and returns its sequence number, without waiting for the disk unless too much waits for it already.
  /// Records have the order of the calls. Cost: a copy of the payload.
  /// Throws UsageError for a payload longer than kLongestPayload; FileError with failed() if the journal has failed.
  std::uint64_t append(std::string_view payload);

  /// Waits until a record is on disk. False if the journal failed before: then the record may be on disk or not, and is
  /// never acknowledged. Throws UsageError for a number that append() has not returned yet.
  bool wait(std::uint64_t sequence);

  /// Begins a new segment after the records appended so far, so that all of them can be dropped, and waits until it is on
  /// disk. False if the journal failed before.
  bool begin_segment();

  std::uint64_t durable() const;  ///< every record before this number is on disk
  std::uint64_t end() const;      ///< the number of the next record

  /// Empty, or why a write or an fdatasync failed, in one line. A failed journal stays so, as nobody can know which bytes
  /// are on disk: open it again, once the cause is removed.
  std::string failed() const;

  const std::optional<TornTail>& cut() const { return cut_; }  ///< the torn tail that opening cut
  const std::string& cut_file() const { return cut_file_; }    ///< the file with its bytes

  std::vector<Segment> segments() const;  ///< the oldest first; records that wait are not counted

  /// Removes the segments whose records are all before `sequence`, the oldest first, never the last segment; moves them
  /// into the folder `archive` unless that is empty, which may be on another file system. Readers of later records work
  /// without them. Returns those removed. Throws FileError, also if the archive has another file of that name; segments
  /// before that one are removed then.
  std::vector<Segment> drop_before(std::uint64_t sequence, const std::string& archive = "");

  /// Bytes of all files in the folder of the journal. Cost: a look at each file.
  std::uint64_t disk_bytes() const;

 private:
  void open_last();
  void open_for_writing(JournalReader& reader);
  void move_to(const std::string& path, const std::string& target);
  void create_segment(std::uint64_t first);
  void cut_tail(const TornTail& tail);
  void copy_bytes(std::uint64_t from, std::uint64_t bytes, int file, std::uint64_t to, const std::string& path);
  void write(int file, std::string_view bytes, std::uint64_t offset, const std::string& path);
  void sync(int file, const std::string& path);
  void sync_folder(const std::string& path);
  void commit(std::string& records);
  void begin_segment_now();
  void run();

  const std::string dir_, folder_;
  const JournalOptions options_;
  Disk& disk_;
  OpenFile lock_;
  std::optional<TornTail> cut_;
  std::string cut_file_;

  // Of the journal's thread: the last segment.
  std::string path_;
  OpenFile file_;
  std::uint64_t key_ = 0, segment_first_ = 0;           // of its header: chain value and number
  std::uint64_t offset_ = 0, written_ = 0, chain_ = 0;  // after its last record
  std::string taken_;                                   // records that are being written

  mutable std::mutex mutex_;
  std::condition_variable room_, work_, progress_;
  std::vector<Segment> segments_;
  std::string waiting_;  // records without their headers, whose first four bytes are the length of the payload
  std::uint64_t end_ = 0, durable_ = 0;
  bool closing_ = false, segment_wanted_ = false;
  std::string failed_;
  std::mutex drop_mutex_;  // one drop at a time
  std::thread thread_;
};

}  // namespace quorate
