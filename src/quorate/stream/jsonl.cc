// JSON lines, one object a line, of one of two forms. With a key x in the first lines:
//   {"id": .., "task": .., "label": .., "x": {name: number, ..} | [number, ..], "text": ".." | ["..", ..] |
//    {name: ".." | ["..", ..], ..}}
// In x, true and false count as 1 and 0, a string becomes the feature name=string, null, a missing value, name=?. Other keys
// are left out, and left_out() says so, except those that options name to hold the time or the weight. Without x every key
// is a column as one of a CSV file; where most lines lack most keys, they are as in x, and what is not there is 0. A list of
// numbers, or a text that is one, is a column for each, key.0, key.1, .., and has as many everywhere. In both forms keys of
// objects inside are joined by a point (sender.domain), and strings in a list are words each, which count once. A model of
// columns finds them in x, too: what `convert` writes.
#include "quorate/stream/formats.h"

#include <simdjson.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <unordered_set>

#include "quorate/base/counted.h"
#include "quorate/base/error.h"
#include "quorate/base/name_table.h"
#include "quorate/base/number.h"
#include "quorate/base/utf8.h"
#include "quorate/params/json_object.h"

namespace quorate {
namespace {

namespace dom = simdjson::dom;

/// An entry that names a feature for the second time, or nullptr. Names may come in any order. `sorted` is scratch.
const Entry* repeated(const std::vector<Entry>& entries, std::vector<Entry>& sorted) {
  const auto less = [](const Entry& a, const Entry& b) {
    return std::tuple(a.kind, a.index, a.name) < std::tuple(b.kind, b.index, b.name);
  };
  const auto not_less = [&](const Entry& a, const Entry& b) { return !less(a, b); };
  if (std::adjacent_find(entries.begin(), entries.end(), not_less) == entries.end()) return nullptr;  // in order already
  sorted.assign(entries.begin(), entries.end());
  std::sort(sorted.begin(), sorted.end(), less);
  for (std::size_t i = 1; i < sorted.size(); ++i)
    if (!less(sorted[i - 1], sorted[i])) return &sorted[i];
  return nullptr;
}

/// Of a task of Label Studio, for jq.
constexpr std::string_view kChoice = ".annotations[0].result[0].value.choices[0]";

constexpr std::size_t kMostDepth = simdjson::DEFAULT_MAX_DEPTH;

/// Where lists and objects are nested deeper than simdjson reads, or npos.
std::size_t too_deep(std::string_view line) {
  std::size_t depth = 0;
  bool quoted = false;
  for (std::size_t at = 0; at < line.size(); ++at) {
    const char c = line[at];
    if (quoted && c == '\\')
      ++at;
    else if (c == '"')
      quoted = !quoted;
    else if (!quoted && (c == '[' || c == '{') && ++depth > kMostDepth)
      return at;
    else if (!quoted && (c == ']' || c == '}') && depth > 0)
      --depth;
  }
  return line.npos;
}

/// Keeps nothing that nlohmann's parser reads but the position of the first error.
struct ErrorPosition final : nlohmann::json_sax<nlohmann::json> {
  std::size_t byte = 0;
  bool syntax = false;  ///< not a number out of range

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override { return true; }
  bool key(string_t&) override { return true; }
  bool end_object() override { return true; }
  bool start_array(std::size_t) override { return true; }
  bool end_array() override { return true; }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception& e) override {
    byte = position == 0 ? 0 : position - 1;
    syntax = dynamic_cast<const nlohmann::detail::parse_error*>(&e) != nullptr;
    return false;
  }
};

class JsonlReader final : public RecordReader {
  static constexpr std::size_t kFirstRows = 1000, kFewWords = 256;

 public:
  JsonlReader(const std::string& path, const ReadOptions& o)
      : RecordReader(path, o),
        id_(role(o, ColumnKind::kId, "id")),
        task_(role(o, ColumnKind::kTask, "task")),
        label_(role(o, ColumnKind::kLabel, "label")),
        time_(role(o, ColumnKind::kTime, "")),
        weight_(role(o, ColumnKind::kWeight, "")),
        text_(role(o, ColumnKind::kText, "text")),
        null_(null_parser_.parse(std::string("null")).value()) {
    if (o.schema != nullptr && o.schema->has_columns())
      take_kinds(*o.schema, o);
    else
      infer_kinds(o);
    with_x_ = !schema_.has_columns();
    if (with_x_) {
      for (const auto& [option, keys] :
           {std::pair{"--categorical-column ", &o.categorical}, {"--number-column ", &o.number}})
        if (!keys->empty())
          throw UsageError(option + keys->front() + ": " + this->path() +
                           " has its features in the key x; expected columns of words and numbers only without x");
      keep_roles(o, "x");
    }
    for (std::size_t i = 0; i < schema_.size(); ++i) {
      const ColumnKind kind = schema_.kind(i);
      const bool has_values = is_number(kind) || kind == ColumnKind::kCategory;
      values_ += has_values;
      missing_.push_back(has_values ? std::string(schema_.name(i)) + "=?" : "");
      has_lists_ = has_lists_ || schema_.name(i).ends_with(".0");
      column_of_.push_back(static_cast<Index>(columns_.size()));
      if (is_number(kind) && !schema_.sparse) columns_.emplace_back(schema_.name(i));
    }
    line_of_.resize(schema_.size());
    if (with_x_) {
      name_features();
      unknown_ = 0;  // of lines that are read again
    }
  }

