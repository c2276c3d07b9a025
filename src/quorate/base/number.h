// Numbers from text.
#pragma once
#include <charconv>
#include <optional>
#include <string_view>

namespace quorate {

/// `text` as a number, if it is nothing else: no space, no plus sign. Nothing too, if it does not fit in a T; a double may
/// be infinite or no number. The same in every locale.
template <class T>
std::optional<T> parse_number(std::string_view text) {
  T value{};
  const char* end = text.data() + text.size();
  const auto r = std::from_chars(text.data(), end, value);
  if (r.ec != std::errc{} || r.ptr != end) return std::nullopt;
  return value;
}

}  // namespace quorate
