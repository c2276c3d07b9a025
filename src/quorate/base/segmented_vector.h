// A vector that grows without copying its elements.
#pragma once
#include <algorithm>
#include <bit>
#include <cstddef>
#include <memory_resource>
#include <utility>
#include <vector>

namespace quorate {

/// As std::vector, but past 64 KiB it grows by blocks of that size, which never move. So growth needs no memory for a second
/// copy, and no example waits for one. Elements are never removed. Its bytes depend on the size alone, not on how it was
/// reached. T: at most 64 KiB, T{} is cheap.
template <class T>
class SegmentedVector {
 public:
  static constexpr std::size_t kBlock = std::bit_floor(std::size_t{65536} / sizeof(T));  ///< elements in a block

  explicit SegmentedVector(std::pmr::memory_resource* memory) : blocks_(memory) {}

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T& operator[](std::size_t i) { return blocks_[i / kBlock][i % kBlock]; }
  const T& operator[](std::size_t i) const { return blocks_[i / kBlock][i % kBlock]; }

  /// Grows to at least `size` elements; new ones are T{}. If memory is refused, size and elements are unchanged.
  void resize(std::size_t size) {
    reserve(size);
    size_ = std::max(size_, size);
  }
  void reserve(std::size_t size) {
    if (size > capacity() && first() < kBlock) {
      if (blocks_.empty()) blocks_.emplace_back();
      blocks_[0].reserve(first_for(size));
      blocks_[0].resize(first_for(size));
    }
    if (size > capacity()) blocks_.reserve(table_for(size));
    while (size > capacity()) blocks_.emplace_back(kBlock);
  }
  /// other: of the same memory resource.
  void swap(SegmentedVector& other) {
    blocks_.swap(other.blocks_);
    std::swap(size_, other.size_);
  }
  /// Bytes that resize(size) may allocate, including those that it frees again.
  std::size_t bytes_to_grow(std::size_t size) const {
    if (size <= capacity()) return 0;
    std::size_t elements = first() < kBlock ? first_for(size) : 0;
    if (size > kBlock) elements += (blocks_for(size) - std::max<std::size_t>(blocks_.size(), 1)) * kBlock;
    const std::size_t table = table_for(size);
    return elements * sizeof(T) + (table > blocks_.capacity() ? (table + 1) * sizeof(Block) : 0);
  }

 private:
  using Block = std::pmr::vector<T>;  // kBlock elements; the first may be shorter

  std::size_t first() const { return blocks_.empty() ? 0 : blocks_[0].size(); }
  std::size_t capacity() const { return blocks_.size() > 1 ? blocks_.size() * kBlock : first(); }
  static std::size_t first_for(std::size_t size) { return std::min(kBlock, std::bit_ceil(size)); }
  static std::size_t blocks_for(std::size_t size) { return (size + kBlock - 1) / kBlock; }
  static std::size_t table_for(std::size_t size) { return std::bit_ceil(blocks_for(size)); }

  std::pmr::vector<Block> blocks_;
  std::size_t size_ = 0;
};

}  // namespace quorate
