#include "quorate/journal/reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "support/allocations.h"
#include "support/journal.h"

namespace quorate::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::ThrowsMessage;

using Made = SegmentMaker::Made;

std::vector<std::string> flat(const Commits& commits) {
  std::vector<std::string> out;
  for (const auto& commit : commits) out.insert(out.end(), commit.begin(), commit.end());
  return out;
}

/// Payloads of many lengths, empty ones and one of more than a block among them.
Commits commits_of(int seed) {
  std::mt19937 rng(static_cast<unsigned>(seed));
  Commits out;
  for (const std::size_t records : {1u, 3u, 2u, 4u}) {
    out.emplace_back();
    for (std::size_t n = 0; n < records; ++n) {
      std::string payload(records == 2 && n == 0 ? 700 : rng() % 90, '\0');
      for (char& c : payload) c = static_cast<char>(rng());
      out.back().push_back(payload);
    }
  }
  out[1][1].clear();
  return out;
}

/// Three segments.
struct Three {
  Commits commits[3] = {commits_of(1), commits_of(2), commits_of(3)};
  std::vector<Made> made;
  std::vector<std::string> payloads;

  Three() {
    SegmentMaker maker("{\"seed\": 1}");
    for (const Commits& c : commits) {
      made.push_back(maker.next(c));
      const std::vector<std::string> all = flat(c);
      payloads.insert(payloads.end(), all.begin(), all.end());
    }
  }
  void write(const TempDir& dir) const {
    for (const Made& segment : made) put(dir, segment.name, segment.bytes);
  }
  std::vector<std::string> between(std::size_t from, std::size_t to) const {
    return {payloads.begin() + static_cast<long>(from), payloads.begin() + static_cast<long>(to)};
  }
  std::vector<std::string> first(std::size_t n) const { return between(0, n); }
};

/// The number of records of a segment before an offset.
std::size_t whole_before(const Made& segment, std::size_t offset) {
  return static_cast<std::size_t>(std::upper_bound(segment.ends.begin(), segment.ends.end(), offset) - segment.ends.begin());
}

TEST(JournalReader, ReadsFromAnyRecordToAnyOther) {
  const TempDir dir;
  const Three three;
  three.write(dir);
  const std::size_t all = three.payloads.size();
  for (std::size_t from = 0; from <= all; ++from)
    for (std::size_t until = from; until <= all + 1; ++until) {
      const Found found = read_journal(dir.path(), from, until);
      EXPECT_EQ(found.damage, "");
      EXPECT_FALSE(found.torn);
      EXPECT_EQ(found.payloads, three.between(from, std::min(until, all))) << from << " to " << until;
    }
  JournalReader beyond(dir.path(), all + 5);
  EXPECT_FALSE(beyond.next());
  EXPECT_EQ(beyond.position().sequence, all) << "a journal that ends before what its owner has seen";
}

TEST(JournalReader, GivesTheHeaderOfTheSegment) {
  const TempDir dir;
  const Three three;
  three.write(dir);
  JournalReader reader(dir.path());
  EXPECT_EQ(reader.header().text, "{\"seed\": 1}");
  EXPECT_EQ(reader.header().first, 0u);
  while (reader.next()) {
  }
  EXPECT_EQ(reader.header().first, three.made[2].first);
  EXPECT_EQ(reader.position().offset, three.made[2].bytes.size());
  EXPECT_EQ(reader.position().commit, three.made[2].last_commit);
}

TEST(JournalReader, ListsSegments) {
  const TempDir dir;
  EXPECT_THAT(journal_segments(dir.path()), IsEmpty());
  EXPECT_THAT([&] { JournalReader(dir.path()); },
              ThrowsMessage<FileError>(HasSubstr("no journal; expected 000000000000.qj")));
  const Three three;
  three.write(dir);
  put(dir, "000000000003.qj.part", "x");
  put(dir, "notes", "x");
  const std::vector<Segment> segments = journal_segments(dir.path());
  ASSERT_EQ(segments.size(), 3u);
  for (std::size_t n = 0; n < 3; ++n) {
    EXPECT_EQ(segments[n].path, dir.at("journal/" + three.made[n].name));
    EXPECT_EQ(segments[n].first, three.made[n].first);
    EXPECT_EQ(segments[n].bytes, three.made[n].bytes.size());
    EXPECT_EQ(segments[n].records, n < 2 ? std::optional<std::uint64_t>(10) : std::nullopt);
  }
}

