// Every learner by name. Thread-safety: any number of threads may call all functions.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quorate/base/learner_context.h"
#include "quorate/capabilities.h"
#include "quorate/params/params.h"

namespace quorate {

class Learner;

/// A learner's row in the registry.
struct Algorithm {
  std::string_view name, title, source;
  Capabilities own;  ///< of the algorithm, whatever its parameters are
  std::vector<ParamInfo> (*params)();
  std::unique_ptr<Learner> (*make)(const Spec&, const LearnerContext&);
  Spec (*canonical)(const Spec&);
  Capabilities (*capabilities)(const Spec&);
};

/// All learners, in the order of the documentation.
std::span<const Algorithm> algorithms();

/// The row that spec names. Throws UsageError with the names there are.
const Algorithm& algorithm(const Spec& spec);

/// spec with every parameter written out, checked. Throws UsageError.
Spec canonical(const Spec& spec);

/// What the learner can do with these parameters. Throws UsageError. O(parameters): no learner is made.
Capabilities capabilities(const Spec& spec);

/// The names of the learners whose algorithm has a capability, for messages: "cohort, perceptron".
std::string learners_with(bool Capabilities::*capability);

/// Throws UsageError, which lists the learners that can, unless this one learns users and classes at once.
void check_can_group(const Spec& spec);

/// A new learner. Throws UsageError for a spec that is not valid; DataError or FileError for a graph's file.
std::unique_ptr<Learner> make_learner(const Spec& spec, const LearnerContext& context);

}  // namespace quorate
