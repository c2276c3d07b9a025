#include "quorate/weights/task_gram.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "quorate/base/memory.h"
#include "quorate/base/rng.h"

namespace quorate::test {
namespace {

double product(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t f = 0; f < a.size(); ++f) sum += a[f] * b[f];
  return sum;
}

RC_GTEST_PROP(TaskGram, IsWhatTheWeightsThemselvesSay, ()) {
  constexpr std::size_t d = 5;
  Rng rng = make_rng(*rc::gen::arbitrary<std::uint64_t>(), 0);
  Memory memory;
  TaskGram G(&memory);
  std::vector<std::vector<double>> w;
  for (int n = 0; n < 500; ++n) {
    if (w.empty() || below(60, rng) == 0) {
      w.emplace_back(d, 0.0);
      G.ensure_tasks(w.size());
      RC_ASSERT(G.tasks() == w.size());
    }
    std::vector<double> x(d), c(w.size()), p(w.size());
    for (double& v : x) v = uniform(rng) - 0.5;
    for (double& v : c) v = uniform(rng) - 0.5;
    for (std::size_t j = 0; j < w.size(); ++j) p[j] = product(w[j], x);
    G.add(c, p, product(x, x));
    for (std::size_t j = 0; j < w.size(); ++j)
      for (std::size_t f = 0; f < d; ++f) w[j][f] += c[j] * x[f];
  }
  for (Task j = 0; j < w.size(); ++j)
    for (Task l = 0; l < w.size(); ++l) {
      std::vector<double> difference(d);
      for (std::size_t f = 0; f < d; ++f) difference[f] = w[j][f] - w[l][f];
      RC_ASSERT(std::abs(G.squared_distance(j, l) - product(difference, difference)) < 1e-9);
      RC_ASSERT(G.squared_distance(j, l) == G.squared_distance(l, j));
    }
  TaskGram back(&memory);
  back.unpack(G.pack());
  RC_ASSERT(back.pack().value == G.pack().value);
}

TEST(TaskGram, IsTheSameWhetherItsUpdatesWaitOrNot) {
  constexpr std::size_t K = 21;
  Memory memory;
  TaskGram G(&memory);
  G.ensure_tasks(K);
  std::vector<double> literal(K * K, 0.0), c(K), p(K), distances(K);
  std::vector<std::vector<double>> w(K, std::vector<double>(3, 0.0));
  Rng rng = make_rng(3, 0);
  for (int n = 0; n < 30; ++n) {  // more than wait together, and not a multiple of it
    std::vector<double> x(3);
    for (double& v : x) v = uniform(rng) - 0.5;
    for (double& v : c) v = uniform(rng) - 0.5;
    const double xx = product(x, x);
    for (std::size_t j = 0; j < K; ++j) {
      p[j] = product(w[j], x);
      for (std::size_t f = 0; f < x.size(); ++f) w[j][f] += c[j] * x[f];
    }
    G.add(c, p, xx);
    for (std::size_t j = 0; j < K; ++j)
      for (std::size_t l = 0; l < K; ++l) literal[j * K + l] += (c[j] * p[l] + c[l] * p[j]) + c[j] * c[l] * xx;
    const TaskGram::Packed packed = G.pack();
    ASSERT_EQ(packed.value, Column<double>(literal)) << n;
    for (const Task i : {0u, 1u, 12u, 20u}) {
      G.squared_distances(i, distances);
      for (Task j = 0; j < K; ++j) ASSERT_EQ(distances[j], G.squared_distance(j, i));
    }
    if (n % 7 == 0) {  // saved and loaded between
      TaskGram back(&memory);
      back.unpack(packed);
      ASSERT_EQ(back.pack().value, packed.value);
    }
  }
}

TEST(TaskGram, DistancesAreNeverNegative) {
  Memory memory;
  TaskGram G(&memory);
  G.ensure_tasks(2);
  Rng rng = make_rng(1, 0);
  double w = 0;
  for (int n = 0; n < 1000; ++n) {  // two tasks with the same weights
    const double x = 1e3 * (uniform(rng) - 0.5), c = uniform(rng);
    const std::vector<double> both{c, c}, p{w * x, w * x};
    G.add(both, p, x * x);
    w += c * x;
    ASSERT_GE(G.squared_distance(0, 1), 0);
    ASSERT_EQ(G.squared_distance(1, 1), 0);
  }
}

TEST(TaskGram, UnpackRefusesWhatIsNoGramMatrix) {
  const auto unpack = [](std::uint64_t tasks, std::vector<double> value) {
    Memory memory;
    TaskGram G(&memory);
    G.unpack({tasks, value});
    return G.tasks();
  };
  EXPECT_EQ(unpack(2, {1, 2, 2, 5}), 2u);
  EXPECT_EQ(unpack(0, {}), 0u);
  EXPECT_THROW(unpack(2, {1, 2, 3, 5}), DataError) << "not symmetric";
  EXPECT_THROW(unpack(2, {1, 2, 2}), DataError);
  EXPECT_THROW(unpack(1, {std::nan("")}), DataError);
  EXPECT_THROW(unpack(1, {std::numeric_limits<double>::infinity()}), DataError);
  EXPECT_THROW(unpack(std::uint64_t{1} << 32, {}), DataError) << "a product that overflows to 0";
}

}  // namespace
}  // namespace quorate::test
