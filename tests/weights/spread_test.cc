#include "quorate/weights/spread.h"

#include <gtest/gtest.h>

#include <cmath>

#include "quorate/base/error.h"
#include "quorate/base/memory.h"
#include "quorate/base/rng.h"

namespace quorate::test {
namespace {

/// About standard normal: the sum of twelve uniform numbers.
double normal(Rng& rng) {
  double sum = -6;
  for (int i = 0; i < 12; ++i) sum += uniform(rng);
  return sum;
}

Spreads spreads(std::size_t size) {
  Spreads out(std::pmr::get_default_resource());
  out.arrange(std::vector(size, Spreads::kNew));
  return out;
}

/// One column, whose place is 0.
template <class Draw>
Spreads spread_of(std::uint64_t n, Draw draw) {
  Spreads out = spreads(1);
  for (std::uint64_t i = 1; i <= n; ++i) out.count(std::vector{draw()}, std::vector{1.0}, Spreads::level_of(i));
  return out;
}

TEST(Spreads, NormalValuesAreStandardised) {
  Rng rng = make_rng(1, 0);
  const Spreads spread = spread_of(20'000, [&] { return 50 + 4 * normal(rng); });
  for (const double z : {-2.0, -1.0, 0.0, 0.5, 2.0}) EXPECT_NEAR(spread.standard(0, 50 + 4 * z), z, 0.1) << z;
  EXPECT_EQ(spread.standard(0, 1e9), 3);
  EXPECT_EQ(spread.standard(0, -1e9), -3);
}

TEST(Spreads, SkewedValuesAreRanked) {
  Rng rng = make_rng(2, 0);
  const Spreads spread = spread_of(20'000, [&] { return std::exp(2 * normal(rng)); });
  for (const double z : {-1.0, 0.0, 1.0, 2.0}) EXPECT_NEAR(spread.standard(0, std::exp(2 * z)), z, 0.35) << z;
}

TEST(Spreads, FlagsAndSmallCountsAreStandardised) {
  Rng rng = make_rng(12, 0);
  const Spreads flag = spread_of(20'000, [&] { return static_cast<double>(uniform(rng) < 0.5); });
  EXPECT_NEAR(flag.standard(0, 1), 1, 0.05);
  EXPECT_NEAR(flag.standard(0, 0), -1, 0.05);
  const Spreads count = spread_of(20'000, [&] { return std::floor(9 * uniform(rng) * uniform(rng)); });
  EXPECT_NEAR(count.standard(0, 8) - count.standard(0, 4), count.standard(0, 4) - count.standard(0, 0), 0.7);
}

TEST(Spreads, AFewOutliersSpoilNothing) {
  Rng rng = make_rng(3, 0);
  const Spreads spread = spread_of(20'000, [&] { return uniform(rng) < 0.005 ? 1e6 : normal(rng); });
  for (const double z : {-1.0, 0.0, 1.0}) EXPECT_NEAR(spread.standard(0, z), z, 0.2) << z;
}

TEST(Spreads, TheSampleIsBoundedAndAConstantIsNothing) {
  const Spreads spread = spread_of(100'000, [n = 0.0]() mutable { return n++; });
  EXPECT_LT(spread.sample(0).size(), Spreads::kMost);
  EXPECT_GT(spread.sample(0).size(), Spreads::kMost / 4);
  EXPECT_NEAR(spread.standard(0, 50'000), 0, 0.25);
  const Spreads constant = spread_of(100, [] { return 7.0; });
  EXPECT_TRUE(constant.constant(0));
  EXPECT_EQ(constant.standard(0, 7), 0);
}

TEST(Spreads, LevelsAreHalvesOfHalves) {
  int levels[3] = {0, 0, 0};
  for (std::uint64_t n = 1; n <= 64'000; ++n)
    for (unsigned k = 0; k < 3; ++k) levels[k] += Spreads::level_of(n) >= k;
  EXPECT_EQ(levels[0], 64'000);
  EXPECT_NEAR(levels[1], 32'000, 700);
  EXPECT_NEAR(levels[2], 16'000, 600);
}

TEST(Spreads, PackedAndUnpackedIsTheSame) {
  Rng rng = make_rng(4, 0);
  Spreads spread = spread_of(1000, [&] { return normal(rng); }), back = spreads(1);
  back.unpack(0, spread.pack(0), spread.sample(0));
  for (std::uint64_t n = 1001; n < 2000; ++n) {
    const double v = normal(rng);
    for (Spreads* one : {&spread, &back}) one->count(std::vector{v}, std::vector{1.0}, Spreads::level_of(n));
    ASSERT_EQ(spread.standard(0, v), back.standard(0, v));
  }
}

TEST(Spreads, AllColumnsAtOnceAreAsEachAlone) {
  Rng rng = make_rng(6, 0);
  constexpr std::size_t kColumns = 83;  // more than are counted together, and no multiple of a vector's length
  const auto draw = [&](std::size_t i, double n) {
    const double z = normal(rng);
    const double of_kind[] = {z,
                              std::exp(2 * z),
                              std::floor(9 * uniform(rng) * uniform(rng)),
                              7,
                              std::max(0.0, z),
                              z + n / 300,
                              uniform(rng) < 0.01 ? 1e9 : z,
                              -z * z * z};
    return of_kind[i % std::size(of_kind)];
  };
  Spreads all = spreads(kColumns);
  std::vector<Spreads> alone;
  for (std::size_t i = 0; i < kColumns; ++i) alone.push_back(spreads(1));
  std::vector<double> value(kColumns), here(kColumns), scaled(kColumns);
  for (std::uint64_t n = 1; n <= 1500; ++n) {
    for (std::size_t i = 0; i < kColumns; ++i) {
      value[i] = draw(i, static_cast<double>(n));
      here[i] = i % 3 > 0 || uniform(rng) < 0.7;
    }
    all.count(value, here, Spreads::level_of(n));
    all.standard(value, scaled);
    for (std::size_t i = 0; i < kColumns; ++i) {
      if (here[i] != 0) alone[i].count(std::vector{value[i]}, std::vector{1.0}, Spreads::level_of(n));
      ASSERT_EQ(scaled[i], alone[i].constant(0) ? 0 : alone[i].standard(0, value[i])) << "column " << i << " after " << n;
      ASSERT_EQ(all.sample(i), alone[i].sample(0));
    }
  }
}

TEST(Spreads, ColumnsAreArrangedAndKept) {
  Rng rng = make_rng(7, 0);
  Spreads all = spreads(4);
  for (std::uint64_t n = 1; n <= 300; ++n)
    all.count(std::vector{normal(rng), 5.0, 10 * normal(rng), normal(rng)}, std::vector(4, 1.0), Spreads::level_of(n));
  const double one = all.standard(0, 0.3), other = all.standard(2, 0.3);
  all.arrange(std::vector{std::size_t{2}, Spreads::kNew, std::size_t{0}, std::size_t{1}});
  EXPECT_EQ(all.standard(0, 0.3), other);
  EXPECT_EQ(all.times(1), 0);
  EXPECT_EQ(all.standard(2, 0.3), one);
  all.keep(std::vector<std::size_t>{1, 2});
  ASSERT_EQ(all.size(), 2);
  EXPECT_EQ(all.standard(1, 0.3), one);
}

TEST(Spreads, UnderALimitAllMemoryIsTakenWithTheColumn) {
  Memory memory(100'000), there(100'000);
  Spreads some(&memory), loaded(&there);
  const std::vector<std::size_t> from(10, Spreads::kNew);
  some.arrange(from);
  memory.take(memory.left());
  Rng rng = make_rng(1, 0);
  for (std::uint64_t n = 1; n <= 1000; ++n) {
    std::vector<double> value, here;
    for (std::size_t i = 0; i < 10; ++i) {
      value.push_back(normal(rng));
      here.push_back(n > 50 * i ? 1 : 0);
    }
    some.count(value, here, Spreads::level_of(n));
    if (n != 60) continue;
    loaded.arrange(from);
    const std::size_t bytes = there.bytes();
    for (std::size_t i = 0; i < 10; ++i) loaded.unpack(i, some.pack(i), some.sample(i));
    EXPECT_EQ(there.bytes(), bytes);
  }
  EXPECT_GT(some.times(9), 500u);
}

TEST(Spreads, AStateOutOfRangeIsRefused) {
  Rng rng = make_rng(5, 0);
  const Spreads good = spread_of(100, [&] { return normal(rng); });
  const auto refused = [&](auto change) {
    auto packed = good.pack(0);
    std::vector<double> sample(good.sample(0).begin(), good.sample(0).end());
    change(packed, sample);
    EXPECT_THROW(spreads(1).unpack(0, packed, sample), DataError);
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
