// Simulates workers (quorate work) that judge a stream by the log of one desk, beside a desk that gets every example.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "quorate/experiments/experiment_data.h"
#include "quorate/experiments/measures.h"
#include "quorate/stream/record.h"

namespace quorate {

/// Labelled examples in memory, as lines that a desk takes. Add all of them, then call simulate_workers(). Several threads
/// may call const members.
class DeskExamples {
 public:
  /// `settings`: of the desk; `positive`: the word for +1, or empty; `classes`: the kind of their reduction. Tasks of the
  /// data are users then.
  explicit DeskExamples(const FeatureSettings& settings = {}, const std::string& positive = "",
                        Reduction::Kind classes = Reduction::Kind::kNone)
      : features(settings),
        classes_(classes),
        labels_(classes == Reduction::Kind::kNone ? Labels(positive) : Labels::of_classes({}, true)) {}

  /// Adds the examples of a file; `tested`: all of them to the test set, once the examples to learn from are added. Ends
  /// early once options.stop is requested. Throws as RecordReader; DataError for an example to learn from without a label,
  /// and for an option that names what no line has.
  ExperimentData::Skipped read(const std::string& file, const ReadOptions& options, bool tested = false);

  std::size_t to_learn() const { return learn_; }  ///< number of examples that are in no file to test on; they come first
  std::size_t size() const { return lines_.size(); }
  /// JSON with a newline, as `quorate convert --to jsonl` writes it; its id is `i`, and its label is left out.
  const std::string& line(std::size_t i) const { return lines_[i]; }
  Label label(std::size_t i) const { return label_[i]; }
  Task task(std::size_t i) const { return task_[i]; }  ///< its index in `tasks`
  const Labels& labels() const { return labels_; }
  /// Of all labels that were read. Throws DataError for fewer than two classes.
  Reduction reduction() const {
    return classes_ == Reduction::Kind::kNone ? Reduction() : Reduction(classes_, labels_.names(), true);
  }
  bool weighed() const { return weighed_; }  ///< whether an example has another weight than 1

  std::string path;  ///< of the examples to learn from, for messages; set by read()
  NameTable tasks;
  FeatureSettings features;

 private:
  std::string line_of(Record& record, RecordWriter& writer) const;

  Reduction::Kind classes_;
  Labels labels_;
  std::vector<std::string> lines_;
  std::vector<Label> label_;
  std::vector<Task> task_;
  std::size_t learn_ = 0;
  bool weighed_ = false, with_x_ = false, without_x_ = false;
};

struct WorkersOptions {
  std::uint64_t workers = 1;          ///< at least 1
  std::uint64_t share_examples = 64;  ///< WorkerOptions::share_examples
};

/// A run of one desk, or of workers and their desk.
struct WorkersRun {
  std::uint64_t seed = 0;
  Measures test = {};         ///< of the desk's model at the end, on the test set
  std::uint64_t labels = 0;   ///< bought
  std::uint64_t shared = 0;   ///< examples that reached the desk, with a question or without
  std::uint64_t refused = 0;  ///< questions of workers that the desk refused
  std::uint64_t model = 0;    ///< hash64 of the desk's model at the end
};
NamedMeasures measures(const WorkersRun& run);

struct WorkersResult {
  Spec learner;  ///< canonical
  LabelLimits limits;
  bool pace_even = false;
  WorkersOptions workers;
  std::uint64_t delay = 0;
  std::size_t tasks = 0, examples = 0;                       ///< examples: learned from in each run
  std::vector<WorkersRun> one_desk = {}, with_workers = {};  ///< by run; the same splits and orders in both
  bool interrupted = false;                                  ///< stopped before the end; both are then empty
};

/// A measure's means over the runs, and the mean over the runs of its value with workers minus that of one desk, with the
/// standard error. NaN without enough runs.
struct WorkersCompared {
  double one_desk, with_workers, difference, error;
};
WorkersCompared compared(const WorkersResult& result, std::string_view measure);

/// For each run, twice: one desk that gets every example of the run and asks about it, and a desk whose questions come from
/// workers. Each example goes to a worker drawn at random, which judges it by a replica of the desk and sends what it asks
/// and shares at once. The labels of the data answer all questions at once. A record of the desk's log reaches the workers
/// after `run.delay` further examples of all. Nothing else is asked about: the desk has no pool of examples.
///
/// Run r has the splits and orders of simulate() with the same options; of `run` it uses learner, learning, delay, runs,
/// threads, the split, in_order, progress and stop. The result does not depend on run.threads. Throws UsageError: other
/// options of `run` that are set, a setting that workers cannot follow, no test set; DataError: an example that the desk
/// cannot use; MemoryError.
WorkersResult simulate_workers(const DeskExamples& data, const SimulateOptions& run, const WorkersOptions& workers);
/// Throws UsageError for options of `run` with which workers cannot be simulated, whatever the data.
void check_workers(const SimulateOptions& run);

/// The document of `quorate simulate --workers N --json`.
Json document(const WorkersResult& result);

}  // namespace quorate
