// The common base of multitask kernel learners: active set, task graph, query rule and evictions.
#pragma once
#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <memory_resource>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "quorate/base/memory.h"
#include "quorate/graph/task_graph.h"
#include "quorate/kernel/active_set.h"
#include "quorate/queries/query_rules.h"

namespace quorate {

struct KernelParams {
  Kernel kernel;
  Graph graph;
  Query query;
  static constexpr auto fields() {
    return std::tuple{Field{&KernelParams::kernel, "kernel", kAny, "inner product of instances", "Cavallanti 3"},
                      Field{&KernelParams::graph, "graph", kAny, "which tasks are related", "Cavallanti 3"},
                      query_field(&KernelParams::query)};
  }
};
struct BudgetParams : KernelParams {
  std::uint64_t budget = 1000;
  static constexpr auto fields() {
    return std::tuple_cat(std::tuple{Field{&BudgetParams::budget, "budget", Interval{0, 1e9},
                                           "most support vectors; 0: as many as the memory limit holds", "Cavallanti 4"}},
                          KernelParams::fields());
  }
};
struct ProjectionParams : BudgetParams {
  double eta = 0.01;
  static constexpr auto fields() {
    return std::tuple_cat(
        BudgetParams::fields(),
        std::tuple{
            Field{&ProjectionParams::eta, "eta", Interval{0},
                  "a new instance nearer than this, and than half its length, to the span of the others is projected on it",
                  "Cavallanti Alg. 1, line 4"}});
  }
};

/// The base of the learner L. L has f(task, row), the margin from the kernel row of an instance; bytes_to_add() and
/// bytes_to_copy() as SupportVectors; bytes_of_instances(), the bytes freed if all instances left; and bytes_of_first(), the
/// bytes of a first instance, if that is more than here. Evictions depend on the bytes left. All arrays are fitted ones
/// (base/memory.h), so these follow from the model's state, and a model that was saved and loaded evicts as before.
template <class L, class P>
struct KernelMachine {
  KernelMachine(const P& params, const LearnerContext& context)
      : p(params),
        query(params.query, context),
        A(params.graph, context),
        S(params.kernel, context.memory),
        k(context.memory),
        memory(context.memory) {}

  void prefetch(const Example&) const {}
  std::size_t support_vectors() const { return S.size(); }
  double influence(Task to, Task from) const { return A.inverse(to, from); }

  double score(const Example& e) const {
    std::vector<double> out(S.size());  // pure, so not the scratch
    S.z.row(e.x, out);
    return self().f(e.task, out);
  }
  void decide(std::span<const Example> round, Rng& rng, std::span<Decision> out) {
    for (std::size_t n = 0; n < round.size(); ++n) {
      A.ensure_tasks(std::size_t{round[n].task} + 1);
      out[n].margin = self().f(round[n].task, row(round[n].x));
    }
    query(round, rng, out);
  }

  /// The kernel row of x, or of an active instance, valid until the next one.
  std::span<double> row(const Features& x) {
    k.resize(S.size());
    S.z.row(x, k);
    return k;
  }
  std::span<double> row_of(std::size_t slot) {
    k.resize(S.size());
    S.z.row_of(slot, k);
    return k;
  }

