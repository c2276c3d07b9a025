#include "quorate/base/counted.h"

#include <gtest/gtest.h>

namespace quorate::test {
namespace {

TEST(Counted, GroupsDigits) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1000), "1,000");
  EXPECT_EQ(grouped(18446744073709551615u), "18,446,744,073,709,551,615");
}

TEST(Counted, OneIsSingular) {
  EXPECT_EQ(counted(0, "task"), "0 tasks");
  EXPECT_EQ(counted(1, "task"), "1 task");
  EXPECT_EQ(counted(1001, "bad line"), "1,001 bad lines");
}

}  // namespace
}  // namespace quorate::test
