#include "quorate/run/simulate.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <exception>
#include <limits>
#include <numeric>
#include <thread>

#include "quorate/base/rng.h"
#include "quorate/registry.h"

namespace quorate {
namespace {

constexpr std::uint64_t kOrderStream = 0;

/// The examples of one run: places in the training data to learn from, and to test on.
struct Split {
  std::vector<std::uint64_t> learn, test;
};

Split split_per_task(const Dataset& data, const Names& tasks, std::uint64_t per_task, Rng& rng) {
  std::vector<std::vector<std::uint64_t>> of_task(tasks.size());
  for (std::uint64_t i = 0; i < data.size(); ++i) of_task[data.task(i)].push_back(i);
  Split out;
  for (Task task = 0; task < of_task.size(); ++task) {
    auto& places = of_task[task];
    if (places.size() < per_task)
      throw DataError("task '" + std::string(tasks[task]) + "' has " + std::to_string(places.size()) +
                      " examples; expected at least the " + std::to_string(per_task) + " to learn from");
    shuffle(std::span(places), rng);
    const auto cut = places.begin() + static_cast<std::ptrdiff_t>(per_task);
    out.learn.insert(out.learn.end(), places.begin(), cut);
    out.test.insert(out.test.end(), cut, places.end());
  }
  return out;
}

/// Part `fold` of `folds` to test on. All runs of one seed cut the same shuffled order, so every example is tested on once.
Split split_folds(const Dataset& data, std::uint64_t folds, std::uint64_t fold, std::uint64_t seed) {
  std::vector<std::uint64_t> places(data.size());
  std::iota(places.begin(), places.end(), std::uint64_t{0});
  Rng order = make_rng(seed, kOrderStream);
  shuffle(std::span(places), order);
  Split out;
  for (std::size_t n = 0; n < places.size(); ++n) (n % folds == fold ? out.test : out.learn).push_back(places[n]);
  return out;
}

struct Tally {
  Scores test;
  Confusion online;

  Outcome outcome(const TaskCount& count) const {
    return {test.measures(), online.f1(), online.mistakes(), count.labels, count.updates, count.examples};
  }
};

class Simulation {
 public:
  Simulation(const Dataset& train, const Dataset* test, const Names& tasks, const SimulateOptions& options)
      : train_(train), test_(test), tasks_(tasks), o_(options) {}

  /// Nothing if it was stopped.
  std::optional<RunResult> run(std::uint64_t r) const {
    Rng order = make_rng(o_.seed + r, kOrderStream);
    Split split;
    if (o_.folds > 1) {
      split = split_folds(train_, o_.folds, r % o_.folds, o_.seed);
    } else if (o_.train_per_task > 0) {
      split = split_per_task(train_, tasks_, o_.train_per_task, order);
    } else {
      split.learn.resize(train_.size());
      std::iota(split.learn.begin(), split.learn.end(), std::uint64_t{0});
    }
    if (o_.share < 1) {
      shuffle(std::span(split.learn), order);
      split.learn.resize(static_cast<std::size_t>(std::ceil(o_.share * static_cast<double>(split.learn.size()))));
    }
    const auto start = std::chrono::steady_clock::now();
    Session session(o_.learner, o_.seed + r, o_.labels, &tasks_);
    Tally all;
    std::vector<Tally> per_task(o_.per_task ? tasks_.size() : 0);
    std::vector<CurvePoint> curve;
    const std::uint64_t stream = o_.passes * split.learn.size();
    std::uint64_t at = 0;
    const Oracle oracle = [&](std::size_t) { return train_.label(at); };
    for (std::uint64_t pass = 0; pass < o_.passes; ++pass) {
      shuffle(std::span(split.learn), order);
      for (const std::uint64_t i : split.learn) {
        if (o_.stop.stop_requested()) return std::nullopt;
        at = i;
        const Example e = train_.example(i);
        Step step;
        session.round({&e, 1}, oracle, {&step, 1});
        if (const int y = train_.label(i); y != 0) {
          all.online.add(y, predicted(step.decision.margin));
          if (o_.per_task) per_task[e.task].online.add(y, predicted(step.decision.margin));
        }
        const std::uint64_t seen = session.total().examples;
        while (curve.size() < o_.points && seen * o_.points >= (curve.size() + 1) * stream)
          curve.push_back({seen, all.online.mistakes(), session.total().labels});
        if (o_.trace) o_.trace({r, pass, i, e.task, step});
        if (o_.progress != nullptr) o_.progress->fetch_add(1, std::memory_order_relaxed);
      }
    }
    const auto score = [&](const Dataset& data, std::uint64_t i) {
      if (data.label(i) == 0) return;
      const Example e = data.example(i);
      const double margin = session.learner().score(e);
      all.test.add(data.label(i), margin);
      if (o_.per_task) per_task[e.task].test.add(data.label(i), margin);
    };
    for (const std::uint64_t i : split.test) score(train_, i);
    if (test_ != nullptr)
      for (std::uint64_t i = 0; i < test_->size(); ++i) score(*test_, i);
    RunResult out{o_.seed + r,     all.outcome(session.total()), 0, session.model_bytes(), session.peak_bytes(), {},
                  std::move(curve)};
    for (Task task = 0; task < per_task.size(); ++task) out.per_task.push_back(per_task[task].outcome(session.count(task)));
    out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return out;
  }

