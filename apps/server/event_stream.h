// Server-sent events: what is published reaches every reader, and no reader can hold up the others.
#pragma once
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "server/message.h"

namespace quorate::server {

/// The bytes that wait for one reader. All members may be called on any thread.
class EventReader {
 public:
  using Text = std::shared_ptr<const std::string>;

  explicit EventReader(std::size_t limit) : limit_(limit) {}

  /// Calls `wake` when something waits after nothing did, and when the reader ends. At once if that is so already.
  void on_ready(std::function<void()> wake);
  /// Appends, or ends the reader if more than the limit of bytes would wait.
  void push(Text text);
  /// Nothing more is sent.
  void end();
  bool ended() const;
  /// Moves everything that waits into `into`, which is cleared first.
  void take(std::vector<Text>& into);

 private:
  mutable std::mutex mutex_;
  std::size_t limit_, bytes_ = 0;
  bool ended_ = false;
  std::vector<Text> waiting_;
  std::function<void()> wake_;
};

/// A channel of events. All members may be called on any thread; none blocks on the network.
class EventStream {
 public:
  /// `max_readers` at a time; a reader is dropped when more than `max_waiting_bytes` wait for it.
  explicit EventStream(std::size_t max_readers = 100, std::size_t max_waiting_bytes = std::size_t{1} << 20)
      : max_readers_(max_readers), max_waiting_bytes_(max_waiting_bytes) {}
  /// Ends every reader.
  ~EventStream();
  EventStream(const EventStream&) = delete;
  EventStream& operator=(const EventStream&) = delete;

  /// Turns the request into a reader, which receives `first` (see event_text) and all that is published from now on.
  /// Answers 503 if there are max_readers. allowed: whether it may go on, asked by end_refused(); empty: it may.
  void open(Respond respond, std::string first = {}, std::function<bool()> allowed = {});
  /// Ends readers that may not go on.
  void end_refused();
  /// Sends event_text(event, data) to every reader. O(readers); the text is shared.
  void publish(std::string_view event, std::string_view data);
  std::size_t readers() const;

 private:
  std::size_t max_readers_, max_waiting_bytes_;
  mutable std::mutex mutex_;
  struct Open {
    std::weak_ptr<EventReader> reader;
    std::function<bool()> allowed;
  };
  std::vector<Open> readers_;
};

/// "event: E\ndata: D\n\n", with a data line for every line of `data`. `event` may be empty and has no line break.
std::string event_text(std::string_view event, std::string_view data);

}  // namespace quorate::server
