#include "quorate/stream/words.h"

#include <utf8proc.h>

#include <array>

namespace quorate {
namespace {

bool is_ascii_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); }

bool is_unspaced(utf8proc_int32_t code) {
  struct Range {
    utf8proc_int32_t first, last;
  };
  constexpr std::array kRanges{Range{0x0E00, 0x0EFF},     // Thai, Lao
                               Range{0x1000, 0x109F},     // Myanmar
                               Range{0x1780, 0x17FF},     // Khmer
                               Range{0x3005, 0x3007},     // Han
                               Range{0x3040, 0x30FF},     // Kana
                               Range{0x31F0, 0x31FF},     // Kana
                               Range{0x3400, 0x4DBF},     // Han
                               Range{0x4E00, 0x9FFF},     // Han
                               Range{0xF900, 0xFAFF},     // Han
                               Range{0xFF66, 0xFF9F},     // Kana
                               Range{0x20000, 0x3FFFF}};  // Han
  return std::ranges::any_of(kRanges, [&](const Range& r) { return code >= r.first && code <= r.last; });
}

CharacterKind kind_of(utf8proc_int32_t code) {
  switch (utf8proc_category(code)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ND:
      return is_unspaced(code) ? CharacterKind::kUnspaced : CharacterKind::kLetter;
    case UTF8PROC_CATEGORY_SM:
    case UTF8PROC_CATEGORY_SC:
    case UTF8PROC_CATEGORY_SO:
      return CharacterKind::kSymbol;
    default:
      return CharacterKind::kOther;
  }
}

}  // namespace

Character::Character(std::string_view text) {
  const char c = text[0];
  if (static_cast<unsigned char>(c) < 0x80) {
    if (!is_ascii_letter(c)) return;
    kind = CharacterKind::kLetter;
    lower[0] = static_cast<char>(c | 0x20);
    lower_size = 1;
    return;
  }
  utf8proc_int32_t code = 0;
  const auto n = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                  static_cast<utf8proc_ssize_t>(text.size()), &code);
  if (n <= 0) return;
  size = static_cast<std::size_t>(n);
  kind = kind_of(code);
  lower_size =
      static_cast<std::size_t>(utf8proc_encode_char(utf8proc_tolower(code), reinterpret_cast<utf8proc_uint8_t*>(lower)));
}

std::uint64_t count_words(std::string_view text) {
  std::uint64_t words = 0;
  bool inside = false, unspaced = false;
  for (std::size_t at = 0; at < text.size();) {
    if (static_cast<unsigned char>(text[at]) < 0x80) {
      const char c = text[at++];
      const bool space = c == ' ' || c == '\t' || c == '\n' || c == '\r';
      words += !space && !inside;
      inside = !space;
      unspaced = false;
      continue;
    }
    const Character c(text.substr(at));
    at += c.size;
    const bool here = c.kind == CharacterKind::kUnspaced;
    words += !inside || (here && unspaced);
    if (!inside && here) --words;  // a pair has two
    inside = true;
    unspaced = here;
  }
  return words;
}

std::uint64_t count_lost(std::string_view text) {
  std::uint64_t lost = 0, letters = 0;
  for (std::size_t at = 0; at < text.size();) {
    const Character c(text.substr(at));
    at += c.size;
    if (c.kind == CharacterKind::kLetter) {
      ++letters;
      continue;
    }
    lost += letters == 1;
    letters = 0;
  }
  return lost + (letters == 1);
}

}  // namespace quorate
