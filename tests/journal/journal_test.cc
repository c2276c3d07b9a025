#include "quorate/journal/journal.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <random>
#include <set>
#include <sstream>

#include "support/journal.h"

namespace quorate::test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Key;
using testing::ThrowsMessage;

JournalOptions with_text(std::string text) {
  JournalOptions out;
  out.header = std::move(text);
  return out;
}

std::vector<std::string> numbers(std::size_t from, std::size_t to) {
  std::vector<std::string> out;
  for (std::size_t n = from; n < to; ++n) out.push_back("record " + std::to_string(n));
  return out;
}

/// A disk that can be stopped, and counts.
class SlowDisk : public FastDisk {
 public:
  int fdatasync(int) override {
    std::unique_lock lock(mutex_);
    ++syncs;
    at_sync_.notify_all();
    go_.wait(lock, [this] { return !stopped_; });
    errno = EIO;
    return failing ? -1 : 0;
  }
  ssize_t pwrite(int file, const void* bytes, std::size_t size, off_t offset) override {
    ++writes;
    return FastDisk::pwrite(file, bytes, size, offset);
  }
  void stop() {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  void go() {
    const std::lock_guard lock(mutex_);
    stopped_ = false;
    go_.notify_all();
  }
  void wait_for_syncs(int n) {
    std::unique_lock lock(mutex_);
    at_sync_.wait(lock, [&] { return syncs >= n; });
  }
  std::atomic<int> writes = 0, syncs = 0;
  std::atomic<bool> failing = false;

 private:
  std::mutex mutex_;
  std::condition_variable go_, at_sync_;
  bool stopped_ = false;
};

/// A disk whose operations fail, from the n-th of a kind on.
class FailingDisk : public FastDisk {
 public:
  enum Kind { kOpen, kWrite, kSync, kFolder, kTruncate, kRename, kKinds };

  void fail(Kind kind, int after, int error) {
    kind_ = kind;
    left_ = after;
    error_ = error;
  }
  int open(const char* path, int flags) override { return fails(kOpen) ? -1 : FastDisk::open(path, flags); }
  ssize_t pwrite(int file, const void* bytes, std::size_t size, off_t offset) override {
    if (fails(kWrite)) return -1;
    if (interrupted++ % 2 == 0) {  // half of all writes are interrupted, the others are short
      errno = EINTR;
      return -1;
    }
    return FastDisk::pwrite(file, bytes, size > 1 ? size / 2 : size, offset);
  }
  int fdatasync(int) override {
    ++syncs;
    return fails(kSync) ? -1 : 0;
  }
  int fsync(int) override { return fails(kFolder) ? -1 : 0; }
  int ftruncate(int file, off_t size) override { return fails(kTruncate) ? -1 : FastDisk::ftruncate(file, size); }
  int rename(const char* from, const char* to) override { return fails(kRename) ? -1 : FastDisk::rename(from, to); }

  std::atomic<int> failures = 0, syncs = 0;

