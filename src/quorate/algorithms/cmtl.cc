// CMTL: perceptrons coupled by a fixed interaction matrix. A mistake of one task updates related tasks, too.
//
// Source  Cavallanti, Cesa-Bianchi, Gentile 2008, as in Saha et al. 2011, equation (2.1); query=margin is CMTL-AL (3.1).
// Round   any number of examples; at most one label per example.
// Shapes  K tasks, d features, A^-1: K x K from the graph.
//         Regular graphs: v: K x d, v_i the sum of y x over task i's mistakes; s: groups x d, s_g the sum of v_i over
//         group g. In a group of m tasks A^-1 = (I + 1 1^T)/(m + 1), so w_j = (v_j + s_g)/(m + 1) is never formed.
//         Edge lists: w: K x d itself.
// Cost    Regular graphs: O(non-zeros) per example whatever K is. Edge lists: score and decide O(non-zeros), a mistake
//         O(non-zeros times tasks that hang together). Memory O(non-zero weights), and A^-1 of an edge list.
// Draws   decide: the draws of the query rule, in order of the examples. learn: none.
// Differs A task alone in its group keeps no s: its w is v. In the complete graph K is the number of tasks seen so far;
//         for a stream whose tasks are all known at the start that is the paper's K.
#include "quorate/graph/task_graph.h"
#include "quorate/queries/query_rules.h"
#include "quorate/scaled_learner.h"
#include "quorate/weights/linear.h"

namespace quorate {
namespace {

struct Cmtl {
  static constexpr std::string_view name = "cmtl", title = "Perceptrons coupled by a fixed interaction matrix",
                                    source = "Cavallanti et al. 2008; Saha et al. 2011, eq. 2.1";
  static constexpr Stages stages{.has_graph = true};
  struct Params {
    Graph graph;
    Query query;
    static constexpr auto fields() {
      return std::tuple{Field{&Params::graph, "graph", kAny, "which tasks are related", "Cavallanti et al. 2.1"},
                        query_field(&Params::query)};
    }
  };
  Cmtl(const Params& params, const LearnerContext& context)
      : p(params), query(params.query, context), A(params.graph, context), v(context.memory), s(context.memory) {}

  void prefetch(const Example& e) const {
    v.prefetch(e.task, e.x);
    if (shares(e.task)) s.prefetch(A.group(e.task), e.x);
  }
  double score(const Example& e) const {
    const double own = v(e.task, e.x);
    if (!shares(e.task)) return own;
    return (own + s(A.group(e.task), e.x)) / static_cast<double>(A.group_size(e.task) + 1);
  }

  void decide(std::span<const Example> round, Rng& rng, std::span<Decision> out) {
    for (std::size_t n = 0; n < round.size(); ++n) {
      A.ensure_tasks(std::size_t{round[n].task} + 1);
      out[n].margin = score(round[n]);
    }
    query(round, rng, out);
  }

  bool learn(const Example& e, const Decision& d, double y, Rng&) {
    if (!mistaken(y, d.margin)) return false;
    y *= e.weight;
    if (A.regular()) {
      v.reserve(e.task, e.x);
      if (shares(e.task)) s.reserve(A.group(e.task), e.x);
      v.add(e.task, y, e.x);  // from here on nothing can fail
      if (shares(e.task)) s.add(A.group(e.task), y, e.x);
    } else {
      A.for_each_related(e.task, [&](Task j, double) { v.reserve(j, e.x); });
      A.for_each_related(e.task, [&](Task j, double a) { v.add(j, y * a, e.x); });  // w_j += y (A^-1)[j,i] x
    }
    return true;
  }

  void check() const {}

  double influence(Task to, Task from) const { return A.inverse(to, from); }

  /// Whether the task's weights are v + s. Always in the complete graph, as more tasks may arrive.
  bool shares(Task task) const {
    return A.regular() && (A.group_size(task) > 1 || std::holds_alternative<Complete>(p.graph));
  }

  Params p;
  QueryPolicy<Query> query;
  TaskGraph A;
  Linear v;  // K x d; the weights w themselves for an edge list
  Linear s;  // groups x d

  template <class S>
  static void state(S& s, auto&& visit) {
    visit("query", s.query);
    visit("graph", s.A);
    visit("v", s.v);
    visit("s", s.s);
  }
};

}  // namespace

extern const Algorithm kCmtl;
constexpr Algorithm kCmtl =
    registered<Cmtl, Capabilities{.mistake_driven = true, .additive = true, .rebuilds = true, .judges = true}>();

}  // namespace quorate
