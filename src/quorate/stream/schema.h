// What the columns of a table are: inferred from its first rows, stated by options, kept in the model.
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <memory_resource>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "quorate/base/name_table.h"

namespace quorate {

/// What a column (CSV) or key (JSON lines) holds. What a model file says is these numbers.
enum class ColumnKind : std::uint32_t {
  kNumber = 0,    ///< a number feature
  kCount = 1,     ///< the same: whole numbers from 0
  kFlag = 2,      ///< the same: 0 or 1
  kCategory = 3,  ///< words: each is the feature column=word
  kText = 4,      ///< raw text: each word is the feature column^word
  kDate = 5,      ///< a date or time; its hour and weekday are features if asked for
  kTime = 6,      ///< when the example came
  kId = 7,        ///< the example's id
  kTask = 8,
  kLabel = 9,
  kIgnored = 10,
  kWeight = 11,    ///< importance of the label
  kFeatures = 12,  ///< all features, under names of their own: the key x of JSON lines, the namespaces of VW text
  kUndecided = 13  ///< had no value in the first rows: a number is a number feature, a word the feature column=word
};
constexpr auto words(ColumnKind) {
  using enum ColumnKind;
  using std::string_view;
  return std::array{std::pair{kNumber, string_view("number")},     std::pair{kCount, string_view("count")},
                    std::pair{kFlag, string_view("flag")},         std::pair{kCategory, string_view("category")},
                    std::pair{kText, string_view("text")},         std::pair{kDate, string_view("date")},
                    std::pair{kTime, string_view("time")},         std::pair{kId, string_view("id")},
                    std::pair{kTask, string_view("task")},         std::pair{kLabel, string_view("label")},
                    std::pair{kIgnored, string_view("ignored")},   std::pair{kWeight, string_view("weight")},
                    std::pair{kFeatures, string_view("features")}, std::pair{kUndecided, string_view("undecided")}};
}
constexpr bool is_number(ColumnKind kind) { return kind <= ColumnKind::kFlag || kind == ColumnKind::kUndecided; }
constexpr bool is_feature(ColumnKind kind) { return kind <= ColumnKind::kText || kind == ColumnKind::kUndecided; }

/// Whether a field says that its value is missing: nothing, ?, NA, N/A, NaN, null, None and what spreadsheets, pandas and
/// databases write. A string of JSON says so only where numbers are expected.
bool is_missing(std::string_view field);
/// 1 of true, 0 of false, in any case; nothing of other texts.
std::optional<double> flag_of(std::string_view text);
/// As 0815: a whole number with a zero that no number needs, so a name.
bool has_leading_zero(std::string_view text);
/// As 12345678901234567: a whole number that no double holds, or that no feature may be (is_value), so a name.
bool is_beyond_numbers(std::string_view text);
/// 4 of 4.0, as JSON's 4.0 is the word 4 (and pandas writes the whole numbers of a column with a missing one); any other
/// text as it is.
std::string_view without_zero_fraction(std::string_view text);

/// What the features of data without columns are called, as far as it is known. Part of a model.
struct FeatureNames {
  enum class Are : std::uint32_t { kUnknown, kNames, kIndices, kArray };
  Are are = Are::kUnknown;
  std::uint32_t first = 1, last = 0;  ///< of an array; of indices if the first line has them all; else none

  bool has_range() const { return first <= last; }
  /// As "the indices 0 to 5", for messages.
  std::string text() const;
  /// Why the features of `data` are not those that a model learned, in a sentence; "" if they may be. Files that count from
  /// 0 and from 1 are distinguished only if the first lines of both have all indices: a sparse one may lack the first by
  /// chance.
  std::string mismatch(const FeatureNames& data) const;
  bool operator==(const FeatureNames&) const = default;
  template <class S>
  static void state(S& s, auto&& v) {
    auto are = static_cast<std::uint32_t>(s.are);
    v("are", are);
    if constexpr (!std::is_const_v<S>) s.are = static_cast<Are>(are);
    v("first", s.first);
    v("last", s.last);
  }
};
constexpr auto words(FeatureNames::Are) {
  using enum FeatureNames::Are;
  using std::string_view;
  return std::array{std::pair{kUnknown, string_view("unknown")}, std::pair{kNames, string_view("names")},
                    std::pair{kIndices, string_view("indices")}, std::pair{kArray, string_view("array")}};
}

/// The kinds of columns by name. Part of a model.
class Schema {
 public:
  explicit Schema(std::pmr::memory_resource* memory = std::pmr::get_default_resource())
      : missing(memory), names_(memory), kinds_(memory) {}

  bool empty() const { return kinds_.empty(); }
  /// Whether features are columns. Otherwise it has, if any, the names that options gave to the task, the label and so on.
  bool has_columns() const { return !empty() && !column_of(ColumnKind::kFeatures); }
  std::size_t size() const { return kinds_.size(); }
  std::string_view name(std::size_t i) const { return names_[static_cast<std::uint32_t>(i)]; }
  ColumnKind kind(std::size_t i) const { return static_cast<ColumnKind>(kinds_[i]); }
  std::optional<ColumnKind> find(std::string_view name) const;
  std::optional<std::uint32_t> place(std::string_view name) const { return names_.find(name); }
  /// Whether the column has features.
  bool learned(std::size_t i) const {
    return is_feature(kind(i)) || ((kind(i) == ColumnKind::kDate || kind(i) == ColumnKind::kTime) && time_parts);
  }
  /// The names of columns that have features, for messages: some 200 bytes of them.
  std::string learned_names() const;
  /// The column of that kind, if there is one.
  std::optional<std::string_view> column_of(ColumnKind kind) const;
  void add(std::string_view name, ColumnKind kind);
  void reserve(std::size_t columns) { kinds_.reserve(columns); }
  /// What is known besides the kinds, of another schema.
  void take_settings(const Schema& other);
  bool operator==(const Schema& other) const;

