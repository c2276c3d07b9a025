// A lock for one writer or many readers at which nobody waits forever: who comes while a writer waits, waits behind it.
// (std::shared_mutex lets readers pass a waiting writer; eight of them that asked all the time kept it out for seconds.)
#pragma once
#include <algorithm>
#include <mutex>
#include <shared_mutex>
#include <stdexcept>
#include <vector>

namespace quorate::python {

/// For std::unique_lock and std::shared_lock. A thread that holds it in any way and asks again gets std::runtime_error, for
/// it would wait for itself: so does a signal handler that uses the model which it interrupted.
class FairSharedMutex {
 public:
  FairSharedMutex() = default;
  FairSharedMutex(const FairSharedMutex&) = delete;
  FairSharedMutex& operator=(const FairSharedMutex&) = delete;

  void lock() {
    check();
    const std::scoped_lock turn(gate_);
    mutex_.lock();
    held().push_back(this);
  }
  void lock_shared() {
    check();
    const std::scoped_lock turn(gate_);
    mutex_.lock_shared();
    held().push_back(this);
  }
  bool try_lock() {
    const std::unique_lock turn(gate_, std::try_to_lock);
    if (holds() || !turn || !mutex_.try_lock()) return false;
    held().push_back(this);
    return true;
  }
  bool try_lock_shared() {
    const std::unique_lock turn(gate_, std::try_to_lock);
    if (holds() || !turn || !mutex_.try_lock_shared()) return false;
    held().push_back(this);
    return true;
  }
  void unlock() {
    forget();
    mutex_.unlock();
  }
  void unlock_shared() {
    forget();
    mutex_.unlock_shared();
  }

 private:
  /// What this thread holds, the latest last: seldom more than one.
  static std::vector<const FairSharedMutex*>& held() {
    thread_local std::vector<const FairSharedMutex*> all;
    return all;
  }
  bool holds() const { return std::find(held().begin(), held().end(), this) != held().end(); }
  void check() const {
    if (holds())
      throw std::runtime_error("the model is in use by this very thread, which was interrupted; expected a snapshot");
  }
  void forget() const {
    auto& all = held();
    all.erase(std::find(all.begin(), all.end(), this));
  }

  std::mutex gate_;
  std::shared_mutex mutex_;
};

}  // namespace quorate::python
