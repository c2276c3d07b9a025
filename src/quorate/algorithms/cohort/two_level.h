// Shared and own weights with variances: the prediction of a task is a sum of both.
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <memory_resource>

#include "quorate/base/example.h"
#include "quorate/weights/beliefs.h"

namespace quorate::cohort {

/// How much the shared and the own weights count, and of both the second mean.
struct Coupling {
  double E = 0, O = 0, u = 0;
};

/// Of both means, the second with the share u.
inline double mixed(const OfMeans& mean, double u) { return (1 - u) * mean[0] + u * mean[1]; }

/// A prediction: p_k = E <w_k, x> + O <v_ki, x> by each mean, p = (1 - u) p_0 + u p_1, r its variance.
struct Estimate {
  MarginEstimate shared, own;
  OfMeans p_of{};
  double p = 0, r = 0;

  /// The same with another coupling.
  Estimate with(Coupling c) const {
    Estimate out{shared, own};
    for (std::size_t k : {0u, 1u}) out.p_of[k] = c.E * shared.mean[k] + c.O * own.mean[k];
    out.p = mixed(out.p_of, c.u);
    out.r = c.E * c.E * shared.variance + c.O * c.O * own.variance;
    return out;
  }
  /// Whether a label y would teach.
  bool teaches(double y) const { return y * p_of[0] < 1 || y * p_of[1] < 1; }
};

/// w_k, s of each group and v_ki, t_i of each task, an AROW with a diagonal covariance for the features E x and O x. Of its
/// two means the first takes labels for right; the second learns with a larger noise, so that a wrong label moves it little.
/// The variance is of both. Source: Crammer et al. 2009; the complete graph of Cavallanti et al. Cost: O(non-zeros) for each
/// member.
class TwoLevel {
 public:
  static constexpr OfMeans kNoise{1, 20};        // noise of each mean, times that of the label
  static constexpr double kNoiseOfVariance = 2;  // likewise

  /// slots: of the fixed tables, 0 for exact storage that grows.
  TwoLevel(std::size_t shared_slots, std::size_t own_slots, std::pmr::memory_resource* memory)
      : shared(shared_slots, memory), own(own_slots, memory) {}

  Estimate operator()(const Example& e, Coupling c) const {
    return Estimate{c.E == 0 ? MarginEstimate{} : shared(e.group, e.x),
                    e.task == kUntracked ? MarginEstimate{{}, squared_norm(e.x)} : own(e.task, e.x)}
        .with(c);
  }
  /// Starts with the task's own cells, which are the slowest to load.
  void prefetch(const Example& e) const {
    if (e.task != kUntracked) own.prefetch(e.task, e.x);
    shared.prefetch(e.group, e.x);
  }
  /// Makes room, so that learning from e cannot fail as long as nothing else changes.
  void reserve(const Example& e) {
    shared.reserve(e.group, e.x);
    own.reserve(e.task, e.x);
  }
  /// Allocates all that learning from e may change, so that it never fails.
  void touch(const Example& e, Coupling c) {
    if (c.E != 0) shared.touch(e.group, e.x);
    if (e.task != kUntracked) own.touch(e.task, e.x);
  }
  /// Learns a bought label, j its estimate: alpha_k = max(0, 1 - y p_k) / (r + nu_k), w_k += alpha_k y E s x; if alpha_0 is
  /// not 0, s -= (E s x)^2 / (r + nu_s); likewise v_k and t. nu_k and nu_s are `noise` times kNoise and kNoiseOfVariance.
  /// Returns alpha.
  OfMeans learn(const Example& e, double y, const Estimate& j, double noise, Coupling c) {
    const OfMeans alpha = alphas(y, j, noise, 1);
    if (alpha != OfMeans{}) move(e, signed_by(y, alpha), alpha[0] > 0 ? 1 / (j.r + kNoiseOfVariance * noise) : 0, c);
    return alpha;
  }
  /// Learns a label again that has alpha `before`: alpha_k' = max(0, alpha_k + (1 - y p_k - nu_k alpha_k) / (r + nu_k)), at
  /// most most / kNoise[k], w_k += (alpha_k' - alpha_k) y E s x, likewise v_k. Returns alpha'. The variances stay. This is
  /// coordinate ascent on the dual of a hinge loss, of which learn() is the first step: a square that becomes a line, so
  /// that a label on the wrong side, perhaps a mistake, has a bounded effect.
  OfMeans learn_again(const Example& e, double y, const Estimate& j, double noise, const OfMeans& before, double most,
                      Coupling c) {
    OfMeans alpha, change;
    for (std::size_t k : {0u, 1u}) {
      const double nu = kNoise[k] * noise;
      alpha[k] = std::clamp(before[k] + (1 - y * j.p_of[k] - nu * before[k]) / (j.r + nu), 0.0, most / kNoise[k]);
      change[k] = alpha[k] - before[k];
    }
    if (change != OfMeans{}) move(e, signed_by(y, change), 0, c);
    return alpha;
  }
  /// Learns a guess y of this weight, as a label but for the variances, which stay. False if it teaches nothing.
  bool guess(const Example& e, double y, const Estimate& j, double noise, double weight, Coupling c) {
    const OfMeans alpha = alphas(y, j, noise, weight);
    if (alpha == OfMeans{}) return false;
    move(e, signed_by(y, alpha), 0, c);
    return true;
  }

  /// Adds change_k s x and change_k t x to the means of e, and takes beta (s x)^2 and beta (t x)^2 from the variances.
  void move(const Example& e, const OfMeans& change, double beta, Coupling c) {
    if (c.E != 0) shared.learn(e.group, e.x, c.E, change, beta);
    if (e.task != kUntracked) own.learn(e.task, e.x, c.O, change, beta);
  }

  Beliefs shared;  ///< groups x d: w and s
  Beliefs own;     ///< K x d: v and t

 private:
  static OfMeans alphas(double y, const Estimate& j, double noise, double weight) {
    OfMeans out;
    for (std::size_t k : {0u, 1u}) out[k] = weight * std::max(0.0, 1 - y * j.p_of[k]) / (j.r + kNoise[k] * noise);
    return out;
  }
  static OfMeans signed_by(double y, OfMeans alpha) {
    for (double& a : alpha) a *= y;
    return alpha;
  }
};

}  // namespace quorate::cohort
