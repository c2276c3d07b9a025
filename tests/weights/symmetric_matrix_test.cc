#include "quorate/weights/symmetric_matrix.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "quorate/base/memory.h"
#include "support/allocations.h"
#include "support/dense_matrix.h"

namespace quorate::test {
namespace {

bool near(double a, double b, double scale = 1) { return std::abs(a - b) <= 1e-11 * scale; }

RC_GTEST_PROP(SymmetricMatrix, IsTheSymmetricMatrixWrittenOut, ()) {
  constexpr std::size_t kLargest = 12;
  Rng rng = make_rng(*rc::gen::arbitrary<std::uint64_t>(), 0);
  Memory memory;
  SymmetricMatrix T(&memory);
  DenseMatrix whole = identity(kLargest);  // outside T it is the identity
  for (int step = 0; step < 40; ++step) {
    const Vector x = some_vector(rng, kLargest);
    RC_ASSERT(near(T.quadratic(x), product(spread(x, kLargest), product(whole, spread(x, kLargest))), 100));
    T.grow(x.view().extent());
    RC_ASSERT(T.size() >= x.view().extent());
    const std::size_t n = T.size();
    RC_ASSERT(values_of({&T}).size() == n * (n + 1) / 2);

    DenseVector out(n, 77.0);  // what it held does not matter
    T.times(x, out);
    const DenseVector expected = product(whole, spread(x, kLargest));
    for (std::size_t i = 0; i < n; ++i) RC_ASSERT(near(out[i], expected[i], 100));

    if (below(2, rng) == 0) {
      T.add_outer(x);
      add_outer(whole, 1, spread(x, kLargest));
    } else {
      DenseVector u = spread(some_vector(rng, n), n);
      const double a = uniform(rng) - 0.5;
      T.add_outer(a, u);
      u.resize(kLargest);
      add_outer(whole, a, u);
    }
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j) {
        RC_ASSERT(near(T(i, j), whole[i][j], 100));
        RC_ASSERT(T(i, j) == T(j, i));
      }
  }
}

TEST(SymmetricMatrix, GrowsByTheIdentityAndNeverShrinks) {
  Memory memory;
  SymmetricMatrix T(&memory);
  EXPECT_EQ(T.size(), 0u);
  EXPECT_EQ(T.quadratic(dense({3, 4})), 25);
  EXPECT_EQ(T.quadratic(sparse({5, 4'000'000'000u}, {3, 4})), 25) << "far outside";
  EXPECT_EQ(T.quadratic(dense({})), 0);
  T.grow(2);
  T.add_outer(1, std::vector<double>{1, 2});
  T.grow(4);
  T.grow(3);
  ASSERT_EQ(T.size(), 4u);
  const DenseMatrix expected{{2, 2, 0, 0}, {2, 5, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}};
  for (std::size_t i = 0; i < 4; ++i)
    for (std::size_t j = 0; j < 4; ++j) EXPECT_EQ(T(i, j), expected[i][j]);
  EXPECT_EQ(memory.bytes(), 10 * sizeof(double) + 4 * sizeof(std::pmr::vector<double>))
      << "half of the matrix, and where its rows are";
}

TEST(SymmetricMatrix, InvertIsTheInverse) {
  Rng rng = make_rng(2, 0);
  for (const std::size_t n : {1u, 2u, 7u, 40u}) {
    Memory memory;
    SymmetricMatrix A(&memory);
    A.grow(n);
    DenseMatrix whole = identity(n);
    for (std::size_t k = 0; k < 2 * n; ++k) {
      const Vector x = some_vector(rng, n);
      A.add_outer(x);
      add_outer(whole, 1, spread(x, n));
    }
    const std::size_t bytes = memory.peak();
    reset_peak_bytes();
    const std::size_t live = live_bytes();
    for (std::size_t i = 0; i < n; ++i) A.row(i)[i] = std::sqrt(A.factor_row(i));
    A.invert_factor();
    EXPECT_EQ(memory.peak(), bytes) << "in place";
    EXPECT_EQ(peak_bytes(), live) << "and nothing beside the limit";
    const DenseMatrix expected = inverse_of(whole).first;
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j) ASSERT_NEAR(A(i, j), expected[i][j], 1e-12) << n;
  }
}

TEST(SymmetricMatrix, AssignTakesBackItsOwnValues) {
  Memory memory;
  SymmetricMatrix T(&memory), back(&memory);
  T.grow(3);
  T.add_outer(2, std::vector<double>{1, -1, 0.5});
  back.grow(9);
  back.assign(T.size(), values_of({&T}));
  EXPECT_EQ(back.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 3; ++j) EXPECT_EQ(back(i, j), T(i, j));
}

}  // namespace
}  // namespace quorate::test
