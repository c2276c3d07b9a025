// Measures of simulated runs by name, and the JSON documents made of them.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "quorate/experiments/experiment_data.h"
#include "quorate/experiments/simulate.h"
#include "quorate/model/report.h"

namespace quorate {

/// Counts are numbers, too.
using NamedMeasures = std::vector<std::pair<std::string, double>>;

/// Measures in the order of the JSON document.
NamedMeasures measures(const Measures& m);
NamedMeasures measures(const RunTotals& o);
NamedMeasures measures(const RunResult& r);

bool is_count(const std::string& name);
Json object(const NamedMeasures& values);

/// All runs' values of one measure.
std::vector<double> values_of(const SimulateResult& result, const std::string& measure);

/// Means and standard deviations (n - 1) of every measure over the runs where it is defined.
std::pair<Json, Json> mean_and_std(const std::vector<RunResult>& runs);

/// The confusion of classes that is reported: of the predictions on the test set or, without one, of those made before
/// learning.
const ClassConfusion& class_confusion(const RunResult& r);

/// The document of `quorate simulate --json`.
Json document(const SimulateResult& result, const ExperimentData& data, const SimulateOptions& options);

/// A line of `quorate simulate --trace`.
Json trace_json(const TraceLine& line, const ExperimentData& data);

}  // namespace quorate
