// CSV with a header (RFC 4180, so quoted fields may hold delimiters and newlines). Columns called id, task, label and text
// mean that, and options may name others; what the rest hold is the model's schema, or inferred from the first rows.
#include "quorate/base/csv.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <unordered_set>

#include "quorate/base/byte_scan.h"
#include "quorate/base/error.h"
#include "quorate/base/name_table.h"
#include "quorate/base/nearest.h"
#include "quorate/base/utf8.h"
#include "quorate/stream/formats.h"
#include "quorate/stream/time.h"

namespace quorate {
namespace {

class CsvReader final : public RecordReader {
 public:
  CsvReader(const std::string& path, const ReadOptions& options) : RecordReader(path, options), names_(options) {
    std::string_view line;
    do {
      if (!lines_.next(line)) {
        if (lines_.stopped()) return;
        throw DataError(this->path() + ": no example in it; expected a header and at least one line of data");
      }
      check_utf8(line);
    } while (line.empty());
    delimiter_ = options.delimiter.empty() ? delimiter_of(line) : delimiter_named(options.delimiter);
    if (!split(line, fields_)) bad(0, "a quote is not closed in the header");
    read_header();
    name_roles(options);
    if (options.schema != nullptr && options.schema->has_columns())
      take_kinds(*options.schema);
    else
      infer_kinds();
    schema_.time_parts =
        options.schema != nullptr && options.schema->has_columns() ? options.schema->time_parts : options.time_parts;
    for (Column& c : header_) {
      const ColumnKind kind = *c.kind;
      schema_.add(c.name, kind);
      if (!is_number(kind)) continue;
      c.index = static_cast<Index>(columns_.size());
      columns_.push_back(c.name);
    }
  }

  std::span<const std::string> columns() const override { return columns_; }

 private:
  struct Column {
    std::string name, missing;  // missing: the feature that says so
    std::optional<ColumnKind> kind = {};
    Index index = 0;
  };
  /// Names of columns that options give a role.
  struct Names {
    explicit Names(const ReadOptions& o)
        : roles{{ColumnKind::kId, o.id},     {ColumnKind::kTask, o.task},     {ColumnKind::kLabel, o.label},
                {ColumnKind::kTime, o.time}, {ColumnKind::kWeight, o.weight}, {ColumnKind::kText, o.text}} {}
    std::vector<std::pair<ColumnKind, std::string>> roles;
  };

  static char delimiter_named(const std::string& name) {
    if (name == "tab" || name == "\\t" || name == "\t") return '\t';
    if (name == "," || name == ";" || name == "|") return name[0];
    throw UsageError("--delimiter " + quoted_value(name) + ": expected , or ; or | or tab");
  }
  /// The one that the header has most of, outside of quotes.
  static char delimiter_of(std::string_view header) {
    constexpr std::string_view kDelimiters = ",;\t|";
    std::array<std::size_t, kDelimiters.size()> count{};
    bool quoted = false;
    for (const char c : header) {
      quoted ^= c == '"';
      if (const std::size_t at = kDelimiters.find(c); !quoted && at != kDelimiters.npos) ++count[at];
    }
    return kDelimiters[static_cast<std::size_t>(std::max_element(count.begin(), count.end()) - count.begin())];
  }

  void read_header() {
    header_.resize(fields_.size());
    std::unordered_set<std::string_view> names;
    for (std::size_t i = 0; i < fields_.size(); ++i) {
      Column& c = header_[i];
      c.name = fields_[i].text;
      // Frames that are written with their index have one.
      if (c.name.empty() && i == 0 && fields_.size() > 1) c.name = "column 1";
      c.missing = c.name + "=?";
      if (c.name.empty()) bad(fields_[i].at, "a column without a name; expected a header with the columns' names");
      if (!names.insert(c.name).second) bad(fields_[i].at, "column " + quoted_value(c.name) + " occurs twice in the header");
    }
  }

