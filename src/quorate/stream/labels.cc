#include "quorate/stream/labels.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "quorate/base/error.h"
#include "quorate/base/number.h"

namespace quorate {

namespace {

/// label as a finite number, if it is nothing else.
std::optional<double> as_number(std::string_view label) {
  if (label.starts_with("+-")) return {};
  const auto value = parse_number<double>(label.substr(label.starts_with('+') ? 1 : 0));
  return value && std::isfinite(*value) ? value : std::nullopt;
}

}  // namespace

Label ClassNames::operator()(std::string_view label, bool known_only) {
  if (label.empty() || label == "?") return {};
  const auto found = std::find(names_.begin(), names_.end(), label);
  if (found != names_.end()) return Label::of_class(static_cast<std::size_t>(found - names_.begin()));
  if (known_only) {
    std::string known;
    for (std::size_t c = 0; c < names_.size() && c < 10; ++c) known += (c > 0 ? ", " : "") + names_[c];
    throw DataError("label " + quoted_value(label) + "; expected one of the " + std::to_string(names_.size()) + " classes " +
                    known + (names_.size() > 10 ? ", ..." : ""));
  }
  if (names_.size() == kMost)
    throw DataError("label " + quoted_value(label) + " would be one class more than " + std::to_string(kMost) +
                    "; expected a column of classes");
  names_.emplace_back(label);
  return Label::of_class(names_.size() - 1);
}

std::vector<std::size_t> ClassNames::sort() {
  const bool numbers = std::all_of(names_.begin(), names_.end(), [](const auto& n) { return as_number(n).has_value(); });
  std::vector<std::size_t> order(names_.size()), place(names_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    if (numbers && as_number(names_[a]) != as_number(names_[b])) return as_number(names_[a]) < as_number(names_[b]);
    return names_[a] < names_[b];
  });
  std::vector<std::string> sorted;
  for (std::size_t i = 0; i < order.size(); ++i) {
    place[order[i]] = i;
    sorted.push_back(names_[order[i]]);
  }
  names_ = std::move(sorted);
  return place;
}

Labels Labels::of_classes(ClassNames classes, bool grow) {
  Labels out;
  out.classes_ = std::move(classes);
  out.many_ = true;
  out.grow_ = grow;
  return out;
}

Label Labels::operator()(std::string_view label) {
  if (many_) return classes_(label, !grow_);
  if (label.empty() || label == "?") return {};
  if (!positive_.empty()) {
    if (label == positive_) return kYes;
    if (negative_.empty())
      negative_ = label;
    else if (negative_ != label)
      negative_ = "not-" + positive_;
    return kNo;
  }
  if (label == "1") return kYes;  // as most are written
  if (label == negative_) return kNo;
  const auto number = as_number(label);
  const double value = number.value_or(2);
  if (value != 1 && value != 0 && value != -1)
    throw DataError("label " + quoted_value(label) +
                    "; expected 1 or -1, 1 or 0, --positive WORD to say which word is +1, or --classes");
  if (value == 1) return kYes;
  const std::string negative = value == 0 ? "0" : "-1";
  if (negative_.empty()) negative_ = negative;
  if (negative_ != negative)
    throw DataError("label " + quoted_value(label) + " after '" + negative_ +
                    "'; expected one kind of negative label, or --positive WORD");
  return kNo;
}

std::string Labels::word(int y) const {
  if (y > 0) return positive_.empty() ? "1" : positive_;
  if (!negative_.empty()) return negative_;
  return positive_.empty() ? "-1" : "not-" + positive_;
}

}  // namespace quorate
