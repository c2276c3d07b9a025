// The instances that a kernel learner keeps, with their tasks and ages.
#pragma once
#include <algorithm>
#include <vector>

#include "quorate/base/error.h"
#include "quorate/base/example.h"
#include "quorate/kernel/support_vectors.h"

namespace quorate {

/// Active instances of tasks. On removal the last one moves into the free slot.
struct ActiveSet {
  ActiveSet(const Kernel& kernel, std::pmr::memory_resource* memory) : z(kernel, memory), task(memory), order(memory) {}

  std::size_t size() const { return task.size(); }
  void add(const Example& e) {
    z.add(e.x);
    fit(order, size() + 1);
    fit(task, size() + 1);
    order.push_back(static_cast<std::uint32_t>(task.size()));
    task.push_back(e.task);
  }
  void remove(std::size_t slot) {
    const std::size_t last = size() - 1;
    z.remove(slot);
    task[slot] = task[last];
    task.pop_back();
    order.erase(std::find(order.begin(), order.end(), slot));
    if (slot != last) *std::find(order.begin(), order.end(), last) = static_cast<std::uint32_t>(slot);
    fit(order);
    fit(task);
  }
  /// As SupportVectors.
  std::size_t bytes_to_add(const Example& e) const {
    return z.bytes_to_add(e.x) + bytes_to_fit(task, size() + 1) + bytes_to_fit(order, size() + 1);
  }
  std::size_t bytes_to_copy() const { return z.bytes_to_copy(); }
  /// Bytes of all instances; and of e as the only one.
  std::size_t bytes() const { return z.bytes() + bytes_of(task) + bytes_of(order); }
  std::size_t bytes_of_first(const Example& e) const {
    return z.bytes_of_first(e.x) + room_for(1) * (sizeof(task[0]) + sizeof(order[0]));
  }
  /// After loading.
  void fit_loaded() {
    quorate::fit_loaded(task);
    quorate::fit_loaded(order);
  }

  template <class S>
  static void state(S& s, auto&& v) {
    v("vectors", s.z);
    v("task", s.task);
    v("order", s.order);
  }
  void check(std::size_t tasks) const {
    std::vector<bool> seen(size());
    bool good = z.size() == size() && order.size() == size();
    for (std::size_t n = 0; good && n < size(); ++n) {
      good = task[n] < tasks && order[n] < size() && !seen[order[n]];
      if (good) seen[order[n]] = true;
    }
    if (!good) throw DataError("active set: vectors, tasks and order do not fit");
  }

  SupportVectors z;
  std::pmr::vector<Task> task;
  std::pmr::vector<std::uint32_t> order;  // slots, oldest first
};

}  // namespace quorate
