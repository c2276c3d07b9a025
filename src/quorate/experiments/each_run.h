// The runs of an experiment on several threads.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <stop_token>
#include <thread>
#include <vector>

namespace quorate {

/// Calls run(n) once for each n below `count`, on at most that many threads; run returns false if it was stopped. Once stop
/// is requested, or a run has thrown, no further run begins. Rethrows the exception of the lowest n. Returns whether all
/// runs were completed.
template <class Run>
bool each_run(std::uint64_t count, std::uint64_t threads, const std::stop_token& stop, Run run) {
  std::atomic<std::uint64_t> next = 0, done = 0;
  std::vector<std::exception_ptr> errors(count);
  const auto work = [&] {
    for (std::uint64_t n = next++; n < count && !stop.stop_requested(); n = next++) {
      try {
        if (run(n)) ++done;
      } catch (...) {
        errors[n] = std::current_exception();
        next = count;
      }
    }
  };
  {
    std::vector<std::jthread> others;
    for (std::uint64_t t = 1; t < std::min(threads, count); ++t) others.emplace_back(work);
    work();
  }
  for (const std::exception_ptr& error : errors)
    if (error) std::rethrow_exception(error);
  return done == count;
}

}  // namespace quorate
