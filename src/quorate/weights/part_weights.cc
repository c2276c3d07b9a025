#include "quorate/weights/part_weights.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "quorate/base/error.h"
#include "quorate/weights/hedge.h"

namespace quorate {
namespace {

constexpr std::array kRatio{1.0 / 64, 1.0 / 16, 1.0 / 4, 1.0, 4.0, 16.0, 64.0};  // squared length of columns to words
constexpr double kEta = 0.3;                                                     // how fast mistakes decide

}  // namespace

void PartWeights::learn(double y, double of_columns, double of_words) {
  for (std::size_t i = 0; i < kRatio.size(); ++i) mistakes_[i] += y * (std::sqrt(kRatio[i]) * of_columns + of_words) <= 0;
  set_lengths();
}

void PartWeights::forget() {
  mistakes_ = {};
  set_lengths();
}

void PartWeights::unpack(const std::vector<std::uint64_t>& mistakes) {
  if (mistakes.size() != mistakes_.size()) throw DataError("scale: mistakes of parts out of range");
  std::ranges::copy(mistakes, mistakes_.begin());
  set_lengths();
}

void PartWeights::set_lengths() {
  static_assert(kRatio.size() == kRatios);
  std::array<double, kRatios> columns, words;
  for (std::size_t i = 0; i < kRatios; ++i) {
    columns[i] = std::sqrt(kRatio[i] / (1 + kRatio[i]));
    words[i] = std::sqrt(1 / (1 + kRatio[i]));
  }
  const std::span<const std::uint64_t, kRatios> mistakes(mistakes_);
  columns_ = hedged(mistakes, columns, kEta);
  words_ = hedged(mistakes, words, kEta);
}

}  // namespace quorate
