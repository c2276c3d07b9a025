// quorate simulate: what a learner would have done, and how many labels it would have bought.
#include <cmath>
#include <iostream>

#include "common.h"
#include "measures.h"
#include "quorate/store/files.h"

namespace quorate::cli {
namespace {

struct Options {
  std::string data, test, learner = "perceptron", trace;
  DataOptions read;
  FeatureOptions features;
  SimulateOptions run;
  bool json = false, quiet = false;
};

Json document(const SimulateResult& result, const Names& tasks) {
  Json out;
  out["learner"] = to_text(result.learner);
  out["tasks"] = result.tasks;
  out["features"] = result.features;
  out["examples"] = result.examples;
  out["runs"] = Json::array();
  for (const RunResult& r : result.runs) {
    Json run = {{"seed", r.seed}};
    run.update(object(measures(r)));
    if (!r.per_task.empty()) {
      run["per_task"] = Json::object();
      for (Task task = 0; task < r.per_task.size(); ++task) {
        Json& entry = run["per_task"][std::string(tasks[task])] = object(measures(r.per_task[task]));
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

void print(const Json& document, const std::vector<RunResult>& runs, const Names& tasks) {
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
  if (runs[0].per_task.empty()) return;
  rows = {{"task", "accuracy", "examples", "labels", "mistakes"}};
  const double n = static_cast<double>(runs.size());
  for (Task task = 0; task < tasks.size(); ++task) {
    double accuracy = 0, examples = 0, labels = 0, mistakes = 0;
    for (const RunResult& r : runs) {
      const Outcome& o = r.per_task[task];
      accuracy += o.test.accuracy / n;
      examples += static_cast<double>(o.examples) / n;
      labels += static_cast<double>(o.labels) / n;
      mistakes += static_cast<double>(o.mistakes) / n;
    }
    const auto rounded = [](double v) { return grouped(static_cast<std::uint64_t>(std::llround(v))); };
    rows.push_back({std::string(tasks[task]), percent(accuracy), rounded(examples), rounded(labels), rounded(mistakes)});
  }
  std::cout << "\n" << table(rows);
}

Json trace_line(const TraceStep& t, const Names& tasks) {
  const Decision& d = t.step.decision;
  Json out{{"run", t.run},
           {"pass", t.pass},
           {"example", t.example},
           {"task", tasks[t.task]},
           {"margin", d.margin},
           {"probability", d.probability},
           {"draw", number(d.draw)},
           {"asked", t.step.asked},
           {"label", t.step.label == 0 ? Json(nullptr) : Json(t.step.label)},
           {"updated", t.step.updated}};
  if (!std::isnan(d.peer_margin)) {
    out["peer_margin"] = d.peer_margin;
    out["peer_draw"] = d.peer_draw;
  }
  return out;
}

int run(Options& o) {
  o.run.learner = parse_spec(o.learner);
  const auto [train, test, tasks] = load(o.data, o.test, o.read, o.features);

  std::unique_ptr<OutputFile> trace;
  if (!o.trace.empty()) {
    trace = std::make_unique<OutputFile>(o.trace);
    o.run.trace = [&trace, &names = tasks](const TraceStep& t) { trace->write(trace_line(t, names).dump() + "\n"); };
  }
  std::atomic<std::uint64_t> progress = 0;
  o.run.progress = &progress;
  o.run.stop = interrupt();
  const std::uint64_t per_run = o.run.train_per_task > 0 ? o.run.train_per_task * tasks.size() : train.size();
  const double all = static_cast<double>(per_run) * static_cast<double>(o.run.passes) * static_cast<double>(o.run.runs);
  SimulateResult result;
  {
    const Progress shown(
        o.quiet, [&] { return static_cast<double>(progress) / all; }, [&] { return progress.load(); });
    result = simulate(train, o.test.empty() ? nullptr : &test, tasks, o.run);
  }
  if (result.interrupted) {
    std::cerr << "quorate: interrupted after " << grouped(progress) << " of " << grouped(static_cast<std::uint64_t>(all))
              << " examples; a simulation leaves nothing behind\n";
    return kInterrupted;
  }
  if (trace) trace->commit();
  const Json out = document(result, tasks);
  if (o.json)
    std::cout << out.dump(2) << "\n";
  else
    print(out, result.runs, tasks);
  return kDone;
}

}  // namespace

Command add_simulate(CLI::App& app) {
  const auto o = std::make_shared<Options>();
  add_simulation(app, o->data, o->test, o->run, o->read, o->features);
  app.add_option("--learner", o->learner, "learner and parameters, as in cmtl(query=margin(b=1)); see quorate describe")
      ->capture_default_str();
  app.add_option("--trace", o->trace, "write every step to this file, as JSON lines (- for standard output)");
  app.add_flag("--per-task", o->run.per_task, "the same measures for every task");
  app.add_flag("--json", o->json, "one JSON document");
  app.add_flag("--quiet", o->quiet, "no progress");
  app.footer(
      "Example:\n  quorate simulate --data spam-b/all --train-per-task 100 --learner 'cmtl(query=margin(b=0.1))' --runs 10 "
      "--threads 2");
  return [o] { return run(*o); };
}

}  // namespace quorate::cli
