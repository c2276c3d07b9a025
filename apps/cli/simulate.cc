// quorate simulate: replays labelled data with hidden labels, and measures accuracy and labels bought; with --workers, what
// scaling out costs.
#include <cmath>
#include <iostream>

#include "common.h"
#include "experiment.h"
#include "help.h"
#include "quorate/experiments/workers.h"
#include "quorate/registry.h"
#include "quorate/store/files.h"

namespace quorate::cli {
namespace {

struct SimulateCommandOptions {
  ExperimentOptions data;
  std::string learner = kDefaultLearner, trace, stop_when;
  bool json = false;
  ProgressOptions progress;
  std::optional<std::uint64_t> workers;
  std::uint64_t share_examples = WorkersOptions().share_examples;
  const CLI::App* app = nullptr;
};

/// The audit of the last run: what it says of the model, and the forecast of labels for a target.
void print_audit(const RunResult& r, const std::vector<std::string>& names, std::optional<double> target) {
  const RunResult::Audited& a = *r.audit;
  std::cout << "\n" << audit_text({a.audit, r.all.labels - a.audit.bought(), a.now}, names);
  if (r.stopped) std::cout << "  stopped: target reached (95 % confidence)\n";
  if (!target) return;
  char text[160];
  if (!a.forecast->none.empty())
    std::snprintf(text, sizeof text, "  forecast of %g    none: %.*s", *target, static_cast<int>(a.forecast->none.size()),
                  a.forecast->none.data());
  else
    std::snprintf(
        text, sizeof text, "  forecast of %g    %.0f labels [%.0f, %.0f]%s", *target, a.forecast->labels, a.forecast->low,
        a.forecast->high,
        a.forecast->floor_possible ? " if the trend continues; the audits do not exclude that it levels off below" : "");
  std::cout << text << "\n";
}

/// Recall of every class and, unless there are too many for a page, its predictions.
void print_classes(const std::vector<RunResult>& runs, const Reduction& reduction) {
  constexpr std::size_t kMostColumns = 16;
  ClassConfusion sum(reduction.size());
  for (const RunResult& r : runs) sum += class_confusion(r);
  std::cout << "\nrows: true class, columns: predicted class (" << (runs[0].test.total() > 0 ? "test set" : "progressive")
            << (runs.size() > 1 ? ", all runs)\n" : ")\n");
  std::vector<std::vector<std::string>> rows{{"class", "recall"}};
  const bool columns = reduction.size() <= kMostColumns;
  for (std::size_t c = 0; c < reduction.size(); ++c) {
    if (columns) rows[0].push_back(reduction.classes()[c]);
    rows.push_back({reduction.classes()[c], percent(sum.recall(c))});
    for (std::size_t p = 0; p < reduction.size() && columns; ++p) rows.back().push_back(grouped(sum(c, p)));
  }
  std::cout << table(rows);
}

void print(const Json& document, const std::vector<RunResult>& runs, const ExperimentData& loaded, bool tested) {
  const Json &mean = document["mean"], &std = document["std"];
  std::cout << document["learner"].get<std::string>() << "\n"
            << counted(document["tasks"], "task")
            << (loaded.reduction.users() ? " (" + counted(loaded.tasks.size(), "user") + "), " : ", ")
            << counted(document["features"], "feature") << ", "
            << counted(document["examples"], loaded.reduction.has_classes() ? "instance" : "example") << ", "
            << counted(runs.size(), "run") << (!tested ? "; no test set: add --test-share 0.2, or --test FILE\n\n" : "\n\n");
  std::vector<std::vector<std::string>> rows{{"", "mean", "std"}};
  for (const auto& [name, value] : mean.items()) {
    const auto show = [count = is_count(name)](const Json& v) {
      if (v.is_null()) return std::string("-");
      char text[32];
      std::snprintf(text, sizeof text, count ? "%.1f" : "%.4f", v.get<double>());
      return std::string(text);
    };
    rows.push_back({name, show(value), show(std[name])});
  }
  std::cout << table(rows);
  if (loaded.reduction.has_classes()) print_classes(runs, loaded.reduction);
  if (runs[0].per_task.empty()) return;
  rows = {{std::string(loaded.reduction.tasks_are()), "accuracy", "examples", "labels", "mistakes"}};
  const double n = static_cast<double>(runs.size());
  for (Task task = 0; task < loaded.tasks.size(); ++task) {
    double accuracy = 0, examples = 0, labels = 0, mistakes = 0;
    for (const RunResult& r : runs) {
      const RunTotals& o = r.per_task[task];
      accuracy += o.test.accuracy / n;
      examples += static_cast<double>(o.examples) / n;
      labels += static_cast<double>(o.labels) / n;
      mistakes += static_cast<double>(o.mistakes) / n;
    }
    const auto rounded = [](double v) { return grouped(static_cast<std::uint64_t>(std::llround(v))); };
    const std::string name = loaded.reduction.shown(loaded.tasks[task], task);
    rows.push_back({name, percent(accuracy), rounded(examples), rounded(labels), rounded(mistakes)});
  }
  std::cout << "\n" << table(rows);
}

/// Throws UsageError for an option without an effect on workers: they judge a stream once, for one desk.
void check_options_of_workers(const CLI::App& app) {
  const auto with_workers = [&](const char* option, const char* why) {
    if (app.get_option(option)->count() > 0)
      throw UsageError(std::string(option) + " with --workers: " + why + "; leave one of them out");
  };
  with_workers("--no-users", "tasks of a desk with classes are users");
  for (const char* option : {"--audit", "--audit-floor", "--stop-when", "--forecast"})
    with_workers(option, "workers draw no audits yet");
  for (const char* option : {"--rounds", "--labels-per-round"})
    with_workers(option, "a worker judges each example as it comes");
  with_workers("--passes", "workers read a stream once");
  with_workers("--lost", "all questions are answered");
  with_workers("--cache", "workers read lines, not parsed examples");
  for (const char* option : {"--trace", "--per-task"}) with_workers(option, "it shows the steps and tasks of one learner");
}

void print(const WorkersResult& result) {
  std::cout << to_text(result.learner) << "\n"
            << counted(result.tasks, "task") << ", " << counted(result.examples, "example") << ", "
            << counted(result.one_desk.size(), "run") << "; the log of the desk reaches workers "
            << counted(result.delay, "example") << " late, " << result.workers.share_examples
            << " examples shared for each label\n\n";
  std::vector<std::vector<std::string>> rows{
      {"", "one desk", counted(result.workers.workers, "worker"), "difference +- standard error"}};
  for (const auto& [name, first] : measures(result.one_desk.at(0))) {
    const auto shown = [count = is_count(name)](double value, const char* many, const char* share) {
      if (!std::isfinite(value)) return std::string("-");
      char text[32];
      std::snprintf(text, sizeof text, count ? many : share, value);
      return std::string(text);
    };
    const WorkersCompared c = compared(result, name);
    rows.push_back({name, shown(c.one_desk, "%.1f", "%.4f"), shown(c.with_workers, "%.1f", "%.4f"),
                    shown(c.difference, "%+.1f", "%+.4f") + " +- " + shown(c.error, "%.1f", "%.4f")});
  }
  std::cout << table(rows);
}

int run_workers(SimulateCommandOptions& o) {
  SimulateOptions& options = o.data.run;
  check_options_of_workers(*o.app);
  o.data.prepare();
  if (options.delay.lognormal)
    throw UsageError("--delay " + o.data.delay + " with --workers: the log is as late for all workers; expected --delay N");
  if (const auto rate = options.learning.limits(true).rate)
    throw UsageError("--labels " + to_text(*rate) +
                     " with --workers: expected a total for each run, as --labels 100 or 10%");
  check_workers(options);
  if (o.data.test.empty() && options.test_share == 0 && options.train_per_task == 0)
    throw UsageError("--workers: expected unseen examples to measure on; type --test-share 0.2, too, or --test FILE");
  check_output({"standard output", "-"}, o.data.files({o.learner}));
  const auto classes = value_named<Reduction::Kind>(o.data.classes.reduction).value_or(Reduction::Kind::kNone);
  DeskExamples data(o.data.features.settings, o.data.features.positive, classes);
  ReadOptions read = o.data.read.options();
  read.stop = options.stop;
  const auto add = [&](const std::string& file, bool tested) {
    const ExperimentData::Skipped skipped = data.read(file, read, tested);
    if (options.stop.stop_requested()) throw Interrupted("interrupted while reading " + skipped.path);
    report_skipped(skipped.path, skipped.lines, skipped.first, skipped.left_out);
  };
  add(o.data.data, false);
  if (!o.data.test.empty()) add(o.data.test, true);
  WorkDone done;
  options.progress = &done.examples;
  done.all = static_cast<double>(2 * options.runs * examples_to_learn(data.to_learn(), data.tasks.size(), options));
  WorkersResult result;
  {
    const Progress progress_line(o.progress, done);
    result = simulate_workers(data, options, {*o.workers, o.share_examples});
  }
  if (result.interrupted)
    throw Interrupted("interrupted after " + grouped(done.examples) + " of " +
                      counted(static_cast<std::uint64_t>(done.all), "example") + "; nothing is written");
  if (o.json)
    std::cout << document(result).dump(2) << "\n";
  else
    print(result);
  return kDone;
}

int run(SimulateCommandOptions& o) {
  SimulateOptions& options = o.data.run;
  options.learner = parse_spec(o.learner);
  if (o.workers) return run_workers(o);
  if (o.app->get_option("--share-examples")->count() > 0)
    throw UsageError("--share-examples: examples are shared by workers; expected --workers N, too");
  check_labels_per_round(options.learning.labels_per_round, o.learner, capabilities(options.learner));
  if (!o.stop_when.empty()) {
    options.stop_when.emplace(o.stop_when);
    if (!options.forecast && options.stop_when->of_accuracy()) options.forecast = options.stop_when->target();
  }
  for (const NamedFile& out : {NamedFile{"--trace", o.trace}, {"standard output", "-"}})
    check_output(out, o.data.files({o.learner}));
  const ExperimentData loaded = o.data.load();

  std::unique_ptr<OutputFile> trace;
  if (!o.trace.empty()) {
    trace = std::make_unique<OutputFile>(o.trace);
    options.trace = [&](const TraceLine& t) { trace->write(trace_json(t, loaded).dump() + "\n"); };
  }
  WorkDone done;
  options.progress = &done.examples;
  done.all = static_cast<double>(loaded.examples(options) * options.passes * options.runs);
  SimulateResult result;
  {
    const Progress progress_line(o.progress, done);
    result = loaded.simulate(options);
  }
  if (result.interrupted)
    throw Interrupted("interrupted after " + grouped(done.examples) + " of " +
                      counted(static_cast<std::uint64_t>(done.all), "example") + "; nothing is written");
  if (trace) trace->commit();
  const Json out = document(result, loaded, options);
  if (o.json)
    std::cout << out.dump(2) << "\n";
  else
    print(out, result.runs, loaded, loaded.tested || options.train_per_task > 0 || options.test_share > 0);
  if (!o.json && result.runs.back().audit) print_audit(result.runs.back(), loaded.labels.names(), options.forecast);
  return kDone;
}

}  // namespace

Command add_simulate(CLI::App& app) {
  const auto o = std::make_shared<SimulateCommandOptions>();
  o->app = &app;
  o->data.add(app);
  app.add_option("--learner", o->learner, "learner and parameters, as cmtl(query=margin(b=1)); quorate describe lists them")
      ->type_name("LEARNER")
      ->capture_default_str();
  app.add_option("--stop-when", o->stop_when,
                 "end a run when its audit shows with 95 % confidence that the model is at a target, as accuracy>=0.9, "
                 "error<=0.1, recall>=0.8 or precision>=0.8");
  app.add_option("--forecast", o->data.run.forecast,
                 "estimate the number of labels for this accuracy, from the audit (default: the target of --stop-when)")
      ->check(CLI::Range(0.0, 1.0));
  app.add_option("--trace", o->trace, "write every step to this file, as JSON lines (- for standard output)")
      ->type_name("FILE");
  {
    const InGroup group(app, kRuns);
    app.add_option(
           "--workers", o->workers,
           "simulate quorate serve and that many quorate work, beside quorate serve alone: --delay is that of its log, "
           "in examples")
        ->check(whole(1, 10'000));
    app.add_option("--share-examples", o->share_examples,
                   "with --workers: examples that they send for each label without a question")
        ->check(whole(0))
        ->capture_default_str();
  }
  app.add_flag("--per-task", o->data.run.per_task, "print the measures for every task");
  app.add_flag("--json", o->json, "print one JSON document");
  o->progress.add(app);
  app.footer(
      "Example:\n  quorate simulate --data spam-b/all --train-per-task 100 --learner 'cmtl(query=margin(b=0.1))' --runs 10 "
      "--threads 2");
  return [o] { return run(*o); };
}

}  // namespace quorate::cli
