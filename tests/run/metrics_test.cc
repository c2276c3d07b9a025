#include "quorate/run/metrics.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

namespace quorate::test {
namespace {

// Truth and prediction: ++ twice, +- once, -- three times, -+ four times.
TEST(Metrics, OfAHandWorkedTable) {
  Confusion c;
  for (int n = 0; n < 2; ++n) c.add(1, 1);
  c.add(1, -1);
  for (int n = 0; n < 3; ++n) c.add(-1, -1);
  for (int n = 0; n < 4; ++n) c.add(-1, 1);
  EXPECT_EQ(c.total(), 10u);
  EXPECT_EQ(c.mistakes(), 5u);
  EXPECT_DOUBLE_EQ(c.accuracy(), 0.5);
  EXPECT_DOUBLE_EQ(c.balanced_accuracy(), (2.0 / 3 + 3.0 / 7) / 2);
  EXPECT_DOUBLE_EQ(c.f1(), 4.0 / 9);  // precision 2/6, recall 2/3
}

TEST(Metrics, AreNotANumberWhereNothingIsDefined) {
  EXPECT_TRUE(std::isnan(Confusion().accuracy()));
  EXPECT_TRUE(std::isnan(Confusion().balanced_accuracy()));
  EXPECT_TRUE(std::isnan(Confusion().f1()));
  EXPECT_TRUE(std::isnan(Scores().auc()));
  Scores negatives;
  negatives.add(-1, 2);
  negatives.add(-1, -2);
  EXPECT_TRUE(std::isnan(negatives.auc())) << "one class";
  EXPECT_DOUBLE_EQ(negatives.measures().balanced_accuracy, 0.5) << "the recall of the class that occurs";
  Scores right;
  right.add(-1, -2);
  EXPECT_TRUE(std::isnan(right.measures().f1)) << "no positive, true or predicted";
  EXPECT_EQ(right.measures().accuracy, 1);
}

TEST(Metrics, AMarginOfZeroPredictsMinusOne) {
  Scores s;
  s.add(1, 0);
  s.add(-1, 0);
  EXPECT_EQ(s.confusion().false_negative, 1u);
  EXPECT_EQ(s.confusion().true_negative, 1u);
  EXPECT_DOUBLE_EQ(s.auc(), 0.5) << "a tie counts half";
}

RC_GTEST_PROP(Metrics, AucIsTheShareOfPairsInTheRightOrder, ()) {
  const auto margins = *rc::gen::container<std::vector<std::pair<bool, int>>>(
      rc::gen::pair(rc::gen::arbitrary<bool>(), rc::gen::inRange(-4, 5)));
  Scores s;
  double wins = 0, pairs = 0;
  for (const auto& [positive, margin] : margins) s.add(positive ? 1 : -1, margin);
  for (const auto& [p, a] : margins)
    for (const auto& [q, b] : margins)
      if (p && !q) {
        ++pairs;
        wins += a > b ? 1 : a == b ? 0.5 : 0;
      }
  RC_ASSERT(s.size() == margins.size());
  if (pairs == 0)
    RC_ASSERT(std::isnan(s.auc()));
  else
    RC_ASSERT(std::abs(s.auc() - wins / pairs) < 1e-12);
}

TEST(Metrics, AucIsOneForAPerfectOrderWhateverTheThreshold) {
  Scores s;
  for (int n = 0; n < 10; ++n) {
    s.add(-1, 100 + n);
    s.add(1, 200 + n);
  }
  EXPECT_EQ(s.auc(), 1);
  EXPECT_EQ(s.measures().accuracy, 0.5);
}

}  // namespace
}  // namespace quorate::test
