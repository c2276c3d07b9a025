#include "quorate/weights/spread.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>

#include "quorate/base/error.h"
#include "quorate/base/memory.h"
#include "quorate/base/portable_math.h"
#include "quorate/base/simd.h"

namespace quorate {
namespace {

// The knots: the smallest value, the quantiles where a standard normal is at -2, -1, 0, 1, 2, and the largest value.
constexpr std::array kZ{-3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0};
constexpr std::array kP{0.022750131948179207, 0.15865525393145705, 0.5, 0.8413447460685429, 0.9772498680518208};
// The standard value of the smallest value if it is repeated up to each knot: the mean of that share of the smallest values
// of a standard normal.
constexpr std::array kLowest{-3.0, -2.373, -1.525, -0.798, -0.288, -0.055, 0.0};
constexpr double kNear = 0.3, kFar = 0.6;  // distance of knots from a normal's: below, standardised; above, ranked
constexpr std::size_t kFew = 12;     // up to kFew different values: flags or small counts, whose ranks are too far apart
constexpr double kCut = 16;          // values before outliers are cut
constexpr double kTail = 3;          // largest value in standard units
constexpr std::uint64_t kMany = 91;  // sample size from which the largest normal value exceeds kTail
constexpr double kRough = 1e-6, kSure = 1e6;
constexpr std::size_t kPart = 64;  // columns that are counted together

/// Room of a sample, a function of its contents only. Under a memory limit all is allocated at once, as there may be none
/// left later.
std::size_t room_for(std::size_t size, std::uint64_t level, std::pmr::memory_resource* memory) {
  return level > 0 || is_limited(memory) ? Spreads::kMost : std::bit_ceil(std::max<std::size_t>(size, 4));
}

/// The quantile p of a sample in ascending order; `low` if it is empty.
double quantile(std::span<const double> sample, double p, double low) {
  if (sample.empty()) return low;
  const double at = p * static_cast<double>(sample.size() - 1);
  const auto k = static_cast<std::size_t>(at);
  if (k + 1 == sample.size() || sample[k] == sample[k + 1]) return sample[k];
  return sample[k] + (at - static_cast<double>(k)) * (sample[k + 1] - sample[k]);
}

/// std::clamp without a branch.
double between(double v, double low, double high) { return v < low ? low : high < v ? high : v; }

}  // namespace

unsigned Spreads::level_of(std::uint64_t n) {
  std::uint64_t z = n * 0x9E3779B97F4A7C15u;  // splitmix64
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
  z = (z ^ z >> 27) * 0x94D049BB133111EBu;
  return static_cast<unsigned>(std::countr_zero(z ^ z >> 31));
}

void Spreads::arrange(std::span<const std::size_t> from) {
  std::pmr::vector<double> numbers(kNumbers * from.size(), numbers_.get_allocator());
  std::pmr::vector<Sample> samples(samples_.get_allocator());
  std::pmr::memory_resource* const memory = numbers_.get_allocator().resource();
  samples.reserve(from.size());
  for (std::size_t i = 0; i < from.size(); ++i) {
    samples.emplace_back(memory);
    if (from[i] == kNew && is_limited(memory)) samples.back().values.reserve(kMost);
  }
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (from[i] == kNew) {
      numbers[kFewValues * from.size() + i] = 1;
      continue;
    }
    samples[i] = std::move(samples_[from[i]]);
    for (std::size_t number = 0; number < kNumbers; ++number) numbers[number * from.size() + i] = at(number, from[i]);
  }
  numbers_.swap(numbers);
  samples_.swap(samples);
}

void Spreads::keep(std::span<const std::size_t> places) {
  const std::size_t before = size();
  for (std::size_t number = 0; number < kNumbers; ++number)
    for (std::size_t i = 0; i < places.size(); ++i)
      numbers_[number * places.size() + i] = numbers_[number * before + places[i]];
  for (std::size_t i = 0; i < places.size(); ++i)
    if (places[i] != i) samples_[i] = std::move(samples_[places[i]]);
  numbers_.resize(kNumbers * places.size());
  samples_.erase(samples_.begin() + static_cast<std::ptrdiff_t>(places.size()), samples_.end());
  numbers_.shrink_to_fit();
  samples_.shrink_to_fit();
}

