// cohort: shared and per-task weights with variances; the mixing ratio of the two is learned online.
//
// Source  docs/papers.md section 5; docs/cohort.md; experiments: docs/decisions/cohort.md. Shared and own weights: the
//         complete graph of Cavallanti et al. Variances: diagonal AROW. Mixing ratio: exponential weights, as in AMLC.
// Round   any number of examples; at most one label per example.
// Shapes  d features; w_0, w_1, s: d, shared; v_0i, v_1i, t_i: d, of task i; s and t are initially 1. Where tasks are in
//         groups (a user's tasks, one for each class), each group has its own w and s.
// Parts   in cohort/, each with its formula. Prediction: two_level.h, mixture.h, embedding.h. Learn and Replay: two_level.h
//         for yes or no, multiclass.h for classes against the rest, instance.h for either; classes.h, replays.h. Guess:
//         guesses.h. Query: questions.h. Answer: threshold.h.
// Learn   in this order: counts of mistakes and the mixture, calibration, labels of the class, weights; then replays; then
//         the label is kept with its dual variables. Margins are current, not the decision's.
// Guess   each example that is not asked about, in the round's order, by the margin decided on; of classes by the current.
// Cost    O(non-zeros) per example for any number of tasks, with embeddings `rank` times as much; a label up to 1 +
//         `replays` times. Memory: docs/budgets.md.
// Draws   decide: the draws of the query rule, in order of the examples. learn: none.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "quorate/algorithms/cohort/classes.h"
#include "quorate/algorithms/cohort/decided.h"
#include "quorate/algorithms/cohort/guesses.h"
#include "quorate/algorithms/cohort/instance.h"
#include "quorate/algorithms/cohort/mixture.h"
#include "quorate/algorithms/cohort/multiclass.h"
#include "quorate/algorithms/cohort/params.h"
#include "quorate/algorithms/cohort/questions.h"
#include "quorate/algorithms/cohort/replays.h"
#include "quorate/algorithms/cohort/threshold.h"
#include "quorate/base/memory.h"
#include "quorate/base/prefetch.h"
#include "quorate/scaled_learner.h"
#include "quorate/weights/directions.h"
#include "quorate/weights/recent_labels.h"

namespace quorate {
namespace {

using namespace cohort;

struct Cohort {
  static constexpr std::string_view name = "cohort", title = "Shared and own weights, each with a variance",
                                    source = "docs/cohort.md";
  using Params = cohort::Params;
  static constexpr Stages stages{.looks = true,
                                 .replays = true,
                                 .embeds = true,
                                 .shifts = true,
                                 .leads = true,
                                 .varies = true,
                                 .judges = true,
                                 .reserves = true,
                                 .has_scratch = true,
                                 .has_tables = true};

  Cohort(const Params& params, const LearnerContext& context)
      : Cohort(params, context, context.restore ? 0 : params.slots(context.memory)) {}
  Cohort(const Params& params, const LearnerContext& context, std::size_t slots)
      : instance(params.noise, context),
        groups(exclusive() ? instance.size() : context.tasks_per_name),
        query(params, context, groups),
        mixture(params.eta, slots, params.rank(), exclusive() ? groups : 0, !context.exclusive || context.tasks_per_name > 1,
                context.memory),
        guesses(params.guess, context.memory),
        classes(groups, context.memory),
        threshold(params.cost, !exclusive()),
        recent(context.memory, exclusive() ? 2 * groups * sizeof(double) : 0, !exclusive()),
        duals(exclusive() ? 2 * groups : 0, context.memory),
        replays(params.replays),
        limited(is_limited(context.memory)) {
    if (limited) duals.values.reserve(duals.width() * (recent.most() + 1));
  }

  /// Whether the tasks of an instance are classes against the rest, which are learned together.
  bool exclusive() const { return instance.exclusive(); }
  std::size_t slots() const { return mixture.of_x.own.slots(); }

  // Predict ------------------------------------------------------------------------------------------------------------

