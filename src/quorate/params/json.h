// Described values as JSON: all of them, or those that differ from the defaults.
#pragma once
#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <tuple>

#include "quorate/base/byte_size.h"
#include "quorate/base/error.h"
#include "quorate/params/params.h"

namespace quorate {

using Json = nlohmann::ordered_json;

/// All of them, for people and other programs: numbers as numbers, bytes among them; null for nothing and for an empty list;
/// names with _ for -.
template <Described P>
Json values_json(const P& params) {
  const auto json_of = [](const auto& self, const auto& value) -> Json {
    using T = std::remove_cvref_t<decltype(value)>;
    if constexpr (is_optional<T>) {
      return value ? self(self, *value) : Json(nullptr);
    } else if constexpr (std::same_as<T, TextList>) {
      return value.empty() ? Json(nullptr) : Json(value);
    } else if constexpr (std::same_as<T, ByteSize>) {
      return value.bytes;
    } else if constexpr (std::is_arithmetic_v<T>) {
      return value;
    } else {
      return write_value(value).word;
    }
  };
  Json out = Json::object();
  const auto one = [&](const auto& field) {
    std::string name(field.name);
    std::ranges::replace(name, '-', '_');
    out[name] = json_of(json_of, params.*(field.member));
  };
  std::apply([&](const auto&... field) { (one(field), ...); }, P::fields());
  return out;
}

/// Those that differ from the defaults, by name, as texts.
template <Described P>
Json params_json(const P& params) {
  Json out = Json::object();
  const P initial{};
  const auto one = [&](const auto& field) {
    const auto& value = params.*(field.member);
    using T = std::remove_cvref_t<decltype(value)>;
    if constexpr (std::same_as<T, TextList>) {
      if (!value.empty()) out[std::string(field.name)] = value;
    } else if (const std::string text = write_value(value).word, before = write_value(initial.*(field.member)).word;
               text != before) {
      out[std::string(field.name)] = text;
    }
  };
  std::apply([&](const auto&... field) { (one(field), ...); }, P::fields());
  return out;
}

/// The same as a text. Bytes that are not UTF-8 are replaced: no name in data has any.
template <Described P>
std::string params_text(const P& params) {
  return params_json(params).dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// Reads what params_json() wrote; values that are not there are the defaults. Throws UsageError for a value out of range,
/// DataError, beginning with `what`, for anything else.
template <Described P>
P params_of(const auto& in, std::string_view what) {
  P out;
  std::size_t known = 0;
  const auto one = [&](const auto& field) {
    const auto found = in.find(std::string(field.name));
    if (found == in.end()) return;
    ++known;
    auto& value = out.*(field.member);
    if constexpr (std::same_as<std::remove_cvref_t<decltype(value)>, TextList>)
      value = found->template get<TextList>();
    else
      read_value(value, Spec{found->template get<std::string>(), {}}, field.name, field.range);
  };
  try {
    if (!in.is_object()) throw DataError(std::string(what) + ": expected a JSON object");
    std::apply([&](const auto&... field) { (one(field), ...); }, P::fields());
  } catch (const nlohmann::json::exception&) {
    throw DataError(std::string(what) + ": expected texts and lists of texts");
  }
  if (known < in.size()) throw DataError(std::string(what) + ": a name that is no setting");
  return out;
}
/// Of at most 1 MB, in time that is linear in the text but for a logarithm.
template <Described P>
P params_of_text(std::string_view text, std::string_view what) {
  if (text.size() > std::size_t{1} << 20) throw DataError(std::string(what) + ": expected at most 1 MB");
  return params_of<P>(nlohmann::json::parse(text, nullptr, false), what);
}

}  // namespace quorate