TEST(JournalReader, EveryCutOfTheLastSegmentIsTorn) {
  const TempDir dir;
  const Three three;
  three.write(dir);
  const Made& last = three.made[2];
  for (std::size_t cut = 0; cut <= last.bytes.size(); ++cut) {
    put(dir, last.name, std::string_view(last.bytes).substr(0, cut));
    const Found found = read_journal(dir.path());
    const std::size_t whole = whole_before(last, cut), sequence = last.first + whole;
    const std::size_t begin = whole == 0 ? last.header : last.ends[whole - 1];
    ASSERT_EQ(found.payloads, three.first(sequence)) << cut;
    ASSERT_EQ(found.sequence, sequence) << cut;
    if (cut < last.header) {  // a segment has a whole header before it has a name
      ASSERT_THAT(found.damage, HasSubstr(last.name + ": offset 0: record 20 is damaged: ")) << cut;
      continue;
    }
    ASSERT_EQ(found.damage, "") << cut;
    ASSERT_EQ(found.torn.has_value(), cut != begin) << cut;
    if (!found.torn) continue;
    ASSERT_EQ(found.torn->path, dir.at("journal/" + last.name));
    ASSERT_EQ(found.torn->offset, begin) << cut;
    ASSERT_EQ(found.torn->bytes, cut - begin) << cut;
    ASSERT_EQ(found.torn->sequence, sequence) << cut;
  }
}

TEST(JournalReader, EveryCutOfAnEarlierSegmentIsDamage) {
  const TempDir dir;
  const Three three;
  three.write(dir);
  const Made& middle = three.made[1];
  for (std::size_t cut = 0; cut < middle.bytes.size(); ++cut) {
    put(dir, middle.name, std::string_view(middle.bytes).substr(0, cut));
    const Found found = read_journal(dir.path());
    const std::size_t sequence = middle.first + whole_before(middle, cut);
    ASSERT_EQ(found.payloads, three.first(sequence)) << cut;
    ASSERT_EQ(found.sequence, sequence) << cut;
    ASSERT_THAT(found.damage, HasSubstr("record " + std::to_string(sequence) + " is damaged: ")) << cut;
  }
}

TEST(JournalReader, EveryFlippedBitIsDamage) {
  const TempDir dir;
  const Three three;
  three.write(dir);
  for (const Made& segment : three.made) {
    for (std::size_t at = 0; at < segment.bytes.size(); ++at) {
      const std::size_t record = whole_before(segment, at), sequence = segment.first + (at < segment.header ? 0 : record);
      std::vector<int> masks = {255, 1 << at % 8};
      if (&segment == &three.made.back()) masks = {1, 2, 4, 8, 16, 32, 64, 128, 255};
      for (const int mask : masks) {
        std::string bytes = segment.bytes;
        bytes[at] = static_cast<char>(bytes[at] ^ mask);
        put(dir, segment.name, bytes);
        const Found found = read_journal(dir.path(), segment.first);
        ASSERT_EQ(found.payloads, three.between(segment.first, sequence)) << segment.name << " " << at << " " << mask;
        ASSERT_EQ(found.sequence, sequence) << at << " " << mask;
        ASSERT_THAT(found.damage, HasSubstr(segment.name + ": offset ")) << at << " " << mask;
      }
    }
    put(dir, segment.name, segment.bytes);
  }
  EXPECT_EQ(read_journal(dir.path()).payloads, three.payloads);
}

TEST(JournalReader, ALostPowerSupplyTearsOnlyTheLastCommit) {
  // Any blocks of the commit that was being written read as zeros, and the file ends anywhere in it.
  const TempDir dir;
  SegmentMaker maker("{}");
  Commits commits = commits_of(4);
  commits.push_back(flat(commits_of(5)));
  commits.back().push_back(std::string(3000, 'x'));
  const std::vector<std::string> payloads = flat(commits);
  const Made made = maker.next(commits);
  const std::size_t acknowledged = payloads.size() - commits.back().size();
  std::mt19937 rng(6);
  std::size_t torn = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string bytes = made.bytes;
    if (round % 3 == 0) bytes.resize(made.last_commit + rng() % (bytes.size() - made.last_commit));
    std::size_t changed = bytes.size();
    for (std::size_t block = made.last_commit / kDiskBlock * kDiskBlock; block < bytes.size(); block += kDiskBlock)
      if (rng() % 4 == 0)
        for (std::size_t n = std::max(block, made.last_commit); n < std::min(block + kDiskBlock, bytes.size()); ++n) {
          if (bytes[n] != 0) changed = std::min(changed, n);
          bytes[n] = 0;
        }
    put(dir, made.name, bytes);
    const std::size_t whole = whole_before(made, changed);
    const Found found = read_journal(dir.path());
    ASSERT_EQ(found.damage, "");
    ASSERT_EQ(found.payloads, std::vector<std::string>(payloads.begin(), payloads.begin() + static_cast<long>(whole)));
    ASSERT_GE(whole, acknowledged);
    ASSERT_EQ(found.torn.has_value(), made.ends[whole - 1] != bytes.size());
    torn += found.torn.has_value();
  }
  EXPECT_GT(torn, 2000u);
}

