// CSV with a header (RFC 4180, so quoted fields may hold delimiters and newlines). Columns called id, task, label and text
// mean that, and options may name others; what the rest hold is the model's schema, or inferred from the first rows.
#include "quorate/base/csv.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <unordered_set>

#include "quorate/base/byte_scan.h"
#include "quorate/base/counted.h"
#include "quorate/base/error.h"
#include "quorate/base/name_table.h"
#include "quorate/base/nearest.h"
#include "quorate/base/number.h"
#include "quorate/base/utf8.h"
#include "quorate/stream/formats.h"
#include "quorate/stream/time.h"

namespace quorate {
namespace {

constexpr const char* kQuotesAsText = " (if quotes are text: --quote none)";

class CsvReader final : public RecordReader {
 public:
  CsvReader(const std::string& path, const ReadOptions& options) : RecordReader(path, options), names_(options) {
    std::string_view line;
    std::string said;  // the delimiter
    read_style(options);
    do {
      lines_.mark();
      if (!lines_.next(line)) {
        if (lines_.stopped()) return;
        throw DataError(this->path() + ": no example in it; expected a header and at least one line of data");
      }
      check_utf8(line);
      if (line.size() == 5 && line.starts_with("sep=") && options.delimiter.empty()) {  // as spreadsheets write
        said = line.substr(4);
        line = {};
      }
    } while (line.empty());
    if (line.starts_with("# ")) bad(0, quoted_value(line) + ": a comment? Expected the names of the columns");
    if (line.find('\r') != line.npos) bad(line.find('\r'), std::string(kCarriageReturn));
    delimiter_ = !options.delimiter.empty() ? delimiter_named(options.delimiter)
                 : !said.empty()            ? delimiter_named(said)
                                            : delimiter_of(line);
    spaces_ = has_spaces(line);
    if (open_after(line, false)) join_lines(line);
    if (prepares()) line = prepared_ = prepare(line, false);
    split(line);
    if (options.header.empty()) {
      lines_.unmark();
      check_header(line);
    } else {
      name_columns(options.header);
      lines_.rewind();
    }
    read_header();
    name_roles(options);
    of_model_ = options.schema != nullptr && options.schema->has_columns();
    infer_style(options);
    if (of_model_)
      take_kinds(*options.schema);
    else
      infer_kinds();
    schema_.time_parts = of_model_ ? options.schema->time_parts : options.time_parts;
    for (Column& c : header_) {
      const ColumnKind kind = *c.kind;
      c.index = static_cast<Index>(columns_.size());
      for (std::size_t i = 0; i < c.size; ++i) columns_.push_back(c.name + "." + std::to_string(i));
      for (std::size_t i = 0; i < c.size; ++i) schema_.add(columns_[c.index + i], kind);
      if (c.size > 0) continue;
      schema_.add(c.name, kind);
      if (is_number(kind)) columns_.push_back(c.name);
    }
  }

  std::span<const std::string> columns() const override { return columns_; }
  std::string left_out() const override {
    if (delimiter_ != '\t' || joined_rows_ == 0) return "";  // text between tabs is seldom quoted
    return path() + ":" + std::to_string(first_joined_) + ": " + counted(joined_rows_, "row") +
           " with line breaks inside of quotes; if these quotes are text: --quote none";
  }

 private:
  struct Column {
    std::string name, missing;  // missing: the feature that says so
    std::optional<ColumnKind> kind = {};
    Index index = 0;       // of its first number
    std::size_t size = 0;  // of a vector; 0: it is none
  };
  /// Names of columns that options give a role.
  struct Names {
    explicit Names(const ReadOptions& o)
        : roles{{ColumnKind::kId, o.id},     {ColumnKind::kTask, o.task},     {ColumnKind::kLabel, o.label},
                {ColumnKind::kTime, o.time}, {ColumnKind::kWeight, o.weight}, {ColumnKind::kText, o.text}} {}
    std::vector<std::pair<ColumnKind, std::string>> roles;
  };

