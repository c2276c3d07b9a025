#include "quorate/base/error.h"

namespace quorate {

std::string one_line(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    auto byte = static_cast<unsigned char>(c);
    const bool other = byte == 0xC2 && i + 1 < text.size() && (text[i + 1] & 0xE0) == 0x80;  // U+0080 to U+009F
    if (other) byte = static_cast<unsigned char>(text[++i]);
    if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (other || byte < 0x20 || byte == 0x7f) {
      out += "\\x";
      out += "0123456789abcdef"[byte >> 4];
      out += "0123456789abcdef"[byte & 15];
    } else {
      out += c;
    }
  }
  return out;
}

std::string shown_value(std::string_view value) {
  constexpr std::size_t kMost = 60;
  if (value.size() <= kMost) return std::string(value);
  std::size_t end = kMost;
  while (end > 0 && (static_cast<unsigned char>(value[end]) & 0xC0) == 0x80) --end;  // not inside a UTF-8 character
  return std::string(value.substr(0, end)) + "...";
}

std::string quoted_value(std::string_view value) { return "'" + shown_value(value) + "'"; }

}  // namespace quorate
