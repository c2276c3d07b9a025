// Readers and writers of the text formats: CSV, JSON lines, SVMlight, VW text.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "quorate/base/byte_scan.h"
#include "quorate/base/number.h"
#include "quorate/params/params.h"
#include "quorate/stream/record.h"
#include "quorate/stream/schema.h"
#include "quorate/stream/source.h"

namespace quorate {

struct ReadOptions;
struct CsvColumns;
class RecordReader;
class RecordWriter;

/// A text format: a row at the end of its own file, stream/NAME.cc, and its name in kFormats of formats.cc.
struct FileFormat {
  std::string_view name;     ///< as --format has it
  std::string_view endings;  ///< of file names, with blanks between: ".csv .tsv"
  std::unique_ptr<RecordReader> (*open)(const std::string& path, const ReadOptions& options);
  std::unique_ptr<RecordWriter> (*write)(CsvColumns columns);
  bool has_header = false;  ///< the columns are named before the first example, so a writer must be given all

  static const FileFormat kCsv, kJsonl, kSvmlight, kVw;
};
/// Of all formats, in the order of help texts.
std::vector<std::string_view> names_of_formats();

/// The format called `name` (csv, jsonl, svmlight, vw). Throws UsageError.
const FileFormat& format_named(std::string_view name);
/// The format by the ending of `path`, before .gz, .xz or .zst. Throws UsageError with the endings there are.
const FileFormat& format_of(const std::string& path);
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
  bool times_decide =
      false;  ///< labels are limited in time: what is no time is an error; elsewhere it is as if it were missing
  /// Column or key of the example's weight. Empty: none is read. VW text has its own, the importance, which is always read.
  std::string weight;
  /// Columns (CSV) or keys (JSON without x) whose kind is not to be inferred from their first values.
  std::vector<std::string> categorical, number;
  std::vector<std::string> ignore;                  ///< columns, keys or namespaces to pass over
  std::vector<std::string> missing;                 ///< values that are missing, besides is_missing()
  std::vector<std::string> unlabelled;              ///< labels that are none, as skip
  bool labels_as_written = false;                   ///< Labels::set_as_written()
  bool time_parts = false;                          ///< hour and weekday of dates and times become features
  std::vector<std::string> header;                  ///< CSV: the names of the columns of a file without a header; or none
  std::string decimal, thousands;                   ///< CSV: what begins decimals, and parts thousands; empty: by the rows
  std::string encoding;                             ///< LineReader's
  std::string quote, escape;                        ///< CSV: quote "none": quotes are text; escape: before a quote in quotes
  std::string delimiter;                            ///< CSV: the character between fields, or "tab"; empty: by the header
  const Schema* schema = nullptr;                   ///< of the model: kinds are these, not inferred. Outlives the reader
  bool labelled = false;                            ///< CSV: a column of labels must be there
  bool label_optional = false;                      ///< CSV: a column of labels need not be there, though an option names it
  std::size_t longest_line = LineReader::kLongest;  ///< bytes; a longer one is a bad line
  bool skip_bad_lines = false;                      ///< count bad lines and go on, instead of throwing
  std::function<void(const std::string&)> on_bad_line;  ///< called for each that is skipped, in order, with what is wrong
  /// Folder where ExampleReader caches instances for later reads of the same file; empty: none. Not used by RecordReader.
  std::string cache;
  static constexpr auto fields() {
    using O = ReadOptions;
    return std::tuple{
        Field{&O::format, "format", kAny, "csv, jsonl, svmlight or vw; default: by the file name", ""},
        Field{&O::task, "task-column", kAny, "column, JSON key or VW namespace of the task (default: task)", ""},
        Field{&O::label, "label-column", kAny, "column or JSON key of the label (default: label)", ""},
        Field{
            &O::time, "time-column", kAny,
            "column, JSON key or VW namespace of the time: seconds (or milliseconds ..) since 1970, or a date as 2026-11-21 "
            "or "
            "2026-11-21T13:15:00Z (default: none, and a column called time is a feature; SVMlight: time:TIME, always read)",
            ""},
        Field{&O::weight, "weight-column", kAny,
              "column or JSON key of the importance weight of the label, 0 to 1000; 0: as if there were no label (default: "
              "none; VW text: the importance, always read)",
              ""},
        Field{&O::id, "id-column", kAny, "column or JSON key of the example's id (default: id)", ""},
        Field{&O::text, "text-column", kAny, "column or JSON key of raw text (default: text, and what looks like text)", ""},
        Field{&O::categorical, "categorical-column", kAny,
              "columns or JSON keys of words, as a,b (repeatable; default: by their values)", ""},
        Field{&O::number, "number-column", kAny,
              "columns or JSON keys of numbers, as a,b (repeatable; default: by their values)", ""},
        Field{&O::ignore, "ignore-column", kAny,
              "columns, JSON keys, VW namespaces or SVMlight indices to leave out, as a,b (repeatable)", ""},
        Field{&O::missing, "missing", kAny, "values of CSV and JSON that are missing, as -,none (repeatable)", ""},
        Field{&O::unlabelled, "unlabelled", kAny, "labels that mean that there is none, as ignore,skip (repeatable)", ""},
        Field{&O::labels_as_written, "labels-as-written", kAny,
              "take labels to the byte: NA and null are labels, \"Spam\" is none that means \"spam\"", ""},
        Field{&O::time_parts, "time-parts", kAny, "hour and weekday of dates and times as features", ""},
        Field{&O::delimiter, "delimiter", kAny, "CSV: the character between fields, or tab (default: by the header)", ""},
        Field{&O::header, "header", kAny,
              "CSV: the names of the columns of a file without a header, as a,b,c; or none: column 1, column 2, ..", ""},
        Field{&O::encoding, "encoding", kAny,
              "of the text, as latin-1, windows-1252 or utf-16 (default: UTF-8, or UTF-16 if it begins with its mark)", ""},
        Field{&O::quote, "quote", kAny, "CSV: none, if quotes are characters like others (default: as RFC 4180 says)", ""},
        Field{&O::escape, "escape", kAny, "CSV: what stands before a quote inside of quotes, as \\ (default: another quote)",
              ""},
        Field{&O::decimal, "decimal", kAny, "CSV: what begins the decimals of a number, . or , (default: by the first rows)",
              ""},
        Field{&O::thousands, "thousands", kAny,
              "CSV: what stands between thousands, as . in 1.234,5 (default: by the first rows)", ""},
        Field{&O::cache, "cache", kAny,
              "folder that caches parsed examples for later commands; larger than text, safe to delete", ""}};
  }
  const std::string_view* bytes = nullptr;  ///< of the file, whose path is a name for messages; outlives the reader
  std::uint64_t lines_before = 0;           ///< `bytes`
  std::stop_token stop;                     ///< ends waiting for input, as if it were at its end
};

