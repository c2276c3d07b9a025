// The fair mutex of a model in Python, where signal handlers may run and the process may fork at any time.
#pragma once
#include <pthread.h>

#include <algorithm>
#include <mutex>
#include <stdexcept>
#include <vector>

#include "quorate/base/fair_mutex.h"

namespace quorate::python {

/// For std::unique_lock and std::shared_lock. lock() and lock_shared() throw std::runtime_error if they would wait
/// forever: in a thread that holds the mutex (a signal handler that uses the model it interrupted), and in a child process
/// that was forked while another thread had the mutex exclusively, whose work is then half done in the child.
class FairSharedMutex {
 public:
  FairSharedMutex() {
    const std::scoped_lock lock(all().mutex);
    all().each.push_back(this);
  }
  ~FairSharedMutex() {
    const std::scoped_lock lock(all().mutex);
    std::erase(all().each, this);
  }
  FairSharedMutex(const FairSharedMutex&) = delete;
  FairSharedMutex& operator=(const FairSharedMutex&) = delete;

  void lock() {
    check();
    mutex_.lock();
    changing_ = true;
    held().push_back(this);
  }
  void lock_shared() {
    check();
    mutex_.lock_shared();
    held().push_back(this);
  }
  bool try_lock() {
    if (lost_ || holds() || !mutex_.try_lock()) return false;
    changing_ = true;
    held().push_back(this);
    return true;
  }
  bool try_lock_shared() {
    if (lost_ || holds() || !mutex_.try_lock_shared()) return false;
    held().push_back(this);
    return true;
  }
  void unlock() {
    forget();
    changing_ = false;
    mutex_.unlock();
  }
  void unlock_shared() {
    forget();
    mutex_.unlock_shared();
  }

 private:
  /// The mutexes that this thread holds, the latest last; seldom more than one.
  static std::vector<const FairSharedMutex*>& held() {
    thread_local std::vector<const FairSharedMutex*> all;
    return all;
  }
  bool holds() const { return std::find(held().begin(), held().end(), this) != held().end(); }
  void check() const {
    if (lost_)
      throw std::runtime_error(
          "the model was being changed by another thread when this process was forked; expected a snapshot made before");
    if (holds())
      throw std::runtime_error("the model is in use by this very thread, which was interrupted; expected a snapshot");
  }
  void forget() const {
    auto& all = held();
    all.erase(std::find(all.begin(), all.end(), this));
  }

  /// All existing mutexes. Never destroyed: models may outlive other statics.
  struct All {
    std::mutex mutex;
    std::vector<FairSharedMutex*> each;
  };
  static All& all() {
    static All& out = *[] {
      pthread_atfork([] { all().mutex.lock(); }, [] { all().mutex.unlock(); },
                     [] {  // the child has only the forking thread: shared locks of other threads have ended
                       for (FairSharedMutex* m : all().each) {
                         m->lost_ = m->changing_ && !m->holds();
                         m->mutex_.after_fork(m->holds());
                       }
                       all().mutex.unlock();
                     });
      return new All;
    }();
    return out;
  }

  FairMutex mutex_;
  bool changing_ = false;  // held exclusively
  bool lost_ = false;
};

}  // namespace quorate::python
