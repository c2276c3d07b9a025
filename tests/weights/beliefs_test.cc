#include "quorate/weights/beliefs.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <set>

#include "quorate/base/error.h"
#include "quorate/base/memory.h"
#include "support/edit.h"
#include "support/make.h"

namespace quorate::test {
namespace {

constexpr std::uint32_t kBlocks = 5;
constexpr Index kFeatures = 12;
constexpr std::size_t kPlenty = std::size_t{1} << 20;

/// Dense or with holes, also empty, also with zeros in it.
Vector vector_with_holes(Rng& rng) {
  Vector out;
  const bool holes = below(2, rng) == 0;
  const auto size = static_cast<Index>(below(kFeatures + 1, rng));
  for (Index f = 0; f < size; ++f) {
    if (holes && uniform(rng) < 0.5) continue;
    if (holes) out.index.push_back(f);
    out.value.push_back(uniform(rng) < 0.1 ? 0 : 2 * uniform(rng) - 1);
  }
  return out;
}

/// Means and variance of every weight, as AROW has them.
struct Literal {
  struct Belief {
    OfMeans w{};
    double s = 1;
  };
  MarginEstimate operator()(std::uint32_t block, const Features& x) {
    MarginEstimate out;
    for (std::size_t k = 0; k < x.size(); ++k) {
      const Belief b = at[{block, x.at(k)}];
      for (std::size_t m : {0u, 1u}) out.mean[m] += b.w[m] * x.value[k];
      out.variance += b.s * x.value[k] * x.value[k];
    }
    return out;
  }
  void learn(std::uint32_t block, const Features& x, double scale, const OfMeans& alpha, double beta) {
    for (std::size_t k = 0; k < x.size(); ++k) {
      Belief& b = at[{block, x.at(k)}];
      const double z = scale * x.value[k], s = b.s;
      for (std::size_t m : {0u, 1u}) b.w[m] += alpha[m] * s * z;
      b.s -= beta * s * z * s * z;
    }
  }
  std::map<std::pair<std::uint32_t, Index>, Belief> at;
};

bool equal(const MarginEstimate& a, const MarginEstimate& b) {
  return same_bits(a.mean[0], b.mean[0]) && same_bits(a.mean[1], b.mean[1]) && same_bits(a.variance, b.variance);
}
bool equal(const Beliefs::Packed& a, const Beliefs::Packed& b) {
  return a.block == b.block && a.feature == b.feature && a.weight == b.weight && a.second == b.second &&
         a.information == b.information;
}

/// One random update, the same for all.
template <class... B>
void learn_somewhere(Rng& rng, B&... all) {
  const auto block = static_cast<std::uint32_t>(below(kBlocks, rng));
  const Vector x = vector_with_holes(rng);
  const double scale = 0.3 + uniform(rng);
  const OfMeans alpha{2 * uniform(rng) - 1, 2 * uniform(rng) - 1};
  const double most = scale * scale * squared_norm(x);  // variances are at most 1
  const double beta = below(4, rng) == 0 || most == 0 ? 0 : uniform(rng) / most;
  (all.learn(block, x, scale, alpha, beta), ...);
}

RC_GTEST_PROP(Beliefs, AreAMapOfMeansAndVariancesByTheFormulasOfArow, ()) {
  Rng rng = make_rng(*rc::gen::arbitrary<std::uint64_t>(), 0);
  Memory memory;
  Beliefs exact(0, &memory), hashed(kPlenty, &memory);
  Literal literal;
  for (int n = 0; n < 60; ++n) {
    const auto block = static_cast<std::uint32_t>(below(kBlocks + 1, rng));
    const Vector x = vector_with_holes(rng);
    const MarginEstimate expected = literal(block, x);
    for (const Beliefs* b : {&exact, &hashed}) {
      const MarginEstimate e = (*b)(block, x);
      for (std::size_t m : {0u, 1u}) RC_ASSERT(std::abs(e.mean[m] - expected.mean[m]) < 1e-4);
      RC_ASSERT(std::abs(e.variance - expected.variance) < 1e-5 * (1 + expected.variance));
    }
    learn_somewhere(rng, exact, hashed, literal);
  }
}

RC_GTEST_PROP(Beliefs, ATableWithPlacesEnoughIsExactStorageToTheBit, ()) {
  Rng rng = make_rng(*rc::gen::arbitrary<std::uint64_t>(), 0);
  Memory memory;
  Beliefs exact(0, &memory), hashed(kPlenty, &memory);
  for (int n = 0; n < 60; ++n) {
    const auto block = static_cast<std::uint32_t>(below(kBlocks + 1, rng));
    const Vector x = vector_with_holes(rng);
    hashed.prefetch(block, x);
    RC_ASSERT(equal(exact(block, x), hashed(block, x)));
    learn_somewhere(rng, exact, hashed);
  }
}

TEST(Beliefs, TheTwoTestsAboveHaveNoTwoWeightsInOnePlace) {
  Memory memory;
  HashedCells<int> table(kPlenty, &memory);
  std::set<const int*> places;
  for (std::uint32_t block = 0; block <= kBlocks; ++block)
    for (Index f = 0; f < kFeatures; ++f) places.insert(&table.at(block, f));
  EXPECT_EQ(places.size(), (kBlocks + 1) * kFeatures);
}

TEST(Beliefs, InATableThatIsTooSmallWeightsSharePlaces) {
  Memory memory;
  Beliefs one(1, &memory);
  one.learn(3, sparse({7}, {1}), 1, {0.5, 0.25}, 0.5);
  for (const std::uint32_t block : {0u, 3u, 0xFFFFFFF0u}) {
    EXPECT_EQ(one(block, sparse({kMaxIndex}, {2})).mean, (OfMeans{1, 0.5}));
    EXPECT_EQ(one(block, sparse({kMaxIndex}, {2})).variance, 2);
  }
  // Two features of one instance in one place: the second meets what the first left.
  Beliefs both(1, &memory);
  both.learn(0, sparse({1, 2}, {1, 1}), 1, {1, 2}, 0.5);
  EXPECT_EQ(both(0, sparse({1}, {1})).mean, (OfMeans{1.5, 3}));
  EXPECT_NEAR(both(0, sparse({1}, {1})).variance, 0.375, 1e-7);  // 1/2 - 1/2 (1/2)^2
}

TEST(Beliefs, NothingIsKnownOfWhatWasNeverSeenAndItCostsNothing) {
  Memory memory;
  const Beliefs none(0, &memory);
  EXPECT_EQ(none(0xFFFFFFF0u, sparse({3, kMaxIndex}, {3, 4})).mean, OfMeans{});
  EXPECT_EQ(none(0, sparse({3, kMaxIndex}, {3, 4})).variance, 25);
  EXPECT_EQ(none(0, dense({})).variance, 0);
  EXPECT_EQ(memory.bytes(), 0u);
  const Beliefs table(100, &memory);
  EXPECT_EQ(table(7, sparse({3, kMaxIndex}, {3, 4})).variance, 25);
  EXPECT_EQ(memory.bytes(), 100 * Beliefs::kSlotBytes);
}

TEST(Beliefs, LearningWithoutBetaLeavesHowSureTheyAre) {
  Memory memory;
  for (const std::size_t slots : {std::size_t{0}, std::size_t{64}}) {
    Beliefs b(slots, &memory);
    b.learn(1, dense({1, 2}), 0.5, {1, 1}, 0.4);
    const double before = b(1, dense({1, 2})).variance;
    b.learn(1, dense({1, 2}), 0.5, {1, 1}, 0);
    EXPECT_EQ(b(1, dense({1, 2})).variance, before);
    EXPECT_GT(b(1, dense({1, 2})).mean[0], 0.5 * (1 + 4));
  }
}

TEST(Beliefs, VariancesOnlyFallAndAreNeverNegative) {
  Rng rng = make_rng(11, 0);
  Memory memory;
  for (const std::size_t slots : {std::size_t{0}, std::size_t{8}, kPlenty}) {
    Beliefs b(slots, &memory);
    std::map<std::pair<std::uint32_t, Index>, double> last;
    for (int n = 0; n < 300; ++n) {
      const auto block = static_cast<std::uint32_t>(below(kBlocks, rng));
      const Vector x = vector_with_holes(rng);
      const double scale = std::ldexp(1.0, static_cast<int>(below(40, rng)) - 20);
      const double r = scale * scale * b(block, x).variance;
      if (r > 0) b.learn(block, x, scale, {0.1, 0.1}, 1 / r);  // as much as it may be
      for (std::uint32_t i = 0; i < kBlocks; ++i)
        for (Index f = 0; f < kFeatures; ++f) {
          const double now = b(i, sparse({f}, {1})).variance;
          ASSERT_GT(now, 0);
          ASSERT_LE(now, n == 0 ? 1 : (last[{i, f}])) << n;
          last[{i, f}] = now;
        }
    }
  }
}

TEST(Beliefs, HugeAndTinyValuesLeaveNumbersThatCanBeSaved) {
  Memory memory;
  for (const std::size_t slots : {std::size_t{0}, std::size_t{64}})
    for (const double noise : {1e-300, 0.1})
      for (const Vector& x : {dense({1e150, 1}), dense({1e-150, 1}), dense({1e150, 1e-150}), dense({1e-300, 1e-320}),
                              sparse({2, 9}, {-1e150, 1e150})}) {
        Beliefs b(slots, &memory);
        for (int n = 0; n < 400; ++n) {
          const MarginEstimate e = b(0, x);
          ASSERT_TRUE(std::isfinite(e.mean[0]) && std::isfinite(e.mean[1]) && std::isfinite(e.variance) && e.variance >= 0)
              << n << " " << noise;
          const double beta = 1 / (e.variance + noise);
          b.learn(0, x, 1, {n % 2 == 0 ? beta : -beta, beta}, beta);
        }
        for (const Index f : {0u, 1u, 2u, 9u}) {
          const double variance = b(0, sparse({f}, {1})).variance;
          ASSERT_GE(variance, 0);
          ASSERT_LE(variance, 1);
        }
        Beliefs back(slots, &memory);
        ASSERT_NO_THROW(back.unpack(b.pack()));
        ASSERT_TRUE(equal(back(0, x), b(0, x)));
      }
}

TEST(Beliefs, PackAndUnpackIsTheSameModelAndGoesOnToTheBit) {
  for (const std::size_t slots : {std::size_t{0}, std::size_t{16}, std::size_t{1000}}) {
    Rng rng = make_rng(12, 0);
    Memory memory;
    Beliefs b(slots, &memory), back(0, &memory);
    back.learn(4, dense({1}), 1, {1, 1}, 0.5);  // forgotten
    for (int n = 0; n < 50; ++n) learn_somewhere(rng, b);
    b.learn(77, dense({0, 0, 0}), 1, {1, 1}, 0.5);  // a block in which nothing changed
    const Beliefs::Packed packed = held(b.pack());
    EXPECT_EQ(packed.block.size(), slots == 0 ? packed.weight.size() : 0);
    if (slots > 0) {
      EXPECT_EQ(packed.weight.size(), slots);
    }
    back.unpack(packed);
    EXPECT_TRUE(equal(back.pack(), packed));
    for (int n = 0; n < 200; ++n) {
      const Vector x = vector_with_holes(rng);
      const std::uint32_t block = n % 7 == 6 ? 77 : static_cast<std::uint32_t>(n % 7);
      ASSERT_TRUE(equal(b(block, x), back(block, x))) << slots << " " << n;
      learn_somewhere(rng, b, back);
    }
    EXPECT_TRUE(equal(back.pack(), b.pack()));
  }
}

TEST(Beliefs, ExactOnesArePackedInOrderWithoutThoseThatNeverChanged) {
  Memory memory;
  Beliefs b(0, &memory);
  b.learn(9, sparse({4'000'000'000u}, {1}), 1, {1, 2}, 0.5);
  b.learn(2, dense({0, 1, 0, 1}), 1, {-1, 0}, 0.25);
  const auto packed = b.pack();
  EXPECT_EQ(packed.block, (Column<std::uint32_t>{2, 2, 9}));
  EXPECT_EQ(packed.feature, (Column<std::uint32_t>{1, 3, 4'000'000'000u}));
  EXPECT_EQ(packed.weight, (Column<float>{-1, -1, 1}));
  EXPECT_EQ(packed.second, (Column<float>{0, 0, 2}));
  EXPECT_FLOAT_EQ(packed.information[0], 1.0F / 3);  // s = 3/4
  EXPECT_EQ(packed.information[2], 1);               // s = 1/2
}

TEST(Beliefs, UnpackRefusesWhatCannotBeAndChangesNothing) {
  const Beliefs::Packed good{{2, 2, 9}, {1, 3, 0}, {-1, 0, 1}, {1, 0, 2}, {0.5, 1, 0}},
      table{{}, {}, {1, 2, 3}, {3, 2, 1}, {0, 1, 2}};
  Memory memory;
  Beliefs b(0, &memory);
  EXPECT_NO_THROW(b.unpack({}));
  EXPECT_EQ(b(2, dense({0, 1})).variance, 1);
  b.unpack(good);
  const auto refused = [&](const Beliefs::Packed& start, const std::function<void(Beliefs::Packed&)>& change) {
    Beliefs::Packed bad = start;
    change(bad);
    EXPECT_THROW(b.unpack(bad), DataError);
    EXPECT_TRUE(equal(b.pack(), good));
  };
  const float nan = std::nanf(""), infinite = std::numeric_limits<float>::infinity();
  for (const Beliefs::Packed& start : {good, table}) {
    refused(start, [](auto& p) { edit(p.weight)->pop_back(); });
    refused(start, [](auto& p) { edit(p.second)->pop_back(); });
    refused(start, [](auto& p) { edit(p.information)->push_back(0); });
    refused(start, [](auto& p) { edit(p.block)->push_back(10); });
    refused(start, [](auto& p) { edit(p.feature)->push_back(10); });
    for (const float value : {nan, infinite, -infinite}) {
      refused(start, [&](auto& p) { edit(p.weight)->at(1) = value; });
      refused(start, [&](auto& p) { edit(p.second)->at(1) = value; });
      refused(start, [&](auto& p) { edit(p.information)->at(2) = value; });
    }
    refused(start, [](auto& p) { edit(p.information)->at(0) = -1e-6F; });
  }
  refused(good, [](auto& p) { edit(p.feature)->at(1) = 1; });
  refused(good, [](auto& p) { edit(p.feature)->at(1) = 0; });
  refused(good, [](auto& p) { edit(p.block)->at(2) = 1; });
  refused(good, [](auto& p) { edit(p.block)->at(2) = 0xFFFFFFFFu; });
  refused(good, [](auto& p) { edit(p.feature)->at(2) = 0xFFFFFFFFu; });
  refused(good, [](auto& p) { edit(p.block)->pop_back(); });
  refused(good, [](auto& p) { edit(p.feature)->clear(); });
}

}  // namespace
}  // namespace quorate::test