  std::span<const std::string> columns() const override { return columns_; }

  std::string left_out() const override {
    const std::string others = unknown();
    if (nested_ == 0) return others;
    return path() + ": the key '" + first_nested_ + " holds a list of objects or of lists, which is not read (" +
           counted(nested_, "value") + "; --ignore-column if that is meant)" + (others.empty() ? "" : "; " + others);
  }
  std::string_view part_called() const override { return "key"; }

 private:
  /// Of keys that were not used.
  std::string unknown() const {
    if (unknown_ == 0) return "";
    if (with_x_)
      return path() + ": the key " + quoted_value(first_unknown_) + " (line " + std::to_string(first_unknown_line_) +
             ") is outside x; " + counted(unknown_, "value") +
             " of such keys left out (expected features in x; --text-column names words, --ignore-column what to leave out)";
    return path() + ": the key " + quoted_value(first_unknown_) + " (line " + std::to_string(first_unknown_line_) + ")" +
           (unknown_ > 1 ? " and others that " : ", which ") +
           (of_model_ ? "the model does not know " : "the first lines do not have ") + (unknown_ > 1 ? "were" : "was") +
           " left out " + counted(unknown_, "time");
  }
  /// The role that the options or a usual name give a key.
  std::optional<ColumnKind> stated(const ReadOptions& o, std::string_view name) const {
    const auto in = [&](const std::vector<std::string>& names) {
      return std::find(names.begin(), names.end(), name) != names.end();
    };
    if (in(o.ignore)) return ColumnKind::kIgnored;
    if (!time_.empty() && name == time_) return ColumnKind::kTime;
    if (!weight_.empty() && name == weight_) return ColumnKind::kWeight;
    if (name == id_) return ColumnKind::kId;
    if (name == task_) return ColumnKind::kTask;
    if (name == label_) return ColumnKind::kLabel;
    if (name == text_) return ColumnKind::kText;
    if (in(o.categorical)) return ColumnKind::kCategory;
    if (in(o.number)) return ColumnKind::kNumber;
    return {};
  }

  void take_kinds(const Schema& schema, const ReadOptions& o) {
    for (const auto& [kind, given] : {std::pair{ColumnKind::kTask, &o.task}, {ColumnKind::kLabel, &o.label}})
      if (const auto known = schema.column_of(kind); known && !given->empty() && *given != *known)
        throw UsageError("--" + std::string(word_of(kind)) + "-column " + *given + ": the model has its " +
                         std::string(word_of(kind)) + " in the key " + quoted_value(*known) + "; leave it out");
    for (std::size_t i = 0; i < schema.size(); ++i) schema_.add(schema.name(i), schema.kind(i));
    of_model_ = true;
    if (is_file()) check_known();
  }

  /// Throws DataError if no line of the first ones has a key that the model learned from.
  void check_known() {
    const std::string expected = schema_.learned_names();
    std::string name;
    std::uint64_t rows = 0;
    bool known = expected.empty(), strange = false;
    lines_.mark();
    try {
      std::size_t bytes = 0;
      for (std::string_view line; !known && rows < kFirstRows && bytes < kSampleBytes && lines_.next(line, kSampleBytes);) {
        bytes += line.size();
        dom::object object;
        if (find_not_utf8(line) != line.npos ||
            parser_.parse(line.data(), line.size(), true).get(object) != simdjson::SUCCESS)
          continue;  // is said when it is read
        ++rows;
        name.clear();
        flatten(
            object, name,
            [&](const std::string& key, const dom::element&, bool) {
              const auto place = schema_.place(key);
              known = known || schema_.sparse || (place && schema_.learned(*place));
              strange = strange || !place;
            },
            [](const std::string&, std::size_t) {});
      }
    } catch (const LineError&) {  // is thrown again when it is read
    }
    lines_.rewind();
    if (known || !strange) return;
    throw DataError(path() + ": no key that the model knows in the first " + counted(rows, "line") + "; expected " +
                    expected + ", as in the data learned from");
  }