  void prefetch(const Example& e) const {
    if (e.task < guesses.tasks.size()) quorate::prefetch(&guesses.tasks[e.task]);
    mixture.of_x.prefetch(e);
  }
  double shift() const { return threshold.shift(mixture.calibration, classes); }
  double score(const Example& e) const { return mixture.predict(e).p + shift(); }
  /// Without the shift; of classes, by which e's class exceeds all others.
  double lead(const Example& e) const { return exclusive() ? instance.lead(mixture, e) : score(e) - shift(); }
  double variance(const Example& e) const { return mixture.predict(e).r; }
  void explain(const Example& e, std::span<Contribution> out) const {
    mixture.explain(e, out);
    for (std::size_t k = 0; k < e.x.size(); ++k)
      if (e.x.at(k) == 0 && e.x.value[k] != 0) out[k].shared += shift();
  }
  /// `margin` includes the shift. The result never contradicts the prediction, as after few labels the sign of the margin is
  /// more accurate (docs/decisions/cohort.md), except with cost=balanced or cost=missed.
  double log_odds(double margin) const {
    const double z = mixture.calibration.log_odds(margin - shift());
    if (!threshold.equal()) return z;
    return margin > 0 ? std::max(z, 1e-9) : std::min(z, 0.0);
  }

  // Ask and guess ------------------------------------------------------------------------------------------------------

  static_assert(sizeof(Prediction) + sizeof(double) <= kBytesOfScratch);  // with a shared annotator's scratch
  static_assert(sizeof(Standing) + (sizeof(Example) + sizeof(Decision)) / 2 + sizeof(double) <= kBytesOfScratch);
  void decide(std::span<const Example> round, Rng& rng, std::span<Decision> out) {
    if (exclusive()) return decide_classes(round, rng, out);
    const auto same = [&](std::size_t n, std::size_t other) { return is_same(round[n].x, round[other].x); };
    const double shifted = shift();
    renew(predictions, round.size());
    for (std::size_t n = 0; n < round.size(); ++n) {
      instance.predict(mixture, round[n], n > 0 && same(n, n - 1));
      const Prediction& j = predictions.emplace_back(instance.predictions()[0]);
      out[n].margin = j.p + shifted;
      out[n].selection_score = query.odds(round[n].group, j.p, mixture.calibration, classes, query.margins.margins);
    }
    query(round, rng, out);
    for (std::size_t n = 0, shown = round.size() - 1; n < round.size(); ++n) {
      query.ask_least(evidence(classes, round[n].group), query.scale(), out[n]);
      if (out[n].ask) continue;
      threshold.count(predictions[n].p, mixture.calibration, classes);
      if (!same(n, shown)) instance.forget_embedding();
      shown = n;
      guesses.guess(round[n], predictions[n], instance, mixture);
    }
    if (round.size() == 1 && out[0].ask) instance.keep(round[0]);
  }
  void decide_classes(std::span<const Example> round, Rng& rng, std::span<Decision> out) {
    const auto begins = [&](std::size_t n) {
      return n == 0 || !is_same(round[n].x, round[n - 1].x) ||
             instance.first_task(round[n]) != instance.first_task(round[n - 1]);
    };
    const auto margin = [&](std::size_t k) { return instance.predictions()[k].p; };
    Leaders leaders;
    std::size_t instances = 0;
    renew(standings, round.size());
    for (std::size_t n = 0; n < round.size(); ++n) {
      if (begins(n)) {
        ++instances;
        instance.predict(mixture, round[n]);
        leaders = Leaders(instance.size(), margin);
      }
      standings.push_back(leaders.standing(instance.group(round[n]), margin));
      out[n].margin = standings[n].lead;
      out[n].selection_score = mixture.calibration.slope() * out[n].margin;
    }
    query.choose(round, standings, rng, out);
    for (std::size_t n = 0; n < round.size(); ++n) settle(round[n], standings[n], query.scale(), out[n]);
    for (std::size_t begin = 0, end = 1; begin < round.size(); begin = end++) {
      while (end < round.size() && !begins(end)) ++end;
      const bool asked = std::ranges::any_of(out.subspan(begin, end - begin), &Decision::ask);
      if (asked && instances == 1) instance.keep(round[0]);
      for (std::size_t n = begin; n < end && !asked && guesses.any(); ++n) {
        if (!standings[n].top) continue;
        if (instances > 1) instance.predict(mixture, round[n]);
        guesses.guess_class(round[n], instance, mixture);
      }
    }
  }
  Decision judge(const Example& e, double scale, double draw, JudgeMemory& seen) const {
    Decision d;
    if (exclusive()) {
      const std::size_t c = instance.group(e);
      if (c == 0 || seen.size() != instance.size()) {
        seen.resize(instance.size());
        instance.margins(mixture, e, seen);
      }
      const auto margin = [&](std::size_t k) { return seen[k]; };
      const Standing of = Leaders(seen.size(), margin).standing(c, margin);
      d.margin = of.lead;
      d.selection_score = mixture.calibration.slope() * d.margin;
      query.judge(scale, draw, d);
      settle(e, of, scale, d);
      return d;
    }
    if (seen.size() != 3 * groups) Margins::start(seen, groups);
    const double p = mixture.predict(e).p;
    d.margin = p + shift();
    d.selection_score = query.odds(e.group, p, mixture.calibration, classes, seen);
    query.judge(scale, draw, d);
    query.ask_least(evidence(classes, e.group), scale, d);
    return d;
  }
  /// Of a class, after the query rule.
  void settle(const Example& e, const Standing& of, double scale, Decision& d) const {
    d.margin = of.p;
    query.ask_least(evidence_of_class(classes, instance.group(e)), scale, d);
    query.ask_once(of.top, d);
  }
  void release_scratch() {
    predictions = {};
    standings = {};
    query.release_scratch();
  }

