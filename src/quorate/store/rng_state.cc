#include "quorate/store/rng_state.h"

#include <algorithm>

#include "quorate/base/error.h"

namespace quorate {

std::vector<std::uint64_t> words_of(const Rng& rng) { return {rng.state().begin(), rng.state().end()}; }

Rng rng_of(const std::vector<std::uint64_t>& words) {
  Rng::State state;
  if (words.size() != state.size() || words.back() > Rng::kWords)
    throw DataError("model file: the state of a random generator has 312 words and a position up to 312");
  std::ranges::copy(words, state.begin());
  return Rng(state);
}

}  // namespace quorate
