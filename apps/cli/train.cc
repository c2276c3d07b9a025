// quorate train: a model from a stream, or more of it.
#include <filesystem>
#include <iostream>
#include <optional>

#include "common.h"
#include "measures.h"
#include "quorate/registry.h"
#include "quorate/run/examples.h"
#include "quorate/run/model.h"
#include "quorate/store/files.h"

namespace quorate::cli {
namespace {

struct Options {
  std::string data, model, learner, rounds;
  DataOptions read;
  FeatureOptions features;
  ClassOptions classes;
  std::uint64_t labels_per_round = 1;
  std::size_t memory = Memory::kNoLimit;
  std::optional<std::uint64_t> labels;
  std::uint64_t seed = 1, skip = 0;
  bool json = false, quiet = false;
  bool settings_given = false;
};

/// The classes of the data, in order. They must be known before the first question is asked.
ClassNames read_class_names(const Options& o) {
  if (o.data == "-")
    throw UsageError("--classes reads the data twice, once for the classes there are; expected a file instead of -");
  ClassNames names;
  const auto reader = open_reader(o.data, o.read.options());
  for (Record record; reader->next(record);) try {
      names(record.label, false);
    } catch (const DataError& e) {
      reader->reject(e.what());
    }
  names.sort();
  return names;
}

Model open_model(const Options& o) {
  if (std::filesystem::exists(o.model)) {
    Model model = Model::load(o.model);
    if (!o.learner.empty() && to_text(canonical(parse_spec(o.learner))) != to_text(model.session.spec()))
      throw UsageError(o.model + " holds the learner " + to_text(model.session.spec()) + ", not " + o.learner +
                       "; leave out --learner to go on with it");
    if (o.settings_given)
      throw UsageError(o.model +
                       " says how its data are read; expected none of --positive, --bits, --bigrams, --binary, --no-bias, "
                       "--no-normalize, --classes, --labels-per-round, --memory, --seed");
    if (o.labels) model.session.set_label_limit(*o.labels);
    return model;
  }
  if (o.learner.empty()) throw UsageError(o.model + " does not exist; expected --learner to make it (see quorate describe)");
  const Spec learner = parse_spec(o.learner);
  const std::uint64_t limit = o.labels.value_or(LabelBudget::kNone);
  if (!o.classes)
    return {Session(learner, o.seed, limit, nullptr, o.labels_per_round, o.memory), Featurizer(o.features.settings),
            Labels(o.features.positive)};
  Labels labels = o.classes.labels(o.features, read_class_names(o));
  const Classes classes = o.classes.classes(labels.classes());
  const Names tasks = classes.task_names();
  return {Session(learner, o.seed, limit, &tasks, o.labels_per_round, o.memory), Featurizer(o.features.settings),
          std::move(labels), classes};
}

/// Examples as they come, cut into rounds: one by one; until a task comes again; or one instance for the tasks of all
/// classes.
class Trainer {
 public:
  Trainer(Model& model, Rounds rounds) : session_(model.session), rounds_(rounds) {
    if (model.classes) {
      classes_ = &*model.classes;
      online_classes_ = ClassConfusion(classes_->size());
    }
  }

  void add(const Examples::Item& item) {
    if (classes_ != nullptr) return learn_classes(item);
    const Task task = session_.task(item.task);
    if (rounds_ == Rounds::kPerTask && task < in_round_.size() && in_round_[task] == round_) flush();
    if (task >= in_round_.size()) in_round_.resize(std::size_t{task} + 1);
    in_round_[task] = round_;
    pending_.add(task, item.label, item.x);
    if (rounds_ == Rounds::kEach) flush();
  }

  /// Learns from what is pending.
  void flush() {
    if (pending_.size() == 0) return;
    round_examples_.clear();
    for (std::size_t n = 0; n < pending_.size(); ++n) round_examples_.push_back(pending_.example(n));
    steps_.assign(pending_.size(), {});
    const auto answer = [&](std::size_t n) {
      return pending_.label(n) == 0 ? std::nullopt : std::optional(pending_.label(n));
    };
    session_.round(round_examples_, std::cref(answer), steps_);
    without_choice_ += pending_.size() <= session_.labels_per_round();
    for (std::size_t n = 0; n < pending_.size(); ++n)
      if (pending_.label(n) != 0) online_.add(pending_.label(n), predicted(steps_[n].decision.margin));
    pending_.clear();
    ++round_;
  }

