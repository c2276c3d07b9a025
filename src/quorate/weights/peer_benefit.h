// How often a task's peers corrected or spoiled its prediction.
#pragma once
#include <cstdint>

namespace quorate {

/// Counts over the labels bought for one task. hurt: its own margin was right and its peers were wrong; helped: the reverse.
struct PeerBenefit {
  std::uint64_t hurt = 0, helped = 0;
};

}  // namespace quorate
