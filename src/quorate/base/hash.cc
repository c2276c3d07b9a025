#include "quorate/base/hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <array>

namespace quorate {

std::uint64_t hash64(std::string_view text) { return XXH3_64bits(text.data(), text.size()); }

std::string hash128_hex(std::string_view bytes) { return hash128_hex(std::span(&bytes, 1)); }

std::string hash128_hex(std::span<const std::string_view> parts) {
  XXH3_state_t state;
  XXH3_INITSTATE(&state);
  XXH3_128bits_reset(&state);
  for (const std::string_view part : parts) XXH3_128bits_update(&state, part.data(), part.size());
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(&state));
  std::string out;
  for (const unsigned char byte : canonical.digest) {
    out += "0123456789abcdef"[byte >> 4];
    out += "0123456789abcdef"[byte & 15];
  }
  return out;
}

}  // namespace quorate
