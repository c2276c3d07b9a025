// The class quorate._core.Model: a model with its lock, which the Python classes hold.
//
// Locks. Python objects are read with the interpreter's lock and without the model's; work on the model is done with the
// model's lock and without the interpreter's, unless it is a single example. No thread waits for a model while it holds the
// interpreter's lock, so the two locks cannot deadlock.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <cmath>
#include <limits>
#include <mutex>
#include <shared_mutex>

#include "fair_shared_mutex.h"
#include "module.h"
#include "options.h"
#include "quorate/base/hash.h"
#include "quorate/learner.h"
#include "quorate/model/explanation.h"
#include "quorate/model/model.h"
#include "quorate/model/report.h"
#include "quorate/model/round_builder.h"
#include "quorate/stream/example_reader.h"
#include "quorate/stream/time.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace quorate::python {
namespace {

/// Locks a model for one writer (exclusive) or for one of many readers.
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
template <class T>
using Out = nb::ndarray<nb::numpy, T>;
template <class Shown, class T>
Out<Shown> array(std::vector<T>&& values, std::vector<std::size_t> shape = {}) {
  static_assert(sizeof(Shown) == sizeof(T));
  if (shape.empty()) shape = {values.size()};
  auto* kept = new std::vector<T>(std::move(values));
  const nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return Out<Shown>(kept->data(), shape.size(), shape.data(), owner);
}

/// Lets Ctrl-C end a long call: called at every example, it checks for signals about 20 times a second. The caller does not
/// hold the interpreter's lock.
class Interrupt {
 public:
  /// Whether a signal ends the call; then a Python error is set.
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

/// The outcomes of examples, column by column.
struct Columns {
  static constexpr std::int8_t kNoLabel = 2;
  std::vector<std::uint32_t> task, group;
  std::vector<double> margin, probability, draw;
  std::vector<std::uint8_t> asked, updated, audited;
  std::vector<std::int8_t> label;    // kNoLabel: none
  std::vector<std::int64_t> ticket;  // -1: none

