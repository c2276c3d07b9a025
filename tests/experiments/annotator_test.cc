#include "quorate/experiments/annotator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace quorate::test {
namespace {

using testing::HasSubstr;

TEST(Annotator, DelaysAreReadOrRefused) {
  EXPECT_EQ(parse_delay("100").mean, 100);
  EXPECT_FALSE(parse_delay("100").lognormal);
  EXPECT_FALSE(parse_delay("0"));
  EXPECT_EQ(parse_delay("lognormal(12.5)").mean, 12.5);
  EXPECT_TRUE(parse_delay("lognormal(12.5)").lognormal);
  for (const char* bad : {"", "-1", "1.5", "x", "nan", "inf", "1e10", "lognormal", "lognormal()", "lognormal(x)",
                          "lognormal(1", "lognormal(-1)", "lognormal(1))", "normal(1)", " 1"}) {
    try {
      parse_delay(bad);
      ADD_FAILURE() << bad;
    } catch (const UsageError& e) {
      EXPECT_THAT(e.what(), AllOf(HasSubstr("'" + std::string(bad) + "'"), HasSubstr("lognormal(100)")));
    }
  }
}

TEST(Annotator, LognormalDelaysHaveTheirMeanAndMedian) {
  Annotator annotator({1000, true, 0}, 7);
  std::vector<double> delays;
  double sum = 0;
  for (int n = 0; n < 40'000; ++n) {
    delays.push_back(static_cast<double>(*annotator.delay()));
    sum += delays.back();
  }
  EXPECT_NEAR(sum / 40'000, 1000, 30);  // standard deviation of the mean: 6.6
  std::nth_element(delays.begin(), delays.begin() + 20'000, delays.end());
  EXPECT_NEAR(delays[20'000], 606.5, 15) << "1000 / sqrt(e)";
}

TEST(Annotator, SoManyAnswersAreLostAndASeedDecidesWhich) {
  Annotator a({5, false, 0.3}, 7), b({5, false, 0.3}, 7), c({5, false, 0.3}, 8);
  int lost = 0, other = 0;
  for (int n = 0; n < 10'000; ++n) {
    const auto delay = a.delay();
    EXPECT_EQ(delay, b.delay());
    other += delay != c.delay();
    lost += !delay;
    if (delay) {
      EXPECT_EQ(*delay, 5u);
    }
  }
  EXPECT_NEAR(lost, 3000, 200);
  EXPECT_GT(other, 1000);
}

}  // namespace
}  // namespace quorate::test
