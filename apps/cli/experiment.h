// What the commands that simulate share.
#pragma once
#include <string>

#include "common.h"
#include "quorate/experiments/experiment_data.h"

namespace quorate::cli {

/// Reads a file to learn from and, unless its name is empty, one to test on.
ExperimentData load(const std::string& data, const std::string& test, const DataOptions& read,
                    const FeatureOptions& features, const ClassOptions& classes);

/// The options that every command that simulates has.
struct ExperimentOptions {
  std::string data, test;
  DataOptions read;
  FeatureOptions features;
  ClassOptions classes;
  SimulateOptions run;
  std::string delay = "0";

  void add(CLI::App& app);
  /// Fills in what `run` needs of the other options. Throws UsageError for options that are wrong.
  void prepare();
  /// Prepares, and reads the data. Throws Interrupted.
  ExperimentData load();
  std::vector<NamedFile> files(const std::vector<std::string>& learners) const;  ///< that are read
};

}  // namespace quorate::cli