 private:
  bool fails(Kind kind) {
    if (kind != kind_ || left_-- > 0) return false;
    ++failures;
    errno = error_;
    return true;
  }
  std::atomic<Kind> kind_ = kKinds;
  std::atomic<int> left_ = 0, error_ = 0, interrupted = 0;
};

TEST(Journal, KeepsWhatIsAppended) {
  const TempDir dir;
  for (int run = 0; run < 3; ++run) {
    Journal journal(dir.path(), with_text("{}"));
    EXPECT_EQ(journal.end(), 10u * static_cast<unsigned>(run));
    EXPECT_EQ(journal.durable(), journal.end());
    EXPECT_FALSE(journal.cut());
    for (const std::string& payload : numbers(journal.end(), journal.end() + 10)) {
      const std::uint64_t sequence = journal.append(payload);
      EXPECT_EQ("record " + std::to_string(sequence), payload);
      if (sequence % 5 == 0) {
        EXPECT_TRUE(journal.wait(sequence));
        EXPECT_EQ(journal.durable(), sequence + 1);
      }
    }
    EXPECT_EQ(journal.failed(), "");
  }
  EXPECT_EQ(read_journal(dir.path()).payloads, numbers(0, 30)) << "closing writes all that waits";
}

TEST(Journal, WritesTheFormat) {
  const TempDir dir;
  FastDisk disk;
  {
    Journal journal(dir.path(), with_text("text"), disk);
    for (const auto* payload : {"one", "", "three"}) journal.wait(journal.append(payload));
  }
  EXPECT_EQ(journal_files(dir).at("000000000000.qj"), SegmentMaker("text").next({{"one"}, {""}, {"three"}}).bytes);
}

TEST(Journal, TakesRecordsFromNothingTo64MiB) {
  const TempDir dir;
  FastDisk disk;
  const std::string longest(kLongestPayload, 'x');
  {
    Journal journal(dir.path(), {}, disk);
    EXPECT_TRUE(journal.wait(journal.append("")));
    EXPECT_TRUE(journal.wait(journal.append(longest)));
    EXPECT_THAT([&] { journal.append(longest + 'x'); },
                ThrowsMessage<UsageError>("a record of 67108865 bytes; expected at most 67108864"));
    EXPECT_THAT([&] { journal.wait(2); }, ThrowsMessage<UsageError>(HasSubstr("record 2 is not in the journal yet")));
  }
  JournalReader reader(dir.path());
  EXPECT_EQ(reader.next()->payload, "");
  EXPECT_EQ(reader.next()->payload, longest);
}

TEST(Journal, BeginsWithTheNumberGiven) {
  const TempDir dir;
  JournalOptions options;
  options.first = 1000;
  Journal journal(dir.path(), options);
  EXPECT_EQ(journal.append("x"), 1000u);
  journal.wait(1000);
  EXPECT_EQ(read_journal(dir.path(), 1000).size(), 1u);
  EXPECT_EQ(journal.segments().front().records, 1u);
}

TEST(Journal, OneCommitTakesAllThatWaits) {
  const TempDir dir;
  SlowDisk disk;
  std::mutex mutex;
  std::vector<std::uint64_t> durable;
  JournalOptions options;
  options.on_durable = [&](std::uint64_t n, const std::string& failure) {
    EXPECT_EQ(failure, "");
    const std::lock_guard lock(mutex);
    durable.push_back(n);
  };
  {
    Journal journal(dir.path(), options, disk);
    disk.stop();
    disk.writes = disk.syncs = 0;
    journal.append("first");
    disk.wait_for_syncs(1);
    for (int n = 0; n < 1000; ++n) journal.append("one of many");
    EXPECT_EQ(journal.durable(), 0u) << "nothing is acknowledged before it is on disk";
    EXPECT_THAT(durable, IsEmpty());
    disk.go();
    EXPECT_TRUE(journal.wait(1000));
    EXPECT_EQ(disk.writes, 2);
    EXPECT_EQ(disk.syncs, 2);
  }
  EXPECT_THAT(durable, ElementsAre(1, 1001));
}

TEST(Journal, BoundsWhatWaits) {
  const TempDir dir;
  SlowDisk disk;
  JournalOptions options;
  options.waiting_bytes = 1000;
  std::mutex mutex;
  std::vector<std::uint64_t> durable;
  options.on_durable = [&](std::uint64_t n, const std::string&) {
    const std::lock_guard lock(mutex);
    durable.push_back(n);
  };
  Journal journal(dir.path(), options, disk);
  disk.stop();
  disk.syncs = 0;
  journal.append("first");
  disk.wait_for_syncs(1);
  const std::string payload(75, 'x');  // ten records of 100 bytes
  std::atomic<int> appended = 0;
  std::thread writer([&] {
    for (int n = 0; n < 15; ++n, ++appended) journal.append(payload);
  });
  while (appended < 10) std::this_thread::yield();
  disk.go();
  writer.join();
  EXPECT_TRUE(journal.wait(15));
  {
    const std::lock_guard lock(mutex);
    EXPECT_EQ(durable.at(1), 11u) << "the eleventh waited for the disk";
  }
  EXPECT_EQ(journal.append(std::string(5000, 'x')), 16u)
      << "a record that is longer than the bound waits for an empty buffer";
  EXPECT_TRUE(journal.wait(16));
}

TEST(Journal, BeginsASegmentWhenToldTo) {
  const TempDir dir;
  FastDisk disk;
  for (const bool again : {false, true}) {
    Journal journal(dir.path(), with_text("{}"), disk);
    EXPECT_EQ(journal.end(), again ? 3u : 0u);
    if (again) {
      ASSERT_EQ(journal.segments().size(), 1u) << "without a record";
      journal.append("3");
    } else {
      EXPECT_TRUE(journal.begin_segment());
      EXPECT_EQ(journal.segments().size(), 1u) << "there is nothing to begin after";
      for (const std::string& payload : numbers(0, 3)) journal.append(payload);
    }
    EXPECT_TRUE(journal.begin_segment());
    EXPECT_EQ(journal.durable(), journal.end());
    const std::vector<Segment> segments = journal.segments();
    ASSERT_EQ(segments.size(), 2u);
    EXPECT_EQ(segments.back().first, journal.end());
    for (const Segment& segment : segments) EXPECT_EQ(segment.bytes, std::filesystem::file_size(segment.path));
    if (!again) {
      EXPECT_EQ(read_journal(dir.path()).payloads, numbers(0, 3));
    }
    EXPECT_EQ(journal.drop_before(journal.end()).size(), 1u);
  }
  Journal journal(dir.path(), with_text("{}"), disk);
  EXPECT_EQ(journal.end(), 4u);
  journal.wait(journal.append("4"));
  EXPECT_EQ(read_journal(dir.path(), 4).payloads, std::vector<std::string>{"4"});
}

TEST(Journal, SegmentsFollowOneAnother) {
  const TempDir dir;
  FastDisk disk;
  JournalOptions options = with_text("{}");
  options.segment_bytes = 1000;
  {
    Journal journal(dir.path(), options, disk);
    for (const std::string& payload : numbers(0, 100)) journal.wait(journal.append(payload));
    journal.wait(journal.append(std::string(5000, 'x')));  // longer than a segment
    journal.wait(journal.append("after"));
  }
  Journal journal(dir.path(), options, disk);
  const std::vector<Segment> segments = journal.segments();
  ASSERT_GT(segments.size(), 4u);
  std::uint64_t bytes = 0, records = 0;
  for (const Segment& segment : segments) {
    EXPECT_EQ(segment.first, records);
    EXPECT_EQ(segment.bytes, std::filesystem::file_size(segment.path));
    EXPECT_TRUE(segment.bytes <= 1000 || segment.records == 1u);
    bytes += segment.bytes;
    records += segment.records.value();
  }
  EXPECT_EQ(records, 102u);
  EXPECT_EQ(read_journal(dir.path()).size(), 102u);
  EXPECT_EQ(journal.disk_bytes(), bytes + std::filesystem::file_size(dir.at("journal/lock")));
}

TEST(Journal, DropsAndArchivesWholeSegments) {
  const TempDir dir;
  FastDisk disk;
  JournalOptions options = with_text("{}");
  options.segment_bytes = 300;
  Journal journal(dir.path(), options, disk);
  for (const std::string& payload : numbers(0, 50)) journal.wait(journal.append(payload));
  const std::vector<Segment> all = journal.segments();
  ASSERT_GT(all.size(), 5u);
  EXPECT_THAT(journal.drop_before(all[1].first - 1), IsEmpty());
  EXPECT_EQ(journal.drop_before(all[1].first).size(), 1u);
  EXPECT_EQ(read_journal(dir.path(), all[1].first).payloads, numbers(all[1].first, 50));
  EXPECT_EQ(journal.drop_before(all[3].first + 1, dir.at("archive")).size(), 2u);
  EXPECT_EQ(journal.segments().size(), all.size() - 3);
  EXPECT_EQ(read_file(dir.at("archive/" + segment_name(all[2].first))).size(), all[2].bytes);
  EXPECT_FALSE(std::filesystem::exists(all[2].path));
  dir.write("archive/" + segment_name(all[3].first), "mine");
  EXPECT_THAT([&] { journal.drop_before(50, dir.at("archive")); }, ThrowsMessage<FileError>(HasSubstr("exists already")));
  EXPECT_EQ(journal.drop_before(50).size(), all.size() - 4) << "the last one stays";
  journal.wait(journal.append("record 50"));
  EXPECT_EQ(read_journal(dir.path(), all.back().first).payloads, numbers(all.back().first, 51));
}

TEST(Journal, ThreadsAppendInOneOrder) {
  const TempDir dir;
  constexpr int kThreads = 4, kEach = 500;
  std::vector<std::vector<std::uint64_t>> given(kThreads);
  {
    JournalOptions options;
    options.segment_bytes = 10000;
    Journal journal(dir.path(), options);
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t)
      threads.emplace_back([&, t] {
        for (int n = 0; n < kEach; ++n) {
          given[static_cast<std::size_t>(t)].push_back(journal.append(std::to_string(t) + " " + std::to_string(n)));
          if (n % 100 == 0) journal.wait(given[static_cast<std::size_t>(t)].back());
        }
      });
    std::thread watcher([&] {  // reads, and drops, while others write
      for (int n = 0; n < 20; ++n) {
        EXPECT_EQ(read_journal(dir.path(), journal.segments().front().first, journal.durable()).damage, "");
        journal.disk_bytes();
        if (n == 10) journal.drop_before(0);
      }
    });
    for (std::thread& thread : threads) thread.join();
    watcher.join();
  }
  const Found found = read_journal(dir.path());
  ASSERT_EQ(found.size(), static_cast<std::size_t>(kThreads * kEach));
  for (std::size_t t = 0; t < kThreads; ++t)
    for (std::size_t n = 0; n < kEach; ++n)
      ASSERT_EQ(found.payloads[given[t][n]], std::to_string(t) + " " + std::to_string(n));
}

