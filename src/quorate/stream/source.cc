#include "quorate/stream/source.h"

#include <fcntl.h>
#include <iconv.h>
#include <lzma.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <tuple>
#include <utility>

#include "quorate/base/error.h"

namespace quorate {
namespace {

constexpr std::size_t kChunk = std::size_t{1} << 16;

struct Packing {
  std::string_view name, ending, begins;  // begins: with these bytes
  std::string_view unpack;                // a command that unpacks standard input
};
constexpr Packing kGzip{"gzip", ".gz", "\x1F\x8B", "gunzip"};
constexpr Packing kXz{"xz", ".xz", {"\xFD\x37zXZ\0", 6}, "unxz"};
constexpr Packing kZstd{"zstd", ".zst", "\x28\xB5\x2F\xFD", "unzstd"};

/// The packing of data that begin so, or nullptr.
const Packing* packing_of(std::string_view begun) {
  for (const Packing* packing : {&kGzip, &kXz, &kZstd})
    if (begun.starts_with(packing->begins)) return packing;
  return nullptr;
}

std::string name_of(const std::string& path) { return path == "-" ? "standard input" : path; }

class Plain final : public ByteSource {
 public:
  Plain(const std::string& path, std::uint64_t* consumed, std::stop_token stop)
      : path_(name_of(path)), consumed_(consumed), stop_(std::move(stop)) {
    file_ = path == "-" ? STDIN_FILENO : open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file_ < 0) throw FileError(path + ": cannot be opened: " + std::strerror(errno));
    struct stat info {};
    if (fstat(file_, &info) == 0 && S_ISDIR(info.st_mode)) {
      close(file_);
      throw FileError(path + ": is a directory; expected a file");
    }
  }
  ~Plain() override {
    if (file_ != STDIN_FILENO) close(file_);
  }
  Plain(const Plain&) = delete;
  Plain& operator=(const Plain&) = delete;

  std::size_t read(char* out, std::size_t room) override {
    for (;;) {
      pollfd waiting{file_, POLLIN, 0};
      if (stop_.stop_possible() && poll(&waiting, 1, 50) <= 0) {  // nothing yet, or a signal
        if (stop_.stop_requested()) return 0;
        continue;
      }
      const ssize_t n = ::read(file_, out, room);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) throw FileError(path_ + ": cannot be read: " + std::strerror(errno));
      *consumed_ += static_cast<std::size_t>(n);
      return static_cast<std::size_t>(n);
    }
  }

 private:
  std::string path_;
  std::uint64_t* consumed_;
  std::stop_token stop_;
  int file_;
};

/// What the three packers have in common: packed bytes come from `packed_` through `input_`.
class Unpacker : public ByteSource {
 protected:
  Unpacker(const std::string& path, std::uint64_t* consumed, const Packing& packing)
      : path_(path), packing_(packing), packed_(path, consumed, {}), input_(kChunk) {}

  std::size_t more() {
    const std::size_t n = packed_.read(input_.data(), input_.size());
    if (begun_.size() < kXz.begins.size()) begun_.append(input_.data(), std::min(n, kXz.begins.size()));
    return n;
  }
  [[noreturn]] void damaged(const std::string& why) const {
    const std::string name(packing_.name), ending(packing_.ending);
    if (begun_.starts_with(packing_.begins) || packing_.begins.starts_with(begun_))
      throw DataError(path_ + ": damaged " + name + " data: " + why);
    const Packing* const other = packing_of(begun_);
    const std::string expected =
        other == nullptr ? "a name without " + ending : "a name that ends in " + std::string(other->ending);
    throw DataError(path_ + ": not " + name + " data" + (other == nullptr ? "" : ", but " + std::string(other->name)) +
                    "; expected " + expected);
  }
  [[noreturn]] void truncated() const { damaged("the file ends too early (truncated)"); }

  std::string path_;
  const Packing& packing_;
  Plain packed_;
  std::string begun_;  // the first bytes
  std::vector<char> input_;
};

class Gzip final : public Unpacker {
 public:
  Gzip(const std::string& path, std::uint64_t* consumed) : Unpacker(path, consumed, kGzip) {
    if (inflateInit2(&z_, 15 + 16) != Z_OK) throw FileError(path + ": gzip cannot start");
  }
  ~Gzip() override { inflateEnd(&z_); }

