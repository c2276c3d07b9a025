#include "quorate/queries/query_rules.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "quorate/session/label_budget.h"

namespace quorate::test {
namespace {

TEST(Queries, AlwaysAsksAndDrawsNothing) {
  Rng rng = make_rng(1, 1), same = rng;
  Decision d{.margin = 0.3};
  Always{}(rng, d);
  EXPECT_TRUE(d.ask);
  EXPECT_EQ(d.probability, 1);
  EXPECT_TRUE(std::isnan(d.draw));
  EXPECT_EQ(rng, same);
}

RC_GTEST_PROP(Queries, MarginAsksWithProbabilityBOverBPlusMargin, ()) {
  Rng rng = make_rng(*rc::gen::arbitrary<std::uint64_t>(), 1), same = rng;
  const double b = 0.001 * *rc::gen::inRange(1, 100'000), margin = 0.001 * *rc::gen::inRange(-100'000, 100'000);
  Decision d{.margin = margin};
  MarginQuery{b}(rng, d);
  RC_ASSERT(d.margin == margin);
  RC_ASSERT(std::abs(d.probability - b / (b + std::abs(margin))) < 1e-15);
  const double draw = uniform(same);
  RC_ASSERT(d.draw == draw);
  RC_ASSERT(d.ask == (draw < d.probability));
  RC_ASSERT(rng == same);
}

RC_GTEST_PROP(Queries, RandomAsksWithProbabilityP, ()) {
  Rng rng = make_rng(*rc::gen::arbitrary<std::uint64_t>(), 1), same = rng;
  const double p = 0.01 * *rc::gen::inRange(0, 101);
  Decision d{.margin = 5};
  RandomQuery{p}(rng, d);
  RC_ASSERT(d.probability == p);
  RC_ASSERT(d.ask == (uniform(same) < p));
  RC_ASSERT(rng == same);
}

/// How far `asked` of n is from n p, in standard deviations.
double deviations(int asked, int n, double p) { return std::abs(asked - n * p) / std::sqrt(n * p * (1 - p)); }

TEST(Queries, AskAsOftenAsTheySay) {
  Rng rng = make_rng(7, 1);
  constexpr int n = 40'000;
  for (const double margin : {0.0, 0.1, -1.0, 10.0})
    for (const double b : {0.1, 1.0, 5.0}) {
      int asked = 0;
      for (int i = 0; i < n; ++i) {
        Decision d{.margin = margin};
        MarginQuery{b}(rng, d);
        asked += d.ask;
      }
      if (margin == 0)
        EXPECT_EQ(asked, n) << "no opinion: always asks";
      else
        EXPECT_LT(deviations(asked, n, b / (b + std::abs(margin))), 4) << margin << " " << b;
    }
  for (const double p : {0.01, 0.5, 0.9}) {
    int asked = 0;
    for (int i = 0; i < n; ++i) {
      Decision d;
      RandomQuery{p}(rng, d);
      asked += d.ask;
    }
    EXPECT_LT(deviations(asked, n, p), 4) << p;
  }
}

TEST(Queries, NeverAtZeroAndAlwaysAtOne) {
  Rng rng = make_rng(8, 1);
  for (int i = 0; i < 10'000; ++i) {
    Decision never, always;
    RandomQuery{0}(rng, never);
    RandomQuery{1}(rng, always);
    ASSERT_FALSE(never.ask);
    ASSERT_TRUE(always.ask);
  }
}

}  // namespace
}  // namespace quorate::test
