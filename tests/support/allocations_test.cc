#include "support/allocations.h"

#include <gtest/gtest.h>
#include <malloc.h>
#include <stdlib.h>

#include <atomic>
#include <memory_resource>
#include <new>
#include <vector>

namespace {

std::atomic<std::uint64_t> calls{0};
std::atomic<std::size_t> largest{0}, live{0}, most{0}, refused_from{0};

#ifndef QUORATE_NO_COUNTED_NEW
void* counted(std::size_t bytes, std::size_t alignment) {
  calls.fetch_add(1, std::memory_order_relaxed);
  std::size_t seen = largest.load(std::memory_order_relaxed);
  while (bytes > seen && !largest.compare_exchange_weak(seen, bytes, std::memory_order_relaxed)) {
  }
  void* p = nullptr;
  if (const std::size_t refused = refused_from.load(std::memory_order_relaxed); refused > 0 && bytes >= refused)
    throw std::bad_alloc();
  if (alignment <= alignof(std::max_align_t))
    p = malloc(bytes == 0 ? 1 : bytes);
  else if (posix_memalign(&p, alignment, bytes == 0 ? 1 : bytes) != 0)
    p = nullptr;
  if (p == nullptr) throw std::bad_alloc();
  const std::size_t bytes_now = malloc_usable_size(p),
                    now = live.fetch_add(bytes_now, std::memory_order_relaxed) + bytes_now;
  for (std::size_t peak = most.load(std::memory_order_relaxed);
       now > peak && !most.compare_exchange_weak(peak, now, std::memory_order_relaxed);) {
  }
  return p;
}

void* counted_or_null(std::size_t bytes) noexcept try { return counted(bytes, 1); } catch (const std::bad_alloc&) {
  return nullptr;
}

void discard(void* p) {
  live.fetch_sub(malloc_usable_size(p), std::memory_order_relaxed);  // 0 for nullptr
  free(p);
}
#endif

}  // namespace

#ifndef QUORATE_NO_COUNTED_NEW
void* operator new(std::size_t bytes) { return counted(bytes, 1); }
void* operator new[](std::size_t bytes) { return counted(bytes, 1); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return counted(bytes, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t bytes, std::align_val_t alignment) {
  return counted(bytes, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return counted_or_null(bytes); }
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept { return counted_or_null(bytes); }
void operator delete(void* p) noexcept { discard(p); }
void operator delete[](void* p) noexcept { discard(p); }
void operator delete(void* p, std::size_t) noexcept { discard(p); }
void operator delete[](void* p, std::size_t) noexcept { discard(p); }
void operator delete(void* p, std::align_val_t) noexcept { discard(p); }
void operator delete[](void* p, std::align_val_t) noexcept { discard(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { discard(p); }
void operator delete[](void* p, std::size_t, std::align_val_t) noexcept { discard(p); }
#endif

namespace quorate::test {

std::uint64_t allocations() { return calls.load(std::memory_order_relaxed); }
std::size_t live_bytes() { return live.load(std::memory_order_relaxed); }
std::size_t largest_allocation() { return largest.load(std::memory_order_relaxed); }
void reset_largest_allocation() { largest.store(0, std::memory_order_relaxed); }
std::size_t peak_bytes() { return most.load(std::memory_order_relaxed); }
void reset_peak_bytes() { most.store(live_bytes(), std::memory_order_relaxed); }
void refuse_allocations_from(std::size_t bytes) { refused_from.store(bytes, std::memory_order_relaxed); }

TEST(Allocations, AreRefusedFromASizeOn) {
  if (!kCountsAllocations) GTEST_SKIP() << "the thread sanitizer's operator new";
  refuse_allocations_from(5000);
  EXPECT_THROW(std::vector<char>(5000), std::bad_alloc);
  const std::vector<char> small(4999);
  refuse_allocations_from(0);
  const std::vector<char> large(5000);
}

TEST(Allocations, OfBothKindsAreCounted) {
  if (!kCountsAllocations) GTEST_SKIP() << "the thread sanitizer's operator new";
  const std::uint64_t before = allocations();
  reset_largest_allocation();
  std::vector<char> a(12345);
  EXPECT_EQ(allocations(), before + 1);
  EXPECT_EQ(largest_allocation(), 12345u);
  std::pmr::vector<char> b(23456, std::pmr::new_delete_resource());
  EXPECT_EQ(allocations(), before + 2);
  EXPECT_EQ(largest_allocation(), 23456u);
  const std::size_t held = live_bytes();
  std::vector<char>().swap(a);
  EXPECT_GE(held - live_bytes(), 12345u);
  EXPECT_LT(held - live_bytes(), 12345u + 64);
  EXPECT_GE(peak_bytes(), held);
  reset_peak_bytes();
  EXPECT_EQ(peak_bytes(), live_bytes());
}

}  // namespace quorate::test
