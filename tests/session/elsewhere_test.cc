// judge, take and ask: examples that were decided elsewhere, for every learner that judges.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "quorate/learner.h"
#include "quorate/session/session.h"
#include "support/make.h"
#include "support/settings.h"

namespace quorate::test {
namespace {

constexpr Task kElsewhereTasks = 5;

std::string bytes_of(const Tensors& tensors) { return to_bytes(tensors); }
std::string learner_bytes(const Session& session) {
  Tensors out;
  session.learner().save(Writer(out));
  return bytes_of(out);
}
std::string session_bytes(const Session& session) {
  Tensors out;
  session.save(out);
  return bytes_of(out);
}
/// Without what an example that is decided changes and one that comes from elsewhere does not: draws, and cohort's memory of
/// the margins it decided on.
std::string bytes_but_draws(const Session& session) {
  Tensors out;
  session.save(out);
  std::erase_if(out.tensors, [](const auto& t) { return t.first == "rng" || t.first == "learner.margins"; });
  return bytes_of(out);
}
std::unique_ptr<Session> saved_and_loaded(const Session& session) {
  const std::string bytes = session_bytes(session);
  const std::span<const std::byte> raw = std::as_bytes(std::span(bytes));
  const Tensors in = read_tensors({raw.size(), [raw](std::size_t begin, std::span<std::byte> out) {
                                     std::copy_n(raw.data() + begin, out.size(), out.data());
                                   }});
  Reader reader(in);
  return std::make_unique<Session>(Session::load(session.spec(), session.options(), reader));
}

/// An example of its own that was decided elsewhere, without a question or with one.
void take(Session& session, const Example& e) {
  const Decision none;
  session.take({&e, 1}, {&none, 1});
}
std::optional<std::uint64_t> ask(Session& session, const Example& e, Decision d) {
  d.ask = true;
  return session.take({&e, 1}, {&d, 1})[0].ticket;
}

SessionOptions that_keeps() { return {.seed = 3, .keep_labels = 4'000'000}; }

class Elsewhere : public EveryLearner {
 protected:
  std::unique_ptr<Session> session() const { return std::make_unique<Session>(spec(), that_keeps()); }
  /// The same that knows its tasks: a learner may couple all that there are, from the first label on.
  std::unique_ptr<Session> with_tasks() {
    auto out = session();
    for (std::size_t n = 0; n < kFirst; ++n) take(*out, example(*out, n));
    return out;
  }
  Example example(Session& session, std::size_t n) const { return {session.task(task_name(stream_.task[n])), x(n)}; }
  /// Words that are counted for cohort as it is, which learns from their embeddings, too.
  Features x(std::size_t n) const { return {stream_.x[n].index, stream_.x[n].value, norm_[n]}; }
  Answer label(std::size_t n) const { return answer_of(stream_.y[n]); }
  std::size_t size() const { return stream_.size(); }
  Decision judge(const Session& by, const Example& e, std::size_t n) {
    return by.learner().judge(e, 1, static_cast<double>(n * 37 % 100) / 100, memory_);
  }

  void SetUp() override {
    for (Vector& x : stream_.x) {
      norm_.push_back(words_ ? std::sqrt(static_cast<double>(x.value.size())) : 1);
      if (words_)
        for (double& v : x.value) v = 1 / norm_.back();
    }
  }

