#include "quorate/weights/second_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <functional>
#include <limits>
#include <map>

#include "quorate/base/error.h"
#include "quorate/base/memory.h"
#include "support/dense_matrix.h"
#include "support/edit.h"

namespace quorate::test {
namespace {

using testing::HasSubstr;

/// One task, written out.
struct Literal {
  explicit Literal(std::size_t d) : A(identity(d)), w(d) {}
  void update(double y, const DenseVector& x) {
    add_outer(A, 1, x);
    nudge(y, x);
  }
  void nudge(double a, const DenseVector& x) {
    for (std::size_t f = 0; f < x.size(); ++f) w[f] += a * x[f];
  }
  /// x^T (A + x x^T)^-1 w: what the slides call p.
  double margin(const DenseVector& x) const {
    DenseMatrix with = A;
    add_outer(with, 1, x);
    return product(x, product(inverse_of(with).first, w));
  }
  double r(const DenseVector& x) const { return product(x, product(inverse_of(A).first, x)); }
  double estimate(const DenseVector& x) const { return product(x, product(inverse_of(A).first, w)); }
  DenseMatrix A;
  DenseVector w;
};

RC_GTEST_PROP(FullConfidence, IsRidgeRegressionWithMatricesWrittenOut, ()) {
  constexpr std::size_t d = 9;
  constexpr Task kTasks = 3;
  Rng rng = make_rng(*rc::gen::arbitrary<std::uint64_t>(), 0);
  Memory memory;
  FullConfidence full(&memory);
  std::vector<Literal> literal(kTasks, Literal(d));
  for (std::size_t n = 0; n < 90; ++n) {
    const auto task = static_cast<Task>(below(kTasks, rng));
    const Vector x = some_vector(rng, 1 + n / 10);  // features keep arriving
    const DenseVector whole = spread(x, d);
    const RidgeEstimate j = full(task, x);
    RC_ASSERT(std::abs(j.r - literal[task].r(whole)) < 1e-10);
    RC_ASSERT(std::abs(j.estimate - literal[task].estimate(whole)) < 1e-10);
    RC_ASSERT(std::abs(j.margin() - literal[task].margin(whole)) < 1e-10);
    const double y = below(2, rng) == 0 ? 1 : -1;
    if (below(4, rng) == 0) {
      full.nudge(task, 0.3 * y, x);
      literal[task].nudge(0.3 * y, whole);
    } else {
      full.update(task, y, x);
      literal[task].update(y, whole);
    }
  }
  RC_ASSERT(full.rebuilt() == 0u);
}

TEST(FullConfidence, ATaskNeverSeenKnowsNothing) {
  Memory memory;
  FullConfidence full(&memory);
  const RidgeEstimate j = full(7, sparse({3, 4'000'000'000u}, {3, 4}));
  EXPECT_EQ(j.estimate, 0);
  EXPECT_EQ(j.r, 25) << "|x|^2";
  EXPECT_EQ(j.margin(), 0);
  EXPECT_EQ(memory.bytes(), 0u);
  full.update(7, 1, dense({1, 0}));
  EXPECT_EQ(full(8, dense({1, 0})).r, 1) << "tasks learn alone";
  EXPECT_EQ(full(7, dense({1, 0})).r, 0.5);
  EXPECT_EQ(full(7, sparse({0, 9}, {1, 2})).r, 4.5) << "a feature it has not seen";
}

TEST(FullConfidence, ConfidenceOnlyGrowsAndANudgeLeavesItAlone) {
  Rng rng = make_rng(3, 0);
  Memory memory;
  FullConfidence full(&memory);
  const Vector probe = dense({0.5, -0.5, 0.5, 0.5});
  double last = full(0, probe).r;
  EXPECT_EQ(last, 1);
  for (int n = 0; n < 50; ++n) {
    const Vector x = some_vector(rng, 4);
    full.nudge(0, 0.5, x);
    EXPECT_EQ(full(0, probe).r, last);
    full.update(0, 1, x);
    const double now = full(0, probe).r;
    EXPECT_LE(now, last + 1e-15);
    EXPECT_GT(now, 0);
    last = now;
  }
  EXPECT_LT(last, 0.5);
}

/// Entry (i, j) of the first task's triangle.
double entry(const Column<double>& triangle, std::size_t i, std::size_t j) {
  return i >= j ? triangle[i * (i + 1) / 2 + j] : triangle[j * (j + 1) / 2 + i];
}
/// The largest entry of A A^-1 - I, and of u - A^-1 w, of the first task.
std::pair<double, double> residual(const FullConfidence::Packed& p) {
  const std::size_t n = p.size[0];
  double matrix = 0, vector = 0;
  for (std::size_t i = 0; i < n; ++i) {
    double u = 0;
    for (std::size_t j = 0; j < n; ++j) {
      double sum = i == j ? -1 : 0;
      for (std::size_t k = 0; k < n; ++k) sum += entry(p.A, i, k) * entry(p.inverse, k, j);
      matrix = std::max(matrix, std::abs(sum));
      u += entry(p.inverse, i, j) * p.w[j];
    }
    vector = std::max(vector, std::abs(u - p.u[i]));
  }
  return {matrix, vector};
}

TEST(FullConfidence, AnInverseThatDriftedIsMadeAnew) {
  constexpr std::size_t d = 6;
  Rng rng = make_rng(4, 0);
  Memory memory;
  FullConfidence full(&memory);
  for (int n = 0; n < 63; ++n) {
    Vector x = dense(DenseVector(d));
    for (double& v : x.value) v = 2 * uniform(rng) - 1;
    full.update(2, n % 2 == 0 ? 1 : -1, x);
  }
  FullConfidence::Packed packed = full.pack();
  ASSERT_EQ(packed.updates[0], 63u);
  for (const double error : {0.0, 1e-13, 1e-5, 0.3}) {
    FullConfidence::Packed wrong = packed;
    for (std::size_t i = 0; i < packed.inverse.size(); ++i) (*edit(wrong.inverse))[i] *= i % 2 == 0 ? 1 + error : 1 - error;
    FullConfidence drifted(&memory);
    drifted.unpack(wrong);
    EXPECT_EQ(drifted.rebuilt(), 0u);
    const Vector x = dense({1, -0.5, 0.25, 0.5, -1, 0.75});
    drifted.update(2, 1, x);  // the 64th: it looks
    EXPECT_EQ(drifted.rebuilt(), error > 1e-9 ? 1u : 0u) << error;
    const auto [matrix, vector] = residual(drifted.pack());
    EXPECT_LT(matrix, 1e-11) << error;
    EXPECT_LT(vector, 1e-11) << error;
    drifted.update(2, 1, x);
    EXPECT_EQ(drifted.rebuilt(), error > 1e-9 ? 1u : 0u) << "and is sound again";
  }
  // Between two looks it may be wrong: the error is found at the next multiple of 64, not before.
  FullConfidence::Packed early = packed;
  early.updates[0] = 10;
  for (std::size_t i = 0; i < packed.inverse.size(); ++i) (*edit(early.inverse))[i] *= 0.99;
  FullConfidence drifted(&memory);
  drifted.unpack(early);
  for (int n = 0; n < 53; ++n) drifted.update(2, 1, dense({1, 0, 0, 0, 0, 1}));
  EXPECT_EQ(drifted.rebuilt(), 0u);
  drifted.update(2, 1, dense({1, 1, 1, 1, 1, 1}));
  EXPECT_EQ(drifted.rebuilt(), 1u);
}

TEST(FullConfidence, ThousandsOfUpdatesLeaveTheInverseExact) {
  constexpr std::size_t d = 12;
  Rng rng = make_rng(5, 0);
  for (const double size : {1.0, 100.0}) {
    Memory memory;
    FullConfidence full(&memory);
    for (int n = 0; n < 5000; ++n) {
      Vector x = some_vector(rng, d);
      for (double& v : x.value) v *= size;
      full.update(0, n % 3 == 0 ? 1 : -1, x);
    }
    const auto [matrix, vector] = residual(full.pack());
    EXPECT_LT(matrix, 1e-8) << size;
    EXPECT_LT(vector, 1e-9) << size;
    EXPECT_EQ(full.pack().updates[0], 5000u);
  }
}

TEST(FullConfidence, TooManyFeaturesAreRefusedWithTheWayOut) {
  Memory memory;
  FullConfidence full(&memory);
  full.update(0, 1, dense({1, 1}));
  const auto before = full.pack();
  for (const auto& change : {std::function<void(const Features&)>([&](const Features& x) { full.update(1, 1, x); }),
                             std::function<void(const Features&)>([&](const Features& x) { full.nudge(1, 1, x); })}) {
    try {
      change(sparse({static_cast<Index>(FullConfidence::kMaxFeatures)}, {1}));
      FAIL() << "16385 features accepted";
    } catch (const DataError& e) {
      EXPECT_THAT(e.what(),
                  AllOf(HasSubstr("16385 features"), HasSubstr("2 GB"), HasSubstr("16384"), HasSubstr("diagonal=true")));
    }
    EXPECT_THROW(change(sparse({kMaxIndex + 1}, {1})), DataError);
  }
  EXPECT_EQ(full.pack().task, before.task) << "a task that was refused is not there";
  EXPECT_EQ(full(1, sparse({static_cast<Index>(FullConfidence::kMaxFeatures)}, {2})).r, 4) << "but may be predicted";
}

TEST(FullConfidence, PackAndUnpackIsTheSameModel) {
  Rng rng = make_rng(6, 0);
  Memory memory;
  FullConfidence full(&memory);
  for (const Task task : {9u, 2u, 4u, 9u, 4u, 4u, 2u}) full.update(task, 1, some_vector(rng, 3 + task));
  const auto packed = full.pack();
  EXPECT_THAT(packed.task, testing::ElementsAre(2, 4, 9));
  EXPECT_THAT(packed.updates, testing::ElementsAre(2, 3, 2));
  FullConfidence back(&memory);
  back.update(1, 1, dense({1}));  // forgotten
  back.unpack(packed);
  EXPECT_EQ(back.pack().task, packed.task);
  for (int n = 0; n < 100; ++n) {
    const auto task = static_cast<Task>(below(10, rng));
    const Vector x = some_vector(rng, 14);
    ASSERT_TRUE(same_bits(full(task, x).r, back(task, x).r));
    ASSERT_TRUE(same_bits(full(task, x).estimate, back(task, x).estimate));
    full.update(task, -1, x);
    back.update(task, -1, x);
  }
}

TEST(FullConfidence, UnpackRefusesWhatItCannotHavePacked) {
  // One task of two features: A = [2 1; 1 3], its inverse [3 -1; -1 2] / 5.
  const FullConfidence::Packed good{{4}, {2}, {1}, {2, 1, 3}, {0.6, -0.2, 0.4}, {1, 2}, {0.2, 0.6}};
  const auto refused = [&](auto change) {
    FullConfidence::Packed packed = good;
    change(packed);
    Memory memory;
    FullConfidence full(&memory);
    EXPECT_THROW(full.unpack(packed), DataError);
  };
  Memory memory;
  FullConfidence full(&memory);
  full.unpack(good);
  EXPECT_DOUBLE_EQ(full(4, dense({1, 0})).r, 0.6);
  EXPECT_NO_THROW(full.unpack({}));
  EXPECT_EQ(full(4, dense({1, 0})).r, 1);
  const double nan = std::nan(""), infinite = std::numeric_limits<double>::infinity();
  refused([](auto& p) { p.size.push_back(1); });
  refused([](auto& p) { p.updates.clear(); });
  refused([](auto& p) { p.size[0] = 3; });
  refused([](auto& p) { p.size[0] = 0xFFFFFFFFu; });
  refused([](auto& p) { p.task[0] = 0xFFFFFFFFu; });
  refused([](auto& p) { p.A = {2, 1}; });
  refused([](auto& p) { p.inverse = {0.6, -0.2, 0.4, 1}; });
  refused([](auto& p) { p.w.pop_back(); });
  refused([](auto& p) { p.u.push_back(0); });
  refused([&](auto& p) { p.A = {2, nan, 3}; });
  refused([&](auto& p) { p.inverse = {0.6, infinite, 0.4}; });
  refused([&](auto& p) { p.w[0] = -infinite; });
  refused([&](auto& p) { p.u[1] = nan; });
  refused([](auto& p) { p.A = {0.5, 1, 3}; });           // A is I and more
  refused([](auto& p) { p.inverse = {0.6, -0.2, 0}; });  // positive
  refused([](auto& p) { p.inverse = {0.6, -0.2, -0.4}; });
  for (const Task second : {4u, 3u})  // twice, out of order
    refused([&](auto& p) {
      p.task.push_back(second);
      p.size.push_back(1);
      p.updates.push_back(1);
      p.A = {2, 1, 3, 2};
      p.inverse = {0.6, -0.2, 0.4, 0.5};
      p.w.push_back(1);
      p.u.push_back(0.5);
    });
}

TEST(FullConfidence, WhatItLearnedFromHugeValuesIsLoadedAgain) {
  for (const double size : {1e7, 1e9, 1e18}) {
    Rng rng = make_rng(9, 0);
    Memory memory;
    FullConfidence full(&memory), back(&memory);
    for (int n = 0; n < 400; ++n) {
      Vector x = dense(DenseVector(6));
      for (double& v : x.value) v = below(4, rng) == 0 ? uniform(rng) : size + 86400 * static_cast<double>(below(2, rng));
      const RidgeEstimate j = full(0, x);
      ASSERT_TRUE(std::isfinite(j.margin()) && j.r >= 0) << size << " at " << n;
      full.update(0, below(2, rng) == 0 ? 1 : -1, x);
      if (n % 3 == 0) full.nudge(0, 0.1, x);
      ASSERT_NO_THROW(back.unpack(full.pack())) << size << " at " << n;
    }
    DiagonalConfidence diagonal(&memory);
    for (int n = 0; n < 1000; ++n) diagonal.update(0, 1, dense({size, -size}));
    diagonal.check();
    EXPECT_TRUE(std::isfinite(diagonal(0, dense({size, size})).margin()));
    Tensors saved;
    DiagonalConfidence::state(diagonal, Writer(saved));
    DiagonalConfidence loaded(&memory);
    EXPECT_NO_THROW(DiagonalConfidence::state(loaded, Reader(saved)));
  }
}

RC_GTEST_PROP(DiagonalConfidence, IsALoopOverTheFeatures, ()) {
  Rng rng = make_rng(*rc::gen::arbitrary<std::uint64_t>(), 0);
  constexpr std::size_t kFeatures = 150;  // more than it looks at in one go
  Memory memory;
  DiagonalConfidence diagonal(&memory);
  std::map<std::pair<Task, Index>, std::pair<float, float>> state;  // w and squares
  for (int n = 0; n < 40; ++n) {
    const auto task = static_cast<Task>(below(3, rng));
    Vector x = some_vector(rng, kFeatures);
    if (n % 5 == 0 && !x.index.empty()) x = sparse({7, 1'000'000'000u + static_cast<Index>(n % 2)}, {0.5, -1});
    const Features view = x;
    double estimate = 0, r = 0;
    for (std::size_t k = 0; k < view.size(); ++k) {
      const auto found = state.find({task, view.at(k)});
      const auto [w, squares] = found == state.end() ? std::pair<float, float>{} : found->second;
      const double A = 1 + static_cast<double>(squares);
      estimate += view.value[k] * static_cast<double>(w) / A;
      r += view.value[k] * view.value[k] / A;
    }
    const RidgeEstimate j = diagonal(task, x);
    RC_ASSERT(std::abs(j.estimate - estimate) < 1e-12 * (1 + std::abs(estimate)));
    RC_ASSERT(std::abs(j.r - r) < 1e-12 * (1 + r));
    RC_ASSERT(j.margin() == j.estimate / (1 + j.r));
    const bool nudge = below(3, rng) == 0;
    const double y = (below(2, rng) == 0 ? 1 : -1) * (nudge ? 0.1 : 1);
    if (nudge)
      diagonal.nudge(task, y, x);
    else
      diagonal.update(task, y, x);
    for (std::size_t k = 0; k < view.size(); ++k) {
      auto& [w, squares] = state[{task, view.at(k)}];
      w = static_cast<float>(static_cast<double>(w) + y * view.value[k]);
      if (!nudge) squares = static_cast<float>(static_cast<double>(squares) + view.value[k] * view.value[k]);
    }
  }
}

TEST(DiagonalConfidence, OfOneFeatureAtATimeIsTheFullMatrix) {
  Rng rng = make_rng(7, 0);
  Memory memory;
  DiagonalConfidence diagonal(&memory);
  FullConfidence full(&memory);
  for (int n = 0; n < 500; ++n) {
    const Vector x = sparse({static_cast<Index>(below(20, rng))}, {2 * uniform(rng) - 1});
    ASSERT_NEAR(diagonal(1, x).r, full(1, x).r, 1e-5);
    ASSERT_NEAR(diagonal(1, x).margin(), full(1, x).margin(), 1e-5);
    diagonal.update(1, n % 2 == 0 ? 1 : -1, x);
    full.update(1, n % 2 == 0 ? 1 : -1, x);
  }
}

}  // namespace
}  // namespace quorate::test
