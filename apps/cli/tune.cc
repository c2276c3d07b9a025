// quorate tune: cross-validation over a grid of parameters. A test set, if there is one, is not so much as opened.
#include <algorithm>
#include <cmath>
#include <iostream>

#include "common.h"
#include "measures.h"
#include "quorate/base/number.h"
#include "quorate/metrics/statistics.h"
#include "quorate/registry.h"
#include "quorate/stream/record.h"

namespace quorate::cli {
namespace {

struct Options {
  std::string data, learner, grid, measure = "accuracy";
  DataOptions read;
  FeatureOptions features;
  ClassOptions classes;
  std::string rounds;
  std::uint64_t labels_per_round = 1;
  std::size_t memory = Memory::kNoLimit;
  std::uint64_t folds = 10, seed = 1, threads = 1;
  LabelLimits limits;
  double share = 1;
  bool pace_even = false, json = false;
  ProgressOptions progress;
};

/// A parameter and the values to try; `query.b` is the b inside query.
struct Axis {
  std::string path;
  std::vector<std::string> values;
};

/// `c=0.1..100:20,b=0.5,1,2`: commas outside brackets separate; a word with `=` starts a new parameter; lo..hi:n is n values
/// at equal ratios.
std::vector<Axis> parse_grid(const std::string& text) {
  std::vector<std::string> words(1);
  int depth = 0;
  for (const char c : text) {
    depth += (c == '(') - (c == ')');
    if (c == ',' && depth == 0)
      words.emplace_back();
    else
      words.back() += c;
  }
  std::vector<Axis> out;
  for (const std::string& word : words) {
    const auto fail = [&](const std::string& expected) {
      throw UsageError("--grid: " + quoted_value(word) + "; expected " + expected);
    };
    const std::size_t equals = word.find('='), bracket = word.find('(');
    std::string value = word;
    if (equals != word.npos && equals < bracket) {
      out.push_back({word.substr(0, equals), {}});
      value = word.substr(equals + 1);
    }
    if (out.empty() || value.empty()) fail("name=value,value,... or name=lo..hi:n");
    const std::size_t dots = value.find(".."), colon = value.rfind(':');
    if (dots == value.npos) {
      out.back().values.push_back(value);
      continue;
    }
    double lo = 0, hi = 0;
    int n = 0;
    const auto whole_text = [](const std::string& s, auto& v) {
      const auto parsed = parse_number<std::decay_t<decltype(v)>>(s);
      if (parsed) v = *parsed;
      return parsed.has_value();
    };
    if (colon == value.npos || colon < dots || !whole_text(value.substr(0, dots), lo) ||
        !whole_text(value.substr(dots + 2, colon - dots - 2), hi) || !whole_text(value.substr(colon + 1), n) ||
        !(lo > 0 && hi > lo && hi - hi == 0) || n < 2 || n > 1000)
      fail("lo..hi:n with 0 < lo < hi and n from 2 to 1000");
    for (int i = 0; i < n; ++i)
      out.back().values.push_back(shortest(i == n - 1 ? hi : lo * std::pow(hi / lo, i / (n - 1.0))));
  }
  return out;
}

/// spec with the parameter at `path` set to what `value` says.
Spec with(Spec spec, const std::string& path, const std::string& value) {
  const std::size_t dot = path.find('.');
  const std::string key = path.substr(0, dot);
  auto arg = std::find_if(spec.args.begin(), spec.args.end(), [&](const Spec::Arg& a) { return a.key == key; });
  if (arg == spec.args.end()) arg = spec.args.insert(spec.args.end(), {key, {}});
  arg->value = dot == path.npos ? parse_spec(value) : with(std::move(arg->value), path.substr(dot + 1), value);
  return spec;
}

int run(Options& o) {
  const std::vector<Axis> grid = parse_grid(o.grid);
  struct Setting {
    Spec spec;
    std::vector<std::string> values;  // one for each axis of the grid
  };
  std::vector<Setting> specs{{canonical(parse_spec(o.learner)), {}}};
  for (const Axis& axis : grid) {
    std::vector<Setting> grown;
    for (const Setting& s : specs)
      for (const std::string& value : axis.values) {
        grown.push_back({canonical(with(s.spec, axis.path, value)), s.values});
        grown.back().values.push_back(value);
      }
    specs = std::move(grown);
    if (specs.size() > 100'000) throw UsageError("--grid: more than 100,000 combinations");
  }
  const LoadedData loaded = load(o.data, "", o.read, o.features, o.classes);
  SimulateOptions options;
  options.folds = options.runs = o.folds;
  options.seed = o.seed;
  options.threads = o.threads;
  options.limits = o.limits;
  options.pace_even = o.pace_even;
  options.rounds = rounds_named(o.rounds);
  options.labels_per_round = o.labels_per_round;
  options.memory = o.memory;
  options.share = o.share;
  options.stop = interrupt();
  std::atomic<std::uint64_t> progress = 0;
  options.progress = &progress;
  const double all = static_cast<double>(loaded.examples(options)) * static_cast<double>(o.folds * specs.size());
  struct Row {
    Setting setting;
    Summary score, labels;
  };
  std::vector<Row> rows;
  {
    const Progress progress_line(
        o.progress, [&] { return static_cast<double>(progress) / all; }, [&] { return progress.load(); });
    for (const Setting& s : specs) {
      options.learner = s.spec;
      const SimulateResult result = loaded.simulate(options);
      if (result.interrupted) {
        std::cerr << "quorate: interrupted after " << rows.size() << " of " << specs.size() << " settings\n";
        return kInterrupted;
      }
      rows.push_back({s, summary(values_of(result, o.measure)), summary(values_of(result, "labels"))});
    }
  }
  // The first of the best: a tie goes to the setting that comes first in the grid.
  const auto best = std::max_element(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
    return std::isfinite(b.score.mean) && (!std::isfinite(a.score.mean) || a.score.mean < b.score.mean);
  });
  if (!std::isfinite(best->score.mean))
    throw DataError("no fold has a " + o.measure + "; expected fewer folds, or another --measure");
  if (o.json) {
    Json out{{"measure", o.measure}, {"folds", o.folds}, {"best", to_text(best->setting.spec)}, {"settings", Json::array()}};
    for (const Row& r : rows) {
      Json tried = Json::object();  // numbers as such, else as they are written
      for (std::size_t a = 0; a < grid.size(); ++a) {
        const std::string& value = r.setting.values[a];
        const auto as_number = parse_number<double>(value);
        tried[grid[a].path] = as_number ? number(*as_number) : Json(value);
      }
      out["settings"].push_back({{"learner", to_text(r.setting.spec)},
                                 {"parameters", tried},
                                 {"mean", number(r.score.mean)},
                                 {"std", number(r.score.deviation)},
                                 {"labels", number(r.labels.mean)}});
    }
    std::cout << out.dump(2) << "\n";
    return kDone;
  }
  std::vector<std::vector<std::string>> cells{{"learner", o.measure, "std", "labels", ""}};
  for (const Row& r : rows) {
    char score[32], deviation[32], labels[32];
    std::snprintf(score, sizeof score, "%.4f", r.score.mean);
    std::snprintf(deviation, sizeof deviation, "%.4f", r.score.deviation);
    std::snprintf(labels, sizeof labels, "%.1f", r.labels.mean);
    cells.push_back({to_text(r.setting.spec), score, deviation, labels, &r == &*best ? "best" : ""});
  }
  std::cout << table(cells) << "\n"
            << o.folds << "-fold cross-validation; the best: " << to_text(best->setting.spec) << "\n";
  return kDone;
}

}  // namespace

Command add_tune(CLI::App& app) {
  const auto o = std::make_shared<Options>();
  app.add_option("--data", o->data, "file to learn from")->required();
  app.add_option("--learner", o->learner, "learner, with the parameters that stay as they are")->required();
  app.add_option("--grid", o->grid, "parameters to try, as in 'c=0.1..100:20,query.b=0.5,1,2'")->required();
  app.add_option("--folds", o->folds, "parts to cut the data into")->check(whole(2, 1'000'000))->capture_default_str();
  app.add_option("--share", o->share, "learn from this share of the examples only, drawn at random in each fold")
      ->check(CLI::Range(1e-9, 1.0))
      ->capture_default_str();
  app.add_option("--measure", o->measure, "what is best")
      ->check(CLI::IsMember({"accuracy", "balanced_accuracy", "f1", "auc", "progressive_f1"}))
      ->capture_default_str();
  o->classes.add(app);
  add_rounds(app, o->rounds, o->labels_per_round);
  add_label_limits(app, o->limits);
  add_pace(app, o->pace_even);
  add_memory_limit(app, o->memory);
  app.add_option("--seed", o->seed, "seed of the cut and of the draws")->check(whole(0))->capture_default_str();
  app.add_option("--threads", o->threads, "folds at the same time")->check(whole(1, 1'000'000'000))->capture_default_str();
  app.add_flag("--json", o->json, "one JSON document");
  o->progress.add(app);
  o->read.add(app);
  o->read.add_cache(app);
  o->features.add(app);
  app.footer("Example:\n  quorate tune --data landmine/all --learner amlc --grid 'c=0.1..100:20' --folds 10 --threads 2");
  return [o] { return run(*o); };
}

}  // namespace quorate::cli