  static bool is_quantity(const dom::element& v) { return v.is_number() || v.is_bool(); }
  /// Two numbers or more, maybe with nulls among them.
  static bool is_vector(const dom::array& list) {
    std::size_t numbers = 0, items = 0;
    for (const dom::element& item : list) {
      if (!is_quantity(item) && !item.is_null()) return false;
      numbers += is_quantity(item);
      ++items;
    }
    return numbers > 0 && items > 1;
  }

  /// use(name, value, in a list) for each value that is no object or list itself, and for those in a list; vector(name,
  /// size) before the numbers of a list, or of a text that is one.
  template <class Use, class Vector>
  void flatten(const dom::object& object, std::string& name, const Use& use, const Vector& vector) {
    const std::size_t before = name.size();
    for (const auto [key, value] : object) {
      if (before > 0) name += '.';
      name += key;
      const auto each_of = [&](const dom::array& list) {
        vector(std::as_const(name), list.size());
        const std::size_t end = name.size();
        std::size_t i = 0;
        for (const dom::element& item : list) {
          name.append(".").append(std::to_string(i++));
          use(name, or_null(item), false);
          name.resize(end);
        }
      };
      dom::object inside;
      dom::array list;
      std::string_view text;
      if (value.get(inside) == simdjson::SUCCESS) {
        if (of_model_ && before == 0 && (name == "x" || name == "text") && !schema_.place(name)) name.clear();
        flatten(inside, name, use, vector);
      } else if (value.get(list) == simdjson::SUCCESS) {
        if (is_vector(list))
          each_of(list);
        else
          for (const dom::element& item : list) use(name, item, true);
      } else if (value.get(text) == simdjson::SUCCESS && text.size() > 2 && text.front() == '[' && text.back() == ']' &&
                 text_parser_.parse(text.data(), text.size(), true).get(list) == simdjson::SUCCESS && is_vector(list)) {
        each_of(list);
      } else {
        use(name, or_null(value), false);
      }
      name.resize(before);
    }
  }

  /// null for a value that options or the model say is missing.
  const dom::element& or_null(const dom::element& v) const {
    if (schema_.missing.size() == 0) return v;
    if (std::string_view text; v.get(text) == simdjson::SUCCESS) return is_token(text) ? null_ : v;
    double number = 0;
    return v.get(number) == simdjson::SUCCESS && is_missing_number(number) ? null_ : v;
  }

  /// Throws DataError if the lines are answers about examples, not examples.
  void check_no_answers(const dom::object& object) const {
    dom::object data;
    dom::element at;
    if (object["data"].get(data) != simdjson::SUCCESS) return;
    if (object["annotations"].is_array())
      throw DataError(path() + ": tasks of Label Studio; expected one example a line: jq -c '.data + {label: " +
                      std::string(kChoice) + "}' FILE");
    if (object["ticket"].get(at) == simdjson::SUCCESS && object["annotator"].get(at) == simdjson::SUCCESS)
      throw DataError(path() + ": answers, one a line; expected examples: quorate journal export --to examples");
  }

