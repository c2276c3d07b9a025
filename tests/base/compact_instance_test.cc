#include "quorate/base/compact_instance.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "quorate/base/rng.h"

namespace quorate {
namespace {

/// Read again to the bit. Returns its bytes.
std::size_t expect_same(const Features& x) {
  std::vector<std::byte> buffer;
  UnpackedInstance memory, scratch;
  const std::span<const std::byte> bytes = pack_instance(x, buffer);
  EXPECT_LE(bytes.size(), most_packed_bytes(x.size()));
  EXPECT_TRUE(is_packed_instance(bytes, x.norm, scratch));
  const Features read = unpack_instance(bytes, x.norm, memory);
  EXPECT_TRUE(std::ranges::equal(read.index, x.index));
  EXPECT_EQ(read.norm, x.norm);
  EXPECT_EQ(read.size(), x.size());
  for (std::size_t k = 0; k < x.size(); ++k)
    EXPECT_EQ(std::bit_cast<std::uint64_t>(read.value[k]), std::bit_cast<std::uint64_t>(x.value[k])) << k;
  return bytes.size();
}

TEST(CompactInstance, OfWordsTakesTwoOrThreeBytesForEach) {
  Rng rng = make_rng(1, 0);
  for (const std::size_t n : {1u, 7u, 100u, 1'000u})
    for (const Index most_gap : {200u, 9'000u, 100'000u, 2'000'000u}) {
      const std::size_t width = most_gap < 256 ? 1 : most_gap < 65'536 ? 2 : 3;
      std::vector<Index> index;
      std::vector<double> ones(n, 1 / std::sqrt(static_cast<double>(n))), counts;
      double squares = 0;
      for (Index at = 5; index.size() < n; at += most_gap - static_cast<Index>(below(50, rng))) {
        index.push_back(at);
        counts.push_back(static_cast<double>(1 + below(9, rng)));
        squares += counts.back() * counts.back();
      }
      const std::vector<double> raw = counts;
      for (double& v : counts) v /= std::sqrt(squares);
      const std::size_t of_index = n == 1 ? 4 : 4 + (n - 1) * width;
      EXPECT_EQ(expect_same({index, ones, std::sqrt(static_cast<double>(n))}), 5 + of_index + 1);
      if (n > 1) {
        EXPECT_EQ(expect_same({index, counts, std::sqrt(squares)}), 5 + of_index + n);
        EXPECT_EQ(expect_same({index, raw, 1}), 5 + of_index + n);
      }
    }
}

TEST(CompactInstance, OfOtherValuesIsTheSameToTheBit) {
  const double tiny = std::numeric_limits<double>::denorm_min(), huge = std::numeric_limits<double>::max();
  const std::vector<Index> index{0, 1, kMaxIndex - 1, kMaxIndex, kMaxIndex + 1};
  for (const std::vector<double>& value :
       {std::vector{0.1, -2.0, 0.0, -0.0, 1.0}, std::vector{tiny, huge, -huge, 3.0, 255.0},
        std::vector{256.0, 1.0, 1.0, 1.0, 1.0}, std::vector{255.0, 254.0, 0.0, 1.0, 2.0},
        std::vector{0.0, 0.0, 0.0, 0.0, 0.0}, std::vector{-0.0, -0.0, -0.0, -0.0, -0.0}})
    for (const double norm : {1.0, 0.0, 3.7, 1e-300, 1e300}) {
      expect_same({index, value, norm});
      expect_same({{}, value, norm});
    }
  expect_same({});
  Rng rng = make_rng(2, 0);
  std::vector<double> many(500);
  for (double& v : many) v = uniform(rng) - 0.5;
  expect_same({{}, many, 2});
}

TEST(CompactInstance, OtherBytesAreRefused) {
  const std::vector<Index> index{3, 9, 400};
  const std::vector<double> counts{1, 2, 3}, real{0.5, 1, 2};
  UnpackedInstance scratch;
  std::vector<std::byte> buffer;
  for (const auto& value : {counts, real}) {
    const auto made = pack_instance({index, value}, buffer);
    const std::vector<std::byte> good(made.begin(), made.end());
    const auto refused = [&](auto spoil) {
      std::vector<std::byte> bytes = good;
      spoil(bytes);
      EXPECT_FALSE(is_packed_instance(bytes, 1, scratch));
    };
    for (std::size_t n = 0; n < good.size(); ++n) refused([n](auto& bytes) { bytes.resize(n); });
    refused([](auto& bytes) { bytes.push_back(std::byte{0}); });
    refused([](auto& bytes) { bytes[0] = std::byte{4}; });
    refused([](auto& bytes) { bytes[3] = std::byte{255}; });
    refused([](auto& bytes) { bytes[4] = std::byte{0}; });    // dense, a count for all, of three
    refused([](auto& bytes) { bytes[4] |= std::byte{24}; });  // no such values
    refused([](auto& bytes) { bytes[4] |= std::byte{7}; });
    refused([](auto& bytes) { bytes[9] = bytes[10] = std::byte{0}; });  // the same index twice
    refused([](auto& bytes) { std::fill_n(bytes.begin() + 5, 4, std::byte{255}); });
  }
  const std::vector<double> wrong{0.5, std::numeric_limits<double>::infinity(), 1};
  EXPECT_FALSE(is_packed_instance(pack_instance({index, wrong}, buffer), 1, scratch));
}

}  // namespace
}  // namespace quorate
