#include <gtest/gtest.h>

#include <cmath>

#include "quorate/learner.h"
#include "support/make.h"

namespace quorate::test {
namespace {

// Complete graph, K = 2, one step after the other with U = exp(-|w_0 - w_1|^2) of the weights before the update.
//   1. task 0, x = (3, 0), y = +1: margin 0, U = 1: w_0 = (2, 0), w_1 = (1, 0)
//   2. task 1, x = (1, 1), y = -1: margin 1, wrong, U = e^-1 = u:
//      w_1 = (1, 0) - 2/3 (1, 1) = (1/3, -2/3), w_0 = (2, 0) - u/3 (1, 1) = (2 - u/3, -u/3)
//   3. task 0, x = (0, 3), y = -1: margin -u, right
//   4. task 1, x = (3, -3), y = +1: margin 1 + 2 = 3, right
TEST(Amtl, FourRoundsByHand) {
  const NameTable names = task_names(2);
  Session session(parse_spec("amtl(query=similarity)"), {.seed = 1, .tasks = &names});
  const double u = std::exp(-1.0);

  Outcome s = feed_one(session, {0, dense({3, 0})}, 1);
  EXPECT_EQ(s.decision.margin, 0);
  EXPECT_EQ(s.decision.probability, 1);  // b / (b + 0)
  EXPECT_NEAR(session.learner().score({0, dense({1, 0})}), 2, 1e-6);
  EXPECT_NEAR(session.learner().score({1, dense({1, 0})}), 1, 1e-6);
  EXPECT_NEAR(session.learner().influence(0, 1), u / 3, 1e-6);

  // b = U[1,0] + U[1,1] = u + 1. Whether the label is bought is the draw's business: go on until it is.
  do s = feed_one(session, {1, dense({1, 1})}, -1);
  while (!s.asked);
  EXPECT_NEAR(s.decision.margin, 1, 1e-6);
  EXPECT_NEAR(s.decision.probability, (1 + u) / (1 + u + 1), 1e-6);
  EXPECT_TRUE(s.updated);
  EXPECT_NEAR(session.learner().score({1, dense({1, 0})}), 1.0 / 3, 1e-6);
  EXPECT_NEAR(session.learner().score({1, dense({0, 1})}), -2.0 / 3, 1e-6);
  EXPECT_NEAR(session.learner().score({0, dense({1, 0})}), 2 - u / 3, 1e-6);

  s = feed_one(session, {0, dense({0, 3})}, -1);
  EXPECT_NEAR(s.decision.margin, -u, 1e-6);
  EXPECT_FALSE(s.updated);
  const double distance = std::pow(2 - u / 3 - 1.0 / 3, 2) + std::pow(-u / 3 + 2.0 / 3, 2);
  const double b = 1 + std::exp(-distance);
  EXPECT_NEAR(s.decision.probability, b / (b + u), 1e-6);

  s = feed_one(session, {1, dense({3, -3})}, 1);
  EXPECT_NEAR(s.decision.margin, 3, 1e-6);
  EXPECT_FALSE(s.updated);
}

TEST(Amtl, TasksThatDisagreeStopMovingEachOther) {
  const NameTable names = task_names(2);
  Session session(parse_spec("amtl"), {.seed = 1, .tasks = &names});
  const double at_first = session.learner().influence(1, 0);
  for (int n = 0; n < 60; ++n) {  // the same instances, opposite labels
    const double a = 0.1 * n;
    const Vector x = dense({4 * std::cos(a), 4 * std::sin(a)});
    const int y = std::cos(a) > 0 ? 1 : -1;
    feed_one(session, {0, x}, y);
    feed_one(session, {1, x}, -y);
  }
  EXPECT_LT(session.learner().influence(1, 0), 1e-3 * at_first);
  EXPECT_EQ(session.learner().influence(1, 1), 2.0 / 3);
}

}  // namespace
}  // namespace quorate::test
