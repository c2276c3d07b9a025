// Options that the library declares (params.h), as flags of a command.
#pragma once
#include <CLI/CLI.hpp>
#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>

#include "quorate/base/csv.h"
#include "quorate/params/params.h"

namespace quorate::cli {

/// The flag of a field: --no-NAME for what is on by default.
template <class F, class T>
std::string flag_of(const F& field, const T& initial) {
  if constexpr (std::same_as<T, bool>)
    if (initial) return "--no-" + std::string(field.name);
  return "--" + std::string(field.name);
}

/// The names in a list, as a,b or "a,b",c: quoted as in CSV. A text that is no CSV is one name.
inline TextList names_in(const std::string& text) {
  std::vector<CsvField> fields;
  std::string unquoted;
  try {
    if (!split_csv(text, fields, unquoted)) return {text};
  } catch (const LineError&) {
    return {text};
  }
  TextList out;
  for (const CsvField& field : fields) out.emplace_back(field.text);
  return out;
}

/// The words of an enumeration, optional or not, for help and completion; empty of other types.
template <class T>
std::string words_of_type() {
  if constexpr (is_optional<T>)
    return words_of_type<typename T::value_type>();
  else if constexpr (Enumerated<T>)
    return joined(all_words<T>(), "|");
  else
    return "";
}

/// use(field) for every field of P that is not left out.
template <Described P, class Use>
void for_each_field(std::initializer_list<std::string_view> except, Use use) {
  const auto one = [&](const auto& field) {
    if (std::find(except.begin(), except.end(), field.name) == except.end()) use(field);
  };
  std::apply([&](const auto&... f) { (one(f), ...); }, P::fields());
}

/// Adds a flag for every field of `into` that is not left out, with its meaning, range and default.
template <Described P>
void add_options(CLI::App& app, P& into, std::initializer_list<std::string_view> except = {}) {
  for_each_field<P>(except, [&](const auto& field) {
    auto& value = into.*(field.member);
    using T = std::remove_cvref_t<decltype(value)>;
    const T initial = P{}.*(field.member);
    const std::string flag = flag_of(field, initial), meaning(field.meaning);
    if constexpr (std::same_as<T, bool>) {
      app.add_flag_callback(
          flag, [&value, initial] { value = !initial; }, (initial ? "without " : "") + meaning);
    } else {
      const auto read = [&value, field, flag](const std::vector<std::string>& texts) {
        value = T{};
        TextList given = texts;
        if constexpr (std::same_as<T, TextList>) {
          given.clear();
          for (const std::string& text : texts)
            for (std::string& name : names_in(text)) given.push_back(std::move(name));
        }
        for (const std::string& text : given) try {
            read_value(value, Spec{text, {}}, field.name, field.range);
          } catch (const UsageError& e) {
            const std::string what = e.what();
            const std::size_t expected = what.find(": expected");
            throw CLI::ValidationError(flag, quoted_value(text) + "; " + what.substr(std::min(expected + 2, what.size())));
          }
      };
      ParamInfo info;
      if constexpr (!std::same_as<T, TextList>) describe_value(static_cast<const T*>(nullptr), info, field.range);
      CLI::Option* option = app.add_option_function<std::vector<std::string>>(flag, read, meaning);
      option->allow_extra_args(false)->type_name(info.type == "int" || info.type == "float" ? "NUMBER" : "TEXT");
      if (const std::string words = words_of_type<T>(); !words.empty()) option->type_name(words);
      if (flag.ends_with("-column")) option->type_name(std::same_as<T, TextList> ? "COLUMNS" : "COLUMN");
      if constexpr (!std::same_as<T, TextList>) option->expected(1);
      if (const std::string text = to_text(write_value(initial)); text != "\"\"") option->default_str(text);
    }
  });
}

/// Whether a flag of P was given.
template <Described P>
bool any_given(const CLI::App& app, std::initializer_list<std::string_view> except = {}) {
  bool any = false;
  for_each_field<P>(except,
                    [&](const auto& field) { any |= app.get_option(flag_of(field, P{}.*(field.member)))->count() > 0; });
  return any;
}

/// Throws UsageError, naming the flag, if one was given whose value is not that of the model at `path`.
template <Described P>
void check_unchanged(const CLI::App& app, const P& given, const P& model, const std::string& path,
                     std::initializer_list<std::string_view> except = {}) {
  for_each_field<P>(except, [&](const auto& field) {
    const auto text = [&](const P& p) { return to_text(write_value(p.*(field.member))); };
    const std::string flag = flag_of(field, P{}.*(field.member));
    if (app.get_option(flag)->count() == 0 || text(given) == text(model)) return;
    constexpr bool is_flag = std::same_as<std::remove_cvref_t<decltype(given.*(field.member))>, bool>;
    throw UsageError(flag + (is_flag ? "" : " " + text(given)) + " cannot be changed on a model that exists: " + path +
                     (is_flag || text(model) == "\"\"" ? " was made without it" : " has " + text(model)) + "; leave it out");
  });
}

}  // namespace quorate::cli
