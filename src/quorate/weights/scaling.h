// Counts weighed by how much they say: the logarithm of a count, times the logarithm of how rare its feature is.
#pragma once
#include <cstdint>
#include <memory_resource>
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

namespace quorate {

struct ScaleNone {
  static constexpr std::string_view name = "none", meaning = "instances as they come";
  static constexpr auto fields() { return std::tuple{}; }
};
struct ScaleLog {
  static constexpr std::string_view name = "log", meaning = "sign(v) log(1 + |v|), then unit length";
  static constexpr auto fields() { return std::tuple{}; }
};
struct ScaleIdf {
  static constexpr std::string_view name = "idf", meaning = "v log((n + 1) / df), then unit length";
  static constexpr auto fields() { return std::tuple{}; }
};
struct ScaleLogIdf {
  static constexpr std::string_view name = "log-idf", meaning = "both, then unit length";
  static constexpr auto fields() { return std::tuple{}; }
};
struct ScaleAuto {
  static constexpr std::string_view name = "auto",
                                    meaning =
                                        "(1 + 0.3 log v) log((n + 1) / df), then unit length, for counts, else none: "
                                        "counts are whole, not below 0, and the first 32 instances have less than an "
                                        "eighth of the features that came in them";
  static constexpr auto fields() { return std::tuple{}; }
};
using Scale = std::variant<ScaleNone, ScaleLog, ScaleIdf, ScaleLogIdf, ScaleAuto>;

/// The choice of a scale as a parameter of P, described once.
template <class P>
constexpr auto scale_field(Scale P::*member) {
  return Field{
      member, "scale", kAny,
      "how values are scaled, v as in the data, n examples seen so far, labelled or not, df of them with the feature",
      "docs/papers.md section 5"};
}

/// What a scale makes of values once df is known, and n. Whoever uses it counts df.
class Scaler {
 public:
  explicit Scaler(const Scale& scale) : scale_(scale) {}

  /// One more example is about to be counted. After kMaxExamples nothing is counted any more: returns false. O(non-zeros).
  bool count(const Features& x);
  /// Tells how many features have been counted at all.
  void counted(std::size_t distinct);

  bool any() const { return !std::holds_alternative<ScaleNone>(scale_); }
  /// As in a spec; of `auto` also what it has come to.
  std::string description() const;
  bool changes() const { return logarithm() || weighs(); }  ///< false: instances stay as they come
  bool logarithm() const;
  bool weighs() const;  ///< by df
  /// out[k] = the scaled value of x's feature k, |out| = 1 unless all are 0. Before, out[k] is its df: how many examples had
  /// it, 0 being taken for 1; not read unless it weighs. O(non-zeros).
  void operator()(const Features& x, std::span<double> out) const;

  static constexpr std::uint64_t kMaxExamples = 0xFFFFFFFFu;
  struct Counts {
    std::uint64_t examples = 0, nonzeros = 0;
    std::uint32_t real = 0;  ///< `auto`: whether the data turned out not to be counts
    template <class S>
    static void state(S& s, auto&& v) {
      v("examples", s.examples);
      v("nonzeros", s.nonzeros);
      v("real", s.real);
    }
  };
  const Counts& pack() const { return counts_; }
  void unpack(const Counts& counts);  ///< throws DataError: out of range

 private:
  Scale scale_;
  Counts counts_;
};

/// A scaler that counts df itself: a count for every feature or, under a memory limit, in a table of a fixed size where
/// features share the count that a hash says.
class Scaling {
 public:
  /// slots: of the fixed table, 0 for exact counts.
  Scaling(const Scale& scale, std::size_t slots, std::pmr::memory_resource* memory);

  /// Slots that take a 16th of what a memory limit leaves. 0 without a limit, or if nothing has to be counted.
  static std::size_t slots(const Scale& scale, std::pmr::memory_resource* memory);

  std::string description() const { return scaler_.description(); }
  /// Whether there is anything to save: false for `none`.
  bool any() const { return scaler_.any(); }
  bool changes() const { return scaler_.changes(); }
  /// Lets the processor fetch what count(x) and scaling x will need.
  void prefetch(const Features& x) const {
    std::visit([&](const auto& df) { df.prefetch(0, x); }, df_);
  }
  /// One more example. O(non-zeros).
  void count(const Features& x);
  /// x scaled, its values in `out`, which has x.size() places. O(non-zeros).
  Features operator()(const Features& x, std::span<double> out) const;

  struct Packed {
    Scaler::Counts counts;
    std::pmr::vector<std::uint32_t> feature, df;  // features in ascending order; of a fixed table none, df of every slot
    template <class S>
    static void state(S& s, auto&& v) {
      Scaler::Counts::state(s.counts, v);
      v("feature", s.feature);
      v("df", s.df);
    }
  };
  Packed pack() const;
  void unpack(const Packed& packed);  ///< throws DataError: sizes differ, out of order, counts that cannot be

 private:
  Scaler scaler_;
  std::pmr::memory_resource* memory_;
  std::variant<SparseBlocks<std::uint32_t>, HashedCells<std::uint32_t>> df_;  // of block 0
  std::size_t distinct_ = 0;                                                  // counts above 0
};

}  // namespace quorate
