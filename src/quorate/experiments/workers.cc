#include "quorate/experiments/workers.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <optional>

#include "quorate/base/counted.h"
#include "quorate/base/hash.h"
#include "quorate/experiments/each_run.h"
#include "quorate/experiments/splits.h"
#include "quorate/metrics/statistics.h"
#include "quorate/share/replica.h"
#include "quorate/share/worker.h"

namespace quorate {
namespace {

constexpr std::uint64_t kDealStream = 5;  // of the run's seed: which worker gets an example

/// The label limits of a run that learns from that many examples.
LabelLimits limits_of(const LearningOptions& learning, std::size_t examples) {
  LabelLimits out = learning.limits(true);
  if (const auto share = learning.labels_share())
    out.total = static_cast<std::uint64_t>(std::llround(*share * static_cast<double>(examples)));
  return out;
}

DeskSettings settings_of(const SimulateOptions& o, std::uint64_t r, std::size_t examples, const Labels& labels,
                         const Reduction& reduction, const FeatureSettings& features) {
  DeskSettings out;
  out.learner = to_text(o.learner);
  if (reduction.has_classes()) {
    out.classes = reduction.classes();
    out.reduction = word_of(reduction.kind());
  } else {
    out.positive = labels.word(1);
    out.negative = labels.word(-1);
  }
  out.features = features;
  out.learning = o.learning;
  out.learning.set_limits(limits_of(o.learning, examples));
  out.learning.seed += r;
  if (out.learning.pace) out.learning.length = examples;
  out.desk.pool = 0;  // otherwise annotators who are never busy are asked about it, whatever the learner says
  out.desk.hold = 0;  // answers are final
  return out;
}

/// A desk whose questions are answered by the labels of the data.
class SimulatedDesk {
 public:
  SimulatedDesk(const DeskSettings& settings, const DeskExamples& data, const Reduction& reduction)
      : data_(data), reduction_(reduction), desk_(settings) {}

  const Desk& desk() const { return desk_; }
  /// The records of events that changed the desk since the last call.
  std::vector<std::string> take_records() { return std::exchange(records_, {}); }

  DeskReply apply(event::Any what) {
    const Event event{time_, std::move(what)};
    DeskReply reply = desk_.apply(event);
    if (reply.verdict == Verdict::kNoMemory) throw MemoryError(reply.detail());
    if (!reply.done()) throw DataError(reply.detail());
    if (reply.changed) records_.push_back(with_result(to_record(event), reply.was));
    return reply;
  }
  void next_example() { ++time_; }  ///< a second later
  /// An example that no worker judged.
  void post(std::size_t i) {
    const DeskReply reply = apply(event::Examples{std::nullopt, data_.line(i)});
    if (reply.used == 0) throw DataError("example " + std::to_string(i + 1) + ": " + reply.first_bad);
  }
  /// What a worker sends. Returns the number of its questions that are accepted.
  std::uint64_t post(event::Shared shared) {
    leave_out_known(shared);
    return apply(std::move(shared)).body.at("asked");
  }
  void answer() {
    constexpr const char* kAnnotator = "annotator";
    while (desk_.open_questions() > 0) {
      const Json question = apply(event::Next{kAnnotator}).body.at("question");
      if (question.is_null()) return;
      const auto i = std::stoull(question.at("example").get<std::string>());
      apply(event::Answer{question.at("lease"), data_.labels().name(reduction_.number_of(data_.label(i)))});
    }
  }

 private:
  /// A worker sends a line until its replica, which is late, has it. The desk would count it once.
  void leave_out_known(event::Shared& shared) const {
    const auto source = desk_.sources().find(shared.source);
    if (source == desk_.sources().end()) return;
    const auto known = std::ranges::lower_bound(shared.positions, source->second.next) - shared.positions.begin();
    for (std::ptrdiff_t n = 0; n < known; ++n) shared.lines.remove_prefix(shared.lines.find('\n') + 1);
    shared.positions.erase(shared.positions.begin(), shared.positions.begin() + known);
    const auto tasks = static_cast<std::ptrdiff_t>(reduction_.tasks());
    shared.probabilities.erase(shared.probabilities.begin(), shared.probabilities.begin() + known * tasks);
  }

  const DeskExamples& data_;
  const Reduction& reduction_;
  Desk desk_;
  double time_ = 0;
  std::vector<std::string> records_;
};

/// Workers that follow the desk's log, all with the same delay. So one replica serves all of them.
class Fleet {
 public:
  Fleet(SimulatedDesk& desk, const DeskSettings& settings, const WorkersOptions& o, std::uint64_t delay, std::uint64_t seed)
      : desk_(desk), delay_(delay), replica_(DeskMoment{"log", 0, settings.to_json()}.text()) {
    WorkerOptions worker{.seed = seed, .share_examples = o.share_examples};
    worker.live_seconds = HUGE_VAL;  // examples are all there is of time
    for (std::uint64_t w = 0; w < o.workers; ++w) {
      worker.source = "worker " + std::to_string(w + 1);
      send(workers_.emplace_back(worker));
    }
    follow_all();  // as `quorate work` does before its first line
  }

