#include "quorate/kernel/kernels.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <vector>

#include "support/dense_matrix.h"

namespace quorate::test {
namespace {

/// Random vectors, their squared lengths and their inner products with x.
struct Products {
  Products(Rng& rng, std::size_t count, std::size_t d, double size) : x(d), z(count, DenseVector(d)) {
    for (double& v : x) v = size * (2 * uniform(rng) - 1);
    for (DenseVector& one : z)
      for (double& v : one) v = size * (2 * uniform(rng) - 1);
    xx = product(x, x);
    for (const DenseVector& one : z) {
      zz.push_back(product(one, one));
      k.push_back(product(x, one));
    }
  }
  DenseVector x;
  DenseMatrix z;
  double xx = 0;
  DenseVector zz, k;
};

RC_GTEST_PROP(Kernels, AreTheirFormulas, ()) {
  Rng rng = make_rng(*rc::gen::arbitrary<std::uint64_t>(), 0);
  const Products p(rng, below(20, rng), 1 + below(6, rng), static_cast<double>(1 + below(3, rng)));

  DenseVector k = p.k;
  LinearKernel{}(p.xx, p.zz, k);
  RC_ASSERT(k == p.k);

  const std::uint64_t degree = 1 + below(20, rng);
  const double offset = below(3, rng) == 0 ? 0 : 2 * uniform(rng);
  k = p.k;
  PolynomialKernel{degree, offset}(p.xx, p.zz, k);
  for (std::size_t j = 0; j < k.size(); ++j) {
    const double expected = std::pow(offset + p.k[j], static_cast<double>(degree));
    RC_ASSERT(std::abs(k[j] - expected) <= 1e-14 * std::abs(expected));
  }

  const double gamma = 0.01 + uniform(rng);
  k = p.k;
  GaussianKernel{gamma}(p.xx, p.zz, k);
  for (std::size_t j = 0; j < k.size(); ++j) {
    double squares = 0;
    for (std::size_t f = 0; f < p.x.size(); ++f) squares += (p.x[f] - p.z[j][f]) * (p.x[f] - p.z[j][f]);
    RC_ASSERT(std::abs(k[j] - std::exp(-gamma * squares)) <= 1e-13);
  }
}

TEST(Kernels, OfDefaultsAreWhatIsDocumented) {
  const DenseVector zz{4};
  DenseVector k{3};
  PolynomialKernel{}(9, zz, k);
  EXPECT_EQ(k[0], 16) << "(1 + 3)^2";
  k = {3};
  GaussianKernel{}(9, zz, k);
  EXPECT_DOUBLE_EQ(k[0], std::exp(-7.0));
  EXPECT_TRUE(std::holds_alternative<GaussianKernel>(Kernel{}));
}

TEST(PolynomialKernel, KeepsTheSignOfOddPowers) {
  for (const std::uint64_t degree : {1u, 2u, 3u, 4u}) {
    DenseVector k{-3, 0, 1};
    PolynomialKernel{degree, 1}(0, DenseVector(3), k);
    EXPECT_EQ(k, (DenseVector{std::pow(-2.0, static_cast<double>(degree)), 1, std::pow(2.0, static_cast<double>(degree))}));
  }
}

TEST(GaussianKernel, IsNeverAboveOneWhateverRoundingSaysOfTheDistance) {
  DenseVector k{1 + 1e-15, 1, 1e6};
  GaussianKernel{1e6}(1, DenseVector{1, 1, 1}, k);
  EXPECT_EQ(k, (DenseVector{1, 1, 1})) << "squared distances below 0, exactly 0, and far below 0";
  Rng rng = make_rng(1, 0);
  for (int n = 0; n < 1000; ++n) {  // a vector with itself
    const Products p(rng, 1, 5, 100);
    DenseVector same{p.xx};
    GaussianKernel{3}(p.xx, DenseVector{p.xx}, same);
    ASSERT_EQ(same[0], 1);
  }
}

TEST(GaussianKernel, OfVectorsFarApartIsNought) {
  DenseVector k{-1e200, 0, 0};
  GaussianKernel{2}(1e200, DenseVector{1e200, 353, 355}, k);
  EXPECT_EQ(k[0], 0);
  EXPECT_EQ(k[1], 0) << "xx counts";
  DenseVector near{0, 0};
  GaussianKernel{2}(0, DenseVector{353, 355}, near);
  EXPECT_GT(near[0], 0);
  EXPECT_EQ(near[1], 0) << "exp(-710) is no normal number any more";
}

}  // namespace
}  // namespace quorate::test
