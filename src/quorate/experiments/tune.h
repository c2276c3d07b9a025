// Cross-validation over a grid of a learner's parameters.
#pragma once
#include <string>
#include <vector>

#include "quorate/experiments/experiment_data.h"
#include "quorate/experiments/measures.h"
#include "quorate/metrics/statistics.h"

namespace quorate {

/// The settings to try.
struct Grid {
  struct Setting {
    Spec learner;                     ///< canonical
    std::vector<std::string> values;  ///< one for each parameter
  };
  std::vector<std::string> parameters;  ///< "c", "query.b"
  std::vector<Setting> settings;
};

/// All combinations of `c=0.1..100:20,query.b=0.5,1,2`: commas outside brackets separate; a word with `=` starts a new
/// parameter; lo..hi:n is n values at equal ratios. Throws UsageError, and for more than 100,000 combinations.
Grid parse_grid(const std::string& learner, const std::string& text);

struct Tuned {
  struct Row {
    Grid::Setting setting;
    Summary score, labels;  ///< over the folds
  };
  std::string measure;
  std::uint64_t folds;
  std::vector<std::string> parameters;
  std::vector<Row> rows;     ///< in the order of the grid
  std::size_t best = 0;      ///< of equal ones the first
  bool interrupted = false;  ///< stopped before the end; rows are then incomplete
};

/// Simulates each setting with run.folds folds. `measure`: a name of measures(); `run`: as simulate(), its learner, runs and
/// progress are set here. `done` may be read meanwhile. Throws DataError if no fold has the measure, and as simulate().
Tuned tune(const ExperimentData& data, const Grid& grid, const std::string& measure, SimulateOptions run, WorkDone& done);

/// The document of `quorate tune --json`.
Json document(const Tuned& tuned);

}  // namespace quorate
