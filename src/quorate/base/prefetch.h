// Memory asked for before it is read.
#pragma once

namespace quorate {

/// Lets the processor fetch the cache line of `at` while it goes on. The empty statement is there because gcc leaves out
/// calls of functions that do nothing else (found by reading what it had made of them).
inline void prefetch(const void* at) {
  __builtin_prefetch(at);
  asm volatile("" : : "r"(at));
}

}  // namespace quorate