  /// Whether a text that is missing would have words: NA, but not a question mark.
  static bool has_letters(std::string_view text) {
    return std::ranges::any_of(text, [](char c) { return (c | 0x20) >= 'a' && (c | 0x20) <= 'z'; });
  }

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

  /// Names that are numbers, unless they count up as years do, are data.
  void check_header(std::string_view line) {
    std::size_t numbers = 0;
    double before = -1;
    bool count_up = true;
    const CsvField* first = nullptr;
    for (const CsvField& field : fields_)
      if (const auto number = parse_number<double>(field.text)) {
        if (numbers++ == 0) first = &field;
        count_up = count_up && *number == std::floor(*number) && *number > before;
        before = *number;
      }
    odd_numbers_ = numbers > 0 && !count_up;
    if (2 * numbers >= fields_.size() && odd_numbers_)
      bad(line, first->text, "the names of the columns; for a file without a header: --header a,b,c, or --header none");
  }

  /// Of a file without a header, by its first line.
  void name_columns(const std::vector<std::string>& header) {
    const bool none = header.size() == 1 && header[0] == "none";
    if (!none && header.size() != fields_.size())
      throw UsageError("--header: " + counted(header.size(), "name") + "; expected " + std::to_string(fields_.size()) +
                       ", as the first line of " + path() + " has fields");
    names_given_ = header;
    if (none) names_given_.clear();
    for (std::size_t i = 0; none && i < fields_.size(); ++i) names_given_.push_back("column " + std::to_string(i + 1));
    for (std::size_t i = 0; i < fields_.size(); ++i) fields_[i].text = names_given_[i];
  }