TEST(JournalReader, ZerosBeforeTheLastCommitAreDamage) {
  const TempDir dir;
  const Made made = SegmentMaker("{}").next({{"a", std::string(2000, 'x')}, {"b"}});
  for (std::size_t block = kDiskBlock; block < 3 * kDiskBlock; block += kDiskBlock) {
    std::string bytes = made.bytes;
    std::fill_n(bytes.begin() + static_cast<long>(block), kDiskBlock, '\0');
    put(dir, made.name, bytes);
    const Found found = read_journal(dir.path());
    EXPECT_EQ(found.sequence, 1u);
    EXPECT_THAT(found.damage, HasSubstr("its payload does not match its hash"));
  }
  // Also where the header of the next commit is hidden in a header that is zeros itself.
  std::string bytes = made.bytes;
  std::fill_n(bytes.begin() + static_cast<long>(made.ends[0]), RecordHeader::kBytes, '\0');
  put(dir, made.name, bytes);
  EXPECT_THAT(read_journal(dir.path()).damage, HasSubstr("record 1 is damaged: its header does not match its check"));
}

TEST(JournalReader, WhatLooksTornAlthoughItIsDamage) {
  // The two exceptions of the promise.
  const TempDir dir;
  SegmentMaker maker("{}");
  const std::size_t header = SegmentHeader{0, 0, "{}"}.to_bytes().size();
  const Made alone = maker.next({{std::string(kDiskBlock - header - RecordHeader::kBytes, 'x')}});
  ASSERT_EQ(alone.bytes.size(), kDiskBlock + 1) << "the last byte is the only one of its block";
  std::string bytes = alone.bytes;
  bytes.back() = 0;
  put(dir, alone.name, bytes);
  EXPECT_TRUE(read_journal(dir.path()).torn);

  const Made zeros = SegmentMaker("{}").next({{"x" + std::string(3 * kDiskBlock, '\0')}});
  bytes = zeros.bytes;
  bytes[header + RecordHeader::kBytes] = 'y';
  put(dir, zeros.name, bytes);
  EXPECT_TRUE(read_journal(dir.path()).torn);
}

TEST(JournalReader, ARecordInAPayloadIsNoRecord) {
  // The bytes of another journal, in a payload that was not written whole, are not the next commit.
  const TempDir dir;
  SegmentMaker other("{\"seed\": 2}");
  const std::string inner = other.next({{"a"}, {"b"}, {"c"}}).bytes;
  const Made made = SegmentMaker("{}").next({{"a"}, {inner + std::string(2 * kDiskBlock, 'x')}});
  std::string bytes = made.bytes;
  std::fill(bytes.end() - kDiskBlock - 400, bytes.end(), '\0');
  put(dir, made.name, bytes);
  const Found found = read_journal(dir.path());
  EXPECT_THAT(found.payloads, ElementsAre("a"));
  EXPECT_TRUE(found.torn);
}

TEST(JournalReader, SegmentsThatAreMissingOrOfAnotherJournalAreDamage) {
  const TempDir dir;
  const Three three;
  three.write(dir);
  std::filesystem::remove(dir.at("journal/" + three.made[1].name));
  Found found = read_journal(dir.path());
  EXPECT_EQ(found.payloads, three.first(10));
  EXPECT_THAT(found.damage, HasSubstr("000000000010.qj: offset 0: record 10 is damaged: the segment is missing"));

  SegmentMaker other("{\"seed\": 2}");
  other.next(three.commits[0]);
  put(dir, three.made[1].name, other.next(three.commits[1]).bytes);
  found = read_journal(dir.path());
  EXPECT_EQ(found.payloads, three.first(10));
  EXPECT_THAT(found.damage, HasSubstr("its header does not continue the segment before: chain value "));

  put(dir, three.made[1].name, three.made[2].bytes);
  EXPECT_THAT(read_journal(dir.path()).damage, HasSubstr("its header begins at record 20; expected the number of its name"));
}

