// What arrives before labels are bought, and what was predicted of it: shared by those who have the data.
#pragma once
#include <concepts>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "quorate/base/error.h"
#include "quorate/engine/classes.h"
#include "quorate/engine/session.h"
#include "quorate/metrics/metrics.h"

namespace quorate {

enum class Rounds {
  kEach,     ///< one example
  kPerTask,  ///< the next example of every task, in the order of the tasks; a task that has no more leaves
  kAllTasks  ///< one instance, shown to every task: classes
};

constexpr std::string_view to_text(Rounds rounds) {
  return rounds == Rounds::kEach ? "each" : rounds == Rounds::kPerTask ? "per-task" : "all-tasks";
}

/// The rounds of that name; nothing for "". Throws UsageError.
inline std::optional<Rounds> rounds_named(std::string_view name) {
  if (name.empty()) return std::nullopt;
  for (const Rounds rounds : {Rounds::kEach, Rounds::kPerTask, Rounds::kAllTasks})
    if (name == to_text(rounds)) return rounds;
  throw UsageError("rounds " + quoted_value(name) + ": expected each, per-task or all-tasks");
}

/// What was wanted or, if nothing was, kAllTasks with classes, else kPerTask if the learner `chooses()`, else kEach.
/// Throws UsageError: kAllTasks is for classes, and nothing else is.
template <std::predicate Chooses>
Rounds resolve_rounds(std::optional<Rounds> wanted, bool classes, Chooses chooses) {
  if (!wanted) return classes ? Rounds::kAllTasks : chooses() ? Rounds::kPerTask : Rounds::kEach;
  if (classes != (*wanted == Rounds::kAllTasks))
    throw UsageError("rounds " + std::string(to_text(*wanted)) +
                     (classes ? ": with classes every instance is shown to all tasks; expected all-tasks"
                              : ": a label belongs to one task only; expected classes, too"));
  return *wanted;
}

/// Throws UsageError unless the learner, called `learner`, can buy so many labels in a round: others than one only if it
/// `chooses()`.
template <std::predicate Chooses>
void check_labels_per_round(std::uint64_t labels, const std::string& learner, Chooses chooses) {
  if (labels > 1 && !chooses())
    throw UsageError("--labels-per-round " + std::to_string(labels) + ": " + learner +
                     " chooses nothing among a round's examples; expected a learner that does, as shampo, or query=shared");
}

/// The class that a label of the data stands for: 1 + its place.
inline std::size_t place_of(int label) { return static_cast<std::size_t>(label) - 1; }

/// What the data answer a question about a task of an example with this label: nothing if it is 0, unknown. Without classes
/// the label itself.
inline std::optional<int> known_answer(const Classes* classes, Task task, int label) {
  if (label == 0) return std::nullopt;
  return classes != nullptr ? classes->feedback(task, place_of(label)) : label;
}

/// Counts what was predicted before labels were known, whether labels are binary or classes.
class OnlineCount {
 public:
  /// per_task: tasks to count by themselves, too; 0 for none. `classes` may be null.
  explicit OnlineCount(const Classes* classes, std::size_t per_task = 0)
      : classes_(classes), confusion_(classes != nullptr ? classes->size() : 0), per_task_(per_task) {}

  /// A round after Session::round; label(n) as in the data. Of classes the round is one instance, shown to all tasks.
  template <class Label>
  void add(std::span<const Example> round, std::span<const Outcome> outcomes, Label label) {
    if (classes_ == nullptr) {
      for (std::size_t n = 0; n < round.size(); ++n)
        if (const int y = label(n); y != 0) add(round[n].task, y, outcomes[n], &all_);
    } else if (const int y = label(0); y != 0) {
      margins_.clear();
      for (const Outcome& outcome : outcomes) margins_.push_back(outcome.decision.margin);
      confusion_.add(place_of(y), classes_->predict(margins_, ballot_).place);
      for (Task task = 0; task < per_task_.size(); ++task)
        if (const int answer = classes_->feedback(task, place_of(y)); answer != 0)
          add(task, answer, outcomes[task], nullptr);
    }
  }

  std::uint64_t total() const { return classes_ != nullptr ? confusion_.total() : all_.total(); }
  std::uint64_t mistakes() const { return classes_ != nullptr ? confusion_.mistakes() : all_.mistakes(); }
  double accuracy() const { return classes_ != nullptr ? confusion_.measures().accuracy : all_.accuracy(); }
  double f1() const { return classes_ != nullptr ? confusion_.measures().f1 : all_.f1(); }
  const Confusion& of(Task task) const { return per_task_[task]; }
  const ClassConfusion& classes() const { return confusion_; }

 private:
  void add(Task task, int y, const Outcome& outcome, Confusion* all) {
    if (all != nullptr) all->add(y, predicted(outcome.decision.margin));
    if (task < per_task_.size()) per_task_[task].add(y, predicted(outcome.decision.margin));
  }

  const Classes* classes_;
  Confusion all_;
  ClassConfusion confusion_;
  std::vector<Confusion> per_task_;
  std::vector<double> margins_;
  Classes::Ballot ballot_;
};

}  // namespace quorate
