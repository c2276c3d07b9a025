// Counts the bytes of a model: everything it owns is allocated through a Memory.
#pragma once
#include <algorithm>
#include <bit>
#include <cstddef>
#include <limits>
#include <memory_resource>
#include <string>
#include <utility>
#include <vector>

#include "quorate/base/error.h"

namespace quorate {

/// Counts the bytes allocated through it, and throws MemoryError beyond a hard limit. Not shared between threads.
class Memory final : public std::pmr::memory_resource {
 public:
  static constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max();

  /// set_aside: bytes of the limit that are reserved for other uses; they are never allocated here.
  explicit Memory(std::size_t limit = kNoLimit, std::size_t set_aside = 0) : limit_(limit), set_aside_(set_aside) {}

  std::size_t bytes() const { return now_; }  ///< allocated now
  std::size_t peak() const { return peak_; }  ///< most ever allocated at once, transient copies of growing tables included
  std::size_t limit() const { return limit_; }
  bool limited() const { return limit_ != kNoLimit; }
  /// Counts bytes of the model that were allocated elsewhere. Throws MemoryError.
  void take(std::size_t bytes) {
    if (bytes > left()) refuse(bytes);
    now_ += bytes;
    peak_ = std::max(peak_, now_);
  }
  std::size_t left() const { return limit_ - set_aside_ - now_; }
  /// Throws MemoryError unless `bytes` bytes are left.
  void check_left(std::size_t bytes) const {
    if (bytes > left()) refuse(bytes);
  }

 private:
  [[noreturn]] void refuse(std::size_t bytes) const {
    throw MemoryError(
        "the memory limit of " + std::to_string(limit_) + " bytes does not hold the model: " + std::to_string(now_) +
        " are in use" + (set_aside_ > 0 ? ", " + std::to_string(set_aside_) + " set aside for rounds or names" : "") +
        " and " + std::to_string(bytes) + " more are needed; expected a larger --memory, or a learner with a budget");
  }
  /// Large allocations start at a cache line, so that neighbours that are read together share one.
  static std::size_t alignment_of(std::size_t bytes, std::size_t alignment) {
    return bytes < 4096 ? alignment : std::max(alignment, std::size_t{64});
  }
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    if (bytes > left()) refuse(bytes);
    void* p = std::pmr::new_delete_resource()->allocate(bytes, alignment_of(bytes, alignment));
    now_ += bytes;
    peak_ = std::max(peak_, now_);
    return p;
  }
  void do_deallocate(void* p, std::size_t bytes, std::size_t alignment) override {
    std::pmr::new_delete_resource()->deallocate(p, bytes, alignment_of(bytes, alignment));
    now_ -= bytes;
  }
  bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override { return this == &other; }

  std::size_t limit_, set_aside_, now_ = 0, peak_ = 0;
};

/// Bytes that may still be allocated; Memory::kNoLimit if the resource is not a Memory. A Memory without a limit returns
/// kNoLimit less the bytes in use.
inline std::size_t bytes_left(std::pmr::memory_resource* memory) {
  const auto* counted = dynamic_cast<const Memory*>(memory);
  return counted != nullptr ? counted->left() : Memory::kNoLimit;
}

/// The limit of the bytes allocated; Memory::kNoLimit: none.
inline std::size_t memory_limit(std::pmr::memory_resource* memory) {
  const auto* counted = dynamic_cast<const Memory*>(memory);
  return counted != nullptr ? counted->limit() : Memory::kNoLimit;
}

/// Throws MemoryError unless `bytes` bytes are left: for several allocations that are refused as a whole.
inline void check_bytes_left(std::pmr::memory_resource* memory, std::size_t bytes) {
  if (const auto* counted = dynamic_cast<const Memory*>(memory)) counted->check_left(bytes);
}

/// Whether the resource has a limit.
inline bool is_limited(std::pmr::memory_resource* memory) { return memory_limit(memory) != Memory::kNoLimit; }

/// Bytes that a vector has allocated.
template <class T>
std::size_t bytes_of(const std::pmr::vector<T>& v) {
  return v.capacity() * sizeof(T);
}

