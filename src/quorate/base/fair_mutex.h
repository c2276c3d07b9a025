// Writer-fair shared mutex: new readers queue behind a waiting writer. (std::shared_mutex lets readers pass a waiting
// writer; eight readers in a loop kept a writer out for seconds.)
#pragma once
#include <memory>
#include <mutex>
#include <shared_mutex>

namespace quorate {

/// For std::unique_lock and std::shared_lock.
class FairMutex {
 public:
  void lock() {
    const std::lock_guard turn(gate_);
    mutex_.lock();
  }
  bool try_lock() {
    const std::unique_lock turn(gate_, std::try_to_lock);
    return turn && mutex_.try_lock();
  }
  void unlock() { mutex_.unlock(); }
  void lock_shared() {
    const std::lock_guard turn(gate_);
    mutex_.lock_shared();
  }
  bool try_lock_shared() {
    const std::unique_lock turn(gate_, std::try_to_lock);
    return turn && mutex_.try_lock_shared();
  }
  void unlock_shared() { mutex_.unlock_shared(); }

  /// In a child process, whose only thread is the one that forked: nobody waits any more and, unless this thread has the
  /// mutex, nobody has it.
  void after_fork(bool held_here) {
    std::construct_at(&gate_);
    if (!held_here) std::construct_at(&mutex_);
  }

 private:
  std::mutex gate_;
  std::shared_mutex mutex_;
};

}  // namespace quorate
