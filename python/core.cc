// The module quorate._core: a model, locked, as the Python classes hold it; and the registry.
//
// Locks. What Python owns is read with the interpreter's lock and without the model's; work on the model is done with the
// model's lock and without the interpreter's, unless it is a single example. Nobody waits for a model with the interpreter's
// lock in hand, so the two never wait for each other.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <cmath>
#include <mutex>
#include <shared_mutex>

#include "batch.h"
#include "fair_shared_mutex.h"
#include "quorate/engine/model.h"
#include "quorate/engine/round_builder.h"
#include "quorate/registry.h"
#include "quorate/stream/example_reader.h"
#include "quorate/version.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace quorate::python {
namespace {

/// Holds a model for one who changes it (exclusive) or for one of many readers.
template <bool exclusive>
class Lock {
 public:
  explicit Lock(FairSharedMutex& mutex) : mutex_(mutex) {
    if (exclusive ? mutex.try_lock() : mutex.try_lock_shared()) return;
    const nb::gil_scoped_release others;
    exclusive ? mutex.lock() : mutex.lock_shared();
  }
  ~Lock() { exclusive ? mutex_.unlock() : mutex_.unlock_shared(); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  FairSharedMutex& mutex_;
};
using Writing = Lock<true>;
using Reading = Lock<false>;

/// A NumPy array that owns `values`. T = std::uint8_t with Shown = bool: flags.
template <class Shown, class T>
nb::object array(std::vector<T>&& values, std::vector<std::size_t> shape = {}) {
  static_assert(sizeof(Shown) == sizeof(T));
  if (shape.empty()) shape = {values.size()};
  auto* kept = new std::vector<T>(std::move(values));
  const nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return nb::cast(nb::ndarray<nb::numpy, Shown>(kept->data(), shape.size(), shape.data(), owner));
}

/// Lets Ctrl-C end a long call: asked at every example, it looks about 20 times a second. The interpreter's lock is not
/// held.
class Interrupt {
 public:
  /// Whether a signal wants to stop us; then a Python error is set.
  bool operator()() {
    if (++asked_ % 8 != 0) return false;
    const auto now = std::chrono::steady_clock::now();
    if (now < next_) return false;
    next_ = now + std::chrono::milliseconds(50);
    const nb::gil_scoped_acquire interpreter;
    return PyErr_CheckSignals() != 0;
  }

 private:
  unsigned asked_ = 0;
  std::chrono::steady_clock::time_point next_ = std::chrono::steady_clock::now() + std::chrono::milliseconds(50);
};

/// The tasks of a batch's examples: names[codes[n]]. No codes: none named theirs.
struct TaskCodes {
  Array<std::uint32_t> codes;
  std::vector<std::string> names;
};

/// What was done with examples, column by column.
struct Columns {
  static constexpr std::int8_t kNoLabel = 2;
  std::vector<std::uint32_t> task;
  std::vector<double> margin, probability, draw;
  std::vector<std::uint8_t> asked, updated, audited;
  std::vector<std::int8_t> label;    // kNoLabel: none
  std::vector<std::int64_t> ticket;  // -1: none

