#include "quorate/stream/time.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <string>

#include "quorate/base/number.h"

namespace quorate {
namespace {

/// What is left of a text, read from the front.
class Rest {
 public:
  explicit Rest(std::string_view text) : text_(text) {}

  bool done() const { return text_.empty(); }
  char take_any() {
    const char c = text_.front();
    text_.remove_prefix(1);
    return c;
  }
  bool take(char c) {
    if (!text_.starts_with(c)) return false;
    text_.remove_prefix(1);
    return true;
  }
  /// Exactly `count` digits as a number.
  std::optional<int> digits(std::size_t count) {
    if (text_.size() < count) return {};
    int value = 0;
    for (const char c : text_.substr(0, count)) {
      if (c < '0' || c > '9') return {};
      value = 10 * value + (c - '0');
    }
    text_.remove_prefix(count);
    return value;
  }
  std::string_view run_of_digits() {
    return run([](char c) { return c >= '0' && c <= '9'; });
  }
  std::string_view run_of_letters() {
    return run([](char c) { return (c | 0x20) >= 'a' && (c | 0x20) <= 'z'; });
  }
  bool starts_with_digits(std::size_t count) const { return Rest(*this).run_of_digits().size() >= count; }

 private:
  template <class Is>
  std::string_view run(Is is) {
    const std::string_view out(text_.begin(), std::find_if_not(text_.begin(), text_.end(), is));
    text_.remove_prefix(out.size());
    return out;
  }