  std::uint64_t refused() const {
    std::uint64_t asked = 0;
    for (const Worker& worker : workers_) asked += worker.asked();
    return asked - accepted_;
  }
  void judge(const std::string& line, Rng& deal) {
    Worker& worker = workers_[below(workers_.size(), deal)];
    said_.clear();
    worker.make_room(replica_.desk());
    if (worker.judge(replica_.desk(), line, said_) > 0) throw DataError(Json::parse(said_).at("error").get<std::string>());
    worker.wrote();
    send(worker);
    desk_.answer();
    coming_.push_back(desk_.take_records());
    for (; coming_.size() > delay_; coming_.pop_front()) apply(coming_.front());
  }
  /// The end of the stream: what is under way arrives.
  void finish() {
    follow_all();
    for (Worker& worker : workers_)
      while (!worker.done(replica_.desk())) {
        send(worker);
        desk_.answer();
        follow_all();
      }
  }

 private:
  void send(Worker& worker) {
    if (auto shared = worker.to_send(replica_.desk(), ~std::size_t{0}, lines_)) accepted_ += desk_.post(std::move(*shared));
  }
  void apply(const std::vector<std::string>& records) {
    std::string log;
    for (std::size_t n = 0; n < records.size(); ++n) add_to_log(log, replica_.next() + n, records[n]);
    replica_.apply(log);
  }
  void follow_all() {
    coming_.push_back(desk_.take_records());
    for (; !coming_.empty(); coming_.pop_front()) apply(coming_.front());
  }

  SimulatedDesk& desk_;
  std::uint64_t delay_, accepted_ = 0;
  Replica replica_;
  std::deque<Worker> workers_;
  std::deque<std::vector<std::string>> coming_;  // records of the latest examples, which the replica does not have yet
  std::string said_, lines_;
};

class WorkersSimulation {
 public:
  WorkersSimulation(const DeskExamples& data, const SimulateOptions& o, const WorkersOptions& workers)
      : data_(data), reduction_(data.reduction()), o_(o), workers_(workers) {}

  /// Run r: of one desk, or of workers. Returns no result if it was stopped.
  std::optional<WorkersRun> run(std::uint64_t r, bool with_workers) const {
    const std::uint64_t seed = o_.learning.seed + r;
    Rng order = make_rng(seed, kOrderStream), deal = make_rng(seed, kDealStream);
    const Split split = make_split(order);
    DeskSettings settings = settings_of(o_, r, split.learn.size(), data_.labels(), reduction_, data_.features);
    if (data_.weighed()) settings.reading.weight = "weight";
    SimulatedDesk desk(settings, data_, reduction_);
    std::optional<Fleet> fleet;
    if (with_workers) fleet.emplace(desk, settings, workers_, static_cast<std::uint64_t>(o_.delay.mean), seed);
    for (const std::uint64_t i : split.learn) {
      if (o_.stop.stop_requested()) return std::nullopt;
      desk.next_example();
      if (fleet) {
        fleet->judge(data_.line(i), deal);
      } else {
        desk.post(i);
        desk.answer();
        desk.take_records();
      }
      if (o_.progress != nullptr) o_.progress->fetch_add(1, std::memory_order_relaxed);
    }
    if (fleet) fleet->finish();
    const Desk& end = desk.desk();
    check_used(end, !fleet);
    return WorkersRun{seed,         measure(end, split.test),     end.figures().bought,
                      end.posted(), fleet ? fleet->refused() : 0, hash64(end.model().to_bytes())};
  }

 private:
  /// Throws DataError if parts of the examples were left out. Workers do not share all examples, so a desk that gets all
  /// must have met every product of features.
  static void check_used(const Desk& desk, bool gets_all) {
    for (const auto& [key, count] : desk.left_out().keys)
      throw DataError("the desk leaves out " + quoted_value(key) + " of " + counted(count, "example") +
                      ", as the first example has none; expected one that has what others have, or --ignore-column");
    if (const std::string unmet = desk.model().featurizer.unmet(); gets_all && !unmet.empty()) throw DataError(unmet);
  }

