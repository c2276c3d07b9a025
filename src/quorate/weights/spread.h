// The distribution of values of number columns, in bounded memory, and the conversion to standard units.
#pragma once
#include <array>
#include <cstdint>
#include <memory_resource>
#include <span>
#include <string>
#include <vector>

namespace quorate {

/// For each column: a thinning sample of at most kMost values, the smallest and the largest value ever, and the mean and
/// deviation of the values with outliers cut. standard(i, v) is about standard normal whatever the scale, shift and tails of
/// the values. It is (v - mean) / deviation if the quantiles are those of a normal distribution, or if there are few
/// different values (flags, small counts); the rank if they are far from a normal distribution; a mixture in between.
///
/// Cost: O(1) a value, and 256 + 128 log2(n / 256) insertions into the sample in all. Memory: 144 bytes a column and 8 for
/// each value that there is room for: up to twice the kept values or, under a memory limit, always kMost. Numbers of all
/// columns are stored side by side, so that a row is counted and scaled in SIMD.
class Spreads {
 public:
  static constexpr std::size_t kMost = 256;
  static constexpr std::size_t kNew = ~std::size_t{0};

  explicit Spreads(std::pmr::memory_resource* memory) : numbers_(memory), samples_(memory) {}

  /// How rarely example n (1, 2, ...) enters samples: at least k with probability 2^-k, by a hash of n.
  static unsigned level_of(std::uint64_t n);

  std::size_t size() const { return samples_.size(); }
  /// Reorders columns: new column i is old column from[i]; kNew: one without values. If memory is refused nothing changed.
  void arrange(std::span<const std::size_t> from);
  /// Keeps the columns at these indices, in ascending order. Needs no memory.
  void keep(std::span<const std::size_t> places);

  /// Counts one more value of each column i with here[i] = 1, not 0; level: level_of() their example. If memory is refused
  /// nothing changed.
  void count(std::span<const double> value, std::span<const double> here, unsigned level);
  std::uint64_t times(std::size_t i) const { return static_cast<std::uint64_t>(at(kCount, i)); }
  bool constant(std::size_t i) const { return !(at(kLow, i) < at(kHigh, i)); }
  /// The conversion of standard(), as text for people.
  std::string description(std::size_t i) const;
  /// From -3 to 3; 0 before the second value.
  double standard(std::size_t i, double v) const;
  /// As standard(i, v), for a value of each of the first columns; 0 for constant columns.
  void standard(std::span<const double> value, std::span<double> out) const;

  /// The whole state of a column, apart from its sample.
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
  /// Statistics of a column. kQuantile: five numbers. kRanked: the weight of ranks, 0 to 1.
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
  /// Computes kDeviation and kRanked.
  void judge(std::size_t begin, std::size_t end);
  double rank(std::size_t i, double v) const;
  double share_of_ranks(std::size_t i) const;

  std::pmr::vector<double> numbers_;  // by Number, then by column
  std::pmr::vector<Sample> samples_;
};

}  // namespace quorate
