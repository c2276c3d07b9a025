// A problem of C classes as binary tasks over the same instances (Cohen and Crammer, contextual bandits); with users, each
// of them has a task of each class.
#pragma once
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

class Classes {
 public:
  enum class Reduction {
    kOneVsRest,  ///< C tasks; task c asks "class = c?"
    kOneVsOne,   ///< C (C - 1) / 2 tasks, (0,1), (0,2), ..., (1,2), ...; task (i,j) asks "i or j?", + is i
  };

  /// At least two classes, in the order of their indices. `users`: a user has tasks() tasks in a row, one of each group
  /// (Example::group); otherwise tasks 0 to tasks() - 1 are all there are. Throws DataError for fewer.
  Classes(Reduction reduction, std::vector<std::string> names, bool users = false);

  Reduction reduction() const { return reduction_; }
  /// Whether one of an instance's tasks is positive: classes against the rest.
  bool exclusive() const { return reduction_ == Reduction::kOneVsRest; }
  std::size_t size() const { return names_.size(); }  ///< C
  const std::string& name(std::size_t c) const { return names_[c]; }
  const std::vector<std::string>& names() const { return names_; }
  std::size_t bytes() const;  ///< of names, which labels have once more, and pairs
  bool users() const { return users_; }
  /// That an instance is shown to: of its user, if there are users. Tasks below are numbered 0 to tasks() - 1.
  std::size_t tasks() const { return reduction_ == Reduction::kOneVsRest ? size() : pairs_.size(); }

  std::string task_name(Task task) const;  ///< "3", "3 or 8"
  std::string question(Task task) const;   ///< "class = 3?", "3 or 8?"
  NameTable task_names() const;

  /// The instance x as an example of a task. `first`: the first task of its user, kUntracked for a user who has none; not
  /// looked at without users.
  Example example(Task first, Task task, const Features& x) const {
    if (!users_) return {task, x};
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
  Task task_of(const Example& e) const { return users_ ? e.group : e.task; }
  /// The margins of all tasks on x, in `out`.
  void score(const Learner& learner, Task first, const Features& x, std::vector<double>& out) const;

  /// What a good annotator answers, kNeither if it is neither of the two. truth < size(). O(1).
  Answer feedback(Task task, std::size_t truth) const;
  /// The class that an answer says, if it says one. O(1).
  std::optional<std::size_t> class_of(Task task, Answer answer) const;

  /// What predict() works with.
  struct Ballot {
    std::vector<std::uint32_t> votes;
    std::vector<double> sums;
  };
  struct Prediction {
    std::size_t index;  ///< of the class
    double margin;      ///< one-vs-rest: the class's own; one-vs-one: the sum of its margins against the others
  };
  /// The class that the margins of all tasks say. One-vs-rest: the largest margin. One-vs-one: most votes, a margin of 0
  /// voting for the second of the pair; among equals the largest sum of margins. Then the first. O(tasks).
  Prediction predict(std::span<const double> margins, Ballot& ballot) const;

  /// The probability of each class, in `out`; they sum to 1. log_odds: of all tasks. One-vs-rest: proportional to the
  /// probability of the class against the rest. One-vs-one: proportional to 1 / (1 + sum of the odds of the others against
  /// the class), which is exact where pairs agree with each other (Price et al. 1995). The predicted class has the largest:
  /// if the votes of pairs name another class than that, the two exchange. O(tasks).
  void probabilities(std::span<const double> log_odds, std::size_t predicted, std::vector<double>& out) const;

  /// What the prediction of an instance works with, and leaves.
  struct Work {
    std::vector<double> margins = {};        ///< of all tasks
    std::vector<double> probabilities = {};  ///< of all classes, if they are asked for
    std::vector<double> odds = {};
    Ballot ballot = {};
  };
  /// score() and predict() for the instance x and, of a `calibrated` learner, probabilities().
  Prediction predict(const Learner& learner, Task first, const Features& x, bool with_probabilities, Work& work) const;
  /// The same, of the margins in `work`.
  Prediction predict(const Learner& learner, bool with_probabilities, Work& work) const;

 private:
  Reduction reduction_;
  std::vector<std::string> names_;
  bool users_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs_;
};

/// "one-vs-rest" or "one-vs-one".
std::string to_text(Classes::Reduction reduction);
/// The reduction of that name, if it is one.
std::optional<Classes::Reduction> reduction_named(std::string_view name);

}  // namespace quorate
