#include "quorate/weights/scaling.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

#include "quorate/base/error.h"
#include "quorate/base/memory.h"
#include "quorate/base/portable_math.h"
#include "quorate/base/simd.h"
#include "quorate/weights/hedge.h"

namespace quorate {
namespace {

constexpr std::uint64_t kLookAt = 32;    // examples until `auto` decides whether data are dense
constexpr std::uint64_t kSparse = 8;     // counts are non-zero in less than 1 / kSparse of the features
constexpr double kRounding = 0x1p-44;    // relative error of a whole number divided and multiplied by a norm
constexpr double kMore = 0.3;            // `auto`: weight of a word's repetitions; docs/decisions/cohort.md
constexpr double kLarge = 32;            // least mean of whole values that are numbers
constexpr double kSeveral = 1.5;         // least mean of frequent whole values that are numbers, if texts are short
constexpr std::uint64_t kShort = 32;     // largest mean length of a short text, in words
constexpr std::uint32_t kObserved = 16;  // least number of values of a mean
constexpr double kTail = 3;              // largest sparse value
constexpr double kBias = 2;              // largest constant feature beside numbers
constexpr double kLargest = 1e38;        // largest sum of squares
constexpr std::array<double, 7> kRatio{1.0 / 64, 1.0 / 16, 1.0 / 4, 1.0,
                                       4.0,      16.0,     64.0};  // squared length of columns to words
constexpr double kEta = 0.3;                                       // how fast mistakes decide
constexpr std::size_t kSpreadPart = 16, kSpreadBytes = 288 + Spreads::kMost * sizeof(double);

/// As std::nearbyint, without a call.
double nearest_whole(double v) {
  constexpr double kHalf = 0x1.8p52;
  return std::abs(v) < 0x1p51 ? (v + kHalf) - kHalf : v;
}

/// A feature's value as in the data, before the division by the norm.
double raw(double value, double norm) {
  const double v = value * norm, whole = nearest_whole(v);
  return std::abs(v - whole) <= kRounding * std::abs(whole) ? whole : v;
}

/// v rounded to 53 - `dropped` bits.
template <int dropped>
double rounded(double v) {
  constexpr double kFactor = static_cast<double>(std::uint64_t{1} << dropped) + 1;
  const double c = v * kFactor;
  return std::abs(c) <= std::numeric_limits<double>::max() ? c - (c - v) : v;
}

/// raw() of a number, rounded so that equal values of the data stay equal, and get equal ranks, in spite of rounding errors
/// of the norm. Whole numbers below 2^43 are unchanged, others have 33 bits; they are rounded to 44 bits first, as a value
/// may be halfway between two of 33 bits.
double raw_number(double value, double norm) {
  const double v = rounded<9>(raw(value, norm)), fewer = rounded<20>(v);
  return v == nearest_whole(v) && std::abs(v) < 0x1p43 ? v : fewer;
}

/// Whether `is` holds for all values as in the data. It counts instead of stopping early: without a branch the loop is SIMD.
template <class Is>
bool all_of(const Features& x, Is is) {
  std::int64_t others = 0;
  simd([&others, is, value = x.value.data(), norm = x.norm, n = x.size()] {
    std::int64_t sum = 0;
    for (std::size_t k = 0; k < n; ++k) sum += !is(raw(value[k], norm));
    others = sum;
  });
  return others == 0;
}

template <class... Ts>
bool is_one_of(const Scale& scale) {
  return (std::holds_alternative<Ts>(scale) || ...);
}

/// Calls use(at), where at(feature) is the cell of a feature of x.
template <class Cell, class Use>
void with_cells(const std::variant<SparseBlocks<Cell>, HashedCells<Cell>>& store, const Features& x, Use use) {
  if (const auto* table = std::get_if<HashedCells<Cell>>(&store)) return use([table](Index f) { return table->at(0, f); });
  bool none = true;
  std::get<0>(store).read(0, x, [&](auto at) {
    none = false;
    use(at);
  });
  if (none) use([](Index) { return Cell{}; });
}

bool is_whole_count(double v) {  // avoids the call of std::nearbyint
  return v >= 0 && (v >= 0x1p52 || v == static_cast<double>(static_cast<std::int64_t>(v)));
}

}  // namespace

/// An instance, split by the kinds of its features. Words are all features of unknown kind, with the constant feature unless
/// there are number columns.
struct Scaling::Split {
  Features words;
  std::size_t columns_begin = 0, columns_end = 0, words_begin = 0, words_end = 0;  // positions in x; categories follow
};

Scaling::Split Scaling::split(const Features& x) const {
  Split out;
  const std::size_t n = x.size();
  const auto first_from = [&](Index feature) {
    if (x.dense()) return std::min<std::size_t>(feature, n);
    return static_cast<std::size_t>(std::lower_bound(x.index.begin(), x.index.end(), feature) - x.index.begin());
  };
  if (kinds_.numbers > 0) {
    out.columns_begin = first_from(1);
    out.words_begin = out.columns_end = first_from(kinds_.numbers + 1);
  }
  out.words_end = kinds_.categories == FeatureKinds::kNone ? n : first_from(kinds_.categories);
  const std::size_t size = out.words_end - out.words_begin;
  if (!x.dense()) {
    out.words = {x.index.subspan(out.words_begin, size), x.value.subspan(out.words_begin, size), x.norm};
  } else if (out.words_begin == 0) {
    out.words = {{}, x.value.first(size), x.norm};
  } else {
    thread_local std::vector<Index> places;
    places.resize(size);
    std::iota(places.begin(), places.end(), static_cast<Index>(out.words_begin));
    out.words = {places, x.value.subspan(out.words_begin, size), x.norm};
  }
  return out;
}

Scaling::Scaling(const Scale& scale, std::size_t slots, std::pmr::memory_resource* memory)
    : scale_(scale),
      memory_(memory),
      df_(SparseBlocks<std::uint32_t>(memory)),
      values_(SparseBlocks<Values>(memory)),
      spread_feature_(memory),
      spreads_(memory) {
  lean();
  if (slots == 0) return;
  df_.emplace<HashedCells<std::uint32_t>>(slots, memory);
  if (is_auto()) values_.emplace<HashedCells<Values>>((slots + 3) / 4, memory);
}

std::size_t Scaling::slots() const {
  const auto* fixed = std::get_if<HashedCells<std::uint32_t>>(&df_);
  return fixed != nullptr ? fixed->cells().size() : 0;
}

std::size_t Scaling::slots_for(const Scale& scale, std::pmr::memory_resource* memory) {
  const Scaling trial(scale, 0, memory);
  if (!trial.weighs() || !is_limited(memory)) return 0;
  const std::size_t bytes = sizeof(std::uint32_t) + (trial.is_auto() ? sizeof(Values) / 4 : 0);
  return std::clamp<std::size_t>(bytes_left(memory) / 16 / bytes, 1, std::size_t{1} << 32);
}

auto Scaling::spreads_in_order() const {
  return [this, i = std::size_t{0}](Index feature) mutable -> std::size_t {
    if (i < spreads_.size() && spread_feature_[i] != feature) {
      const auto from = spread_feature_.begin() + static_cast<std::ptrdiff_t>(i);
      i = static_cast<std::size_t>(std::lower_bound(from, spread_feature_.end(), feature) - spread_feature_.begin());
    }
    return i < spreads_.size() && spread_feature_[i] == feature ? i++ : kNoSpread;
  };
}

std::string Scaling::description() const {
  std::string out = to_text(write_value(scale_));
  if (!is_auto()) return out;
  if (dense_) return out + ": none, as the data are not counts";
  const std::string counts = examples_ < kLookAt ? "log-idf so far" : "log-idf";
  if ((flags_ & kNumbers) == 0) return out + ": " + counts;
  std::size_t numbers = 0;
  for (std::size_t i = 0; i < spreads_.size(); ++i) numbers += !spreads_.constant(i);
  out += ": numbers in standard units (" + std::to_string(numbers) +
         ((flags_ & kColumns) != 0 ? " columns)" : " in nearly every example)");
  if ((flags_ & kCounts) == 0) return out;
  out += ", counts by log-idf";
  if (parts_learned_)
    out += "; words weigh " + std::to_string(std::lround(100 * of_words_ / (of_words_ + of_columns_))) + " % beside them";
  return out;
}

std::string Scaling::description(Index feature) const {
  if (!is_auto()) return "";
  if (feature >= kinds_.categories) return "1";
  if (feature > kinds_.numbers) return dense_ ? "none" : "log-idf";
  const std::size_t spread = spreads_in_order()(feature);
  return spread == kNoSpread ? "nothing yet" : spreads_.description(spread);
}

bool Scaling::logarithm() const {
  return std::holds_alternative<ScaleLog>(scale_) || std::holds_alternative<ScaleLogIdf>(scale_) || (is_auto() && !dense_);
}

bool Scaling::weighs() const {
  return std::holds_alternative<ScaleIdf>(scale_) || std::holds_alternative<ScaleLogIdf>(scale_) || (is_auto() && !dense_);
}

bool Scaling::weighs_parts() const {
  return is_auto() && parts_learned_ && (flags_ & kNumbers) != 0 && (flags_ & kCounts) != 0;
}

std::optional<Features> Scaling::words(const Features& x) const {
  if (!changes() || ((flags_ & kNumbers) != 0 && (flags_ & kColumns) == 0)) return {};
  if ((flags_ & kNumbers) == 0) return x;
  const Features words = split(x).words;
  if (words.size() == 0) return {};
  return words;
}

void Scaling::learn(double y, double of_columns, double of_words) {
  for (std::size_t i = 0; i < kRatio.size(); ++i)
    part_mistakes_[i] += y * (std::sqrt(kRatio[i]) * of_columns + of_words) <= 0;
  lean();
}

void Scaling::forget_labels() {
  part_mistakes_ = {};
  lean();
}

void Scaling::lean() {
  std::array<double, kRatio.size()> columns, words;
  for (std::size_t i = 0; i < kRatio.size(); ++i) {
    columns[i] = std::sqrt(kRatio[i] / (1 + kRatio[i]));
    words[i] = std::sqrt(1 / (1 + kRatio[i]));
  }
  const std::span<const std::uint64_t, kRatio.size()> mistakes(part_mistakes_);
  of_columns_ = hedged(mistakes, columns, kEta);
  of_words_ = hedged(mistakes, words, kEta);
}

void Scaling::set_kinds(const FeatureKinds& kinds) {
  kinds_ = kinds;
  const std::size_t most = memory_limit(memory_) / kSpreadPart / kSpreadBytes;
  kinds_.numbers = static_cast<Index>(std::min<std::size_t>(kinds.numbers, most));
}

/// Adds a spread for each number column.
void Scaling::add_columns() {
  const std::size_t n = kinds_.numbers;
  const auto others = std::upper_bound(spread_feature_.begin(), spread_feature_.end(), kinds_.numbers);
  const auto had = static_cast<std::size_t>(others - spread_feature_.begin());
  if (had == n) return;
  std::vector<std::size_t> from;
  std::pmr::vector<Index> features(memory_);
  features.reserve(n + spreads_.size() - had);
  std::size_t at = 0;
  for (Index feature = 1; feature <= n; ++feature) {
    features.push_back(feature);
    from.push_back(at < had && spread_feature_[at] == feature ? at++ : Spreads::kNew);
  }
  features.insert(features.end(), others, spread_feature_.end());
  for (at = had; at < spreads_.size(); ++at) from.push_back(at);
  spreads_.arrange(from);
  spread_feature_.swap(features);
}

void Scaling::count(const Features& all) {
  if (!weighs() || examples_ == kMostExamples) return;
  if (is_auto()) add_columns();
  const Split parts = split(all);
  const Features& x = is_auto() ? parts.words : all;
  ++examples_;
  // Fast path: all values of most texts may be a word's counts, which is checked sixteen at a time.
  const bool looked = !is_auto() || (flags_ & kLooks) != 0;
  const bool plain = looked || all_of(x, [](double v) { return (v >= 0) & (v < kLarge) & (v == std::nearbyint(v)); });
  bool looks = false;
  const auto add = [&](std::size_t k, std::uint32_t& df) {
    if (x.value[k] != 0) distinct_ += ++df == 1;
  };
  std::visit([&](auto& df) { df.change(0, x, add); }, df_);
  if (!plain)
    with_cells(df_, x, [&](auto df) {
      for (std::size_t k = 0; k < x.size() && !looks; ++k)
        if (const double v = raw(x.value[k], x.norm); v != 0)
          looks = !is_whole_count(v) || (v >= kLarge && 2 * std::uint64_t{df(x.at(k))} > examples_);
    });
  if (!is_auto()) return;
  if (looks) flags_ |= kLooks;
  if (parts.columns_begin < parts.columns_end || parts.words_end < all.size()) flags_ |= kNumbers | kColumns;
  count_spreads(all, parts);
  if ((flags_ & kLooks) != 0) return count_values(x);
  const auto zeros = static_cast<std::size_t>(std::count(x.value.begin(), x.value.end(), 0.0));
  nonzeros_ += x.size() - zeros;
  if (x.size() > zeros) flags_ |= kCounts;
  if (examples_ == kLookAt && (flags_ & kNumbers) == 0 && kSparse * nonzeros_ >= kLookAt * distinct_) dense_ = true;
}

/// Writes the values of number columns in order of spreads_, which starts with them. here: 1 if x has the column, else 0.
void Scaling::gather_columns(const Features& x, std::size_t begin, std::size_t end, std::span<double> value,
                             std::span<double> here) const {
  const std::size_t columns = kinds_.numbers;
  if (end - begin == columns) {
    simd([from = x.value.data() + begin, norm = x.norm, columns, to = value.data(), is = here.data()] {
      QUORATE_INDEPENDENT
      for (std::size_t i = 0; i < columns; ++i) {
        to[i] = raw_number(from[i], norm);
        is[i] = 1;
      }
    });
    return;
  }
  std::fill_n(value.begin(), columns, 0.0);
  std::fill_n(here.begin(), columns, 0.0);
  for (std::size_t k = begin; k < end; ++k) {
    value[x.at(k) - 1] = raw_number(x.value[k], x.norm);
    here[x.at(k) - 1] = 1;
  }
}

/// Counts values of features with a spread: number columns, and features of the first three examples while nearly every
/// example has them.
void Scaling::count_spreads(const Features& x, const Split& parts) {
  if (nearly_always(1)) add_spreads(x);
  value_.resize(spreads_.size());
  here_.resize(spreads_.size());
  gather_columns(x, parts.columns_begin, parts.columns_end, value_, here_);
  std::size_t k = parts.columns_end;
  std::vector<std::size_t> kept;
  for (std::size_t i = kinds_.numbers; i < spreads_.size(); ++i) {
    const Index feature = spread_feature_[i];
    if (x.dense()) {
      k = std::min<std::size_t>(feature, x.size());
    } else if (k >= x.size() || x.index[k] != feature) {
      k = static_cast<std::size_t>(
          std::lower_bound(x.index.begin() + static_cast<std::ptrdiff_t>(k), x.index.end(), feature) - x.index.begin());
    }
    const bool present = k < x.size() && x.at(k) == feature, comes = present && x.value[k] != 0;
    value_[i] = comes ? raw_number(x.value[k], x.norm) : 0;
    here_[i] = comes;
    k += present;
    const bool always = nearly_always(spreads_.times(i) + comes);
    if (always || !(comes || std::has_single_bit(examples_))) kept.push_back(i);
  }
  if (kinds_.numbers + kept.size() < spreads_.size()) keep_spreads(kept);
  spreads_.count(value_, here_, Spreads::level_of(examples_));
}

/// Keeps the spreads of the number columns and `others`.
void Scaling::keep_spreads(std::span<const std::size_t> others) {
  std::vector<std::size_t> from(kinds_.numbers);
  std::iota(from.begin(), from.end(), std::size_t{0});
  from.insert(from.end(), others.begin(), others.end());
  spreads_.keep(from);
  for (std::size_t i = 0; i < from.size(); ++i) {
    spread_feature_[i] = spread_feature_[from[i]];
    value_[i] = value_[from[i]];
    here_[i] = here_[from[i]];
  }
  spread_feature_.resize(from.size());
  spread_feature_.shrink_to_fit();
}

void Scaling::add_spreads(const Features& x) {
  const std::size_t old = spreads_.size(), most = memory_limit(memory_) / kSpreadPart / kSpreadBytes;
  std::vector<Index> added;
  for (std::size_t k = 0, i = 0; k < x.size() && old + added.size() < most; ++k) {
    const Index feature = x.at(k);
    while (i < old && spread_feature_[i] < feature) ++i;
    const bool has_one = i < old && spread_feature_[i] == feature;
    if (feature > kinds_.numbers && feature < kinds_.categories && x.value[k] != 0 && !has_one) added.push_back(feature);
  }
  if (added.empty()) return;
  std::pmr::vector<Index> features(memory_);
  features.reserve(old + added.size());
  std::vector<std::size_t> from;
  for (std::size_t i = 0, a = 0; i < old || a < added.size();) {
    const bool is_old = a == added.size() || (i < old && spread_feature_[i] < added[a]);
    features.push_back(is_old ? spread_feature_[i] : added[a]);
    from.push_back(is_old ? i++ : Spreads::kNew);
    a += !is_old;
  }
  spreads_.arrange(from);
  spread_feature_.swap(features);
}

Scaling::Kind Scaling::kind(std::uint32_t df, const Values& values, std::size_t spread) const {
  const bool always = spread != kNoSpread && !spreads_.constant(spread) && nearly_always(df);
  if (values.real()) return always ? Kind::kNumber : Kind::kSparse;
  // A word seldom occurs twice in a short text; a column of small counts is a number, and its idf would be nearly 0.
  const bool often = 2 * std::uint64_t{df} > examples_, likely = often && nonzeros_ <= kShort * examples_;
  const bool large = values.times() > 0 && values.sum >= kLarge * values.times();
  const bool known = examples_ >= kLookAt && values.times() >= kObserved;
  if (!(likely && large) && !(known && (large || (likely && values.sum >= kSeveral * values.times())))) return Kind::kCount;
  return always ? Kind::kNumber : often ? Kind::kSparse : Kind::kCount;
}

/// Looks at values that are not whole counts, and at those of features that come in more than half of the examples.
void Scaling::count_values(const Features& x) {
  looked_index_.resize(x.size());
  looked_value_.resize(x.size());
  std::size_t looked = 0;
  with_cells(df_, x, [&](auto df) {
    for (std::size_t k = 0; k < x.size(); ++k) {
      const double v = raw(x.value[k], x.norm);
      if (v == 0 || (is_whole_count(v) && 2 * std::uint64_t{df(x.at(k))} <= examples_)) continue;
      looked_index_[looked] = x.at(k);
      looked_value_[looked++] = v;
    }
  });
  looked_index_.resize(looked);
  looked_value_.resize(looked);
  const auto add = [&](std::size_t k, Values& values) {
    const double v = looked_value_[k];
    values.count = (values.count | !is_whole_count(v)) + (values.times() < 0x7FFFFFFFu ? 2 : 0);
    // Cut, so that a few long texts do not turn a word into a number.
    values.sum = static_cast<float>(values.sum + std::min(v, 2 * kLarge));
    values.squares = static_cast<float>(std::min(values.squares + v * v, kLargest));
  };
  if (!looked_index_.empty())
    std::visit([&](auto& values) { values.change(0, {looked_index_, looked_value_}, add); }, values_);
  auto spread_of = spreads_in_order();
  with_cells(df_, x, [&](auto df) {
    with_cells(values_, x, [&](auto values) {
      for (std::size_t k = 0; k < x.size(); ++k) {
        const Index f = x.at(k);
        if (f == 0 || x.value[k] == 0) continue;
        const bool counts = kind(df(f), values(f), spread_of(f)) == Kind::kCount;
        nonzeros_ += counts;
        flags_ |= counts ? kCounts : kNumbers;
      }
    });
  });
}

Features Scaling::operator()(const Features& x, std::span<double> out) const {
  if ((flags_ & kNumbers) != 0)
    scale_blocks(x, out);
  else
    scale_counts(x, out);
  return {x.index, out.first(x.size())};
}

void Scaling::scale_counts(const Features& x, std::span<double> out) const {
  const double *const value = x.value.data(), norm = x.norm;
  double* const at = out.data();
  const std::size_t n = x.size();
  if (weighs())
    with_cells(df_, x, [&](auto df) {
      for (std::size_t k = 0; k < n; ++k) at[k] = df(x.at(k));
    });
  const auto each = [=](auto scaled) {
    simd([=] {
      for (std::size_t k = 0; k < n; ++k) at[k] = scaled(raw(value[k], norm), at[k]);
    });
  };
  const double log_n = log_positive(static_cast<double>(examples_) + 1);
  // Below 0 without the max() where features share counts.
  const auto idf = [log_n](double df) { return std::max(log_n - log_positive(std::max(df, 1.0)), 0.0); };
  const auto logarithm_of = [](double v) { return std::copysign(log_positive(1 + std::abs(v)), v); };
  if (is_auto() && all_of(x, [](double v) { return v == 1; }))  // most texts: the same result with less work
    each([idf](double, double df) { return idf(df); });
  else if (is_auto())
    each([idf](double v, double df) {
      const double some = static_cast<double>(v > 0);  // without a branch
      return some * (1 + kMore * log_positive(v * some + (1 - some))) * idf(df);
    });
  else if (std::holds_alternative<ScaleLogIdf>(scale_))
    each([=](double v, double df) { return logarithm_of(v) * idf(df); });
  else if (std::holds_alternative<ScaleIdf>(scale_))
    each([idf](double v, double df) { return v * idf(df); });
  else
    each([logarithm_of](double v, double) { return logarithm_of(v); });
  const double length = std::sqrt(squared_norm({{}, out.first(n)}));
  if (length > 0)
    for (double& v : out.first(n)) v /= length;
}

void Scaling::scale_blocks(const Features& x, std::span<double> out) const {
  const std::size_t n = x.size();
  const double log_n = log_positive(static_cast<double>(examples_) + 1);
  const auto idf = [log_n](std::uint32_t df) { return std::max(log_n - log_positive(std::max<double>(df, 1)), 0.0); };
  double squares_of_columns = 0, squares_of_words = 0;
  std::size_t columns = 0;
  auto spread_of = spreads_in_order();
  const Split parts = split(x);
  thread_local std::vector<char> is_column;  // of the words; thread_local, as several threads may read
  is_column.assign(parts.words_end - parts.words_begin, 1);
  const auto put = [&](std::size_t k, double v) {
    ++columns;
    out[k] = v;
    squares_of_columns += v * v;
  };
  if (n > 0) out[0] = 0;
  const std::size_t here = parts.columns_end - parts.columns_begin, all = kinds_.numbers;
  const bool counted = all > 0 && all <= spreads_.size() && spread_feature_[all - 1] == all;
  if (counted && 2 * here >= all) {  // all columns at once, unless most are missing
    thread_local std::vector<double> value, scaled;
    value.resize(all);
    scaled.resize(all);
    gather_columns(x, parts.columns_begin, parts.columns_end, value, scaled);
    spreads_.standard(value, scaled);
    for (std::size_t k = parts.columns_begin, c = 0; k < parts.columns_end; ++k, ++c)
      put(k, scaled[here == all ? c : x.at(k) - 1]);
  } else {
    for (std::size_t k = parts.columns_begin; k < parts.columns_end; ++k) {
      const std::size_t spread = spread_of(x.at(k));
      put(k,
          spread == kNoSpread || spreads_.constant(spread) ? 0 : spreads_.standard(spread, raw_number(x.value[k], x.norm)));
    }
  }
  with_cells(df_, parts.words, [&](auto df) {
    with_cells(values_, parts.words, [&](auto values) {
      for (std::size_t k = parts.words_begin; k < parts.words_end; ++k) {
        const Index f = x.at(k);
        const double v = raw(x.value[k], x.norm);
        out[k] = 0;
        if (f == 0 || v == 0) continue;
        const std::uint32_t seen = df(f);
        const Values of_feature = values(f);
        const std::size_t spread = spread_of(f);
        Kind what = kind(seen, of_feature, spread);
        if (seen == 0 && !is_whole_count(v)) what = Kind::kSparse;
        if (what == Kind::kCount) {
          out[k] = v > 0 ? (1 + kMore * log_positive(v)) * idf(seen) : 0;
          squares_of_words += out[k] * out[k];
          is_column[k - parts.words_begin] = 0;
        } else if (what == Kind::kNumber) {
          put(k, spreads_.standard(spread, raw_number(x.value[k], x.norm)));
        } else {
          double scaled = 0;
          if (of_feature.squares > 0) {
            const double rms = std::sqrt(static_cast<double>(of_feature.squares) / of_feature.times());
            // The logarithm grows with rarity, and is never 0.
            scaled = std::clamp(v / rms, -kTail, kTail) *
                     log_positive(1 + static_cast<double>(examples_) / std::max<double>(seen, 1));
          }
          put(k, scaled);
        }
      }
    });
  });
  for (std::size_t k = parts.words_end; k < n; ++k) put(k, raw(x.value[k], x.norm));
  if (n > 0 && x.at(0) == 0 && x.value[0] != 0) {  // the constant feature
    out[0] = std::min(kBias, std::sqrt(static_cast<double>(columns) / 2));
    if (parts.words_begin == 0 && parts.words_end > 0) is_column[0] = 1;
    squares_of_columns += out[0] * out[0];
  }
  double weight = of_columns_, of_words = of_words_;
  if ((flags_ & kCounts) == 0) {
    weight = of_words = 1;
  } else if (!parts_learned_) {
    const double words = std::max(1.0, static_cast<double>(nonzeros_) / static_cast<double>(examples_));
    weight = std::sqrt(1 / (1 + words));
    of_words = std::sqrt(words / (1 + words));
  }
  const double of_column = squares_of_columns > 0 ? weight / std::sqrt(squares_of_columns) : 0,
               of_word = squares_of_words > 0 ? of_words / std::sqrt(squares_of_words) : 0;
  for (double& v : out.first(parts.words_begin)) v *= of_column;
  for (std::size_t k = parts.words_begin; k < parts.words_end; ++k)
    out[k] *= is_column[k - parts.words_begin] != 0 ? of_column : of_word;
  for (double& v : out.first(n).subspan(parts.words_end)) v *= of_column;
}

std::span<const double> Scaling::only(Part part, const Features& x, std::span<const double> scaled,
                                      std::span<double> out) const {
  const std::size_t n = x.size();
  const double length = part == Part::kColumns ? of_columns_ : of_words_;
  const Split parts = split(x);
  auto spread_of = spreads_in_order();
  with_cells(df_, parts.words, [&](auto df) {
    with_cells(values_, parts.words, [&](auto values) {
      for (std::size_t k = 0; k < n; ++k) {
        const Index f = x.at(k);
        const bool word = k >= parts.words_begin && k < parts.words_end && f != 0 && x.value[k] != 0 &&
                          kind(df(f), values(f), spread_of(f)) == Kind::kCount;
        out[k] = word == (part == Part::kWords) ? scaled[k] / length : 0;
      }
    });
  });
  return out.first(n);
}

Scaling::Packed Scaling::pack() const {
  Packed out;
  out.examples = examples_;
  out.nonzeros = nonzeros_;
  out.dense = dense_;
  const auto cells = []<class Cell>(const Store<Cell>& store, Column<std::uint32_t>* feature, auto... part) {
    if (const auto* table = std::get_if<HashedCells<Cell>>(&store)) {
      const auto& all = table->cells();
      const auto take = [&all]<class T>(Column<T>* column, auto get) {
        *column = Column<T>::of(all.size(), [&all, get](std::size_t i) { return get(all[i]); });
      };
      return (take(part.first, part.second), ...);
    }
    const auto& blocks = std::get<0>(store);
    const auto order = blocks.order();
    *feature = blocks.template column<Index>(order, [](Index f, const Cell&) { return f; });
    const auto take = [&blocks, &order]<class T>(Column<T>* column, auto get) {
      *column = blocks.template column<T>(order, [get](Index, const Cell& cell) { return get(cell); });
    };
    (take(part.first, part.second), ...);
  };
  cells(df_, &out.feature, std::pair(&out.df, [](std::uint32_t df) { return df; }));
  out.flags = (flags_ & (kLooks | kNumbers)) != 0 ? flags_ : 0;
  if (!is_auto()) return out;
  if (parts_learned_) out.part_mistakes.assign(part_mistakes_.begin(), part_mistakes_.end());
  cells(values_, &out.value_feature, std::pair(&out.value_count, [](const Values& v) { return v.count; }),
        std::pair(&out.value_sum, [](const Values& v) { return v.sum; }),
        std::pair(&out.value_squares, [](const Values& v) { return v.squares; }));
  out.spread_feature.assign(spread_feature_.begin(), spread_feature_.end());
  for (std::size_t i = 0; i < spreads_.size(); ++i) {
    const Spreads::Packed p = spreads_.pack(i);
    const auto& sample = spreads_.sample(i);
    out.spread_level.push_back(p.level);
    out.spread_size.push_back(p.n);
    for (const double number : {p.low, p.high, p.mean, p.squares}) out.spread_numbers.push_back(number);
    out.spread_sample.insert(out.spread_sample.end(), sample.begin(), sample.end());
    out.spread_end.push_back(out.spread_sample.size());
  }
  return out;
}

void Scaling::unpack(const Packed& packed) {
  const auto check = [](bool good, const char* why) {
    if (!good) throw DataError(std::string("scale: ") + why);
  };
  check(packed.part_mistakes.empty() || packed.part_mistakes.size() == kRatio.size(), "mistakes of parts out of range");
  const std::size_t n = packed.df.size(), named = packed.feature.size();
  check(packed.dense <= 1 && packed.examples <= kMostExamples && packed.flags <= (kLooks | kNumbers | kCounts | kColumns) &&
            packed.nonzeros / (kMaxIndex + 2ull) <= packed.examples,
        "counts out of range");
  check(named == n || named == 0, "features and df differ in size");
  Index before = 0;
  std::size_t distinct = 0;
  for (std::size_t i = 0; i < n; ++i) {
    distinct += packed.df[i] > 0;
    if (named == 0) continue;
    const Index feature = packed.feature[i];
    check(feature <= kMaxIndex + 1 && (i == 0 || feature > before), "features out of order or range");
    check(packed.df[i] >= 1 && packed.df[i] <= packed.examples, "a feature's df is 0 or above the examples");
    before = feature;
  }
  const std::size_t valued = packed.value_count.size(), value_named = packed.value_feature.size();
  check(packed.value_sum.size() == valued && packed.value_squares.size() == valued &&
            (value_named == valued || value_named == 0) && (valued == 0 || (value_named == 0) == (named == 0)),
        "values of features differ in size");
  for (std::size_t i = 0; i < valued; ++i) {
    const float squares = packed.value_squares[i];
    check(std::isfinite(packed.value_sum[i]) && squares >= 0 && static_cast<double>(squares) <= kLargest * 1.001 &&
              (squares == 0 || packed.value_count[i] >= 2),
          "values of a feature out of range");
    if (value_named == 0) continue;
    const Index feature = packed.value_feature[i];
    check(feature <= kMaxIndex + 1 && (i == 0 || feature > before), "features out of order or range");
    before = feature;
  }
  const std::size_t spreads = packed.spread_feature.size();
  check(packed.spread_level.size() == spreads && packed.spread_size.size() == spreads &&
            packed.spread_end.size() == spreads && packed.spread_numbers.size() == 4 * spreads,
        "spreads of features differ in size");
  Spreads all(memory_);
  all.arrange(std::vector(spreads, Spreads::kNew));
  std::size_t begin = 0;
  for (std::size_t i = 0; i < spreads; ++i) {
    check(packed.spread_feature[i] <= kMaxIndex + 1 &&
              packed.spread_feature[i] > (i == 0 ? 0 : packed.spread_feature[i - 1]) &&
              packed.spread_size[i] <= packed.examples,
          "spreads out of order or range");
    const std::size_t end = packed.spread_end[i];
    check(end >= begin && end <= packed.spread_sample.size(), "a spread's sample ends out of range");
    const double* number = packed.spread_numbers.data() + 4 * i;
    all.unpack(i, {packed.spread_size[i], packed.spread_level[i], number[0], number[1], number[2], number[3]},
               std::span(packed.spread_sample).subspan(begin, end - begin));
    begin = end;
  }
  check(begin == packed.spread_sample.size(), "values that are of no spread");
  examples_ = packed.examples;
  nonzeros_ = packed.nonzeros;
  dense_ = packed.dense != 0;
  flags_ = packed.flags != 0 || nonzeros_ == 0 ? packed.flags : std::uint32_t{kCounts};
  distinct_ = distinct;
  spread_feature_.assign(packed.spread_feature.begin(), packed.spread_feature.end());
  spread_feature_.shrink_to_fit();
  spreads_ = std::move(all);
  parts_learned_ = !is_auto() || !packed.part_mistakes.empty();
  part_mistakes_ = {};
  std::copy(packed.part_mistakes.begin(), packed.part_mistakes.end(), part_mistakes_.begin());
  lean();
  const auto restore = [&]<class Cell>(Store<Cell>& store, std::size_t size, const Column<std::uint32_t>& feature,
                                       auto cell) {
    if (size > 0 && feature.empty()) {
      auto& table = store.template emplace<HashedCells<Cell>>(size, memory_);
      for (std::size_t i = 0; i < size; ++i) table.cells()[i] = cell(i);
      return;
    }
    auto& blocks = store.template emplace<SparseBlocks<Cell>>(memory_);
    if (size == 0) return;
    blocks.reserve_blocks(1, {});
    blocks.restore(
        0, size, [&](std::size_t k) { return feature[k]; }, cell);
  };
  restore(df_, n, packed.feature, [&](std::size_t i) { return packed.df[i]; });
  if (is_auto() && named == 0 && n > 0 && valued == 0)  // a file without values
    values_.emplace<HashedCells<Values>>((n + 3) / 4, memory_);
  else
    restore(values_, valued, packed.value_feature, [&](std::size_t i) {
      return Values{packed.value_count[i], packed.value_sum[i], packed.value_squares[i]};
    });
}

}  // namespace quorate
