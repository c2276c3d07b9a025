#include "quorate/model/quality.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "quorate/base/error.h"
#include "quorate/base/example.h"
#include "quorate/base/number.h"
#include "quorate/learner.h"

namespace quorate {
namespace {

constexpr double kZ = 1.959963984540054;  // 97.5 % point of the normal distribution
constexpr double kFirstLook = 6.2;        // z^2 of a stop rule's first look

/// The mean of independent shares.
Estimate mean(const std::vector<Estimate>& shares) {
  if (shares.empty()) return {};
  const double n = static_cast<double>(shares.size());
  Estimate out{0, 0, 0, 0, 0};
  double below = 0, above = 0;
  for (const Estimate& s : shares) {
    out.value += s.value / n;
    below += (s.value - s.low) * (s.value - s.low);
    above += (s.high - s.value) * (s.high - s.value);
    out.examples += s.examples;
    out.effective += s.effective;
  }
  out.low = std::max(0.0, out.value - std::sqrt(below) / n);
  out.high = std::min(1.0, out.value + std::sqrt(above) / n);
  return out;
}

}  // namespace

void QualityCount::Weights::add(double weight, bool good) {
  ++examples;
  all += weight;
  squares += weight * weight;
  if (good) right += weight;
}

Estimate QualityCount::Weights::estimate() const { return quorate::estimate(right / all, examples, all * all / squares); }

void QualityCount::add(std::size_t truth, std::size_t predicted, double margin, double weight) {
  const bool good = truth == predicted;
  all_.add(weight, good);
  of_[truth].add(weight, good);
  if (!has_positive_) return;
  if (predicted == 1) flagged_.add(weight, good);
  scored_.push_back({margin, weight, truth == 1});
}

Quality QualityCount::quality() const {
  Quality out;
  out.accuracy = all_.estimate();
  std::vector<Estimate> recalls;
  for (std::size_t c = 0; c < of_.size(); ++c) {
    if (of_[c].examples == 0) continue;
    recalls.push_back(of_[c].estimate());
    const double share = of_[c].all / all_.all;
    if (!(share <= out.always)) {
      out.always = share;
      out.most_frequent = c;
    }
    if (!(share >= out.fewest)) out.fewest = share;
  }
  out.balanced_accuracy = mean(recalls.size() == of_.size() ? recalls : std::vector<Estimate>());
  out.has_positive = has_positive_;
  out.recall = (has_positive_ ? of_[1] : Weights()).estimate();
  out.precision = flagged_.estimate();
  out.average_precision = average_precision();
  return out;
}

/// As Ranking::average_precision, with weights.
Estimate QualityCount::average_precision() const {
  const Weights& positive = of_[1];
  if (scored_.empty() || positive.examples == 0) return {};
  std::vector<Scored> by_margin = scored_;
  std::ranges::stable_sort(by_margin, std::greater(), &Scored::margin);
  double sum = 0, flagged = 0, found = 0;
  for (std::size_t begin = 0, end = 0; begin < by_margin.size(); begin = end) {
    double gained = 0;
    for (; end < by_margin.size() && by_margin[end].margin == by_margin[begin].margin; ++end) {
      flagged += by_margin[end].weight;
      if (by_margin[end].positive) gained += by_margin[end].weight;
    }
    found += gained;
    sum += gained * (found / flagged);
  }
  // At 0 and 1 the logit has no width: half an example away from them it has.
  const double n = positive.all * positive.all / positive.squares, value = std::min(1.0, sum / positive.all);
  const double inside = std::clamp(value, 0.5 / (n + 1), (n + 0.5) / (n + 1));
  const double logit = std::log(inside / (1 - inside)), half = kZ / std::sqrt(n * inside * (1 - inside));
  const auto share = [](double x) { return 1 / (1 + std::exp(-x)); };
  return {value, std::min(value, share(logit - half)), std::max(value, share(logit + half)), positive.examples, n};
}

Quality quality_of(const Model& model, std::size_t most) {
  const Reduction& reduction = model.reduction;
  const KeptLabels& labels = model.session.labels();
  const auto counts = [&](std::size_t i) { return labels[i].audit != 0 && labels[i].answer() != kNeither; };
  std::size_t audits = 0;
  for (std::size_t i = 0; i < labels.size(); ++i) audits += counts(i);
  QualityCount out(reduction);
  Reduction::Work work;
  UnpackedInstance memory;
  const double sampled = audits > most ? static_cast<double>(most) / static_cast<double>(audits) : 1;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (!counts(i) || (sampled < 1 && !labels.drawn(i, sampled))) continue;
    const KeptLabel& label = labels[i];
    const Example e = labels.example(i, memory);
    const auto truth = reduction.said(reduction.task_of(e), label.answer());
    if (!truth) continue;
    const Reduction::Prediction p = model.predict(reduction.first_of(e), e.x, work);
    out.add(*truth, p.label, p.margin, label.audit_weight);
  }
  return out.quality();
}

StopRule::StopRule(std::string_view text) {
  struct Form {
    std::string_view begin;
    Estimate Quality::*measure;
    bool error;
  };
  constexpr Form kForms[] = {{"accuracy>=", &Quality::accuracy, false},
                             {"error<=", &Quality::accuracy, true},
                             {"recall>=", &Quality::recall, false},
                             {"precision>=", &Quality::precision, false}};
  const auto* form = std::ranges::find_if(kForms, [&](const Form& f) { return text.starts_with(f.begin); });
  if (form == std::end(kForms))
    throw UsageError("stop rule " + quoted_value(text) +
                     ": expected accuracy>=X, error<=X, recall>=X or precision>=X, as in accuracy>=0.9");
  const double number = parse_number<double>(text.substr(form->begin.size())).value_or(Quality::kNan);
  if (!(number > 0 && number < 1))
    throw UsageError("stop rule " + quoted_value(text) + ": expected a number above 0 and below 1 after " +
                     std::string(form->error ? "<=" : ">="));
  measure_ = form->measure;
  target_ = form->error ? 1 - number : number;
  // Fewer audits do not suffice even if all are right.
  const double first = std::ceil(kFirstLook * target_ / (1 - target_));
  constexpr double kMost = 0x1p52;
  next_ = static_cast<std::uint64_t>(std::clamp(first, 1.0, kMost));
}

bool StopRule::holds(std::uint64_t scored, const Quality& now) {
  const double squared_z = kFirstLook + static_cast<double>(looks_) / 4;
  ++looks_;
  next_ = scored + std::max<std::uint64_t>(1, scored / 4);
  const Estimate& of = now.*measure_;
  return of.examples > 0 && wilson_low(of.value, of.effective, squared_z) >= target_;
}

}  // namespace quorate
