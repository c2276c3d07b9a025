// What arrives before labels are bought: one example, one of every task, or one instance shown to the tasks of all classes.
#pragma once
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "quorate/base/error.h"
#include "quorate/capabilities.h"
#include "quorate/params/params.h"

namespace quorate {

enum class Rounds {
  kEach,     ///< one example
  kPerTask,  ///< the next example of every task, in the order of the tasks; a task that has no more leaves
  kAllTasks  ///< one instance, shown to every task: classes
};

constexpr auto words(Rounds) {
  return std::array{std::pair{Rounds::kEach, std::string_view("each")},
                    std::pair{Rounds::kPerTask, std::string_view("per-task")},
                    std::pair{Rounds::kAllTasks, std::string_view("all-tasks")}};
}

/// What was asked for; by default kAllTasks with classes, else kPerTask for a learner that selects, else kEach. Throws
/// UsageError: kAllTasks is for classes, and classes need it.
inline Rounds resolve_rounds(std::optional<Rounds> wanted, bool classes, const Capabilities& learner) {
  if (!wanted) return classes ? Rounds::kAllTasks : learner.selects ? Rounds::kPerTask : Rounds::kEach;
  if (classes != (*wanted == Rounds::kAllTasks))
    throw UsageError("rounds " + std::string(word_of(*wanted)) +
                     (classes ? ": with classes every instance is shown to all tasks; expected all-tasks"
                              : ": a label belongs to one task only; expected --classes"));
  return *wanted;
}

/// Throws UsageError unless the learner, called `name`, can buy `labels` labels in a round: more than one only if it
/// selects.
inline void check_labels_per_round(std::uint64_t labels, const std::string& name, const Capabilities& learner) {
  if (labels > 1 && !learner.selects)
    throw UsageError("--labels-per-round " + std::to_string(labels) + ": " + name +
                     " does not select among a round's examples; expected a learner that does, as shampo, or query=shared");
}

}  // namespace quorate
