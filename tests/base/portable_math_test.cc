#include "quorate/base/portable_math.h"

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

TEST(LogPositive, IsWithinTwoUnitsInTheLastPlace) {
  Rng rng = make_rng(2, 0);
  const auto check = [](double x) {
    const auto exact = static_cast<double>(std::log(static_cast<long double>(x)));
    ASSERT_LE(std::abs(log_positive(x) - exact), 4.5e-16 * std::max(std::abs(exact), std::abs(x - 1))) << "x = " << x;
  };
  for (int n = 0; n < 300'000; ++n) {
    check(std::exp2(2000 * uniform(rng) - 1000));
    check(1 + uniform(rng));
    check(0.5 + uniform(rng));
  }
  for (double x = 1; x < 100'000; ++x) check(x);
  for (double x : {0x1.6a09e667f3bccp-1, 0x1.6a09e667f3bcdp-1, 0x1.6a09e667f3bcep-1, 0x1.6a09e667f3bcdp0}) check(x);
}

TEST(LogPositive, IsExactAtOneAndUndoesExp) {
  EXPECT_EQ(log_positive(1), 0);
  for (double x = 0; x > -700; x -= 0.37) EXPECT_NEAR(log_positive(exp_negative(x)), x, 1e-13);
}

}  // namespace
}  // namespace quorate::test
