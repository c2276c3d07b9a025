#include "common.h"

#include <signal.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <algorithm>
#include <charconv>
#include <cmath>
#include <condition_variable>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <mutex>

#include "help.h"
#include "options.h"
#include "quorate/base/error.h"
#include "quorate/base/number.h"
#include "quorate/base/portable_math.h"
#include "quorate/learner.h"
#include "quorate/model/model.h"
#include "quorate/store/files.h"

namespace quorate::cli {
namespace {

std::atomic<int> interrupted = 0;  // lock-free, so a handler may write it

void on_signal(int signal_number) {
  const auto by_user = [](int signal) { return signal == SIGINT || signal == SIGTERM; };
  if (by_user(interrupted) && by_user(signal_number)) _exit(kInterrupted);
  interrupted = signal_number;
}

bool handle(int signal_number) {
  struct sigaction action {};
  action.sa_handler = on_signal;
  return sigaction(signal_number, &action, nullptr) == 0;
}

bool ignored(int signal_number) {
  struct sigaction action {};
  return sigaction(signal_number, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

/// Sleeps, but no longer than until a stop is requested. Returns whether it was.
bool ends_within(const std::stop_token& end, std::chrono::milliseconds time) {
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  never.wait_for(lock, end, time, [] { return false; });
  return end.stop_requested();
}

std::string duration(double seconds) {
  char out[32];
  if (seconds < 100)
    std::snprintf(out, sizeof out, "%.0f s", seconds);
  else if (seconds < 6000)
    std::snprintf(out, sizeof out, "%.0f min", seconds / 60);
  else
    std::snprintf(out, sizeof out, "%.1f h", seconds / 3600);
  return out;
}

}  // namespace

void DataOptions::add(CLI::App& app, bool with_cache) {
  const InGroup group(app, kReading);
  if (with_cache)
    add_options(app, read);
  else
    add_options(app, read, {"cache"});
  choose(app.get_option("--format"), names_of_formats());
  if (with_cache) app.get_option("--cache")->type_name("FOLDER");
  choose(app.add_option("--on-error", on_error, "stop at a bad line, or skip it and report the number of skipped lines"),
         {"stop", "skip"})
      ->capture_default_str();
}

ReadOptions DataOptions::options() const {
  ReadOptions out = read;
  out.stop = interrupt();
  out.skip_bad_lines = on_error == "skip";
  return out;
}

ReadOptions DataOptions::options(const FeatureSettings& features) const {
  ReadOptions out = options();
  if (!out.cache.empty() && features.bits == 0) {
    std::cerr << "quorate: --cache has no effect with --bits 0\n";
    out.cache.clear();
  }
  return out;
}

void FeatureOptions::add(CLI::App& app) {
  app.add_option("--positive", positive, "label that means +1; every other label means -1")->type_name("LABEL");
  const InGroup group(app, kFeatures);
  add_options(app, settings);
}

void ClassOptions::add(CLI::App& app) {
  choose(app.add_option(
             "--classes", reduction,
             "labels are two or more classes, learned as binary tasks over the same instances: one for each class or each "
             "pair; if the data name tasks, each of these users has its own tasks, and classes are shared by all"),
         {"one-vs-rest", "one-vs-one"});
  const InGroup group(app, kReading);
  app.add_flag("--no-users", no_users, "with --classes: ignore the tasks that the data name");
}

Labels ClassOptions::labels(const FeatureOptions& features, ClassNames known) const {
  if (reduction.empty()) return Labels(features.positive);
  if (!features.positive.empty()) throw UsageError("--classes and --positive: expected one of them");
  const bool grow = known.names().empty();
  return Labels::of_classes(std::move(known), grow);
}

Reduction ClassOptions::make(const ClassNames& names, bool users, const std::string& path) const {
  if (reduction.empty()) return {};
  try {
    check_one_label_each(names.names());
    return {value_named<Reduction::Kind>(reduction).value(), names.names(), users && !no_users};
  } catch (const DataError& e) {
    throw DataError(path + ": " + e.what());
  }
}

std::stop_token interrupt() {
  static std::stop_source source;
  [[maybe_unused]] static const bool installed = handle(SIGINT) && handle(SIGTERM) && (ignored(SIGHUP) || handle(SIGHUP));
  static const std::jthread watcher([](const std::stop_token& end) {
    do {  // a handler must not touch a stop_source, so a thread polls
      if (interrupted != 0) source.request_stop();
    } while (!ends_within(end, std::chrono::milliseconds(20)));
  });
  return source.get_token();
}

void interrupt_on_closed_pipe() { handle(SIGPIPE); }

NamedFile data_file(const std::string& option, const std::string& path) { return {option, find_data(path)}; }

std::vector<NamedFile> files_of_learner(const std::string& learner) {
  std::vector<NamedFile> out;
  const std::function<void(const Spec&)> visit = [&](const Spec& spec) {
    for (const auto& [key, value] : spec.args) {
      if (key == "file" && !value.word.empty()) out.push_back({"--learner", value.word});
      visit(value);
    }
  };
  visit(parse_spec(learner));
  return out;
}

std::vector<NamedFile> files_in(const std::string& option, const std::string& folder) {
  std::vector<NamedFile> out;
  std::error_code none;
  for (std::filesystem::recursive_directory_iterator at(folder, none), end; !none && at != end; at.increment(none))
    if (at->is_regular_file(none)) out.push_back({option, at->path().string()});
  return out;
}

void check_output(const NamedFile& out, const std::vector<NamedFile>& inputs) {
  for (const NamedFile& in : inputs)
    if (same_file(out.path, in.path))
      throw UsageError(out.option + " " + out.path + ": the same file as " + in.option + " " + in.path +
                       "; expected another name");
}

void ProgressOptions::add(CLI::App& app) {
  const InGroup group(app, kOutput);
  CLI::Option* none = app.add_flag(
      "--quiet", quiet,
      "no progress and no summary; results (tables, predictions, documents), warnings and errors are printed all the same");
  choose(app.add_option(
             "--progress", how,
             "auto: a line on standard error if it is a terminal; lines: for programs, a JSON line a few times a second, "
             "{\"fraction\": 0.31, \"examples\": 1234}"),
         {"auto", "lines"})
      ->capture_default_str()
      ->excludes(none);
}

Progress::Progress(const ProgressOptions& options, std::function<double()> fraction, std::function<std::uint64_t()> count,
                   bool results_on_terminal)
    : fraction_(std::move(fraction)), count_(std::move(count)) {
  const bool lines = options.how == "lines";
  if (options.quiet || (!lines && (results_on_terminal || isatty(STDERR_FILENO) == 0))) return;
  thread_ = std::jthread([this, lines](const std::stop_token& end) {
    for (int tick = 1; !ends_within(end, std::chrono::milliseconds(100)); ++tick) {
      if (!lines)
        rewrite(false);
      else if (tick % 2 == 0)
        line();
    }
    lines ? line() : rewrite(true);
  });
}

Progress::~Progress() {
  if (!thread_.joinable()) return;
  thread_.request_stop();
  thread_.join();
}

void Progress::line() {
  const std::uint64_t count = count_();
  const double done = fraction_();
  const Json out{{"fraction", done < 0 ? Json(nullptr) : number(std::min(done, 1.0))}, {"examples", count}};
  std::fprintf(stderr, "%s\n", out.dump().c_str());
}

void Progress::rewrite(bool last) {
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  if (seconds < 0.5) return;
  const std::uint64_t count = count_();
  std::string line = counted(count, "example") + ", " +
                     grouped(static_cast<std::uint64_t>(static_cast<double>(count) / seconds)) + " a second";
  const double done = fraction_();
  if (done > 0 && !last) line += ", " + percent(done) + " done, " + duration(seconds / done * (1 - done)) + " left";
  std::fprintf(stderr, "\r\033[K%s%s", line.c_str(), last ? "\n" : "");
  std::fflush(stderr);
}

std::function<double()> share_read(const std::string& path, const std::atomic<std::uint64_t>& consumed) {
  std::error_code unknown;
  const auto bytes = static_cast<double>(std::filesystem::file_size(path, unknown));
  if (unknown || !(bytes > 0)) return [] { return -1.0; };
  return [&consumed, bytes] { return static_cast<double>(consumed) / bytes; };
}

void report_skipped(const std::string& path, std::uint64_t skipped, const std::string& first, const std::string& left_out) {
  std::string_view rest = left_out;
  for (const char* before = "quorate: "; !rest.empty(); before = "") {  // a table has a line for each column
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    std::fprintf(stderr, "%s%s\n", before, one_line(rest.substr(0, end)).c_str());
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  if (skipped == 0) return;
  std::fprintf(stderr, "quorate: %s: %s skipped; the first: %s\n", path.c_str(), counted(skipped, "bad line").c_str(),
               first.c_str());
}

void UnknownTasks::add(std::string_view task, Task place) {
  ++all_;
  named_ += task != kOnlyTask;
  if (place != kUntracked) return;
  ++unknown_;
  if (first_.empty() && task != kOnlyTask) first_ = task;
}

std::string UnknownTasks::warning(const Model& model) const {
  if (!model.reduction.by_task() || all_ == 0) return "";
  const auto& tasks = model.session.tasks();
  const bool has_named = tasks.size() > 1 || (tasks.size() == 1 && tasks[0] != kOnlyTask);
  if (named_ == 0 && has_named) {
    const auto column = model.featurizer.schema().column_of(ColumnKind::kTask);
    return "no example says its task" + (column ? " (the model has it in " + quoted_value(*column) + ")" : "") +
           ", so all are predicted with the weights that all tasks share";
  }
  if (unknown_ == 0) return "";
  return grouped(unknown_) + " of " + grouped(all_) + " examples are of tasks that the model does not know" +
         (first_.empty() ? "" : ", as " + quoted_value(first_)) + "; they are predicted with what all tasks share";
}

std::string percent(double value) {
  if (!std::isfinite(value)) return "-";
  char out[32];
  std::snprintf(out, sizeof out, "%.1f %%", 100 * value);
  return out;
}

namespace {

std::string in_columns(std::vector<std::vector<std::string>> rows, bool left) {
  for (auto& row : rows)  // a line break of the data would break the table, an escape the terminal
    for (std::string& cell : row) cell = one_line(cell);
  const auto size_of = [](const std::string& text) {  // in characters
    return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
  };
  std::vector<std::size_t> width;
  for (const auto& row : rows)
    for (std::size_t c = 0; c < row.size(); ++c) {
      if (c == width.size()) width.push_back(0);
      width[c] = std::max(width[c], size_of(row[c]));
    }
  std::string out;
  for (const auto& row : rows) {
    for (std::size_t c = 0; c < row.size(); ++c) {
      const std::string fill(width[c] - size_of(row[c]), ' ');
      if (c > 0) out += "  " + (left ? "" : fill);
      out += row[c];
      if (left ? c + 1 < row.size() : c == 0 && row.size() > 1) out += fill;
    }
    while (out.ends_with(' ')) out.pop_back();
    out += "\n";
  }
  return out;
}

}  // namespace

std::string table(const std::vector<std::vector<std::string>>& rows) { return in_columns(rows, false); }
std::string left_table(const std::vector<std::vector<std::string>>& rows) { return in_columns(rows, true); }

CLI::Validator whole(std::uint64_t least, std::uint64_t most) {
  const std::string range = most == std::numeric_limits<std::uint64_t>::max()
                                ? " from " + std::to_string(least)
                                : " from " + std::to_string(least) + " to " + std::to_string(most);
  return CLI::Validator(
      [=](const std::string& text) {
        const auto value = parse_number<std::uint64_t>(text);
        const bool good = value && *value >= least && *value <= most;
        return good ? std::string() : quoted_value(text) + "; expected a whole number" + range;
      },
      "");
}

void free_large_arrays_at_once([[maybe_unused]] const Model& model) {
#ifdef M_MMAP_THRESHOLD
  if (model.session.memory().limited()) mallopt(M_MMAP_THRESHOLD, 128 * 1024);
#endif
}

std::string examples_text(const Model& model) {
  const Session& s = model.session;
  const std::uint64_t examples = s.total().examples;
  return (model.reduction.tasks() > 1 ? counted(examples / model.reduction.tasks(), "instance") + ", " : "") +
         counted(examples, "example") + " of " + counted(s.task_count(), "task") +
         (model.reduction.users() ? " (" + counted(s.tasks().size(), "user") + ")" : "");
}

void check_has_threshold(const Model& model, const std::string& path, const std::string& option) {
  if (model.reduction.has_classes())
    throw UsageError(option + ": " + path +
                     " was made with --classes, of which the likeliest is predicted; expected a model " +
                     "with a positive label (--positive)");
  if (!model.threshold())
    throw UsageError(option + ": " + path + " holds " + to_text(model.session.spec()) +
                     ", whose margins are not calibrated; expected a learner that is, as cohort");
}

std::string always_text(const std::string& name, double share) { return "always " + name + ": " + percent(share); }

std::string audit_text(const AuditReport& audit, const std::vector<std::string>& names) {
  const Quality& now = audit.now;
  constexpr double kTells = 0.25, kWanted = 0.1;  // half of an interval that says something, and of one to ask for
  const std::uint64_t audits = now.accuracy.examples;
  std::string out = "audit (" + counted(audit.labels, "label") + "), 95 % intervals: ";
  if (audits == 0)
    return out + (audit.scored == 0 ? "nothing measured yet\n" : "none of the audits is kept (--keep-labels)\n");
  const auto text = [&](const Estimate& of) -> std::string {
    const double half = (of.high - of.low) / 2;
    if (!(half > kTells)) return interval(of);
    const double wanted = std::ceil(static_cast<double>(audits) * (half / kWanted) * (half / kWanted));
    return interval(of) + ", too few to tell: about " + grouped(static_cast<std::uint64_t>(wanted)) + " audits would";
  };
  out += "accuracy now " + text(now.accuracy) + "; " + always_text(names[now.most_frequent], now.always) + "\n";
  now.for_each([&](const char* name, const Estimate& of) {
    if (&of == &now.accuracy || (!now.has_positive && &of != &now.balanced_accuracy)) return;
    std::string words = name;
    std::ranges::replace(words, '_', ' ');
    const std::string& which = names[1];
    if (&of == &now.recall || &of == &now.precision) words += " of " + which;
    out += "  " + words + std::string(words.size() < 24 ? 24 - words.size() : 1, ' ');
    if (of.examples > 0)
      out += text(of);
    else if (&of == &now.precision)
      out += "- (none of " + counted(audits, "audit") + " is predicted as " + which + ")";
    else
      out += "- (" + (names.size() > 2 ? "not every class" : "not both " + names[1] + " and " + names[0]) + " among " +
             counted(audits, "audit") + ")";
    out += "\n";
  });
  if (!audit.streams) return out;
  out += "  when each example came: accuracy " + interval(audit.stream) + " overall, " + interval(audit.recent) +
         " over the second half of the labels\n";
  if (audit.fell)
    out += "  the accuracy fell: " + interval(audit.earlier) + " before that half; the stream may have changed\n";
  return out;
}

std::string interval(const Estimate& estimate) {
  if (!std::isfinite(estimate.value)) return "-";
  char out[64];
  std::snprintf(out, sizeof out, "%.3f [%.3f, %.3f]", estimate.value, estimate.low, estimate.high);
  return out;
}

}  // namespace quorate::cli
