// The latest labelled instances, kept to learn from them again.
#pragma once
#include <cstdint>
#include <memory_resource>
#include <utility>

#include "quorate/base/instance_queue.h"

namespace quorate {

/// What a learner keeps of a labelled instance.
struct RecentLabel {
  double y = 0;      ///< +1 or -1
  double alpha = 0;  ///< what the learner says about it
  static constexpr auto fields() {
    return std::tuple{std::pair{"y", &RecentLabel::y}, std::pair{"alpha", &RecentLabel::alpha}};
  }
};

/// At most kMost labelled instances, the latest ones; fewer if they need more than kMostBytes, or more than their part of a
/// memory limit. next() goes round them for ever.
///
/// Cost: O(non-zeros), amortised. Memory: at most twice that of what is kept. Under a limit a sixteenth of it is taken when
/// the first instance comes, and no more; if it is not free then, nothing is kept.
class RecentLabels {
 public:
  static constexpr std::size_t kMost = 512, kMostBytes = std::size_t{4} << 20;
  using Item = InstanceQueue<RecentLabel>::Item;

  explicit RecentLabels(std::pmr::memory_resource* memory);

  std::size_t size() const { return queue_.size(); }
  /// Keeps e instead of as many of the oldest as there is no room for. False: an instance that needs all room is not kept.
  bool add(const Example& e, double y, double alpha);
  /// The one after that of the call before, and its example, until add() is called. size() > 0.
  std::pair<Item*, Example> next();
  /// What the k-th of the coming calls of next() will return, k = 0, 1, ...
  Example coming(std::size_t k) const { return queue_.example(((turn_ >= size() ? 0 : turn_) + k) % size()); }
  /// Those kept, the oldest first; whose turn it is does not change.
  Item& operator[](std::size_t place) { return queue_[place]; }
  Example example(std::size_t place) const { return queue_.example(place); }

  struct Packed {
    std::uint64_t turn = 0;
    InstanceQueue<RecentLabel>::Packed queue;
    template <class S>
    static void state(S& s, auto&& v) {
      v("turn", s.turn);
      s.queue.state(s.queue, v);
    }
  };
  Packed pack() const { return {turn_, queue_.pack()}; }
  void unpack(const Packed& packed);  ///< throws DataError: sizes differ, out of order, values that cannot be

 private:
  RecentLabels(std::pmr::memory_resource* memory, std::pair<std::size_t, std::size_t> room)
      : queue_(memory, room.first, room.second, true) {}

  InstanceQueue<RecentLabel> queue_;
  std::size_t turn_ = 0;
};

}  // namespace quorate
