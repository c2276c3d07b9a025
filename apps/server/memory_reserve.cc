#include "server/memory_reserve.h"

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <thread>

namespace quorate::server {
namespace {

constexpr std::size_t kReserve = std::size_t{2} << 20;  // bytes

std::atomic<void*> reserve = nullptr;
std::atomic<bool> wanted = false;

[[noreturn]] void give_back() {
  if (void* memory = reserve.exchange(nullptr)) std::free(memory);  // NOLINT: no operator new, which would call this
  throw std::bad_alloc();
}

}  // namespace

void reserve_memory() {
  wanted = true;
  std::set_new_handler(give_back);
  renew_memory_reserve();
}

void renew_memory_reserve() {
  if (!wanted || reserve.load(std::memory_order_relaxed) != nullptr) return;
  if (void* before = reserve.exchange(std::malloc(kReserve))) std::free(before);
}

void wait_for_memory(int tries) { std::this_thread::sleep_for(std::chrono::milliseconds(tries < 10 ? 1 : 3)); }

}  // namespace quorate::server
