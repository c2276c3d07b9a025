// A number of bytes as people write it: 500, 64KB, 8MiB.
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace quorate {

struct ByteSize {
  std::size_t bytes = 0;

  static constexpr std::string_view kExpected = "a number of bytes, or one with KB, MB, GB, KiB, MiB or GiB, as 64MB";
  /// 0, or from 1 to 10^18 bytes; the unit in any case; spaces around both do not count. Nothing if `text` is something
  /// else.
  static std::optional<ByteSize> parse(std::string_view text);
  bool operator==(const ByteSize&) const = default;
};
/// In the largest unit in which it is a whole number.
std::string to_text(const ByteSize& size);

}  // namespace quorate
