#include "quorate/weights/recent_labels.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace quorate {
namespace {

constexpr std::size_t kPart = 16;  // of a memory limit

std::pair<std::size_t, std::size_t> room(std::pmr::memory_resource* memory, std::size_t beside) {
  constexpr std::size_t kMostValues = RecentLabels::kMostBytes / InstanceQueue<RecentLabel>::kValueBytes;
  if (!is_limited(memory)) return {RecentLabels::kMost, kMostValues};
  const auto [most, values] =  // popped instances take as much memory
      room_for_instances<RecentLabel>(memory_limit(memory) / kPart / 2, RecentLabels::kMost);
  return {beside == 0 ? most : std::min(most, memory_limit(memory) / kPart / 2 / beside), std::min(values, kMostValues)};
}

}  // namespace

RecentLabels::RecentLabels(std::pmr::memory_resource* memory, std::size_t beside)
    : RecentLabels(memory, room(memory, beside)) {}

bool RecentLabels::add(const Example& e, const RecentLabel& label) {
  if (!queue_.could_fit(e.x.size()) || !queue_.take_memory()) return false;
  for (; !queue_.fits(e.x.size()); queue_.pop())
    if (turn_ > 0) --turn_;
  queue_.push(e, label);
  return true;
}

std::pair<RecentLabels::Item*, Example> RecentLabels::next() {
  if (turn_ >= size()) turn_ = 0;
  const std::size_t place = turn_++;
  return {&queue_[place], queue_.example(place)};
}

void RecentLabels::unpack(const Packed& p) {
  queue_.unpack(p.queue, "recent labels", [](const Item& item) {
    return std::abs(item.y) == 1 &&
           std::ranges::all_of(std::array{item.alpha, item.second}, [](double a) { return a >= 0 && std::isfinite(a); });
  });
  if (p.turn > size()) throw DataError("recent labels: a turn out of range");
  turn_ = p.turn;
}

}  // namespace quorate
