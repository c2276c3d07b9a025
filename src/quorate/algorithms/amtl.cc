// AMTL: perceptrons coupled by the similarity of their weights.
//
// Source  Saha et al. 2011, equation (3.1); query=similarity is AMTL-AL (section 3.1).
// Round   any number of examples; at most one label per example.
// Shapes  K tasks, d features; w: K x d, weights of one feature side by side; G: K x K, G[j,l] = <w_j, w_l>;
//         U[j,i] = exp(-|w_j - w_i|^2), computed from G on the weights before the update.
// Cost    score O(non-zeros); decide O(non-zeros), with query=similarity O(non-zeros + K); a mistake
//         O(K non-zeros + K^2): no pass over d is ever made. Memory O(features seen times K + K^2).
// Draws   decide: the draws of the query rule, in order of the examples. learn: none.
// Differs The graph is the complete one in the paper; any other may be given, and A^-1 * U is then zero where A^-1 is.
#include <vector>

#include "quorate/base/portable_math.h"
#include "quorate/base/simd.h"
#include "quorate/graph/task_graph.h"
#include "quorate/queries/query_rules.h"
#include "quorate/scaled_learner.h"
#include "quorate/weights/feature_major.h"
#include "quorate/weights/task_gram.h"

namespace quorate {
namespace {

/// margin(b) with b = sum_j U[i,j]: tasks that are like many others ask more.
struct Similarity
    : Tag<"similarity", "buy a label with probability b / (b + |margin|), b = sum of the task's similarities"> {
  static constexpr QueryTraits traits{.paced = true, .draws = true};
  static constexpr bool by_learner = true;
};

struct Amtl {
  static constexpr std::string_view name = "amtl", title = "Perceptrons coupled by how alike they are",
                                    source = "Saha et al. 2011, eq. 3.1";
  static constexpr Stages stages{.judges = true, .makes_room = true, .has_graph = true, .grows = true};
  struct Params {
    Graph graph;
    QueryWith<Similarity> query = Always{};
    static constexpr auto fields() {
      return std::tuple{Field{&Params::graph, "graph", kAny, "which tasks may be related", "Cavallanti et al. 2.1"},
                        query_field(&Params::query)};
    }
  };
  Amtl(const Params& params, const LearnerContext& context)
      : p(params),
        query(params.query, context),
        A(params.graph, context),
        w(context.memory),
        G(context.memory),
        c(context.memory) {
    if (!context.restore) ensure_tasks(A.tasks());
  }

  void prefetch(const Example&) const {}
  double score(const Example& e) const { return w(e.task, e.x); }

  void decide(std::span<const Example> round, Rng& rng, std::span<Decision> out) {
    for (std::size_t n = 0; n < round.size(); ++n) {
      const Task i = round[n].task;
      ensure_tasks(std::size_t{i} + 1);
      out[n].margin = score(round[n]);
      if (asks_by_similarity()) MarginQuery{similarity(i, c) * query.scale()}(rng, out[n]);
    }
    query(round, rng, out);
  }
  Decision judge(const Example& e, double scale, double draw, JudgeMemory&) const {
    Decision d;
    d.margin = score(e);
    query.judge(scale, draw, d);
    if (!asks_by_similarity()) return d;
    std::vector<double> u(w.tasks());  // changes nothing, so not the scratch
    GivenDraw given{draw};
    MarginQuery{(e.task < w.tasks() ? similarity(e.task, u) : 1) * scale}(given, d);
    return d;
  }
  bool asks_by_similarity() const { return std::holds_alternative<Similarity>(p.query); }
  /// b of query=similarity, the sum of U(j, i) over j; they are left in u, K numbers.
  double similarity(Task i, std::span<double> u) const {
    similarities(i, u);
    double b = 0;
    for (const double v : u) b += v;
    return b;
  }

  bool learn(const Example& e, const Decision& d, double y, Rng&) {
    if (!mistaken(y, d.margin)) return false;
    ensure_tasks(std::size_t{e.task} + 1);
    similarities(e.task, c);
    const auto column = A.column(e.task);
    for (Task j = 0; j < c.size(); ++j) {
      const double a = column(j);
      c[j] = a == 0 ? 0 : y * e.weight * a * c[j];
    }
    const std::span<const double> margins = w.margins(e.x);
    w.reserve(e.x);  // from here on nothing can fail
    G.add(c, margins, squared_norm(e.x));
    w.add(c, e.x);  // w_j += y (A^-1)[j,i] U[j,i] x
    return true;
  }

  double influence(Task to, Task from) const {
    const double a = A.inverse(to, from);
    return a == 0 || to >= G.tasks() || from >= G.tasks() ? a : a * U(to, from);
  }

  double U(Task j, Task i) const { return j == i ? 1 : exp_negative(-G.squared_distance(j, i)); }
  /// u[j] = U(j, i) for all j.
  void similarities(Task i, std::span<double> u) const {
    G.squared_distances(i, u);
    simd([u] {
      for (double& v : u) v = exp_negative(-v);
    });
  }

  /// Allocates, so that decide() cannot fail.
  void make_room(std::span<const Example> round) {
    std::size_t K = 0;
    for (const Example& e : round) K = std::max(K, std::size_t{e.task} + 1);
    reserve_tasks(K);
  }
  /// Room for K tasks, and `rows` rows more; if memory is refused nothing changed.
  void reserve_tasks(std::size_t K, std::size_t rows = 0) {
    K = std::max(K, w.tasks());
    if (is_limited(c.get_allocator().resource()))
      check_bytes_left(c.get_allocator().resource(),
                       w.bytes_to_reserve(K, rows) + G.bytes_to_reserve(K) + bytes_to_reserve(c, K));
    w.reserve_tasks(K, rows);
    G.reserve_tasks(K);
    reserve(c, K);
  }
  void ensure_tasks(std::size_t K) {
    if (K <= w.tasks()) return;
    reserve_tasks(K);
    A.ensure_tasks(K);  // from here on nothing can fail
    w.ensure_tasks(K);
    G.ensure_tasks(K);
    c.resize(K);
  }

  Params p;
  QueryPolicy<decltype(Params::query)> query;
  TaskGraph A;
  FeatureMajorWeights w;       // d x K
  TaskGram G;                  // K x K
  std::pmr::vector<double> c;  // K, scratch of decide() and learn()

  template <class S>
  static void state(S& s, auto&& visit) {
    visit("query", s.query);
    visit("graph", s.A);
    visit("w", s.w);
    visit("gram", s.G);
  }
  void check() {
    if (w.tasks() != A.tasks() || G.tasks() != A.tasks())
      throw DataError("amtl: weights, Gram matrix and graph differ in tasks");
    reserve(c, w.tasks());
    c.resize(w.tasks());
  }
};

}  // namespace

extern const Algorithm kAmtl;
constexpr Algorithm kAmtl =
    registered<Amtl, Capabilities{.mistake_driven = true, .additive = true, .rebuilds = true, .judges = true}>();

}  // namespace quorate
