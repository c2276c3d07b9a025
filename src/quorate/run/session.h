// A learner at work: rounds, label budget, counters, generator. The same steps whatever the examples come from.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "quorate/base/memory.h"
#include "quorate/base/names.h"
#include "quorate/learner.h"
#include "quorate/params/spec.h"
#include "quorate/queries/budget.h"

namespace quorate {

/// Who answers when a label is asked for: +1, -1 or 0 for neither, about the round's n-th example; nothing if nobody knows.
using Oracle = std::function<std::optional<int>(std::size_t n)>;

/// What happened with one example.
struct Step {
  Decision decision;
  bool asked = false;             ///< decision.ask, and a label was left in the budget
  std::optional<int> label = {};  ///< the answer; nothing if not asked or not answered
  bool updated = false;           ///< the model changed
};

/// What is known of one task.
struct TaskCount {
  std::uint64_t examples = 0, labels = 0, updates = 0,
                mistakes = 0;  // mistakes: answers +1 or -1 that were not as predicted
};

struct SessionOptions {
  std::uint64_t seed = 1;  ///< of the learner's draws
  LabelLimits limits = {};
  const Names* tasks = nullptr;        ///< named beforehand; others get their place when they come
  std::uint64_t labels_per_round = 1;  ///< how many a learner that chooses among a round's examples asks for; at least 1
  /// Bytes that the model, growth included, never exceeds; a learner that can forget does, others throw MemoryError.
  std::size_t memory_limit = Memory::kNoLimit;
};

class Session {
 public:
  /// A new learner. `spec` may leave parameters out. Throws as make_learner.
  explicit Session(const Spec& spec, const SessionOptions& options = {});

  Session(Session&&) = default;
  Session& operator=(Session&&) = delete;  // its parts live in its own memory

  /// The place of the task called `name`, given to it now if it is new.
  Task task(std::string_view name);

  /// One round: predict all, ask for what is worth it and left in the budget, learn from the answers in order.
  /// out.size() == round.size(); tasks of the examples are < tasks().size().
  void round(std::span<const Example> round, const Oracle& oracle, std::span<Step> out);

  const Learner& learner() const { return *learner_; }
  const Spec& spec() const { return spec_; }  ///< canonical
  const Names& tasks() const { return tasks_; }
  const LabelBudget& budget() const { return budget_; }
  std::uint64_t labels_per_round() const { return labels_per_round_; }
  void set_label_limit(std::uint64_t limit) { budget_.set_limit(limit); }
  TaskCount count(Task task) const;  ///< zeros for a task never seen
  TaskCount total() const { return total_; }
  std::uint64_t unanswered() const { return unanswered_; }      ///< labels asked for that nobody knew
  std::size_t model_bytes() const { return memory_->bytes(); }  ///< learner, task names and counters
  std::size_t peak_bytes() const { return memory_->peak(); }
  std::size_t memory_limit() const { return memory_->limit(); }  ///< Memory::kNoLimit: none

  /// Everything that decides what comes next. load() replaces this session; throws DataError.
  void save(Tensors& out) const;
  static Session load(const Spec& spec, Reader& reader);

 private:
  Session(const Spec& spec, std::unique_ptr<Memory> memory);

  Spec spec_;
  std::unique_ptr<Memory> memory_;  // first among what it serves
  Names tasks_;
  std::unique_ptr<Learner> learner_;
  Rng rng_;
  LabelBudget budget_;
  std::uint64_t labels_per_round_ = 1;
  std::pmr::vector<TaskCount> counts_;  // by task
  TaskCount total_;
  std::uint64_t unanswered_ = 0;
  std::vector<Decision> decisions_;  // scratch
};

}  // namespace quorate
