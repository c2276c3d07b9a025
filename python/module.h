// The parts of the module quorate._core.
#pragma once
#include <nanobind/nanobind.h>

#include <optional>
#include <string>
#include <vector>

#include "batch.h"
#include "quorate/model/learning_options.h"

namespace quorate::python {

/// The tasks of a batch's examples: the n-th has names[codes[n]]. std::nullopt: the examples name no tasks.
struct TaskCodes {
  Array<std::uint32_t> codes;
  std::vector<std::string> names;
};

/// The Rounds with this name; none for "". Throws UsageError.
std::optional<Rounds> rounds_of(const std::string& name);

/// Throws UsageError if `is` differs from `expected`, the number of examples. what: the values, as "labels".
void check_size(const char* what, std::size_t is, std::size_t expected);

void add_model(nanobind::module_& m);        ///< the class Model
void add_experiments(nanobind::module_& m);  ///< ExperimentData, simulate, compare, tune
void add_follow(nanobind::module_& m);       ///< Follower

}  // namespace quorate::python
