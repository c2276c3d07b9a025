// Weights that know how sure they are, feature by feature: the mean and the variance of a belief about each.
#pragma once
#include <cstdint>
#include <memory_resource>
#include <variant>
#include <vector>

#include "quorate/base/features.h"
#include "quorate/weights/hashed_cells.h"
#include "quorate/weights/sparse_blocks.h"

namespace quorate {

/// What the beliefs of a block say about an instance.
struct MarginEstimate {
  double mean = 0;      ///< <w, x>
  double variance = 0;  ///< sum_f s_f x_f^2: |x|^2 where nothing is known
};

/// w: blocks x features, 0 at first; s: their variances, 1 at first. 8 bytes each time a pair of both changes first, or a
/// table of a fixed size in which a pair has the slot that a hash says, whoever else has it. Float, kept as w and 1/s - 1,
/// at most 1e36 each.
class Beliefs {
 public:
  /// slots: of the fixed table, 0 for exact storage that grows.
  Beliefs(std::size_t slots, std::pmr::memory_resource* memory);

  static constexpr std::size_t kSlotBytes = 8;
  std::size_t slots() const;  ///< as given to the constructor, or as loaded

  /// O(non-zeros).
  MarginEstimate operator()(std::uint32_t block, const Features& x) const;
  /// Lets the processor fetch what the next call for x will need.
  void prefetch(std::uint32_t block, const Features& x) const;
  /// Makes room, so that learn(block, x) cannot fail as long as nothing else changes. If memory is refused no belief
  /// changed.
  void reserve(std::uint32_t block, const Features& x);
  /// Makes places for all of x, so that learn(block, x) can never fail. If memory is refused no belief changed.
  /// O(non-zeros).
  void touch(std::uint32_t block, const Features& x);
  /// w_f += alpha s_f x_f, then s_f -= beta (s_f x_f)^2 (AROW), x scaled by `scale` first. beta 0: how sure they are stays
  /// as it is. beta scale^2 sum_f s_f x_f^2 <= 1. If memory is refused no belief changed. O(non-zeros).
  void learn(std::uint32_t block, const Features& x, double scale, double alpha, double beta);

  /// Exact: what is not as at first, in ascending order of (block, feature); as SparseBlocks::Order says. Fixed: every slot,
  /// block and feature empty.
  struct Packed {
    Column<std::uint32_t> block, feature;
    Column<float> weight, information;  // information: 1/s - 1
    BlockRooms rooms = {};
    template <class S>
    static void state(S& s, auto&& v) {
      v("block", s.block);
      v("feature", s.feature);
      v("weight", s.weight);
      v("information", s.information);
      v("rooms", s.rooms);
    }
  };
  Packed pack() const;
  void unpack(const Packed& packed);  ///< throws DataError: sizes differ, out of order, values that cannot be

 private:
  struct Belief {
    float weight = 0, information = 0;
    bool operator==(const Belief&) const = default;
    double variance() const { return 1 / (1 + static_cast<double>(information)); }
  };
  std::pmr::memory_resource* memory_;
  std::variant<SparseBlocks<Belief>, HashedCells<Belief>> store_;
};

}  // namespace quorate
