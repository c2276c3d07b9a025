// What the commands share: options of the data, results, progress, Ctrl-C.
#pragma once
#include <CLI/CLI.hpp>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>

#include "quorate/base/counted.h"
#include "quorate/experiments/measures.h"
#include "quorate/model/reduction.h"
#include "quorate/model/report.h"
#include "quorate/params/spec.h"
#include "quorate/session/label_budget.h"
#include "quorate/stream/featurize.h"
#include "quorate/stream/formats.h"
#include "quorate/stream/labels.h"

namespace quorate {
struct Model;
}

namespace quorate::cli {

/// The learner of a command without --learner.
inline constexpr const char* kDefaultLearner = "cohort";

/// What a command returns to the shell.
enum Exit { kDone = 0, kBadData = 1, kBadUsage = 2, kFileTrouble = 3, kNoMemory = 4, kInterrupted = 130 };

/// A command: its options are added to `app`; the function runs it.
using Command = std::function<int()>;
Command add_simulate(CLI::App& app);
Command add_compare(CLI::App& app);
Command add_tune(CLI::App& app);
Command add_train(CLI::App& app);
Command add_predict(CLI::App& app);
Command add_evaluate(CLI::App& app);
Command add_inspect(CLI::App& app);
Command add_labels(CLI::App& app);
Command add_rebuild(CLI::App& app);
Command add_convert(CLI::App& app);
Command add_look(CLI::App& app);
Command add_generate(CLI::App& app);
Command add_serve(CLI::App& app);  // these four with QUORATE_SERVER only
Command add_work(CLI::App& app);
Command add_journal(CLI::App& app);
Command add_label(CLI::App& app);
Command add_labelstudio(CLI::App& app);
Command add_describe(CLI::App& app);
Command add_help(CLI::App& app);
Command add_version(CLI::App& app);
Command add_completion(CLI::App& app);
Command add_man(CLI::App& app);

/// Options of reading a file.
struct DataOptions {
  ReadOptions read;
  std::string on_error = "stop";

  void add(CLI::App& app, bool with_cache = true);
  ReadOptions options() const;  ///< read, with on_error in it
  /// The same for examples of these settings: where they cannot be cached, warns and leaves --cache out.
  ReadOptions options(const FeatureSettings& features) const;
};

/// Options of making instances of records.
struct FeatureOptions {
  FeatureSettings settings;
  std::string positive;

  void add(CLI::App& app);
};

/// Options of a problem of many classes.
struct ClassOptions {
  std::string reduction;  ///< empty: labels are binary
  bool no_users = false;  ///< tasks of the data are not looked at

  void add(CLI::App& app);
  explicit operator bool() const { return !reduction.empty(); }
  /// Labels by these options and --positive. Without `known` classes, every class is new. Throws UsageError for both.
  Labels labels(const FeatureOptions& features, ClassNames known = {}) const;
  /// `users`: the data name any. Throws DataError: fewer than two classes in the file at `path`, or several labels in one.
  Reduction make(const ClassNames& names, bool users, const std::string& path) const;
};

/// stop_requested() after Ctrl-C, SIGTERM or SIGHUP (unless ignored, as by nohup). A second Ctrl-C or SIGTERM ends the
/// process at once.
std::stop_token interrupt();
/// From now on a closed pipe (SIGPIPE) interrupts in the same way.
void interrupt_on_closed_pipe();

/// Thrown by work that has written nothing, once interrupt() is requested.
struct Interrupted : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A file of a command, and the option that names it.
struct NamedFile {
  std::string option, path;
};
/// The file of examples that an option names: as find_data() finds it, or "-". Throws FileError.
NamedFile data_file(const std::string& option, const std::string& path);
/// The files that a learner's parameters name, as graph=edges(file=pairs.csv). Throws UsageError.
std::vector<NamedFile> files_of_learner(const std::string& learner);
/// All files in a folder; none if there is no such folder.
std::vector<NamedFile> files_in(const std::string& option, const std::string& folder);
/// Throws UsageError if the file to write is one of the files to read. For every command that writes a file, before it reads
/// any. An empty path is written to by nothing.
void check_output(const NamedFile& out, const std::vector<NamedFile>& inputs);

/// The options --quiet and --progress.
struct ProgressOptions {
  bool quiet = false;
  std::string how = "auto";

