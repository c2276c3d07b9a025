// UTF-8: validation, and texts that differ in form alone.
#pragma once
#include <string>
#include <string_view>

namespace quorate {

/// Position of the first byte of `text` that is not UTF-8, or npos. O(length).
std::size_t find_not_utf8(std::string_view text);

/// "byte 0xff; expected UTF-8 text", for the byte that find_not_utf8 found.
std::string not_utf8(char byte);

/// Valid UTF-8 as people compare it: composed (NFC), without white space, zero-width characters and controls at its ends.
std::string plain_text(std::string_view text);
/// What is left where neither case, form (NFKC) nor white space count: equal for texts that look alike.
std::string folded_text(std::string_view text);

}  // namespace quorate
