// An instance in few bytes: texts and other counts take a quarter of their indices and values.
#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "quorate/base/features.h"

namespace quorate {

/// x in bytes that are valid until the next change of `buffer`, which only grows. x.norm is not in it.
///
///   u32 n; u8 w + 8 v; unless w = 0, which is dense: u32 the first index, then n - 1 differences of w bytes each;
///   v = 0: a count for all, not if dense; 1: n counts, in a byte each, of values that are exactly count / norm; 2: n
///   doubles
///
/// O(non-zeros). x has less than 2^32 of them.
std::span<const std::byte> pack_instance(const Features& x, std::vector<std::byte>& buffer);

/// The most bytes that n values take.
constexpr std::size_t most_packed_bytes(std::size_t n) { return 9 + 12 * n; }

/// An instance read, and its memory.
struct UnpackedInstance {
  std::vector<Index> index;
  std::vector<double> value;
};
/// Reads the bytes of pack_instance(), to the bit; valid until `to` changes.
Features unpack_instance(std::span<const std::byte> bytes, double norm, UnpackedInstance& to);

/// Whether the bytes are an instance: sizes as they should be, indices ascending and in range, values finite.
bool is_packed_instance(std::span<const std::byte> bytes, double norm, UnpackedInstance& scratch);

}  // namespace quorate
