// Described values as JSON: those that differ from the defaults, by name.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <tuple>

#include "quorate/base/error.h"
#include "quorate/params/params.h"

namespace quorate {

template <Described P>
nlohmann::ordered_json params_json(const P& params) {
  nlohmann::ordered_json out = nlohmann::ordered_json::object();
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
  return params_json(params).dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

/// Reads what params_json() wrote; values that are not there are the defaults. Throws UsageError for a value out of range,
/// DataError, beginning with `what`, for anything else.
template <Described P>
P params_of(const nlohmann::ordered_json& in, std::string_view what) {
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
  } catch (const nlohmann::json::exception& e) {
    throw DataError(std::string(what) + ": " + e.what());
  }
  if (known < in.size()) throw DataError(std::string(what) + ": a name that is no setting");
  return out;
}
template <Described P>
P params_of_text(std::string_view text, std::string_view what) {
  return params_of<P>(nlohmann::ordered_json::parse(text, nullptr, false), what);
}

}  // namespace quorate
