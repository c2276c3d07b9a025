#include "measures.h"

#include <algorithm>

#include "quorate/run/statistics.h"

namespace quorate::cli {

LoadedData load(const std::string& data, const std::string& test, const DataOptions& read, const FeatureOptions& features) {
  LoadedData out;
  Featurizer featurizer(features.settings);
  Labels labels(features.positive);
  const auto add = [&](const std::string& path, Dataset& into) {
    Examples examples(path, read.options(), featurizer, labels);
    into.read(examples, out.tasks);
    report_skipped(examples.reader());
  };
  add(data, out.train);
  if (!test.empty()) add(test, out.test);
  return out;
}

void add_simulation(CLI::App& app, std::string& data, std::string& test, SimulateOptions& run, DataOptions& read,
                    FeatureOptions& features) {
  app.add_option("--data", data, "file to learn from")->required();
  app.add_option("--test", test, "file to test on");
  app.add_option("--train-per-task", run.train_per_task,
                 "learn from N examples of each task, drawn anew in each run, and test on the others")
      ->check(whole(1, 1'000'000'000));
  add_label_limit(app, run.labels);
  app.add_option("--runs", run.runs, "runs, each with a seed, an order and a split of its own")
      ->check(whole(1, 1'000'000))
      ->capture_default_str();
  app.add_option("--passes", run.passes, "times each run goes through the data")
      ->check(whole(1, 1'000'000'000))
      ->capture_default_str();
  app.add_option("--seed", run.seed, "seed of the first run")->check(whole(0))->capture_default_str();
  app.add_option("--threads", run.threads, "runs at the same time; the result does not depend on it")
      ->check(whole(1, 1'000'000'000))
      ->capture_default_str();
  read.add(app);
  features.add(app);
}

Named measures(const Outcome& o) {
  return {{"accuracy", o.test.accuracy},
          {"balanced_accuracy", o.test.balanced_accuracy},
          {"f1", o.test.f1},
          {"auc", o.test.auc},
          {"online_f1", o.online_f1},
          {"mistakes", static_cast<double>(o.mistakes)},
          {"labels", static_cast<double>(o.labels)},
          {"updates", static_cast<double>(o.updates)}};
}
Named measures(const RunResult& r) {
  auto out = measures(r.all);
  out.emplace_back("seconds", r.seconds);
  out.emplace_back("model_bytes", static_cast<double>(r.model_bytes));
  out.emplace_back("peak_bytes", static_cast<double>(r.peak_bytes));
  return out;
}

bool is_count(const std::string& name) {
  return name == "mistakes" || name == "labels" || name == "updates" || name.ends_with("_bytes");
}

Json object(const Named& values) {
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
  std::vector<Named> all;
  for (const RunResult& r : runs) all.push_back(measures(r));
  for (std::size_t m = 0; m < all[0].size(); ++m) {
    std::vector<double> values;
    for (const Named& run : all) values.push_back(run[m].second);
    const Summary s = summary(values);
    mean[all[0][m].first] = number(s.mean);
    deviation[all[0][m].first] = number(s.deviation);
  }
  return {mean, deviation};
}

}  // namespace quorate::cli
