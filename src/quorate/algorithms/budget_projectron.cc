// Multitask kernel perceptrons on a budget: the evicted instance is projected on the others.
//
// Source  Cavallanti, Cesa-Bianchi 2012: MTBPRJ (Alg. 1).
// Round   as kernel_perceptron.cc.
// Shapes  as kernel_perceptron.cc; H^-1: B x B, of the multitask kernel.
// Cost    as kernel_perceptron.cc, but a mistake O(B^2), memory O(entries + B^2).
// Draws   decide: the draws of the query rule, in order of the examples. learn: none.
// Differs As docs/papers.md section 4 settles it: the score has an absolute value. The distance, not its square, is compared
//         with eta, or with half the length of the instance if that is less, as in cliques of 5,000 tasks and more. When an
//         inverse drifted, instances that depend on others are projected on them and leave.
#include <algorithm>
#include <cmath>
#include <limits>

#include "quorate/kernel/kernel_machine.h"
#include "quorate/kernel/projection.h"
#include "quorate/scaled_learner.h"

namespace quorate {
namespace {

struct BudgetProjectron : WeightedMachine<BudgetProjectron, ProjectionParams> {
  static constexpr std::string_view name = "budget-projectron",
                                    title =
                                        "Kernel perceptrons on a budget: the evicted instance is projected on the others",
                                    source = "Cavallanti and Cesa-Bianchi 2012, Algorithm 1 (MTBPRJ)";
  static constexpr Stages stages{.has_graph = true};
  using Params = ProjectionParams;
  BudgetProjectron(const Params& params, const LearnerContext& context)
      : WeightedMachine(params, context), P(context.memory) {}

  bool learn(const Example& e, const Decision& d, double y, Rng&) {
    if (!mistaken(y, d.margin)) return false;
    y *= e.weight;
    if (tasks != A.tasks() && std::holds_alternative<Complete>(p.graph))  // A^-1 = (I + 1 1^T) / (K + 1)
      P.H.scale(static_cast<double>(tasks + 1) / static_cast<double>(A.tasks() + 1));
    tasks = A.tasks();
    if (project(e)) {
      for (std::size_t j = 0; j < beta.size(); ++j) beta[j] += y * P.g[j];
      return true;
    }
    check_fits(e);
    double weight = y;
    evict_by(e, [&] {
      weight += evict();
      if (P.repair(*this)) project(e);
    });
    P.add();
    add(e, weight);
    P.check_drift(*this);
    return true;
  }
  bool project(const Example& e) {
    const std::span<double> h = row(e.x);
    const auto a = A.column(e.task);
    for (std::size_t j = 0; j < h.size(); ++j) h[j] *= a(S.task[j]);
    return P.project(h, A.inverse(e.task, e.task) * S.z.self(e.x), p.eta);
  }
  void free_memory(std::size_t bytes) {
    free_memory_by(bytes, [&] {
      P.clear_candidate();
      evict();
      P.repair(*this);
    });
  }
  std::size_t bytes_to_add(const Example& e) const { return WeightedMachine::bytes_to_add(e) + P.bytes_to_add(); }
  std::size_t bytes_to_copy() const { return std::max(WeightedMachine::bytes_to_copy(), P.bytes_to_copy()); }
  std::size_t bytes_of_first(const Example& e) const { return KernelMachine::bytes_of_first(e) + P.bytes_of_first(); }
  std::size_t bytes_of_instances() const { return WeightedMachine::bytes_of_instances() + P.bytes(); }

  /// Evicts the instance with the least cost, and projects it on the others and on the new instance, if there is one.
  /// Returns the coefficient of the new one.
  double evict() {
    std::size_t r = 0;
    double least = std::numeric_limits<double>::infinity();
    for (const std::uint32_t j : S.order)
      if (const double cost = beta[j] * beta[j] / P.diagonal(j); cost < least) least = cost, r = j;
    for (std::size_t j = 0; j < beta.size(); ++j)
      if (j != r) beta[j] += beta[r] * P.coefficient(j, r);
    const double share = beta[r] * P.coefficient_of_new(r);
    P.remove(r);
    remove(r);
    return share;
  }
  /// Removes r, the combination of those before it with coefficients c.
  void drop(std::size_t r, std::span<const double> c) {
    for (std::size_t j = 0; j < c.size(); ++j) beta[j] += beta[r] * c[j];
    remove(r);
  }
  /// Column i of the Gram matrix.
  void column(std::size_t i, std::span<double> h) {
    S.z.row_of(i, h);
    for (std::size_t j = 0; j < h.size(); ++j) h[j] *= A.inverse(S.task[j], S.task[i]);
  }

  Projection P;
  std::uint64_t tasks = 0;  // for which H was computed

  static void state(auto& s, auto&& visit) {
    WeightedMachine::state(s, visit);
    visit("multitask_gram", s.P);
    visit("gram_tasks", s.tasks);
  }
  void check() {
    WeightedMachine::check();
    P.fit();
    if (P.H.size() != S.size()) throw DataError("Gram inverse and active set differ in size");
  }
};

}  // namespace

extern const Algorithm kBudgetProjectron;
constexpr Algorithm kBudgetProjectron =
    registered<BudgetProjectron,
               Capabilities{
                   .mistake_driven = true, .keeps_instances = true, .forgets = true, .rebuilds = true, .judges = true}>();

}  // namespace quorate
