// Multitask kernel perceptrons, and two on a budget: evict a random instance, or shrink all and evict the oldest.
//
// Source  Cavallanti, Cesa-Bianchi 2012: section 2, MTRBP (Alg. 3), self-tuned MTFORG (4.3).
// Round   any number of examples; at most one label per example unless the query rule chooses.
// Shapes  K tasks, B active instances x_j of tasks i_j; beta: B.
// Cost    An example: one kernel row (kernel/support_vectors.h). A mistake: O(B). Memory O(entries + B). Without a memory
//         limit nothing is allocated once the set is full, but for a sparse instance longer than the one that left.
// Draws   decide: the draws of the query rule, in order of the examples. learn: MTRBP one per eviction, oldest first.
// Differs As docs/papers.md section 4 settles it: Psi's second argument has no beta_r, c_G = max sqrt((A^-1)_ii). MTFORG for
//         kernels with K'(x,x) other than 1 runs on K' divided by the largest seen; its Q shrinks with c_G^2 as tasks join.
#include <algorithm>
#include <cmath>

#include "quorate/kernel/kernel_machine.h"
#include "quorate/scaled_learner.h"

namespace quorate {
namespace {

struct KernelPerceptron : WeightedMachine<KernelPerceptron, KernelParams> {
  static constexpr std::string_view name = "kernel-perceptron", title = "Kernel perceptrons without a budget",
                                    source = "Cavallanti and Cesa-Bianchi 2012, section 2";
  static constexpr Stages stages{.has_graph = true};
  using Params = KernelParams;
  using WeightedMachine::WeightedMachine;

  bool learn(const Example& e, const Decision& d, double y, Rng&) {
    if (!mistaken(y, d.margin)) return false;
    if (const std::size_t bytes = bytes_to_add(e) + bytes_to_copy(); bytes_left(memory) < bytes)
      memory->deallocate(memory->allocate(bytes), bytes);  // throws MemoryError before anything changes
    add(e, y * e.weight);
    return true;
  }
};

/// MTRBP.
struct BudgetRandom : WeightedMachine<BudgetRandom, BudgetParams> {
  static constexpr std::string_view name = "budget-random", title = "Kernel perceptrons on a budget: a random one leaves",
                                    source = "Cavallanti and Cesa-Bianchi 2012, Algorithm 3 (MTRBP)";
  static constexpr Stages stages{.has_graph = true};
  using Params = BudgetParams;
  using WeightedMachine::WeightedMachine;

  bool learn(const Example& e, const Decision& d, double y, Rng& rng) {
    if (!mistaken(y, d.margin)) return false;
    check_fits(e);
    evict_by(e, [&] { remove(S.order[below(S.size(), rng)]); });
    add(e, y * e.weight);
    return true;
  }
};

/// MTFORG.
struct BudgetForgetron : WeightedMachine<BudgetForgetron, BudgetParams> {
  static constexpr std::string_view name = "budget-forgetron",
                                    title = "Kernel perceptrons on a budget: the oldest fades away",
                                    source = "Cavallanti and Cesa-Bianchi 2012, section 4.3 (MTFORG)";
  static constexpr Stages stages{.has_graph = true};
  using Params = BudgetParams;
  using WeightedMachine::WeightedMachine;

  bool learn(const Example& e, const Decision& d, double y, Rng&) {
    if (!mistaken(y, d.margin)) return false;
    check_fits(e);
    y *= e.weight;
    ++M;
    scale = std::max(scale, S.z.self(e.x));
    double weight = y;  // of the new instance, which shrinks with the others
    evict_by(e, [&] {
      const std::size_t r = S.order[0];
      const double with_new = weight * A.inverse(e.task, S.task[r]) * row(e.x)[r], f_r = f(S.task[r], row_of(r)) + with_new,
                   a = std::abs(beta[r]), m = beta[r] > 0 ? f_r : -f_r, phi = shrinkage(a, m);
      Q += psi(a * phi, phi * m);
      for (double& b : beta) b *= phi;
      weight *= phi;
      remove(r);
    });
    add(e, weight);
    return true;
  }
  /// New tasks in the complete graph reduce c_G^2, and so the bound. Q shrinks by the same factor and stays below it.
  void decide(std::span<const Example> round, Rng& rng, std::span<Decision> out) {
    const std::size_t before = A.tasks();
    WeightedMachine::decide(round, rng, out);
    if (A.tasks() > before && std::holds_alternative<Complete>(p.graph))
      Q *= static_cast<double>(before + 1) / static_cast<double>(A.tasks() + 1);
  }

  double c2() {  // c_G^2 = max_i (A^-1)[i,i]
    if (c_tasks != A.tasks()) {
      c_squared = 0;
      for (Task i = 0; i < A.tasks(); ++i) c_squared = std::max(c_squared, A.inverse(i, i));
      c_tasks = A.tasks();
    }
    return c_squared;
  }
  double psi(double a, double m) { return scale * (c2() * a * a + 2 * std::sqrt(c2()) * a) - 2 * a * m; }
  double bound() { return 15.0 / 32 * scale * c2() * static_cast<double>(M); }
  /// The largest phi in (0, 1] with psi(a phi, phi m) + Q <= bound.
  double shrinkage(double a, double m) {
    if (psi(a, m) + Q <= bound()) return 1;
    const double quadratic = scale * c2() * a * a - 2 * a * m, linear = scale * 2 * std::sqrt(c2()) * a,
                 constant = Q - bound();
    return -2 * constant / (linear + std::sqrt(std::max(0.0, linear * linear - 4 * quadratic * constant)));
  }

  std::uint64_t M = 0;  // mistakes
  double Q = 0, scale = 0;
  std::size_t c_tasks = 0;
  double c_squared = 0;

  static void state(auto& s, auto&& visit) {
    WeightedMachine::state(s, visit);
    visit("forgetron.mistakes", s.M);
    visit("forgetron.Q", s.Q);
    visit("forgetron.scale", s.scale);
  }
};

}  // namespace

extern const Algorithm kKernelPerceptron, kBudgetRandom, kBudgetForgetron;
constexpr Algorithm kKernelPerceptron =
    registered<KernelPerceptron,
               Capabilities{.mistake_driven = true, .keeps_instances = true, .rebuilds = true, .judges = true}>();
constexpr Algorithm kBudgetRandom = registered<BudgetRandom, Capabilities{.draws = true,
                                                                          .mistake_driven = true,
                                                                          .keeps_instances = true,
                                                                          .forgets = true,
                                                                          .rebuilds = true,
                                                                          .judges = true}>();
constexpr Algorithm kBudgetForgetron =
    registered<BudgetForgetron,
               Capabilities{
                   .mistake_driven = true, .keeps_instances = true, .forgets = true, .rebuilds = true, .judges = true}>();

}  // namespace quorate
