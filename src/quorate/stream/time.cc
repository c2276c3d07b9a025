#include "quorate/stream/time.h"

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
    const std::string_view out = text_.substr(0, text_.find_first_not_of("0123456789"));
    text_.remove_prefix(out.size());
    return out;
  }

 private:
  std::string_view text_;
};

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
  if (rest.done() || rest.take('Z')) return 0;
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

std::optional<double> calendar(std::string_view text) {
  namespace chrono = std::chrono;
  Rest rest(text);
  const auto year = rest.digits(4);
  if (!year || *year == 0 || !rest.take('-')) return {};
  const auto month = rest.digits(2);
  if (!month || !rest.take('-')) return {};
  const auto day = rest.digits(2);
  if (!day) return {};
  const chrono::year_month_day date{chrono::year{*year}, chrono::month{static_cast<unsigned>(*month)},
                                    chrono::day{static_cast<unsigned>(*day)}};
  if (!date.ok()) return {};
  std::int64_t seconds = std::int64_t{86'400} * chrono::sys_days{date}.time_since_epoch().count();
  std::string_view fraction;
  if (!rest.done()) {
    if (!rest.take('T') && !rest.take(' ')) return {};
    const auto hours = rest.digits(2);
    if (!hours || *hours > 23 || !rest.take(':')) return {};
    const auto minutes = rest.digits(2);
    if (!minutes || *minutes > 59) return {};
    seconds += 3600 * *hours + 60 * *minutes;
    if (rest.take(':')) {
      const auto whole = rest.digits(2);
      if (!whole || *whole > 59) return {};
      seconds += *whole;
      if (rest.take('.')) {
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

}  // namespace

std::optional<double> seconds_of(double number) {
  namespace chrono = std::chrono;
  const double size = std::abs(number);
  if (!(size < 1e20)) return {};
  if (number >= 19000101 && number <= 21001231 && number == std::floor(number)) {
    const auto digits = static_cast<int>(number);
    const chrono::year_month_day date{chrono::year{digits / 10'000},
                                      chrono::month{static_cast<unsigned>(digits / 100 % 100)},
                                      chrono::day{static_cast<unsigned>(digits % 100)}};
    if (date.ok()) return 86'400.0 * static_cast<double>(chrono::sys_days{date}.time_since_epoch().count());
  }
  return number / (size < 1e11 ? 1 : size < 1e14 ? 1e3 : size < 1e17 ? 1e6 : 1e9);
}

std::optional<double> parse_time(std::string_view text) {
  if (const auto value = number(text)) return seconds_of(*value);
  return calendar(text);
}

TimeParts time_parts(double seconds) {
  constexpr double kDay = 86400;
  constexpr std::array<std::string_view, 7> kDays{"thu", "fri", "sat", "sun", "mon", "tue", "wed"};  // 1970-01-01
  const double day = std::floor(seconds / kDay), hour = std::floor((seconds - day * kDay) / 3600);
  return {std::to_string(static_cast<int>(hour)), kDays[static_cast<std::size_t>(day - 7 * std::floor(day / 7))]};
}

}  // namespace quorate
