#include "server/service.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <future>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <thread>
#include <vector>

#include "quorate/base/error.h"
#include "quorate/share/replica.h"
#include "quorate/store/files.h"
#include "support/journal.h"
#include "support/temp.h"

namespace quorate::server {
namespace {

using Json = nlohmann::json;

DeskSettings spam() {
  DeskSettings out;
  out.positive = "spam";
  out.negative = "ham";
  out.learning.labels = {"200"};
  out.learning.audit = 0.1;
  out.features.bits = 10;
  return out;
}

/// A clock that advances by a second a call, so that runs have the same times.
struct Clock {
  double now = 1'763'855'000;
  double operator()() { return now += 1; }
};

test::FastDisk& fast() {
  static test::FastDisk disk;
  return disk;
}

ServiceOptions options(const std::string& dir, double start = 1'763'855'000) {
  ServiceOptions out;
  out.dir = dir;
  out.settings = spam();
  out.clock = Clock{start};
  return out;
}

DeskReply call(Service& service, const std::string& event) {
  std::promise<DeskReply> reply;
  service.submit(read_event("{\"at\":0," + event.substr(1)).what, [&](DeskReply r) { reply.set_value(std::move(r)); });
  return reply.get_future().get();
}

DeskReply post(Service& service, const std::string& lines) {
  std::promise<DeskReply> reply;
  service.submit_examples(lines, [&](DeskReply r) { reply.set_value(std::move(r)); });
  return reply.get_future().get();
}

/// Without the memory that is reserved, which depends on how the state came about.
Json status_of(const Service& service) {
  Json status = Json::parse(service.status().text());
  status.erase("model_bytes");
  return status;
}

bool is_spam(int i) { return i % 3 == 0; }

std::string lines(int from, int until) {
  std::string out;
  for (int i = from; i < until; ++i)
    out += Json{{"id", "m" + std::to_string(i)},
                {"task", "t" + std::to_string(i % 4)},
                {"text", (is_spam(i) ? "free money invoice w" : "lunch on friday w") +
                             std::string(1, static_cast<char>('a' + i % 17))}}
               .dump() +
           "\n";
  return out;
}

/// An annotator answers `most` questions, right unless every `wrong`th. Returns the number answered.
int answer(Service& service, const std::string& who, int most) {
  int answered = 0;
  for (; answered < most; ++answered) {
    const Json reply = Json::parse(call(service, Json{{"do", "next"}, {"annotator", who}}.dump()).text());
    if (reply["question"].is_null()) break;
    const int number = std::stoi(reply["question"]["example"].get<std::string>().substr(1));
    const DeskReply saved = call(service, Json{{"do", "answer"},
                                               {"lease", reply["question"]["lease"]},
                                               {"label", is_spam(number) ? "spam" : "ham"},
                                               {"seconds", 2.5}}
                                              .dump());
    EXPECT_EQ(saved.verdict, Verdict::kDone) << saved.text();
  }
  return answered;
}

/// Examples, answers, a skip and an undo.
void work(Service& service, int from) {
  EXPECT_EQ(post(service, lines(from, from + 300)).verdict, Verdict::kDone);
  EXPECT_GT(answer(service, "ann", 12), 5);
  const Json reply = Json::parse(call(service, R"({"do":"next","annotator":"bo"})").text());
  if (!reply["question"].is_null()) {
    EXPECT_EQ(call(service, Json{{"do", "skip"}, {"lease", reply["question"]["lease"]}}.dump()).verdict, Verdict::kDone);
  }
  EXPECT_EQ(call(service, R"({"do":"undo","annotator":"ann"})").verdict, Verdict::kDone);
  EXPECT_GT(answer(service, "bo", 5), 0);
}

TEST(Service, AReplicaFollowsTheLog) {
  const test::TempDir dir;
  auto how = options(dir.at("d"));
  how.keep_snapshots = 2;
  {
    Service service(how, fast());
    Replica replica(service.newest_snapshot());
    EXPECT_EQ(replica.next(), 0U);
    EXPECT_EQ(service.log_records(0, service.log_name()), "");
    work(service, 0);
    replica.apply(service.log_records(0, service.log_name()));
    EXPECT_EQ(replica.desk().model().to_bytes(), service.model_bytes());
    EXPECT_EQ(service.log_records(replica.next(), service.log_name()), "");
    const auto verdict = [&](std::uint64_t from, const std::string& log) {
      try {
        service.log_records(from, log);
        return Verdict::kDone;
      } catch (const Refused& e) {
        return e.verdict;
      }
    };
    EXPECT_EQ(verdict(replica.next() + 1, service.log_name()), Verdict::kConflict);
    EXPECT_EQ(verdict(0, std::string(32, '0')), Verdict::kConflict) << "the log of another folder";
  }
  how.settings.reset();
  Service service(how, fast());  // the first one left a snapshot
  Replica replica(service.newest_snapshot());
  EXPECT_GT(replica.next(), 0U);
  EXPECT_EQ(replica.desk().model().to_bytes(), service.model_bytes());
  work(service, 300);
  replica.apply(service.log_records(replica.next(), replica.log()));
  EXPECT_EQ(replica.desk().model().to_bytes(), service.model_bytes());
}

TEST(Service, AReplayEqualsTheLiveRunToTheBit) {
  const test::TempDir dir;
  std::string model;
  Json status;
  {
    Service service(options(dir.at("d")), fast());
    work(service, 0);
    model = service.model_bytes();
    status = status_of(service);
  }
  for (const auto& entry : std::filesystem::directory_iterator(dir.at("d")))
    if (entry.path().filename().string().starts_with("snapshot-")) std::filesystem::remove(entry.path());
  auto again = options(dir.at("d"));
  again.settings.reset();
  Service replayed(again, fast());
  EXPECT_EQ(replayed.model_bytes(), model);
  EXPECT_EQ(status_of(replayed), status);
}

TEST(Service, ASnapshotAndTheEventsAfterItEqualAReplayFromTheStart) {
  const test::TempDir dir;
  for (int run = 0; run < 3; ++run) {
    Service service(options(dir.at("d"), 1'763'855'000 + 10'000 * run), fast());
    work(service, 300 * run);
  }
  std::filesystem::create_directories(dir.at("copy"));
  std::filesystem::copy(dir.at("d/journal"), dir.at("copy/journal"), std::filesystem::copy_options::recursive);
  Service from_snapshot(options(dir.at("d")), fast()), from_start(options(dir.at("copy")), fast());
  EXPECT_GT(from_snapshot.figures().snapshot_at, 0U);
  EXPECT_EQ(from_start.figures().snapshot_at, 0U);
  EXPECT_EQ(from_snapshot.model_bytes(), from_start.model_bytes());
  EXPECT_EQ(status_of(from_snapshot), status_of(from_start));
  // Both go on alike.
  EXPECT_EQ(call(from_snapshot, R"({"do":"next","annotator":"ann"})").text(),
            call(from_start, R"({"do":"next","annotator":"ann"})").text());
}

TEST(Service, ASnapshotWhileAtWorkIsOneOfAMoment) {
  const test::TempDir dir;
  std::string model;
  {
    auto often = options(dir.at("d"));
    often.snapshot_events = 5;
    often.keep_snapshots = 1000;
    Service service(often, fast());
    for (int run = 0; run < 3; ++run) {
      const std::uint64_t before = service.figures().snapshot_at;
      work(service, 300 * run);
      // Where the disk is slow one snapshot takes longer than all of this work, which does not wait for it. Events that
      // change nothing do: how many there are does not change which questions the next run is asked.
      // Minutes alone do not count: the disk, or the whole machine, may stand still for as long.
      const auto start = std::chrono::steady_clock::now();
      for (int calls = 0; service.figures().snapshot_at == before; ++calls) {
        call(service, R"({"do":"limits","labels":200})");
        ASSERT_TRUE(calls < 100'000 || std::chrono::steady_clock::now() - start < std::chrono::minutes(5))
            << "no snapshot is taken";
      }
    }
    model = service.model_bytes();
  }
  std::uint64_t snapshots = 0;
  for (const auto& entry : std::filesystem::directory_iterator(dir.at("d")))
    snapshots += entry.path().extension() == ".desk";
  EXPECT_GT(snapshots, 2U);  // beside the one at the end
  auto keeping = options(dir.at("d"));
  keeping.keep_snapshots = 1000;
  for (std::uint64_t left = snapshots; left > 0; --left) {
    Service service(keeping, fast());
    EXPECT_EQ(service.model_bytes(), model);
    const std::uint64_t at = service.figures().snapshot_at;
    service.stop();
    std::string digits = std::to_string(at);
    digits.insert(0, 12 - digits.size(), '0');
    EXPECT_TRUE(std::filesystem::remove(dir.at("d/snapshot-" + digits + ".desk")));  // the next start uses the one before
  }
}

TEST(Service, SnapshotsAreTakenByTheWorkOfAReplayAndTheOldestGo) {
  const test::TempDir dir;
  auto how = options(dir.at("d"));
  how.snapshot_work = 0;  // as soon as they cost little beside the events
  Service service(how, fast());
  for (int seen = 0, n = 0; seen < 4; ++n) {
    const std::uint64_t before = service.figures().snapshot_at;
    post(service, lines(10 * n, 10 * n + 10));
    seen += service.figures().snapshot_at != before;
  }
  service.stop();
  std::size_t snapshots = 0;
  for (const auto& entry : std::filesystem::directory_iterator(dir.at("d")))
    snapshots += entry.path().extension() == ".desk";
  EXPECT_EQ(snapshots, 2U);
  EXPECT_EQ(journal_segments(dir.at("d")).front().first, 0U);  // the whole journal stays
}

TEST(Service, ADamagedSnapshotIsPassedOver) {
  const test::TempDir dir;
  std::string model, name;
  {
    Service service(options(dir.at("d")), fast());
    work(service, 0);
    model = service.model_bytes();
  }
  for (const auto& entry : std::filesystem::directory_iterator(dir.at("d")))
    if (entry.path().extension() == ".model") name = entry.path().string();
  std::string bytes = read_file(name);
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
  std::ofstream(name, std::ios::binary) << bytes;
  auto again = options(dir.at("d"));
  std::string logged;
  again.log = [&](std::string_view line) { logged += line; };
  Service service(again, fast());
  EXPECT_EQ(service.model_bytes(), model);
  EXPECT_NE(logged.find(name), std::string::npos) << logged;
}

TEST(Service, AJournalThatEndsBeforeASnapshotIsRefused) {
  const test::TempDir dir;
  const auto copy = [&](const char* from, const char* to) {
    std::filesystem::copy(dir.at(from), dir.at(to), std::filesystem::copy_options::recursive);
  };
  {
    Service service(options(dir.at("d")), fast());
    call(service, R"({"do":"next","annotator":"ann"})");
  }
  copy("d/journal", "shorter");
  {
    Service service(options(dir.at("d")), fast());
    work(service, 0);
  }
  std::filesystem::remove_all(dir.at("d/journal"));
  EXPECT_THROW(Service(options(dir.at("d")), fast()), DataError);
  copy("shorter", "d/journal");
  try {
    Service service(options(dir.at("d")), fast());
    FAIL() << "started";
  } catch (const DataError& e) {
    EXPECT_NE(std::string(e.what()).find("lost"), std::string::npos) << e.what();
  }
}

TEST(Service, SettingsMustBeTheSame) {
  const test::TempDir dir;
  { Service service(options(dir.at("d")), fast()); }
  auto other = options(dir.at("d"));
  other.settings->learning.audit = 0.2;
  try {
    Service service(other, fast());
    FAIL() << "started";
  } catch (const UsageError& e) {
    EXPECT_NE(std::string(e.what()).find("'audit'"), std::string::npos) << e.what();
  }
  other.settings = spam();
  other.settings->learning.labels.clear();
  EXPECT_THROW(Service(other, fast()), UsageError);
  auto none = options(dir.at("new"));
  none.settings.reset();
  EXPECT_THROW(Service(none, fast()), UsageError);
  EXPECT_FALSE(std::filesystem::exists(dir.at("new")));
}

TEST(Service, TwoProcessesDoNotServeOneFolder) {
  const test::TempDir dir;
  const Service service(options(dir.at("d")), fast());
  EXPECT_THROW(Service(options(dir.at("d")), fast()), FileError);
}

/// Lets `good` flushes pass, then fails.
struct FailingDisk : test::FastDisk {
  std::atomic<int> good = 1 << 30;
  int fdatasync(int) override {
    if (good-- > 0) return 0;
    errno = EIO;
    return -1;
  }
};

TEST(Service, AfterAFailedFlushNoEventIsTakenAndPredictionsGoOn) {
  const test::TempDir dir;
  FailingDisk disk;
  std::string lease;
  {
    Service service(options(dir.at("d")), disk);
    work(service, 0);
    const Json reply = Json::parse(call(service, R"({"do":"next","annotator":"ann"})").text());
    ASSERT_FALSE(reply["question"].is_null());
    lease = reply["question"]["lease"];
    disk.good = 0;
    const std::string event = Json{{"do", "answer"}, {"lease", lease}, {"label", "spam"}, {"seconds", 1}}.dump();
    EXPECT_EQ(call(service, event).verdict, Verdict::kUnavailable);
    EXPECT_EQ(call(service, event).verdict, Verdict::kUnavailable);
    EXPECT_NE(service.failed(), "");
    const Json status = Json::parse(service.status().text());
    EXPECT_EQ(status["taking_answers"], false);
    EXPECT_EQ(status["problem"], service.failed());
    EXPECT_EQ(service.predict(lines(0, 2)).verdict, Verdict::kDone);
  }
  // The next start is with what is on disk, and its answer may be given.
  Service service(options(dir.at("d")), fast());
  EXPECT_EQ(service.failed(), "");
  EXPECT_EQ(Json::parse(service.status().text())["taking_answers"], true);
}

/// Flushes wait while the test holds `gate`.
struct SlowDisk : test::FastDisk {
  std::mutex gate;
  int fdatasync(int) override {
    const std::lock_guard lock(gate);
    return 0;
  }
};

TEST(Service, NothingIsAnsweredBeforeWhatItDependsOnIsOnDisk) {
  const test::TempDir dir;
  SlowDisk disk;
  auto how = options(dir.at("d"));
  std::atomic<int> applied = 0;  // events that were given their time
  how.clock = [&applied] { return 1'763'855'000.0 + ++applied; };
  Service service(how, disk);
  std::atomic<int> answered = 0;
  std::vector<int> order;
  {
    const std::lock_guard hold(disk.gate);
    service.submit_examples(lines(0, 10), [&](DeskReply) { order.push_back(0), ++answered; });
    // Changes nothing, but its answer depends on the examples.
    service.submit(event::Answer{"nobody-1", "spam", 1.0}, [&](DeskReply) { order.push_back(1), ++answered; });
    while (applied < 2) std::this_thread::yield();
    EXPECT_EQ(answered, 0);
    EXPECT_EQ(service.figures().waiting, 2U);
  }
  service.stop();
  EXPECT_EQ(answered, 2);
  EXPECT_EQ(order, (std::vector{0, 1}));
}

TEST(Service, AFullQueueIsRefused) {
  const test::TempDir dir;
  SlowDisk disk;
  auto few = options(dir.at("d"));
  few.most_waiting = 3;
  Service service(few, disk);
  std::atomic<int> refused = 0, taken = 0;
  {
    const std::lock_guard hold(disk.gate);
    for (int i = 0; i < 10; ++i)
      service.submit_examples(lines(i, i + 1),
                              [&](DeskReply reply) { ++(reply.verdict == Verdict::kUnavailable ? refused : taken); });
    EXPECT_EQ(refused, 7);
  }
  service.stop();
  EXPECT_EQ(taken, 3);
  EXPECT_EQ(service.figures().refused, 7U);
  EXPECT_EQ(post(service, lines(0, 1)).verdict, Verdict::kUnavailable);
}

TEST(Service, ManyExamplesAreEventsOfAFewHundred) {
  const test::TempDir dir;
  Service service(options(dir.at("d")), fast());
  const DeskReply reply = post(service, lines(0, 1000));
  EXPECT_EQ(reply.verdict, Verdict::kDone);
  EXPECT_EQ(service.figures().events, 4U);
  EXPECT_EQ(Json::parse(service.status().text())["examples"], 1000);
  const Json body = Json::parse(reply.text());
  ASSERT_EQ(body["examples"].size(), 1000U);
  EXPECT_EQ(body["examples"][999]["id"], "m999");
  std::uint64_t asked = 0;
  for (const Json& one : body["examples"]) asked += one["asked"] == true;
  EXPECT_EQ(body["asked"], asked);
  const DeskReply bad = post(service, lines(1000, 1300) + "{\n" + lines(1301, 1302));
  EXPECT_EQ(Json::parse(bad.text())["examples"][300]["line"], 301);
  const DeskReply late = post(service, std::string(1000, '\n') + lines(1302, 1303));
  EXPECT_EQ(Json::parse(late.text())["examples"][0]["id"], "m1302");
  EXPECT_EQ(post(service, std::string(1000, '\n')).verdict, Verdict::kMalformed);
}

TEST(Service, TheJournalIsReadInPages) {
  const test::TempDir dir;
  Service service(options(dir.at("d")), fast());
  work(service, 0);
  std::string all = service.journal(0, 100'000), pages;
  for (std::uint64_t from = 0; from < service.figures().durable_events; from += 7) pages += service.journal(from, 7);
  EXPECT_EQ(all, pages);
  const Json first = Json::parse(all.substr(0, all.find('\n')));
  EXPECT_EQ(first["sequence"], 0);
  EXPECT_EQ(first["event"]["do"], "examples");
  EXPECT_EQ(first["event"]["at"], 1'763'855'001);
  EXPECT_EQ(first["examples"][0]["id"], "m0");
  EXPECT_EQ(first["examples"].size(), 256U);
  EXPECT_EQ(service.journal(1'000'000, 10), "");
}

TEST(Service, TheClockNeverGoesBack) {
  const test::TempDir dir;
  double now = 2'000;
  auto how = options(dir.at("d"));
  how.clock = [&] { return now; };
  Service service(how, fast());
  for (const double time : {2'000.0, 1'000.0, 3'000.0, 2'500.0}) {
    now = time;
    post(service, lines(static_cast<int>(time) + (time == 2'000.0), static_cast<int>(time) + 2));
  }
  const std::string events = service.journal(0, 10);
  double last = 0;
  int seen = 0;
  for (std::size_t at = 0; at < events.size(); at = events.find('\n', at) + 1, ++seen) {
    const double time = Json::parse(events.substr(at, events.find('\n', at) - at))["event"]["at"];
    EXPECT_GE(time, last);
    last = time;
  }
  EXPECT_EQ(seen, 4);
  EXPECT_EQ(last, 3'000);
}

TEST(Service, LeasesEndThoughTheClockWasSetBack) {
  const test::TempDir dir;
  std::atomic<double> clock = 2'000'000, stopwatch = 0;
  auto how = options(dir.at("d"));
  how.clock = [&] { return clock.load(); };
  how.stopwatch = [&] { return stopwatch.load(); };
  how.settings->learner = "cohort(query=always)";
  Service service(how, fast());
  post(service, lines(0, 1));
  const auto question = [&](const char* who) {
    return Json::parse(call(service, Json{{"do", "next"}, {"annotator", who}}.dump()).text())["question"];
  };
  const Json held = question("eve");
  ASSERT_EQ(held["until"], 2'000'300);
  clock = 1'000'000;  // the machine had started with a wrong clock
  stopwatch = 590;
  EXPECT_EQ(question("bob"), nullptr);
  stopwatch = 602;
  const Json taken = question("bob");
  EXPECT_EQ(taken["ticket"], held["ticket"]);
  EXPECT_EQ(taken["until"], 2'000'601);
  clock = 2'500'000;
  EXPECT_EQ(question("eve")["until"], 2'500'300);
}

TEST(Service, AnAnswerHeldBackIsLearnedFromThoughNothingElseHappens) {
  const test::TempDir dir;
  ServiceOptions o = options(dir.at("s"));
  std::atomic<double> now = 1'763'855'000;
  o.clock = [&now] { return now.load(); };
  o.settings->learner = "cohort(query=always)";
  o.settings->learning.audit = 0;
  o.settings->desk.hold = 20;
  Service service(o, fast());
  post(service, lines(0, 3));
  const Json question = Json::parse(call(service, R"({"do":"next","annotator":"eve"})").text())["question"];
  const std::string lease = question["lease"];
  ASSERT_EQ(call(service, R"({"do":"answer","label":"spam","lease":")" + lease + R"("})").verdict, Verdict::kDone);
  EXPECT_EQ(service.labels(0, 10), "");
  now = now + 20;
  while (service.labels(0, 10).empty()) std::this_thread::yield();  // the service looks at its clock every second
}

TEST(Service, OldSegmentsGoOnlyByPolicy) {
  for (const bool keep : {true, false}) {
    const test::TempDir dir;
    std::string model;
    auto how = options(dir.at("d"));
    how.segment_bytes = 20'000;
    if (!keep) how.settings->desk.keep_journal = {1};
    for (int run = 0; run < 4; ++run) {
      how.clock = Clock{1'763'855'000.0 + 10'000 * run};
      Service service(how, fast());
      work(service, 300 * run);
      model = service.model_bytes();
    }
    const auto segments = journal_segments(dir.at("d"));
    EXPECT_EQ(segments.front().first == 0, keep);
    Service service(how, fast());
    EXPECT_EQ(service.model_bytes(), model);
  }
}

/// Whether any file of a folder has the word.
bool on_disk(const std::string& dir, const std::string& word) {
  for (const auto& entry : std::filesystem::recursive_directory_iterator(dir))
    if (entry.is_regular_file() && read_file(entry.path().string()).find(word) != std::string::npos) return true;
  return false;
}

TEST(Service, NothingThatIsForgottenStaysOnDiskUnlessOldSegmentsAreKept) {
  for (const bool late : {false, true}) {  // the server keeps all at first, and no longer after a restart
    const test::TempDir dir;
    auto how = options(dir.at("d"));
    how.snapshot_events = 20;
    if (!late) how.settings->desk.keep_journal = {0};
    std::string model;
    {
      Service service(how, fast());
      work(service, 0);
      EXPECT_EQ(post(service, R"({"id":"x1","task":"secrettask","text":"secretword money"})"
                              "\n"
                              R"({"id":"x2","task":"t1","text":"hiddenword money"})")
                    .verdict,
                Verdict::kDone);
      work(service, 300);
      EXPECT_TRUE(on_disk(dir.at("d"), "secretword") && on_disk(dir.at("d"), "hiddenword"));
      const Json task = Json::parse(call(service, R"({"do":"forget_task","task":"secrettask"})").text())["forgotten"];
      const Json example = Json::parse(call(service, R"({"do":"forget_example","example":"x2"})").text())["forgotten"];
      const auto names_files = [](const Json& forgotten) {
        return forgotten["left"].dump().find("journal") != std::string::npos;
      };
      EXPECT_EQ(names_files(task), late) << task;
      EXPECT_EQ(names_files(example), late) << example;
      EXPECT_EQ(on_disk(dir.at("d"), "secretword"), late);
      EXPECT_EQ(on_disk(dir.at("d"), "secrettask"), late);
      EXPECT_EQ(on_disk(dir.at("d"), "hiddenword"), late);
      work(service, 600);
      model = service.model_bytes();
    }
    how.settings->desk.keep_journal = {0};
    Service again(how, fast());
    EXPECT_EQ(again.model_bytes(), model);
    for (const char* word : {"secretword", "secrettask", "hiddenword"}) EXPECT_FALSE(on_disk(dir.at("d"), word)) << word;
  }
}

TEST(Service, ReadersAndTheWriterRunSideBySide) {
  const test::TempDir dir;
  Service service(options(dir.at("d")), fast());
  std::atomic<bool> end = false;
  std::vector<std::jthread> readers;
  for (int i = 0; i < 3; ++i)
    readers.emplace_back([&] {
      while (!end) {
        EXPECT_EQ(service.predict(lines(0, 3)).verdict, Verdict::kDone);
        EXPECT_EQ(service.status().verdict, Verdict::kDone);
        service.labels(0, 10);
        service.tasks(0, 10);
        service.figures();
      }
    });
  for (int i = 0; i < 4; ++i) work(service, 300 * i);  // would take minutes if readers could keep the writer out
  end = true;
}

TEST(Service, PredictionsGoOnWhileTheModelIsRebuilt) {
  const test::TempDir dir;
  auto how = options(dir.at("d"));
  how.settings->learning.labels.clear();
  Service service(how, fast());
  post(service, lines(0, 300));
  std::string gifts;  // so that a rebuild takes as long as hundreds of predictions
  for (int i = 1000; i < 4000; ++i) {
    Json gift = Json::parse(lines(i, i + 1));
    gift["label"] = is_spam(i) ? "spam" : "ham";
    gifts += gift.dump() + "\n";
  }
  post(service, gifts);
  std::atomic<bool> end = false;
  std::atomic<int> predictions = 0;
  const std::jthread reader([&] {
    for (; !end; ++predictions) EXPECT_EQ(service.predict(lines(0, 1)).verdict, Verdict::kDone);
  });
  // A reader that waits for the rebuild makes a few predictions between an undo and its reply.
  int most = 0;
  for (int i = 0; i < 100 && most < 200; ++i) {
    ASSERT_EQ(answer(service, "ann", 1), 1);
    const int before = predictions;
    EXPECT_EQ(call(service, R"({"do":"undo","annotator":"ann"})").verdict, Verdict::kDone);
    most = std::max(most, predictions - before);
  }
  end = true;
  EXPECT_GE(most, 200);
}

TEST(Service, OldSegmentsMoveToAnArchive) {
  const test::TempDir dir;
  auto how = options(dir.at("d"));
  how.segment_bytes = 20'000;
  how.settings->desk.keep_journal = {1};
  how.settings->desk.archive = dir.at("old");
  std::string model;
  for (int run = 0; run < 4; ++run) {
    how.clock = Clock{1'763'855'000.0 + 10'000 * run};
    Service service(how, fast());
    work(service, 300 * run);
    model = service.model_bytes();
  }
  ASSERT_GT(journal_segments(dir.at("d")).front().first, 0U);
  ASSERT_FALSE(std::filesystem::is_empty(dir.at("old")));
  // Archive and folder together are the whole journal.
  std::filesystem::create_directories(dir.at("all/journal"));
  for (const char* from : {"old", "d/journal"})
    for (const auto& entry : std::filesystem::directory_iterator(dir.at(from)))
      if (entry.path().extension() == ".qj")
        std::filesystem::copy(entry.path(), dir.at("all/journal") / entry.path().filename());
  Service service(options(dir.at("all")), fast());
  EXPECT_EQ(service.figures().snapshot_at, 0U);
  EXPECT_EQ(service.model_bytes(), model);
}

TEST(LinesOfJson, KeepsSpellingAndSplitsArrays) {
  EXPECT_EQ(lines_of_json(R"( {"a" : 1.50, "b":"x\"]\n"} )"), "{\"a\":1.50,\"b\":\"x\\\"]\\n\"}\n");
  EXPECT_EQ(lines_of_json("[{\"a\":[1,{\"b\":2}]},\n {\"c\":\"},{\"}]"), "{\"a\":[1,{\"b\":2}]}\n{\"c\":\"},{\"}\n");
  EXPECT_EQ(lines_of_json("[]"), "");
  for (const char* wrong : {"", "1", "[1]", "[{},[]]", "\"a\"", "{} {}", "{\"a\":}", "[{},]", "[[{}]]", "null"})
    EXPECT_THROW(lines_of_json(wrong), DataError) << wrong;
}

TEST(EventLine, JoinsAnEventWithItsExamples) {
  EXPECT_EQ(event_line(7, R"({"at":1,"do":"skip"})"), "{\"sequence\":7,\"event\":{\"at\":1,\"do\":\"skip\"}}\n");
  EXPECT_EQ(event_line(8, "{\"do\":\"examples\"}\n{\"a\":1}\n\n{\"a\":2}\n"),
            "{\"sequence\":8,\"event\":{\"do\":\"examples\"},\"examples\":[{\"a\":1},{\"a\":2}]}\n");
}

}  // namespace
}  // namespace quorate::server