  void add(Task t, const Outcome& s) {
    task.push_back(t);
    margin.push_back(s.decision.margin);
    probability.push_back(s.decision.probability);
    draw.push_back(s.decision.draw);
    asked.push_back(s.asked);
    updated.push_back(s.updated);
    audited.push_back(s.audited);
    label.push_back(s.answer ? std::int8_t{*s.answer} : kNoLabel);
    ticket.push_back(s.ticket ? static_cast<std::int64_t>(*s.ticket) : -1);
  }
  nb::dict arrays() {
    nb::dict out;
    out["task"] = array<std::uint32_t>(std::move(task));
    out["margin"] = array<double>(std::move(margin));
    out["probability"] = array<double>(std::move(probability));
    out["draw"] = array<double>(std::move(draw));
    out["asked"] = array<bool>(std::move(asked));
    out["label"] = array<std::int8_t>(std::move(label));
    out["updated"] = array<bool>(std::move(updated));
    out["audited"] = array<bool>(std::move(audited));
    out["ticket"] = array<std::int64_t>(std::move(ticket));
    return out;
  }
};

Model make_model(const std::string& spec, SessionOptions options, const FeatureSettings& features,
                 const std::string& reduction, const std::vector<std::string>& classes,
                 const std::vector<std::string>& tasks) {
  const Spec learner = parse_spec(spec);
  if (!reduction.empty()) {
    const auto known = reduction_named(reduction);
    if (!known) throw UsageError("reduction " + quoted_value(reduction) + ": expected one-vs-rest or one-vs-one");
    if (classes.size() > ClassNames::kMost)
      throw UsageError(std::to_string(classes.size()) + " classes; expected at most " + std::to_string(ClassNames::kMost));
    const Classes all(*known, classes);
    const NameTable names = all.task_names();
    options.tasks = &names;
    options.spread_over *= all.tasks();
    return {Session(learner, options), Featurizer(features), Labels::of_classes(ClassNames(classes), false), all};
  }
  NameTable names;
  for (const std::string& name : tasks) names.intern(name);
  options.tasks = &names;
  Labels labels;
  labels.restore(classes.at(1), classes.at(0));
  return {Session(learner, options), Featurizer(features), std::move(labels)};
}

LabelLimits limits_of(const std::vector<std::string>& labels, std::optional<std::uint64_t> labels_per_task) {
  LabelLimits limits;
  for (const std::string& text : labels) limits.add(text);
  if (labels_per_task) limits.per_task = *labels_per_task;
  return limits;
}

class Core {
 public:
  explicit Core(Model&& model) : model_(std::move(model)) {}
  static std::unique_ptr<Core> from_bytes(const nb::bytes& bytes) {
    const std::string_view view(bytes.c_str(), bytes.size());
    const nb::gil_scoped_release others;
    return std::make_unique<Core>(Model::from_bytes(view));
  }
  static std::unique_ptr<Core> load(const std::string& path) {
    const nb::gil_scoped_release others;
    return std::make_unique<Core>(Model::load(path));
  }
  nb::bytes to_bytes() {
    std::string bytes;
    {
      const nb::gil_scoped_release others;
      const std::shared_lock lock(mutex_);
      bytes = model().to_bytes();
    }
    return nb::bytes(bytes.data(), bytes.size());
  }
  void save(const std::string& path) {
    const nb::gil_scoped_release others;
    const std::shared_lock lock(mutex_);
    model().save(path);
  }
  std::unique_ptr<Core> snapshot() {
    const nb::gil_scoped_release others;
    std::string bytes;
    {
      const std::shared_lock lock(mutex_);
      bytes = model().to_bytes();
    }
    return std::make_unique<Core>(Model::from_bytes(bytes));
  }

  /// Shows the session a batch. `labels`: of the data, 0 if unknown; none at all: answers come later. Returns the columns if
  /// `trace` or later. Ctrl-C stops it between two examples.
  nb::object run(Batch& batch, const std::optional<TaskCodes>& tasks, const std::optional<Array<std::int16_t>>& labels,
                 const std::optional<Array<double>>& times, const std::string& rounds, bool trace) {
    const std::size_t size = batch.size();
    check_size("tasks", tasks ? tasks->codes.shape(0) : size, size);
    check_size("labels", labels ? labels->shape(0) : size, size);
    check_size("times", times ? times->shape(0) : size, size);
    Columns columns;
    bool interrupted = false;
    Interrupt interrupt;
    {
      const nb::gil_scoped_release others;
      const std::unique_lock lock(mutex_);
      Session& session = model().session;
      const Classes* classes = model().classes ? &*model().classes : nullptr;
      const Capabilities& can = session.learner().capabilities();
      const Rounds cut = resolve_rounds(rounds_named(rounds), classes != nullptr, can);
      check_labels_per_round(session.labels_per_round(), to_text(session.spec()), can);
      check_times(times.has_value());
      batch.begin(model().featurizer, true);
      RoundBuilder::Watch watch;
      if (trace || !labels) watch = [&](Task task, const Outcome& outcome) { columns.add(task, outcome); };
      RoundBuilder builder(session, classes, cut, !labels, watch);
      const bool named = tasks && classes == nullptr;
      std::vector<std::optional<Task>> places(named ? tasks->names.size() : 1);
      change([&] {
        for (std::size_t n = 0; n < size && !interrupted; ++n) {
          const Features x = batch.instance(n, model().featurizer, true, scratch_);
          std::optional<Task>& place = places[named ? tasks->codes(n) : 0];
          if (!place)  // a task has its place from when it comes
            place =
                classes != nullptr ? 0 : session.task(named ? std::string_view(tasks->names[tasks->codes(n)]) : kOnlyTask);
          builder.add(*place, labels ? Label::from_code((*labels)(n)) : Label(),
                      times ? std::optional((*times)(n)) : std::nullopt, x);
          interrupted = interrupt();
        }
        builder.flush();
      });
    }
    if (interrupted) throw nb::python_error();
    return trace || !labels ? columns.arrays() : nb::object(nb::none());
  }

