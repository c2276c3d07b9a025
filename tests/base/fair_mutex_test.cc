#include "quorate/base/fair_mutex.h"

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <vector>

namespace quorate {
namespace {

TEST(FairMutex, ManyReadOrOneWrites) {
  FairMutex mutex;
  {
    const std::shared_lock one(mutex), two(mutex);
    EXPECT_FALSE(mutex.try_lock());
    ASSERT_TRUE(mutex.try_lock_shared());
    mutex.unlock_shared();
  }
  const std::unique_lock writes(mutex);
  std::thread([&] {
    EXPECT_FALSE(mutex.try_lock());
    EXPECT_FALSE(mutex.try_lock_shared());
  }).join();
}

TEST(FairMutex, ReadersInALoopDoNotKeepAWriterOut) {
  FairMutex mutex;
  std::atomic<bool> stop = false;
  std::vector<std::thread> readers;
  for (int i = 0; i < 8; ++i)
    readers.emplace_back([&] {
      while (!stop) const std::shared_lock reads(mutex);
    });
  for (int i = 0; i < 50; ++i) const std::unique_lock writes(mutex);
  stop = true;
  for (std::thread& reader : readers) reader.join();
}

}  // namespace
}  // namespace quorate
