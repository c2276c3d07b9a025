// The instance x of one example: a sparse or dense vector.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

namespace quorate {

using Index = std::uint32_t;  ///< of a feature; 0 is the constant feature
using Task = std::uint32_t;   ///< index of a task, in order of first appearance

/// The task of examples whose task does not fit into memory (Session::task): answered from the weights that all tasks share.
inline constexpr Task kUntracked = 0xFFFFFFFEu;

/// Largest feature index that a reader accepts. Index i of the data is feature 1 + i, as feature 0 is the constant one.
inline constexpr Index kMaxIndex = 0xFFFFFFFDu;

/// What is known of features by their places, whatever their values are.
struct FeatureKinds {
  static constexpr Index kNone = 0xFFFFFFFFu;
  Index numbers = 0;  ///< features 1 to `numbers` are number columns: a 0 is a value, and what is missing is not there
  Index categories = kNone;  ///< features from this one on say which of a few words a column has
  bool operator==(const FeatureKinds&) const = default;
};

/// A view of a vector. Sparse: index is ascending and unique, with the size of value. Dense: index is empty and value[k] is
/// feature k. Values are finite.
struct Features {
  std::span<const Index> index;
  std::span<const double> value;
  double norm = 1;  ///< length before scaling to unit length: the original values are norm * value

  bool dense() const { return index.empty(); }
  std::size_t size() const { return value.size(); }
  Index at(std::size_t k) const { return dense() ? static_cast<Index>(k) : index[k]; }
  /// One more than the highest feature index; 0 for an empty vector.
  std::size_t extent() const { return value.empty() ? 0 : dense() ? value.size() : std::size_t{index.back()} + 1; }
};

/// sum_k weight(feature k) * value k, in four lanes added as (0 + 1) + (2 + 3): a fixed order that compilers may turn into
/// SIMD without changing a bit. O(size).
template <class Weight>
double dot(const Features& x, Weight weight) {
  double lane[4] = {0, 0, 0, 0};
  const std::size_t n = x.size(), whole = n & ~std::size_t{3};
  const auto sum = [&](auto at) {
    for (std::size_t k = 0; k < whole; k += 4) {  // unrolled: with a long weight() the lanes would stay in memory
      lane[0] += weight(at(k)) * x.value[k];
      lane[1] += weight(at(k + 1)) * x.value[k + 1];
      lane[2] += weight(at(k + 2)) * x.value[k + 2];
      lane[3] += weight(at(k + 3)) * x.value[k + 3];
    }
    for (std::size_t k = whole; k < n; ++k) lane[k - whole] += weight(at(k)) * x.value[k];
  };
  if (x.dense())
    sum([](std::size_t k) { return static_cast<Index>(k); });
  else
    sum([&](std::size_t k) { return x.index[k]; });
  return (lane[0] + lane[1]) + (lane[2] + lane[3]);
}

/// |x|^2.
inline double squared_norm(const Features& x) {
  double sum = 0;
  for (const double v : x.value) sum += v * v;
  return sum;
}

}  // namespace quorate
