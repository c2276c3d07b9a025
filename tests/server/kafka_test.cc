#include "server/kafka.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "support/broker.h"

// librdkafka 2.0 loses a queue where a broker refuses to delete records, as its mock does and a real one does not.
extern "C" const char* __lsan_default_suppressions();                                    // NOLINT
extern "C" const char* __lsan_default_suppressions() { return "leak:librdkafka.so\n"; }  // NOLINT

namespace quorate::kafka {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

TEST(Kafka, AnAddressHasBrokersAndATopic) {
  if (!available()) GTEST_SKIP() << "built without librdkafka";
  const Address one = Address::parse("--log", "kafka://b1:9092,b2:9092/spam.labels");
  EXPECT_EQ(one.servers, "b1:9092,b2:9092");
  EXPECT_EQ(one.topic, "spam.labels");
  EXPECT_EQ(one.text(), "kafka://b1:9092,b2:9092/spam.labels");
  for (const char* bad : {"", "labels", "kafka://", "kafka://b1:9092", "kafka://b1:9092/", "kafka:///labels",
                          "http://b1:9092/labels", "kafka://b1:9092/two words", "kafka://b1:9092/a/b"}) {
    try {
      Address::parse("--log", bad);
      ADD_FAILURE() << bad;
    } catch (const UsageError& e) {
      EXPECT_THAT(e.what(), HasSubstr("--log"));
      EXPECT_THAT(e.what(), HasSubstr("expected kafka://HOST:PORT/TOPIC"));
    }
  }
}

#ifdef QUORATE_HAS_BROKER

struct KafkaTest : ::testing::Test {
  static void SetUpTestSuite() { broker = std::make_unique<Broker>(); }
  static void TearDownTestSuite() { broker.reset(); }
  void SetUp() override {
    if (!available()) GTEST_SKIP() << "built without librdkafka";
    topic = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    broker->create(topic);
    to.servers = broker->servers();
  }
  /// Up to the end that the topic has now.
  std::vector<std::pair<std::string, std::string>> all() const {
    Reader reader(to, topic);
    const auto [first, end] = reader.range();
    reader.seek(first);
    std::vector<std::pair<std::string, std::string>> out;
    while (!reader.at(end))
      if (const auto message = reader.next(1'000ms)) out.emplace_back(message->key, message->value);
    return out;
  }

  inline static std::unique_ptr<Broker> broker;
  std::string topic;
  Connection to;
};

TEST_F(KafkaTest, WhatIsWrittenIsReadInItsOrder) {
  Writer writer(to, topic, 5'000ms);
  const std::string empty, zeros(3, '\0'), long_one(100'000, 'x');
  writer.write("k", "first", 0);
  writer.write({}, zeros, 0);
  writer.write("l", long_one, 0);
  ASSERT_TRUE(writer.flush(5'000ms));
  EXPECT_EQ(all(), (std::vector<std::pair<std::string, std::string>>{{"k", "first"}, {"", zeros}, {"l", long_one}}));
}

TEST_F(KafkaTest, AReaderBeginsWhereItIsTold) {
  Writer writer(to, topic, 5'000ms);
  for (int n = 0; n < 10; ++n) writer.write({}, std::to_string(n), 0);
  ASSERT_TRUE(writer.flush(5'000ms));
  Reader reader(to, topic);
  EXPECT_EQ(reader.range(), (std::pair<std::int64_t, std::int64_t>{0, 10}));
  for (const int from : {7, 2}) {
    reader.seek(from);
    std::optional<Message> message;
    while (!(message = reader.next(1'000ms))) {
    }
    EXPECT_EQ(message->value, std::to_string(from));
    EXPECT_EQ(message->offset, from);
  }
}

TEST_F(KafkaTest, ATransactionTellsTheOffsetOfItsFirstMessage) {
  Transactions one(to, topic);
  EXPECT_EQ(one.append(topic, {{"0", "a"}, {"1", "b"}}), 0);
  const auto second = one.append(topic, {{"2", "c"}});
  EXPECT_GE(second, 2);
  EXPECT_EQ(all().size(), 3U);
}

TEST_F(KafkaTest, AMemberReadsWhatItsGroupGivesIt) {
  broker->create("many", 4);
  Writer writer(to, "many", 5'000ms);
  for (int n = 0; n < 40; ++n) writer.write({}, std::to_string(n), n % 4);
  ASSERT_TRUE(writer.flush(5'000ms));
  std::set<std::int32_t> mine;
  Member::Events events;
  events.assigned = [&](const std::vector<std::int32_t>& partitions) {
    mine.insert(partitions.begin(), partitions.end());
    std::vector<std::int64_t> out(partitions.size(), -1);
    for (std::size_t n = 0; n < partitions.size(); ++n)
      if (partitions[n] == 2) out[n] = 5;
    return out;
  };
  events.revoked = [&](const std::vector<std::int32_t>& partitions) {
    for (const auto one : partitions) mine.erase(one);
  };
  events.gone = [](const std::string& what) { ADD_FAILURE() << what; };
  Member member(to, "many", "g", "", events);
  std::vector<int> got(4);
  const auto end = std::chrono::steady_clock::now() + 30s;
  while (got != std::vector<int>{10, 10, 5, 10} && std::chrono::steady_clock::now() < end)
    if (const auto message = member.next(100ms)) ++got[static_cast<std::size_t>(message->partition)];
  EXPECT_EQ(got, (std::vector<int>{10, 10, 5, 10}));
  EXPECT_EQ(mine, (std::set<std::int32_t>{0, 1, 2, 3}));
}

TEST_F(KafkaTest, AMissingTopicIsNamed) {
  for (const auto& make : std::vector<std::function<void()>>{
           [&] { Reader(to, "none"); }, [&] { Writer(to, "none", 1'000ms); }, [&] { Member(to, "none", "g", "", {}); }}) {
    try {
      make();
      ADD_FAILURE();
    } catch (const FileError& e) {
      EXPECT_THAT(e.what(), HasSubstr("/none: no such topic"));
    }
  }
}

TEST_F(KafkaTest, SettingsAreCheckedByName) {
  for (const auto& [setting, expected] :
       std::vector<std::pair<Settings, std::string>>{{{{"no.such.thing", "1"}}, "--kafka no.such.thing=1"},
                                                     {{{"fetch.error.backoff.ms", "x"}}, "leave it out"},
                                                     {{{"socket.timeout.ms", "x"}}, "--kafka socket.timeout.ms=x"}}) {
    try {
      Reader({to.servers, setting}, topic);
      ADD_FAILURE() << expected;
    } catch (const UsageError& e) {
      EXPECT_THAT(e.what(), HasSubstr(expected));
    }
  }
}

TEST_F(KafkaTest, AMessageThatWaitsForTooLongIsReported) {
  Writer writer(to, topic, 3'000ms);
  broker->set_away(true);
  writer.write({}, "a", 0);
  EXPECT_THROW(
      {
        for (int n = 0; n < 50; ++n) writer.flush(100ms);
      },
      Unreachable);
  broker->set_away(false);
  writer.write({}, "b", 0);
  EXPECT_TRUE(writer.flush(20'000ms));
}

#endif

}  // namespace
}  // namespace quorate::kafka
