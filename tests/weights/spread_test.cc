#include "quorate/weights/spread.h"

#include <gtest/gtest.h>

#include <cmath>

#include "quorate/base/error.h"
#include "quorate/base/rng.h"

namespace quorate::test {
namespace {

/// About standard normal: the sum of twelve uniform numbers.
double normal(Rng& rng) {
  double sum = -6;
  for (int i = 0; i < 12; ++i) sum += uniform(rng);
  return sum;
}

template <class Draw>
Spread spread_of(std::uint64_t n, Draw draw) {
  Spread out(std::pmr::get_default_resource());
  for (std::uint64_t i = 1; i <= n; ++i) out.count(draw(), Spread::level_of(i));
  return out;
}

TEST(Spread, NormalValuesAreStandardised) {
  Rng rng = make_rng(1, 0);
  const Spread spread = spread_of(20'000, [&] { return 50 + 4 * normal(rng); });
  for (const double z : {-2.0, -1.0, 0.0, 0.5, 2.0}) EXPECT_NEAR(spread.standard(50 + 4 * z), z, 0.1) << z;
  EXPECT_EQ(spread.standard(1e9), 3);
  EXPECT_EQ(spread.standard(-1e9), -3);
}

TEST(Spread, SkewedValuesAreRanked) {
  Rng rng = make_rng(2, 0);
  const Spread spread = spread_of(20'000, [&] { return std::exp(2 * normal(rng)); });
  for (const double z : {-1.0, 0.0, 1.0, 2.0}) EXPECT_NEAR(spread.standard(std::exp(2 * z)), z, 0.35) << z;
}

TEST(Spread, FlagsAndSmallCountsAreStandardised) {
  Rng rng = make_rng(12, 0);
  const Spread flag = spread_of(20'000, [&] { return static_cast<double>(uniform(rng) < 0.5); });
  EXPECT_NEAR(flag.standard(1), 1, 0.05);
  EXPECT_NEAR(flag.standard(0), -1, 0.05);
  const Spread count = spread_of(20'000, [&] { return std::floor(9 * uniform(rng) * uniform(rng)); });
  EXPECT_NEAR(count.standard(8) - count.standard(4), count.standard(4) - count.standard(0), 0.7);
}

TEST(Spread, AFewOutliersSpoilNothing) {
  Rng rng = make_rng(3, 0);
  const Spread spread = spread_of(20'000, [&] { return uniform(rng) < 0.005 ? 1e6 : normal(rng); });
  for (const double z : {-1.0, 0.0, 1.0}) EXPECT_NEAR(spread.standard(z), z, 0.2) << z;
}

TEST(Spread, TheSampleIsBoundedAndAConstantIsNothing) {
  const Spread spread = spread_of(100'000, [n = 0.0]() mutable { return n++; });
  EXPECT_LT(spread.sample().size(), Spread::kMost);
  EXPECT_GT(spread.sample().size(), Spread::kMost / 4);
  EXPECT_NEAR(spread.standard(50'000), 0, 0.25);
  const Spread constant = spread_of(100, [] { return 7.0; });
  EXPECT_TRUE(constant.constant());
  EXPECT_EQ(constant.standard(7), 0);
}

TEST(Spread, LevelsAreHalvesOfHalves) {
  int levels[3] = {0, 0, 0};
  for (std::uint64_t n = 1; n <= 64'000; ++n)
    for (unsigned k = 0; k < 3; ++k) levels[k] += Spread::level_of(n) >= k;
  EXPECT_EQ(levels[0], 64'000);
  EXPECT_NEAR(levels[1], 32'000, 700);
  EXPECT_NEAR(levels[2], 16'000, 600);
}

TEST(Spread, PackedAndUnpackedIsTheSame) {
  Rng rng = make_rng(4, 0);
  Spread spread = spread_of(1000, [&] { return normal(rng); }), back(std::pmr::get_default_resource());
  back.unpack(spread.pack(), spread.sample());
  for (std::uint64_t n = 1001; n < 2000; ++n) {
    const double v = normal(rng);
    spread.count(v, Spread::level_of(n));
    back.count(v, Spread::level_of(n));
    ASSERT_EQ(spread.standard(v), back.standard(v));
  }
}

TEST(Spread, AStateOutOfRangeIsRefused) {
  Rng rng = make_rng(5, 0);
  const Spread good = spread_of(100, [&] { return normal(rng); });
  const auto refused = [&](auto change) {
    auto packed = good.pack();
    std::vector<double> sample(good.sample().begin(), good.sample().end());
    change(packed, sample);
    EXPECT_THROW(Spread(std::pmr::get_default_resource()).unpack(packed, sample), DataError);
  };
  refused([](auto& p, auto&) { p.low = NAN; });
  refused([](auto& p, auto&) { p.high = p.low - 1; });
  refused([](auto& p, auto&) { p.squares = -1; });
  refused([](auto& p, auto&) { p.level = 64; });
  refused([](auto& p, auto&) { p.n = 3; });
  refused([](auto&, auto& sample) { sample[3] = sample[2] - 1; });
  refused([](auto&, auto& sample) { sample.assign(300, 0.0); });
}

}  // namespace
}  // namespace quorate::test