  void infer_kinds(const ReadOptions& o) {
    struct Sampled {
      ColumnSample sample;
      std::uint64_t rows = 0;
      bool list = false;
    };
    NameTable names;
    std::vector<Sampled> sampled;
    std::map<std::string, std::size_t> sizes;  // of vectors
    std::set<std::string> ragged;              // those that differ in size
    bool fixed = false;
    std::uint64_t rows = 0;
    std::size_t bytes = 0;
    std::string name;
    const std::size_t most = rows_to_sample();
    lines_.mark();
    try {
      for (std::string_view line; rows < most && next_sample(line, rows, bytes);) {
        dom::object object;
        if (find_not_utf8(line) != line.npos ||
            parser_.parse(line.data(), line.size(), true).get(object) != simdjson::SUCCESS)
          continue;  // is said when it is read
        if (rows == 0) check_no_answers(object);
        if (dom::element x; object["x"].get(x) == simdjson::SUCCESS && (x.is_object() || x.is_array())) {
          fixed = true;
          break;
        }
        Record record;
        std::string label;
        for (const auto [key, v] : object)
          if (key == label_ && !v.is_object() && !v.is_array()) label = word(line, key, v, record);
        const auto size_of = [&](const std::string& key, std::size_t size) {
          const auto [known, is_new] = sizes.try_emplace(key, size);
          if (!is_new && known->second != size) ragged.insert(key);
        };
        flatten(
            object, name,
            [&](const std::string& key, const dom::element& v, bool in_list) {
              if (v.is_object() || v.is_array()) return;
              const std::uint32_t at = names.intern(key);
              if (at == sampled.size()) sampled.emplace_back();
              Sampled& s = sampled[at];
              for (; s.rows < rows; ++s.rows) s.sample.skip();
              s.list = s.list || in_list;
              const auto type = v.is_string() ? ColumnSample::Type::kString
                                : v.is_bool() ? ColumnSample::Type::kFlag
                                              : ColumnSample::Type::kPlain;
              s.sample.add(word(line, key, v, record), label, type);
              s.rows = std::max(s.rows, rows + 1);
            },
            size_of);
        if (++rows == 1) bytes = 0;
      }
    } catch (const LineError&) {  // is thrown again when it is read
    }
    lines_.rewind();
    if (fixed) return;
    for (const auto& [key, size] : sizes)  // a number, or a list of one, beside longer lists
      if (const auto at = names.find(key); at && sampled[*at].sample.has_numbers()) ragged.insert(key);
    schema_.time_parts = o.time_parts;
    std::uint64_t values = 0, present = 0;
    bool has_id = false;  // a key that never repeats
    for (std::uint32_t i = 0; i < sampled.size(); ++i) {
      for (; sampled[i].rows < rows; ++sampled[i].rows) sampled[i].sample.skip();
      ColumnReport report = sampled[i].sample.judge(std::string(names[i]));
      if (sampled[i].list && !is_number(report.kind)) {
        report.kind = ColumnKind::kCategory;
        report.why = "lists of words";
        report.guess = false;
      }
      if (report.kind == ColumnKind::kId && (names.find(id_) || has_id)) report.kind = ColumnKind::kIgnored;
      has_id = has_id || report.kind == ColumnKind::kId;
      if (const std::size_t end = report.name.rfind('.');
          end != report.name.npos && ragged.contains(report.name.substr(0, end))) {
        report.kind = ColumnKind::kIgnored;
        report.why = "of lists that differ in length";
        report.guess = true;
      }
      bool list = false;
      if (sizes.contains(report.name)) {
        report.kind = ColumnKind::kIgnored;
        report.why = "nothing where others have a list";
        list = !ragged.contains(report.name);
      }
      if (const auto said = stated(o, report.name)) {
        report.kind = *said;
        report.why = "by its name or an option";
        report.guess = false;
        list = false;
      }
      if (!list) schema_.add(report.name, report.kind);  // the numbers of a list have keys of their own
      if (is_number(report.kind) || report.kind == ColumnKind::kCategory) {
        ++values;
        present += report.rows - report.missing;
      }
      seen_.push_back(std::move(report));
    }
    schema_.sparse = values > 2 && 2 * present < values * rows;
    if (schema_.sparse)
      for (ColumnReport& report : seen_)
        if (is_number(report.kind)) report.why += "; 0 where it is not there, as in most lines";
    // What the first lines lack may come later.
    for (const std::string& role : {id_, task_, label_, time_, weight_})
      if (!role.empty()) schema_.add(role, *stated(o, role));
  }