void Spreads::count(std::span<const double> value, std::span<const double> here, unsigned level) {
  std::pmr::memory_resource* const memory = numbers_.get_allocator().resource();
  for (std::size_t i = 0; i < size(); ++i)
    if (Sample& s = samples_[i]; level >= s.level && here[i] != 0)
      s.values.reserve(room_for(s.values.size() + 1, s.level, memory));
  for (std::size_t begin = 0; begin < size(); begin += kPart)
    count_part(begin, std::min(begin + kPart, size()), value, here, level);
}

void Spreads::count_part(std::size_t begin, std::size_t end, std::span<const double> values,
                         std::span<const double> are_here, unsigned level) {
  const double *const value = values.data(), *const here = are_here.data();
  double *const count = all(kCount), *const low = all(kLow), *const high = all(kHigh);
  std::int64_t moved = 0;
  std::array<double, kPart> moves;
  simd([=, &moved, move = moves.data()] {
    std::int64_t any = 0;
    QUORATE_INDEPENDENT
    for (std::size_t i = begin; i < end; ++i) {
      const double v = value[i], l = low[i], h = high[i], n = count[i] + here[i];
      const double below = n == 1 ? v : v < l ? v : l, above = n == 1 ? v : h < v ? v : h;
      const double out = n == 1 ? 1.0 : v < l ? 1.0 : h < v ? 1.0 : 0.0, moves_here = here[i] != 0 ? out : 0.0;
      low[i] = here[i] != 0 ? below : l;
      high[i] = here[i] != 0 ? above : h;
      count[i] = n;
      move[i - begin] = moves_here;
      any |= moves_here != 0 ? 1 : 0;
    }
    moved = any;
  });
  for (std::size_t i = begin; i < end; ++i) {
    const bool enters = level >= samples_[i].level && here[i] != 0;
    if (enters) enter(i, value[i]);
    if (enters || (moved != 0 && moves[i - begin] != 0)) find_quantiles(i);
  }
  simd([=, this] {
    const double *const q = all(kQuantile), *const n = all(kCount);
    double *const mean = all(kMean), *const squares = all(kSquares);
    const std::size_t stride = size();
    QUORATE_INDEPENDENT
    for (std::size_t i = begin; i < end; ++i) {
      const double width = q[3 * stride + i] - q[stride + i], least = q[i] - width, most = q[4 * stride + i] + width;
      const double v = value[i], cut = between(v, least, most), wide = width > 0 ? cut : v, u = n[i] > kCut ? wide : v;
      const double d = u - mean[i], moved_mean = mean[i] + d / n[i], more = squares[i] + d * (u - moved_mean);
      mean[i] = here[i] != 0 ? moved_mean : mean[i];
      squares[i] = here[i] != 0 ? more : squares[i];
    }
  });
  judge(begin, end);
}

void Spreads::judge(std::size_t begin, std::size_t end) {
  std::int64_t some_between = 0;
  simd([=, this, &some_between] {
    std::int64_t any = 0;
    const double *const q = all(kQuantile), *const n = all(kCount), *const mean = all(kMean), *const squares = all(kSquares);
    const double* const few = all(kFewValues);
    double *const deviation = all(kDeviation), *const ranked = all(kRanked);
    const std::size_t stride = size();
    QUORATE_INDEPENDENT
    for (std::size_t i = begin; i < end; ++i) {
      const double m = mean[i], d = std::sqrt(squares[i] / n[i]);
      // Most columns are clearly normal or clearly not, which is decided without a division.
      const double a = std::abs(q[i] - m - kZ[1] * d), b = std::abs(q[stride + i] - m - kZ[2] * d),
                   c = std::abs(q[2 * stride + i] - m - kZ[3] * d), e = std::abs(q[3 * stride + i] - m - kZ[4] * d),
                   f = std::abs(q[4 * stride + i] - m - kZ[5] * d);
      const double ab = a < b ? b : a, ce = c < e ? e : c, abce = ab < ce ? ce : ab, off = abce < f ? f : abce;
      const double far = off > (kFar + kRough) * d ? 1.0 : -1.0, sure = off < kSure * d ? far : -1.0;
      const double near = off < (kNear - kRough) * d ? 0.0 : sure, not_few = few[i] != 0 ? 0.0 : near;
      const double not_flat = d > 1e-9 * std::abs(m) ? not_few : 1.0;
      ranked[i] = not_flat;
      deviation[i] = d;
      any |= not_flat < 0 ? 1 : 0;
    }
    some_between = any;
  });
  for (std::size_t i = begin; i < end && some_between != 0; ++i)
    if (at(kRanked, i) < 0) all(kRanked)[i] = share_of_ranks(i);
}

