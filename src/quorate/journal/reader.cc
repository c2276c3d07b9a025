#include "quorate/journal/reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

namespace quorate {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kPiece = std::size_t{1} << 16;  // bytes read at a time

[[noreturn]] void fail(const std::string& path, const std::string& what) {
  throw FileError(path + ": " + what + ": " + std::strerror(errno));
}

/// Reads up to `bytes` at `offset`; fewer only at the end of the file.
std::size_t read_fully(int file, char* out, std::size_t bytes, std::uint64_t offset, const std::string& path) {
  std::size_t done = 0;
  while (done < bytes) {
    const ssize_t n = pread(file, out + done, bytes - done, static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail(path, "cannot be read");
    if (n == 0) break;
    done += static_cast<std::size_t>(n);
  }
  return done;
}

}  // namespace

OpenFile::~OpenFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

OpenFile& OpenFile::operator=(OpenFile&& other) noexcept {
  if (this != &other) {
    if (descriptor_ >= 0) close(descriptor_);
    descriptor_ = other.release();
  }
  return *this;
}

int OpenFile::release() { return std::exchange(descriptor_, -1); }

std::string journal_folder(const std::string& dir) { return (fs::path(dir) / "journal").string(); }

std::vector<Segment> journal_segments(const std::string& dir) {
  std::vector<Segment> out;
  const std::string folder = journal_folder(dir);
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const std::optional<std::uint64_t> first = segment_first(at->path().filename().string());
    if (!first) continue;
    std::error_code gone;  // dropped since the folder was read
    const std::uint64_t bytes = fs::file_size(at->path(), gone);
    if (!gone) out.push_back({at->path().string(), *first, std::nullopt, bytes});
  }
  if (error && error != std::errc::no_such_file_or_directory)
    throw FileError(folder + ": cannot be read: " + error.message());
  std::sort(out.begin(), out.end(), [](const Segment& a, const Segment& b) { return a.first < b.first; });
  for (std::size_t n = 1; n < out.size(); ++n) out[n - 1].records = out[n].first - out[n - 1].first;
  return out;
}

JournalReader::JournalReader(const std::string& dir, std::uint64_t from, std::uint64_t until)
    : dir_(dir), from_(from), until_(until) {
  const std::vector<Segment> segments = journal_segments(dir);
  if (segments.empty()) throw FileError(journal_folder(dir) + ": no journal; expected " + segment_name(0));
  const auto after =
      std::upper_bound(segments.begin(), segments.end(), from,
                       [](std::uint64_t sequence, const Segment& segment) { return sequence < segment.first; });
  if (after == segments.begin())
    throw UsageError(journal_folder(dir) + ": record " + std::to_string(from) + " is not in it; expected a record from " +
                     std::to_string(segments.front().first) + " on");
  open_segment(std::prev(after)->first);
  at_.chain = header_.chain;
}

