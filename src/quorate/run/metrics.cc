#include "quorate/run/metrics.h"

#include <algorithm>
#include <limits>

#include "quorate/base/example.h"

namespace quorate {
namespace {

double ratio(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? std::numeric_limits<double>::quiet_NaN() : static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

void Confusion::add(int y, int predicted) {
  if (y > 0)
    ++(predicted > 0 ? true_positive : false_negative);
  else
    ++(predicted > 0 ? false_positive : true_negative);
}

double Confusion::accuracy() const { return ratio(true_positive + true_negative, total()); }

double Confusion::balanced_accuracy() const {
  const std::uint64_t positives = true_positive + false_negative, negatives = true_negative + false_positive;
  if (positives == 0) return ratio(true_negative, negatives);
  if (negatives == 0) return ratio(true_positive, positives);
  return (ratio(true_positive, positives) + ratio(true_negative, negatives)) / 2;
}

double Confusion::f1() const { return ratio(2 * true_positive, 2 * true_positive + false_positive + false_negative); }

void Scores::add(int y, double margin) {
  confusion_.add(y, predicted(margin));
  margins_[y > 0].push_back(margin);
}

double Scores::auc() const {
  std::vector<double> negatives = margins_[0];
  std::sort(negatives.begin(), negatives.end());
  double wins = 0;
  for (const double m : margins_[1]) {
    const auto [low, high] = std::equal_range(negatives.begin(), negatives.end(), m);
    wins += static_cast<double>(low - negatives.begin()) + static_cast<double>(high - low) / 2;
  }
  const double pairs = static_cast<double>(margins_[0].size()) * static_cast<double>(margins_[1].size());
  return pairs == 0 ? std::numeric_limits<double>::quiet_NaN() : wins / pairs;
}

Measures Scores::measures() const { return {confusion_.accuracy(), confusion_.balanced_accuracy(), confusion_.f1(), auc()}; }

}  // namespace quorate
