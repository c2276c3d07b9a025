// Answers: the values of a label, in the data and as replies to a question.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

#include "quorate/base/error.h"

namespace quorate {

/// The answer to the question whether an example is positive. Its value is the y of the papers.
enum Answer : std::int8_t { kNo = -1, kNeither = 0, kYes = 1 };

/// The answer with that value. Throws UsageError unless it is 1, -1 or 0.
inline Answer answer_of(int value) {
  if (value < -1 || value > 1) throw UsageError("label " + std::to_string(value) + ": expected 1, -1, or 0 for neither");
  return static_cast<Answer>(value);
}

/// What an annotator replies to a question: an answer now, an answer later, or that nobody knows.
class Reply {
 public:
  constexpr Reply(Answer answer) : code_(answer) {}  // NOLINT: an answer is a reply
  /// The answer of one who knows the class of the example.
  constexpr Reply(Answer answer, std::size_t class_index)
      : code_(answer), class_(static_cast<std::int16_t>(class_index + 1)) {}
  static constexpr Reply unknown() { return Reply(2); }
  static constexpr Reply later() { return Reply(3); }

  constexpr bool answered() const { return code_ <= kYes; }
  constexpr Answer answer() const { return static_cast<Answer>(code_); }  ///< only if answered()
  constexpr bool knows_class() const { return class_ > 0; }
  constexpr std::uint32_t class_index() const { return static_cast<std::uint32_t>(class_ - 1); }  ///< only if knows_class()
  constexpr bool operator==(const Reply&) const = default;

 private:
  constexpr explicit Reply(int code) : code_(static_cast<std::int8_t>(code)) {}
  std::int8_t code_;
  std::int16_t class_ = 0;  // + 1
};

/// The label of an example in the data: unknown; yes or no; or, of a problem of many classes, the index of its class.
class Label {
 public:
  constexpr Label() = default;
  constexpr Label(Answer answer) : code_(answer) {}  // NOLINT: kYes and kNo are labels
  static constexpr Label of_class(std::size_t index) { return from_code(static_cast<std::int16_t>(index + 1)); }
  /// As arrays hold it: 0 unknown, 1 and -1, or 1 + the index of the class.
  static constexpr Label from_code(std::int16_t code) {
    Label out;
    out.code_ = code;
    return out;
  }

  constexpr bool known() const { return code_ != 0; }
  constexpr std::int16_t code() const { return code_; }
  constexpr Answer answer() const { return code_ > 0 ? kYes : code_ < 0 ? kNo : kNeither; }  ///< binary
  constexpr std::size_t class_index() const { return static_cast<std::size_t>(code_) - 1; }  ///< only if known()
  constexpr bool operator==(const Label&) const = default;

 private:
  std::int16_t code_ = 0;
};

}  // namespace quorate
