// Fetches the memory that coming examples will touch, so that many tasks cost little more than a few.
#pragma once
#include <cstddef>
#include <string_view>

#include "quorate/base/prefetch.h"
#include "quorate/learner.h"
#include "quorate/session/session.h"

namespace quorate {

/// Looks a few examples ahead. With many tasks each example touches memory that no cache holds; asked for early, it is
/// there when the example comes (a million tasks: 1.3 to 1.0 s for a million short emails; perceptron in memory with 100,000
/// tasks: 890 to 600 ns an example; `./run bench`). It changes nothing.
class Prefetcher {
 public:
  explicit Prefetcher(const Session& session) : session_(session) {}

  /// Examples whose names come from a stream. coming(n): the task's name of the example n places ahead, "" if it is not
  /// known. Each look-up takes four steps that wait for each other, so they are taken four examples apart.
  template <class Coming>
  void tasks(Coming coming) const {
    constexpr std::size_t kFewTasks = 4096;  // which stay in the caches anyway
    if (session_.tasks_.size() <= kFewTasks) return;
    for (int step = 0; step < 3; ++step) session_.tasks_.prefetch(coming(static_cast<std::size_t>(16 - 4 * step)), step);
    if (const auto place = session_.tasks_.find(coming(4)))
      if (const void* counters = session_.ledger_.address_of(session_.first_task(*place))) prefetch(counters);
  }
  /// The example that decide() will be given next, alone.
  void example(const Example& e) const { session_.learner_->prefetch(e); }

 private:
  const Session& session_;
};

}  // namespace quorate
