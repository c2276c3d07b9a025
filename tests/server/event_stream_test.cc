#include "server/event_stream.h"

#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <thread>

namespace quorate::server {
namespace {

Response open(EventStream& stream, std::string first = {}) {
  std::optional<Response> answer;
  stream.open(Respond([&](Response response) { answer = std::move(response); }), std::move(first));
  return std::move(answer.value());
}

std::string taken(EventReader& reader) {
  std::vector<EventReader::Text> texts;
  reader.take(texts);
  std::string all;
  for (const auto& text : texts) all += *text;
  return all;
}

TEST(EventText, HasADataLineForEveryLine) {
  EXPECT_EQ(event_text("status", "{}"), "event: status\ndata: {}\n\n");
  EXPECT_EQ(event_text("", "a\nb\r\nc\rd\n"), "data: a\ndata: b\ndata: c\ndata: d\ndata: \n\n");
}

TEST(EventStream, EndsReadersThatMayNotGoOn) {
  EventStream stream;
  std::vector<std::shared_ptr<EventReader>> readers;
  bool allowed = true;
  for (int n = 0; n < 2; ++n)
    stream.open(
        Respond([&](Response response) { readers.push_back(response.events); }), "",
        n == 0 ? std::function<bool()>() : [&] { return allowed; });
  stream.end_refused();
  EXPECT_EQ(stream.readers(), 2U);
  allowed = false;
  stream.end_refused();
  EXPECT_FALSE(readers[0]->ended());
  EXPECT_TRUE(readers[1]->ended());
}

TEST(EventStream, EveryReaderReceivesWhatIsPublished) {
  EventStream stream;
  auto a = open(stream, "first\n\n"), b = open(stream);
  EXPECT_EQ(a.type, "text/event-stream");
  EXPECT_EQ(stream.readers(), 2U);
  int woken = 0;
  b.events->on_ready([&] { ++woken; });
  EXPECT_EQ(woken, 0);
  stream.publish("n", "1");
  stream.publish("n", "2");
  EXPECT_EQ(woken, 1) << "once, until all that waits is taken";
  EXPECT_EQ(taken(*a.events), "first\n\nevent: n\ndata: 1\n\nevent: n\ndata: 2\n\n");
  EXPECT_EQ(taken(*b.events), "event: n\ndata: 1\n\nevent: n\ndata: 2\n\n");
  EXPECT_EQ(taken(*b.events), "");
  stream.publish("n", "3");
  EXPECT_EQ(woken, 2);
  a.events->on_ready([&] { ++woken; });
  EXPECT_EQ(woken, 3) << "something waits already";
}

TEST(EventStream, ASlowReaderIsDroppedAndHoldsUpNoOther) {
  EventStream stream(2, 40);
  auto slow = open(stream), quick = open(stream);
  int woken = 0;
  slow.events->on_ready([&] { ++woken; });
  for (int i = 0; i < 4; ++i) {
    stream.publish("", "123456");  // 14 bytes
    EXPECT_EQ(taken(*quick.events), "data: 123456\n\n");
  }
  EXPECT_TRUE(slow.events->ended());
  EXPECT_EQ(taken(*slow.events), "") << "its bytes are freed at once";
  EXPECT_EQ(woken, 2) << "for the first text, and to end";
  EXPECT_FALSE(quick.events->ended());
}

TEST(EventStream, ThePlacesAreLimitedAndComeBack) {
  EventStream stream(1);
  auto first = open(stream);
  const auto refused = open(stream);
  EXPECT_EQ(refused.status, 503);
  ASSERT_EQ(refused.headers.size(), 1U);
  EXPECT_EQ(refused.headers[0].first, "Retry-After");
  first.events.reset();
  EXPECT_EQ(stream.readers(), 0U);
  EXPECT_EQ(open(stream).status, 200);
}

TEST(EventStream, ItsEndEndsItsReaders) {
  std::optional<EventStream> stream(std::in_place);
  const auto reader = open(*stream).events;
  stream.reset();
  EXPECT_TRUE(reader->ended());
}

TEST(EventStream, ManyThreadsPublishAndOneTakes) {
  EventStream stream;
  const auto reader = open(stream).events;
  std::atomic<int> woken = 0;
  reader->on_ready([&] { ++woken; });
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i) stream.publish("", "x");
    });
  std::string all;
  while (all.size() < 4 * 500 * 9) all += taken(*reader);
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(all.size(), 4U * 500 * 9);
  EXPECT_GE(woken, 1);
}

}  // namespace
}  // namespace quorate::server
