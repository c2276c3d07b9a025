// From the word in a label column to +1 or -1, or to a class.
#pragma once
#include <cstddef>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "quorate/base/answer.h"

namespace quorate {

/// The words that are classes, each with its index.
class ClassNames {
 public:
  static constexpr std::size_t kMost = 1000;

  ClassNames() = default;
  explicit ClassNames(std::vector<std::string> names) : names_(std::move(names)) {}

  /// The class that the word names; unknown for a missing label. A new word is a new class, unless
  /// `known_only`. Throws DataError (without the line): a word that is no class, or one class more than kMost.
  Label operator()(std::string_view label, bool known_only);
  /// As they are written: a class that differs from another by case, space or form alone is one of its own.
  void set_as_written(bool as_written) { as_written_ = as_written; }
  /// Puts the names in order: numbers by value if all are numbers, else as text. Returns the new index of each.
  std::vector<std::size_t> sort();
  const std::vector<std::string>& names() const { return names_; }

 private:
  void check_new(std::string_view label) const;

  std::vector<std::string> names_;
  bool as_written_ = false;
};

/// Throws DataError (without the file) if classes look like several labels in one, with one of ; , | between: at least a
/// tenth of them, "spam;urgent", consist of other classes, "spam" and "urgent"; or as many, two or more, of one such class
/// and parts found in two or more of them: "ham;urgent", "spam;urgent"; or at least half, three or more, have several parts,
/// each found in two or more of them, one both first and later: "spam;work", "work;urgent", "spam;urgent".
/// O(bytes of the names * log).
void check_one_label_each(const std::vector<std::string>& classes);

/// Maps labels: +1/-1 or 1/0 as they are, yes/no, true/false, y/n or t/f in any case; with a positive word, that word is +1
/// and every other is -1. White space and zero-width characters around a label do not count, nor does its Unicode form;
/// numbers are equal by value. What is_missing() of schema.h says is missing.
class Labels {
 public:
  explicit Labels(std::string positive = "") : positive_(std::move(positive)) {}

  /// Labels of a problem of many classes instead: operator() gives classes.
  /// `grow`: words not among `classes` are new classes, not errors.
  static Labels of_classes(ClassNames classes, bool grow);

  /// The label that the word means; unknown for a missing one. Throws DataError (without the line) for a label outside the
  /// set: without a positive word a second kind of negative, say -1 after 0, too; with one, a label that has it among
  /// several: "spam;urgent", ["spam"], but not "not spam"; or one that is the positive word in other letters: "Spam". For
  /// classes: one that is another in other letters; a list.
  Label operator()(std::string_view label);
  /// From now on labels are taken to the byte, NA and null, too, and none of the above is an error.
  void set_as_written(bool as_written);

  ClassNames& classes() { return classes_; }
  const ClassNames& classes() const { return classes_; }

  /// The word for a predicted +1 or -1, as the data write it.
  std::string word(int y) const;
  /// The words of labels by their numbers (Reduction): the classes; or the negative label and the positive one.
  std::vector<std::string> names() const { return many_ ? classes_.names() : std::vector{word(-1), word(1)}; }
  std::string name(std::size_t number) const { return many_ ? classes_.names()[number] : word(number == 1 ? 1 : -1); }
  const std::string& positive() const { return positive_; }
  const std::string& negative() const { return negative_; }
  /// With a positive word: the others seen, at most 1000, in order; none of a model that was loaded.
  const std::set<std::string, std::less<>>& negatives() const { return negatives_; }
  /// Whether the words are one of the pairs of yes and no, so that no other word is a label.
  bool yes_no() const { return yes_no_; }
  /// After labels of which none was the positive word: a phrase that says so and which there are; "" otherwise.
  std::string no_positive() const;
  /// Whether the words are others than those of the model that was loaded: it knew a positive one, which did not come, and
  /// one negative one, beside which others came.
  bool other_words() const { return one_negative_ && !positive_seen_ && !negatives_.empty(); }
  void restore(std::string positive, std::string negative, bool yes_no = false);
  /// What was taken for something that it might not be, in a sentence; "" if nothing was: words for a missing label; several
  /// for the negative one.
  std::string taken() const;

 private:
  Label of(std::string_view label);
  void check_one_label(std::string_view label);

  ClassNames classes_;
  bool many_ = false, grow_ = false, yes_no_ = false, positive_seen_ = false, one_negative_ = false, as_written_ = false;
  std::uint64_t missing_ = 0;  // labels that are words for none
  std::string first_missing_;
  std::string positive_;  // given, or of a pair, or empty
  std::string negative_;  // the first negative word seen; with a positive word, "not-WORD" once there are several
  std::set<std::string, std::less<>> negatives_;  // with a positive word: the others seen
};

}  // namespace quorate