  bool time_parts = false;  ///< hour and weekday of dates and times are features
  FeatureNames features;    ///< where there are no columns; saved apart
  bool sparse = false;      ///< JSON lines that lack most keys: a number that is not there is 0
  bool comma = false;       ///< numbers of CSV have decimal commas, if the file does not say otherwise
  bool thousands = false;   ///< and the other mark between thousands
  NameTable missing;        ///< values that are missing, besides is_missing()

  template <class S>
  static void state(S& s, auto&& v) {
    v("names", s.names_);
    v("kinds", s.kinds_);
    const auto flag = [&](const char* name, auto& value) {
      std::uint32_t number = value;
      v(name, number);
      if constexpr (!std::is_const_v<S>) value = number != 0;
    };
    flag("time_parts", s.time_parts);
    flag("sparse", s.sparse);
    flag("comma", s.comma);
    flag("thousands", s.thousands);
    v("missing", s.missing);
  }
  void check() const;  ///< throws DataError if what was loaded makes no sense

 private:
  NameTable names_;
  std::pmr::vector<std::uint32_t> kinds_;  // ColumnKind
};

/// How a file writes numbers.
struct NumberStyle {
  bool point = true, comma = false;  ///< which of them begins the decimals
  char thousands = 0;                ///< between groups of three digits; 0: none
  bool operator==(const NumberStyle&) const = default;
  /// Whether a text has no mark that this style reads in its own way.
  bool is_plain(std::string_view text) const { return point || text.find('.') == text.npos; }
};

/// A number as people write it: 40,6 or 1.234,5 in that style; $16.36, 5 %, (12), 16_360, with narrow spaces between
/// thousands or a true minus sign. Nothing for any other text.
std::optional<double> written_number(std::string_view text, const NumberStyle& style);

/// What the values of a file say of its style.
class NumberEvidence {
 public:
  void add(std::string_view value);
  void add(const NumberEvidence& column);  ///< if it is one of numbers
  /// The style that all agree on; `usual` if they do not, or say nothing. guesses: false if only values count that can be
  /// written in one way, not that 1,125 is a thousand where 7 stands beside it.
  NumberStyle style(NumberStyle usual, bool guesses = true) const;

 private:
  // How many are numbers; of these without a mark, and of 1000 or more; begin their decimals so; have thousands so; or are
  // either, as 1,234.
  std::uint64_t values_ = 0, numbers_ = 0, plain_ = 0, large_ = 0, point_ = 0, comma_ = 0, point_groups_ = 0,
                comma_groups_ = 0, either_point_ = 0, either_comma_ = 0, guessed_point_groups_ = 0,
                guessed_comma_groups_ = 0;
};

/// What was seen of a column, for the one who looks at the data.
struct ColumnReport {
  std::string name;
  ColumnKind kind = ColumnKind::kNumber;
  std::string why;                    ///< what makes it this kind
  std::vector<std::string> examples;  ///< a few different values
  std::uint64_t rows = 0, missing = 0, distinct = 0;
  std::uint64_t lost = 0;      ///< letters and digits of the first values that stand alone, so are no words of a text
  bool decides_label = false;  ///< each of its few values comes with one label only
  bool guess = false;          ///< something else might be meant, which would change what is learned
};

/// The first values of a column. Values of JSON say whether they are strings, `true` or `false`.
class ColumnSample {
 public:
  enum class Type { kPlain, kString, kFlag };

  /// `label`: of the same row, "" if it is missing. Bytes up to `end`, if it is given, may be read, which is after `value`.
  void add(std::string_view value, std::string_view label, Type type = Type::kPlain, const NumberStyle& style = {},
           const char* end = nullptr);
  void skip() { ++rows_, ++missing_; }  ///< a row without the column
  bool has_numbers() const { return numbers_ + flags_ > 0; }
  /// The column's kind by its values. O(n).
  ColumnReport judge(std::string name) const;

 private:
  static constexpr std::size_t kExamples = 3, kFew = 50;

  ColumnReport by_values(std::string name) const;
  void add_number(double number);

  std::vector<std::string> examples_;
  std::vector<std::uint64_t> values_;                               // their hashes
  std::map<std::uint64_t, std::optional<std::uint64_t>> label_of_;  // of a value: its label, none if there are two
  std::unordered_set<std::uint64_t> labels_;
  std::string last_label_, first_marked_, first_with_unit_, first_grouped_;
  std::uint64_t rows_ = 0, missing_ = 0, maybe_missing_ = 0, zeros_ = 0, numbers_ = 0, meant_ = 0, whole_ = 0, times_ = 0,
                like_times_ = 0, with_unit_ = 0, flags_ = 0, marked_ = 0, grouped_ = 0, strings_ = 0, words_ = 0, long_ = 0,
                lost_ = 0;  // meant_: as numbers, though out of range or with spaces
  // is_beyond_numbers(): all, those that are no values, and of these the times.
  std::uint64_t names_ = 0, too_large_ = 0, nanoseconds_ = 0;
  std::optional<double> last_;
  bool one_by_one_ = true;  // each whole number is the one before plus 1
  double low_ = 0, high_ = 0;
};

}  // namespace quorate
