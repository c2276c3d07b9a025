#include "quorate/base/ring_buffer.h"

#include <gtest/gtest.h>

#include <deque>

#include "quorate/base/memory.h"
#include "quorate/base/rng.h"

namespace quorate {
namespace {

TEST(RingBuffer, IsAQueueHoweverItGoesRound) {
  for (const bool at_once : {false, true}) {
    Memory memory;
    RingBuffer<int> ring(&memory, 100);
    std::deque<int> model;
    Rng rng = make_rng(1, 0);
    if (at_once) ring.reserve_all();
    const std::size_t bytes = memory.bytes();
    for (int n = 0; n < 3'000; ++n) {
      std::vector<int> added(below(12, rng));
      for (int& one : added) one = static_cast<int>(below(1'000, rng));
      if (const std::size_t size = model.size() + added.size(); size > 100) {
        const std::size_t gone = std::min<std::size_t>(model.size(), size - 100 + below(20, rng));
        ring.pop(gone);
        model.erase(model.begin(), model.begin() + static_cast<std::ptrdiff_t>(gone));
      }
      ring.push(added);
      model.insert(model.end(), added.begin(), added.end());
      if (n % 100 == 99) {
        const std::span<int> all = ring.straighten();
        EXPECT_TRUE(std::ranges::equal(all, model));
        ring.truncate(model.size() / 2);
        model.resize(model.size() / 2);
      }
      ASSERT_EQ(ring.size(), model.size());
      for (std::size_t i = 0; i < model.size(); ++i) ASSERT_EQ(ring[i], model[i]);
      if (n % 50 == 7) {
        RingBuffer<int> copy(ring);
        const int one = 5;
        if (copy.size() < 100) copy.push(one);
        for (std::size_t i = 0; i < model.size(); ++i) ASSERT_EQ(copy[i], model[i]);
      }
      for (std::size_t i = 0; i < model.size();) {
        const std::span<const int> piece = ring.piece(i, model.size() - i);
        ASSERT_TRUE(std::equal(piece.begin(), piece.end(), model.begin() + static_cast<std::ptrdiff_t>(i)));
        i += piece.size();
      }
      if (at_once) {
        ASSERT_EQ(memory.bytes(), bytes);
      }
    }
    EXPECT_LE(ring.capacity(), 100u);
    ring.give_memory_back();
    EXPECT_EQ(memory.bytes(), 0u);
  }
}

}  // namespace
}  // namespace quorate
