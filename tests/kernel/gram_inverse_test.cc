#include "quorate/kernel/gram_inverse.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <limits>

#include "quorate/base/error.h"
#include "quorate/base/memory.h"
#include "support/dense_matrix.h"
#include "support/edit.h"

namespace quorate::test {
namespace {

DenseVector random_vector(Rng& rng, std::size_t d) {
  DenseVector out(d);
  for (double& v : out) v = 2 * uniform(rng) - 1;
  return out;
}

/// The inverse beside the vectors it is of.
struct Pair {
  explicit Pair(std::pmr::memory_resource* memory) : H(memory) {}

  DenseVector products(const DenseVector& x) const { return product(v, x); }
  /// Unless x is nearer to the span than `nearest` of its squared length.
  bool add(const DenseVector& x, double nearest) {
    DenseVector g(v.size());
    const double distance = H.project(products(x), product(x, x), g);
    if (distance <= nearest * product(x, x)) return false;
    H.add(g, distance);
    v.push_back(x);
    return true;
  }
  void remove(std::size_t r) {
    H.remove(r);
    v[r] = v.back();
    v.pop_back();
  }
  DenseMatrix gram() const {
    DenseMatrix out;
    for (const DenseVector& x : v) out.push_back(products(x));
    return out;
  }
  /// The largest entry of H^-1 H - I.
  double error() const {
    const DenseMatrix h = gram();
    double worst = 0;
    for (std::size_t i = 0; i < v.size(); ++i)
      for (std::size_t j = 0; j < v.size(); ++j) {
        double sum = i == j ? -1 : 0;
        for (std::size_t k = 0; k < v.size(); ++k) sum += H(i, k) * h[k][j];
        worst = std::max(worst, std::abs(sum));
      }
    return worst;
  }

