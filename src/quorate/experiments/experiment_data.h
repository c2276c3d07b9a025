// The data of an experiment in memory: examples to learn from and to test on.
#pragma once
#include <atomic>
#include <optional>
#include <string>

#include "quorate/experiments/simulate.h"
#include "quorate/stream/example_reader.h"

namespace quorate {

/// The progress of an experiment. Written by the threads of the experiment, read by another one.
struct WorkDone {
  std::atomic<std::uint64_t> examples = 0;  ///< learned from so far
  std::atomic<double> all = 1;              ///< to learn from
  double fraction() const { return static_cast<double>(examples) / all; }
};

/// Add all examples, then call finish(), then use `tasks`, `reduction`, simulate(). Several threads may call const
/// members.
class ExperimentData {
 public:
  /// `positive`: the word for +1, or empty; `classes`: the word of a Reduction::Kind, empty for binary labels. `users`: with
  /// classes, tasks of the data are users; otherwise they are ignored. Throws UsageError.
  explicit ExperimentData(const FeatureSettings& features = {}, const std::string& positive = "",
                          const std::string& classes = "", bool users = true);

  struct Skipped {
    std::string path;  ///< of the file, with its ending
    std::uint64_t lines = 0;
    std::string first;     ///< the error of the first of them
    std::string left_out;  ///< ExampleReader::left_out()
  };
  /// Adds the examples of a file to `part`, which is train or test; ends early once options.stop is requested. Throws as
  /// ExampleReader.
  Skipped read(const std::string& file, const ReadOptions& options, Dataset& part);
  /// Puts classes in order and makes tasks of them.
  void finish();

  /// The name of a task: of one of a user's, the user's.
  std::string_view task_name(Task task) const {
    return tasks[reduction.by_task() ? task / static_cast<Task>(reduction.tasks()) : task];
  }
  /// What the annotator is asked about an example of a task of classes, as Model::question.
  std::string question(Task task) const;

  /// Examples that a run with these options learns from in a pass.
  std::uint64_t examples(SimulateOptions run) const;
  /// The limits of such a run, with its share of labels as a number of them, rounded.
  LabelLimits limits(const SimulateOptions& run) const;
  /// quorate::simulate on these data.
  SimulateResult simulate(SimulateOptions run) const;

  std::string path;  ///< of the data to learn from, for messages; set by read()
  Dataset train, test;
  bool tested = false;  ///< whether there is a test set
  NameTable tasks;      ///< of the data; of the classes if there are any without users
  Reduction reduction;  ///< set by finish()
  Featurizer featurizer;
  Labels labels;

 private:
  Reduction::Kind kind_;
  bool positive_given_, users_;
};

}  // namespace quorate
