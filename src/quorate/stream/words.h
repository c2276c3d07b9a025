// The words of a text.
#pragma once
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "quorate/base/byte_scan.h"

namespace quorate {

/// What a character is in a text. kUnspaced: of a script without spaces between words (Han, Kana, Thai, Lao, Khmer,
/// Myanmar).
enum class CharacterKind { kOther, kLetter, kUnspaced, kSymbol };

/// A character of UTF-8, where `text` begins; of bytes that are none, the first one.
struct Character {
  explicit Character(std::string_view text);
  CharacterKind kind = CharacterKind::kOther;
  std::size_t size = 1;        ///< bytes
  char lower[4] = {};          ///< in lower case
  std::size_t lower_size = 0;  ///< bytes of that
};

/// As for_each_word(), for any text.
template <class Use>
void for_each_unicode_word(std::string_view text, std::string& name, Use use) {
  const std::size_t prefix = name.size();
  std::size_t letters = 0;  // of the word in `name`
  std::size_t single = 0;   // bytes of the last character of a run without spaces
  bool in_pair = false;     // whether that is part of a pair
  const auto end = [&] {
    if (letters >= 2 || (single > 0 && !in_pair)) use(std::string_view(name));
    name.resize(prefix);
    letters = single = 0;
    in_pair = false;
  };
  for (std::size_t at = 0; at < text.size();) {
    const Character c(text.substr(at));
    at += c.size;
    const std::string_view lower(c.lower, c.lower_size);
    switch (c.kind) {
      case CharacterKind::kOther:
        end();
        break;
      case CharacterKind::kLetter:
        if (single > 0) end();
        name += lower;
        ++letters;
        break;
      case CharacterKind::kUnspaced:
        if (letters > 0) end();
        name += lower;
        if (single > 0) {
          use(std::string_view(name));
          name.erase(prefix, single);
          in_pair = true;
        }
        single = lower.size();
        break;
      case CharacterKind::kSymbol:
        end();
        name += lower;
        use(std::string_view(name));
        name.resize(prefix);
        break;
    }
  }
  end();
}

/// use(name) for every word of the text, after what `name` holds; afterwards it holds that again. Words are two letters,
/// marks or digits in a row, or more, of any script, in lower case; symbols, as emoji, beyond ASCII; and each pair of
/// characters in a row of a script that has no spaces between words. O(length).
template <class Use>
void for_each_word(std::string_view text, std::string& name, Use use) {
  constexpr std::uint64_t kNotAscii = 0x8080808080808080u, kLower = 0x2020202020202020u;  // digits stay as they are
  const std::size_t prefix = name.size();
  WordEdges edges(text);  // words of ASCII alone eight bytes at a time
  for (;;) {
    const std::size_t from = edges.next();
    if (from == text.size()) break;
    const std::size_t to = edges.next(), size = to - from;
    name.resize(std::max(name.size(), prefix + size + 8));
    char* const out = name.data() + prefix;
    std::uint64_t any = 0;
    for (std::size_t at = 0; at < size; at += 8) {
      std::uint64_t bytes = scan::eight(text.data() + from + at, text.data() + text.size());
      if (size - at < 8) bytes &= (std::uint64_t{1} << (8 * (size - at))) - 1;
      any |= bytes;
      scan::write_eight(bytes | kLower, out + at);
    }
    if ((any & kNotAscii) != 0) {
      name.resize(prefix);
      for_each_unicode_word(text.substr(from, size), name, use);
    } else if (size >= 2) {
      use(std::string_view(name).substr(0, prefix + size));
    }
    if (to == text.size()) break;
  }
  name.resize(prefix);
}

/// How many words there are between spaces; a run of a script without spaces has as many as pairs of characters.
std::uint64_t count_words(std::string_view text);
/// How many letters and digits are no words, as they stand alone.
std::uint64_t count_lost(std::string_view text);

}  // namespace quorate
