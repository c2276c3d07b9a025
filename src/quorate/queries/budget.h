// A number of labels that no run exceeds.
#pragma once
#include <cstdint>
#include <limits>

#include "quorate/base/error.h"

namespace quorate {

/// Hard limits of what may be bought.
struct LabelLimits {
  static constexpr std::uint64_t kNone = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t total = kNone;
};

/// Counts the labels bought against a hard limit.
class LabelBudget {
 public:
  explicit LabelBudget(std::uint64_t limit = LabelLimits::kNone) : limit_(limit) {}

  bool left() const { return bought_ < limit_; }
  void buy() { ++bought_; }  ///< call only while left()
  std::uint64_t bought() const { return bought_; }
  std::uint64_t limit() const { return limit_; }           ///< kNone: no limit
  void set_limit(std::uint64_t limit) { limit_ = limit; }  ///< below bought() nothing more is bought

  template <class S>
  static void state(S& s, auto&& v) {
    v("limit", s.limit_);
    v("bought", s.bought_);
  }

 private:
  std::uint64_t limit_, bought_ = 0;
};

}  // namespace quorate
