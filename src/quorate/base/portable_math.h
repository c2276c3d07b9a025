// exp and log with the same bits on every machine; the C library's differ between versions and processors.
#pragma once
#include <bit>
#include <cmath>
#include <cstdint>

namespace quorate {

/// e^x for x <= 0 (0 below -708), within 2 units in the last place. Only IEEE additions and multiplications and no branch:
/// compilers turn a loop of these into SIMD without changing a bit.
///
/// x = k ln 2 + r with |r| <= ln(2)/2, e^r by its Taylor polynomial of degree 13 (remainder below 5e-18), times 2^k.
inline double exp_negative(double x) {
  constexpr double kLog2e = 1.4426950408889634, kLn2Hi = 0x1.62e42fee00000p-1, kLn2Lo = 0x1.a39ef35793c76p-33;
  constexpr double kRound = 0x1.8p52;  // adding and subtracting it rounds to a whole number, in the low bits
  const double rounded = x * kLog2e + kRound, k = rounded - kRound;
  const double r = (x - k * kLn2Hi) - k * kLn2Lo;  // k * kLn2Hi is exact: 11 bits times 32
  constexpr double kInverseFactorial[] = {
      1.0,        1.0,         1.0 / 2,      1.0 / 6,       1.0 / 24,       1.0 / 120,       1.0 / 720,
      1.0 / 5040, 1.0 / 40320, 1.0 / 362880, 1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800};
  double p = kInverseFactorial[13];
  for (int n = 12; n >= 0; --n) p = p * r + kInverseFactorial[n];
  const double power = std::bit_cast<double>((std::bit_cast<std::uint64_t>(rounded) + 1023) << 52);
  return x >= -708 ? p * power : 0.0;
}

/// ln x for normal x > 0, with an error of at most 4.5e-16 max(|ln x|, |x - 1|). Without a branch, as above.
///
/// x = m 2^e with m from sqrt(1/2) to sqrt(2), ln m = 2 artanh(f) with f = (m - 1)/(m + 1), |f| <= 0.1716, by its series
/// up to f^23 (remainder below 1e-19).
inline double log_positive(double x) {
  constexpr double kLn2Hi = 0x1.62e42fee00000p-1, kLn2Lo = 0x1.a39ef35793c76p-33;
  constexpr std::uint64_t kSqrtHalf = 0x3FE6A09E667F3BCDu, kMantissa = (std::uint64_t{1} << 52) - 1;
  const std::uint64_t shifted = std::bit_cast<std::uint64_t>(x) - kSqrtHalf;
  // The exponent, through the double 2^52 + 1024 + e: only AVX-512 converts 64-bit integers.
  const double e =
      std::bit_cast<double>((shifted + (std::uint64_t{1024} << 52)) >> 52 | 0x4330000000000000u) - 0x1p52 - 1024;
  const double m = std::bit_cast<double>((shifted & kMantissa) + kSqrtHalf);
  const double f = (m - 1) / (m + 1), ff = f * f;
  double p = 1.0 / 23;  // unrolled: compilers unroll too late to vectorise the calling loop
  p = p * ff + 1.0 / 21;
  p = p * ff + 1.0 / 19;
  p = p * ff + 1.0 / 17;
  p = p * ff + 1.0 / 15;
  p = p * ff + 1.0 / 13;
  p = p * ff + 1.0 / 11;
  p = p * ff + 1.0 / 9;
  p = p * ff + 1.0 / 7;
  p = p * ff + 1.0 / 5;
  p = p * ff + 1.0 / 3;
  const double tail = 2 * f * (p * ff);
  return e * kLn2Hi + (2 * f + (tail + e * kLn2Lo));
}

/// 1 / (1 + exp(-log_odds)).
inline double logistic(double log_odds) {
  const double e = exp_negative(-std::abs(log_odds));
  return log_odds >= 0 ? 1 / (1 + e) : e / (1 + e);
}

}  // namespace quorate