  /// As simulate() splits.
  Split make_split(Rng& order) const {
    Split out = learn_all(data_.to_learn());
    if (o_.train_per_task > 0)
      out = split_per_group(
          data_.to_learn(), data_.tasks.size(), [&](std::uint64_t i) { return std::size_t{data_.task(i)}; },
          [&](std::size_t task) { return "task '" + std::string(data_.tasks[static_cast<Task>(task)]) + "'"; },
          o_.train_per_task, order);
    else if (o_.test_share > 0)
      out = split_share(data_.to_learn(), o_.test_share, o_.in_order, order);
    for (std::uint64_t i = data_.to_learn(); i < data_.size(); ++i) out.test.push_back(i);
    if (!o_.in_order) shuffle(std::span(out.learn), order);
    return out;
  }

  Measures measure(const Desk& desk, const std::vector<std::uint64_t>& test) const {
    std::string lines;
    for (const std::uint64_t i : test) lines += data_.line(i);
    Scores scores;  // of yes or no
    ClassConfusion confusion(reduction_.size());
    Reduction::Work work;
    const Model& model = desk.model();
    desk.look_at(
        lines, 0,
        [&](const Desk::Look& line) {
          const Label label = data_.label(test[line.number - 1]);
          if (!label.known()) return;
          const Task task = model.known_task(line.record.task.empty() ? kOnlyTask : line.record.task);
          const auto said = model.predict(task, line.x, work);
          if (reduction_.has_classes())
            confusion.add(reduction_.number_of(label), said.label);
          else
            scores.add(label.answer(), said.margin);
        },
        [&](std::uint64_t number, const std::string& what) {
          throw DataError("example " + std::to_string(test[number - 1] + 1) + ": " + what);
        });
    return reduction_.has_classes() ? confusion.measures() : scores.measures();
  }

