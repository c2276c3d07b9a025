#include "quorate/base/hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <array>

namespace quorate {

std::uint64_t hash64(std::string_view text) { return XXH3_64bits(text.data(), text.size()); }

std::string hash128_hex(std::string_view bytes) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits(bytes.data(), bytes.size()));
  std::string out;
  for (const unsigned char byte : canonical.digest) {
    out += "0123456789abcdef"[byte >> 4];
    out += "0123456789abcdef"[byte & 15];
  }
  return out;
}

}  // namespace quorate
