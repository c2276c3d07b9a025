#include "quorate/weights/calibration.h"

#include <algorithm>
#include <cmath>

namespace quorate {
namespace {

constexpr double kFade = 0.998;    // of the sums, at each label: a memory of about 500 labels
constexpr double kMostWeight = 3;  // cap, so that a label with a tiny probability of asking does not dominate
constexpr double kMostMargin = 1e6;

double limited(double margin) { return std::clamp(margin, -kMostMargin, kMostMargin); }

}  // namespace

void Calibration::add(double margin, double y, double asked) {
  const double m = limited(margin);
  if (!(m == m)) return;
  const double p = (*this)(m), weight = std::min(1 / std::max(asked, 1e-12), kMostWeight);
  const double curve = weight * std::max(p * (1 - p), 1e-3), pull = weight * ((y > 0 ? 1 : 0) - p);
  // The prior does not fade.
  mm_ = kSlopePrior + kFade * (mm_ - kSlopePrior) + curve * m * m;
  m_ = kFade * m_ + curve * m;
  one_ = kOffsetPrior + kFade * (one_ - kOffsetPrior) + curve;
  const double det = mm_ * one_ - m_ * m_;
  a_ += pull * (one_ * m - m_) / det;
  c_ += pull * (mm_ - m_ * m) / det;
  a_ = std::clamp(a_, 0.0, 1e6);  // the probability never falls with the margin
  c_ = std::clamp(c_, -1e6, 1e6);
}

void Calibration::add(std::span<const double> margins, std::size_t right, double asked) {
  const double most = limited(*std::ranges::max_element(margins));
  double sum = 0, first = 0, second = 0;  // moments of m - most, by the probabilities
  for (const double margin : margins) {
    const double m = limited(margin) - most, share = exp_negative(a_ * m);
    sum += share;
    first += share * m;
    second += share * m * m;
  }
  const double mean = first / sum, weight = std::min(1 / std::max(asked, 1e-12), kMostWeight),
               m = limited(margins[right]) - most;
  if (!(mean == mean) || !(m == m)) return;
  mm_ = kSlopePrior + kFade * (mm_ - kSlopePrior) + weight * std::max(second / sum - mean * mean, 1e-3 * m * m);
  a_ = std::clamp(a_ + weight * (m - mean) / mm_, 0.0, 1e6);
}

double Calibration::log_odds(double margin) const { return a_ * limited(margin) + c_; }

void Calibration::check() const {
  const auto good = [](double v, double least) { return std::isfinite(v) && v >= least; };
  if (!good(a_, 0) || !std::isfinite(c_) || !good(mm_, kSlopePrior) || !good(one_, kOffsetPrior) || !(m_ * m_ < mm_ * one_))
    throw DataError(
        "model file: calibration: expected a from 0, mm from 0.1, one from 1, m * m below mm * one, and c, all finite");
}

}  // namespace quorate
