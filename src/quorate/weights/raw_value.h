// Values as in the data, of instances that are divided by a norm.
#pragma once
#include <cmath>
#include <cstdint>
#include <limits>

#include "quorate/base/features.h"
#include "quorate/base/simd.h"

namespace quorate {

/// As std::nearbyint, without a call.
inline double nearest_whole(double v) {
  constexpr double kHalf = 0x1.8p52;
  return std::abs(v) < 0x1p51 ? (v + kHalf) - kHalf : v;
}

/// A feature's value as in the data, before the division by the norm.
inline double raw(double value, double norm) {
  constexpr double kRounding = 0x1p-44;  // relative error of a whole number divided and multiplied by a norm
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
inline double raw_number(double value, double norm) {
  const double v = rounded<9>(raw(value, norm)), fewer = rounded<20>(v);
  return v == nearest_whole(v) && std::abs(v) < 0x1p43 ? v : fewer;
}

/// Whether v is a whole number from 0.
inline bool is_whole_count(double v) {  // avoids the call of std::nearbyint
  return v >= 0 && (v >= 0x1p52 || v == static_cast<double>(static_cast<std::int64_t>(v)));
}

/// Whether `is` holds for all values as in the data. It counts instead of stopping early: without a branch the loop is SIMD.
template <class Is>
bool all_values(const Features& x, Is is) {
  std::int64_t others = 0;
  simd([&others, is, value = x.value.data(), norm = x.norm, n = x.size()] {
    std::int64_t sum = 0;
    for (std::size_t k = 0; k < n; ++k) sum += !is(raw(value[k], norm));
    others = sum;
  });
  return others == 0;
}

}  // namespace quorate