/// What is wrong with a carriage return inside of a line.
inline constexpr std::string_view kCarriageReturn =
    "a carriage return; expected lines that end in a line feed (tr '\\r' '\\n' <OLD >NEW)";

/// Records of one file, streaming.
class RecordReader {
 public:
  RecordReader(const std::string& path, const ReadOptions& options)
      : lines_(options.bytes != nullptr ? LineReader(path, *options.bytes, options.lines_before)
                                        : LineReader(path, options.stop, options.encoding)),
        array_(options.schema != nullptr && options.schema->features.are == FeatureNames::Are::kArray
                   ? options.schema->features
                   : FeatureNames{}),
        skip_(options.skip_bad_lines),
        from_bytes_(options.bytes != nullptr),
        times_decide_(options.times_decide),
        unlabelled_(options.unlabelled),
        on_bad_line_(options.on_bad_line) {
    lines_.set_longest(options.longest_line);
    for (const std::string& token : options.missing) schema_.missing.intern(token);
    if (options.schema != nullptr) schema_.take_settings(*options.schema);
    name_missing_numbers();
    name_parts(options);
  }
  virtual ~RecordReader() = default;

  /// The next record, valid until the next call; false at the end. Throws LineError for a bad line (unless they are
  /// skipped) with file, line, column, value and what was expected; DataError for an empty file or damaged compression;
  /// FileError.
  bool next(Record& record);

