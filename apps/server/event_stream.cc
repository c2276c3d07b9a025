#include "server/event_stream.h"

#include <algorithm>

namespace quorate::server {

void EventReader::on_ready(std::function<void()> wake) {
  const std::lock_guard lock(mutex_);
  wake_ = std::move(wake);
  if (wake_ && (ended_ || !waiting_.empty())) wake_();
}

void EventReader::push(Text text) {
  const std::lock_guard lock(mutex_);
  if (ended_) return;
  const bool first = waiting_.empty();
  bytes_ += text->size();
  if (bytes_ > limit_) {
    ended_ = true;
    waiting_.clear();
  } else {
    waiting_.push_back(std::move(text));
  }
  if (wake_ && (first || ended_)) wake_();
}

void EventReader::end() {
  const std::lock_guard lock(mutex_);
  ended_ = true;
  if (wake_) wake_();
}

bool EventReader::ended() const {
  const std::lock_guard lock(mutex_);
  return ended_;
}

void EventReader::take(std::vector<Text>& into) {
  into.clear();
  const std::lock_guard lock(mutex_);
  into.swap(waiting_);
  bytes_ = 0;
}

EventStream::~EventStream() {
  for (const Open& one : readers_)
    if (const auto reader = one.reader.lock()) reader->end();
}

void EventStream::open(Respond respond, std::string first, std::function<bool()> allowed) {
  auto reader = std::make_shared<EventReader>(max_waiting_bytes_);
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(readers_, [](const Open& one) { return one.reader.expired(); });
    if (readers_.size() < max_readers_) {
      readers_.push_back({reader, std::move(allowed)});
      // Under the lock, so that it precedes all that is published from now on.
      if (!first.empty()) reader->push(std::make_shared<const std::string>(std::move(first)));
    } else {
      reader = nullptr;
    }
  }
  if (!reader) {
    auto refusal = problem(503, "all " + std::to_string(max_readers_) + " event streams are in use; try again later");
    refusal.headers.emplace_back("Retry-After", "5");
    return respond(std::move(refusal));
  }
  Response response;
  response.type = "text/event-stream";
  response.events = std::move(reader);
  respond(std::move(response));
}

void EventStream::publish(std::string_view event, std::string_view data) {
  const auto text = std::make_shared<const std::string>(event_text(event, data));
  const std::lock_guard lock(mutex_);
  std::erase_if(readers_, [&](const Open& one) {
    const auto reader = one.reader.lock();
    if (reader) reader->push(text);
    return !reader;
  });
}

void EventStream::end_refused() {
  const std::lock_guard lock(mutex_);
  std::erase_if(readers_, [](const Open& one) {
    const auto reader = one.reader.lock();
    if (reader && one.allowed && !one.allowed()) reader->end();
    return !reader || reader->ended();
  });
}

std::size_t EventStream::readers() const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::size_t>(
      std::count_if(readers_.begin(), readers_.end(), [](const Open& one) { return !one.reader.expired(); }));
}

std::string event_text(std::string_view event, std::string_view data) {
  std::string text;
  if (!event.empty()) text.append("event: ").append(event).append("\n");
  for (;;) {
    const auto end = data.find_first_of("\r\n");
    text.append("data: ").append(data.substr(0, end)).append("\n");
    if (end == std::string_view::npos) break;
    data.remove_prefix(end + (data.substr(end).starts_with("\r\n") ? 2 : 1));
  }
  return text += "\n";
}

}  // namespace quorate::server
