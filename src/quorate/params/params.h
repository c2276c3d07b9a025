// A parameter is declared once; reading, writing, checks and descriptions follow.
//
//   struct Params {
//     double b = 1;
//     static constexpr auto fields() { return std::tuple{Field{&Params::b, "b", kPositive, "larger asks more often", "line
//     8"}}; }
//   };
#pragma once
#include <algorithm>
#include <charconv>
#include <concepts>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "quorate/base/nearest.h"
#include "quorate/base/number.h"
#include "quorate/params/spec.h"

namespace quorate {

/// The range of a number. Only finite numbers are in a range.
struct Interval {
  double lo = -std::numeric_limits<double>::infinity(), hi = std::numeric_limits<double>::infinity();
  bool open_lo = false, open_hi = false;

  constexpr bool contains(double v) const {
    return (open_lo ? v > lo : v >= lo) && (open_hi ? v < hi : v <= hi) && v - v == 0;
  }
};
inline constexpr Interval kPositive{0, std::numeric_limits<double>::infinity(), true}, kProbability{0, 1}, kAny{};

/// "a number > 0", "a number from 0 to 1", ...
std::string to_text(const Interval& range);

/// One parameter: its member, name, range, meaning and source. Its type and default are those of the member.
template <class P, class T>
struct Field {
  T P::*member;
  std::string_view name;
  Interval range;
  std::string_view meaning, source;
};
template <class P, class T>
Field(T P::*, std::string_view, Interval, std::string_view, std::string_view) -> Field<P, T>;

template <class P>
concept Described = requires {
  P::fields();
};
template <class T>
inline constexpr bool is_choice = false;
template <class... Ts>
inline constexpr bool is_choice<std::variant<Ts...>> = true;

/// A literal as a template argument.
template <std::size_t N>
struct Text {
  char chars[N];
  constexpr Text(const char (&literal)[N]) { std::copy_n(literal, N, chars); }
  constexpr operator std::string_view() const { return {chars, N - 1}; }
};
/// A choice without parameters: struct Word : Tag<"word", "what it means"> {};
template <Text Name, Text Meaning>
struct Tag {
  static constexpr std::string_view name{Name}, meaning{Meaning};
  static constexpr auto fields() { return std::tuple{}; }
};

/// A list of words, as a repeatable option has.
using TextList = std::vector<std::string>;

/// A value with a text of its own: static std::optional<T> T::parse(text), to_text(value), T::kExpected for messages.
template <class T>
concept Textual = requires(const T& value, std::string_view text) {
  { T::parse(text) } -> std::same_as<std::optional<T>>;
  { to_text(value) } -> std::convertible_to<std::string>;
  { T::kExpected } -> std::convertible_to<std::string_view>;
};
/// An enumeration whose words(E{}) is an array of pairs of a value and its word.
template <class T>
concept Enumerated = std::is_enum_v<T> && requires {
  words(T{}).size();
};
template <Enumerated E>
constexpr std::string_view word_of(E value) {
  for (const auto& [one, word] : words(value))
    if (one == value) return word;
  return {};
}
template <Enumerated E>
std::optional<E> value_named(std::string_view name) {
  for (const auto& [value, word] : words(E{}))
    if (word == name) return value;
  return std::nullopt;
}
template <Enumerated E>
std::vector<std::string_view> all_words() {
  std::vector<std::string_view> out;
  for (const auto& [value, word] : words(E{})) out.push_back(word);
  return out;
}
/// "each, per-task, all-tasks"
std::string joined(std::span<const std::string_view> words, std::string_view between = ", ");
/// "one of each, per-task, all-tasks (did you mean each?)": what is expected instead of `word`.
std::string one_of(std::span<const std::string_view> words, std::string_view word);

template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;

struct ChoiceInfo;
/// The description of a parameter, for command line, Python and documents.
struct ParamInfo {
  std::string name, type, initial, range, meaning, source;  // type: bool, int, float, text, list or choice
  std::vector<ChoiceInfo> choices;                          // of a choice: its alternatives, in order
};
struct ChoiceInfo {
  std::string name, meaning;
  std::vector<ParamInfo> params;
};

template <class T>
Spec write_value(const T& v);
template <class T>
void read_value(T& out, const Spec& s, std::string_view name, Interval range);

/// All parameters of p, defaults included, in declared order.
template <Described P>
Spec write_params(std::string word, const P& p) {
  Spec out{std::move(word), {}};
  std::apply(
      [&](const auto&... f) {
        (out.args.push_back({std::string(f.name), write_value(p.*(f.member))}), ...);
      },
      P::fields());
  return out;
}

/// Parameters with the values of s, and defaults for all others. Throws UsageError: unknown or repeated key, value out of
/// range.
template <Described P>
P read_params(const Spec& s) {
  P p{};
  for (std::size_t i = 0; i < s.args.size(); ++i) {
    const Spec::Arg& a = s.args[i];
    for (std::size_t j = 0; j < i; ++j)
      if (s.args[j].key == a.key) throw UsageError(s.word + ": parameter '" + a.key + "' comes twice");
    bool known = false;
    std::vector<std::string_view> names;
    const auto try_field = [&](const auto& f) {
      names.push_back(f.name);
      if (f.name != a.key) return;
      read_value(p.*(f.member), a.value, f.name, f.range);
      known = true;
    };
    std::apply([&](const auto&... f) { (try_field(f), ...); }, P::fields());
    if (!known)
      throw UsageError(s.word + " has no parameter '" + a.key + "'" + did_you_mean(a.key, names) +
                       (names.empty() ? "; it takes none" : "; it has " + joined(names)));
  }
  return p;
}

/// The type and range of a value that is no choice.
template <class T>
void describe_value(const T*, ParamInfo& info, Interval range) {
  if constexpr (is_optional<T>) {
    describe_value(static_cast<const typename T::value_type*>(nullptr), info, range);
  } else if constexpr (Textual<T>) {
    info.type = "text";
    info.range = std::string(T::kExpected);
  } else if constexpr (Enumerated<T>) {
    info.type = "text";
    info.range = "one of " + joined(all_words<T>());
  } else if constexpr (std::same_as<T, std::string>) {
    info.type = "text";
  } else {
    info.type = std::integral<T> ? "int" : "float";
    info.range = to_text(range);
  }
}

template <Described P>
std::vector<ParamInfo> describe_params() {
  std::vector<ParamInfo> out;
  const P initial{};
  const auto one = [&](const auto& f) {
    using T = std::remove_cvref_t<decltype(initial.*(f.member))>;
    ParamInfo info{std::string(f.name),   "", to_text(write_value(initial.*(f.member))), "", std::string(f.meaning),
                   std::string(f.source), {}};
    if constexpr (is_choice<T>) {
      info.type = "choice";
      const auto alternatives = [&]<class... Ts>(const std::variant<Ts...>*) {
        (info.choices.push_back({std::string(Ts::name), std::string(Ts::meaning), describe_params<Ts>()}), ...);
      };
      alternatives(static_cast<const T*>(nullptr));
    } else if constexpr (std::same_as<T, bool>) {
      info.type = "bool";
    } else if constexpr (std::same_as<T, TextList>) {
      info.type = "list";
    } else {
      describe_value(static_cast<const T*>(nullptr), info, f.range);
    }
    out.push_back(std::move(info));
  };
  std::apply([&](const auto&... f) { (one(f), ...); }, P::fields());
  return out;
}

template <class T>
Spec write_value(const T& v) {
  if constexpr (is_choice<T>) {
    return std::visit([](const auto& c) { return write_params(std::string(c.name), c); }, v);
  } else if constexpr (std::same_as<T, bool>) {
    return {v ? "true" : "false", {}};
  } else if constexpr (std::same_as<T, std::string>) {
    return {v, {}};
  } else if constexpr (std::same_as<T, TextList>) {
    std::string all;
    for (const std::string& word : v) all += (all.empty() ? "" : " ") + word;
    return {all, {}};
  } else if constexpr (is_optional<T>) {
    return v ? write_value(*v) : Spec{"", {}};
  } else if constexpr (Textual<T>) {
    return {to_text(v), {}};
  } else if constexpr (Enumerated<T>) {
    return {std::string(word_of(v)), {}};
  } else {
    char buffer[32];
    const auto r = std::to_chars(buffer, buffer + sizeof buffer, v);
    return {std::string(buffer, r.ptr), {}};
  }
}

template <class T>
void read_value(T& out, const Spec& s, std::string_view name, Interval range) {
  const auto fail = [&](const std::string& expected) {
    throw UsageError(std::string(name) + "=" + to_text(s) + ": expected " + expected);
  };
  if constexpr (is_choice<T>) {
    bool found = false;
    std::vector<std::string_view> names;
    const auto read_one_of = [&]<class... Ts>(std::variant<Ts...>& v) {
      (names.push_back(Ts::name), ...);
      ((s.word == Ts::name ? (v = read_params<Ts>(s), found = true) : false), ...);
    };
    read_one_of(out);
    if (!found) fail(one_of(names, s.word));
  } else {
    if (!s.args.empty()) fail("a plain value");
    if constexpr (std::same_as<T, bool>) {
      if (s.word != "true" && s.word != "false") fail("true or false");
      out = s.word == "true";
    } else if constexpr (std::same_as<T, std::string>) {
      out = s.word;
    } else if constexpr (std::same_as<T, TextList>) {
      out.push_back(s.word);
    } else if constexpr (is_optional<T>) {
      out.emplace();
      read_value(*out, s, name, range);
    } else if constexpr (Enumerated<T>) {
      const auto value = value_named<T>(s.word);
      if (!value) fail(one_of(all_words<T>(), s.word));
      out = *value;
    } else if constexpr (Textual<T>) {
      const auto value = T::parse(s.word);
      if (!value) fail(std::string(T::kExpected));
      out = *value;
    } else {
      const auto value = parse_number<T>(s.word);
      if (!value || !range.contains(static_cast<double>(*value)))
        fail((std::integral<T> ? "a whole number" : "a number") + to_text(range));
      out = *value;
    }
  }
}

}  // namespace quorate
