// Margins become probabilities: how often margins like this one were right, learned from the labels that are bought anyway.
#pragma once

#include "quorate/base/error.h"
#include "quorate/base/portable_math.h"

namespace quorate {

/// Platt's two numbers, on line, for all tasks together: Pr[y = +1 | margin m] = 1 / (1 + exp(-(a m + c))). Each bought
/// label is one Newton step of logistic regression, old ones fading away as the learner, and the meaning of its margins,
/// changes. Labels are bought where margins are small, so each counts 1 / (the probability of asking for it) times.
///
/// Source: Platt 1999; the update is recursive least squares with forgetting on the logistic loss. Cost O(1).
class Calibration {
 public:
  /// margin: as it was when the label was asked for; y: +1 or -1; asked: with which probability, 0 to 1.
  void add(double margin, double y, double asked);
  /// a m + c. A margin beyond 10^6 counts as that.
  double log_odds(double margin) const;
  /// Pr[y = +1], 0 to 1.
  double operator()(double margin) const { return logistic(log_odds(margin)); }

  double slope() const { return a_; }
  /// The mean of the slope and of its first value, weighed by their curvature; `curvature`: of the first value.
  double slope_drawn_back(double curvature) const { return (mm_ * a_ + curvature * kSlope) / (mm_ + curvature); }
  double offset() const { return c_; }
  /// The variance of a m + c over the labels, each weighed by what it tells of the offset.
  double spread() const { return a_ * a_ * (mm_ / one_ - (m_ / one_) * (m_ / one_)); }

  template <class S>
  static void state(S& s, auto&& v) {
    v("slope", s.a_);
    v("offset", s.c_);
    v("mm", s.mm_);
    v("m", s.m_);
    v("one", s.one_);
  }
  void check() const;  ///< after loading: throws DataError for values that cannot be

 private:
  static constexpr double kSlope = 3, kPrior = 0.1;  // a belief that a margin of 1 is right 95 times in 100, easily shaken
  double a_ = kSlope, c_ = 0;
  double mm_ = kPrior, m_ = 0, one_ = kPrior;  // curvature: sums of weight p (1 - p) times m^2, m, 1
};

}  // namespace quorate
