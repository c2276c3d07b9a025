#include "quorate/experiments/tune.h"

#include <algorithm>
#include <cmath>

#include "quorate/base/error.h"
#include "quorate/base/number.h"
#include "quorate/registry.h"
#include "quorate/stream/record.h"

namespace quorate {
namespace {

/// A parameter and the values to try; `query.b` is the b inside query.
struct Axis {
  std::string path;
  std::vector<std::string> values;
};

std::vector<Axis> parse_axes(const std::string& text) {
  std::vector<std::string> words(1);
  int depth = 0;
  bool quoted = false;
  for (const char c : text) {
    quoted ^= c == '"';
    if (c == ';' && !quoted)
      throw UsageError("--grid: " + quoted_value(text) +
                       "; expected commas instead of ;, as 'query.b=0.1,0.5,noise=0.05,1'");
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

/// Sets the parameter at `path` of spec to `value`.
Spec with(Spec spec, const std::string& path, const std::string& value) {
  const std::size_t dot = path.find('.');
  const std::string key = path.substr(0, dot);
  auto arg = std::find_if(spec.args.begin(), spec.args.end(), [&](const Spec::Arg& a) { return a.key == key; });
  if (arg == spec.args.end()) arg = spec.args.insert(spec.args.end(), {key, {}});
  arg->value = dot == path.npos ? parse_spec(value) : with(std::move(arg->value), path.substr(dot + 1), value);
  return spec;
}

}  // namespace

Grid parse_grid(const std::string& learner, const std::string& text) {
  Grid out{{}, {{canonical(parse_spec(learner)), {}}}};
  for (const Axis& axis : parse_axes(text)) {
    out.parameters.push_back(axis.path);
    std::vector<Grid::Setting> grown;
    for (const Grid::Setting& s : out.settings)
      for (const std::string& value : axis.values) {
        grown.push_back({canonical(with(s.learner, axis.path, value)), s.values});
        grown.back().values.push_back(value);
      }
    out.settings = std::move(grown);
    if (out.settings.size() > 100'000) throw UsageError("--grid: more than 100,000 combinations");
  }
  return out;
}

Tuned tune(const ExperimentData& data, const Grid& grid, const std::string& measure, SimulateOptions run, WorkDone& done) {
  run.runs = run.folds;
  run.progress = &done.examples;
  done.all = static_cast<double>(data.examples(run)) * static_cast<double>(run.folds * grid.settings.size());
  Tuned out{measure, run.folds, grid.parameters, {}};
  for (const Grid::Setting& setting : grid.settings) {
    run.learner = setting.learner;
    const SimulateResult result = data.simulate(run);
    out.interrupted = result.interrupted;
    if (out.interrupted) return out;
    out.rows.push_back({setting, summary(values_of(result, measure)), summary(values_of(result, "labels"))});
  }
  const auto best = std::max_element(out.rows.begin(), out.rows.end(), [](const Tuned::Row& a, const Tuned::Row& b) {
    return std::isfinite(b.score.mean) && (!std::isfinite(a.score.mean) || a.score.mean < b.score.mean);
  });
  if (!std::isfinite(best->score.mean))
    throw DataError("no fold has a " + measure + "; expected fewer folds, or another --measure");
  out.best = static_cast<std::size_t>(best - out.rows.begin());
  return out;
}

Json document(const Tuned& tuned) {
  Json out{{"measure", tuned.measure},
           {"folds", tuned.folds},
           {"best", to_text(tuned.rows[tuned.best].setting.learner)},
           {"settings", Json::array()}};
  for (const Tuned::Row& r : tuned.rows) {
    Json tried = Json::object();  // numbers as such, else as they are written
    for (std::size_t a = 0; a < tuned.parameters.size(); ++a) {
      const std::string& value = r.setting.values[a];
      const auto as_number = parse_number<double>(value);
      tried[tuned.parameters[a]] = as_number ? number(*as_number) : Json(value);
    }
    out["settings"].push_back({{"learner", to_text(r.setting.learner)},
                               {"parameters", tried},
                               {"mean", number(r.score.mean)},
                               {"std", number(r.score.deviation)},
                               {"labels", number(r.labels.mean)}});
  }
  return out;
}

}  // namespace quorate
