#include "quorate/stream/schema.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>

#include "quorate/base/byte_scan.h"
#include "quorate/base/error.h"
#include "quorate/base/hash.h"
#include "quorate/base/number.h"
#include "quorate/params/params.h"
#include "quorate/stream/record.h"
#include "quorate/stream/time.h"

namespace quorate {
namespace {

constexpr std::uint64_t kEnough = 20;                // rows from which a column that never repeats is an id; rows a value
constexpr double kFirstTime = 9e8, kLastTime = 5e9;  // seconds since 1970: 1998 to 2128

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

std::uint64_t count_words(std::string_view text) {
  std::uint64_t words = 0;
  bool inside = false;
  for (const char c : text) {
    const bool space = c == ' ' || c == '\t' || c == '\n' || c == '\r';
    words += !space && !inside;
    inside = !space;
  }
  return words;
}

/// Whether it is a number out of range, or one with spaces around it.
bool is_meant_as_number(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  double value = 0;
  const auto r = std::from_chars(text.data(), text.data() + text.size(), value);
  return !text.empty() && r.ec != std::errc::invalid_argument && r.ptr == text.data() + text.size();
}

bool sounds_like_time(std::string_view name) {
  const std::string n = lower(name);
  return n == "ts" || n.find("time") != n.npos || n.find("date") != n.npos || n.ends_with("_at") || n.ends_with("_ts");
}

/// By a table with free places; to sort them would take ten times as long.
std::uint64_t count_distinct(const std::vector<std::uint64_t>& hashes) {
  std::vector<std::uint64_t> table(std::bit_ceil(2 * hashes.size() + 1));
  std::uint64_t distinct = 0;
  for (const std::uint64_t hash : hashes) {
    const std::uint64_t one = hash | (hash == 0);
    std::size_t at = one & (table.size() - 1);
    while (table[at] != 0 && table[at] != one) at = (at + 1) & (table.size() - 1);
    distinct += table[at] == 0;
    table[at] = one;
  }
  return distinct;
}

std::string share(std::uint64_t part, std::uint64_t whole) { return std::to_string(part) + " of " + std::to_string(whole); }

}  // namespace

bool is_missing(std::string_view field) {
  switch (field.size()) {
    case 0:
      return true;
    case 1:
      return field[0] == '?';
    case 2:
      return field == "NA";
    case 3:
      return field == "N/A" || lower(field) == "nan";
    case 4:
      return lower(field) == "null";
    default:
      return false;
  }
}

std::string FeatureNames::text() const {
  const std::string range = std::to_string(first) + " to " + std::to_string(last);
  if (are == Are::kNames) return "names (dicts, x of JSON lines, VW text)";
  if (are == Are::kArray) return "an array (its column j is the index j, " + range + ")";
  return are == Are::kUnknown ? "features without columns" : has_range() ? "the indices " + range : "indices";
}

std::string FeatureNames::mismatch(const FeatureNames& data) const {
  if (are == Are::kUnknown || data.are == Are::kUnknown) return "";
  const auto but = [&](const std::string& found) { return found + ", but the model learned from " + text(); };
  if (are == Are::kNames && data.are != are) return but("features with indices") + "; expected these names";
  if (are != Are::kNames && data.are == Are::kNames) return but("features with names") + "; expected indices";
  if (!has_range() || !data.has_range()) return "";
  const bool from_0 = first + 1 == data.first && last + 1 == data.last;
  if (!from_0 && (data.first + 1 != first || data.last + 1 != last)) return "";
  return but(data.text()) + ": one counts from " + (from_0 ? "0, the other from 1" : "1, the other from 0") +
         "; expected the model's indices (scikit-learn writes them with zero_based=" + (first == 0 ? "True)" : "False)");
}

std::optional<ColumnKind> Schema::find(std::string_view name) const {
  const auto at = place(name);
  if (!at) return {};
  return kind(*at);
}

std::string Schema::learned_names() const {
  std::string out;
  for (std::size_t i = 0; i < size() && out.size() < 200; ++i)
    if (learned(i)) out += (out.empty() ? "" : ", ") + shown_value(name(i));
  return out;
}

std::optional<std::string_view> Schema::column_of(ColumnKind kind) const {
  const auto found = std::find(kinds_.begin(), kinds_.end(), static_cast<std::uint32_t>(kind));
  if (found == kinds_.end()) return {};
  return name(static_cast<std::size_t>(found - kinds_.begin()));
}

void Schema::add(std::string_view name, ColumnKind kind) {
  if (names_.intern(name) == kinds_.size()) kinds_.push_back(static_cast<std::uint32_t>(kind));
}

bool Schema::operator==(const Schema& other) const {
  if (size() != other.size() || time_parts != other.time_parts) return false;
  for (std::size_t i = 0; i < size(); ++i)
    if (kind(i) != other.kind(i) || name(i) != other.name(i)) return false;
  return true;
}

void Schema::check() const {
  bool good = names_.size() == kinds_.size();
  for (const std::uint32_t kind : kinds_) good = good && kind <= static_cast<std::uint32_t>(ColumnKind::kFeatures);
  if (!good) throw DataError("model file: kinds of columns out of range");
}

std::optional<double> number_with_comma(std::string_view text) {
  constexpr std::size_t kLongest = 40;
  const std::size_t comma = text.find(',');
  const auto digit = [&](std::size_t at) { return at < text.size() && text[at] >= '0' && text[at] <= '9'; };
  if (comma == text.npos || comma == 0 || text.size() > kLongest || !digit(comma - 1) || !digit(comma + 1) ||
      text.find('.') != text.npos)
    return {};
  std::string point(text.starts_with('+') ? text.substr(1) : text);
  point[point.find(',')] = '.';
  const auto value = parse_number<double>(point);
  return value && is_value(*value) ? value : std::nullopt;
}

void ColumnSample::add(std::string_view value, std::string_view label, Type type, bool comma, const char* end) {
  ++rows_;
  if (is_missing(value)) {
    ++missing_;
    return;
  }
  const std::uint64_t hash = hash64(value);
  values_.push_back(hash);
  if (const std::string_view shown = value.substr(0, 200);
      examples_.size() < kExamples && std::find(examples_.begin(), examples_.end(), shown) == examples_.end())
    examples_.emplace_back(shown);
  if (!label.empty()) {
    if (label != last_label_) labels_.insert(hash64(label));
    last_label_ = label;
    if (label_of_.size() <= kFew) {
      const auto [at, is_new] = label_of_.try_emplace(hash, hash64(label));
      if (!is_new && at->second != hash64(label)) at->second.reset();
    }
  }
  long_ += value.size() > 40;
  strings_ += type == Type::kString;
  flags_ += type == Type::kFlag;
  double number = 0;
  if (type == Type::kPlain &&
      short_decimal(value, end != nullptr ? end : value.data() + value.size(), &number)) {  // most tables have most of these
    ++words_;
    add_number(number);
    return;
  }
  words_ += count_words(value);
  const std::string_view digits = value.starts_with('+') ? value.substr(1) : value;
  auto other = type == Type::kPlain ? parse_number<double>(digits) : std::nullopt;
  if (comma && !other) {
    other = number_with_comma(value);
    commas_ += other.has_value();
  }
  if (other && is_value(*other)) {
    add_number(*other);
  } else if (type == Type::kPlain && is_meant_as_number(value)) {
    ++meant_;
  } else if (type != Type::kFlag && parse_time(value)) {
    ++times_;
  }
}

void ColumnSample::add_number(double number) {
  low_ = numbers_ == 0 ? number : std::min(low_, number);
  high_ = numbers_ == 0 ? number : std::max(high_, number);
  one_by_one_ = one_by_one_ && (!last_ || number == *last_ + 1);
  last_ = number;
  ++numbers_;
  whole_ += number == std::nearbyint(number);
}

ColumnReport ColumnSample::judge(std::string name) const {
  using enum ColumnKind;
  const std::uint64_t present = rows_ - missing_;
  const std::uint64_t distinct = count_distinct(values_);
  ColumnReport out{std::move(name), kNumber, "", examples_, rows_, missing_, distinct, false};
  const bool one_each = distinct == labels_.size() && present > 2 * distinct;
  const bool often = distinct <= kFew && present >= kEnough * distinct;
  out.decides_label = labels_.size() > 1 && (one_each || often) &&
                      std::all_of(label_of_.begin(), label_of_.end(), [](const auto& of) { return of.second.has_value(); });
  const bool never_repeats = distinct == present && present >= kEnough;
  const auto is = [&](ColumnKind kind, std::string why) {
    out.kind = kind;
    out.why = std::move(why);
    return out;
  };
  if (present == 0) return is(kCategory, "no value in the first rows");
  if (flags_ == present) return is(kFlag, "true or false");
  if (numbers_ == present) {
    if (whole_ < present) return is(kNumber, commas_ > 0 ? "numbers with a decimal comma" : "numbers");
    if (one_by_one_ && present >= kEnough) return is(kId, "counts the rows");
    if (low_ >= kFirstTime && high_ <= kLastTime && sounds_like_time(out.name))
      return is(kDate, "by its name, seconds since 1970");
    if (low_ >= 0 && high_ <= 1) return is(kFlag, "0 or 1");
    return low_ >= 0 ? is(kCount, "whole numbers from 0") : is(kNumber, "whole numbers");
  }
  // A few that are no numbers are mistakes, which are refused where they are read.
  if (numbers_ + meant_ == present || (2 * numbers_ >= present && strings_ == 0))
    return is(kNumber, share(numbers_, present) + " are numbers");
  if (times_ == present) return is(kDate, "dates or times");
  const double words_each = static_cast<double>(words_) / static_cast<double>(present);
  const bool varied = 2 * distinct > present || distinct > 100;
  if (varied && (words_each >= 2.5 || 2 * long_ > present)) return is(kText, "several words, seldom repeated");
  if (never_repeats && words_each < 1.5) return is(kId, "a word that never repeats");
  if (varied && words_each >= 1.5) return is(kText, "words, seldom repeated");
  if (numbers_ > 0) return is(kCategory, share(numbers_, present) + " are numbers, the others words");
  return is(kCategory, std::to_string(distinct) + (distinct == 1 ? " word" : " different words"));
}

}  // namespace quorate