TEST(Journal, AReaderFollowsAWriter) {
  // No read of a journal at work is damage, wherever it is in its commits and segments.
  const TempDir dir;
  FastDisk disk;
  JournalOptions options;
  options.segment_bytes = 2000;
  Journal journal(dir.path(), options, disk);
  journal.append("0");
  std::thread writer([&] {
    for (int n = 1; n < 20000; ++n) journal.append(std::to_string(n));
  });
  JournalReader reader(dir.path());
  for (int n = 0; n < 20000;)
    if (const auto record = reader.next()) {
      ASSERT_EQ(record->payload, std::to_string(n++));
    }
  writer.join();
}

TEST(Journal, AfterAFailureNothingIsAcknowledged) {
  struct Case {
    FailingDisk::Kind kind;
    int error;
    const char* text;
  };
  for (const Case& c :
       {Case{FailingDisk::kWrite, ENOSPC, "No space left on device"}, Case{FailingDisk::kSync, EIO, "Input/output error"},
        Case{FailingDisk::kOpen, EMFILE, "Too many open files"}, Case{FailingDisk::kRename, EROFS, "Read-only"},
        Case{FailingDisk::kFolder, EIO, "Input/output error"}})
    for (int after = 0; after < 60; after += 1 + after / 4) {
      const TempDir dir;
      FailingDisk disk;
      std::atomic<std::uint64_t> acknowledged = 0;
      std::atomic<int> failures = 0;
      JournalOptions options;
      options.segment_bytes = 300;
      options.on_durable = [&](std::uint64_t n, const std::string& failure) {
        acknowledged = n;
        failures += !failure.empty();
      };
      std::uint64_t appended = 0;
      {
        Journal journal(dir.path(), options, disk);
        disk.fail(c.kind, after, c.error);
        try {
          for (; appended < 3000;) {
            const std::uint64_t sequence = journal.append("record " + std::to_string(appended));
            ++appended;
            if (sequence % 3 != 0) continue;
            const bool durable = journal.wait(sequence);
            EXPECT_EQ(durable, journal.durable() > sequence);
            EXPECT_EQ(durable, journal.failed().empty() || journal.durable() > sequence);
          }
          ADD_FAILURE() << "a failed journal takes records";
        } catch (const FileError& e) {
          EXPECT_EQ(e.what(), journal.failed());
        }
        EXPECT_THAT(journal.failed(), HasSubstr(c.text));
        EXPECT_THAT(journal.failed(),
                    HasSubstr("record " + std::to_string(journal.durable()) + " and those after it are not acknowl"));
        const int syncs = disk.syncs;
        EXPECT_THROW(journal.append("x"), FileError);
        EXPECT_FALSE(journal.wait(appended - 1));
        EXPECT_EQ(disk.failures, 1) << "what failed is not tried again";
        EXPECT_EQ(disk.syncs, syncs);
        EXPECT_EQ(journal.durable(), acknowledged);
      }
      EXPECT_EQ(failures, 1);
      options.on_durable = nullptr;
      FastDisk good;
      Journal again(dir.path(), options, good);
      EXPECT_GE(again.end(), acknowledged);
      EXPECT_LE(again.end(), appended);
      again.wait(again.append("record " + std::to_string(again.end())));
      EXPECT_EQ(read_journal(dir.path()).payloads, numbers(0, again.end()));
      EXPECT_FALSE(std::filesystem::exists(dir.at("journal/" + segment_name(again.end() - 1) + ".part")));
    }
}