  void read_header() {
    header_.resize(fields_.size());
    std::unordered_set<std::string_view> names;
    for (std::size_t i = 0; i < fields_.size(); ++i) {
      Column& c = header_[i];
      c.name = fields_[i].text;
      // Frames that are written with their index have one.
      if (c.name.empty() && i == 0 && fields_.size() > 1) c.name = "column 1";
      if (c.name.empty() && i > 0 && i + 1 == fields_.size()) {  // a delimiter at the end of each line
        c.name = "column " + std::to_string(i + 1);
        unnamed_last_ = true;
      }
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
      if (!known && !c.kind)
        while (schema.place(c.name + "." + std::to_string(c.size))) ++c.size;
      const bool stated = c.kind && (is_feature(*c.kind) || *c.kind == ColumnKind::kIgnored);
      if (stated && known && *known != *c.kind && !(is_number(*known) && is_number(*c.kind)))
        throw UsageError("column " + quoted_value(c.name) + ": " + std::string(word_of(*c.kind)) +
                         " here, but the model has learned it as " + std::string(word_of(*known)) +
                         "; leave the option out");
      if (!c.kind && !known && unnamed_last_ && &c == &header_.back()) c.kind = ColumnKind::kIgnored;
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
    if (prepares()) line = prepared_ = prepare(line, false);
    try {
      return split_fields(line) && fields_.size() == header_.size();
    } catch (const LineError&) {
      return false;
    }
  }

  /// How numbers are written: by the options, by the model, or by the first rows of a file that a model reads.
  void infer_style(const ReadOptions& options) {
    style_ = {true, delimiter_ == ';', 0};
    if (schema_.comma || schema_.thousands) style_ = {!schema_.comma, schema_.comma, schema_.comma ? '.' : ','};
    if (!options.decimal.empty() || !options.thousands.empty()) {
      const bool comma = options.decimal == "," || (options.decimal.empty() && options.thousands == ".");
      style_ = {!comma, comma, options.thousands.empty() ? '\0' : options.thousands[0]};
      if (options.decimal.size() > 1 || options.thousands.size() > 1 ||
          (options.decimal != "," && options.decimal != "." && !options.decimal.empty()) ||
          options.decimal == options.thousands)
        throw UsageError("--decimal " + quoted_value(options.decimal) + ", --thousands " + quoted_value(options.thousands) +
                         ": expected . or , for decimals, and another character for thousands");
      schema_.comma = comma;
      schema_.thousands = style_.thousands != 0;
      style_given_ = true;
      return;
    }
    is_decimal_ = schema_.comma && delimiter_ == ',';
    if (!of_model_ || !is_file()) return;  // a row of a pipe is predicted before the next one comes
    std::vector<NumberEvidence> columns(header_.size());
    for_first_rows(kRowsForStyle, [&](std::string_view) { add_evidence(columns); });
    style_ = style_of(columns, style_);
    is_decimal_ = is_decimal_ && style_of(columns, kPlain) == kPlain;
  }
  void add_evidence(std::vector<NumberEvidence>& columns) const {
    for (std::size_t i = 0; i < fields_.size(); ++i)
      if (!is_token(fields_[i].text)) columns[i].add(fields_[i].text);
  }
  NumberStyle style_of(const std::vector<NumberEvidence>& columns, const NumberStyle& usual) const {
    NumberEvidence all;
    for (const NumberEvidence& column : columns) all.add(column);
    return all.style(usual, !of_model_);
  }

  /// use(line) for those, split into fields_. Reading begins at the first again.
  template <class Use>
  void for_first_rows(std::size_t most, Use use) {
    std::size_t bytes = 0;
    lines_.mark();
    try {
      std::string_view line;
      for (std::size_t rows = 0; rows < most && next_sample(line, rows, bytes);) {
        const std::size_t counted = line.size();
        const LineReader::Place next = lines_.place();
        try {
          if (open_after(line, false) && !join_lines(line, longest_to_sample(rows))) break;
        } catch (const LineError&) {  // the stray quote spoils its own line only
          lines_.back_to(next);
          continue;
        }
        bytes += line.size() - counted;
        if (!is_row(line)) continue;  // is said when it is read
        if (++rows == 1) bytes = 0;
        use(line);
      }
    } catch (const LineError&) {  // is thrown again when it is read
    }
    lines_.rewind();
  }

  /// By the first rows, which say how numbers are written, too.
  void infer_kinds() {
    std::vector<ColumnSample> samples(header_.size());
    std::vector<NumberEvidence> numbers(header_.size());
    struct Lists {
      std::uint64_t rows = 0;
      std::size_t size = 0;
      bool same = true;  // in size
    };
    std::vector<Lists> lists(header_.size());
    std::vector<char> has_its_name(header_.size());  // among its values
    const auto label =
        std::find_if(header_.begin(), header_.end(), [](const Column& c) { return c.kind == ColumnKind::kLabel; });
    std::size_t rows = 0;
    const auto sample = [&](std::string_view line) {
      if (!style_given_ && rows++ < kRowsForStyle) add_evidence(numbers);
      std::string_view label_here;
      if (label != header_.end()) label_here = fields_[static_cast<std::size_t>(label - header_.begin())].text;
      if (is_missing(label_here)) label_here = {};
      for (std::size_t i = 0; i < fields_.size(); ++i) {
        const std::string_view text = fields_[i].text;
        samples[i].add(is_token(text) || is_missing_number(text) ? std::string_view() : text, label_here,
                       ColumnSample::Type::kPlain, style_, end_of(line, text));
        has_its_name[i] |= static_cast<char>(text == header_[i].name);
        std::size_t size = 0;
        if (!text.starts_with('[') || !for_numbers(text, [&](std::optional<double>) { ++size; }) || size < 2) continue;
        lists[i].same = lists[i].same && (lists[i].rows == 0 || lists[i].size == size);
        lists[i].size = size;
        ++lists[i].rows;
      }
    };
    for_first_rows(rows_to_sample(), sample);
    if (const NumberStyle style = style_of(numbers, style_);
        !style_given_ && style != style_) {  // the kinds in another style
      style_ = style;
      style_given_ = true;
      samples.assign(header_.size(), {});
      lists.assign(header_.size(), {});
      for_first_rows(rows_to_sample(), sample);
    }
    schema_.comma = !style_.point;
    schema_.thousands = style_.thousands != 0;
    bool doubted = false;  // that the first line is a header
    for (std::size_t i = 0; i < header_.size(); ++i) {
      Column& c = header_[i];
      ColumnReport& report = seen_.emplace_back(samples[i].judge(c.name));
      if (c.kind) {
        report.kind = *c.kind;
        report.why = "by its name or an option";
        report.guess = false;
      }
      if (!c.kind && lists[i].rows > 0 && lists[i].rows + report.missing == report.rows) {
        report.kind = lists[i].same ? ColumnKind::kNumber : ColumnKind::kIgnored;
        report.why =
            lists[i].same ? "vectors of " + std::to_string(lists[i].size) + " numbers" : "lists that differ in length";
        report.guess = true;
        if (lists[i].same) c.size = lists[i].size;
      }
      if (unnamed_last_ && i + 1 == header_.size() && !c.kind && report.missing == report.rows) {
        report.kind = ColumnKind::kIgnored;
        report.guess = false;
      }
      if (report.kind == ColumnKind::kId && !c.kind && has(ColumnKind::kId)) report.kind = ColumnKind::kIgnored;
      c.kind = report.kind;
      if (names_given_.empty() && !doubted && (has_its_name[i] != 0 || is_like_values(report))) {
        report.why += "; its name looks like its values: if the first line is data, --header none";
        report.guess = doubted = true;
      }
    }
  }
  /// Whether a column of dates is named by one, or one of numbers by one that does not count the columns or years.
  bool is_like_values(const ColumnReport& column) const {
    if (column.kind == ColumnKind::kDate) return parse_time(column.name).has_value();
    const bool numeric = column.kind == ColumnKind::kNumber || column.kind == ColumnKind::kCount;
    return numeric && odd_numbers_ && parse_number<double>(column.name).has_value();
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

  void split(std::string_view line) {
    try {
      split_fields(line);
    } catch (const LineError& e) {
      throw LineError(path() + ":" + std::to_string(line_number()) + ":" + e.what());
    }
  }

  void read_style(const ReadOptions& options) {
    if (!options.quote.empty() && options.quote != "none" && options.quote != "\"")
      throw UsageError("--quote " + quoted_value(options.quote) + ": expected none");
    if (options.escape.size() > 1) throw UsageError("--escape " + quoted_value(options.escape) + ": expected one character");
    no_quotes_ = options.quote == "none";
    if (!options.escape.empty() && !no_quotes_) escape_ = options.escape[0];
  }
  /// Whether a space comes after every delimiter of the header.
  bool has_spaces(std::string_view header) const {
    bool any = false;
    for (std::size_t at = header.find(delimiter_); at != header.npos; at = header.find(delimiter_, at + 1)) {
      any = true;
      if (!header.substr(at + 1).starts_with(' ')) return false;
    }
    return any && delimiter_ != '\t';
  }
  /// Whether lines are rewritten as RFC 4180 has them before they are split.
  bool prepares() const { return spaces_ || escape_ != '\0'; }
  /// `open`: the line begins inside of quotes.
  std::string prepare(std::string_view line, bool open) const {
    std::string out;
    out.reserve(line.size());
    for (std::size_t i = 0; i < line.size(); ++i) {
      const char c = line[i];
      if (c == escape_ && escape_ != '\0' && i + 1 < line.size()) {
        const char next = line[++i];
        if (next == '"')
          out += open ? "\"\"" : "\"";
        else if (next == escape_)
          out += next;
        else
          out.append(1, c).append(1, next);
        continue;
      }
      if (c == '"' && !no_quotes_) open = !open;
      out += c;
      if (spaces_ && !open && c == delimiter_)
        while (i + 1 < line.size() && line[i + 1] == ' ') ++i;
    }
    return out;
  }
  /// Whether a quoted field is open after the line.
  bool open_after(std::string_view line, bool open) const {
    if (no_quotes_) return false;
    return prepares() ? quote_open(prepare(line, open), open, delimiter_) : quote_open(line, open, delimiter_);
  }
  /// Into fields_; false if a quoted field is open. Throws LineError.
  bool split_fields(std::string_view line) {
    if (!no_quotes_) {
      if (!split_csv(line, fields_, unquoted_, delimiter_)) return false;
    } else {
      fields_.clear();
      for (std::size_t at = 0; at != line.npos;) {
        const std::size_t end = line.find(delimiter_, at);
        fields_.push_back({line.substr(at, end - at), at});
        at = end == line.npos ? end : end + 1;
      }
    }
    if (unnamed_last_ && fields_.size() + 1 == header_.size()) fields_.push_back({line.substr(line.size()), line.size()});
    return true;
  }

  /// Extends `line` by the next ones, until its quoted field is closed; false if interrupted.
  bool join_lines(std::string_view& line, std::size_t most = LineReader::kLongest) {
    const std::uint64_t first = line_number();
    joined_ = line;
    do {
      const std::size_t carriage_returns = lines_.carriage_returns();
      const bool more = lines_.next(line, most);
      if (!more && lines_.stopped()) return false;
      const std::size_t longest = std::min(most, lines_.longest());
      if (!more || joined_.size() + line.size() > longest)
        throw LineError(path() + ":" + std::to_string(first) + ": a quote that opens in this line is not closed" +
                        (more ? " within " + std::to_string(longest) + " bytes" : "") + "; expected \" before " +
                        (more ? "that" : "the end") +
                        (more && longest < LineReader::kLongest ? ", or a larger --memory" : "") + kQuotesAsText);
      check_utf8(line);
      joined_.append(carriage_returns, '\r').append(1, '\n');
      joined_ += line;
    } while (open_after(line, true));
    line = joined_;
    return true;
  }

  /// Splits a line into as many fields as the header has. `first`: where it begins, if it was joined of several.
  void split_all(std::string_view line, std::uint64_t first) {
    std::string what;
    try {
      split_fields(line);
      if (fields_.size() == header_.size()) return;
      what = std::to_string(fields_.back().at + 1) + ": " + std::to_string(fields_.size()) + " fields; expected " +
             std::to_string(header_.size()) + ", as in the header";
      // Exports may begin with lines about the file.
      constexpr std::uint64_t kAmongTheFirst = 20;
      if (first <= kAmongTheFirst && fields_.size() >= header_.size() + 2)
        what += " (if the table begins in this line: tail -n +" + std::to_string(first) + " FILE)";
    } catch (const LineError& e) {
      const bool escaped = escape_ == '\0' && line.find("\\\"") != line.npos;
      what = e.what() + std::string(escaped ? " (if \\\" is a quote inside of quotes: --escape '\\')" : kQuotesAsText);
    }
    if (first == line_number()) throw LineError(path() + ":" + std::to_string(first) + ":" + what);
    throw LineError(path() + ":" + std::to_string(first) + ": a quote that opens in this line closes in line " +
                    std::to_string(line_number()) + what.substr(what.find(':')));
  }

  bool parse(std::string_view line, Record& record) override {
    if (line.empty()) return false;
    const std::uint64_t first = line_number();
    if (open_after(line, false)) {
      // A stray quote spoils its own line only: reading continues after it.
      if (skips_bad_lines()) lines_.mark();
      try {
        if (!join_lines(line)) return false;
        if (prepares()) line = prepared_ = prepare(line, false);
        split_all(line, first);
        if (joined_rows_++ == 0) first_joined_ = first;
      } catch (const LineError&) {
        lines_.rewind();
        throw;
      }
      lines_.unmark();
    } else {
      if (prepares()) line = prepared_ = prepare(line, false);
      split_all(line, first);
    }
    const bool has_tokens = schema_.missing.size() > 0;
    for (std::size_t i = 0; i < fields_.size(); ++i) {
      if (has_tokens && is_token(fields_[i].text)) fields_[i].text = {};
      const std::string_view value = fields_[i].text;
      const Column& c = header_[i];
      switch (*c.kind) {
        case ColumnKind::kId:
          record.id = value;
          break;
        case ColumnKind::kTask:
          record.task = task(value);
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
          record.texts.push_back({c.name, is_missing(value) && has_letters(value) ? std::string_view() : value});
          break;
        case ColumnKind::kCategory:
          if (is_missing(value))
            record.add_category(c.missing);
          else
            record.add_category(record.keep(c.name, "=", category(value)));
          break;
        case ColumnKind::kNumber:
        case ColumnKind::kCount:
        case ColumnKind::kFlag:
          if (c.size > 0)
            vector_of(c, fields_[i], record);
          else
            number_of(line, c, fields_[i], record);
          break;
        case ColumnKind::kUndecided: {
          const bool is_number = !has_leading_zero(value) && !is_beyond_numbers(value) &&
                                 (written_number(value, style_) || parses(value) || flag_of(value));
          if (is_number || is_missing(value))
            number_of(line, c, fields_[i], record);
          else
            record.add_category(record.keep(c.name, "=", value));
          break;
        }
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

  /// use(number, or nothing if it is missing) for all of a text that is a list of numbers, as [1, -2.5] and, of NumPy, [1.
  /// -2.5]; false for any other text.
  template <class Use>
  static bool for_numbers(std::string_view text, Use use) {
    constexpr std::string_view kSeparators = ", \t\r\n";
    if (!text.starts_with('[') || !text.ends_with(']')) return false;
    text = text.substr(1, text.size() - 2);
    for (;;) {
      text.remove_prefix(std::min(text.find_first_not_of(kSeparators), text.size()));
      if (text.empty()) return true;
      const std::string_view one = text.substr(0, text.find_first_of(kSeparators));
      text.remove_prefix(one.size());
      auto number = parse_number<double>(one.ends_with('.') ? one.substr(0, one.size() - 1) : one);
      if (!number) number = flag_of(one);
      const bool missing = is_missing(one);
      if (!missing && (!number || !is_value(*number))) return false;
      use(missing ? std::nullopt : number);
    }
  }

  /// The numbers of a vector, whose text may be missing.
  void vector_of(const Column& c, const CsvField& field, Record& record) const {
    std::size_t i = 0;
    const auto use = [&](std::optional<double> number) {
      if (i < c.size) {
        const Index at = c.index + static_cast<Index>(i);
        if (number && !is_missing_number(*number))
          record.add(Entry::Kind::kColumn, at, columns_[at], *number);
        else
          record.add_category(record.keep(columns_[at], "=", "?"));
      }
      ++i;
    };
    if (is_missing(field.text))
      while (i < c.size) use({});
    else if (!for_numbers(field.text, use))
      bad(field.at, "column " + quoted_value(c.name) + ": " + quoted_value(field.text) + "; expected a list of numbers");
    if (i != c.size)
      bad(field.at, "column " + quoted_value(c.name) + ": " + counted(i, "number") + "; expected " + std::to_string(c.size) +
                        ", as before");
  }

  /// A task or a word. With decimal commas the point of 4.000 is between thousands.
  std::string_view word(std::string_view text) const { return style_.point ? without_zero_fraction(text) : text; }
  /// true and false are 1 and 0, as in JSON lines and frames.
  std::string_view task(std::string_view text) const {
    const auto flag = flag_of(text);
    return !flag ? word(text) : *flag == 1 ? "1" : "0";
  }
  /// Of a category: true and false as JSON has them.
  std::string_view category(std::string_view text) const {
    const auto flag = flag_of(text);
    return !flag ? word(text) : *flag == 1 ? "true" : "false";
  }

  static bool parses(std::string_view text) {
    const auto number = parse_number<double>(text.starts_with('+') ? text.substr(1) : text);
    return number && is_value(*number);
  }

  /// A name as a shell takes it in a list of columns.
  static std::string typed(const std::string& name) {
    const bool plain = name.find_first_of(" ,\"'\n;&|$()<>") == name.npos;
    return plain ? shown_value(name) : "'" + (name.find_first_of(",\"\n") == name.npos ? name : csv_quoted(name)) + "'";
  }

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
    if (!style_.is_plain(text) || !short_decimal(text, end_of(line, text), &value)) {
      if (is_missing(text)) return record.add_category(c.missing);
      const auto written = written_number(text, style_);
      if (written && is_decimal_ && text.find(',') == text.npos && written_number(text, kPlain) != written)
        bad(field.at, "column " + quoted_value(c.name) + ": " + quoted_value(text) +
                          " may be a thousand, as the model's numbers have decimal commas; expected --decimal . or "
                          "--decimal , --thousands .");
      if (written) return add_number(c, *written, record);
      if (const auto flag = flag_of(text)) return record.add(Entry::Kind::kColumn, c.index, c.name, *flag);
      try {
        value = number(is_inside(line, text) ? line : text, text);
      } catch (const LineError&) {
        const bool time = parse_time(text) || looks_like_time(text), mark = text.find_first_of(",.'") != text.npos;
        bad(field.at, "column " + quoted_value(c.name) + ": " + quoted_value(text) + "; expected " +
                          std::string(kValueRange) + " (" + (mark && !time ? "see --decimal and --thousands; " : "") +
                          (text.size() <= 8 && !mark ? "missing: --missing=" + std::string(text) + "; " : "") +
                          (time ? "a time: --time-column " : "words: --categorical-column ") + typed(c.name) + ")");
      }
    }
    add_number(c, value, record);
  }
  void add_number(const Column& c, double value, Record& record) const {
    if (is_missing_number(value)) return record.add_category(c.missing);
    record.add(Entry::Kind::kColumn, c.index, c.name, value);
  }

  Names names_;
  char delimiter_ = ',';
  static constexpr std::size_t kRowsForStyle = 1000;
  NumberStyle style_;
  static constexpr NumberStyle kPlain{true, false, 0};
  bool style_given_ = false;  // by options
  bool is_decimal_ = false;   // whether 1.234 between commas may be a decimal, though the model has decimal commas
  std::vector<Column> header_;
  std::vector<std::string> columns_;
  std::vector<CsvField> fields_;
  bool of_model_ = false;  // the kinds of columns are
  std::string joined_, unquoted_, prepared_;
  std::vector<std::string> names_given_;
  bool odd_numbers_ = false;  // names that are numbers and do not count up
  bool no_quotes_ = false, spaces_ = false, unnamed_last_ = false;
  char escape_ = '\0';
  std::uint64_t joined_rows_ = 0, first_joined_ = 0;
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
    for (const Entry& e : r.entries) {
      const std::string_view missing = missing_column(e);
      if (const auto empty = missing.empty() ? std::nullopt : place_.find(missing))
        values[*empty] = std::numeric_limits<double>::quiet_NaN();
      else if (const auto place = place_.find(entry_name(e)))
        values[*place] += e.value;
    }
    std::string out = csv_quoted(r.id) + "," + csv_quoted(r.task) + "," + csv_quoted(r.label);
    if (columns_.time) out += "," + csv_quoted(r.time);
    if (columns_.weight) out += "," + shortest(r.weight);
    for (const std::string& name : columns_.texts) {
      const auto is = [&](const RawText& t) { return t.name == name; };
      const auto here = std::find_if(r.texts.begin(), r.texts.end(), is);
      if (here != r.texts.end() && std::any_of(here + 1, r.texts.end(), is))
        throw DataError("CSV cannot hold several texts called '" + name + "'; expected one, or JSON lines");
      out += "," + (here == r.texts.end() ? "" : csv_quoted(here->text));
    }
    for (const double v : values) out += "," + (std::isnan(v) ? "" : shortest(v));
    return out + "\n";
  }

  CsvColumns columns_;
  NameTable place_;
};

}  // namespace

constinit const FileFormat FileFormat::kCsv{
    .name = "csv",
    .endings = ".csv .tsv",
    .open = [](const std::string& path, const ReadOptions& options) -> std::unique_ptr<RecordReader> {
      return std::make_unique<CsvReader>(path, options);
    },
    .write = [](CsvColumns columns) -> std::unique_ptr<RecordWriter> {
      return std::make_unique<CsvWriter>(std::move(columns));
    },
    .has_header = true};

}  // namespace quorate
