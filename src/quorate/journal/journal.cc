#include "quorate/journal/journal.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

#include "quorate/base/hash.h"
#include "quorate/store/files.h"

namespace quorate {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPart = ".part";  // the end of the name of a segment without a durable header

[[noreturn]] void fail(const std::string& path, const std::string& what) {
  throw FileError(path + ": " + what + ": " + std::strerror(errno));
}

/// The lock of a folder, held until its descriptor is closed, however the process ends.
OpenFile lock_folder(const std::string& folder) {
  const std::string path = (fs::path(folder) / "lock").string();
  OpenFile out(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (!out && (errno == EROFS || errno == ENOSPC)) out = OpenFile(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!out) fail(path, "cannot be opened");
  char holder[24] = {};
  if (flock(out.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) fail(path, "cannot be locked; expected a file system with locks");
    std::size_t digits = 0;
    if (pread(out.get(), holder, sizeof holder - 1, 0) > 0) digits = std::strspn(holder, "0123456789");
    throw FileError(folder + ": process " + (digits > 0 ? std::string(holder, digits) : "unknown") +
                    " has this journal open; expected one process at a time: stop it, or use another --dir");
  }
  const std::string pid = std::to_string(getpid()) + "\n";
  if (ftruncate(out.get(), 0) != 0 || pwrite(out.get(), pid.data(), pid.size(), 0) < 0) {
    // The number only names the holder; the lock holds without it, on a full disk too.
  }
  return out;
}

}  // namespace

int Disk::open(const char* path, int flags) { return ::open(path, flags | O_CLOEXEC, 0666); }
ssize_t Disk::pwrite(int file, const void* bytes, std::size_t size, off_t offset) {
  return ::pwrite(file, bytes, size, offset);
}
int Disk::fdatasync(int file) { return ::fdatasync(file); }
int Disk::fsync(int folder) { return ::fsync(folder); }
int Disk::ftruncate(int file, off_t size) { return ::ftruncate(file, size); }
int Disk::rename(const char* from, const char* to) { return ::rename(from, to); }
int Disk::unlink(const char* path) { return ::unlink(path); }

Disk& Disk::real() {
  static Disk disk;
  return disk;
}

Journal::Journal(std::string dir, JournalOptions options, Disk& disk)
    : dir_(std::move(dir)), folder_(journal_folder(dir_)), options_(std::move(options)), disk_(disk) {
  (void)SegmentHeader{0, 0, options_.header}.to_bytes();  // throws for what no later segment could have either
  std::error_code error;
  const bool new_dir = !fs::exists(dir_, error);
  fs::create_directories(folder_, error);
  if (error) throw FileError(folder_ + ": cannot be created: " + error.message());
  lock_ = lock_folder(folder_);
  open_last();
  if (failed_.empty()) try {  // names that the process before gave may not be on disk yet
      sync_folder(folder_);
      sync_folder(dir_);
      if (new_dir) sync_folder((fs::path(dir_) / "..").string());
    } catch (const FileError& e) {
      if (!options_.may_fail || segments_.empty()) throw;
      failed_ = e.what();
    }
  written_ = durable_ = end_;
  if (!failed_.empty()) return;
  waiting_.reserve(options_.waiting_bytes);
  taken_.reserve(options_.waiting_bytes);
  thread_ = std::thread([this] { run(); });
}

Journal::~Journal() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  work_.notify_one();
  if (thread_.joinable()) thread_.join();
}

/// Finds the end of the journal, cuts a torn tail, and opens the last segment for writing.
void Journal::open_last() {
  segments_ = journal_segments(dir_);
  if (segments_.empty()) {
    end_ = options_.first;
    chain_ = hash64(options_.header);
    create_segment(end_);
    return;
  }
  JournalReader reader(dir_, segments_.back().first);
  while (reader.next()) {
  }
  end_ = reader.position().sequence;
  segments_.back().bytes = reader.position().offset;
  try {
    open_for_writing(reader);
  } catch (const FileError& e) {
    if (!options_.may_fail) throw;
    failed_ = e.what();
  }
}