  /// What the options say, and what a usual name means, unless something was said about either.
  void name_roles(const ReadOptions& options) {
    const bool of_model = options.schema != nullptr && options.schema->has_columns();
    const std::vector<std::string_view> names = column_names();
    std::string missing;
    const auto assign = [&](const std::string& name, ColumnKind kind) {
      for (Column& c : header_)
        if (c.name == name) {
          if (c.kind) throw UsageError("column " + quoted_value(name) + " is given two roles");
          c.kind = kind;
          return;
        }
      if (kind != ColumnKind::kLabel || !options.label_optional) add_missing(missing, name, names);
    };
    for (auto& [kind, name] : names_.roles) {
      const auto known = of_model && kind != ColumnKind::kText ? options.schema->column_of(kind) : std::nullopt;
      if (!known) {
        if (!name.empty()) assign(name, kind);
        continue;
      }
      const bool learned = kind == ColumnKind::kTask || kind == ColumnKind::kLabel;
      if (learned && !name.empty() && name != *known)
        throw UsageError("--" + std::string(word_of(kind)) + "-column " + name + ": the model has its " +
                         std::string(word_of(kind)) + " in the column " + quoted_value(*known) + "; leave it out");
      if (!name.empty())
        assign(name, kind);
      else if (const auto here =
                   std::find_if(header_.begin(), header_.end(), [&](const Column& c) { return c.name == *known; });
               here != header_.end() && !here->kind)
        here->kind = kind;
    }
    for (const std::string& name : options.categorical) assign(name, ColumnKind::kCategory);
    for (const std::string& name : options.number) assign(name, ColumnKind::kNumber);
    for (const std::string& name : options.ignore) assign(name, ColumnKind::kIgnored);
    for (const Column& c : header_) meets(c.name);
    for (const auto& [usual, kind] : {std::pair{"id", ColumnKind::kId},
                                      {"task", ColumnKind::kTask},
                                      {"label", ColumnKind::kLabel},
                                      {"text", ColumnKind::kText}})
      for (Column& c : header_)
        if (c.name == usual && !c.kind && !has(kind)) c.kind = kind;
    if (options.labelled && options.label.empty() && !has(ColumnKind::kLabel))
      missing += std::string(missing.empty() ? "" : "; ") +
                 "no column of labels; expected --label-column, or a column called label";
    if (!missing.empty()) throw DataError(path() + ":1: " + missing + "; the header has " + header_text());
  }

  /// Adds a column that the header has not to a message, which stays short.
  static void add_missing(std::string& missing, std::string_view name, std::span<const std::string_view> names) {
    if (missing.size() < 300)
      missing += (missing.empty() ? "no column " : ", ") + quoted_value(name) + did_you_mean(name, names);
    else if (!missing.ends_with("..."))
      missing += ", ...";
  }

  /// Of the model.
  void take_kinds(const Schema& schema) {
    std::vector<bool> here(schema.size());
    for (Column& c : header_) {
      const auto place = schema.place(c.name);
      if (place) here[*place] = true;
      const auto known = place ? std::optional(schema.kind(*place)) : std::nullopt;
      const bool stated = c.kind && (is_feature(*c.kind) || *c.kind == ColumnKind::kIgnored);
      if (stated && known && *known != *c.kind && !(is_number(*known) && is_number(*c.kind)))
        throw UsageError("column " + quoted_value(c.name) + ": " + std::string(word_of(*c.kind)) +
                         " here, but the model has learned it as " + std::string(word_of(*known)) +
                         "; leave the option out");
      // What is new to the model is refused as a number by the featurizer, which knows its columns.
      if (!c.kind) c.kind = known.value_or(ColumnKind::kNumber);
    }
    const std::vector<std::string_view> names = column_names();
    std::string missing;
    for (std::size_t i = 0; i < schema.size(); ++i) {
      const std::string_view name = schema.name(i);
      if (!is_feature(schema.kind(i)) || is_number(schema.kind(i))) continue;
      if (!here[i]) add_missing(missing, name, names);
    }
    if (!missing.empty()) throw DataError(path() + ": " + missing + "; expected it, as in the data learned from");
  }

  bool is_row(std::string_view line) {
    if (line.empty() || find_not_utf8(line) != line.npos) return false;
    try {
      return split_csv(line, fields_, unquoted_, delimiter_) && fields_.size() == header_.size();
    } catch (const LineError&) {
      return false;
    }
  }

