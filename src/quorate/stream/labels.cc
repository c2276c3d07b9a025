#include "quorate/stream/labels.h"

#include <charconv>

#include "quorate/base/error.h"

namespace quorate {

int Labels::operator()(std::string_view label) {
  if (label.empty() || label == "?") return 0;
  if (!positive_.empty()) {
    if (label == positive_) return 1;
    if (negative_.empty())
      negative_ = label;
    else if (negative_ != label)
      negative_ = "not-" + positive_;
    return -1;
  }
  double value = 0;
  const std::string_view digits = label.substr(label.front() == '+' ? 1 : 0);
  const auto r = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  const bool number =
      !digits.empty() && !label.starts_with("+-") && r.ec == std::errc{} && r.ptr == digits.data() + digits.size();
  if (!number || (value != 1 && value != 0 && value != -1))
    throw DataError("label " + shown(label) + "; expected 1 or -1, 1 or 0, or --positive WORD to say which word is +1");
  if (value == 1) return 1;
  const std::string negative = value == 0 ? "0" : "-1";
  if (negative_.empty()) negative_ = negative;
  if (negative_ != negative)
    throw DataError("label " + shown(label) + " after '" + negative_ +
                    "'; expected one kind of negative label, or --positive WORD");
  return -1;
}

std::string Labels::word(int y) const {
  if (y > 0) return positive_.empty() ? "1" : positive_;
  if (!negative_.empty()) return negative_;
  return positive_.empty() ? "-1" : "not-" + positive_;
}

}  // namespace quorate
