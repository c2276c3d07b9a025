// The test program replaces operator new with one that counts (allocations_test.cc).
#pragma once
#include <cstddef>
#include <cstdint>

namespace quorate::test {

std::uint64_t allocations();       ///< calls of operator new so far
std::size_t live_bytes();          ///< in what operator new returned and nobody deleted yet
std::size_t largest_allocation();  ///< bytes of the largest since the last reset
void reset_largest_allocation();

}  // namespace quorate::test
