// From a record to the instance x that learners see: names and words to places, constant feature, unit norm.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "quorate/base/features.h"
#include "quorate/base/name_table.h"
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
  /// Where instances are made. Each thread has its own.
  class Scratch {
    friend class Featurizer;
    struct Item {
      Index index;
      double value;
    };
    static constexpr std::size_t kRanked = 64;  // a multiple of 16
    void add(Index place, double number) {
      if (number == 0) return;
      index.push_back(place);
      value.push_back(number);
    }
    void sort(bool once);
    const Item* sort_by_rank();
    const Item* sort_by_digits();
    std::vector<Index> index;
    std::vector<double> value;
    std::vector<Item> items, other_items;  // while sorting
    std::string word, previous, name;
  };

  explicit Featurizer(const FeatureSettings& settings = {},
                      std::pmr::memory_resource* memory = std::pmr::get_default_resource());

  /// Call once for each file before its first record. The first file says which numeric columns there are; later ones
  /// must have the same, in any order. Throws DataError.
  void begin(const RecordReader& reader);
  /// The same for numeric columns of these names, of a table called `table`.
  void begin(std::span<const std::string> names, const std::string& table);
  /// The places of numeric columns of these names. Throws DataError unless they are those of the first file.
  std::vector<Index> columns(std::span<const std::string> names, const std::string& table) const;

  /// The record's instance, valid until the next call. With `learn_names` false, names not seen before get no place of
  /// their own (bits = 0). O(entries + text).
  Features operator()(const Record& record, bool learn_names = true);
  /// The same without learning names, for many threads at once; `columns` as columns() says. Valid until the scratch is
  /// used again.
  Features operator()(const Record& record, std::span<const Index> columns, Scratch& scratch) const;

  /// The same in two steps, which need not be taken by one thread: places and values as they come, bias first; and what
  /// becomes of them. gather() learns names.
  Features gather(const Record& record);
  Features arrange(const Features& gathered, Scratch& scratch) const;

  /// The instance of a matrix's row, as that of a record of such indices; index in any order, each below kMaxIndex;
  /// values finite. O(non-zeros) if index ascends. I: an integer type.
  template <class I>
  Features row(std::span<const I> index, std::span<const double> value, Scratch& scratch) const;
  /// The same of a row of a dense matrix. O(columns).
  Features row(std::span<const double> value, Scratch& scratch) const;

  const FeatureSettings& settings() const { return settings_; }
  const NameTable& column_names() const { return columns_; }  ///< numeric columns, in the first file's order

  template <class S>
  static void state(S& s, auto&& v) {
    v("settings", s.settings_);
    v("columns", s.columns_);
    v("columns_fixed", s.columns_fixed_);
    v("vocabulary", s.vocabulary_);
  }
  void check() const;  ///< throws DataError if what was loaded makes no sense

 private:
  Index first_name() const { return static_cast<Index>(1 + columns_.size()); }
  Index known_place(std::string_view name) const;
  Index place(std::string_view name);  // learns it
  template <class Place>
  void gather(const Record& record, std::span<const Index> columns, Scratch& scratch, Place place) const;
  Features arrange(Scratch& scratch) const;
  Features finish(Scratch& scratch, double squares) const;      // of its places, which ascend, and values
  double scale(std::span<double> value, double squares) const;  // squares: their sum; returns the length before

  FeatureSettings settings_;
  NameTable columns_;                // numeric columns, in the first file's order
  std::uint32_t columns_fixed_ = 0;  // whether a first file was seen
  NameTable vocabulary_;             // with bits = 0
  std::vector<Index> column_place_;  // of the current file's columns
  Scratch scratch_;
};

template <class I>
Features Featurizer::row(std::span<const I> index, std::span<const double> value, Scratch& s) const {
  const std::size_t bias = settings_.bias ? 1 : 0;
  s.index.resize(value.size() + bias);
  s.value.resize(value.size() + bias);
  if (settings_.bias) {
    s.index[0] = 0;
    s.value[0] = 1;
  }
  std::size_t size = bias;
  double squares = settings_.bias;  // summed while values are copied: by itself it would take as long again
  Index before = 0;
  bool ascends = true;
  for (std::size_t k = 0; k < value.size(); ++k) {
    const Index place = static_cast<Index>(index[k]) + 1;
    ascends &= place > before;
    before = place;
    s.index[size] = place;
    s.value[size] = value[k];
    squares += value[k] * value[k];
    size += value[k] != 0;
  }
  s.index.resize(size);
  s.value.resize(size);
  if (ascends) return finish(s, squares);
  s.sort(false);
  return finish(s, squared_norm({{}, s.value}));
}

}  // namespace quorate
