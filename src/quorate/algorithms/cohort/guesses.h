// Guesses: how much an example without a label teaches.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <span>
#include <string>

#include "quorate/algorithms/cohort/instance.h"
#include "quorate/algorithms/cohort/mixture.h"
#include "quorate/algorithms/cohort/multiclass.h"
#include "quorate/base/column.h"
#include "quorate/base/error.h"
#include "quorate/base/example.h"
#include "quorate/base/memory.h"
#include "quorate/base/portable_math.h"
#include "quorate/base/segmented_vector.h"

namespace quorate::cohort {

/// A task's statistics, apart from its weights.
struct OfTask {
  std::uint32_t labels = 0;          // bought
  float positive = 0, negative = 0;  // sums of the weights of its guesses: g

  /// The weight of a guess sign(p), p with variance r and calibrated log-odds d: guess n / (n + kHalf) tanh(|d| / 2)
  /// sqrt(|p| / sqrt(p^2 + r)) min(1, (g_-y + 0.1) / (g_y + 0.1))^3, n the task's labels. So a task without labels learns
  /// nothing from guesses, nor does any while predictions are right by chance, and guesses do not drive out a rare class.
  double weight_of_guess(double p, double r, double log_odds, double guess) const {
    return weight(p, r, 2 * logistic(std::abs(log_odds)) - 1, p > 0 ? positive : negative, p > 0 ? negative : positive,
                  guess);
  }
  /// The same of a guess that is right with probability (1 + surely) / 2. of_this, of_other: g_y and g_-y.
  double weight(double p, double r, double surely, double of_this, double of_other, double guess) const {
    constexpr double kHalf = 60;  // labels until guesses count half
    const double n = labels, certain = std::abs(p) / std::sqrt(p * p + r),
                 balance = std::min(1.0, (of_other + 0.1) / (of_this + 0.1));
    return guess * (n / (n + kHalf)) * surely * std::sqrt(certain) * (balance * balance * balance);
  }
  void add_guess(double p, double weight) {
    float& of_this = p > 0 ? positive : negative;
    of_this = static_cast<float>(of_this + weight);
  }
};

class Tasks : public SegmentedVector<OfTask> {
 public:
  explicit Tasks(std::pmr::memory_resource* memory) : SegmentedVector(memory) {}

  struct Packed {
    Column<std::uint32_t> labels;
    Column<float> positive, negative;
    template <class S>
    static void state(S& s, auto&& visit) {
      visit("labels", s.labels);
      visit("positive", s.positive);
      visit("negative", s.negative);
    }
  };
  Packed pack() const {
    return {Column<std::uint32_t>::of(size(), [this](std::size_t i) { return (*this)[i].labels; }),
            Column<float>::of(size(), [this](std::size_t i) { return (*this)[i].positive; }),
            Column<float>::of(size(), [this](std::size_t i) { return (*this)[i].negative; })};
  }
  void unpack(const Packed& packed) {
    const std::size_t n = packed.labels.size();
    bool good = packed.positive.size() == n && packed.negative.size() == n;
    for (std::size_t i = 0; i < n && good; ++i)
      good = packed.positive[i] >= 0 && packed.negative[i] >= 0 && std::isfinite(packed.positive[i] + packed.negative[i]);
    if (!good) throw DataError("cohort: sums of the tasks' guesses: expected finite numbers from 0, a row for each task");
    resize(n);
    for (std::size_t i = 0; i < n; ++i) (*this)[i] = {packed.labels[i], packed.positive[i], packed.negative[i]};
  }
};

/// An example that is not asked about is learned with y = sign(p), while fewer than kGuesses of them changed weights since
/// the last label. So updates end soon after it. a_k = g max(0, 1 - y p_k) / (r + nu_k), nu = noise, g by OfTask; s and t
/// stay. Of classes against the rest the likeliest, c, is learned as right (multiclass.h): h the second, g is OfTask's for
/// p_c - p_h, r_c + r_h, n of the instance's first task and, in place of g_-y, the mean of g_k, k != c; surely = (1 - D) /
/// (1 + D), D = sum over k != c of exp(a (p_k - p_c)).
class Guesses {
 public:
  static constexpr std::uint32_t kGuesses = 64;

  Guesses(double weight, std::pmr::memory_resource* memory) : tasks(memory), weight_(weight), limited_(is_limited(memory)) {}

  /// Whether a guess can teach now.
  bool any() const { return weight_ > 0 && left > 0; }
  /// A label of the task `first` was bought; tasks up to `last` learn from it.
  void bought(Task first, Task last) {
    left = kGuesses;
    if (first == kUntracked) return;
    if (last >= tasks.size()) tasks.resize(std::size_t{last} + 1);
    ++tasks[first].labels;
  }
  /// y = sign(p), j the prediction of e.
  void guess(const Example& e, const Prediction& j, OfInstance& instance, Mixture& mixture) {
    if (!may(e.task) || j.p == 0) return;
    const double weight = tasks[e.task].weight_of_guess(j.p, j.r, mixture.calibration.log_odds(j.p), weight_),
                 y = predicted(j.p);
    if (limited_ && j.x.teaches(y)) mixture.of_x.reserve(e);  // no embeddings under a limit
    tasks[e.task].add_guess(j.p, weight);
    left -= instance.guess(mixture, e, j, y, weight);
  }
  /// The likeliest class of the latest instance, e an example of it.
  void guess_class(const Example& e, OfInstance& instance, Mixture& mixture) {
    const Task first = instance.first_task(e);
    if (!may(first)) return;
    const std::span<const Prediction> of = instance.predictions();
    const Leaders leaders(of.size(), [&](std::size_t k) { return of[k].p; });
    const Prediction &top = of[leaders.top], &second = of[leaders.second];
    double odds = 0, others = 0;
    for (std::size_t k = 0; k < of.size(); ++k) {
      if (k == leaders.top) continue;
      odds += exp_negative(mixture.calibration.slope() * (of[k].p - top.p));
      others += tasks[instance.of(e, k).task].positive;
    }
    const double lead = top.p - second.p, surely = (1 - odds) / (1 + odds);
    if (!(lead > 0) || !(surely > 0)) return;
    OfTask& of_top = tasks[instance.of(e, leaders.top).task];
    const double weight = tasks[first].weight(lead, top.r + second.r, surely, of_top.positive,
                                              others / static_cast<double>(of.size() - 1), weight_);
    if (limited_) instance.touch(mixture, e);
    of_top.add_guess(1, weight);
    left -= instance.guess_class(mixture, e, leaders.top, weight);
  }

  /// After loading. Throws DataError.
  void check() const {
    if (left > kGuesses)
      throw DataError("cohort: guesses " + std::to_string(left) + "; expected at most " + std::to_string(kGuesses));
  }

  Tasks tasks;
  std::uint32_t left = 0;  ///< updates by guesses before the next label

 private:
  bool may(Task task) const { return any() && task < tasks.size() && tasks[task].labels > 0; }

  double weight_;
  bool limited_;
};

}  // namespace quorate::cohort
