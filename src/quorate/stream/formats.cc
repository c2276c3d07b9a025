#include "quorate/stream/formats.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "quorate/base/counted.h"
#include "quorate/base/error.h"
#include "quorate/base/example.h"
#include "quorate/base/nearest.h"
#include "quorate/base/number.h"
#include "quorate/base/utf8.h"
#include "quorate/stream/time.h"

namespace quorate {
namespace {

constexpr std::array kFormats{&FileFormat::kCsv, &FileFormat::kJsonl, &FileFormat::kSvmlight, &FileFormat::kVw};

/// Calls f(ending, format) for each ending, until it returns true.
void each_ending(const std::function<bool(std::string_view, const FileFormat&)>& f) {
  for (const FileFormat* format : kFormats)
    for (std::string_view left = format->endings; !left.empty();) {
      const std::string_view ending = left.substr(0, left.find(' '));
      if (f(ending, *format)) return;
      left.remove_prefix(std::min(left.size(), ending.size() + 1));
    }
}

/// ".csv .tsv .jsonl"
std::string all_endings() {
  std::string out;
  for (const FileFormat* format : kFormats) out.append(out.empty() ? "" : " ").append(format->endings);
  return out;
}

constexpr std::array<std::string_view, 4> kPackings{"", ".gz", ".xz", ".zst"};

}  // namespace

bool plain_number(std::string_view name, Index* index) {
  if (name.empty() || name.size() > 10 || name[0] < '0' || name[0] > '9' || (name.size() > 1 && name[0] == '0'))
    return false;
  const auto number = parse_number<Index>(name);
  *index = number.value_or(0);
  return number && *number <= kMaxIndex;
}

std::string entry_name(const Entry& entry) {
  return entry.kind == Entry::Kind::kIndex ? std::to_string(entry.index) : std::string(entry.name);
}

std::string_view missing_column(const Entry& entry) {
  if (!entry.category || !entry.name.ends_with(kMissing)) return {};
  return entry.name.substr(0, entry.name.size() - kMissing.size());
}

std::vector<std::string_view> names_of_formats() {
  std::vector<std::string_view> out;
  for (const FileFormat* format : kFormats) out.push_back(format->name);
  return out;
}

const FileFormat& format_named(std::string_view name) {
  for (const FileFormat* format : kFormats)
    if (format->name == name) return *format;
  throw UsageError("format " + quoted_value(name) + ": expected " + one_of(names_of_formats(), name));
}

const FileFormat& format_of(const std::string& path) {
  std::string_view name = path;
  for (const std::string_view packing : kPackings)
    if (!packing.empty() && name.ends_with(packing)) {
      name.remove_suffix(packing.size());
      break;
    }
  std::string names;
  const FileFormat* found = nullptr;
  each_ending([&](std::string_view ending, const FileFormat& format) {
    if (name.ends_with(ending)) found = &format;
    return found != nullptr;
  });
  if (found != nullptr) return *found;
  for (const FileFormat* format : kFormats) names += (names.empty() ? "" : "|") + std::string(format->name);
  throw UsageError(path + ": which format is this? Expected --format " + names + ", or a name that ends in one of " +
                   all_endings() + " (and .gz, .xz or .zst after it)");
}

std::string find_data(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  const bool is_directory = fs::is_directory(path, ignored);
  if (path == "-" || (fs::exists(path, ignored) && !is_directory)) return path;
  std::vector<std::string> found;
  bool has_ending = false;
  each_ending([&](std::string_view ending, const FileFormat&) {
    has_ending = has_ending || path.ends_with(ending);
    for (const std::string_view packing : kPackings)
      if (std::string name = path + std::string(ending) + std::string(packing); fs::exists(name, ignored))
        found.push_back(name);
    return false;
  });
  if (is_directory && (has_ending || found.empty())) throw FileError(path + ": is a directory; expected a file");
  if (found.size() == 1) return found[0];
  if (found.empty()) throw FileError(path + ": no such file, with or without one of the endings " + all_endings());
  throw FileError(path + ": several files could be meant: " + found[0] + ", " + found[1] + "; expected the whole name");
}

std::string RecordReader::unmet() const {
  const auto named = [this](std::string_view name) {
    return std::any_of(named_.begin(), named_.end(), [&](const NamedPart& part) { return part.name == name; });
  };
  std::vector<std::string_view> names(others_.begin(), others_.end());
  for (std::size_t i = 0; i < schema_.size(); ++i)
    if (!named(schema_.name(i))) names.push_back(schema_.name(i));
  std::string out;
  for (const NamedPart& part : named_)
    if (!part.met)
      out += (out.empty() ? "" : "; ") + std::string(part.option) + ": no " + std::string(part_called()) + " " +
             quoted_value(part.name) + did_you_mean(part.name, names) + " in any line";
  return out;
}

std::string RecordReader::guesses() const {
  constexpr std::size_t kMost = 10;
  std::vector<const ColumnReport*> guessed;
  for (const ColumnReport& column : seen_)
    if (column.guess) guessed.push_back(&column);
  std::stable_partition(guessed.begin(), guessed.end(),
                        [](const ColumnReport* c) { return c->kind == ColumnKind::kIgnored; });
  if (guessed.empty()) return "";
  std::string out = "columns are taken for what their first values look like (quorate look says more):";
  for (std::size_t i = 0; i < std::min(guessed.size(), kMost); ++i)
    out += "\n  " + one_line(shown_value(guessed[i]->name)) + ": " + std::string(word_of(guessed[i]->kind)) + ", " +
           one_line(guessed[i]->why);
  if (guessed.size() > kMost) out += "\n  and " + std::to_string(guessed.size() - kMost) + " more";
  return out;
}

std::string RecordReader::report(const std::string& labels) const {
  std::string out = one_line(left_out());
  for (const std::string& more : {one_line(no_times()), one_line(labels)})
    if (!more.empty()) out += (out.empty() ? path() + ": " : "; ") + more;
  if (const std::string table = guesses(); !table.empty()) out += (out.empty() ? path() + ": " : "\n") + table;
  return out;
}

void RecordReader::name_parts(const ReadOptions& o) {
  const auto add = [this](std::string_view option, const std::string& name, bool ignored = false) {
    if (!name.empty()) named_.push_back({option, name, ignored});
  };
  add("--task-column", o.task);
  add("--label-column", o.label);
  add("--time-column", o.time);
  add("--weight-column", o.weight);
  add("--id-column", o.id);
  add("--text-column", o.text);
  for (const std::string& name : o.categorical) add("--categorical-column", name);
  for (const std::string& name : o.number) add("--number-column", name);
  for (const std::string& name : o.ignore) add("--ignore-column", name, true);
}

void RecordReader::name_missing_numbers() {
  for (std::uint32_t i = 0; i < schema_.missing.size(); ++i)
    if (const auto value = parse_number<double>(schema_.missing[i]);
        value && is_value(*value) && !has_leading_zero(schema_.missing[i]))
      missing_numbers_.push_back(*value);
}

namespace {

/// What options name besides features.
constexpr std::array kRoles{
    std::pair{ColumnKind::kTask, &ReadOptions::task}, std::pair{ColumnKind::kLabel, &ReadOptions::label},
    std::pair{ColumnKind::kTime, &ReadOptions::time}, std::pair{ColumnKind::kWeight, &ReadOptions::weight},
    std::pair{ColumnKind::kId, &ReadOptions::id},     std::pair{ColumnKind::kText, &ReadOptions::text}};

}  // namespace

std::string RecordReader::role(const ReadOptions& o, ColumnKind kind, std::string_view usual) {
  const auto of = std::find_if(kRoles.begin(), kRoles.end(), [&](const auto& r) { return r.first == kind; });
  const std::string& given = o.*of->second;
  const auto known = o.schema != nullptr && !o.schema->has_columns() ? o.schema->column_of(kind) : std::nullopt;
  if (!known) return given.empty() ? std::string(usual) : given;
  if (!given.empty() && given != *known && (kind == ColumnKind::kTask || kind == ColumnKind::kLabel))
    throw UsageError("--" + std::string(word_of(kind)) + "-column " + given + ": the model has its " +
                     std::string(word_of(kind)) + " in " + quoted_value(*known) + "; leave it out");
  return given.empty() ? std::string(*known) : given;
}

void RecordReader::keep_roles(const ReadOptions& o, std::string_view features) {
  for (const auto& [kind, of] : kRoles)
    if (const std::string name = role(o, kind, ""); !name.empty()) {
      if (schema_.empty()) schema_.add(features, ColumnKind::kFeatures);
      schema_.add(name, kind);
    }
}

void RecordReader::name_features(FeatureNames::Are otherwise) {
  using enum FeatureNames::Are;
  FeatureNames& found = schema_.features;
  found = {otherwise};
  std::size_t bytes = 0;
  Record record;
  lines_.mark();
  try {
    for (std::string_view line; record.entries.empty() && next_sample(line, 0, bytes);) {
      record.clear();
      if (find_not_utf8(line) != line.npos) break;
      parse(line, record);
    }
  } catch (const LineError&) {  // is thrown again when it is read
    record.clear();
  }
  lines_.rewind();
  if (record.entries.empty() || !record.texts.empty()) return;
  Index first = kMaxIndex, last = 0;
  for (const Entry& e : record.entries) {
    if (e.kind != Entry::Kind::kIndex) {
      const auto is_name = [](const Entry& other) { return other.kind == Entry::Kind::kName; };
      if (std::all_of(record.entries.begin(), record.entries.end(), is_name)) found.are = kNames;
      return;
    }
    first = std::min(first, e.index);
    last = std::max(last, e.index);
  }
  // Words may be numbers by chance; these are places.
  if (first <= 1 && record.entries.size() >= 3 && last - first + 1 == record.entries.size()) found = {kIndices, first, last};
}

void RecordReader::check_indices(const Record& record) const {
  if (array_.are != FeatureNames::Are::kArray) return;
  for (const Entry& e : record.entries)
    if (e.kind == Entry::Kind::kIndex && e.index > array_.last)
      bad(0, "the index " + std::to_string(e.index) + "; expected 0 to " + std::to_string(array_.last) +
                 ", as the model learned from " + array_.text() + " (does this file count from 1?)");
}

bool RecordReader::next(Record& record) {
  for (;;) {
    try {
      std::string_view line;
      if (!lines_.next(line)) {
        if (!any_ && !from_bytes_ && !lines_.stopped())
          throw DataError(
              path() + ": no example in it; expected at least one line of data" +
              (skipped_ > 0 ? " (" + counted(skipped_, "bad line") + " skipped; the first: " + first_skipped_ + ")" : ""));
        return false;
      }
      check_utf8(line);
      record.clear();
      if (!parse(line, record)) continue;
      check_indices(record);
      if (!unlabelled_.empty() && std::ranges::find(unlabelled_, record.label) != unlabelled_.end()) record.label = {};
      if (record.weight == 0) {
        record.label = {};
        record.weight = 1;
      }
      any_ = true;
      return true;
    } catch (const LineError& e) {
      if (!skip_) throw;
      if (skipped_++ == 0) first_skipped_ = e.what();
      if (on_bad_line_) on_bad_line_(e.what());
    }
  }
}

void RecordReader::reject(const std::string& what) {
  const std::string full = path() + ":" + std::to_string(line_number()) + ": " + what;
  if (!skip_) throw LineError(full);
  if (skipped_++ == 0) first_skipped_ = full;
}

bool RecordReader::next_sample(std::string_view& line, std::size_t rows, std::size_t& bytes) {
  while (bytes < longest_to_sample(rows)) {
    try {
      if (!lines_.next(line, longest_to_sample(rows))) return false;
      bytes += line.size() + 1;
      return true;
    } catch (const LineError&) {
      bytes += kSampleBytes / 16;  // it takes no memory, but time
    }
  }
  return false;
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

void RecordReader::set_time(Record& record, std::size_t at, std::string_view text) {
  if (text.empty()) return;
  record.time = text;
  record.seconds = parse_time(text);
  if (record.seconds) return;
  if (times_decide_) bad(at, quoted_value(text) + "; expected " + std::string(kTimeExpected));
  if (!is_missing(text) && no_times_++ == 0)
    first_no_time_ = path() + ":" + std::to_string(line_number()) + ": " + quoted_value(text);
}

std::string RecordReader::no_times() const {
  if (no_times_ == 0) return "";
  return first_no_time_ + (no_times_ > 1 ? " and " + counted(no_times_ - 1, "other") : "") + ": no time; expected " +
         std::string(kTimeExpected);
}

void RecordReader::set_weight(Record& record, std::size_t at, std::string_view text) const {
  if (is_missing(text)) return;
  double weight = 0;
  const auto r = std::from_chars(text.data(), text.data() + text.size(), weight);
  if (r.ec != std::errc{} || r.ptr != text.data() + text.size() || !(weight == 0 || is_weight(weight)))
    bad(at, quoted_value(text) + "; expected a number from 0 to " + shortest(kMostWeight) + ", the weight (importance)");
  record.weight = weight;
}

void RecordReader::add_time_parts(Record& record, std::string_view column, std::string_view text) const {
  const auto seconds = parse_time(text);
  if (!seconds) return;
  const TimeParts parts = time_parts(*seconds);
  record.add_category(record.keep(column, ".hour=", parts.hour));
  record.add_category(record.keep(column, ".weekday=", parts.weekday));
}

bool RecordReader::is_file() const {
  if (from_bytes_) return false;  // a file called so may be there
  std::error_code ignored;
  return std::filesystem::is_regular_file(lines_.path(), ignored);
}

std::size_t RecordReader::rows_to_sample() const { return is_file() ? 10'000 : 100; }

void RecordReader::check_utf8(std::string_view line) const {
  const std::size_t at = find_not_utf8(line);
  if (at == line.npos) return;
  const auto byte = static_cast<unsigned char>(line[at]);  // 0x80 to 0x9f are controls in Latin-1
  bad(at, not_utf8(line[at]) + " (is this file packed, of another format, or of another encoding, as --encoding " +
              (byte < 0xA0 ? "windows-1252" : "latin-1") + "?)");
}

std::unique_ptr<RecordReader> open_reader(const std::string& path, const ReadOptions& options) {
  const std::array roles{&options.id, &options.task, &options.label, &options.text, &options.time, &options.weight};
  for (const std::string* role : {&options.time, &options.weight})
    if (!role->empty() && std::count_if(roles.begin(), roles.end(), [&](const auto* other) { return *other == *role; }) > 1)
      throw UsageError("column " + quoted_value(*role) + " is given two roles");
  const std::string file = options.bytes != nullptr ? path : find_data(path);
  return (options.format.empty() ? format_of(file) : format_named(options.format)).open(file, options);
}

}  // namespace quorate
