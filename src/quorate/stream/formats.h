// Readers and writers of the text formats: CSV, JSON lines, SVMlight, VW text.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quorate/base/byte_scan.h"
#include "quorate/stream/record.h"
#include "quorate/stream/source.h"

namespace quorate {

enum class Format { kCsv, kJsonl, kSvmlight, kVw };

/// The format called `name` (csv, jsonl, svmlight, vw). Throws UsageError.
Format format_named(std::string_view name);
/// The format that the ending of `path` says, under .gz, .xz or .zst. Throws UsageError with the endings there are.
Format format_of(const std::string& path);
/// `path`, or the one file `path` + a known ending (`news/train` finds `news/train.vw`). Throws FileError.
std::string find_data(const std::string& path);

struct ReadOptions {
  std::string format;  ///< empty: by the ending
  /// Names of the columns (CSV), keys (JSON) or, for the task, the namespace (VW) that hold these. An empty name stands
  /// for "id", "task", "label", "text", which need not be there; a name given must be (CSV).
  std::string id, task, label, text;
  /// Column, key or namespace of the time. Empty: times are not read, so that a column or namespace called "time" stays a
  /// feature. SVMlight has its own, `time:`, which is always read.
  std::string time;
  std::vector<std::string> categorical;  ///< CSV columns whose values are words: each becomes the feature column=value
  std::vector<std::string> ignore;       ///< CSV columns to pass over
  bool skip_bad_lines = false;           ///< count bad lines and go on, instead of throwing
  /// Folder where ExampleReader keeps instances ready made, for whoever goes through the same file again; empty: nowhere.
  /// Readers do not look at it.
  std::string cache;
  std::stop_token stop;  ///< ends waiting for input, as if it were at its end
};

/// Records of one file, streaming.
class RecordReader {
 public:
  RecordReader(const std::string& path, const ReadOptions& options)
      : lines_(path, options.stop), skip_(options.skip_bad_lines) {}
  virtual ~RecordReader() = default;

  /// The next record, valid until the next call; false at the end. Throws LineError for a bad line (unless they are
  /// skipped) with file, line, column, value and what was expected; DataError for an empty file or damaged compression;
  /// FileError.
  bool next(Record& record);

  /// CSV: the numeric columns in their order. Elsewhere empty.
  virtual std::span<const std::string> columns() const { return {}; }

  /// The record just read cannot be used after all (say, its label): as a bad line, thrown or counted.
  void reject(const std::string& what);

  const std::string& path() const { return lines_.path(); }
  std::uint64_t line_number() const { return lines_.line_number(); }   ///< where the last record ended, from 1
  std::uint64_t consumed() const { return lines_.consumed(); }         ///< bytes of the file read, packed
  std::uint64_t skipped() const { return skipped_; }                   ///< bad lines passed over
  const std::string& first_skipped() const { return first_skipped_; }  ///< what was wrong with the first of them

 protected:
  /// Fills the cleared record from one line; false if the line holds no example (blank, comment).
  virtual bool parse(std::string_view line, Record& record) = 0;
  /// Throws LineError. `at`: 0-based byte in the line.
  [[noreturn]] void bad(std::size_t at, const std::string& what) const;
  [[noreturn]] void bad(std::string_view line, std::string_view value, const std::string& expected) const;
  /// The finite number that `text`, a part of `line`, says.
  double number(std::string_view line, std::string_view text) const {
    double out = 0;
    return short_decimal(text, line.data() + line.size(), &out) ? out : other_number(line, text);
  }
  void check_utf8(std::string_view line) const;
  /// The record's time is `text`, at byte `at` of the line; none if it is empty.
  void set_time(Record& record, std::size_t at, std::string_view text) const;

  LineReader lines_;

 private:
  double other_number(std::string_view line, std::string_view text) const;

  bool skip_;
  std::uint64_t skipped_ = 0;
  bool any_ = false;
  std::string first_skipped_;
};

/// A reader of `path` ("-": standard input). Throws FileError, UsageError (unknown format), DataError (bad CSV header).
std::unique_ptr<RecordReader> open_reader(const std::string& path, const ReadOptions& options = {});

/// Records as text.
class RecordWriter {
 public:
  virtual ~RecordWriter() = default;
  virtual std::string header() { return ""; }
  /// The record's line with its newline. Throws DataError naming what this format cannot hold.
  virtual std::string line(const Record& record) = 0;
};

/// What CSV output has besides id, task and label.
struct CsvColumns {
  std::vector<std::string> features;  ///< in order
  bool time = false, text = false;    ///< whether there are columns called that
};

/// A writer; `columns` for CSV.
std::unique_ptr<RecordWriter> make_writer(Format format, CsvColumns columns = {});

/// An entry's name in formats that name features: its own, or its index.
std::string entry_name(const Entry& entry);

// One per format file.
std::unique_ptr<RecordReader> open_csv(const std::string& path, const ReadOptions& options);
std::unique_ptr<RecordReader> open_jsonl(const std::string& path, const ReadOptions& options);
std::unique_ptr<RecordReader> open_svmlight(const std::string& path, const ReadOptions& options);
std::unique_ptr<RecordReader> open_vw(const std::string& path, const ReadOptions& options);
std::unique_ptr<RecordWriter> write_csv(CsvColumns columns);
std::unique_ptr<RecordWriter> write_jsonl();
std::unique_ptr<RecordWriter> write_svmlight();
std::unique_ptr<RecordWriter> write_vw();

}  // namespace quorate
