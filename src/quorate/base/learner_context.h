// Context for constructing a learner.
#pragma once
#include <cstddef>
#include <memory_resource>

#include "quorate/base/features.h"
#include "quorate/base/name_table.h"

namespace quorate {

struct LearnerContext {
  NameTable& tasks;                   ///< tasks known so far; a learner may add more (those of a graph's file)
  std::pmr::memory_resource* memory;  ///< for everything the learner owns; outlives it
  bool restore = false;               ///< state is loaded next, so no file is read
  std::size_t labels_per_round = 1;   ///< bought by a rule that selects within a round
  std::size_t tasks_per_name = 1;     ///< tasks i * tasks_per_name and on are those of name i
  bool exclusive = false;             ///< of the tasks of an instance one is positive: classes against the rest
  FeatureKinds kinds = {};            ///< as far as they are known yet
};

}  // namespace quorate
