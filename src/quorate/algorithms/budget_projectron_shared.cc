// Kernel perceptrons on a budget whose instances serve all tasks: projections of K', the kernel of instances, alone.
//
// Source  Cavallanti, Cesa-Bianchi 2012: MTBPRJ-2 (Alg. 2).
// Round   as kernel_perceptron.cc.
// Shapes  as kernel_perceptron.cc; H^-1: B x B, of K'; b: tasks that erred x B.
// Cost    as kernel_perceptron.cc, but a mistake O(B^2 + B tasks that erred), memory O(entries + B^2) and b.
// Draws   decide: the draws of the query rule, in order of the examples. learn: none.
// Differs As docs/papers.md section 4 settles it: line 14 has no A^-1, Psi's second argument no beta_r. It scores by the
//         norm of the weights of all K tasks, the damage the paper speaks of. Distances and drift as budget_projectron.cc.
#include <algorithm>
#include <limits>

#include "quorate/kernel/kernel_machine.h"
#include "quorate/kernel/projection.h"
#include "quorate/kernel/task_weights.h"
#include "quorate/scaled_learner.h"

namespace quorate {
namespace {

struct BudgetProjectronShared : KernelMachine<BudgetProjectronShared, ProjectionParams> {
  static constexpr std::string_view name = "budget-projectron-shared",
                                    title = "Kernel perceptrons on a budget whose instances serve all tasks",
                                    source = "Cavallanti and Cesa-Bianchi 2012, Algorithm 2 (MTBPRJ-2)";
  static constexpr Stages stages{.has_graph = true};
  using Params = ProjectionParams;
  BudgetProjectronShared(const Params& params, const LearnerContext& context)
      : KernelMachine(params, context), P(context.memory), w(context.memory), cost(context.memory), of_new(context.memory) {}

  /// sum_j (beta_task)_j h[j]
  double f(Task task, std::span<const double> h) const {
    const auto times = [&](const TaskWeights::Row* r) {
      return r == nullptr ? 0.0 : dot({{}, h}, [b = r->b.data()](Index j) { return b[j]; });
    };
    double sum = 0;
    if (A.regular()) {
      sum = times(w.find(false, task));
      return in_clique(task) ? (sum + times(w.find(true, A.group(task)))) / static_cast<double>(A.group_size(task) + 1)
                             : sum;
    }
    A.for_each_related(task, [&](Task t, double a) { sum += a * times(w.find(false, t)); });
    return sum;
  }

  bool learn(const Example& e, const Decision& d, double y, Rng&) {
    if (!mistaken(y, d.margin)) return false;
    y *= e.weight;
    std::size_t unknown = w.find(false, e.task) == nullptr;
    if (in_clique(e.task)) unknown += w.find(true, A.group(e.task)) == nullptr;
    free_memory(w.bytes_to_add_rows(unknown, S.size()));
    fit_scratch(of_new, w.rows.size() + unknown);  // before there are rows that a loaded model had no room for
    const std::size_t own = w.at(false, e.task, e.task, S.size()),
                      sum = in_clique(e.task) ? w.at(true, A.group(e.task), e.task, S.size()) : own;
    fit_scratch(of_new, w.rows.size());
    const auto moves = [&](std::size_t r) { return r == own || r == sum; };
    const auto project = [&] { return P.project(row(e.x), S.z.self(e.x), p.eta); };
    if (project()) {
      for (std::size_t r = 0; r < w.rows.size(); ++r)
        for (std::size_t j = 0; moves(r) && j < S.size(); ++j) w.rows[r].b[j] += y * P.g[j];
      return true;
    }
    check_fits(e);
    of_new.assign(w.rows.size(), 0.0);
    evict_by(e, [&] {
      evict();
      if (P.repair(*this)) project();
    });
    P.add();
    S.add(e);
    for (std::size_t r = 0; r < w.rows.size(); ++r) {
      fit(w.rows[r].b, S.size());
      w.rows[r].b.push_back(of_new[r] + (moves(r) ? y : 0.0));
    }
    fit_scratches();
    P.check_drift(*this);
    return true;
  }
  void free_memory(std::size_t bytes) {
    free_memory_by(bytes, [&] {
      P.clear_candidate();
      of_new.assign(w.rows.size(), 0.0);
      evict();
      P.repair(*this);
    });
  }
  void fit_scratches() {
    fit_scratch(k, S.size());
    fit_scratch(cost, S.size());
  }

  /// Evicts the instance with the least cost, and projects it on the others and the new one, whose coefficients of_new
  /// gathers.
  void evict() {
    count_cost();
    std::size_t r = 0;
    double least = std::numeric_limits<double>::infinity();
    for (const std::uint32_t j : S.order)
      if (const double c = cost[j] / P.diagonal(j); c < least) least = c, r = j;
    std::span<double> gamma(cost);
    for (std::size_t j = 0; j < S.size(); ++j) gamma[j] = j == r ? 0 : P.coefficient(j, r);
    for (std::size_t n = 0; n < w.rows.size(); ++n) of_new[n] += w.rows[n].b[r] * P.coefficient_of_new(r);
    P.remove(r);
    drop(r, gamma);
  }
  /// Removes r, the combination of the first others with coefficients c.
  void drop(std::size_t r, std::span<const double> c) {
    for (TaskWeights::Row& row : w.rows) {
      auto& b = row.b;
      const double lost = b[r];
      for (std::size_t j = 0; lost != 0 && j < c.size(); ++j) b[j] += lost * c[j];
      b[r] = b.back();
      b.pop_back();
      fit(b);
    }
    S.remove(r);
    fit_scratches();
  }

