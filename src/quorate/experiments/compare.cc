#include "quorate/experiments/compare.h"

#include <algorithm>
#include <cmath>

#include "quorate/base/error.h"
#include "quorate/base/number.h"
#include "quorate/metrics/statistics.h"
#include "quorate/registry.h"

namespace quorate {
namespace {

/// A label limit and how it was written, "5%".
struct Budget {
  std::string text;
  std::uint64_t labels;
};

/// "1%,2%,500" as numbers of labels; a share is one of the examples to learn from, rounded.
std::vector<Budget> parse_budgets(const std::string& text, std::uint64_t examples) {
  std::vector<Budget> out;
  for (std::size_t at = 0; !text.empty() && at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string word = text.substr(at, end - at);
    const bool share = word.ends_with('%');
    const double value = parse_number<double>(std::string_view(word).substr(0, word.size() - (share ? 1 : 0))).value_or(-1);
    if (!(value >= 0 && value <= (share ? 100 : 1e15)) || (!share && value != std::floor(value)))
      throw UsageError("--label-budgets: " + quoted_value(word) +
                       "; expected whole numbers, or shares like 5%, with commas between");
    out.push_back(
        {word, static_cast<std::uint64_t>(std::llround(share ? value / 100 * static_cast<double>(examples) : value))});
    at = end + 1;
  }
  return out;
}

/// Predicted probabilities and the share of positives, over all runs: [{"probability": mean, "positive": share,
/// "examples": n}, ..], one for each bin that has examples; null for margins that are not calibrated.
Json reliability_json(const SimulateResult& result) {
  Reliability given;
  for (const RunResult& r : result.runs) given += r.reliability;
  if (given.examples() == 0) return nullptr;
  Json out = Json::array();
  for (std::size_t i = 0; i < Reliability::kBins; ++i)
    if (const Reliability::Bin& bin = given.bin(i); bin.examples > 0) {
      const auto n = static_cast<double>(bin.examples);
      out.push_back(
          {{"probability", bin.sum / n}, {"positive", static_cast<double>(bin.positive) / n}, {"examples", bin.examples}});
    }
  return out;
}

}  // namespace

const Comparison::Row& Comparison::baseline(const Row& row) const {
  return *std::find_if(rows.begin(), rows.end(), [&](const Row& r) { return r.budget == row.budget; });
}

Comparison compare(const ExperimentData& data, const std::vector<std::string>& learners, const std::string& budgets,
                   SimulateOptions run, WorkDone& done) {
  Comparison out;
  out.limits = data.limits(run);
  out.pace_even = run.learning.pace.has_value();
  if (!budgets.empty() && out.limits.total != LabelLimits::kNone)
    throw UsageError("--labels and --label-budgets: expected one of them");
  const auto any_selects = [&] {
    return std::any_of(learners.begin(), learners.end(),
                       [](const auto& learner) { return capabilities(parse_spec(learner)).selects; });
  };
  // Learners of one comparison see the same rounds.
  if (!run.learning.rounds && !data.reduction.has_classes() && any_selects()) run.learning.rounds = Rounds::kPerTask;
  run.progress = &done.examples;
  const std::uint64_t examples = data.examples(run);
  std::vector<Budget> limits = parse_budgets(budgets, examples);
  if (limits.empty()) limits.push_back({"", out.limits.total});
  done.all = static_cast<double>(examples) * static_cast<double>(run.passes * run.runs * learners.size() * limits.size());
  for (const std::string& learner : learners)
    for (const Budget& budget : limits) {
      SimulateOptions options = run;
      options.learner = parse_spec(learner);
      if (!capabilities(options.learner).paced) options.learning.pace.reset();
      LabelLimits limited = out.limits;
      limited.total = budget.labels;
      options.learning.set_limits(limited);
      out.rows.push_back({learner, budget.text, budget.labels, data.simulate(options)});
      out.interrupted = out.rows.back().result.interrupted;
      if (out.interrupted) return out;
    }
  const bool tested = std::isfinite(summary(values_of(out.rows[0].result, "accuracy")).mean);
  out.by = tested ? "accuracy" : "progressive_f1";
  return out;
}

Json document(const Comparison& c) {
  const std::vector<Comparison::Row>& rows = c.rows;
  Json out{{"tasks", rows[0].result.tasks},
           {"features", rows[0].result.features},
           {"examples", rows[0].result.examples},
           {"runs", rows[0].result.runs.size()},
           {"compared_by", c.by},
           {"limits", limits_json(c.limits, c.pace_even)},
           {"learners", Json::array()}};
  for (const Comparison::Row& row : rows) {
    const auto [mean, deviation] = mean_and_std(row.result.runs);
    Json entry{{"learner", to_text(row.result.learner)},
               {"label_budget", row.budget.empty() ? Json(nullptr) : Json(row.limit)},
               {"mean", mean},
               {"std", deviation}};
    const std::vector<double> values = values_of(row.result, c.by);
    const Paired p = paired(values_of(c.baseline(row).result, c.by), values);
    entry["against_first"] = {{"difference", number(p.difference)}, {"low", number(p.low)}, {"high", number(p.high)}};
    const Paired alone = paired(std::vector<double>(values.size()), values);  // the mean's own interval
    entry["interval"] = {{"low", number(alone.low)}, {"high", number(alone.high)}};
    entry["runs"] = Json::array();
    for (const RunResult& r : row.result.runs) {
      entry["runs"].push_back({{"seed", r.seed}});
      entry["runs"].back().update(object(measures(r)));
    }
    entry["reliability"] = reliability_json(row.result);
    out["learners"].push_back(std::move(entry));
  }
  return out;
}

}  // namespace quorate
