#include <gtest/gtest.h>

#include "quorate/learner.h"
#include "support/make.h"
#include "support/temp.h"

namespace quorate::test {
namespace {

// Complete graph, K = 2: A^-1 = 1/3 [2 1; 1 2].
//   1. task 0, x = (3, 0), y = +1: margin 0, mistake: w_0 = (2, 0), w_1 = (1, 0)
//   2. task 1, x = (1, 3), y = -1: margin 1, wrong: w_1 = (1, 0) - 2/3 (1, 3) = (1/3, -2), w_0 = (2, 0) - 1/3 (1, 3) = (5/3,
//   -1)
//   3. task 0, x = (3, 2), y = +1: margin 5 - 2 = 3, right
//   4. task 1, x = (3, 3), y = -1: margin 1 - 6 = -5, right
TEST(Cmtl, FourRoundsByHandInTheCompleteGraph) {
  const NameTable names = task_names(2);
  Session session(parse_spec("cmtl"), {.seed = 1, .tasks = &names});
  EXPECT_EQ(feed_one(session, {0, dense({3, 0})}, 1).decision.margin, 0);
  EXPECT_EQ(session.learner().score({0, dense({1, 0})}), 2);
  EXPECT_EQ(session.learner().score({1, dense({1, 0})}), 1);
  EXPECT_EQ(feed_one(session, {1, dense({1, 3})}, -1).decision.margin, 1);
  EXPECT_EQ(feed_one(session, {0, dense({3, 2})}, 1).decision.margin, 3);
  EXPECT_EQ(feed_one(session, {1, dense({3, 3})}, -1).decision.margin, -5);
  EXPECT_EQ(session.total().updates, 2u);
  EXPECT_EQ(session.learner().influence(0, 0), 2.0 / 3);
  EXPECT_EQ(session.learner().influence(0, 1), 1.0 / 3);
}

// Path t0 - t1 - t2: A = [2 -1 0; -1 3 -1; 0 -1 2], A^-1 = 1/8 [5 2 1; 2 4 2; 1 2 5].
//   1. t0, x = 8, y = +1: margin 0, mistake: w = (5, 2, 1)
//   2. t2, x = 1, y = -1: margin 1, wrong: w = (5, 2, 1) - (1, 2, 5)/8 = (4.875, 1.75, 0.375)
//   3. t1, x = 2, y = +1: margin 3.5, right
TEST(Cmtl, ThreeRoundsByHandOnAPath) {
  const TempDir dir;
  const NameTable names = task_names(3);
  const Spec spec = parse_spec("cmtl(graph=edges(file=" + dir.write("path.csv", "from,to\nt0,t1\nt2,t1\n") + "))");
  Session session(spec, {.seed = 1, .tasks = &names});
  EXPECT_EQ(feed_one(session, {0, dense({8})}, 1).decision.margin, 0);
  EXPECT_FLOAT_EQ(static_cast<float>(session.learner().score({1, dense({1})})), 2);
  EXPECT_NEAR(feed_one(session, {2, dense({1})}, -1).decision.margin, 1, 1e-6);
  const Outcome last = feed_one(session, {1, dense({2})}, 1);
  EXPECT_NEAR(last.decision.margin, 3.5, 1e-6);
  EXPECT_FALSE(last.updated);
  EXPECT_NEAR(session.learner().score({0, dense({1})}), 4.875, 1e-6);
  EXPECT_NEAR(session.learner().score({2, dense({1})}), 0.375, 1e-6);
  EXPECT_NEAR(session.learner().influence(0, 2), 1.0 / 8, 1e-15);
}

// Groups {t0, t1} and {t2}: a mistake of t0 moves t1 by a third, t2 not at all; t2 is a plain perceptron.
//   1. t0, x = 3, y = +1: margin 0: w = (2, 1, 0)
//   2. t2, x = 5, y = -1: margin 0: w_2 = -5
//   3. t1, x = 3, y = -1: margin 3, wrong: w_1 = 1 - 2 = -1, w_0 = 2 - 1 = 1
TEST(Cmtl, ThreeRoundsByHandInTwoGroups) {
  const TempDir dir;
  const NameTable names = task_names(3);
  const Spec spec =
      parse_spec("cmtl(graph=cliques(file=" + dir.write("groups.csv", "task,group\nt0,g\nt1,g\nt2,h\n") + "))");
  Session session(spec, {.seed = 1, .tasks = &names});
  EXPECT_EQ(feed_one(session, {0, dense({3})}, 1).decision.margin, 0);
  EXPECT_EQ(session.learner().score({2, dense({1})}), 0);
  EXPECT_EQ(feed_one(session, {2, dense({5})}, -1).decision.margin, 0);
  EXPECT_EQ(feed_one(session, {1, dense({3})}, -1).decision.margin, 3);
  EXPECT_EQ(session.learner().score({0, dense({1})}), 1);
  EXPECT_EQ(session.learner().score({1, dense({1})}), -1);
  EXPECT_EQ(session.learner().score({2, dense({1})}), -5);
}

// Tasks arrive one by one: in the complete graph K is the number seen so far, the one at hand included.
//   1. t0, x = 3, y = +1: K = 1, margin 0: v_0 = s = 3, w_0 = (3 + 3)/2 = 3
//   2. t1, x = 1, y = +1: K = 2, margin (0 + 3)/3 = 1, right; w_0 = (3 + 3)/3 = 2
//   3. t2, x = 2, y = -1: K = 3, margin 2 (0 + 3)/4 = 1.5, wrong: v_2 = -2, s = 1, w_2 = (-2 + 1)/4, w_0 = (3 + 1)/4
TEST(Cmtl, ThreeRoundsByHandWhileTasksArrive) {
  Session session(parse_spec("cmtl"), {.seed = 1});
  EXPECT_EQ(feed_one(session, {session.task("t0"), dense({3})}, 1).decision.margin, 0);
  EXPECT_EQ(session.learner().score({0, dense({1})}), 3);
  EXPECT_EQ(feed_one(session, {session.task("t1"), dense({1})}, 1).decision.margin, 1);
  EXPECT_EQ(session.learner().score({0, dense({1})}), 2);
  EXPECT_EQ(feed_one(session, {session.task("t2"), dense({2})}, -1).decision.margin, 1.5);
  EXPECT_EQ(session.learner().score({2, dense({1})}), -0.25);
  EXPECT_EQ(session.learner().score({0, dense({1})}), 1);
}

TEST(Cmtl, TheModelHoldsWhatTheGraphFileSaid) {
  const TempDir dir;
  const std::string file = dir.write("path.csv", "from,to\nt0,t1\n");
  Session session(parse_spec("cmtl(graph=edges(file=" + file + "))"), {.seed = 1});
  Tensors saved;
  session.save(saved);
  std::filesystem::remove(file);
  Reader reader(saved);
  const Session loaded = Session::load(session.spec(), session.options(), reader);
  EXPECT_EQ(loaded.learner().influence(0, 1), session.learner().influence(0, 1));
  EXPECT_GT(loaded.learner().influence(0, 1), 0);
}

}  // namespace
}  // namespace quorate::test
