// The parts of the module quorate._core.
#pragma once
#include <nanobind/nanobind.h>

#include <optional>
#include <string>
#include <vector>

#include "batch.h"
#include "quorate/model/learning_options.h"

namespace quorate::python {

/// The tasks of a batch's examples: names[codes[n]]. No codes: none named theirs.
struct TaskCodes {
  Array<std::uint32_t> codes;
  std::vector<std::string> names;
};

/// The rounds of that name; nothing for "". Throws UsageError.
std::optional<Rounds> rounds_of(const std::string& name);
/// Of limits as "500" and "50/1000". Throws UsageError.
LabelLimits limits_of(const std::vector<std::string>& labels, std::optional<std::uint64_t> labels_per_task);

/// Throws UsageError: `what`, as labels, are not as many as examples.
void check_size(const char* what, std::size_t is, std::size_t expected);

void add_model(nanobind::module_& m);        ///< the class Model
void add_experiments(nanobind::module_& m);  ///< ExperimentData, simulate, compare, tune

}  // namespace quorate::python
