// One loop for several instruction sets, of which the processor's own is taken when it runs.
#pragma once
#include <atomic>
#include <cstddef>

namespace quorate {

/// Instruction sets, each with all those before it. kPlain: what every processor of this kind has.
enum class Simd { kPlain, kAvx2, kAvx512 };

/// The last one that this processor has.
inline Simd widest_simd() {
#ifdef __x86_64__
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
    return Simd::kAvx512;
  if (__builtin_cpu_supports("avx2")) return Simd::kAvx2;
#endif
  return Simd::kPlain;
}

/// What simd() takes. Tests set it, to no more than widest_simd(); nobody else does.
inline std::atomic<Simd> simd_in_use = widest_simd();

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

/// Some doubles side by side, at any address: for loops of which the compiler makes no SIMD by itself. On narrower registers
/// it takes several.
constexpr std::size_t kLanes = 8;
using Lanes __attribute__((vector_size(kLanes * sizeof(double)))) = double;
/// So many doubles where they lie. A packed struct, as clang forgets a vector type's lower alignment at a reference.
template <class V>
struct __attribute__((packed, may_alias)) Unaligned {
  V v;
};
inline Unaligned<Lanes>& lanes(double* at) { return *reinterpret_cast<Unaligned<Lanes>*>(at); }
inline const Unaligned<Lanes>& lanes(const double* at) { return *reinterpret_cast<const Unaligned<Lanes>*>(at); }

/// Calls body(), a loop whose steps do not depend on one another, compiled for the widest instruction set there is. The
/// compiler makes SIMD of it. The bits are the same for all: steps are plain additions, multiplications and conversions,
/// nothing is contracted, and a sum has its order written out. For some hundred steps and more: it costs a call.
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
