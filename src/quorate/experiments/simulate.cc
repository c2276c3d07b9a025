#include "quorate/experiments/simulate.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>

#include "quorate/base/portable_math.h"
#include "quorate/base/rng.h"
#include "quorate/experiments/each_run.h"
#include "quorate/experiments/splits.h"
#include "quorate/learner.h"
#include "quorate/model/progressive.h"
#include "quorate/registry.h"
#include "quorate/session/prefetcher.h"

namespace quorate {
namespace {

/// The first task of the stream's task at this place.
Task first_task(const Reduction& reduction, std::uint32_t place) { return static_cast<Task>(place * reduction.tasks()); }

/// Measures a model on a run's test set.
class TestCount {
 public:
  TestCount(const Reduction& reduction, std::size_t tasks, bool per_task)
      : reduction_(reduction), confusion_(reduction.size()) {
    if (per_task) reduction.users() ? per_user_.resize(tasks) : per_task_.resize(tasks);
  }

  /// e.task: the place of the stream's task.
  void add(const Model& model, const Example& e, Label label) {
    if (!label.known()) return;
    const std::size_t truth = reduction_.number_of(label);
    const Task first = first_task(reduction_, e.task);
    const auto [said, margin] = model.predict(first, e.x, work_);
    confusion_.add(truth, said);
    if (!reduction_.has_classes()) {
      all_.add(label.answer(), margin);
      if (const Learner& learner = model.session.learner(); learner.capabilities().calibrated)
        reliability_.add(label.answer(), logistic(learner.log_odds(margin)));
    }
    if (!per_user_.empty()) per_user_[e.task].add(truth, said);
    for (Task task = 0; task < work_.margins.size() && !per_task_.empty(); ++task)
      if (const Answer y = reduction_.feedback(task, truth); y != kNeither)
        per_task_[reduction_.example(first, task, e.x).task].add(y, work_.margins[task]);
  }

  Measures all() const { return reduction_.has_classes() ? confusion_.measures() : all_.measures(); }
  Measures of(Task task) const { return per_task_[task].measures(); }
  Measures of_user(std::size_t user) const { return per_user_[user].confusion(reduction_.size()).measures(); }
  const ClassConfusion& confusion() const { return confusion_; }
  const Reliability& reliability() const { return reliability_; }

 private:
  const Reduction& reduction_;
  Scores all_;               // of yes or no
  Reliability reliability_;  // of yes or no
  ClassConfusion confusion_;
  std::vector<Scores> per_task_;
  std::vector<ClassPredictions> per_user_;
  Reduction::Work work_;
};

/// A simulated annotator with the labels of the data, whose answers may be late.
class LateAnnotator {
 public:
  LateAnnotator(const Delay& delay, std::uint64_t seed) : delay_(delay), annotator_(delay, seed) {}

  /// The reply to a question about example n of the current round, after which `position` examples were seen.
  Reply reply(Reply known, std::size_t n, std::uint64_t position) {
    if (!delay_ || !known.answered()) return known;
    std::optional<std::uint64_t> at = annotator_.delay();
    if (at == std::uint64_t{0}) return known;
    if (at) *at += position;
    asked_.push_back({n, known.answer(), at});
    return Reply::later();
  }
  /// After the round: notes which of its questions will be answered. example(n): the index in the data.
  template <class ExampleOf>
  void note(std::span<const Example> round, std::span<const Outcome> outcomes, ExampleOf example) {
    for (const auto& [n, answer, at] : asked_)
      if (at && outcomes[n].ticket) due_[{*at, *outcomes[n].ticket}] = {example(n), round[n].task, answer};
    asked_.clear();
  }
  /// Gives the session the answers that are due after `seen` examples; calls use(example, task, outcome) for each whose
  /// question was still pending.
  template <class Use>
  void deliver(Session& session, std::uint64_t seen, Use use) {
    for (; !due_.empty() && due_.begin()->first.first <= seen; due_.erase(due_.begin())) {
      const auto& [when, late] = *due_.begin();
      if (const auto outcome = session.answer(when.second, late.answer)) use(late.example, late.task, *outcome);
    }
  }

