// The distributions of number columns, and of features that nearly every example has.
#pragma once
#include <algorithm>
#include <cstdint>
#include <memory_resource>
#include <span>
#include <vector>

#include "quorate/base/features.h"
#include "quorate/weights/spread.h"

namespace quorate {

/// Whether df of the examples are nearly all of them.
inline bool nearly_always(std::uint64_t df, std::uint64_t examples) { return 10 * (df + 2) >= 9 * examples; }

/// A spread (spread.h) for each number column, the features 1 to kinds.numbers, and for each feature of the first three
/// examples while nearly every example has it. Under a memory limit they take a 16th of it at most.
///
/// Cost: O(1) a value. Memory: as Spreads.
class FeatureSpreads {
 public:
  static constexpr std::size_t kNone = ~std::size_t{0};

  explicit FeatureSpreads(std::pmr::memory_resource* memory) : memory_(memory), feature_(memory), spreads_(memory) {}

  static std::size_t most(std::pmr::memory_resource* memory);  ///< that memory holds
  std::size_t size() const { return spreads_.size(); }
  const Spreads& spreads() const { return spreads_; }
  /// The index of a feature in spreads(), or kNone; called for features in ascending order.
  auto in_order() const {
    return [this, i = std::size_t{0}](Index feature) mutable -> std::size_t {
      if (i < size() && feature_[i] != feature) {
        const auto from = feature_.begin() + static_cast<std::ptrdiff_t>(i);
        i = static_cast<std::size_t>(std::lower_bound(from, feature_.end(), feature) - feature_.begin());
      }
      return i < size() && feature_[i] == feature ? i++ : kNone;
    };
  }
  /// Whether the spreads begin with one for each of that many number columns.
  bool begin_with(std::size_t columns) const { return columns > 0 && columns <= size() && feature_[columns - 1] == columns; }
  void add_columns(Index numbers);  ///< a spread for each number column
  /// Counts the values of example number `examples`. x[begin, end) are its number columns.
  void count(const Features& x, std::size_t begin, std::size_t end, const FeatureKinds& kinds, std::uint64_t examples);

  /// Columns of a file.
  struct Packed {
    std::vector<std::uint32_t> feature, level;
    std::vector<std::uint64_t> size, end;
    std::vector<double> numbers, sample;  // four numbers per spread
    template <class S>
    static void state(S& s, auto&& v) {
      v("spread_feature", s.feature);
      v("spread_level", s.level);
      v("spread_size", s.size);
      v("spread_end", s.end);
      v("spread_numbers", s.numbers);
      v("spread_sample", s.sample);
    }
  };
  Packed pack() const;
  /// examples: in all. Throws DataError: sizes differ, out of order, numbers out of range.
  void unpack(const Packed& packed, std::uint64_t examples);

 private:
  void add(const Features& x, const FeatureKinds& kinds);
  void keep(std::size_t columns, std::span<const std::size_t> others);

  std::pmr::memory_resource* memory_;
  std::pmr::vector<Index> feature_;  // ascending
  Spreads spreads_;                  // of those
  std::vector<double> value_, here_;
};

/// The values of the number columns x[begin, end), in order of the columns. here: 1 if x has the column, else 0.
void gather_columns(const Features& x, std::size_t begin, std::size_t end, std::size_t columns, std::span<double> value,
                    std::span<double> here);

}  // namespace quorate
