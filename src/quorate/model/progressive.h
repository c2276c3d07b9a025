// Progressive measures: how good the predictions were that were made before each label was known.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "quorate/base/answer.h"
#include "quorate/metrics/metrics.h"
#include "quorate/model/reduction.h"
#include "quorate/session/session.h"

namespace quorate {

/// Counts predictions made before learning.
class ProgressiveCount {
 public:
  /// per_task: tasks to count separately, too, or users of classes; 0 for none.
  explicit ProgressiveCount(const Reduction& reduction, std::size_t per_task = 0)
      : reduction_(reduction),
        confusion_(reduction.size()),
        per_task_(reduction.users() ? 0 : per_task),
        per_user_(reduction.users() ? per_task : 0) {}

  /// A round after its last question; label(n) of the round's n-th example. The examples of an instance are there for all
  /// of the reduction's tasks.
  template <class LabelOf>
  void add(std::span<const Example> round, std::span<const Outcome> outcomes, LabelOf label) {
    const std::size_t tasks = reduction_.tasks();
    for (std::size_t first = 0; first < round.size(); first += tasks) {
      const Label y = label(first);
      if (!y.known()) continue;
      margins_.clear();
      for (std::size_t n = first; n < first + tasks; ++n) margins_.push_back(outcomes[n].decision.margin);
      const std::size_t truth = reduction_.number_of(y), said = reduction_.predict(margins_, ballot_).label;
      confusion_.add(truth, said);
      if (const std::size_t user = round[first].task / tasks; user < per_user_.size()) per_user_[user].add(truth, said);
      if (per_task_.empty()) continue;
      for (std::size_t n = first; n < first + tasks; ++n)
        if (const Answer answer = reduction_.feedback(reduction_.task_of(round[n]), truth);
            answer != kNeither && round[n].task < per_task_.size())
          per_task_[round[n].task].add(answer, predicted(outcomes[n].decision.margin));
    }
  }

  std::uint64_t total() const { return confusion_.total(); }
  std::uint64_t mistakes() const { return confusion_.mistakes(); }
  /// The label that came most often, the first among equals, and the accuracy of always saying it.
  std::size_t most_frequent() const {
    std::size_t most = 0;
    for (std::size_t c = 1; c < confusion_.classes(); ++c)
      if (confusion_.count(c) > confusion_.count(most)) most = c;
    return most;
  }
  double always() const { return static_cast<double>(confusion_.count(most_frequent())) / static_cast<double>(total()); }
  double accuracy() const { return static_cast<double>(total() - mistakes()) / static_cast<double>(total()); }
  /// Of the positive label; of classes the mean of all.
  double f1() const { return reduction_.has_classes() ? confusion_.measures().f1 : confusion_.f1(1); }
  const Confusion& of(Task task) const { return per_task_[task]; }
  ClassConfusion of_user(std::size_t user) const { return per_user_[user].confusion(reduction_.size()); }
  const ClassConfusion& confusion() const { return confusion_; }

 private:
  const Reduction& reduction_;
  ClassConfusion confusion_;
  std::vector<Confusion> per_task_;
  std::vector<ClassPredictions> per_user_;
  std::vector<double> margins_;
  Reduction::Ballot ballot_;
};

}  // namespace quorate
