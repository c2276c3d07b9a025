#include "quorate/session/label_budget.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "quorate/base/memory.h"
#include "quorate/base/rng.h"
#include "quorate/store/state.h"

namespace quorate::test {
namespace {

using testing::HasSubstr;

LabelLimits limits(std::initializer_list<const char*> texts) {
  LabelLimits out;
  for (const char* text : texts) out.add(text);
  return out;
}

std::string refusal(std::initializer_list<const char*> texts) {
  try {
    limits(texts);
  } catch (const UsageError& e) {
    return e.what();
  }
  return "accepted";
}

TEST(LabelLimits, ATotalARateOrBothAreRead) {
  EXPECT_EQ(limits({"500"}).total, 500u);
  EXPECT_EQ(limits({"0"}).total, 0u);
  EXPECT_EQ(limits({"500"}).rate, std::nullopt);
  const LabelLimits both = limits({"50/1000", "7"});
  EXPECT_EQ(both.total, 7u);
  EXPECT_EQ(both.rate, (LabelRate{50, 1000, false}));
  EXPECT_EQ(limits({"20/day"}).rate, (LabelRate{20, 86400, true}));
  EXPECT_EQ(limits({"1/second"}).rate, (LabelRate{1, 1, true}));
  for (const std::string text :
       {"50/1000", "1/1", "1000000/1000000000000000", "3/second", "3/minute", "3/hour", "20/day", "9/week"})
    EXPECT_EQ(to_text(*limits({text.c_str()}).rate), text);
}

TEST(LabelLimits, AnythingElseIsRefusedWithTheValueAndWhatWasExpected) {
  for (const char* text : {"", "-1", "many", "1.5", "18446744073709551616", " 5", "5 "})
    EXPECT_THAT(refusal({text}),
                AllOf(HasSubstr("'" + std::string(text) + "'"), HasSubstr("expected"), HasSubstr("50/1000")));
  for (const char* text :
       {"/", "5/", "/5", "0/10", "5/0", "5/-1", "5/1.5", "1000001/10", "5/days", "5/day/2", "5/1000000000000001"})
    EXPECT_THAT(refusal({text}),
                AllOf(HasSubstr("'" + std::string(text) + "'"), HasSubstr("expected"), HasSubstr("20/day")));
  EXPECT_THAT(refusal({"5", "6"}), AllOf(HasSubstr("'6'"), HasSubstr("second")));
  EXPECT_THAT(refusal({"5/7", "6/day"}), AllOf(HasSubstr("'6/day'"), HasSubstr("second")));
}

TEST(LabelBudget, IsLeftUntilItsTotal) {
  LabelBudget budget({.total = 2});
  EXPECT_TRUE(budget.left());
  budget.buy();
  EXPECT_TRUE(budget.left());
  budget.hold();
  EXPECT_FALSE(budget.left());
  budget.refund();
  EXPECT_TRUE(budget.left());
  budget.buy();
  budget.set_limits({.total = 3});
  EXPECT_TRUE(budget.left());
  budget.set_limits({.total = 0});
  EXPECT_FALSE(budget.left());
  EXPECT_EQ(budget.bought(), 2u);
  EXPECT_FALSE(LabelBudget({.total = 0}).left());
  EXPECT_TRUE(LabelBudget().left());
}

TEST(LabelBudget, ARateThatWasSmallerForAWhileCountsWhatTheLargerOneBought) {
  const LabelLimits twenty{.rate = LabelRate{20, 1000, true}}, five{.rate = LabelRate{5, 1000, true}};
  LabelBudget budget(twenty);
  for (double time = 0; budget.left(); time += 10) {
    budget.advance(time);
    budget.buy();
  }
  ASSERT_EQ(budget.bought(), 20u);
  for (const LabelLimits& limits : {five, twenty}) {
    budget.set_limits(limits);
    EXPECT_FALSE(budget.left());
    LabelBudget loaded;
    loaded.unpack(budget.pack());
    EXPECT_FALSE(loaded.left());
    budget.advance(999);
    EXPECT_FALSE(budget.left());
  }
  budget.advance(1000);
  EXPECT_TRUE(budget.left()) << "the first is a thousand seconds old";
}

/// Buys whenever it may, and only then, at random moments; returns when.
std::vector<double> buy_at_random(
    LabelBudget& budget, double from, std::size_t outcomes, Rng& rng, double eagerness,
    const std::function<void()>& between = [] {}) {
  std::vector<double> out;
  double now = from;
  for (std::size_t n = 0; n < outcomes; ++n, between()) {
    now += budget.limits().rate->seconds ? std::floor(20 * uniform(rng)) / 8 : 1;
    budget.advance(now);
    budget.advance(now - 5);  // an earlier time is not looked at
    if (budget.left() && uniform(rng) < eagerness) {
      budget.buy();
      out.push_back(now);
    }
  }
  return out;
}

/// Most labels in any half-open window that begins with one: no other holds more.
std::size_t most_in_a_window(const std::vector<double>& times, double window) {
  std::size_t most = 0;
  for (std::size_t i = 0; i < times.size(); ++i) {
    std::size_t n = i;
    while (n < times.size() && times[n] < times[i] + window) ++n;
    most = std::max(most, n - i);
  }
  return most;
}

TEST(LabelBudget, NoWindowOfARateHoldsOneLabelTooMany) {
  Rng rng = make_rng(1, 0);
  for (int trial = 0; trial < 200; ++trial) {
    const LabelRate rate{1 + below(12, rng), static_cast<double>(1 + below(60, rng)), trial % 2 == 0};
    LabelBudget budget({.rate = rate});
    const auto times = buy_at_random(budget, 1e9, 1000, rng, trial % 4 < 2 ? 1 : 0.3);
    ASSERT_LE(most_in_a_window(times, rate.window), rate.count) << to_text(rate);
    if (trial % 4 < 2 && static_cast<double>(rate.count) < rate.window) {
      ASSERT_EQ(most_in_a_window(times, rate.window), rate.count) << "who asks always uses it all";
    }
  }
}

TEST(LabelBudget, WhatWasGivenBackStaysInTheWindow) {
  LabelBudget budget({.total = 2, .rate = LabelRate{1, 10}});
  budget.advance(1);
  budget.hold();
  EXPECT_FALSE(budget.refund());
  EXPECT_FALSE(budget.left());
  budget.advance(10);
  EXPECT_FALSE(budget.left());
  budget.advance(11);
  EXPECT_TRUE(budget.left());
  EXPECT_EQ(budget.bought(), 0u);
  budget.hold();
  budget.advance(21);
  budget.settle();
  EXPECT_TRUE(budget.left()) << "it counts from its question on";
}

TEST(LabelBudget, AQuestionCountsWhileItWaitsAndItsLabelFromTheAnswerOn) {
  LabelBudget budget({.total = 3, .rate = LabelRate{1, 10}});
  budget.count_while_waiting();
  budget.advance(1);
  budget.hold();
  budget.advance(100);
  EXPECT_FALSE(budget.left()) << "it waits, however long ago it was asked";
  EXPECT_FALSE(budget.free_at()) << "nobody knows";
  budget.settle();
  budget.advance(109);
  EXPECT_FALSE(budget.left());
  EXPECT_EQ(budget.free_at(), 110);
  budget.advance(110);
  EXPECT_TRUE(budget.left());
  budget.hold();
  EXPECT_FALSE(budget.left());
  EXPECT_TRUE(budget.refund());
  EXPECT_TRUE(budget.left()) << "nobody answered";
  EXPECT_EQ(budget.bought(), 1u);
}

TEST(LabelBudget, QuestionsThatWaitCountUnderAnotherRateAndTheirAnswersToo) {
  LabelBudget budget({.rate = LabelRate{8, 10, true}});
  budget.count_while_waiting();
  budget.advance(1);
  for (int n = 0; n < 8; ++n) budget.hold(n < 2);
  budget.set_limits({.rate = LabelRate{2, 10, true}});
  for (int n = 0; n < 8; ++n) budget.settle(n < 2);
  budget.set_limits({.rate = LabelRate{8, 10, true}});
  EXPECT_FALSE(budget.left());
  EXPECT_EQ(budget.free_at(), 11);
  budget.advance(11);
  EXPECT_EQ(budget.free(), 8u);
  EXPECT_FALSE(budget.free_at()) << "now";
  budget.hold();
  budget.set_limits({.rate = LabelRate{1, 1000}});
  EXPECT_FALSE(budget.left()) << "those that wait count in any unit";
  EXPECT_EQ(budget.waiting(), 1u);
  EXPECT_EQ(budget.waiting_audits(), 0u);
}

TEST(LabelBudget, NoWindowHoldsOneAnswerTooManyHoweverLateTheyAre) {
  Rng rng = make_rng(4, 0);
  for (int trial = 0; trial < 100; ++trial) {
    const LabelRate rate{1 + below(12, rng), static_cast<double>(1 + below(60, rng)), true};
    LabelBudget budget({.rate = rate});
    budget.count_while_waiting();
    std::vector<double> answered;
    for (double now = 0; now < 1000; now += uniform(rng)) {
      budget.advance(now);
      if (budget.left()) budget.hold();
      if (budget.waiting() == 0) continue;
      const double what = uniform(rng);
      if (what < 0.02) budget.refund();
      if (what > 0.9)
        for (std::uint64_t all = budget.waiting(); all > 0; --all) {
          budget.settle();
          answered.push_back(now);
        }
    }
    ASSERT_LE(most_in_a_window(answered, rate.window), rate.count) << to_text(rate);
    ASSERT_FALSE(answered.empty());
  }
}

TEST(LabelBudget, SavedAndLoadedAtAnyTimeItIsTheSame) {
  for (const bool seconds : {false, true}) {
    const LabelLimits l{.total = 400, .per_task = 7, .rate = LabelRate{5, 40, seconds}};
    LabelBudget never(l), often(l);
    Rng a = make_rng(2, 0), b = make_rng(2, 0);
    const auto expected = buy_at_random(never, 0, 1500, a, 0.5);
    const auto times = buy_at_random(often, 0, 1500, b, 0.5, [&] {
      Tensors saved;
      Writer{saved}("budget", often);
      Reader reader(saved);
      LabelBudget loaded;
      reader("budget", loaded);
      reader.finish();
      EXPECT_EQ(loaded.limits().rate, l.rate);
      EXPECT_EQ(loaded.limits().per_task, 7u);
      often.unpack(loaded.pack());
    });
    EXPECT_EQ(times, expected);
  }
}

TEST(LabelBudget, RefusesStateThatCannotBe) {
  LabelBudget budget({.rate = LabelRate{3, 10}});
  for (const double now : {1.0, 2.0, 3.0, 15.0, 16.0}) {
    budget.advance(now);
    if (budget.left()) budget.buy();
  }
  const LabelBudget::Packed good = budget.pack();
  EXPECT_NO_THROW(budget.unpack(good));
  const auto refused = [&](auto change) {
    LabelBudget::Packed p = good;
    change(p);
    LabelBudget out;
    EXPECT_THROW(out.unpack(p), DataError);
    EXPECT_EQ(out.bought(), 0u) << "nothing was filled";
  };
  refused([](auto& p) { p.rate_count = 4; });
  refused([](auto& p) { p.rate_count = std::uint64_t{1} << 60; });
  refused([](auto& p) { p.times.clear(); });
  refused([](auto& p) { p.rate_seconds = 2; });
  refused([](auto& p) { p.window = 0; });
  refused([](auto& p) { p.window = std::nan(""); });
  refused([](auto& p) { p.next = 3; });
  refused([](auto& p) { p.busy = 4; });
  refused([](auto& p) { p.now = std::nan(""); });
  refused([](auto& p) { p.now = 1000; });  // nothing of it would be in the window
  refused([](auto& p) { std::swap(p.times[0], p.times[1]); });
}

TEST(LabelBudget, AnotherRateKnowsWhatTheOldOneStillKeeps) {
  LabelBudget budget({.rate = LabelRate{3, 10}});
  for (const double now : {1.0, 2.0, 3.0}) {
    budget.advance(now);
    budget.buy();
  }
  budget.set_limits({.rate = LabelRate{2, 10}});
  budget.advance(11);
  EXPECT_FALSE(budget.left()) << "those of 2 and 3 count";
  budget.advance(12);
  EXPECT_TRUE(budget.left());
  budget.set_limits({.rate = LabelRate{4, 10}});
  EXPECT_EQ(budget.free(), 3u);
  budget.set_limits({.rate = LabelRate{1, 1, true}});
  EXPECT_TRUE(budget.left()) << "examples say nothing of seconds";
  budget.set_limits({});
  EXPECT_TRUE(budget.left());
  EXPECT_EQ(budget.bought(), 3u);
}

TEST(LabelBudget, TheTimesItKeepsAreCounted) {
  Memory memory;
  LabelBudget budget({.rate = LabelRate{1000, 2000}}, &memory);
  EXPECT_EQ(memory.bytes(), 9000u);
  for (double now = 0; now < 5000; ++now) {
    budget.advance(now);
    if (budget.left()) budget.buy();
  }
  EXPECT_EQ(memory.peak(), 9000u);
  Memory small(100);
  EXPECT_THROW(LabelBudget({.rate = LabelRate{1000, 2000}}, &small), MemoryError);
}

}  // namespace
}  // namespace quorate::test
