// Instances scaled online: counts by how rare their features are, numbers in standard units.
#pragma once
#include <array>
#include <cstdint>
#include <memory_resource>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <variant>
#include <vector>

#include "quorate/base/features.h"
#include "quorate/params/params.h"
#include "quorate/weights/hashed_cells.h"
#include "quorate/weights/sparse_blocks.h"
#include "quorate/weights/spread.h"

namespace quorate {

struct ScaleNone : Tag<"none", "values unchanged"> {};
struct ScaleLog : Tag<"log", "sign(v) log(1 + |v|), then unit length"> {};
struct ScaleIdf : Tag<"idf", "v log((n + 1) / df), then unit length"> {};
struct ScaleLogIdf : Tag<"log-idf", "both, then unit length"> {};
struct ScaleAuto
    : Tag<"auto",
          "each feature by what its values are: counts (1 + 0.3 log v) log((n + 1) / df); numbers in standard units; "
          "both of unit length, then weighed"> {};
using Scale = std::variant<ScaleNone, ScaleLog, ScaleIdf, ScaleLogIdf, ScaleAuto>;

/// The choice of a scale as a parameter of P, described once.
template <class P>
constexpr auto scale_field(Scale P::*member) {
  return Field{
      member, "scale", kAny,
      "how values are scaled, v as in the data, n examples seen so far, labelled or not, df of them with the feature",
      "docs/papers.md section 5"};
}

/// Scales instances by what was counted of their features: in how many examples each came (df) and, for `auto`, what its
/// values are. Exact or, under a memory limit, in tables of a fixed size where features share what a hash says.
///
/// `auto` takes a feature for a count unless its values say otherwise (docs/decisions/scaling.md has the measurements):
///
///   real     a value was negative or not whole;   large   whole, with a mean of at least 32 (each cut at 64)
///            in 16 values or more, after 32 examples; of a feature in more than half of the examples, if
///            they have at most 32 words on average, 32 from the first or 1.5, once there are real or large ones
///   number   real or large, in nearly every example: value in standard units (spread.h)
///   sparse   other real ones, or large in more than half of the examples: value / rms, cut at 3, times the logarithm of how
///            rare it is
///
/// Where features are known to be columns of a table (FeatureKinds), number columns are numbers, zeros included, and the
/// word of a category is 1.
///
/// Numbers, sparse ones and categories are the part `columns`, with the constant feature; counts are the part `words`. Each
/// has unit length, times what is learned of it from labels: of kRatio.size() ratios, the mean weighted by exp(-eta times
/// the labels that columns and words in this ratio would have got wrong). Data that are whole, small and mostly full, as
/// pixels, stay as they are.
class Scaling {
 public:
  /// slots: of the fixed table, 0 for exact counts.
  Scaling(const Scale& scale, std::size_t slots, std::pmr::memory_resource* memory);

  void set_kinds(const FeatureKinds& kinds);  ///< number columns: as many as memory holds

  /// Slots that take a 16th of what a memory limit leaves. 0 without a limit, or if nothing has to be counted.
  static std::size_t slots_for(const Scale& scale, std::pmr::memory_resource* memory);
  std::size_t slots() const;  ///< of the table at work

  /// As in a spec; for `auto` also what it does to these data.
  std::string description() const;
  /// What `auto` does to a number column or a category; of others that it depends on the values. "" for other scales.
  std::string description(Index feature) const;
  /// Whether there is anything to save: false for `none`.
  bool any() const { return !std::holds_alternative<ScaleNone>(scale_); }
  bool changes() const { return logarithm() || weighs(); }  ///< false: instances stay as they come
  /// The features of x that are counts: all of it or, of a table of known columns, its words. Nothing where only values say
  /// which those are, and some are none.
  std::optional<Features> words(const Features& x) const;
  /// Lets the processor fetch what count(x) and scaling x will need.
  void prefetch(const Features& x) const {
    std::visit([&](const auto& df) { df.prefetch(0, x); }, df_);
  }
  /// One more example. O(non-zeros). After 2^32 - 1 examples nothing is counted any more.
  void count(const Features& x);
  /// x scaled, its values in `out`, which has at least x.size() elements. Unit length unless `auto` found numbers, or all
  /// values are 0. O(non-zeros).
  Features operator()(const Features& x, std::span<double> out) const;

  enum class Part { kColumns, kWords };
  /// Whether there are both parts, whose lengths are learned.
  bool weighs_parts() const;
  /// `scaled`, values of x scaled, with zeros instead of the other part, in `out`; not what it is times.
  std::span<const double> only(Part part, const Features& x, std::span<const double> scaled, std::span<double> out) const;
  /// One more label y; what each part alone says of it.
  void learn(double y, double of_columns, double of_words);
  void forget_labels();  ///< what learn() was told

