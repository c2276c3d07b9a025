// What papers/NAME.json says: published tables and figures, what is run for them, and within which band we call them
// reproduced.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "quorate/experiments/measures.h"
#include "quorate/metrics/statistics.h"

namespace quorate::papers {

/// Throws UsageError: no such paper; DataError: no JSON object with groups.
Json read_paper(const std::string& folder, const std::string& name);
/// In order. Throws FileError: no such folder.
std::vector<std::string> names_of_papers(const std::string& folder);
/// [{"name": .., "title": ..}, ..]
Json list_papers(const std::string& folder);

/// One learner at one budget, share or value of a parameter: means over the runs.
struct Result {
  std::string method, learner, setting;  ///< setting: "", "5%" of the labels, a share of the data, or "b=0.1"
  double x;                              ///< of a figure
  std::map<std::string, Summary> measure;

  double mean(const std::string& name) const { return measure.at(name).mean; }
};

std::string fixed(double v, int digits);
std::string joined(const std::vector<std::string>& parts, std::string_view between);

}  // namespace quorate::papers
