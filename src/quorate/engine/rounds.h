// What arrives before labels are bought: one example, one of every task, or one instance shown to the tasks of all classes.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "quorate/base/error.h"
#include "quorate/capabilities.h"

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

/// What was asked for; by default kAllTasks with classes, else kPerTask for a learner that selects, else kEach. Throws
/// UsageError: kAllTasks is for classes, and classes need it.
inline Rounds resolve_rounds(std::optional<Rounds> wanted, bool classes, const Capabilities& learner) {
  if (!wanted) return classes ? Rounds::kAllTasks : learner.selects ? Rounds::kPerTask : Rounds::kEach;
  if (classes != (*wanted == Rounds::kAllTasks))
    throw UsageError("rounds " + std::string(to_text(*wanted)) +
                     (classes ? ": with classes every instance is shown to all tasks; expected all-tasks"
                              : ": a label belongs to one task only; expected classes, too"));
  return *wanted;
}

/// Throws UsageError unless the learner, called `name`, can buy so many labels in a round: more than one only if it selects.
inline void check_labels_per_round(std::uint64_t labels, const std::string& name, const Capabilities& learner) {
  if (labels > 1 && !learner.selects)
    throw UsageError("--labels-per-round " + std::to_string(labels) + ": " + name +
                     " does not select among a round's examples; expected a learner that does, as shampo, or query=shared");
}

}  // namespace quorate
