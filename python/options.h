// Options that the library declares (params.h), from Python.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <string>
#include <tuple>

#include "quorate/base/byte_size.h"
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

/// Reads the options of P that `given` has; where the default is nothing, None is the same as not given. Throws UsageError.
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
        text = "'" + text + "'";  // a text that looks like a number is none
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

/// The options of P as Python's parameters take them. Bytes are numbers; a list that is empty is None.
template <Described P>
void write_options(const P& params, nanobind::dict& out) {
  namespace nb = nanobind;
  const auto object_of = [](const auto& self, const auto& value) -> nb::object {
    using T = std::remove_cvref_t<decltype(value)>;
    if constexpr (is_optional<T>) {
      return value ? self(self, *value) : nb::none();
    } else if constexpr (std::same_as<T, TextList>) {
      nb::list all;
      for (const std::string& text : value) all.append(text);
      return value.empty() ? nb::object(nb::none()) : nb::object(all);
    } else if constexpr (std::same_as<T, ByteSize>) {
      return nb::int_(value.bytes);
    } else if constexpr (std::is_arithmetic_v<T>) {
      return nb::cast(value);
    } else {
      return nb::cast(write_value(value).word);
    }
  };
  const auto one = [&](const auto& field) {
    out[python_name(field.name).c_str()] = object_of(object_of, params.*(field.member));
  };
  std::apply([&](const auto&... f) { (one(f), ...); }, P::fields());
}

}  // namespace quorate::python
