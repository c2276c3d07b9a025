#include "common.h"

#include <signal.h>
#include <unistd.h>

#include <charconv>
#include <cmath>
#include <condition_variable>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <mutex>

#include "quorate/base/error.h"
#include "quorate/base/number.h"

namespace quorate::cli {
namespace {

std::atomic<int> interrupted = 0;  // lock-free, so a handler may write it

void on_signal(int signal_number) {
  if (interrupted != 0) _exit(kInterrupted);
  interrupted = signal_number;
}

/// Waits so long, or until the end is asked for: nobody waits for a thread that sleeps. Returns whether it was.
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

void DataOptions::add(CLI::App& app) {
  app.add_option("--format", read.format, "csv, jsonl, svmlight or vw; default: by the ending of the name");
  app.add_option("--task-column", read.task, "column, JSON key or VW namespace that names the task (default: task)");
  app.add_option("--label-column", read.label, "column or JSON key of the label (default: label)");
  app.add_option(
      "--time-column", read.time,
      "column, JSON key or VW namespace of the example's time: seconds since 1970, or a date as 2026-11-21 or "
      "2026-11-21T13:15:00Z (default: none, a column called time is a feature; SVMlight: time:TIME, always read)");
  app.add_option("--id-column", read.id, "column or JSON key of the example's id (default: id)");
  app.add_option("--text-column", read.text, "column or JSON key of raw text (default: text)");
  app.add_option("--categorical-column", read.categorical, "CSV column whose values are words; may be given several times");
  app.add_option("--ignore-column", read.ignore, "CSV column to leave out; may be given several times");
  app.add_option("--on-error", on_error, "stop at a bad line, or skip it and say how many at the end")
      ->check(CLI::IsMember({"stop", "skip"}))
      ->capture_default_str();
}

void DataOptions::add_cache(CLI::App& app) {
  app.add_option(
      "--cache", read.cache,
      "folder: keeps the file's instances there, and takes them from there when they are wanted again; as fast as "
      "a disk, but larger than text. Delete it whenever you like");
}

ReadOptions DataOptions::options() const {
  ReadOptions out = read;
  out.stop = interrupt();
  out.skip_bad_lines = on_error == "skip";
  return out;
}

void FeatureOptions::add(CLI::App& app) {
  app.add_option("--positive", positive, "the label that means +1; every other label means -1");
  app.add_option("--bits", settings.bits, "hash names and words to 2^BITS features; 0 keeps every name")
      ->check(whole(0, 31))
      ->capture_default_str();
  app.add_flag("--bigrams", settings.bigrams, "text: pairs of neighbouring words too");
  app.add_flag("--binary", settings.binary, "text: a word counts once however often it comes");
  app.add_flag_callback(
      "--no-bias", [this] { settings.bias = false; }, "leave out the constant feature");
  app.add_flag_callback(
      "--no-normalize", [this] { settings.normalize = false; }, "do not scale examples to unit length");
}

bool FeatureOptions::given(const CLI::App& app) const {
  for (const char* name : {"--positive", "--bits", "--bigrams", "--binary", "--no-bias", "--no-normalize"})
    if (app.get_option(name)->count() > 0) return true;
  return false;
}

void ClassOptions::add(CLI::App& app) {
  app.add_option("--classes", reduction,
                 "labels are two or more classes, learned as binary tasks over the same instances, a task for each class or "
                 "each pair; tasks that the data name are not looked at")
      ->check(CLI::IsMember({to_text(Classes::Reduction::kOneVsRest), to_text(Classes::Reduction::kOneVsOne)}));
}

Labels ClassOptions::labels(const FeatureOptions& features, ClassNames known) const {
  if (reduction.empty()) return Labels(features.positive);
  if (!features.positive.empty()) throw UsageError("--classes and --positive: expected one of them");
  const bool grow = known.names().empty();
  return Labels::of_classes(std::move(known), grow);
}

Classes ClassOptions::classes(const ClassNames& names) const {
  const auto how = reduction_named(reduction);
  if (!how) throw UsageError("classes " + quoted_value(reduction) + "; expected one-vs-rest or one-vs-one");
  return {*how, names.names()};
}

std::stop_token interrupt() {
  static std::stop_source source;
  [[maybe_unused]] static const bool installed = [] {
    struct sigaction action {};
    action.sa_handler = on_signal;
    return sigaction(SIGINT, &action, nullptr) == 0 && sigaction(SIGTERM, &action, nullptr) == 0;
  }();
  static const std::jthread watcher([](const std::stop_token& end) {
    do {  // a handler may not touch a stop_source, so somebody looks
      if (interrupted != 0) source.request_stop();
    } while (!ends_within(end, std::chrono::milliseconds(20)));
  });
  return source.get_token();
}

void ProgressOptions::add(CLI::App& app) {
  CLI::Option* none = app.add_flag("--quiet", quiet, "no progress");
  app.add_option(
         "--progress", how,
         "auto: a line on standard error if that is a terminal; lines: for programs, a JSON line a few times a second, "
         "{\"fraction\": 0.31, \"examples\": 1234}")
      ->check(CLI::IsMember({"auto", "lines"}))
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
  std::string line = grouped(count) + " examples, " +
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

void report_skipped(const std::string& path, std::uint64_t skipped, const std::string& first) {
  if (skipped == 0) return;
  std::fprintf(stderr, "quorate: %s: %s bad lines skipped; the first: %s\n", path.c_str(), grouped(skipped).c_str(),
               first.c_str());
}

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

std::string percent(double value) {
  if (!std::isfinite(value)) return "-";
  char out[32];
  std::snprintf(out, sizeof out, "%.1f %%", 100 * value);
  return out;
}

std::string grouped(std::uint64_t value) {
  std::string out = std::to_string(value);
  for (std::size_t at = out.size(); at > 3; at -= 3) out.insert(at - 3, ",");
  return out;
}

std::string table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> width;
  for (const auto& row : rows)
    for (std::size_t c = 0; c < row.size(); ++c) {
      if (c == width.size()) width.push_back(0);
      width[c] = std::max(width[c], row[c].size());
    }
  std::string out;
  for (const auto& row : rows) {
    for (std::size_t c = 0; c < row.size(); ++c) {
      const std::string fill(width[c] - row[c].size(), ' ');
      if (c > 0) out += "  " + fill;
      out += row[c];
      if (c == 0 && row.size() > 1) out += fill;
    }
    out += "\n";
  }
  return out;
}

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

void add_label_limits(CLI::App& app, LabelLimits& limits) {
  const auto check = [](const std::string& text) {
    try {
      LabelLimits().add(text);
      return std::string();
    } catch (const UsageError& e) {
      return std::string(e.what());
    }
  };
  app.add_option_function<std::vector<std::string>>(
         "--labels",
         [&limits](const std::vector<std::string>& texts) {
           for (const std::string& text : texts) try {
               limits.add(text);
             } catch (const UsageError& e) {
               throw CLI::ValidationError("--labels", e.what());
             }
         },
         "most labels to buy, a hard limit: 500 in all, 50/1000 in any so many examples, or 20/day (second, minute, hour, "
         "day, week) by --time-column; may be given twice, for a total and a rate (default: none)")
      ->check(CLI::Validator(check, ""))
      ->allow_extra_args(false);
  app.add_option("--labels-per-task", limits.per_task, "most labels to buy for each task, a hard limit (default: none)")
      ->check(whole(0));
}

void add_pace(CLI::App& app, bool& even) {
  app.add_option_function<std::string>(
         "--pace", [&even](const std::string& pace) { even = pace == "even"; },
         "even: spend the labels in all evenly over the examples, by moving the b of the learner's query rule; default: as "
         "the rule asks (a rate moves b by itself)")
      ->check(CLI::IsMember({"even"}));
}

Json limits_json(const LabelLimits& limits, bool even) {
  const auto number_or_null = [](std::uint64_t n) { return n == LabelLimits::kNone ? Json(nullptr) : Json(n); };
  return {{"total", number_or_null(limits.total)},
          {"rate", limits.rate ? Json(to_text(*limits.rate)) : Json(nullptr)},
          {"per_task", number_or_null(limits.per_task)},
          {"pace", even ? Json("even") : Json(nullptr)}};
}

void add_audit(CLI::App& app, double& share) {
  app.add_option("--audit", share,
                 "share of the labels, as 0.1, that is bought at random and used for nothing but to estimate the true "
                 "accuracy; a limit is for both together")
      ->check(CLI::Validator(
          [](const std::string& text) {
            const auto value = parse_number<double>(text);
            const bool good = value && *value > 0 && *value < 1;
            return good ? std::string() : quoted_value(text) + "; expected a number above 0 and below 1";
          },
          ""));
}

Json audit_json(const Audit* audit) {
  if (audit == nullptr) return nullptr;
  const auto of = [](const Accuracy& a) {
    return Json{{"accuracy", number(a.value)}, {"low", number(a.low)}, {"high", number(a.high)}, {"audits", a.audits}};
  };
  return {{"share", audit->share()},
          {"labels", audit->bought()},
          {"stream", of(audit->stream())},
          {"recent", of(audit->recent())}};
}

std::string interval(const Accuracy& accuracy) {
  if (!std::isfinite(accuracy.value)) return "-";
  char out[64];
  std::snprintf(out, sizeof out, "%.3f [%.3f, %.3f]", accuracy.value, accuracy.low, accuracy.high);
  return out;
}

CLI::Option* add_memory_limit(CLI::App& app, std::size_t& limit) {
  const auto in_bytes = [](std::string& text) -> std::string {
    static constexpr std::pair<std::string_view, double> kUnits[] = {
        {"", 1}, {"B", 1}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"KiB", 0x1p10}, {"MiB", 0x1p20}, {"GiB", 0x1p30}};
    double value = 0;
    const auto r = std::from_chars(text.data(), text.data() + text.size(), value);
    for (const auto& [unit, bytes] : kUnits)
      if (r.ec == std::errc{} && value * bytes >= 1 && value * bytes < 1e18 && unit == std::string_view(r.ptr)) {
        text = std::to_string(static_cast<std::uint64_t>(value * bytes));
        return "";
      }
    return quoted_value(text) + "; expected a number of bytes, or one with KB, MB, GB, KiB, MiB or GiB";
  };
  return app
      .add_option(
          "--memory", limit,
          "bytes that a model never exceeds, as in 8MB (KB, MB, GB; KiB, MiB, GiB): budget-* learners forget, cohort "
          "takes tables that fit, others stop with an error (default: no limit)")
      ->transform(CLI::Validator(in_bytes, "SIZE"));
}

}  // namespace quorate::cli
