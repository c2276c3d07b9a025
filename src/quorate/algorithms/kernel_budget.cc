// Kernel learners for many tasks, on a budget of support vectors or of bytes: who leaves when a new one has to be kept?
//
// Source  Cavallanti, Cesa-Bianchi 2012: kernel Perceptron with the multitask kernel, MTRBP (Alg. 3), self-tuned
//         MTFORG (4.3), MTBPRJ (Alg. 1), MTBPRJ-2 (Alg. 2).
// Round   any number of examples; at most one label per example unless the query rule chooses.
// Shapes  K tasks, B active instances x_j of tasks i_j; K' the kernel of instances; beta: B. MTBPRJ: H^-1: B x B, of
//         the multitask kernel. MTBPRJ-2: H^-1 of K', and b: tasks that erred x B.
// Cost    An example: one kernel row (kernel/support_vectors.h). A mistake: MTRBP, MTFORG O(B); MTBPRJ O(B^2); MTBPRJ-2
//         O(B^2 + B tasks that erred). Memory O(entries + B), the projecting ones O(B^2) more; nothing is allocated
//         once the set is full, but for a sparse instance longer than the one whose place it takes.
// Draws   decide: what the query rule draws, example by example. learn: MTRBP one per eviction, in whom to evict,
//         oldest first.
// Differs As docs/papers.md section 4 settles it: MTBPRJ's score has an absolute value, MTBPRJ-2's line 14 no A^-1,
//         Psi's second argument no beta_r, c_G = max sqrt((A^-1)_ii). The distance, not its square, is compared with
//         eta. MTFORG for kernels with K'(x,x) other than 1 runs on K' divided by the largest seen. MTBPRJ-2 scores
//         by the norm of the weights of all K tasks, the damage the paper speaks of. While a graph's tasks are still
//         arriving, MTBPRJ makes its inverse anew for each, O(B^3).
#include <algorithm>
#include <cmath>

#include "quorate/base/memory.h"
#include "quorate/graph/task_graph.h"
#include "quorate/kernel/active_set.h"
#include "quorate/kernel/projection.h"
#include "quorate/kernel/task_weights.h"
#include "quorate/queries/query_rules.h"
#include "quorate/scaled_learner.h"

namespace quorate {
namespace {

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
    return std::tuple_cat(BudgetParams::fields(),
                          std::tuple{Field{&ProjectionParams::eta, "eta", Interval{0},
                                           "a new instance nearer than this to the span of the others is projected on it",
                                           "Cavallanti Alg. 1, line 4"}});
  }
};

[[noreturn]] void too_large(const Example& e) {
  throw MemoryError("the memory limit does not hold a single instance of " + std::to_string(e.x.size()) +
                    " features; expected a larger --memory");
}

/// What all of them share: the active set, the task graph, the query rule, when there is room and how it is made.
template <class P>
struct KernelMachine {
  KernelMachine(const P& params, const LearnerContext& context)
      : p(params),
        query(params.query, context),
        A(params.graph, context),
        S(params.kernel, context.memory),
        k(context.memory),
        memory(context.memory) {}

  /// f(task, row): the margin from the kernel row of an instance.
  template <class F>
  double score_by(const Example& e, F f) const {
    std::vector<double> row(S.size());  // pure, so not the scratch
    S.z.row(e.x, row);
    return f(e.task, row);
  }
  template <class F>
  void decide_by(std::span<const Example> round, Rng& rng, std::span<Decision> out, F f) {
    for (std::size_t n = 0; n < round.size(); ++n) {
      A.ensure_tasks(std::size_t{round[n].task} + 1);
      out[n].margin = f(round[n].task, row(round[n].x));
    }
    query(round, rng, out);
  }

  /// The kernel row of x, valid until the next one.
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
  void prefetch(const Example&) const {}
  std::size_t support_vectors() const { return S.size(); }
  double influence(Task to, Task from) const { return A.inverse(to, from); }

