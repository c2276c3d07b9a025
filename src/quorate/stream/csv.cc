// CSV with a header (RFC 4180, so quoted fields may hold commas and newlines). Columns called id, task, label and text
// mean that, and one may be named that holds the time; every other column is a numeric feature, or, if it is declared
// categorical, a word.
#include "quorate/base/csv.h"

#include <algorithm>

#include "quorate/base/name_table.h"

#include "quorate/base/error.h"
#include "quorate/stream/formats.h"
#include "quorate/stream/time.h"

namespace quorate {
namespace {

class CsvReader final : public RecordReader {
 public:
  CsvReader(const std::string& path, const ReadOptions& options) : RecordReader(path, options) {
    std::string_view line;
    do {
      if (!lines_.next(line)) {
        if (lines_.stopped()) return;
        throw DataError(this->path() + ": no example in it; expected a header and at least one line of data");
      }
      check_utf8(line);
    } while (line.empty());
    if (!split(line, fields_)) bad(0, "a quote is not closed in the header");
    header_.resize(fields_.size());
    for (std::size_t i = 0; i < fields_.size(); ++i) {
      header_[i].name = fields_[i].text;
      if (header_[i].name.empty()) bad(fields_[i].at, "a column without a name; expected a header with the columns' names");
      for (std::size_t j = 0; j < i; ++j)
        if (header_[j].name == header_[i].name)
          bad(fields_[i].at, "column '" + header_[i].name + "' comes twice in the header");
    }
    const std::pair<const std::string&, Role> named[] = {{options.id, Role::kId},
                                                         {options.task, Role::kTask},
                                                         {options.label, Role::kLabel},
                                                         {options.time, Role::kTime},
                                                         {options.text, Role::kText}};
    for (const auto& [name, role] : named)
      if (!name.empty()) assign(name, role);
    for (const std::string& name : options.categorical) assign(name, Role::kCategorical);
    for (const std::string& name : options.ignore) assign(name, Role::kIgnored);
    // A usual name means the usual thing, unless something was said about either.
    for (const auto& [usual, role] :
         {std::pair{"id", Role::kId}, {"task", Role::kTask}, {"label", Role::kLabel}, {"text", Role::kText}})
      for (Column& c : header_)
        if (c.name == usual && c.role == Role::kNumber && !has(role)) c.role = role;
    for (Column& c : header_)
      if (c.role == Role::kNumber) {
        c.index = static_cast<Index>(columns_.size());
        columns_.push_back(c.name);
      }
  }

  std::span<const std::string> columns() const override { return columns_; }

 private:
  enum class Role { kNumber, kId, kTask, kLabel, kTime, kText, kCategorical, kIgnored };
  struct Column {
    std::string name;
    Role role = Role::kNumber;
    Index index = 0;
  };

  bool has(Role role) const {
    return std::any_of(header_.begin(), header_.end(), [&](const Column& c) { return c.role == role; });
  }
  void assign(const std::string& name, Role role) {
    for (Column& c : header_)
      if (c.name == name) {
        if (c.role != Role::kNumber) throw UsageError("column '" + name + "' is asked to mean two things");
        c.role = role;
        return;
      }
    std::string names;
    for (const Column& c : header_) {
      if (names.size() > 200) {
        names += ", ...";
        break;
      }
      names += (names.empty() ? "" : ", ") + c.name;
    }
    throw DataError(path() + ":1: no column '" + name + "'; the header has " + names);
  }

  bool split(std::string_view line, std::vector<CsvField>& fields) {
    try {
      return split_csv(line, fields, unquoted_);
    } catch (const LineError& e) {
      throw LineError(path() + ":" + std::to_string(line_number()) + ":" + e.what());
    }
  }

  bool parse(std::string_view line, Record& record) override {
    if (line.empty()) return false;
    const std::uint64_t first = line_number();
    if (quote_open(line, false)) {  // a quoted field that goes on in the next lines
      joined_ = line;
      do {
        const bool carriage_return = lines_.carriage_return();
        if (!lines_.next(line) || joined_.size() + line.size() > LineReader::kLongest)
          throw LineError(path() + ":" + std::to_string(first) +
                          ": a quote that opens in this line is not closed; expected \" before the end");
        check_utf8(line);
        joined_ += carriage_return ? "\r\n" : "\n";
        joined_ += line;
      } while (quote_open(line, true));
      line = joined_;
    }
    split(line, fields_);
    if (fields_.size() != header_.size())
      bad(fields_.back().at,
          std::to_string(fields_.size()) + " fields; expected " + std::to_string(header_.size()) + ", as in the header");
    for (std::size_t i = 0; i < fields_.size(); ++i) {
      const std::string_view value = fields_[i].text;
      const Column& c = header_[i];
      switch (c.role) {
        case Role::kId:
          record.id = value;
          break;
        case Role::kTask:
          record.task = value;
          break;
        case Role::kLabel:
          record.label = value;
          break;
        case Role::kTime:
          set_time(record, fields_[i].at, value);
          break;
        case Role::kText:
          record.text = value;
          record.has_text = true;
          break;
        case Role::kCategorical:
          if (!value.empty()) record.add_name(record.keep(c.name, "=", value, nullptr), 1);
          break;
        case Role::kNumber:
          record.add(Entry::Kind::kColumn, c.index, c.name, numeric(line, c, fields_[i]));
          break;
        case Role::kIgnored:
          break;
      }
    }
    return true;
  }

  double numeric(std::string_view line, const Column& c, const CsvField& field) const {
    const bool inside = field.text.data() >= line.data() && field.text.data() <= line.data() + line.size();
    try {
      return number(inside ? line : field.text, field.text);
    } catch (const LineError&) {
      const std::string other = parse_time(field.text) ? "a time: --time-column " : "words: --categorical-column ";
      bad(field.at, "column '" + c.name + "': " + quoted_value(field.text) + "; expected " + std::string(kValueRange) +
                        " (" + other + c.name + ")");
    }
  }

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
    if (columns_.text) out += ",text";
    for (const std::string& name : columns_.features) {
      if (name.empty()) throw DataError("CSV cannot hold a feature without a name");
      if (name == "id" || name == "task" || name == "label" || name == "text" || (columns_.time && name == "time"))
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
    if (columns_.text) out += "," + csv_quoted(r.text);
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
