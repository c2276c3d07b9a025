// What the commands that simulate share: data in memory, measures by name.
#pragma once
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "common.h"
#include "quorate/run/simulate.h"

namespace quorate::cli {

/// Reads a file to learn from and, unless its name is empty, one to test on.
struct LoadedData {
  Dataset train, test;
  Names tasks;
};
LoadedData load(const std::string& data, const std::string& test, const DataOptions& read, const FeatureOptions& features);

/// The options that every command that simulates has.
void add_simulation(CLI::App& app, std::string& data, std::string& test, SimulateOptions& run, DataOptions& read,
                    FeatureOptions& features);

using Named = std::vector<std::pair<std::string, double>>;

/// Measures by name, in the order of the JSON document. Counts are numbers too.
Named measures(const Outcome& o);
Named measures(const RunResult& r);

bool is_count(const std::string& name);
Json object(const Named& values);

/// All runs' values of one measure.
std::vector<double> values_of(const SimulateResult& result, const std::string& measure);

/// Means and standard deviations (n - 1) of every measure over the runs where it is defined.
std::pair<Json, Json> mean_and_std(const std::vector<RunResult>& runs);

}  // namespace quorate::cli