  /// One round of the whole batch, whose labels come later: as a learner that selects sees it.
  nb::object round(Batch& batch, const std::optional<TaskCodes>& tasks) {
    check_size("tasks", tasks ? tasks->codes.shape(0) : batch.size(), batch.size());
    Columns columns;
    {
      const nb::gil_scoped_release others;
      const std::unique_lock lock(mutex_);
      Session& session = model().session;
      if (!session.learner().capabilities().selects)
        throw UsageError(to_text(session.spec()) +
                         " does not select among examples; expected a learner that does, as shampo, or query=shared");
      batch.begin(model().featurizer, true);
      change([&] {
        FeatureRows pool;
        std::vector<Example> examples;
        for (std::size_t n = 0; n < batch.size(); ++n) {
          const Features x = batch.instance(n, model().featurizer, true, scratch_);
          pool.add(x);
          if (model().classes)
            for (Task task = 0; task < model().classes->tasks(); ++task) examples.push_back({task, {}});
          else
            examples.push_back({session.task(tasks ? std::string_view(tasks->names[tasks->codes(n)]) : kOnlyTask), {}});
        }
        for (std::size_t n = 0; n < examples.size(); ++n)
          examples[n].x = pool[model().classes ? n / model().classes->tasks() : n];
        const auto outcomes = run_round_later(session, {examples, model().classes ? model().classes->tasks() : 1});
        for (std::size_t n = 0; n < outcomes.size(); ++n) columns.add(examples[n].task, outcomes[n]);
      });
    }
    return columns.arrays();
  }

  /// Late answers, in order: +1, -1 or 0 for neither; or, if `of_classes`, the class's place. Returns which changed the
  /// model.
  nb::object answer(Array<std::uint64_t> tickets, Array<std::int16_t> labels, bool of_classes) {
    check_size("answers", labels.shape(0), tickets.shape(0));
    std::vector<std::uint8_t> updated(tickets.shape(0));
    {
      const nb::gil_scoped_release others;
      const std::unique_lock lock(mutex_);
      Session& session = model().session;
      check_issued(tickets);
      for (std::size_t n = 0; n < updated.size(); ++n) {
        int label = labels(n);
        if (of_classes) {
          const PendingQuestions::Item* item = session.pending().find(tickets(n));
          label = item == nullptr ? kNeither : model().classes.value().feedback(item->task, static_cast<std::size_t>(label));
        }
        change([&] {
          const std::optional<Outcome> outcome = session.answer(tickets(n), answer_of(label));
          updated[n] = outcome && outcome->updated;
        });
      }
    }
    return array<bool>(std::move(updated));
  }
  /// Nobody will answer. Returns which were still awaited.
  nb::object withdraw(Array<std::uint64_t> tickets) {
    std::vector<std::uint8_t> done(tickets.shape(0));
    {
      const nb::gil_scoped_release others;
      const std::unique_lock lock(mutex_);
      check_issued(tickets);
      for (std::size_t n = 0; n < done.size(); ++n) done[n] = model().session.withdraw(tickets(n));
    }
    return array<bool>(std::move(done));
  }

