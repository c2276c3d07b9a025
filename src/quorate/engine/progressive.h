// Progressive measures: how good the predictions were that were made before each label was known.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "quorate/base/answer.h"
#include "quorate/engine/classes.h"
#include "quorate/engine/session.h"
#include "quorate/metrics/metrics.h"

namespace quorate {

/// An annotator who knows the labels of the data: the reply to a question about an example with this label.
/// `classes` may be null.
inline Reply reply_of(Label label, const Classes* classes, const Example& e) {
  if (!label.known()) return Reply::unknown();
  return classes != nullptr ? classes->feedback(classes->task_of(e), label.class_index()) : label.answer();
}

/// Counts predictions made before learning, of binary labels or of classes.
class ProgressiveCount {
 public:
  /// per_task: tasks to count separately, too, or users; 0 for none. `classes` may be null.
  explicit ProgressiveCount(const Classes* classes, std::size_t per_task = 0)
      : classes_(classes),
        confusion_(classes != nullptr ? classes->size() : 0),
        per_task_(has_users() ? 0 : per_task),
        per_user_(has_users() ? per_task : 0) {}

  /// A round after its last question; label(n) of the round's n-th example. Of classes the round is one instance, shown to
  /// all tasks.
  template <class LabelOf>
  void add(std::span<const Example> round, std::span<const Outcome> outcomes, LabelOf label) {
    if (classes_ == nullptr) {
      for (std::size_t n = 0; n < round.size(); ++n)
        if (const Label y = label(n); y.known()) add(round[n].task, y.answer(), outcomes[n], &all_);
    } else if (const Label y = label(0); y.known()) {
      margins_.clear();
      for (const Outcome& outcome : outcomes) margins_.push_back(outcome.decision.margin);
      const std::size_t predicted_class = classes_->predict(margins_, ballot_).index;
      confusion_.add(y.class_index(), predicted_class);
      if (const std::size_t user = round[0].task / classes_->tasks(); user < per_user_.size())
        per_user_[user].add(y.class_index(), predicted_class);
      for (Task task = 0; task < per_task_.size(); ++task)
        if (const Answer answer = classes_->feedback(task, y.class_index()); answer != kNeither)
          add(task, answer, outcomes[task], nullptr);
    }
  }

  std::uint64_t total() const { return classes_ != nullptr ? confusion_.total() : all_.total(); }
  std::uint64_t mistakes() const { return classes_ != nullptr ? confusion_.mistakes() : all_.mistakes(); }
  /// Of the label that came most often: its place (without classes 1 is positive, 0 negative), and the accuracy of always
  /// saying it.
  std::size_t most_frequent() const {
    if (classes_ == nullptr)
      return all_.true_positive + all_.false_negative > all_.true_negative + all_.false_positive ? 1 : 0;
    std::size_t most = 0;
    for (std::size_t c = 1; c < confusion_.classes(); ++c)
      if (confusion_.count(c) > confusion_.count(most)) most = c;
    return most;
  }
  double always() const {
    const std::size_t most = most_frequent();
    const std::uint64_t positive = all_.true_positive + all_.false_negative;
    const std::uint64_t count = classes_ != nullptr ? confusion_.count(most)
                                : most == 1         ? positive
                                                    : all_.total() - positive;
    return static_cast<double>(count) / static_cast<double>(total());
  }
  double accuracy() const { return classes_ != nullptr ? confusion_.measures().accuracy : all_.accuracy(); }
  double f1() const { return classes_ != nullptr ? confusion_.measures().f1 : all_.f1(); }
  const Confusion& of(Task task) const { return per_task_[task]; }
  ClassConfusion of_user(std::size_t user) const { return per_user_[user].confusion(classes_->size()); }
  const ClassConfusion& classes() const { return confusion_; }

 private:
  bool has_users() const { return classes_ != nullptr && classes_->users(); }
  void add(Task task, Answer y, const Outcome& outcome, Confusion* all) {
    if (all != nullptr) all->add(y, predicted(outcome.decision.margin));
    if (task < per_task_.size()) per_task_[task].add(y, predicted(outcome.decision.margin));
  }

  const Classes* classes_;
  Confusion all_;
  ClassConfusion confusion_;
  std::vector<Confusion> per_task_;
  std::vector<ClassPredictions> per_user_;
  std::vector<double> margins_;
  Classes::Ballot ballot_;
};

}  // namespace quorate
