// Simulates learning with labels on demand: the labels of the data are hidden until the learner asks for them.
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "quorate/experiments/annotator.h"
#include "quorate/metrics/metrics.h"
#include "quorate/model/learning_options.h"
#include "quorate/model/model.h"
#include "quorate/model/quality.h"
#include "quorate/model/reduction.h"
#include "quorate/model/rounds.h"
#include "quorate/params/spec.h"
#include "quorate/stream/dataset.h"

namespace quorate {

/// One example of one task in one run, for traces.
struct TraceLine {
  std::uint64_t run, pass, round, example;  ///< round: of the run; example: its place in the data; both from 0
  Task task;
  Outcome outcome;
  bool late = false;  ///< an answer that came after this round; the outcome is that of the round that asked
  std::optional<std::size_t> support_vectors = {};  ///< Session::support_vectors() after the round
};

struct SimulateOptions {
  Spec learner;
  /// Of each run; the seed of run r is `seed` + r. A pace is that of the run's own length; keep_labels is ignored.
  /// ExperimentData::simulate takes a share of the examples of a pass for labels, too.
  LearningOptions learning;
  std::optional<StopRule> stop_when;  ///< ends a run; needs an audit
  std::optional<double> forecast;     ///< accuracy to forecast the number of labels for; needs an audit
  Delay delay;                        ///< of the answers; those due after the end of a run are not learned from
  /// `tasks` are its own if it is not by_task(): then those of the data are ignored.
  Reduction reduction;
  FeatureKinds kinds;  ///< of the data's features
  std::uint64_t runs = 1, passes = 1, threads = 1;
  std::uint64_t train_per_task =
      0;                    ///< > 0: per run, that many examples of each task at random; the others are the test set
  double test_share = 0;    ///< > 0: per run, that share of the examples at random is the test set; in_order: the last ones
  bool in_order = false;    ///< in the data's order, never shuffled: for streams that drift
  double share = 1;         ///< of the examples to learn from, the first in a shuffled order; 0 < share <= 1
  std::uint64_t folds = 0;  ///< > 1: cross-validation; run r tests on a folds-th part and learns from the others
  bool per_task = false;
  std::function<void(const TraceLine&)> trace;     ///< called in order, run by run
  std::atomic<std::uint64_t>* progress = nullptr;  ///< counts examples
  std::stop_token stop;                            ///< ends all runs after the current example

  static constexpr auto fields() {
    using O = SimulateOptions;
    return std::tuple{
        Field{&O::train_per_task, "train-per-task", Interval{1, 1e9},
              "learn from N random examples of each task (or class) in each run, and test on the others", ""},
        Field{&O::test_share, "test-share", Interval{0, 1, true, true},
              "test on this share of the examples, drawn anew in each run (with in-order: the last ones), and learn from "
              "the others",
              ""},
        Field{&O::runs, "runs", Interval{1, 1e6}, "number of runs, each with its own seed, order and split", ""},
        Field{&O::passes, "passes", Interval{1, 1e9}, "passes of each run over the data", ""},
        Field{&O::in_order, "in-order", kAny, "keep the file's order, for streams that drift", ""},
        Field{&O::threads, "threads", Interval{1, 1024}, "runs at the same time; results do not depend on it", ""}};
  }
};

/// Test-set measures and counts of the run. Of a task: the same, restricted to its examples. Of classes as a whole: of the
/// class predicted from all tasks; of one of their tasks: of its examples for which the answer is not "neither"; of a user:
/// of the class predicted from all of the user's tasks.
struct RunTotals {
  Measures test;                                      ///< NaN without a test set
  double progressive_f1;                              ///< of the predictions made before learning
  std::uint64_t mistakes, labels, updates, examples;  ///< mistakes: wrong predictions before learning
};

struct RunResult {
  std::uint64_t seed;
  RunTotals all;
  double seconds;  ///< learning and testing
  std::size_t model_bytes, peak_bytes;
  std::vector<RunTotals> per_task;   ///< if asked for; with users and classes, of each user
  ClassConfusion test, progressive;  ///< of classes: on the test set, and before learning
  /// The results of an audit: quality of the model at the end, and of the predictions made as each example arrived.
  struct Audited {
    Audit audit;
    Quality now;
    std::optional<Forecast> forecast;
  };
  std::optional<Audited> audit;
  Reliability reliability;                    ///< of probabilities on the test set; empty if the learner gives none
  bool stopped = false;                       ///< by stop_when
  bool late = false;                          ///< whether answers had a delay
  std::uint64_t pending = 0, unanswered = 0;  ///< labels asked for: not answered at the end; never answered
};
struct SimulateResult {
  Spec learner;  ///< canonical
  Rounds rounds;
  std::size_t tasks, features, examples;  ///< tasks: with users, of all of them; examples: learned from in each run and pass
  std::vector<RunResult> runs;
  bool interrupted = false;  ///< stopped before the end; runs is then empty
};

/// Examples that a run learns from in each pass, of the data's `available`.
std::size_t examples_to_learn(std::size_t available, std::size_t tasks, const SimulateOptions& options);

/// Learns from `train`, and tests on `test`, on the examples that train_per_task, test_share or folds leaves, or not at all.
/// Run r has the seed options.learning.seed + r: it decides the split and the order (stream 0) and the learner's draws
/// (stream 1), so that two learners see the same splits and orders. The result does not depend on options.threads. `tasks`
/// names the tasks of both sets. With classes, train_per_task counts the examples of each class. Throws UsageError,
/// DataError (a task with too few examples), and as make_learner.
SimulateResult simulate(const Dataset& train, const Dataset* test, const NameTable& tasks, const SimulateOptions& options);

}  // namespace quorate
