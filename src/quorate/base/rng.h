// Random draws with the same bits on every compiler: the standard defines mt19937_64, but neither its distributions nor a
// state that libraries read of one another.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>

namespace quorate {

/// The Mersenne Twister MT19937-64 (Nishimura 2000): the draws of std::mt19937_64, and a state for model files.
class Rng {
 public:
  using result_type = std::uint64_t;
  static constexpr std::size_t kWords = 312;
  using State = std::array<std::uint64_t, kWords + 1>;  ///< the words, then the position of the next one, up to kWords

  explicit Rng(std::uint64_t seed = 5489);
  /// From a state(), whose last number is at most kWords.
  explicit Rng(const State& state) : state_(state) {}

  static constexpr result_type min() { return 0; }
  static constexpr result_type max() { return std::numeric_limits<result_type>::max(); }
  result_type operator()() {
    std::uint64_t& at = state_[kWords];
    if (at == kWords) refill();
    std::uint64_t z = state_[at++];
    z ^= (z >> 29) & 0x5555555555555555u;
    z ^= (z << 17) & 0x71D67FFFEDA60000u;
    z ^= (z << 37) & 0xFFF7EEE000000000u;
    return z ^ (z >> 43);
  }

  void discard(unsigned long long draws) {
    while (draws-- > 0) (*this)();
  }

  const State& state() const { return state_; }
  bool operator==(const Rng&) const = default;

 private:
  void refill();

  State state_;
};

/// Generator number `stream` of a run with this seed. Streams of one seed are independent, so that the order of the
/// examples does not depend on how many draws a learner makes.
inline Rng make_rng(std::uint64_t seed, std::uint64_t stream) {
  std::uint64_t z = seed * 0x9E3779B97F4A7C15u + (stream + 1) * 0xBF58476D1CE4E5B9u;  // splitmix64's finaliser
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return Rng(z ^ (z >> 31));
}

/// Uniform in [0, 1), 53 random bits. One draw.
inline double uniform(Rng& rng) { return static_cast<double>(rng() >> 11) * 0x1p-53; }

/// Uniform in {0, ..., n - 1}, n >= 1, without bias. One draw, rarely more.
inline std::uint64_t below(std::uint64_t n, Rng& rng) {
  const std::uint64_t reject = (0 - n) % n;  // 2^64 mod n: the part of the range that would bias the remainder
  for (;;)
    if (const std::uint64_t u = rng(); u >= reject) return u % n;
}

/// A uniformly random order (Fisher-Yates from the back). values.size() - 1 draws.
template <class T>
void shuffle(std::span<T> values, Rng& rng) {
  for (std::size_t n = values.size(); n > 1; --n) std::swap(values[n - 1], values[below(n, rng)]);
}

}  // namespace quorate