  /// A line without x: every key is a column.
  void columns_of(std::string_view line, const dom::object& object, Record& record) {
    std::uint32_t roles = 0;
    std::size_t here = 0;  // numbers and categories
    name_.clear();         // a bad line ends in the middle of a name
    if (list_words_.bucket_count() > kFewWords)
      list_words_ = {};  // to clear it would take long in every line
    else
      list_words_.clear();
    const auto vector = [&](const std::string& key, std::size_t size) {
      if (const auto place = schema_.place(key); place && schema_.kind(*place) != ColumnKind::kIgnored)
        wrong(line, key, "one value, not a list");
      const auto first = schema_.place(key + ".0");
      if (!first) return;
      if (schema_.kind(*first) == ColumnKind::kIgnored) return leave_out(key, record);
      std::size_t expected = size;
      while (schema_.place(key + "." + std::to_string(expected))) ++expected;
      while (expected > 0 && !schema_.place(key + "." + std::to_string(expected - 1))) --expected;
      if (expected != size) wrong(line, key, counted(expected, "number") + ", not " + std::to_string(size));
    };
    flatten(
        object, name_,
        [&](const std::string& key, const dom::element& v, bool in_list) {
          const bool ignored = meets(key);
          const auto place = schema_.place(key);
          if (v.is_object() || v.is_array()) {
            if (!ignored && nested_++ == 0) first_nested_ = key + "' (line " + std::to_string(line_number()) + ")";
            return;
          }
          if (!ignored && !place && has_lists_ && is_list(key)) {
            if (is_quantity(v)) wrong(line, key, "a list of numbers, as long as in the first lines");
            if (v.is_null()) return;
          }
          if (!place) {
            if (!ignored && schema_.sparse)
              new_key(line, key, v, in_list, record);
            else if (!ignored)
              leave_out(key, record);
            return;
          }
          const ColumnKind kind = schema_.kind(*place);
          if (line_of_[*place] == line_number() && !in_list && is_feature(kind)) wrong(line, key, "it once");
          if (line_of_[*place] != line_number()) {
            line_of_[*place] = line_number();
            here += !missing_[*place].empty();
          }
          if (!is_feature(kind) && kind != ColumnKind::kDate && kind != ColumnKind::kIgnored) {
            if ((roles >> static_cast<unsigned>(kind) & 1) != 0)
              wrong(line, key,
                    in_list
                        ? "one of them; for several labels make a key of true and false for each, and learn each by itself"
                        : "it once");
            roles |= 1u << static_cast<unsigned>(kind);
          }
          switch (kind) {
            case ColumnKind::kId:
              record.id = word(line, key, v, record);
              break;
            case ColumnKind::kTask:
              record.task = word(line, key, v, record);
              break;
            case ColumnKind::kLabel:
              record.label = word(line, key, v, record);
              break;
            case ColumnKind::kTime:
            case ColumnKind::kDate: {
              if (v.is_bool()) wrong(line, key, "a string or a number");
              const std::string_view text = word(line, key, v, record);
              if (kind == ColumnKind::kTime) set_time(record, place_of(line, key), text);
              if (schema_.time_parts) add_time_parts(record, record.keep(key), text);
              break;
            }
            case ColumnKind::kText:
              if (std::string_view text; v.get(text) == simdjson::SUCCESS)
                record.texts.push_back({record.keep(key), text});
              else if (!v.is_null())
                wrong(line, key, "a string");
              break;
            case ColumnKind::kCategory:
              if (bool flag = false; v.get(flag) == simdjson::SUCCESS)  // as a CSV file has it, not as 1
                add_word(record.keep(key, "=", flag ? "true" : "false"), in_list, record);
              else if (const std::string_view value = word(line, key, v, record); !value.empty())
                add_word(record.keep(key, "=", value), in_list, record);
              else if (!in_list && !schema_.sparse)
                record.add_category(missing_[*place]);
              break;
            case ColumnKind::kNumber:
            case ColumnKind::kCount:
            case ColumnKind::kFlag:
            case ColumnKind::kUndecided:
              number_column(line, key, v, *place, in_list, record);
              break;
            case ColumnKind::kWeight:
              set_weight(record, place_of(line, key), word(line, key, v, record));
              break;
            case ColumnKind::kIgnored:
            case ColumnKind::kFeatures:
              break;
          }
        },
        vector);
    add_missing(record, here);
  }

  /// Whether a list of numbers is expected.
  bool is_list(std::string_view key) {
    item_.assign(key).append(".0");
    const auto first = schema_.place(item_);
    return first && is_feature(schema_.kind(*first));
  }

  /// Where lines lack most keys, the first lines may lack any.
  void new_key(std::string_view line, std::string_view key, const dom::element& v, bool in_list, Record& record) {
    if (std::string_view text; v.get(text) == simdjson::SUCCESS)
      add_word(record.keep(key, "=", text), in_list, record);
    else if (!v.is_null())
      record.add_name(record.keep(key), real(line, key, v));
  }

  /// A word in a list counts once, as in lists inside x.
  void add_word(std::string_view name, bool in_list, Record& record) {
    if (!in_list || list_words_.insert(name).second) record.add_category(name);
  }

  /// A number, also one in a string; of an undecided column also a word.
  void number_column(std::string_view line, std::string_view key, const dom::element& v, std::size_t place, bool in_list,
                     Record& record) {
    std::string_view text;
    const bool is_text = v.get(text) == simdjson::SUCCESS;
    if (v.is_null() || (is_text && is_missing(text))) {
      if (!schema_.sparse) record.add_category(missing_[place]);
      return;
    }
    double value = 0;
    if (is_text) {
      const bool undecided = schema_.kind(place) == ColumnKind::kUndecided;
      const bool name = has_leading_zero(text) || (undecided && is_beyond_numbers(text));
      auto number = undecided && name ? std::nullopt : parse_number<double>(text.substr(text.starts_with('+')));
      if (!number && !name) number = written_number(text, {});
      if (!number) number = flag_of(text);
      if (!number && undecided) return add_word(record.keep(key, "=", text), in_list, record);
      if (!number || !is_value(*number)) wrong(line, key, std::string(kValueRange));
      if (is_missing_number(*number)) return number_column(line, key, null_, place, in_list, record);
      value = *number;
    } else {
      value = real(line, key, v);
    }
    if (schema_.sparse)
      record.add_name(schema_.name(place), value);
    else
      record.add(Entry::Kind::kColumn, column_of_[place], columns_[column_of_[place]], value);
  }

