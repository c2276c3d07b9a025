// Shared and own weights with variances: the prediction of a task is a sum of both.
#pragma once
#include <algorithm>
#include <cstddef>
#include <memory_resource>

#include "quorate/base/example.h"
#include "quorate/weights/beliefs.h"

namespace quorate::cohort {

/// How much the shared and the own weights count.
struct Coupling {
  double E = 0, O = 0;
};

/// A prediction: p = E <w, x> + O <v_i, x>, r its variance.
struct Estimate {
  MarginEstimate shared, own;
  double p = 0, r = 0;

  /// The same with another coupling.
  Estimate with(Coupling c) const {
    return {shared, own, c.E * shared.mean + c.O * own.mean, c.E * c.E * shared.variance + c.O * c.O * own.variance};
  }
};

/// w, s of each group and v_i, t_i of each task, an AROW with a diagonal covariance for the features E x and O x.
/// Source: Crammer et al. 2009; the complete graph of Cavallanti et al. Cost: O(non-zeros) for each member.
class TwoLevel {
 public:
  /// slots: of the fixed tables, 0 for exact storage that grows.
  TwoLevel(std::size_t shared_slots, std::size_t own_slots, std::pmr::memory_resource* memory)
      : shared(shared_slots, memory), own(own_slots, memory) {}

  Estimate operator()(const Example& e, Coupling c) const {
    return Estimate{shared(e.group, e.x), e.task == kUntracked ? MarginEstimate{0, squared_norm(e.x)} : own(e.task, e.x)}
        .with(c);
  }
  /// Starts with the task's own cells, which are the slowest to load.
  void prefetch(const Example& e) const {
    if (e.task != kUntracked) own.prefetch(e.task, e.x);
    shared.prefetch(e.group, e.x);
  }
  /// Allocates all that learning from e may change, so that it never fails.
  void touch(const Example& e) {
    shared.touch(e.group, e.x);
    if (e.task != kUntracked) own.touch(e.task, e.x);
  }
  /// Learns a bought label, j its estimate: if y p < 1, alpha = (1 - y p) / (r + noise), w += alpha y E s x and
  /// s -= (E s x)^2 / (r + noise), likewise v and t. Returns alpha, or 0.
  double learn(const Example& e, double y, const Estimate& j, double noise, Coupling c) {
    if (y * j.p >= 1) return 0;
    const double rate = 1 / (j.r + noise), alpha = (1 - y * j.p) * rate;
    move(e, alpha * y, rate, c);
    return alpha;
  }
  /// Learns a label again that has alpha `before`: a step of coordinate ascent on the dual of the squared hinge loss whose
  /// alpha is at most `most`. Returns the new alpha. The variances stay.
  double learn_again(const Example& e, double y, const Estimate& j, double noise, double before, double most, Coupling c) {
    const double alpha = std::clamp(before + (1 - y * j.p - noise * before) / (j.r + noise), 0.0, most);
    if (alpha != before) move(e, (alpha - before) * y, 0, c);
    return alpha;
  }
  /// Learns a guess y of this weight; the variances stay. False if y p >= 1.
  bool guess(const Example& e, double y, const Estimate& j, double noise, double weight, Coupling c) {
    if (y * j.p >= 1) return false;
    move(e, weight / (j.r + noise) * (1 - y * j.p) * y, 0, c);
    return true;
  }

  Beliefs shared;  ///< groups x d: w and s
  Beliefs own;     ///< K x d: v and t

 private:
  void move(const Example& e, double alpha, double beta, Coupling c) {
    shared.learn(e.group, e.x, c.E, alpha, beta);
    if (e.task != kUntracked) own.learn(e.task, e.x, c.O, alpha, beta);
  }
};

}  // namespace quorate::cohort
