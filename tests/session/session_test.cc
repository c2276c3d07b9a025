#include "quorate/session/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>

#include "quorate/learner.h"
#include "quorate/registry.h"
#include "quorate/store/state.h"
#include "support/allocations.h"
#include "support/edit.h"
#include "support/make.h"

namespace quorate::test {
namespace {

using testing::ElementsAre;

TEST(Session, CountsByTaskAndInTotal) {
  Session session(parse_spec("perceptron"), {.seed = 1});
  const Task a = session.task("a"), b = session.task("b");
  feed_one(session, {a, dense({1})}, 1);    // margin 0: predicted -1, a mistake, an update
  feed_one(session, {a, dense({1})}, 1);    // margin 1: right
  feed_one(session, {b, dense({1})}, -1);   // margin 0: predicted -1, right, but an update
  feed_one(session, {b, dense({-1})}, -1);  // margin 1: wrong
  const auto counts = [](const TaskCounters& c) { return std::vector{c.examples, c.labels, c.updates, c.mistakes}; };
  EXPECT_THAT(counts(session.count(a)), ElementsAre(2, 2, 1, 1));
  EXPECT_THAT(counts(session.count(b)), ElementsAre(2, 2, 2, 1));
  EXPECT_THAT(counts(session.total()), ElementsAre(4, 4, 3, 2));
  EXPECT_THAT(counts(session.count(77)), ElementsAre(0, 0, 0, 0));
}

TEST(Session, AHundredThousandTasksGrowWithoutASecondCopyAndThenNoMore) {
  constexpr std::size_t kLimit = 20'000'000;
  constexpr std::uint32_t kTasks = 100'000;
  Session session(parse_spec("cohort(query=always)"), {.seed = 1, .limits = {}, .memory_limit = kLimit});
  const Vector x = dense({1, 0.5});
  feed_one(session, {session.task("u0"), x}, 1);  // the first label takes what those to be replayed may need
  const std::size_t before = session.model_bytes();
  for (std::uint32_t i = 0; i < kTasks; ++i) {
    feed_one(session, {session.task("u" + std::to_string(i)), x}, i % 3 == 0 ? 1 : -1);
    ASSERT_LE(session.peak_bytes(), before + (24 + 32 + 12 + 6) * std::size_t{i + 1} + 600'000) << i;
  }
  const std::size_t known = session.model_bytes();
  EXPECT_LE(session.peak_bytes(), kLimit);
  for (std::uint32_t i = 0; i < kTasks; ++i) feed_one(session, {session.task("u" + std::to_string(i)), x}, 1);
  EXPECT_EQ(session.model_bytes(), known) << "all tasks were known";
  Tensors saved;
  session.save(saved);
  Reader reader(saved);
  const Session back = Session::load(session.spec(), session.options(), reader);
  EXPECT_EQ(back.tasks().size(), kTasks);
  EXPECT_LE(back.peak_bytes(), kLimit);
  EXPECT_EQ(back.count(77'777).examples, 2u);
  EXPECT_EQ(back.model_bytes(), known) << "a loaded model has as much memory left as one that was never saved";
}

TEST(Session, ALabelThatTheLearnerRefusesIsCountedSoThatItCanBeSaved) {
  Session session(parse_spec("shampo-second-order"), {.seed = 1});
  const Vector wide = sparse({20'000}, {1});  // more features than full matrices may have
  const Task task = session.task("a");
  EXPECT_THROW(feed_one(session, {task, wide}, 1), DataError);
  EXPECT_EQ(session.count(task).labels, 1u);
  Outcome asked;
  const Example example{task, wide};
  run_round(session, {&example, 1}, [](std::size_t) { return kLater; }, {&asked, 1});
  EXPECT_THROW(answer_to(session, asked.ticket.value(), 1), DataError);
  EXPECT_FALSE(answer_to(session, *asked.ticket, 1)) << "it was answered";
  Tensors saved;
  session.save(saved);
  Reader reader(saved);
  EXPECT_EQ(Session::load(session.spec(), session.options(), reader).total().labels, 2u);
}

TEST(Session, TasksNamedBeforehandComeFirst) {
  const NameTable names = task_names(3);
  Session session(parse_spec("perceptron"), {.seed = 1, .limits = {.total = 10}, .tasks = &names});
  EXPECT_EQ(session.task("t2"), 2u);
  EXPECT_EQ(session.task("new"), 3u);
  EXPECT_EQ(session.tasks().size(), 4u);
}

TEST(Session, ARoundBuysInOrderUntilTheBudgetIsSpent) {
  Session session(parse_spec("perceptron"), {.seed = 1, .limits = {.total = 2}});
  session.task("a");
  const std::vector<Vector> x{dense({1, 0}), dense({0, 1}), dense({1, 1})};
  const std::vector<Example> round{{0, x[0]}, {0, x[1]}, {0, x[2]}};
  std::vector<std::size_t> asked;
  std::vector<Outcome> outcomes(3);
  run_round(
      session, round, [&](std::size_t n) { return asked.push_back(n), 1; }, outcomes);
  EXPECT_THAT(asked, ElementsAre(0, 1));
  EXPECT_TRUE(outcomes[2].decision.ask) << "the learner wanted it";
  EXPECT_FALSE(outcomes[2].asked) << "but the budget was spent";
  EXPECT_EQ(outcomes[2].answer, std::nullopt);
  session.set_limits({.total = 3});
  run_round(
      session, round, [&](std::size_t n) { return asked.push_back(n), 1; }, outcomes);
  EXPECT_THAT(asked, ElementsAre(0, 1, 0));
  session.set_limits({.total = 1});
  EXPECT_FALSE(session.budget().left()) << "a limit below what was bought buys nothing more";
  EXPECT_EQ(session.budget().bought(), 3u);
}

TEST(Session, AnUnansweredQuestionLeavesTheLabelInTheBudget) {
  Session session(parse_spec("perceptron"), {.seed = 1, .limits = {.total = 1}});
  session.task("a");
  EXPECT_EQ(feed_one(session, {0, dense({1})}, 0).answer, std::nullopt);
  EXPECT_EQ(session.unanswered(), 1u);
  EXPECT_TRUE(session.budget().left());
  EXPECT_EQ(feed_one(session, {0, dense({1})}, 1).answer, 1);
  EXPECT_FALSE(session.budget().left());
}

TEST(Session, AnOracleThatThrowsLeavesTheModelAsItWas) {
  Session session(parse_spec("perceptron"), {.seed = 1});
  session.task("a");
  const Vector x = dense({1});
  const Example e{0, x};
  Outcome out;
  EXPECT_THROW(run_round(session, {&e, 1}, [](std::size_t) -> int { throw std::runtime_error("asleep"); }, {&out, 1}),
               std::runtime_error);
  EXPECT_EQ(session.learner().score(e), 0);
  EXPECT_EQ(session.budget().bought(), 0u);
}

TEST(Session, WhoseLearnerFoundNoMemoryRefusesAllThatFollows) {
  if (!kCountsAllocations) GTEST_SKIP() << "the thread sanitizer's operator new";
  for (const std::string spec : {"perceptron", "cohort(query=always)", "budget-projectron", "shampo-second-order", "amtl"}) {
    Session session(parse_spec(spec), {.seed = 1});
    const Task task = session.task("a");
    Rng rng = make_rng(8, 0);
    const auto learn = [&](std::size_t examples) {
      for (std::size_t n = 0; n < examples; ++n) {
        const Vector x = sparse({static_cast<Index>(below(2'000, rng)), static_cast<Index>(2'000 + n)}, {1, 0.5});
        feed_one(session, {task, x}, n % 2 ? 1 : -1);
      }
    };
    learn(3);
    refuse_allocations_from(16'384);
    EXPECT_THROW(learn(20'000), std::bad_alloc) << spec;
    refuse_allocations_from(0);
    EXPECT_THROW(learn(1), MemoryError) << spec;
    EXPECT_THROW(session.task("b"), MemoryError) << spec;
    Tensors saved;
    EXPECT_THROW(session.save(saved), MemoryError) << spec << ": what may be in pieces is not saved";
  }
}

TEST(Session, WithoutMemoryForALabelNothingIsCountedAndTheTicketWaits) {
  Session session(parse_spec("kernel-perceptron(query=always)"), {.seed = 1, .memory_limit = 60'000, .keep_labels = 10'000});
  const Task task = session.task("a");
  Rng rng = make_rng(8, 0);
  const auto instance = [&] {
    Vector x;
    for (int i = 0; i < 40; ++i) x.value.push_back(uniform(rng) - 0.5);
    return x;
  };
  std::vector<Vector> open;
  for (int n = 0; n < 3; ++n) {
    open.push_back(instance());
    const Example e{task, open.back().view()};
    run_round_later(session, {{&e, 1}});
  }
  const auto counts = [&] {
    return std::tuple(session.total().labels, session.total().updates, session.total().mistakes, session.budget().bought(),
                      session.labels().next_id(), session.labels().size(), session.pending().size(),
                      session.support_vectors());
  };
  auto counted = counts();
  std::uint64_t unanswered = 0;
  const auto make_a_mistake = [&] {
    const Vector x = instance();
    const Example e{task, x.view()};
    counted = counts();
    unanswered = session.unanswered();
    const int y = session.learner().score(e) > 0 ? -1 : 1;
    quorate::run_round(session, {{&e, 1}}, [&](std::size_t) { return reply_of(known(y)); });
  };
  EXPECT_THROW(for (int n = 0; n < 1000; ++n) make_a_mistake(), MemoryError);
  EXPECT_EQ(counts(), counted);
  EXPECT_EQ(session.unanswered(), unanswered + 1);
  EXPECT_EQ(session.labels().next_id(), session.total().labels) << "each label that was bought is known to those kept";

  int refused = 0;
  for (std::uint64_t ticket = 0; ticket < 3; ++ticket) {
    counted = counts();
    const double margin = session.pending().find(ticket)->decision.margin;
    try {
      session.answer(ticket, answer_of(margin > 0 ? -1 : 1));
    } catch (const MemoryError&) {
      ++refused;
      EXPECT_EQ(counts(), counted) << "the ticket still waits";
      EXPECT_TRUE(session.withdraw(ticket));
    }
  }
  EXPECT_GT(refused, 0);
  Tensors saved;
  session.save(saved);
  Reader reader(saved);
  EXPECT_EQ(Session::load(session.spec(), session.options(), reader).total().labels, session.total().labels);
}

TEST(Session, MayBeMovedWhileItLearns) {
  const Stream s = make_stream(100, 3, 4, 51);
  const NameTable names = task_names(3);
  Session stays(parse_spec("amtl(query=margin)"), {.seed = 1, .limits = {.total = 50}, .tasks = &names}),
      first(parse_spec("amtl(query=margin)"), {.seed = 1, .limits = {.total = 50}, .tasks = &names});
  const auto expected = feed(stays, s);
  auto outcomes = feed(first, s, 0, 40);
  Session moved(std::move(first));
  for (const Outcome& outcome : feed(moved, s, 40, 100)) outcomes.push_back(outcome);
  EXPECT_EQ(outcomes, expected);
  EXPECT_EQ(moved.model_bytes(), stays.model_bytes());
}

TEST(Session, AGiftAboutATaskThatWasNeverDecidedIsSavedAndLoaded) {
  for (const Algorithm& learner : algorithms()) {
    Session session(parse_spec(std::string(learner.name)), {.seed = 1});
    session.task("a");
    const Vector x = dense({1, -2}), other = dense({2, 1});
    feed_one(session, {0, x}, 1);
    const Task late = session.task("late");
    session.give({late, other}, kNo);
    Tensors saved;
    session.save(saved);
    Reader reader(saved);
    const Session loaded = Session::load(session.spec(), session.options(), reader);
    for (const Task task : {Task{0}, late})
      EXPECT_EQ(loaded.learner().score({task, other}), session.learner().score({task, other})) << learner.name;
  }
}

TEST(Session, AnAnswerAboutATaskThatNoRoundHasShownIsCounted) {
  for (const Algorithm& learner : algorithms()) {
    Session session(parse_spec(std::string(learner.name)), {.seed = 1});
    feed_one(session, {session.task("first"), dense({1, -2})}, 1);
    for (int i = 0; i < 200; ++i) session.task("u" + std::to_string(i));  // beyond the memory that the counters have
    const Task last = session.task("last");
    const auto ticket = session.ask({last, dense({2, 1})});
    ASSERT_TRUE(ticket) << learner.name;
    ASSERT_TRUE(session.answer(*ticket, kYes)) << learner.name;
    EXPECT_EQ(session.count(last).labels, 1u) << learner.name;
    EXPECT_EQ(session.count(last).examples, 0u) << learner.name;
    Tensors saved;
    session.save(saved);
    Reader reader(saved);
    EXPECT_EQ(Session::load(session.spec(), session.options(), reader).count(last).labels, 1u) << learner.name;
  }
}

TEST(Session, AQuestionAboutATaskThatWasNeverDecidedIsAnsweredAlsoAfterLoading) {
  const auto make = [] {
    Session session(parse_spec("cohort"), {.seed = 1});
    for (Task i = 0; i < 2000; ++i) session.task(task_name(i));
    return session;
  };
  Session session = make();
  constexpr Task kLate = 1999;
  const Vector x = dense({1, -2});
  ASSERT_EQ(session.ask({kLate, x}), 0u);
  Tensors saved, unasked;
  session.save(saved);
  make().save(unasked);
  for (const char* counter : {"examples", "labels", "updates", "mistakes"}) {  // as files had them once
    const std::string name = std::string("count.") + counter;
    saved.tensors[name] = unasked.tensors.at(name);
  }
  Reader reader(saved);
  Session loaded = Session::load(session.spec(), session.options(), reader);
  for (Session* one : {&session, &loaded}) {
    ASSERT_TRUE(one->answer(0, kYes));
    EXPECT_EQ(one->count(kLate).labels, 1u);
    EXPECT_EQ(one->count(kLate).updates, 1u);
    EXPECT_EQ(one->total().labels, 1u);
  }
}

/// A session whose memory tasks with long names have filled, a few of them with labels.
Session full_of_tasks(const std::string& learner, std::size_t limit) {
  Session out(parse_spec(learner), {.seed = 1, .memory_limit = limit, .keep_labels = 50'000});
  const Stream s = make_stream(40, 1, 3, 9, true);
  try {
    for (Task i = 0; i < 20'000; ++i) {
      Example e = s.example(i % 40);
      e.task = out.task(task_name(i) + std::string(500, 'x'));
      if (e.task == kUntracked) break;
      run_round(out, {{&e, 1}, 1}, [&](std::size_t) { return i < 30 ? Reply(i % 2 == 0 ? kYes : kNo) : Reply::unknown(); });
    }
  } catch (const MemoryError&) {  // of a learner that cannot forget
  }
  return out;
}

TEST(Session, FullOfTasksItIsSavedAndLoadedAndRebuilt) {
  for (const char* learner : {"cohort(query=always)", "perceptron(query=always)", "cmtl(query=always)"})
    for (std::size_t limit = 500'000; limit < 1'000'000; limit += 21'011) {
      Session session = full_of_tasks(learner, limit);
      Tensors saved;
      session.save(saved);
      Reader reader(saved);
      Session loaded = Session::load(session.spec(), session.options(), reader);
      EXPECT_LE(loaded.model_bytes(), session.model_bytes()) << learner << " " << limit;
      session.rebuild();
      session.undo({3, 7});
      loaded.undo({3, 7}, true);
    }
}

TEST(Session, AnAnswerAtOnceTakesTheKeptExampleThatItIsAbout) {
  Session session(parse_spec("cohort(query=always)"), {.seed = 1, .limits = {.total = 1}, .keep_labels = 100'000});
  const Stream s = make_stream(2, 2, 3, 9);
  const std::vector<Example> round{s.example(0), s.example(1)};
  for (Task i = 0; i < 2; ++i) session.task(task_name(i));
  const auto ticket = run_round_later(session, {round, 1})[0].ticket;
  ASSERT_TRUE(session.answer(*ticket, kYes));
  Tensors saved;
  session.save(saved);
  EXPECT_EQ(saved.tensors.at("unasked.task").bytes.size(), 2 * sizeof(Task))
      << "the other one stays; so does this, as it is not the latest";
  EXPECT_EQ(session.labels()[0].apart, 1u);
}

TEST(Session, LoadedKnowsEverythingThatWasSaved) {
  Stream s = make_stream(80, 3, 4, 53);
  for (std::size_t n = 0; n < s.size(); n += 5) s.y[n] = 0;
  Session session(parse_spec("cmtl(query=margin)"), {.seed = 1, .limits = {.total = 40}});
  feed(session, s);
  ASSERT_GT(session.unanswered(), 0u);
  Tensors saved;
  session.save(saved);
  Reader reader(saved);
  const Session loaded = Session::load(session.spec(), session.options(), reader);
  EXPECT_EQ(loaded.unanswered(), session.unanswered());
  EXPECT_EQ(loaded.budget().bought(), session.budget().bought());
  EXPECT_EQ(loaded.budget().limits().total, 40u);
  EXPECT_EQ(to_text(loaded.spec()), to_text(session.spec()));
  ASSERT_EQ(loaded.tasks().size(), 3u);
  const auto same = [](const TaskCounters& a, const TaskCounters& b) {
    return a.examples == b.examples && a.labels == b.labels && a.updates == b.updates && a.mistakes == b.mistakes;
  };
  EXPECT_TRUE(same(loaded.total(), session.total()));
  for (Task i = 0; i < 3; ++i) {
    EXPECT_EQ(loaded.tasks()[i], session.tasks()[i]);
    EXPECT_TRUE(same(loaded.count(i), session.count(i)));
  }
}

TEST(Session, RefusesStateThatDoesNotHangTogether) {
  const Stream s = make_stream(60, 3, 4, 52);
  Session session(parse_spec("perceptron(query=margin)"), {.seed = 1, .limits = {.total = 30}});
  feed(session, s);
  Tensors saved;
  session.save(saved);
  const auto load = [&](const Tensors& t) {
    Reader reader(t);
    return Session::load(session.spec(), session.options(), reader);
  };
  EXPECT_NO_THROW(load(saved));
  const auto broken = [&](const std::string& tensor, auto change) {
    Tensors t = saved;
    EXPECT_EQ(t.tensors.count(tensor), 1u) << tensor;
    change(*edit(t.tensors[tensor].bytes));
    return t;
  };
  const auto add_one = [](auto& bytes) { bytes[0] = std::byte(std::to_integer<unsigned>(bytes[0]) + 1u); };
  const auto cut = [](auto& bytes) { bytes.resize(bytes.size() - 8); };
  EXPECT_THROW(load(broken("budget.bought", add_one)), DataError) << "more bought than the tasks' labels";
  EXPECT_THROW(load(broken("count.labels", add_one)), DataError);
  EXPECT_THROW(load(broken("count.updates", cut)), DataError) << "a task less";
  EXPECT_THROW(load(broken("tasks.end", cut)), DataError);
  EXPECT_THROW(load(broken("rng", cut)), DataError);
  EXPECT_THROW(load(broken("rng", [](auto& bytes) { bytes[bytes.size() - 7] = std::byte{9}; })), DataError)
      << "a place behind the generator's state";
}

TEST(Session, TheAnswerNeitherCostsALabelTeachesAPerceptronNothingAndIsNoMistake) {
  Session session(parse_spec("perceptron"), {.seed = 1, .limits = {.total = 3}});
  session.task("a");
  const Vector x = dense({1});
  const auto answer = [&](std::optional<int> y) {
    const Example e{0, x};
    Outcome out;
    run_round(session, {&e, 1}, [y](std::size_t) { return y; }, {&out, 1});
    return out;
  };
  const Outcome neither = answer(0);
  EXPECT_TRUE(neither.asked);
  EXPECT_EQ(neither.answer, 0);
  EXPECT_FALSE(neither.updated);
  EXPECT_EQ(session.budget().bought(), 1u);
  EXPECT_EQ(session.unanswered(), 0u);
  EXPECT_EQ(session.learner().score({0, x}), 0);
  EXPECT_EQ(answer(std::nullopt).answer, std::nullopt);
  EXPECT_EQ(session.budget().bought(), 1u) << "nobody knew: free";
  EXPECT_EQ(session.unanswered(), 1u);
  answer(1);
  EXPECT_EQ(session.learner().score({0, x}), 1);
  answer(0);
  EXPECT_EQ(session.learner().score({0, x}), 1);
  EXPECT_FALSE(session.budget().left());
  EXPECT_FALSE(answer(0).asked);
  const TaskCounters& count = session.count(0);
  EXPECT_EQ(count.examples, 5u);
  EXPECT_EQ(count.labels, 3u);
  EXPECT_EQ(count.updates, 1u);
  EXPECT_EQ(count.mistakes, 1u) << "the +1; 0 is neither right nor wrong";
}

TEST(Session, ZeroLabelsPerRoundAreRefused) {
  EXPECT_THROW(Session(parse_spec("shampo"), {.labels_per_round = 0}), UsageError);
}

TEST(Session, MoreRoomForLabelsThanAnyMachineHasIsRefused) {
  EXPECT_THROW(Session(parse_spec("cohort"), {.keep_labels = SessionOptions::kMostKept + 1}), UsageError);
  Session session(parse_spec("cohort"), {.keep_labels = SessionOptions::kMostKept});
  Tensors saved;
  session.save(saved);
  Reader reader(saved);
  EXPECT_NO_THROW(Session::load(session.spec(), session.options(), reader));
}

TEST(Session, QuestionsComeOneAtATimeAndWantOneReplyEach) {
  Session session(parse_spec("perceptron"), {.seed = 1});
  session.task("a");
  const Vector x = dense({1});
  const std::vector<Example> round{{0, x}, {0, x}, {0, x}};
  const auto outcomes = session.decide({round});
  EXPECT_THROW(session.reply(kYes), UsageError) << "no question was taken";
  EXPECT_EQ(session.next_question()->example, 0u);
  Tensors saved;
  EXPECT_THROW(session.save(saved), UsageError) << "a round is open";
  session.reply(kYes);
  EXPECT_THROW(session.reply(kYes), UsageError) << "the question was answered";
  EXPECT_EQ(session.next_question()->example, 1u);
  EXPECT_EQ(session.next_question()->example, 2u) << "without a reply, the one before is unanswered";
  session.reply(Reply::later());
  EXPECT_FALSE(session.next_question());
  EXPECT_EQ(outcomes[0].answer, kYes);
  EXPECT_TRUE(outcomes[1].asked);
  EXPECT_EQ(outcomes[1].answer, std::nullopt);
  EXPECT_EQ(outcomes[2].ticket, 0u);
  EXPECT_EQ(session.total().labels, 1u);
  EXPECT_EQ(session.unanswered(), 1u);
  EXPECT_EQ(session.pending().size(), 1u);
}

TEST(Session, ARoundLeftInTheMiddleIsEndedByTheNext) {
  const Stream s = make_stream(60, 2, 3, 5);
  const NameTable names = task_names(2);
  Session left(parse_spec("perceptron"), {.seed = 1, .tasks = &names}),
      asked(parse_spec("perceptron"), {.seed = 1, .tasks = &names});
  std::deque<std::vector<Example>> rounds;  // each has to stay until it is ended
  for (std::size_t n = 0; n < s.size(); n += 2) {
    const std::vector<Example>& round = rounds.emplace_back(std::vector{s.example(n), s.example(n + 1)});
    left.decide({round});
    left.next_question();
    left.reply(answer_of(s.y[n]));  // and nobody asks what comes next
    std::vector<Outcome> out(2);
    run_round(
        asked, round, [&](std::size_t k) { return k == 0 ? std::optional(s.y[n]) : std::nullopt; }, out);
  }
  while (left.next_question()) {
  }
  EXPECT_EQ(left.total().examples, asked.total().examples);
  EXPECT_EQ(left.unanswered(), asked.unanswered());
  for (Task task = 0; task < 2; ++task)
    EXPECT_TRUE(same_bits(left.learner().score({task, s.x[0]}), asked.learner().score({task, s.x[0]})));
}

TEST(Session, ATaskOrRoundThatCannotBeIsRefused) {
  Session session(parse_spec("perceptron"), {.seed = 1});
  session.task("a");
  const Vector x = dense({1});
  const std::vector<Example> unknown{{7, x}}, three{{0, x}, {0, x}, {0, x}};
  EXPECT_THROW(session.decide({unknown}), UsageError);
  EXPECT_THROW(session.decide({three, 2}), UsageError);
  EXPECT_THROW(session.decide({three, 0}), UsageError);
  EXPECT_EQ(session.total().examples, 0u);
}

TEST(Session, TasksThatMemoryDoesNotHoldAreAnsweredByWhatAllShare) {
  constexpr std::size_t kLimit = 300'000;
  Session session(parse_spec("cohort(query=always)"), {.seed = 1, .memory_limit = kLimit});
  const Vector x = dense({1, 0.5});
  std::size_t untracked = 0;
  for (std::uint32_t i = 0; i < 20'000; ++i) {
    const Task task = session.task("a user with a rather long name " + std::to_string(i));
    untracked += task == kUntracked;
    const Outcome outcome = feed_one(session, {task, x}, 1);
    ASSERT_TRUE(outcome.asked);
    ASSERT_LE(session.peak_bytes(), kLimit);
  }
  EXPECT_GT(untracked, 10'000u);
  EXPECT_EQ(session.ledger().untracked().examples, untracked);
  EXPECT_EQ(session.ledger().untracked().labels, untracked);
  EXPECT_EQ(session.total().examples, 20'000u);
  EXPECT_EQ(session.tasks().size() + untracked, 20'000u);
  EXPECT_GT(session.learner().score({kUntracked, x}), 0.5) << "what all share";
  Tensors saved;
  session.save(saved);
  Reader reader(saved);
  Session back = Session::load(session.spec(), session.options(), reader);
  EXPECT_EQ(back.ledger().untracked().examples, untracked);
  EXPECT_EQ(back.task("another user"), session.task("another user"));
  EXPECT_EQ(feed_one(back, {kUntracked, x}, -1), feed_one(session, {kUntracked, x}, -1));

  Session limited(parse_spec("cohort(query=always)"), {.seed = 1, .limits = {.per_task = 1}});
  EXPECT_FALSE(feed_one(limited, {kUntracked, x}, 1).asked) << "a limit per task holds for those that nobody counts";
}

}  // namespace
}  // namespace quorate::test
