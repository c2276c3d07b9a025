// A queue in one array that goes round.
#pragma once
#include <algorithm>
#include <cstddef>
#include <memory_resource>
#include <span>
#include <vector>

namespace quorate {

/// Elements in their order, at most `most` of them; added at the end, removed at the beginning. The array grows by doubling
/// until it has room for `most`, and elements stay where they are otherwise.
///
/// Thread-safety: const members may be called by many threads while no other member is at work.
template <class T>
class RingBuffer {
 public:
  RingBuffer(std::pmr::memory_resource* memory, std::size_t most) : array_(memory), most_(most) {}
  RingBuffer(RingBuffer&&) noexcept = default;
  /// In memory of its own, from the default resource.
  RingBuffer(const RingBuffer& other) : most_(other.most_) {
    array_.reserve(other.size_);
    other.append_to(array_);
    size_ = other.size_;
  }
  RingBuffer& operator=(const RingBuffer&) = delete;

  std::size_t size() const { return size_; }
  std::size_t most() const { return most_; }
  std::size_t capacity() const { return array_.capacity(); }
  T& operator[](std::size_t i) { return array_[place(i)]; }
  const T& operator[](std::size_t i) const { return array_[place(i)]; }
  /// The longest part in one piece of elements i to i + n - 1, from the first on. O(1).
  std::span<const T> piece(std::size_t i, std::size_t n) const {
    if (n == 0) return {};
    const std::size_t at = place(i);
    return std::span(array_).subspan(at, std::min(n, array_.capacity() - at));
  }

  /// Room for all, at once.
  void reserve_all() { array_.reserve(most_); }
  /// size() + added.size() <= most(). Amortised O(added).
  void push(std::span<const T> added) {
    if (size_ + added.size() > array_.capacity()) grow(size_ + added.size());
    while (!added.empty()) {
      const std::size_t at = place(size_);
      const std::span<const T> piece = added.first(std::min(added.size(), array_.capacity() - at));
      const std::size_t over = std::min(piece.size(), array_.size() - at);
      std::copy_n(piece.begin(), over, array_.begin() + offset(at));
      array_.insert(array_.end(), piece.begin() + offset(over), piece.end());
      size_ += piece.size();
      added = added.subspan(piece.size());
    }
  }
  void push(const T& one) { push(std::span(&one, 1)); }
  void pop(std::size_t n) {
    first_ = n == size_ ? 0 : place(n);
    size_ -= n;
  }
  /// All elements in one piece, to be changed in place. O(size).
  std::span<T> straighten() {
    std::rotate(array_.begin(), array_.begin() + offset(first_), array_.end());
    first_ = 0;
    return std::span(array_).first(size_);
  }
  /// The first n elements stay.
  void truncate(std::size_t n) { size_ = n; }
  void give_memory_back() {
    array_ = std::pmr::vector<T>(array_.get_allocator());
    first_ = size_ = 0;
  }

 private:
  static std::ptrdiff_t offset(std::size_t n) { return static_cast<std::ptrdiff_t>(n); }
  std::size_t place(std::size_t i) const {
    const std::size_t at = first_ + i;
    return at < array_.capacity() ? at : at - array_.capacity();
  }
  void grow(std::size_t least) {
    std::pmr::vector<T> grown(array_.get_allocator());
    grown.reserve(std::min(most_, std::max(2 * array_.capacity(), least)));
    append_to(grown);
    array_.swap(grown);
    first_ = 0;
  }
  void append_to(std::pmr::vector<T>& to) const {
    for (std::size_t i = 0; i < size_;) {
      const std::span<const T> next = piece(i, size_ - i);
      to.insert(to.end(), next.begin(), next.end());
      i += next.size();
    }
  }

  std::pmr::vector<T> array_;  // as many elements as were ever used; its capacity is the ring
  std::size_t most_, first_ = 0, size_ = 0;
};

}  // namespace quorate