  /// By the first rows.
  void infer_kinds() {
    std::vector<ColumnSample> samples(header_.size());
    const auto label =
        std::find_if(header_.begin(), header_.end(), [](const Column& c) { return c.kind == ColumnKind::kLabel; });
    const std::size_t most = rows_to_sample();
    std::size_t bytes = 0;
    lines_.mark();
    try {
      std::string_view line;
      for (std::size_t rows = 0; rows < most && next_sample(line, rows, bytes);) {
        const std::size_t counted = line.size();
        const LineReader::Place next = lines_.place();
        try {
          if (quote_open(line, false, delimiter_) && !join_lines(line, longest_to_sample(rows))) break;
        } catch (const LineError&) {  // the stray quote spoils its own line only
          lines_.back_to(next);
          continue;
        }
        bytes += line.size() - counted;
        if (!is_row(line)) continue;  // is said when it is read
        if (++rows == 1) bytes = 0;
        std::string_view label_here;
        if (label != header_.end()) label_here = fields_[static_cast<std::size_t>(label - header_.begin())].text;
        if (is_missing(label_here)) label_here = {};
        for (std::size_t i = 0; i < fields_.size(); ++i)
          samples[i].add(fields_[i].text, label_here, ColumnSample::Type::kPlain, has_commas(),
                         end_of(line, fields_[i].text));
      }
    } catch (const LineError&) {  // is thrown again when it is read
    }
    lines_.rewind();
    for (std::size_t i = 0; i < header_.size(); ++i) {
      Column& c = header_[i];
      ColumnReport& report = seen_.emplace_back(samples[i].judge(c.name));
      if (c.kind) {
        report.kind = *c.kind;
        report.why = "by its name or an option";
      }
      if (report.kind == ColumnKind::kId && !c.kind && has(ColumnKind::kId)) report.kind = ColumnKind::kIgnored;
      c.kind = report.kind;
    }
  }

  std::vector<std::string_view> column_names() const {
    std::vector<std::string_view> out;
    for (const Column& c : header_) out.push_back(c.name);
    return out;
  }
  bool has(ColumnKind kind) const {
    return std::any_of(header_.begin(), header_.end(), [&](const Column& c) { return c.kind == kind; });
  }
  std::string header_text() const {
    std::string names;
    for (const Column& c : header_) {
      if (names.size() > 200) return names + ", ...";
      names += (names.empty() ? "" : ", ") + shown_value(c.name);
    }
    return names;
  }

  bool split(std::string_view line, std::vector<CsvField>& fields) {
    try {
      return split_csv(line, fields, unquoted_, delimiter_);
    } catch (const LineError& e) {
      throw LineError(path() + ":" + std::to_string(line_number()) + ":" + e.what());
    }
  }

  /// Extends `line` by the next ones, until its quoted field is closed; false if interrupted.
  bool join_lines(std::string_view& line, std::size_t most = LineReader::kLongest) {
    const std::uint64_t first = line_number();
    joined_ = line;
    do {
      const bool carriage_return = lines_.carriage_return();
      const bool more = lines_.next(line, most);
      if (!more && lines_.stopped()) return false;
      const std::size_t longest = std::min(most, lines_.longest());
      if (!more || joined_.size() + line.size() > longest)
        throw LineError(path() + ":" + std::to_string(first) + ": a quote that opens in this line is not closed" +
                        (more ? " within " + std::to_string(longest) + " bytes" : "") + "; expected \" before " +
                        (more ? "that" : "the end") +
                        (more && longest < LineReader::kLongest ? ", or a larger --memory" : ""));
      check_utf8(line);
      joined_ += carriage_return ? "\r\n" : "\n";
      joined_ += line;
    } while (quote_open(line, true, delimiter_));
    line = joined_;
    return true;
  }

  /// Splits a line into as many fields as the header has. `first`: where it begins, if it was joined of several.
  void split_all(std::string_view line, std::uint64_t first) {
    std::string what;
    try {
      split_csv(line, fields_, unquoted_, delimiter_);
      if (fields_.size() == header_.size()) return;
      what = std::to_string(fields_.back().at + 1) + ": " + std::to_string(fields_.size()) + " fields; expected " +
             std::to_string(header_.size()) + ", as in the header";
    } catch (const LineError& e) {
      what = e.what();
    }
    if (first == line_number()) throw LineError(path() + ":" + std::to_string(first) + ":" + what);
    throw LineError(path() + ":" + std::to_string(first) + ": a quote that opens in this line closes in line " +
                    std::to_string(line_number()) + what.substr(what.find(':')));
  }

  bool parse(std::string_view line, Record& record) override {
    if (line.empty()) return false;
    const std::uint64_t first = line_number();
    if (quote_open(line, false, delimiter_)) {
      // A stray quote spoils its own line only: reading continues after it.
      if (skips_bad_lines()) lines_.mark();
      try {
        if (!join_lines(line)) return false;
        split_all(line, first);
      } catch (const LineError&) {
        lines_.rewind();
        throw;
      }
      lines_.unmark();
    } else {
      split_all(line, first);
    }
    for (std::size_t i = 0; i < fields_.size(); ++i) {
      const std::string_view value = fields_[i].text;
      const Column& c = header_[i];
      switch (*c.kind) {
        case ColumnKind::kId:
          record.id = value;
          break;
        case ColumnKind::kTask:
          record.task = value;
          break;
        case ColumnKind::kLabel:
          record.label = value;
          break;
        case ColumnKind::kTime:
          set_time(record, fields_[i].at, value);
          if (schema_.time_parts) add_time_parts(record, c.name, value);
          break;
        case ColumnKind::kDate:
          if (schema_.time_parts) add_time_parts(record, c.name, value);
          break;
        case ColumnKind::kText:
          record.texts.push_back({c.name, value});
          break;
        case ColumnKind::kCategory:
          if (is_missing(value))
            record.add_category(c.missing);
          else
            record.add_category(record.keep(c.name, "=", value));
          break;
        case ColumnKind::kNumber:
        case ColumnKind::kCount:
        case ColumnKind::kFlag:
          number_of(line, c, fields_[i], record);
          break;
        case ColumnKind::kWeight:
          set_weight(record, fields_[i].at, value);
          break;
        case ColumnKind::kIgnored:
        case ColumnKind::kFeatures:
          break;
      }
    }
    return true;
  }

