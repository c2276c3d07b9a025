#include "quorate/registry.h"

#include <array>

#include "quorate/learner.h"

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
  std::vector<std::string_view> names;
  for (const Algorithm& a : algorithms()) {
    if (a.name == spec.word) return a;
    names.push_back(a.name);
  }
  throw UsageError("no learner is called '" + spec.word + "'" + did_you_mean(spec.word, names) + "; expected one of " +
                   joined(names));
}

Spec canonical(const Spec& spec) { return algorithm(spec).canonical(spec); }

Capabilities capabilities(const Spec& spec) { return algorithm(spec).capabilities(spec); }

std::string learners_with(bool Capabilities::*capability) {
  std::vector<std::string_view> names;
  for (const Algorithm& a : algorithms())
    if (a.own.*capability) names.push_back(a.name);
  return joined(names);
}

void check_can_group(const Spec& spec) {
  if (capabilities(spec).groups) return;
  throw UsageError("users and classes at once: " + spec.word + " cannot learn them; expected one of " +
                   learners_with(&Capabilities::groups) + ", or classes without users (--no-users; in Python without task)");
}

std::unique_ptr<Learner> make_learner(const Spec& spec, const LearnerContext& context) {
  return algorithm(spec).make(spec, context);
}

}  // namespace quorate