TEST(Journal, WhatWaitsAtAFailureIsNotWritten) {
  const TempDir dir;
  SlowDisk disk;
  {
    Journal journal(dir.path(), {}, disk);
    disk.stop();
    disk.writes = disk.syncs = 0;
    journal.append("first");
    disk.wait_for_syncs(1);
    journal.append("second");
    disk.failing = true;
    disk.go();
    EXPECT_FALSE(journal.wait(0));
    EXPECT_FALSE(journal.wait(1));
    disk.failing = false;  // the disk says that all is well now
    EXPECT_EQ(journal.durable(), 0u);
  }  // waits for its thread
  EXPECT_EQ(disk.writes, 1);
  EXPECT_EQ(disk.syncs, 1);
}

TEST(Journal, CutsATornTailAndKeepsItsBytes) {
  const TempDir dir;
  FastDisk disk;
  const auto made = SegmentMaker("{}").next({{"a"}, {"b", "c"}});
  for (std::size_t cut = made.header; cut < made.bytes.size(); ++cut) {
    put(dir, made.name, made.bytes.substr(0, cut));
    const Found before = read_journal(dir.path());
    for (const bool again : {false, true}) {
      Journal journal(dir.path(), with_text("{}"), disk);
      ASSERT_EQ(journal.end(), before.size());
      ASSERT_EQ(journal.cut().has_value(), before.torn.has_value() && !again);
      if (!journal.cut()) continue;
      ASSERT_EQ(journal.cut()->bytes, before.torn->bytes);
      ASSERT_EQ(journal.cut()->sequence, before.size());
      ASSERT_EQ(journal.cut_file(), dir.at("journal/torn-00000000000" + std::to_string(before.size())));
      const auto files = journal_files(dir);
      ASSERT_EQ(files.at(made.name) + read_file(journal.cut_file()), made.bytes.substr(0, cut));
      std::filesystem::remove(journal.cut_file());
    }
    const Found after = read_journal(dir.path());
    ASSERT_EQ(after.payloads, before.payloads);
    ASSERT_FALSE(after.torn);
  }
}