  /// Margins: (n,), or of classes (n, C) with the predicted class the largest of its row, the first among equals.
  nb::object decision(Batch& batch, const std::optional<TaskCodes>& tasks) {
    check_size("tasks", tasks ? tasks->codes.shape(0) : batch.size(), batch.size());
    const std::size_t size = batch.size();
    std::vector<double> out;
    std::vector<std::size_t> shape{size};
    bool interrupted = false;
    Interrupt interrupt;
    {
      const nb::gil_scoped_release others;
      const std::shared_lock lock(mutex_);
      batch.begin(model().featurizer, false);
      const Learner& learner = model().session.learner();
      Featurizer::Scratch scratch;
      if (model().classes) {
        shape.push_back(model().classes->size());
        for (std::size_t n = 0; n < size && !interrupted; ++n) {
          decide_class(batch.instance(n, model().featurizer, false, scratch), out);
          interrupted = interrupt();
        }
      } else {
        std::vector<Task> places;
        if (tasks)
          for (const std::string& name : tasks->names) places.push_back(model().session.known_task(name));
        else
          places.push_back(model().session.known_task(kOnlyTask));
        out.reserve(size);
        for (std::size_t n = 0; n < size && !interrupted; ++n) {
          const Features x = batch.instance(n, model().featurizer, false, scratch);
          out.push_back(learner.score({places[tasks ? tasks->codes(n) : 0], x}));
          interrupted = interrupt();
        }
      }
    }
    if (interrupted) throw nb::python_error();
    return array<double>(std::move(out), shape);
  }
  /// Of margins; nothing if the learner does not calibrate.
  nb::object log_odds(Array<double> margins) {
    const Reading lock(mutex_);
    const Learner& learner = model().session.learner();
    if (!learner.capabilities().calibrated) return nb::none();
    std::vector<double> out;
    for (std::size_t n = 0; n < margins.shape(0); ++n) out.push_back(learner.log_odds(margins(n)));
    return array<double>(std::move(out));
  }

  // One example at a time: a dict without its key `skip`, or a NumPy vector.
  double learn_one(nb::handle x, int label, std::string_view task, std::optional<double> time,
                   std::optional<std::string_view> skip) {
    const Writing lock(mutex_);
    check_times(time.has_value());
    const Features features = instance(x, skip, scratch_, true);
    Session& session = model().session;
    if (time && !std::isfinite(*time)) throw UsageError("time: expected a finite number of seconds, or a date");
    if (time) session.set_time(*time);
    one_.clear();
    double margin = 0;
    change([&] {
      if (model().classes)
        for (Task t = 0; t < model().classes->tasks(); ++t) one_.push_back({t, features});
      else
        one_.push_back({session.task(task), features});
      const Classes* classes = model().classes ? &*model().classes : nullptr;
      const Label y = Label::from_code(static_cast<std::int16_t>(label));
      margin = run_round(session, {one_, classes != nullptr ? classes->tasks() : 1},
                         [&](std::size_t n) { return reply_of(y, classes, one_[n].task); })[0]
                   .decision.margin;
    });
    return margin;
  }
  double score_one(nb::handle x, std::string_view task, std::optional<std::string_view> skip) {
    const Reading lock(mutex_);
    thread_local Featurizer::Scratch scratch;
    const Features features = instance(x, skip, scratch, false);
    return model().session.learner().score({model().session.known_task(task), features});
  }

  /// Other limits from now on; what was bought counts.
  void set_limits(const std::vector<std::string>& labels, std::optional<std::uint64_t> labels_per_task) {
    const LabelLimits limits = limits_of(labels, labels_per_task);
    const Writing lock(mutex_);
    model().session.set_limits(limits);
  }

  void set_columns(const std::vector<std::string>& names) {
    const Writing lock(mutex_);
    model().featurizer.begin(names, "table");
  }

