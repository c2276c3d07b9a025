#include "quorate/weights/spread.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>

#include "quorate/base/error.h"
#include "quorate/base/portable_math.h"

namespace quorate {
namespace {

// The knots: the smallest value, the quantiles where a standard normal is at -2, -1, 0, 1, 2, and the largest value.
constexpr std::array kZ{-3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0};
constexpr std::array kP{0.022750131948179207, 0.15865525393145705, 0.5, 0.8413447460685429, 0.9772498680518208};
// Where a share of all values is the smallest one, up to each knot: the mean of so many of the smallest of a standard
// normal.
constexpr std::array kLowest{-3.0, -2.373, -1.525, -0.798, -0.288, -0.055, 0.0};
constexpr double kNear = 0.3, kFar = 0.6;  // how far knots may lie from a normal's: standardised, or ranked
constexpr std::size_t kFew = 12;     // so many different values are small counts or flags, whose ranks are too far apart
constexpr std::uint64_t kCut = 16;   // values before outliers are cut
constexpr double kTail = 3;          // no value is larger in standard units
constexpr std::uint64_t kMany = 91;  // of so many normal numbers the largest is beyond that
constexpr double kRough = 1e-6, kSure = 1e6;

/// Room of a sample, which depends on what it holds alone.
std::size_t room_for(std::size_t size, unsigned level) {
  return level > 0 ? Spread::kMost : std::bit_ceil(std::max<std::size_t>(size, 4));
}

}  // namespace

unsigned Spread::level_of(std::uint64_t n) {
  std::uint64_t z = n * 0x9E3779B97F4A7C15u;  // splitmix64
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
  z = (z ^ z >> 27) * 0x94D049BB133111EBu;
  return static_cast<unsigned>(std::countr_zero(z ^ z >> 31));
}

void Spread::count(double v, unsigned level) {
  if (level >= level_) sample_.reserve(room_for(sample_.size() + 1, level_));
  ++n_;
  bool moved = n_ == 1 || v < low_ || v > high_;
  low_ = n_ == 1 ? v : std::min(low_, v);
  high_ = n_ == 1 ? v : std::max(high_, v);
  if (level >= level_) {
    moved = true;
    sample_.insert(std::upper_bound(sample_.begin(), sample_.end(), v), v);
    if (sample_.size() == kMost) {  // every second one stays
      std::size_t kept = 0;
      for (std::size_t k = level_ % 2; k < kMost; k += 2) sample_[kept++] = sample_[k];
      sample_.resize(kept);
      ++level_;
    }
  }
  if (moved) find_knots();
  if (n_ > kCut)
    if (const double width = knots_[4] - knots_[2]; width > 0) v = std::clamp(v, knots_[1] - width, knots_[5] + width);
  const double d = v - mean_;
  mean_ += d / static_cast<double>(n_);
  squares_ += d * (v - mean_);
}

void Spread::find_knots() {
  knots_.front() = low_;
  for (std::size_t k = 0; k < kP.size(); ++k) knots_[k + 1] = quantile(kP[k]);
  knots_.back() = high_;
  std::size_t distinct = 0;
  for (std::size_t k = 0; k < sample_.size() && distinct <= kFew; ++k) distinct += k == 0 || sample_[k] != sample_[k - 1];
  few_ = distinct <= kFew;
}

double Spread::quantile(double p) const {
  if (sample_.empty()) return low_;
  const double at = p * static_cast<double>(sample_.size() - 1);
  const auto k = static_cast<std::size_t>(at);
  if (k + 1 == sample_.size() || sample_[k] == sample_[k + 1]) return sample_[k];
  return sample_[k] + (at - static_cast<double>(k)) * (sample_[k + 1] - sample_[k]);
}

/// Linear between knots; a value that several knots have gets the middle of them, the smallest and the largest their mean.
double Spread::rank(double v) const {
  const auto first = static_cast<std::size_t>(std::lower_bound(knots_.begin(), knots_.end(), v) - knots_.begin());
  const auto last = static_cast<std::size_t>(std::upper_bound(knots_.begin(), knots_.end(), v) - knots_.begin());
  if (last > first && first == 0) return kLowest[last - 1];
  if (last > first && last == kKnots) return -kLowest[kKnots - 1 - first];
  if (last > first) return (kZ[first] + kZ[last - 1]) / 2;
  if (first == 0) return kZ.front();
  if (first == kKnots) return kZ.back();
  return kZ[first - 1] + (kZ[first] - kZ[first - 1]) * ((v - knots_[first - 1]) / (knots_[first] - knots_[first - 1]));
}

double Spread::standard(double v) const {
  if (n_ < 2) return 0;
  const auto count = static_cast<double>(n_);
  const double most = n_ < kMany ? std::min(kTail, std::sqrt(2 * log_positive(count))) : kTail;  // of n normal numbers
  const auto ranked = [&] { return std::clamp(rank(v), -most, most); };
  const double deviation = std::sqrt(squares_ / count);
  if (!(deviation > 1e-9 * std::abs(mean_))) return ranked();
  const auto standardised = [&] { return std::clamp((v - mean_) / deviation, -most, most); };
  if (few_) return standardised();
  // Most columns are clearly one or the other, which is seen without a division.
  double roughly = 0;
  for (std::size_t k = 1; k + 1 < kKnots; ++k) roughly = std::max(roughly, std::abs(knots_[k] - mean_ - kZ[k] * deviation));
  if (roughly < (kNear - kRough) * deviation) return standardised();
  if (roughly > (kFar + kRough) * deviation && roughly < kSure * deviation) return ranked();
  const double share = share_of_ranks(deviation);
  return share * ranked() + (1 - share) * standardised();
}

double Spread::share_of_ranks(double deviation) const {
  double off = 0;
  for (std::size_t k = 1; k + 1 < kKnots; ++k) off = std::max(off, std::abs((knots_[k] - mean_) / deviation - kZ[k]));
  return std::clamp((off - kNear) / (kFar - kNear), 0.0, 1.0);
}

std::string Spread::description() const {
  if (n_ == 0) return "nothing yet";
  if (constant()) return "0, as it is constant";
  const double deviation = std::sqrt(squares_ / static_cast<double>(n_));
  const bool flat = !(deviation > 1e-9 * std::abs(mean_));
  const double share = flat ? 1 : few_ ? 0 : share_of_ranks(deviation);
  const auto rounded = [](double v) {
    std::array<char, 32> text{};
    return std::string(text.data(),
                       std::to_chars(text.data(), text.data() + text.size(), v, std::chars_format::general, 4).ptr);
  };
  const std::string ranks = "ranks around " + rounded(knots_[kKnots / 2]);
  if (share == 1) return ranks;
  const std::string standardised = "(v - " + rounded(mean_) + ") / " + rounded(deviation);
  return share == 0 ? standardised : standardised + " and " + ranks;
}

void Spread::unpack(const Packed& p, std::span<const double> sample) {
  const auto good = [](double v) { return std::abs(v) <= 1e18; };
  bool fits = p.level < 64 && sample.size() < kMost && sample.size() <= p.n && (p.n == 0) == sample.empty() && good(p.low) &&
              good(p.high) && p.low <= p.high && good(p.mean) && p.squares >= 0 && std::isfinite(p.squares);
  for (std::size_t k = 0; k < sample.size() && fits; ++k)
    fits = sample[k] >= (k == 0 ? p.low : sample[k - 1]) && sample[k] <= p.high;
  if (!fits) throw DataError("scale: the spread of a feature is out of range");
  n_ = p.n;
  level_ = p.level;
  low_ = p.low;
  high_ = p.high;
  mean_ = p.mean;
  squares_ = p.squares;
  sample_ = std::pmr::vector<double>(sample_.get_allocator());
  sample_.reserve(room_for(sample.size(), level_));
  sample_.assign(sample.begin(), sample.end());
  find_knots();
}

}  // namespace quorate