 private:
  const Dataset& train_;
  const Dataset* test_;
  const Names& tasks_;
  const SimulateOptions& o_;
};

}  // namespace

SimulateResult simulate(const Dataset& train, const Dataset* test, const Names& tasks, const SimulateOptions& o) {
  const auto at_least_one = [](const char* what, std::uint64_t n) {
    if (n < 1) throw UsageError(std::string(what) + " 0: expected at least 1");
  };
  at_least_one("runs", o.runs);
  at_least_one("passes", o.passes);
  at_least_one("threads", o.threads);
  if (o.train_per_task > 0 && test != nullptr)
    throw UsageError("a test set and train-per-task: expected one of them, or neither");
  if (!(o.share > 0 && o.share <= 1)) throw UsageError("share: expected a number above 0 to 1");
  if (o.folds == 1 || o.folds > train.size()) throw UsageError("folds: expected 2 to the number of examples");
  if (o.folds > 1 && (test != nullptr || o.train_per_task > 0))
    throw UsageError("folds and a test set: expected one of them");
  bool any = false;
  for (std::size_t i = 0; i < train.size(); ++i) any = any || train.label(i) != 0;
  if (!any) throw DataError("no example has a label; expected labels, hidden until they are asked for");

  const std::size_t available = o.folds > 1            ? train.size() - (train.size() + o.folds - 1) / o.folds
                                : o.train_per_task > 0 ? o.train_per_task * tasks.size()
                                                       : train.size();
  SimulateResult out{canonical(o.learner),
                     tasks.size(),
                     train.distinct_features(),
                     static_cast<std::size_t>(std::ceil(o.share * static_cast<double>(available))),
                     {},
                     false};
  const Simulation simulation(train, test, tasks, o);
  out.runs.resize(o.runs);
  std::atomic<std::uint64_t> next = 0, done = 0;
  std::vector<std::exception_ptr> errors(o.runs);
  const auto work = [&] {
    for (std::uint64_t r = next++; r < o.runs && !o.stop.stop_requested(); r = next++) {
      try {
        if (auto run = simulation.run(r)) {
          out.runs[r] = std::move(*run);
          ++done;
        }
      } catch (...) {
        errors[r] = std::current_exception();
        next = o.runs;
      }
    }
  };
  {
    std::vector<std::jthread> others;
    const std::uint64_t threads = o.trace ? 1 : std::min(o.threads, o.runs);
    for (std::uint64_t t = 1; t < threads; ++t) others.emplace_back(work);
    work();
  }
  for (const std::exception_ptr& error : errors)
    if (error) std::rethrow_exception(error);
  if (done < o.runs) {
    out.runs.clear();
    out.interrupted = true;
  }
  return out;
}

}  // namespace quorate
