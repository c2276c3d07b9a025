#include "quorate/base/rng.h"

namespace quorate {

Rng::Rng(std::uint64_t seed) {
  state_[0] = seed;
  for (std::uint64_t n = 1; n < kWords; ++n) state_[n] = 6364136223846793005u * (state_[n - 1] ^ (state_[n - 1] >> 62)) + n;
  state_[kWords] = kWords;
}

void Rng::refill() {
  constexpr std::size_t kMiddle = 156;
  constexpr std::uint64_t kLow = (std::uint64_t{1} << 31) - 1;
  for (std::size_t n = 0; n < kWords; ++n) {
    const std::uint64_t both = (state_[n] & ~kLow) | (state_[(n + 1) % kWords] & kLow);
    state_[n] = state_[(n + kMiddle) % kWords] ^ (both >> 1) ^ ((both & 1) * 0xB5026F5AA96619E9u);
  }
  state_[kWords] = 0;
}

}  // namespace quorate