  void look(const Example& e) {
    instance.predict(mixture, e);
    if (exclusive()) return guesses.guess_class(e, instance, mixture);
    const Prediction& j = instance.predictions()[0];
    threshold.count(j.p, mixture.calibration, classes);
    guesses.guess(e, j, instance, mixture);
  }

  // Learn and replay ---------------------------------------------------------------------------------------------------

  /// Before learn(e): allocates all weights that it and its replays may change, so that under a memory limit neither can
  /// fail. If memory is refused nothing was learned.
  void reserve(const Example& e) {
    if (slots() == 0 && limited) {
      instance.touch(mixture, e);
      for (std::uint64_t k = 0, n = replays.coming(classes.bought() + 1, recent.size()); k < n; ++k)
        instance.touch(mixture, recent.coming(k));
    }
    if (const Task last = instance.last_task(e); last != kUntracked && last >= guesses.tasks.size())
      guesses.tasks.reserve(std::size_t{last} + 1);
  }
  bool learn(const Example& e, const Decision& d, double y, Rng&) {
    guesses.bought(instance.first_task(e), instance.last_task(e));
    if (!instance.keeps(e)) instance.predict(mixture, e);
    threshold.count(instance.predictions()[0].p, mixture.calibration, classes);
    instance.count(mixture, e, y, d.probability / e.weight);
    classes.add(instance.group(e), y, e.weight);
    latest = {y};
    std::ranges::fill(duals.latest, 0.0);
    std::ranges::fill(mixture.embedding.betas.latest, 0.0);
    return teach(e, latest, duals.latest, mixture.embedding.betas.latest, true);
  }
  /// The number of replays for the latest label; they run before it is kept.
  std::uint64_t replays_due() { return replays.take(classes.bought(), recent.size()); }
  void learn_again(RecentLabels::Item& item, const Example& e) {
    const auto at = static_cast<std::size_t>(&item - &recent[0]);
    instance.predict(mixture, e);
    teach(e, item, duals[at], mixture.embedding.betas[at], false);
  }
  /// Of yes or no, the dual variables are kept with the label; of classes there are more.
  bool teach(const Example& e, RecentLabel& label, std::span<double> of_classes, std::span<double> betas, bool first) {
    std::array alphas{label.alpha, label.second};
    const bool changed = instance.learn(mixture, classes, e, label.y, exclusive() ? of_classes : alphas, betas, first);
    label.alpha = alphas[0];
    label.second = alphas[1];
    return changed;
  }
  /// Keeps the latest label, of e.
  void keep(const Example& e) {
    const auto moved = [&](bool stays) {
      duals.move_oldest(stays);
      mixture.embedding.betas.move_oldest(stays);
    };
    if (!recent.add(e, latest, moved)) return;
    duals.keep();
    mixture.embedding.betas.keep();
  }
  Directions& directions() { return mixture.embedding.directions; }
  /// The directions changed.
  template <class Scaled>
  void turn(Scaled scaled) {
    instance.forget();
    mixture.embedding.turn(recent, scaled, [&](std::size_t i, const Example& z, bool first) {
      instance.predict_of_z(mixture, z);
      instance.learn_of_z(mixture, classes, z, recent[i].y, mixture.embedding.betas[i], first);
    });
  }

