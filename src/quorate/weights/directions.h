// A truncated SVD of unlabelled texts, and the embedding of a text in it.
#pragma once
#include <cstdint>
#include <memory_resource>
#include <span>
#include <tuple>
#include <vector>

#include "quorate/base/column.h"
#include "quorate/base/features.h"
#include "quorate/base/instance_queue.h"
#include "quorate/weights/table.h"

namespace quorate {

/// No data are kept beside an instance.
struct PlainInstance {
  static constexpr std::tuple<> fields() { return {}; }
};

/// A truncated singular value decomposition of the instances seen so far: V, features x rank, with orthonormal columns that
/// span the directions with most of the length of the scaled instances. Computed anew after 200, 400, 800, ... instances
/// from at most kMost of them.
///
/// A: the kept instances, scaled and in rows, without features that only one of them has. Start: B as V was, or signs by a
/// hash. Then U = orth(A B), B = A^T U, kFirstSteps times at first and kSteps times later; V = orth(B). orth: Gram-Schmidt,
/// in the order of the columns. All by additions and multiplications in a fixed order: the same bits everywhere.
///
/// Cost: O(kept non-zeros rank + (instances + features) rank^2) at each computation, so O(rank (non-zeros + rank)) for each
/// instance on average. Memory: the kept instances, at most 4 MB, and 4 rank + 25 bytes for each of at most kMostFeatures
/// features; twice as much during a computation. Under a memory limit nothing is kept, and there are no directions.
///
/// Thread-safety: several threads may call const members at the same time if no other member runs.
class Directions {
 public:
  static constexpr std::size_t kMost = 2000, kMostBytes = std::size_t{4} << 20, kMostFeatures = std::size_t{1} << 14;
  static constexpr std::size_t kMostRank = 128;
  static constexpr std::uint64_t kFirst = 200;
  static constexpr int kFirstSteps = 4, kSteps = 2;

  /// rank 0: no directions.
  Directions(std::size_t rank, std::pmr::memory_resource* memory);

  std::pmr::memory_resource* memory() const { return kept_.memory(); }
  std::size_t rank() const { return rank_; }  ///< 0 under a memory limit
  bool any() const { return !value_.empty(); }
  /// Keeps an unscaled instance: every one at first, later one in 2, 4, 8, ... O(non-zeros), amortised.
  void see(const Features& x);
  /// Whether it is time for compute().
  bool due() const { return seen_ >= next_ && kept_.size() >= std::max<std::size_t>(kFirst, used_ / 2); }
  /// Computes V anew; scale(x, out) scales an instance. False, and V stays, if the instances have too few words in common.
  template <class Scale>
  bool compute(Scale scale) {
    next_ = 2 * seen_;
    Rows rows(memory());
    begin(rows);
    std::pmr::vector<double> scaled(memory());
    for (std::size_t i = 0; i < kept_.size(); ++i) {
      const Features x = kept_.example(i).x;
      scaled.resize(std::max(scaled.size(), x.size()));
      rows.add(scale(x, std::span(scaled)));
    }
    return solve(rows);
  }
  /// Forgets the instances themselves, or everything.
  void forget_instances();
  void forget();

  /// Writes the embedding V^T x to z, which has rank() elements. Returns its length. x is scaled. O(non-zeros rank).
  double place(const Features& x, std::span<double> z) const;

  struct Packed {
    std::uint64_t seen = 0, next = kFirst, every = 1, used = 0;
    InstanceQueue<PlainInstance>::Packed kept;
    Column<std::uint32_t> feature;  // ascending
    Column<float> value;            // features x rank
    template <class S>
    static void state(S& s, auto&& v) {
      v("seen", s.seen);
      v("next", s.next);
      v("every", s.every);
      v("used", s.used);
      s.kept.state(s.kept, v);
      v("feature", s.feature);
      v("directions", s.value);
    }
  };
  Packed pack() const;
  void unpack(const Packed& packed);  ///< throws DataError: sizes differ, out of order, values out of range

 private:
  /// A, row by row, with the selected features only.
  struct Rows {
    explicit Rows(std::pmr::memory_resource* memory) : place(memory), feature(memory), entries(memory), ends(memory) {}
    void add(const Features& x);

    struct Entry {
      std::uint32_t feature;  // its number
      float value;
    };
    Table<Index, std::uint32_t> place;  // feature -> its number, ascending
    std::pmr::vector<Index> feature;
    std::pmr::vector<Entry> entries;
    std::pmr::vector<std::size_t> ends;
  };
  void begin(Rows& rows) const;
  bool solve(Rows& rows);

  std::size_t rank_;
  InstanceQueue<PlainInstance> kept_;
  std::uint64_t seen_ = 0, next_ = kFirst;  // next_: when V is computed
  std::uint64_t every_ = 1, used_ = 0;      // one in every_ is kept; used_: instances V was computed from
  Table<Index, std::uint32_t> place_;       // feature -> its row of V
  std::pmr::vector<Index> feature_;         // of each row, ascending
  std::pmr::vector<float> value_;           // V, row by row
};

}  // namespace quorate
