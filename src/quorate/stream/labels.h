// From the word in a label column to +1 or -1.
#pragma once
#include <string>
#include <string_view>

namespace quorate {

/// Maps labels: +1/-1 or 1/0 as they are; with a positive word, that word is +1 and every other is -1. "" and "?" are
/// missing.
class Labels {
 public:
  explicit Labels(std::string positive = "") : positive_(std::move(positive)) {}

  /// +1, -1, or 0 for a missing label. Throws DataError (without the place) for a label outside the set: without a
  /// positive word a second kind of negative, say -1 after 0, too.
  int operator()(std::string_view label);

  /// The word for a predicted +1 or -1, as the data write it.
  std::string word(int y) const;
  const std::string& positive() const { return positive_; }
  const std::string& negative() const { return negative_; }
  void restore(std::string positive, std::string negative) {
    positive_ = std::move(positive);
    negative_ = std::move(negative);
  }

 private:
  std::string positive_;  // given, or empty
  std::string negative_;  // the first negative word seen; with a positive word, "not-WORD" once there are several
};

}  // namespace quorate
