// quorate simulate: replays labelled data with hidden labels, and measures accuracy and labels bought.
#include <cmath>
#include <iostream>

#include "common.h"
#include "experiment.h"
#include "quorate/registry.h"
#include "quorate/store/files.h"

namespace quorate::cli {
namespace {

struct SimulateCommandOptions {
  ExperimentOptions data;
  std::string learner = kDefaultLearner, trace, stop_when;
  bool json = false;
  ProgressOptions progress;
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

int run(SimulateCommandOptions& o) {
  SimulateOptions& options = o.data.run;
  options.learner = parse_spec(o.learner);
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
  app.add_flag("--per-task", o->data.run.per_task, "print the measures for every task");
  app.add_flag("--json", o->json, "print one JSON document");
  o->progress.add(app);
  app.footer(
      "Example:\n  quorate simulate --data spam-b/all --train-per-task 100 --learner 'cmtl(query=margin(b=0.1))' --runs 10 "
      "--threads 2");
  return [o] { return run(*o); };
}

}  // namespace quorate::cli
