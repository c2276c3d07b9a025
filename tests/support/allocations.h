// The test program replaces operator new with one that counts (allocations_test.cc).
#pragma once
#include <cstddef>
#include <cstdint>

#ifdef __has_feature
#if __has_feature(thread_sanitizer)
#define QUORATE_NO_COUNTED_NEW  // it has an operator new of its own
#endif
#endif

namespace quorate::test {

#ifdef QUORATE_NO_COUNTED_NEW
inline constexpr bool kCountsAllocations = false;  // what follows does nothing then
#else
inline constexpr bool kCountsAllocations = true;
#endif

std::uint64_t allocations();       ///< calls of operator new so far
std::size_t live_bytes();          ///< in what operator new returned and nobody deleted yet
std::size_t largest_allocation();  ///< bytes of the largest since the last reset
void reset_largest_allocation();
std::size_t peak_bytes();  ///< the largest live_bytes() since the last reset
void reset_peak_bytes();
/// From now on what asks for so many bytes or more gets std::bad_alloc; 0: nothing does.
void refuse_allocations_from(std::size_t bytes);

}  // namespace quorate::test
