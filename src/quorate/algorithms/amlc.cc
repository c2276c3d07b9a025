// AMLC: each task decides by a committee of all tasks, and tasks share the labels they buy.
//
// Source  Xu, Tang, Jebara 2018, Algorithm 1.
// Round   any number of examples; at most one label per example.
// Shapes  K tasks, d features; w: K x d, weights of one feature side by side; tau: K x K, the committee of task k in row k.
// Cost    O(K non-zeros) per example. Memory O(features K + K^2).
// Draws   decide: the draws of the query rule, in order of the examples. learn: none.
// Differs The algorithm as printed does not reproduce the paper's table (docs/papers.md section 3). The defaults do:
//         rows of tau sum to K (rows=one: to 1, as printed), sharing compares with the label (share=prediction: with
//         the committee's prediction, as printed), losses in the exponent are capped at 2, C = ln 30.
//         While all weights are equal and share=label, all members agree, tau stays flat and every update reaches every
//         task: it is one perceptron for all tasks, until rounding breaks a tie. Here the members' sums have one order, so
//         ties are ties; with a matrix product that sums differently per column they break at random.
#include <algorithm>
#include <cmath>

#include "quorate/queries/query_rules.h"
#include "quorate/scaled_learner.h"
#include "quorate/weights/feature_major.h"
#include "quorate/weights/trust.h"

namespace quorate {
namespace {

struct RowsTasks : Tag<"tasks", "the weights of a committee sum to the number of tasks"> {};
struct RowsOne : Tag<"one", "they sum to one, as printed"> {};
struct ShareLabel : Tag<"label", "a bought label teaches trusted tasks that are wrong on it"> {};
struct SharePrediction : Tag<"prediction", "it teaches trusted tasks that differ from the committee, as printed"> {};
struct ShareNobody : Tag<"none", "it teaches its own task only"> {};
struct WeighBought : Tag<"bought", "every bought label"> {};
struct WeighMistake : Tag<"mistake", "bought labels that the committee got wrong"> {};

struct Amlc {
  static constexpr std::string_view name = "amlc", title = "Committees of tasks that decide together and share labels",
                                    source = "Xu, Tang and Jebara 2018, Algorithm 1";
  static constexpr Stages stages{.makes_room = true, .grows = true};
  struct Params {
    Query query = MarginQuery{};
    double c = 3.4011973816621555;  // ln 30
    std::variant<RowsTasks, RowsOne> rows;
    std::variant<ShareLabel, SharePrediction, ShareNobody> share;
    std::variant<WeighBought, WeighMistake> weigh;
    double cap = 2;
    static constexpr auto fields() {
      return std::tuple{
          query_field(&Params::query),
          Field{&Params::c, "c", Interval{0}, "how fast trust in a wrong member decays; default ln 30", "Alg. 1, line 12"},
          Field{&Params::rows, "rows", kAny, "what the weights of a committee sum to", "Alg. 1, line 2"},
          Field{&Params::share, "share", kAny, "whom a bought label teaches", "Alg. 1, line 14"},
          Field{&Params::weigh, "weigh", kAny, "which labels change the committee", "Alg. 1, line 12"},
          Field{&Params::cap, "cap", kPositive, "largest loss in the exponent", "docs/papers.md section 3"}};
    }
  };
  Amlc(const Params& params, const LearnerContext& context)
      : p(params),
        query(params.query, context),
        w(context.memory),
        tau(context.memory),
        counts(context.memory),
        c(context.memory) {
    if (!context.restore) ensure_tasks(context.tasks.size());
  }

  void prefetch(const Example&) const {}
  double score(const Example& e) const {
    if (e.task >= w.tasks()) return 0;
    std::vector<double> member(w.tasks());  // pure, so not the scratch
    w.margins(e.x, member);
    return committee(e.task, member);
  }

  void decide(std::span<const Example> round, Rng& rng, std::span<Decision> out) {
    for (std::size_t n = 0; n < round.size(); ++n) {
      ensure_tasks(std::size_t{round[n].task} + 1);
      out[n].margin = committee(round[n].task, w.margins(round[n].x));  // lines 5 and 6
    }
    query(round, rng, out);  // line 8
  }

  bool learn(const Example& e, const Decision& d, double y, Rng&) {
    const Task k = e.task;
    ensure_tasks(std::size_t{k} + 1);
    const int committee_says = predicted(d.margin);
    const bool mistake = committee_says != y;  // line 10
    const std::span<const double> margins = w.margins(e.x);
    if (mistake || !std::holds_alternative<ShareNobody>(p.share)) w.reserve(e.x);  // from here on nothing can fail
    counts.add(k, predicted(margins[k]) == y, !mistake);
    if (mistake || std::holds_alternative<WeighBought>(p.weigh)) {  // line 12
      hinge_losses(margins, y, p.cap, c);
      if (decays_of(c, p.c)) tau.weigh(k, c, false);
    }
    std::size_t others = 0;  // lines 11 and 13-16
    if (std::holds_alternative<ShareNobody>(p.share)) {
      std::fill(c.begin(), c.end(), 0.0);
    } else {
      const double says = std::holds_alternative<ShareLabel>(p.share) ? y : committee_says;
      others = teach(margins, says, tau.row(k), tau(k, k), y * e.weight, c) - (c[k] != 0);
    }
    c[k] = mistake ? y * e.weight : 0;
    const bool updated = mistake || others > 0;
    if (updated) w.add(c, e.x);
    return updated;
  }

  double committee(Task k, std::span<const double> member) const { return tau.margin(k, member, false) * row_scale(); }
  double row_scale() const { return std::holds_alternative<RowsOne>(p.rows) ? 1 / static_cast<double>(tau.tasks()) : 1; }

  double influence(Task to, Task from) const {  // weight of `from` in the committee of `to`
    return to < tau.tasks() && from < tau.tasks() ? tau(to, from) * row_scale() : 0;
  }
  PeerBenefit peer_benefit(Task task) const { return counts(task); }

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
      check_bytes_left(c.get_allocator().resource(), w.bytes_to_reserve(K, rows) + tau.bytes_to_reserve(K) +
                                                         counts.bytes_to_reserve(K) + bytes_to_reserve(c, K));
    w.reserve_tasks(K, rows);
    tau.reserve_tasks(K);
    counts.reserve_tasks(K);
    reserve(c, K);
  }
  void ensure_tasks(std::size_t K) {
    if (K <= w.tasks()) return;
    reserve_tasks(K);
    w.ensure_tasks(K);  // from here on nothing can fail
    tau.ensure_tasks(K);
    counts.ensure_tasks(K);
    c.resize(K);
  }

  Params p;
  QueryPolicy<Query> query;
  FeatureMajorWeights w;       // d x K
  Trust tau;                   // K x K, rows with mean 1
  PeerBenefitCounts counts;    // K
  std::pmr::vector<double> c;  // K, scratch of learn()

  template <class S>
  static void state(S& s, auto&& visit) {
    visit("query", s.query);
    visit("w", s.w);
    visit("committee", s.tau);
    visit("listening", s.counts);
  }
  void check() {
    if (tau.tasks() != w.tasks() || counts.tasks() != w.tasks())
      throw DataError("amlc: weights, trust and counts differ in tasks");
    reserve(c, w.tasks());
    c.resize(w.tasks());
    counts.fit_loaded();
  }
};

}  // namespace

extern const Algorithm kAmlc;
constexpr Algorithm kAmlc = registered<Amlc, Capabilities{.joint = true, .judges = true, .peer_benefit = true}>();

}  // namespace quorate
