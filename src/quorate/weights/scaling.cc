#include "quorate/weights/scaling.h"

#include <algorithm>
#include <cmath>

#include "quorate/base/error.h"
#include "quorate/base/memory.h"
#include "quorate/base/portable_math.h"
#include "quorate/base/simd.h"

namespace quorate {
namespace {

constexpr std::uint64_t kLookAt = 32;  // examples: `auto` then knows how full an instance is
constexpr std::uint64_t kSparse = 8;   // counts fill less than one in so many features
constexpr double kRounding = 0x1p-44;  // what dividing by a norm and multiplying again may do to a whole number
constexpr double kMore = 0.3;          // `auto`: what a word says by coming again; docs/cohort.md

/// What the data say of a feature.
double raw(double value, double norm) {
  const double v = value * norm, whole = std::nearbyint(v);
  return std::abs(v - whole) <= kRounding * std::abs(whole) ? whole : v;
}

/// Whether that is so of all that the data say. Counted, not left at the first that is not: without a branch it is SIMD.
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

}  // namespace

std::string Scaler::description() const {
  std::string out = to_text(write_value(scale_));
  if (!is_one_of<ScaleAuto>(scale_)) return out;
  if (counts_.real != 0) return out + ": none, as the data are not counts";
  return out + (counts_.examples < kLookAt ? ": log-idf so far" : ": log-idf");
}

bool Scaler::logarithm() const {
  return is_one_of<ScaleLog, ScaleLogIdf>(scale_) || (is_one_of<ScaleAuto>(scale_) && counts_.real == 0);
}

bool Scaler::weighs() const {
  return is_one_of<ScaleIdf, ScaleLogIdf>(scale_) || (is_one_of<ScaleAuto>(scale_) && counts_.real == 0);
}

bool Scaler::count(const Features& x) {
  if (is_one_of<ScaleAuto>(scale_) && counts_.real == 0) {
    if (!all_of(x, [](double v) { return (v >= 0) & (v == std::nearbyint(v)); })) counts_.real = 1;
  }
  if (!weighs() || counts_.examples == kMaxExamples) return false;
  ++counts_.examples;
  counts_.nonzeros += x.size() - static_cast<std::size_t>(std::count(x.value.begin(), x.value.end(), 0.0));
  return true;
}

void Scaler::counted(std::size_t distinct) {
  if (is_one_of<ScaleAuto>(scale_) && counts_.examples == kLookAt && kSparse * counts_.nonzeros >= kLookAt * distinct)
    counts_.real = 1;
}

void Scaler::operator()(const Features& x, std::span<double> out) const {
  const double *const value = x.value.data(), norm = x.norm;
  double* const at = out.data();
  const std::size_t n = x.size();
  const auto each = [=](auto scaled) {
    simd([=] {
      for (std::size_t k = 0; k < n; ++k) at[k] = scaled(raw(value[k], norm), at[k]);
    });
  };
  const double log_n = log_positive(static_cast<double>(counts_.examples) + 1);
  // Below 0 where features share counts.
  const auto idf = [log_n](double df) { return std::max(log_n - log_positive(std::max(df, 1.0)), 0.0); };
  const auto logarithm_of = [](double v) { return std::copysign(log_positive(1 + std::abs(v)), v); };
  if (is_one_of<ScaleAuto>(scale_) &&
      all_of(x, [](double v) { return v == 1; }))  // as most texts: the same, with less to do
    each([idf](double, double df) { return idf(df); });
  else if (is_one_of<ScaleAuto>(scale_))
    each([idf](double v, double df) {
      const double some = static_cast<double>(v > 0);  // without a branch
      return some * (1 + kMore * log_positive(v * some + (1 - some))) * idf(df);
    });
  else if (is_one_of<ScaleLogIdf>(scale_))
    each([=](double v, double df) { return logarithm_of(v) * idf(df); });
  else if (is_one_of<ScaleIdf>(scale_))
    each([idf](double v, double df) { return v * idf(df); });
  else
    each([logarithm_of](double v, double) { return logarithm_of(v); });
  const double length = std::sqrt(squared_norm({{}, out.first(n)}));
  if (length > 0)
    for (double& v : out.first(n)) v /= length;
}

void Scaler::unpack(const Counts& counts) {
  if (counts.real > 1 || counts.examples > kMaxExamples || counts.nonzeros / (kMaxIndex + 2ull) > counts.examples)
    throw DataError("scale: counts out of range");
  counts_ = counts;
}

Scaling::Scaling(const Scale& scale, std::size_t slots, std::pmr::memory_resource* memory)
    : scaler_(scale), memory_(memory), df_(SparseBlocks<std::uint32_t>(memory)) {
  if (slots > 0) df_.emplace<HashedCells<std::uint32_t>>(slots, memory);
}

std::size_t Scaling::slots(const Scale& scale, std::pmr::memory_resource* memory) {
  if (!Scaler(scale).weighs() || !is_limited(memory)) return 0;
  return std::clamp<std::size_t>(bytes_left(memory) / 16 / sizeof(std::uint32_t), 1, std::size_t{1} << 32);
}

void Scaling::count(const Features& x) {
  if (!scaler_.count(x)) return;
  const auto add = [&](std::size_t k, std::uint32_t& df) {
    if (x.value[k] != 0) distinct_ += ++df == 1;
  };
  std::visit([&](auto& df) { df.change(0, x, add); }, df_);
  scaler_.counted(distinct_);
}

Features Scaling::operator()(const Features& x, std::span<double> out) const {
  if (scaler_.weighs()) {
    if (const auto* table = std::get_if<HashedCells<std::uint32_t>>(&df_)) {
      for (std::size_t k = 0; k < x.size(); ++k) out[k] = table->at(0, x.at(k));
    } else {
      std::fill_n(out.begin(), x.size(), 0.0);
      std::get<0>(df_).read(0, x, [&](auto df) {
        for (std::size_t k = 0; k < x.size(); ++k) out[k] = df(x.at(k));
      });
    }
  }
  scaler_(x, out);
  return {x.index, out.first(x.size())};
}

Scaling::Packed Scaling::pack() const {
  Packed out{scaler_.pack(), {}, {}};
  if (const auto* table = std::get_if<HashedCells<std::uint32_t>>(&df_)) {
    out.df.assign(table->cells().begin(), table->cells().end());
    return out;
  }
  std::get<0>(df_).for_each([&](std::uint32_t, Index feature, std::uint32_t df) {
    out.feature.push_back(feature);
    out.df.push_back(df);
  });
  return out;
}

void Scaling::unpack(const Packed& packed) {
  const auto check = [](bool good, const char* why) {
    if (!good) throw DataError(std::string("scale: ") + why);
  };
  const std::size_t n = packed.df.size(), named = packed.feature.size();
  check(named == n || named == 0, "features and df differ in size");
  for (std::size_t i = 0; i < n; ++i) {
    if (named == 0) continue;
    check(packed.feature[i] <= kMaxIndex + 1 && (i == 0 || packed.feature[i] > packed.feature[i - 1]),
          "features out of order or range");
    check(packed.df[i] >= 1 && packed.df[i] <= packed.counts.examples, "a feature's df cannot be");
  }
  scaler_.unpack(packed.counts);
  distinct_ = n - static_cast<std::size_t>(std::count(packed.df.begin(), packed.df.end(), 0u));
  if (n > 0 && named == 0) {
    auto& table = df_.emplace<HashedCells<std::uint32_t>>(n, memory_);
    std::copy(packed.df.begin(), packed.df.end(), table.cells().begin());
    return;
  }
  const std::vector<double> unused(n);
  df_.emplace<SparseBlocks<std::uint32_t>>(memory_).change(0, {packed.feature, unused},
                                                           [&](std::size_t k, std::uint32_t& df) { df = packed.df[k]; });
}

}  // namespace quorate
