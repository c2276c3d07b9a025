#include "quorate/engine/label_ledger.h"

#include <gtest/gtest.h>

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
}

TEST(LabelLedger, ARefundGoesBackToTheTotalAndIsUnanswered) {
  LabelLedger ledger(std::pmr::get_default_resource());
  ledger.set_limits({.total = 1}, false);
  ledger.begin_round(1);
  ledger.begin_example(0);
  ASSERT_TRUE(ledger.may_buy(0, 0, true));
  ledger.buy();
  EXPECT_FALSE(ledger.may_buy(0, 1, true));
  ledger.refund();
  EXPECT_TRUE(ledger.may_buy(0, 0, true));
  EXPECT_EQ(ledger.unanswered(), 1u);
}

}  // namespace
}  // namespace quorate
