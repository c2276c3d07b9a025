#include "quorate/stream/labels.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <set>

#include "quorate/base/counted.h"
#include "quorate/base/error.h"
#include "quorate/base/nearest.h"
#include "quorate/base/number.h"
#include "quorate/base/utf8.h"
#include "quorate/stream/schema.h"

namespace quorate {

namespace {

/// label as a finite number, if it is nothing else.
std::optional<double> as_number(std::string_view label) {
  if (label.starts_with("+-")) return {};
  const auto value = parse_number<double>(label.substr(label.starts_with('+') ? 1 : 0));
  return value && std::isfinite(*value) ? value : std::nullopt;
}

/// The words that people write for yes and no.
constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kYesNo{
    {{"yes", "no"}, {"true", "false"}, {"y", "n"}, {"t", "f"}}};

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

/// `word`, which is lower-case, with capitals where `like` has them: the first letter, or all.
std::string capitals_as(std::string_view word, std::string_view like) {
  const auto is_upper = [](char c) { return c >= 'A' && c <= 'Z'; };
  std::string out(word);
  for (std::size_t i = 0; i < out.size(); ++i)
    if (is_upper(like[0]) && (i == 0 || (like.size() > 1 && is_upper(like[1]))))
      out[i] = static_cast<char>(out[i] - 'a' + 'A');
  return out;
}

constexpr std::string_view kSeparators = ";,|/+#&";

/// The label without space around it and composed; nothing if it is so already.
std::optional<std::string> cleaned(std::string_view label) {
  if (std::all_of(label.begin(), label.end(), [](char c) { return c > ' ' && c < 127; })) return {};
  std::string clean = plain_text(label);
  if (clean == label) return {};
  return clean;
}

/// Whether both are one number.
bool same_number(std::string_view a, std::string_view b) {
  const auto one = as_number(a);
  return one && one == as_number(b);
}

constexpr const char* kAsWritten = ", or --labels-as-written";

/// The parts of a label between separators, without spaces around them; one alone without a separator.
std::vector<std::string_view> parts_of(std::string_view label, char separator) {
  std::vector<std::string_view> out;
  for (std::size_t at = 0; at <= label.size();) {
    const std::size_t end = std::min(label.find(separator, at), label.size());
    std::string_view part = label.substr(at, end - at);
    while (part.starts_with(' ')) part.remove_prefix(1);
    while (part.ends_with(' ')) part.remove_suffix(1);
    if (!part.empty()) out.push_back(part);
    at = end + 1;
  }
  return out;
}

constexpr const char* kOneLabelEach =
    "expected one label for each example: make a column (or file) of yes and no for each label, and learn each by itself "
    "(--label-column, --positive yes)";

bool is_negation(std::string_view word) {
  const std::string small = lower(word);
  return small == "not" || small == "no" || small == "non";
}

/// Throws DataError for a list or an object as JSON or Python write them.
void check_no_list(std::string_view label) {
  for (const std::string_view ends : {"[]", "{}", "()"})
    if (label.size() > 1 && label.front() == ends[0] && label.back() == ends[1])
      throw DataError("label " + quoted_value(label) + " is a list; " + kOneLabelEach + kAsWritten);
}

/// Labels of several parts, one of which is a label itself and the others are that or in two or more of such labels:
/// "ham;urgent" and "spam;urgent" beside "ham" and "spam".
std::vector<std::string_view> with_a_part_of_others(const std::vector<std::string>& classes,
                                                    const std::set<std::string_view>& known, char separator) {
  std::map<std::string_view, std::size_t> beside;  // parts that come beside a label
  std::vector<std::string_view> out;
  for (const bool count : {true, false})
    for (const std::string& name : classes) {
      const auto parts = parts_of(name, separator);
      const auto is_label = [&](std::string_view part) { return known.contains(part); };
      if (parts.size() < 2 || std::none_of(parts.begin(), parts.end(), is_label)) continue;
      if (count)
        for (const std::string_view part : parts) ++beside[part];
      else if (std::all_of(parts.begin(), parts.end(), [&](auto part) { return is_label(part) || beside[part] > 1; }))
        out.push_back(name);
    }
  return out;
}

}  // namespace

void check_one_label_each(const std::vector<std::string>& classes) {
  const std::set<std::string_view> known(classes.begin(), classes.end());
  for (const char separator : kSeparators) {
    std::size_t several = 0;
    std::string example;
    for (const std::string& name : classes) {
      if (name.find(separator) == name.npos) continue;
      const auto parts = parts_of(name, separator);
      if (parts.size() < 2 || !std::all_of(parts.begin(), parts.end(), [&](auto part) { return known.contains(part); }))
        continue;
      if (several++ == 0)
        example = quoted_value(name) + ", beside " + quoted_value(parts[0]) + " and " + quoted_value(parts[1]);
    }
    if (several == 0 || 10 * several < classes.size()) {
      if (const auto mixed = with_a_part_of_others(classes, known, separator);
          10 * mixed.size() >= classes.size() && mixed.size() > 1)
        throw DataError("label " + quoted_value(mixed[0]) + ", beside " + quoted_value(mixed[1]) + ": " +
                        std::to_string(mixed.size()) + " of " + counted(classes.size(), "different label") +
                        " are several in one; " + kOneLabelEach);
      struct Place {
        std::size_t labels = 0;
        bool first = false, later = false;
      };
      std::map<std::string_view, Place> places;
      several = 0;
      for (const std::string& name : classes) {
        const auto parts = parts_of(name, separator);
        if (parts.size() < 2) continue;
        if (several++ == 0)
          example = quoted_value(name) + ", whose parts " + quoted_value(parts[0]) + " and " + quoted_value(parts[1]) +
                    " are in others, too";
        for (std::size_t i = 0; i < parts.size(); ++i) {
          Place& place = places[parts[i]];
          ++place.labels;
          (i == 0 ? place.first : place.later) = true;
        }
      }
      const bool repeat = std::all_of(places.begin(), places.end(), [](const auto& p) { return p.second.labels > 1; });
      const bool mixed =
          std::any_of(places.begin(), places.end(), [](const auto& p) { return p.second.first && p.second.later; });
      if (several < 3 || 2 * several < classes.size() || !repeat || !mixed) continue;
    }
    throw DataError("label " + example + ": " + std::to_string(several) + " of " +
                    counted(classes.size(), "different label") + " are several in one; " + kOneLabelEach);
  }
}

/// A new class that looks like another is a slip.
void ClassNames::check_new(std::string_view label) const {
  check_no_list(label);
  const std::string folded = folded_text(label);
  for (const std::string& name : names_)
    if (folded_text(name) == folded)
      throw DataError("label " + quoted_value(label) + ", beside " + quoted_value(name) +
                      ": they differ by case, space or form alone; expected one way to write it" + kAsWritten);
}

Label ClassNames::operator()(std::string_view label, bool known_only) {
  if (!as_written_) {
    if (const auto clean = cleaned(label)) return (*this)(*clean, known_only);
    if (is_missing(label)) return {};
  }
  if (label.empty()) return {};
  auto found = std::find(names_.begin(), names_.end(), label);
  if (found == names_.end() && !as_written_)
    found = std::find_if(names_.begin(), names_.end(), [&](const std::string& name) { return same_number(name, label); });
  if (found != names_.end()) return Label::of_class(static_cast<std::size_t>(found - names_.begin()));
  if (known_only) {
    std::string known;
    for (std::size_t c = 0; c < names_.size() && c < 10; ++c) known += (c > 0 ? ", " : "") + names_[c];
    throw DataError("label " + quoted_value(label) + "; expected one of the " + std::to_string(names_.size()) + " classes " +
                    known + (names_.size() > 10 ? ", ..." : ""));
  }
  if (!as_written_) check_new(label);
  if (names_.size() == kMost) {
    check_one_label_each(names_);
    throw DataError("label " + quoted_value(label) + " would be one class more than " + std::to_string(kMost) +
                    "; expected a column of classes");
  }
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

void Labels::set_as_written(bool as_written) {
  as_written_ = as_written;
  classes_.set_as_written(as_written);
}

Label Labels::operator()(std::string_view label) {
  if (label.empty()) return {};
  if (as_written_) return of(label);
  if (const auto clean = cleaned(label)) return (*this)(*clean);
  if (!is_missing(label)) return of(label);
  if (label != "?" && missing_++ == 0) first_missing_ = label;  // that is no word
  return {};
}

std::string Labels::taken() const {
  std::string out;
  if (missing_ > 0)
    out = counted(missing_, "label") + (missing_ == 1 ? " is " : ", the first ") + quoted_value(first_missing_) +
          (missing_ == 1 ? "" : ", are") + " taken for none (--labels-as-written: a label like others)";
  if (negatives_.size() < 2) return out;
  out += (out.empty() ? "" : "; ") + counted(negatives_.size(), "different label") + " mean not " + quoted_value(positive_) +
         ": ";
  std::size_t shown = 0;
  for (const std::string& word : negatives_) {
    if (shown++ == 10) return out + ", ...";
    out += (shown > 1 ? ", " : "") + quoted_value(word);
  }
  return out;
}

Label Labels::of(std::string_view label) {
  if (many_) return classes_(label, !grow_);
  if (!positive_.empty()) {
    if (label == positive_) {
      positive_seen_ = true;
      return kYes;
    }
    if (label == negative_ || negatives_.contains(label)) return kNo;
    if (yes_no_) {
      const bool truth = lower(positive_) == "true";
      if (const auto number = truth ? as_number(label) : std::nullopt; number == 1 || number == 0) {
        positive_seen_ |= number == 1;
        return number == 1 ? kYes : kNo;
      }
      if (lower(label) == lower(positive_)) {
        positive_seen_ = true;
        return kYes;
      }
      if (lower(label) == lower(negative_)) return kNo;
      throw DataError("label " + quoted_value(label) + "; expected " + positive_ + " or " + negative_ +
                      " as before, or --positive WORD to say which word is +1");
    }
    if (!as_written_ && same_number(label, positive_)) {
      positive_seen_ = true;
      return kYes;
    }
    if (!as_written_ && folded_text(label) == folded_text(positive_))
      throw DataError("label " + quoted_value(label) + "; expected " + quoted_value(positive_) +
                      ", the label that means +1, written like that" + kAsWritten);
    check_one_label(label);
    if (negative_.empty())
      negative_ = label;
    else if (negative_ != label)
      negative_ = "not-" + positive_;
    return kNo;
  }
  if (label == "1") return kYes;  // as most are written
  if (label == negative_) return kNo;
  if (const std::string word = lower(label); !negative_.empty() && (word == "true" || word == "false"))
    return word == "true" ? kYes : kNo;
  if (negative_.empty())
    for (const auto& [yes, no] : kYesNo)
      if (const std::string word = lower(label); word == yes || word == no) {
        yes_no_ = true;
        positive_ = capitals_as(yes, label);
        negative_ = capitals_as(no, label);
        positive_seen_ = word == yes;
        return word == yes ? kYes : kNo;
      }
  const auto number = as_number(label);
  const double value = number.value_or(2);
  if (value != 1 && value != 0 && value != -1)
    throw DataError("label " + quoted_value(label) + (negative_.empty() ? "" : " after '" + negative_ + "'") +
                    "; expected for classification: 1 or -1, 1 or 0, yes or no, true or false, --positive WORD to "
                    "say which word is +1, or --classes");
  if (value == 1) return kYes;
  const std::string negative = value == 0 ? "0" : "-1";
  if (negative_.empty()) negative_ = negative;
  if (negative_ != negative)
    throw DataError("label " + quoted_value(label) + " after '" + negative_ +
                    "'; expected one kind of negative label, or --positive WORD");
  return kNo;
}

std::string Labels::no_positive() const {
  if (many_ || positive_.empty() || negative_.empty() || positive_seen_) return "";
  std::vector<std::string_view> names(negatives_.begin(), negatives_.end());
  if (names.empty()) names.push_back(negative_);
  std::string out =
      "has the label " + quoted_value(positive_) + ", which means +1" + did_you_mean(positive_, names) + "; the labels are ";
  for (std::size_t i = 0; i < std::min<std::size_t>(names.size(), 10); ++i)
    out += (i > 0 ? ", " : "") + quoted_value(names[i]);
  return out + (names.size() > 10 ? ", ..." : "");
}

void Labels::restore(std::string positive, std::string negative, bool yes_no) {
  positive_ = std::move(positive);
  negative_ = std::move(negative);
  yes_no_ = yes_no && !positive_.empty() && !negative_.empty();
  one_negative_ = !negative_.empty() && negative_ != "not-" + positive_;
}

void Labels::check_one_label(std::string_view label) {
  constexpr std::size_t kMostWords = 1000;
  if (!as_written_) {
    check_no_list(label);
    if (label.size() > positive_.size() && label.find(positive_) != label.npos)
      for (const char separator : std::string(kSeparators) + " ") {
        const auto parts = parts_of(label, separator);
        const auto alone = [&](std::string_view part) { return part == positive_ || negatives_.contains(part); };
        // Words are often parts of one label: "very spam".
        const bool several = separator != ' ' || std::all_of(parts.begin(), parts.end(), alone);
        if (parts.size() > 1 && several && !is_negation(parts[0]) && std::ranges::find(parts, positive_) != parts.end())
          throw DataError("label " + quoted_value(label) + " has '" + positive_ + "' among several labels; " +
                          kOneLabelEach + kAsWritten);
      }
  }
  if (negatives_.size() < kMostWords && !negatives_.contains(label)) negatives_.emplace(label);
}

std::string Labels::word(int y) const {
  if (y > 0) return positive_.empty() ? "1" : positive_;
  if (!negative_.empty()) return negative_;
  return positive_.empty() ? "-1" : "not-" + positive_;
}

}  // namespace quorate
