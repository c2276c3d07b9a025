// exp with the same bits everywhere: the C library's differs between versions and processors.
#pragma once
#include <bit>
#include <cmath>
#include <cstdint>

namespace quorate {

/// e^x for x <= 0 (0 below -708), within 2 units in the last place. Plain IEEE additions and multiplications only.
///
/// x = k ln 2 + r with |r| <= ln(2)/2, e^r by its Taylor polynomial of degree 13 (remainder below 5e-18), times 2^k.
inline double exp_negative(double x) {
  if (!(x > -708)) return 0;
  constexpr double kLog2e = 1.4426950408889634, kLn2Hi = 0x1.62e42fee00000p-1, kLn2Lo = 0x1.a39ef35793c76p-33;
  const double k = std::nearbyint(x * kLog2e);
  const double r = (x - k * kLn2Hi) - k * kLn2Lo;  // k * kLn2Hi is exact: the constant has 32 trailing zero bits or so
  double p = 1;
  for (int n = 13; n >= 1; --n) p = 1 + p * r / n;
  const auto exponent = static_cast<std::uint64_t>(static_cast<std::int64_t>(k) + 1023);
  return p * std::bit_cast<double>(exponent << 52);
}

}  // namespace quorate
