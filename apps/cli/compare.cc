// quorate compare: several learners on the same splits and orders: table, paired differences, plots.
#include <algorithm>
#include <cmath>
#include <iostream>

#include "common.h"
#include "experiment.h"
#include "picture.h"
#include "quorate/base/csv.h"
#include "quorate/experiments/compare.h"
#include "quorate/metrics/statistics.h"
#include "quorate/registry.h"

namespace quorate::cli {
namespace {

struct CompareOptions {
  ExperimentOptions data;
  std::string budgets, plot;
  std::vector<std::string> learners;
  bool json = false, csv = false, markdown = false;
  ProgressOptions progress;
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

void print_table(const Comparison& found, const CompareOptions& o) {
  const std::string& by = found.by;
  std::vector<std::vector<std::string>> cells{{"learner"}};
  if (!o.budgets.empty()) cells[0].push_back("budget");
  for (const std::string& m : kShown) cells[0].push_back(m);
  cells[0].push_back(by + " against the first [95 %]");
  for (const Comparison::Row& row : found.rows) {
    std::vector<std::string> line{row.learner};
    if (!o.budgets.empty()) line.push_back(row.budget);
    for (const std::string& m : kShown) line.push_back(cell(m, summary(values_of(row.result, m))));
    const Comparison::Row& first = found.baseline(row);
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
    const SimulateResult& r = found.rows[0].result;
    std::cout << counted(r.tasks, "task") << ", " << counted(r.features, "feature") << ", " << counted(r.examples, "example")
              << ", " << counted(r.runs.size(), "run") << "; mean +- standard deviation\n\n"
              << table(cells);
  }
}

int run(CompareOptions& o) {
  if (o.json + o.csv + o.markdown > 1) throw UsageError("--json, --csv and --markdown: expected one of them");
  for (const std::string& learner : o.learners) canonical(parse_spec(learner));
  if (!o.plot.empty()) check_picture(o.plot);
  for (const NamedFile& out : {NamedFile{"--plot", o.plot}, {"standard output", "-"}})
    check_output(out, o.data.files(o.learners));
  const ExperimentData data = o.data.load();
  WorkDone done;
  Comparison found;
  {
    const Progress progress_line(o.progress, done);
    found = compare(data, o.learners, o.budgets, o.data.run, done);
  }
  if (found.interrupted)
    throw Interrupted("interrupted after " + counted(done.examples, "example") + "; nothing is written");
  if (o.json)
    std::cout << document(found).dump(2) << "\n";
  else
    print_table(found, o);
  if (!o.plot.empty()) draw(o.plot, {{"compare", document(found)}, {"names", o.learners}});  // last, as it may fail
  return kDone;
}

}  // namespace

Command add_compare(CLI::App& app) {
  const auto o = std::make_shared<CompareOptions>();
  o->data.add(app);
  app.add_option("--learner", o->learners, "learner (repeatable); the others are compared with the first")
      ->required()
      ->type_name("LEARNER");
  app.add_option("--label-budgets", o->budgets,
                 "label limits to compare at: numbers, or shares of the examples, as 1%,2%,5%");
  app.add_option(
         "--plot", o->plot,
         "draw accuracy against labels, and calibration, as .svg, .png or .pdf (needs the Python package and matplotlib)")
      ->type_name("FILE");
  app.add_flag("--json", o->json, "print one JSON document");
  app.add_flag("--csv", o->csv, "print the table as CSV");
  app.add_flag("--markdown", o->markdown, "print the table as Markdown");
  o->progress.add(app);
  app.footer(
      "Example:\n  quorate compare --data spam-b/all --train-per-task 100 --runs 10 --learner perceptron --learner amlc "
      "--label-budgets 3%,10%,30% --plot spam.svg");
  return [o] { return run(*o); };
}

}  // namespace quorate::cli
