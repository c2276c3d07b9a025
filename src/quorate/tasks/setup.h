// What a learner is made in.
#pragma once
#include <memory_resource>

#include "quorate/base/names.h"

namespace quorate {

struct Setup {
  Names& tasks;                       ///< tasks known so far; a learner may name more (those of a graph's file)
  std::pmr::memory_resource* memory;  ///< where everything the learner owns is allocated; outlives it
  bool restore = false;               ///< state is loaded next: read no file
};

}  // namespace quorate
