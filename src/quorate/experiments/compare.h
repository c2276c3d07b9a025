// Several learners on the same splits and orders.
#pragma once
#include <string>
#include <vector>

#include "quorate/experiments/experiment_data.h"
#include "quorate/experiments/measures.h"

namespace quorate {

/// Results of learners at label budgets: all budgets of the first learner, then of the second.
struct Comparison {
  struct Row {
    std::string learner, budget;  ///< as given; budget: empty for none
    std::uint64_t limit;
    SimulateResult result;
  };
  std::vector<Row> rows;
  std::string by;  ///< the measure to compare by: accuracy if there is a test set, else progressive_f1
  LabelLimits limits;
  bool pace_even = false;
  bool interrupted = false;  ///< stopped before the end; rows are then incomplete

  /// The first learner's row at the same budget.
  const Row& baseline(const Row& row) const;
};

/// Simulates each learner at each budget. `budgets`: "" or whole numbers and shares of the examples, "1%,2%,500"; `run`: as
/// simulate(), its learner and progress are set here. `done` may be read meanwhile. Throws UsageError and
/// as simulate().
Comparison compare(const ExperimentData& data, const std::vector<std::string>& learners, const std::string& budgets,
                   SimulateOptions run, WorkDone& done);

/// The document of `quorate compare --json`.
Json document(const Comparison& comparison);

}  // namespace quorate