 private:
  struct Asked {
    std::size_t n;
    Answer answer;
    std::optional<std::uint64_t> at;  // none: never
  };
  struct Late {
    std::uint64_t example;
    Task task;
    Answer answer;
  };
  Delay delay_;
  Annotator annotator_;
  std::vector<Asked> asked_;                                     // of the current round
  std::map<std::pair<std::uint64_t, std::uint64_t>, Late> due_;  // by the time of the answer, and the ticket
};

class Simulation {
 public:
  Simulation(const Dataset& train, const Dataset* test, const NameTable& tasks, Rounds rounds,
             const SimulateOptions& options)
      : train_(train), test_(test), tasks_(tasks), rounds_(rounds), o_(options) {}

  /// Returns no result if it was stopped.
  std::optional<RunResult> run(std::uint64_t r) const {
    Rng order = make_rng(o_.learning.seed + r, kOrderStream);
    Split split = make_split(r, order);
    const auto start = std::chrono::steady_clock::now();
    Model model = Model::make(o_.learner, learning_of(r, split.learn.size()), {}, Labels(), o_.reduction, &tasks_);
    model.session.set_kinds(o_.kinds);
    RunResult out{};
    out.seed = o_.learning.seed + r;
    ProgressiveCount progressive(o_.reduction, o_.per_task ? tasks_.size() : 0);
    const std::optional<std::uint64_t> seen = learn(r, model, split, order, progressive, out);
    if (!seen) return std::nullopt;
    TestCount test(o_.reduction, tasks_.size(), o_.per_task);
    for (const std::uint64_t i : split.test) test.add(model, train_.example(i), train_.label(i));
    if (test_ != nullptr)
      for (std::uint64_t i = 0; i < test_->size(); ++i) test.add(model, test_->example(i), test_->label(i));
    out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    report(model, *seen, progressive, test, out);
    return out;
  }

 private:
  LearningOptions learning_of(std::uint64_t r, std::uint64_t examples) const {
    LearningOptions out = o_.learning;
    out.seed += r;
    out.length = out.pace ? std::optional(o_.passes * examples) : std::nullopt;
    out.keep_labels = out.audit > 0 ? LearningOptions().keep_labels : ByteSize{0};
    return out;
  }

  /// Learns from the examples of the run. Returns their number; none if it was stopped.
  std::optional<std::uint64_t> learn(std::uint64_t r, Model& model, Split& split, Rng& order, ProgressiveCount& progressive,
                                     RunResult& out) const {
    std::optional<StopRule> stop_when = o_.stop_when;
    Session& session = model.session;
    const std::size_t tasks = o_.reduction.tasks();
    const auto& rate = session.budget().limits().rate;
    const bool timed = rate && rate->seconds;
    LateAnnotator annotator(o_.delay, o_.learning.seed + r);
    const Prefetcher prefetcher(session);
    std::uint64_t seen = 0, round_number = 0;
    for (std::uint64_t pass = 0; pass < o_.passes; ++pass) {
      if (!o_.in_order) shuffle(std::span(split.learn), order);
      const Schedule schedule =
          rounds_ == Rounds::kPerTask ? rounds_per_task(train_, split.learn, tasks_.size()) : rounds_of_one(split.learn);
      for (std::size_t n_round = 0; n_round < schedule.rounds(); ++n_round, ++round_number) {
        if (o_.stop.stop_requested()) return std::nullopt;
        const std::span<const std::uint64_t> examples = schedule.round(n_round);
        const auto instance = [&](std::size_t n) -> Instance {
          const Example e = train_.example(examples[n]);
          return {first_task(o_.reduction, e.task), e.x, e.weight};
        };
        const auto example = [&](std::size_t place) { return examples[place / tasks]; };
        const auto label = [&](std::size_t place) { return train_.label(example(place)); };
        if (rounds_ == Rounds::kEach && n_round + 1 < schedule.rounds())
          prefetcher.example(train_.example(schedule.example[n_round + 1]));
        if (timed)
          for (const std::uint64_t i : examples) session.set_time(*train_.time(i));
        const auto [round, outcomes] = model.decide(examples.size(), instance, [&](std::size_t place, const Example& e) {
          return annotator.reply(o_.reduction.reply(label(place), e), place, seen + place / tasks + 1);
        });
        annotator.note(round, outcomes, example);
        progressive.add(round, outcomes, label);
        seen += examples.size();
        if (o_.trace)
          for (std::size_t n = 0; n < round.size(); ++n)
            o_.trace({r, pass, round_number, example(n), round[n].task, outcomes[n], false, session.support_vectors()});
        annotator.deliver(session, seen, [&](std::uint64_t i, Task task, const Outcome& outcome) {
          if (o_.trace) o_.trace({r, pass, round_number, i, task, outcome, true, session.support_vectors()});
        });
        if (o_.progress != nullptr) o_.progress->fetch_add(examples.size(), std::memory_order_relaxed);
        if (stop_when && stop_when->due(session.audit()->scored()) &&
            stop_when->holds(session.audit()->scored(), quality_of(model))) {
          out.stopped = true;
          return seen;
        }
      }
    }
    return seen;
  }

