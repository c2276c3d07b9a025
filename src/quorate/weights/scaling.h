// Scales instances online: counts by the rarity of their features, numbers to standard units.
#pragma once
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
#include "quorate/weights/feature_cells.h"
#include "quorate/weights/feature_spreads.h"
#include "quorate/weights/part_weights.h"

namespace quorate {

struct ScaleNone : Tag<"none", "values unchanged"> {};
struct ScaleLog : Tag<"log", "sign(v) log(1 + |v|), then unit length"> {};
struct ScaleIdf : Tag<"idf", "v log((n + 1) / df), then unit length"> {};
struct ScaleLogIdf : Tag<"log-idf", "both, then unit length"> {};
struct ScaleAuto
    : Tag<"auto",
          "each feature by its kind: counts (1 + 0.3 log v) log((n + 1) / df); numbers in standard units; both of unit "
          "length, then weighted"> {};
using Scale = std::variant<ScaleNone, ScaleLog, ScaleIdf, ScaleLogIdf, ScaleAuto>;

/// The choice of a scale as a parameter of P, described once.
template <class P>
constexpr auto scale_field(Scale P::*member) {
  return Field{
      member, "scale", kAny,
      "how values are scaled, v as in the data, n examples seen so far, labelled or not, df of them with the feature",
      "docs/papers.md section 5"};
}

/// Scales instances by statistics of their features: the number of examples with the feature (df) and, for `auto`, its
/// values. Exact or, under a memory limit, in hash tables of fixed size, where features may share a slot.
///
/// `auto` takes a feature for a count unless its values say otherwise (docs/decisions/scaling.md has the measurements):
///
///   real     a value was negative or not whole
///   large    whole, with a mean of at least 32 (each value cut at 64) over 16 values or more, after 32 examples. If the
///            feature is in more than half of the examples, and they have at most 32 words on average: a mean of 32 from the
///            first value on, or of 1.5, once any feature is real or large
///   number   real or large, in nearly every example: value in standard units (spread.h)
///   sparse   other real ones, or large in more than half of the examples: value / rms, cut at 3, times log(1 + n / df)
///
/// If columns of a table are known (FeatureKinds), number columns are numbers, zeros included, and a category's feature
/// is 1.
///
/// Numbers, sparse features and categories form the part `columns`, with the constant feature; counts form the part `words`.
/// Each part has unit length, times a factor learned from labels (part_weights.h). Data that are whole, small and mostly
/// full, such as pixels, are not scaled.
class Scaling {
 public:
  /// slots: of the fixed table, 0 for exact counts.
  Scaling(const Scale& scale, std::size_t slots, std::pmr::memory_resource* memory);

  void set_kinds(const FeatureKinds& kinds);  ///< number columns: as many as memory holds

  /// Slots that take a 16th of the memory left under a limit. 0 without a limit, or if nothing has to be counted.
  static std::size_t slots_for(const Scale& scale, std::pmr::memory_resource* memory);
  std::size_t slots() const { return df_.slots(); }  ///< of the table at work

  /// The scale as in a spec; for `auto` also how it scales these data.
  std::string description() const;
  /// How `auto` scales a number column, a category or a word. "" for other scales.
  std::string description(Index feature) const;
  /// Whether there is anything to save: false for `none`.
  bool any() const { return !std::holds_alternative<ScaleNone>(scale_); }
  bool changes() const { return logarithm() || weighs(); }  ///< false: instances are not changed
  /// The features of x that are counts: all of x or, if columns of a table are known, its words. Nothing if some features
  /// are no counts, and only their values show which.
  std::optional<Features> words(const Features& x) const;
  /// Prefetches the memory that count(x) and scaling x read.
  void prefetch(const Features& x) const { df_.prefetch(x); }
  /// Counts one more example. O(non-zeros). Counting stops after 2^32 - 1 examples.
  void count(const Features& x);
  /// x scaled, its values in `out`, which has at least x.size() elements. Unit length unless `auto` found numbers, or all
  /// values are 0. O(non-zeros).
  Features operator()(const Features& x, std::span<double> out) const;

  enum class Part { kColumns, kWords };
  /// Whether both parts are present, so that their lengths are learned.
  bool weighs_parts() const;
  /// `scaled` (the scaled values of x) with the other part set to 0, in `out`; without the learned factor.
  std::span<const double> only(Part part, const Features& x, std::span<const double> scaled, std::span<double> out) const;
  /// Learns from one more label y and the margins of each part alone.
  void learn(double y, double of_columns, double of_words) { parts_.learn(y, of_columns, of_words); }
  void forget_labels() { parts_.forget(); }  ///< what learn() learned

  struct Packed {
    std::uint64_t examples = 0, nonzeros = 0;
    std::uint32_t dense = 0;
    Column<std::uint32_t> feature, df;  // features ascending; of a fixed table: df of every slot, no features
    // Of `auto`, once it found a number:
    std::uint32_t flags = 0;
    std::vector<std::uint64_t> part_mistakes;
    Column<std::uint32_t> value_feature, value_count;  // as feature and df
    Column<float> value_sum, value_squares;
    FeatureSpreads::Packed spreads;
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
      FeatureSpreads::Packed::state(s.spreads, v);
    }
  };
  Packed pack() const;
  void unpack(const Packed& packed);  ///< throws DataError: sizes differ, out of order, numbers out of range

 private:
  /// Statistics of a feature's values, since values are looked at.
  struct Values {
    std::uint32_t count = 0;  // 2 * number of values, plus 1 if one was real
    float sum = 0, squares = 0;
    bool operator==(const Values&) const = default;
    bool real() const { return (count & 1) != 0; }
    std::uint32_t times() const { return count / 2; }
  };
  enum class Kind { kCount, kSparse, kNumber };
  enum Flag : std::uint32_t { kLooks = 1, kNumbers = 2, kCounts = 4, kColumns = 8 };  // values are looked at; what was found

  bool is_auto() const { return std::holds_alternative<ScaleAuto>(scale_); }
  bool logarithm() const;
  bool weighs() const;
  struct Split;
  Split split(const Features& x) const;
  void count_values(const Features& x);
  Kind kind(std::uint32_t df, const Values& values, std::size_t spread) const;
  void scale_counts(const Features& x, std::span<double> out) const;
  void scale_blocks(const Features& x, std::span<double> out) const;

  static constexpr std::uint64_t kMostExamples = 0xFFFFFFFFu;

  Scale scale_;
  std::pmr::memory_resource* memory_;
  FeatureKinds kinds_;
  PartWeights parts_;
  std::uint64_t examples_ = 0, nonzeros_ = 0;
  bool dense_ = false;       // `auto`: values are not scaled
  std::uint32_t flags_ = 0;  // `auto`
  FeatureCells<std::uint32_t> df_;
  FeatureCells<Values> values_;  // once kLooks
  std::size_t distinct_ = 0;     // features with df above 0
  FeatureSpreads spreads_;
  std::vector<Index> looked_index_;  // scratch
  std::vector<double> looked_value_;
};

}  // namespace quorate
