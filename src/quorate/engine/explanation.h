// Why a model predicts what it predicts: the features that decided, by name.
#pragma once
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "quorate/engine/model.h"
#include "quorate/learner.h"

namespace quorate {

/// What a feature of an example brought to its margin.
struct Reason {
  std::string feature;  ///< its name in the data
  double value;         ///< in the data
  Contribution part;    ///< of the margin
};

/// The `count` features that brought most to the margin for x, in magnitude; features that brought nothing are left out.
/// With classes it is the margin of the class `predicted`: one-vs-rest its own, one-vs-one the sum of those against the
/// others. All reasons together sum to it: what the learner's rounding leaves is the largest one's. first: as
/// Classes::example; names: Featurizer::names(). Throws UsageError for a learner that is not `additive`. O(non-zeros x tasks
/// of the instance).
std::vector<Reason> explain(const Model& model, Task first, const Features& x,
                            std::span<const std::pair<Index, std::string>> names, std::size_t predicted, std::size_t count);

/// Throws UsageError unless the model's learner is additive.
void check_explains(const Model& model);

}  // namespace quorate