void Journal::open_for_writing(JournalReader& reader) {
  const JournalReader::Position& end = reader.position();
  file_ = OpenFile(disk_.open(end.path.c_str(), O_RDWR));
  if (!file_) fail(end.path, "cannot be opened for writing");
  if (reader.torn_tail()) cut_tail(*reader.torn_tail());
  // After a failed fdatasync the system may take bytes for written that are not on disk; only another write changes that.
  copy_bytes(end.commit, end.offset - end.commit, file_.get(), end.commit, end.path);
  sync(file_.get(), end.path);
  const std::string part = (fs::path(folder_) / segment_name(end.sequence)).string() + std::string(kPart);
  if (file_exists(part) && disk_.unlink(part.c_str()) != 0) fail(part, "cannot be removed");
  path_ = end.path;
  key_ = reader.header().chain;
  chain_ = end.chain;
  segment_first_ = reader.header().first;
  offset_ = end.offset;
}

/// Copies the bytes to a file of their own before they are cut.
void Journal::cut_tail(const TornTail& tail) {
  const std::string name = (fs::path(folder_) / ("torn-" + fs::path(segment_name(tail.sequence)).stem().string())).string();
  OpenFile copy;
  for (int n = 1; !copy; ++n) {
    cut_file_ = n == 1 ? name : name + "-" + std::to_string(n);
    copy = OpenFile(disk_.open(cut_file_.c_str(), O_WRONLY | O_CREAT | O_EXCL));
    if (!copy && errno != EEXIST) fail(cut_file_, "cannot be created");
  }
  try {
    copy_bytes(tail.offset, tail.bytes, copy.get(), 0, cut_file_);
    sync(copy.get(), cut_file_);
    sync_folder(folder_);
  } catch (const FileError&) {  // half of it helps nobody
    disk_.unlink(cut_file_.c_str());
    throw;
  }
  if (disk_.ftruncate(file_.get(), static_cast<off_t>(tail.offset)) != 0) fail(tail.path, "cannot be shortened");
  cut_ = tail;
}

/// Copies bytes of the last segment to another file, or onto themselves.
void Journal::copy_bytes(std::uint64_t from, std::uint64_t bytes, int file, std::uint64_t to, const std::string& path) {
  std::string piece;
  for (std::uint64_t done = 0; done < bytes; done += piece.size()) {
    piece.resize(std::min<std::uint64_t>(bytes - done, std::uint64_t{1} << 18));
    const ssize_t n = pread(file_.get(), piece.data(), piece.size(), static_cast<off_t>(from + done));
    if (n <= 0) fail(path, "its bytes cannot be copied");
    piece.resize(static_cast<std::size_t>(n));
    write(file, piece, to + done, path);
  }
}

/// Starts a segment. It gets its name when its header is on disk.
void Journal::create_segment(std::uint64_t first) {
  const std::string path = (fs::path(folder_) / segment_name(first)).string(), part = path + std::string(kPart);
  const std::string header = SegmentHeader{first, chain_, options_.header}.to_bytes();
  OpenFile file(disk_.open(part.c_str(), O_RDWR | O_CREAT | O_TRUNC));
  if (!file) fail(path, "cannot be created");
  write(file.get(), header, 0, path);
  sync(file.get(), path);
  if (disk_.rename(part.c_str(), path.c_str()) != 0) fail(path, "cannot be created");
  sync_folder(folder_);
  file_ = std::move(file);
  path_ = path;
  key_ = chain_;
  segment_first_ = first;
  offset_ = header.size();
  const std::lock_guard lock(mutex_);
  if (!segments_.empty()) segments_.back().records = first - segments_.back().first;
  segments_.push_back({path, first, std::nullopt, header.size()});
}