  void report(const Model& model, std::uint64_t seen, const ProgressiveCount& progressive, const TestCount& test,
              RunResult& out) const {
    const Session& session = model.session;
    out.all = {test.all(), progressive.f1(), progressive.mistakes(), session.total().labels, session.total().updates, seen};
    for (std::uint32_t user = 0; o_.per_task && o_.reduction.users() && user < tasks_.size(); ++user) {
      const ClassConfusion before = progressive.of_user(user);
      RunTotals of{test.of_user(user), before.measures().f1, before.mistakes(), 0, 0, 0};
      for (Task task = session.first_task(user); task < session.first_task(user + 1); ++task) {
        const TaskCounters count = session.count(task);
        of.labels += count.labels;
        of.updates += count.updates;
        of.examples = count.examples;
      }
      out.per_task.push_back(of);
    }
    for (Task task = 0; o_.per_task && !o_.reduction.users() && task < tasks_.size(); ++task) {
      const TaskCounters count = session.count(task);
      const Confusion& before = progressive.of(task);
      out.per_task.push_back({test.of(task), before.f1(), before.mistakes(), count.labels, count.updates, count.examples});
    }
    out.reliability = test.reliability();
    if (o_.reduction.has_classes()) {
      out.test = test.confusion();
      out.progressive = progressive.confusion();
    }
    if (const Audit* audit = session.audit()) {
      out.audit = {*audit, quality_of(model), {}};
      if (o_.forecast) out.audit->forecast = audit->forecast(*o_.forecast);
    }
    out.late = static_cast<bool>(o_.delay);
    out.pending = session.pending().size();
    out.unanswered = session.unanswered();
    out.model_bytes = session.model_bytes();
    out.peak_bytes = session.peak_bytes();
  }

