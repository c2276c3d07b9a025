// A group's results as Markdown, as panels of a figure, as JSON.
#pragma once
#include <ostream>

#include "papers/paper.h"
#include "papers/plot.h"

namespace quorate::papers {

/// A table of ours beside what was published.
void table(const Json& paper, const Json& group, const std::vector<Result>& results, std::ostream& out);
/// A table of methods by setting for each measure of the figure, and its panel.
void figure(const Json& paper, const Json& group, const std::vector<Result>& results, std::vector<Panel>& panels,
            std::ostream& out);
Json group_json(const Json& paper, const Json& group, const std::vector<Result>& results, const std::string& verdict);

}  // namespace quorate::papers
