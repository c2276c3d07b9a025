// Support vectors: the kept instances, and the kernel of a new one with all of them in one pass.
#pragma once
#include <cstdint>
#include <memory_resource>
#include <span>
#include <utility>
#include <vector>

#include "quorate/base/column.h"
#include "quorate/base/features.h"
#include "quorate/base/memory.h"
#include "quorate/kernel/kernels.h"

namespace quorate {

/// Vectors in slots 0 .. size() - 1; on removal the last one moves into the free slot. Values are double.
///
/// If no vector leaves a feature out (columns of numbers), they are stored dense, in blocks of 16 with a feature's values
/// side by side. From the first sparse vector on they are postings: the non-zeros of each vector in an array of its own,
/// those of one feature in a chain, so that only features in common take time. A new vector is added without moving others,
/// unless a feature is new, which reallocates dense blocks one by one.
///
/// Memory of a removed vector is kept for the next one. Under a memory limit it is freed, and bytes depend only on the
/// vectors, their number of features and the form.
class SupportVectors {
 public:
  SupportVectors(const Kernel& kernel, std::pmr::memory_resource* memory);

  std::size_t size() const { return squared_.size(); }
  /// k[j] = K(x, vector j); k.size() == size(). O(size times features), or O(entries of x's features); sums in order of the
  /// features.
  void row(const Features& x, std::span<double> k) const;
  /// The kernel row of vector `slot`.
  void row_of(std::size_t slot, std::span<double> k) const;
  double self(const Features& x) const;  ///< K(x, x)

  /// Adds x in the slot after the last. Throws MemoryError.
  void add(const Features& x);
  void remove(std::size_t slot);
  /// Upper bound of the bytes that add(x) adds, and the largest array that add() or remove() copies meanwhile. (Without a
  /// memory limit add() may take a little more.)
  std::size_t bytes_to_add(const Features& x) const;
  std::size_t bytes_to_copy() const;
  /// Bytes of all vectors, O(size()); and of x as the only one.
  std::size_t bytes() const;
  std::size_t bytes_of_first(const Features& x) const { return SupportVectors(kernel_, memory()).bytes_to_add(x); }
  /// Vector `slot`, non-zeros in ascending order, in the arrays given.
  Features vector(std::size_t slot, std::vector<Index>& index, std::vector<double>& value) const;

  /// Sparse: vector after vector, where each ends in index and value. Dense: `features` values of each vector.
  struct Packed {
    std::uint64_t dense = 0, features = 0;
    std::pmr::vector<std::uint64_t> end;
    Column<std::uint32_t> index;
    Column<double> value;
    template <class S>
    static void state(S& s, auto&& v) {
      v("dense", s.dense);
      v("features", s.features);
      v("end", s.end);
      v("index", s.index);
      v("value", s.value);
    }
  };
  Packed pack() const;
  void unpack(const Packed& packed);  ///< throws DataError: sizes do not fit, out of order, not finite

 private:
  static constexpr std::size_t kBlock = 16, kMostDense = 4096, kFirstBuckets = 256;
  struct Entry {
    double value;
    Entry* next;  // of its bucket
    Index feature;
    std::uint32_t slot;
  };
  using Entries = std::pmr::vector<Entry>;  // of one vector, features ascending
  using Block = std::pmr::vector<double>;   // features x kBlock
  /// The values of a dense vector, kBlock apart; null if there are no features.
  const double* column(std::size_t slot) const {
    const Block& block = blocks_[slot / kBlock];
    return block.empty() ? nullptr : block.data() + slot % kBlock;
  }
  double* column(std::size_t slot) { return const_cast<double*>(std::as_const(*this).column(slot)); }

  std::size_t features() const { return blocks_.empty() ? 0 : blocks_[0].size() / kBlock; }  // of dense vectors
  bool fits_dense(const Features& x) const;
  void make_sparse();
  void add(const Features& x, std::size_t vectors);  // vectors: at least this number will be added
  void add_entries(const Features& x);
  bool limited() const { return limit_ != Memory::kNoLimit; }
  std::size_t buckets_for(std::size_t vectors, std::size_t entries) const;
  void rehash(std::size_t buckets);
  template <class ForEach>
  void row(double xx, ForEach for_each, std::span<double> k) const;
  std::size_t bucket(Index feature) const { return (std::uint64_t{feature} * 0x9E3779B97F4A7C15u) >> shift_; }
  std::pmr::memory_resource* memory() const { return squared_.get_allocator().resource(); }

  Kernel kernel_;
  std::size_t limit_;                 // of the memory
  std::pmr::vector<double> squared_;  // |z|^2 by slot

  bool dense_ = true;
  std::pmr::vector<Block> blocks_;

  unsigned shift_ = 64;                // of bucket()
  std::pmr::vector<Entry*> bucket_;    // heads of the chains; a power of two
  std::pmr::vector<Entries> of_slot_;  // by slot
  Entries spare_;                      // memory of the last removed vector, for the next one; not under a limit
  std::size_t entries_ = 0;
};

}  // namespace quorate
