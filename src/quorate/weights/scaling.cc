#include "quorate/weights/scaling.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "quorate/base/error.h"
#include "quorate/base/memory.h"
#include "quorate/base/portable_math.h"
#include "quorate/base/simd.h"
#include "quorate/weights/raw_value.h"

namespace quorate {
namespace {

constexpr std::uint64_t kLookAt = 32;    // examples until `auto` decides whether data are dense
constexpr std::uint64_t kSparse = 8;     // counts are non-zero in less than 1 / kSparse of the features
constexpr double kMore = 0.3;            // `auto`: weight of a word's repetitions; docs/decisions/cohort.md
constexpr double kLarge = 32;            // least mean of whole values that are numbers
constexpr double kSeveral = 1.5;         // least mean of frequent whole values that are numbers, if texts are short
constexpr std::uint64_t kShort = 32;     // largest mean length of a short text, in words
constexpr std::uint32_t kObserved = 16;  // least number of values of a mean
constexpr double kTail = 3;              // largest sparse value
constexpr double kBias = 2;              // largest constant feature beside numbers
constexpr double kLargest = 1e38;        // largest sum of squares

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
      df_(slots, memory),
      values_(slots > 0 && is_auto() ? (slots + 3) / 4 : 0, memory),
      spreads_(memory) {}

std::size_t Scaling::slots_for(const Scale& scale, std::pmr::memory_resource* memory) {
  const Scaling trial(scale, 0, memory);
  if (!trial.weighs() || !is_limited(memory)) return 0;
  const std::size_t bytes = sizeof(std::uint32_t) + (trial.is_auto() ? sizeof(Values) / 4 : 0);
  return std::clamp<std::size_t>(bytes_left(memory) / 16 / bytes, 1, std::size_t{1} << 32);
}

std::string Scaling::description() const {
  std::string out = to_text(write_value(scale_));
  if (!is_auto()) return out;
  if (dense_) return out + ": none, as the data are not counts";
  const std::string counts = examples_ < kLookAt ? "log-idf so far" : "log-idf";
  if ((flags_ & kNumbers) == 0) return out + ": " + counts;
  std::size_t numbers = 0;
  for (std::size_t i = 0; i < spreads_.size(); ++i) numbers += !spreads_.spreads().constant(i);
  out += ": numbers in standard units (" + std::to_string(numbers) +
         ((flags_ & kColumns) != 0 ? " columns)" : " in nearly every example)");
  if ((flags_ & kCounts) == 0) return out;
  const double share = parts_.words() / (parts_.words() + parts_.columns());
  return out + ", counts by log-idf; words weigh " + std::to_string(std::lround(100 * share)) + " % beside them";
}

std::string Scaling::description(Index feature) const {
  if (!is_auto()) return "";
  if (feature >= kinds_.categories) return "1";
  if (feature > kinds_.numbers) return dense_ ? "none" : "log-idf";
  const std::size_t spread = spreads_.in_order()(feature);
  return spread == FeatureSpreads::kNone ? "nothing yet" : spreads_.spreads().description(spread);
}

bool Scaling::logarithm() const {
  return std::holds_alternative<ScaleLog>(scale_) || std::holds_alternative<ScaleLogIdf>(scale_) || (is_auto() && !dense_);
}

bool Scaling::weighs() const {
  return std::holds_alternative<ScaleIdf>(scale_) || std::holds_alternative<ScaleLogIdf>(scale_) || (is_auto() && !dense_);
}

bool Scaling::weighs_parts() const { return is_auto() && (flags_ & kNumbers) != 0 && (flags_ & kCounts) != 0; }

std::optional<Features> Scaling::words(const Features& x) const {
  if (!changes() || ((flags_ & kNumbers) != 0 && (flags_ & kColumns) == 0)) return {};
  if ((flags_ & kNumbers) == 0) return x;
  const Features words = split(x).words;
  if (words.size() == 0) return {};
  return words;
}

void Scaling::set_kinds(const FeatureKinds& kinds) {
  kinds_ = kinds;
  kinds_.numbers = static_cast<Index>(std::min<std::size_t>(kinds.numbers, FeatureSpreads::most(memory_)));
}

void Scaling::count(const Features& all) {
  if (!weighs() || examples_ == kMostExamples) return;
  if (is_auto()) spreads_.add_columns(kinds_.numbers);
  const Split parts = split(all);
  const Features& x = is_auto() ? parts.words : all;
  ++examples_;
  // Fast path: all values of most texts may be a word's counts, which is checked sixteen at a time.
  const bool looked = !is_auto() || (flags_ & kLooks) != 0;
  const bool plain = looked || all_values(x, [](double v) { return (v >= 0) & (v < kLarge) & (v == std::nearbyint(v)); });
  bool looks = false;
  const auto add = [&](std::size_t k, std::uint32_t& df) {
    if (x.value[k] != 0) distinct_ += ++df == 1;
  };
  df_.change(x, add);
  if (!plain)
    df_.read(x, [&](auto df) {
      for (std::size_t k = 0; k < x.size() && !looks; ++k)
        if (const double v = raw(x.value[k], x.norm); v != 0)
          looks = !is_whole_count(v) || (v >= kLarge && 2 * std::uint64_t{df(x.at(k))} > examples_);
    });
  if (!is_auto()) return;
  if (looks) flags_ |= kLooks;
  if (parts.columns_begin < parts.columns_end || parts.words_end < all.size()) flags_ |= kNumbers | kColumns;
  spreads_.count(all, parts.columns_begin, parts.columns_end, kinds_, examples_);
  if ((flags_ & kLooks) != 0) return count_values(x);
  const auto zeros = static_cast<std::size_t>(std::count(x.value.begin(), x.value.end(), 0.0));
  nonzeros_ += x.size() - zeros;
  if (x.size() > zeros) flags_ |= kCounts;
  if (examples_ == kLookAt && (flags_ & kNumbers) == 0 && kSparse * nonzeros_ >= kLookAt * distinct_) dense_ = true;
}

Scaling::Kind Scaling::kind(std::uint32_t df, const Values& values, std::size_t spread) const {
  const bool always =
      spread != FeatureSpreads::kNone && !spreads_.spreads().constant(spread) && nearly_always(df, examples_);
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
  df_.read(x, [&](auto df) {
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
  if (!looked_index_.empty()) values_.change({looked_index_, looked_value_}, add);
  auto spread_of = spreads_.in_order();
  df_.read(x, [&](auto df) {
    values_.read(x, [&](auto values) {
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
    df_.read(x, [&](auto df) {
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
  if (is_auto() && all_values(x, [](double v) { return v == 1; }))  // most texts: the same result with less work
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
  auto spread_of = spreads_.in_order();
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
  const Spreads& spreads = spreads_.spreads();
  if (spreads_.begin_with(all) && 2 * here >= all) {  // all columns at once, unless most are missing
    thread_local std::vector<double> value, scaled;
    value.resize(all);
    scaled.resize(all);
    gather_columns(x, parts.columns_begin, parts.columns_end, all, value, scaled);
    spreads.standard(value, scaled);
    for (std::size_t k = parts.columns_begin, c = 0; k < parts.columns_end; ++k, ++c)
      put(k, scaled[here == all ? c : x.at(k) - 1]);
  } else {
    for (std::size_t k = parts.columns_begin; k < parts.columns_end; ++k) {
      const std::size_t spread = spread_of(x.at(k));
      put(k, spread == FeatureSpreads::kNone || spreads.constant(spread)
                 ? 0
                 : spreads.standard(spread, raw_number(x.value[k], x.norm)));
    }
  }
  df_.read(parts.words, [&](auto df) {
    values_.read(parts.words, [&](auto values) {
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
          put(k, spreads.standard(spread, raw_number(x.value[k], x.norm)));
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
  const bool both = (flags_ & kCounts) != 0;
  const double weight = both ? parts_.columns() : 1, of_words = both ? parts_.words() : 1;
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
  const double length = part == Part::kColumns ? parts_.columns() : parts_.words();
  const Split parts = split(x);
  auto spread_of = spreads_.in_order();
  df_.read(parts.words, [&](auto df) {
    values_.read(parts.words, [&](auto values) {
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
  df_.pack(out.feature, std::pair(&out.df, [](std::uint32_t df) { return df; }));
  out.flags = (flags_ & (kLooks | kNumbers)) != 0 ? flags_ : 0;
  if (!is_auto()) return out;
  out.part_mistakes = parts_.pack();
  values_.pack(out.value_feature, std::pair(&out.value_count, [](const Values& v) { return v.count; }),
               std::pair(&out.value_sum, [](const Values& v) { return v.sum; }),
               std::pair(&out.value_squares, [](const Values& v) { return v.squares; }));
  out.spreads = spreads_.pack();
  return out;
}

void Scaling::unpack(const Packed& packed) {
  const auto check = [](bool good, const char* why) {
    if (!good) throw DataError(std::string("scale: ") + why);
  };
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
            (value_named == valued || value_named == 0) && (valued == 0 || (value_named == 0) == (named == 0)) &&
            (valued > 0 || !is_auto() || n == 0 || named > 0),
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
  PartWeights parts;
  if (is_auto()) parts.unpack(packed.part_mistakes);
  spreads_.unpack(packed.spreads, packed.examples);
  examples_ = packed.examples;
  nonzeros_ = packed.nonzeros;
  dense_ = packed.dense != 0;
  flags_ = packed.flags != 0 || nonzeros_ == 0 ? packed.flags : std::uint32_t{kCounts};
  distinct_ = distinct;
  parts_ = parts;
  df_.unpack(n, packed.feature, memory_, [&](std::size_t i) { return packed.df[i]; });
  values_.unpack(valued, packed.value_feature, memory_, [&](std::size_t i) {
    return Values{packed.value_count[i], packed.value_sum[i], packed.value_squares[i]};
  });
}

}  // namespace quorate