  /// CSV: the numeric columns in their order. Elsewhere empty.
  virtual std::span<const std::string> columns() const { return {}; }
  /// What the format calls what an option may leave out: a column, key, namespace or index.
  virtual std::string_view part_called() const { return "column"; }
  /// CSV and JSON lines without x: the kinds of columns and keys. Elsewhere empty.
  const Schema& schema() const { return schema_; }
  /// Once all is read: keys that were left out because the first lines do not have them, in a sentence; "" if none was.
  virtual std::string left_out() const { return ""; }
  /// Once all is read: options that name what no line had, as "--ignore-column: no key 'metta' (did you mean meta?) in any
  /// line"; "" if there is none. CSV refuses them by its header.
  std::string unmet() const;
  /// The columns that might be meant as something else, in a sentence; "" if none is.
  std::string guesses() const;
  /// The times that are none, where none decides something, in a sentence; "" if there is none of them.
  std::string no_times() const;
  /// All of this at the end, in lines: left_out(), no_times(), `labels` of the caller, then guesses().
  std::string report(const std::string& labels = "") const;
  /// What was seen of each of them; empty where nothing had to be inferred.
  std::span<const ColumnReport> seen() const { return seen_; }

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
  bool skips_bad_lines() const { return skip_; }
  /// Whether a field is one of ReadOptions::missing, or of those of the model.
  bool is_token(std::string_view field) const {
    return schema_.missing.size() > 0 && !field.empty() && schema_.missing.find(field);
  }
  /// The same by value, where numbers are expected: -999.0 is -999.
  bool is_missing_number(double value) const {
    return std::find(missing_numbers_.begin(), missing_numbers_.end(), value) != missing_numbers_.end();
  }
  bool is_missing_number(std::string_view field) const {
    if (missing_numbers_.empty()) return false;
    const auto value = parse_number<double>(field);
    return value && is_missing_number(*value);
  }
  /// A line has this key, namespace or index, so an option that names it has an effect. Returns whether one ignores it.
  bool meets(std::string_view name) {
    bool ignored = false;
    for (NamedPart& part : named_)
      if (part.name == name) part.met = true, ignored = ignored || part.ignored;
    return ignored;
  }
  /// The record's time is `text`, at byte `at` of the line; none if it is empty.
  void set_time(Record& record, std::size_t at, std::string_view text);
  /// The record's weight is `text`, at byte `at` of the line; 1 if it is missing.
  void set_weight(Record& record, std::size_t at, std::string_view text) const;
  /// Adds the hour and weekday of a time as features; none for a text that is no time.
  void add_time_parts(Record& record, std::string_view column, std::string_view text) const;
  /// The name that the options or else the model, in a schema without columns, give this; or else the usual one. Throws
  /// UsageError: they differ on the task or the label.
  static std::string role(const ReadOptions& options, ColumnKind kind, std::string_view usual);
  /// Without columns: the names that options or the model give go into the schema, beside `features`. None is: nothing.
  void keep_roles(const ReadOptions& options, std::string_view features);
  /// Without columns: what features are called, by the first lines of a file; where they do not say it, as `otherwise`.
  void name_features(FeatureNames::Are otherwise = FeatureNames::Are::kUnknown);
  /// Names that no option names, for suggestions.
  void note_other(std::string_view name) {
    if (!named_.empty() && others_.size() < kMostOthers) others_.emplace(name);
  }
  bool is_file() const;  ///< not a pipe, whose lines may take long
  /// How many rows a reader looks at to infer kinds: fewer where waiting for them may take long.
  std::size_t rows_to_sample() const;
  static constexpr std::size_t kSampleBytes = std::size_t{1} << 22;
  /// The longest line to look at: the first row is waited for, as without one nothing can be inferred.
  std::size_t longest_to_sample(std::size_t rows) const {
    return rows > 0 ? kSampleBytes : std::max(lines_.longest(), kSampleBytes);
  }
  /// The next line to infer kinds from, after that many rows and bytes: those before the first row and the row itself, or
  /// those after it. A line that is too long is passed over, and said when it is read.
  bool next_sample(std::string_view& line, std::size_t rows, std::size_t& bytes);

  LineReader lines_;
  Schema schema_;
  std::vector<ColumnReport> seen_;

 private:
  double other_number(std::string_view line, std::string_view text) const;
  void check_indices(const Record& record) const;  // throws LineError for one beyond the array that the model learned from

  const FeatureNames array_;  // that the model learned from, if it is one
  bool skip_, from_bytes_, times_decide_;
  std::vector<std::string> unlabelled_;
  std::vector<double> missing_numbers_;  // of Schema::missing
  std::uint64_t no_times_ = 0;
  std::string first_no_time_;
  std::function<void(const std::string&)> on_bad_line_;
  struct NamedPart {
    std::string_view option;
    std::string name;
    bool ignored, met = false;  // met: a line had it
  };
  static constexpr std::size_t kMostOthers = 100;
  void name_parts(const ReadOptions& options);
  void name_missing_numbers();
  std::vector<NamedPart> named_;               // by options
  std::set<std::string, std::less<>> others_;  // at most kMostOthers
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
  std::vector<std::string> features;    ///< in order
  std::vector<std::string> texts = {};  ///< columns of raw text
  bool time = false, weight = false;    ///< whether there is a column called that
};

/// An entry's name in formats that name features: its own, or its index.
std::string entry_name(const Entry& entry);
/// How the feature ends that says that a column is missing.
inline constexpr std::string_view kMissing = "=?";
/// The column that the entry says is missing; "" of any other entry.
std::string_view missing_column(const Entry& entry);

}  // namespace quorate