TEST(Journal, NoTornTailReplacesAnother) {
  const TempDir dir;
  const auto made = SegmentMaker("{}").next({{"a"}});
  for (const std::size_t length : {3u, 4u, 5u}) {
    put(dir, made.name, made.bytes.substr(0, made.header + length));
    const Journal journal(dir.path(), with_text("{}"));
  }
  const auto files = journal_files(dir);
  EXPECT_EQ(files.at("torn-000000000000").size(), 3u);
  EXPECT_EQ(files.at("torn-000000000000-2").size(), 4u);
  EXPECT_EQ(files.at("torn-000000000000-3").size(), 5u);
}

TEST(Journal, ChangesNothingIfItIsDamaged) {
  const TempDir dir;
  FastDisk disk;
  const auto made = SegmentMaker("{}").next({{"a", "b"}, {"c", std::string(600, 'x')}});
  for (std::size_t at = 0; at < made.bytes.size(); ++at) {
    std::string bytes = made.bytes;
    bytes[at] = static_cast<char>(~bytes[at]);
    put(dir, made.name, bytes);
    ASSERT_THROW(Journal(dir.path(), with_text("{}"), disk), JournalDamage) << at;
    ASSERT_EQ(journal_files(dir), (std::map<std::string, std::string>{{made.name, bytes}})) << at;
  }
}

