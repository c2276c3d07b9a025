#include "quorate/base/compact_instance.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "quorate/base/simd.h"

namespace quorate {
namespace {

enum Values : unsigned { kOneCount, kCounts, kDoubles };
constexpr std::size_t kHead = 5, kSimdFrom = 64;

template <class T>
T read_at(const std::byte* at) {
  T out;
  std::memcpy(&out, at, sizeof out);
  return out;
}

/// body(), by the processor's widest instructions where that pays.
template <class Body>
void loop(std::size_t n, const Body& body) {
  if (n >= kSimdFrom)
    simd(body);
  else
    body();
}

template <class T>
void write_gaps(const Index* index, std::size_t n, std::byte* to) {
  loop(n, [index, n, to] {
    const Index* const from = index;  // not in memory that a byte may be written to
    std::byte* const into = to;
    for (std::size_t k = 1, end = n; k < end; ++k) {
      const auto gap = static_cast<T>(from[k] - from[k - 1]);
      std::memcpy(into + (k - 1) * sizeof gap, &gap, sizeof gap);
    }
  });
}

int count_of(double v, double norm) {
  const double times = v * norm;
  return static_cast<int>(((times > 0) & (times < 255.5)) ? times + 0.5 : 0.0);
}
bool is_count(int count, double v, double norm) {
  return std::bit_cast<std::uint64_t>(count / norm) == std::bit_cast<std::uint64_t>(v);
}

/// To the bit.
bool all_alike(std::span<const double> values) {
  std::uint64_t differ = 0;
  loop(values.size(), [&differ, value = values.data(), n = values.size()] {
    const auto one = std::bit_cast<std::uint64_t>(value[0]);
    std::uint64_t bits = 0;
    for (std::size_t k = 1; k < n; ++k) bits |= std::bit_cast<std::uint64_t>(value[k]) ^ one;
    differ = bits;
  });
  return differ == 0;
}

std::size_t size_of(std::size_t n, unsigned width, unsigned values) {
  return kHead + (width == 0 ? 0 : 4 + (n - 1) * width) + (values == kOneCount ? 1 : values == kCounts ? n : 8 * n);
}

}  // namespace

std::span<const std::byte> pack_instance(const Features& x, std::vector<std::byte>& buffer) {
  const std::size_t n = x.size();
  constexpr std::size_t kSlack = 4;  // three bytes are written as four
  if (buffer.size() < most_packed_bytes(n) + kSlack) buffer.resize(most_packed_bytes(n) + kSlack);
  std::byte* at = buffer.data() + kHead;
  unsigned width = 0;
  if (!x.dense()) {
    const Index* index = x.index.data();
    Index gaps = 0;  // all of them, bit by bit
    loop(n, [&gaps, index, n] {
      Index all = 0;
      for (std::size_t k = 1; k < n; ++k) all |= index[k] - index[k - 1];
      gaps = all;
    });
    width = std::max(1u, (static_cast<unsigned>(std::bit_width(gaps)) + 7) / 8);
    std::memcpy(at, index, sizeof *index);
    at += sizeof *index;
    if (width == 1) {
      write_gaps<std::uint8_t>(index, n, at);
    } else if (width == 2) {
      write_gaps<std::uint16_t>(index, n, at);
    } else if (width == 4) {
      write_gaps<std::uint32_t>(index, n, at);
    } else {
      for (std::size_t k = 1; k < n; ++k) {
        const Index gap = index[k] - index[k - 1];
        std::memcpy(at + 3 * (k - 1), &gap, sizeof gap);
      }
    }
    at += (n - 1) * width;
  }
  // Counts are those of a word, or small whole numbers. Most texts have each word once: that is seen without a division.
  unsigned values = n > 0 ? kDoubles : kCounts;
  if (width > 0 && all_alike(x.value)) {
    const int count = count_of(x.value[0], x.norm);
    *at = static_cast<std::byte>(count);
    if (is_count(count, x.value[0], x.norm)) values = kOneCount;
  } else if (n > 0) {
    std::int64_t others = 0;
    loop(n, [&others, at, n, length = x.norm, first = x.value.data()] {
      const double* const value = first;  // not in memory that a byte may be written to
      std::byte* const into = at;
      const double norm = length;
      std::int64_t no_counts = 0;
      for (std::size_t k = 0, end = n; k < end; ++k) {
        const int count = count_of(value[k], norm);
        into[k] = static_cast<std::byte>(count);
        no_counts += !is_count(count, value[k], norm);
      }
      others = no_counts;
    });
    if (others == 0) values = kCounts;
  }
  if (values == kDoubles) std::memcpy(at, x.value.data(), n * sizeof(double));
  const auto size = static_cast<std::uint32_t>(n);
  std::memcpy(buffer.data(), &size, sizeof size);
  buffer[4] = static_cast<std::byte>(width + 8 * values);
  return std::span<const std::byte>(buffer).first(size_of(n, width, values));
}

Features unpack_instance(std::span<const std::byte> bytes, double norm, UnpackedInstance& to) {
  const std::size_t n = read_at<std::uint32_t>(bytes.data());
  const auto head = std::to_integer<unsigned>(bytes[4]), width = head % 8, values = head / 8;
  const std::byte* at = bytes.data() + kHead;
  to.index.resize(width == 0 ? 0 : n);
  to.value.resize(n);
  if (width > 0) {
    Index index = to.index[0] = read_at<Index>(at);
    at += sizeof index;
    for (std::size_t k = 1; k < n; ++k, at += width) {
      Index gap = 0;
      std::memcpy(&gap, at, width);
      to.index[k] = index += gap;
    }
  }
  if (values == kDoubles)
    std::memcpy(to.value.data(), at, n * sizeof(double));
  else
    for (std::size_t k = 0; k < n; ++k) to.value[k] = std::to_integer<int>(at[values == kOneCount ? 0 : k]) / norm;
  return {to.index, to.value, norm};
}

bool is_packed_instance(std::span<const std::byte> bytes, double norm, UnpackedInstance& scratch) {
  if (bytes.size() < kHead) return false;
  const std::size_t n = read_at<std::uint32_t>(bytes.data());
  const auto head = std::to_integer<unsigned>(bytes[4]), width = head % 8, values = head / 8;
  if (width > 4 || values > kDoubles || (width == 0 && values == kOneCount) || (n == 0 && width > 0)) return false;
  if (bytes.size() != size_of(n, width, values)) return false;  // so n is smaller than that
  const Features x = unpack_instance(bytes, norm, scratch);
  for (std::size_t k = 0; k < x.index.size(); ++k)
    if (x.index[k] > kMaxIndex + 1 || (k > 0 && x.index[k] <= x.index[k - 1])) return false;
  return std::all_of(x.value.begin(), x.value.end(), [](double v) { return std::isfinite(v); });
}

}  // namespace quorate
