#include "quorate/base/byte_size.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <utility>

namespace quorate {
namespace {

constexpr std::pair<std::string_view, double> kUnits[] = {{"", 1},     {"B", 1},        {"KB", 1e3},     {"MB", 1e6},
                                                          {"GB", 1e9}, {"KiB", 0x1p10}, {"MiB", 0x1p20}, {"GiB", 0x1p30}};

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; }

}  // namespace

std::optional<ByteSize> ByteSize::parse(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  double value = 0;
  const auto r = std::from_chars(text.data(), text.data() + text.size(), value);
  if (r.ec != std::errc{}) return std::nullopt;
  std::string_view rest = text.substr(static_cast<std::size_t>(r.ptr - text.data()));
  while (rest.starts_with(' ')) rest.remove_prefix(1);
  for (const auto& [unit, bytes] : kUnits)
    if (std::equal(unit.begin(), unit.end(), rest.begin(), rest.end(), [](char a, char b) { return lower(a) == lower(b); }))
      return (value == 0 || value * bytes >= 1) && value * bytes < 1e18
                 ? std::optional(ByteSize{static_cast<std::size_t>(value * bytes)})
                 : std::nullopt;
  return std::nullopt;
}

std::string to_text(const ByteSize& size) {
  if (size.bytes == 0) return "0";
  const auto unit = std::max_element(std::begin(kUnits), std::end(kUnits), [&](const auto& a, const auto& b) {
    const auto whole = [&](double bytes) { return size.bytes % static_cast<std::size_t>(bytes) == 0 ? bytes : 0; };
    return whole(a.second) < whole(b.second);
  });
  return std::to_string(size.bytes / static_cast<std::size_t>(unit->second)) + std::string(unit->first);
}

}  // namespace quorate
