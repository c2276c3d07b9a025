#include "quorate/stream/formats.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "quorate/base/error.h"
#include "quorate/base/number.h"
#include "quorate/base/utf8.h"
#include "quorate/stream/time.h"

namespace quorate {
namespace {

struct Ending {
  std::string_view ending;
  Format format;
};
constexpr std::array kEndings{
    Ending{".csv", Format::kCsv},      Ending{".jsonl", Format::kJsonl},       Ending{".ndjson", Format::kJsonl},
    Ending{".svm", Format::kSvmlight}, Ending{".svmlight", Format::kSvmlight}, Ending{".libsvm", Format::kSvmlight},
    Ending{".vw", Format::kVw}};
constexpr std::array<std::string_view, 4> kPackings{"", ".gz", ".xz", ".zst"};

}  // namespace

bool plain_number(std::string_view name, Index* index) {
  if (name.empty() || name.size() > 10 || name[0] < '0' || name[0] > '9' || (name.size() > 1 && name[0] == '0'))
    return false;
  const auto number = parse_number<Index>(name);
  *index = number.value_or(0);
  return number && *number <= kMaxIndex;
}

std::string shortest(double value) {
  char buffer[32];
  return {buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr};
}

std::string entry_name(const Entry& entry) {
  return entry.kind == Entry::Kind::kIndex ? std::to_string(entry.index) : std::string(entry.name);
}

Format format_named(std::string_view name) {
  if (name == "csv") return Format::kCsv;
  if (name == "jsonl") return Format::kJsonl;
  if (name == "svmlight") return Format::kSvmlight;
  if (name == "vw") return Format::kVw;
  throw UsageError("format '" + std::string(name) + "': expected csv, jsonl, svmlight or vw");
}

Format format_of(const std::string& path) {
  std::string_view name = path;
  for (const std::string_view packing : kPackings)
    if (!packing.empty() && name.ends_with(packing)) {
      name.remove_suffix(packing.size());
      break;
    }
  std::string endings;
  for (const Ending& e : kEndings) {
    if (name.ends_with(e.ending)) return e.format;
    endings += " " + std::string(e.ending);
  }
  throw UsageError(path + ": which format is this? Expected --format csv|jsonl|svmlight|vw, or a name that ends in one of" +
                   endings + " (and .gz, .xz or .zst after it)");
}

std::string find_data(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) {
    for (const Ending& e : kEndings)
      if (path.ends_with(e.ending)) throw FileError(path + ": is a directory; expected a file");
  }
  if (path == "-" || (fs::exists(path, ignored) && !fs::is_directory(path, ignored))) return path;
  std::vector<std::string> found;
  for (const Ending& e : kEndings)
    for (const std::string_view packing : kPackings)
      if (std::string name = path + std::string(e.ending) + std::string(packing); fs::exists(name, ignored))
        found.push_back(name);
  if (found.size() == 1) return found[0];
  if (found.empty()) throw FileError(path + ": no such file, with or without an ending like .csv, .jsonl, .svm or .vw");
  throw FileError(path + ": several files could be meant: " + found[0] + ", " + found[1] + "; expected the whole name");
}

bool RecordReader::next(Record& record) {
  for (;;) {
    try {
      std::string_view line;
      if (!lines_.next(line)) {
        if (!any_ && !lines_.stopped())
          throw DataError(path() + ": no example in it; expected at least one line of data" +
                          (skipped_ > 0
                               ? " (" + std::to_string(skipped_) + " bad lines skipped; the first: " + first_skipped_ + ")"
                               : ""));
        return false;
      }
      check_utf8(line);
      record.clear();
      if (!parse(line, record)) continue;
      any_ = true;
      return true;
    } catch (const LineError& e) {
      if (!skip_) throw;
      if (skipped_++ == 0) first_skipped_ = e.what();
    }
  }
}

void RecordReader::reject(const std::string& what) {
  const std::string full = path() + ":" + std::to_string(line_number()) + ": " + what;
  if (!skip_) throw LineError(full);
  if (skipped_++ == 0) first_skipped_ = full;
}

void RecordReader::bad(std::size_t at, const std::string& what) const {
  throw LineError(path() + ":" + std::to_string(line_number()) + ":" + std::to_string(at + 1) + ": " + what);
}

void RecordReader::bad(std::string_view line, std::string_view value, const std::string& expected) const {
  const bool inside = value.data() >= line.data() && value.data() <= line.data() + line.size();
  bad(inside ? static_cast<std::size_t>(value.data() - line.data()) : 0, quoted_value(value) + "; expected " + expected);
}

double RecordReader::other_number(std::string_view line, std::string_view text) const {
  double value = 0;
  const char* begin = text.data() + (text.starts_with('+') ? 1 : 0);
  const char* end = text.data() + text.size();
  const auto r = std::from_chars(begin, end, value);
  if (begin == end || text.starts_with("+-") || r.ec == std::errc::invalid_argument || r.ptr != end)
    bad(line, text, "a number");
  if (r.ec == std::errc::result_out_of_range) value = std::strtod(std::string(text).c_str(), nullptr);  // tiny, or infinite
  if (!is_value(value)) bad(line, text, std::string(kValueRange));
  return value;
}

void RecordReader::set_time(Record& record, std::size_t at, std::string_view text) const {
  if (text.empty()) return;
  record.time = text;
  record.seconds = parse_time(text);
  if (!record.seconds) bad(at, quoted_value(text) + "; expected " + std::string(kTimeExpected));
}

void RecordReader::check_utf8(std::string_view line) const {
  const std::size_t at = find_not_utf8(line);
  if (at == line.npos) return;
  bad(at, not_utf8(line[at]) + " (is this file packed, or of another format?)");
}

std::unique_ptr<RecordReader> open_reader(const std::string& path, const ReadOptions& options) {
  for (const std::string* other : {&options.id, &options.task, &options.label, &options.text})
    if (!options.time.empty() && *other == options.time)
      throw UsageError("column '" + options.time + "' is asked to mean two things");
  const std::string file = find_data(path);
  switch (options.format.empty() ? format_of(file) : format_named(options.format)) {
    case Format::kCsv:
      return open_csv(file, options);
    case Format::kJsonl:
      return open_jsonl(file, options);
    case Format::kSvmlight:
      return open_svmlight(file, options);
    case Format::kVw:
      return open_vw(file, options);
  }
  return nullptr;
}

std::unique_ptr<RecordWriter> make_writer(Format format, CsvColumns columns) {
  switch (format) {
    case Format::kCsv:
      return write_csv(std::move(columns));
    case Format::kJsonl:
      return write_jsonl();
    case Format::kSvmlight:
      return write_svmlight();
    case Format::kVw:
      return write_vw();
  }
  return nullptr;
}

}  // namespace quorate
