// The books of a session: which labels may be bought, which were, and how good predictions were.
#pragma once
#include <cstdint>
#include <limits>
#include <memory_resource>
#include <optional>
#include <string_view>

#include "quorate/base/answer.h"
#include "quorate/base/example.h"
#include "quorate/base/segmented_vector.h"
#include "quorate/session/audit.h"
#include "quorate/session/label_budget.h"
#include "quorate/session/pace.h"
#include "quorate/store/rng_state.h"
#include "quorate/store/state.h"

namespace quorate {

/// Counts of one task, or of all.
struct TaskCounters {
  std::uint64_t examples = 0;
  std::uint64_t labels = 0;  ///< bought and answered, audits among them
  std::uint64_t updates = 0;
  std::uint64_t mistakes = 0;  ///< of the labels learned from, answers +1 or -1 that were not predicted
};

/// Limits, pace, audit and counters together. It knows no learner and keeps no instances.
class LabelLedger {
 public:
  explicit LabelLedger(std::pmr::memory_resource* memory) : memory_(memory), budget_({}, memory), counts_(memory) {}

  const LabelBudget& budget() const { return budget_; }
  const Pace& pace() const { return pace_; }
  const Audit* audit() const { return audit_ ? &*audit_ : nullptr; }
  TaskCounters count(Task task) const { return task < counts_.size() ? counts_[task] : TaskCounters{}; }
  const TaskCounters& total() const { return total_; }
  const TaskCounters& untracked() const { return untracked_; }  ///< of kUntracked; total() includes them
  std::uint64_t unanswered() const { return unanswered_; }      ///< questions without an answer, or withdrawn

  void start_audit(double share, double floor, std::uint64_t seed);
  /// Other limits; the pace follows them if the learner is `paced`.
  void set_limits(const LabelLimits& limits, bool paced);
  /// Without effect where nothing is audited.
  void set_audits(bool open) {
    if (audit_) audit_->set_open(open);
  }
  /// Spends the rest of the total evenly over the next `examples` examples; 0: as the learner asks.
  void spread_over(std::uint64_t examples);
  void set_time(double seconds);
  /// Brings a rate by time to that time, between rounds.
  void pass_time();
  double time() const { return time_; }  ///< minus infinity if there was none

  /// Begins a round of `examples` examples, of which `of_instance` in a row are one instance: for a rate, one example; and
  /// `audited_together`, one for audits: draw_audit() or pass_audit() follows once for each. Returns the factor on the
  /// learner's b; 1 where there is no pace to keep. Throws UsageError if labels are limited in time and no time was ever
  /// given.
  double begin_round(std::size_t examples, std::size_t of_instance = 1, std::size_t audited_together = 1);
  /// The round that was begun is none after all: nothing has changed.
  void cancel_round(std::size_t examples);
  /// Makes counters of a task that no round has shown, before a question about it waits.
  void make_room(Task task) {
    if (task != kUntracked && task >= counts_.size()) counts_.resize(std::size_t{task} + 1);
  }
  /// The round's next example. `pending`: questions about its task that wait for an answer.
  void begin_example(Task task);
  /// Whether this example is audited. If so, record_audit() has to follow before the next example.
  bool draw_audit();
  /// Instead of draw_audit(): this example was decided elsewhere and is not audited.
  void pass_audit() {
    if (audit_) audit_->pass();
  }
  bool has_label_left(Task task, std::uint64_t pending) const;
  /// Whether a label that the learner `asks` for may be bought to learn from. Tells the pace whether it asks.
  bool may_buy(Task task, std::uint64_t pending, bool asks);

  /// Whether a label may be bought for an example that came before; the pace has no say in it.
  bool may_ask(Task task, std::uint64_t pending) const;
  /// Its two halves: what the task's own limit leaves, and what the others leave once the time is `seconds`.
  bool task_may_ask(Task task, std::uint64_t pending) const;
  bool all_may_ask(double seconds) const;

  /// The audited example's answer; nullopt without one, and then nothing is bought. Throws MemoryError, and then nothing
  /// has changed.
  void record_audit(Task task, double margin, std::optional<Answer> answer);
  /// Its answer comes later: a label is set aside, and record_audit() or give_up_audit() follows.
  void hold_audit() {
    hold(true);
    audit_->hold();
  }
  void record_audit(const Audit::Held& held, Task task, double margin, Answer answer);
  void take_back_audit(const Audit::Held& held, double margin, Answer answer) { audit_->take_back(held, margin, answer); }
  void record_audit_again(const Audit::Held& held, double margin, Answer answer) {
    audit_->record_again(held, margin, answer);
  }
  void give_up_audit(const Audit::Held& held) {
    audit_->record(held, 0, std::nullopt);
    refund(true);
  }
  void set_held_audits(std::uint64_t held) {
    if (audit_) audit_->set_held(held);
  }
  std::size_t bytes_to_record() const { return audit_->bytes_to_add(); }
  /// For a question that waits; settle() or refund() follows.
  void hold(bool audit = false) {
    budget_.hold(audit);
    pace_.buy();
  }
  /// Its answer came.
  void settle(bool audit = false) { budget_.settle(audit); }
  void buy(bool audit = false) {
    budget_.buy(audit);
    pace_.buy();
  }
  void count_while_waiting() { budget_.count_while_waiting(); }
  void refund(bool audit = false) {
    pace_.refund(budget_.refund(audit));
    ++unanswered_;
  }
  /// Its answer came, and is neither learned from nor measured by.
  void spend(Task task, const Audit::Held& held);
  void count_unanswered() { ++unanswered_; }
  /// An answer arrived, and was learned from.
  void record_label(Task task, bool mistake);
  void record_update(Task task);

  /// Bytes that the counters of `tasks` tasks may allocate; and allocates them.
  std::size_t bytes_for_tasks(std::size_t tasks) const { return counts_.bytes_to_grow(tasks); }
  void reserve_tasks(std::size_t tasks) { counts_.reserve(tasks); }
  const void* address_of(Task task) const { return task < counts_.size() ? &counts_[task] : nullptr; }

  void save(const Writer& writer) const;
  /// Throws DataError. `tasks`: how many have a name; `pending`: how many questions wait.
  void load(Reader& reader);
  void check(std::size_t tasks, std::size_t pending) const;

 private:
  double clock() const;  // in the unit of the rate
  // labels that the rate and the audits' share of it leave to learning
  std::uint64_t free_to_learn() const { return free_to_learn(budget_.now()); }
  std::uint64_t free_to_learn(const LabelBudget::Clock& at) const;
  bool all_may_ask(const LabelBudget::Clock& at) const;
  void add(Task task, std::uint64_t TaskCounters::*counter) {
    TaskCounters& own = task == kUntracked ? untracked_ : counts_[task];  // gcc 12 increments a copy without the name
    ++(own.*counter);
    ++(total_.*counter);
  }

  std::pmr::memory_resource* memory_;
  LabelBudget budget_;
  Pace pace_;
  std::optional<Audit> audit_;
  Rng audit_rng_;
  SegmentedVector<TaskCounters> counts_;  // by task
  TaskCounters total_, untracked_;
  std::uint64_t unanswered_ = 0;
  double time_ = -std::numeric_limits<double>::infinity();  // none so far
  std::size_t of_instance_ = 1, audited_together_ = 1;      // examples, in the open round
  double units_ = 1;                                        // of the rate, from one example of the round to the next
  LabelBudget::Clock before_round_;
};

}  // namespace quorate
