#include "quorate/experiments/simulate.h"

#include "quorate/learner.h"
#include "quorate/registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <thread>

#include "support/make.h"

namespace quorate::test {
namespace {

using testing::HasSubstr;

constexpr Task kTasks = 4;

Dataset dataset(const Stream& s) {
  Dataset out;
  for (std::size_t n = 0; n < s.size(); ++n) out.add(s.task[n], answer_of(s.y[n]), s.x[n]);
  return out;
}
SimulateOptions options(const std::string& spec) {
  SimulateOptions o;
  o.learner = parse_spec(spec);
  return o;
}
/// Every number of a run except the time it took.
std::vector<double> numbers(const RunResult& r) {
  std::vector<double> out{static_cast<double>(r.seed), static_cast<double>(r.model_bytes),
                          static_cast<double>(r.peak_bytes)};
  const auto add = [&](const RunTotals& o) {
    for (const double v : {o.test.accuracy, o.test.balanced_accuracy, o.test.f1, o.test.auc, o.progressive_f1})
      out.push_back(std::isnan(v) ? -1 : v);
    for (const std::uint64_t v : {o.mistakes, o.labels, o.updates, o.examples}) out.push_back(static_cast<double>(v));
  };
  add(r.all);
  for (const RunTotals& o : r.per_task) add(o);
  return out;
}

TEST(Simulate, TheNumberOfThreadsNeverShows) {
  const Dataset train = dataset(make_stream(200, kTasks, 5, 71)), test = dataset(make_stream(100, kTasks, 5, 71));
  const NameTable tasks = task_names(kTasks);
  for (const std::string spec : {"perceptron(query=random)", "cmtl(query=margin)", "amtl(query=similarity)"}) {
    SimulateOptions o = options(spec);
    o.runs = 6;
    o.per_task = true;
    const SimulateResult one = simulate(train, &test, tasks, o);
    o.threads = 2;
    const SimulateResult two = simulate(train, &test, tasks, o);
    o.threads = 64;
    const SimulateResult many = simulate(train, &test, tasks, o);
    ASSERT_EQ(one.runs.size(), 6u);
    ASSERT_EQ(two.runs.size(), 6u);
    std::set<std::vector<double>> different;
    for (std::size_t r = 0; r < 6; ++r) {
      EXPECT_EQ(numbers(one.runs[r]), numbers(two.runs[r]));
      EXPECT_EQ(numbers(one.runs[r]), numbers(many.runs[r]));
      EXPECT_EQ(one.runs[r].seed, 1 + r);
      different.insert(numbers(one.runs[r]));
    }
    EXPECT_GT(different.size(), 3u) << "runs with different seeds";
  }
}

TEST(Simulate, ARunIsDecidedByItsSeedAlone) {
  const Dataset train = dataset(make_stream(150, kTasks, 5, 72));
  const NameTable tasks = task_names(kTasks);
  SimulateOptions o = options("cmtl(query=margin)");
  o.runs = 3;
  o.learning.seed = 10;
  const SimulateResult three = simulate(train, nullptr, tasks, o);
  o.runs = 1;
  o.learning.seed = 12;
  EXPECT_EQ(numbers(simulate(train, nullptr, tasks, o).runs[0]), numbers(three.runs[2]));
}

TEST(Simulate, CountsWhatASessionCounts) {
  // One run in the order of its trace, replayed by hand.
  const Stream s = make_stream(120, kTasks, 5, 73);
  const Dataset train = dataset(s);
  const NameTable tasks = task_names(kTasks);
  SimulateOptions o = options("cmtl(query=margin)");
  o.learning.seed = 9;
  o.passes = 2;
  o.learning.labels = {"70"};
  o.per_task = true;
  std::vector<TraceLine> trace;
  o.trace = [&](const TraceLine& t) { trace.push_back(t); };
  const SimulateResult result = simulate(train, nullptr, tasks, o);
  ASSERT_EQ(trace.size(), 240u);
  Session session(o.learner, {.seed = 9, .limits = {.total = 70}, .tasks = &tasks});
  Confusion online;
  std::vector<std::uint64_t> mistakes(kTasks);
  for (const TraceLine& t : trace) {
    const Outcome again = feed_one(session, train.example(t.example), train.label(t.example).answer());
    ASSERT_EQ(again, t.outcome);
    EXPECT_EQ(t.task, train.task(t.example));
    online.add(s.y[t.example], predicted(t.outcome.decision.margin));
    mistakes[t.task] += predicted(t.outcome.decision.margin) != s.y[t.example];
  }
  const RunTotals& all = result.runs[0].all;
  EXPECT_EQ(all.labels, session.total().labels);
  EXPECT_LE(all.labels, 70u);
  EXPECT_EQ(all.updates, session.total().updates);
  EXPECT_EQ(all.examples, 240u);
  EXPECT_EQ(all.mistakes, online.mistakes());
  EXPECT_EQ(all.progressive_f1, online.f1());
  EXPECT_EQ(result.runs[0].model_bytes, session.model_bytes());
  EXPECT_TRUE(std::isnan(all.test.accuracy)) << "no test set";
  RunTotals sum{};
  for (Task i = 0; i < kTasks; ++i) {
    EXPECT_EQ(result.runs[0].per_task[i].mistakes, mistakes[i]);
    sum.labels += result.runs[0].per_task[i].labels;
    sum.examples += result.runs[0].per_task[i].examples;
  }
  EXPECT_EQ(sum.labels, all.labels);
  EXPECT_EQ(sum.examples, all.examples);
}

TEST(Simulate, ADelayedAnswerComesAfterSoManyMoreExamplesAndThoseDueAfterTheEndDoNot) {
  const Dataset train = dataset(make_stream(100, kTasks, 5, 73));
  const NameTable tasks = task_names(kTasks);
  SimulateOptions o = options("cmtl(query=margin)");
  o.delay.mean = 10;
  std::vector<TraceLine> trace;
  o.trace = [&](const TraceLine& t) { trace.push_back(t); };
  const RunResult run = simulate(train, nullptr, tasks, o).runs[0];
  std::map<std::uint64_t, TraceLine> asked;
  std::uint64_t late = 0;
  for (const TraceLine& t : trace) {
    if (!t.late) {
      EXPECT_EQ(t.outcome.answer, std::nullopt);
      EXPECT_EQ(t.outcome.asked, t.outcome.ticket.has_value());
      if (t.outcome.ticket) asked[*t.outcome.ticket] = t;
      continue;
    }
    ++late;
    const TraceLine& question = asked.at(*t.outcome.ticket);
    EXPECT_EQ(t.round, question.round + 10) << "a round is one example";
    EXPECT_EQ(t.example, question.example);
    EXPECT_EQ(t.task, question.task);
    EXPECT_EQ(t.outcome.answer, train.label(t.example).answer());
    EXPECT_TRUE(same_bits(t.outcome.decision.margin, question.outcome.decision.margin));
  }
  EXPECT_GT(late, 20u);
  EXPECT_EQ(run.all.labels, late);
  EXPECT_EQ(run.pending, asked.size() - late);
  for (const auto& [ticket, t] : asked) EXPECT_EQ(t.round < 90, ticket < late);
}

TEST(Simulate, WithoutADelayNothingIsPendingAndAllLostIsNothingLearned) {
  const Dataset train = dataset(make_stream(120, kTasks, 5, 73));
  const NameTable tasks = task_names(kTasks);
  SimulateOptions o = options("amtl(query=margin)");
  const RunResult now = simulate(train, nullptr, tasks, o).runs[0];
  EXPECT_EQ(now.pending, 0u);
  EXPECT_FALSE(now.late);
  o.delay.lost = 1;
  o.learning.labels = {"30"};
  const RunResult lost = simulate(train, nullptr, tasks, o).runs[0];
  EXPECT_EQ(lost.all.labels, 0u);
  EXPECT_EQ(lost.all.updates, 0u);
  EXPECT_EQ(lost.pending, 30u) << "asked for counts as bought";
  o.delay = {50, true, 0.2};
  o.runs = 4;
  const SimulateResult one = simulate(train, nullptr, tasks, o);
  o.threads = 3;
  const SimulateResult again = simulate(train, nullptr, tasks, o);
  for (std::size_t r = 0; r < 4; ++r) EXPECT_EQ(numbers(one.runs[r]), numbers(again.runs[r]));
}

TEST(Simulate, LateAnswersWorkWithClassesAndRounds) {
  const Dataset train = dataset(make_stream(200, kTasks, 5, 73));
  const NameTable tasks = task_names(kTasks);
  SimulateOptions o = options("shampo");
  o.delay = {7, false, 0.1};
  o.learning.labels = {"60"};
  o.learning.labels_per_task = 20;
  const RunResult run = simulate(train, nullptr, tasks, o).runs[0];
  EXPECT_GT(run.all.labels, 10u);
  EXPECT_LE(run.all.labels + run.pending, 60u);
}

TEST(Simulate, APaceSpendsTheTotalOverAllPasses) {
  const Dataset train = dataset(make_stream(300, kTasks, 5, 75));
  const NameTable tasks = task_names(kTasks);
  SimulateOptions o = options("cmtl(query=margin)");
  o.passes = 2;
  o.learning.labels = {"100"};
  o.learning.pace = PaceRule::kEven;
  int first = 0;
  o.trace = [&](const TraceLine& line) { first += line.pass == 0 && line.outcome.asked; };
  const RunResult run = simulate(train, nullptr, tasks, o).runs[0];
  EXPECT_GE(run.all.labels, 95u);
  EXPECT_NEAR(first, 50, 10);
}

TEST(Simulate, ARateInATimeNeedsTheDatasTime) {
  const Stream s = make_stream(200, kTasks, 5, 76);
  const NameTable tasks = task_names(kTasks);
  SimulateOptions o = options("perceptron");
  o.learning.labels = {"2/hour"};
  EXPECT_THROW(simulate(dataset(s), nullptr, tasks, o), UsageError) << "shuffled";
  o.in_order = true;
  EXPECT_THROW(simulate(dataset(s), nullptr, tasks, o), DataError) << "no time";
  Dataset timed;
  for (std::size_t n = 0; n < s.size(); ++n)
    timed.add(s.task[n], answer_of(s.y[n]), s.x[n], 1e9 + 600.0 * static_cast<double>(n));
  EXPECT_EQ(timed.time(3), 1e9 + 1800);
  EXPECT_EQ(dataset(s).time(3), std::nullopt);
  std::vector<std::uint64_t> asked;
  o.trace = [&](const TraceLine& t) {
    if (t.outcome.asked) asked.push_back(t.example);
  };
  simulate(timed, nullptr, tasks, o);
  ASSERT_GT(asked.size(), 60u) << "2 an hour, 6 examples an hour, 200 examples";
  for (std::size_t i = 2; i < asked.size(); ++i) EXPECT_GE(asked[i], asked[i - 2] + 6);
}

TEST(Simulate, EveryPassSeesEveryExampleOnceInAnOrderOfItsOwn) {
  const Dataset train = dataset(make_stream(60, kTasks, 5, 74));
  SimulateOptions o = options("perceptron");
  o.passes = 3;
  o.runs = 2;
  o.threads = 2;  // a trace comes in order whatever this says
  std::vector<std::uint64_t> runs;
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::vector<std::uint64_t>> order;
  o.trace = [&](const TraceLine& t) {
    runs.push_back(t.run);
    order[{t.run, t.pass}].push_back(t.example);
  };
  simulate(train, nullptr, task_names(kTasks), o);
  EXPECT_TRUE(std::is_sorted(runs.begin(), runs.end()));
  ASSERT_EQ(order.size(), 6u);
  std::set<std::vector<std::uint64_t>> different;
  for (const auto& [key, examples] : order) {
    EXPECT_EQ(examples.size(), 60u);
    EXPECT_EQ(std::set<std::uint64_t>(examples.begin(), examples.end()).size(), 60u);
    different.insert(examples);
  }
  EXPECT_EQ(different.size(), 6u);
}

TEST(Simulate, TwoLearnersSeeTheSameOrderAndSplit) {
  const Dataset train = dataset(make_stream(200, kTasks, 5, 75));
  std::vector<std::vector<std::uint64_t>> orders;
  for (const std::string spec : {"perceptron", "amtl(query=random)"}) {
    SimulateOptions o = options(spec);
    o.train_per_task = 20;
    std::vector<std::uint64_t> order;
    o.trace = [&](const TraceLine& t) { order.push_back(t.example); };
    simulate(train, nullptr, task_names(kTasks), o);
    orders.push_back(order);
  }
  EXPECT_EQ(orders[0], orders[1]);
}

TEST(Simulate, TrainPerTaskLearnsFromThatManyOfEachAndTestsOnTheRest) {
  const Stream s = make_stream(200, kTasks, 5, 76);
  Dataset train = dataset(s);
  SimulateOptions o = options("perceptron");
  o.train_per_task = 15;
  o.runs = 3;
  o.passes = 2;
  o.per_task = true;
  std::map<std::uint64_t, std::set<std::uint64_t>> learned;
  o.trace = [&](const TraceLine& t) { learned[t.run].insert(t.example); };
  const SimulateResult result = simulate(train, nullptr, task_names(kTasks), o);
  EXPECT_EQ(result.examples, 15u * kTasks);
  std::set<std::set<std::uint64_t>> different;
  for (const auto& [run, examples] : learned) {
    std::vector<int> of_task(kTasks);
    for (const std::uint64_t i : examples) ++of_task[s.task[i]];
    EXPECT_EQ(of_task, std::vector<int>(kTasks, 15));
    different.insert(examples);
    // The measures are those of the other examples, scored by the learner at the end.
    const NameTable names = task_names(kTasks);
    Session session(o.learner, {.seed = 1 + run, .tasks = &names});
    SimulateOptions again = o;
    again.learning.seed = 1 + run;
    again.runs = 1;
    again.trace = [&](const TraceLine& t) { feed_one(session, train.example(t.example), train.label(t.example).answer()); };
    simulate(train, nullptr, names, again);
    Scores rest;
    for (std::uint64_t i = 0; i < train.size(); ++i)
      if (!examples.contains(i)) rest.add(train.label(i).answer(), session.learner().score(train.example(i)));
    EXPECT_EQ(rest.size(), 200u - 15 * kTasks);
    EXPECT_EQ(result.runs[run].all.test.accuracy, rest.measures().accuracy);
    EXPECT_EQ(result.runs[run].all.test.auc, rest.measures().auc);
  }
  EXPECT_EQ(different.size(), 3u);
  o.train_per_task = 100;
  try {
    simulate(train, nullptr, task_names(kTasks), o);
    FAIL() << "a task has too few examples";
  } catch (const DataError& e) {
    EXPECT_THAT(e.what(), AllOf(HasSubstr("'t"), HasSubstr("100")));
  }
}

TEST(Simulate, AnExampleWithoutALabelIsAskedForInVainAndNotScored) {
  Stream s = make_stream(100, kTasks, 5, 77);
  for (std::size_t n = 0; n < 100; n += 2) s.y[n] = 0;
  const Dataset train = dataset(s);
  SimulateOptions o = options("perceptron");
  const SimulateResult result = simulate(train, &train, task_names(kTasks), o);
  EXPECT_EQ(result.runs[0].all.labels, 50u);
  EXPECT_EQ(result.runs[0].all.examples, 100u);
  EXPECT_LE(result.runs[0].all.mistakes, 50u);
  Stream none = s;
  none.y.assign(100, 0);
  EXPECT_THROW(simulate(dataset(none), nullptr, task_names(kTasks), o), DataError);
}

TEST(Simulate, LearnsSomething) {
  const Dataset train = dataset(make_stream(2000, kTasks, 5, 78));
  for (const std::string spec : {"perceptron", "cmtl", "amtl"}) {
    SimulateOptions o = options(spec);
    o.train_per_task = 300;
    const RunTotals all = simulate(train, nullptr, task_names(kTasks), o).runs[0].all;
    EXPECT_GT(all.test.accuracy, 0.85) << spec;
    EXPECT_GT(all.test.auc, 0.9) << spec;
  }
}

TEST(Simulate, AStopEndsAllRunsAndLeavesNone) {
  const Dataset train = dataset(make_stream(200, kTasks, 5, 79));
  for (const std::uint64_t threads : {1u, 2u}) {
    std::stop_source stop;
    std::atomic<std::uint64_t> seen = 0;
    SimulateOptions o = options("perceptron");
    o.runs = 200'000;  // minutes of work
    o.threads = threads;
    o.stop = stop.get_token();
    o.progress = &seen;
    std::jthread stopper([&] {
      while (seen < 500) std::this_thread::yield();
      stop.request_stop();
    });
    const SimulateResult result = simulate(train, nullptr, task_names(kTasks), o);
    EXPECT_TRUE(result.interrupted);
    EXPECT_TRUE(result.runs.empty());
    EXPECT_LT(seen, 200'000u * 200);
  }
}

TEST(Simulate, ProgressCountsEveryExample) {
  const Dataset train = dataset(make_stream(50, kTasks, 5, 80));
  std::atomic<std::uint64_t> seen = 0;
  SimulateOptions o = options("perceptron");
  o.runs = 3;
  o.passes = 2;
  o.threads = 2;
  o.progress = &seen;
  EXPECT_FALSE(simulate(train, nullptr, task_names(kTasks), o).interrupted);
  EXPECT_EQ(seen, 300u);
}

TEST(Simulate, RefusesWhatCannotBe) {
  const Dataset train = dataset(make_stream(50, kTasks, 5, 81));
  const NameTable tasks = task_names(kTasks);
  const auto refused = [&](auto change) {
    SimulateOptions o = options("perceptron");
    change(o);
    EXPECT_THROW(simulate(train, nullptr, tasks, o), UsageError);
  };
  refused([](SimulateOptions& o) { o.runs = 0; });
  refused([](SimulateOptions& o) { o.passes = 0; });
  refused([](SimulateOptions& o) { o.threads = 0; });
  refused([](SimulateOptions& o) { o.learner = parse_spec("nobody"); });
  SimulateOptions o = options("perceptron");
  o.train_per_task = 5;
  EXPECT_THROW(simulate(train, &train, tasks, o), UsageError);
  o = options("cmtl(graph=edges(file=missing.csv))");
  o.runs = 4;
  o.threads = 2;
  EXPECT_THROW(simulate(train, nullptr, tasks, o), FileError) << "from whichever thread it came";
}

TEST(Simulate, RoundsPerTaskHaveEachTaskThatIsLeftOnceAndInOrder) {
  // Tasks of 3, 7, 0 and 5 examples: they leave after their last.
  const std::vector<std::size_t> has{3, 7, 0, 5};
  Dataset train;
  for (std::size_t n = 0; n < 7; ++n)
    for (Task i = 0; i < 4; ++i)
      if (n < has[i]) train.add(i, n % 2 == 0 ? kYes : kNo, dense({1, static_cast<double>(n)}));
  SimulateOptions o = options("perceptron(query=shared(b=0.5))");
  o.passes = 3;
  o.learning.rounds = Rounds::kPerTask;
  struct Round {
    std::uint64_t pass = 0, labels = 0;
    std::vector<Task> tasks;
    std::vector<std::uint64_t> examples;
  };
  std::map<std::uint64_t, Round> rounds;
  o.trace = [&](const TraceLine& t) {
    Round& r = rounds[t.round];
    r.pass = t.pass;
    r.labels += t.outcome.asked;
    r.tasks.push_back(t.task);
    r.examples.push_back(t.example);
    EXPECT_EQ(t.task, train.task(t.example));
  };
  const SimulateResult result = simulate(train, nullptr, task_names(4), o);
  EXPECT_EQ(result.rounds, Rounds::kPerTask);
  ASSERT_EQ(rounds.size(), 21u) << "as many as the longest task has, in each pass; numbered through";
  std::set<std::vector<std::uint64_t>> orders;
  for (std::uint64_t pass = 0; pass < 3; ++pass) {
    std::vector<std::uint64_t> seen;
    for (std::uint64_t r = 0; r < 7; ++r) {
      const Round& round = rounds[7 * pass + r];
      EXPECT_EQ(round.pass, pass);
      std::vector<Task> expected;
      for (Task i = 0; i < 4; ++i)
        if (r < has[i]) expected.push_back(i);
      EXPECT_EQ(round.tasks, expected) << "round " << r;
      EXPECT_EQ(round.labels, 1u);
      seen.insert(seen.end(), round.examples.begin(), round.examples.end());
    }
    orders.insert(seen);
    std::sort(seen.begin(), seen.end());
    for (std::uint64_t i = 0; i < 15; ++i) EXPECT_EQ(seen[i], i) << "every example once";
    EXPECT_EQ(seen.size(), 15u);
  }
  EXPECT_EQ(orders.size(), 3u) << "a new order in each pass";
  EXPECT_EQ(result.runs[0].all.labels, 21u);
  EXPECT_EQ(result.runs[0].all.examples, 45u);
}

TEST(Simulate, ARoundIsWhatASessionIsGiven) {
  const Stream s = make_stream(120, kTasks, 5, 82);
  const Dataset train = dataset(s);
  const NameTable names = task_names(kTasks);
  SimulateOptions o = options("shampo(b=0.1)");
  o.learning.labels = {"60"};
  o.learning.labels_per_round = 2;
  std::map<std::uint64_t, std::vector<TraceLine>> rounds;
  o.trace = [&](const TraceLine& t) { rounds[t.round].push_back(t); };
  const SimulateResult result = simulate(train, nullptr, names, o);
  Session session(o.learner, {.seed = 1, .limits = {.total = 60}, .tasks = &names, .labels_per_round = 2});
  std::uint64_t mistakes = 0;
  for (const auto& [number, outcomes] : rounds) {
    std::vector<Example> round;
    for (const TraceLine& t : outcomes) round.push_back(train.example(t.example));
    std::vector<Outcome> again(round.size());
    run_round(
        session, round, [&, &of_round = outcomes](std::size_t n) { return train.label(of_round[n].example).answer(); },
        again);
    for (std::size_t n = 0; n < again.size(); ++n) {
      ASSERT_EQ(again[n], outcomes[n].outcome);
      mistakes += predicted(again[n].decision.margin) != train.label(outcomes[n].example).answer();
    }
  }
  EXPECT_EQ(result.runs[0].all.labels, 60u);
  EXPECT_EQ(result.runs[0].all.mistakes, mistakes) << "of all predictions, asked for or not";
  EXPECT_EQ(result.runs[0].all.updates, session.total().updates);
}

TEST(Simulate, RoundsAreWhatTheLearnerNeedsUnlessSaidOtherwise) {
  const Dataset train = dataset(make_stream(60, kTasks, 5, 83));
  const auto rounds = [&](const std::string& spec, std::optional<Rounds> asked_for = {}) {
    SimulateOptions o = options(spec);
    o.learning.rounds = asked_for;
    std::set<std::uint64_t> numbers;
    o.trace = [&](const TraceLine& t) { numbers.insert(t.round); };
    const Rounds out = simulate(train, nullptr, task_names(kTasks), o).rounds;
    EXPECT_EQ(numbers.size() == 60, out == Rounds::kEach);
    return out;
  };
  EXPECT_EQ(rounds("perceptron"), Rounds::kEach);
  EXPECT_EQ(rounds("shampo(choose=all)"), Rounds::kEach);
  EXPECT_EQ(rounds("shampo"), Rounds::kPerTask);
  EXPECT_EQ(rounds("shampo-second-order(choose=smallest)"), Rounds::kPerTask);
  EXPECT_EQ(rounds("cmtl(query=shared)"), Rounds::kPerTask);
  EXPECT_EQ(rounds("perceptron", Rounds::kPerTask), Rounds::kPerTask);
  EXPECT_EQ(rounds("shampo", Rounds::kEach), Rounds::kEach);
  EXPECT_TRUE(capabilities(parse_spec("shampo")).selects);
  EXPECT_FALSE(capabilities(parse_spec("perceptron")).selects);
  EXPECT_FALSE(capabilities(parse_spec("shampo(choose=all)")).selects);
}

/// Unit vectors whose class is their largest coordinate; every 10th has no label. Labels are 1 + the class.
Dataset of_classes(std::size_t examples, std::size_t C, std::uint64_t seed) {
  Rng rng = make_rng(seed, 7);
  Dataset out;
  for (std::size_t n = 0; n < examples; ++n) {
    std::vector<double> x(C);
    for (double& v : x) v = uniform(rng);
    const auto largest = std::max_element(x.begin(), x.end()) - x.begin();
    out.add(0, n % 10 == 9 ? Label() : Label::of_class(static_cast<std::size_t>(largest)), dense(x));
  }
  return out;
}

TEST(Simulate, OfClassesShowsOneInstanceToEveryTask) {
  const Dataset train = of_classes(200, 4, 84), test = of_classes(100, 4, 85);
  for (const auto reduction : {Reduction::Kind::kOneVsRest, Reduction::Kind::kOneVsOne}) {
    const Reduction classes(reduction, {"a", "b", "c", "d"});
    const NameTable names = classes.task_names();
    const std::size_t K = classes.tasks();
    SimulateOptions o = options("shampo(b=0.1)");
    o.reduction = classes;
    o.passes = 2;
    o.learning.seed = 5;
    o.per_task = true;
    std::map<std::uint64_t, std::vector<TraceLine>> rounds;
    o.trace = [&](const TraceLine& t) { rounds[t.round].push_back(t); };
    const SimulateResult result = simulate(train, &test, names, o);
    EXPECT_EQ(result.rounds, Rounds::kAllTasks);
    ASSERT_EQ(rounds.size(), 400u) << "a round for each instance and pass";
    // Replayed by hand.
    Session session(o.learner, {.seed = 5, .tasks = &names});
    ClassConfusion online(4), tested(4);
    Reduction::Ballot ballot;
    std::vector<double> margins(K);
    std::set<std::uint64_t> seen;
    for (const auto& [number, outcomes] : rounds) {
      ASSERT_EQ(outcomes.size(), K);
      const std::uint64_t place = outcomes[0].example;
      seen.insert(place);
      const Label label = train.label(place);
      std::vector<Example> round;
      for (Task task = 0; task < K; ++task) {
        EXPECT_EQ(outcomes[task].task, task);
        EXPECT_EQ(outcomes[task].example, place);
        round.push_back({task, train.example(place).x});
      }
      std::vector<Outcome> again(K);
      run_round(
          session, round,
          [&](std::size_t n) {
            return !label.known() ? std::nullopt
                                  : std::optional<int>(classes.feedback(static_cast<Task>(n), label.class_index()));
          },
          again);
      for (std::size_t n = 0; n < K; ++n) {
        ASSERT_EQ(again[n], outcomes[n].outcome);
        margins[n] = again[n].decision.margin;
      }
      if (label.known()) online.add(label.class_index(), classes.predict(margins, ballot).label);
    }
    EXPECT_EQ(seen.size(), 200u);
    for (std::size_t i = 0; i < test.size(); ++i) {
      if (!test.label(i).known()) continue;
      for (Task task = 0; task < K; ++task) margins[task] = session.learner().score({task, test.example(i).x});
      tested.add(test.label(i).class_index(), classes.predict(margins, ballot).label);
    }
    const RunResult& run = result.runs[0];
    for (std::size_t t = 0; t < 4; ++t)
      for (std::size_t p = 0; p < 4; ++p) {
        EXPECT_EQ(run.progressive(t, p), online(t, p));
        EXPECT_EQ(run.test(t, p), tested(t, p));
      }
    EXPECT_EQ(run.progressive.total(), 360u) << "those with a label";
    EXPECT_EQ(run.test.total(), 90u);
    EXPECT_EQ(run.all.mistakes, online.mistakes());
    EXPECT_EQ(run.all.test.accuracy, 1 - tested.error());
    EXPECT_EQ(run.all.labels, 360u) << "one a round";
    EXPECT_EQ(run.all.examples, 400u) << "instances, not questions";
    EXPECT_EQ(run.per_task.size(), K);
    EXPECT_LT(tested.error(), 0.65) << "guessing has 0.75";
  }
}

TEST(Simulate, TrainPerTaskOfClassesIsSoManyOfEachClass) {
  const Dataset train = of_classes(200, 3, 86);
  const Reduction classes(Reduction::Kind::kOneVsOne, {"a", "b", "c"});
  const NameTable names = classes.task_names();
  SimulateOptions o = options("shampo(b=0.1)");
  o.reduction = classes;
  o.train_per_task = 20;
  std::map<int, std::set<std::uint64_t>> learned;
  o.trace = [&](const TraceLine& t) { learned[train.label(t.example).code()].insert(t.example); };
  const SimulateResult result = simulate(train, nullptr, names, o);
  EXPECT_EQ(result.examples, 60u);
  ASSERT_EQ(learned.size(), 3u);
  for (int label = 1; label <= 3; ++label) EXPECT_EQ(learned[label].size(), 20u);
  EXPECT_EQ(result.runs[0].test.total(), 180u - 60) << "all others that have a label";
  o.train_per_task = 100;
  try {
    simulate(train, nullptr, names, o);
    FAIL() << "a class has too few examples";
  } catch (const DataError& e) {
    EXPECT_THAT(e.what(), AllOf(HasSubstr("class '"), HasSubstr("100")));
  }
}

TEST(Simulate, RefusesRoundsThatCannotBe) {
  const Dataset train = dataset(make_stream(50, kTasks, 5, 87)), many = of_classes(50, 3, 87);
  const Reduction classes(Reduction::Kind::kOneVsRest, {"a", "b", "c"});
  const auto refusal = [&](const Dataset& data, const NameTable& tasks, auto change) -> std::string {
    SimulateOptions o = options("shampo");
    change(o);
    try {
      simulate(data, nullptr, tasks, o);
    } catch (const UsageError& e) {
      return e.what();
    }
    return "accepted";
  };
  const NameTable tasks = task_names(kTasks), questions = classes.task_names();
  EXPECT_THAT(refusal(train, tasks, [](auto& o) { o.learning.rounds = Rounds::kAllTasks; }),
              HasSubstr("expected --classes"));
  EXPECT_THAT(refusal(train, tasks, [](auto& o) { o.learning.labels_per_round = 0; }),
              HasSubstr("labels-per-round 0: expected at least 1"));
  for (const Rounds rounds : {Rounds::kEach, Rounds::kPerTask})
    EXPECT_THAT(refusal(many, questions, [&](auto& o) { o.reduction = classes, o.learning.rounds = rounds; }),
                HasSubstr("expected all-tasks"));
  EXPECT_THAT(refusal(many, tasks, [&](auto& o) { o.reduction = classes; }), HasSubstr("expected the tasks of the classes"));
  EXPECT_EQ(refusal(many, questions, [&](auto& o) { o.reduction = classes; }), "accepted");
  EXPECT_EQ(refusal(many, questions, [&](auto& o) { o.reduction = classes, o.learning.rounds = Rounds::kAllTasks; }),
            "accepted");
}

}  // namespace
}  // namespace quorate::test
