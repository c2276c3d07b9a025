// JSON lines: {"id": .., "task": .., "label": .., "x": {name: number, ..} | [number, ..], "text": ".."} on each line.
// In x, true and false count as 1 and 0, a string becomes the feature name=string, null is passed over. Other keys are
// passed over, so logs can be read as they are, except the one that is named to hold the time.
#include "quorate/stream/formats.h"

#include <simdjson.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "quorate/base/error.h"

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

class JsonlReader final : public RecordReader {
 public:
  JsonlReader(const std::string& path, const ReadOptions& o)
      : RecordReader(path, o),
        id_(o.id.empty() ? "id" : o.id),
        task_(o.task.empty() ? "task" : o.task),
        label_(o.label.empty() ? "label" : o.label),
        time_(o.time),
        text_(o.text.empty() ? "text" : o.text) {}

 private:
  bool parse(std::string_view line, Record& record) override {
    if (line.find_first_not_of(" \t") == line.npos) return false;
    dom::element document;
    if (parser_.parse(line.data(), line.size(), true).get(document) != simdjson::SUCCESS) syntax_error(line);
    dom::object object;
    if (document.get(object) != simdjson::SUCCESS)
      bad(line, line, "a JSON object, {\"task\": .., \"label\": .., \"x\": {..}}");
    bool seen[6] = {};
    for (const auto [key, value] : object) {
      const auto is = [&, k = key](std::size_t which, std::string_view name) {
        if (k != name) return false;
        if (seen[which]) wrong(line, k, "it once");
        return seen[which] = true;
      };
      if (!time_.empty() && is(5, time_)) {
        if (value.is_bool()) wrong(line, key, "a string or a number");
        set_time(record, place_of(line, key), word(line, key, value, record));
      } else if (is(0, id_)) {
        record.id = word(line, key, value, record);
      } else if (is(1, task_)) {
        record.task = word(line, key, value, record);
      } else if (is(2, label_)) {
        record.label = word(line, key, value, record);
      } else if (is(3, text_)) {
        if (!value.is_null() && value.get(record.text) != simdjson::SUCCESS) wrong(line, key, "a string");
        record.has_text = !value.is_null();
      } else if (is(4, "x")) {
        features(line, value, record);
      }
    }
    if (!seen[4] && !record.has_text) bad(line, line, "a key x with features, or " + text_ + " with text");
    return true;
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
      if (v.is_null()) continue;
      Index index = 0;
      if (std::string_view text; v.get(text) == simdjson::SUCCESS)
        record.add_name(record.keep(key, "=", text, nullptr), 1);
      else if (plain_number(key, &index))
        record.add_index(index, real(line, key, v));
      else
        record.add_name(key, real(line, key, v));
    }
    if (const Entry* again = repeated(record.entries, sorted_)) wrong(line, entry_name(*again), "each feature once");
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
  /// Where a key lies in the line: good enough to point at it.
  static std::size_t place_of(std::string_view line, std::string_view key) {
    const std::size_t at = line.find("\"" + std::string(key) + "\"");
    return at == line.npos ? 0 : at;
  }
  /// simdjson does not say where; the slow parser does.
  [[noreturn]] void syntax_error(std::string_view line) const {
    try {
      [[maybe_unused]] const auto parsed = nlohmann::json::parse(line);
    } catch (const nlohmann::json::parse_error& e) {
      const std::size_t at = e.byte == 0 ? 0 : e.byte - 1;
      bad(at, quoted_value(line.substr(std::min(at, line.size()))) + "; expected JSON, one object a line");
    } catch (const nlohmann::json::exception&) {
    }
    bad(0, quoted_value(line) + "; expected JSON, one object a line, numbers that fit a double");
  }

  std::string id_, task_, label_, time_, text_;
  dom::parser parser_;
  std::vector<Entry> sorted_;
};

class JsonlWriter final : public RecordWriter {
  std::string line(const Record& r) override {
    if (const Entry* again = repeated(r.entries, sorted_))
      throw DataError("JSON cannot hold the feature '" + entry_name(*again) + "' twice");
    std::string out = "{";
    out.reserve(128 + 16 * r.entries.size());
    const auto key = [&](const char* name) { out += std::string(out.size() > 1 ? "," : "") + "\"" + name + "\":"; };
    const auto text = [&](std::string_view s) {
      if (std::all_of(s.begin(), s.end(), [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; }))
        out.append(1, '"').append(s).append(1, '"');
      else
        out += nlohmann::json(s).dump();
    };
    if (!r.id.empty()) key("id"), text(r.id);
    if (!r.task.empty()) key("task"), text(r.task);
    if (!r.label.empty()) key("label"), text(r.label);
    if (!r.time.empty()) key("time"), text(r.time);
    if (r.has_text) key("text"), text(r.text);
    if (!r.entries.empty() || !r.has_text) {
      key("x");
      out += "{";
      for (const Entry& e : r.entries) {
        if (&e != r.entries.data()) out += ',';
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

std::unique_ptr<RecordReader> open_jsonl(const std::string& path, const ReadOptions& options) {
  return std::make_unique<JsonlReader>(path, options);
}
std::unique_ptr<RecordWriter> write_jsonl() { return std::make_unique<JsonlWriter>(); }

}  // namespace quorate
