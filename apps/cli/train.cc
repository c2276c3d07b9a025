// quorate train: a model from a stream, or more of it.
#include <filesystem>
#include <iostream>
#include <optional>

#include "common.h"
#include "measures.h"
#include "quorate/engine/model.h"
#include "quorate/engine/prefetcher.h"
#include "quorate/engine/round_builder.h"
#include "quorate/registry.h"
#include "quorate/store/files.h"
#include "quorate/stream/example_reader.h"

namespace quorate::cli {
namespace {

struct Options {
  std::string data, model, learner, rounds;
  DataOptions read;
  FeatureOptions features;
  ClassOptions classes;
  std::uint64_t labels_per_round = 1;
  std::size_t memory = Memory::kNoLimit;
  LabelLimits limits;
  double audit = 0;
  bool pace_even = false;
  std::uint64_t length = 0;
  std::uint64_t seed = 1, skip = 0;
  bool json = false;
  ProgressOptions progress;
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
                       "--no-normalize, --classes, --labels-per-round, --memory, --audit, --seed");
    LabelLimits limits = model.session.budget().limits();
    if (o.limits.total != LabelLimits::kNone) limits.total = o.limits.total;
    if (o.limits.per_task != LabelLimits::kNone) limits.per_task = o.limits.per_task;
    if (o.limits.rate) limits.rate = o.limits.rate;
    model.session.set_limits(limits);
    if (o.pace_even) model.session.set_spread_over(o.length * (model.classes ? model.classes->tasks() : 1));
    return model;
  }
  const Spec learner = parse_spec(o.learner.empty() ? kDefaultLearner : o.learner);
  SessionOptions options{.seed = o.seed, .labels_per_round = o.labels_per_round, .memory_limit = o.memory};
  options.limits = o.limits;
  options.audit = o.audit;
  options.spread_over = o.pace_even ? o.length : 0;
  if (!o.classes) return {Session(learner, options), Featurizer(o.features.settings), Labels(o.features.positive)};
  Labels labels = o.classes.labels(o.features, read_class_names(o));
  const Classes classes = o.classes.classes(labels.classes());
  const NameTable tasks = classes.task_names();
  options.tasks = &tasks;
  options.spread_over *= classes.tasks();
  return {Session(learner, options), Featurizer(o.features.settings), std::move(labels), classes};
}

