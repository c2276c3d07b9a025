#include "quorate/metrics/statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace quorate::test {
namespace {

TEST(Statistics, MeanAndDeviationByHand) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Summary s = summary(std::vector<double>{1, nan, 2, 6});
  EXPECT_DOUBLE_EQ(s.mean, 3);
  EXPECT_DOUBLE_EQ(s.deviation, std::sqrt((4.0 + 1 + 9) / 2));
  EXPECT_TRUE(std::isnan(summary({}).mean));
  EXPECT_TRUE(std::isnan(summary(std::vector<double>{5}).deviation));
}

TEST(Statistics, StudentsTByTheTables) {
  for (const auto& [degrees, t] : {std::pair{1u, 12.706},
                                   {2u, 4.303},
                                   {9u, 2.262},
                                   {10u, 2.228},
                                   {11u, 2.201},
                                   {12u, 2.179},
                                   {19u, 2.093},
                                   {30u, 2.042},
                                   {60u, 2.000},
                                   {120u, 1.980},
                                   {100000u, 1.960}})
    EXPECT_NEAR(t_quantile(degrees), t, 0.001 * t) << degrees;
}

TEST(Statistics, ThePairedIntervalByHand) {
  // Differences 1, 2, 3: mean 2, deviation 1, half width 4.3027 / sqrt(3).
  const Paired p = paired(std::vector<double>{10, 20, 30}, std::vector<double>{11, 22, 33});
  EXPECT_DOUBLE_EQ(p.difference, 2);
  EXPECT_NEAR(p.high - 2, 4.3027 / std::sqrt(3.0), 1e-6);
  EXPECT_NEAR(p.low, 4 - p.high, 1e-12);
  EXPECT_TRUE(std::isnan(paired(std::vector<double>{1}, std::vector<double>{2}).low));
}

TEST(Statistics, TheExactIntervalByScipysBetaQuantiles) {
  const auto near = [](Share s, double low, double high) {
    EXPECT_NEAR(s.low, low, 1e-9);
    EXPECT_NEAR(s.high, high, 1e-9);
  };
  near(exact_interval(1, 2), 0.01257911709342505, 0.9874208829065749);
  near(exact_interval(40, 50), 0.6628168916165122, 0.899697762527429);
  near(exact_interval(8.1, 9.3), 0.5046142271521724, 0.9944380828806906);
  near(exact_interval(9, 9), 0.6637328831200572, 1);
  near(exact_interval(0, 9), 0, 0.3362671168799428);
  const Share many = exact_interval(9e6, 1e7);
  EXPECT_NEAR(many.low, 0.9 - 1.96 * std::sqrt(0.09 / 1e7), 1e-6);
  EXPECT_NEAR(many.high, 0.9 + 1.96 * std::sqrt(0.09 / 1e7), 1e-6);
}

}  // namespace
}  // namespace quorate::test
