#include "quorate/journal/record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "quorate/base/error.h"
#include "quorate/base/hash.h"
#include "support/journal.h"

namespace quorate::test {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

std::string sealed(std::string_view payload, bool begins_commit, std::uint64_t sequence, std::uint64_t key,
                   std::uint64_t& chain) {
  std::string out = std::string(RecordHeader::kBytes, '\0') + std::string(payload) + '\0';
  seal_record(out, begins_commit, sequence, key, chain);
  return out;
}

TEST(Record, TheFormatNeverChanges) {
  // Journals of every earlier version must stay readable: these bytes are format version 1.
  SegmentMaker maker("{\"seed\":1}", 41);
  const auto made = maker.next({{"first", ""}, {"third"}});
  EXPECT_EQ(made.bytes.substr(0, 24), std::string("QJOURNAL\1\0\0\0\12\0\0\0\x29\0\0\0\0\0\0\0", 24));
  EXPECT_EQ(made.bytes.size(), 32 + 10 + 8 + 3 * 25u + 10);
  EXPECT_EQ(hash128_hex(made.bytes), "e8853faf53e6d7a77094c6c3df7913f3");
}

TEST(Record, HeadersRoundTrip) {
  for (const std::size_t length : {0u, 1u, 15u, 16u, 255u, 256u, 70000u}) {
    const std::string payload(length, 'x');
    std::uint64_t chain = 5;
    std::string record = sealed(payload, length % 2 == 0, length + 7, 9, chain);
    const auto header = RecordHeader::from_bytes(record, 9);
    ASSERT_TRUE(header);
    EXPECT_EQ(header->begins_commit, length % 2 == 0);
    EXPECT_EQ(header->length, length);
    EXPECT_EQ(header->sequence, length + 7);
    EXPECT_EQ(header->hash, chain);
    EXPECT_TRUE(payload_intact(record, *header, 5));
    EXPECT_FALSE(payload_intact(record, *header, 6)) << "after another record";
    EXPECT_TRUE(payload_intact(record, *header, 5)) << "the bytes are as before";
    EXPECT_FALSE(RecordHeader::from_bytes(record, 8)) << "of another segment";
    EXPECT_FALSE(RecordHeader::from_bytes(std::string_view(record).substr(0, 23), 9));
  }
}

TEST(Record, EveryFlippedBitIsSeen) {
  std::uint64_t chain = 5;
  const std::string record = sealed("some payload", false, 17, 9, chain);
  for (std::size_t bit = 0; bit < 8 * record.size(); ++bit) {
    std::string flipped = record;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ 1 << bit % 8);
    const auto header = RecordHeader::from_bytes(flipped, 9);
    EXPECT_EQ(header.has_value(), bit / 8 >= RecordHeader::kBytes) << bit;
    if (header) {
      EXPECT_FALSE(payload_intact(flipped, *header, 5)) << bit;
    }
  }
}

TEST(Record, FirstAndLastByteAreNever0) {
  // A block with the first or last byte of a record can be told from one that was never written.
  for (std::size_t length = 0; length < 600; ++length) {
    std::uint64_t chain = length;
    const std::string record = sealed(std::string(length, '\0'), length % 3 == 0, length, 0, chain);
    for (const char end : {record.front(), record.back()}) {
      EXPECT_NE(end, '\0');
      for (int bit = 0; bit < 8; ++bit) EXPECT_NE(end ^ 1 << bit, 0);
    }
  }
}

TEST(Record, SegmentHeadersRoundTrip) {
  for (const std::size_t length : {std::size_t{0}, std::size_t{10}, kLongestHeaderText}) {
    const SegmentHeader header{77, 88, std::string(length, '\n')};
    const std::string bytes = header.to_bytes();
    EXPECT_EQ(SegmentHeader::size(bytes), bytes.size());
    const SegmentHeader again = SegmentHeader::from_bytes(bytes);
    EXPECT_EQ(again.first, 77u);
    EXPECT_EQ(again.chain, 88u);
    EXPECT_EQ(again.text, header.text);
  }
  EXPECT_THAT(
      [] {
        (SegmentHeader{0, 0, std::string(kLongestHeaderText + 1, ' ')}.to_bytes());
      },
      ThrowsMessage<UsageError>(HasSubstr("1048577 bytes; expected at most 1048576")));
}

TEST(Record, SegmentHeadersThatAreCutOrChangedAreRefused) {
  const std::string bytes = SegmentHeader{77, 88, "{}"}.to_bytes();
  for (std::size_t cut = 0; cut < bytes.size(); ++cut)
    EXPECT_THROW(SegmentHeader::from_bytes(bytes.substr(0, cut)), DataError) << cut;
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    std::string flipped = bytes;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ 1 << bit % 8);
    EXPECT_THROW(SegmentHeader::from_bytes(flipped), DataError) << bit;
  }
  std::string version = bytes;
  version[8] = 2;
  EXPECT_THAT([&] { SegmentHeader::from_bytes(version); }, ThrowsMessage<DataError>("format version 2; expected 1"));
  EXPECT_THAT([] { SegmentHeader::from_bytes(std::string(64, 'x')); }, ThrowsMessage<DataError>(HasSubstr("not a journal")));
}

TEST(Record, SegmentNamesSortAndAreUnique) {
  EXPECT_EQ(segment_name(0), "000000000000.qj");
  EXPECT_EQ(segment_name(1234567890123), "1234567890123.qj");
  for (const std::uint64_t first : {std::uint64_t{0}, std::uint64_t{17}, ~std::uint64_t{0}})
    EXPECT_EQ(segment_first(segment_name(first)), first);
  for (const auto* other : {"", ".qj", "0.qj", "0000000000000.qj", "000000000000.qj.part", "-00000000001.qj",
                            "torn-000000000017", "99999999999999999999.qj", "000000000000.QJ"})
    EXPECT_FALSE(segment_first(other)) << other;
}

}  // namespace
}  // namespace quorate::test
