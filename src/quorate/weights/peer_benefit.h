// Whether listening to others did a task good.
#pragma once
#include <cstdint>

namespace quorate {

/// Of the labels bought for one task: how often its own margin was right where what it listened to was wrong, and the other
/// way round.
struct PeerBenefit {
  std::uint64_t hurt = 0, helped = 0;
};

}  // namespace quorate
