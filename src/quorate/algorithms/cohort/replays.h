// Replays: their number after each label, and the dual variables from which they go on.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <span>
#include <string>
#include <vector>

#include "quorate/base/error.h"
#include "quorate/weights/recent_labels.h"

namespace quorate::cohort {

/// Label number n of all tasks replays `each` of the kept ones, from n = RecentLabels::kMost on each (kMost / n)^(3/4) on
/// average, and never more than are kept: so a label costs less and less, and all replays grow with n^(1/4). Cost O(1).
class Replays {
 public:
  explicit Replays(std::uint64_t each) : each_(each) {}

  /// Of label number n, with that many kept.
  std::uint64_t take(std::uint64_t n, std::size_t kept) {
    const std::uint64_t now = coming(n, kept);
    due = (due + share(n)) % kUnit;
    return now;
  }
  /// What take() would return.
  std::uint64_t coming(std::uint64_t n, std::size_t kept) const {
    return std::min<std::uint64_t>((due + share(n)) / kUnit, kept);
  }
  /// After loading. Throws DataError.
  void check() const {
    if (due >= kUnit)
      throw DataError("cohort: due " + std::to_string(due) + "; expected less than " + std::to_string(kUnit));
  }

  static constexpr std::uint64_t kUnit = RecentLabels::kMost;
  std::uint64_t due = 0;  ///< part of a replay that is left over, in units of 1 / kUnit

 private:
  std::uint64_t share(std::uint64_t n) const {
    const double root = std::sqrt(std::min(1.0, static_cast<double>(kUnit) / static_cast<double>(n)));
    return static_cast<std::uint64_t>(static_cast<double>(each_ * kUnit) * (root * std::sqrt(root)));
  }

  std::uint64_t each_;
};

/// `width` dual variables of each recent label, all finite and at least 0.
class Duals {
 public:
  Duals(std::size_t width, std::pmr::memory_resource* memory) : values(memory), latest(width, memory) {}

  std::size_t width() const { return latest.size(); }
  std::span<double> operator[](std::size_t label) { return std::span(values).subspan(label * width(), width()); }
  /// As RecentLabels::add moves its oldest label.
  void move_oldest(bool stays) {
    const auto end = values.begin() + static_cast<std::ptrdiff_t>(width());
    if (stays) {
      std::rotate(values.begin(), end, values.end());
    } else {
      values.erase(values.begin(), end);
    }
  }
  /// The latest label was kept.
  void keep() { values.insert(values.end(), latest.begin(), latest.end()); }
  /// After loading: whether they can be those of `kept` labels.
  bool good(std::size_t kept) const {
    return values.size() == width() * kept && std::ranges::all_of(values, [](double a) { return a >= 0 && !std::isinf(a); });
  }

  std::pmr::vector<double> values;
  std::pmr::vector<double> latest;  ///< of the label that is kept next
};

}  // namespace quorate::cohort
