// How much the columns of an instance weigh beside its words, learned from labels.
#pragma once
#include <array>
#include <cstdint>
#include <vector>

namespace quorate {

/// Lengths of the two parts: the mean over a grid of ratios, weighted by exp(-eta m), m being the number of labels that
/// columns and words in this ratio predicted wrong (hedge.h). O(1).
class PartWeights {
 public:
  PartWeights() { set_lengths(); }

  double columns() const { return columns_; }
  double words() const { return words_; }
  /// Learns from a label y and the margin of each part alone, of length 1.
  void learn(double y, double of_columns, double of_words);
  void forget();  ///< what it learned

  std::vector<std::uint64_t> pack() const { return {mistakes_.begin(), mistakes_.end()}; }
  void unpack(const std::vector<std::uint64_t>& mistakes);  ///< throws DataError: not one for each ratio

 private:
  static constexpr std::size_t kRatios = 7;

  void set_lengths();

  std::array<std::uint64_t, kRatios> mistakes_{};
  double columns_ = 0, words_ = 0;  // from mistakes_
};

}  // namespace quorate
