// The bytes of a journal: segments, records, checksums. All numbers are little-endian.
//
// A segment is a header and records:
//   header: "QJOURNAL", u32 format version, u32 length of the text, u64 sequence number of the first record,
//           u64 chain value before it, the text (the owner's, as JSON), u64 XXH3 of all these bytes
//   record: u32 kind (4 bits) and length of the payload (28 bits), u32 check of the header, u64 sequence number, u64 hash,
//           the payload, '\n'
// The hash is XXH3 over sequence number, hash of the previous record, payload: the chain. The check is XXH3 over the
// segment's chain value and the other fields of the header. So a header can be trusted without its payload, and a later
// record can be found after a damaged one.
//
// Records are written in commits: one write, one fdatasync, then the next commit. The kind marks the first record of a
// commit. A record's first byte is never 0 and its last is '\n', so each block of a written record has a byte that is not 0,
// unless the payload itself fills one with zeros. reader.h infers from this whether a bad record was never finished or was
// damaged later.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace quorate {

inline constexpr std::size_t kLongestPayload = std::size_t{1} << 26;     ///< bytes: 64 MiB
inline constexpr std::size_t kLongestHeaderText = std::size_t{1} << 20;  ///< bytes: 1 MiB
inline constexpr std::size_t kDiskBlock =
    512;  ///< bytes that a disk writes whole or not at all; a block not written reads as zeros

struct SegmentHeader {
  static constexpr std::size_t kFixed = 32;  ///< bytes before the text

  std::uint64_t first = 0;  ///< sequence number of the first record
  std::uint64_t chain = 0;  ///< chain value before the first record
  std::string text;

  /// Throws UsageError for a text longer than kLongestHeaderText.
  std::string to_bytes() const;
  /// The bytes of the whole header whose fixed part starts `bytes`. Throws DataError if this is no header of this version.
  static std::size_t size(std::string_view bytes);
  /// Of exactly size() bytes. Throws DataError if the checksum differs.
  static SegmentHeader from_bytes(std::string_view bytes);
};

struct RecordHeader {
  static constexpr std::size_t kBytes = 24;

  bool begins_commit = false;
  std::size_t length = 0;  ///< of the payload in bytes, at most kLongestPayload
  std::uint64_t sequence = 0;
  std::uint64_t hash = 0;

  /// The header that starts `bytes`, or nothing if they are too few or no intact header.
  /// key: the chain value in the header of the segment
  static std::optional<RecordHeader> from_bytes(std::string_view bytes, std::uint64_t key);
};

/// Bytes of a record with a payload of `length` bytes.
constexpr std::size_t record_bytes(std::size_t length) { return RecordHeader::kBytes + length + 1; }

/// Completes a record whose payload is in place: writes its header and its last byte, and advances the chain.
/// record: record_bytes(length of the payload) bytes
void seal_record(std::span<char> record, bool begins_commit, std::uint64_t sequence, std::uint64_t key,
                 std::uint64_t& chain);

/// Whether payload and last byte are those that were sealed after `chain`. The bytes change meanwhile.
/// record: all bytes of the record of `header`
bool payload_intact(std::span<char> record, const RecordHeader& header, std::uint64_t chain);

/// The file name of the segment that begins with record `first`: 000000000000.qj; longer from 10^12 on.
std::string segment_name(std::uint64_t first);
/// The number in such a name, or nothing if `name` is another.
std::optional<std::uint64_t> segment_first(std::string_view name);

}  // namespace quorate
