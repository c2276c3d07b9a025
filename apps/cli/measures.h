// What the commands that simulate share: data in memory, measures by name.
#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common.h"
#include "quorate/experiments/simulate.h"

namespace quorate::cli {

/// What a simulation runs on. Without classes `tasks` are those of the data.
struct LoadedData {
  Dataset train, test;
  bool tested = false;  ///< whether there is a test set
  NameTable tasks;
  std::optional<Classes> classes;

  /// Examples that a run with these options learns from in a pass.
  std::uint64_t examples(SimulateOptions run) const;
  /// quorate::simulate on these data.
  SimulateResult simulate(SimulateOptions run) const;
};
/// Reads a file to learn from and, unless its name is empty, one to test on.
LoadedData load(const std::string& data, const std::string& test, const DataOptions& read, const FeatureOptions& features,
                const ClassOptions& classes);

/// The options that every command that simulates has.
struct ExperimentOptions {
  std::string data, test, rounds;
  DataOptions read;
  FeatureOptions features;
  ClassOptions classes;
  SimulateOptions run;
  std::string delay = "0";

  void add(CLI::App& app);
  /// Reads the data; fills in what `run` needs of the other options.
  LoadedData load();
};
void add_rounds(CLI::App& app, std::string& rounds, std::uint64_t& labels_per_round);

using NamedMeasures = std::vector<std::pair<std::string, double>>;

/// Measures by name, in the order of the JSON document. Counts are numbers too.
NamedMeasures measures(const RunTotals& o);
NamedMeasures measures(const RunResult& r);

bool is_count(const std::string& name);
Json object(const NamedMeasures& values);

/// All runs' values of one measure.
std::vector<double> values_of(const SimulateResult& result, const std::string& measure);

/// Means and standard deviations (n - 1) of every measure over the runs where it is defined.
std::pair<Json, Json> mean_and_std(const std::vector<RunResult>& runs);

}  // namespace quorate::cli
