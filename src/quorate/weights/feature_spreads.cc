#include "quorate/weights/feature_spreads.h"

#include <bit>
#include <numeric>
#include <string>

#include "quorate/base/error.h"
#include "quorate/base/memory.h"
#include "quorate/base/simd.h"
#include "quorate/weights/raw_value.h"

namespace quorate {

std::size_t FeatureSpreads::most(std::pmr::memory_resource* memory) {
  constexpr std::size_t kPart = 16, kBytes = 288 + Spreads::kMost * sizeof(double);
  return memory_limit(memory) / kPart / kBytes;
}

void FeatureSpreads::add_columns(Index numbers) {
  const auto others = std::upper_bound(feature_.begin(), feature_.end(), numbers);
  const auto had = static_cast<std::size_t>(others - feature_.begin());
  if (had == numbers) return;
  std::vector<std::size_t> from;
  std::pmr::vector<Index> features(memory_);
  features.reserve(numbers + size() - had);
  std::size_t at = 0;
  for (Index feature = 1; feature <= numbers; ++feature) {
    features.push_back(feature);
    from.push_back(at < had && feature_[at] == feature ? at++ : Spreads::kNew);
  }
  features.insert(features.end(), others, feature_.end());
  for (at = had; at < size(); ++at) from.push_back(at);
  spreads_.arrange(from);
  feature_.swap(features);
}

void gather_columns(const Features& x, std::size_t begin, std::size_t end, std::size_t columns, std::span<double> value,
                    std::span<double> here) {
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

void FeatureSpreads::count(const Features& x, std::size_t begin, std::size_t end, const FeatureKinds& kinds,
                           std::uint64_t examples) {
  if (nearly_always(1, examples)) add(x, kinds);
  value_.resize(size());
  here_.resize(size());
  gather_columns(x, begin, end, kinds.numbers, value_, here_);
  std::size_t k = end;
  std::vector<std::size_t> kept;
  for (std::size_t i = kinds.numbers; i < size(); ++i) {
    const Index feature = feature_[i];
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
    const bool always = nearly_always(spreads_.times(i) + comes, examples);
    if (always || !(comes || std::has_single_bit(examples))) kept.push_back(i);
  }
  if (kinds.numbers + kept.size() < size()) keep(kinds.numbers, kept);
  spreads_.count(value_, here_, Spreads::level_of(examples));
}

/// Keeps the spreads of the number columns and `others`.
void FeatureSpreads::keep(std::size_t columns, std::span<const std::size_t> others) {
  std::vector<std::size_t> from(columns);
  std::iota(from.begin(), from.end(), std::size_t{0});
  from.insert(from.end(), others.begin(), others.end());
  spreads_.keep(from);
  for (std::size_t i = 0; i < from.size(); ++i) {
    feature_[i] = feature_[from[i]];
    value_[i] = value_[from[i]];
    here_[i] = here_[from[i]];
  }
  feature_.resize(from.size());
  feature_.shrink_to_fit();
}

/// Adds a spread for each feature of x without one, as many as memory holds.
void FeatureSpreads::add(const Features& x, const FeatureKinds& kinds) {
  const std::size_t old = size(), most_of_all = most(memory_);
  std::vector<Index> added;
  for (std::size_t k = 0, i = 0; k < x.size() && old + added.size() < most_of_all; ++k) {
    const Index feature = x.at(k);
    while (i < old && feature_[i] < feature) ++i;
    const bool has_one = i < old && feature_[i] == feature;
    if (feature > kinds.numbers && feature < kinds.categories && x.value[k] != 0 && !has_one) added.push_back(feature);
  }
  if (added.empty()) return;
  std::pmr::vector<Index> features(memory_);
  features.reserve(old + added.size());
  std::vector<std::size_t> from;
  for (std::size_t i = 0, a = 0; i < old || a < added.size();) {
    const bool is_old = a == added.size() || (i < old && feature_[i] < added[a]);
    features.push_back(is_old ? feature_[i] : added[a]);
    from.push_back(is_old ? i++ : Spreads::kNew);
    a += !is_old;
  }
  spreads_.arrange(from);
  feature_.swap(features);
}

FeatureSpreads::Packed FeatureSpreads::pack() const {
  Packed out;
  out.feature.assign(feature_.begin(), feature_.end());
  for (std::size_t i = 0; i < size(); ++i) {
    const Spreads::Packed p = spreads_.pack(i);
    const auto& sample = spreads_.sample(i);
    out.level.push_back(p.level);
    out.size.push_back(p.n);
    for (const double number : {p.low, p.high, p.mean, p.squares}) out.numbers.push_back(number);
    out.sample.insert(out.sample.end(), sample.begin(), sample.end());
    out.end.push_back(out.sample.size());
  }
  return out;
}

void FeatureSpreads::unpack(const Packed& packed, std::uint64_t examples) {
  const auto check = [](bool good, const char* why) {
    if (!good) throw DataError(std::string("scale: ") + why);
  };
  const std::size_t n = packed.feature.size();
  check(packed.level.size() == n && packed.size.size() == n && packed.end.size() == n && packed.numbers.size() == 4 * n,
        "spreads of features differ in size");
  Spreads all(memory_);
  all.arrange(std::vector(n, Spreads::kNew));
  std::size_t begin = 0;
  for (std::size_t i = 0; i < n; ++i) {
    check(packed.feature[i] <= kMaxIndex + 1 && packed.feature[i] > (i == 0 ? 0 : packed.feature[i - 1]) &&
              packed.size[i] <= examples,
          "spreads out of order or range");
    const std::size_t end = packed.end[i];
    check(end >= begin && end <= packed.sample.size(), "a spread's sample ends out of range");
    const double* number = packed.numbers.data() + 4 * i;
    all.unpack(i, {packed.size[i], packed.level[i], number[0], number[1], number[2], number[3]},
               std::span(packed.sample).subspan(begin, end - begin));
    begin = end;
  }
  check(begin == packed.sample.size(), "values that are of no spread");
  feature_.assign(packed.feature.begin(), packed.feature.end());
  feature_.shrink_to_fit();
  spreads_ = std::move(all);
}

}  // namespace quorate
