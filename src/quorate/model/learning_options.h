// The options of a learner at work, declared once: the program's flags, Python's parameters and their texts follow.
#pragma once
#include <cstdint>
#include <optional>
#include <tuple>

#include "quorate/base/byte_size.h"
#include "quorate/model/rounds.h"
#include "quorate/params/params.h"
#include "quorate/session/session.h"

namespace quorate {

enum class PaceRule { kEven };
constexpr auto words(PaceRule) { return std::array{std::pair{PaceRule::kEven, std::string_view("even")}}; }

struct LearningOptions {
  TextList labels = {};
  std::optional<std::uint64_t> labels_per_task = {};
  std::optional<PaceRule> pace = {};
  std::optional<std::uint64_t> length = {};
  double audit = 0;
  std::optional<double> audit_floor = {};
  static constexpr double kAuditFloor = 0.002;  // where audits have a share, and no floor is given
  std::optional<ByteSize> memory = {};
  ByteSize keep_labels{16'000'000};
  std::optional<Rounds> rounds = {};
  std::uint64_t labels_per_round = 1, max_pending = 10'000, seed = 1;

  static constexpr auto fields() {
    using O = LearningOptions;
    return std::tuple{
        Field{&O::labels, "labels", kAny,
              "label budget, a hard limit: 500 (in total), 50/1000 (at most 50 in any 1,000 examples), 20/day (or second, "
              "minute, hour, week; by the time of the examples, in serve by its clock), or, where all examples are known "
              "beforehand, a share of them, as 10%; repeatable, for a total and a rate (default: none)",
              ""},
        Field{&O::labels_per_task, "labels-per-task", Interval{0}, "label budget of each task, a hard limit (default: none)",
              ""},
        Field{&O::pace, "pace", kAny,
              "even: spend the total of the labels evenly over the examples, by scaling the b of the query rule; default: "
              "as the "
              "rule asks (a rate always scales b)",
              ""},
        Field{&O::length, "length", Interval{1, 1e12},
              "expected number of examples, for an even pace: if more come, the remaining labels are bought at once; if "
              "fewer, "
              "some stay unspent",
              ""},
        Field{&O::audit, "audit", Interval{0, 1, false, true},
              "share of the labels, as 0.1, bought at random and used only to estimate the true accuracy; label budgets "
              "include "
              "them",
              ""},
        Field{&O::audit_floor, "audit-floor", Interval{0, 1, false, true},
              "chance of every example to be audited, at least, also when the learner asks for nothing; needs --audit, and "
              "label budgets include these audits (default: 0.002 with --audit)",
              ""},
        Field{&O::memory, "memory", kAny,
              "memory limit of a model in bytes, as 8MB (KB, MB, GB; KiB, MiB, GiB): budget-* learners evict, cohort uses "
              "tables that fit, others stop with an error (default: none)",
              ""},
        Field{
            &O::keep_labels, "keep-labels", kAny,
            "bytes for the bought labels with their examples, and for the latest examples without a label, from which "
            "labels, "
            "rebuild and undo work; labels that do not fit: a fair sample is kept; at most an eighth of a memory limit; 0B: "
            "none",
            ""},
        Field{
            &O::rounds, "rounds", kAny,
            "examples predicted before labels are bought: one (each), one of every task (per-task), or one instance for all "
            "tasks (all-tasks); default: per-task for learners that select, all-tasks with classes, else each",
            ""},
        Field{&O::labels_per_round, "labels-per-round", Interval{1, 1e9},
              "labels bought in each round, by learners that select", ""},
        Field{&O::max_pending, "max-pending", Interval{1, 1e12},
              "questions that may wait for answers; beyond that train withdraws the oldest, serve and label ask no more",
              ""},
        Field{&O::seed, "seed", Interval{0}, "random seed", ""}};
  }

  /// Throws UsageError for labels that are none, and for a share unless `shares` leaves it to labels_share().
  LabelLimits limits(bool shares = false) const;
  void set_limits(const LabelLimits& limits);  ///< those of limits() from now on
  double floor_of_audits() const { return audit_floor.value_or(audit != 0 ? kAuditFloor : 0); }
  /// 0 to 1 of the examples. Throws UsageError: out of range, a second number in all.
  std::optional<double> labels_share() const;
  std::size_t memory_limit() const;  ///< throws UsageError: 0
  /// Of a new session; the pace is spread over `length` examples. Throws UsageError: as limits; pace without a length.
  SessionOptions session() const;
};

}  // namespace quorate
