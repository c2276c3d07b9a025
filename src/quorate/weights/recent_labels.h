// The latest labelled instances, kept to learn from them again.
#pragma once
#include <array>
#include <cstdint>
#include <memory_resource>
#include <utility>

#include "quorate/base/instance_queue.h"

namespace quorate {

/// The data kept beside a labelled instance.
struct RecentLabel {
  double y = 0;                  ///< +1 or -1
  double alpha = 0, second = 0;  ///< numbers of the learner
  static constexpr auto fields() {
    return std::tuple{std::pair{"y", &RecentLabel::y}, std::pair{"alpha", &RecentLabel::alpha},
                      std::pair{"second", &RecentLabel::second}};
  }
};

/// The latest kMost labelled instances; fewer if they need more than kMostBytes, or more than their part of a memory limit.
/// While a class, yes or no, has less than a quarter of them, and of their values, its labels stay: instead of being dropped
/// the oldest becomes the newest. next() cycles through all.
///
/// Cost: O(non-zeros), amortised. Memory: at most twice that of the kept instances. Under a limit a sixteenth of it is
/// allocated with the first instance, and no more later; if it is not free then, nothing is kept.
class RecentLabels {
 public:
  static constexpr std::size_t kMost = 512, kMostBytes = std::size_t{4} << 20;
  using Item = InstanceQueue<RecentLabel>::Item;

  /// beside: bytes that the learner keeps for each label elsewhere; under a limit together at most half as much as this.
  /// rare_stay: whether labels of a rare class stay.
  explicit RecentLabels(std::pmr::memory_resource* memory, std::size_t beside = 0, bool rare_stay = true);

  std::size_t most() const { return most_; }  ///< that are kept

  std::size_t size() const { return queue_.size(); }
  /// Keeps e; the oldest labels are dropped until it fits. False, and e is not kept, if it cannot fit. moved(stays): the
  /// oldest label became the newest, or was dropped.
  template <class Moved>
  bool add(const Example& e, const RecentLabel& label, Moved moved) {
    if (!queue_.could_fit(e.x.size()) || !queue_.take_memory()) return false;
    while (!queue_.fits(e.x.size())) moved(move_oldest());
    ++labels_of_[label.y > 0];
    values_of_[label.y > 0] += e.x.size();
    queue_.push(e, label);
    return true;
  }
  bool add(const Example& e, const RecentLabel& label) {
    return add(e, label, [](bool) {});
  }
  /// The next kept label in cyclic order and its example, valid until add() is called. size() > 0.
  std::pair<Item*, Example> next();
  /// The example that the k-th next call of next() will return, k = 0, 1, ...
  Example coming(std::size_t k) const { return queue_.example(((turn_ >= size() ? 0 : turn_) + k) % size()); }
  /// The kept labels, oldest first; does not change the position of next().
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
  void unpack(const Packed& packed);  ///< throws DataError: sizes differ, out of order, values out of range

 private:
  RecentLabels(std::pmr::memory_resource* memory, std::pair<std::size_t, std::size_t> room, bool rare_stay)
      : most_(room.first), rare_stay_(rare_stay), queue_(memory, room.first, room.second, true) {}

  bool move_oldest();

  std::size_t most_;
  bool rare_stay_;
  InstanceQueue<RecentLabel> queue_;
  std::size_t turn_ = 0;
  std::array<std::size_t, 2> labels_of_{}, values_of_{};  // -1, +1
};

}  // namespace quorate
