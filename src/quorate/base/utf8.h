// Validation of UTF-8.
#pragma once
#include <string>
#include <string_view>

namespace quorate {

/// Position of the first byte of `text` that is not UTF-8, or npos. O(length).
std::size_t find_not_utf8(std::string_view text);

/// "byte 0xff; expected UTF-8 text", for the byte that find_not_utf8 found.
std::string not_utf8(char byte);

}  // namespace quorate
