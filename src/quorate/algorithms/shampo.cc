// SHAMPO: K tasks share one annotator, which labels the more uncertain tasks with a higher probability.
//
// Source  Cohen and Crammer 2015: Perceptron SHAMPO; aggressive, with prior, adaptive b; weak and random updates.
// Round   one example per task that has one, or the same x for every task; labels_per_round labels are bought.
// Shapes  K tasks, d features; w: K x d. M, N, Z: K, mistakes, updates and queries of each task (SharedAnnotator's).
// Cost    O(non-zeros) per example, O(examples) per label. Memory O(non-zero weights + K).
// Draws   decide: one per label bought, none with choose=smallest and all (queries/shared_annotator.h). learn: one for an
//         answer 0 if zero=random.
// Differs prior=counts is ours: a = (1 + M) / (2 + Z), the share of a task's answers that were surprises. Adaptive b counts
//         from 1, so that the first rounds are defined, and is multiplied by b. In a round with no more examples than labels
//         all are bought.
#include "quorate/queries/shared_annotator.h"
#include "quorate/scaled_learner.h"
#include "quorate/weights/linear.h"

namespace quorate {
namespace {

struct Shampo {
  static constexpr std::string_view name = "shampo", title = "One annotator for many tasks",
                                    source = "Cohen and Crammer 2015, Perceptron SHAMPO";
  struct Params : SharedAnnotatorParams {
    double aggressive = 0;
    Zero zero;
    static constexpr auto fields() {
      return std::tuple_cat(
          SharedAnnotatorParams::fields(),
          std::tuple{Field{&Params::aggressive, "aggressive", Interval{0},
                           "lambda: also update on right predictions with |margin| below it; analysed "
                           "for less than b/2",
                           "Aggressive perceptron SHAMPO"},
                     Field{&Params::zero, "zero", kAny, "what the answer 0, neither, teaches", "One vs. one"}});
    }
    void refine(Capabilities& can) const { can.mistake_driven = aggressive == 0; }
  };
  Shampo(const Params& params, const LearnerContext& context) : p(params), query(params, context), w(context.memory) {}

  void prefetch(const Example&) const {}
  void check() const {}
  double score(const Example& e) const { return w(e.task, e.x); }

  void decide(std::span<const Example> round, Rng& rng, std::span<Decision> out) {
    for (std::size_t n = 0; n < round.size(); ++n) out[n].margin = score(round[n]);
    query.by_margin(round, rng, out);
  }

  bool learn(const Example& e, const Decision& d, double y, Rng&) {
    const bool M = mistaken(y, d.margin), G = !M && std::abs(d.margin) < p.aggressive;
    if (M || G) w.add(e.task, y * e.weight, e.x);
    return M || G;
  }

  bool learn_neither(const Example& e, const Decision& d, Rng& rng) {
    if (std::holds_alternative<ZeroRandom>(p.zero)) return learn(e, d, uniform(rng) < 0.5 ? 1 : -1, rng);
    const auto* weak = std::get_if<ZeroWeak>(&p.zero);
    if (weak != nullptr) w.add(e.task, weak->eta * e.weight * predicted(d.margin), e.x);
    return weak != nullptr;
  }

  double influence(Task to, Task from) const { return to == from ? 1 : 0; }

  Params p;
  SharedAnnotator query;
  Linear w;  // K x d

  template <class S>
  static void state(S& s, auto&& visit) {
    visit("query", s.query);
    visit("first_order", s.w);
  }
};

}  // namespace

extern const Algorithm kShampo;
constexpr Algorithm kShampo =
    registered<Shampo,
               Capabilities{
                   .mistake_driven = true, .learns_neither = true, .additive = true, .groups = true, .rebuilds = true}>();

}  // namespace quorate