  nb::object influence() {
    std::vector<double> out;
    std::size_t size = 0;
    {
      const nb::gil_scoped_release others;
      const std::shared_lock lock(mutex_);
      size = model().session.tasks().size();
      for (Task to = 0; to < size; ++to)
        for (Task from = 0; from < size; ++from) out.push_back(model().session.learner().influence(to, from));
    }
    return array<double>(std::move(out), {size, size});
  }
  std::vector<std::string> tasks() {
    const Reading lock(mutex_);
    std::vector<std::string> out;
    for (Task t = 0; t < model().session.tasks().size(); ++t) out.emplace_back(model().session.tasks()[t]);
    return out;
  }
  nb::dict counts() {
    const Reading lock(mutex_);
    std::vector<std::uint64_t> examples, labels, updates, mistakes;
    for (Task t = 0; t < model().session.tasks().size(); ++t) {
      const TaskCounters c = model().session.count(t);
      examples.push_back(c.examples);
      labels.push_back(c.labels);
      updates.push_back(c.updates);
      mistakes.push_back(c.mistakes);
    }
    nb::dict out;
    out["examples"] = array<std::uint64_t>(std::move(examples));
    out["labels"] = array<std::uint64_t>(std::move(labels));
    out["updates"] = array<std::uint64_t>(std::move(updates));
    out["mistakes"] = array<std::uint64_t>(std::move(mistakes));
    return out;
  }
  nb::dict info() {
    const Reading lock(mutex_);
    const Session& s = model().session;
    nb::dict out;
    out["spec"] = to_text(s.spec());
    out["examples"] = s.total().examples;
    out["labels"] = s.total().labels;
    out["updates"] = s.total().updates;
    out["unanswered"] = s.unanswered();
    out["too_late"] = s.too_late();
    out["pending"] = s.pending().size();
    out["model_bytes"] = s.model_bytes();
    out["peak_bytes"] = s.peak_bytes();
    out["memory_limit"] =
        s.memory_limit() == Memory::kNoLimit ? nb::object(nb::none()) : nb::object(nb::int_(s.memory_limit()));
    out["scale"] = s.learner().scale();
    out["selects"] = s.learner().capabilities().selects;
    out["calibrated"] = s.learner().capabilities().calibrated;
    out["reduction"] = model().classes ? to_text(model().classes->reduction()) : std::string();
    std::vector<std::string> classes;
    if (model().classes)
      classes = model().classes->names();
    else
      classes = {model().labels.word(-1), model().labels.word(1)};
    out["classes"] = classes;
    const FeatureSettings& f = model().featurizer.settings();
    out["bits"] = f.bits;
    out["bias"] = f.bias;
    out["normalize"] = f.normalize;
    out["bigrams"] = f.bigrams;
    out["binary"] = f.binary;
    std::vector<std::string> columns;
    for (std::uint32_t i = 0; i < model().featurizer.column_names().size(); ++i)
      columns.emplace_back(model().featurizer.column_names()[i]);
    out["columns"] = columns;
    const LabelLimits& limits = s.budget().limits();
    const auto number = [](std::uint64_t n) {
      return n == LabelLimits::kNone ? nb::object(nb::none()) : nb::object(nb::int_(n));
    };
    nb::dict limit;
    limit["total"] = number(limits.total);
    limit["per_task"] = number(limits.per_task);
    limit["rate"] = limits.rate ? nb::object(nb::str(to_text(*limits.rate).c_str())) : nb::object(nb::none());
    out["limits"] = limit;
    out["labels_per_round"] = s.labels_per_round();
    out["audit_share"] = s.audit() ? s.audit()->share() : 0.0;
    out["audit"] = nb::none();
    if (const Audit* a = s.audit()) {
      const auto interval = [](const Accuracy& x) { return nb::make_tuple(x.value, x.low, x.high); };
      nb::dict audit;
      audit["labels"] = a->bought();
      audit["stream"] = interval(a->stream());
      audit["recent"] = interval(a->recent());
      out["audit"] = audit;
    }
    return out;
  }
  std::string question(Task task) {
    const Reading lock(mutex_);
    return model().classes ? model().classes->question(task) : std::string(model().session.tasks()[task]);
  }