TEST(Journal, ChangesNothingIfItCannotBeRepaired) {
  const auto made = SegmentMaker("{}").next({{"a"}, {"b"}});
  const std::string torn = made.bytes.substr(0, made.bytes.size() - 3);
  for (int kind = 0; kind < FailingDisk::kRename; ++kind) {
    const TempDir dir;
    put(dir, made.name, torn);
    FailingDisk disk;
    disk.fail(static_cast<FailingDisk::Kind>(kind), 0, ENOSPC);
    EXPECT_THROW(Journal(dir.path(), with_text("{}"), disk), FileError);
    EXPECT_EQ(journal_files(dir).at(made.name), torn) << kind;
    disk.fail(FailingDisk::kKinds, 0, 0);
    EXPECT_EQ(Journal(dir.path(), with_text("{}"), disk).end(), 1u);
  }
}

TEST(Journal, WritesTheLastCommitAgain) {
  // After an fdatasync failed, the bytes may be in memory alone, and a later one would not write them.
  class Log : public FastDisk {
   public:
    ssize_t pwrite(int file, const void* bytes, std::size_t size, off_t offset) override {
      written.emplace_back(offset, std::string(static_cast<const char*>(bytes), size));
      return FastDisk::pwrite(file, bytes, size, offset);
    }
    int fdatasync(int) override {
      synced = written.size();
      return 0;
    }
    std::vector<std::pair<off_t, std::string>> written;
    std::size_t synced = 0;
  };
  const TempDir dir;
  const auto made = SegmentMaker("{}").next({{"a"}, {"b", "c"}});
  put(dir, made.name, made.bytes);
  Log disk;
  const Journal journal(dir.path(), with_text("{}"), disk);
  EXPECT_THAT(disk.written,
              ElementsAre(std::pair<off_t, std::string>(made.last_commit, made.bytes.substr(made.last_commit))));
  EXPECT_EQ(disk.synced, 1u);
}

TEST(Journal, RefusesAHeaderTextThatIsTooLong) {
  const TempDir dir;
  EXPECT_THROW(Journal(dir.path(), with_text(std::string(kLongestHeaderText + 1, ' '))), UsageError);
}

/// A child process that runs `work` and can be killed.
class Child {
 public:
  template <class Work>
  explicit Child(Work work) {
    int ends[2];
    if (pipe(ends) != 0) throw std::runtime_error("no pipe");
    pid_ = fork();
    if (pid_ == 0) {
      close(ends[0]);
      try {
        work(ends[1]);
      } catch (const std::exception& e) {
        dprintf(ends[1], "error: %s\n", e.what());
      }
      _exit(0);
    }
    close(ends[1]);
    read_ = ends[0];
  }
  ~Child() {
    kill_now();
    close(read_);
  }
  pid_t pid() const { return pid_; }
  void kill_now() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }
  std::string read_some() const {
    char buffer[4096];
    const ssize_t n = read(read_, buffer, sizeof buffer);
    return n > 0 ? std::string(buffer, static_cast<std::size_t>(n)) : "";
  }
  std::string read_all() const {
    std::string out;
    for (std::string part = read_some(); !part.empty(); part = read_some()) out += part;
    return out;
  }

 private:
  pid_t pid_ = 0;
  int read_ = -1;
};

