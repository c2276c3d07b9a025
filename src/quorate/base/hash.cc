#include "quorate/base/hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace quorate {

std::uint64_t hash64(std::string_view text) { return XXH3_64bits(text.data(), text.size()); }

struct Hasher128::State {
  XXH3_state_t of_xxhash;
};

Hasher128::Hasher128() : state_(std::make_unique<State>()) {
  XXH3_INITSTATE(&state_->of_xxhash);
  XXH3_128bits_reset(&state_->of_xxhash);
}

Hasher128::~Hasher128() = default;

void Hasher128::add(std::string_view part) { XXH3_128bits_update(&state_->of_xxhash, part.data(), part.size()); }

std::string Hasher128::hex() const {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(&state_->of_xxhash));
  std::string out;
  for (const unsigned char byte : canonical.digest) {
    out += "0123456789abcdef"[byte >> 4];
    out += "0123456789abcdef"[byte & 15];
  }
  return out;
}

std::string hash128_hex(std::string_view bytes) {
  Hasher128 hasher;
  hasher.add(bytes);
  return hasher.hex();
}

}  // namespace quorate
