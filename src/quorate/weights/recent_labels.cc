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

RecentLabels::RecentLabels(std::pmr::memory_resource* memory, std::size_t beside, bool rare_stay)
    : RecentLabels(memory, room(memory, beside), rare_stay) {}

/// Whether it stays, as the newest.
bool RecentLabels::move_oldest() {
  const std::size_t y = queue_[0].y > 0;
  const bool stays = rare_stay_ && 4 * labels_of_[y] < size() && 4 * values_of_[y] < queue_.values();
  if (turn_ > 0) {
    --turn_;
  } else if (stays) {
    turn_ = size() - 1;  // it is next wherever it is: else few replays would never reach those that stay
  }
  if (stays) {
    queue_.rotate();
  } else {
    --labels_of_[y];
    values_of_[y] -= queue_.example(0).x.size();
    queue_.pop();
  }
  return stays;
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
  labels_of_ = values_of_ = {};
  for (std::size_t i = 0; i < size(); ++i) {
    const std::size_t y = queue_[i].y > 0;
    ++labels_of_[y];
    values_of_[y] += queue_.example(i).x.size();
  }
}

}  // namespace quorate
