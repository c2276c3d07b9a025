// A JSON object written member by member as text: for texts that are made for each example.
#pragma once
#include <algorithm>
#include <cmath>
#include <concepts>
#include <string>
#include <string_view>

#include "quorate/base/number.h"
#include "quorate/params/json.h"

namespace quorate {

/// Appends `text` as a JSON string. Bytes that are not UTF-8 are replaced.
inline void append_json(std::string& out, std::string_view text) {
  if (std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; }))
    out.append(1, '"').append(text).append(1, '"');
  else
    out += Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// Appends `value`, null if it is not finite; always with a point or an exponent, so that it is read as a real number.
inline void append_json(std::string& out, double value) {
  if (!std::isfinite(value)) {
    out += "null";
    return;
  }
  const std::string text = shortest(value);
  out += text;
  if (text.find_first_of(".e") == text.npos) out += ".0";
}

/// Appends an object to a text. A tree of Json takes ten times as long. Keys are written as they are: without quotation
/// marks and control characters.
class JsonObject {
 public:
  explicit JsonObject(std::string& out) : out_(out), begin_(out.size()) { out_ += '{'; }
  void close() { out_ += '}'; }

  /// A text, a finite number or null, a count, a truth value, or a tree.
  template <class Value>
  void set(std::string_view key, const Value& value) {
    std::string& out = at(key);
    if constexpr (std::same_as<Value, bool>)
      out += value ? "true" : "false";
    else if constexpr (std::unsigned_integral<Value>)
      out += std::to_string(value);
    else if constexpr (std::same_as<Value, Json>)
      out += value.dump(-1, ' ', false, Json::error_handler_t::replace);
    else
      append_json(out, value);
  }

 private:
  std::string& at(std::string_view key) {
    if (out_.size() > begin_ + 1) out_ += ',';
    return out_.append(1, '"').append(key).append("\":");
  }

  std::string& out_;
  std::size_t begin_;
};

/// The same call for a tree.
template <class Value>
void set(Json& out, const std::string& key, const Value& value) {
  out[key] = value;
}
template <class Value>
void set(JsonObject& out, std::string_view key, const Value& value) {
  out.set(key, value);
}

}  // namespace quorate