/// Adds a value to the sample, which has room for it.
void Spreads::enter(std::size_t i, double v) {
  auto& [values, level] = samples_[i];
  values.insert(std::upper_bound(values.begin(), values.end(), v), v);
  if (values.size() < kMost) return;
  std::size_t kept = 0;  // every second value stays
  for (std::size_t k = level % 2; k < kMost; k += 2) values[kept++] = values[k];
  values.resize(kept);
  ++level;
}

void Spreads::find_quantiles(std::size_t i) {
  const auto& values = samples_[i].values;
  for (std::size_t k = 0; k < kP.size(); ++k) all(kQuantile + k)[i] = quantile(values, kP[k], at(kLow, i));
  std::size_t distinct = 0;
  for (std::size_t k = 0; k < values.size() && distinct <= kFew; ++k) distinct += k == 0 || values[k] != values[k - 1];
  all(kFewValues)[i] = distinct <= kFew;
}

std::array<double, Spreads::kKnots> Spreads::knots(std::size_t i) const {
  std::array<double, kKnots> out{};
  out.front() = at(kLow, i);
  for (std::size_t k = 0; k < kP.size(); ++k) out[k + 1] = at(kQuantile + k, i);
  out.back() = at(kHigh, i);
  return out;
}

/// Linear between knots. A value equal to several knots gets their middle; at either end, the mean of kLowest.
double Spreads::rank(std::size_t i, double v) const {
  const auto knots_of = knots(i);
  const auto first = static_cast<std::size_t>(std::lower_bound(knots_of.begin(), knots_of.end(), v) - knots_of.begin());
  const auto last = static_cast<std::size_t>(std::upper_bound(knots_of.begin(), knots_of.end(), v) - knots_of.begin());
  if (last > first && first == 0) return kLowest[last - 1];
  if (last > first && last == kKnots) return -kLowest[kKnots - 1 - first];
  if (last > first) return (kZ[first] + kZ[last - 1]) / 2;
  if (first == 0) return kZ.front();
  if (first == kKnots) return kZ.back();
  return kZ[first - 1] + (kZ[first] - kZ[first - 1]) * ((v - knots_of[first - 1]) / (knots_of[first] - knots_of[first - 1]));
}

double Spreads::standard(std::size_t i, double v) const {
  const double n = at(kCount, i);
  if (n < 2) return 0;
  const double most = n < kMany ? std::min(kTail, std::sqrt(2 * log_positive(n))) : kTail;  // largest of n normal numbers
  const double share = at(kRanked, i), ranked = share > 0 ? std::clamp(rank(i, v), -most, most) : 0;
  if (share == 1) return ranked;
  const double standardised = std::clamp((v - at(kMean, i)) / at(kDeviation, i), -most, most);
  return share > 0 ? share * ranked + (1 - share) * standardised : standardised;
}

