// Weights with uncertainty: two means and a variance for each feature.
#pragma once
#include <array>
#include <cstdint>
#include <memory_resource>
#include <variant>
#include <vector>

#include "quorate/base/features.h"
#include "quorate/weights/hashed_cells.h"
#include "quorate/weights/sparse_blocks.h"

namespace quorate {

/// A number for each of the two means.
using OfMeans = std::array<double, 2>;

/// Means and variance of the margin of an instance under the beliefs of one block.
struct MarginEstimate {
  OfMeans mean{};       ///< <w_k, x>
  double variance = 0;  ///< sum_f s_f x_f^2: |x|^2 if nothing was learned
};

/// w_k, k = 0, 1: blocks x features, initially 0; s: their variance, initially 1. 12 bytes for each triple (w_0, w_1, s)
/// that ever changed, or a table of fixed size with a hashed slot for each, shared on collisions. Stored as floats w and 1/s
/// - 1, at most 1e36 each.
class Beliefs {
 public:
  /// slots: of the fixed table, 0 for exact storage that grows.
  Beliefs(std::size_t slots, std::pmr::memory_resource* memory);

  static constexpr std::size_t kSlotBytes = 12;
  std::size_t slots() const;  ///< as given to the constructor, or as loaded

  /// O(non-zeros).
  MarginEstimate operator()(std::uint32_t block, const Features& x) const;
  /// Prefetches the memory that the next call for x reads.
  void prefetch(std::uint32_t block, const Features& x) const;
  /// Makes room, so that learn(block, x) cannot fail as long as nothing else changes. If memory is refused no belief
  /// changed.
  void reserve(std::uint32_t block, const Features& x);
  /// Allocates the beliefs of all features of x, so that learn(block, x) can never fail. If memory is refused no belief
  /// changed. O(non-zeros).
  void touch(std::uint32_t block, const Features& x);
  /// w_kf += alpha_k s_f x_f, then s_f -= beta (s_f x_f)^2 (AROW), x scaled by `scale` first. beta 0 leaves the variances
  /// unchanged. beta scale^2 sum_f s_f x_f^2 <= 1. If memory is refused no belief changed. O(non-zeros).
  void learn(std::uint32_t block, const Features& x, double scale, const OfMeans& alpha, double beta);

  /// Exact: the pairs other than the initial one, in ascending order of (block, feature), as in SparseBlocks::Order. Fixed:
  /// every slot; block and feature are empty.
  struct Packed {
    Column<std::uint32_t> block, feature;
    Column<float> weight, second, information;  // w_0, w_1; information: 1/s - 1
    BlockRooms rooms = {};
    template <class S>
    static void state(S& s, auto&& v) {
      v("block", s.block);
      v("feature", s.feature);
      v("weight", s.weight);
      v("second", s.second);
      v("information", s.information);
      v("rooms", s.rooms);
    }
  };
  Packed pack() const;
  void unpack(const Packed& packed);  ///< throws DataError: sizes differ, out of order or range

 private:
  struct Belief {
    std::array<float, 2> weight{};
    float information = 0;
    bool operator==(const Belief&) const = default;
    double variance() const { return 1 / (1 + static_cast<double>(information)); }
  };
  std::pmr::memory_resource* memory_;
  std::variant<SparseBlocks<Belief>, HashedCells<Belief>> store_;
};

}  // namespace quorate
