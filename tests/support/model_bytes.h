// Model files taken apart and put together again, for tests of what a reader must refuse.
#pragma once
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "quorate/base/hash.h"

namespace quorate::test {

inline std::uint64_t header_length(std::string_view file) {
  std::uint64_t length = 0;
  std::memcpy(&length, file.data(), 8);
  return length;
}
inline std::string header_of(std::string_view file) { return std::string(file.substr(8, header_length(file))); }
inline std::string data_of(std::string_view file) { return std::string(file.substr(8 + header_length(file))); }

/// The file with the digits of its checksum made right again; as it is if there is no place for them.
inline std::string with_checksum(std::string file) {
  constexpr std::string_view key = "\"checksum\":\"";
  if (file.size() < 8) return file;
  const std::size_t at = file.find(key, 8);
  if (at == file.npos || at + key.size() + 32 > file.size()) return file;
  file.replace(at + key.size(), 32, 32, '0');
  const std::string digits = hash128_hex(file);
  return file.replace(at + key.size(), 32, digits);
}

/// A file of this header and data, checksum made right.
inline std::string assembled(const std::string& header, const std::string& data) {
  const std::uint64_t length = header.size();
  std::string out(8, '\0');
  std::memcpy(out.data(), &length, 8);
  return with_checksum(out + header + data);
}

}  // namespace quorate::test
