// Topics of a Kafka broker, for the log of `quorate serve` and the streams of `quorate work`. librdkafka is used in kafka.cc
// alone; without it (QUORATE_KAFKA) all of this throws UsageError.
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "quorate/base/error.h"
#include "server/unreachable.h"

namespace quorate::kafka {

using server::Unreachable;

bool available();  ///< whether this program was built with librdkafka

/// "kafka://HOST:PORT[,HOST:PORT..]/TOPIC".
struct Address {
  std::string servers, topic;

  /// Throws UsageError that names the option.
  static Address parse(std::string_view option, std::string_view text);
  static bool is(std::string_view text) { return text.starts_with("kafka://"); }
  std::string text() const { return "kafka://" + servers + "/" + topic; }
};

/// Settings of librdkafka, as {"security.protocol", "SASL_SSL"}.
using Settings = std::vector<std::pair<std::string, std::string>>;

struct Connection {
  std::string servers;
  Settings settings = {};
  std::chrono::milliseconds wait{10'000};  ///< for a broker at the beginning
  /// Called about once a second of this, with the reason. May throw, and then it is not waited for any longer.
  std::function<void(const std::string& why)> waits = nullptr;
};

/// Its views are valid until the next call of the member function that returned it.
struct Message {
  std::string_view key, value;
  std::int32_t partition = 0;
  std::int64_t offset = 0;
};

/// Another producer with the same name has begun.
struct Fenced : Error {
  using Error::Error;
};
/// The offset is no longer, or not yet, in the topic.
struct OutOfRange : Error {
  using Error::Error;
};

/// Creates the topics of one partition that are missing, kept for ever, replicated as the broker's default says; returns the
/// names of those made. Throws Unreachable; FileError if the broker refuses.
std::vector<std::string> create_topics(const Connection& to, const std::vector<std::string>& names);

/// Reads partition 0 of a topic, committed messages alone. Of one thread at a time. All throw Unreachable; FileError for
/// what trying again does not help, as a topic that does not exist or a wrong password.
class Reader {
 public:
  Reader(const Connection& to, std::string topic);
  ~Reader();
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  /// The first offset there is, and the one after the last.
  std::pair<std::int64_t, std::int64_t> range();
  void seek(std::int64_t offset);
  /// The next message, or nothing if none came for that long. Throws OutOfRange.
  std::optional<Message> next(std::chrono::milliseconds wait);
  /// All messages before `end` were returned, or are none of those returned.
  bool at(std::int64_t end);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Writes messages, each once, in order. Of one thread at a time.
class Writer {
 public:
  /// `most`: how long a message may wait for the broker; 0: for ever.
  Writer(const Connection& to, std::string topic, std::chrono::milliseconds most);
  ~Writer();
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  /// `partition` -1: by the key. Waits while too much waits. Throws FileError for a message that is too long.
  void write(std::string_view key, std::string_view value, std::int32_t partition = -1);
  /// Waits until all is acknowledged by all replicas that are in step, at most that long: whether it is. Throws Unreachable
  /// if a message waited for too long, and FileError if one was refused, both once.
  bool flush(std::chrono::milliseconds wait);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Writes to partition 0 of topics, all or nothing, as long as no other one with the same name begins. Of one thread.
class Transactions {
 public:
  /// From now on an older one with this name is fenced. Throws Unreachable, FileError.
  Transactions(const Connection& to, const std::string& name);
  ~Transactions();
  Transactions(const Transactions&) = delete;
  Transactions& operator=(const Transactions&) = delete;

  struct Part {
    std::string key;
    std::string_view value;
  };
  /// The offset of the first. Throws Fenced; Unreachable, and then the parts may be there or not, and a new one is needed.
  std::int64_t append(const std::string& topic, const std::vector<Part>& parts);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Removes the messages of partition 0 before an offset. Throws Unreachable, FileError.
void delete_before(const Connection& to, const std::string& topic, std::int64_t offset);

/// A member of a consumer group, which shares the partitions of a topic. Of one thread.
class Member {
 public:
  struct Events {
    /// The offsets at which this member begins to read partitions that are its own from now on; -1: the first there is.
    std::function<std::vector<std::int64_t>(const std::vector<std::int32_t>&)> assigned;
    std::function<void(const std::vector<std::int32_t>&)> revoked;  ///< these are no longer
    std::function<void(const std::string&)> gone;                   ///< messages were removed before they were read
  };
  /// name: of a static member, which keeps its partitions while it starts again; empty: none.
  Member(const Connection& to, std::string topic, const std::string& group, const std::string& name, Events events);
  ~Member();  ///< leaves the group
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;

  /// The next message, or nothing if none came for that long.
  std::optional<Message> next(std::chrono::milliseconds wait);
  /// Once a second while no member comes or goes: the moment for commit(). At other times the broker refuses a commit, and
  /// librdkafka then gives up all partitions for seconds (its issue 4059).
  bool steady();
  /// For those that watch the group: messages of a partition before this offset are done with.
  void commit(std::int32_t partition, std::int64_t offset);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace quorate::kafka
