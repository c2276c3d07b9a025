// A learner at work: rounds, label budget, counters, generator. The same steps whatever the examples come from.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "quorate/base/memory.h"
#include "quorate/base/name_table.h"
#include "quorate/base/segmented_vector.h"
#include "quorate/engine/audit.h"
#include "quorate/engine/label_budget.h"
#include "quorate/engine/pace.h"
#include "quorate/engine/pending_questions.h"
#include "quorate/learner.h"
#include "quorate/params/spec.h"

namespace quorate {

/// What an oracle says of an answer that comes later, if at all: Session::answer().
inline constexpr int kLater = 2;

/// Who answers when a label is asked for: +1, -1 or 0 for neither, about the round's n-th example; nothing if nobody knows;
/// or kLater.
using Oracle = std::function<std::optional<int>(std::size_t n)>;

/// What happened with one example.
struct Outcome {
  Decision decision;
  bool asked = false;                        ///< decision.ask, and the limits and the pace had a label left
  std::optional<int> label = {};             ///< the answer; nothing if not asked or not answered
  bool updated = false;                      ///< the model changed
  bool audited = false;                      ///< bought to judge the prediction by, not to learn from; then not `asked`
  std::optional<std::uint64_t> ticket = {};  ///< of an answer that comes later: 0, 1, 2, ... in the order of asking
};

/// What is known of one task.
struct TaskCounters {
  std::uint64_t examples = 0, labels = 0, updates = 0,
                mistakes = 0;  // labels: audits among them; mistakes: of the others, answers +1 or -1 not as predicted
};

struct SessionOptions {
  std::uint64_t seed = 1;  ///< of the learner's draws
  LabelLimits limits = {};
  /// > 0: limits.total is spent evenly over so many examples (every task's; a guess will do). If more come, what is left is
  /// asked for at once; if fewer come, it is not bought. For learners whose set_query_scale() works.
  std::uint64_t spread_over = 0;
  const NameTable* tasks = nullptr;    ///< named beforehand; others get their place when they come
  std::uint64_t labels_per_round = 1;  ///< how many a learner that chooses among a round's examples asks for; at least 1
  /// Bytes that the model, growth included, never exceeds; a learner that can forget does, others throw MemoryError.
  std::size_t memory_limit = Memory::kNoLimit;
  /// > 0: that share of all labels is bought at random, whatever the learner asks for, and used for nothing but to judge its
  /// predictions (audit.h). A label limit is for both together. Drawn from generator 3 of the seed.
  double audit = 0;
  std::uint64_t max_pending = 10'000;  ///< answers waited for; beyond that the longest awaited is withdrawn
};

class Session {
 public:
  /// A new learner. `spec` may leave parameters out. Throws as make_learner.
  explicit Session(const Spec& spec, const SessionOptions& options = {});

  Session(Session&&) = default;
  Session& operator=(Session&&) = delete;  // its parts live in its own memory

  /// The place of the task called `name`, given to it now if it is new.
  Task task(std::string_view name);

  /// Before task(name): lets the processor fetch what that and the task's rounds read. To be called with step 0, 1, 2 and 3,
  /// other work in between (NameTable::prefetch). Worth it for more than kFewTasks, which do not stay in its caches.
  static constexpr std::size_t kFewTasks = 4096;
  void prefetch_task(std::string_view name, int step) const;
  /// Before round({e}), as Learner::expect.
  void expect(const Example& e) { learner_->expect(e); }

  /// The same to predict by, which changes nothing: a task never seen gets a place no task has, as learners answer such with
  /// what all tasks share.
  Task known_task(std::string_view name) const;

  /// The stream's time, in seconds since whenever, from the next round on; an earlier one than before changes nothing.
  void set_time(double seconds);

  /// One round: predict all, ask for what is worth it and left in the budget, learn from the answers in order.
  /// out.size() == round.size(); tasks of the examples are < tasks().size(). Throws UsageError if labels are limited in a
  /// time and none was ever set.
  void round(std::span<const Example> round, const Oracle& oracle, std::span<Outcome> out);

