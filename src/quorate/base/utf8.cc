#include "quorate/base/utf8.h"

#include <simdjson.h>
#include <utf8proc.h>

namespace quorate {

std::size_t find_not_utf8(std::string_view text) {
  if (simdjson::validate_utf8(text.data(), text.size())) return text.npos;
  std::size_t at = 0;
  utf8proc_int32_t code = 0;
  while (at < text.size()) {
    const auto n = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()) + at,
                                    static_cast<utf8proc_ssize_t>(text.size() - at), &code);
    if (n <= 0) break;
    at += static_cast<std::size_t>(n);
  }
  return at;
}

std::string not_utf8(char byte) {
  const auto b = static_cast<unsigned char>(byte);
  return std::string("byte 0x") + "0123456789abcdef"[b >> 4] + "0123456789abcdef"[b & 15] + "; expected UTF-8 text";
}

}  // namespace quorate
