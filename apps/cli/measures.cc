#include "measures.h"

#include <algorithm>

#include "quorate/metrics/statistics.h"

namespace quorate::cli {

std::uint64_t LoadedData::examples(SimulateOptions run) const {
  run.classes = classes ? &*classes : nullptr;
  return examples_to_learn(train.size(), tasks.size(), run);
}

SimulateResult LoadedData::simulate(SimulateOptions run) const {
  run.classes = classes ? &*classes : nullptr;
  return quorate::simulate(train, tested ? &test : nullptr, tasks, run);
}

LoadedData load(const std::string& data, const std::string& test, const DataOptions& read, const FeatureOptions& features,
                const ClassOptions& classes) {
  LoadedData out;
  Featurizer featurizer(features.settings);
  Labels labels = classes.labels(features);
  const auto add = [&](const std::string& path, Dataset& into) {
    ExampleReader examples(path, read.options(), featurizer, labels);
    into.read(examples, out.tasks);
    report_skipped(examples);
  };
  add(data, out.train);
  out.tested = !test.empty();
  if (out.tested) add(test, out.test);
  if (classes) {
    const auto place = labels.classes().sort();
    out.train.move_classes(place);
    out.test.move_classes(place);
    out.classes = classes.classes(labels.classes());
    out.tasks = out.classes->task_names();
  }
  return out;
}

void add_rounds(CLI::App& app, std::string& rounds, std::uint64_t& labels_per_round) {
  app.add_option(
         "--rounds", rounds,
         "what arrives before labels are bought: each example by itself, the next one of every task (per-task), or one "
         "instance for all tasks; default: per-task for learners that select, all-tasks with --classes, else each")
      ->check(CLI::IsMember({"each", "per-task", "all-tasks"}));
  app.add_option("--labels-per-round", labels_per_round, "labels that learners buy in each round if they choose whom to ask")
      ->check(whole(1, 1'000'000'000))
      ->capture_default_str();
}

void ExperimentOptions::add(CLI::App& app) {
  app.add_option("--data", data, "file to learn from")->required();
  app.add_option("--test", test, "file to test on");
  app.add_option("--train-per-task", run.train_per_task,
                 "learn from N examples of each task (of each class), drawn anew in each run, and test on the others")
      ->check(whole(1, 1'000'000'000));
  classes.add(app);
  add_rounds(app, rounds, run.labels_per_round);
  add_label_limits(app, run.limits);
  add_pace(app, run.pace_even);
  add_audit(app, run.audit);
  add_memory_limit(app, run.memory);
  app.add_option(
         "--delay", delay,
         "answers come after so many more examples, as 100 or lognormal(100), which is the mean; those due after the "
         "end are not learned from")
      ->capture_default_str();
  app.add_option("--lost", run.delay.lost, "chance that an answer never comes")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  app.add_option("--runs", run.runs, "runs, each with a seed, an order and a split of its own")
      ->check(whole(1, 1'000'000))
      ->capture_default_str();
  app.add_option("--passes", run.passes, "times each run goes through the data")
      ->check(whole(1, 1'000'000'000))
      ->capture_default_str();
  app.add_flag("--in-order", run.in_order, "go through the data as they lie, never shuffled: for streams that drift");
  app.add_option("--seed", run.seed, "seed of the first run")->check(whole(0))->capture_default_str();
  app.add_option("--threads", run.threads, "runs at the same time; the result does not depend on it")
      ->check(whole(1, 1'000'000'000))
      ->capture_default_str();
  read.add(app);
  read.add_cache(app);
  features.add(app);
}

LoadedData ExperimentOptions::load() {
  run.rounds = rounds_named(rounds);
  const double lost = run.delay.lost;
  run.delay = parse_delay(delay);
  run.delay.lost = lost;
  return cli::load(data, test, read, features, classes);
}

NamedMeasures measures(const RunTotals& o) {
  return {{"accuracy", o.test.accuracy},
          {"balanced_accuracy", o.test.balanced_accuracy},
          {"f1", o.test.f1},
          {"auc", o.test.auc},
          {"progressive_f1", o.progressive_f1},
          {"mistakes", static_cast<double>(o.mistakes)},
          {"labels", static_cast<double>(o.labels)},
          {"updates", static_cast<double>(o.updates)}};
}
NamedMeasures measures(const RunResult& r) {
  auto out = measures(r.all);
  if (r.progressive.classes() > 0) {
    out.emplace_back("error", r.test.error());
    out.emplace_back("progressive_error", r.progressive.error());
  }
  if (r.reliability.examples() > 0) {
    out.emplace_back("brier", r.reliability.brier());
    out.emplace_back("calibration_error", r.reliability.error());
  }
  if (r.audit) {
    out.emplace_back("audit_labels", static_cast<double>(r.audit->labels));
    for (const auto& [name, a] : {std::pair{"audit_stream", r.audit->stream}, std::pair{"audit_recent", r.audit->recent}}) {
      out.emplace_back(name, a.value);
      out.emplace_back(std::string(name) + "_low", a.low);
      out.emplace_back(std::string(name) + "_high", a.high);
    }
    if (const auto& f = r.audit->forecast) {
      out.emplace_back("forecast", f->labels);
      out.emplace_back("forecast_low", f->low);
      out.emplace_back("forecast_high", f->high);
    }
  }
  if (r.late) {
    out.emplace_back("pending", static_cast<double>(r.pending));
    out.emplace_back("unanswered", static_cast<double>(r.unanswered));
  }
  out.emplace_back("seconds", r.seconds);
  out.emplace_back("model_bytes", static_cast<double>(r.model_bytes));
  out.emplace_back("peak_bytes", static_cast<double>(r.peak_bytes));
  return out;
}

bool is_count(const std::string& name) {
  return name == "mistakes" || name == "labels" || name == "updates" || name == "pending" || name == "unanswered" ||
         name == "audit_labels" || name.ends_with("_bytes");
}

Json object(const NamedMeasures& values) {
  Json out = Json::object();
  for (const auto& [name, value] : values)
    out[name] = is_count(name) ? Json(static_cast<std::uint64_t>(value)) : number(value);
  return out;
}

std::vector<double> values_of(const SimulateResult& result, const std::string& measure) {
  std::vector<double> out;
  for (const RunResult& r : result.runs)
    for (const auto& [name, value] : measures(r))
      if (name == measure) out.push_back(value);
  return out;
}

std::pair<Json, Json> mean_and_std(const std::vector<RunResult>& runs) {
  Json mean = Json::object(), deviation = Json::object();
  std::vector<NamedMeasures> all;
  for (const RunResult& r : runs) all.push_back(measures(r));
  for (std::size_t m = 0; m < all[0].size(); ++m) {
    std::vector<double> values;
    for (const NamedMeasures& run : all) values.push_back(run[m].second);
    const Summary s = summary(values);
    mean[all[0][m].first] = number(s.mean);
    deviation[all[0][m].first] = number(s.deviation);
  }
  return {mean, deviation};
}

}  // namespace quorate::cli
