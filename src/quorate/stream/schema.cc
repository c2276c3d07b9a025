#include "quorate/stream/schema.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <span>

#include "quorate/base/byte_scan.h"
#include "quorate/base/error.h"
#include "quorate/base/hash.h"
#include "quorate/base/number.h"
#include "quorate/params/params.h"
#include "quorate/stream/record.h"
#include "quorate/stream/time.h"
#include "quorate/stream/words.h"

namespace quorate {
namespace {

constexpr std::uint64_t kEnough = 20;                // rows from which a column that never repeats is an id; rows a value
constexpr std::size_t kCountLost = 1000;             // values of a column, which is enough to say it
constexpr double kFirstTime = 9e8, kLastTime = 5e9;  // seconds since 1970: 1998 to 2128

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

/// Whether it is a number out of range, or one with spaces around it.
bool is_meant_as_number(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  double value = 0;
  const auto r = std::from_chars(text.data(), text.data() + text.size(), value);
  return !text.empty() && r.ec != std::errc::invalid_argument && r.ptr == text.data() + text.size();
}

/// As 100.2 ms and 12kg: a number, then up to four letters.
bool has_unit(std::string_view text) {
  const std::size_t end = text.find_first_not_of("+-0123456789.,");
  if (end == 0 || end == text.npos || text[end - 1] < '0' || text[end - 1] > '9') return false;
  text.remove_prefix(end);
  if (text.front() == ' ') text.remove_prefix(1);
  return !text.empty() && text.size() <= 4 &&
         std::ranges::all_of(text, [](char c) { return (c & 0x80) != 0 || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z'); });
}

/// As 24,000 or, with one comma, 0,5: maybe a number, in a style that is not known.
bool is_grouped(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  std::size_t marks = 0, run = 0;
  char mark = 0;
  for (const char c : text) {
    if (c >= '0' && c <= '9') {
      ++run;
      continue;
    }
    if ((c != ',' && c != '.' && c != '\'') || (mark != 0 && c != mark) || run == 0 || (marks > 0 && run != 3)) return false;
    mark = c;
    ++marks;
    run = 0;
  }
  return marks > 0 && run > 0 && (run == 3 || (marks == 1 && mark == ','));
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
  if (!field.empty() && field.front() >= '0' && field.front() <= '9') return false;  // most are numbers
  if (field.find_first_not_of(' ') == field.npos) return true;
  switch (field.size()) {
    case 1:
      return field[0] == '?';
    case 2:
      return field == "NA" || field == "\\N";
    case 3:
      return field == "N/A" || field == "n/a" || field == "NaT" || field == "#NA" || lower(field) == "nan";
    case 4:
      return field == "None" || field == "<NA>" || field == "#N/A" || field == "-nan" || field == "-NaN" ||
             lower(field) == "null";
    default:
      return false;
  }
}

std::optional<double> flag_of(std::string_view text) {
  if (text.size() != 4 && text.size() != 5) return {};
  const std::string word = lower(text);
  return word == "true" ? std::optional(1.0) : word == "false" ? std::optional(0.0) : std::nullopt;
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

bool has_leading_zero(std::string_view text) {
  return text.size() > 1 && text[0] == '0' && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

bool is_beyond_numbers(std::string_view text) {
  constexpr std::size_t kHeld = 15;  // digits that a double always holds
  if (text.size() <= kHeld) return false;
  if (text.starts_with('-')) text.remove_prefix(1);
  if (text.size() <= kHeld || text[0] == '0' || !std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; }))
    return false;
  const auto whole = parse_number<std::uint64_t>(text);
  if (!whole) return true;
  const auto value = static_cast<double>(*whole);
  return !is_value(value) || static_cast<std::uint64_t>(value) != *whole;
}

std::string_view without_zero_fraction(std::string_view text) {
  if (!text.ends_with('0')) return text;
  const std::size_t point = text.find_last_not_of('0');
  if (point == text.npos || text[point] != '.') return text;
  const std::string_view whole = text.substr(0, point), digits = whole.substr(whole.starts_with('-') ? 1 : 0);
  const bool is_whole = !digits.empty() && std::ranges::all_of(digits, [](char c) { return c >= '0' && c <= '9'; });
  return is_whole && !has_leading_zero(digits) ? whole : text;
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

void Schema::take_settings(const Schema& other) {
  time_parts = other.time_parts;
  sparse = other.sparse;
  comma = other.comma;
  thousands = other.thousands;
  for (std::uint32_t i = 0; i < other.missing.size(); ++i) missing.intern(other.missing[i]);
}

bool Schema::operator==(const Schema& other) const {
  if (size() != other.size() || time_parts != other.time_parts || sparse != other.sparse || comma != other.comma ||
      thousands != other.thousands || missing.size() != other.missing.size())
    return false;
  for (std::uint32_t i = 0; i < missing.size(); ++i)
    if (missing[i] != other.missing[i]) return false;
  for (std::size_t i = 0; i < size(); ++i)
    if (kind(i) != other.kind(i) || name(i) != other.name(i)) return false;
  return true;
}

void Schema::check() const {
  bool good = names_.size() == kinds_.size();
  for (const std::uint32_t kind : kinds_) good = good && kind <= static_cast<std::uint32_t>(ColumnKind::kUndecided);
  if (!good) throw DataError("model file: kinds of columns out of range");
}

namespace {

constexpr std::array<std::string_view, 8> kMarks{"$", "\u20AC", "\u00A3", "\u00A5", "\u20B9", "%", "EUR", "USD"};
constexpr std::array<std::string_view, 5> kSpaces{" ", "\u00A0", "\u202F", "\u2009", "\u2007"};

/// Takes one of `parts` from the beginning or the end of the text.
bool take(std::string_view& text, std::span<const std::string_view> parts) {
  for (const std::string_view part : parts) {
    if (text.starts_with(part)) return text.remove_prefix(part.size()), true;
    if (text.ends_with(part)) return text.remove_suffix(part.size()), true;
  }
  return false;
}

}  // namespace

std::optional<double> written_number(std::string_view text, const NumberStyle& style) {
  constexpr std::size_t kLongest = 60;
  if (text.empty() || text.size() > kLongest) return {};
  const char front = static_cast<char>(text.front() | 0x20);
  if (front >= 'a' && front <= 'z' && !text.starts_with("EUR") && !text.starts_with("USD")) return {};  // most words
  bool negative = false;
  if (text.size() > 2 && text.front() == '(' && text.back() == ')') {
    negative = true;
    text = text.substr(1, text.size() - 2);
  }
  const auto sign = [&] {
    for (const auto& [mark, is_minus] : {std::pair{std::string_view("-"), true}, {"\u2212", true}, {"+", false}})
      if (text.starts_with(mark)) {
        text.remove_prefix(mark.size());
        negative ^= is_minus;
        return;
      }
  };
  sign();
  while (take(text, kSpaces)) {
  }
  if (take(text, kMarks)) {
    while (take(text, kSpaces)) {
    }
    sign();
  }
  std::string digits;
  std::size_t group = 0, groups = 0;  // digits since the last thousands separator, and how many of these there were
  bool decimals = false;
  while (!text.empty()) {
    const char c = text.front();
    if (c >= '0' && c <= '9') {
      digits += c;
      ++group;
      text.remove_prefix(1);
      continue;
    }
    if (decimals) {  // an exponent, at most
      digits += text;
      break;
    }
    const bool whole = groups == 0 ? group >= 1 && group <= 3 : group == 3;
    std::size_t size = c == '_' || (c == style.thousands && c != 0) ? 1 : 0;
    for (const std::string_view space : std::span(kSpaces).subspan(1))
      if (text.starts_with(space)) size = space.size();
    if (size > 0) {
      if (!whole) return {};
      ++groups;
      group = 0;
    } else if ((c == '.' && style.point) || (c == ',' && style.comma)) {
      if (groups > 0 && group != 3) return {};
      decimals = true;
      digits += '.';
      size = 1;
    } else {
      digits += text;
      break;
    }
    text.remove_prefix(size);
  }
  if (groups > 0 && !decimals && group != 3) return {};
  if (digits.empty() || !((digits[0] >= '0' && digits[0] <= '9') || digits[0] == '.') || digits.back() == '.') return {};
  const auto value = parse_number<double>(digits);
  if (!value || !is_value(*value)) return {};
  return negative ? -*value : *value;
}

void NumberEvidence::add(std::string_view text) {
  std::size_t last = 0, first = 0, points = 0, commas = 0;
  bool groups = true;  // of three, after the first
  std::size_t run = 0;
  char mark = 0, lead = 0;  // lead: the first digit
  constexpr std::array<std::string_view, 3> kSigns{"-", "+", "\u2212"};
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  if (text.empty()) return;
  const bool bare = is_digit(text.front()) && is_digit(text.back());
  if (!bare && is_missing(text)) return;
  ++values_;
  if (text.size() > 40) return;
  if (!bare) {
    if (text.starts_with('(') && text.ends_with(')')) text = text.substr(1, text.size() - 2);
    const auto take_sign = [&] {
      for (const std::string_view sign : kSigns)
        if (text.starts_with(sign)) return text.remove_prefix(sign.size()), true;
      return false;
    };
    while (take(text, kSpaces) || take(text, kMarks) || take_sign()) {
    }
  }
  for (const char c : text) {
    if (c >= '0' && c <= '9') {
      if (lead == 0) lead = c;
      ++run;
      continue;
    }
    if (c != '.' && c != ',') return;
    if (run == 0) return;
    if (mark == 0)
      first = run;
    else
      groups &= run == 3;
    points += c == '.';
    commas += c == ',';
    mark = c;
    run = 0;
  }
  last = run;
  if (mark == 0) {
    numbers_ += run > 0;
    plain_ += run > 0;
    large_ += run > 3;
    return;
  }
  if (last == 0) return;
  ++numbers_;
  groups &= first <= 3;
  if (points > 0 && commas > 0) {  // the last one begins the decimals
    const bool in_order =
        mark == ',' ? commas == 1 && text.find(',') > text.rfind('.') : points == 1 && text.find('.') > text.rfind(',');
    if (!groups || !in_order)
      --numbers_;
    else
      ++(mark == ',' ? comma_ : comma_groups_);
    return;
  }
  const std::size_t marks = points + commas;
  if (marks > 1) {
    if (groups && last == 3)
      ++(points > 0 ? point_groups_ : comma_groups_);
    else
      --numbers_;
  } else if (last != 3 || first > 3 || lead == '0') {  // no thousands begin with 0
    ++(points > 0 ? point_ : comma_);
  } else {
    ++(points > 0 ? either_point_ : either_comma_);
  }
}

void NumberEvidence::add(const NumberEvidence& column) {
  if (10 * column.numbers_ < 9 * column.values_) return;
  point_ += column.point_;
  comma_ += column.comma_;
  point_groups_ += column.point_groups_;
  comma_groups_ += column.comma_groups_;
  either_point_ += column.either_point_;
  either_comma_ += column.either_comma_;
  // 517 beside 4.292: three decimals everywhere would be 517.000.
  constexpr std::uint64_t kSome = 3;
  if (20 * column.plain_ < column.either_point_ + column.either_comma_ || column.plain_ == 0 || column.large_ > 0 ||
      column.point_ + column.comma_ > 0)
    return;
  if (column.either_point_ >= kSome && column.either_comma_ == 0) guessed_point_groups_ += column.either_point_;
  if (column.either_comma_ >= kSome && column.either_point_ == 0) guessed_comma_groups_ += column.either_comma_;
}

NumberStyle NumberEvidence::style(NumberStyle usual, bool guesses) const {
  const std::uint64_t point_groups = point_groups_ + (guesses ? guessed_point_groups_ : 0),
                      comma_groups = comma_groups_ + (guesses ? guessed_comma_groups_ : 0);
  if (comma_ > 0 && point_ == 0 && comma_groups == 0) return {false, true, '.'};
  if (comma_ == 0 && point_groups == 0 && (comma_groups > 0 || (either_comma_ > 0 && point_ > 0))) return {true, false, ','};
  if (comma_ == 0 && point_ == 0 && point_groups > 0) return {false, true, '.'};
  if (comma_ == 0 && point_ > 0) return {true, false, 0};
  return usual;
}

void ColumnSample::add(std::string_view value, std::string_view label, Type type, const NumberStyle& style,
                       const char* end) {
  ++rows_;
  if (value.empty() || (type != Type::kString && is_missing(value))) {
    ++missing_;
    return;
  }
  maybe_missing_ += type == Type::kString && is_missing(value);
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
  const bool flag = type == Type::kFlag || flag_of(value);
  flags_ += flag;
  zeros_ += has_leading_zero(value);
  double number = 0;
  if (!flag && style.is_plain(value) &&
      short_decimal(value, end != nullptr ? end : value.data() + value.size(), &number)) {  // most tables have most of these
    ++words_;
    add_number(number);
    return;
  }
  if (values_.size() <= kCountLost) lost_ += count_lost(value);
  words_ += count_words(value);
  const std::string_view digits = value.starts_with('+') ? value.substr(1) : value;
  auto other = !flag && style.is_plain(value) ? parse_number<double>(digits) : std::nullopt;
  if (!flag && !other) {
    other = written_number(value, style);
    if (other && marked_++ == 0) first_marked_ = value;
  }
  const bool is_name = type != Type::kFlag && is_beyond_numbers(value);
  names_ += is_name;
  if (other && is_value(*other)) {
    add_number(*other);
  } else if (is_name) {
    ++too_large_;
    nanoseconds_ += parse_time(value).has_value();
  } else if (type == Type::kPlain && is_meant_as_number(value)) {
    ++meant_;
  } else if (!flag && parse_time(value)) {
    ++times_;
  } else if (looks_like_time(value)) {
    ++like_times_;
  } else if (has_unit(value) && with_unit_++ == 0) {
    first_with_unit_ = value;
  } else if (is_grouped(value) && grouped_++ == 0) {
    first_grouped_ = value;
  }
}

void ColumnSample::add_number(double number) {
  low_ = numbers_ == 0 ? number : std::min(low_, number);
  high_ = numbers_ == 0 ? number : std::max(high_, number);
  one_by_one_ = one_by_one_ && (!last_ || number - *last_ == 1);  // above 2^53 a number plus 1 may be the same
  last_ = number;
  ++numbers_;
  whole_ += number == std::nearbyint(number);
}

ColumnReport ColumnSample::judge(std::string name) const {
  ColumnReport out = by_values(std::move(name));
  if (grouped_ == 0 || 20 * (numbers_ + grouped_) < 19 * (rows_ - missing_) || is_number(out.kind)) return out;
  out.guess = true;
  out.why += "; if numbers are meant by " + shown_value(first_grouped_) +
             (strings_ > 0 ? ", write them without quotes and with a decimal point" : ", see --decimal and --thousands");
  return out;
}

ColumnReport ColumnSample::by_values(std::string name) const {
  using enum ColumnKind;
  const std::uint64_t present = rows_ - missing_;
  const std::uint64_t distinct = count_distinct(values_);
  ColumnReport out{std::move(name), kNumber, "", examples_, rows_, missing_, distinct, lost_};
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
  const auto guess = [&](ColumnKind kind, std::string why) {
    out.guess = true;
    return is(kind, std::move(why));
  };
  if (present == 0) return guess(kUndecided, "no value in the first rows");
  if (flags_ == present) return is(kFlag, "true or false");
  if (flags_ > 0 && flags_ + numbers_ == present)
    return low_ >= 0 && high_ <= 1 && whole_ == numbers_ ? is(kFlag, "0, 1, true or false")
                                                         : is(kNumber, "numbers, true or false");
  const bool codes = 20 * zeros_ >= present && zeros_ > 0;  // "0815" is no quantity
  const bool numeric = numbers_ > 0 && numbers_ + maybe_missing_ == present;
  // A few that are too large are mistakes or sums; many are ids or hashes, and as numbers different ones would be equal.
  if (names_ > 0 && 20 * names_ >= present && whole_ + too_large_ + maybe_missing_ == present) {
    const bool late = numbers_ == 0 || low_ >= 1e9 * kFirstTime;
    if (nanoseconds_ == too_large_ && late && sounds_like_time(out.name))
      return guess(kDate, "by its name, nanoseconds since 1970");
    const bool differ = 20 * distinct >= 19 * present && present >= kEnough;
    return differ ? guess(kId, "whole numbers with more digits than a double holds, which seldom repeat")
                  : guess(kCategory, "whole numbers with more digits than a double holds");
  }
  if (numeric && codes && !sounds_like_time(out.name)) {
    return never_repeats ? guess(kId, "whole numbers with leading zeros, which never repeat")
                         : guess(kCategory, "whole numbers with leading zeros");
  }
  if (numeric) {
    out.guess = marked_ > 0;
    const std::string as = marked_ > 0 ? ", written as " + shown_value(first_marked_) : "";
    if (whole_ < numbers_) return is(kNumber, "numbers" + as);
    if (one_by_one_ && present >= kEnough) return guess(kId, "counts the rows");
    if (low_ >= kFirstTime && high_ <= kLastTime && sounds_like_time(out.name))
      return guess(kDate, "by its name, seconds since 1970");
    if (low_ >= 0 && high_ <= 1) return is(kFlag, "0 or 1");
    out.guess = out.guess || (never_repeats && low_ >= 1000);  // a number of things, or of one
    return low_ >= 0 ? is(kCount, "whole numbers from 0" + as) : is(kNumber, "whole numbers" + as);
  }
  // A few that are no numbers are mistakes, which are refused where they are read.
  if ((numbers_ + meant_ == present || (2 * numbers_ >= present && strings_ == 0)) && !codes)
    return is(kNumber, share(numbers_, present) + " are numbers");
  const std::uint64_t times = times_ + (nanoseconds_ > 0 && sounds_like_time(out.name) ? nanoseconds_ : 0);
  if (times == present) return guess(kDate, "dates or times");
  if (20 * (times + like_times_) >= 19 * present)
    return guess(kIgnored, "dates or times, but not as 2026-11-21, 21.11.2026 or Sat, 21 Nov 2026");
  const bool units = 20 * (numbers_ + with_unit_) >= 19 * present && with_unit_ > 0;
  const double words_each = static_cast<double>(words_) / static_cast<double>(present);
  const bool varied = 2 * distinct > present || distinct > 100;
  if (units && varied)
    return guess(kIgnored, "numbers with units, as " + first_with_unit_ + ": write them without, or --text-column");
  if (varied && (words_each >= 2.5 || 2 * long_ > present)) return is(kText, "several words, seldom repeated");
  if (never_repeats && words_each < 1.5) return guess(kId, "a word that never repeats");
  if (varied && words_each >= 1.5) return is(kText, "words, seldom repeated");
  if (numbers_ > 0) return guess(kCategory, share(numbers_, present) + " are numbers, the others words");
  out.guess = present >= kEnough && 2 * distinct > present;
  return is(kCategory, std::to_string(distinct) + (distinct == 1 ? " word" : " different words"));
}

}  // namespace quorate
