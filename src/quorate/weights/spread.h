// How the values of number columns are spread, in bounded memory, and what a value is in standard units.
#pragma once
#include <array>
#include <cstdint>
#include <memory_resource>
#include <span>
#include <string>
#include <vector>

namespace quorate {

/// Of each column a thinning sample of at most kMost values, the smallest and the largest ever, and the mean and deviation
/// of the values with outliers cut. standard(i, v) is about standard normal whatever the scale, shift and tails of the
/// values: (v - mean) / deviation if their quantiles are those of a normal distribution or they are few different ones
/// (flags, small counts), their rank if they are far from it, a mixture between.
///
/// Cost: O(1) a value, and 256 + 128 log2(n / 256) insertions into the sample in all. Memory: 144 bytes a column and 8 for
/// each value that there is room for: up to twice those kept or, under a memory limit, kMost from the first on. Numbers of
/// all columns lie side by side, so that a row is counted and scaled in SIMD.
class Spreads {
 public:
  static constexpr std::size_t kMost = 256;
  static constexpr std::size_t kNew = ~std::size_t{0};

  explicit Spreads(std::pmr::memory_resource* memory) : numbers_(memory), samples_(memory) {}

  /// How rarely example n (1, 2, ...) enters samples: at least k with probability 2^-k, by a hash of n.
  static unsigned level_of(std::uint64_t n);

  std::size_t size() const { return samples_.size(); }
  /// The columns that were at the places `from`, in their order; kNew: one without values. If memory is refused nothing
  /// changed.
  void arrange(std::span<const std::size_t> from);
  /// Those at these places, in ascending order. Needs no memory.
  void keep(std::span<const std::size_t> places);

  /// One more value of each column i where here[i] is 1, not 0; level: of their example. If memory is refused nothing
  /// changed.
  void count(std::span<const double> value, std::span<const double> here, unsigned level);
  std::uint64_t times(std::size_t i) const { return static_cast<std::uint64_t>(at(kCount, i)); }
  bool constant(std::size_t i) const { return !(at(kLow, i) < at(kHigh, i)); }
  /// What standard() does, for people.
  std::string description(std::size_t i) const;
  /// From -3 to 3; 0 before the second value.
  double standard(std::size_t i, double v) const;
  /// The same of a value of each of the first columns; 0 of those that are constant.
  void standard(std::span<const double> value, std::span<double> out) const;

  /// Everything that decides what comes next.
  struct Packed {
    std::uint64_t n = 0;
    std::uint32_t level = 0;
    double low = 0, high = 0, mean = 0, squares = 0;
  };
  Packed pack(std::size_t i) const;
  const std::pmr::vector<double>& sample(std::size_t i) const { return samples_[i].values; }
  /// Throws DataError: not finite, out of order or of range.
  void unpack(std::size_t i, const Packed& packed, std::span<const double> sample);

 private:
  /// What is known of a column. kQuantile: five of them. kRanked: how much ranks count, 0 to 1.
  enum Number : std::size_t {
    kCount,
    kLow,
    kHigh,
    kMean,
    kSquares,
    kQuantile,
    kDeviation = kQuantile + 5,
    kRanked,
    kFewValues,
    kNumbers
  };
  struct Sample {
    explicit Sample(std::pmr::memory_resource* memory) : values(memory) {}
    std::pmr::vector<double> values;  // ascending
    std::uint64_t level = 0;
  };
  static constexpr std::size_t kKnots = 7;

  double* all(std::size_t number) { return numbers_.data() + number * size(); }
  const double* all(std::size_t number) const { return numbers_.data() + number * size(); }
  double at(std::size_t number, std::size_t i) const { return all(number)[i]; }
  std::array<double, kKnots> knots(std::size_t i) const;
  void enter(std::size_t i, double v);
  void find_quantiles(std::size_t i);
  void count_part(std::size_t begin, std::size_t end, std::span<const double> value, std::span<const double> here,
                  unsigned level);
  /// kDeviation and kRanked.
  void judge(std::size_t begin, std::size_t end);
  double rank(std::size_t i, double v) const;
  double share_of_ranks(std::size_t i) const;

  std::pmr::vector<double> numbers_;  // by Number, then by column
  std::pmr::vector<Sample> samples_;
};

}  // namespace quorate