void Journal::write(int file, std::string_view bytes, std::uint64_t offset, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t n = disk_.pwrite(file, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n == 0) errno = ENOSPC;
    if (n <= 0) fail(path, "cannot be written at offset " + std::to_string(offset));
    offset += static_cast<std::uint64_t>(n);
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
}

void Journal::sync(int file, const std::string& path) {
  if (disk_.fdatasync(file) != 0) fail(path, "cannot be written to the disk");
}

void Journal::sync_folder(const std::string& path) {
  const OpenFile folder(disk_.open(path.c_str(), O_RDONLY | O_DIRECTORY));
  if (!folder || disk_.fsync(folder.get()) != 0) fail(path, "the folder cannot be written to the disk");
}

std::uint64_t Journal::append(std::string_view payload) {
  if (payload.size() > kLongestPayload)
    throw UsageError("a record of " + std::to_string(payload.size()) + " bytes; expected at most " +
                     std::to_string(kLongestPayload));
  const std::size_t size = record_bytes(payload.size());
  std::unique_lock lock(mutex_);
  room_.wait(lock, [&] { return !failed_.empty() || waiting_.empty() || waiting_.size() + size <= options_.waiting_bytes; });
  if (!failed_.empty()) throw FileError(failed_);
  const auto length = static_cast<std::uint32_t>(payload.size());
  const std::size_t at = waiting_.size();
  waiting_.resize(at + size);
  std::memcpy(waiting_.data() + at, &length, sizeof length);
  payload.copy(waiting_.data() + at + RecordHeader::kBytes, payload.size());
  const std::uint64_t sequence = end_++;
  lock.unlock();
  if (at == 0) work_.notify_one();
  return sequence;
}

bool Journal::wait(std::uint64_t sequence) {
  std::unique_lock lock(mutex_);
  if (sequence >= end_)
    throw UsageError("record " + std::to_string(sequence) + " is not in the journal yet; expected a number below " +
                     std::to_string(end_));
  progress_.wait(lock, [&] { return durable_ > sequence || !failed_.empty(); });
  return durable_ > sequence;
}

bool Journal::begin_segment() {
  std::unique_lock lock(mutex_);
  segment_wanted_ = true;
  work_.notify_one();
  progress_.wait(lock, [this] { return !segment_wanted_ || !failed_.empty(); });
  return failed_.empty();
}

void Journal::begin_segment_now() {
  if (written_ == segment_first_) return;  // it has no record yet
  {
    const std::lock_guard lock(mutex_);
    segments_.back().bytes = offset_;
  }
  create_segment(written_);
}

/// The journal's thread.
void Journal::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    work_.wait(lock, [this] { return closing_ || segment_wanted_ || !waiting_.empty(); });
    if (waiting_.empty() && !segment_wanted_) return;
    const bool begin = segment_wanted_;
    taken_.swap(waiting_);
    lock.unlock();
    room_.notify_all();
    std::string failure;
    try {
      if (!taken_.empty()) commit(taken_);
      if (begin) begin_segment_now();
    } catch (const std::exception& e) {
      failure = e.what();
    }
    taken_.clear();
    lock.lock();
    if (failure.empty()) {
      durable_ = written_;
      segments_.back().bytes = offset_;
      if (begin) segment_wanted_ = false;
    } else {
      failure += "; record " + std::to_string(durable_) +
                 " and those after it are not acknowledged; open the journal again when the cause is removed";
      failed_ = failure;
    }
    const std::uint64_t durable = durable_;
    lock.unlock();
    progress_.notify_all();
    room_.notify_all();
    if (options_.on_durable) options_.on_durable(durable, failure);
    if (!failure.empty()) return;  // never again: a second fdatasync may succeed without the bytes
    lock.lock();
  }
}