  static constexpr std::size_t kFirst = 30;
  const bool words_ = GetParam().name == "cohort_as_it_is";
  Stream stream_ = make_stream(240, kElsewhereTasks, words_ ? 40 : 6, 5, true);
  std::vector<double> norm_;
  JudgeMemory memory_;
};

TEST_P(Elsewhere, JudgeChangesNothingAndItsMarginIsTheScore) {
  const auto one = session();
  for (std::size_t n = 0; n < size(); ++n) feed_one(*one, example(*one, n), stream_.y[n]);
  EXPECT_GT(one->total().labels, 0u);
  const std::string before = session_bytes(*one);
  const Stream other = make_stream(3000, kElsewhereTasks + 2, 8, 6, true);
  Rng rng = make_rng(2, 0);
  std::size_t asked = 0;
  for (std::size_t n = 0; n < other.size(); ++n) {
    const Example e{n % 50 == 0 ? kUntracked : other.task[n], other.x[n].view()};
    const Decision d = one->learner().judge(e, 1, uniform(rng), memory_);
    ASSERT_TRUE(same_bits(d.margin, one->learner().score(e))) << "example " << n;
    ASSERT_TRUE(d.probability > 0 && d.probability <= 1) << d.probability;
    ASSERT_EQ(d.ask, !(d.draw >= d.probability)) << "example " << n;
    asked += d.ask;
  }
  EXPECT_EQ(session_bytes(*one), before);
  EXPECT_GT(asked, 0u);
}

TEST_P(Elsewhere, JudgeIsWhatDecideSaysWhereNothingIsCounted) {
  if (GetParam().counts()) GTEST_SKIP() << "decide() counts an example before it predicts it";
  const auto one = with_tasks();
  for (std::size_t n = kFirst; n < size(); ++n) {
    const Example e = example(*one, n);
    JudgeMemory before = memory_;
    const Decision any = judge(*one, e, n);
    const Outcome outcome = one->decide({{&e, 1}})[0];
    const Decision d = one->learner().judge(e, 1, std::isnan(outcome.decision.draw) ? 0.5 : outcome.decision.draw, before);
    ASSERT_TRUE(same_bits(any.margin, outcome.decision.margin)) << "example " << n;
    ASSERT_TRUE(same_bits(any.probability, outcome.decision.probability)) << "example " << n;
    if (outcome.decision.ask) {
      ASSERT_EQ(Outcome{d}, Outcome{outcome.decision}) << "example " << n;  // nothing was learned yet
    }
    while (one->next_question()) one->reply(label(n));
  }
}

/// What an example decided here does, one from elsewhere does, too.
TEST_P(Elsewhere, AnExampleTakenIsOneDecidedAndNotAsked) {
  if (algorithm(GetParam().spec).own.draws) GTEST_SKIP() << "what it learns depends on the draws before";
  // Of new tasks the bound of budget-forgetron depends on the decision.
  const bool late = !GetParam().has("budget-forgetron");
  const auto here = late ? session() : with_tasks(), there = late ? session() : with_tasks();
  std::size_t taken = 0;
  for (std::size_t n = late ? 0 : kFirst; n < size(); ++n) {
    const Example e = example(*here, n);
    ASSERT_EQ(example(*there, n).task, e.task);
    const Outcome outcome = run_round_later(*here, {{&e, 1}})[0];
    if (outcome.decision.ask) {
      ASSERT_EQ(ask(*there, e, outcome.decision), outcome.ticket);
      if (n % 3 == 0) {
        here->withdraw(*outcome.ticket);
        there->withdraw(*outcome.ticket);
      } else if (n % 3 == 1) {
        ASSERT_EQ(answer_to(*there, *outcome.ticket, stream_.y[n]), answer_to(*here, *outcome.ticket, stream_.y[n]));
      }
    } else {
      take(*there, e);
      ++taken;
    }
    if (n % 5 == 0 && here->pending().size() > 2) {
      const std::uint64_t ticket = here->pending().oldest();
      answer_to(*here, ticket, 1);
      answer_to(*there, ticket, 1);
    }
    if (n % 40 == 0) {
      ASSERT_EQ(bytes_but_draws(*there), bytes_but_draws(*here)) << "example " << n;
    }
  }
  EXPECT_EQ(bytes_but_draws(*there), bytes_but_draws(*here));
  EXPECT_EQ(taken > 0, !GetParam().asks_always());
}

TEST_P(Elsewhere, AGiftIsABoughtLabelToTheBit) {
  if (GetParam().counts() && GetParam().can().mistake_driven)
    GTEST_SKIP() << "whether it was a mistake depends on what was counted since";
  const auto bought = with_tasks(), given = with_tasks();
  for (std::size_t n = kFirst; n < size(); ++n) {
    const Example e = example(*bought, n);
    ASSERT_EQ(example(*given, n).task, e.task);
    const Decision d = judge(*bought, e, n);
    if (!d.ask) {
      take(*bought, e);
      take(*given, e);
      continue;
    }
    const auto ticket = ask(*bought, e, d);
    ASSERT_EQ(ask(*given, e, d), ticket);
    bought->answer(*ticket, label(n));
    given->withdraw(*ticket);
    given->give(e, label(n), "", d.probability);
    if (n % 8 == 0) {
      ASSERT_EQ(learner_bytes(*given), learner_bytes(*bought)) << "example " << n;
    }
  }
  EXPECT_EQ(learner_bytes(*given), learner_bytes(*bought));
  EXPECT_GT(bought->total().labels, 0u);
}

TEST_P(Elsewhere, SavedAndContinuedAnywhereItIsTheSame) {
  const auto never = session();
  auto often = session();
  for (std::size_t n = 0; n < size(); ++n) {
    const Example e = example(*never, n);
    const Decision d = judge(*never, e, n);
    for (Session* s : {never.get(), often.get()}) {
      const Example own = example(*s, n);
      if (!d.ask)
        take(*s, own);
      else if (const auto ticket = ask(*s, own, d); ticket && n % 4 == 0)
        s->answer(*ticket, label(n));
      if (n % 5 == 0 && s->pending().size() > 3) s->answer(s->pending().oldest(), label(n));
    }
    if (n % 17 == 0) often = saved_and_loaded(*often);
    if (n % 45 == 0) {
      ASSERT_EQ(session_bytes(*often), session_bytes(*never)) << "example " << n;
    }
  }
  EXPECT_EQ(session_bytes(*often), session_bytes(*never));
}

TEST_P(Elsewhere, ARebuildIsTheLiveModelToTheBit) {
  const Capabilities can = GetParam().can();
  if (!can.rebuilds || (GetParam().counts() && !can.learns_unasked) || algorithm(GetParam().spec).own.draws)
    GTEST_SKIP() << "a rebuild is another model";
  const auto live = with_tasks();
  for (std::size_t n = kFirst; n < size(); ++n) {
    const Example e = example(*live, n);
    const Decision d = judge(*live, e, n);
    if (!d.ask)
      take(*live, e);
    else if (const auto ticket = ask(*live, e, d); can.mistake_driven || n % 4 != 0)
      live->answer(*ticket, label(n));
    if (!can.mistake_driven && n % 8 == 0 && live->pending().size() > 3) live->answer(live->pending().oldest(), label(n));
  }
  const std::string before = learner_bytes(*live);
  live->rebuild();
  EXPECT_EQ(learner_bytes(*live), before);
  EXPECT_GT(live->total().labels, 0u);
}

std::vector<Setting> judging_settings() {
  std::vector<Setting> out = all_settings();
  out.push_back({{"cohort", {}}, "cohort_as_it_is"});
  std::erase_if(out, [](const Setting& s) { return !s.can().judges; });
  return out;
}
INSTANTIATE_TEST_SUITE_P(All, Elsewhere, testing::ValuesIn(judging_settings()), setting_name);

TEST(Judges, AreAllButThoseThatDecideARoundTogetherOrLearnWhileTheyDecide) {
  for (const Algorithm& a : algorithms())
    EXPECT_EQ(a.own.judges, a.name != "peer" && !a.name.starts_with("shampo")) << a.name;
  for (const Setting& s : all_settings()) {
    EXPECT_EQ(s.can().judges, algorithm(s.spec).own.judges && !s.shares()) << s.name;
  }
}

TEST(AskedElsewhere, TheLimitsDecideAndThePaceDoesNot) {
  SessionOptions o = that_keeps();
  o.limits.total = 3;
  o.spread_over = 1'000'000;
  Session session(parse_spec("cohort"), o);
  const Stream s = make_stream(20, 2, 5, 8);
  std::size_t accepted = 0;
  for (std::size_t n = 0; n < s.size(); ++n) {
    const Example e{session.task(task_name(s.task[n])), s.x[n].view()};
    accepted += ask(session, e, {.margin = 0.1, .probability = 0.5}).has_value();
  }
  EXPECT_EQ(accepted, 3u);
  EXPECT_EQ(session.total().examples, 20u);
  EXPECT_EQ(session.pending().size(), 3u);
}

TEST(AskedElsewhere, ARefusedDecisionOrTaskChangesNothing) {
  Session session(parse_spec("cohort"), that_keeps());
  const std::vector<double> x{1.0, 0.5};
  const Example e{session.task("a"), {{}, x}};
  const std::string before = session_bytes(session);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(ask(session, e, {.margin = nan}), UsageError);
  EXPECT_THROW(ask(session, e, {.margin = 1, .probability = 0}), UsageError);
  EXPECT_THROW(ask(session, e, {.margin = 1, .probability = nan}), UsageError);
  EXPECT_THROW(ask(session, {7, {{}, x}}, {.margin = 1}), UsageError);
  EXPECT_THROW(take(session, {7, {{}, x}}), UsageError);
  EXPECT_EQ(session_bytes(session), before);
}

TEST(AskedElsewhere, ExamplesFromElsewhereAreNotAudited) {
  SessionOptions o = that_keeps();
  o.audit = 0.5;
  o.audit_floor = 0.5;
  Session session(parse_spec("cohort"), o);
  const Stream s = make_stream(200, 2, 5, 8);
  for (std::size_t n = 0; n < s.size(); ++n) {
    const Example e{session.task(task_name(s.task[n])), s.x[n].view()};
    if (n % 2 == 0)
      take(session, e);
    else
      session.answer(*ask(session, e, {.margin = 0.1, .probability = 0.5}), answer_of(s.y[n]));
  }
  EXPECT_EQ(session.audit()->covered(), 0u);
  EXPECT_EQ(session.audit()->bought(), 0u);
  EXPECT_EQ(session.total().labels, 100u);
  saved_and_loaded(session);
}

TEST(AskedElsewhere, AnInstanceOfClassesIsOneDecided) {
  for (const char* spec : {"cohort", "perceptron(query=margin, scale=log-idf)"}) {
    SessionOptions o = that_keeps();
    o.tasks_per_name = 3;
    o.exclusive = true;
    Session here(parse_spec(spec), o), there(parse_spec(spec), o);
    const Stream s = make_stream(300, 2, 6, 5, true);
    std::size_t asked = 0, taken = 0;
    std::vector<Example> instance;
    const auto of_class = [&](std::size_t n) { return static_cast<Task>(s.y[n] > 0 ? 0 : 1 + n % 2); };
    for (std::size_t n = 0; n < s.size(); ++n) {
      const Task first = here.task(task_name(s.task[n]));
      ASSERT_EQ(there.task(task_name(s.task[n])), first);
      instance.clear();
      for (Task k = 0; k < 3; ++k) instance.push_back({first + k, s.x[n].view(), k});
      const std::span<const Outcome> outcomes = run_round_later(here, {instance, 3});
      std::vector<Decision> decisions;
      for (const Outcome& outcome : outcomes) decisions.push_back(outcome.decision);
      const std::span<const Outcome> elsewhere = there.take(instance, decisions);
      for (Task k = 0; k < 3; ++k) {
        ASSERT_EQ(elsewhere[k].ticket, outcomes[k].ticket) << spec << ", instance " << n;
        (outcomes[k].ticket ? asked : taken) += 1;
      }
      for (Task k = 0; k < 3; ++k)
        if (const auto ticket = outcomes[k].ticket)
          for (Session* session : {&here, &there}) session->answer(*ticket, of_class(n) == k ? kYes : kNo);
    }
    EXPECT_GT(asked, 50u) << spec;
    EXPECT_GT(taken, 50u) << spec;
    EXPECT_EQ(bytes_but_draws(there), bytes_but_draws(here)) << spec;
    EXPECT_EQ(there.labels().size(), here.labels().size());
  }
}

}  // namespace
}  // namespace quorate::test