  /// Bytes that other parts of the model may take before the next mistake: tables of tasks.
  std::size_t reserve() const { return 2048 + 112 * A.tasks(); }
  bool has_left(std::size_t bytes) const { return bytes_left(memory) >= bytes + reserve(); }
  /// Whether another instance may be kept, if keeping it takes so many bytes.
  bool room(std::size_t bytes) const {
    if constexpr (requires { p.budget; })
      if (p.budget > 0 && S.size() >= p.budget) return false;
    return has_left(bytes);
  }
  /// Instances of the learner `l` leave, each by evict(), until e may be kept.
  template <class L, class Evict>
  static void evict_by(L& l, const Example& e, Evict evict) {
    while (!l.room(l.bytes_to_add(e))) {
      if (l.S.size() == 0) too_large(e);
      evict();
      if (!l.has_left(l.bytes_to_add(e))) l.trim();
    }
  }
  /// The same, until so many bytes are left or nobody is.
  template <class L, class Evict>
  static void free_memory_by(L& l, std::size_t bytes, Evict evict) {
    if (l.has_left(bytes)) return;
    for (l.trim(); l.S.size() > 0 && !l.has_left(bytes); l.trim()) evict();
  }
  /// Gives back memory that is kept for the next instance.
  void trim() { S.z.trim(); }

  P p;
  QueryPolicy<Query> query;
  TaskGraph A;
  ActiveSet S;
  std::pmr::vector<double> k;  // scratch: a kernel row
  std::pmr::memory_resource* memory;

  template <class L>
  static void state(L& s, auto&& visit) {
    visit("query", s.query);
    visit("graph", s.A);
    visit(std::string(L::name) + "_set", s.S);  // a model of another learner must not fit
  }
  void check() const { S.check(A.tasks()); }
};

/// One weight for each active instance.
template <class P>
struct Weighted : KernelMachine<P> {
  using Base = KernelMachine<P>;
  using Base::A, Base::S, Base::memory;
  Weighted(const P& params, const LearnerContext& context) : Base(params, context), beta(context.memory) {}

  double score(const Example& e) const {
    return Base::score_by(e, [this](Task task, std::span<const double> row) { return f(task, row); });
  }
  void decide(std::span<const Example> round, Rng& rng, std::span<Decision> out) {
    Base::decide_by(round, rng, out, [this](Task task, std::span<const double> row) { return f(task, row); });
  }
  /// sum_j beta_j (A^-1)[i_j, task] row[j]
  double f(Task task, std::span<const double> row) const {
    return dot({{}, row}, [&, a = A.column(task)](Index j) { return beta[j] * a(S.task[j]); });
  }

  std::size_t bytes_to_add(const Example& e) const { return S.bytes_to_add(e) + growth(beta, 1) + growth(Base::k, 1); }
  void add(const Example& e, double weight) {
    S.add(e);
    beta.push_back(weight);
  }
  void remove(std::size_t slot) {
    S.remove(slot);
    beta[slot] = beta.back();
    beta.pop_back();
  }

  std::pmr::vector<double> beta;  // by slot

  template <class M>
  static void state(M& s, auto&& visit) {
    Base::state(s, visit);
    visit("beta", s.beta);
  }
  void check() const {
    Base::check();
    if (beta.size() != S.size()) throw DataError("weights and active set differ in size");
    for (const double b : beta)
      if (!std::isfinite(b)) throw DataError("a weight is not finite");
  }
};

struct KernelPerceptron : Weighted<KernelParams> {
  static constexpr std::string_view name = "kernel-perceptron", title = "Kernel perceptrons without a budget",
                                    source = "Cavallanti and Cesa-Bianchi 2012, section 2";
  using Params = KernelParams;
  using Weighted::Weighted;

  bool learn(const Example& e, const Decision& d, double y, Rng&) {
    if (!mistaken(y, d.margin)) return false;
    add(e, y);
    return true;
  }
};

/// MTRBP.
struct BudgetRandom : Weighted<BudgetParams> {
  static constexpr std::string_view name = "budget-random", title = "Kernel perceptrons on a budget: a random one leaves",
                                    source = "Cavallanti and Cesa-Bianchi 2012, Algorithm 3 (MTRBP)";
  using Params = BudgetParams;
  using Weighted::Weighted;

  bool learn(const Example& e, const Decision& d, double y, Rng& rng) {
    if (!mistaken(y, d.margin)) return false;
    evict_by(*this, e, [&] { remove(S.order[below(S.size(), rng)]); });
    add(e, y);
    return true;
  }
  void free_memory(std::size_t bytes) {  // no draw here: the oldest
    free_memory_by(*this, bytes, [&] { remove(S.order[0]); });
  }
};

/// MTFORG.
struct BudgetForgetron : Weighted<BudgetParams> {
  static constexpr std::string_view name = "budget-forgetron",
                                    title = "Kernel perceptrons on a budget: the oldest fades away",
                                    source = "Cavallanti and Cesa-Bianchi 2012, section 4.3 (MTFORG)";
  using Params = BudgetParams;
  using Weighted::Weighted;