  /// Features that say which numbers and categories the line lacks, if it has at least half of them. Objects with few of
  /// many keys are sparse: most lines lack most keys, which says nothing and would take long.
  void add_missing(Record& record, std::size_t here) const {
    if (schema_.sparse || 2 * here < values_) return;
    for (std::size_t i = 0; i < missing_.size() && here < values_; ++i)
      if (!missing_[i].empty() && line_of_[i] != line_number()) {
        record.add_category(missing_[i]);
        ++here;
      }
  }

  bool parse(std::string_view line, Record& record) override {
    if (line.find_first_not_of(" \t") == line.npos) return false;
    if (line.front() == '[' && line_number() == 1)
      bad(0, "a JSON array; expected one object a line: jq -c '.[]' FILE makes lines of it" +
                 (line.find("\"annotations\"") == line.npos
                      ? ""
                      : ", of Label Studio's tasks jq -c '.[] | .data + {label: " + std::string(kChoice) + "}' FILE"));
    dom::element document;
    if (parser_.parse(line.data(), line.size(), true).get(document) != simdjson::SUCCESS) syntax_error(line);
    dom::object object;
    if (document.get(object) != simdjson::SUCCESS)
      bad(line, line, "a JSON object, {\"task\": .., \"label\": .., \"x\": {..}}");
    if (!with_x_) {
      columns_of(line, object, record);
      return true;
    }
    bool seen[7] = {};
    for (const auto [key, value] : object) {
      if (meets(key)) continue;
      const auto is = [&, k = key](std::size_t which, std::string_view name) {
        if (k != name) return false;
        if (seen[which]) wrong(line, k, "it once");
        return seen[which] = true;
      };
      if (!time_.empty() && is(5, time_)) {
        if (value.is_bool()) wrong(line, key, "a string or a number");
        set_time(record, place_of(line, key), word(line, key, value, record));
      } else if (!weight_.empty() && is(6, weight_)) {
        set_weight(record, place_of(line, key), word(line, key, value, record));
      } else if (is(0, id_)) {
        record.id = word(line, key, value, record);
      } else if (is(1, task_)) {
        record.task = word(line, key, value, record);
      } else if (is(2, label_)) {
        record.label = word(line, key, value, record);
      } else if (is(3, text_)) {
        texts(line, value, record);
      } else if (is(4, "x")) {
        features(line, value, record);
      } else {
        leave_out(key, record);
      }
    }
    if (!seen[4] && record.texts.empty()) bad(line, line, "a key x with features, or " + text_ + " with text");
    return true;
  }

  /// One text or a list of them, or such by name.
  void texts(std::string_view line, const dom::element& value, Record& record) {
    dom::object by_name;
    if (value.get(by_name) == simdjson::SUCCESS) {
      for (const auto [name, one] : by_name) texts(line, name, one, "a string or a list of strings", record);
    } else {
      texts(line, text_, value, "a string, a list of strings, or an object of these by name", record);
    }
  }
  void texts(std::string_view line, std::string_view name, const dom::element& value, const char* expected, Record& record) {
    const auto add = [&](const dom::element& one) {
      std::string_view text;
      if (one.is_null()) return;
      if (one.get(text) != simdjson::SUCCESS) wrong(line, name, expected);
      record.texts.push_back({name, text});
    };
    if (dom::array list; value.get(list) == simdjson::SUCCESS)
      for (const dom::element& one : list) add(one);
    else
      add(value);
  }

  void leave_out(std::string_view key, Record& record) {
    note_other(key);
    if (record.left_out.size() < Record::kMostLeftOut) record.left_out.push_back(record.keep(key));
    if (unknown_++ > 0) return;
    first_unknown_ = key;
    first_unknown_line_ = line_number();
  }

  void features(std::string_view line, const dom::element& value, Record& record) {
    if (dom::array array; value.get(array) == simdjson::SUCCESS) {
      Index index = 0;
      for (const dom::element& v : array) {
        if (v.is_null()) wrong(line, "x", "numbers in the array");
        record.add_index(index++, real(line, "x", v));
      }
      return;
    }
    dom::object object;
    if (value.get(object) != simdjson::SUCCESS) wrong(line, "x", "an object {name: number, ..} or an array of numbers");
    for (const auto [key, v] : object) {
      if (meets(key)) continue;
      if (v.is_object() || v.is_array())
        features_inside(line, key, v, record);
      else
        feature(line, key, v, record);
    }
    if (const Entry* again = repeated(record.entries, sorted_)) wrong(line, entry_name(*again), "each feature once");
  }

