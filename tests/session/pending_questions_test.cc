#include "quorate/session/pending_questions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <memory>

#include "quorate/learner.h"
#include "quorate/registry.h"
#include "quorate/session/session.h"
#include "support/edit.h"
#include "support/make.h"

namespace quorate::test {
namespace {

using testing::ElementsAre;

Outcome ask_later(Session& session, const Example& e) {
  Outcome out;
  run_round(session, {&e, 1}, [](std::size_t) { return kLater; }, {&out, 1});
  return out;
}

std::unique_ptr<Session> reloaded(const Session& session) {
  Tensors saved;
  session.save(saved);
  Reader reader(saved);
  auto out = std::make_unique<Session>(Session::load(session.spec(), session.options(), reader));
  reader.finish();
  return out;
}

TEST(PendingQuestions, AnAnswerThatComesLaterIsLearnedFromByTheDecisionThatWasMade) {
  Session session(parse_spec("perceptron"), {.seed = 1});
  session.task("a");
  const Vector x = dense({1, 0}), z = dense({0, 1});
  const Outcome first = ask_later(session, {0, x});
  EXPECT_TRUE(first.asked);
  EXPECT_EQ(first.answer, std::nullopt);
  EXPECT_EQ(first.ticket, 0u);
  EXPECT_FALSE(first.updated);
  EXPECT_EQ(ask_later(session, {0, z}).ticket, 1u);
  EXPECT_EQ(session.total().labels, 0u);
  EXPECT_EQ(session.pending().size(), 2u);
  EXPECT_EQ(session.budget().bought(), 2u) << "asked for counts as bought";
  feed_one(session, {0, x}, 1);  // now the margin of x is 1
  const auto late = answer_to(session, 0, 1);
  ASSERT_TRUE(late.has_value());
  EXPECT_EQ(late->decision.margin, 0) << "as it was then";
  EXPECT_TRUE(late->updated) << "a margin of 0 was a mistake";
  EXPECT_EQ(session.learner().score({0, x}), 2);
  EXPECT_EQ(session.total().labels, 2u);
  EXPECT_EQ(session.pending().size(), 1u);
  EXPECT_EQ(session.pending().of_task(0), 1u);
  EXPECT_EQ(session.total().mistakes, 2u);
  EXPECT_EQ(session.pending().oldest(), 1u);
}

TEST(PendingQuestions, ASecondAnswerAndOneAfterTheQuestionWasWithdrawnChangeNothingAndAreCounted) {
  Session session(parse_spec("perceptron"), {.seed = 1, .limits = {.total = 2}});
  session.task("a");
  const Vector x = dense({1});
  ask_later(session, {0, x});
  ask_later(session, {0, x});
  EXPECT_FALSE(ask_later(session, {0, x}).asked) << "two are pending";
  EXPECT_TRUE(answer_to(session, 0, 1));
  EXPECT_TRUE(session.withdraw(1));
  EXPECT_EQ(session.unanswered(), 1u);
  EXPECT_EQ(session.budget().bought(), 1u) << "back in the budget";
  const auto score = session.learner().score({0, x});
  EXPECT_FALSE(answer_to(session, 0, -1));
  EXPECT_FALSE(answer_to(session, 1, -1));
  EXPECT_FALSE(session.withdraw(0));
  EXPECT_FALSE(session.withdraw(1));
  EXPECT_EQ(session.too_late(), 2u);
  EXPECT_EQ(session.unanswered(), 1u);
  EXPECT_EQ(session.learner().score({0, x}), score);
  EXPECT_EQ(session.total().labels, 1u);
  EXPECT_EQ(ask_later(session, {0, x}).ticket, 2u) << "a ticket is never issued twice";
  EXPECT_FALSE(session.budget().left());
}

TEST(PendingQuestions, ATicketNeverIssuedAndALabelThatIsNoneAreRefused) {
  Session session(parse_spec("perceptron"), {.seed = 1});
  session.task("a");
  EXPECT_THROW(answer_to(session, 0, 1), UsageError);
  EXPECT_THROW(session.withdraw(0), UsageError);
  const Vector x = dense({1});
  ask_later(session, {0, x});
  EXPECT_THROW(answer_to(session, 1, 1), UsageError);
  for (const int label : {2, -2, kLater, 77}) EXPECT_THROW(answer_to(session, 0, label), UsageError);
  EXPECT_EQ(session.pending().size(), 1u);
  EXPECT_TRUE(answer_to(session, 0, 0)) << "neither of the two";
  EXPECT_EQ(session.total().mistakes, 0u);
}

TEST(PendingQuestions, AStreamWhoseLabelsNeverComeDoesNotGrow) {
  const Stream s = make_stream(500, 3, 5, 61);
  Session session(parse_spec("perceptron"), {.seed = 1, .max_pending = 20});
  std::size_t bytes = 0;
  for (std::size_t n = 0; n < s.size(); ++n) {
    EXPECT_EQ(ask_later(session, {session.task(task_name(s.task[n])), s.x[n]}).ticket, n);
    if (n == 100) bytes = session.model_bytes();
  }
  EXPECT_EQ(session.pending().size(), 20u);
  EXPECT_EQ(session.pending().oldest(), 480u) << "the longest awaited is given up first";
  EXPECT_EQ(session.unanswered(), 480u);
  EXPECT_EQ(session.budget().bought(), 20u);
  EXPECT_EQ(session.model_bytes(), bytes);
  Session none(parse_spec("perceptron"), {.seed = 1, .max_pending = 0});
  none.task("a");
  EXPECT_FALSE(ask_later(none, {0, s.x[0]}).asked);
  EXPECT_EQ(none.budget().bought(), 0u);
}

TEST(PendingQuestions, ATasksLimitAndARateKnowWhatIsPending) {
  Session session(parse_spec("perceptron"), {.seed = 1, .limits = {.per_task = 1, .rate = LabelRate{2, 10}}});
  for (const char* name : {"a", "b", "c"}) session.task(name);
  const Vector x = dense({1});
  EXPECT_TRUE(ask_later(session, {0, x}).asked);
  EXPECT_FALSE(ask_later(session, {0, x}).asked);
  EXPECT_TRUE(ask_later(session, {1, x}).asked);
  EXPECT_FALSE(ask_later(session, {2, x}).asked) << "two in ten";
  session.withdraw(0);
  EXPECT_FALSE(ask_later(session, {0, x}).asked) << "the rate keeps what was asked";
  for (int n = 0; n < 5; ++n) EXPECT_FALSE(ask_later(session, {1, x}).asked);
  EXPECT_TRUE(ask_later(session, {0, x}).asked) << "the task has its label back";
}

TEST(PendingQuestions, SavedInTheMiddleItGoesOnToTheBit) {
  for (const std::string spec : {"perceptron(query=margin)", "cmtl(query=margin)", "amlc", "peer", "shampo",
                                 "shampo-second-order(aggressive=true)", "budget-random(budget=20, query=margin)"})
    for (const bool holes : {false, true}) {
      const Stream s = make_stream(250, 4, 5, 62, holes);
      const SessionOptions options{.seed = 5, .limits = {.total = 90}, .max_pending = 15};
      auto never = std::make_unique<Session>(parse_spec(spec), options),
           often = std::make_unique<Session>(parse_spec(spec), options);
      std::deque<std::pair<std::uint64_t, int>> open;
      Rng rng = make_rng(6, 0);
      for (std::size_t n = 0; n < s.size(); ++n) {
        if (n % 7 == 0) often = reloaded(*often);
        const Outcome a = ask_later(*never, {never->task(task_name(s.task[n])), s.x[n]});
        const Outcome b = ask_later(*often, {often->task(task_name(s.task[n])), s.x[n]});
        ASSERT_EQ(a, b) << spec << " " << n;
        ASSERT_EQ(a.ticket, b.ticket);
        if (a.ticket) open.emplace_back(*a.ticket, s.y[n]);
        while (!open.empty() && uniform(rng) < 0.5) {
          const auto [ticket, label] = open[below(open.size(), rng)];
          if (uniform(rng) < 0.2) {
            ASSERT_EQ(never->withdraw(ticket), often->withdraw(ticket));
          } else {
            const auto c = answer_to(*never, ticket, label), d = answer_to(*often, ticket, label);
            ASSERT_EQ(c.has_value(), d.has_value());
            if (c) {
              ASSERT_EQ(*c, *d);
            }
          }
          if (uniform(rng) < 0.5) open.pop_front();
        }
      }
      EXPECT_GT(never->too_late(), 0u);
      EXPECT_GT(never->total().labels, 10u);
      Tensors a, b;
      never->save(a);
      often->save(b);
      EXPECT_EQ(to_bytes(a), to_bytes(b)) << spec;
      EXPECT_EQ(never->model_bytes() > 0, often->model_bytes() > 0);
    }
}

TEST(PendingQuestions, WithLimitedMemoryTheLongestAwaitedLeaveAndWhatNeverFitsIsNotAsked) {
  const Stream s = make_stream(300, 3, 40, 63);
  Session session(parse_spec("budget-random(budget=1000, query=always)"), {.seed = 1, .memory_limit = 60'000});
  for (std::size_t n = 0; n < s.size(); ++n) {
    const Task task = session.task(task_name(s.task[n]));
    if (n % 2 == 0)
      feed_one(session, {task, s.x[n]}, s.y[n]);
    else
      EXPECT_TRUE(ask_later(session, {task, s.x[n]}).asked);
    ASSERT_LE(session.peak_bytes(), 60'000u);
  }
  EXPECT_LE(session.pending().bytes(), 15'000u);
  EXPECT_GT(session.pending().size(), 5u);
  EXPECT_GT(session.unanswered(), 0u);
  const Vector huge = dense(std::vector<double>(2000, 0.01));
  const std::uint64_t before = session.unanswered();
  EXPECT_FALSE(ask_later(session, {0, huge}).asked) << "a quarter of the memory is for those that wait";
  EXPECT_EQ(session.unanswered(), before) << "nobody was asked";
}

TEST(PendingQuestions, RefusesStateThatCannotBe) {
  PendingQuestions some(std::pmr::get_default_resource());
  const Vector x = sparse({1, 4}, {0.5, 2}), z = dense({1, 2, 3});
  some.add(3, {0, x}, {});
  some.add(7, {1, z}, {});
  const PendingQuestions::Packed good = some.pack();
  PendingQuestions copy(std::pmr::get_default_resource());
  copy.unpack(good);
  EXPECT_EQ(copy.bytes(), some.bytes());
  ASSERT_NE(copy.find(7), nullptr);
  EXPECT_TRUE(copy.find(7)->example().x.dense());
  EXPECT_THAT(copy.find(3)->index, ElementsAre(1, 4));
  EXPECT_EQ(copy.find(5), nullptr);
  const auto refused = [&](auto change) {
    PendingQuestions::Packed p = good;
    change(p);
    PendingQuestions out(std::pmr::get_default_resource());
    EXPECT_THROW(out.unpack(p), DataError);
    EXPECT_EQ(out.size(), 0u);
  };
  refused([](auto& p) { p.ticket = {7, 3}; });
  refused([](auto& p) { p.ticket = {3, 3}; });
  refused([](auto& p) { edit(p.task)->pop_back(); });
  refused([](auto& p) { edit(p.decision)->pop_back(); });
  refused([](auto& p) { edit(p.norm)->push_back(1); });
  refused([](auto& p) { edit(p.norm)->front() = 0; });
  refused([](auto& p) { edit(p.value)->push_back(1); });
  refused([](auto& p) { edit(p.index)->front() = 4; });
  refused([](auto& p) { edit(p.value_end)->front() = 9; });
  Session session(parse_spec("perceptron"), {.seed = 1});
  session.task("a");
  ask_later(session, {0, x});
  Tensors saved;
  session.save(saved);
  for (const char* name : {"next_ticket", "pending.task", "pending.ticket", "budget.bought"}) {
    Tensors t = saved;
    edit(t.tensors.at(name).bytes)->front() ^= std::byte{1};
    Reader reader(t);
    EXPECT_THROW(Session::load(session.spec(), session.options(), reader), DataError) << name;
  }
}

}  // namespace
}  // namespace quorate::test