 private:
  static void check_size(const char* what, std::size_t is, std::size_t expected) {
    if (is != expected)
      throw UsageError(std::string(what) + ": " + std::to_string(is) + " for " + std::to_string(expected) + " examples");
  }
  void check_times(bool given) const {
    const auto& rate = model().session.budget().limits().rate;
    if (rate && rate->seconds && !given)
      throw UsageError("labels " + to_text(*rate) + ": expected the time of each example");
  }
  void check_issued(Array<std::uint64_t> tickets) const {
    for (std::size_t n = 0; n < tickets.shape(0); ++n)
      if (tickets(n) >= model().session.tickets())
        throw UsageError("id " + std::to_string(tickets(n)) + " was never asked about; expected one below " +
                         std::to_string(model().session.tickets()));
  }
  Features instance(nb::handle x, std::optional<std::string_view> skip, Featurizer::Scratch& scratch, bool learn) {
    if (PyDict_Check(x.ptr())) {
      thread_local Record record;
      fill(record, nb::borrow<nb::dict>(x), skip);
      return learn ? model().featurizer(record) : std::as_const(model().featurizer)(record, {}, scratch);
    }
    Array<double> values;
    if (!nb::try_cast(x, values)) throw nb::type_error("x: expected a dict, or a NumPy array of shape (d,)");
    for (std::size_t k = 0; k < values.shape(0); ++k)
      if (!is_value(values(k))) throw DataError("column " + std::to_string(k) + ": expected " + std::string(kValueRange));
    return model().featurizer.row(std::span(values.data(), values.shape(0)), scratch);
  }
  void decide_class(const Features& x, std::vector<double>& out) const {
    thread_local std::vector<double> margins;
    thread_local Classes::Ballot ballot;
    const Classes& classes = *model().classes;
    margins.clear();
    for (Task t = 0; t < classes.tasks(); ++t) margins.push_back(model().session.learner().score({t, x}));
    if (classes.reduction() == Classes::Reduction::kOneVsRest) {
      out.insert(out.end(), margins.begin(), margins.end());
      return;
    }
    classes.predict(margins, ballot);
    // A class with more votes is ahead; among equals that with the larger sum.
    for (std::size_t c = 0; c < classes.size(); ++c)
      out.push_back(ballot.votes[c] + ballot.sums[c] / (3 * (std::abs(ballot.sums[c]) + 1)));
  }

  /// The model, unless learning broke off for want of memory: a learner may then lie in pieces.
  Model& model() {
    check_whole();
    return model_;
  }
  const Model& model() const {
    check_whole();
    return model_;
  }
  void check_whole() const {
    if (!broken_.empty()) throw MemoryError("the model broke off learning and cannot be used any more: " + broken_);
  }
  /// Does work that changes the model.
  template <class Work>
  void change(Work work) {
    try {
      work();
    } catch (const MemoryError& e) {
      broken_ = e.what();
      throw;
    } catch (const std::bad_alloc&) {
      broken_ = "the machine has no memory left";
      throw;
    }
  }

  Model model_;
  std::string broken_;
  FairSharedMutex mutex_;
  Featurizer::Scratch scratch_;  // of who changes the model
  std::vector<Example> one_;
};

nb::list describe_params(const std::vector<ParamInfo>& params) {
  nb::list out;
  for (const ParamInfo& p : params) {
    nb::dict one;
    one["name"] = p.name;
    one["type"] = p.type;
    one["initial"] = p.initial;
    one["range"] = p.range;
    one["meaning"] = p.meaning;
    one["source"] = p.source;
    nb::list choices;
    for (const ChoiceInfo& c : p.choices) {
      nb::dict choice;
      choice["name"] = c.name;
      choice["meaning"] = c.meaning;
      choice["params"] = describe_params(c.params);
      choices.append(choice);
    }
    one["choices"] = choices;
    out.append(one);
  }
  return out;
}

/// The rows of the registry.
nb::list describe() {
  nb::list out;
  for (const Algorithm& a : algorithms()) {
    nb::dict one;
    one["name"] = std::string(a.name);
    one["title"] = std::string(a.title);
    one["source"] = std::string(a.source);
    one["params"] = describe_params(a.params());
    nb::dict can;
    for (const CapabilityInfo& c : kCapabilities)
      can[nb::str(c.name.data(), c.name.size())] = a.capabilities({std::string(a.name), {}}).*c.member;
    one["capabilities"] = can;
    out.append(one);
  }
  return out;
}

/// A spec's word, and the text of each of its arguments.
std::tuple<std::string, std::vector<std::tuple<std::string, std::string>>> parts(const std::string& spec) {
  const Spec whole = canonical(parse_spec(spec));
  std::vector<std::tuple<std::string, std::string>> args;
  for (const Spec::Arg& a : whole.args) args.emplace_back(a.key, to_text(a.value));
  return {whole.word, args};
}

std::string canonical_text(const std::string& spec) { return to_text(canonical(parse_spec(spec))); }

}  // namespace
}  // namespace quorate::python

