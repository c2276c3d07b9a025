// Examples as they come, cut into rounds, for those who do not know beforehand what will come.
#pragma once
#include <functional>
#include <optional>
#include <vector>

#include "quorate/engine/rounds.h"
#include "quorate/stream/dataset.h"

namespace quorate {

/// Shows a session one example after the other: each by itself; until a task comes again; or one instance to the tasks of
/// all classes.
class RoundBuilder {
 public:
  /// One example of a round, after it: called in the order in which examples came, of classes in that of their tasks.
  using Watch = std::function<void(Task, const Outcome&)>;

  /// `classes` may be null. `later`: whoever is asked answers later (Session::answer), labels of the data or not.
  RoundBuilder(Session& session, const Classes* classes, Rounds rounds, bool later = false, Watch watch = {})
      : session_(session), classes_(classes), rounds_(rounds), later_(later), watch_(std::move(watch)), online_(classes_) {}

  /// label: as in the data, 0 if unknown; task: the session's, not looked at with classes. Throws as Session::round.
  void add(Task task, int label, std::optional<double> time, const Features& x) {
    if (classes_ != nullptr) {
      if (time) session_.set_time(*time);
      for (Task of_class = 0; of_class < classes_->tasks(); ++of_class) round_examples_.push_back({of_class, x});
      return learn([&](std::size_t) { return label; });
    }
    if (rounds_ == Rounds::kEach) {
      if (time) session_.set_time(*time);
      round_examples_.push_back({task, x});
      ++round_;
      ++without_choice_;
      return learn([&](std::size_t) { return label; });
    }
    if (task < in_round_.size() && in_round_[task] == round_) flush();
    if (time) session_.set_time(*time);
    if (task >= in_round_.size()) in_round_.resize(std::size_t{task} + 1);
    in_round_[task] = round_;
    pending_.add(task, label, x);
  }

  /// Ends the round, if one is open.
  void flush() {
    if (pending_.size() == 0) return;
    for (std::size_t n = 0; n < pending_.size(); ++n) round_examples_.push_back(pending_.example(n));
    without_choice_ += pending_.size() <= session_.labels_per_round();
    learn([&](std::size_t n) { return pending_.label(n); });
    pending_.clear();
    ++round_;
  }

  std::uint64_t rounds() const { return round_ - 1; }
  /// Rounds with no more examples than labels to buy.
  std::uint64_t rounds_without_choice() const { return without_choice_; }
  const OnlineCount& online() const { return online_; }

 private:
  /// A round of round_examples_; label(n) as in the data.
  template <class Label>
  void learn(Label label) {
    steps_.assign(round_examples_.size(), {});
    const auto answer = [&](std::size_t n) {
      return later_ ? kLater : known_answer(classes_, round_examples_[n].task, label(n));
    };
    session_.round(round_examples_, std::cref(answer), steps_);
    online_.add(round_examples_, steps_, label);
    if (watch_)
      for (std::size_t n = 0; n < steps_.size(); ++n) watch_(round_examples_[n].task, steps_[n]);
    round_examples_.clear();
  }

  Session& session_;
  const Classes* classes_;
  Rounds rounds_;
  bool later_;
  Watch watch_;
  std::uint64_t round_ = 1, without_choice_ = 0;
  std::vector<std::uint64_t> in_round_;  // of a task: the last round it was in
  Dataset pending_;
  std::vector<Example> round_examples_;
  std::vector<Outcome> steps_;
  OnlineCount online_;
};

}  // namespace quorate
