// Finds separators and words, and parses short numbers, many bytes at a time.
#pragma once
#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace quorate {

#ifdef __SSE2__
/// A bit for each of 64 bytes: whether is_in(16 of them) has its highest bit set.
template <class IsIn>
std::uint64_t bits_of_64(const char* bytes, IsIn is_in) {
  std::uint64_t out = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    const __m128i in = is_in(_mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes) + i));
    out |= static_cast<std::uint64_t>(static_cast<unsigned>(_mm_movemask_epi8(in))) << (16 * i);
  }
  return out;
}
#else
template <class IsIn>
std::uint64_t bits_of_64(const char* bytes, IsIn is_in) {
  std::uint64_t out = 0;
  for (std::size_t i = 0; i < 64; ++i) out |= std::uint64_t{is_in(bytes[i])} << i;
  return out;
}
#endif

template <char... kOf>
struct AnyOf {
#ifdef __SSE2__
  __m128i operator()(__m128i b) const {
    __m128i any = _mm_setzero_si128();
    ((any = _mm_or_si128(any, _mm_cmpeq_epi8(b, _mm_set1_epi8(kOf)))), ...);
    return any;
  }
#else
  bool operator()(char b) const { return ((b == kOf) || ...); }
#endif
};

/// A letter or digit of ASCII, or a byte of another character.
struct MayBeInWord {
#ifdef __SSE2__
  __m128i operator()(__m128i b) const {
    const __m128i from_a = _mm_sub_epi8(_mm_or_si128(b, _mm_set1_epi8(0x20)), _mm_set1_epi8('a'));
    const __m128i letter = _mm_cmpeq_epi8(_mm_min_epu8(from_a, _mm_set1_epi8(25)), from_a);
    const __m128i from_0 = _mm_sub_epi8(b, _mm_set1_epi8('0'));
    const __m128i digit = _mm_cmpeq_epi8(_mm_min_epu8(from_0, _mm_set1_epi8(9)), from_0);
    return _mm_or_si128(_mm_or_si128(letter, digit), b);
  }
#else
  bool operator()(char b) const {
    return static_cast<unsigned char>((b | 0x20) - 'a') < 26 || static_cast<unsigned char>(b - '0') < 10 || (b & 0x80) != 0;
  }
#endif
};

/// Iterates over the positions of bytes in `text` for which IsIn() is true or, if kEdges, over those where runs of them
/// begin and end in turn. O(length / 16), plus a few instructions for each position.
template <class IsIn, bool kEdges = false>
class Positions {
 public:
  explicit Positions(std::string_view text) : text_(text) { load(); }

  /// The next position; text.size() after the last one, then not to be called again.
  std::size_t next() {
    while (here_ == 0) {
      block_ += 64;
      load();
    }
    const std::size_t place = block_ + static_cast<std::size_t>(std::countr_zero(here_));
    here_ &= here_ - 1;
    return place;
  }

 private:
  /// here_: the bits of the 64 bytes from block_ on, and one for the end.
  void load() {
    const std::size_t left = text_.size() - block_;
    if (left >= 64) {
      here_ = marks(bits_of_64(text_.data() + block_, IsIn()));
      return;
    }
    std::uint64_t in = 0;
    if (text_.size() >= 64) {
      if (left > 0) in = bits_of_64(text_.data() + text_.size() - 64, IsIn()) >> (64 - left);
    } else {
      char padded[64] = {};
      if (left > 0) std::memcpy(padded, text_.data(), left);
      in = bits_of_64(padded, IsIn()) & ((std::uint64_t{1} << left) - 1);  // '\0' may be one
    }
    here_ = marks(in) | std::uint64_t{1} << left;
  }

  std::uint64_t marks(std::uint64_t in) {
    if constexpr (!kEdges) return in;
    const std::uint64_t before = in << 1 | last_;
    last_ = in >> 63;
    return in ^ before;
  }

