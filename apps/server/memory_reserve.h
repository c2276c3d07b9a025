// What a server does when the machine has no memory left: the request that asked for it is refused, everything else goes on.
#pragma once
#include <new>

namespace quorate::server {

/// Sets memory aside that is given back when an allocation fails. That allocation throws std::bad_alloc, and what is on the
/// way to its handler finds memory: destructors of JSON values allocate, and cannot fail. For the whole process.
void reserve_memory();
/// Sets it aside again after it was used. Cheap; to be called now and then.
void renew_memory_reserve();

/// Waits for memory that others are about to free, some seconds at most.
void wait_for_memory(int tries);

/// Work that must be done, though it allocates: it is tried until there is memory, for seconds. Throws std::bad_alloc then.
template <class Work>
auto once_there_is_memory(Work work) {
  constexpr int kTries = 2000;
  for (int n = 1;; ++n) try {
      return work();
    } catch (const std::bad_alloc&) {
      if (n == kTries) throw;
      wait_for_memory(n);
    }
}

}  // namespace quorate::server