  std::size_t read(char* out, std::size_t room) override {
    z_.next_out = reinterpret_cast<Bytef*>(out);
    z_.avail_out = static_cast<uInt>(room);
    while (z_.avail_out == room) {
      if (z_.avail_in == 0) {
        z_.next_in = reinterpret_cast<Bytef*>(input_.data());
        z_.avail_in = static_cast<uInt>(more());
        if (z_.avail_in == 0) {
          if (!between_) truncated();
          return 0;
        }
      }
      if (between_ && seen_any_ && inflateReset(&z_) != Z_OK) damaged("a second part cannot start");
      between_ = false;
      seen_any_ = true;
      const int r = inflate(&z_, Z_NO_FLUSH);
      if (r == Z_STREAM_END)
        between_ = true;  // gzip files may be several, one after the other
      else if (r != Z_OK && r != Z_BUF_ERROR)
        damaged(z_.msg == nullptr ? "not gzip" : z_.msg);
    }
    return room - z_.avail_out;
  }

 private:
  z_stream z_{};
  bool between_ = false, seen_any_ = false;
};

class Xz final : public Unpacker {
 public:
  Xz(const std::string& path, std::uint64_t* consumed) : Unpacker(path, consumed, kXz) {
    if (lzma_stream_decoder(&z_, UINT64_MAX, LZMA_CONCATENATED) != LZMA_OK) throw FileError(path + ": xz cannot start");
  }
  ~Xz() override { lzma_end(&z_); }

  std::size_t read(char* out, std::size_t room) override {
    z_.next_out = reinterpret_cast<std::uint8_t*>(out);
    z_.avail_out = room;
    while (z_.avail_out == room && !done_) {
      if (z_.avail_in == 0 && !finishing_) {
        z_.next_in = reinterpret_cast<const std::uint8_t*>(input_.data());
        z_.avail_in = more();
        finishing_ = z_.avail_in == 0;
      }
      const lzma_ret r = lzma_code(&z_, finishing_ ? LZMA_FINISH : LZMA_RUN);
      if (r == LZMA_STREAM_END)
        done_ = true;
      else if (r == LZMA_BUF_ERROR)
        truncated();
      else if (r != LZMA_OK)
        damaged(r == LZMA_FORMAT_ERROR ? "not xz" : "error " + std::to_string(r));
    }
    return room - z_.avail_out;
  }

 private:
  lzma_stream z_ = LZMA_STREAM_INIT;
  bool done_ = false, finishing_ = false;
};

class Zstd final : public Unpacker {
 public:
  Zstd(const std::string& path, std::uint64_t* consumed) : Unpacker(path, consumed, kZstd), z_(ZSTD_createDStream()) {}
  ~Zstd() override { ZSTD_freeDStream(z_); }
  Zstd(const Zstd&) = delete;
  Zstd& operator=(const Zstd&) = delete;

  std::size_t read(char* out, std::size_t room) override {
    ZSTD_outBuffer to{out, room, 0};
    while (to.pos == 0) {
      if (from_.pos == from_.size) {
        from_ = {input_.data(), more(), 0};
        if (from_.size == 0) {
          if (pending_ != 0) truncated();
          return 0;
        }
      }
      pending_ = ZSTD_decompressStream(z_, &to, &from_);
      if (ZSTD_isError(pending_)) damaged(ZSTD_getErrorName(pending_));
    }
    return to.pos;
  }

 private:
  ZSTD_DStream* z_;
  ZSTD_inBuffer from_{nullptr, 0, 0};
  std::size_t pending_ = 1;  // 0: at the end of a frame
};

/// Text of another encoding as UTF-8.
class Decoder final : public ByteSource {
 public:
  /// `begun`: what was read of it before.
  Decoder(std::unique_ptr<ByteSource> source, std::string path, const std::string& encoding, std::string_view begun = {})
      : source_(std::move(source)), path_(std::move(path)), encoding_(encoding), input_(begun) {
    std::string name = encoding;
    std::erase(name, '-');
    for (const std::string& one : {encoding, name})
      if (iconv_ = iconv_open("UTF-8", one.c_str()); iconv_ != kNone) return;
    throw UsageError("--encoding " + quoted_value(encoding) + ": expected one that iconv knows, as latin-1 or utf-16");
  }
  ~Decoder() override { iconv_close(iconv_); }
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  std::size_t read(char* out, std::size_t room) override {
    if (text_.empty() && !decode()) return 0;
    const std::size_t n = text_.copy(out, room);
    text_.remove_prefix(n);
    return n;
  }

