#include "quorate/experiments/generate_drift.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "quorate/base/error.h"
#include "support/make.h"

namespace quorate::test {
namespace {

struct Made {
  std::vector<Task> task;
  std::vector<int> label;
  std::vector<std::vector<double>> x;
};

Made make(const DriftOptions& o) {
  Made out;
  generate_drift(o, [&](Task task, int label, std::span<const double> x) {
    out.task.push_back(task);
    out.label.push_back(label);
    out.x.emplace_back(x.begin(), x.end());
  });
  return out;
}

/// The direction that the labels of a task point to, between two examples: the sum of y x.
std::vector<double> estimate(const Made& made, Task task, std::size_t begin, std::size_t end) {
  std::vector<double> u(made.x[0].size());
  for (std::size_t n = begin; n < end; ++n)
    for (std::size_t f = 0; made.task[n] == task && f < u.size(); ++f) u[f] += made.label[n] * made.x[n][f];
  return u;
}
double cosine(const std::vector<double>& a, const std::vector<double>& b) {
  double ab = 0, aa = 0, bb = 0;
  for (std::size_t f = 0; f < a.size(); ++f) ab += a[f] * b[f], aa += a[f] * a[f], bb += b[f] * b[f];
  return ab / std::sqrt(aa * bb);
}

TEST(Drift, TasksTakeTurnsOnTheUnitSphereAndASeedDecidesAll) {
  const DriftOptions o{.tasks = 3, .features = 5, .examples = 90, .seed = 7, .every = 20};
  const Made a = make(o), b = make(o);
  ASSERT_EQ(a.x.size(), 90u);
  EXPECT_EQ(a.x, b.x);
  EXPECT_EQ(a.label, b.label);
  for (std::size_t n = 0; n < 90; ++n) {
    EXPECT_EQ(a.task[n], n % 3);
    double squares = 0;
    for (const double v : a.x[n]) squares += v * v;
    EXPECT_NEAR(squares, 1, 1e-12);
  }
  EXPECT_NE(make({.tasks = 3, .features = 5, .examples = 90, .seed = 8, .every = 20}).x, a.x);
}

TEST(Drift, AShiftHasAName) {
  EXPECT_EQ(shift_named("none"), Shift::kNone);
  EXPECT_EQ(shift_named("together"), Shift::kTogether);
  EXPECT_EQ(shift_named("apart"), Shift::kApart);
  EXPECT_THROW(shift_named(""), UsageError);
  EXPECT_THROW(shift_named("Apart"), UsageError);
}

TEST(Drift, TargetsThatShiftTogetherStayRelatedAndOthersDoNot) {
  for (const Shift shift : {Shift::kNone, Shift::kTogether, Shift::kApart}) {
    const std::size_t half = 30'000;
    // One large shift in the middle, in three dimensions, where a plane is most of the space.
    const Made made = make({.tasks = 2,
                            .features = 3,
                            .examples = 2 * half,
                            .seed = 3,
                            .related = 1,
                            .shift = shift,
                            .every = half,
                            .angle = 2});
    const auto u0 = estimate(made, 0, 0, half), u1 = estimate(made, 1, 0, half), v0 = estimate(made, 0, half, 2 * half),
               v1 = estimate(made, 1, half, 2 * half);
    EXPECT_GT(cosine(u0, u1), 0.99) << "the same target before";
    EXPECT_EQ(cosine(u0, v0) > 0.99, shift == Shift::kNone) << "it moved";
    EXPECT_EQ(cosine(v0, v1) > 0.99, shift != Shift::kApart) << "both alike";
  }
}

TEST(Drift, NoiseIsTheShareOfWrongLabels) {
  const DriftOptions clean{.tasks = 1, .features = 4, .examples = 20'000, .shift = Shift::kNone};
  DriftOptions noisy = clean;
  noisy.noise = 0.2;
  const Made a = make(clean), b = make(noisy);
  ASSERT_EQ(a.x, b.x) << "the same instances";
  double wrong = 0;
  for (std::size_t n = 0; n < a.label.size(); ++n) wrong += a.label[n] != b.label[n];
  EXPECT_NEAR(wrong / 20'000, 0.2, 0.02);
}

TEST(Drift, OptionsOutOfRangeAreRefused) {
  for (const DriftOptions& bad :
       {DriftOptions{.tasks = 0}, DriftOptions{.features = 1}, DriftOptions{.examples = 0}, DriftOptions{.related = 1.5},
        DriftOptions{.every = 0}, DriftOptions{.angle = INFINITY}, DriftOptions{.noise = 0.6}, DriftOptions{.related = NAN}})
    EXPECT_THROW(make(bad), UsageError);
}

}  // namespace
}  // namespace quorate::test
