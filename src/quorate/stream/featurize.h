// From a record to the instance x that learners see: names and words to places, constant feature, unit norm.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quorate/base/features.h"
#include "quorate/base/names.h"
#include "quorate/stream/formats.h"

namespace quorate {

/// How records become instances. Part of the model.
struct FeatureSettings {
  std::uint32_t bits = 18;  ///< names and words are hashed to 2^bits places, 1 <= bits <= 31; 0: each gets its own place
  bool bias = true;         ///< a constant feature 1
  bool normalize = true;    ///< scale to |x| = 1, after the bias
  bool bigrams = false;     ///< pairs of neighbouring words too
  bool binary = false;      ///< a word counts once however often it comes

  bool operator==(const FeatureSettings&) const = default;
  template <class S>
  static void state(S& s, auto&& v) {
    v("bits", s.bits);
    for (auto [name, member] : {std::pair{"bias", &FeatureSettings::bias},
                                {"normalize", &FeatureSettings::normalize},
                                {"bigrams", &FeatureSettings::bigrams},
                                {"binary", &FeatureSettings::binary}}) {
      std::uint32_t flag = s.*member;
      v(name, flag);
      if constexpr (!std::is_const_v<S>) s.*member = flag != 0;
    }
  }
};

/// Places: 0 the constant feature; then CSV columns; then indices as they are, or hashes, or names in order of first
/// appearance. A text's words are the features text^word, its bigrams text^word word.
class Featurizer {
 public:
  explicit Featurizer(const FeatureSettings& settings = {},
                      std::pmr::memory_resource* memory = std::pmr::get_default_resource());

  /// Call once for each file before its first record. The first file says which numeric columns there are; later ones
  /// must have the same, in any order. Throws DataError.
  void begin(const RecordReader& reader);

  /// The record's instance, valid until the next call. With `learn_names` false, names not seen before get no place of
  /// their own (bits = 0). O(entries log entries + text).
  Features operator()(const Record& record, bool learn_names = true);

  const FeatureSettings& settings() const { return settings_; }

  template <class S>
  static void state(S& s, auto&& v) {
    v("settings", s.settings_);
    v("columns", s.columns_);
    v("columns_fixed", s.columns_fixed_);
    v("vocabulary", s.vocabulary_);
  }
  void check() const;  ///< throws DataError if what was loaded makes no sense

 private:
  Index place(std::string_view name, bool learn_names);
  void add(Index place, double value);
  void add_words(std::string_view text, bool learn_names);

  FeatureSettings settings_;
  Names columns_;                    // numeric columns, in the first file's order
  std::uint32_t columns_fixed_ = 0;  // whether a first file was seen
  Names vocabulary_;                 // with bits = 0
  std::vector<Index> column_place_;  // of the current file's columns
  struct Item {
    Index index;
    std::uint32_t order;  // in which it came: values that meet in one place are added in this order
    double value;
  };
  std::vector<Item> items_;
  std::vector<Index> index_;
  std::vector<double> value_;
  std::string word_, previous_, name_;
};

}  // namespace quorate