TEST(Journal, OneProcessAtATime) {
  const TempDir dir;
  {
    const Journal mine(dir.path(), {});
    EXPECT_THAT(
        [&] { Journal(dir.path(), {}); },
        ThrowsMessage<FileError>(dir.at("journal") + ": process " + std::to_string(getpid()) +
                                 " has this journal open; expected one process at a time: stop it, or use another --dir"));
    EXPECT_EQ(read_journal(dir.path()).size(), 0u) << "reading needs no lock";
  }
  Child child([&](int out) {
    const Journal journal(dir.path(), {});
    dprintf(out, "open\n");
    pause();
  });
  ASSERT_EQ(child.read_some(), "open\n");
  EXPECT_THAT([&] { Journal(dir.path(), {}); },
              ThrowsMessage<FileError>(HasSubstr("process " + std::to_string(child.pid()) + " has this journal open")));
  child.kill_now();
  EXPECT_EQ(Journal(dir.path(), {}).end(), 0u);
}

TEST(Journal, NoAcknowledgedRecordIsLostByAKill) {
  // QUORATE_KILLS=1000 for the long form.
  const char* kills = std::getenv("QUORATE_KILLS");
  const int rounds = kills != nullptr ? std::atoi(kills) : 20;
  const TempDir dir;
  JournalOptions options = with_text("{}");
  options.segment_bytes = 20000;
  std::map<std::uint64_t, std::string> acknowledged;
  std::mt19937 rng(7);
  std::size_t torn = 0;
  for (int round = 0; round < rounds; ++round) {
    const auto delay = static_cast<unsigned>(rng() % 40000);  // microseconds
    Child child([&](int out) {
      Journal journal(dir.path(), options);
      std::vector<std::thread> threads;
      for (int t = 0; t < 6; ++t)
        threads.emplace_back([&, t] {
          for (int n = 0;; ++n) {
            const std::string payload = std::to_string(round) + "." + std::to_string(t) + "." + std::to_string(n);
            // Long ones now and then: the kernel ends a write of several pages where the kill finds it.
            const auto padding = static_cast<std::size_t>(n % 16 == 7 ? 1000000 : n % 7 * 40);
            const std::uint64_t sequence = journal.append(payload + std::string(padding, ' '));
            if (!journal.wait(sequence)) _exit(1);
            dprintf(out, "%llu %s\n", static_cast<unsigned long long>(sequence), payload.c_str());
          }
        });
      for (std::thread& thread : threads) thread.join();
    });
    const std::string begun = child.read_some();
    usleep(delay);
    child.kill_now();
    std::istringstream lines(begun + child.read_all());
    std::uint64_t sequence = 0;
    for (std::string payload; lines >> sequence >> payload;) ASSERT_TRUE(acknowledged.emplace(sequence, payload).second);
    torn += read_journal(dir.path(), journal_segments(dir.path()).back().first).torn.has_value();
  }
  Journal journal(dir.path(), options);
  std::vector<std::string> payloads;
  JournalReader reader(dir.path());
  while (const auto record = reader.next()) payloads.emplace_back(record->payload.substr(0, record->payload.find(' ')));
  EXPECT_EQ(payloads.size(), journal.end());
  EXPECT_GE(acknowledged.size(), static_cast<std::size_t>(rounds));
  for (const auto& [sequence, payload] : acknowledged) {
    ASSERT_LT(sequence, payloads.size());
    ASSERT_EQ(payloads[sequence], payload);
  }
  // Of each thread of each process the first records, each once, in order.
  std::map<std::string, int> next;
  for (const std::string& payload : payloads) {
    const std::size_t dot = payload.rfind('.');
    ASSERT_EQ(std::to_string(next[payload.substr(0, dot)]++), payload.substr(dot + 1));
  }
  if (kills != nullptr)
    std::printf("%d kills, %zu records acknowledged, %zu in the journal, %zu torn tails\n", rounds, acknowledged.size(),
                payloads.size(), torn);
}

}  // namespace
}  // namespace quorate::test
