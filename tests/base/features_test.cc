#include "quorate/base/features.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "quorate/base/example.h"
#include "support/make.h"

namespace quorate::test {
namespace {

std::vector<double> numbers(std::size_t n) {
  std::vector<double> out;
  for (const int v : *rc::gen::container<std::vector<int>>(n, rc::gen::inRange(-1000, 1000))) out.push_back(v / 64.0);
  return out;
}

RC_GTEST_PROP(Features, DotIsThePlainSumUpToRounding, ()) {
  const auto n = *rc::gen::inRange<std::size_t>(0, 40);
  const std::vector<double> x = numbers(n), w = numbers(n);
  double plain = 0;
  for (std::size_t k = 0; k < n; ++k) plain += w[k] * x[k];
  // Multiples of 1/4096 below 2^20 add without rounding, so that every order gives the same.
  RC_ASSERT(dot(dense(x), [&](Index f) { return w[f]; }) == plain);
}

TEST(Features, DotAddsFourLanesInOneFixedOrder) {
  // Ten terms of very different size: only this order gives these bits.
  std::vector<double> t{1e16, 1, -1e16, 3, 1, 1e-3, 7, 1e8, -1e8, 0.1};
  const double lane0 = (t[0] + t[4]) + t[8], lane1 = (t[1] + t[5]) + t[9], lane2 = t[2] + t[6], lane3 = t[3] + t[7];
  const double expected = (lane0 + lane1) + (lane2 + lane3);
  EXPECT_TRUE(same_bits(dot(dense(t), [](Index) { return 1.0; }), expected));
  double plain = 0;
  for (const double v : t) plain += v;
  EXPECT_NE(plain, expected) << "these numbers do not tell the orders apart";
}

RC_GTEST_PROP(Features, DenseAndSparseWithAllPlacesGiveTheSameBits, ()) {
  Rng rng = make_rng(*rc::gen::arbitrary<std::uint64_t>(), 0);
  const auto n = *rc::gen::inRange<std::size_t>(1, 40);
  std::vector<double> x, w;
  std::vector<Index> all;
  for (std::size_t k = 0; k < n; ++k) {
    x.push_back(std::exp2(40 * uniform(rng) - 20) - 1);
    w.push_back(std::exp2(40 * uniform(rng) - 20) - 1);
    all.push_back(static_cast<Index>(k));
  }
  const auto weight = [&](Index f) { return w[f]; };
  RC_ASSERT(same_bits(dot(dense(x), weight), dot(sparse(all, x), weight)));
  RC_ASSERT(same_bits(squared_norm(dense(x)), squared_norm(sparse(all, x))));
}

TEST(Features, ExtentIsOneMoreThanTheHighestFeature) {
  EXPECT_EQ(dense({}).view().extent(), 0u);
  EXPECT_EQ(dense({0, 0, 1}).view().extent(), 3u);
  EXPECT_EQ(sparse({7}, {1}).view().extent(), 8u);
  EXPECT_EQ(sparse({0, kMaxIndex + 1}, {1, 1}).view().extent(), std::size_t{kMaxIndex} + 2);
  EXPECT_EQ(sparse({2, 9}, {1, 1}).view().at(1), 9u);
  EXPECT_EQ(dense({1, 1}).view().at(1), 1u);
}

TEST(Example, AMarginOfZeroPredictsMinusOneAndIsAlwaysAMistake) {
  EXPECT_EQ(predicted(0), -1);
  EXPECT_EQ(predicted(-0.0), -1);
  EXPECT_EQ(predicted(1e-300), 1);
  EXPECT_EQ(predicted(-1e-300), -1);
  EXPECT_TRUE(mistaken(1, 0) && mistaken(-1, 0) && mistaken(-1, 0.1) && mistaken(1, -0.1));
  EXPECT_FALSE(mistaken(1, 0.1) || mistaken(-1, -0.1));
}

}  // namespace
}  // namespace quorate::test
