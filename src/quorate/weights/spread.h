// How the values of a number column are spread, in bounded memory, and what a value is in standard units.
#pragma once
#include <array>
#include <cstdint>
#include <memory_resource>
#include <span>
#include <string>
#include <vector>

namespace quorate {

/// A thinning sample of at most kMost values, the smallest and the largest ever, and the mean and deviation of the values
/// with outliers cut. standard(v) is about standard normal whatever the scale, shift and tails of the values: (v - mean) /
/// deviation if their quantiles are those of a normal distribution or they are few different ones (flags, small counts),
/// their rank if they are far from it, a mixture between.
///
/// Cost: O(1) a value, and 256 + 128 log2(n / 256) insertions into the sample in all. Memory: 8 bytes for each value kept.
class Spread {
 public:
  static constexpr std::size_t kMost = 256;

  explicit Spread(std::pmr::memory_resource* memory) : sample_(memory) {}

  /// How rarely example n (1, 2, ...) enters samples: at least k with probability 2^-k, by a hash of n.
  static unsigned level_of(std::uint64_t n);

  /// One more value; level: of its example. If memory is refused nothing changed.
  void count(double v, unsigned level);
  std::uint64_t size() const { return n_; }
  bool constant() const { return !(low_ < high_); }
  /// What standard() does, for people.
  std::string description() const;
  /// From -3 to 3; 0 before the second value.
  double standard(double v) const;

  /// Everything that decides what comes next.
  struct Packed {
    std::uint64_t n = 0;
    std::uint32_t level = 0;
    double low = 0, high = 0, mean = 0, squares = 0;
  };
  Packed pack() const { return {n_, level_, low_, high_, mean_, squares_}; }
  const std::pmr::vector<double>& sample() const { return sample_; }
  /// Throws DataError: not finite, out of order or of range.
  void unpack(const Packed& packed, std::span<const double> sample);

 private:
  static constexpr std::size_t kKnots = 7;

  void find_knots();
  double quantile(double p) const;
  double rank(double v) const;
  /// How much ranks count, 0 to 1.
  double share_of_ranks(double deviation) const;

  std::uint64_t n_ = 0;
  unsigned level_ = 0;
  double low_ = 0, high_ = 0, mean_ = 0, squares_ = 0;
  std::pmr::vector<double> sample_;  // ascending
  std::array<double, kKnots> knots_{};
  bool few_ = true;  // different values in the sample
};

}  // namespace quorate
