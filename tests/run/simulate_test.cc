#include "quorate/run/simulate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
  for (std::size_t n = 0; n < s.size(); ++n) out.add(s.task[n], s.y[n], s.x[n]);
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
  const auto add = [&](const Outcome& o) {
    for (const double v : {o.test.accuracy, o.test.balanced_accuracy, o.test.f1, o.test.auc, o.online_f1})
      out.push_back(std::isnan(v) ? -1 : v);
    for (const std::uint64_t v : {o.mistakes, o.labels, o.updates, o.examples}) out.push_back(static_cast<double>(v));
  };
  add(r.all);
  for (const Outcome& o : r.per_task) add(o);
  return out;
}

TEST(Simulate, TheNumberOfThreadsNeverShows) {
  const Dataset train = dataset(make_stream(200, kTasks, 5, 71)), test = dataset(make_stream(100, kTasks, 5, 71));
  const Names tasks = task_names(kTasks);
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
  const Names tasks = task_names(kTasks);
  SimulateOptions o = options("cmtl(query=margin)");
  o.runs = 3;
  o.seed = 10;
  const SimulateResult three = simulate(train, nullptr, tasks, o);
  o.runs = 1;
  o.seed = 12;
  EXPECT_EQ(numbers(simulate(train, nullptr, tasks, o).runs[0]), numbers(three.runs[2]));
}

TEST(Simulate, CountsWhatASessionCounts) {
  // One run in the order of its trace, replayed by hand.
  const Stream s = make_stream(120, kTasks, 5, 73);
  const Dataset train = dataset(s);
  const Names tasks = task_names(kTasks);
  SimulateOptions o = options("cmtl(query=margin)");
  o.seed = 9;
  o.passes = 2;
  o.labels = 70;
  o.per_task = true;
  std::vector<TraceStep> trace;
  o.trace = [&](const TraceStep& t) { trace.push_back(t); };
  const SimulateResult result = simulate(train, nullptr, tasks, o);
  ASSERT_EQ(trace.size(), 240u);
  Session session(o.learner, 9, 70, &tasks);
  Confusion online;
  std::vector<std::uint64_t> mistakes(kTasks);
  for (const TraceStep& t : trace) {
    const Step again = step(session, train.example(t.example), train.label(t.example));
    ASSERT_EQ(again, t.step);
    EXPECT_EQ(t.task, train.task(t.example));
    online.add(s.y[t.example], predicted(t.step.decision.margin));
    mistakes[t.task] += predicted(t.step.decision.margin) != s.y[t.example];
  }
  const Outcome& all = result.runs[0].all;
  EXPECT_EQ(all.labels, session.total().labels);
  EXPECT_LE(all.labels, 70u);
  EXPECT_EQ(all.updates, session.total().updates);
  EXPECT_EQ(all.examples, 240u);
  EXPECT_EQ(all.mistakes, online.mistakes());
  EXPECT_EQ(all.online_f1, online.f1());
  EXPECT_EQ(result.runs[0].model_bytes, session.model_bytes());
  EXPECT_TRUE(std::isnan(all.test.accuracy)) << "no test set";
  Outcome sum{};
  for (Task i = 0; i < kTasks; ++i) {
    EXPECT_EQ(result.runs[0].per_task[i].mistakes, mistakes[i]);
    sum.labels += result.runs[0].per_task[i].labels;
    sum.examples += result.runs[0].per_task[i].examples;
  }
  EXPECT_EQ(sum.labels, all.labels);
  EXPECT_EQ(sum.examples, all.examples);
}

TEST(Simulate, EveryPassSeesEveryExampleOnceInAnOrderOfItsOwn) {
  const Dataset train = dataset(make_stream(60, kTasks, 5, 74));
  SimulateOptions o = options("perceptron");
  o.passes = 3;
  o.runs = 2;
  o.threads = 2;  // a trace comes in order whatever this says
  std::vector<std::uint64_t> runs;
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::vector<std::uint64_t>> order;
  o.trace = [&](const TraceStep& t) {
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
    o.trace = [&](const TraceStep& t) { order.push_back(t.example); };
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
  o.trace = [&](const TraceStep& t) { learned[t.run].insert(t.example); };
  const SimulateResult result = simulate(train, nullptr, task_names(kTasks), o);
  EXPECT_EQ(result.examples, 15u * kTasks);
  std::set<std::set<std::uint64_t>> different;
  for (const auto& [run, examples] : learned) {
    std::vector<int> of_task(kTasks);
    for (const std::uint64_t i : examples) ++of_task[s.task[i]];
    EXPECT_EQ(of_task, std::vector<int>(kTasks, 15));
    different.insert(examples);
    // The measures are those of the other examples, scored by the learner at the end.
    const Names names = task_names(kTasks);
    Session session(o.learner, 1 + run, LabelBudget::kNone, &names);
    SimulateOptions again = o;
    again.seed = 1 + run;
    again.runs = 1;
    again.trace = [&](const TraceStep& t) { step(session, train.example(t.example), train.label(t.example)); };
    simulate(train, nullptr, names, again);
    Scores rest;
    for (std::uint64_t i = 0; i < train.size(); ++i)
      if (!examples.contains(i)) rest.add(train.label(i), session.learner().score(train.example(i)));
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
    const Outcome all = simulate(train, nullptr, task_names(kTasks), o).runs[0].all;
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
    o.runs = 20'000;
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
    EXPECT_LT(seen, 20'000u * 200);
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
  const Names tasks = task_names(kTasks);
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

}  // namespace
}  // namespace quorate::test
