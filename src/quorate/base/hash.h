// Hashing of text: one function for names, words and checksums.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace quorate {

/// 64 bits of XXH3 with seed 0. The same on every machine; part of the model format, so it never changes.
std::uint64_t hash64(std::string_view text);

/// 128 bits of XXH3 as 32 hexadecimal digits.
std::string hash128_hex(std::string_view bytes);

/// The same of bytes that come in parts.
class Hasher128 {
 public:
  Hasher128();
  ~Hasher128();
  void add(std::string_view part);
  std::string hex() const;  ///< of all parts so far

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace quorate
