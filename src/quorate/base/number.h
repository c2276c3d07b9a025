// Numbers from text, and back.
#pragma once
#include <charconv>
#include <optional>
#include <string>
#include <string_view>

namespace quorate {

/// `text` as a number; nullopt if it has a space, a plus sign or anything else besides, or does not fit in a T. A double may
/// be infinite or NaN. The same in every locale.
template <class T>
std::optional<T> parse_number(std::string_view text) {
  T value{};
  const char* end = text.data() + text.size();
  const auto r = std::from_chars(text.data(), end, value);
  if (r.ec != std::errc{} || r.ptr != end) return std::nullopt;
  return value;
}

/// `value` in the fewest digits that read back as the same number.
inline std::string shortest(double value) {
  char buffer[32];
  return {buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr};
}

}  // namespace quorate