  void add(CLI::App& app);
};

/// Reports progress on standard error a few times a second: on a terminal as a line that is rewritten, elsewhere nothing;
/// with --progress lines as JSON lines, {"fraction": 0.31, "examples": 1234}, the last one when the work has ended.
class Progress {
 public:
  /// `fraction`: of the work done, 0 to 1, or negative if unknown (null in JSON). `count`: examples so far. Both are called
  /// from another thread. `results_on_terminal`: results go to standard output, so no line is rewritten between them.
  Progress(const ProgressOptions& options, std::function<double()> fraction, std::function<std::uint64_t()> count,
           bool results_on_terminal = false);
  /// Of an experiment.
  Progress(const ProgressOptions& options, const WorkDone& done)
      : Progress(
            options, [&] { return done.fraction(); }, [&] { return done.examples.load(); }) {}
  ~Progress();

 private:
  void rewrite(bool last);
  void line();

  std::function<double()> fraction_;
  std::function<std::uint64_t()> count_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::jthread thread_;
};

/// The fraction of the file at `path` that was read, given the bytes `consumed`; negative if its size is unknown, as for
/// standard input.
std::function<double()> share_read(const std::string& path, const std::atomic<std::uint64_t>& consumed);

/// Reports the number of skipped lines, and the first error, and what was left out, on standard error.
void report_skipped(const std::string& path, std::uint64_t skipped, const std::string& first,
                    const std::string& left_out = "");
/// `data`: a RecordReader or Examples.
template <class Data>
void report_skipped(const Data& data) {
  report_skipped(data.path(), data.skipped(), data.first_skipped(), data.left_out());
}

/// Counts the examples whose task a model does not know.
class UnknownTasks {
 public:
  /// An example of this task, kOnlyTask if it has none, which has this place in the model.
  void add(std::string_view task, Task place);
  std::uint64_t examples() const { return unknown_; }
  /// What there is to say of all that were added; "" if nothing.
  std::string warning(const Model& model) const;

 private:
  std::uint64_t all_ = 0, named_ = 0, unknown_ = 0;
  std::string first_;  // of the unknown ones
};

/// "93.4 %", or "-" for NaN and infinity.
std::string percent(double value);

/// Rows of cells in columns; the first column left-aligned, the others right-aligned.
std::string table(const std::vector<std::vector<std::string>>& rows);
/// The same, every column left-aligned.
std::string left_table(const std::vector<std::vector<std::string>>& rows);

/// A check for options: a whole number from `least` to `most`.
CLI::Validator whole(std::uint64_t least, std::uint64_t most = std::numeric_limits<std::uint64_t>::max());

/// For a model with a memory limit: from now on memory of a freed array of 128 KB or more goes back to the machine. By
/// default glibc keeps more and more of it, as holes between arrays that grow, and the process exceeds the limit (by 7 MB of
/// 16 in a kernel learner). Without a limit that is worth its speed: training would take 6 % longer.
void free_large_arrays_at_once(const Model& model);

/// "1,500 examples of 12 tasks"; with classes "1,500 instances, 4,500 examples of 36 tasks (12 users)".
std::string examples_text(const Model& model);

/// What audits say, in lines. `names`: Labels::names.
std::string audit_text(const AuditReport& audit, const std::vector<std::string>& names);
/// Throws UsageError: `option` needs a model that has one.
void check_has_threshold(const Model& model, const std::string& path, const std::string& option);
/// "always ham: 91.6 %".
std::string always_text(const std::string& name, double share);

/// "0.913 [0.880, 0.938]", or "-" without examples.
std::string interval(const Estimate& estimate);

}  // namespace quorate::cli
