#include "quorate/metrics/metrics.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "quorate/base/rng.h"

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

TEST(Metrics, ARankingByHand) {
  Scores s;
  // From the top: +, +, then a tie of + and -, then -, +, and fifteen -.
  for (const double m : {9.0, 8.0, 7.0, 5.0}) s.add(1, m);
  for (const double m : {7.0, 6.0}) s.add(-1, m);
  for (int n = 0; n < 14; ++n) s.add(-1, -n);
  const Ranking r = s.ranking();
  EXPECT_DOUBLE_EQ(r.average_precision, (1 + 1 + 3.0 / 4 + 4.0 / 6) / 4);
  EXPECT_DOUBLE_EQ(r.recall_at_90, 0.5);
  EXPECT_DOUBLE_EQ(r.lift, 2.0 / 4 * 10) << "the first two of twenty";
  Scores tied;
  for (int n = 0; n < 20; ++n) tied.add(n < 4 ? 1 : -1, 0);
  EXPECT_DOUBLE_EQ(tied.ranking().lift, 1) << "of equal margins a fair part";
  EXPECT_DOUBLE_EQ(tied.ranking().average_precision, 0.2);
  EXPECT_EQ(tied.ranking().recall_at_90, 0);
  Scores negatives;
  negatives.add(-1, 1);
  EXPECT_TRUE(std::isnan(negatives.ranking().average_precision) && std::isnan(negatives.ranking().lift));
}

TEST(ClassConfusion, OfAHandWorkedTable) {
  // Truth a: 3 as a, 1 as b. Truth b: 2 as b, 1 as a, 1 as c. Truth c: never; but predicted once. d: neither.
  ClassConfusion t(4);
  for (int n = 0; n < 3; ++n) t.add(0, 0);
  t.add(0, 1);
  for (int n = 0; n < 2; ++n) t.add(1, 1);
  t.add(1, 0);
  t.add(1, 2);
  EXPECT_EQ(t.classes(), 4u);
  EXPECT_EQ(t(0, 1), 1u);
  EXPECT_EQ(t(1, 2), 1u);
  EXPECT_EQ(t(2, 1), 0u) << "truth comes first";
  EXPECT_EQ(t.total(), 8u);
  EXPECT_EQ(t.mistakes(), 3u);
  EXPECT_DOUBLE_EQ(t.error(), 3.0 / 8);
  EXPECT_DOUBLE_EQ(t.recall(0), 3.0 / 4);
  EXPECT_DOUBLE_EQ(t.recall(1), 2.0 / 4);
  EXPECT_TRUE(std::isnan(t.recall(2)));
  EXPECT_DOUBLE_EQ(t.f1(0), 6.0 / 8);  // precision 3/4, recall 3/4
  EXPECT_DOUBLE_EQ(t.f1(1), 4.0 / 7);  // precision 2/3, recall 2/4
  EXPECT_EQ(t.f1(2), 0) << "predicted, and wrong";
  EXPECT_TRUE(std::isnan(t.f1(3)));
  const Measures m = t.measures();
  EXPECT_DOUBLE_EQ(m.accuracy, 5.0 / 8);
  EXPECT_DOUBLE_EQ(m.balanced_accuracy, (3.0 / 4 + 2.0 / 4) / 2) << "of the classes that occur";
  EXPECT_DOUBLE_EQ(m.f1, (6.0 / 8 + 4.0 / 7 + 0) / 3);
  EXPECT_TRUE(std::isnan(m.auc));
}

TEST(ClassConfusion, OfNothingIsNotANumber) {
  for (const ClassConfusion& t : {ClassConfusion(), ClassConfusion(3)}) {
    EXPECT_EQ(t.total(), 0u);
    EXPECT_TRUE(std::isnan(t.error()));
    for (const double v : {t.measures().accuracy, t.measures().balanced_accuracy, t.measures().f1})
      EXPECT_TRUE(std::isnan(v));
  }
}

RC_GTEST_PROP(ClassConfusion, PartsAddUp, ()) {
  const auto pairs = *rc::gen::container<std::vector<std::pair<std::size_t, std::size_t>>>(
      rc::gen::pair(rc::gen::inRange<std::size_t>(0, 3), rc::gen::inRange<std::size_t>(0, 3)));
  ClassConfusion whole(3), a(3), b(3);
  std::size_t wrong = 0;
  for (std::size_t n = 0; n < pairs.size(); ++n) {
    whole.add(pairs[n].first, pairs[n].second);
    (n % 3 == 0 ? a : b).add(pairs[n].first, pairs[n].second);
    wrong += pairs[n].first != pairs[n].second;
  }
  a += b;
  for (std::size_t t = 0; t < 3; ++t)
    for (std::size_t p = 0; p < 3; ++p) RC_ASSERT(a(t, p) == whole(t, p));
  RC_ASSERT(a.total() == pairs.size());
  RC_ASSERT(a.mistakes() == wrong);
}

RC_GTEST_PROP(ClassConfusion, OfTwoClassesIsTheBinaryTable, ()) {
  const auto pairs = *rc::gen::container<std::vector<std::pair<bool, bool>>>(
      rc::gen::pair(rc::gen::arbitrary<bool>(), rc::gen::arbitrary<bool>()));
  ClassConfusion many(2);
  Confusion two;
  for (const auto& [truth, said] : pairs) {
    many.add(truth, said);
    two.add(truth ? 1 : -1, said ? 1 : -1);
  }
  const auto same = [](double a, double b) { return (std::isnan(a) && std::isnan(b)) || std::abs(a - b) < 1e-15; };
  RC_ASSERT(many.mistakes() == two.mistakes());
  RC_ASSERT(same(many.measures().accuracy, two.accuracy()));
  RC_ASSERT(same(many.measures().balanced_accuracy, two.balanced_accuracy()));
  RC_ASSERT(same(many.f1(1), two.f1()));
}

TEST(Reliability, OfHonestProbabilitiesIsSmallAndOfBoastsIsNot) {
  Rng rng = make_rng(6, 0);
  Reliability honest, boast;
  for (int n = 0; n < 100'000; ++n) {
    const double p = uniform(rng);
    const int y = uniform(rng) < p ? 1 : -1;
    honest.add(y, p);
    boast.add(y, p < 0.5 ? 0.01 : 0.99);
  }
  EXPECT_LT(honest.error(), 0.01);
  EXPECT_NEAR(honest.brier(), 1.0 / 6, 0.01);
  EXPECT_NEAR(boast.error(), 0.24, 0.01);
  EXPECT_TRUE(std::isnan(Reliability().error()));
}

}  // namespace
}  // namespace quorate::test
