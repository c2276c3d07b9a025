#include "quorate/base/hash.h"

#include <gtest/gtest.h>

#include <bit>
#include <set>

namespace quorate::test {
namespace {

TEST(Hash, IsXxh3OnEveryMachine) {
  // Published values of XXH3 with seed 0; features and checksums of every model file rest on them.
  EXPECT_EQ(hash64(""), 0x2D06800538D394C2u);
  EXPECT_EQ(hash128_hex(""), "99aa06d3014798d86001c324468d497f");
}

TEST(Hash, SeesEveryBitOfEveryLength) {
  std::set<std::uint64_t> seen;
  std::set<std::string> seen128;
  std::size_t inputs = 0;
  for (std::size_t length = 0; length < 300; length += 1 + length / 8) {
    const std::string zeros(length, '\0');
    seen.insert(hash64(zeros));
    seen128.insert(hash128_hex(zeros));
    ++inputs;
    for (std::size_t n = 0; n < length; ++n) {
      std::string one = zeros;
      one[n] = 1;
      seen.insert(hash64(one));
      seen128.insert(hash128_hex(one));
      ++inputs;
    }
  }
  EXPECT_EQ(seen.size(), inputs);
  EXPECT_EQ(seen128.size(), inputs);
}

TEST(Hash, LowBitsAreEven) {
  // Features are hashed to the low bits: 2^16 words into 2^8 places, each place near 256.
  std::vector<int> count(256);
  for (int i = 0; i < 65536; ++i) ++count[hash64("text^word" + std::to_string(i)) & 255];
  for (const int n : count) {
    EXPECT_GT(n, 256 - 5 * 16);
    EXPECT_LT(n, 256 + 5 * 16);
  }
}

}  // namespace
}  // namespace quorate::test
