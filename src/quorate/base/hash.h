// Hashing of text: one function for names, words and checksums.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace quorate {

/// 64 bits of XXH3 with seed 0. The same on every machine; part of the model format, so it never changes.
std::uint64_t hash64(std::string_view text);

/// 128 bits of XXH3 as 32 hexadecimal digits: of bytes, or of the concatenation of parts.
std::string hash128_hex(std::string_view bytes);
std::string hash128_hex(std::span<const std::string_view> parts);

}  // namespace quorate