  std::string_view text_;
  std::size_t block_ = 0;
  std::uint64_t here_ = 0, last_ = 0;  // last_: whether the byte before is in
};

template <char... kOf>
using Separators = Positions<AnyOf<kOf...>>;
using WordEdges = Positions<MayBeInWord, true>;

namespace scan {

/// The first eight bytes at `begin`, the first one lowest. Does not read at or after `end`.
inline std::uint64_t eight(const char* begin, const char* end) {
  std::uint64_t out = 0;
  if (end - begin >= 8) {
    std::memcpy(&out, begin, 8);
    if constexpr (std::endian::native == std::endian::big) out = __builtin_bswap64(out);
  } else {
    for (unsigned i = 0; begin + i < end; ++i) out |= std::uint64_t{static_cast<unsigned char>(begin[i])} << (8 * i);
  }
  return out;
}

/// Writes eight bytes as eight() reads them.
inline void write_eight(std::uint64_t bytes, char* to) {
  if constexpr (std::endian::native == std::endian::big) bytes = __builtin_bswap64(bytes);
  std::memcpy(to, &bytes, 8);
}

/// The number in the lowest `digits` bytes, the first digit lowest, if all are digits. 1 <= digits <= 8.
inline bool whole(std::uint64_t bytes, unsigned digits, std::uint32_t* out) {
  bytes = (bytes ^ 0x3030303030303030u) << (8 * (8 - digits));  // leading zeros
  if ((((bytes + 0x7676767676767676u) | bytes) & 0x8080808080808080u) != 0) return false;
  bytes = bytes * 10 + (bytes >> 8);  // pairs, then fours, then all
  constexpr std::uint64_t kPair = 0x000000FF000000FFu;
  bytes = (bytes & kPair) * 0x000F424000000064u + ((bytes >> 16) & kPair) * 0x0000271000000001u;
  *out = static_cast<std::uint32_t>(bytes >> 32);
  return true;
}

}  // namespace scan

/// Whether `text` is 1 to 8 digits; if so *out is their value. May read up to `end`, at or after the end of `text`: reading
/// eight bytes at once is faster.
inline bool short_whole(std::string_view text, const char* end, std::uint32_t* out) {
  if (text.empty() || text.size() > 8) return false;
  return scan::whole(scan::eight(text.data(), end), static_cast<unsigned>(text.size()), out);
}

/// Whether `text` is up to 8 digits with an optional point and an optional minus; if so *out is the value of
/// std::from_chars: n and 10^k are exact, so their quotient is rounded once. `end` as above.
[[gnu::always_inline]] inline bool short_decimal(std::string_view text, const char* end, double* out) {
  if (text.size() == 1) {
    *out = static_cast<unsigned char>(text[0]) - '0';
    return *out >= 0 && *out <= 9;
  }
  const bool minus = text.starts_with('-');
  text.remove_prefix(minus ? 1 : 0);
  const auto size = static_cast<unsigned>(text.size());
  if (size == 0 || size > 8) return false;
  std::uint64_t bytes = scan::eight(text.data(), end);
  const std::uint64_t other = bytes ^ 0x2E2E2E2E2E2E2E2Eu;  // 0 at a point
  const std::uint64_t points = (other - 0x0101010101010101u) & ~other & 0x8080808080808080u;
  const unsigned point = static_cast<unsigned>(std::countr_zero(points)) / 8;  // the first point; a second one is no digit
  unsigned digits = size, decimals = 0;
  if (point < size) {
    digits = size - 1;
    decimals = digits - point;
    if (point == 0 || decimals == 0) return false;
    const std::uint64_t before = (std::uint64_t{1} << (8 * point)) - 1;
    bytes = (bytes & before) | ((bytes >> 8) & ~before);
  }
  std::uint32_t n = 0;
  if (!scan::whole(bytes, digits, &n)) return false;
  constexpr double kTens[] = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6};
  const double value = static_cast<double>(n) / kTens[decimals];
  *out = minus ? -value : value;
  return true;
}

}  // namespace quorate
