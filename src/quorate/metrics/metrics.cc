#include "quorate/metrics/metrics.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

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

ClassConfusion& ClassConfusion::operator+=(const ClassConfusion& other) {
  for (std::size_t i = 0; i < count_.size(); ++i) count_[i] += other.count_[i];
  return *this;
}

std::uint64_t ClassConfusion::total() const { return std::accumulate(count_.begin(), count_.end(), std::uint64_t{0}); }

std::uint64_t ClassConfusion::mistakes() const {
  std::uint64_t right = 0;
  for (std::size_t c = 0; c < classes_; ++c) right += (*this)(c, c);
  return total() - right;
}

std::uint64_t ClassConfusion::count(std::size_t truth) const {
  std::uint64_t out = 0;
  for (std::size_t c = 0; c < classes_; ++c) out += (*this)(truth, c);
  return out;
}

double ClassConfusion::error() const { return ratio(mistakes(), total()); }

double ClassConfusion::recall(std::size_t c) const {
  std::uint64_t occurs = 0;
  for (std::size_t p = 0; p < classes_; ++p) occurs += (*this)(c, p);
  return ratio((*this)(c, c), occurs);
}

double ClassConfusion::f1(std::size_t c) const {
  std::uint64_t occurs = 0, predicted = 0;
  for (std::size_t other = 0; other < classes_; ++other) {
    occurs += (*this)(c, other);
    predicted += (*this)(other, c);
  }
  return ratio(2 * (*this)(c, c), occurs + predicted);
}

Measures ClassConfusion::measures() const {
  const auto mean = [this](double (ClassConfusion::*of)(std::size_t) const) {
    double sum = 0;
    std::size_t defined = 0;
    for (std::size_t c = 0; c < classes_; ++c)
      if (const double v = (this->*of)(c); !std::isnan(v)) sum += v, ++defined;
    return defined == 0 ? std::numeric_limits<double>::quiet_NaN() : sum / static_cast<double>(defined);
  };
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  return {1 - error(), mean(&ClassConfusion::recall), mean(&ClassConfusion::f1), kNone, {kNone, kNone, kNone}};
}

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

Ranking Scores::ranking() const {
  if (margins_[1].empty()) return {auc(), auc(), auc()};  // NaN
  std::vector<double> sorted[2] = {margins_[0], margins_[1]};
  for (auto& margins : sorted) std::sort(margins.begin(), margins.end(), std::greater<>());
  const auto positives = static_cast<double>(sorted[1].size()), all = static_cast<double>(size()), tenth = all / 10;
  Ranking out{0, 0, 0};
  std::size_t at[2] = {0, 0};  // of either, above the threshold
  while (at[1] < sorted[1].size()) {
    const bool negative_first = at[0] < sorted[0].size() && sorted[0][at[0]] > sorted[1][at[1]];
    const double threshold = negative_first ? sorted[0][at[0]] : sorted[1][at[1]];
    double gained[2] = {0, 0};
    const double before = static_cast<double>(at[0] + at[1]), found = static_cast<double>(at[1]);
    for (const int y : {0, 1})
      for (; at[y] < sorted[y].size() && sorted[y][at[y]] == threshold; ++at[y]) ++gained[y];
    const double precision = static_cast<double>(at[1]) / static_cast<double>(at[0] + at[1]);
    out.average_precision += precision * gained[1] / positives;
    if (precision >= 0.9) out.recall_at_90 = static_cast<double>(at[1]) / positives;
    if (before < tenth)  // of a threshold across the border, a fair part
      out.lift = (found + gained[1] * std::min(1.0, (tenth - before) / (gained[0] + gained[1]))) / positives * 10;
  }
  return out;
}

Measures Scores::measures() const {
  return {confusion_.accuracy(), confusion_.balanced_accuracy(), confusion_.f1(), auc(), ranking()};
}

void Reliability::add(int y, double probability) {
  Bin& b = bins_[std::min(static_cast<std::size_t>(probability * kBins), kBins - 1)];
  ++b.examples;
  b.positive += y > 0;
  b.sum += probability;
  const double off = probability - (y > 0 ? 1 : 0);
  squares_ += off * off;
}

std::uint64_t Reliability::examples() const {
  std::uint64_t n = 0;
  for (const Bin& b : bins_) n += b.examples;
  return n;
}

double Reliability::brier() const {
  const std::uint64_t n = examples();
  return n == 0 ? std::numeric_limits<double>::quiet_NaN() : squares_ / static_cast<double>(n);
}

double Reliability::error() const {
  const std::uint64_t n = examples();
  double off = 0;
  for (const Bin& b : bins_) off += std::abs(b.sum - static_cast<double>(b.positive));
  return n == 0 ? std::numeric_limits<double>::quiet_NaN() : off / static_cast<double>(n);
}

Reliability& Reliability::operator+=(const Reliability& other) {
  for (std::size_t i = 0; i < kBins; ++i) {
    bins_[i].examples += other.bins_[i].examples;
    bins_[i].positive += other.bins_[i].positive;
    bins_[i].sum += other.bins_[i].sum;
  }
  squares_ += other.squares_;
  return *this;
}

}  // namespace quorate