void Spreads::standard(std::span<const double> values, std::span<double> scaled) const {
  const std::size_t n = values.size();
  std::int64_t ranked = 0, early = 0;
  simd([=, this, &ranked, &early, value = values.data(), out = scaled.data()] {
    const double *const mean = all(kMean), *const deviation = all(kDeviation), *const share = all(kRanked);
    const double *const low = all(kLow), *const high = all(kHigh), *const count = all(kCount);
    std::int64_t some_ranked = 0, some_early = 0;
    QUORATE_INDEPENDENT
    for (std::size_t i = 0; i < n; ++i) {
      const double z = between((value[i] - mean[i]) / deviation[i], -kTail, kTail);
      out[i] = low[i] < high[i] ? z : 0.0;
      some_ranked |= share[i] > 0 ? 1 : 0;
      some_early |= count[i] < kMany ? 1 : 0;
    }
    ranked = some_ranked;
    early = some_early;
  });
  // As rank(), for all columns at once.
  if (ranked != 0)
    simd([=, this, value = values.data(), out = scaled.data()] {
      const double *const q0 = all(kQuantile), *const q1 = q0 + size(), *const q2 = q1 + size(), *const q3 = q2 + size(),
                          *const q4 = q3 + size(), *const low = all(kLow), *const high = all(kHigh);
      const double* const share = all(kRanked);
      QUORATE_INDEPENDENT
      for (std::size_t i = 0; i < n; ++i) {
        const double v = value[i];
        const double knot[kKnots] = {low[i], q0[i], q1[i], q2[i], q3[i], q4[i], high[i]};
        double first = 0, last = 0, below = knot[0], above = knot[6];
        for (std::size_t k = 0; k < kKnots; ++k) {
          first += knot[k] < v ? 1.0 : 0.0;
          last += knot[k] <= v ? 1.0 : 0.0;
          below = knot[k] < v ? knot[k] : below;
          above = knot[kKnots - 1 - k] < v ? above : knot[kKnots - 1 - k];
        }
        const double inside = (first - 4) + (v - below) / (above - below);  // kZ are whole numbers, one apart
        const double many = first == 0 ? last : 7 - first;                  // knots at an end
        double end = kLowest[6];
        for (std::size_t k = 0; k < 6; ++k) end = many == static_cast<double>(k + 1) ? kLowest[k] : end;
        double several = (first + last - 7) / 2;
        several = last == 7 ? -end : several;
        several = first == 0 ? end : several;
        double r = first < last ? several : inside;
        r = last == 0 ? -3.0 : r;
        r = first == 7 ? 3.0 : r;
        r = between(r, -kTail, kTail);
        const double some = share[i] * r + (1 - share[i]) * out[i];
        r = share[i] == 1 ? r : some;
        r = share[i] > 0 ? r : out[i];
        out[i] = knot[0] < knot[6] ? r : 0.0;
      }
    });
  if (early != 0)
    for (std::size_t i = 0; i < n; ++i)
      if (times(i) < kMany) scaled[i] = constant(i) ? 0 : standard(i, values[i]);
}

double Spreads::share_of_ranks(std::size_t i) const {
  double off = 0;
  for (std::size_t k = 0; k < kP.size(); ++k)
    off = std::max(off, std::abs((at(kQuantile + k, i) - at(kMean, i)) / at(kDeviation, i) - kZ[k + 1]));
  return std::clamp((off - kNear) / (kFar - kNear), 0.0, 1.0);
}

std::string Spreads::description(std::size_t i) const {
  if (at(kCount, i) == 0) return "nothing yet";
  if (constant(i)) return "0, as it is constant";
  const bool flat = !(at(kDeviation, i) > 1e-9 * std::abs(at(kMean, i)));
  const double share = flat ? 1 : at(kFewValues, i) != 0 ? 0 : share_of_ranks(i);
  const auto rounded = [](double v) {
    std::array<char, 32> text{};
    return std::string(text.data(),
                       std::to_chars(text.data(), text.data() + text.size(), v, std::chars_format::general, 4).ptr);
  };
  const std::string ranks = "ranks around " + rounded(knots(i)[kKnots / 2]);
  if (share == 1) return ranks;
  const std::string standardised = "(v - " + rounded(at(kMean, i)) + ") / " + rounded(at(kDeviation, i));
  return share == 0 ? standardised : standardised + " and " + ranks;
}

Spreads::Packed Spreads::pack(std::size_t i) const {
  return {times(i), static_cast<std::uint32_t>(samples_[i].level), at(kLow, i), at(kHigh, i), at(kMean, i), at(kSquares, i)};
}

void Spreads::unpack(std::size_t i, const Packed& p, std::span<const double> sample) {
  const auto good = [](double v) { return std::abs(v) <= 1e50; };  // keeps sums of products finite
  bool fits = p.level < 64 && sample.size() < kMost && sample.size() <= p.n && (p.n == 0) == sample.empty() && good(p.low) &&
              good(p.high) && p.low <= p.high && good(p.mean) && p.squares >= 0 && std::isfinite(p.squares) &&
              p.n < 1ull << 53;
  for (std::size_t k = 0; k < sample.size() && fits; ++k)
    fits = sample[k] >= (k == 0 ? p.low : sample[k - 1]) && sample[k] <= p.high;
  if (!fits) throw DataError("scale: the spread of a feature is out of range");
  auto& [values, level] = samples_[i];
  values = std::pmr::vector<double>(values.get_allocator());
  values.reserve(room_for(sample.size(), p.level, values.get_allocator().resource()));
  values.assign(sample.begin(), sample.end());
  level = p.level;
  all(kCount)[i] = static_cast<double>(p.n);
  all(kLow)[i] = p.low;
  all(kHigh)[i] = p.high;
  all(kMean)[i] = p.mean;
  all(kSquares)[i] = p.squares;
  find_quantiles(i);
  judge(i, i + 1);
}

}  // namespace quorate
