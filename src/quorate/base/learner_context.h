// What a learner is made in.
#pragma once
#include <cstddef>
#include <memory_resource>

#include "quorate/base/name_table.h"

namespace quorate {

struct LearnerContext {
  NameTable& tasks;                   ///< tasks known so far; a learner may name more (those of a graph's file)
  std::pmr::memory_resource* memory;  ///< where everything the learner owns is allocated; outlives it
  bool restore = false;               ///< state is loaded next: read no file
  std::size_t labels_per_round = 1;   ///< how many labels a rule that chooses among a round's examples buys
};

}  // namespace quorate
