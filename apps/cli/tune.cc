// quorate tune: cross-validation over a grid of parameters. A test set is never read.
#include <iostream>

#include "common.h"
#include "experiment.h"
#include "help.h"
#include "options.h"
#include "quorate/base/counted.h"
#include "quorate/experiments/tune.h"

namespace quorate::cli {
namespace {

struct TuneOptions {
  std::string data, learner, grid, measure = "accuracy";
  DataOptions read;
  FeatureOptions features;
  ClassOptions classes;
  SimulateOptions run;
  bool json = false;
  ProgressOptions progress;
};

int run(TuneOptions& o) {
  const Grid grid = parse_grid(o.learner, o.grid);
  const ExperimentData data = load(o.data, "", o.read, o.features, o.classes);
  if (o.run.folds > data.train.size())
    throw UsageError(data.path + ": " + counted(data.train.size(), "example") + " and --folds " +
                     std::to_string(o.run.folds) + "; expected folds from 2 to the number of examples");
  o.run.stop = interrupt();
  WorkDone done;
  Tuned tuned;
  {
    const Progress progress_line(o.progress, done);
    tuned = tune(data, grid, o.measure, o.run, done);
  }
  if (tuned.interrupted)
    throw Interrupted("interrupted after " + std::to_string(tuned.rows.size()) + " of " +
                      std::to_string(grid.settings.size()) + " settings");
  if (o.json) {
    std::cout << document(tuned).dump(2) << "\n";
    return kDone;
  }
  std::vector<std::vector<std::string>> cells{{"learner", o.measure, "std", "labels", ""}};
  const Tuned::Row& best = tuned.rows[tuned.best];
  for (const Tuned::Row& r : tuned.rows) {
    char score[32], deviation[32], labels[32];
    std::snprintf(score, sizeof score, "%.4f", r.score.mean);
    std::snprintf(deviation, sizeof deviation, "%.4f", r.score.deviation);
    std::snprintf(labels, sizeof labels, "%.1f", r.labels.mean);
    cells.push_back({to_text(r.setting.learner), score, deviation, labels, &r == &best ? "best" : ""});
  }
  std::cout << table(cells) << "\n"
            << tuned.folds << "-fold cross-validation; the best: " << to_text(best.setting.learner) << "\n";
  return kDone;
}

}  // namespace

Command add_tune(CLI::App& app) {
  const auto o = std::make_shared<TuneOptions>();
  o->run.folds = 10;
  app.add_option("--data", o->data, "file to learn from")->required()->type_name("FILE");
  app.add_option("--learner", o->learner, "learner with its fixed parameters")->required()->type_name("LEARNER");
  app.add_option("--grid", o->grid,
                 "parameters to try, as 'c=0.1..100:20,query.b=0.5,1,2'; commas separate values and parameters")
      ->required();
  app.add_option("--folds", o->run.folds, "number of folds")->check(whole(2, 1'000'000))->capture_default_str();
  app.add_option("--share", o->run.share, "learn from this share of the examples, drawn at random in each fold")
      ->check(CLI::Range(1e-9, 1.0))
      ->capture_default_str();
  choose(app.add_option("--measure", o->measure, "measure to maximise"),
         {"accuracy", "balanced_accuracy", "f1", "auc", "average_precision", "recall@0.9", "lift", "progressive_f1"})
      ->capture_default_str();
  o->classes.add(app);
  {
    const InGroup group(app, kLearning);
    add_options(app, o->run.learning, {"length", "max-pending", "keep-labels", "audit", "audit-floor"});
  }
  {
    const InGroup group(app, kRuns);
    add_options(app, o->run, {"train-per-task", "test-share", "runs", "passes", "in-order"});
  }
  app.add_flag("--json", o->json, "print one JSON document");
  o->progress.add(app);
  o->read.add(app);
  o->features.add(app);
  app.footer("Example:\n  quorate tune --data landmine/all --learner amlc --grid 'c=0.1..100:20' --folds 10 --threads 2");
  return [o] { return run(*o); };
}

}  // namespace quorate::cli
