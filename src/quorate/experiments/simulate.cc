#include "quorate/experiments/simulate.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <exception>
#include <limits>
#include <map>
#include <numeric>
#include <thread>

#include "quorate/base/portable_math.h"
#include "quorate/base/rng.h"
#include "quorate/registry.h"

namespace quorate {
namespace {

constexpr std::uint64_t kOrderStream = 0;

/// The examples of one run: places in the training data to learn from, and to test on.
struct Split {
  std::vector<std::uint64_t> learn, test;
};

/// per_task examples of each of the groups named; group(i) is example i's.
template <class Group, class Name>
Split split_per_task(const Dataset& data, std::size_t groups, Group group, Name name, std::uint64_t per_task, Rng& rng) {
  std::vector<std::vector<std::uint64_t>> of_group(groups);
  for (std::uint64_t i = 0; i < data.size(); ++i)
    if (const std::size_t g = group(i); g < groups) of_group[g].push_back(i);
  Split out;
  for (std::size_t g = 0; g < groups; ++g) {
    auto& places = of_group[g];
    if (places.size() < per_task)
      throw DataError(name(g) + " has " + std::to_string(places.size()) + " examples; expected at least the " +
                      std::to_string(per_task) + " to learn from");
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

/// The examples in rounds of one of every task: examples of round r are place[end[r - 1]] .. place[end[r] - 1].
struct Schedule {
  std::vector<std::uint64_t> place;
  std::vector<std::size_t> end;
};

void make_rounds_per_task(const Dataset& data, std::span<const std::uint64_t> order, std::size_t tasks, Schedule& out) {
  std::vector<std::vector<std::uint64_t>> queue(tasks);
  std::size_t longest = 0;
  for (const std::uint64_t i : order) {
    auto& of_task = queue[data.task(i)];
    of_task.push_back(i);
    longest = std::max(longest, of_task.size());
  }
  out.place.clear();
  out.end.clear();
  for (std::size_t r = 0; r < longest; ++r) {
    for (const auto& of_task : queue)
      if (r < of_task.size()) out.place.push_back(of_task[r]);
    out.end.push_back(out.place.size());
  }
}

/// What a run finds on its test set, whether labels are binary or classes.
class TestCount {
 public:
  TestCount(const Classes* classes, std::size_t tasks, bool per_task)
      : classes_(classes), per_task_(per_task ? tasks : 0), margins_(classes != nullptr ? tasks : 0) {
    if (classes != nullptr) confusion_ = ClassConfusion(classes->size());
  }

  void add(const Learner& learner, Example e, int label) {
    if (label == 0) return;
    if (classes_ == nullptr) {
      const double margin = learner.score(e);
      all_.add(label, margin);
      if (const auto odds = learner.log_odds(margin)) reliability_.add(label, logistic(*odds));
      if (!per_task_.empty()) per_task_[e.task].add(label, margin);
      return;
    }
    const std::size_t truth = place_of(label);
    for (e.task = 0; e.task < margins_.size(); ++e.task) margins_[e.task] = learner.score(e);
    for (Task task = 0; task < per_task_.size(); ++task)
      if (const int y = classes_->feedback(task, truth); y != 0) per_task_[task].add(y, margins_[task]);
    confusion_.add(truth, classes_->predict(margins_, ballot_).place);
  }

  Measures all() const { return classes_ != nullptr ? confusion_.measures() : all_.measures(); }
  Measures of(Task task) const { return per_task_[task].measures(); }
  const ClassConfusion& confusion() const { return confusion_; }
  const Reliability& reliability() const { return reliability_; }

 private:
  const Classes* classes_;
  Scores all_;
  Reliability reliability_;
  ClassConfusion confusion_;
  std::vector<Scores> per_task_;
  std::vector<double> margins_;  // of all tasks on one instance
  Classes::Ballot ballot_;
};

class Simulation {
 public:
  Simulation(const Dataset& train, const Dataset* test, const NameTable& tasks, Rounds rounds,
             const SimulateOptions& options)
      : train_(train), test_(test), tasks_(tasks), rounds_(rounds), o_(options) {}

  /// Nothing if it was stopped.
  std::optional<RunResult> run(std::uint64_t r) const {
    Rng order = make_rng(o_.seed + r, kOrderStream);
    Split split = make_split(r, order);
    const auto start = std::chrono::steady_clock::now();
    Session session(o_.learner, {.seed = o_.seed + r,
                                 .limits = o_.limits,
                                 .spread_over = o_.pace_even ? o_.passes * split.learn.size() * shown_to() : 0,
                                 .tasks = &tasks_,
                                 .labels_per_round = o_.labels_per_round,
                                 .memory_limit = o_.memory,
                                 .audit = o_.audit});
    std::optional<StopRule> stop_when = o_.stop_when;
    bool stopped = false;
    const bool timed = o_.limits.rate && o_.limits.rate->seconds;
    Annotator annotator(o_.delay, o_.seed + r);
    std::map<std::pair<std::uint64_t, std::uint64_t>, Question> due;          // by when the answer comes, and ticket
    std::vector<std::pair<std::size_t, std::optional<std::uint64_t>>> later;  // of a round: example, when it is answered
    OnlineCount online(o_.classes, o_.per_task ? tasks_.size() : 0);
    RunResult out{};
    out.seed = o_.seed + r;
    const std::uint64_t stream = o_.passes * split.learn.size();
    std::uint64_t seen = 0, round_number = 0;
    Schedule schedule;
    std::vector<Example> round(o_.classes != nullptr ? tasks_.size() : 0);
    std::vector<Outcome> outcomes;
    for (std::uint64_t pass = 0; pass < o_.passes && !stopped; ++pass) {
      if (!o_.in_order) shuffle(std::span(split.learn), order);
      std::span<const std::uint64_t> order_now = split.learn;
      if (rounds_ == Rounds::kPerTask) {  // a copy: the next shuffle starts from this order
        make_rounds_per_task(train_, split.learn, tasks_.size(), schedule);
        order_now = schedule.place;
      }
      for (std::size_t begin = 0, r_of_pass = 0; begin < order_now.size() && !stopped; ++r_of_pass) {
        if (o_.stop.stop_requested()) return std::nullopt;
        const std::size_t end = rounds_ == Rounds::kPerTask ? schedule.end[r_of_pass] : begin + 1;
        const auto places = order_now.subspan(begin, end - begin);
        begin = end;
        const auto place = [&](std::size_t n) { return places[o_.classes != nullptr ? 0 : n]; };
        if (o_.classes != nullptr) {
          for (Task task = 0; task < round.size(); ++task) round[task] = {task, train_.example(places[0]).x};
        } else {
          round.clear();
          for (const std::uint64_t i : places) round.push_back(train_.example(i));
        }
        if (rounds_ == Rounds::kEach && end < order_now.size()) session.expect(train_.example(order_now[end]));
        outcomes.assign(round.size(), {});
        const auto label = [&](std::size_t n) { return train_.label(place(n)); };
        later.clear();
        const auto answer = [&](std::size_t n) {
          const std::optional<int> y = known_answer(o_.classes, round[n].task, label(n));
          if (!o_.delay || !y) return y;
          std::optional<std::uint64_t> at = annotator.delay();
          if (at == std::uint64_t{0}) return y;
          if (at) *at += seen + (o_.classes != nullptr ? 1 : n + 1);
          later.emplace_back(n, at);
          return std::optional(kLater);
        };
        if (timed)
          for (const std::uint64_t i : places) session.set_time(*train_.time(i));
        session.round(round, std::cref(answer), outcomes);
        for (const auto& [n, at] : later)
          if (at && outcomes[n].ticket)
            due[{*at, *outcomes[n].ticket}] = {place(n), round[n].task, *known_answer(o_.classes, round[n].task, label(n))};
        online.add(round, outcomes, label);
        seen += places.size();
        std::vector<TraceLine> answered;
        for (; !due.empty() && due.begin()->first.first <= seen; due.erase(due.begin())) {
          const auto& [when, question] = *due.begin();
          const auto outcome = session.answer(when.second, question.label);
          if (o_.trace && outcome)
            answered.push_back({r, pass, round_number, question.example, question.task, *outcome, true});
        }
        while (out.curve.size() < o_.points && seen * o_.points >= (out.curve.size() + 1) * stream)
          out.curve.push_back({seen, online.mistakes(), session.total().labels});
        if (o_.trace)
          for (std::size_t n = 0; n < round.size(); ++n)
            o_.trace({r, pass, round_number, place(n), round[n].task, outcomes[n]});
        for (const TraceLine& late : answered) o_.trace(late);
        stopped = stop_when && stop_when->holds(*session.audit());
        ++round_number;
        if (o_.progress != nullptr) o_.progress->fetch_add(places.size(), std::memory_order_relaxed);
      }
    }
    TestCount test(o_.classes, tasks_.size(), o_.per_task);
    for (const std::uint64_t i : split.test) test.add(session.learner(), train_.example(i), train_.label(i));
    if (test_ != nullptr)
      for (std::uint64_t i = 0; i < test_->size(); ++i) test.add(session.learner(), test_->example(i), test_->label(i));
    out.all = {test.all(), online.f1(), online.mistakes(), session.total().labels, session.total().updates, seen};
    for (Task task = 0; task < (o_.per_task ? tasks_.size() : 0); ++task) {
      const TaskCounters count = session.count(task);
      const Confusion& before = online.of(task);
      out.per_task.push_back({test.of(task), before.f1(), before.mistakes(), count.labels, count.updates, count.examples});
    }
    out.test = test.confusion();
    out.reliability = test.reliability();
    out.online = online.classes();
    if (const Audit* audit = session.audit()) {
      out.audit = {audit->bought(), audit->stream(), audit->recent(), {}, stopped};
      if (o_.forecast) out.audit->forecast = audit->forecast(*o_.forecast);
    }
    out.late = static_cast<bool>(o_.delay);
    out.pending = session.pending().size();
    out.unanswered = session.unanswered();
    out.model_bytes = session.model_bytes();
    out.peak_bytes = session.peak_bytes();
    out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return out;
  }

 private:
  /// What was asked and is not answered yet.
  struct Question {
    std::uint64_t example;
    Task task;
    int label;
  };

  /// Tasks that an example of the data is shown to.
  std::size_t shown_to() const { return o_.classes != nullptr ? tasks_.size() : 1; }

  Split make_split(std::uint64_t r, Rng& order) const {
    Split split;
    if (o_.folds > 1) {
      split = split_folds(train_, o_.folds, r % o_.folds, o_.seed);
    } else if (o_.train_per_task > 0 && o_.classes != nullptr) {
      split = split_per_task(
          train_, o_.classes->size(), [&](std::uint64_t i) { return static_cast<std::size_t>(train_.label(i)) - 1; },
          [&](std::size_t c) { return "class '" + o_.classes->name(c) + "'"; }, o_.train_per_task, order);
    } else if (o_.train_per_task > 0) {
      split = split_per_task(
          train_, tasks_.size(), [&](std::uint64_t i) { return std::size_t{train_.task(i)}; },
          [&](std::size_t task) { return "task '" + std::string(tasks_[static_cast<Task>(task)]) + "'"; }, o_.train_per_task,
          order);
    } else {
      split.learn.resize(train_.size());
      std::iota(split.learn.begin(), split.learn.end(), std::uint64_t{0});
    }
    if (o_.share < 1) {
      shuffle(std::span(split.learn), order);
      split.learn.resize(static_cast<std::size_t>(std::ceil(o_.share * static_cast<double>(split.learn.size()))));
    }
    return split;
  }

  const Dataset& train_;
  const Dataset* test_;
  const NameTable& tasks_;
  Rounds rounds_;
  const SimulateOptions& o_;
};

}  // namespace

std::size_t examples_to_learn(std::size_t available, std::size_t tasks, const SimulateOptions& o) {
  if (o.folds > 1) available -= (available + o.folds - 1) / o.folds;
  if (o.train_per_task > 0) available = o.train_per_task * (o.classes != nullptr ? o.classes->size() : tasks);
  return static_cast<std::size_t>(std::ceil(o.share * static_cast<double>(available)));
}

namespace {

template <class F>
bool of_new_learner(const Spec& spec, F answer) {
  Memory memory;
  NameTable tasks(&memory);
  return answer(*make_learner(spec, {tasks, &memory}));
}

}  // namespace

bool chooses(const Spec& learner) {
  return of_new_learner(learner, [](const Learner& l) { return l.chooses(); });
}

bool has_b(const Spec& learner) {
  return of_new_learner(learner, [](Learner& l) { return l.set_query_scale(1); });
}

SimulateResult simulate(const Dataset& train, const Dataset* test, const NameTable& tasks, const SimulateOptions& o) {
  const auto at_least_one = [](const char* what, std::uint64_t n) {
    if (n < 1) throw UsageError(std::string(what) + " 0: expected at least 1");
  };
  at_least_one("runs", o.runs);
  at_least_one("passes", o.passes);
  at_least_one("threads", o.threads);
  at_least_one("labels-per-round", o.labels_per_round);
  const Rounds rounds = resolve_rounds(o.rounds, o.classes != nullptr, [&] { return chooses(o.learner); });
  if (o.classes != nullptr && o.classes->tasks() != tasks.size())
    throw UsageError("classes: expected the tasks of the classes, and no others");
  if (o.train_per_task > 0 && test != nullptr)
    throw UsageError("a test set and train-per-task: expected one of them, or neither");
  if (!(o.share > 0 && o.share <= 1)) throw UsageError("share: expected a number above 0 to 1");
  if (o.folds == 1 || o.folds > train.size()) throw UsageError("folds: expected 2 to the number of examples");
  if (o.folds > 1 && (test != nullptr || o.train_per_task > 0))
    throw UsageError("folds and a test set: expected one of them");
  if (o.audit == 0 && (o.stop_when || o.forecast))
    throw UsageError("a rule when to stop and a forecast rest on audited labels; expected audit, too");
  if (o.forecast && !(*o.forecast > 0 && *o.forecast < 1))  // before the run, not after it
    throw UsageError("forecast for accuracy " + std::to_string(*o.forecast) + ": expected a number above 0 and below 1");
  if (o.audit != 0 && o.delay) throw UsageError("audit and delay: an audit does not wait for answers; expected one of them");
  if (o.in_order && (o.train_per_task > 0 || o.share < 1 || o.folds > 1))
    throw UsageError("in order: expected all examples, not some drawn at random");
  if (o.limits.rate && o.limits.rate->seconds) {
    if (!o.in_order)
      throw UsageError("labels " + to_text(*o.limits.rate) + ": shuffled data have no time; expected --in-order, too");
    for (std::size_t i = 0; i < train.size(); ++i)
      if (!train.time(i))
        throw DataError("labels " + to_text(*o.limits.rate) + ": example " + std::to_string(i + 1) +
                        " has no time; expected --time-column to name the one that has it");
  }
  bool any = false;
  for (std::size_t i = 0; i < train.size(); ++i) any = any || train.label(i) != 0;
  if (!any) throw DataError("no example has a label; expected labels, hidden until they are asked for");

  SimulateResult out{canonical(o.learner),
                     rounds,
                     tasks.size(),
                     train.distinct_features(),
                     examples_to_learn(train.size(), tasks.size(), o),
                     {},
                     false};
  const Simulation simulation(train, test, tasks, rounds, o);
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
