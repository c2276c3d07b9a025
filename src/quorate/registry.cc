#include "quorate/registry.h"

#include <array>

namespace quorate {

extern const Algorithm kPerceptron, kCmtl, kAmtl, kPeer, kAmlc, kShampo, kShampoSecondOrder, kKernelPerceptron,
    kBudgetRandom, kBudgetForgetron, kBudgetProjectron, kBudgetProjectronShared, kCohort;

std::span<const Algorithm> algorithms() {
  static const std::array all{kCohort,
                              kPerceptron,
                              kCmtl,
                              kAmtl,
                              kPeer,
                              kAmlc,
                              kShampo,
                              kShampoSecondOrder,
                              kKernelPerceptron,
                              kBudgetRandom,
                              kBudgetForgetron,
                              kBudgetProjectron,
                              kBudgetProjectronShared};
  return all;
}

const Algorithm& algorithm(const Spec& spec) {
  std::string names;
  for (const Algorithm& a : algorithms()) {
    if (a.name == spec.word) return a;
    names += (names.empty() ? "" : ", ") + std::string(a.name);
  }
  throw UsageError("no learner is called '" + spec.word + "'; expected one of " + names);
}

Spec canonical(const Spec& spec) { return algorithm(spec).canonical(spec); }

Capabilities capabilities(const Spec& spec) { return algorithm(spec).capabilities(spec); }

std::unique_ptr<Learner> make_learner(const Spec& spec, const LearnerContext& context) {
  return algorithm(spec).make(spec, context);
}

}  // namespace quorate
