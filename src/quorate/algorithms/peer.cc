// PEER: an uncertain task asks its peers, then the annotator.
//
// Source  Murugesan, Carbonell 2017, as run in Xu, Tang, Jebara 2018, Table 1 (PEER, and with share=all PEER+Share).
// Round   any number of examples; at most one label per example.
// Shapes  K tasks, d features; w: K x d, weights of one feature side by side; tau: K x K, the trust of task k in m.
// Cost    decide O(non-zeros) if it is certain, else O(K non-zeros); a label O(K non-zeros). Memory O(features K + K^2).
// Draws   decide, example by example: one; a second one if the first says unsure and there are peers. learn: none.
// Differs From Algorithm 1 of the first paper, after the second paper's figures (docs/papers.md section 3): an own margin of
//         0 predicts +1 (every other 0 is -1), so it is reported as the least positive number; whether it was mistaken is
//         judged by its own margin; peers' answers that replace its own always update w_k; losses in the exponent are
//         divided by their sum and not multiplied by C (c = 1); tau is changed on mistakes only, sharing happens for every
//         bought label. A row of tau has mean 1 over the peers; the paper's, which sums to 1, is it divided by K - 1.
#include <algorithm>
#include <cmath>
#include <limits>

#include "quorate/queries/query_rules.h"
#include "quorate/scaled_learner.h"
#include "quorate/weights/feature_major.h"
#include "quorate/weights/trust.h"

namespace quorate {
namespace {

struct ShareNone : Tag<"none", "a bought label teaches its own task only"> {};
struct SharePeers : Tag<"peers", "it teaches wrong tasks of at least mean trust too"> {};
struct ShareAll : Tag<"all", "it teaches every task that is wrong on it"> {};

struct Peer {
  static constexpr std::string_view name = "peer", title = "Ask yourself, then your peers, then the annotator",
                                    source = "Murugesan and Carbonell 2017; Xu et al. 2018, Table 1";
  static constexpr Stages stages{.makes_room = true, .grows = true};
  struct Params {
    double b = 1, bq = 5, c = 1;
    std::variant<ShareNone, SharePeers, ShareAll> share;
    static constexpr auto fields() {
      return std::tuple{
          Field{&Params::b, "b", kPositive, "threshold on the own margin: larger asks the peers more often", "PEER, Alg. 1"},
          Field{&Params::bq, "bq", kPositive, "threshold on the peers' margin: larger asks the annotator more often",
                "PEER, Alg. 1"},
          Field{&Params::c, "c", Interval{0}, "how fast trust in a wrong peer decays", "PEER, Alg. 1"},
          Field{&Params::share, "share", kAny, "whom a bought label teaches", "Xu et al. 3.2"}};
    }
  };
  Peer(const Params& params, const LearnerContext& context)
      : p(params), w(context.memory), tau(context.memory), counts(context.memory), c(context.memory) {
    if (!context.restore) ensure_tasks(context.tasks.size());
  }

  void prefetch(const Example&) const {}
  double score(const Example& e) const {
    const double own = w(e.task, e.x);
    return own == 0 ? std::numeric_limits<double>::min() : own;
  }

  void decide(std::span<const Example> round, Rng& rng, std::span<Decision> out) {
    for (std::size_t n = 0; n < round.size(); ++n) {
      const Task k = round[n].task;
      Decision& d = out[n];
      ensure_tasks(std::size_t{k} + 1);
      d.margin = score(round[n]);
      MarginQuery{p.b * scale}(rng, d);
      const std::size_t peers = w.tasks() - 1;
      if (!d.ask || peers == 0) continue;  // certain, or without peers
      d.peer_margin = tau.margin(k, w.margins(round[n].x), true) / static_cast<double>(peers);
      const double bq = p.bq * scale, unsure = bq / (bq + std::abs(d.peer_margin));
      d.probability *= unsure;
      d.peer_draw = uniform(rng);
      d.ask = d.peer_draw < unsure;
      if (d.ask) continue;
      d.margin = d.peer_margin;  // the peers' answer is the prediction, and updates w
      w.add(k, predicted(d.margin), round[n].x);
    }
  }

  bool learn(const Example& e, const Decision& d, double y, Rng&) {
    const Task k = e.task;
    ensure_tasks(std::size_t{k} + 1);
    const bool mistake = predicted(d.margin) != y;
    const std::span<const double> margins = w.margins(e.x);
    if (mistake || !std::holds_alternative<ShareNone>(p.share)) w.reserve(e.x);  // from here on nothing can fail
    if (!std::isnan(d.peer_margin)) counts.add(k, !mistake, predicted(d.peer_margin) == y);
    if (mistake && w.tasks() > 1) {
      hinge_losses(margins, y, std::numeric_limits<double>::infinity(), c);
      c[k] = 0;
      if (decays_of(c, p.c)) tau.weigh(k, c, true);
    }
    if (std::holds_alternative<ShareNone>(p.share)) {
      if (mistake) w.add(k, y * e.weight, e.x);
      return mistake;
    }
    constexpr double kSlack = 1e-9;  // equal weights stay equal only up to rounding once a row was scaled
    const double least = std::holds_alternative<SharePeers>(p.share) ? 1 - kSlack : 0;
    const std::size_t others = teach(margins, y, tau.row(k), least, y * e.weight, c) - (c[k] != 0);
    c[k] = mistake ? y * e.weight : 0;
    const bool updated = mistake || others > 0;
    if (updated) w.add(c, e.x);
    return updated;
  }

  void set_query_scale(double factor) {  // scales b and bq: asks peers more, and trusts them less
    scale = factor;
  }

  double influence(Task to, Task from) const {  // trust of `to` in `from`
    return to == from                               ? 0
           : to < tau.tasks() && from < tau.tasks() ? tau(to, from) / static_cast<double>(tau.tasks() - 1)
                                                    : 0;
  }
  PeerBenefit peer_benefit(Task task) const { return counts(task); }

  /// Allocates, so that decide() cannot fail.
  void make_room(std::span<const Example> round) {
    std::size_t K = 0, rows = 0;
    for (const Example& e : round) {
      K = std::max(K, std::size_t{e.task} + 1);
      rows += w.new_rows(e.x);
    }
    reserve_tasks(K, rows);
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
  double scale = 1;            // on b and bq
  FeatureMajorWeights w;       // d x K
  Trust tau;                   // K x K
  PeerBenefitCounts counts;    // K
  std::pmr::vector<double> c;  // K, scratch of learn()

  template <class S>
  static void state(S& s, auto&& visit) {
    visit("w", s.w);
    visit("tau", s.tau);
    visit("listening", s.counts);
  }
  void check() {
    if (tau.tasks() != w.tasks() || counts.tasks() != w.tasks())
      throw DataError("peer: weights, trust and counts differ in tasks");
    reserve(c, w.tasks());
    c.resize(w.tasks());
    counts.fit_loaded();
  }
};

}  // namespace

extern const Algorithm kPeer;
constexpr Algorithm kPeer =
    registered<Peer,
               Capabilities{.paced = true, .draws = true, .learns_unasked = true, .additive = true, .peer_benefit = true}>();

}  // namespace quorate
