// One perceptron per task: the baseline that shares nothing.
//
// Source  Rosenblatt 1958; STL of Saha et al. 2011, section 5. With query=random and query=margin it is Random and
//         Independent of Xu et al. 2018.
// Round   any number of examples; at most one label per example.
// Shapes  K tasks, d features; w: K x d.
// Cost    O(non-zeros) per example. Memory O(non-zero weights).
// Draws   decide: the draws of the query rule, in order of the examples. learn: none.
#include "quorate/queries/query_rules.h"
#include "quorate/scaled_learner.h"
#include "quorate/weights/linear.h"

namespace quorate {
namespace {

struct Perceptron {
  static constexpr std::string_view name = "perceptron", title = "One perceptron per task",
                                    source = "Rosenblatt 1958; STL in Saha et al. 2011";
  struct Params {
    Query query;
    static constexpr auto fields() { return std::tuple{query_field(&Params::query)}; }
  };
  Perceptron(const Params& params, const LearnerContext& context) : query(params.query, context), w(context.memory) {}

  void prefetch(const Example& e) const { w.prefetch(e.task, e.x); }
  double score(const Example& e) const { return w(e.task, e.x); }

  void decide(std::span<const Example> round, Rng& rng, std::span<Decision> out) {
    for (std::size_t n = 0; n < round.size(); ++n) out[n].margin = score(round[n]);
    query(round, rng, out);
  }

  bool learn(const Example& e, const Decision& d, double y, Rng&) {
    if (!mistaken(y, d.margin)) return false;
    w.add(e.task, y * e.weight, e.x);
    return true;
  }

  void check() const {}

  double influence(Task to, Task from) const { return to == from ? 1 : 0; }

  QueryPolicy<Query> query;
  Linear w;  // K x d

  template <class S>
  static void state(S& s, auto&& v) {
    v("query", s.query);
    v("w", s.w);
  }
};

}  // namespace

extern const Algorithm kPerceptron;
constexpr Algorithm kPerceptron =
    registered<Perceptron,
               Capabilities{.mistake_driven = true, .additive = true, .groups = true, .rebuilds = true, .judges = true}>();

}  // namespace quorate