  /// Of x. `key` is not copied.
  void feature(std::string_view line, std::string_view key, const dom::element& given, Record& record) {
    const dom::element& v = or_null(given);
    Index index = 0;
    if (std::string_view text; v.get(text) == simdjson::SUCCESS)
      record.add_category(record.keep(key, "=", text));
    else if (v.is_null())
      record.add_category(record.keep(key, "=", "?"));
    else if (plain_number(key, &index))
      record.add_index(index, real(line, key, v));
    else
      record.add_name(key, real(line, key, v));
  }
  /// Of an object or a list inside x, which is the value of `key`.
  void features_inside(std::string_view line, std::string_view key, const dom::element& v, Record& record) {
    if (dom::array list; v.get(list) == simdjson::SUCCESS) {
      words_.clear();
      for (const dom::element& item : list) {
        if (item.is_null()) continue;
        std::string_view word;
        if (item.get(word) != simdjson::SUCCESS) wrong(line, key, "a number, a string, an object or a list of strings");
        words_.push_back(word);
      }
      std::sort(words_.begin(), words_.end());
      words_.erase(std::unique(words_.begin(), words_.end()), words_.end());
      for (const std::string_view word : words_) record.add_category(record.keep(key, "=", word));
      return;
    }
    dom::object object;
    if (v.get(object) != simdjson::SUCCESS) return feature(line, key, v, record);
    for (const auto [inner, value] : object) {
      const std::string_view name = record.keep(key, ".", inner);
      if (!meets(name)) features_inside(line, name, value, record);
    }
  }

  double real(std::string_view line, std::string_view key, const dom::element& v) {
    double out = 0;
    if (v.get(out) != simdjson::SUCCESS) {
      if (bool b = false; v.get(b) == simdjson::SUCCESS) return b ? 1 : 0;
      wrong(line, key, "a number");
    }
    if (!is_value(out)) wrong(line, key, std::string(kValueRange));
    return out;
  }
  /// A string as it is, a number as JSON writes it; null is nothing.
  std::string_view word(std::string_view line, std::string_view key, const dom::element& v, Record& record) {
    if (v.is_null()) return {};
    if (std::string_view text; v.get(text) == simdjson::SUCCESS) return text;
    if (std::int64_t i = 0; v.get(i) == simdjson::SUCCESS) return record.keep(std::to_string(i));
    if (std::uint64_t u = 0; v.get(u) == simdjson::SUCCESS) return record.keep(std::to_string(u));
    if (double d = 0; v.get(d) == simdjson::SUCCESS) return record.keep(shortest(d));
    if (bool b = false; v.get(b) == simdjson::SUCCESS) return b ? "1" : "0";
    wrong(line, key, "a string or a number");
  }
  [[noreturn]] void wrong(std::string_view line, std::string_view key, const std::string& expected) const {
    bad(place_of(line, key), "key " + quoted_value(key) + ": expected " + expected);
  }
  /// The position of a key in the line; the first of equal ones.
  static std::size_t place_of(std::string_view line, std::string_view key) {
    const std::size_t at = line.find("\"" + std::string(key) + "\"");
    return at == line.npos ? 0 : at;
  }
  /// simdjson does not report the position; the slow parser does.
  [[noreturn]] void syntax_error(std::string_view line) const {
    if (const std::size_t at = too_deep(line); at != line.npos)
      bad(at, "lists or objects nested more than " + std::to_string(kMostDepth) + " deep; expected fewer");
    ErrorPosition error;
    if (!nlohmann::json::sax_parse(line, &error) && error.syntax) {
      std::size_t at = std::min(error.byte, line.size());
      const auto letter = [line](std::size_t i) {
        return i < line.size() && (line[i] | 0x20) >= 'a' && (line[i] | 0x20) <= 'z';
      };
      while (at > 0 && letter(at) && letter(at - 1)) --at;  // to where the word begins
      std::size_t end = at;
      while (letter(end)) ++end;
      for (const std::string_view name : {"NaN", "nan", "Infinity", "inf"})  // as Python and others write them
        if (line.substr(at, end - at) == name)
          bad(at, quoted_value(name) + "; expected JSON, which has no such number: null is a missing value");
      const std::string found = at == line.size() ? "the line ends inside an object" : quoted_value(line.substr(at));
      bad(at, found + "; expected JSON, one object a line");
    }
    bad(0, quoted_value(line) + "; expected JSON, one object a line, numbers that fit a double");
  }

