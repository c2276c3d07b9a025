// From a record to the instance x that learners see: names and words to places, constant feature, unit norm.
#pragma once
#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "quorate/base/features.h"
#include "quorate/base/memory.h"
#include "quorate/base/name_table.h"
#include "quorate/params/params.h"
#include "quorate/stream/formats.h"
#include "quorate/stream/interactions.h"
#include "quorate/stream/schema.h"

namespace quorate {

/// How records become instances. Part of the model.
struct FeatureSettings {
  static constexpr std::uint32_t kMostNgrams = 5, kMostCharNgrams = 8;
  std::uint32_t bits = 18;   ///< names and words are hashed to 2^bits places, 1 <= bits <= 31; 0: each gets its own place
  bool bias = true;          ///< a constant feature 1
  bool normalize = true;     ///< scale to |x| = 1, after the bias
  std::uint32_t ngrams = 1;  ///< words in a row up to that many are features, too
  std::uint32_t char_ngrams = 0;               ///< n > 0: n letters in a row are features, too
  bool binary = false;                         ///< a word counts once however often it comes
  std::vector<std::string> interactions = {};  ///< products of features, see interactions.h

  static constexpr auto fields() {
    using S = FeatureSettings;
    return std::tuple{
        Field{&S::bits, "bits", Interval{0, 31}, "hash names and words to 2^bits features; 0 keeps all names", ""},
        Field{&S::bias, "bias", kAny, "a constant feature", ""},
        Field{&S::normalize, "normalize", kAny, "scaling of examples to unit length", ""},
        Field{&S::ngrams, "ngrams", Interval{1, kMostNgrams}, "text: up to N neighbouring words are features, too", ""},
        Field{&S::char_ngrams, "char-ngrams", Interval{0, kMostCharNgrams},
              "text: N neighbouring letters of a word are features, too", ""},
        Field{&S::binary, "binary", kAny, "text: count each word once", ""},
        Field{&S::interactions, "interactions", kAny,
              "products of the features of two columns, namespaces or kinds, as user*channel or number*number (repeatable)",
              ""}};
  }
  bool operator==(const FeatureSettings&) const = default;
};

/// Places: 0 the constant feature; then CSV columns; then indices as they are, or hashes, or names in order of first
/// appearance; then, of hashed names, those of categories, to a quarter of the places or 2^16. A number column that is 0
/// has that value in the instance; one that is missing has none. Words of the text in column c are the features c^word,
/// neighbours c^word word, letters in a row c#wor; the product of the features a and b is the feature a*b.
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
      if (number == 0 || place == kLeftOut) return;
      index.push_back(place);
      value.push_back(number);
    }
    void sort(bool once);
    const Item* sort_by_rank();
    const Item* sort_by_digits();
    std::vector<Index> index;
    std::vector<double> value;
    std::vector<Item> items, other_items;  // while sorting
    std::string word, name, gram;
    std::vector<std::string> before;  // words, the last of them last
    Interactions::Parts parts;
    std::vector<bool> products_met;  // of each of the interactions, by any record
  };

  /// memory: bytes that names may take. A name that does not fit is left out: its feature is none, and counted.
  explicit Featurizer(const FeatureSettings& settings = {}, std::size_t memory = Memory::kNoLimit);

  /// Call once for each file before its first record. The first file says what its columns are, and which are numeric;
  /// later ones must have the same, in any order. Throws DataError.
  void begin(const RecordReader& reader);
  /// Of a table that is no file: what its columns are. Without effect if there is a schema. Throws UsageError: interactions
  /// of other columns.
  void set_schema(const Schema& schema);
  /// What the features of data that are no file, and have no columns, are called. Without effect once a file was begun.
  void set_features(const FeatureNames& features);
  /// The same for numeric columns of these names, of a table called `table`.
  void begin(std::span<const std::string> names, const std::string& table);
  /// As before begin() of the first file, from which nothing was learned.
  void forget_columns();
  /// The places of numeric columns of these names. Throws DataError unless they are those of the first file.
  std::vector<Index> columns(std::span<const std::string> names, const std::string& table) const;

  /// The record's instance, valid until the next call. With `learn_names` false, names not seen before get no place of
  /// their own (bits = 0). O(entries + text).
  Features operator()(const Record& record, bool learn_names = true);
  /// The same without learning names, for many threads at once; `columns` as columns() says. Valid until the scratch is
  /// used again.
  Features operator()(const Record& record, std::span<const Index> columns, Scratch& scratch) const;

  /// The names of the places that the record's features have, in ascending order: columns, names and words as in the data;
  /// several names that meet in one place are joined by " / ". O(entries + text).
  std::vector<std::pair<Index, std::string>> names(const Record& record, std::span<const Index> columns) const;
  std::vector<std::pair<Index, std::string>> names(const Record& record) const { return names(record, column_place_); }

  /// The name of a place as far as the featurizer keeps it: the constant feature, a numeric column, with bits 0 a name; ""
  /// if it does not. Valid until a name is learned.
  std::string_view name_of(Index place) const;

  /// Names the interactions that no record had, of those that this object made or gathered itself; "" if there is none.
  std::string unmet() const { return interactions_.unmet(scratch_.products_met); }

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
  std::size_t bytes() const { return memory_->bytes(); }      ///< of names
  std::size_t peak_bytes() const { return memory_->peak(); }  ///< the most there ever were
  std::uint64_t names_left_out() const { return left_out_; }  ///< times that a feature was left out
  /// For examples that are passed over, as they were counted before.
  void set_names_left_out(std::uint64_t times) { left_out_ = times; }
  const NameTable& column_names() const { return columns_; }  ///< numeric columns, in the first file's order
  const Schema& schema() const { return schema_; }            ///< of the first file; empty: none was begun, or it has none
  FeatureKinds kinds() const;                                 ///< of places; after begin()

  template <class S>
  static void state(S& s, auto&& v) {
    v("schema", s.schema_);
    v("schema_features", s.schema_.features);
    v("columns", s.columns_);
    v("columns_fixed", s.columns_fixed_);
    v("vocabulary", s.vocabulary_);
    v("left_out", s.left_out_);
  }
  void check();  ///< after loading: throws DataError if what was loaded makes no sense

 private:
  static constexpr Index kLeftOut = 0xFFFFFFFFu;
  Index first_name() const { return static_cast<Index>(1 + columns_.size()); }
  bool has_category_places() const { return settings_.bits > 0 && settings_.bits < 31; }
  Index first_category() const { return first_name() + (Index{1} << settings_.bits); }
  /// Of hashed names, read once for all names of a record.
  struct HashedPlaces {
    Index first_name, first_category;
    std::uint64_t names, categories;  // masks
    Index operator()(std::string_view name, bool category) const;
  };
  HashedPlaces hashed_places() const;
  /// Throws DataError unless the file's features may be those of the files before.
  void check_container(const RecordReader& reader) const;
  Index known_place(std::string_view name, bool category) const;
  Index place(std::string_view name);  // learns it; with bits = 0
  template <class Place>
  void gather(const Record& record, std::span<const Index> columns, Scratch& scratch, Place place) const;
  Features arrange(Scratch& scratch) const;
  Features finish(Scratch& scratch, double squares) const;      // of its places, which ascend, and values
  double scale(std::span<double> value, double squares) const;  // squares: their sum; returns the length before

  std::unique_ptr<Memory> memory_;  // first among what it serves
  FeatureSettings settings_;
  std::uint64_t left_out_ = 0;
  Interactions interactions_;  // of the settings
  Schema schema_;
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