/// Opens a segment and reads its header.
void JournalReader::open_segment(std::uint64_t first) {
  const std::uint64_t chain = at_.chain;
  at_ = {(fs::path(journal_folder(dir_)) / segment_name(first)).string(), 0, first, chain, 0};
  file_ = OpenFile(open(at_.path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file_ && errno == ENOENT) damaged("the segment is missing");
  if (!file_) fail(at_.path, "cannot be opened");
  last_ = true;  // unless still_last() finds another
  retried_ = 0;
  forget();
  try {
    const std::size_t size = SegmentHeader::size(fill(SegmentHeader::kFixed));
    header_ = SegmentHeader::from_bytes(fill(size));
    at_.offset = at_.commit = begin_ = size;
  } catch (const DataError& e) {
    damaged(e.what());
  }
  if (header_.first != first)
    damaged("its header begins at record " + std::to_string(header_.first) + "; expected the number of its name");
}

/// Up to `bytes` bytes of the file from the position on; fewer only at its end.
std::string_view JournalReader::fill(std::size_t bytes) {
  if (buffer_.size() - begin_ < bytes) {
    buffer_.erase(0, begin_);
    begin_ = 0;
  }
  while (buffer_.size() - begin_ < bytes) {  // the buffer grows only by bytes that are there
    const std::size_t old = buffer_.size();
    buffer_.resize(old + kPiece);
    buffer_.resize(old + read_fully(file_.get(), buffer_.data() + old, kPiece, at_.offset + old, at_.path));
    if (buffer_.size() < old + kPiece) break;
  }
  return std::string_view(buffer_).substr(begin_, bytes);
}

/// Makes fill() read the file again.
void JournalReader::forget() {
  buffer_.clear();
  begin_ = 0;
}

/// Whether the segment is the last one, still. If not, its bytes must be read again: some were written meanwhile.
bool JournalReader::still_last() {
  if (!last_) return false;
  const std::vector<Segment> segments = journal_segments(dir_);
  last_ = segments.empty() || segments.back().first <= header_.first;
  return last_;
}

std::optional<JournalReader::Record> JournalReader::next() {
  torn_.reset();
  while (at_.sequence < until_) {
    const std::string_view start = fill(RecordHeader::kBytes);
    std::uint64_t end = at_.offset + RecordHeader::kBytes;
    std::string problem = "its header does not match its check";
    if (start.empty()) {
      if (!last_) {
        follow_chain();
      } else if (still_last()) {
        break;
      } else {
        forget();
      }
      continue;
    }
    if (const auto header = RecordHeader::from_bytes(start, header_.chain)) {
      if (header->sequence != at_.sequence) damaged("its number is " + std::to_string(header->sequence));
      const std::size_t size = record_bytes(header->length), all = fill(size).size();
      end = at_.offset + size;
      if (all == size && payload_intact({buffer_.data() + begin_, size}, *header, at_.chain)) {
        const Record record{at_.sequence, std::string_view(buffer_).substr(begin_ + RecordHeader::kBytes, header->length)};
        if (header->begins_commit) at_.commit = at_.offset;
        at_.offset = end;
        at_.chain = header->hash;
        ++at_.sequence;
        begin_ += size;
        if (record.sequence < from_) continue;
        return record;
      }
      problem = all == size ? "its payload does not match its hash"
                            : "it ends after " + std::to_string(all) + " of " + std::to_string(size) + " bytes";
    } else if (start.size() < RecordHeader::kBytes) {
      problem =
          "it ends after " + std::to_string(start.size()) + " bytes; expected at least " + std::to_string(record_bytes(0));
    }
    if (last_ && !still_last()) {
      forget();
      continue;
    }
    if (!last_) damaged(problem);
    if (const std::uint64_t bytes = torn_bytes(end); bytes > 0) {
      torn_ = {at_.path, at_.offset, at_.sequence, bytes, problem};
      break;
    }
    // It may have been written while it was read. Damage stays.
    if (retried_ == at_.offset) damaged(problem);
    retried_ = at_.offset;
    forget();
  }
  retried_ = 0;
  if (at_.sequence < until_) forget();
  return std::nullopt;
}

/// Opens the segment after this one.
void JournalReader::follow_chain() {
  if (at_.sequence == header_.first) damaged("the segment has no record, although another follows");
  open_segment(at_.sequence);
  if (header_.chain != at_.chain)
    damaged("its header does not continue the segment before: chain value " + std::to_string(header_.chain) + "; expected " +
            std::to_string(at_.chain));
}

/// The bytes from the position on if they are an unfinished commit, by the rules above; 0 if they are damage.
/// end: where the bad record's header would end, or the record if its header is intact
std::uint64_t JournalReader::torn_bytes(std::uint64_t end) const {
  struct stat status {};
  if (fstat(file_.get(), &status) != 0) fail(at_.path, "cannot be read");
  const auto size = static_cast<std::uint64_t>(status.st_size);
  bool unfinished = end > size;
  std::string bytes;
  const auto read = [&](std::uint64_t from, std::uint64_t to) -> std::string_view {
    bytes.resize(to - from);
    bytes.resize(read_fully(file_.get(), bytes.data(), bytes.size(), from, at_.path));
    return bytes;
  };
  for (std::uint64_t block = at_.offset / kDiskBlock * kDiskBlock; !unfinished && block < end; block += kDiskBlock)
    unfinished =
        read(std::max(block, at_.offset), std::min(block + kDiskBlock, size)).find_first_not_of('\0') == std::string::npos;
  if (!unfinished) return 0;
  // A commit after it was written after this one was on disk.
  constexpr std::uint64_t kHeader = RecordHeader::kBytes;
  for (std::uint64_t at = end; at + kHeader <= size; at += kPiece) {
    const std::string_view piece = read(at, std::min(at + kPiece + kHeader - 1, size));
    for (std::size_t n = 0; n + kHeader <= piece.size(); ++n) {
      const auto header = RecordHeader::from_bytes(piece.substr(n), header_.chain);
      if (header && header->begins_commit && header->sequence > at_.sequence &&
          header->sequence - at_.sequence <= (size - at_.offset) / record_bytes(0))
        return 0;
    }
  }
  return size - at_.offset;
}

void JournalReader::damaged(const std::string& what) const {
  const std::string number = std::to_string(at_.sequence);
  throw JournalDamage(at_.path + ": offset " + std::to_string(at_.offset) + ": record " + number + " is damaged: " + what +
                          "; expected the record as it was written; `quorate journal verify --dir " + dir_ +
                          "` checks all, `quorate journal rebuild --until " + number + " --dir " + dir_ +
                          "` keeps the records before it",
                      at_.sequence);
}

}  // namespace quorate
