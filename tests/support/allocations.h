// The test program replaces operator new with one that counts (allocations_test.cc).
#pragma once
#include <cstddef>
#include <cstdint>

namespace quorate::test {

std::uint64_t allocations();       ///< calls of operator new so far
std::size_t live_bytes();          ///< in what operator new returned and nobody deleted yet
std::size_t largest_allocation();  ///< bytes of the largest since the last reset
void reset_largest_allocation();
std::size_t peak_bytes();  ///< the largest live_bytes() since the last reset
void reset_peak_bytes();
/// From now on what asks for so many bytes or more gets std::bad_alloc; 0: nothing does.
void refuse_allocations_from(std::size_t bytes);

}  // namespace quorate::test
