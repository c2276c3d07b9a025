// Long work without the interpreter's lock: other Python threads run, Ctrl-C ends the work, progress is shown.
#pragma once
#include <nanobind/nanobind.h>

#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <stop_token>
#include <thread>

namespace quorate::python {

/// Calls work(stop token) on a thread of its own and waits for it without the interpreter's lock. About 10 times a second,
/// and at the end, checks for signals and calls how(show) unless `show` is None; an error of either ends the work and is
/// thrown. Otherwise throws the error of `work`.
template <class Work, class How>
void run_beside(Work work, const nanobind::object& show, How how) {
  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;
  std::exception_ptr error;
  const auto ask = [&] {  // with the interpreter's lock
    try {
      if (PyErr_CheckSignals() != 0) throw nanobind::python_error();
      if (!show.is_none()) how(show);
    } catch (...) {
      return std::current_exception();
    }
    return std::exception_ptr();
  };
  std::exception_ptr asked;
  {
    const nanobind::gil_scoped_release others;
    std::jthread worker([&](const std::stop_token& stop) {
      try {
        work(stop);
      } catch (...) {
        error = std::current_exception();
      }
      const std::lock_guard lock(mutex);
      done = true;
      changed.notify_all();
    });
    std::unique_lock lock(mutex);
    while (!changed.wait_for(lock, std::chrono::milliseconds(100), [&] { return done; })) {
      if (asked) continue;
      lock.unlock();
      {
        const nanobind::gil_scoped_acquire interpreter;
        asked = ask();
      }
      lock.lock();
      if (asked) worker.request_stop();
    }
  }
  if (!asked) asked = ask();  // shows the end of the work
  if (asked) std::rethrow_exception(asked);
  if (error) std::rethrow_exception(error);
}

}  // namespace quorate::python
