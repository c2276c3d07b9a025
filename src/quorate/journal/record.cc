#include "quorate/journal/record.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "quorate/base/error.h"
#include "quorate/base/hash.h"

namespace quorate {
namespace {

constexpr std::string_view kMagic = "QJOURNAL";
constexpr std::uint64_t kVersion = 1;
// Neither is 0, nor is one the other or 0 with one bit changed.
constexpr std::uint64_t kRecord = 0b1001, kFirstOfCommit = 0b0110;

constexpr std::size_t kCheckAt = 4, kSequenceAt = 8, kHashAt = 16;  // in a record

template <std::size_t Bytes>
std::uint64_t get(const char* in) {
  std::uint64_t out = 0;
  for (std::size_t n = Bytes; n > 0; --n) out = out << 8 | static_cast<unsigned char>(in[n - 1]);
  return out;
}

template <std::size_t Bytes>
void put(char* out, std::uint64_t value) {
  for (std::size_t n = 0; n < Bytes; ++n, value >>= 8) out[n] = static_cast<char>(value & 255);
}

template <std::size_t Bytes>
void append(std::string& out, std::uint64_t value) {
  std::array<char, Bytes> bytes{};
  put<Bytes>(bytes.data(), value);
  out.append(bytes.data(), Bytes);
}

/// The check of a record's header, which covers its other bytes and the segment.
std::uint64_t check_of(const char* header, std::uint64_t key) {
  std::array<char, RecordHeader::kBytes + 8> bytes{};
  std::copy_n(header, RecordHeader::kBytes, bytes.data());
  put<4>(bytes.data() + kCheckAt, 0);
  put<8>(bytes.data() + RecordHeader::kBytes, key);
  return hash64({bytes.data(), bytes.size()}) & 0xFFFFFFFFu;
}

/// The hash of a record; its field of the hash is overwritten.
std::uint64_t hash_of(std::span<char> record, std::uint64_t chain) {
  put<8>(record.data() + kHashAt, chain);
  return hash64({record.data() + kSequenceAt, record.size() - kSequenceAt - 1});
}

}  // namespace

std::string SegmentHeader::to_bytes() const {
  if (text.size() > kLongestHeaderText)
    throw UsageError("the header of a journal has " + std::to_string(text.size()) + " bytes; expected at most " +
                     std::to_string(kLongestHeaderText));
  std::string out(kMagic);
  append<4>(out, kVersion);
  append<4>(out, text.size());
  append<8>(out, first);
  append<8>(out, chain);
  out += text;
  append<8>(out, hash64(out));
  return out;
}

std::size_t SegmentHeader::size(std::string_view bytes) {
  if (bytes.size() < kFixed)
    throw DataError("the header ends after " + std::to_string(bytes.size()) + " bytes; expected at least " +
                    std::to_string(kFixed));
  if (!bytes.starts_with(kMagic)) throw DataError("not a journal: expected a file that starts with " + std::string(kMagic));
  const std::uint64_t version = get<4>(bytes.data() + kMagic.size());
  if (version != kVersion)
    throw DataError("format version " + std::to_string(version) + "; expected " + std::to_string(kVersion));
  const std::uint64_t length = get<4>(bytes.data() + kMagic.size() + 4);
  if (length > kLongestHeaderText)
    throw DataError("a header text of " + std::to_string(length) + " bytes; expected at most " +
                    std::to_string(kLongestHeaderText));
  return kFixed + length + 8;
}

SegmentHeader SegmentHeader::from_bytes(std::string_view bytes) {
  const std::size_t all = size(bytes);
  if (bytes.size() != all)
    throw DataError("the header has " + std::to_string(bytes.size()) + " bytes; expected " + std::to_string(all));
  if (get<8>(bytes.data() + all - 8) != hash64(bytes.substr(0, all - 8)))
    throw DataError("the header does not match its checksum");
  return {get<8>(bytes.data() + 16), get<8>(bytes.data() + 24), std::string(bytes.substr(kFixed, all - kFixed - 8))};
}

std::optional<RecordHeader> RecordHeader::from_bytes(std::string_view bytes, std::uint64_t key) {
  if (bytes.size() < kBytes) return std::nullopt;
  const std::uint64_t word = get<4>(bytes.data()), kind = word & 15;
  if (kind != kRecord && kind != kFirstOfCommit) return std::nullopt;
  if (word >> 4 > kLongestPayload || get<4>(bytes.data() + kCheckAt) != check_of(bytes.data(), key)) return std::nullopt;
  return RecordHeader{kind == kFirstOfCommit, word >> 4, get<8>(bytes.data() + kSequenceAt), get<8>(bytes.data() + kHashAt)};
}

void seal_record(std::span<char> record, bool begins_commit, std::uint64_t sequence, std::uint64_t key,
                 std::uint64_t& chain) {
  const std::size_t length = record.size() - record_bytes(0);
  put<4>(record.data(), length << 4 | (begins_commit ? kFirstOfCommit : kRecord));
  put<8>(record.data() + kSequenceAt, sequence);
  chain = hash_of(record, chain);
  put<8>(record.data() + kHashAt, chain);
  put<4>(record.data() + kCheckAt, check_of(record.data(), key));
  record.back() = '\n';
}

bool payload_intact(std::span<char> record, const RecordHeader& header, std::uint64_t chain) {
  const bool same = hash_of(record, chain) == header.hash;
  put<8>(record.data() + kHashAt, header.hash);
  return same && record.back() == '\n';
}

std::string segment_name(std::uint64_t first) {
  constexpr std::size_t kDigits = 12;
  const std::string digits = std::to_string(first);
  return std::string(kDigits - std::min(kDigits, digits.size()), '0') + digits + ".qj";
}

std::optional<std::uint64_t> segment_first(std::string_view name) {
  std::uint64_t first = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), first);
  if (error != std::errc{} || segment_name(first) != name) return std::nullopt;
  return first;
}

}  // namespace quorate