  std::string_view text_;
};

std::string lower(std::string_view word) {
  std::string out(word);
  for (char& c : out) c = static_cast<char>(c | 0x20);
  return out;
}

std::optional<double> number(std::string_view text) {
  const auto value = parse_number<double>(text);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

/// `seconds` and a fraction, the digits behind the point: written as a decimal number and read, so it is rounded once.
double with_fraction(std::int64_t seconds, std::string_view fraction) {
  std::uint64_t part = 0, unit = 1;
  for (const char c : fraction) {
    part = 10 * part + static_cast<std::uint64_t>(c - '0');
    unit *= 10;
  }
  if (part == 0) return static_cast<double>(seconds);
  const bool before = seconds < 0;
  if (before) part = unit - part;  // -5 + 0.25 is -(4 + 0.75)
  const std::string digits = std::to_string(part);
  const std::string text = (before ? "-" : "") + std::to_string(before ? -(seconds + 1) : seconds) + "." +
                           std::string(fraction.size() - digits.size(), '0') + digits;
  return *number(text);
}

/// The zone's offset from UTC in seconds.
std::optional<int> zone(Rest& rest) {
  if (rest.done()) return 0;
  rest.take(' ');
  if (rest.take('Z')) return 0;
  if (const std::string_view name = rest.run_of_letters(); !name.empty())
    return name == "UTC" || name == "GMT" || name == "UT" ? std::optional(0) : std::nullopt;
  const bool west = rest.take('-');
  if (!west && !rest.take('+')) return {};
  const auto hours = rest.digits(2);
  if (!hours || *hours > 23) return {};
  int minutes = 0;
  if (!rest.done()) {
    rest.take(':');
    const auto given = rest.digits(2);
    if (!given || *given > 59) return {};
    minutes = *given;
  }
  const int offset = 3600 * *hours + 60 * minutes;
  return west ? -offset : offset;
}

constexpr std::array<std::string_view, 12> kMonths{"january", "february", "march",     "april",   "may",      "june",
                                                   "july",    "august",   "september", "october", "november", "december"};
constexpr std::array<std::string_view, 7> kWeekdays{"thursday", "friday",  "saturday", "sunday",  // from 1970-01-01 on
                                                    "monday",   "tuesday", "wednesday"};

/// The place of the name that is `word` or begins with it, as Nov and november do.
template <std::size_t N>
std::optional<std::size_t> place_of(std::string_view word, const std::array<std::string_view, N>& names) {
  if (word.size() < 3) return {};
  const std::string small = lower(word);
  for (std::size_t i = 0; i < N; ++i)
    if (names[i].starts_with(small)) return i;
  return {};
}

/// Days since 1970-01-01.
std::optional<std::int64_t> day_of(int year, std::size_t month, int day) {
  namespace chrono = std::chrono;
  const chrono::year_month_day date{chrono::year{year}, chrono::month{static_cast<unsigned>(month)},
                                    chrono::day{static_cast<unsigned>(day)}};
  if (year == 0 || !date.ok()) return {};
  return chrono::sys_days{date}.time_since_epoch().count();
}

/// One or two digits.
std::optional<int> small_number(Rest& rest) {
  const std::string_view digits = rest.run_of_digits();
  if (digits.empty() || digits.size() > 2) return {};
  return parse_number<int>(digits);
}

/// 2026-11-21 and 2026/11/21; 21.11.2026; 21 Nov 2026, 21-Nov-2026 and "Sat, 21 Nov 2026"; Nov 21, 2026.
std::optional<std::int64_t> date(Rest& rest) {
  if (rest.starts_with_digits(4)) {
    const auto year = rest.digits(4);
    const char mark = rest.take('/') ? '/' : rest.take('-') ? '-' : '\0';
    if (mark == '\0') return {};
    const auto month = rest.digits(2);
    if (!month || !rest.take(mark)) return {};
    const auto day = rest.digits(2);
    return day ? day_of(*year, static_cast<std::size_t>(*month), *day) : std::nullopt;
  }
  std::string_view word = rest.run_of_letters();
  if (place_of(word, kWeekdays)) {
    rest.take(',');
    rest.take(' ');
    word = rest.run_of_letters();
  }
  std::optional<int> day;
  std::optional<std::size_t> month;
  if (!word.empty()) {  // Nov 21, 2026
    month = place_of(word, kMonths);
    if (!month || !rest.take(' ')) return {};
    day = small_number(rest);
    if (!day || !rest.take(',') || !rest.take(' ')) return {};
  } else {
    day = small_number(rest);
    if (!day) return {};
    if (rest.take('.')) {
      const auto number = small_number(rest);
      if (!number || *number == 0 || !rest.take('.')) return {};
      month = static_cast<std::size_t>(*number - 1);
    } else {
      const char mark = rest.take('-') ? '-' : rest.take(' ') ? ' ' : '\0';
      if (mark == '\0') return {};
      month = place_of(rest.run_of_letters(), kMonths);
      if (!month || !rest.take(mark)) return {};
    }
  }
  const auto year = rest.digits(4);
  return year ? day_of(*year, *month + 1, *day) : std::nullopt;
}

/// Whether it can be a date, all of which have a year: most words cannot.
bool has_year(std::string_view text) {
  constexpr std::size_t kLongest = 80;
  const auto is_digit = [](char c, bool) { return c >= '0' && c <= '9'; };
  return text.size() <= kLongest && std::search_n(text.begin(), text.end(), 4, true, is_digit) != text.end();
}

std::optional<double> calendar(std::string_view text) {
  if (!has_year(text)) return {};
  Rest rest(text);
  const auto day = date(rest);
  if (!day) return {};
  std::int64_t seconds = 86'400 * *day;
  std::string_view fraction;
  if (!rest.done()) {
    if (rest.take(',')) {
      rest.take(' ');
    } else if (!rest.take('T') && !rest.take(' ')) {
      return {};
    }
    const auto hours = rest.digits(2);
    if (!hours || *hours > 23 || !rest.take(':')) return {};
    const auto minutes = rest.digits(2);
    if (!minutes || *minutes > 59) return {};
    seconds += 3600 * *hours + 60 * *minutes;
    if (rest.take(':')) {
      const auto whole = rest.digits(2);
      if (!whole || *whole > 59) return {};
      seconds += *whole;
      if (rest.take('.') || rest.take(',')) {
        fraction = rest.run_of_digits();
        if (fraction.empty() || fraction.size() > 18) return {};
      }
    }
    const auto offset = zone(rest);
    if (!offset || !rest.done()) return {};
    seconds -= *offset;
  }
  return with_fraction(seconds, fraction);
}

/// As 20261121.
std::optional<std::int64_t> day_of(std::int64_t digits) {
  if (digits < 19000101 || digits > 21001231) return {};
  return day_of(static_cast<int>(digits / 10'000), static_cast<std::size_t>(digits / 100 % 100),
                static_cast<int>(digits % 100));
}

/// Of a day as 20261121, or with its time as 20261121131500.
std::optional<std::int64_t> compact(std::int64_t digits) {
  if (const auto day = day_of(digits)) return 86'400 * *day;
  const auto day = day_of(digits / 1'000'000);
  const std::int64_t hour = digits / 10'000 % 100, minute = digits / 100 % 100, second = digits % 100;
  if (!day || hour > 23 || minute > 59 || second > 59) return {};
  return 86'400 * *day + 3600 * hour + 60 * minute + second;
}

}  // namespace

std::optional<double> seconds_of(double number) {
  const double size = std::abs(number);
  if (!(size < 1e20)) return {};
  constexpr double kFirst = 19000101, kLast = 21001231235959;
  if (number >= kFirst && number <= kLast && number == std::floor(number))
    if (const auto seconds = compact(static_cast<std::int64_t>(number))) return static_cast<double>(*seconds);
  return number / (size < 1e11 ? 1 : size < 1e14 ? 1e3 : size < 1e17 ? 1e6 : 1e9);
}

std::optional<double> parse_time(std::string_view text) {
  if (const auto value = number(text)) return seconds_of(*value);
  return calendar(text);
}

bool looks_like_time(std::string_view text) {
  constexpr std::array<std::string_view, 10> kOthers{"am", "pm", "utc", "gmt", "z", "t", "cet", "cest", "est", "pst"};
  if (!has_year(text)) return false;
  std::size_t digits = 0, marks = 0;
  bool year = false, month = false;
  Rest rest(text);
  while (!rest.done()) {
    if (const std::string_view run = rest.run_of_digits(); !run.empty()) {
      digits += run.size();
      year = year || run.size() == 4;
    } else if (const std::string_view word = rest.run_of_letters(); !word.empty()) {
      month = month || place_of(word, kMonths);
      const bool other = std::ranges::any_of(kOthers, [&](std::string_view o) { return lower(word) == o; });
      if (!place_of(word, kMonths) && !place_of(word, kWeekdays) && !other) return false;
    } else {
      const char c = rest.take_any();
      if (std::string_view("/.-:, +").find(c) == std::string_view::npos) return false;
      marks += c == '/' || c == '.' || c == '-' || c == ':';
    }
  }
  return digits <= 24 && year && (marks >= 2 || month);
}

TimeParts time_parts(double seconds) {
  constexpr double kDay = 86400;
  const double day = std::floor(seconds / kDay), hour = std::floor((seconds - day * kDay) / 3600);
  return {std::to_string(static_cast<int>(hour)),
          kWeekdays[static_cast<std::size_t>(day - 7 * std::floor(day / 7))].substr(0, 3)};
}

}  // namespace quorate
