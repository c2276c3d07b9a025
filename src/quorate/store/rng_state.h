// A generator's state as numbers, for a model file.
#pragma once
#include <cstdint>
#include <vector>

#include "quorate/base/rng.h"

namespace quorate {

/// The 312 words of the state and the position in them.
std::vector<std::uint64_t> words_of(const Rng& rng);

/// Inverse of words_of(). Throws DataError for anything else.
Rng rng_of(const std::vector<std::uint64_t>& words);

}  // namespace quorate