  std::vector<std::string> columns_;    // keys of numbers
  std::vector<Index> column_of_;        // of the schema's keys
  std::vector<std::string> missing_;    // of the schema's keys: the feature that says so; "" if it is no number or category
  std::size_t values_ = 0;              // numbers and categories
  std::vector<std::uint64_t> line_of_;  // of the schema's keys: where each came last
  std::string id_, task_, label_, time_, weight_, text_, name_, item_, first_unknown_, first_nested_;
  std::uint64_t unknown_ = 0, first_unknown_line_ = 0, nested_ = 0;
  bool of_model_ = false;   // the kinds of keys are
  bool has_lists_ = false;  // of numbers, maybe
  bool with_x_ = false;     // lines have their features in the key x
  dom::parser parser_, text_parser_, null_parser_;
  dom::element null_;
  std::vector<Entry> sorted_;
  std::vector<std::string_view> words_;
  std::unordered_set<std::string_view> list_words_;  // features of the lists of a line without x
};

class JsonlWriter final : public RecordWriter {
  /// Of the feature key=word of a category the key; "" of any other.
  static std::string_view word_key(const Entry& e) {
    const std::size_t end = e.category ? e.name.find('=') : e.name.npos;
    return end == e.name.npos ? std::string_view() : e.name.substr(0, end);
  }
  /// An object by name, if they are `named`; those of one name are a list.
  static void texts(const std::vector<RawText>& all, bool named, std::string& out) {
    NameTable names;
    std::vector<std::vector<std::string_view>> of_name;
    for (const RawText& t : all) {
      const std::uint32_t at = names.intern(t.name);
      if (at == of_name.size()) of_name.emplace_back();
      of_name[at].push_back(t.text);
    }
    if (named) out += '{';
    for (std::uint32_t n = 0; n < names.size(); ++n) {
      if (n > 0) out += ',';
      if (named) append_json(out, names[n]), out += ':';
      const bool list = of_name[n].size() > 1;
      if (list) out += '[';
      for (std::size_t i = 0; i < of_name[n].size(); ++i) {
        if (i > 0) out += ',';
        append_json(out, of_name[n][i]);
      }
      if (list) out += ']';
    }
    if (named) out += '}';
  }
  std::string line(const Record& r) override {
    if (const Entry* again = repeated(r.entries, sorted_))
      throw DataError("JSON cannot hold the feature '" + entry_name(*again) +
                      "' twice; expected it once, or VW text (a name that ends in .vw)");
    std::string out = "{";
    out.reserve(128 + 16 * r.entries.size());
    const auto key = [&](const char* name) { out += std::string(out.size() > 1 ? "," : "") + "\"" + name + "\":"; };
    const auto text = [&](std::string_view s) { append_json(out, s); };
    if (!r.id.empty()) key("id"), text(r.id);
    if (!r.task.empty()) key("task"), text(r.task);
    if (!r.label.empty()) key("label"), text(r.label);
    if (!r.time.empty()) key("time"), text(r.time);
    if (r.weight != 1) key("weight"), out += shortest(r.weight);
    const bool named = std::ranges::any_of(r.texts, [](const RawText& t) { return t.name != "text"; });
    if (!r.texts.empty()) key("text"), texts(r.texts, named, out);
    // Without x the names of texts would begin with text.
    if (!r.entries.empty() || r.texts.empty() || named) {
      key("x");
      out += "{";
      for (std::size_t n = 0; n < r.entries.size(); ++n) {
        const Entry& e = r.entries[n];
        if (n > 0) out += ',';
        if (const std::string_view of = word_key(e); !of.empty()) {  // as it is read: a word, null or a list of words
          std::size_t end = n + 1;
          while (end < r.entries.size() && word_key(r.entries[end]) == of) ++end;
          const bool list = end - n > 1;
          text(of), out += list ? ":[" : ":";
          for (std::size_t k = n; k < end; ++k) {
            const std::string_view word = r.entries[k].name.substr(of.size() + 1);
            if (k > n) out += ',';
            if (word == "?" && !list)
              out += "null";
            else
              text(word);
          }
          if (list) out += ']';
          n = end - 1;
          continue;
        }
        if (e.kind == Entry::Kind::kIndex)
          text(std::to_string(e.index));
        else
          text(e.name);
        out.append(1, ':').append(shortest(e.value));
      }
      out += "}";
    }
    return out + "}\n";
  }

  std::vector<Entry> sorted_;
};

}  // namespace

constinit const FileFormat FileFormat::kJsonl{
    .name = "jsonl",
    .endings = ".jsonl .ndjson",
    .open = [](const std::string& path, const ReadOptions& options) -> std::unique_ptr<RecordReader> {
      return std::make_unique<JsonlReader>(path, options);
    },
    .write = [](CsvColumns) -> std::unique_ptr<RecordWriter> { return std::make_unique<JsonlWriter>(); }};

}  // namespace quorate
