// A problem of C classes as binary tasks over the same instances (Cohen and Crammer, contextual bandits).
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "quorate/base/answer.h"
#include "quorate/base/features.h"
#include "quorate/base/name_table.h"

namespace quorate {

class Classes {
 public:
  enum class Reduction {
    kOneVsRest,  ///< C tasks; task c asks "is it a c?"
    kOneVsOne,   ///< C (C - 1) / 2 tasks, (0,1), (0,2), ..., (1,2), ...; task (i,j) asks "i or j?", + is i
  };

  /// At least two classes, in the order of their indices. Throws DataError for fewer.
  Classes(Reduction reduction, std::vector<std::string> names);

  Reduction reduction() const { return reduction_; }
  std::size_t size() const { return names_.size(); }  ///< C
  const std::string& name(std::size_t c) const { return names_[c]; }
  const std::vector<std::string>& names() const { return names_; }
  std::size_t tasks() const { return reduction_ == Reduction::kOneVsRest ? size() : pairs_.size(); }

  std::string task_name(Task task) const;  ///< "3", "3 or 8"
  std::string question(Task task) const;   ///< "is it a 3?", "3 or 8?"
  NameTable task_names() const;

  /// What a good annotator answers, kNeither if it is neither of the two. truth < size(). O(1).
  Answer feedback(Task task, std::size_t truth) const;

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

 private:
  Reduction reduction_;
  std::vector<std::string> names_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs_;
};

/// "one-vs-rest" or "one-vs-one".
std::string to_text(Classes::Reduction reduction);
/// The reduction of that name, if it is one.
std::optional<Classes::Reduction> reduction_named(std::string_view name);

}  // namespace quorate
