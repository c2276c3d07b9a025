#include "quorate/experiments/experiment_data.h"

#include <cmath>

#include "quorate/base/error.h"

namespace quorate {

ExperimentData::ExperimentData(const FeatureSettings& features, const std::string& positive, const std::string& classes,
                               bool users)
    : featurizer(features),
      labels(classes.empty() ? Labels(positive) : Labels::of_classes({}, true)),
      kind_(value_named<Reduction::Kind>(classes).value_or(Reduction::Kind::kNone)),
      positive_given_(!positive.empty()),
      users_(users) {
  if (!positive.empty() && !classes.empty()) throw UsageError("--classes and --positive: expected one of them");
  if (!value_named<Reduction::Kind>(classes))
    throw UsageError("classes " + quoted_value(classes) + "; expected one-vs-rest or one-vs-one");
}

auto ExperimentData::read(const std::string& file, const ReadOptions& options, Dataset& part) -> Skipped {
  ReadOptions labelled = options;
  labelled.labelled = true;
  ExampleReader examples(file, labelled, featurizer, labels);
  if (path.empty()) path = examples.path();
  part.read(examples, tasks, options.stop);
  if (const std::string unmet = examples.unmet(); !unmet.empty() && &part == &train && !options.stop.stop_requested())
    throw DataError(examples.path() + ": " + unmet);
  return {examples.path(), examples.skipped(), examples.first_skipped(), examples.left_out()};
}

void ExperimentData::finish() {
  if (const std::string none = labels.no_positive(); positive_given_ && !none.empty())
    throw DataError(path + ": no example " + none);
  if (kind_ == Reduction::Kind::kNone) return;
  const auto index = labels.classes().sort();
  train.move_classes(index);
  test.move_classes(index);
  const bool named = tasks.size() > 1 || (tasks.size() == 1 && tasks[0] != kOnlyTask);
  try {
    check_one_label_each(labels.classes().names());
    reduction = Reduction(kind_, labels.classes().names(), users_ && named);
  } catch (const DataError& e) {
    throw DataError(path + ": " + e.what());
  }
  if (!reduction.by_task()) tasks = reduction.task_names();
}

std::string ExperimentData::question(Task task) const {
  if (!reduction.by_task()) return reduction.question(task);
  return std::string(task_name(task)) + ": " + reduction.question(task % static_cast<Task>(reduction.tasks()));
}

std::uint64_t ExperimentData::examples(SimulateOptions run) const {
  run.reduction = reduction;
  return examples_to_learn(train.size(), tasks.size(), run);
}

LabelLimits ExperimentData::limits(const SimulateOptions& run) const {
  LabelLimits out = run.learning.limits(true);
  if (const auto share = run.learning.labels_share())
    out.total = static_cast<std::uint64_t>(std::llround(*share * static_cast<double>(examples(run))));
  return out;
}

SimulateResult ExperimentData::simulate(SimulateOptions run) const {
  run.learning.set_limits(limits(run));
  run.reduction = reduction;
  run.kinds = featurizer.kinds();
  try {
    return quorate::simulate(train, tested ? &test : nullptr, tasks, run);
  } catch (const DataError& e) {
    throw DataError(path.empty() ? e.what() : path + ": " + e.what());
  }
}

}  // namespace quorate