  /// Bytes kept free: for tables of tasks until the next mistake, and for a second copy of the learner's largest array while
  /// it grows or shrinks.
  std::size_t spare_bytes() const { return 2048 + 112 * A.tasks(); }
  bool has_left(std::size_t bytes) const { return bytes_left(memory) >= bytes + spare_bytes() + self().bytes_to_copy(); }
  /// Throws MemoryError, before any instance is evicted, if e would not fit alone.
  void check_fits(const Example& e) const {
    if (has_left(self().bytes_to_add(e))) return;
    if (bytes_left(memory) + self().bytes_of_instances() < self().bytes_of_first(e) + spare_bytes()) refuse(e);
  }
  /// Bytes of e as the only instance, with scratch and a weight of its own. An overestimate, as too small a number would
  /// evict all others in vain.
  std::size_t bytes_of_first(const Example& e) const { return S.bytes_of_first(e) + 2 * room_for(1) * sizeof(double) + 512; }
  [[noreturn]] void refuse(const Example& e) const {
    throw MemoryError("the memory limit of " + std::to_string(memory_limit(memory)) +
                      " bytes does not hold a single instance of " + std::to_string(e.x.size()) +
                      " features; expected a larger --memory");
  }
  /// Call after check_fits(e). Calls evict(), which removes an instance, until e may be kept.
  template <class Evict>
  void evict_by(const Example& e, Evict evict) {
    while ((p.budget > 0 && S.size() >= p.budget) || !has_left(self().bytes_to_add(e))) {
      if (S.size() == 0) refuse(e);
      evict();
    }
  }
  /// Evicts until `bytes` bytes are left. Does nothing if the instances would keep less than a quarter of the limit: tables
  /// of tasks may have three quarters.
  template <class Evict>
  void free_memory_by(std::size_t bytes, Evict evict) {
    const auto may_give = [this] {
      const std::size_t all = self().bytes_of_instances(), kept = memory_limit(memory) / 4;
      return all - std::min(all, kept);
    };
    if (has_left(bytes) || bytes_left(memory) + may_give() < bytes + spare_bytes()) return;
    while (S.size() > 1 && !has_left(bytes)) evict();
  }

  L& self() { return static_cast<L&>(*this); }
  const L& self() const { return static_cast<const L&>(*this); }

  P p;
  QueryPolicy<Query> query;
  TaskGraph A;
  ActiveSet S;
  std::pmr::vector<double> k;  // scratch: a kernel row
  std::pmr::memory_resource* memory;

  static void state(auto& s, auto&& visit) {
    visit("query", s.query);
    visit("graph", s.A);
    visit(std::string(L::name) + "_set", s.S);  // a model of another learner must not fit
  }
  void check() {
    S.check(A.tasks());
    S.fit_loaded();
    fit_scratch(k, S.size());
  }
};

/// One weight for each active instance.
template <class L, class P>
struct WeightedMachine : KernelMachine<L, P> {
  using Base = KernelMachine<L, P>;
  using Base::A, Base::S, Base::k;
  WeightedMachine(const P& params, const LearnerContext& context) : Base(params, context), beta(context.memory) {}

  /// sum_j beta_j (A^-1)[i_j, task] row[j]
  double f(Task task, std::span<const double> row) const {
    return dot({{}, row}, [&, a = A.column(task)](Index j) { return beta[j] * a(S.task[j]); });
  }

  std::size_t bytes_to_add(const Example& e) const {
    return S.bytes_to_add(e) + bytes_to_fit(beta, S.size() + 1) + bytes_to_fit(k, S.size() + 1);
  }
  std::size_t bytes_to_copy() const { return S.bytes_to_copy(); }
  std::size_t bytes_of_instances() const { return S.bytes() + bytes_of(beta) + bytes_of(k); }
  void add(const Example& e, double weight) {
    S.add(e);
    fit(beta, S.size());
    fit_scratch(k, S.size());
    beta.push_back(weight);
  }
  void remove(std::size_t slot) {
    S.remove(slot);
    beta[slot] = beta.back();
    beta.pop_back();
    fit(beta);
    fit_scratch(k, S.size());
  }
  /// Evicts the oldest, as there is no random draw here.
  void free_memory(std::size_t bytes) requires std::derived_from<P, BudgetParams> {
    Base::free_memory_by(bytes, [&] { remove(S.order[0]); });
  }

  std::pmr::vector<double> beta;  // by slot

  static void state(auto& s, auto&& visit) {
    Base::state(s, visit);
    visit("beta", s.beta);
  }
  void check() {
    Base::check();
    fit_loaded(beta);
    if (beta.size() != S.size()) throw DataError("weights and active set differ in size");
    for (const double b : beta)
      if (!std::isfinite(b)) throw DataError("a weight is not finite");
  }
};

}  // namespace quorate
