// Reads the options that the library declares (params.h) from Python.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>

#include "quorate/params/params.h"

namespace quorate::python {

/// The name of an option as Python writes it.
inline std::string python_name(std::string_view name) {
  std::string out(name);
  std::replace(out.begin(), out.end(), '-', '_');
  return out;
}

/// Whether an option may be given as a text.
template <class T>
inline constexpr bool takes_text = std::same_as<T, std::string> || std::same_as<T, TextList> || Textual<T> || Enumerated<T>;
template <class T>
inline constexpr bool takes_text<std::optional<T>> = takes_text<T>;

/// Reads the options of P that `given` has. For optional values, lists and strings None means not given. Throws UsageError.
template <Described P>
void read_options(const nanobind::dict& given, P& into) {
  namespace nb = nanobind;
  const auto one = [&](const auto& field) {
    const std::string name = python_name(field.name);
    if (!given.contains(name.c_str())) return;
    const nb::object object = nb::object(given[name.c_str()]);
    auto& value = into.*(field.member);
    using T = std::remove_cvref_t<decltype(value)>;
    if (object.is_none() && (is_optional<T> || std::same_as<T, TextList> || std::same_as<T, std::string>)) return;
    const auto read = [&](nb::handle item) {
      std::string text = nb::cast<std::string>(nb::str(item));
      constexpr bool is_text = takes_text<T>;
      if constexpr (std::same_as<T, bool>) {
        text = text == "True" ? "true" : text == "False" ? "false" : text + " ";
      } else if (!is_text && PyUnicode_Check(item.ptr())) {
        text = "'" + text + "'";  // quoted: a text is not a number, even if it looks like one
      }
      read_value(value, Spec{text, {}}, name, field.range);
    };
    if constexpr (std::same_as<T, TextList>) {
      value.clear();
      if (nb::isinstance<nb::list>(object) || nb::isinstance<nb::tuple>(object)) {
        for (const nb::handle item : object) read(item);
        return;
      }
    }
    read(object);
  };
  std::apply([&](const auto&... f) { (one(f), ...); }, P::fields());
}

/// Converts a JSON document to dicts, lists and values.
inline nanobind::object to_python(const nlohmann::ordered_json& json) {
  namespace nb = nanobind;
  if (json.is_object()) {
    nb::dict out;
    for (const auto& [name, value] : json.items()) out[name.c_str()] = to_python(value);
    return out;
  }
  if (json.is_array()) {
    nb::list out;
    for (const auto& value : json) out.append(to_python(value));
    return out;
  }
  if (json.is_null()) return nb::none();
  if (json.is_boolean()) return nb::bool_(json.get<bool>());
  if (json.is_number_unsigned()) return nb::int_(json.get<std::uint64_t>());
  if (json.is_number_integer()) return nb::int_(json.get<std::int64_t>());
  if (json.is_number()) return nb::float_(json.get<double>());
  return nb::str(json.get_ref<const std::string&>().c_str());
}

}  // namespace quorate::python
