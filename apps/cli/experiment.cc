#include "experiment.h"

#include "help.h"
#include "options.h"

namespace quorate::cli {

ExperimentData load(const std::string& data, const std::string& test, const DataOptions& read,
                    const FeatureOptions& features, const ClassOptions& classes) {
  ExperimentData out(features.settings, features.positive, classes.reduction, !classes.no_users);
  ReadOptions options = read.options(features.settings);
  const auto add = [&](const std::string& path, Dataset& part) {
    const ExperimentData::Skipped skipped = out.read(path, options, part);
    if (options.stop.stop_requested()) throw Interrupted("interrupted while reading " + skipped.path);
    report_skipped(skipped.path, skipped.lines, skipped.first, skipped.left_out);
  };
  add(data, out.train);
  out.tested = !test.empty();
  options.times_decide = false;
  if (out.tested) add(test, out.test);
  out.finish();
  return out;
}

void ExperimentOptions::add(CLI::App& app) {
  app.add_option("--data", data, "file to learn from")->required()->type_name("FILE");
  app.add_option("--test", test, "file to test on")->type_name("FILE");
  classes.add(app);
  {
    const InGroup group(app, kLearning);
    add_options(app, run.learning, {"length", "max-pending", "keep-labels"});
  }
  app.add_option(
         "--delay", delay,
         "delay of answers in examples, as 100, or lognormal(100) with that mean; answers due after the end are not learned "
         "from")
      ->capture_default_str();
  app.add_option("--lost", run.delay.lost, "probability that an answer never arrives")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  {
    const InGroup group(app, kRuns);
    add_options(app, run);
  }
  read.add(app);
  features.add(app);
}

std::vector<NamedFile> ExperimentOptions::files(const std::vector<std::string>& learners) const {
  std::vector<NamedFile> out{data_file("--data", data)};
  if (!test.empty()) out.push_back(data_file("--test", test));
  for (const std::string& learner : learners)
    for (NamedFile& file : files_of_learner(learner)) out.push_back(std::move(file));
  return out;
}

void ExperimentOptions::prepare() {
  const double lost = run.delay.lost;
  run.delay = parse_delay(delay);
  run.delay.lost = lost;
  run.stop = interrupt();
  run.learning.labels_share();  // throws, as memory_limit() does
  run.learning.memory_limit();
  const auto rate = run.learning.limits(true).rate;
  read.read.times_decide = rate && rate->seconds;
}

ExperimentData ExperimentOptions::load() {
  prepare();
  return cli::load(data, test, read, features, classes);
}

}  // namespace quorate::cli
