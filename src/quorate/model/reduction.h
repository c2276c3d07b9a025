// A problem as binary tasks: yes or no is one; C classes are several over the same instances (Cohen and Crammer, contextual
// bandits).
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "quorate/base/answer.h"
#include "quorate/base/example.h"
#include "quorate/base/name_table.h"

namespace quorate {

class Learner;

/// Labels are numbered 0 to size() - 1: classes in their order; of yes and no, no is 0 and yes is 1.
class Reduction {
 public:
  enum class Kind {
    kNone,       ///< yes or no: one task, which asks whether the example is positive
    kOneVsRest,  ///< C tasks; task c asks "class = c?"
    kOneVsOne,   ///< C (C - 1) / 2 tasks, (0,1), (0,2), ..., (1,2), ...; task (i,j) asks "i or j?", + is i
  };

  Reduction() = default;  ///< kNone
  /// At least two classes, in the order of their indices. `users`: tasks of the stream are users, and a user has tasks()
  /// tasks in a row, one of each group (Example::group); otherwise tasks of the stream are not looked at, and tasks 0 to
  /// tasks() - 1 are all there are. Throws DataError for fewer.
  Reduction(Kind kind, std::vector<std::string> classes, bool users = false);

  Kind kind() const { return kind_; }
  bool has_classes() const { return kind_ != Kind::kNone; }
  /// Whether tasks of the stream are looked at: each is shown its own examples alone.
  bool by_task() const { return by_task_; }
  bool users() const { return by_task_ && has_classes(); }
  /// Whether one of an instance's tasks is positive: classes against the rest.
  bool exclusive() const { return kind_ == Kind::kOneVsRest; }
  std::size_t size() const { return has_classes() ? classes_.size() : 2; }  ///< labels
  const std::vector<std::string>& classes() const { return classes_; }      ///< their names; of yes and no none
  std::size_t bytes() const;  ///< of names, which labels have once more, and pairs
  /// That an instance is shown to: of its task of the stream, if that is looked at. Tasks below are numbered 0 to tasks()
  /// - 1.
  std::size_t tasks() const { return kind_ == Kind::kOneVsOne ? pairs_.size() : has_classes() ? size() : 1; }

  std::string task_name(Task task) const;  ///< "3", "3 or 8"; only with classes
  std::string question(Task task) const;   ///< "class = 3?", "3 or 8?"; only with classes
  NameTable task_names() const;            ///< only with classes
  /// What people see of a task that is called `name`, and the word for such tasks: "user", "task", or "question".
  std::string shown(std::string_view name, Task task) const { return by_task_ ? std::string(name) : question(task); }
  std::string_view tasks_are() const { return users() ? "user" : by_task_ ? "task" : "question"; }

  /// The instance x as an example of a task. `first`: the first task of its task of the stream, kUntracked if memory knows
  /// none; not looked at unless by_task().
  Example example(Task first, Task task, const Features& x) const {
    if (!by_task_) return {task, x};
    return {first == kUntracked ? kUntracked : first + task, x, task};
  }
  /// The same for all tasks, added to `out`.
  void add_examples(Task first, const Features& x, std::vector<Example>& out, double weight = 1,
                    std::string_view id = {}) const {
    for (Task task = 0; task < tasks(); ++task) {
      out.push_back(example(first, task, x));
      out.back().weight = weight;
      out.back().id = id;
    }
  }
  /// Which of tasks() such an example is of.
  Task task_of(const Example& e) const { return by_task_ ? e.group : e.task; }
  /// The first task of such an example's task of the stream.
  Task first_of(const Example& e) const { return e.task == kUntracked ? kUntracked : e.task - task_of(e); }
  /// The margins of all tasks on x, in `out`.
  void score(const Learner& learner, Task first, const Features& x, std::vector<double>& out) const;

  /// The number of a label that is known, and the label of a number.
  std::size_t number_of(Label label) const {
    return has_classes() ? label.class_index() : std::size_t{label.answer() == kYes};
  }
  Label label_of(std::size_t number) const {
    return has_classes() ? Label::of_class(number) : Label(number == 1 ? kYes : kNo);
  }
  /// The label that the margin of a prediction speaks for: the predicted class, or yes.
  std::size_t towards(std::size_t predicted) const { return has_classes() ? predicted : 1; }
  /// What a good annotator answers, kNeither if it is neither of the two. truth < size(). O(1).
  Answer feedback(Task task, std::size_t truth) const;
  /// The reply of an annotator who knows the label of the example.
  Reply reply(Label label, const Example& e) const {
    if (!label.known()) return Reply::unknown();
    if (!has_classes()) return label.answer();
    return {feedback(task_of(e), label.class_index()), label.class_index()};
  }
  /// The number of the label that an answer says, if it says one. O(1).
  std::optional<std::size_t> said(Task task, Answer answer) const;

  /// What predict() works with.
  struct Ballot {
    std::vector<std::uint32_t> votes;
    std::vector<double> sums;
  };
  struct Prediction {
    std::size_t label;
    double margin;  ///< of yes; one-vs-rest: the class's own; one-vs-one: the sum of its margins against the others
  };
  /// The label that the margins of all tasks say. One-vs-rest: the largest margin. One-vs-one: most votes, a margin of 0
  /// voting for the second of the pair; among equals the largest sum of margins. Then the first. O(tasks).
  Prediction predict(std::span<const double> margins, Ballot& ballot) const;

  /// The probability of each label, in `out`; they sum to 1. log_odds: of all tasks. One-vs-rest: proportional to the
  /// odds of the class against the rest. One-vs-one: proportional to 1 / (1 + sum of the odds of the others against
  /// the class), which is exact where pairs agree with each other (Price et al. 1995). The predicted class has the largest:
  /// if the votes of pairs name another class than that, the two exchange. O(tasks).
  void probabilities(std::span<const double> log_odds, std::size_t predicted, std::vector<double>& out) const;

  /// What the prediction of an instance works with, and leaves.
  struct Work {
    std::vector<double> margins = {};        ///< of all tasks
    std::vector<double> probabilities = {};  ///< of all labels, if they are asked for
    std::vector<double> odds = {};
    Ballot ballot = {};
  };
  /// score() and predict() for the instance x and, if they are asked for and the learner is `calibrated`, probabilities().
  Prediction predict(const Learner& learner, Task first, const Features& x, bool with_probabilities, Work& work) const;
  /// The same, of the margins in `work`.
  Prediction predict(const Learner& learner, bool with_probabilities, Work& work) const;

 private:
  Kind kind_ = Kind::kNone;
  std::vector<std::string> classes_;
  bool by_task_ = true;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs_;
};

constexpr auto words(Reduction::Kind) {
  return std::array{std::pair{Reduction::Kind::kNone, std::string_view()},
                    std::pair{Reduction::Kind::kOneVsRest, std::string_view("one-vs-rest")},
                    std::pair{Reduction::Kind::kOneVsOne, std::string_view("one-vs-one")}};
}

}  // namespace quorate