  std::uint64_t rounds() const { return round_ - 1; }
  /// Rounds with no more examples than labels to buy.
  std::uint64_t rounds_without_choice() const { return without_choice_; }
  bool judged() const { return online_.total() + online_classes_.total() > 0; }
  double accuracy() const { return classes_ != nullptr ? online_classes_.measures().accuracy : online_.accuracy(); }
  double f1() const { return classes_ != nullptr ? online_classes_.measures().f1 : online_.f1(); }

 private:
  void learn_classes(const Examples::Item& item) {
    round_examples_.clear();
    for (Task task = 0; task < classes_->tasks(); ++task) round_examples_.push_back({task, item.x});
    steps_.assign(round_examples_.size(), {});
    const auto answer = [&](std::size_t n) -> std::optional<int> {
      if (item.label == 0) return std::nullopt;
      return classes_->feedback(static_cast<Task>(n), static_cast<std::size_t>(item.label) - 1);
    };
    session_.round(round_examples_, std::cref(answer), steps_);
    if (item.label == 0) return;
    margins_.clear();
    for (const Step& step : steps_) margins_.push_back(step.decision.margin);
    online_classes_.add(static_cast<std::size_t>(item.label) - 1, classes_->predict(margins_, ballot_).place);
  }

  Session& session_;
  const Classes* classes_ = nullptr;
  Rounds rounds_;
  std::uint64_t round_ = 1, without_choice_ = 0;
  std::vector<std::uint64_t> in_round_;  // of a task: the last round it was in
  Dataset pending_;
  std::vector<Example> round_examples_;
  std::vector<Step> steps_;
  Confusion online_;
  ClassConfusion online_classes_;
  std::vector<double> margins_;
  Classes::Ballot ballot_;
};

int run(const Options& o) {
  if (o.model == "-") throw UsageError("--model -: expected a file");
  const std::stop_token stop = interrupt();
  Model model = open_model(o);
  Session& session = model.session;
  const Rounds rounds = parse_rounds(o.rounds).value_or(model.classes                 ? Rounds::kAllTasks
                                                        : session.learner().chooses() ? Rounds::kPerTask
                                                                                      : Rounds::kEach);
  if ((rounds == Rounds::kAllTasks) != model.classes.has_value())
    throw UsageError("--rounds " + o.rounds +
                     (model.classes ? ": with classes every instance is shown to all tasks; expected all-tasks"
                                    : ": a label belongs to one task only; expected --classes, too"));
  if (session.labels_per_round() > 1 && !session.learner().chooses())
    throw UsageError("--labels-per-round " + std::to_string(session.labels_per_round()) + ": " + to_text(session.spec()) +
                     " chooses nothing among a round's examples; expected a learner that does, as shampo, or query=shared");
  Examples examples(o.data, o.read.options(), model.featurizer, model.labels);
  std::error_code unknown;
  const double bytes =
      o.data == "-" ? 0 : static_cast<double>(std::filesystem::file_size(examples.reader().path(), unknown));

  std::atomic<std::uint64_t> seen = 0, consumed = 0;
  Trainer trainer(model, rounds);
  {
    const Progress shown(
        o.quiet, [&] { return bytes > 0 && !unknown ? static_cast<double>(consumed) / bytes : -1.0; },
        [&] { return seen.load(); });
    Examples::Item item;
    while (!stop.stop_requested() && examples.next(item)) {
      if (++seen <= o.skip) continue;
      consumed = examples.reader().consumed();
      trainer.add(item);
    }
    trainer.flush();
  }
  model.save(o.model);
  report_skipped(examples.reader());
  if (session.learner().chooses() && 2 * trainer.rounds_without_choice() > trainer.rounds())
    std::cerr << "quorate: " << grouped(trainer.rounds_without_choice()) << " of " << grouped(trainer.rounds())
              << " rounds had no more examples than labels to buy, so nothing was chosen; expected tasks that take turns in "
                 "the data\n";
  const std::uint64_t learned = seen > o.skip ? seen - o.skip : 0;
  if (o.json) {
    std::cout << Json{{"learner", to_text(session.spec())},
                      {"model", o.model},
                      {"examples", learned},
                      {"skipped_lines", examples.reader().skipped()},
                      {"online_accuracy", number(trainer.accuracy())},
                      {"online_f1", number(trainer.f1())},
                      {"total",
                       {{"examples", session.total().examples},
                        {"labels", session.total().labels},
                        {"updates", session.total().updates}}},
                      {"unanswered", session.unanswered()},
                      {"tasks", session.tasks().size()},
                      {"model_bytes", session.model_bytes()},
                      {"peak_bytes", session.peak_bytes()},
                      {"interrupted", stop.stop_requested()}}
                     .dump(2)
              << "\n";
  } else {
    std::cout << o.model << ": " << to_text(session.spec()) << "\n" << grouped(learned) << " examples learned from";
    if (trainer.judged())
      std::cout << ", " << percent(trainer.accuracy()) << " predicted right before their labels were known";
    std::cout << "\n"
              << "in all " << grouped(session.total().examples) << " examples of " << grouped(session.tasks().size())
              << " tasks, " << grouped(session.total().labels) << " labels bought, " << grouped(session.model_bytes())
              << " bytes\n";
    if (session.unanswered() > 0)
      std::cout << grouped(session.unanswered()) << " labels were asked for that the data do not have\n";
  }
  if (!stop.stop_requested()) return kDone;
  std::cerr << "quorate: interrupted after example " << grouped(seen) << " (" << examples.reader().path() << " line "
            << examples.reader().line_number() << "); " << o.model << " is saved; go on with --skip "
            << std::max<std::uint64_t>(seen, o.skip) << "\n";
  return kInterrupted;
}

}  // namespace

Command add_train(CLI::App& app) {
  const auto o = std::make_shared<Options>();
  app.add_option("--data", o->data, "file to learn from; - for standard input")->required();
  app.add_option("--model", o->model,
                 "model file: made, or gone on with if it exists; replaced only when all went well or on Ctrl-C")
      ->required();
  app.add_option("--learner", o->learner, "learner and parameters of a new model; see quorate describe");
  app.add_option("--labels", o->labels, "most labels the model may ever buy, a hard limit (default: none, or as before)")
      ->check(whole(0));
  CLI::Option* seed =
      app.add_option("--seed", o->seed, "seed of a new model's draws")->check(whole(0))->capture_default_str();
  app.add_option("--skip", o->skip, "pass over the first N examples (to go on where an interrupted run stopped)")
      ->check(whole(0));
  app.add_flag("--json", o->json, "the summary as a JSON document");
  app.add_flag("--quiet", o->quiet, "no progress");
  CLI::Option* memory = add_memory_limit(app, o->memory);
  o->classes.add(app);
  app.add_option("--rounds", o->rounds,
                 "what arrives before labels are bought: each example by itself, or examples until a task comes again "
                 "(per-task), or one instance for all tasks; default: per-task for learners that choose, all-tasks with "
                 "--classes, else each")
      ->check(CLI::IsMember({"each", "per-task", "all-tasks"}));
  CLI::Option* per_round = app.add_option("--labels-per-round", o->labels_per_round,
                                          "labels that a new model buys in each round if its learner chooses whom to ask")
                               ->check(whole(1, 1'000'000'000))
                               ->capture_default_str();
  o->read.add(app);
  o->features.add(app);
  app.footer(
      "Example:\n  quorate train --data mails.jsonl.gz --model spam.model --learner 'cmtl(query=margin(b=0.1))' --labels "
      "500");
  return [o, seed, per_round, memory, &app] {
    o->settings_given =
        o->features.given(app) || o->classes || seed->count() > 0 || per_round->count() > 0 || memory->count() > 0;
    return run(*o);
  };
}

}  // namespace quorate::cli
