#include "quorate/store/rng_state.h"

#include <sstream>

#include "quorate/base/error.h"

namespace quorate {

std::vector<std::uint64_t> words_of(const Rng& rng) {
  std::stringstream text;
  text << rng;
  std::vector<std::uint64_t> out;
  for (std::uint64_t word = 0; text >> word;) out.push_back(word);
  return out;
}

Rng rng_of(const std::vector<std::uint64_t>& words) {
  std::stringstream text;
  for (const std::uint64_t word : words) text << word << ' ';
  Rng out;
  if (words.size() != words_of(out).size() || words.back() > Rng::state_size || !(text >> out))
    throw DataError("model file: the state of a random generator has 312 words and a position up to 312");
  return out;
}

}  // namespace quorate
