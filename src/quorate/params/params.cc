#include "quorate/params/params.h"

#include <cmath>

namespace quorate {

std::string joined(std::span<const std::string_view> words, std::string_view between) {
  std::string out;
  for (const std::string_view word : words) out.append(out.empty() ? "" : between).append(word);
  return out;
}

std::string one_of(std::span<const std::string_view> words, std::string_view word) {
  return "one of " + joined(words) + did_you_mean(word, words);
}

std::string to_text(const Interval& range) {
  const auto number = [](double v) {
    return std::abs(v) < 1e15 && v == std::floor(v) ? std::to_string(static_cast<long long>(v)) : to_text(write_value(v));
  };
  const bool below = range.lo > -std::numeric_limits<double>::infinity();
  const bool above = range.hi < std::numeric_limits<double>::infinity();
  if (below && above)
    return (range.open_lo ? " above " : " from ") + number(range.lo) +
           (range.open_hi ? (range.open_lo ? " and below " : " to below ") : " to ") + number(range.hi);
  if (below) return (range.open_lo ? " above " : " from ") + number(range.lo);
  if (above) return " up to " + number(range.hi);
  return "";
}

}  // namespace quorate