TEST(JournalReader, NeedsNoEarlierSegments) {
  const TempDir dir;
  const Three three;
  three.write(dir);
  std::filesystem::remove(dir.at("journal/" + three.made[0].name));
  EXPECT_EQ(read_journal(dir.path(), 10).size(), 20u);
  EXPECT_EQ(read_journal(dir.path(), 17).size(), 13u);
  EXPECT_THAT([&] { JournalReader(dir.path(), 9); },
              ThrowsMessage<UsageError>(HasSubstr("record 9 is not in it; expected a record from 10 on")));
}

TEST(JournalReader, DamageNamesTheCommandsThatHelp) {
  const TempDir dir;
  Made made = SegmentMaker("{}").next({{"a"}, {"b"}});
  made.bytes[made.bytes.size() - 2] = 'c';
  put(dir, made.name, made.bytes);
  EXPECT_EQ(
      read_journal(dir.path()).damage,
      dir.at("journal/000000000000.qj") +
          ": offset 68: record 1 is damaged: its payload does not match its hash; expected the record as it was written; "
          "`quorate journal verify --dir " +
          dir.path() + "` checks all, `quorate journal rebuild --until 1 --dir " + dir.path() +
          "` keeps the records before it");
}

TEST(JournalReader, ContinuesWhenMoreWasWritten) {
  const TempDir dir;
  const Three three;
  const Made &a = three.made[0], &b = three.made[1];
  put(dir, a.name, a.bytes.substr(0, a.ends[6] + 5));
  JournalReader reader(dir.path());
  for (std::size_t n = 0; n < 7; ++n) EXPECT_EQ(reader.next()->payload, three.payloads[n]);
  EXPECT_FALSE(reader.next());
  EXPECT_TRUE(reader.torn_tail());
  put(dir, a.name, a.bytes.substr(0, a.ends[8]));
  for (std::size_t n = 7; n < 9; ++n) EXPECT_EQ(reader.next()->payload, three.payloads[n]);
  EXPECT_FALSE(reader.next());
  EXPECT_FALSE(reader.torn_tail());
  put(dir, a.name, a.bytes);
  put(dir, b.name, b.bytes);
  for (std::size_t n = 9; n < 20; ++n) EXPECT_EQ(reader.next()->payload, three.payloads[n]);
  EXPECT_FALSE(reader.next());
}

TEST(JournalReader, NumbersInAFileDecideNoAllocation) {
  const TempDir dir;
  std::string bytes = SegmentHeader{0, 5, "{}"}.to_bytes(), record(record_bytes(kLongestPayload), '\0');
  std::uint64_t chain = 5;
  seal_record(record, true, 0, 5, chain);
  put(dir, segment_name(0), bytes + record.substr(0, 1000));
  reset_largest_allocation();
  const Found found = read_journal(dir.path());
  EXPECT_LT(largest_allocation(), std::size_t{1} << 20);
  ASSERT_TRUE(found.torn);
  EXPECT_EQ(found.torn->reason, "it ends after 1000 of 67108889 bytes");
  std::string text(40, '\xFF');  // a header text of 4 GiB
  put(dir, segment_name(0), bytes.substr(0, 12) + text);
  EXPECT_THAT(read_journal(dir.path()).damage, HasSubstr("a header text of 4294967295 bytes; expected at most 1048576"));
}

TEST(JournalReader, MemoryIsBoundedByTheLongestRecord) {
  const TempDir dir;
  const Made made = SegmentMaker("{}").next(Commits(40, {std::string(std::size_t{1} << 20, 'x'), "y"}));
  put(dir, made.name, made.bytes);
  reset_largest_allocation();
  const std::size_t before = live_bytes();
  JournalReader reader(dir.path());
  std::size_t n = 0;
  while (reader.next()) ++n;
  EXPECT_EQ(n, 80u);
  EXPECT_LE(live_bytes() - before, (std::size_t{5} << 19) + 4096);
}

}  // namespace
}  // namespace quorate::test
