#include "quorate/model/reduction.h"

#include <algorithm>
#include <cmath>

#include "quorate/base/error.h"
#include "quorate/base/portable_math.h"
#include "quorate/learner.h"

namespace quorate {

Reduction::Reduction(Kind kind, std::vector<std::string> classes, bool users)
    : kind_(kind), classes_(std::move(classes)), by_task_(users) {
  if (classes_.size() < 2)
    throw DataError("classes: the data have " + std::to_string(classes_.size()) +
                    "; expected at least two different labels");
  if (kind_ != Kind::kOneVsOne) return;
  const auto C = static_cast<std::uint32_t>(classes_.size());
  for (std::uint32_t i = 0; i < C; ++i)
    for (std::uint32_t j = i + 1; j < C; ++j) pairs_.emplace_back(i, j);
}

std::size_t Reduction::bytes() const {
  std::size_t out = pairs_.size() * sizeof(pairs_[0]);
  for (const std::string& name : classes_) out += 2 * (sizeof(name) + name.size());
  return out;
}

std::string Reduction::task_name(Task task) const {
  if (kind_ == Kind::kOneVsRest) return classes_[task];
  return classes_[pairs_[task].first] + " or " + classes_[pairs_[task].second];
}

std::string Reduction::question(Task task) const {
  return kind_ == Kind::kOneVsRest ? "class = " + task_name(task) + "?" : task_name(task) + "?";
}

NameTable Reduction::task_names() const {
  NameTable out;
  for (Task task = 0; task < tasks(); ++task)
    if (out.intern(task_name(task)) != task) throw DataError("classes: two questions are called '" + task_name(task) + "'");
  return out;
}

Answer Reduction::feedback(Task task, std::size_t truth) const {
  if (kind_ == Kind::kNone) return truth == 1 ? kYes : kNo;
  if (kind_ == Kind::kOneVsRest) return task == truth ? kYes : kNo;
  const auto& [plus, minus] = pairs_[task];
  return plus == truth ? kYes : minus == truth ? kNo : kNeither;
}

std::optional<std::size_t> Reduction::said(Task task, Answer answer) const {
  if (answer == kNeither) return std::nullopt;
  if (kind_ == Kind::kNone) return answer == kYes;
  if (kind_ == Kind::kOneVsOne) return answer == kYes ? pairs_[task].first : pairs_[task].second;
  return answer == kYes ? std::optional<std::size_t>(task) : std::nullopt;
}

void Reduction::score(const Learner& learner, Task first, const Features& x, std::vector<double>& out) const {
  out.resize(tasks());
  for (Task task = 0; task < tasks(); ++task) out[task] = learner.score(example(first, task, x));
}

Reduction::Prediction Reduction::predict(std::span<const double> margins, Ballot& ballot) const {
  if (kind_ == Kind::kNone) return {predicted(margins[0]) == kYes, margins[0]};
  ballot.votes.assign(size(), 0);
  if (kind_ == Kind::kOneVsRest) {
    ballot.sums.assign(margins.begin(), margins.end());
  } else {
    ballot.sums.assign(size(), 0);
    for (std::size_t task = 0; task < pairs_.size(); ++task) {
      const auto& [plus, minus] = pairs_[task];
      ++ballot.votes[predicted(margins[task]) > 0 ? plus : minus];
      ballot.sums[plus] += margins[task];
      ballot.sums[minus] -= margins[task];
    }
  }
  std::size_t best = 0;
  for (std::size_t c = 1; c < size(); ++c)
    if (ballot.votes[c] > ballot.votes[best] ||
        (ballot.votes[c] == ballot.votes[best] && ballot.sums[c] > ballot.sums[best]))
      best = c;
  return {best, ballot.sums[best]};
}

void Reduction::probabilities(std::span<const double> log_odds, std::size_t predicted, std::vector<double>& out) const {
  if (kind_ == Kind::kNone) {
    const double yes = logistic(log_odds[0]);
    out.assign({1 - yes, yes});
    return;
  }
  // Each is proportional to exp(shift[c]) / sum[c].
  std::vector<double> shift(size(), 0), sum(size(), 1);
  if (kind_ == Kind::kOneVsRest) {
    shift.assign(log_odds.begin(), log_odds.end());
  } else {
    const auto each = [&](auto use) {  // use(c, log-odds of another against c)
      for (std::size_t task = 0; task < pairs_.size(); ++task) {
        use(pairs_[task].first, -log_odds[task]);
        use(pairs_[task].second, log_odds[task]);
      }
    };
    each([&](std::size_t c, double other) { shift[c] = std::min(shift[c], -other); });
    for (std::size_t c = 0; c < size(); ++c) sum[c] = exp_negative(shift[c]);
    each([&](std::size_t c, double other) { sum[c] += exp_negative(other + shift[c]); });
  }
  const double most = *std::max_element(shift.begin(), shift.end());
  double total = 0;
  out.resize(size());
  for (std::size_t c = 0; c < size(); ++c) total += out[c] = exp_negative(shift[c] - most) / sum[c];
  for (double& p : out) p /= total;
  std::swap(out[predicted], *std::max_element(out.begin(), out.end()));
}

Reduction::Prediction Reduction::predict(const Learner& learner, Task first, const Features& x, bool with_probabilities,
                                         Work& work) const {
  score(learner, first, x, work.margins);
  return predict(learner, with_probabilities, work);
}

Reduction::Prediction Reduction::predict(const Learner& learner, bool with_probabilities, Work& work) const {
  const Prediction out = predict(work.margins, work.ballot);
  if (with_probabilities && learner.capabilities().calibrated) {
    std::vector<double>& odds = work.odds;
    odds.resize(work.margins.size());
    for (std::size_t task = 0; task < odds.size(); ++task) odds[task] = learner.log_odds(work.margins[task]);
    probabilities(odds, out.label, work.probabilities);
  }
  return out;
}

}  // namespace quorate