 private:
  static inline const iconv_t kNone = reinterpret_cast<iconv_t>(-1);  // NOLINT: as iconv_open says it
  [[noreturn]] void wrong(const char* why) const { throw DataError(path_ + ": as " + encoding_ + " the text " + why); }

  /// More text_; false at the end.
  bool decode() {
    char* out = output_.data();
    std::size_t room = output_.size();
    while (out == output_.data()) {
      if (wants_more_ || input_.empty()) {
        const std::size_t kept = input_.size();
        input_.resize(kept + kChunk);
        const std::size_t n = source_->read(input_.data() + kept, kChunk);
        input_.resize(kept + n);
        if (n == 0 && kept == 0) return false;
        if (n == 0) wrong("ends in the middle of a character");
      }
      char* from = input_.data();
      std::size_t left = input_.size();
      const bool done = iconv(iconv_, &from, &left, &out, &room) != static_cast<std::size_t>(-1);
      if (!done && errno == EILSEQ) wrong("has bytes that are none of it");
      wants_more_ = !done && errno == EINVAL;
      input_.erase(0, input_.size() - left);
    }
    text_ = {output_.data(), out};
    return true;
  }

  std::unique_ptr<ByteSource> source_;
  std::string path_, encoding_, input_;
  iconv_t iconv_ = kNone;
  bool wants_more_ = false;
  std::vector<char> output_ = std::vector<char>(kChunk);  // the caller's room may be less than a character
  std::string_view text_;                                 // of output_, not yet read
};

class TextSource final : public ByteSource {
 public:
  explicit TextSource(std::string_view text) : text_(text) {}
  std::size_t read(char* out, std::size_t room) override {
    const std::size_t n = text_.copy(out, room);
    text_.remove_prefix(n);
    return n;
  }

 private:
  std::string_view text_;
};

/// The UTF-16 without a mark that a text begins with, if each of its first characters is one of ASCII; else nullptr.
const char* utf16_of(std::string_view begun) {
  constexpr std::size_t kLeast = 8, kMost = 64;
  const std::size_t size = std::min(begun.size(), kMost) / 2 * 2;
  if (size < kLeast) return nullptr;
  std::size_t zeros[2] = {};  // at even and odd places
  for (std::size_t i = 0; i < size; ++i) zeros[i % 2] += begun[i] == '\0';
  if (zeros[0] == 0 && zeros[1] == size / 2) return "utf-16le";
  return zeros[1] == 0 && zeros[0] == size / 2 ? "utf-16be" : nullptr;
}

}  // namespace

std::unique_ptr<ByteSource> open_source(const std::string& path, std::uint64_t* consumed, std::stop_token stop) {
  if (path.ends_with(kGzip.ending)) return std::make_unique<Gzip>(path, consumed);
  if (path.ends_with(kXz.ending)) return std::make_unique<Xz>(path, consumed);
  if (path.ends_with(kZstd.ending)) return std::make_unique<Zstd>(path, consumed);
  return std::make_unique<Plain>(path, consumed, std::move(stop));
}

LineReader::LineReader(const std::string& path, std::stop_token stop, const std::string& encoding)
    : path_(name_of(path)), source_(open_source(path, &consumed_, stop)), buffer_(kChunk), stop_(std::move(stop)) {
  if (!encoding.empty()) source_ = std::make_unique<Decoder>(std::move(source_), path_, encoding);
}

LineReader::LineReader(std::string path, std::string_view bytes, std::uint64_t lines_before)
    : path_(std::move(path)),
      number_(lines_before),
      source_(std::make_unique<TextSource>(bytes)),
      buffer_(std::min(kChunk, bytes.size() + 64)),
      at_start_(false) {}

