#include "quorate/weights/calibration.h"

#include <gtest/gtest.h>

#include <cmath>

#include "quorate/base/rng.h"
#include "quorate/metrics/metrics.h"
#include "quorate/store/state.h"

namespace quorate {
namespace {

double truth(double margin) { return 1 / (1 + std::exp(-(1.5 * margin + 0.4))); }

TEST(Calibration, FindsTheLogisticThatMadeTheLabels) {
  Calibration c;
  Rng rng = make_rng(1, 0);
  for (int n = 0; n < 20'000; ++n) {
    const double m = 4 * uniform(rng) - 2;
    c.add(m, uniform(rng) < truth(m) ? 1 : -1, 1);
  }
  for (double m = -2; m <= 2; m += 0.25) EXPECT_NEAR(c(m), truth(m), 0.07) << m;
}

TEST(Calibration, LabelsBoughtInDoubtDoNotBiasIt) {
  // What is surer than the logistic says is hardly ever bought: without weights the uncertain ones would decide the slope.
  const auto real = [](double m) { return std::abs(m) > 1 ? truth(2 * m) : truth(m); };
  Calibration c;
  Reliability reliability;
  Rng rng = make_rng(2, 0);
  for (int n = 0; n < 60'000; ++n) {
    const double m = 4 * uniform(rng) - 2, asked = 0.2 / (0.2 + std::abs(m));
    const int y = uniform(rng) < real(m) ? 1 : -1;
    if (n > 30'000) reliability.add(y, c(m));
    if (uniform(rng) < asked) c.add(m, y, asked);
  }
  EXPECT_LT(reliability.error(), 0.04);
}

TEST(Calibration, FollowsALearnerWhoseMarginsGrow) {
  Calibration c;
  Rng rng = make_rng(3, 0);
  Reliability late;
  for (int n = 0; n < 8'000; ++n) {
    const double grown = n < 4'000 ? 1 : 5, m = 4 * uniform(rng) - 2;
    const int y = uniform(rng) < truth(m) ? 1 : -1;
    if (n >= 6'000) late.add(y, c(grown * m));
    c.add(grown * m, y, 1);
  }
  EXPECT_LT(late.error(), 0.05);
}

TEST(Calibration, IsAlwaysAProbabilityThatRisesWithTheMargin) {
  Rng rng = make_rng(4, 0);
  Calibration c;
  for (int n = 0; n < 2'000; ++n) {
    const double m = std::ldexp(uniform(rng) - 0.5, static_cast<int>(60 * uniform(rng)) - 20);
    c.add(m, uniform(rng) < 0.5 ? 1 : -1, uniform(rng) < 0.1 ? 0 : uniform(rng));
    double last = 0;
    for (const double x : {-1e300, -1.0, -1e-9, 0.0, 0.5, 1e300}) {
      ASSERT_GE(c(x), last) << n;
      ASSERT_LE(c(x), 1);
      last = c(x);
    }
  }
}

TEST(Calibration, BeforeTheFirstLabelAMarginOfOneIsRightNineteenTimesInTwenty) {
  const Calibration c;
  EXPECT_EQ(c(0), 0.5);
  EXPECT_NEAR(c(1), 0.95, 0.005);
}

TEST(Calibration, SavedAndLoadedItGoesOnToTheBit) {
  Calibration a;
  Rng rng = make_rng(5, 0);
  for (int n = 0; n < 100; ++n) a.add(uniform(rng) - 0.5, uniform(rng) < 0.6 ? 1 : -1, uniform(rng));
  Tensors saved;
  Writer{saved}("calibration", a);
  Calibration b;
  Reader reader(saved);
  reader("calibration", b);
  b.check();
  a.add(0.3, 1, 0.5);
  b.add(0.3, 1, 0.5);
  EXPECT_EQ(a(0.7), b(0.7));
  const double bad = std::nan("");
  Writer{saved}("calibration.slope", bad);
  Reader again(saved);
  again("calibration", b);
  EXPECT_THROW(b.check(), DataError);
}

}  // namespace
}  // namespace quorate
