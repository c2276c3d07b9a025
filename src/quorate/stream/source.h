// Bytes of a file, unpacked if need be, line by line. Memory does not grow with the file.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace quorate {

/// Where bytes come from.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  /// Fills up to `room` bytes; 0 at the end. Throws DataError for damaged or truncated compressed data, FileError else.
  virtual std::size_t read(char* out, std::size_t room) = 0;
};

/// The file at `path`, or standard input for "-"; `.gz`, `.xz` and `.zst` are unpacked, by the ending of the name. Adds
/// the packed bytes read to `*consumed`. Throws FileError if it cannot be opened.
/// Waiting for input (standard input, a pipe) ends when `stop` is requested; that looks like the end of the input.
std::unique_ptr<ByteSource> open_source(const std::string& path, std::uint64_t* consumed, std::stop_token stop = {});

/// What a text of UTF-8 may begin with, which is no part of it.
inline constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

/// Lines of a source, without their ends ("\n" or "\r\n").
class LineReader {
 public:
  static constexpr std::size_t kLongest = std::size_t{1} << 26;  ///< bytes of the longest line accepted: 64 MiB

  /// encoding: of the text, any that iconv knows; empty: UTF-8, or UTF-16 if it begins with that mark. Throws UsageError,
  /// too.
  explicit LineReader(const std::string& path, std::stop_token stop = {}, const std::string& encoding = "");
  /// Lines of `bytes`, UTF-8 whatever they begin with, which outlive the reader. `path` and the number of lines before
  /// them: for messages.
  LineReader(std::string path, std::string_view bytes, std::uint64_t lines_before = 0);

  /// The next line, valid until the next call; false at the end, or if it is not read yet when `stop` is requested. Throws
  /// LineError for a line longer than longest(), which is then passed over; DataError or FileError as the source.
  /// most: to look ahead while lines are kept: if it is less than longest(), false, too, for a line longer than that, which
  /// stays.
  bool next(std::string_view& line, std::size_t most = kLongest);

  /// From here on lines are kept, so that rewind() can return to the next one; until rewind() or unmark(). Of a line that is
  /// too long nothing is kept but that it is.
  void mark() {
    mark_ = begin_;
    mark_number_ = number_;
  }
  void unmark() { mark_.reset(); }
  void rewind();  ///< without effect if nothing is marked
  /// The next line's place among those that are kept since mark(), to go back to it while they are.
  struct Place {
    std::size_t offset;
    std::uint64_t number;
  };
  Place place() const { return {begin_ - *mark_, number_}; }
  void back_to(const Place& place);

  /// Lines longer than this are refused from now on; at most kLongest, which it is at first.
  void set_longest(std::size_t bytes) { longest_ = bytes; }
  std::size_t longest() const { return longest_; }

  const std::string& path() const { return path_; }                   ///< for messages: "-" is "standard input"
  std::uint64_t line_number() const { return number_; }               ///< of the line last returned, from 1
  std::size_t carriage_returns() const { return carriage_returns_; }  ///< at the end of the line last returned
  bool complete() const { return complete_; }                         ///< whether that line ended with a newline
  bool stopped() const { return stop_.stop_requested(); }
  std::uint64_t consumed() const { return consumed_; }  ///< bytes of the file read so far, packed

 private:
  void check_text(std::string_view begun) const;
  bool fill();  ///< more bytes into the buffer; false at the end

  std::string path_;
  std::uint64_t consumed_ = 0, number_ = 0;
  std::unique_ptr<ByteSource> source_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0, end_ = 0;  // unread bytes in buffer_
  std::optional<std::size_t> mark_;  // where kept bytes begin in buffer_
  std::uint64_t mark_number_ = 0;
  std::set<std::uint64_t> too_long_;  // numbers of lines met while they were kept
  std::size_t longest_ = kLongest;
  bool at_start_ = true, at_end_ = false;  // at_start_: of a file
  std::size_t carriage_returns_ = 0;
  bool complete_ = true;
  std::stop_token stop_;
};

}  // namespace quorate
