// Bytes are counted, not guessed: everything a model owns is allocated through one of these.
#pragma once
#include <algorithm>
#include <cstddef>
#include <memory_resource>

namespace quorate {

/// Counts what is allocated through it. Not shared between threads.
class Memory final : public std::pmr::memory_resource {
 public:
  std::size_t bytes() const { return now_; }  ///< allocated now
  std::size_t peak() const { return peak_; }  ///< most ever allocated at once, transient copies of growing tables included

 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    void* p = std::pmr::new_delete_resource()->allocate(bytes, alignment);
    now_ += bytes;
    peak_ = std::max(peak_, now_);
    return p;
  }
  void do_deallocate(void* p, std::size_t bytes, std::size_t alignment) override {
    std::pmr::new_delete_resource()->deallocate(p, bytes, alignment);
    now_ -= bytes;
  }
  bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override { return this == &other; }

  std::size_t now_ = 0, peak_ = 0;
};

}  // namespace quorate
