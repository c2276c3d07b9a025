#include "quorate/stream/featurize.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>

#include "quorate/base/hash.h"
#include "quorate/stream/words.h"

namespace quorate {
namespace {

/// use(part) for every `count` letters in a row of a word with a space before and after it; of a shorter word for all of it.
/// `padded` is scratch.
template <class F>
void for_each_letters(std::string_view word, std::size_t count, std::string& padded, F use) {
  padded.assign(" ").append(word).append(" ");
  const auto next = [&](std::size_t at) {  // the letter after the one at `at`
    do ++at;
    while (at < padded.size() && (static_cast<unsigned char>(padded[at]) & 0xC0) == 0x80);
    return at;
  };
  std::size_t begin = 0, end = 0;
  for (std::size_t k = 0; k < count && end < padded.size(); ++k) end = next(end);
  for (;; begin = next(begin), end = next(end)) {
    use(std::string_view(padded).substr(begin, end - begin));
    if (end >= padded.size()) return;
  }
}

/// A feature of a record that may be in a product.
void add_part(const Entry& e, Interactions::Parts& parts) {
  const std::string index = e.kind == Entry::Kind::kIndex ? entry_name(e) : "";
  const std::string_view name = e.kind == Entry::Kind::kIndex ? std::string_view(index) : e.name;
  const std::size_t mark = e.kind == Entry::Kind::kName ? name.find_first_of("^=") : name.npos;
  parts.add(name, std::min(mark, name.size()),
            mark == name.npos   ? ColumnKind::kNumber
            : name[mark] == '=' ? ColumnKind::kCategory
                                : ColumnKind::kText,
            e.value);
}

/// Then a plain vector is smaller and faster. `last`: the highest place; `filled`: how many there are.
bool at_least_half_full(std::size_t last, std::size_t filled) { return filled > 0 && last < 2 * filled; }

/// rank[k] = how many of index[0 .. n - 1] are less than index[k]. n^2 comparisons, but 16 at once and no branch: for few
/// places less than the passes of a radix sort. `index` is read, `rank` written up to the next multiple of 16.
void rank(const Index* index, std::size_t n, std::int32_t* rank) {
  using Four __attribute__((vector_size(16))) = std::int32_t;     // as wide as every processor has them
  constexpr auto kSign = static_cast<std::int32_t>(0x80000000u);  // they compare signed numbers only
  for (std::size_t k = 0; k < n; k += 16) {
    Four some[4], less[4] = {};
    std::memcpy(some, index + k, sizeof some);
    for (Four& s : some) s ^= kSign;
    for (std::size_t j = 0; j < n; ++j) {
      const std::int32_t other = static_cast<std::int32_t>(index[j]) ^ kSign;
      less[0] -= some[0] > other;
      less[1] -= some[1] > other;
      less[2] -= some[2] > other;
      less[3] -= some[3] > other;
    }
    std::memcpy(rank + k, less, sizeof less);
  }
}

}  // namespace

Featurizer::Featurizer(const FeatureSettings& settings, std::size_t memory)
    : memory_(std::make_unique<Memory>(memory)),
      settings_(settings),
      interactions_(settings.interactions),
      schema_(memory_.get()),
      columns_(memory_.get()),
      vocabulary_(memory_.get()) {
  if (settings.bits > 31) throw UsageError("bits " + std::to_string(settings.bits) + ": expected 0 (names kept) or 1 to 31");
}

void Featurizer::begin(const RecordReader& reader) {
  const bool known = schema_.features.are != FeatureNames::Are::kUnknown;
  const bool first = columns_fixed_ == 0 && schema_.empty() && !known;
  if (!first) check_container(reader);
  interactions_.check(first ? reader.schema() : schema_);
  if (first) set_schema(reader.schema());
  begin(reader.columns(), reader.path());
}

void Featurizer::set_schema(const Schema& schema) {
  if (!schema_.empty()) return;
  interactions_.check(schema);
  schema_.reserve(schema.size());
  for (std::size_t i = 0; i < schema.size(); ++i) schema_.add(schema.name(i), schema.kind(i));
  schema_.take_settings(schema);
  schema_.features = schema.features;
}

void Featurizer::set_features(const FeatureNames& features) {
  if (schema_.empty() && columns_fixed_ == 0) schema_.features = features;
}

void Featurizer::check_container(const RecordReader& reader) const {
  const bool columns = reader.schema().has_columns();
  const auto bad = [&](const std::string& what) { throw DataError(reader.path() + ": " + what); };
  if (schema_.has_columns() && !columns) {
    std::vector<std::string_view> names;
    for (std::size_t i = 0; i < schema_.size() && names.size() < 10; ++i)
      if (is_feature(schema_.kind(i))) names.push_back(schema_.name(i));
    bad("features without columns, but the model learned from columns (" + joined(names) + "); expected CSV or JSON lines");
  }
  const bool known = schema_.features.are != FeatureNames::Are::kUnknown;
  if (!schema_.has_columns() && columns && columns_.size() == 0 && (known || !reader.columns().empty()))
    bad("features in columns, but the model learned from " + schema_.features.text() + "; expected those");
  if (const std::string why = schema_.features.mismatch(reader.schema().features); !why.empty()) bad(why);
}

void Featurizer::begin(std::span<const std::string> names, const std::string& table) {
  if (columns_fixed_ == 0) {
    for (const std::string& name : names) columns_.intern(name);
    columns_fixed_ = 1;
  }
  column_place_ = columns(names, table);
}

void Featurizer::forget_columns() {
  schema_ = Schema(memory_.get());
  columns_ = NameTable(memory_.get());
  columns_fixed_ = 0;
  column_place_.clear();
}

std::vector<Index> Featurizer::columns(std::span<const std::string> names, const std::string& table) const {
  std::vector<Index> places;
  std::vector<bool> found(columns_.size());
  for (const std::string& name : names) {
    const auto place = columns_.find(name);
    if (!place && columns_fixed_ == 0)
      throw DataError(table + ": nothing is learned yet, so nothing is known of the column " + quoted_value(name) +
                      "; expected examples to learn from first");
    if (!place)
      throw DataError(table + ": column " + quoted_value(name) + " was not in the data learned from" +
                      (columns_.size() == 0 ? " (which had no numeric columns)" : "") +
                      "; leave it out with --ignore-column " + shown_value(name));
    places.push_back(1 + *place);
    found[*place] = true;
  }
  for (std::uint32_t i = 0; i < columns_.size(); ++i)
    if (!found[i])
      throw DataError(table + ": no column " + quoted_value(columns_[i]) + "; expected it, as in the data learned from");
  return places;
}

FeatureKinds Featurizer::kinds() const {
  // Without columns nothing says what a feature is: an index is a name, however large.
  if (columns_.size() == 0 && !schema_.has_columns()) return {};
  return {static_cast<Index>(columns_.size()), has_category_places() ? first_category() : FeatureKinds::kNone};
}

auto Featurizer::hashed_places() const -> HashedPlaces {
  const auto mask = [](std::uint32_t bits) { return (std::uint64_t{1} << bits) - 1; };
  if (!has_category_places()) return {first_name(), first_name(), mask(settings_.bits), mask(settings_.bits)};
  // Of categories there are fewer than of words, and tables that end early are smaller.
  const std::uint32_t bits = std::min(settings_.bits, std::max(16u, settings_.bits - 2));
  return {first_name(), first_category(), mask(settings_.bits), mask(bits)};
}

inline Index Featurizer::HashedPlaces::operator()(std::string_view name, bool category) const {
  return (category ? first_category : first_name) + static_cast<Index>(hash64(name) & (category ? categories : names));
}

Index Featurizer::known_place(std::string_view name, bool category) const {
  if (settings_.bits > 0) return hashed_places()(name, category);
  if (const auto known = vocabulary_.find(name)) return first_name() + *known;
  if (left_out_ > 0) return kLeftOut;  // as while learning
  // no weight, but it counts in |x|
  return static_cast<Index>(first_name() + vocabulary_.size() + (hash64(name) & 0x3FFFFFFF));
}

Index Featurizer::place(std::string_view name) {
  if (memory_->limited() && vocabulary_.bytes_to_add(name) > memory_->left() && !vocabulary_.find(name)) {
    ++left_out_;
    return kLeftOut;
  }
  return first_name() + vocabulary_.intern(name);
}

Features Featurizer::operator()(const Record& record, bool learn_names) {
  if (!learn_names) return std::as_const(*this)(record, column_place_, scratch_);
  gather(record);
  return arrange(scratch_);
}

Features Featurizer::operator()(const Record& record, std::span<const Index> columns, Scratch& scratch) const {
  if (settings_.bits > 0)
    gather(record, columns, scratch, hashed_places());
  else
    gather(record, columns, scratch, [this](std::string_view name, bool category) { return known_place(name, category); });
  return arrange(scratch);
}

std::vector<std::pair<Index, std::string>> Featurizer::names(const Record& record, std::span<const Index> columns) const {
  std::vector<std::pair<Index, std::string>> all;
  if (settings_.bias) all.emplace_back(0, "constant");
  Scratch scratch;
  gather(record, columns, scratch,
         [&](std::string_view name, bool category) { return all.emplace_back(known_place(name, category), name).first; });
  for (const Entry& e : record.entries)
    if (e.kind != Entry::Kind::kName)
      all.emplace_back(e.kind == Entry::Kind::kIndex ? 1 + e.index : columns[e.index], entry_name(e));
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  std::vector<std::pair<Index, std::string>> out;
  for (auto& [place, name] : all) {
    if (!out.empty() && out.back().first == place)
      out.back().second += " / " + name;
    else
      out.emplace_back(place, std::move(name));
  }
  return out;
}

std::string_view Featurizer::name_of(Index place) const {
  if (place == 0) return "constant";
  if (place < first_name()) return columns_[place - 1];
  const Index name = place - first_name();
  return name < vocabulary_.size() ? vocabulary_[name] : std::string_view();
}

Features Featurizer::gather(const Record& record) {
  if (settings_.bits > 0)
    gather(record, column_place_, scratch_, hashed_places());
  else
    gather(record, column_place_, scratch_, [this](std::string_view name, bool) { return place(name); });
  return {scratch_.index, scratch_.value};
}

Features Featurizer::arrange(const Features& gathered, Scratch& scratch) const {
  scratch.index.assign(gathered.index.begin(), gathered.index.end());
  scratch.value.assign(gathered.value.begin(), gathered.value.end());
  return arrange(scratch);
}

/// Puts what was added in the order of the places. Values that meet in one place are added in the order in which they
/// came or, if each counts `once`, are one. No branch predictor guesses the order of hashes: so ranks, or a radix sort.
void Featurizer::Scratch::sort(bool once) {
  const std::size_t n = index.size();
  if (n == 0) return;
  items.resize(n);
  const Item* sorted = n <= kRanked ? sort_by_rank() : sort_by_digits();
  std::size_t last = 0;
  Index at = index[0] = sorted[0].index;
  double sum = value[0] = sorted[0].value;
  for (std::size_t k = 1; k < n; ++k) {  // nobody guesses which words a text has twice
    const bool other = sorted[k].index != at;
    at = sorted[k].index;
    const double more = once ? sum : sum + sorted[k].value;
    sum = other ? sorted[k].value : more;
    last += other;
    index[last] = at;
    value[last] = sum;
  }
  index.resize(last + 1);
  value.resize(last + 1);
}

auto Featurizer::Scratch::sort_by_rank() -> const Item* {
  const std::size_t n = index.size();
  std::array<std::int32_t, kRanked> ranks;
  std::array<std::uint8_t, kRanked> seen{};  // of the same rank
  index.resize((n + 15) / 16 * 16);
  rank(index.data(), n, ranks.data());
  index.resize(n);
  for (std::size_t k = 0; k < n; ++k) {
    const auto r = static_cast<std::size_t>(ranks[k]);
    items[r + seen[r]++] = {index[k], value[k]};
  }
  return items.data();
}

auto Featurizer::Scratch::sort_by_digits() -> const Item* {
  const std::size_t n = index.size();
  Index all = 0;
  for (const Index i : index) all |= i;
  constexpr int kMost = 11;
  const int width = 32 - std::countl_zero(all);
  const int most = std::clamp(64 - std::countl_zero(std::uint64_t{n}), 4, kMost);  // about a counter a value
  const int passes = std::max((width + most - 1) / most, 1), digit = (width + passes - 1) / passes;
  const Index mask = (Index{1} << digit) - 1;
  std::array<std::uint32_t, 1 << kMost> place;
  other_items.resize(n);
  Item* from = items.data();
  Item* to = other_items.data();
  for (int pass = 0; pass < passes; ++pass) {
    const int shift = pass * digit;
    std::fill_n(place.begin(), mask + 1, 0u);
    for (std::size_t k = 0; k < n; ++k) ++place[index[k] >> shift & mask];
    std::exclusive_scan(place.begin(), place.begin() + mask + 1, place.begin(), 0u);
    if (pass == 0)
      for (std::size_t k = 0; k < n; ++k) to[place[index[k] & mask]++] = {index[k], value[k]};
    else
      for (std::size_t k = 0; k < n; ++k) to[place[from[k].index >> shift & mask]++] = from[k];
    std::swap(from, to);
  }
  return from;
}

template <class Place>
void Featurizer::gather(const Record& record, std::span<const Index> columns, Scratch& s, Place place) const {
  s.index.clear();
  s.value.clear();
  if (settings_.bias) s.add(0, 1);
  s.parts.clear();
  const bool products = !interactions_.empty();
  for (const RawText& text : record.texts) {
    const auto add = [&](char mark, std::string_view word) {
      s.name.assign(text.name).append(1, mark).append(word);
      s.add(place(s.name, false), 1);
      if (products) s.parts.add(s.name, text.name.size(), ColumnKind::kText, 1);
    };
    s.before.resize(settings_.ngrams - 1);  // strings keep their memory from word to word
    std::size_t before = 0;                 // that are of this text
    s.word.assign(text.name).append(1, '^');
    const std::size_t prefix = s.word.size();
    for_each_word(text.text, s.word, [&](std::string_view name) {
      s.add(place(name, false), 1);
      if (products) s.parts.add(name, text.name.size(), ColumnKind::kText, 1);
      const std::string_view word = name.substr(prefix);
      if (settings_.ngrams > 1) {
        s.gram = word;
        for (std::size_t n = 0; n < before; ++n)
          add('^', s.gram.insert(0, " ").insert(0, s.before[s.before.size() - 1 - n]));
        std::rotate(s.before.begin(), s.before.begin() + 1, s.before.end());
        s.before.back() = word;
        before = std::min(before + 1, s.before.size());
      }
      if (settings_.char_ngrams > 0)
        for_each_letters(word, settings_.char_ngrams, s.gram, [&](std::string_view part) { add('#', part); });
    });
  }
  if (settings_.binary && !record.texts.empty()) s.sort(true);
  const std::size_t texts = s.index.size();
  s.index.resize(texts + record.entries.size());
  s.value.resize(texts + record.entries.size());
  std::size_t size = texts;
  for (const Entry& e : record.entries) {
    Index at = 0;
    switch (e.kind) {
      case Entry::Kind::kIndex:
        at = 1 + e.index;
        break;
      case Entry::Kind::kColumn:
        at = columns[e.index];
        break;
      case Entry::Kind::kName:
        at = place(e.name, e.category);
        break;
    }
    s.index[size] = at;
    s.value[size] = e.value + 0.0;                       // no negative zero
    const bool even_0 = e.kind == Entry::Kind::kColumn;  // a 0 is a value, as one that is missing is none
    size += (e.value != 0 || even_0) && at != kLeftOut;
    if (products) add_part(e, s.parts);
  }
  s.index.resize(size);
  s.value.resize(size);
  if (products)
    interactions_.products(s.parts.get(), s.name, s.products_met,
                           [&](const std::string& name, double value) { s.add(place(name, false), value); });
}

Features Featurizer::arrange(Scratch& s) const {
  const auto not_ascending = [](Index a, Index b) { return a >= b; };
  if (std::adjacent_find(s.index.begin(), s.index.end(), not_ascending) != s.index.end()) s.sort(false);
  return finish(s, squared_norm({{}, s.value}));
}

Features Featurizer::row(std::span<const double> value, Scratch& s) const {
  std::size_t last = value.size();
  const bool of_columns = last > 0 && last == columns_.size();  // then a 0 is a value
  while (!of_columns && last > 0 && value[last - 1] == 0) --last;
  value = value.first(last);
  const auto filled = static_cast<std::size_t>(std::count_if(value.begin(), value.end(), [](double v) { return v != 0; }));
  s.index.clear();
  s.value.clear();
  if (of_columns || at_least_half_full(last, filled + settings_.bias)) {
    s.value.push_back(settings_.bias);
    for (const double v : value) s.value.push_back(v + 0.0);  // no negative zero
    return {{}, s.value, scale(s.value, squared_norm({{}, s.value}))};
  }
  if (settings_.bias) s.add(0, 1);
  for (std::size_t k = 0; k < last; ++k) s.add(static_cast<Index>(1 + k), value[k]);
  return {s.index, s.value, scale(s.value, squared_norm({{}, s.value}))};
}

Features Featurizer::finish(Scratch& s, double squares) const {
  const double norm = scale(s.value, squares);
  // A column that is missing is not to look like one that is 0.
  const auto none_missing = [&] {
    return columns_.size() == 0 || (s.index.back() == columns_.size() && s.index.size() == columns_.size() + settings_.bias);
  };
  if (!s.index.empty() && at_least_half_full(s.index.back(), s.index.size()) && none_missing()) {
    const std::size_t extent = std::size_t{s.index.back()} + 1, n = s.value.size();
    s.value.resize(extent, 0.0);
    for (std::size_t k = n; k-- > 0;) {
      const double v = s.value[k];
      s.value[k] = 0;
      s.value[s.index[k]] = v;
    }
    s.index.clear();
  }
  return {s.index, s.value, norm};
}

double Featurizer::scale(std::span<double> value, double squares) const {
  if (!settings_.normalize || !(squares > 0)) return 1;
  const double norm = std::sqrt(squares);
  for (double& v : value) v /= norm;
  return norm;
}

void Featurizer::check() {
  schema_.check();
  if (schema_.features.are > FeatureNames::Are::kArray || schema_.features.last > kMaxIndex)
    throw DataError("model file: names of features out of range");
  if (columns_fixed_ > 1 || columns_.size() > kMaxIndex / 2) throw DataError("model file: feature settings out of range");
}

}  // namespace quorate
