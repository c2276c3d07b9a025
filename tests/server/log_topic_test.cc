#include "server/log_topic.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "server/log_client.h"
#include "support/broker.h"
#include "support/desk.h"
#include "support/temp.h"

#ifdef QUORATE_HAS_BROKER

namespace quorate::server {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

/// librdkafka's broker removes nothing and fences nobody: for that, tests/kafka has the real one.
struct LogTopicTest : ::testing::Test {
  static void SetUpTestSuite() { broker = std::make_unique<Broker>(); }
  static void TearDownTestSuite() { broker.reset(); }
  void SetUp() override {
    if (!kafka::available()) GTEST_SKIP() << "built without librdkafka";
    name = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    for (const char* part : {"", ".events", ".moments"}) broker->create(name + part);
  }

  /// A service whose log is in the topic.
  struct Desk {
    Desk(const LogTopicTest& test, const std::string& folder)
        : copier(std::in_place,
                 [&] {
                   LogTopicOptions how{{broker->servers(), test.name}, {}, test.dir.at(folder)};
                   how.log = [this](std::string_view line) {
                     const std::lock_guard lock(mutex);
                     said.append(line).append("\n");
                   };
                   return how;
                 }()),
          service(test::spam_desk(test.dir.at(folder))) {
      topic.begin(service);
    }
    ~Desk() { copier.reset(); }  // it reads the service
    void wait() const {
      const auto end = std::chrono::steady_clock::now() + 60s;
      while (topic.next() < service.figures().durable_events && std::chrono::steady_clock::now() < end)
        std::this_thread::sleep_for(5ms);
      ASSERT_EQ(topic.next(), service.figures().durable_events);
    }
    std::string heard() {
      const std::lock_guard lock(mutex);
      return said;
    }
    std::mutex mutex;
    std::string said;
    std::optional<LogTopic> copier;
    LogTopic& topic = *copier;
    Service service;
  };

  inline static std::unique_ptr<Broker> broker;
  const test::TempDir dir;
  std::string name;
};

TEST_F(LogTopicTest, AFollowerHasTheModelOfTheDesk) {
  Desk desk(*this, "d");
  test::post_emails(desk.service, 0, 300);
  EXPECT_GT(test::answer_all(desk.service), 5);
  desk.wait();
  const auto log = kafka_log({broker->servers(), name}, {});
  Replica replica(log->moment());
  while (replica.next() < desk.topic.next()) replica.apply(log->records(replica));
  EXPECT_EQ(replica.desk().model().to_bytes(), desk.service.model_bytes());
  test::post_emails(desk.service, 300, 400);
  test::answer_all(desk.service);
  desk.wait();
  while (replica.next() < desk.topic.next()) replica.apply(log->records(replica));
  EXPECT_EQ(replica.desk().model().to_bytes(), desk.service.model_bytes());
  desk.service.stop();
}

TEST_F(LogTopicTest, AnEmptyFolderTakesTheLog) {
  std::string model, log;
  {
    Desk desk(*this, "d");
    test::post_emails(desk.service, 0, 300);
    test::answer_all(desk.service);
    model = desk.service.model_bytes();
    log = desk.service.log_name();
    desk.service.stop();
  }
  std::filesystem::remove_all(dir.at("d"));
  Desk other(*this, "e");
  EXPECT_EQ(other.service.model_bytes(), model);
  EXPECT_EQ(other.service.log_name(), log);
  test::post_emails(other.service, 300, 400);
  other.wait();
  other.service.stop();
}

TEST_F(LogTopicTest, AFolderThatIsBehindTakesTheRest) {
  {
    Desk desk(*this, "d");
    test::post_emails(desk.service, 0, 300);
    desk.service.stop();
  }
  std::filesystem::copy(dir.at("d"), dir.at("old"), std::filesystem::copy_options::recursive);
  std::string model;
  {
    Desk desk(*this, "d");
    test::answer_all(desk.service);
    model = desk.service.model_bytes();
    desk.service.stop();
  }
  Desk old(*this, "old");
  EXPECT_EQ(old.service.model_bytes(), model);
  EXPECT_THAT(old.heard(), HasSubstr("took "));
  old.service.stop();
}

TEST_F(LogTopicTest, ALogOfAnotherDeskIsRefused) {
  {
    Desk desk(*this, "d");
    test::post_emails(desk.service, 0, 10);
    desk.service.stop();
  }
  { Service(test::spam_desk(dir.at("other"))).stop(); }
  try {
    Desk(*this, "other");
    ADD_FAILURE();
  } catch (const UsageError& e) {
    EXPECT_THAT(e.what(), HasSubstr("of another desk; expected a topic of its own, or an empty --dir"));
  }
}

TEST_F(LogTopicTest, AJournalThatWentOnOtherwiseIsRefused) {
  {
    Desk desk(*this, "d");
    test::post_emails(desk.service, 0, 10);
    desk.service.stop();
  }
  std::filesystem::copy(dir.at("d"), dir.at("copy"), std::filesystem::copy_options::recursive);
  {
    Desk desk(*this, "d");
    test::post_emails(desk.service, 10, 20);
    desk.service.stop();
  }
  {
    Service alone(test::spam_desk(dir.at("copy")));
    test::post_emails(alone, 20, 30);
    alone.stop();
  }
  try {
    Desk(*this, "copy");
    ADD_FAILURE();
  } catch (const UsageError& e) {
    EXPECT_THAT(e.what(), HasSubstr("this desk went on after another one had taken over"));
  }
}

TEST_F(LogTopicTest, WhatWorkersSendReachesTheDeskOnce) {
  Desk desk(*this, "d");
  const auto log = kafka_log({broker->servers(), name}, {});
  while (true) try {
      log->moment();
      break;
    } catch (const Unreachable&) {
      std::this_thread::sleep_for(10ms);
    }
  kafka::Writer other({broker->servers()}, name + ".events", 5'000ms);
  other.write({}, "hello", 0);
  ASSERT_TRUE(other.flush(5'000ms));
  const std::string lines = R"({"id":"a","text":"free money"})"
                            "\n";
  for (int n = 0; n < 2; ++n) log->send(event::Shared{"s", 1, {0}, {Nullable<double>()}, lines});
  const auto posted = [&] { return nlohmann::json::parse(desk.service.status().text())["examples"].get<int>(); };
  for (const auto end = std::chrono::steady_clock::now() + 60s; posted() == 0 && std::chrono::steady_clock::now() < end;)
    std::this_thread::sleep_for(5ms);
  desk.service.stop();
  EXPECT_EQ(posted(), 1);
  EXPECT_THAT(desk.heard(), HasSubstr("is none of a worker"));
}

TEST_F(LogTopicTest, WhileTheBrokerIsAwayTheDeskGoesOnAndTheTopicFollows) {
  Desk desk(*this, "d");
  test::post_emails(desk.service, 0, 50);
  desk.wait();
  broker->set_away(true);
  test::post_emails(desk.service, 50, 100);
  EXPECT_GT(test::answer_all(desk.service), 0);
  EXPECT_LT(desk.topic.next(), desk.service.figures().durable_events);
  broker->set_away(false);
  desk.wait();
  desk.service.stop();
}

}  // namespace
}  // namespace quorate::server

#endif
