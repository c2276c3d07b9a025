// cohort: shared and per-task weights with variances; the mixing ratio of the two is learned online.
//
// Source  docs/papers.md section 5; docs/cohort.md; docs/decisions/cohort.md has the experiments. Shared and own weights:
// the complete graph of
//         Cavallanti et al. Variances: AROW, diagonal. Mixing ratio: exponential weights on past mistakes, as in AMLC.
// Round   any number of examples; at most one label per example.
// Shapes  d features; w_0, w_1, s: d, shared; v_0i, v_1i, t_i: d, of task i; s and t are initially 1. Where tasks are in
// groups
//         (a user's tasks, one for each class), each group has its own w and s. For an instance, k = 0, 1,
//           p_k = E <w_k, x> + O <v_ki, x>,   p = (1 - u) p_0 + u p_1,   r = E^2 sum_f s_f x_f^2 + O^2 sum_f t_if x_f^2.
//         The means differ in the noise that they expect of labels: nu_0 = nu, nu_1 = 20 nu; u is the share of the second.
//         Mixing ratio j of kRatio.size(): E_j^2 + O_j^2 = kTotal, O_j^2 / E_j^2 = kRatio[j]; m_j: the number of bought
//         labels that p_j = E_j <w, x> + O_j <v_i, x> predicted wrong, w and v_i mixed with u as p is. E and O are the means
//         of E_j and O_j, weighted by exp(-eta m_j). Two numbers, for all tasks together, so learn how much the tasks have
//         in common. u is the mean of 0, 1/4, 1/2, 3/4, 1, weighted likewise by the mistakes of (1 - u_j) p_0 + u_j p_1,
//         which begin with 0, 3, 6, 9, 12; so it learns how many labels are wrong.
// Learn   Update m_j, E, O, u, p, r. nu = noise times the label's class factor (cohort/classes.h), divided by its weight.
//         a_k = max(0, 1 - y p_k) / (r + nu_k), then in the shared block, with z = E x: w_k += a_k y s z, and if a_0 is
//         not 0 s -= (s z)^2 / (r + 2 nu), and likewise in the task's own block with z = O x (cohort/two_level.h).
// Replay  The latest labelled examples are kept (recent_labels.h), each with its a_k. Before label n is kept, `replays` of
//         them, in cyclic order (from the 512th on `replays` 512 / n), are learned again: with x scaled anew and the current
//         p_k, r and nu, a_k' = max(0, a_k + (1 - y p_k - nu_k a_k) / (r + nu_k)), at most the label's weight nu / (noise
//         nu_k), and w_k += (a_k' - a_k) y s z, likewise v_k; s and t stay. This is coordinate ascent on the dual
//         of a hinge loss, of which Learn is the first step. The loss is a square that becomes a line, so that a label on
//         the wrong side, perhaps a mistake, has a bounded effect.
// Query   confidence of the calibrated odds; where a class has less than a quarter of the labels, an example of it counts
//         by its margin or its calibrated log-odds, whichever is nearer to 0, and one with an unusual margin towards this
//         class as uncertain (cohort/questions.h). While nothing paces it, at least with the probability of
//         cohort/questions.h.
// Decide  The margin is p plus a shift, which depends on `cost` and the calibration (cohort/threshold.h).
// Guess   an example that is not asked about, while fewer than kGuesses of them caused an update since the last label: y =
//         sign(p), a_k with nu = noise, times the weight of cohort/guesses.h; s and t stay. So updates end soon after the
//         last label.
// Embed   `represent=svd`, while only counts are scaled: a second model of the same kind learns from embeddings alone: w',
//         s', v'_i, t'_i, p' and r' with the same E and O (cohort/embedding.h). Learn, Replay and Guess run in each model
//         with its own p and r, Replay with its own a. Predictions, questions and guesses use (1 - l) p + l p' and
//         (1 - l) r + l r', l the trust, counted before E and O change. So p is the same as without embeddings, and l
//         approaches 0 where they do not help. Where p is certain (mixture.h) no embedding is computed, and none learns.
// Classes Of classes against the rest a label is the class of an instance. Its margin has to exceed that of every other
// class:
//         all of them learn from the label together (cohort/multiclass.h), and the square above never becomes a line. One
//         question an instance is asked, about the likeliest class, by the margin to the next. No class is rare.
// Cost    O(non-zeros) per example for any number of tasks, with embeddings `rank` times as much; a label up to 1 +
//         `replays` times as much. Memory: exact, 12 bytes for each weight that ever changed, and the kept examples; under a
//         memory limit, two tables of fixed size, and no embeddings.
// Draws   decide: the draws of the query rule, in order of the examples. learn: none.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "quorate/algorithms/cohort/classes.h"
#include "quorate/algorithms/cohort/decided.h"
#include "quorate/algorithms/cohort/guesses.h"
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
  static constexpr std::uint32_t kGuesses = 64;

  Cohort(const Params& params, const LearnerContext& context)
      : Cohort(params, context, context.restore ? 0 : params.slots(context.memory)) {}
  Cohort(const Params& params, const LearnerContext& context, std::size_t slots)
      : p(params),
        together(context),
        groups(together.size() > 0 ? together.size() : context.tasks_per_name),
        query(params, context, groups),
        mixture(params.eta, slots, params.rank(), together.size(), !context.exclusive || context.tasks_per_name > 1,
                context.memory),
        tasks(context.memory),
        classes(groups, context.memory),
        threshold(params.cost),
        recent(context.memory, 2 * together.size() * sizeof(double)),
        limited(is_limited(context.memory)),
        replays(params.replays),
        duals(2 * together.size(), context.memory),
        of_classes(together.size(), context.memory) {
    if (limited) duals.values.reserve(duals.width() * (recent.most() + 1));
    if (exclusive() && !threshold.equal())
      throw UsageError(
          "cost: of classes against the rest the largest margin wins, so it would have no effect; leave it out, "
          "or use --classes one-vs-one");
  }

  /// Whether the tasks of an instance are classes against the rest, which are learned together.
  bool exclusive() const { return together.size() > 0; }
  std::size_t slots() const { return mixture.of_x.own.slots(); }

  // Predict ------------------------------------------------------------------------------------------------------------

  static_assert(sizeof(Prediction) + sizeof(double) <= kBytesOfScratch);  // with a shared annotator's scratch
  void prefetch(const Example& e) const {
    if (e.task < tasks.size()) quorate::prefetch(&tasks[e.task]);
    mixture.of_x.prefetch(e);
  }
  double shift() const { return exclusive() ? 0 : threshold.shift(mixture.calibration, classes); }
  double score(const Example& e) const {
    Place place;
    return mixture.predict(e, place).p + shift();
  }
  /// Without the shift; of classes, by which e's class exceeds all others.
  double lead(const Example& e) const {
    if (!exclusive()) return score(e) - shift();
    Place place;
    const std::size_t c = together.class_of(e);
    double most = -std::numeric_limits<double>::infinity(), own = 0;
    for (std::size_t k = 0; k < together.size(); ++k) {
      const double margin = mixture.predict(together.of(e, k), place).p;
      (k == c ? own : most) = k == c ? margin : std::max(most, margin);
    }
    return own - most;
  }
  double variance(const Example& e) const {
    Place place;
    return mixture.predict(e, place).r;
  }
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

  // Query and Guess ----------------------------------------------------------------------------------------------------

  void decide(std::span<const Example> round, Rng& rng, std::span<Decision> out) {
    if (exclusive()) return decide_classes(round, rng, out);
    renew(predictions, round.size());
    decided.forget();
    const double shifted = shift();
    Place place;
    const auto again = [&](std::size_t n, std::size_t before) {
      const Features &x = round[n].x, &other = round[before].x;
      return x.value.data() == other.value.data() && x.size() == other.size();
    };
    for (std::size_t n = 0; n < round.size(); ++n) {
      if (n > 0 && !again(n, n - 1)) place.known = false;
      const Prediction& j = predictions.emplace_back(mixture.predict(round[n], place));
      out[n].margin = j.p + shifted;
      out[n].selection_score = query.odds(round[n].group, j.p, mixture.calibration, classes, query.margins.margins);
    }
    query(round, rng, out);
    for (std::size_t n = 0; n < round.size(); ++n) query.ask_least(evidence(classes, round[n].group), query.scale(), out[n]);
    for (std::size_t n = 0; n < round.size(); ++n)
      if (!out[n].ask) threshold.count(predictions[n].p, mixture.calibration, classes);
    std::size_t placed = round.size() - 1;  // index of the example whose embedding `place` is
    for (std::size_t n = 0; n < round.size() && p.guess > 0; ++n)
      if (!out[n].ask) {
        if (!again(n, placed)) place.known = false;
        placed = n;
        guess(round[n], predictions[n], place);
      }
    if (round.size() == 1 && out[0].ask) {
      decided.keep(round[0]);
      decided_j = predictions[0];
      decided_place = place;
    }
  }
  Decision judge(const Example& e, double scale, double draw, JudgeMemory& seen) const {
    if (exclusive()) return judge_class(e, scale, draw, seen);
    if (seen.size() != 3 * groups) Margins::start(seen, groups);
    Place place;
    const double j = mixture.predict(e, place).p;
    Decision d;
    d.margin = j + shift();
    d.selection_score = query.odds(e.group, j, mixture.calibration, classes, seen);
    query.judge(scale, draw, d);
    query.ask_least(evidence(classes, e.group), scale, d);
    return d;
  }
  void release_scratch() {
    predictions = {};
    tops = {};
  }

  void look(const Example& e) {
    decided.forget();
    Place place;
    if (exclusive()) {
      predict_classes(e, place);
      if (p.guess > 0) guess_class(e, place);
      return;
    }
    const Prediction j = mixture.predict(e, place);
    threshold.count(j.p, mixture.calibration, classes);
    if (p.guess > 0) guess(e, j, place);
  }
  /// `place`: of e's instance, or of none.
  void guess(const Example& e, const Prediction& j, Place& place) {
    if (guesses == 0 || e.task >= tasks.size() || tasks[e.task].labels == 0 || j.p == 0) return;
    const double weight = tasks[e.task].weight_of_guess(j.p, j.r, mixture.calibration.log_odds(j.p), p.guess),
                 y = predicted(j.p);
    if (limited && j.x.teaches(y)) {  // no embeddings under a limit
      mixture.of_x.shared.reserve(e.group, e.x);
      mixture.of_x.own.reserve(e.task, e.x);
    }
    tasks[e.task].add_guess(j.p, weight);
    bool changed = mixture.of_x.guess(e, y, j.x, p.noise, weight, mixture.coupling);
    if (j.placed && mixture.embedding.find(e.x, place))
      changed |= mixture.embedding.model.guess(mixture.embedding.of(e, place), y, j.z, p.noise, weight, mixture.coupling);
    if (changed) --guesses;
  }

  // Learn and Replay ---------------------------------------------------------------------------------------------------

  /// Before learn(e): allocates all weights that it and its replays may change, so that under a memory limit neither can
  /// fail. If memory is refused nothing was learned.
  void reserve(const Example& e) {
    if (slots() == 0 && limited) {
      touch(e);
      const std::uint64_t coming = replays.coming(classes.bought() + 1, recent.size());
      for (std::uint64_t k = 0; k < coming; ++k) touch(recent.coming(k));
    }
    if (const Task last = last_task(e); last != kUntracked && last >= tasks.size()) tasks.reserve(std::size_t{last} + 1);
  }
  void touch(const Example& e) {
    if (!exclusive()) return mixture.of_x.touch(e, mixture.coupling);
    for (std::size_t k = 0; k < together.size(); ++k) mixture.of_x.touch(together.of(e, k), mixture.coupling);
  }
  /// Of the tasks that learn from e.
  Task last_task(const Example& e) const { return exclusive() ? together.of(e, together.size() - 1).task : e.task; }
  bool learn(const Example& e, const Decision& d, double y, Rng&) {
    if (exclusive()) return learn_class(e, d, y);
    if (e.task != kUntracked) {
      if (e.task >= tasks.size()) tasks.resize(std::size_t{e.task} + 1);
      ++tasks[e.task].labels;
    }
    guesses = kGuesses;
    if (!decided.is(e)) {
      decided_place.known = false;
      decided_j = mixture.predict(e, decided_place);
    }
    decided.forget();
    Prediction& j = decided_j;
    const Place& place = decided_place;
    threshold.count(j.p, mixture.calibration, classes);
    mixture.count(y, j);
    mixture.calibration.add(j.p, y, d.probability / e.weight);
    classes.add(e.group, y, e.weight);
    const double nu = noise(e, y);
    const OfMeans alpha = mixture.of_x.learn(e, y, j.x, nu, mixture.coupling);
    latest = {y, alpha[0], alpha[1]};
    OfMeans beta{};
    if (j.placed) beta = mixture.embedding.model.learn(mixture.embedding.of(e, place), y, j.z, nu, mixture.coupling);
    std::span latest_beta(mixture.embedding.betas.latest);
    std::ranges::copy(std::span(beta).first(latest_beta.size()), latest_beta.begin());
    return alpha != OfMeans{} || beta != OfMeans{};
  }
  /// nu of a label y.
  double noise(const Example& e, double y) const {
    return (exclusive() ? p.noise : p.noise * classes.factor(e.group, y)) / e.weight;
  }

  /// The number of replays for the latest label; they run before it is kept.
  std::uint64_t replays_due() { return replays.take(classes.bought(), recent.size()); }
  double most_alpha(const Example& e) const { return e.weight / p.noise; }
  void learn_again(RecentLabels::Item& item, const Example& e) {
    decided.forget();
    const auto at = static_cast<std::size_t>(&item - &recent[0]);
    Place place;
    if (exclusive()) {
      predict_classes(e, place);
      learn_of_x(e, item.y, duals[at], false);
      if (of_classes[0].placed) learn_of_z(mixture.embedding.of(e, place), item.y, mixture.embedding.betas[at], false);
      return;
    }
    const Prediction j = mixture.predict(e, place);
    const OfMeans before{item.alpha, item.second};
    const OfMeans alpha =
        mixture.of_x.learn_again(e, item.y, j.x, noise(e, item.y), before, most_alpha(e), mixture.coupling);
    item.alpha = alpha[0];
    item.second = alpha[1];
    if (j.placed) learn_again_of_z(at, item.y, mixture.embedding.of(e, place), j.z);
  }
  void learn_again_of_z(std::size_t at, double y, const Example& z, const Estimate& j) {
    const std::span<double> beta = mixture.embedding.betas[at];
    std::ranges::copy(
        mixture.embedding.model.learn_again(z, y, j, noise(z, y), {beta[0], beta[1]}, most_alpha(z), mixture.coupling),
        beta.begin());
  }
  /// The latest label was kept, and may have replaced older ones.
  void kept_latest() {
    duals.keep(recent.size());
    mixture.embedding.betas.keep(recent.size());
  }
  Directions& directions() { return mixture.embedding.directions; }
  /// The directions changed.
  template <class Scaled>
  void turn(Scaled scaled) {
    decided.forget();
    Embedding& z = mixture.embedding;
    const auto learn = [&](std::size_t i, const Example& e) {
      const double y = recent[i].y;
      if (exclusive()) {
        estimate_of_z(e);
        learn_of_z(e, y, z.betas[i], true);
      } else {
        std::ranges::copy(z.model.learn(e, y, z.model(e, mixture.coupling), noise(e, y), mixture.coupling),
                          z.betas[i].begin());
      }
    };
    const auto again = [&](std::size_t i, const Example& e) {
      const double y = recent[i].y;
      if (exclusive()) {
        estimate_of_z(e);
        learn_of_z(e, y, z.betas[i], false);
      } else {
        learn_again_of_z(i, y, e, z.model(e, mixture.coupling));
      }
    };
    z.turn(recent, scaled, learn, again);
  }

  // Classes against the rest -------------------------------------------------------------------------------------------

  /// Of all classes, in of_classes; `place` is of e's instance, or of none.
  void predict_classes(const Example& e, Place& place) {
    for (std::size_t k = 0; k < of_classes.size(); ++k) of_classes[k] = mixture.predict(together.of(e, k), place);
  }
  void estimate_of_z(const Example& z) {
    for (std::size_t k = 0; k < of_classes.size(); ++k)
      of_classes[k].z = mixture.embedding.model(together.of(z, k), mixture.coupling);
  }
  Leaders leaders() const {
    return {of_classes.size(), [&](std::size_t k) { return of_classes[k].p; }};
  }
  /// The margin by which the likeliest class leads; of another class also that by which it is behind. So of an instance's
  /// examples that of the likeliest class is the least certain.
  static double lead_of(const Leaders& of, std::size_t c, auto margin) {
    const double lead = margin(of.top) - margin(of.second);
    return c == of.top ? lead : lead + (margin(of.top) - margin(c));
  }
  double evidence_of(const Example& e) const {
    return evidence_of_class(classes, static_cast<std::uint32_t>(together.class_of(e)));
  }
  void decide_classes(std::span<const Example> round, Rng& rng, std::span<Decision> out) {
    decided.forget();
    const auto margin = [&](std::size_t k) { return of_classes[k].p; };
    const auto instance_ends = [&](std::size_t n) {
      const Features &x = round[n].x, &next = round[n + 1 < round.size() ? n + 1 : n].x;
      return n + 1 == round.size() || x.value.data() != next.value.data() || x.size() != next.size() ||
             together.of(round[n], 0).task != together.of(round[n + 1], 0).task;
    };
    Place place;
    renew(tops, round.size());
    renew(margins_of, round.size());
    for (std::size_t n = 0; n < round.size(); ++n) {
      if (n == 0 || instance_ends(n - 1)) {
        place.known = false;
        predict_classes(round[n], place);
      }
      const Leaders of = leaders();
      const std::size_t c = together.class_of(round[n]);
      tops.push_back(of.top == c);
      margins_of.push_back(margin(c));
      out[n].margin = lead_of(of, c, margin);
      out[n].selection_score = mixture.calibration.slope() * out[n].margin;
    }
    query(round, rng, out);
    bool any = false;
    for (std::size_t n = 0; n < round.size(); ++n) {
      out[n].margin = margins_of[n];
      query.ask_least(evidence_of(round[n]), query.scale(), out[n]);
      query.ask_once(tops[n], out[n]);
      any |= out[n].ask;
    }
    const bool alone = instance_ends(0) || round.size() == together.size();
    for (std::size_t n = 0, begin = 0; n < round.size() && p.guess > 0; ++n) {
      if (n > 0 && instance_ends(n - 1)) begin = n;
      const auto asked = [&] {
        for (std::size_t k = begin; k < round.size(); ++k) {
          if (out[k].ask) return true;
          if (instance_ends(k)) break;
        }
        return false;
      };
      if (!tops[n] || asked()) continue;
      if (!alone) {
        place.known = false;
        predict_classes(round[n], place);
      }
      guess_class(round[n], place);
    }
    if (alone && any) {
      decided.keep(together.of(round[0], 0));
      decided_place = place;
    }
  }
  Decision judge_class(const Example& e, double scale, double draw, JudgeMemory& p_of_class) const {
    const std::size_t c = together.class_of(e);
    if (c == 0 || p_of_class.size() != together.size()) {
      p_of_class.resize(together.size());
      Place place;
      for (std::size_t k = 0; k < p_of_class.size(); ++k) p_of_class[k] = mixture.predict(together.of(e, k), place).p;
    }
    const auto margin = [&](std::size_t k) { return p_of_class[k]; };
    const Leaders of(p_of_class.size(), margin);
    Decision d;
    d.margin = lead_of(of, c, margin);
    d.selection_score = mixture.calibration.slope() * d.margin;
    query.judge(scale, draw, d);
    d.margin = p_of_class[c];
    query.ask_least(evidence_of(e), scale, d);
    query.ask_once(c == of.top, d);
    return d;
  }
  auto of_x() const {
    return [this](std::size_t k) -> const Estimate& { return of_classes[k].x; };
  }
  auto of_z() const {
    return [this](std::size_t k) -> const Estimate& { return of_classes[k].z; };
  }
  /// of_classes are of e.
  void guess_class(const Example& e, Place& place) {
    const Task first = together.of(e, 0).task;
    if (guesses == 0 || first >= tasks.size() || tasks[first].labels == 0) return;
    const Leaders of = leaders();
    const Prediction &top = of_classes[of.top], &second = of_classes[of.second];
    double odds = 0, others = 0;
    for (std::size_t k = 0; k < of_classes.size(); ++k) {
      if (k == of.top) continue;
      odds += exp_negative(mixture.calibration.slope() * (of_classes[k].p - top.p));
      others += tasks[together.of(e, k).task].positive;
    }
    const double lead = top.p - second.p, surely = (1 - odds) / (1 + odds);
    if (!(lead > 0) || !(surely > 0)) return;
    OfTask& of_top = tasks[together.of(e, of.top).task];
    const double weight = tasks[first].weight(lead, top.r + second.r, surely, of_top.positive,
                                              others / static_cast<double>(of_classes.size() - 1), p.guess);
    if (limited) touch(e);
    of_top.add_guess(1, weight);
    const Multiclass::How how{.guess = weight};
    bool changed = together.right(mixture.of_x, e, of.top, of_x(), p.noise, {}, mixture.coupling, how);
    if (top.placed && mixture.embedding.find(e.x, place))
      changed |= together.right(mixture.embedding.model, mixture.embedding.of(e, place), of.top, of_z(), p.noise, {},
                                mixture.coupling, how);
    if (changed) --guesses;
  }
  bool learn_class(const Example& e, const Decision& d, double y) {
    const Example first = together.of(e, 0);
    if (first.task != kUntracked) {
      if (last_task(e) >= tasks.size()) tasks.resize(std::size_t{last_task(e)} + 1);
      ++tasks[first.task].labels;
    }
    guesses = kGuesses;
    if (!decided.is(first)) {
      decided_place.known = false;
      predict_classes(e, decided_place);
    }
    decided.forget();
    const std::size_t c = together.class_of(e);
    if (y > 0) {
      mixture.count(c, of_classes);
      renew(margins_of, of_classes.size());
      for (const Prediction& j : of_classes) margins_of.push_back(j.p);
      mixture.calibration.add(margins_of, c, d.probability / e.weight);
    }
    classes.add(static_cast<std::uint32_t>(c), y, e.weight);
    latest = {y, 0, 0};
    std::ranges::fill(duals.latest, 0.0);
    std::ranges::fill(mixture.embedding.betas.latest, 0.0);
    bool changed = learn_of_x(e, y, duals.latest, true);
    if (of_classes[0].placed)
      changed |= learn_of_z(mixture.embedding.of(e, decided_place), y, mixture.embedding.betas.latest, true);
    return changed;
  }
  bool learn_of_x(const Example& e, double y, std::span<double> alpha, bool first) {
    return learn_one_of(mixture.of_x, e, y, of_x(), alpha, first);
  }
  bool learn_of_z(const Example& z, double y, std::span<double> beta, bool first) {
    return learn_one_of(mixture.embedding.model, z, y, of_z(), beta, first);
  }
  bool learn_one_of(TwoLevel& model, const Example& e, double y, auto estimate, std::span<double> alpha, bool first) {
    const std::size_t c = together.class_of(e);
    return y > 0 ? together.right(model, e, c, estimate, noise(e, y), alpha, mixture.coupling, {.first = first})
                 : together.wrong(model, e, c, estimate, noise(e, y), alpha, mixture.coupling, first);
  }

  std::size_t bytes_for_tasks(std::size_t K) const { return tasks.bytes_to_grow(K) + query.bytes_for_tasks(K); }
  void reserve_tasks(std::size_t K) {
    tasks.reserve(K);
    if (K > 0) query.reserve_task(static_cast<Task>(K - 1));
  }

  double influence(Task to, Task from) const {
    const Coupling& c = mixture.coupling;
    return to == from ? 1 : c.E * c.E / (c.E * c.E + c.O * c.O);
  }

  Params p;
  Multiclass together;  // none unless classes exclude each other
  std::size_t groups;
  Questions query;
  Mixture mixture;
  Tasks tasks;
  std::uint32_t guesses = 0;  // updates by guesses left before the next label
  Classes classes;
  Threshold threshold;
  RecentLabels recent;
  bool limited;  // whether memory is
  Replays replays;
  Duals duals;                              // of classes: a_k of each
  RecentLabel latest;                       // as it will be kept
  std::vector<Prediction> predictions;      // scratch
  std::vector<char> tops;                   // scratch: whether an example of a round is of its instance's likeliest class
  std::vector<double> margins_of;           // scratch: p of each example of a round, or of each class
  std::pmr::vector<Prediction> of_classes;  // scratch: of the latest instance
  Decided decided;
  Prediction decided_j;  // of decided; of classes, of_classes has them
  Place decided_place;

  template <class S>
  static void state(S& s, auto&& visit) {
    visit("query", s.query);
    visit("w", s.mixture.of_x.shared);
    visit("v", s.mixture.of_x.own);
    visit("tasks", s.tasks);
    visit("mistakes", s.mixture.ratios.mistakes);
    visit("mistakes_of_second", s.mixture.seconds.mistakes);
    visit("guesses", s.guesses);
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
    decided.forget();
    for (std::size_t i = 0; i < recent.size(); ++i)
      if (recent[i].group >= groups) throw DataError("cohort: a recent label of an unknown group");
    if (!duals.good(recent.size()))
      throw DataError("cohort: alphas: expected finite numbers from 0 of each class for each recent label");
    mixture.check(recent.size());
    if (guesses > kGuesses)
      throw DataError("cohort: guesses " + std::to_string(guesses) + "; expected at most " + std::to_string(kGuesses));
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