  void add(const Example& e, const Outcome& s) {
    task.push_back(e.task);
    group.push_back(e.group);
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
    out["group"] = array<std::uint32_t>(std::move(group));
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

ColumnKind kind_named(const std::string& name) {
  for (const auto& [kind, word] : words(ColumnKind{}))
    if (word == name) return kind;
  throw UsageError("kind " + quoted_value(name) + ": expected " + joined(all_words<ColumnKind>()));
}

Model make_model(const std::string& spec, const LearningOptions& learning, const FeatureSettings& features,
                 const std::string& reduction, const std::vector<std::string>& classes,
                 const std::vector<std::string>& tasks, bool users) {
  const Spec learner = parse_spec(spec);
  NameTable names;
  for (const std::string& name : tasks) names.intern(name);
  const auto kind = value_named<Reduction::Kind>(reduction);
  if (!kind) throw UsageError("reduction " + quoted_value(reduction) + ": expected one-vs-rest or one-vs-one");
  if (*kind != Reduction::Kind::kNone) {
    if (classes.size() > ClassNames::kMost)
      throw UsageError(std::to_string(classes.size()) + " classes; expected at most " + std::to_string(ClassNames::kMost));
    check_one_label_each(classes);
    return Model::make(learner, learning, features, Labels::of_classes(ClassNames(classes), false),
                       Reduction(*kind, classes, users), &names);
  }
  Labels labels;
  labels.restore(classes.at(1), classes.at(0));
  return Model::make(learner, learning, features, std::move(labels), {}, &names);
}

class Core {
 public:
  explicit Core(Model&& model) : model_(std::move(model)) {}
  static std::unique_ptr<Core> from_bytes(const nb::bytes& bytes) {
    const std::string_view view(bytes.c_str(), bytes.size());
    const nb::gil_scoped_release others;
    return std::make_unique<Core>(Model::from_bytes(view));
  }
  static std::unique_ptr<Core> load(const nb::bytes& path) {
    const std::string name(path.c_str(), path.size());
    const nb::gil_scoped_release others;
    return std::make_unique<Core>(Model::load(name));
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
  void save(const nb::bytes& path) {
    const std::string name(path.c_str(), path.size());
    const nb::gil_scoped_release others;
    const std::shared_lock lock(mutex_);
    model().save(name);
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

  /// Other limits of labels from now on.
  void set_labels(const LabelLimits& limits) {
    const nb::gil_scoped_release others;
    const std::unique_lock lock(mutex_);
    model().set_limits(limits);
  }

  /// Gives the session a batch. `labels`: of the data, 0 if unknown; std::nullopt: answers come later. Returns the columns
  /// if `trace`, or if answers come later. Ctrl-C stops it between two examples.
  nb::dict run(Batch& batch, const std::optional<TaskCodes>& tasks, const std::optional<Array<std::int16_t>>& labels,
               const std::optional<Array<double>>& times, const std::optional<Array<double>>& weights,
               const std::string& rounds, bool trace) {
    const std::size_t size = batch.size();
    check_size("tasks", tasks ? tasks->codes.shape(0) : size, size);
    check_size("labels", labels ? labels->shape(0) : size, size);
    check_size("times", times ? times->shape(0) : size, size);
    check_size("weights", weights ? weights->shape(0) : size, size);
    Columns columns;
    bool interrupted = false;
    Interrupt interrupt;
    {
      const nb::gil_scoped_release others;
      const std::unique_lock lock(mutex_);
      if (!rounds.empty()) model().learning.rounds = rounds_of(rounds);
      RoundBuilder::Watch watch;
      if (trace || !labels) watch = [&](const Example& e, const Outcome& outcome) { columns.add(e, outcome); };
      RoundBuilder builder(model(), !labels, watch);
      check_times(times.has_value());
      batch.begin(model().featurizer, true);
      model().begin_file();
      const bool named = tasks && model().reduction.by_task();
      std::vector<std::optional<Task>> places(named ? tasks->names.size() : 1);
      for (std::size_t n = 0; n < size && !interrupted; ++n) {
        const Features x = batch.instance(n, model().featurizer, true, scratch_);
        std::optional<Task>& place = places[named ? tasks->codes(n) : 0];
        if (!place)  // tasks are numbered in order of arrival
          place = model().task(named ? std::string_view(tasks->names[tasks->codes(n)]) : kOnlyTask);
        const double weight = weights ? (*weights)(n) : 1;
        builder.add({*place, x, weight == 0 ? 1 : weight}, labels && weight != 0 ? Label::from_code((*labels)(n)) : Label(),
                    times ? std::optional(time_of((*times)(n), n)) : std::nullopt,
                    named && *place == kUntracked ? hash64(tasks->names[tasks->codes(n)]) : 0);
        interrupted = interrupt();
      }
      builder.flush();
    }
    if (interrupted) throw nb::python_error();
    return trace || !labels ? columns.arrays() : nb::dict();
  }

  /// Decides on the whole batch as one round, for a learner that selects. Its labels come later.
  nb::dict round(Batch& batch, const std::optional<TaskCodes>& tasks) {
    check_size("tasks", tasks ? tasks->codes.shape(0) : batch.size(), batch.size());
    Columns columns;
    {
      const nb::gil_scoped_release others;
      const std::unique_lock lock(mutex_);
      const Session& session = model().session;
      if (!session.capabilities().selects)
        throw UsageError(to_text(session.spec()) +
                         " does not select among examples; expected a learner that does, as shampo, or query=shared");
      batch.begin(model().featurizer, true);
      model().begin_file();
      FeatureRows pool;
      std::vector<Instance> instances;
      for (std::size_t n = 0; n < batch.size(); ++n) {
        pool.add(batch.instance(n, model().featurizer, true, scratch_));
        instances.push_back({model().task(tasks ? std::string_view(tasks->names[tasks->codes(n)]) : kOnlyTask)});
      }
      for (std::size_t n = 0; n < instances.size(); ++n) instances[n].x = pool[n];
      const Model::Decided round = model().decide(instances);
      for (std::size_t n = 0; n < round.outcomes.size(); ++n) columns.add(round.examples[n], round.outcomes[n]);
    }
    return columns.arrays();
  }

  /// Late answers, in order: +1, -1 or 0 for neither; or, if `of_classes`, the class's index. annotator: of all answers;
  /// empty: unknown. Returns which changed the model.
  Out<bool> answer(Array<std::uint64_t> tickets, Array<std::int16_t> labels, bool of_classes, const std::string& annotator) {
    check_size("answers", labels.shape(0), tickets.shape(0));
    std::vector<std::uint8_t> updated(tickets.shape(0));
    {
      const nb::gil_scoped_release others;
      const std::unique_lock lock(mutex_);
      check_issued(tickets);
      for (std::size_t n = 0; n < updated.size(); ++n) {
        const std::optional<Outcome> outcome =
            of_classes ? model().answer(tickets(n), Label::of_class(static_cast<std::size_t>(labels(n))), annotator)
                       : model().session.answer(tickets(n), answer_of(labels(n)), annotator);
        updated[n] = outcome && outcome->updated;
      }
    }
    return array<bool>(std::move(updated));
  }
  /// Withdraws questions. Returns which were still pending.
  Out<bool> withdraw(Array<std::uint64_t> tickets) {
    std::vector<std::uint8_t> done(tickets.shape(0));
    {
      const nb::gil_scoped_release others;
      const std::unique_lock lock(mutex_);
      check_issued(tickets);
      for (std::size_t n = 0; n < done.size(); ++n) done[n] = model().session.withdraw(tickets(n));
    }
    return array<bool>(std::move(done));
  }

  /// The kept labels, column by column, and the questions that they answer (for two classes, the tasks' names).
  nb::dict kept_labels() {
    std::vector<std::uint64_t> id;
    std::vector<std::string> task;
    std::vector<std::int8_t> label;
    std::vector<std::uint8_t> audit;
    std::vector<double> margin, probability, time;
    std::vector<std::optional<std::string>> annotator;
    {
      const nb::gil_scoped_release others;
      const std::shared_lock lock(mutex_);
      const Session& session = kept();
      const KeptLabels& labels = session.labels();
      UnpackedInstance memory;
      for (std::size_t n = 0; n < labels.size(); ++n) {
        const Example e = labels.example(n, memory);
        const KeptLabel& of = labels[n];
        id.push_back(of.id);
        task.push_back(model().question(e).value_or(std::string(session.name_of(e.task))));
        label.push_back(static_cast<std::int8_t>(of.y));
        audit.push_back(of.audit != 0);
        margin.push_back(of.margin);
        probability.push_back(of.probability);
        time.push_back(std::isfinite(of.time) ? of.time : std::numeric_limits<double>::quiet_NaN());
        const std::string_view who = labels.annotator(of);
        annotator.push_back(who.empty() ? std::nullopt : std::optional<std::string>(who));
      }
    }
    nb::dict out;
    out["id"] = array<std::uint64_t>(std::move(id));
    out["task"] = task;
    out["label"] = array<std::int8_t>(std::move(label));
    out["audit"] = array<bool>(std::move(audit));
    out["margin"] = array<double>(std::move(margin));
    out["probability"] = array<double>(std::move(probability));
    out["time"] = array<double>(std::move(time));
    out["annotator"] = annotator;
    return out;
  }
  void rebuild(bool strict) {
    change_kept([&](Session& session) { session.rebuild(strict); });
  }
  void undo(Array<std::uint64_t> ids, bool strict) {
    std::vector<std::uint64_t> all(ids.shape(0));
    for (std::size_t n = 0; n < all.size(); ++n) all[n] = ids(n);
    change_kept([&](Session& session) { session.undo(all, strict); });
  }
  /// label: +1, -1 or 0 for neither; or, if `of_classes`, the class's index.
  void correct(std::uint64_t id, int label, bool of_classes) {
    change_kept([&](Session& session) {
      if (of_classes)
        model().correct(id, Label::of_class(static_cast<std::size_t>(label)));
      else
        session.correct(id, answer_of(label));  // refuses an id that is not kept
    });
  }
  void forget(const std::string& task, bool strict) {
    change_kept([&](Session& session) { session.forget(task, strict); });
  }

  /// Margins: (n,), or with classes (n, C), where the predicted class is the first maximum of its row. `probabilities`:
  /// those of the classes instead, for a learner that calibrates.
  Out<double> decision(Batch& batch, const std::optional<TaskCodes>& tasks, bool probabilities) {
    check_size("tasks", tasks ? tasks->codes.shape(0) : batch.size(), batch.size());
    const std::size_t size = batch.size();
    std::vector<double> out;
    std::vector<std::size_t> shape{size};
    bool interrupted = false, calibrated = false;
    Interrupt interrupt;
    {
      const nb::gil_scoped_release others;
      const std::shared_lock lock(mutex_);
      batch.begin(model().featurizer, false);
      calibrated = model().session.capabilities().calibrated;
      Featurizer::Scratch scratch;
      std::vector<Task> places;
      if (tasks)
        for (const std::string& name : tasks->names) places.push_back(model().known_task(name));
      else
        places.push_back(model().known_task(kOnlyTask));
      if (model().reduction.has_classes()) shape.push_back(model().reduction.size());
      out.reserve(size * (shape.size() > 1 ? shape[1] : 1));
      for (std::size_t n = 0; n < size && !interrupted && (calibrated || !probabilities); ++n) {
        const Features x = batch.instance(n, model().featurizer, false, scratch);
        const Task task = places[tasks ? tasks->codes(n) : 0];
        add_decision(task, x, probabilities, out);
        interrupted = interrupt();
      }
    }
    if (interrupted) throw nb::python_error();
    if (probabilities && !calibrated) throw UsageError("probabilities: the learner's margins are not calibrated");
    return array<double>(std::move(out), shape);
  }
  /// The `count` reasons of each margin: (feature, value, contribution, shared, own, uncertainty).
  nb::list explanations(Batch& batch, const std::optional<TaskCodes>& tasks, std::size_t count) {
    check_size("tasks", tasks ? tasks->codes.shape(0) : batch.size(), batch.size());
    std::vector<std::vector<Reason>> found;
    bool interrupted = false;
    Interrupt interrupt;
    {
      const nb::gil_scoped_release others;
      const std::shared_lock lock(mutex_);
      check_explains(model());
      batch.begin(model().featurizer, false);
      Featurizer::Scratch scratch;
      Reduction::Work work;
      for (std::size_t n = 0; n < batch.size() && !interrupted; ++n) {
        const Features x = batch.instance(n, model().featurizer, false, scratch);
        const Task task = model().known_task(tasks ? std::string_view(tasks->names[tasks->codes(n)]) : kOnlyTask);
        const std::size_t predicted = model().predict(task, x, work).label;
        found.push_back(explain(model(), task, x, batch.names(n, model().featurizer), predicted, count));
        interrupted = interrupt();
      }
    }
    if (interrupted) throw nb::python_error();
    nb::list out;
    for (const auto& reasons : found) {
      nb::list row;
      for (const Reason& r : reasons)
        row.append(
            nb::make_tuple(r.feature, r.value, r.part.shared + r.part.own, r.part.shared, r.part.own, r.part.uncertainty));
      out.append(row);
    }
    return out;
  }
  /// The log-odds of margins, for a learner that calibrates.
  Out<double> log_odds(Array<double> margins) {
    const Reading lock(mutex_);
    const Learner& learner = model().session.learner();
    if (!learner.capabilities().calibrated) throw UsageError("log-odds: the learner's margins are not calibrated");
    std::vector<double> out;
    for (std::size_t n = 0; n < margins.shape(0); ++n) out.push_back(learner.log_odds(margins(n)));
    return array<double>(std::move(out));
  }

  // One example at a time: a dict without its key `skip`, or a NumPy vector.
  double learn_one(nb::handle x, int label, std::string_view task, std::optional<double> time, double weight,
                   std::optional<std::string_view> skip) {
    if (weight == 0) {  // as if there were no label
      label = 0;
      weight = 1;
    }
    const Writing lock(mutex_);
    check_times(time.has_value());
    const Features features = instance(x, skip, scratch_, true);
    if (time) model().session.set_time(time_of(*time, 0));
    const Label y = Label::from_code(static_cast<std::int16_t>(label));
    return model().learn({model().task(task), features, weight}, y).outcomes[0].decision.margin;
  }
  double score_one(nb::handle x, std::string_view task, std::optional<std::string_view> skip) {
    const Reading lock(mutex_);
    thread_local Featurizer::Scratch scratch;
    const Features features = instance(x, skip, scratch, false);
    thread_local Reduction::Work work;
    return model().predict(model().known_task(task), features, work).margin;
  }

  /// Whether the model has tasks, or users, with names.
  bool has_named_tasks() {
    const Reading lock(mutex_);
    const auto& tasks = model().session.tasks();
    return model().reduction.by_task() && (tasks.size() > 1 || (tasks.size() == 1 && tasks[0] != kOnlyTask));
  }

  void set_schema(const std::vector<std::pair<std::string, std::string>>& columns, bool time_parts) {
    Schema schema;
    schema.time_parts = time_parts;
    std::vector<std::string> numbers;
    for (const auto& [name, kind] : columns) {
      const ColumnKind k = kind_named(kind);
      schema.add(name, k);
      if (is_number(k)) numbers.push_back(name);
    }
    const Writing lock(mutex_);
    model().featurizer.set_schema(schema);
    model().featurizer.begin(numbers, "table");
    model().begin_file();
  }

  /// The kind of features without columns: "names", "indices", "array". first, last: range of the indices.
  void set_features(const std::string& are, std::uint32_t first, std::uint32_t last) {
    const auto named = value_named<FeatureNames::Are>(are);
    if (!named) throw UsageError("features " + quoted_value(are) + ": expected " + joined(all_words<FeatureNames::Are>()));
    const Writing lock(mutex_);
    model().featurizer.set_features({*named, first, last});
  }

  Out<double> influence() {
    std::vector<double> out;
    std::size_t size = 0;
    {
      const nb::gil_scoped_release others;
      const std::shared_lock lock(mutex_);
      const Session& s = model().session;  // of users and classes: between their tasks of the same class
      size = s.tasks().size();
      for (std::uint32_t to = 0; to < size; ++to)
        for (std::uint32_t from = 0; from < size; ++from)
          out.push_back(s.learner().influence(s.first_task(to), s.first_task(from)));
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
      const TaskCounters c = model().session.count_of_name(t);
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
  /// The model's report, and the properties that the Python package needs.
  nb::dict info() {
    const Reading lock(mutex_);
    nb::dict out = nb::cast<nb::dict>(to_python(to_json(Report(model()))));
    const Capabilities& can = model().session.capabilities();
    out["selects"] = can.selects;
    out["calibrated"] = can.calibrated;
    out["questions"] = model().reduction.tasks();
    std::vector<std::string> columns;
    for (std::uint32_t i = 0; i < model().featurizer.column_names().size(); ++i)
      columns.emplace_back(model().featurizer.column_names()[i]);
    out["columns"] = columns;
    nb::list schema;
    const Schema& of_model = model().featurizer.schema();
    for (std::size_t i = 0; i < of_model.size(); ++i)
      schema.append(nb::make_tuple(std::string(of_model.name(i)), std::string(word_of(of_model.kind(i)))));
    out["schema"] = schema;
    out["time_parts"] = of_model.time_parts;
    std::vector<std::string> missing;
    for (std::uint32_t i = 0; i < of_model.missing.size(); ++i) missing.emplace_back(of_model.missing[i]);
    out["missing"] = missing;
    const FeatureNames& features = of_model.features;
    out["features"] = nb::make_tuple(std::string(word_of(features.are)), features.first, features.last);
    return out;
  }
  /// task, group: of the example that the question is about.
  std::string question(Task task, std::uint32_t group) {
    const Reading lock(mutex_);
    const Example e{task, {}, group};
    return model().question(e).value_or(std::string(model().session.name_of(task)));
  }

 private:
  static double time_of(double number, std::size_t row) {
    if (const auto seconds = seconds_of(number)) return *seconds;
    throw UsageError("time: row " + std::to_string(row) + " has " + shortest(number) + "; expected " +
                     std::string(kTimeExpected));
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
  /// Adds the margin, or margins or probabilities of all classes, to `out`.
  void add_decision(Task first, const Features& x, bool probabilities, std::vector<double>& out) const {
    thread_local Reduction::Work work;
    const Reduction& reduction = model().reduction;
    model().predict(first, x, work, probabilities);
    if (probabilities || reduction.kind() != Reduction::Kind::kOneVsOne) {
      const std::vector<double>& found = probabilities ? work.probabilities : work.margins;
      out.insert(out.end(), found.begin(), found.end());
      return;
    }
    const Reduction::Ballot& ballot = work.ballot;
    // A class with more votes ranks higher; among equals the one with the larger sum.
    for (std::size_t c = 0; c < reduction.size(); ++c)
      out.push_back(ballot.votes[c] + ballot.sums[c] / (3 * (std::abs(ballot.sums[c]) + 1)));
  }

  /// The model, unless learning broke off where the machine had no memory left.
  Model& model() {
    model_.session.check_whole();
    return model_;
  }
  const Model& model() const {
    model_.session.check_whole();
    return model_;
  }
  Session& kept() {
    Session& session = model().session;
    if (!session.labels().keeps()) throw UsageError("the model keeps no labels; expected keep_labels above 0");
    return session;
  }
  template <class Work>
  void change_kept(Work work) {
    const nb::gil_scoped_release others;
    const std::unique_lock lock(mutex_);
    work(kept());
    model().session.check_none_left_out();
  }

  Model model_;
  FairSharedMutex mutex_;
  Featurizer::Scratch scratch_;  // used only under the exclusive lock
};

}  // namespace

void add_model(nb::module_& m) {
  nb::class_<Core>(m, "Model")
      .def(
          "__init__",
          [](Core* self, const std::string& spec, const std::vector<std::string>& classes, const std::string& reduction,
             const std::vector<std::string>& tasks, bool users, const nb::dict& options) {
            LearningOptions learning;
            FeatureSettings features;
            read_options(options, learning);
            read_options(options, features);
            new (self) Core(make_model(spec, learning, features, reduction, classes, tasks, users));
          },
          nb::kw_only(), "spec"_a, "classes"_a, "reduction"_a, "tasks"_a, "users"_a, "options"_a)
      .def_static("from_bytes", &Core::from_bytes, "data"_a)
      .def_static("load", &Core::load, "path"_a)
      .def("to_bytes", &Core::to_bytes)
      .def("save", &Core::save, "path"_a)
      .def("snapshot", &Core::snapshot)
      .def(
          "set_labels",
          [](Core* self, const nb::dict& options) {
            LearningOptions learning;
            read_options(options, learning);
            self->set_labels(learning.limits());
          },
          "options"_a)
      .def("run", &Core::run, "batch"_a, "tasks"_a.none(), "labels"_a.none(), "times"_a.none(), "weights"_a.none(),
           "rounds"_a, "trace"_a)
      .def("round", &Core::round, "batch"_a, "tasks"_a.none())
      .def("answer", &Core::answer, "tickets"_a, "labels"_a, "of_classes"_a, "annotator"_a = "")
      .def("withdraw", &Core::withdraw, "tickets"_a)
      .def("kept_labels", &Core::kept_labels)
      .def("rebuild", &Core::rebuild, "strict"_a)
      .def("undo", &Core::undo, "ids"_a, "strict"_a)
      .def("correct", &Core::correct, "id"_a, "label"_a, "of_classes"_a)
      .def("forget", &Core::forget, "task"_a, "strict"_a)
      .def("decision", &Core::decision, "batch"_a, "tasks"_a.none(), "probabilities"_a = false)
      .def("explain", &Core::explanations, "batch"_a, "tasks"_a.none(), "count"_a)
      .def("log_odds", &Core::log_odds, "margins"_a)
      .def("learn_one", &Core::learn_one, "x"_a.none(), "label"_a, "task"_a, "time"_a = nb::none(), "weight"_a = 1.0,
           "skip"_a = nb::none())
      .def("score_one", &Core::score_one, "x"_a.none(), "task"_a, "skip"_a = nb::none())
      .def("has_named_tasks", &Core::has_named_tasks)
      .def("set_schema", &Core::set_schema, "columns"_a, "time_parts"_a = false)
      .def("set_features", &Core::set_features, "are"_a, "first"_a, "last"_a)
      .def("influence", &Core::influence)
      .def("tasks", &Core::tasks)
      .def("counts", &Core::counts)
      .def("info", &Core::info)
      .def("question", &Core::question, "task"_a, "group"_a);
}

}  // namespace quorate::python