  Split make_split(std::uint64_t r, Rng& order) const {
    Split split;
    if (o_.folds > 1) {
      split = split_folds(train_.size(), o_.folds, r % o_.folds, make_rng(o_.learning.seed, kOrderStream));
    } else if (o_.train_per_task > 0 && o_.reduction.has_classes()) {
      const auto of_class = [&](std::uint64_t i) { return train_.label(i).class_index(); };
      split = split_per_group(
          train_.size(), o_.reduction.size(), of_class,
          [&](std::size_t c) { return "class '" + o_.reduction.classes()[c] + "'"; }, o_.train_per_task, order);
    } else if (o_.train_per_task > 0) {
      split = split_per_group(
          train_.size(), tasks_.size(), [&](std::uint64_t i) { return std::size_t{train_.task(i)}; },
          [&](std::size_t task) { return "task '" + std::string(tasks_[static_cast<Task>(task)]) + "'"; }, o_.train_per_task,
          order);
    } else if (o_.test_share > 0) {
      split = split_share(train_.size(), o_.test_share, o_.in_order, order);
    } else {
      split = learn_all(train_.size());
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
  if (o.test_share > 0 && available > 1) available -= test_examples(available, o.test_share);
  if (o.train_per_task > 0) available = o.train_per_task * (o.reduction.has_classes() ? o.reduction.size() : tasks);
  return static_cast<std::size_t>(std::ceil(o.share * static_cast<double>(available)));
}

SimulateResult simulate(const Dataset& train, const Dataset* test, const NameTable& tasks, const SimulateOptions& o) {
  const auto at_least_one = [](const char* what, std::uint64_t n) {
    if (n < 1) throw UsageError(std::string(what) + " 0: expected at least 1");
  };
  at_least_one("runs", o.runs);
  at_least_one("passes", o.passes);
  at_least_one("threads", o.threads);
  at_least_one("labels-per-round", o.learning.labels_per_round);
  const Rounds rounds = resolve_rounds(o.learning.rounds, o.reduction.has_classes(), capabilities(o.learner));
  if (!o.reduction.by_task() && o.reduction.tasks() != tasks.size())
    throw UsageError("classes: expected the tasks of the classes, and no others");
  if ((o.train_per_task > 0) + (o.test_share > 0) + (test != nullptr) > 1)
    throw UsageError("a test set, test-share and train-per-task: expected one of them, or none");
  if (!(o.test_share >= 0 && o.test_share < 1)) throw UsageError("test-share: expected a number above 0 and below 1");
  if (o.test_share > 0 && train.size() < 2)
    throw DataError("one example cannot be learned from and tested on; expected more");
  if (!(o.share > 0 && o.share <= 1)) throw UsageError("share: expected a number above 0 to 1");
  if (o.folds == 1 || o.folds > train.size())
    throw UsageError("folds: " + std::to_string(o.folds) + " of " + std::to_string(train.size()) +
                     " examples; expected 2 to the number of examples");
  if (o.folds > 1 && (test != nullptr || o.train_per_task > 0 || o.test_share > 0))
    throw UsageError("folds and a test set: expected one of them");
  if (o.learning.audit == 0 && (o.stop_when || o.forecast))
    throw UsageError("stop-when and forecast need audited labels; expected audit, too, as 0.1");
  if (o.forecast && !(*o.forecast > 0 && *o.forecast < 1))  // before the run, not after it
    throw UsageError("forecast for accuracy " + std::to_string(*o.forecast) + ": expected a number above 0 and below 1");
  if (o.learning.audit != 0 && o.delay)
    throw UsageError("audit and delay: an audit does not wait for answers; expected one of them");
  if (o.in_order && (o.train_per_task > 0 || o.share < 1 || o.folds > 1))
    throw UsageError("in order: expected all examples, not some drawn at random");
  if (const auto rate = o.learning.limits().rate; rate && rate->seconds) {
    if (!o.in_order) throw UsageError("labels " + to_text(*rate) + ": shuffled data have no time; expected --in-order, too");
    for (std::size_t i = 0; i < train.size(); ++i)
      if (!train.time(i))
        throw DataError("labels " + to_text(*rate) + ": example " + std::to_string(i + 1) +
                        " has no time; expected one for every example, in the column that --time-column names");
  }
  bool any = false;
  for (std::size_t i = 0; i < train.size(); ++i) any = any || train.label(i).known();
  if (!any) throw DataError("no example has a label; expected labels, hidden until they are asked for");

  SimulateResult out{canonical(o.learner),
                     rounds,
                     tasks.size() * (o.reduction.by_task() ? o.reduction.tasks() : 1),
                     train.distinct_features(),
                     examples_to_learn(train.size(), tasks.size(), o),
                     {},
                     false};
  const Simulation simulation(train, test, tasks, rounds, o);
  out.runs.resize(o.runs);
  const bool all = each_run(o.runs, o.trace ? 1 : o.threads, o.stop, [&](std::uint64_t r) {
    auto run = simulation.run(r);
    if (run) out.runs[r] = std::move(*run);
    return run.has_value();
  });
  if (!all) {
    out.runs.clear();
    out.interrupted = true;
  }
  return out;
}

}  // namespace quorate