/// Writes records, which have no headers yet, and waits until they are on disk.
void Journal::commit(std::string& records) {
  if (offset_ + records.size() > options_.segment_bytes && written_ > segment_first_) create_segment(written_);
  for (std::size_t at = 0; at < records.size();) {
    std::uint32_t length = 0;
    std::memcpy(&length, records.data() + at, sizeof length);
    const std::size_t size = record_bytes(length);
    seal_record({records.data() + at, size}, at == 0, written_++, key_, chain_);
    at += size;
  }
  write(file_.get(), records, offset_, path_);
  sync(file_.get(), path_);
  offset_ += records.size();
}

std::uint64_t Journal::durable() const {
  const std::lock_guard lock(mutex_);
  return durable_;
}

std::uint64_t Journal::end() const {
  const std::lock_guard lock(mutex_);
  return end_;
}

std::string Journal::failed() const {
  const std::lock_guard lock(mutex_);
  return failed_;
}

std::vector<Segment> Journal::segments() const {
  const std::lock_guard lock(mutex_);
  std::vector<Segment> out = segments_;
  out.back().records = durable_ - std::min(durable_, out.back().first);
  return out;
}

std::vector<Segment> Journal::drop_before(std::uint64_t sequence, const std::string& archive) {
  const std::lock_guard one_at_a_time(drop_mutex_);
  std::error_code error;
  if (!archive.empty()) fs::create_directories(archive, error);
  if (error) throw FileError(archive + ": cannot be created: " + error.message());
  std::vector<Segment> out;
  const std::vector<Segment> all = segments();
  for (std::size_t n = 0; n + 1 < all.size() && all[n + 1].first <= sequence; ++n) {
    const std::string& path = all[n].path;
    if (archive.empty()) {
      if (disk_.unlink(path.c_str()) != 0) fail(path, "cannot be removed");
    } else {
      const std::string target = (fs::path(archive) / fs::path(path).filename()).string();
      move_to(path, target);
      sync_folder(archive);
    }
    sync_folder(folder_);  // before the next one, so that no gap can remain
    const std::lock_guard lock(mutex_);
    segments_.erase(segments_.begin());
    out.push_back(all[n]);
  }
  return out;
}

/// Also to another file system: then it is there, whole and on disk, before it goes here.
void Journal::move_to(const std::string& path, const std::string& target) {
  const bool there = file_exists(target);  // maybe of a move that was interrupted
  if (there && hash_of_file(target) != hash_of_file(path))
    throw FileError(target + ": exists already; expected an archive without it");
  if (!there && disk_.rename(path.c_str(), target.c_str()) == 0) return;
  if (!there && errno != EXDEV) fail(path, "cannot be moved to " + target);
  if (!there) {
    const std::string part = target + std::string(kPart);
    const OpenFile from(disk_.open(path.c_str(), O_RDONLY)), to(disk_.open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC));
    if (!from || !to) fail(path, "cannot be copied to " + part);
    std::string piece(std::size_t{1} << 18, '\0');
    for (std::uint64_t at = 0;;) {
      const ssize_t n = pread(from.get(), piece.data(), piece.size(), static_cast<off_t>(at));
      if (n < 0) fail(path, "cannot be read");
      if (n == 0) break;
      write(to.get(), std::string_view(piece).substr(0, static_cast<std::size_t>(n)), at, part);
      at += static_cast<std::uint64_t>(n);
    }
    sync(to.get(), part);
    if (disk_.rename(part.c_str(), target.c_str()) != 0) fail(part, "cannot be renamed");
    sync_folder(fs::path(target).parent_path().string());
  }
  if (disk_.unlink(path.c_str()) != 0) fail(path, "cannot be removed");
}

std::uint64_t Journal::disk_bytes() const {
  std::uint64_t out = 0;
  std::error_code error;
  for (fs::directory_iterator at(folder_, error), end; !error && at != end; at.increment(error)) {
    std::error_code gone;  // dropped since the folder was read
    const std::uint64_t bytes = at->is_regular_file(gone) ? at->file_size(gone) : 0;
    if (!gone) out += bytes;
  }
  if (error) throw FileError(folder_ + ": cannot be read: " + error.message());
  return out;
}

}  // namespace quorate
