// Some examples of a file one after the other, as a thread reads them ahead and a cache keeps them.
#pragma once
#include <cstdint>
#include <exception>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "quorate/stream/record.h"

namespace quorate {

class OutputFile;

/// Examples of a file, instances and all.
struct ExampleBlock {
  /// How far the reader was.
  struct At {
    std::uint64_t line = 0, consumed = 0, skipped = 0;
  };
  /// One example. Each part begins where that of the example before ends.
  struct Row {
    std::uint64_t id = 0, task = 0, label = 0, index = 0, value = 0;  // ends
    double norm = 1;                                                  // 0: gathered only
    double time = std::numeric_limits<double>::quiet_NaN();           // NaN: none
    double weight = 1;
    std::uint64_t unknown = 0;  // Record::unknown()
    At at;
  };
  std::vector<Row> rows;
  std::vector<char> text;
  std::vector<Index> index;
  std::vector<double> value;
  At end;                     // after its last row
  std::string first_skipped;  // by then
  bool last = false;          // of the file
  std::exception_ptr error;   // after its rows; then it is the last

  std::size_t bytes() const { return text.size() + index.size() * sizeof(Index) + value.size() * sizeof(double); }
  void clear();
  void add(const Record& record, const Features& x, const At& at);

  Row before(std::size_t row) const { return row == 0 ? Row{} : rows[row - 1]; }
  std::string_view id(std::size_t row) const { return part(before(row).label, rows[row].id); }
  std::string_view task(std::size_t row) const { return part(rows[row].id, rows[row].task); }
  std::string_view label(std::size_t row) const { return part(rows[row].task, rows[row].label); }
  Features x(std::size_t row) const;

 private:
  std::string_view part(std::uint64_t from, std::uint64_t to) const { return {text.data() + from, to - from}; }
};

/// A file of parsed blocks, for later reads of the same data. Its name and its first line identify the data; each block has
/// a checksum.
class BlockCache {
 public:
  /// Opens the file for `key` in `folder`; if there is none, begins to make it (and the folder). Throws FileError.
  BlockCache(const std::string& folder, const std::string& key);
  ~BlockCache();

  bool made() const { return in_ != nullptr; }  ///< whether it is read, not written
  void read(ExampleBlock& block);               ///< the next one. Throws FileError: damaged
  /// One more. With the last one the file is there, whole; without it there is none. Throws FileError.
  void write(const ExampleBlock& block);

  /// Of a file, which is named after its hash.
  static std::string first_line(const std::string& key);

 private:
  std::string path_;
  std::FILE* in_ = nullptr;
  std::uint64_t left_ = 0;  // bytes of it
  std::unique_ptr<OutputFile> out_;
};

}  // namespace quorate