  bool learn(const Example& e, const Decision& d, double y, Rng&) {
    if (!mistaken(y, d.margin)) return false;
    ++M;
    scale = std::max(scale, S.z.self(e.x));
    double weight = y;  // of the new instance, which shrinks with the others
    evict_by(*this, e, [&] {
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
  void free_memory(std::size_t bytes) {
    free_memory_by(*this, bytes, [&] { remove(S.order[0]); });
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

  template <class L>
  static void state(L& s, auto&& visit) {
    Weighted::state(s, visit);
    visit("forgetron.mistakes", s.M);
    visit("forgetron.Q", s.Q);
    visit("forgetron.scale", s.scale);
  }
};

/// MTBPRJ.
struct BudgetProjectron : Weighted<ProjectionParams> {
  static constexpr std::string_view name = "budget-projectron",
                                    title = "Kernel perceptrons on a budget: who leaves is projected on the others",
                                    source = "Cavallanti and Cesa-Bianchi 2012, Algorithm 1 (MTBPRJ)";
  using Params = ProjectionParams;
  BudgetProjectron(const Params& params, const LearnerContext& context) : Weighted(params, context), P(context.memory) {}

  bool learn(const Example& e, const Decision& d, double y, Rng&) {
    if (!mistaken(y, d.margin)) return false;
    // In the complete graph every new task changes A^-1, so the Gram matrix is another one.
    if (tasks != A.tasks() && S.size() > 0 && std::holds_alternative<Complete>(p.graph)) P.rebuild(*this);
    tasks = A.tasks();
    const std::span<double> h = row(e.x);
    const auto a = A.column(e.task);
    for (std::size_t j = 0; j < h.size(); ++j) h[j] *= a(S.task[j]);
    if (P.project(h, A.inverse(e.task, e.task) * S.z.self(e.x), p.eta)) {
      for (std::size_t j = 0; j < beta.size(); ++j) beta[j] += y * P.g[j];
      return true;
    }
    double weight = y;
    evict_by(*this, e, [&] { weight += evict(); });
    P.add();
    add(e, weight);
    P.check_drift(*this);
    return true;
  }
  void free_memory(std::size_t bytes) {
    P.reserve();
    free_memory_by(*this, bytes, [&] {
      P.clear_candidate();
      evict();
    });
  }
  void trim() {
    Weighted::trim();
    P.H.trim();
  }
  std::size_t bytes_to_add(const Example& e) const { return Weighted::bytes_to_add(e) + P.bytes_to_add(); }

  /// Who costs least leaves, projected on the others and on the new instance, if there is one: its share is returned.
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
  /// Column i of the Gram matrix.
  void operator()(std::size_t i, std::span<double> h) {
    S.z.row_of(i, h);
    for (std::size_t j = 0; j < h.size(); ++j) h[j] *= A.inverse(S.task[j], S.task[i]);
  }

  Projection P;
  std::uint64_t tasks = 0;  // that H was made for

  template <class L>
  static void state(L& s, auto&& visit) {
    Weighted::state(s, visit);
    visit("multitask_gram", s.P);
    visit("gram_tasks", s.tasks);
  }
  void check() const {
    Weighted::check();
    if (P.H.size() != S.size()) throw DataError("Gram inverse and active set differ in size");
  }
};

/// MTBPRJ-2: projections of K' alone, so that an instance serves all tasks.
struct BudgetProjectronShared : KernelMachine<ProjectionParams> {
  static constexpr std::string_view name = "budget-projectron-shared",
                                    title = "Kernel perceptrons on a budget whose instances serve all tasks",
                                    source = "Cavallanti and Cesa-Bianchi 2012, Algorithm 2 (MTBPRJ-2)";
  using Params = ProjectionParams;
  BudgetProjectronShared(const Params& params, const LearnerContext& context)
      : KernelMachine(params, context), P(context.memory), w(context.memory), cost(context.memory), of_new(context.memory) {}

  double score(const Example& e) const {
    return score_by(e, [this](Task task, std::span<const double> h) { return f(task, h); });
  }
  void decide(std::span<const Example> round, Rng& rng, std::span<Decision> out) {
    decide_by(round, rng, out, [this](Task task, std::span<const double> h) { return f(task, h); });
  }
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
    free_memory(w.bytes_to_add_rows(S.size()));
    const std::size_t own = w.at(false, e.task, e.task, S.size()),
                      sum = in_clique(e.task) ? w.at(true, A.group(e.task), e.task, S.size()) : own;
    const auto moves = [&](std::size_t r) { return r == own || r == sum; };
    if (P.project(row(e.x), S.z.self(e.x), p.eta)) {
      for (std::size_t r = 0; r < w.rows.size(); ++r)
        for (std::size_t j = 0; moves(r) && j < S.size(); ++j) w.rows[r].b[j] += y * P.g[j];
      return true;
    }
    of_new.assign(w.rows.size(), 0.0);
    evict_by(*this, e, [&] { evict(); });
    P.add();
    S.add(e);
    for (std::size_t r = 0; r < w.rows.size(); ++r) w.rows[r].b.push_back(of_new[r] + (moves(r) ? y : 0.0));
    P.check_drift(*this);
    return true;
  }
  void free_memory(std::size_t bytes) {
    P.reserve();
    of_new.reserve(w.rows.size());
    free_memory_by(*this, bytes, [&] {
      P.clear_candidate();
      of_new.assign(w.rows.size(), 0.0);
      evict();
    });
  }
  void trim() {
    KernelMachine::trim();
    P.H.trim();
    w.trim();
  }

  /// Who costs least leaves, projected on the others and on the new instance, whose shares of_new gathers.
  void evict() {
    count_cost();
    std::size_t r = 0;
    double least = std::numeric_limits<double>::infinity();
    for (const std::uint32_t j : S.order)
      if (const double c = cost[j] / P.diagonal(j); c < least) least = c, r = j;
    std::span<double> gamma(cost);
    for (std::size_t j = 0; j < S.size(); ++j) gamma[j] = j == r ? 0 : P.coefficient(j, r);
    for (std::size_t n = 0; n < w.rows.size(); ++n) {
      auto& b = w.rows[n].b;
      const double lost = b[r];
      for (std::size_t j = 0; lost != 0 && j < b.size(); ++j) b[j] += lost * gamma[j];
      of_new[n] += lost * P.coefficient_of_new(r);
      b[r] = b.back();
      b.pop_back();
    }
    P.remove(r);
    S.remove(r);
  }

  /// cost[j] = sum over all K tasks l of (beta_l)_j^2: what all prediction functions together would lose.
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

  /// Whether the task's clique keeps a sum. In the complete graph always, as more tasks may come.
  bool in_clique(Task task) const {
    return A.regular() && (A.group_size(task) > 1 || std::holds_alternative<Complete>(p.graph));
  }
  std::size_t bytes_to_add(const Example& e) const {
    std::size_t bytes = S.bytes_to_add(e) + P.bytes_to_add() + growth(k, 1) + growth(cost, 1);
    for (const TaskWeights::Row& r : w.rows) bytes += growth(r.b, 1);
    return bytes;
  }
  /// Column i of the Gram matrix of K'.
  void operator()(std::size_t i, std::span<double> h) { S.z.row_of(i, h); }

  Projection P;
  TaskWeights w;
  std::pmr::vector<double> cost, of_new;  // scratch: by slot; by row of w

  template <class L>
  static void state(L& s, auto&& visit) {
    KernelMachine::state(s, visit);
    visit("gram", s.P);
    visit("weights", s.w);
  }
  void check() const {
    KernelMachine::check();
    bool good = P.H.size() == S.size();
    for (const TaskWeights::Row& r : w.rows) {
      good = good && r.b.size() == S.size() && r.owner < A.tasks() && r.key == (r.sum ? A.group(r.owner) : r.owner);
      good = good && (r.sum ? in_clique(r.owner) : !in_clique(r.owner) || w.find(true, A.group(r.owner)) != nullptr);
    }
    if (!good) throw DataError("Gram inverse, weights and active set do not fit");
  }
};

}  // namespace

extern const Algorithm kKernelPerceptron, kBudgetRandom, kBudgetForgetron, kBudgetProjectron, kBudgetProjectronShared;
constexpr Algorithm kKernelPerceptron =
    registered<KernelPerceptron, Capabilities{.mistake_driven = true, .keeps_instances = true}>();
constexpr Algorithm kBudgetRandom =
    registered<BudgetRandom,
               Capabilities{.draws = true, .mistake_driven = true, .keeps_instances = true, .forgets = true}>();
constexpr Algorithm kBudgetForgetron =
    registered<BudgetForgetron, Capabilities{.mistake_driven = true, .keeps_instances = true, .forgets = true}>();
constexpr Algorithm kBudgetProjectron =
    registered<BudgetProjectron, Capabilities{.mistake_driven = true, .keeps_instances = true, .forgets = true}>();
constexpr Algorithm kBudgetProjectronShared =
    registered<BudgetProjectronShared, Capabilities{.mistake_driven = true, .keeps_instances = true, .forgets = true}>();

}  // namespace quorate
