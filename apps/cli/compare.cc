// quorate compare: several learners on the same splits and orders, as a table, paired differences and pictures.
#include <algorithm>
#include <cmath>
#include <iostream>

#include "common.h"
#include "measures.h"
#include "plot.h"
#include "quorate/base/csv.h"
#include "quorate/base/number.h"
#include "quorate/metrics/statistics.h"
#include "quorate/registry.h"

namespace quorate::cli {
namespace {

struct Options {
  ExperimentOptions data;
  std::string budgets, plot;
  std::vector<std::string> learners;
  bool json = false, csv = false, markdown = false;
  ProgressOptions progress;
};

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

struct Row {
  std::string learner, budget;  // budget: empty for none
  std::uint64_t limit;
  SimulateResult result;
};

const std::vector<std::string> kShown = {"accuracy", "balanced_accuracy", "f1",      "auc",
                                         "labels",   "mistakes",          "seconds", "model_bytes"};

std::string cell(const std::string& measure, const Summary& s) {
  if (!std::isfinite(s.mean)) return "-";
  char out[64];
  if (measure == "seconds")
    std::snprintf(out, sizeof out, "%.3f", s.mean);
  else if (is_count(measure))
    std::snprintf(out, sizeof out, std::isfinite(s.deviation) ? "%.0f +- %.0f" : "%.0f", s.mean, s.deviation);
  else
    std::snprintf(out, sizeof out, std::isfinite(s.deviation) ? "%.4f +- %.4f" : "%.4f", s.mean, s.deviation);
  return out;
}

std::string interval(const Paired& p) {
  char out[96];
  if (!std::isfinite(p.difference)) return "-";
  if (!std::isfinite(p.low))
    std::snprintf(out, sizeof out, "%+.4f", p.difference);
  else
    std::snprintf(out, sizeof out, "%+.4f [%+.4f, %+.4f]", p.difference, p.low, p.high);
  return out;
}

/// The measure that learners are compared by: accuracy where there is a test set, else the progressive F1.
std::string judged_by(const std::vector<Row>& rows) {
  return std::isfinite(summary(values_of(rows[0].result, "accuracy")).mean) ? "accuracy" : "progressive_f1";
}

/// The first learner's row of the same budget.
const Row& baseline(const std::vector<Row>& rows, const Row& row) {
  for (const Row& r : rows)
    if (r.budget == row.budget) return r;
  return row;
}

void print_table(const std::vector<Row>& rows, const Options& o) {
  const std::string by = judged_by(rows);
  std::vector<std::vector<std::string>> cells{{"learner"}};
  if (!o.budgets.empty()) cells[0].push_back("budget");
  for (const std::string& m : kShown) cells[0].push_back(m);
  cells[0].push_back(by + " against the first [95 %]");
  for (const Row& row : rows) {
    std::vector<std::string> line{row.learner};
    if (!o.budgets.empty()) line.push_back(row.budget);
    for (const std::string& m : kShown) line.push_back(cell(m, summary(values_of(row.result, m))));
    const Row& first = baseline(rows, row);
    line.push_back(&first == &row ? "" : interval(paired(values_of(first.result, by), values_of(row.result, by))));
    cells.push_back(std::move(line));
  }
  if (o.csv) {
    for (const auto& line : cells)
      for (std::size_t c = 0; c < line.size(); ++c) std::cout << csv_quoted(line[c]) << (c + 1 < line.size() ? "," : "\n");
  } else if (o.markdown) {
    for (std::size_t r = 0; r < cells.size(); ++r) {
      for (const std::string& c : cells[r]) std::cout << "| " << c << " ";
      std::cout << "|\n";
      if (r == 0) {
        for (std::size_t c = 0; c < cells[0].size(); ++c) std::cout << "| --- ";
        std::cout << "|\n";
      }
    }
  } else {
    const SimulateResult& r = rows[0].result;
    std::cout << grouped(r.tasks) << " tasks, " << grouped(r.features) << " features, " << grouped(r.examples)
              << " examples, " << r.runs.size() << (r.runs.size() == 1 ? " run" : " runs")
              << "; mean +- standard deviation\n\n"
              << table(cells);
  }
}

/// Probabilities given and what came of them, over all runs: [{"probability": mean, "positive": share, "examples": n}, ..],
/// a bin that holds examples each; null for margins that are not calibrated.
Json reliability_json(const Reliability& given) {
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

Json document(const std::vector<Row>& rows, const SimulateOptions& base) {
  const std::string by = judged_by(rows);
  Json out{{"tasks", rows[0].result.tasks},
           {"features", rows[0].result.features},
           {"examples", rows[0].result.examples},
           {"runs", rows[0].result.runs.size()},
           {"compared_by", by},
           {"limits", limits_json(base.limits, base.pace_even)},
           {"learners", Json::array()}};
  for (const Row& row : rows) {
    const auto [mean, deviation] = mean_and_std(row.result.runs);
    Json entry{{"learner", to_text(row.result.learner)},
               {"label_budget", row.budget.empty() ? Json(nullptr) : Json(row.limit)},
               {"mean", mean},
               {"std", deviation}};
    const std::vector<double> values = values_of(row.result, by);
    const Paired p = paired(values_of(baseline(rows, row).result, by), values);
    entry["against_first"] = {{"difference", number(p.difference)}, {"low", number(p.low)}, {"high", number(p.high)}};
    const Paired alone = paired(std::vector<double>(values.size()), values);  // the mean's own interval
    entry["interval"] = {{"low", number(alone.low)}, {"high", number(alone.high)}};
    Reliability given;
    entry["runs"] = Json::array();
    for (const RunResult& r : row.result.runs) {
      given += r.reliability;
      entry["runs"].push_back({{"seed", r.seed}});
      entry["runs"].back().update(object(measures(r)));
    }
    entry["reliability"] = reliability_json(given);
    out["learners"].push_back(std::move(entry));
  }
  return out;
}

/// Accuracy against labels, mistakes against examples, labels per task.
void draw(const std::string& path, const std::vector<Row>& rows, const NameTable& tasks, const Options& o) {
  const std::string by = judged_by(rows);
  Panel accuracy{by == "accuracy" ? "unseen examples" : "progressive", "labels bought", by, {}},
      mistakes{"progressive mistakes", "examples", "mistakes", {}}, labels{"labels per task", "", "labels", {}},
      reliability{"probabilities, largest budget", "probability given", "share that was positive", {}};
  const bool many = tasks.size() > 40;
  for (Task t = 0; t < tasks.size() && !many; ++t) labels.categories.emplace_back(tasks[t]);
  if (many) labels.x_label = "task, in order of appearance";
  std::vector<std::string> learners;
  for (const std::string& learner : o.learners)
    if (std::find(learners.begin(), learners.end(), learner) == learners.end()) learners.push_back(learner);
  for (const std::string& learner : learners) {
    std::uint64_t largest = 0;
    Series curve{learner, {}, {}, {}}, wrong{learner, {}, {}, {}}, bought{learner, {}, {}, {}, true};
    for (const Row& row : rows) {
      if (row.learner != learner) continue;
      const Summary a = summary(values_of(row.result, by));
      curve.x.push_back(summary(values_of(row.result, "labels")).mean);
      curve.y.push_back(a.mean);
      curve.spread.push_back(a.deviation);
      if (row.limit < largest) continue;  // mistakes and labels per task: of the largest budget
      largest = row.limit;
      for (Series* series : {&wrong, &bought}) series->x.clear(), series->y.clear();
      const auto& runs = row.result.runs;
      const double n = static_cast<double>(runs.size());
      for (std::size_t p = 0; p < runs[0].curve.size(); ++p) {
        double sum = 0;
        for (const RunResult& r : runs) sum += static_cast<double>(r.curve[p].mistakes);
        wrong.x.push_back(static_cast<double>(runs[0].curve[p].examples));
        wrong.y.push_back(sum / n);
      }
      for (Task t = 0; t < tasks.size(); ++t) {
        double sum = 0;
        for (const RunResult& r : runs) sum += static_cast<double>(r.per_task[t].labels);
        bought.x.push_back(t);
        bought.y.push_back(sum / n);
      }
    }
    Reliability given;
    for (const Row& row : rows)
      if (row.learner == learner && row.limit == largest)
        for (const RunResult& r : row.result.runs) given += r.reliability;
    Series reliable{learner, {}, {}, {}};
    for (std::size_t i = 0; i < Reliability::kBins; ++i)
      if (const Reliability::Bin& bin = given.bin(i); bin.examples > 0) {
        reliable.x.push_back(bin.sum / static_cast<double>(bin.examples));
        reliable.y.push_back(static_cast<double>(bin.positive) / static_cast<double>(bin.examples));
      }
    if (!reliable.x.empty()) reliability.series.push_back(std::move(reliable));
    accuracy.series.push_back(std::move(curve));
    mistakes.series.push_back(std::move(wrong));
    labels.series.push_back(std::move(bought));
  }
  std::vector<Panel> panels{accuracy, mistakes, labels};
  if (!reliability.series.empty()) {
    reliability.series.push_back({"as it should be", {0, 1}, {0, 1}, {}});
    panels.push_back(reliability);
  }
  plot(path, panels);
}

int run(Options& o) {
  if (o.json + o.csv + o.markdown > 1) throw UsageError("--json, --csv and --markdown: expected one of them");
  for (const std::string& learner : o.learners) canonical(parse_spec(learner));
  if (!o.plot.empty()) check_picture(o.plot);
  if (!o.budgets.empty() && o.data.run.limits.total != LabelLimits::kNone)
    throw UsageError("--labels and --label-budgets: expected one of them");
  const LoadedData loaded = o.data.load();
  SimulateOptions& base = o.data.run;
  // Learners of one comparison see the same rounds.
  const auto any_chooses = [&] {
    return std::any_of(o.learners.begin(), o.learners.end(),
                       [](const auto& learner) { return capabilities(parse_spec(learner)).selects; });
  };
  if (!base.rounds && !loaded.classes && any_chooses()) base.rounds = Rounds::kPerTask;
  const std::uint64_t examples = loaded.examples(base);
  std::vector<Budget> budgets = parse_budgets(o.budgets, examples);
  if (budgets.empty()) budgets.push_back({"", base.limits.total});
  std::atomic<std::uint64_t> progress = 0;
  base.progress = &progress;
  base.stop = interrupt();
  base.per_task = true;
  base.points = 25;
  const double all =
      static_cast<double>(examples) * static_cast<double>(base.passes * base.runs * o.learners.size() * budgets.size());
  std::vector<Row> rows;
  {
    const Progress progress_line(
        o.progress, [&] { return static_cast<double>(progress) / all; }, [&] { return progress.load(); });
    for (const std::string& learner : o.learners)
      for (const Budget& budget : budgets) {
        SimulateOptions options = base;
        options.learner = parse_spec(learner);
        options.pace_even = base.pace_even && capabilities(options.learner).paced;
        options.limits.total = budget.labels;
        rows.push_back({learner, budget.text, budget.labels, loaded.simulate(options)});
        if (rows.back().result.interrupted) {
          std::cerr << "quorate: interrupted after " << grouped(progress)
                    << " examples; a comparison leaves nothing behind\n";
          return kInterrupted;
        }
      }
  }
  if (!o.plot.empty()) draw(o.plot, rows, loaded.tasks, o);
  if (o.json)
    std::cout << document(rows, base).dump(2) << "\n";
  else
    print_table(rows, o);
  return kDone;
}

}  // namespace

Command add_compare(CLI::App& app) {
  const auto o = std::make_shared<Options>();
  o->data.add(app);
  app.add_option("--learner", o->learners,
                 "a learner; give this once for each, the first is what the others are compared with")
      ->required();
  app.add_option("--label-budgets", o->budgets,
                 "hard limits to compare at: numbers, or shares of the examples, as in 1%,2%,5%");
  app.add_option("--plot", o->plot, "draw accuracy, mistakes and labels per task into this .svg, .png or .pdf (by gnuplot)");
  app.add_flag("--json", o->json, "one JSON document");
  app.add_flag("--csv", o->csv, "the table as CSV");
  app.add_flag("--markdown", o->markdown, "the table as Markdown");
  o->progress.add(app);
  app.footer(
      "Example:\n  quorate compare --data spam-b/all --train-per-task 100 --runs 10 --learner perceptron --learner amlc "
      "\\\n      --label-budgets 3%,10%,30% --plot spam.svg");
  return [o] { return run(*o); };
}

}  // namespace quorate::cli
