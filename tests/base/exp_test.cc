#include "quorate/base/exp.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "quorate/base/rng.h"

namespace quorate::test {
namespace {

std::int64_t ulps(double a, double b) { return std::bit_cast<std::int64_t>(a) - std::bit_cast<std::int64_t>(b); }

TEST(ExpNegative, IsWithinTwoUnitsInTheLastPlace) {
  Rng rng = make_rng(1, 0);
  const auto check = [](double x) {
    const auto exact = static_cast<double>(std::exp(static_cast<long double>(x)));
    ASSERT_LE(std::abs(ulps(exp_negative(x), exact)), 2) << "x = " << x;
  };
  for (int n = 0; n < 300'000; ++n) {
    check(-707.999 * uniform(rng));
    check(-uniform(rng));
    check(-std::exp2(-60 * uniform(rng)));
  }
}

TEST(ExpNegative, IsExactAtTheEnds) {
  EXPECT_EQ(exp_negative(0.0), 1);
  EXPECT_EQ(exp_negative(-0.0), 1);
  EXPECT_EQ(exp_negative(-std::numeric_limits<double>::denorm_min()), 1);
  EXPECT_EQ(exp_negative(-709), 0);
  EXPECT_EQ(exp_negative(-1e300), 0);
  EXPECT_EQ(exp_negative(-std::numeric_limits<double>::infinity()), 0);
  EXPECT_GT(exp_negative(-707.9999), 0);
}

TEST(ExpNegative, NeverExceedsOneAndFallsWithX) {
  double last = 1;
  for (double x = 0; x > -720; x -= 0.0009765625) {
    const double now = exp_negative(x);
    ASSERT_LE(now, 1);
    ASSERT_GE(now, 0);
    ASSERT_TRUE(now < last || now == 0 || x == 0) << x;
    last = now;
  }
}

TEST(ExpNegative, IsWithinTwoUnitsWhereThePowerOfTwoChanges) {
  for (int k = 0; k < 1020; ++k) {
    double x = -(k + 0.5) * 0x1.62e42fefa39efp-1;
    for (int n = 0; n < 20; ++n) x = std::nextafter(x, 0.0);
    for (int n = 0; n < 40; ++n, x = std::nextafter(x, -1e300)) {
      const auto exact = static_cast<double>(std::exp(static_cast<long double>(x)));
      ASSERT_LE(std::abs(ulps(exp_negative(x), exact)), 2) << "x = " << x;
    }
  }
}

}  // namespace
}  // namespace quorate::test
