#include <gtest/gtest.h>

#include "quorate/learner.h"
#include "support/make.h"

namespace quorate::test {
namespace {

// Two tasks, each alone. A zero margin is a mistake.
//   1. task 0, x = (1, 2), y = +1: margin 0, mistake: w_0 = (1, 2)
//   2. task 1, x = (1, 2), y = -1: margin 0, mistake: w_1 = (-1, -2)
//   3. task 0, x = (2, -2), y = -1: margin 2 - 4 = -2, right
//   4. task 0, x = (3, 1), y = -1: margin 3 + 2 = 5, wrong: w_0 = (-2, 1)
TEST(Perceptron, FourRoundsByHand) {
  const NameTable names = task_names(2);
  Session session(parse_spec("perceptron"), {.seed = 1, .tasks = &names});
  Outcome s = feed_one(session, {0, dense({1, 2})}, 1);
  EXPECT_EQ(s.decision.margin, 0);
  EXPECT_TRUE(s.updated);
  s = feed_one(session, {1, dense({1, 2})}, -1);
  EXPECT_EQ(s.decision.margin, 0);
  EXPECT_TRUE(s.updated);
  s = feed_one(session, {0, dense({2, -2})}, -1);
  EXPECT_EQ(s.decision.margin, -2);
  EXPECT_FALSE(s.updated);
  s = feed_one(session, {0, dense({3, 1})}, -1);
  EXPECT_EQ(s.decision.margin, 5);
  EXPECT_TRUE(s.updated);
  EXPECT_EQ(session.learner().score({0, dense({1, 0})}), -2);
  EXPECT_EQ(session.learner().score({0, dense({0, 1})}), 1);
  EXPECT_EQ(session.learner().score({1, dense({1, 1})}), -3);
  // A zero margin predicts -1, so the label -1 of round 2 was predicted though the perceptron moved.
  EXPECT_EQ(session.total().mistakes, 2u);
  EXPECT_EQ(session.total().updates, 3u);
}

TEST(Perceptron, RelatesNoTaskToAnother) {
  Session session(parse_spec("perceptron"), {.seed = 1});
  EXPECT_EQ(session.learner().influence(3, 3), 1);
  EXPECT_EQ(session.learner().influence(3, 4), 0);
}

}  // namespace
}  // namespace quorate::test
