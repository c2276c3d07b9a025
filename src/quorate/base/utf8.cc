#include "quorate/base/utf8.h"

#include <simdjson.h>
#include <utf8proc.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <new>

namespace quorate {

namespace {

std::string mapped(std::string_view text, int options) {
  utf8proc_uint8_t* out = nullptr;
  const auto size =
      utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()), static_cast<utf8proc_ssize_t>(text.size()), &out,
                   static_cast<utf8proc_option_t>(options | UTF8PROC_STABLE | UTF8PROC_COMPOSE));
  const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> memory(out, std::free);
  if (size == UTF8PROC_ERROR_NOMEM) throw std::bad_alloc();
  return size < 0 ? std::string(text) : std::string(reinterpret_cast<const char*>(out), static_cast<std::size_t>(size));
}

bool is_blank(utf8proc_int32_t code) {
  if (code < 0x20) return code >= 9 && code <= 13;  // not a zero byte, which no text has
  switch (utf8proc_category(code)) {
    case UTF8PROC_CATEGORY_ZS:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
      return true;
    default:
      return false;
  }
}

/// use(begin, end, blank) for every character.
template <class Use>
void for_each_character(std::string_view text, Use use) {
  for (std::size_t at = 0; at < text.size();) {
    utf8proc_int32_t code = 0;
    const auto n = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()) + at,
                                    static_cast<utf8proc_ssize_t>(text.size() - at), &code);
    const std::size_t end = at + static_cast<std::size_t>(std::max<utf8proc_ssize_t>(n, 1));
    use(at, end, n > 0 && is_blank(code));
    at = end;
  }
}

}  // namespace

std::string plain_text(std::string_view text) {
  std::size_t begin = text.size(), end = 0;
  bool ascii = true;
  for_each_character(text, [&](std::size_t from, std::size_t to, bool blank) {
    if (blank) return;
    begin = std::min(begin, from);
    end = to;
    ascii &= to - from == 1;
  });
  const std::string_view inside = begin < end ? text.substr(begin, end - begin) : std::string_view();
  return ascii ? std::string(inside) : mapped(inside, 0);
}

std::string folded_text(std::string_view text) {
  const std::string all = mapped(text, UTF8PROC_CASEFOLD | UTF8PROC_COMPAT | UTF8PROC_IGNORE);
  std::string out;
  for_each_character(all, [&](std::size_t from, std::size_t to, bool blank) {
    if (!blank) out.append(all, from, to - from);
  });
  return out;
}

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