  /// cost[j] = sum over all K tasks l of (beta_l)_j^2: the loss of all prediction functions together.
  void count_cost() {
    cost.assign(S.size(), 0.0);
    const auto add = [&](double times, auto beta) {
      for (std::size_t j = 0; j < cost.size(); ++j) cost[j] += times * beta(j) * beta(j);
    };
    for (std::size_t n = 0; n < w.rows.size(); ++n) {
      const TaskWeights::Row& r = w.rows[n];
      const auto related = [&](const TaskWeights::Row& other) { return A.group(other.owner) == A.group(r.owner); };
      if (!A.regular()) {  // each component once, with the first of its tasks that erred
        if (std::any_of(w.rows.begin(), w.rows.begin() + static_cast<std::ptrdiff_t>(n), related)) continue;
        A.for_each_related(r.owner, [&](Task l, double) {
          add(1, [&](std::size_t j) {
            double beta = 0;
            for (const TaskWeights::Row& t : w.rows)
              if (related(t)) beta += A.inverse(l, t.owner) * t.b[j];
            return beta;
          });
        });
      } else if (!in_clique(r.owner)) {
        add(1, [&](std::size_t j) { return r.b[j]; });
      } else {
        const double scale = 1 / static_cast<double>(A.group_size(r.owner) + 1);
        if (r.sum) {  // tasks of the clique that never erred have the sum alone
          const auto erred =
              std::count_if(w.rows.begin(), w.rows.end(), [&](const auto& o) { return !o.sum && related(o); });
          add(static_cast<double>(A.group_size(r.owner)) - static_cast<double>(erred),
              [&](std::size_t j) { return r.b[j] * scale; });
        } else {
          const auto& sum = w.find(true, A.group(r.owner))->b;
          add(1, [&](std::size_t j) { return (r.b[j] + sum[j]) * scale; });
        }
      }
    }
  }

  /// Whether the task's clique keeps a sum. Always in the complete graph, as more tasks may arrive.
  bool in_clique(Task task) const {
    return A.regular() && (A.group_size(task) > 1 || std::holds_alternative<Complete>(p.graph));
  }
  std::size_t bytes_to_add(const Example& e) const {
    const std::size_t slots = S.size() + 1;
    std::size_t bytes = S.bytes_to_add(e) + P.bytes_to_add() + bytes_to_fit(k, slots) + bytes_to_fit(cost, slots);
    for (const TaskWeights::Row& r : w.rows) bytes += bytes_to_fit(r.b, slots);
    return bytes;
  }
  std::size_t bytes_to_copy() const { return std::max(S.bytes_to_copy(), P.bytes_to_copy()); }
  std::size_t bytes_of_first(const Example& e) const {
    return KernelMachine::bytes_of_first(e) + P.bytes_of_first() + w.rows.size() * room_for(1) * sizeof(double);
  }
  std::size_t bytes_of_instances() const {
    std::size_t bytes = S.bytes() + P.bytes() + bytes_of(k) + bytes_of(cost);
    for (const TaskWeights::Row& r : w.rows) bytes += bytes_of(r.b);
    return bytes;
  }
  /// Column i of the Gram matrix of K'.
  void column(std::size_t i, std::span<double> h) { S.z.row_of(i, h); }

  Projection P;
  TaskWeights w;
  std::pmr::vector<double> cost, of_new;  // scratch: by slot; by row of w

  static void state(auto& s, auto&& visit) {
    KernelMachine::state(s, visit);
    visit("gram", s.P);
    visit("weights", s.w);
  }
  void check() {
    KernelMachine::check();
    P.fit();
    fit_scratches();
    fit_scratch(of_new, w.rows.size());
    bool good = P.H.size() == S.size();
    for (const TaskWeights::Row& r : w.rows) {
      good = good && r.b.size() == S.size() && r.owner < A.tasks() && r.key == (r.sum ? A.group(r.owner) : r.owner);
      good = good && (r.sum ? in_clique(r.owner) : !in_clique(r.owner) || w.find(true, A.group(r.owner)) != nullptr);
    }
    if (!good) throw DataError("Gram inverse, weights and active set do not fit");
  }
};

}  // namespace

extern const Algorithm kBudgetProjectronShared;
constexpr Algorithm kBudgetProjectronShared =
    registered<BudgetProjectronShared,
               Capabilities{
                   .mistake_driven = true, .keeps_instances = true, .forgets = true, .rebuilds = true, .judges = true}>();

}  // namespace quorate
