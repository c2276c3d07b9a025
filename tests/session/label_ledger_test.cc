#include "quorate/session/label_ledger.h"

#include <gtest/gtest.h>

#include <vector>

namespace quorate {
namespace {

TEST(LabelLedger, CountsByTaskAndThoseWithoutOneInTheTotal) {
  LabelLedger ledger(std::pmr::get_default_resource());
  ledger.begin_round(3);
  for (const Task task : {Task{1}, kUntracked, Task{1}}) {
    ledger.begin_example(task);
    ASSERT_TRUE(ledger.may_buy(task, 0, true));
    ledger.buy();
    ledger.record_label(task, task == kUntracked);
    ledger.record_update(task);
  }
  EXPECT_EQ(ledger.count(1).examples, 2u);
  EXPECT_EQ(ledger.count(1).labels, 2u);
  EXPECT_EQ(ledger.count(1).updates, 2u);
  EXPECT_EQ(ledger.count(1).mistakes, 0u);
  EXPECT_EQ(ledger.count(0).examples, 0u);
  EXPECT_EQ(ledger.untracked().labels, 1u);
  EXPECT_EQ(ledger.untracked().mistakes, 1u);
  EXPECT_EQ(ledger.total().examples, 3u);
  EXPECT_EQ(ledger.total().labels, 3u);
  EXPECT_EQ(ledger.total().mistakes, 1u);

  Tensors saved;
  Writer writer(saved);
  ledger.save(writer);
  LabelLedger back(std::pmr::get_default_resource());
  Reader reader(saved);
  back.load(reader);
  reader.finish();
  EXPECT_EQ(back.total().labels, 3u);
  EXPECT_EQ(back.untracked().labels, 1u);
  EXPECT_EQ(back.count(1).updates, 2u);
  EXPECT_NO_THROW(back.check(2, 0));
  EXPECT_THROW(back.check(1, 0), DataError) << "counts of more tasks than there are";
  EXPECT_THROW(back.check(2, 1), DataError) << "more questions than labels bought";
}

TEST(LabelLedger, ATaskWithoutCountsBuysNothingWhereLabelsAreLimitedByTask) {
  LabelLedger ledger(std::pmr::get_default_resource());
  ledger.set_limits({.per_task = 5}, false);
  ledger.begin_round(1);
  ledger.begin_example(kUntracked);
  EXPECT_FALSE(ledger.may_buy(kUntracked, 0, true));
  EXPECT_TRUE(ledger.may_buy(0, 4, true));
  EXPECT_FALSE(ledger.may_buy(0, 5, true)) << "questions that wait count";
  EXPECT_FALSE(ledger.task_may_ask(kUntracked, 0));
  EXPECT_TRUE(ledger.task_may_ask(0, 4));
  EXPECT_FALSE(ledger.task_may_ask(0, 5));
}

TEST(LabelLedger, ARateCountsTheExamplesOfAnInstanceAsOne) {
  LabelLedger ledger(std::pmr::get_default_resource());
  ledger.set_limits({.rate = LabelRate{1, 2}}, false);
  std::vector<int> bought;
  for (int instance = 0; instance < 5; ++instance) {
    ledger.begin_round(3, 3);
    for (const Task task : {0u, 1u, 2u}) {
      ledger.begin_example(task);
      if (!ledger.may_buy(task, 0, true)) continue;
      ledger.buy();
      ledger.record_label(task, false);
      bought.push_back(instance);
    }
  }
  EXPECT_EQ(bought, (std::vector{0, 2, 4}));
}

TEST(LabelLedger, KnowsBeforeTheTimeComesWhetherTheRateLeavesALabel) {
  LabelLedger ledger(std::pmr::get_default_resource());
  ledger.set_limits({.rate = LabelRate{2, 60, true}}, false);
  for (const double time : {100.0, 130.0}) {
    EXPECT_TRUE(ledger.all_may_ask(time));
    ledger.set_time(time);
    ledger.begin_round(1);
    ledger.begin_example(0);
    ASSERT_TRUE(ledger.may_buy(0, 0, true));
    ledger.buy();
  }
  EXPECT_FALSE(ledger.all_may_ask(159.0));
  EXPECT_TRUE(ledger.all_may_ask(160.0));
  EXPECT_FALSE(ledger.may_ask(0, 0)) << "asking about a time does not make it pass";
}

TEST(LabelLedger, ARefundGoesBackToTheTotalAndIsUnanswered) {
  LabelLedger ledger(std::pmr::get_default_resource());
  ledger.set_limits({.total = 1}, false);
  ledger.begin_round(1);
  ledger.begin_example(0);
  ASSERT_TRUE(ledger.may_buy(0, 0, true));
  ledger.hold();
  EXPECT_FALSE(ledger.may_buy(0, 1, true));
  ledger.refund();
  EXPECT_TRUE(ledger.may_buy(0, 0, true));
  EXPECT_EQ(ledger.unanswered(), 1u);
}

/// Audits and labels of a stream that is always asked about, one example a round.
struct Bought {
  std::uint64_t audits, labels;
};
Bought ask_always(const LabelRate& rate, double share, std::uint64_t seed) {
  LabelLedger ledger(std::pmr::get_default_resource());
  ledger.set_limits({.rate = rate}, false);
  ledger.start_audit(share, 0, seed);
  for (int n = 0; n < 20'000; ++n) {
    if (rate.seconds) ledger.set_time(n);
    ledger.begin_round(1);
    ledger.begin_example(0);
    if (ledger.draw_audit()) {
      if (!ledger.has_label_left(0, 0)) ADD_FAILURE() << "drawn where the rate leaves no label";
      ledger.record_audit(0, 1, kYes);
    } else if (ledger.may_buy(0, 0, true)) {
      ledger.buy();
      ledger.record_label(0, false);
    }
  }
  return {ledger.audit()->bought(), ledger.total().labels};
}

TEST(LabelLedger, AuditsHaveTheirShareUnderARate) {
  for (const LabelRate rate : {LabelRate{1, 10}, LabelRate{2, 10}, LabelRate{5, 100}, LabelRate{50, 1000},
                               LabelRate{1, 10, true}, LabelRate{20, 1000, true}})
    for (const double share : {0.1, 0.3, 0.7}) {
      Bought sum{0, 0};
      for (std::uint64_t seed = 1; seed <= 3; ++seed) {
        const Bought one = ask_always(rate, share, seed);
        EXPECT_LE(static_cast<double>(one.audits), share * static_cast<double>(one.labels) + 1) << to_text(rate) << share;
        sum.audits += one.audits;
        sum.labels += one.labels;
      }
      EXPECT_GE(static_cast<double>(sum.audits), 0.88 * share * static_cast<double>(sum.labels)) << to_text(rate) << share;
    }
}

}  // namespace
}  // namespace quorate
