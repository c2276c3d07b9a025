#include "quorate/engine/classes.h"

#include "quorate/base/error.h"
#include "quorate/base/example.h"

namespace quorate {

Classes::Classes(Reduction reduction, std::vector<std::string> names) : reduction_(reduction), names_(std::move(names)) {
  if (names_.size() < 2)
    throw DataError("classes: the data have " + std::to_string(names_.size()) + "; expected at least two different labels");
  if (reduction_ == Reduction::kOneVsRest) return;
  const auto C = static_cast<std::uint32_t>(names_.size());
  for (std::uint32_t i = 0; i < C; ++i)
    for (std::uint32_t j = i + 1; j < C; ++j) pairs_.emplace_back(i, j);
}

std::string Classes::task_name(Task task) const {
  if (reduction_ == Reduction::kOneVsRest) return names_[task];
  return names_[pairs_[task].first] + " or " + names_[pairs_[task].second];
}

std::string Classes::question(Task task) const {
  return reduction_ == Reduction::kOneVsRest ? "is it a " + task_name(task) + "?" : task_name(task) + "?";
}

NameTable Classes::task_names() const {
  NameTable out;
  for (Task task = 0; task < tasks(); ++task)
    if (out.intern(task_name(task)) != task) throw DataError("classes: two questions are called '" + task_name(task) + "'");
  return out;
}

Answer Classes::feedback(Task task, std::size_t truth) const {
  if (reduction_ == Reduction::kOneVsRest) return task == truth ? kYes : kNo;
  const auto& [plus, minus] = pairs_[task];
  return plus == truth ? kYes : minus == truth ? kNo : kNeither;
}

Classes::Prediction Classes::predict(std::span<const double> margins, Ballot& ballot) const {
  ballot.votes.assign(size(), 0);
  if (reduction_ == Reduction::kOneVsRest) {
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

std::string to_text(Classes::Reduction reduction) {
  return reduction == Classes::Reduction::kOneVsOne ? "one-vs-one" : "one-vs-rest";
}

std::optional<Classes::Reduction> reduction_named(std::string_view name) {
  for (const auto reduction : {Classes::Reduction::kOneVsRest, Classes::Reduction::kOneVsOne})
    if (name == to_text(reduction)) return reduction;
  return {};
}

}  // namespace quorate
