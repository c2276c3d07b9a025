// quorate simulate: what a learner would have done, and how many labels it would have bought.
#include <cmath>
#include <iostream>

#include "common.h"
#include "measures.h"
#include "quorate/registry.h"
#include "quorate/store/files.h"

namespace quorate::cli {
namespace {

struct Options {
  ExperimentOptions data;
  std::string learner = kDefaultLearner, trace, stop_when;
  bool json = false;
  ProgressOptions progress;
};

/// Counts by truth, then by prediction.
Json matrix(const ClassConfusion& confusion) {
  Json out = Json::array();
  for (std::size_t truth = 0; truth < confusion.classes(); ++truth) {
    out.push_back(Json::array());
    for (std::size_t c = 0; c < confusion.classes(); ++c) out.back().push_back(confusion(truth, c));
  }
  return out;
}

/// The confusion of classes that is reported: that of the predictions on the test set or, without one, those made before
/// learning.
const ClassConfusion& class_confusion(const RunResult& r) { return r.test.total() > 0 ? r.test : r.progressive; }

Json document(const SimulateResult& result, const LoadedData& loaded, const SimulateOptions& options) {
  Json out;
  out["learner"] = to_text(result.learner);
  out["rounds"] = to_text(result.rounds);
  out["limits"] = limits_json(options.limits, options.pace_even);
  if (loaded.classes) out["classes"] = loaded.classes->names();
  out["tasks"] = result.tasks;
  out["features"] = result.features;
  out["examples"] = result.examples;
  out["runs"] = Json::array();
  for (const RunResult& r : result.runs) {
    Json run = {{"seed", r.seed}};
    run.update(object(measures(r)));
    if (loaded.classes) {
      run["recall"] = Json::object();
      for (std::size_t c = 0; c < loaded.classes->size(); ++c)
        run["recall"][loaded.classes->name(c)] = number(class_confusion(r).recall(c));
      if (r.test.total() > 0) run["confusion"] = matrix(r.test);
      run["progressive_confusion"] = matrix(r.progressive);
    }
    if (r.audit) {
      run["stopped"] = r.stopped;
      if (r.audit->forecast) {
        run["forecast_none"] = r.audit->forecast->none.empty() ? Json(nullptr) : Json(r.audit->forecast->none);
        run["forecast_floor_possible"] = r.audit->forecast->floor_possible;
      }
    }
    if (!r.per_task.empty()) {
      run["per_task"] = Json::object();
      for (Task task = 0; task < r.per_task.size(); ++task) {
        Json& entry = run["per_task"][std::string(loaded.tasks[task])] = object(measures(r.per_task[task]));
        entry["examples"] = r.per_task[task].examples;
      }
    }
    out["runs"].push_back(std::move(run));
  }
  const auto [mean, std] = mean_and_std(result.runs);
  out["mean"] = mean;
  out["std"] = std;
  return out;
}

/// What audits say of the last run: how good it really was, and how many labels a target will take.
void print_audit(const RunResult& r, std::optional<double> target) {
  const RunResult::Audited& a = *r.audit;
  std::cout << "\naudit: " << grouped(a.labels) << " of " << grouped(r.all.labels)
            << " labels bought at random, not learned from; accuracy with its 95 % interval\n"
            << "  all examples      " << interval(a.stream) << "\n"
            << "  recent            " << interval(a.recent) << " (since half of the labels were bought)\n";
  if (r.stopped) std::cout << "  stopped: the target is reached, with a chance of 5 % at most that it is not\n";
  if (!target) return;
  char text[160];
  if (!a.forecast->none.empty())
    std::snprintf(text, sizeof text, "  forecast of %g    none: %.*s", *target, static_cast<int>(a.forecast->none.size()),
                  a.forecast->none.data());
  else
    std::snprintf(
        text, sizeof text, "  forecast of %g    %.0f labels [%.0f, %.0f]%s", *target, a.forecast->labels, a.forecast->low,
        a.forecast->high,
        a.forecast->floor_possible ? " if the trend goes on; the audits do not exclude that it levels off before" : "");
  std::cout << text << "\n";
}

/// Recall of every class and, unless there are too many for a page, what it was taken for.
void print_classes(const std::vector<RunResult>& runs, const Classes& classes) {
  constexpr std::size_t kMostColumns = 16;
  ClassConfusion sum(classes.size());
  for (const RunResult& r : runs) sum += class_confusion(r);
  std::cout << (runs[0].test.total() > 0 ? "\ntest set" : "\nbefore learning") << (runs.size() > 1 ? ", all runs" : "")
            << ": the row's class was taken for the column's\n";
  std::vector<std::vector<std::string>> rows{{"class", "recall"}};
  const bool columns = classes.size() <= kMostColumns;
  for (std::size_t c = 0; c < classes.size(); ++c) {
    if (columns) rows[0].push_back(classes.name(c));
    rows.push_back({classes.name(c), percent(sum.recall(c))});
    for (std::size_t p = 0; p < classes.size() && columns; ++p) rows.back().push_back(grouped(sum(c, p)));
  }
  std::cout << table(rows);
}

void print(const Json& document, const std::vector<RunResult>& runs, const LoadedData& loaded) {
  const Json &mean = document["mean"], &std = document["std"];
  std::cout << document["learner"].get<std::string>() << "\n"
            << grouped(document["tasks"]) << " tasks, " << grouped(document["features"]) << " features, "
            << grouped(document["examples"]) << " examples, " << runs.size()
            << (runs.size() == 1 ? " run\n\n" : " runs\n\n");
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
  if (loaded.classes) print_classes(runs, *loaded.classes);
  if (runs[0].per_task.empty()) return;
  rows = {{loaded.classes ? "question" : "task", "accuracy", "examples", "labels", "mistakes"}};
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
    const std::string name = loaded.classes ? loaded.classes->question(task) : std::string(loaded.tasks[task]);
    rows.push_back({name, percent(accuracy), rounded(examples), rounded(labels), rounded(mistakes)});
  }
  std::cout << "\n" << table(rows);
}

Json trace_line(const TraceLine& t, const LoadedData& loaded) {
  const Decision& d = t.outcome.decision;
  Json out{{"run", t.run},
           {"pass", t.pass},
           {"round", t.round},
           {"example", t.example},
           {"task", loaded.tasks[t.task]},
           {"margin", d.margin},
           {"probability", d.probability},
           {"draw", number(d.draw)},
           {"asked", t.outcome.asked},
           {"label", t.outcome.answer ? Json(int{*t.outcome.answer}) : Json(nullptr)},
           {"updated", t.outcome.updated}};
  if (t.outcome.audited) out["audited"] = true;
  if (t.outcome.ticket) out["ticket"] = *t.outcome.ticket;
  if (t.late) out["late"] = true;
  if (loaded.classes) out["question"] = loaded.classes->question(t.task);
  if (!std::isnan(d.peer_margin)) {
    out["peer_margin"] = d.peer_margin;
    out["peer_draw"] = d.peer_draw;
  }
  return out;
}

int run(Options& o) {
  SimulateOptions& options = o.data.run;
  options.learner = parse_spec(o.learner);
  check_labels_per_round(options.labels_per_round, o.learner, capabilities(options.learner));
  if (!o.stop_when.empty()) {
    options.stop_when.emplace(o.stop_when);
    if (!options.forecast) options.forecast = options.stop_when->accuracy();
  }
  const LoadedData loaded = o.data.load();

  std::unique_ptr<OutputFile> trace;
  if (!o.trace.empty()) {
    trace = std::make_unique<OutputFile>(o.trace);
    options.trace = [&](const TraceLine& t) { trace->write(trace_line(t, loaded).dump() + "\n"); };
  }
  std::atomic<std::uint64_t> progress = 0;
  options.progress = &progress;
  options.stop = interrupt();
  const double all = static_cast<double>(loaded.examples(options)) * static_cast<double>(options.passes) *
                     static_cast<double>(options.runs);
  SimulateResult result;
  {
    const Progress progress_line(
        o.progress, [&] { return static_cast<double>(progress) / all; }, [&] { return progress.load(); });
    result = loaded.simulate(options);
  }
  if (result.interrupted) {
    std::cerr << "quorate: interrupted after " << grouped(progress) << " of " << grouped(static_cast<std::uint64_t>(all))
              << " examples; a simulation leaves nothing behind\n";
    return kInterrupted;
  }
  if (trace) trace->commit();
  const Json out = document(result, loaded, options);
  if (o.json)
    std::cout << out.dump(2) << "\n";
  else
    print(out, result.runs, loaded);
  if (!o.json && result.runs.back().audit) print_audit(result.runs.back(), options.forecast);
  return kDone;
}

}  // namespace

Command add_simulate(CLI::App& app) {
  const auto o = std::make_shared<Options>();
  o->data.add(app);
  app.add_option("--learner", o->learner, "learner and parameters, as in cmtl(query=margin(b=1)); see quorate describe")
      ->capture_default_str();
  app.add_option("--stop-when", o->stop_when,
                 "end a run when its audits say so with 95 % confidence, as accuracy>=0.9 or error<=0.1");
  app.add_option("--forecast", o->data.run.forecast,
                 "how many labels will this accuracy take, by the audits? (default: that of --stop-when)")
      ->check(CLI::Range(0.0, 1.0));
  app.add_option("--trace", o->trace, "write every step to this file, as JSON lines (- for standard output)");
  app.add_flag("--per-task", o->data.run.per_task, "the same measures for every task");
  app.add_flag("--json", o->json, "one JSON document");
  o->progress.add(app);
  app.footer(
      "Example:\n  quorate simulate --data spam-b/all --train-per-task 100 --learner 'cmtl(query=margin(b=0.1))' --runs 10 "
      "--threads 2");
  return [o] { return run(*o); };
}

}  // namespace quorate::cli
