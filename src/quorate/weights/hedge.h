// Exponential weights over a grid of candidates.
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <span>
#include <vector>

#include "quorate/base/portable_math.h"

namespace quorate {

/// The mean of N candidates' values, the candidate with m_j past mistakes weighted by exp(-eta m_j). Cost O(N).
/// Source: Littlestone and Warmuth 1994; as in AMLC.
template <std::size_t N>
double hedged(std::span<const std::uint64_t, N> mistakes, const std::array<double, N>& values, double eta) {
  const std::uint64_t fewest = *std::ranges::min_element(mistakes);
  double sum = 0, out = 0;
  for (std::size_t j = 0; j < N; ++j) {
    const double share = exp_negative(-eta * static_cast<double>(mistakes[j] - fewest));
    sum += share;
    out += share * values[j];
  }
  return out / sum;
}

/// The mistakes of a grid of N candidates.
template <std::size_t N>
class Hedge {
 public:
  /// used: false if nothing is ever counted; then the mean is 0. Candidate j begins with `handicap` j mistakes.
  Hedge(bool used, std::pmr::memory_resource* memory, std::uint64_t handicap = 0) : mistakes(used ? N : 0, memory) {
    for (std::size_t j = 0; j < mistakes.size(); ++j) mistakes[j] = handicap * j;
  }

  /// Counts the mistakes: mistaken(j) says whether candidate j made one.
  template <class Mistaken>
  void count(Mistaken mistaken) {
    for (std::size_t j = 0; j < mistakes.size(); ++j)
      if (mistaken(j)) ++mistakes[j];
  }
  /// The mean of the candidates' values.
  double mean(const std::array<double, N>& values, double eta) const {
    return mistakes.empty() ? 0 : hedged<N>(std::span<const std::uint64_t, N>(mistakes), values, eta);
  }
  /// Whether as many counts were loaded as there are candidates.
  bool has_size(bool used) const { return mistakes.size() == (used ? N : 0); }

  std::pmr::vector<std::uint64_t> mistakes;  ///< m
};

}  // namespace quorate
