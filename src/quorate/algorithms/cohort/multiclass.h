// Classes against the rest are learned together: the margin of an instance's class has to exceed that of every other class.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory_resource>
#include <numeric>
#include <span>
#include <vector>

#include "quorate/algorithms/cohort/two_level.h"
#include "quorate/base/learner_context.h"

namespace quorate::cohort {

/// The classes of an instance, each a task of its own: of a user (then the class is the group), or of all examples (then it
/// is the task).
class Multiclass {
 public:
  /// No classes unless the tasks exclude each other.
  explicit Multiclass(const LearnerContext& context)
      : users_(context.tasks_per_name > 1),
        size_(!context.exclusive ? 0
              : users_           ? context.tasks_per_name
                                 : std::max<std::size_t>(context.tasks.size(), 1)),
        change_(size_, context.memory),
        margins_(size_, context.memory),
        order_(size_, context.memory) {}

  std::size_t size() const { return size_; }  ///< C, the number of classes; 0: tasks are yes or no
  std::size_t class_of(const Example& e) const { return users_ ? e.group : std::min<std::size_t>(e.task, size_ - 1); }
  /// The same instance as an example of a class.
  Example of(const Example& e, std::size_t c) const {
    Example out = e;
    const auto index = static_cast<std::uint32_t>(c);
    if (!users_) {
      out.task = index;
    } else {
      out.group = index;
      if (e.task != kUntracked) out.task = e.task - e.group + index;
    }
    return out;
  }

  /// How an instance is learned: `first`: a bought label for the first time, variances included, not again; or a guess of
  /// weight `guess`, whose dual variables are not kept.
  struct How {
    bool first = false;
    double guess = 0;
  };
  /// Class c is right: for every other class k, most mistaken first, a step of coordinate ascent on the dual of the squared
  /// hinge loss of p_c - p_k, whose dual variables, of each mean, are alpha[2 k] and alpha[2 k + 1]:
  ///   a_k' = max(0, a_k + (1 - (p_c - p_k) - nu a_k) / (r_c + r_k + nu)),  w_c += (a_k' - a_k) s x,  w_k -= (a_k' - a_k) s
  ///   x,
  /// for each mean, p_c and p_k following each step. estimate(k): of class k by `model`; noise: nu. Returns whether a
  /// weight changed. Source: the loss of Weston and Watkins 1999, squared; the steps of Keerthi et al. 2008, in the metric
  /// of the variances. O(C (log C + non-zeros of classes that change)).
  template <class EstimateOf>
  bool right(TwoLevel& model, const Example& e, std::size_t c, EstimateOf estimate, double noise, std::span<double> alpha,
             Coupling coupling, How how) {
    std::ranges::fill(change_, OfMeans{});
    for (std::size_t m : {0u, 1u}) {
      const double nu = TwoLevel::kNoise[m] * noise;
      for (std::size_t k = 0; k < size_; ++k) margins_[k] = estimate(k).p_of[m];
      std::iota(order_.begin(), order_.end(), std::size_t{0});
      std::ranges::sort(order_, [&](std::size_t a, std::size_t b) {
        return margins_[a] != margins_[b] ? margins_[a] > margins_[b] : a < b;
      });
      for (const std::size_t k : order_) {
        if (k == c) continue;
        const double short_of = 1 - (margins_[c] - margins_[k]), r = estimate(c).r + estimate(k).r + nu,
                     before = how.guess > 0 ? 0 : alpha[2 * k + m],
                     after = how.guess > 0 ? how.guess * std::max(0.0, short_of) / r
                                           : std::max(0.0, before + (short_of - nu * before) / r),
                     step = after - before;
        if (step == 0) continue;
        if (how.guess == 0) alpha[2 * k + m] = after;
        change_[c][m] += step;
        change_[k][m] -= step;
        margins_[c] += step * estimate(c).r;
        margins_[k] -= step * estimate(k).r;
      }
    }
    return move(model, e, estimate, noise, coupling, how.first);
  }
  /// Class c is wrong, and which class is right is unknown: the same for the class of the largest margin against c, but only
  /// the weights of c change. Its dual variables are alpha[2 c] and alpha[2 c + 1].
  template <class EstimateOf>
  bool wrong(TwoLevel& model, const Example& e, std::size_t c, EstimateOf estimate, double noise, std::span<double> alpha,
             Coupling coupling, bool first) {
    std::ranges::fill(change_, OfMeans{});
    for (std::size_t m : {0u, 1u}) {
      double best = -std::numeric_limits<double>::infinity();
      for (std::size_t k = 0; k < size_; ++k)
        if (k != c) best = std::max(best, estimate(k).p_of[m]);
      const double nu = TwoLevel::kNoise[m] * noise, before = alpha[2 * c + m],
                   after = std::max(0.0, before + (1 - (best - estimate(c).p_of[m]) - nu * before) / (estimate(c).r + nu));
      alpha[2 * c + m] = after;
      change_[c][m] = before - after;
    }
    return move(model, e, estimate, noise, coupling, first);
  }

 private:
  template <class EstimateOf>
  bool move(TwoLevel& model, const Example& e, EstimateOf estimate, double noise, Coupling coupling, bool first) {
    bool any = false;
    for (std::size_t k = 0; k < size_; ++k) {
      if (change_[k] == OfMeans{}) continue;
      const bool varies = first && change_[k][0] != 0;
      model.move(of(e, k), change_[k], varies ? 1 / (estimate(k).r + TwoLevel::kNoiseOfVariance * noise) : 0, coupling);
      any = true;
    }
    return any;
  }

  bool users_;
  std::size_t size_;
  // Scratch, of each class.
  std::pmr::vector<OfMeans> change_;
  std::pmr::vector<double> margins_;
  std::pmr::vector<std::size_t> order_;
};

/// How a class stands among those of an instance.
struct Standing {
  double p = 0;  ///< its margin
  /// The margin by which the likeliest class leads; of another class also that by which it is behind. So of an instance's
  /// examples that of the likeliest class is the least certain.
  double lead = 0;
  bool top = false;  ///< whether it is the likeliest
};

/// The classes of the largest and second largest margin; the first of equal ones.
struct Leaders {
  std::size_t top = 0, second = 0;
  Leaders() = default;
  template <class MarginOf>
  Leaders(std::size_t classes, MarginOf margin) {
    for (std::size_t k = 1; k < classes; ++k)
      if (margin(k) > margin(top)) top = k;
    second = top == 0 && classes > 1 ? 1 : 0;
    for (std::size_t k = 0; k < classes; ++k)
      if (k != top && margin(k) > margin(second)) second = k;
  }
  template <class MarginOf>
  Standing standing(std::size_t c, MarginOf margin) const {
    const double lead = margin(top) - margin(second);
    return {margin(c), c == top ? lead : lead + (margin(top) - margin(c)), c == top};
  }
};

}  // namespace quorate::cohort
