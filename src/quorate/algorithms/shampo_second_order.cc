// Second-order SHAMPO: one annotator for many tasks, each with a confidence matrix.
//
// Source  Cohen and Crammer 2015: second order SHAMPO, and its aggressive form.
// Round   one example per task that has one, or the same x for every task; labels_per_round labels are bought.
// Shapes  K tasks, d features; A: K x d x d, I + the sum of x x^T of a task's updates (diagonal=true: its diagonal, K x d);
//         w: K x d. M, N, Z: K, mistakes, updates and queries of each task (SharedAnnotator's).
// Cost    Full matrices: O(non-zeros^2) per example, O(d^2) per update, 8 d^2 bytes per task that has learned. Diagonal:
//         O(non-zeros) per example and update, memory O(non-zero weights + K).
// Draws   As shampo.
// Differs As shampo. A weak update moves w and leaves A. A^-1 is kept by rank-one updates and made anew from A when they
//         drift (weights/second_order.h). The diagonal form takes x^T A^-1 w / (1 + r) with the diagonal A.
#include <cmath>

#include "quorate/queries/shared_annotator.h"
#include "quorate/scaled_learner.h"
#include "quorate/weights/second_order.h"

namespace quorate {
namespace {

struct ShampoSecondOrder {
  static constexpr std::string_view name = "shampo-second-order",
                                    title = "One annotator for many tasks whose weights have variances",
                                    source = "Cohen and Crammer 2015, second order SHAMPO";
  struct Params : SharedAnnotatorParams {
    bool aggressive = false, diagonal = false;
    Zero zero;
    static constexpr auto fields() {
      return std::tuple_cat(
          SharedAnnotatorParams::fields(),
          std::tuple{Field{&Params::aggressive, "aggressive", kAny, "choose by F, and update while F <= 0 too",
                           "Second order SHAMPO, aggressive"},
                     Field{&Params::diagonal, "diagonal", kAny, "keep the diagonal of A only: for many features",
                           "docs/papers.md section 2"},
                     Field{&Params::zero, "zero", kAny, "what the answer 0, neither, teaches", "One vs. one"}});
    }
  };
  ShampoSecondOrder(const Params& params, const LearnerContext& context)
      : p(params), query(params, context), full(context.memory), diagonal(context.memory) {}

  void prefetch(const Example&) const {}
  double score(const Example& e) const { return estimate(e).margin(); }

  void decide(std::span<const Example> round, Rng& rng, std::span<Decision> out) {
    for (std::size_t n = 0; n < round.size(); ++n) {
      const RidgeEstimate j = estimate(round[n]);
      out[n].margin = j.margin();
      out[n].selection_score = F(j.margin(), j.r);
    }
    if (p.aggressive)
      query.by_score(round, rng, out);
    else
      query.by_margin(round, rng, out);
  }

  bool learn(const Example& e, const Decision& d, double y, Rng&) {
    if (!mistaken(y, d.margin) && !(p.aggressive && d.selection_score <= 0)) return false;
    if (e.weight == 1) return update(e.task, y, e.x);
    const double root = std::sqrt(e.weight);  // A += weight x x^T, w += weight y x
    part.assign(e.x.value.begin(), e.x.value.end());
    for (double& v : part) v *= root;
    return update(e.task, y * root, {e.x.index, part, e.x.norm});
  }
  bool update(Task task, double y, const Features& x) {
    if (p.diagonal)
      diagonal.update(task, y, x);
    else
      full.update(task, y, x);
    return true;
  }

  bool learn_neither(const Example& e, const Decision& d, Rng& rng) {
    if (std::holds_alternative<ZeroRandom>(p.zero)) return learn(e, d, uniform(rng) < 0.5 ? 1 : -1, rng);
    const auto* weak = std::get_if<ZeroWeak>(&p.zero);
    if (weak == nullptr) return false;
    const double a = weak->eta * e.weight * predicted(d.margin);
    if (p.diagonal)
      diagonal.nudge(e.task, a, e.x);
    else
      full.nudge(e.task, a, e.x);
    return true;
  }

  double influence(Task to, Task from) const { return to == from ? 1 : 0; }

  RidgeEstimate estimate(const Example& e) const { return p.diagonal ? diagonal(e.task, e.x) : full(e.task, e.x); }
  static double F(double margin, double r) { return (1 + r) * margin * margin + 2 * std::abs(margin) - r / (1 + r); }

  Params p;
  SharedAnnotator query;
  FullConfidence full;          // A, A^-1, w of every task
  DiagonalConfidence diagonal;  // the same, diagonals
  std::vector<double> part;     // scratch: an instance times the root of its weight

  template <class S>
  static void state(S& s, auto&& visit) {
    visit("query", s.query);
    if (s.p.diagonal)
      visit("diagonal", s.diagonal);
    else
      visit("full", s.full);
  }
  void check() const { diagonal.check(); }
};

}  // namespace

extern const Algorithm kShampoSecondOrder;
constexpr Algorithm kShampoSecondOrder =
    registered<ShampoSecondOrder, Capabilities{.learns_neither = true, .groups = true, .rebuilds = true}>();

}  // namespace quorate
