// Turns margins into probabilities, by a logistic regression on the labels bought.
#pragma once
#include <cstddef>
#include <span>

#include "quorate/base/error.h"
#include "quorate/base/portable_math.h"

namespace quorate {

/// Online Platt scaling for all tasks together: Pr[y = +1 | margin m] = 1 / (1 + exp(-(a m + c))). Each bought label is one
/// Newton step of logistic regression. Old labels fade, because the meaning of margins changes as the learner does. Labels
/// are bought where margins are small, so each is weighted by 1 / (the probability of asking for it).
///
/// Source: Platt 1999; the update is recursive least squares with forgetting on the logistic loss. Cost O(1).
class Calibration {
 public:
  /// margin: of the label's example, now; y: +1 or -1; asked: the probability of asking, 0 to 1.
  void add(double margin, double y, double asked);
  /// The same of classes that exclude each other, where Pr[class k] is proportional to exp(a m_k): a Newton step of a alone.
  /// margins: of all classes, `right` among them.
  void add(std::span<const double> margins, std::size_t right, double asked);
  /// a m + c. Margins are cut at 10^6.
  double log_odds(double margin) const;
  /// Pr[y = +1], 0 to 1.
  double operator()(double margin) const { return logistic(log_odds(margin)); }

  double slope() const { return a_; }
  double offset() const { return c_; }

  template <class S>
  static void state(S& s, auto&& v) {
    v("slope", s.a_);
    v("offset", s.c_);
    v("mm", s.mm_);
    v("m", s.m_);
    v("one", s.one_);
  }
  void check() const;  ///< after loading: throws DataError for values out of range

 private:
  static constexpr double kSlope = 3;                           // at first: a margin of 1 is right in 95 % of cases
  static constexpr double kSlopePrior = 0.1, kOffsetPrior = 1;  // curvatures of the first slope and offset
  double a_ = kSlope, c_ = 0;
  double mm_ = kSlopePrior, m_ = 0, one_ = kOffsetPrior;  // curvature: sums of weight p (1 - p) times m^2, m, 1
};

}  // namespace quorate