  GramInverse H;
  DenseMatrix v;
};

RC_GTEST_PROP(GramInverse, IsTheInverseAndItsProjectionsAreLeastSquares, ()) {
  constexpr std::size_t d = 10, kMost = 8;
  Rng rng = make_rng(*rc::gen::arbitrary<std::uint64_t>(), 0);
  Memory memory;
  Pair pair(&memory);
  for (int step = 0; step < 60; ++step) {
    const std::size_t n = pair.v.size();
    if (n > 0 && (n == kMost || below(3, rng) == 0))
      pair.remove(below(n, rng));
    else
      pair.add(random_vector(rng, d), 0.05);
    const std::size_t now = pair.v.size();
    RC_ASSERT(pair.H.size() == now);
    const DenseMatrix fresh = inverse_of(pair.gram()).first;
    for (std::size_t i = 0; i < now; ++i)
      for (std::size_t j = 0; j < now; ++j) RC_ASSERT(std::abs(pair.H(i, j) - fresh[i][j]) < 1e-9);

    const DenseVector x = random_vector(rng, d), k = pair.products(x), expected = product(fresh, k);
    DenseVector g(now, 77.0);
    const double distance = pair.H.project(k, product(x, x), g);
    DenseVector rest = x;
    for (std::size_t j = 0; j < now; ++j) {
      RC_ASSERT(std::abs(g[j] - expected[j]) < 1e-9);
      for (std::size_t f = 0; f < d; ++f) rest[f] -= g[j] * pair.v[j][f];
    }
    RC_ASSERT(std::abs(distance - product(rest, rest)) < 1e-9);
    for (const DenseVector& one : pair.v) RC_ASSERT(std::abs(product(one, rest)) < 1e-9);  // what is left is orthogonal
  }
}

TEST(GramInverse, DistancesAreNeverNegative) {
  Rng rng = make_rng(2, 0);
  Memory memory;
  Pair pair(&memory);
  DenseVector none;
  EXPECT_EQ(pair.H.project(none, 25, none), 25) << "from nothing: the squared length";
  while (pair.v.size() < 5) pair.add(random_vector(rng, 9), 0.05);
  for (int n = 0; n < 1000; ++n) {  // in the span
    DenseVector x(9), g(5);
    const DenseVector weight = random_vector(rng, 5);
    for (std::size_t j = 0; j < 5; ++j)
      for (std::size_t f = 0; f < 9; ++f) x[f] += 100 * weight[j] * pair.v[j][f];
    const double vv = product(x, x), distance = pair.H.project(pair.products(x), vv, g);
    ASSERT_GE(distance, 0);
    ASSERT_LE(distance, GramInverse::kFloor * vv);
    for (std::size_t j = 0; j < 5; ++j) ASSERT_NEAR(g[j], 100 * weight[j], 1e-9);
  }
}

TEST(GramInverse, StaysExactOverThousandsThatComeAndGo) {
  constexpr std::size_t kSize = 30;
  Rng rng = make_rng(3, 0);
  Memory memory;
  Pair pair(&memory);
  double worst = 0;
  for (int step = 0; step < 20'000; ++step) {
    while (pair.v.size() < kSize) pair.add(random_vector(rng, 40), 0.01);
    if (step % 500 == 0) worst = std::max(worst, pair.error());
    pair.remove(below(kSize, rng));
  }
  EXPECT_LT(std::max(worst, pair.error()), 1e-6);
  EXPECT_EQ(pair.H.size(), kSize - 1);
}

TEST(GramInverse, TheLastTakesThePlaceOfTheOneThatLeaves) {
  const DenseMatrix all{{1, 0, 0, 0}, {1, 1, 0, 0}, {1, 1, 1, 0}, {2, 0, 0, 1}};
  for (std::size_t r = 0; r < all.size(); ++r) {
    Memory memory;
    Pair pair(&memory);
    for (const DenseVector& x : all) ASSERT_TRUE(pair.add(x, 0));
    pair.remove(r);
    ASSERT_EQ(pair.H.size(), 3u);
    const DenseMatrix expected = inverse_of(pair.gram()).first;
    for (std::size_t i = 0; i < 3; ++i)
      for (std::size_t j = 0; j < 3; ++j) EXPECT_NEAR(pair.H(i, j), expected[i][j], 1e-12) << r;
    while (!pair.v.empty()) pair.remove(pair.v.size() - 1);
    EXPECT_EQ(pair.H.size(), 0u);
    ASSERT_TRUE(pair.add({3, 4, 0, 0}, 0)) << "and one may come again";
    EXPECT_DOUBLE_EQ(pair.H(0, 0), 0.04);
  }
}

TEST(GramInverse, ResidualIsTheWorstOfAColumn) {
  Rng rng = make_rng(4, 0);
  Memory memory;
  Pair pair(&memory);
  while (pair.v.size() < 7) pair.add(random_vector(rng, 12), 0.05);
  const DenseMatrix gram = pair.gram();
  for (std::size_t j = 0; j < 7; ++j) EXPECT_LT(pair.H.residual(gram[j], j), 1e-12);
  auto packed = pair.H.pack();
  for (std::size_t i = 0; i < packed.value.size(); ++i) (*edit(packed.value))[i] *= 1 + 0.01 * uniform(rng);
  pair.H.unpack(packed);
  for (std::size_t j = 0; j < 7; ++j) {
    double worst = 0;
    for (std::size_t i = 0; i < 7; ++i) {
      double sum = i == j ? -1 : 0;
      for (std::size_t k = 0; k < 7; ++k) sum += pair.H(i, k) * gram[k][j];
      worst = std::max(worst, std::abs(sum));
    }
    EXPECT_NEAR(pair.H.residual(gram[j], j), worst, 1e-12);
    EXPECT_GT(worst, GramInverse::kDrift);
  }
  DenseVector bad = gram[0];
  for (const double v : {std::nan(""), std::numeric_limits<double>::infinity()}) {
    bad[3] = v;
    EXPECT_GE(pair.H.residual(bad, 0), 1e300) << "not a number is no small residual";
  }
}

TEST(GramInverse, RebuildRepairsWhatDrifted) {
  Rng rng = make_rng(5, 0);
  Memory memory;
  Pair pair(&memory);
  while (pair.v.size() < 9) pair.add(random_vector(rng, 15), 0.05);
  auto packed = pair.H.pack();
  for (std::size_t i = 0; i < packed.value.size(); ++i) (*edit(packed.value))[i] *= 1 + 0.01 * uniform(rng);
  pair.H.unpack(packed);
  EXPECT_GT(pair.error(), 1e-3);
  const DenseMatrix gram = pair.gram();
  pair.H.rebuild([&](std::size_t i, std::span<double> h) { std::copy(gram[i].begin(), gram[i].end(), h.begin()); },
                 [](std::size_t, std::span<const double>) { FAIL() << "independent vectors all stay"; });
  EXPECT_EQ(pair.H.size(), 9u);
  EXPECT_LT(pair.error(), 1e-12);
  pair.remove(4);
  ASSERT_TRUE(pair.add(random_vector(rng, 15), 0.05));
  EXPECT_LT(pair.error(), 1e-11) << "and goes on";
}

TEST(GramInverse, RebuildLetsDependentVectorsGoWithTheirProjection) {
  Rng rng = make_rng(8, 0);
  Memory memory;
  Pair pair(&memory);
  while (pair.v.size() < 8) pair.add(random_vector(rng, 15), 0.05);
  // What the inverse was made for is not what the vectors are: two depend on others, one is not a number.
  for (std::size_t f = 0; f < 15; ++f) {
    pair.v[3][f] = 2 * pair.v[0][f] - pair.v[2][f] * (1 + 1e-7);
    pair.v[7][f] = 0;
    pair.v[5][f] = std::nan("");
  }
  const std::size_t bytes = memory.bytes();
  const auto all = pair.v;
  std::vector<double> weight(8, 1), sum(15);
  pair.H.rebuild(
      [&](std::size_t i, std::span<double> h) {
        for (std::size_t j = 0; j < h.size(); ++j) h[j] = product(pair.v[i], pair.v[j]);
      },
      [&](std::size_t r, std::span<const double> c) {
        ASSERT_EQ(c.size(), r);
        for (std::size_t j = 0; j < r; ++j) weight[j] += weight[r] * c[j];
        pair.v[r] = pair.v.back();
        weight[r] = weight.back();
        pair.v.pop_back();
        weight.pop_back();
      });
  EXPECT_EQ(memory.bytes(), bytes) << "in place";
  ASSERT_EQ(pair.H.size(), 5u);
  EXPECT_LT(pair.error(), 1e-9);
  EXPECT_TRUE(pair.H.sound());
  for (std::size_t f = 0; f < 15; ++f) {
    double before = 0, after = 0;
    for (const std::size_t j : {0u, 1u, 2u, 3u, 4u, 6u}) before += all[j][f];
    for (std::size_t j = 0; j < pair.v.size(); ++j) after += weight[j] * pair.v[j][f];
    EXPECT_NEAR(after, before, 1e-5) << "the sum of all vectors is the same";
  }
}

TEST(GramInverse, AnInverseWithADiagonalThatIsNotPositiveIsNotSound) {
  Memory memory;
  Pair pair(&memory);
  pair.add({1, 0}, 0);
  pair.add({1, 1}, 0);
  EXPECT_TRUE(pair.H.sound());
  for (const double bad : {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    GramInverse H(&memory);
    H.unpack(pair.H.pack());
    H.scale(1 / bad);
    EXPECT_FALSE(H.sound()) << bad;
  }
}

TEST(GramInverse, AddsWithinTheBytesItSays) {
  constexpr std::size_t kLimit = 1 << 20;
  Rng rng = make_rng(6, 0);
  Memory memory(kLimit);
  Pair pair(&memory);
  for (int step = 0; step < 500; ++step) {
    if (pair.v.size() == 40 || (!pair.v.empty() && below(3, rng) == 0)) pair.remove(below(pair.v.size(), rng));
    const std::size_t ballast = memory.left() - pair.H.bytes_to_add() - pair.H.bytes_to_copy();
    void* all_else = memory.allocate(ballast);
    ASSERT_NO_THROW(pair.add(random_vector(rng, 50), 1e-3)) << "at size " << pair.v.size();
    memory.deallocate(all_else, ballast);
  }
  EXPECT_EQ(pair.H.size(), pair.v.size());
}

TEST(GramInverse, PackAndUnpackIsTheSameInverse) {
  Rng rng = make_rng(7, 0);
  Memory memory;
  Pair pair(&memory);
  while (pair.v.size() < 8) pair.add(random_vector(rng, 12), 0.05);
  pair.remove(2);
  Pair back(&memory);
  back.H.unpack(pair.H.pack());
  back.v = pair.v;
  for (int step = 0; step < 50; ++step) {
    ASSERT_EQ(back.H.size(), pair.H.size());
    for (std::size_t i = 0; i < pair.H.size(); ++i)
      for (std::size_t j = 0; j < pair.H.size(); ++j) ASSERT_TRUE(same_bits(back.H(i, j), pair.H(i, j)));
    const std::size_t r = below(pair.v.size(), rng);
    pair.remove(r);
    back.remove(r);
    while (pair.v.size() < 7) {
      const DenseVector x = random_vector(rng, 12);
      ASSERT_EQ(pair.add(x, 0.05), back.add(x, 0.05));
    }
  }
}

TEST(GramInverse, UnpackRefusesWhatIsNoInverse) {
  Memory memory;
  GramInverse H(&memory);
  const auto unpack = [&](std::uint64_t size, std::vector<double> value) {
    H.unpack({size, value});
    return H.size();
  };
  EXPECT_EQ(unpack(2, {2, -1, 3}), 2u);
  EXPECT_EQ(H(0, 1), -1);
  EXPECT_THROW(unpack(2, {2, -1}), DataError);
  EXPECT_THROW(unpack(2, {2, -1, 3, 4}), DataError);
  EXPECT_THROW(unpack(0, {1}), DataError);
  EXPECT_THROW(unpack(2, {2, std::nan(""), 3}), DataError);
  EXPECT_THROW(unpack(2, {2, std::numeric_limits<double>::infinity(), 3}), DataError);
  EXPECT_THROW(unpack(2, {2, -1, 0}), DataError) << "not positive";
  EXPECT_THROW(unpack(2, {-2, -1, 3}), DataError) << "not positive";
  EXPECT_THROW(unpack(std::uint64_t{1} << 32, {}), DataError);
  EXPECT_THROW(unpack(~std::uint64_t{0}, {}), DataError) << "a product that overflows to 0";
  EXPECT_EQ(H.size(), 2u) << "what was there stays";
  EXPECT_EQ(H(1, 1), 3);
  EXPECT_EQ(unpack(0, {}), 0u);
}

}  // namespace
}  // namespace quorate::test