  /// Where ; parts fields, numbers may have a decimal comma.
  bool has_commas() const { return delimiter_ == ';'; }

  static bool is_inside(std::string_view line, std::string_view field) {
    return field.data() >= line.data() && field.data() <= line.data() + line.size();
  }
  /// Up to where bytes may be read: a field that was quoted is not in the line.
  static const char* end_of(std::string_view line, std::string_view field) {
    return is_inside(line, field) ? line.data() + line.size() : field.data() + field.size();
  }

  void number_of(std::string_view line, const Column& c, const CsvField& field, Record& record) const {
    const std::string_view text = field.text;
    double value = 0;
    if (!short_decimal(text, end_of(line, text), &value)) {
      if (is_missing(text)) return record.add_category(c.missing);
      if (const auto with_comma = has_commas() ? number_with_comma(text) : std::nullopt)
        return record.add(Entry::Kind::kColumn, c.index, c.name, *with_comma);
      try {
        value = number(is_inside(line, text) ? line : text, text);
      } catch (const LineError&) {
        const std::string other = parse_time(text) ? "a time: --time-column " : "words: --categorical-column ";
        bad(field.at, "column " + quoted_value(c.name) + ": " + quoted_value(text) + "; expected " +
                          std::string(kValueRange) + " (" + other +
                          (c.name.find(' ') == c.name.npos ? shown_value(c.name) : quoted_value(c.name)) + ")");
      }
    }
    record.add(Entry::Kind::kColumn, c.index, c.name, value);
  }

  Names names_;
  char delimiter_ = ',';
  std::vector<Column> header_;
  std::vector<std::string> columns_;
  std::vector<CsvField> fields_;
  std::string joined_, unquoted_;
};

class CsvWriter final : public RecordWriter {
 public:
  explicit CsvWriter(CsvColumns columns) : columns_(std::move(columns)) {
    for (const std::string& name : columns_.features) place_.intern(name);
  }

 private:
  std::string header() override {
    std::string out = "id,task,label";
    if (columns_.time) out += ",time";
    if (columns_.weight) out += ",weight";
    for (const std::string& name : columns_.texts) out += "," + csv_quoted(name);
    for (const std::string& name : columns_.features) {
      if (name.empty()) throw DataError("CSV cannot hold a feature without a name");
      if (name == "id" || name == "task" || name == "label" || name == "text" || (columns_.time && name == "time") ||
          (columns_.weight && name == "weight"))
        throw DataError("CSV cannot hold a feature called '" + name + "': its column would mean something else");
      out += "," + csv_quoted(name);
    }
    return out + "\n";
  }
  std::string line(const Record& r) override {
    std::vector<double> values(columns_.features.size(), 0.0);
    for (const Entry& e : r.entries)
      if (const auto place = place_.find(entry_name(e))) values[*place] += e.value;
    std::string out = csv_quoted(r.id) + "," + csv_quoted(r.task) + "," + csv_quoted(r.label);
    if (columns_.time) out += "," + csv_quoted(r.time);
    if (columns_.weight) out += "," + shortest(r.weight);
    for (const std::string& name : columns_.texts) {
      const auto here = std::find_if(r.texts.begin(), r.texts.end(), [&](const RawText& t) { return t.name == name; });
      out += "," + (here == r.texts.end() ? "" : csv_quoted(here->text));
    }
    for (const double v : values) out += "," + shortest(v);
    return out + "\n";
  }

  CsvColumns columns_;
  NameTable place_;
};

}  // namespace

std::unique_ptr<RecordReader> open_csv(const std::string& path, const ReadOptions& options) {
  return std::make_unique<CsvReader>(path, options);
}
std::unique_ptr<RecordWriter> write_csv(CsvColumns columns) { return std::make_unique<CsvWriter>(std::move(columns)); }

}  // namespace quorate
