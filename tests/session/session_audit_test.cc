// Audits in a session: what they cost, whom they must not reach, and that they survive a save.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>

#include "quorate/model/model.h"
#include "quorate/session/session.h"
#include "support/edit.h"
#include "support/make.h"
#include "support/settings.h"

namespace quorate::test {
namespace {

using SessionAudit = EveryLearner;

/// Rounds of 1, 2, 3, 1, ... examples through a session. answer(n): what the oracle says of example n of the stream.
std::vector<Outcome> feed_rounds(Session& session, const Stream& s,
                                 const std::function<std::optional<int>(std::size_t)>& answer) {
  std::vector<Outcome> out(s.size());
  for (std::size_t n = 0, r = 0; n < s.size(); ++r) {
    const std::size_t size = std::min(s.size() - n, 1 + r % 3);
    std::vector<Example> round;
    for (std::size_t k = n; k < n + size; ++k) round.push_back({session.task(task_name(s.task[k])), s.x[k]});
    run_round(
        session, round, [&](std::size_t k) { return answer(n + k); }, std::span(out).subspan(n, size));
    n += size;
  }
  return out;
}

Tensors saved(const Session& session) {
  Tensors out;
  session.save(out);
  return out;
}

std::unique_ptr<Session> saved_and_read(const Session& session) {
  const Tensors tensors = saved(session);
  Reader reader(tensors);
  auto out = std::make_unique<Session>(Session::load(session.spec(), session.options(), reader));
  reader.finish();
  return out;
}

TEST_P(SessionAudit, LimitsHoldForAuditsAndLearningTogether) {
  constexpr std::uint64_t kTotal = 60, kPerTask = 17, kRate = 12, kWindow = 30;
  const Stream s = make_stream(300, 5, 6, 81);
  Session session(
      spec(),
      {.seed = 3, .limits = {.total = kTotal, .per_task = kPerTask, .rate = LabelRate{kRate, kWindow}}, .audit = 0.3});
  std::uint64_t questions = 0;
  const auto outcomes = feed_rounds(session, s, [&](std::size_t n) { return ++questions, s.y[n]; });
  std::vector<std::uint64_t> of_task(5);
  std::vector<std::size_t> at;
  std::uint64_t audits = 0, mistakes = 0, updates = 0;
  for (std::size_t n = 0; n < s.size(); ++n) {
    const Outcome& outcome = outcomes[n];
    ASSERT_FALSE(outcome.asked && outcome.audited) << n;
    ASSERT_TRUE(outcome.asked || !outcome.updated) << n << ": an audit taught something";
    updates += outcome.asked && outcome.updated;
    if (!outcome.answer) continue;
    ASSERT_TRUE(outcome.asked || outcome.audited) << n;
    at.push_back(n);
    ++of_task[s.task[n]];
    audits += outcome.audited;
    mistakes += outcome.asked && predicted(outcome.decision.margin) != *outcome.answer;
  }
  EXPECT_EQ(questions, at.size()) << "the oracle is asked for no label that is not bought";
  EXPECT_EQ(session.budget().bought(), at.size());
  EXPECT_EQ(session.total().labels, at.size());
  EXPECT_EQ(session.total().mistakes, mistakes) << "those of audits would say too much good of a learner that asks in doubt";
  EXPECT_EQ(session.total().updates, updates);
  EXPECT_EQ(session.audit()->bought(), audits);
  EXPECT_LE(at.size(), kTotal);
  EXPECT_LE(at.size() - audits, kTotal - session.audit()->reserve(kTotal)) << "learning leaves the audits their part";
  EXPECT_LE(static_cast<double>(audits), 0.3 * static_cast<double>(at.size()) + 1);
  for (const std::uint64_t labels : of_task) EXPECT_LE(labels, kPerTask);
  for (std::size_t i = kRate; i < at.size(); ++i) EXPECT_GE(at[i] - at[i - kRate], kWindow);
  if (at.size() > 20) {
    EXPECT_GE(audits, 2u);
  }
}

TEST_P(SessionAudit, AnAuditedAnswerNeverReachesTheLearner) {
  const Stream s = make_stream(200, 4, 6, 82);
  const SessionOptions options{.seed = 4, .limits = {.total = 90}, .audit = 0.4};
  Session honest(spec(), options), lied(spec(), options);
  const auto first = feed_rounds(honest, s, [&](std::size_t n) { return s.y[n]; });
  const auto second = feed_rounds(lied, s, [&](std::size_t n) { return first[n].audited ? -s.y[n] : s.y[n]; });
  std::uint64_t audits = 0;
  for (std::size_t n = 0; n < s.size(); ++n) {
    Outcome told = second[n];
    if (first[n].audited && told.answer) {
      ++audits;
      told.answer = *told.answer == kYes ? kNo : kYes;
    }
    ASSERT_EQ(told, first[n]) << n;
  }
  if (honest.budget().bought() > 10) {
    EXPECT_GT(audits, 2u);
  }
  const Tensors a = saved(honest), b = saved(lied);
  ASSERT_EQ(a.tensors.size(), b.tensors.size());
  for (const auto& [name, tensor] : a.tensors) {
    if (name == "audit.mistakes" || name == "audit.wrong") continue;
    EXPECT_EQ(tensor.bytes, b.tensors.at(name).bytes) << name;
  }
}

TEST_P(SessionAudit, SaveAndContinueEqualsNeverSaved) {
  const Stream s = make_stream(130, 4, 6, 83, true);
  const SessionOptions options{.seed = 5, .limits = {.total = 70}, .audit = 0.3};
  auto never = std::make_unique<Session>(spec(), options), often = std::make_unique<Session>(spec(), options);
  for (std::size_t n = 0; n < s.size(); ++n) {
    if (n % 11 == 0) often = saved_and_read(*often);
    const int y = n % 6 == 5 ? 0 : s.y[n];  // which nobody knows
    const Outcome a = feed_one(*never, {never->task(task_name(s.task[n])), s.x[n]}, y);
    const Outcome b = feed_one(*often, {often->task(task_name(s.task[n])), s.x[n]}, y);
    ASSERT_EQ(a, b) << n;
  }
  EXPECT_EQ(to_bytes(saved(*never)), to_bytes(saved(*often)));
  EXPECT_EQ(often->audit()->share(), 0.3);
  EXPECT_EQ(often->audit()->bought(), never->audit()->bought());
}

INSTANTIATE_TEST_SUITE_P(AllSettings, SessionAudit, testing::ValuesIn(all_settings()), setting_name);

TEST(Audited, AModelWhoseQuestionsWereWithdrawnIsSavedAndGoesOnToTheBit) {
  const Stream s = make_stream(400, 3, 5, 84);
  const SessionOptions options{.seed = 2, .audit = 0.4, .max_pending = 40};
  auto never = std::make_unique<Session>(parse_spec("perceptron"), options),
       often = std::make_unique<Session>(parse_spec("perceptron"), options);
  std::deque<std::uint64_t> open;
  std::uint64_t audits = 0;
  for (std::size_t n = 0; n < s.size(); ++n) {
    if (n % 7 == 0) often = saved_and_read(*often);
    Outcome outcomes[2];
    for (Session* one : {never.get(), often.get()}) {
      const Example e{one->task(task_name(s.task[n])), s.x[n]};
      run_round(*one, {&e, 1}, [&](std::size_t) { return n % 4 == 0 ? s.y[n] : kLater; },
                {&outcomes[one == often.get()], 1});
    }
    ASSERT_EQ(outcomes[0], outcomes[1]) << n;
    audits += outcomes[0].audited && outcomes[0].answer;
    if (outcomes[0].ticket) open.push_back(*outcomes[0].ticket);
    if (n % 60 == 59)  // nobody will answer any of them
      for (; !open.empty(); open.pop_front()) {
        ASSERT_EQ(never->withdraw(open.front()), often->withdraw(open.front()));
      }
    const double bought = static_cast<double>(never->total().labels);
    ASSERT_LE(static_cast<double>(audits), 0.4 * bought + 1) << "questions that wait, or were withdrawn, earn no audits";
  }
  EXPECT_GT(audits, 5u);
  EXPECT_EQ(to_bytes(saved(*never)), to_bytes(saved(*often)));
}

TEST(Audited, AnAnswerThatComesLateMeasuresThePredictionThatWasMade) {
  const Stream s = make_stream(300, 3, 5, 86);
  const SessionOptions options{.seed = 1, .limits = {.total = 100}, .audit = 0.3};
  Session at_once(parse_spec("cmtl"), options), late(parse_spec("cmtl"), options);
  std::vector<std::pair<std::uint64_t, int>> waiting;
  for (std::size_t n = 0; n < s.size(); ++n) {
    feed(at_once, s, n);
    const Example e{late.task(task_name(s.task[n])), s.x[n]};
    bool audit = false;
    const auto outcomes = [&] {
      const auto out = late.decide({{&e, 1}});
      while (const auto question = late.next_question()) {
        audit = question->audit;
        late.reply(audit ? Reply::later() : Reply(answer_of(s.y[n])));
      }
      return out;
    }();
    if (audit) {
      EXPECT_TRUE(outcomes[0].ticket.has_value());
      waiting.emplace_back(*outcomes[0].ticket, s.y[n]);
    }
    if (waiting.size() < 3 && n + 1 < s.size()) continue;
    for (const auto& [ticket, y] : waiting) {
      const auto outcome = late.answer(ticket, answer_of(y));
      ASSERT_TRUE(outcome);
      EXPECT_TRUE(outcome->audited);
      EXPECT_FALSE(outcome->updated);
      EXPECT_EQ(late.answer(ticket, answer_of(y)), std::nullopt) << "once";
    }
    waiting.clear();
  }
  EXPECT_GT(late.audit()->bought(), 10u);
  EXPECT_LE(late.budget().bought(), 100u);
  EXPECT_NEAR(late.audit()->stream().value, at_once.audit()->stream().value, 0.2);
}

/// Of classes learned together an audit is one of an instance: is the predicted class right? The answer is a class.
TEST(Audited, OfClassesAnInstanceIsAuditedOnceAboutItsPrediction) {
  constexpr Task kClasses = 4;
  const SessionOptions options{
      .seed = 3, .tasks_per_name = kClasses, .exclusive = true, .audit = 0.5, .audit_floor = 0.2, .keep_labels = 1 << 20};
  Session at_once(parse_spec("cohort"), options), late(parse_spec("cohort"), options);
  const Stream s = make_stream(600, 2, 6, 9, true);
  std::size_t audits = 0, right = 0;
  std::vector<Example> instance;
  for (std::size_t n = 0; n < s.size(); ++n) {
    const std::uint32_t truth = (s.y[n] > 0 ? 0 : 1) + n % 2;
    for (Session* session : {&at_once, &late}) {
      const Task first = session->task(task_name(s.task[n]));
      instance.clear();
      for (Task k = 0; k < kClasses; ++k) instance.push_back({first + k, s.x[n].view(), k});
      const auto outcomes = session->decide({instance, kClasses});
      const std::uint64_t learned = session->learned();
      std::size_t questions = 0;
      while (const auto question = session->next_question()) {
        ++questions;
        const std::size_t asked = question->example;
        const Reply reply(truth == asked ? kYes : kNo, truth);
        if (question->audit) {
          for (const Outcome& other : outcomes) ASSERT_LE(other.decision.margin, outcomes[asked].decision.margin) << n;
          audits += session == &at_once;
          right += session == &at_once && truth == asked;
        }
        session->reply(session == &late ? Reply::later() : reply);
        if (session == &late) session->answer(outcomes[asked].ticket.value(), reply);
        const KeptLabel& label = session->labels()[session->labels().size() - 1];
        ASSERT_EQ(label.audit, question->audit ? asked + 1 : 0);
        ASSERT_EQ(label.answer(), kYes);
        UnpackedInstance memory;
        ASSERT_EQ(session->labels().example(session->labels().size() - 1, memory).group, truth);
        ASSERT_EQ(session->learned(), learned + !question->audit);
      }
      ASSERT_LE(questions, 1u) << n;
    }
  }
  EXPECT_EQ(to_bytes(saved(at_once)).size(), to_bytes(saved(late)).size());
  const Audit& audit = *at_once.audit();
  EXPECT_EQ(audit.covered(), s.size());
  EXPECT_GE(audits, 119u) << "a fifth of 600";
  EXPECT_LE(audits, 120 + at_once.learned() + 2);
  EXPECT_EQ(audit.scored(), audits);
  const auto all = [](const Audit& a) {
    const Estimate recent = a.recent(), earlier = a.earlier();
    return std::lround(recent.value * static_cast<double>(recent.examples)) +
           (earlier.examples > 0 ? std::lround(earlier.value * static_cast<double>(earlier.examples)) : 0);
  };
  EXPECT_EQ(all(audit), right);
  EXPECT_EQ(all(*late.audit()), right);

  const KeptLabels& kept = at_once.labels();
  for (std::size_t i = 0, changed = 0; i < kept.size() && changed < 20; ++i) {
    if (kept[i].audit == 0) continue;
    ++changed;
    const std::uint32_t top = kept[i].audit - 1, was = kept[i].group, other = (was + 1) % kClasses;
    at_once.correct(kept[i].id, Reply(kNo, other));
    right = right + (other == top) - (was == top);
    ASSERT_EQ(all(audit), right);
    const auto again = saved_and_read(at_once);
    ASSERT_EQ(all(*again->audit()), right);
    at_once.correct(kept[i].id, Reply(kYes, was));
    right = right + (was == top) - (other == top);
    ASSERT_EQ(all(audit), right);
  }
  const std::uint64_t id = [&] {
    std::size_t i = 0;
    while (kept[i].audit == 0) ++i;
    right -= kept[i].group + 1 == kept[i].audit;
    return kept[i].id;
  }();
  at_once.undo({id});
  EXPECT_EQ(audit.scored(), audits - 1);
  EXPECT_EQ(all(audit), right);
}

TEST(Audited, AnAuditWithoutAnAnswerSpendsNothing) {
  const Stream s = make_stream(200, 3, 5, 85);
  const SessionOptions options{.seed = 1, .limits = {.total = 100}, .audit = 0.3};
  Session knows(parse_spec("cmtl"), options);
  const auto outcomes = feed(knows, s);
  std::size_t first = 0;
  while (first < s.size() && !outcomes[first].audited) ++first;
  ASSERT_LT(first, s.size());
  for (const bool later : {false, true}) {
    Session session(parse_spec("cmtl"), options);
    feed(session, s, 0, first);
    const Tensors before = saved(session);
    const std::uint64_t bought = session.budget().bought(), unanswered = session.unanswered();
    const Example e{session.task(task_name(s.task[first])), s.x[first]};
    Outcome out;
    run_round(session, {&e, 1}, [&](std::size_t) { return later ? std::optional(kLater) : std::nullopt; }, {&out, 1});
    EXPECT_TRUE(out.audited);
    EXPECT_FALSE(out.asked);
    EXPECT_EQ(out.answer, std::nullopt);
    EXPECT_EQ(out.ticket.has_value(), later);
    EXPECT_EQ(session.pending().size(), later ? 1u : 0u);
    EXPECT_EQ(session.budget().bought(), bought + (later ? 1 : 0)) << "a label is set aside while it waits";
    EXPECT_EQ(session.audit()->bought(), 0u);
    if (later) {
      EXPECT_TRUE(session.withdraw(*out.ticket));
    }
    EXPECT_EQ(session.pending().size(), 0u);
    EXPECT_EQ(session.budget().bought(), bought);
    EXPECT_EQ(session.unanswered(), unanswered + 1) << "asked for and never answered";
    const Tensors after = saved(session);
    for (const auto& [name, tensor] : before.tensors)
      if (name.starts_with("learner.")) {
        EXPECT_EQ(tensor.bytes, after.tensors.at(name).bytes) << name;
      }
    feed(session, s, first + 1, s.size());
    EXPECT_GT(session.audit()->bought(), 0u) << "another is audited instead";
  }
}

TEST(Audited, AnOracleThatThrowsAtAnAuditLeavesASessionThatCanBeSavedAndGoesOn) {
  const Stream s = make_stream(200, 3, 5, 86);
  Session session(parse_spec("perceptron"), {.seed = 1, .audit = 0.3});
  int thrown = 0;
  for (std::size_t n = 0; n < s.size(); ++n) {
    const Example e{session.task(task_name(s.task[n])), s.x[n]};
    Outcome out;
    try {
      run_round(session, {&e, 1},
                [&](std::size_t) -> int { return n % 5 == 4 ? throw std::runtime_error("asleep") : s.y[n]; }, {&out, 1});
    } catch (const std::runtime_error&) {
      ++thrown;
    }
    ASSERT_NO_THROW(saved_and_read(session)) << n;
  }
  EXPECT_EQ(thrown, 40);
  EXPECT_GT(session.audit()->bought(), 10u);
}

TEST(Audited, WithoutAuditsNothingOfThemIsSavedOrDrawn) {
  const Stream s = make_stream(100, 3, 5, 87);
  Session session(parse_spec("cmtl(query=margin)"), {.seed = 1});
  for (const Outcome& outcome : feed(session, s)) EXPECT_FALSE(outcome.audited);
  EXPECT_EQ(session.audit(), nullptr);
  const Tensors tensors = saved(session);
  for (const auto& [name, tensor] : tensors.tensors) EXPECT_FALSE(name.starts_with("audit") && name != "audited") << name;
  for (const double share : {1.0, -0.1, 1.5, std::nan("")})
    EXPECT_THROW(Session(parse_spec("cmtl"), {.seed = 1, .audit = share}), UsageError) << share;
}

TEST(Audited, StateThatDoesNotHangTogetherIsRefused) {
  const Stream s = make_stream(300, 3, 5, 88);
  Session session(parse_spec("cmtl(query=margin)"), {.seed = 1, .limits = {.total = 120}, .audit = 0.3});
  feed(session, s);
  ASSERT_GT(session.audit()->scored(), 5u);
  const Tensors good = saved(session);
  const auto load = [&](const Tensors& t) {
    Reader reader(t);
    Session::load(session.spec(), session.options(), reader);
    reader.finish();
  };
  EXPECT_NO_THROW(load(good));
  const auto refused = [&](const std::string& name, auto change, const char* why) {
    Tensors t = good;
    ASSERT_EQ(t.tensors.count(name), 1u) << name;
    change(*edit(t.tensors.at(name).bytes));
    EXPECT_THROW(load(t), DataError) << name << ": " << why;
  };
  const auto set = [](auto value) {
    return [value](auto& bytes) {
      ASSERT_GE(bytes.size(), sizeof value);
      std::memcpy(bytes.data(), &value, sizeof value);
    };
  };
  const auto cut = [](auto& bytes) { bytes.resize(bytes.size() - 8); };
  const std::uint64_t labels = session.total().labels, audits = session.audit()->bought(), huge = ~std::uint64_t{0};
  refused("audited", set(std::uint32_t{2}), "neither yes nor no");
  refused("audited", set(std::uint32_t{0}), "audits that nobody reads");
  for (const double share : {0.0, 1.0, -1.0, std::nan("")}) refused("audit.share", set(share), "no share");
  refused("audit.spent", set(std::nan("")), "not a number");
  refused("audit.mark", set(-2.0), "outside its unit");
  refused("audit.units", set(huge), "too many");
  refused("audit.bought", set(labels + 1), "more audits than labels");
  refused("audit.bought", set(std::uint64_t{0}), "judged without being bought");
  refused("audit.learned", set(labels - audits + 1), "learned from labels never bought");
  refused("audit.base", set(huge), "more than was learned");
  refused("audit.covered", set(huge), "more than there were");
  refused("audit.width", set(std::uint64_t{0}), "bins of nothing");
  refused("audit.seen", set(huge), "more than can be counted");
  for (const char* list : {"labels", "audits", "mistakes", "weight", "squares", "wrong"}) {
    refused(std::string("audit.") + list, cut, "a bin less");
    refused(std::string("audit.") + list, set(huge), "out of range or no number");
  }
  refused("audit_rng", cut, "a word less");
  Tensors t = good;
  t.tensors.erase("audit_rng");
  EXPECT_THROW(load(t), DataError);
}

}  // namespace
}  // namespace quorate::test