  const DeskExamples& data_;
  const Reduction reduction_;
  const SimulateOptions& o_;
  const WorkersOptions& workers_;
};

}  // namespace

std::string DeskExamples::line_of(Record& record, RecordWriter& writer) const {
  const std::string id = std::to_string(size());
  record.id = id;  // ids of the data may repeat, and the desk takes an example once
  record.label = record.time = {};
  return writer.line(record);
}

ExperimentData::Skipped DeskExamples::read(const std::string& file, const ReadOptions& options, bool tested) {
  ReadOptions labelled = options;
  labelled.labelled = true;
  labels_.set_as_written(options.labels_as_written);
  const auto reader = open_reader(file, labelled);
  if (path.empty()) path = reader->path();
  const auto writer = FileFormat::kJsonl.write({});
  // No string of JSON has these bytes, as its quotes are escaped.
  const auto has_x = [](const std::string& line) { return line.find(R"("x":{)") != line.npos; };
  std::uint64_t unlabelled = 0;
  Record record;
  while (!options.stop.stop_requested() && reader->next(record)) {
    Label label;
    try {
      label = labels_(record.label);
    } catch (const DataError& e) {
      reader->reject(e.what());
      continue;
    }
    unlabelled += !label.known();
    weighed_ = weighed_ || record.weight != 1;
    task_.push_back(tasks.intern(record.task.empty() ? kOnlyTask : record.task));
    label_.push_back(label);
    try {
      lines_.push_back(line_of(record, *writer));
    } catch (const DataError& e) {
      throw DataError(reader->path() + ":" + std::to_string(reader->line_number()) + ": " + e.what());
    }
    (has_x(lines_.back()) ? with_x_ : without_x_) = true;
  }
  if (!tested) learn_ = size();
  // The first line says whether a desk looks at x.
  for (std::string& line : lines_)
    if (with_x_ && without_x_ && !has_x(line)) line.insert(line.size() - 2, R"(,"x":{})");
  ExperimentData::Skipped out{reader->path(), reader->skipped(), reader->first_skipped(), ""};
  if (options.stop.stop_requested()) return out;
  if (!tested && unlabelled > 0)
    throw DataError(reader->path() + ": " + counted(unlabelled, "example") + " of " + std::to_string(size()) +
                    " without a label; expected a label for each, as annotators answer every question of workers");
  if (const std::string unmet = reader->unmet(); !unmet.empty() && !tested) throw DataError(reader->path() + ": " + unmet);
  for (const std::string& one : {reader->left_out(), labels_.taken(), reader->guesses()})
    if (!one.empty()) out.left_out += (out.left_out.empty() ? reader->path() + ": " : "; ") + one_line(one);
  return out;
}

NamedMeasures measures(const WorkersRun& run) {
  NamedMeasures out = measures(run.test);
  out.emplace_back("labels", static_cast<double>(run.labels));
  out.emplace_back("shared", static_cast<double>(run.shared));
  out.emplace_back("refused", static_cast<double>(run.refused));
  return out;
}

void check_workers(const SimulateOptions& o) {
  const auto check = [](bool holds, const char* what) {
    if (!holds) throw UsageError(std::string("workers: ") + what);
  };
  check(o.passes == 1 && o.share == 1 && o.folds == 0, "expected one pass over all examples to learn from");
  check(!o.delay.lognormal && o.delay.lost == 0,
        "the log is as late for all; expected a delay of a number of examples, as 100");
  check(!o.stop_when && !o.forecast && !o.trace && !o.per_task, "no stop-when, forecast, trace or per-task");
  check(!o.learning.limits(true).rate, "the label budget holds for a whole run; expected labels in total, as 100 or 10%");
  check(capabilities(o.learner).judges,
        "the learner selects within a round, or changes while it decides; expected one that judges, as cohort");
  try {
    Desk(settings_of(o, 0, 1, Labels(), {}, {})).check_followed();  // throws for what no desk can do
  } catch (const Refused& e) {
    throw UsageError("workers: " + e.detail + "; expected " + e.expected);
  }
}

WorkersResult simulate_workers(const DeskExamples& data, const SimulateOptions& o, const WorkersOptions& workers) {
  check_workers(o);
  if (workers.workers < 1 || o.runs < 1 || o.threads < 1)
    throw UsageError("workers, runs and threads: expected at least 1 of each");
  if ((o.train_per_task > 0) + (o.test_share > 0) + (data.size() > data.to_learn()) != 1)
    throw UsageError("a test set, test-share and train-per-task: expected one of them with workers");
  if (!(o.test_share >= 0 && o.test_share < 1)) throw UsageError("test-share: expected a number above 0 and below 1");
  if (data.reduction().has_classes() && o.train_per_task > 0)
    throw UsageError("train-per-task with classes: expected a test set or test-share with workers");
  if (o.in_order && o.train_per_task > 0) throw UsageError("in order: expected all examples, not some drawn at random");
  const auto place = [&](const std::string& what) { return data.path.empty() ? what : data.path + ": " + what; };
  if (data.to_learn() < 2) throw DataError(place("fewer than two examples to learn from; expected more"));
  if (const std::string none = data.labels().no_positive(); !none.empty()) throw DataError(place("no example " + none));

  const std::size_t examples = examples_to_learn(data.to_learn(), data.tasks.size(), o);
  WorkersResult out{canonical(o.learner),
                    limits_of(o.learning, examples),
                    o.learning.pace.has_value(),
                    workers,
                    static_cast<std::uint64_t>(o.delay.mean),
                    data.tasks.size(),
                    examples};
  out.one_desk.resize(o.runs);
  out.with_workers.resize(o.runs);
  const WorkersSimulation simulation(data, o, workers);
  try {
    out.interrupted = !each_run(2 * o.runs, o.threads, o.stop, [&](std::uint64_t n) {
      const bool with_workers = n % 2 == 1;
      const auto run = simulation.run(n / 2, with_workers);
      if (run) (with_workers ? out.with_workers : out.one_desk)[n / 2] = *run;
      return run.has_value();
    });
  } catch (const DataError& e) {
    throw DataError(place(e.what()));
  }
  if (out.interrupted) out.one_desk.clear(), out.with_workers.clear();
  return out;
}

WorkersCompared compared(const WorkersResult& result, std::string_view measure) {
  const auto values = [&](const std::vector<WorkersRun>& runs) {
    std::vector<double> out;
    for (const WorkersRun& run : runs)
      for (const auto& [name, value] : measures(run))
        if (name == measure) out.push_back(value);
    return out;
  };
  const std::vector<double> without = values(result.one_desk), with = values(result.with_workers);
  std::vector<double> more = with;
  for (std::size_t r = 0; r < more.size(); ++r) more[r] -= without[r];
  const Summary s = summary(more);
  return {summary(without).mean, summary(with).mean, s.mean, s.deviation / std::sqrt(static_cast<double>(more.size()))};
}

Json document(const WorkersResult& result) {
  Json out{{"learner", to_text(result.learner)},
           {"limits", limits_json(result.limits, result.pace_even)},
           {"workers", result.workers.workers},
           {"delay", result.delay},
           {"share_examples", result.workers.share_examples},
           {"tasks", result.tasks},
           {"examples", result.examples},
           {"runs", Json::array()}};
  for (std::size_t r = 0; r < result.one_desk.size(); ++r)
    out["runs"].push_back({{"seed", result.one_desk[r].seed},
                           {"one_desk", object(measures(result.one_desk[r]))},
                           {"with_workers", object(measures(result.with_workers[r]))}});
  for (const auto& [name, value] : measures(result.one_desk.at(0))) {
    const WorkersCompared c = compared(result, name);
    out["mean"]["one_desk"][name] = number(c.one_desk);
    out["mean"]["with_workers"][name] = number(c.with_workers);
    out["difference"][name] = {{"mean", number(c.difference)}, {"standard_error", number(c.error)}};
  }
  return out;
}

}  // namespace quorate
