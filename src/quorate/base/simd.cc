#include "quorate/base/simd.h"

#ifdef __x86_64__
#include <cpuid.h>
#endif

namespace quorate {

// By the instruction cpuid: __builtin_cpu_supports() finds nothing where the compiler's runtime library is zig's.
Simd widest_simd() {
#ifdef __x86_64__
  unsigned a = 0, b = 0, c = 0, d = 0;
  constexpr unsigned kXsaveAndAvx = bit_OSXSAVE | bit_AVX;
  if (!__get_cpuid(1, &a, &b, &c, &d) || (c & kXsaveAndAvx) != kXsaveAndAvx) return Simd::kPlain;
  unsigned saved = 0, high = 0;
  __asm__("xgetbv" : "=a"(saved), "=d"(high) : "c"(0));
  constexpr unsigned kYmm = 0x06, kZmm = 0xE6,
                     kAll = bit_AVX512F | bit_AVX512DQ | bit_AVX512VL;  // registers, by Intel's manual, 13.3
  if ((saved & kYmm) != kYmm || !__get_cpuid_count(7, 0, &a, &b, &c, &d) || (b & bit_AVX2) == 0) return Simd::kPlain;
  return (saved & kZmm) == kZmm && (b & kAll) == kAll ? Simd::kAvx512 : Simd::kAvx2;
#else
  return Simd::kPlain;
#endif
}

}  // namespace quorate
