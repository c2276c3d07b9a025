#include "server/memory_reserve.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace quorate::server {
namespace {

TEST(MemoryReserve, WorkIsTriedUntilThereIsMemory) {
  int tries = 0;
  EXPECT_EQ(once_there_is_memory([&] {
              if (++tries < 3) throw std::bad_alloc();
              return 7;
            }),
            7);
  EXPECT_EQ(tries, 3);
}

TEST(MemoryReserve, AnAllocationThatFailsThrowsAndTheNextFindsMemory) {
  EXPECT_EXIT(
      {
        reserve_memory();
        renew_memory_reserve();
        int failed = 0;
        for (int n = 0; n < 2; ++n) try {
            static_cast<void>(std::get_new_handler());
            std::get_new_handler()();
          } catch (const std::bad_alloc&) {
            ++failed;
          }
        renew_memory_reserve();
        std::exit(failed);
      },
      testing::ExitedWithCode(2), "");
}

}  // namespace
}  // namespace quorate::server
