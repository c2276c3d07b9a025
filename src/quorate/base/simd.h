// One loop compiled for several instruction sets; the processor's best one is chosen at run time.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <string_view>

namespace quorate {

/// Instruction sets; each includes those before it. kPlain: the baseline of the architecture.
enum class Simd { kPlain, kAvx2, kAvx512 };

/// The widest set of this processor that the system saves.
Simd widest_simd();

/// The set that simd() uses, at most widest_simd().
inline std::atomic<Simd> simd_in_use = widest_simd();

/// Uses "plain", "avx2" or "avx512", or what this processor has of it. False: another word. Programs call it with the
/// environment's QUORATE_SIMD, to show that results are the same on another processor.
inline bool use_simd(std::string_view name) {
  const Simd simd = name == "avx512" ? Simd::kAvx512 : name == "avx2" ? Simd::kAvx2 : Simd::kPlain;
  if (simd == Simd::kPlain && name != "plain") return false;
  simd_in_use = std::min(simd, widest_simd());
  return true;
}

namespace detail {
#ifdef __x86_64__
template <class Body>
[[gnu::target("avx2"), gnu::flatten]] void with_avx2(const Body& body) {
  body();
}
template <class Body>
[[gnu::target("avx512f,avx512dq,avx512vl"), gnu::flatten]] void with_avx512(const Body& body) {
  body();
}
#endif
}  // namespace detail

/// kLanes doubles as one vector, for loops that the compiler does not vectorise. Narrower registers hold it in parts.
constexpr std::size_t kLanes = 8;
using Lanes __attribute__((vector_size(kLanes * sizeof(double)))) = double;
/// A vector at any address. A packed struct, because clang ignores a vector type's lower alignment in a reference.
template <class V>
struct __attribute__((packed, may_alias)) Unaligned {
  V v;
};
inline Unaligned<Lanes>& lanes(double* at) { return *reinterpret_cast<Unaligned<Lanes>*>(at); }
inline const Unaligned<Lanes>& lanes(const double* at) { return *reinterpret_cast<const Unaligned<Lanes>*>(at); }

/// Before a loop whose steps do not depend on each other, for the compiler, which cannot see whether arrays overlap.
#ifdef __clang__
#define QUORATE_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define QUORATE_INDEPENDENT _Pragma("GCC ivdep")
#endif

/// Calls body(), a loop of independent steps, compiled for simd_in_use. The bits are the same for every set: steps are plain
/// additions, multiplications and conversions, nothing is contracted, and a sum has a written order. It costs a call, so it
/// pays from about a hundred steps on.
template <class Body>
void simd(const Body& body) {
#ifdef __x86_64__
  const Simd use = simd_in_use.load(std::memory_order_relaxed);
  if (use == Simd::kAvx512) return detail::with_avx512(body);
  if (use == Simd::kAvx2) return detail::with_avx2(body);
#endif
  body();
}

}  // namespace quorate
