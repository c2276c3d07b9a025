#include "quorate/session/pace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "quorate/registry.h"
#include "quorate/session/session.h"
#include "support/make.h"

namespace quorate::test {
namespace {

const std::vector<std::string> kLearners{"perceptron(query=margin(b=1))",
                                         "perceptron(query=margin(b=0.0001))",
                                         "cmtl(query=margin(b=1000))",
                                         "amtl(query=margin)",
                                         "amtl(query=similarity)",
                                         "amlc",
                                         "peer",
                                         "peer(share=all, b=0.01)",
                                         "kernel-perceptron(query=margin)",
                                         "budget-random(budget=50, query=margin)",
                                         "budget-projectron(budget=20, query=margin)"};

/// When labels were bought, as numbers of examples.
std::vector<std::size_t> bought_at(Session& session, const Stream& s) {
  std::vector<std::size_t> out;
  for (std::size_t n = 0; n < s.size(); ++n)
    if (feed(session, s, n).asked) out.push_back(n);
  return out;
}
double in_first_half(const std::vector<std::size_t>& times, std::size_t length) {
  double out = 0;
  for (const std::size_t n : times) out += 2 * n < length;
  return out;
}

TEST(Pace, ATotalIsUsedEvenlyOverAKnownLength) {
  for (const std::string& learner : kLearners)
    for (const std::uint64_t total : {20u, 100u, 400u}) {
      const Stream s = make_stream(2000, 6, 8, 11);
      Session session(parse_spec(learner), {.seed = 1, .limits = {.total = total}, .spread_over = s.size()});
      const auto times = bought_at(session, s);
      const auto labels = static_cast<double>(times.size());
      EXPECT_LE(times.size(), total) << learner;
      EXPECT_GE(labels, 0.95 * static_cast<double>(total)) << learner;
      EXPECT_NEAR(in_first_half(times, s.size()), labels / 2, 0.2 * labels / 2) << learner << " " << total;
    }
}

TEST(Pace, ARateIsUsedEvenlyAndNeverExceeded) {
  for (const std::string& learner : kLearners)
    for (const auto& [count, window] : {std::pair{1u, 20u}, {5u, 100u}, {20u, 50u}, {50u, 1000u}, {100u, 2000u}}) {
      const Stream s = make_stream(2000, 6, 8, 12);
      Session session(parse_spec(learner), {.seed = 1, .limits = {.rate = LabelRate{count, static_cast<double>(window)}}});
      const auto times = bought_at(session, s);
      const std::string where = learner + " " + to_text(*session.budget().limits().rate);
      for (std::size_t i = count; i < times.size(); ++i) ASSERT_GE(times[i] - times[i - count], window) << where;
      const double most = count * static_cast<double>(s.size()) / window, labels = static_cast<double>(times.size());
      EXPECT_GE(labels, 0.95 * most) << where;
      EXPECT_NEAR(in_first_half(times, s.size()), labels / 2, 0.2 * labels / 2) << where;
    }
}

TEST(Pace, ARateInSecondsIsUsedEvenlyWhereTimeRunsEvenly) {
  for (const std::string& learner : kLearners) {
    const Stream s = make_stream(3000, 6, 8, 13);
    Session session(parse_spec(learner), {.seed = 1, .limits = {.rate = LabelRate{20, 3600, true}}});
    Rng rng = make_rng(4, 0);
    double now = 1e9;
    std::vector<double> times;
    for (std::size_t n = 0; n < s.size(); ++n) {
      session.set_time(now += 20 * uniform(rng));
      session.set_time(now - 100);  // runs no earlier
      if (feed(session, s, n).asked) times.push_back(now);
    }
    for (std::size_t i = 20; i < times.size(); ++i) ASSERT_GE(times[i] - times[i - 20], 3600) << learner;
    const double most = 20 * (now - 1e9) / 3600, labels = static_cast<double>(times.size());
    EXPECT_GE(labels, 0.95 * most) << learner;
    double first = 0;
    for (const double t : times) first += t < (now + 1e9) / 2;
    EXPECT_NEAR(first, labels / 2, 0.2 * labels / 2) << learner;
  }
}

TEST(Pace, WithAPaceDoubtfulExamplesAreStillPreferred) {
  const Stream s = make_stream(4000, 2, 8, 14);
  Session session(parse_spec("perceptron(query=margin)"), {.seed = 1, .limits = {.total = 400}, .spread_over = s.size()});
  double asked = 0, other = 0, others = 0;
  for (std::size_t n = 0; n < s.size(); ++n) {
    const Outcome outcome = feed(session, s, n);
    if (n < 500) continue;
    (outcome.asked ? asked : other) += std::abs(outcome.decision.margin);
    others += !outcome.asked;
  }
  const double labels = static_cast<double>(session.budget().bought());
  EXPECT_LT(asked / labels, 0.7 * other / others);
}

TEST(Pace, AllInDoubtAndNotOneLabelTooEarly) {
  // Every margin is 0: no b is small enough, and the label is still not bought before it is due.
  Session session(parse_spec("perceptron(query=margin)"), {.seed = 1, .limits = {.total = 100}, .spread_over = 1000});
  session.task("a");
  const Vector nothing = dense({});
  for (std::size_t n = 1; n <= 1000; ++n) {
    feed_one(session, {0, nothing}, 1);
    EXPECT_LE(static_cast<double>(session.budget().bought()), 0.1 * static_cast<double>(n) + 5);
  }
  EXPECT_EQ(session.budget().bought(), 100u);
}

TEST(Pace, ATooShortGuessBuysTheRestAtOnceAndATooLongOneLeavesSome) {
  const Stream s = make_stream(1000, 4, 6, 15);
  Session shorter(parse_spec("cmtl(query=margin)"), {.seed = 1, .limits = {.total = 100}, .spread_over = 400});
  feed(shorter, s, 0, 400);
  EXPECT_EQ(shorter.budget().bought(), 100u);
  Session longer(parse_spec("cmtl(query=margin)"), {.seed = 1, .limits = {.total = 100}, .spread_over = 2000});
  feed(longer, s);
  EXPECT_NEAR(static_cast<double>(longer.budget().bought()), 50, 8);
  longer.set_spread_over(100);
  feed(longer, s, 0, 100);
  EXPECT_EQ(longer.budget().bought(), 100u) << "a better guess later";
}

TEST(Pace, IsRefusedWhereNothingDecidesHowMuchIsAsked) {
  for (const std::string learner :
       {"perceptron", "perceptron(query=random)", "cmtl(query=shared)", "shampo", "shampo-second-order"}) {
    EXPECT_THROW(Session(parse_spec(learner), {.limits = {.total = 9}, .spread_over = 100}), UsageError) << learner;
    Session session(parse_spec(learner), {.limits = {.rate = LabelRate{2, 10}}});
    const std::size_t bought = bought_at(session, make_stream(100, 3, 4, 16)).size();
    EXPECT_EQ(bought, session.budget().bought());
    if (learner.find("random") == learner.npos) {
      EXPECT_EQ(bought, 20u) << learner << ": a rate is a hard limit";
    }
  }
  EXPECT_THROW(Session(parse_spec("peer"), {.spread_over = 100}), UsageError) << "no total to spend";
}

TEST(Pace, WithATotalAloneNothingChanges) {
  const Stream s = make_stream(300, 4, 6, 17);
  for (const std::string& learner : kLearners) {
    Session none(parse_spec(learner), {.seed = 2}), total(parse_spec(learner), {.seed = 2, .limits = {.total = 100'000}});
    EXPECT_EQ(feed(none, s), feed(total, s)) << learner;
  }
}

TEST(Pace, AnyGapInTimeMakesAModelThatIsLoadedAgain) {
  const SessionOptions options{.seed = 3, .limits = {.rate = LabelRate{2, 86400, true}}};
  Session session(parse_spec("perceptron(query=margin)"), options);
  const Stream s = make_stream(6, 2, 4, 19);
  const double times[] = {0, 1e19, 2e19, 1e300, 1.7e308, 1.7e308};
  for (std::size_t n = 0; n < s.size(); ++n) {
    session.set_time(times[n]);
    feed(session, s, n);
    Tensors saved;
    session.save(saved);
    Reader reader(saved);
    EXPECT_NO_THROW(Session::load(session.spec(), session.options(), reader)) << times[n];
  }
}

TEST(Pace, SaveAndContinueEqualsNeverSaved) {
  const Stream s = make_stream(600, 4, 6, 18);
  for (const std::string& learner : kLearners) {
    const SessionOptions options{.seed = 3, .limits = {.total = 80, .rate = LabelRate{20, 100}}, .spread_over = 500};
    Session never(parse_spec(learner), options);
    auto often = std::make_unique<Session>(parse_spec(learner), options);
    for (std::size_t n = 0; n < s.size(); ++n) {
      if (n % 17 == 0) {
        Tensors saved;
        often->save(saved);
        Reader reader(saved);
        often = std::make_unique<Session>(Session::load(never.spec(), never.options(), reader));
      }
      ASSERT_EQ(feed(never, s, n), feed(*often, s, n)) << learner << " " << n;
    }
  }
}

}  // namespace
}  // namespace quorate::test