  struct Packed {
    std::uint64_t examples = 0, nonzeros = 0;
    std::uint32_t dense = 0;
    Column<std::uint32_t> feature, df;  // features in ascending order; of a fixed table none, df of every slot
    // Of `auto`, once it found a number:
    std::uint32_t flags = 0;
    std::vector<std::uint64_t> part_mistakes;
    Column<std::uint32_t> value_feature, value_count;  // as feature and df
    Column<float> value_sum, value_squares;
    std::vector<std::uint32_t> spread_feature, spread_level;
    std::vector<std::uint64_t> spread_size, spread_end;
    std::vector<double> spread_numbers, spread_sample;  // four numbers of each
    template <class S>
    static void state(S& s, auto&& v) {
      v("examples", s.examples);
      v("nonzeros", s.nonzeros);
      v("real", s.dense);
      v("feature", s.feature);
      v("df", s.df);
      v("part_mistakes", s.part_mistakes);
      v("flags", s.flags);
      v("value_feature", s.value_feature);
      v("value_count", s.value_count);
      v("value_sum", s.value_sum);
      v("value_squares", s.value_squares);
      v("spread_feature", s.spread_feature);
      v("spread_level", s.spread_level);
      v("spread_size", s.spread_size);
      v("spread_end", s.spread_end);
      v("spread_numbers", s.spread_numbers);
      v("spread_sample", s.spread_sample);
    }
  };
  Packed pack() const;
  void unpack(const Packed& packed);  ///< throws DataError: sizes differ, out of order, numbers out of range

 private:
  /// What a feature's values were, as far as they were looked at.
  struct Values {
    std::uint32_t count = 0;  // times 2, plus 1 if one was real
    float sum = 0, squares = 0;
    bool operator==(const Values&) const = default;
    bool real() const { return (count & 1) != 0; }
    std::uint32_t times() const { return count / 2; }
  };
  template <class Cell>
  using Store = std::variant<SparseBlocks<Cell>, HashedCells<Cell>>;
  enum class Kind { kCount, kSparse, kNumber };
  enum Flag : std::uint32_t { kLooks = 1, kNumbers = 2, kCounts = 4, kColumns = 8 };  // values are looked at; what was found

  bool is_auto() const { return std::holds_alternative<ScaleAuto>(scale_); }
  bool logarithm() const;
  bool weighs() const;
  struct Split;
  Split split(const Features& x) const;
  void add_columns();
  void lean();
  void count_values(const Features& x);
  void gather_columns(const Features& x, std::size_t begin, std::size_t end, std::span<double> value,
                      std::span<double> here) const;
  void count_spreads(const Features& x, const Split& parts);
  void keep_spreads(std::span<const std::size_t> others);
  /// For each feature of x that has none, as many as memory holds.
  void add_spreads(const Features& x);
  /// The place of a feature in spreads_, or kNoSpread; called for features in ascending order.
  auto spreads_in_order() const;
  Kind kind(std::uint32_t df, const Values& values, std::size_t spread) const;
  bool nearly_always(std::uint64_t df) const { return 10 * (df + 2) >= 9 * examples_; }
  void scale_counts(const Features& x, std::span<double> out) const;
  void scale_blocks(const Features& x, std::span<double> out) const;

  static constexpr std::size_t kNoSpread = ~std::size_t{0};
  static constexpr std::uint64_t kMostExamples = 0xFFFFFFFFu;

  Scale scale_;
  std::pmr::memory_resource* memory_;
  FeatureKinds kinds_;
  std::array<std::uint64_t, 7> part_mistakes_{};  // of each ratio
  bool parts_learned_ = true;                     // false: of a file where all numbers weigh as one word
  double of_columns_ = 0, of_words_ = 0;          // lengths, of part_mistakes_
  std::uint64_t examples_ = 0, nonzeros_ = 0;
  bool dense_ = false;                      // `auto`: stays as it is
  std::uint32_t flags_ = 0;                 // `auto`
  Store<std::uint32_t> df_;                 // of block 0
  Store<Values> values_;                    // of block 0, once kLooks
  std::size_t distinct_ = 0;                // df above 0
  std::pmr::vector<Index> spread_feature_;  // ascending; features that came in nearly every example
  Spreads spreads_;                         // of those
  std::vector<Index> looked_index_;         // scratch
  std::vector<double> looked_value_, value_, here_;
};

}  // namespace quorate
