// What the commands share: options of the data, results, progress, Ctrl-C.
#pragma once
#include <CLI/CLI.hpp>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <stop_token>
#include <string>
#include <thread>

#include "quorate/engine/classes.h"
#include "quorate/engine/label_budget.h"
#include "quorate/experiments/simulate.h"
#include "quorate/params/spec.h"
#include "quorate/stream/featurize.h"
#include "quorate/stream/formats.h"
#include "quorate/stream/labels.h"

namespace quorate::cli {

using Json = nlohmann::ordered_json;

/// The learner of a command that is not told which.
inline constexpr const char* kDefaultLearner = "cohort";

/// What a command returns to the shell.
enum Exit { kDone = 0, kBadData = 1, kBadUsage = 2, kFileTrouble = 3, kInterrupted = 130 };

/// A command: its options are added to `app`; the function runs it.
using Command = std::function<int()>;
Command add_simulate(CLI::App& app);
Command add_compare(CLI::App& app);
Command add_tune(CLI::App& app);
Command add_reproduce(CLI::App& app);
Command add_train(CLI::App& app);
Command add_predict(CLI::App& app);
Command add_inspect(CLI::App& app);
Command add_convert(CLI::App& app);
Command add_generate(CLI::App& app);
Command add_describe(CLI::App& app);

/// Options that say how a file is read.
struct DataOptions {
  ReadOptions read;
  std::string on_error = "stop";

  void add(CLI::App& app);
  void add_cache(CLI::App& app);
  ReadOptions options() const;  ///< read, with on_error in it
};

/// Options that say how records become instances.
struct FeatureOptions {
  FeatureSettings settings;
  std::string positive;

  void add(CLI::App& app);
  bool given(const CLI::App& app) const;  ///< whether any of them was
};

/// Options of a problem of many classes.
struct ClassOptions {
  std::string reduction;  ///< empty: labels are binary

  void add(CLI::App& app);
  explicit operator bool() const { return !reduction.empty(); }
  /// Labels as these options and --positive say; classes may be new unless some are `known`. Throws UsageError for both.
  Labels labels(const FeatureOptions& features, ClassNames known = {}) const;
  Classes classes(const ClassNames& names) const;  ///< throws UsageError: no such reduction
};

/// stop_requested() once the user pressed Ctrl-C (or the process was asked to terminate). A second time ends it at once.
std::stop_token interrupt();

/// The options --quiet and --progress.
struct ProgressOptions {
  bool quiet = false;
  std::string how = "auto";

  void add(CLI::App& app);
};

/// Tells on standard error, a few times a second while work goes on, how far it is: on a terminal as a line that is
/// rewritten, and nothing if it is none; with --progress lines as JSON, {"fraction": 0.31, "examples": 1234} on a line of
/// its own, the last one when the work has ended.
class Progress {
 public:
  /// `fraction`: how much is done, 0 to 1, or negative if unknown (null in JSON). `count`: examples so far. Both are called
  /// from another thread. `results_on_terminal`: the results go to standard output, so a line to rewrite would be in their
  /// way.
  Progress(const ProgressOptions& options, std::function<double()> fraction, std::function<std::uint64_t()> count,
           bool results_on_terminal = false);
  ~Progress();

 private:
  void rewrite(bool last);
  void line();

  std::function<double()> fraction_;
  std::function<std::uint64_t()> count_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::jthread thread_;
};

/// How much of the file at `path` has been read, by the bytes of it that are `consumed`; negative if its size is not known,
/// as of standard input.
std::function<double()> share_read(const std::string& path, const std::atomic<std::uint64_t>& consumed);

/// Tells on standard error how many bad lines were passed over, and the first of them.
void report_skipped(const std::string& path, std::uint64_t skipped, const std::string& first);
/// `data`: a RecordReader or Examples.
template <class Data>
void report_skipped(const Data& data) {
  report_skipped(data.path(), data.skipped(), data.first_skipped());
}

/// JSON's null for what is not a number.
Json number(double value);

/// "93.4 %", or "-" for what is not a number.
std::string percent(double value);

/// 12,345,678
std::string grouped(std::uint64_t value);

/// Rows of cells in columns; the first column left-aligned, the others right-aligned.
std::string table(const std::vector<std::vector<std::string>>& rows);

/// A check for options: a whole number from `least` to `most`.
CLI::Validator whole(std::uint64_t least, std::uint64_t most = std::numeric_limits<std::uint64_t>::max());

/// The options --labels (a total, a rate, or both) and --labels-per-task.
void add_label_limits(CLI::App& app, LabelLimits& limits);
/// The option --pace.
void add_pace(CLI::App& app, bool& even);
/// {"total": 500, "rate": "50/1000", "per_task": null, "pace": "even"}
Json limits_json(const LabelLimits& limits, bool even);

/// The --audit option: a share of the labels, 0 for none.
void add_audit(CLI::App& app, double& share);

/// Null without an audit.
Json audit_json(const Audit* audit);

/// "0.913 [0.880, 0.938], 95 %", or "-" without audits.
std::string interval(const Accuracy& accuracy);

/// The --memory option: bytes, or a number with KB, MB, GB (thousands) or KiB, MiB, GiB.
CLI::Option* add_memory_limit(CLI::App& app, std::size_t& limit);

}  // namespace quorate::cli
