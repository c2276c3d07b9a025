// Counts as people read them.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace quorate {

/// 12,345,678
inline std::string grouped(std::uint64_t value) {
  std::string out = std::to_string(value);
  for (std::size_t at = out.size(); at > 3; at -= 3) out.insert(at - 3, ",");
  return out;
}

/// "1 task", "12,345 tasks". `thing`: the word for one of them.
inline std::string counted(std::uint64_t number, std::string_view thing) {
  return grouped(number) + " " + std::string(thing) + (number == 1 ? "" : "s");
}

}  // namespace quorate