/// Throws DataError for files that are packed, of tables that are no text, or in UTF-16 that does not say so, with the way
/// to read them.
void LineReader::check_text(std::string_view begun) const {
  using namespace std::string_view_literals;
  for (const auto& [mark, what, how] : {std::tuple{"PAR1"sv, "a Parquet file", "pandas.read_parquet"},
                                        {"ARROW1"sv, "an Arrow file", "pandas.read_feather"},
                                        {"PK\3\4"sv, "a packed file, as those of Excel are", "pandas.read_excel"},
                                        {"\xD0\xCF\x11\xE0"sv, "an old file of Excel", "pandas.read_excel"}})
    if (begun.starts_with(mark))
      throw DataError(path_ + ": " + what + "; expected text. From Python, quorate takes the frame of " + how +
                      "; for the program: python3 -c 'import pandas, sys; " + how +
                      "(sys.argv[1]).to_csv(sys.stdout, index=False)' FILE | quorate .. --data - --format csv");
  if (const Packing* const packing = packing_of(begun)) {
    const std::string name(packing->name), ending(packing->ending), unpack(packing->unpack);
    if (path_.ends_with(ending))
      throw DataError(path_ + ": packed twice; expected text in it: " + unpack + " <FILE >NEW" + ending);
    throw DataError(path_ + ": " + name + " data; expected text, or a file whose name ends in " + ending + " (" + unpack +
                    " <FILE | quorate .., with - for standard input)");
  }
  if (const char* const encoding = utf16_of(begun))
    throw DataError(path_ + ": every second byte is 0; expected UTF-8, or --encoding " + encoding);
}

bool LineReader::fill() {
  if (at_end_ || stopped()) return false;
  if (const std::size_t kept = mark_.value_or(begin_); kept > 0) {  // the unfinished line moves to the front
    std::memmove(buffer_.data(), buffer_.data() + kept, end_ - kept);
    end_ -= kept;
    begin_ -= kept;
    if (mark_) mark_ = 0;
  }
  if (end_ == buffer_.size()) buffer_.resize(2 * buffer_.size());
  const std::size_t n = source_->read(buffer_.data() + end_, buffer_.size() - end_);
  at_end_ = n == 0;
  end_ += n;
  if (!std::exchange(at_start_, false)) return n > 0;
  const std::string_view begun(buffer_.data(), end_);
  check_text(begun);
  if (begun.starts_with("\xFF\xFE") || begun.starts_with("\xFE\xFF")) {
    source_ = std::make_unique<Decoder>(std::move(source_), path_, "UTF-16", begun);
    end_ = 0;
    return fill();
  }
  return n > 0;
}

void LineReader::rewind() {
  if (!mark_) return;
  back_to({0, mark_number_});
  unmark();
}

void LineReader::back_to(const Place& place) {
  begin_ = *mark_ + place.offset;
  number_ = place.number;
}

bool LineReader::next(std::string_view& line, std::size_t most) {
  std::size_t scanned = 0;  // bytes from begin_ on that hold no newline
  bool too_long = !too_long_.empty() && too_long_.contains(number_ + 1);
  for (;;) {
    const char* start = buffer_.data() + begin_;
    const auto* newline = static_cast<const char*>(std::memchr(start + scanned, '\n', end_ - begin_ - scanned));
    if (newline == nullptr) {
      scanned = end_ - begin_;
      if (scanned > most && most < longest_) return false;
      if (scanned > longest_) {  // pass over the rest of it in little memory
        too_long = true;
        scanned = 0;
        end_ = begin_;
      }
      if (fill()) continue;
      if (stopped()) return false;  // what there is of the line is not the line
      if (begin_ == end_ && !too_long) return false;
    }
    start = buffer_.data() + begin_;
    const std::size_t length = newline == nullptr ? end_ - begin_ : static_cast<std::size_t>(newline - start);
    if (length > most && most < longest_ && !too_long) return false;
    ++number_;
    complete_ = newline != nullptr;
    begin_ += length + (complete_ ? 1 : 0);
    if (too_long && mark_) too_long_.insert(number_);
    if (too_long || length > longest_)
      throw LineError(path_ + ":" + std::to_string(number_) + ": a line of more than " + std::to_string(longest_) +
                      " bytes; expected one example a line" + (longest_ < kLongest ? ", or a larger --memory" : ""));
    line = {start, length};
    carriage_returns_ = line.size() - (line.find_last_not_of('\r') + 1);  // two where a line end was translated twice
    line.remove_suffix(carriage_returns_);
    if (number_ == 1 && line.starts_with(kByteOrderMark)) line.remove_prefix(kByteOrderMark.size());
    return true;
  }
}

}  // namespace quorate