  std::size_t bytes_for_tasks(std::size_t K) const { return guesses.tasks.bytes_to_grow(K) + query.bytes_for_tasks(K); }
  void reserve_tasks(std::size_t K) {
    guesses.tasks.reserve(K);
    if (K > 0) query.reserve_task(static_cast<Task>(K - 1));
  }
  double influence(Task to, Task from) const {
    const Coupling& c = mixture.coupling;
    return to == from ? 1 : c.E * c.E / (c.E * c.E + c.O * c.O);
  }

  OfInstance instance;
  std::size_t groups;
  Questions query;
  Mixture mixture;
  Guesses guesses;
  Classes classes;
  Threshold threshold;
  RecentLabels recent;
  RecentLabel latest;  // as it will be kept
  Duals duals;         // of classes: a_k of each
  Replays replays;
  bool limited;                         // whether memory is
  std::vector<Prediction> predictions;  // scratch: of a round
  std::vector<Standing> standings;      // scratch: likewise, of classes

  template <class S>
  static void state(S& s, auto&& visit) {
    visit("query", s.query);
    visit("w", s.mixture.of_x.shared);
    visit("v", s.mixture.of_x.own);
    visit("tasks", s.guesses.tasks);
    visit("mistakes", s.mixture.ratios.mistakes);
    visit("mistakes_of_second", s.mixture.seconds.mistakes);
    visit("guesses", s.guesses.left);
    visit("calibration", s.mixture.calibration);
    visit("labels_of", s.classes.labels_of);
    visit("weight_of", s.classes.weight_of);
    visit("margins", s.query.margins.margins);
    visit("share", s.threshold.share);
    visit("decided", s.threshold.decided);
    visit("recent", s.recent);
    visit("due", s.replays.due);
    if (s.exclusive()) visit("alphas", s.duals.values);
    if (s.mixture.embedding.directions.rank() == 0) return;
    visit("directions", s.mixture.embedding.directions);
    visit("wz", s.mixture.embedding.model.shared);
    visit("vz", s.mixture.embedding.model.own);
    visit("betas", s.mixture.embedding.betas.values);
    visit("mistakes_of", s.mixture.embedding.trusts.mistakes);
  }
  void check() {
    instance.forget();
    for (std::size_t i = 0; i < recent.size(); ++i)
      if (recent[i].group >= groups) throw DataError("cohort: a recent label of an unknown group");
    if (!duals.good(recent.size()))
      throw DataError("cohort: alphas: expected finite numbers from 0 of each class for each recent label");
    mixture.check(recent.size());
    guesses.check();
    replays.check();
    classes.check(groups);
    query.margins.check(groups);
    threshold.check();
  }
};

}  // namespace

extern const Algorithm kCohort;
constexpr Algorithm kCohort = registered<Cohort,
                                         Capabilities{.calibrated = true,
                                                      .learns_unasked = true,
                                                      .untracked_tasks = true,
                                                      .additive = true,
                                                      .groups = true,
                                                      .rebuilds = true,
                                                      .judges = true,
                                                      .weighs = true,
                                                      .classes = true},
                                         ScaleAuto>();

}  // namespace quorate
