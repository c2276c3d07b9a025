// Whether results agree with what was published.
#pragma once
#include "papers/paper.h"

namespace quorate::papers {

/// "reproduced" or "not reproduced" for a row of a table that has a band for the paper's own data; else null.
Json row_verdict(const Json& group, const Json& row, const Result& result);

/// A sentence on a group of methods. Throws DataError for claims about results that there are not.
std::string verdict(const Json& paper, const Json& group, const std::vector<Result>& results);

}  // namespace quorate::papers