NB_MODULE(_core, m) {
  using namespace quorate;
  using namespace quorate::python;
  nb::register_exception_translator([](const std::exception_ptr& p, void*) {
    try {
      std::rethrow_exception(p);
    } catch (const FileError& e) {
      PyErr_SetString(PyExc_OSError, e.what());
    } catch (const MemoryError& e) {
      PyErr_SetString(PyExc_MemoryError, e.what());
    } catch (const Error& e) {
      PyErr_SetString(PyExc_ValueError, e.what());
    }
  });
  m.attr("__version__") = kVersion;
  m.attr("ONLY_TASK") = std::string(kOnlyTask);
  m.def("describe", &describe);
  m.def("canonical", &canonical_text, "spec"_a);
  m.def("parts", &parts, "spec"_a);

  nb::class_<Batch>(m, "Batch").def("__len__", &Batch::size);
  m.def("csr", &csr32, "indptr"_a, "indices"_a, "data"_a);
  m.def("csr", &csr64, "indptr"_a, "indices"_a, "data"_a);
  m.def("dense", &dense, "values"_a);
  m.def("dicts", &dicts, "rows"_a);
  m.def("texts", &texts, "rows"_a);
  m.def("table", &table, "columns"_a);

  nb::class_<TaskCodes>(m, "Tasks")
      .def(
          "__init__",
          [](TaskCodes* self, Array<std::uint32_t> codes, std::vector<std::string> names) {
            for (std::size_t n = 0; n < codes.shape(0); ++n)
              if (codes(n) >= names.size()) throw UsageError("tasks: a code without a name");
            new (self) TaskCodes{std::move(codes), std::move(names)};
          },
          "codes"_a, "names"_a);

  nb::class_<Core>(m, "Model")
      .def(
          "__init__",
          [](Core* self, const std::string& spec, const std::vector<std::string>& classes, const std::string& reduction,
             const std::vector<std::string>& tasks, std::uint64_t seed, const std::vector<std::string>& labels,
             std::optional<std::uint64_t> labels_per_task, std::uint64_t spread_over, std::optional<std::uint64_t> memory,
             double audit, std::uint64_t labels_per_round, std::uint64_t max_pending, std::uint32_t bits, bool bias,
             bool normalize, bool bigrams, bool binary) {
            SessionOptions o{.seed = seed, .spread_over = spread_over, .labels_per_round = labels_per_round};
            o.limits = limits_of(labels, labels_per_task);
            if (memory) o.memory_limit = *memory;
            o.audit = audit;
            o.max_pending = max_pending;
            const FeatureSettings features{bits, bias, normalize, bigrams, binary};
            new (self) Core(make_model(spec, o, features, reduction, classes, tasks));
          },
          nb::kw_only(), "spec"_a, "classes"_a, "reduction"_a = "", "tasks"_a = std::vector<std::string>(), "seed"_a = 1,
          "labels"_a = std::vector<std::string>(), "labels_per_task"_a = nb::none(), "spread_over"_a = 0,
          "memory"_a = nb::none(), "audit"_a = 0.0, "labels_per_round"_a = 1, "max_pending"_a = 10'000, "bits"_a = 18,
          "bias"_a = true, "normalize"_a = true, "bigrams"_a = false, "binary"_a = false)
      .def_static("from_bytes", &Core::from_bytes, "data"_a)
      .def_static("load", &Core::load, "path"_a)
      .def("to_bytes", &Core::to_bytes)
      .def("save", &Core::save, "path"_a)
      .def("snapshot", &Core::snapshot)
      .def("run", &Core::run, "batch"_a, "tasks"_a.none(), "labels"_a.none(), "times"_a.none(), "rounds"_a, "trace"_a)
      .def("round", &Core::round, "batch"_a, "tasks"_a.none())
      .def("answer", &Core::answer, "tickets"_a, "labels"_a, "of_classes"_a)
      .def("withdraw", &Core::withdraw, "tickets"_a)
      .def("decision", &Core::decision, "batch"_a, "tasks"_a.none())
      .def("log_odds", &Core::log_odds, "margins"_a)
      .def("learn_one", &Core::learn_one, "x"_a.none(), "label"_a, "task"_a, "time"_a = nb::none(), "skip"_a = nb::none())
      .def("score_one", &Core::score_one, "x"_a.none(), "task"_a, "skip"_a = nb::none())
      .def("set_limits", &Core::set_limits, "labels"_a, "labels_per_task"_a.none())
      .def("set_columns", &Core::set_columns, "names"_a)
      .def("influence", &Core::influence)
      .def("tasks", &Core::tasks)
      .def("counts", &Core::counts)
      .def("info", &Core::info)
      .def("question", &Core::question, "task"_a);
}