  /// Learns from an answer that came later, by the decision that was made then; +1, -1, or 0 for neither. Returns the step
  /// or, if the ticket is no longer pending, nothing: a second answer, or one that came after the question was withdrawn,
  /// changes nothing and is counted as too late. Throws UsageError for a ticket never issued and for another label.
  std::optional<Outcome> answer(std::uint64_t ticket, int label);
  /// Nobody will answer: the label goes back to the budget (a rate keeps it) and is counted as unanswered. Returns whether
  /// the ticket was pending. Throws UsageError for a ticket never issued.
  bool withdraw(std::uint64_t ticket);

  const Learner& learner() const { return *learner_; }
  const Spec& spec() const { return spec_; }  ///< canonical
  const NameTable& tasks() const { return tasks_; }
  const LabelBudget& budget() const { return budget_; }
  std::uint64_t labels_per_round() const { return labels_per_round_; }
  /// Other limits from now on (LabelBudget::set_limits). What is spent evenly is now the new total.
  void set_limits(const LabelLimits& limits);
  /// Spends what is left of limits.total over so many examples from now on, as SessionOptions::spread_over; 0: no more so.
  /// Throws UsageError without a total, or if the learner has no b.
  void set_spread_over(std::uint64_t examples);
  const Pace& pace() const { return pace_; }
  const PendingQuestions& pending() const { return pending_; }
  std::uint64_t tickets() const { return next_ticket_; }              ///< issued so far: 0 to one less than this
  const Audit* audit() const { return audit_ ? &*audit_ : nullptr; }  ///< null: none
  TaskCounters count(Task task) const;                                ///< zeros for a task never seen
  TaskCounters total() const { return total_; }
  std::uint64_t unanswered() const { return unanswered_; }      ///< asked for and never answered: not known, or withdrawn
  std::uint64_t too_late() const { return too_late_; }          ///< answers to questions answered or withdrawn before
  std::size_t model_bytes() const { return memory_->bytes(); }  ///< learner, task names and counters
  std::size_t peak_bytes() const { return memory_->peak(); }
  std::size_t memory_limit() const { return memory_->limit(); }  ///< Memory::kNoLimit: none

  /// Everything that decides what comes next. load() replaces this session; throws DataError.
  void save(Tensors& out) const;
  static Session load(const Spec& spec, Reader& reader);

 private:
  Session(const Spec& spec, std::unique_ptr<Memory> memory);

  double clock() const;  ///< in the unit of the rate
  bool left(Task task) const { return budget_.left(counts_[task].labels + pending_.of_task(task)); }
  std::uint64_t bought_to_learn() const { return budget_.bought() - (audit_ ? audit_->bought() : 0); }
  bool open(Task task) const;
  void record_audit(const Example& e, std::optional<int> label, Outcome& outcome);
  void buy();
  void learn(const Example& e, Outcome& outcome);
  std::optional<std::uint64_t> keep(const Example& e, const Decision& d);  ///< its ticket; nothing if there is no memory
  void refund(std::uint64_t ticket);
  void check_issued(std::uint64_t ticket) const;
  void start_pace();

  Spec spec_;
  std::unique_ptr<Memory> memory_;  // first among what it serves
  NameTable tasks_;
  std::unique_ptr<Learner> learner_;
  Rng rng_;
  LabelBudget budget_;
  std::uint64_t labels_per_round_ = 1;
  SegmentedVector<TaskCounters> counts_;  // by task
  TaskCounters total_;
  std::uint64_t unanswered_ = 0, too_late_ = 0;
  double time_ = -std::numeric_limits<double>::infinity();  // none so far
  Pace pace_;
  PendingQuestions pending_;
  std::uint64_t next_ticket_ = 0, max_pending_ = 0;
  std::optional<Audit> audit_;
  Rng audit_rng_;
  std::vector<Decision> decisions_;  // scratch
};

}  // namespace quorate