int run(const Options& o) {
  if (o.model == "-") throw UsageError("--model -: expected a file");
  if (o.pace_even != (o.length > 0))
    throw UsageError("--pace even and --length: expected both, or neither; how many examples will come may be a guess");
  const std::stop_token stop = interrupt();
  Model model = open_model(o);
  Session& session = model.session;
  const Capabilities& can = session.learner().capabilities();
  const Rounds rounds = resolve_rounds(rounds_named(o.rounds), model.classes.has_value(), can);
  check_labels_per_round(session.labels_per_round(), to_text(session.spec()), can);
  ExampleReader examples(o.data, o.read.options(), model.featurizer, model.labels);

  const auto& rate = session.budget().limits().rate;
  const bool by_time = rate && rate->seconds;
  std::atomic<std::uint64_t> seen = 0, consumed = 0;
  const Prefetcher prefetcher(session);
  RoundBuilder builder(session, model.classes ? &*model.classes : nullptr, rounds);
  {
    const Progress progress_line(o.progress, share_read(examples.path(), consumed), [&] { return seen.load(); });
    ExampleReader::Item item;
    while (!stop.stop_requested() && examples.next(item)) {
      if (++seen <= o.skip) continue;
      consumed = examples.consumed();
      if (by_time && !item.time)
        throw DataError(examples.path() + ":" + std::to_string(examples.line_number()) + ": no time, which labels " +
                        to_text(*rate) + " need; expected --time-column to name it");
      prefetcher.tasks([&](std::size_t ahead) { return examples.coming_task(ahead); });
      // Of classes an instance is shown to the tasks of all of them.
      builder.add(model.classes ? 0 : session.task(item.task), item.label, item.time, item.x);
    }
    builder.flush();
  }
  model.save(o.model);
  report_skipped(examples);
  if (can.selects && 2 * builder.rounds_without_choice() > builder.rounds())
    std::cerr << "quorate: " << grouped(builder.rounds_without_choice()) << " of " << grouped(builder.rounds())
              << " rounds had no more examples than labels to buy, so nothing was chosen; expected tasks that take turns in "
                 "the data\n";
  const std::uint64_t learned = seen > o.skip ? seen - o.skip : 0;
  if (o.json) {
    std::cout << Json{{"learner", to_text(session.spec())},
                      {"model", o.model},
                      {"examples", learned},
                      {"skipped_lines", examples.skipped()},
                      {"progressive_accuracy", number(builder.progressive().accuracy())},
                      {"progressive_f1", number(builder.progressive().f1())},
                      {"total",
                       {{"examples", session.total().examples},
                        {"labels", session.total().labels},
                        {"updates", session.total().updates}}},
                      {"audit", audit_json(session.audit())},
                      {"unanswered", session.unanswered()},
                      {"pending", session.pending().size()},
                      {"limits", limits_json(session.budget().limits(), session.pace().even())},
                      {"tasks", session.tasks().size()},
                      {"untracked_examples", session.ledger().untracked().examples},
                      {"model_bytes", session.model_bytes()},
                      {"peak_bytes", session.peak_bytes()},
                      {"interrupted", stop.stop_requested()}}
                     .dump(2)
              << "\n";
  } else {
    std::cout << o.model << ": " << to_text(session.spec()) << "\n" << grouped(learned) << " examples learned from";
    if (builder.progressive().total() > 0)
      std::cout << ", " << percent(builder.progressive().accuracy()) << " predicted right before their labels were known";
    std::cout << "\n"
              << "in all " << grouped(session.total().examples) << " examples of " << grouped(session.tasks().size())
              << " tasks, " << grouped(session.total().labels) << " labels bought, " << grouped(session.model_bytes())
              << " bytes\n";
    if (session.audit() != nullptr)
      std::cout << grouped(session.audit()->bought())
                << " of them audits: true accuracy, 95 % interval: " << interval(session.audit()->stream())
                << " of all predictions, " << interval(session.audit()->recent()) << " since half of the labels\n";
    if (const std::uint64_t untracked = session.ledger().untracked().examples; untracked > 0)
      std::cout << grouped(untracked)
                << " examples of tasks that do not fit into the memory limit were answered from the weights that all tasks "
                   "share\n";
    if (session.unanswered() > 0)
      std::cout << grouped(session.unanswered()) << " labels were asked for that the data do not have\n";
  }
  if (!stop.stop_requested()) return kDone;
  std::cerr << "quorate: interrupted after example " << grouped(seen) << " (" << examples.path() << " line "
            << examples.line_number() << "); " << o.model << " is saved; go on with --skip "
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
  app.add_option("--learner", o->learner, "learner and parameters of a new model; see quorate describe (default: cohort)");
  add_label_limits(app, o->limits);
  add_audit(app, o->audit);
  add_pace(app, o->pace_even);
  app.add_option(
         "--length", o->length,
         "examples that will come, or a guess, for --pace even: of more, the labels left are bought at once; of fewer, "
         "some are not bought")
      ->check(whole(1, 1'000'000'000'000));
  CLI::Option* seed =
      app.add_option("--seed", o->seed, "seed of a new model's draws")->check(whole(0))->capture_default_str();
  app.add_option("--skip", o->skip, "pass over the first N examples (to go on where an interrupted run stopped)")
      ->check(whole(0));
  app.add_flag("--json", o->json, "the summary as a JSON document");
  o->progress.add(app);
  CLI::Option* memory = add_memory_limit(app, o->memory);
  o->classes.add(app);
  app.add_option("--rounds", o->rounds,
                 "what arrives before labels are bought: each example by itself, or examples until a task comes again "
                 "(per-task), or one instance for all tasks; default: per-task for learners that select, all-tasks with "
                 "--classes, else each")
      ->check(CLI::IsMember({"each", "per-task", "all-tasks"}));
  CLI::Option* per_round = app.add_option("--labels-per-round", o->labels_per_round,
                                          "labels that a new model buys in each round if its learner selects")
                               ->check(whole(1, 1'000'000'000))
                               ->capture_default_str();
  o->read.add(app);
  o->read.add_cache(app);
  o->features.add(app);
  app.footer("Example:\n  quorate train --data mails.jsonl.gz --model spam.model --labels 500 --audit 0.1");
  return [o, seed, per_round, memory, &app] {
    o->settings_given = o->features.given(app) || o->classes || seed->count() > 0 || per_round->count() > 0 ||
                        memory->count() > 0 || o->audit > 0;
    return run(*o);
  };
}

}  // namespace quorate::cli
