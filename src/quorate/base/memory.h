// Bytes are counted, not guessed: everything a model owns is allocated through one of these.
#pragma once
#include <algorithm>
#include <cstddef>
#include <limits>
#include <memory_resource>
#include <string>

#include "quorate/base/error.h"

namespace quorate {

/// Counts what is allocated through it, and refuses what would exceed a hard limit. Not shared between threads.
class Memory final : public std::pmr::memory_resource {
 public:
  static constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max();

  /// set_aside: bytes of the limit that something else may use; they are never allocated here.
  explicit Memory(std::size_t limit = kNoLimit, std::size_t set_aside = 0) : limit_(limit), set_aside_(set_aside) {}

  std::size_t bytes() const { return now_; }  ///< allocated now
  std::size_t peak() const { return peak_; }  ///< most ever allocated at once, transient copies of growing tables included
  std::size_t limit() const { return limit_; }
  bool limited() const { return limit_ != kNoLimit; }
  std::size_t left() const { return limit_ - set_aside_ - now_; }

 private:
  /// What is large begins with a cache line, so that what is looked up together in it lies in one.
  static std::size_t alignment_of(std::size_t bytes, std::size_t alignment) {
    return bytes < 4096 ? alignment : std::max(alignment, std::size_t{64});
  }
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    if (bytes > left())
      throw MemoryError("the memory limit of " + std::to_string(limit_) +
                        " bytes does not hold the model: " + std::to_string(now_) + " are in use" +
                        (set_aside_ > 0 ? ", " + std::to_string(set_aside_) + " set aside for rounds" : "") + " and " +
                        std::to_string(bytes) + " more are needed; expected a larger --memory, or a learner with a budget");
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

/// Bytes that may still be allocated; Memory::kNoLimit or so of a resource that does not count.
inline std::size_t bytes_left(std::pmr::memory_resource* memory) {
  const auto* counted = dynamic_cast<const Memory*>(memory);
  return counted != nullptr ? counted->left() : Memory::kNoLimit;
}

/// Whether there is a limit to what may be allocated.
inline bool is_limited(std::pmr::memory_resource* memory) {
  const auto* counted = dynamic_cast<const Memory*>(memory);
  return counted != nullptr && counted->limited();
}

/// Bytes that a vector allocates when it grows by `more`, the old ones being freed afterwards.
template <class T>
std::size_t growth(const std::pmr::vector<T>& v, std::size_t more) {
  return v.size() + more <= v.capacity() ? 0 : std::max(2 * v.capacity(), v.size() + more) * sizeof(T);
}

}  // namespace quorate