/// Makes v an empty array with room for `size` elements. Never holds two arrays; keeps one that is large enough.
template <class Vector>
void renew(Vector& v, std::size_t size) {
  v.clear();
  if (v.capacity() >= size) return;
  v = Vector(v.get_allocator());
  v.reserve(size);
}

// Fitted arrays. Under a memory limit the bytes left decide what is learned and kept. So they must depend on the model's
// state alone: not on how it grew, on when it was saved and loaded, or on the standard library.

/// The capacity of a fitted array of `size` elements: `size`, rounded up to a multiple of 8, or of a sixteenth of the
/// next power of two if that is more.
constexpr std::size_t room_for(std::size_t size) {
  const std::size_t step = std::max<std::size_t>(8, std::bit_ceil(size) / 16);
  return (size + step - 1) / step * step;
}

/// Before an array grows to `size` elements, or after it shrank to them: under a memory limit its capacity becomes
/// room_for(size). Without a limit nothing happens, and capacity stays for later. O(size) where it changes.
template <class T>
void fit(std::pmr::vector<T>& v, std::size_t size) {
  if (v.capacity() == room_for(size) || !is_limited(v.get_allocator().resource())) return;
  std::pmr::vector<T> fitted(v.get_allocator());
  fitted.reserve(room_for(size));
  for (std::size_t i = 0; i < std::min(v.size(), size); ++i) fitted.push_back(std::move(v[i]));
  v.swap(fitted);
}
template <class T>
void fit(std::pmr::vector<T>& v) {
  fit(v, v.size());
}
/// Makes room for `size` elements. If memory is refused nothing changed. Under a memory limit as fit(v, size), else twice as
/// much as before at least: amortised O(1) an element in both.
template <class T>
void reserve(std::pmr::vector<T>& v, std::size_t size) {
  if (size <= v.capacity()) return;
  fit(v, size);
  if (size > v.capacity()) v.reserve(std::max(size, 2 * v.size()));
}
/// Bytes that reserve(v, size) allocates before it frees the old ones.
template <class T>
std::size_t bytes_to_reserve(const std::pmr::vector<T>& v, std::size_t size) {
  if (size <= v.capacity()) return 0;
  return (is_limited(v.get_allocator().resource()) ? room_for(size) : std::max(size, 2 * v.size())) * sizeof(T);
}
/// fit(v) for an array that was just loaded. The copy is made outside of the model's memory, so that a model that fills its
/// limit can be loaded.
template <class T>
void fit_loaded(std::pmr::vector<T>& v) {
  if (v.capacity() == room_for(v.size()) || !is_limited(v.get_allocator().resource())) return;
  const std::vector<T> loaded(v.begin(), v.end());
  v = std::pmr::vector<T>(v.get_allocator());
  v.reserve(room_for(loaded.size()));
  v.assign(loaded.begin(), loaded.end());
}
/// Makes v a copy of `list`, with the capacity of an array that grew to that size.
template <class T, class List>
void load_fitted(std::pmr::vector<T>& v, const List& list) {
  v = std::pmr::vector<T>(v.get_allocator());
  v.reserve(is_limited(v.get_allocator().resource()) ? room_for(list.size()) : list.size());
  v.assign(list.begin(), list.end());
}
/// fit(v, size) for an array whose elements need not be kept: never holds two arrays.
template <class T>
void fit_scratch(std::pmr::vector<T>& v, std::size_t size) {
  if (v.capacity() == room_for(size) || !is_limited(v.get_allocator().resource())) return;
  v = std::pmr::vector<T>(v.get_allocator());
  v.reserve(room_for(size));
}
/// Bytes that fit(v, size) adds to those of v. During the copy the old ones are allocated, too.
template <class T>
std::size_t bytes_to_fit(const std::pmr::vector<T>& v, std::size_t size) {
  return size <= v.capacity() ? 0 : (room_for(size) - v.capacity()) * sizeof(T);
}

}  // namespace quorate
