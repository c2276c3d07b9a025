// The log of a desk in topics of Kafka, so that it outlives the desk's machine and any number of workers follow it. Of
// kafka://HOST:PORT/NAME:
//   NAME          the records of the journal, in their order; the key is the sequence
//   NAME.moments  the latest moments of the desk, from which a follower starts: a head, then the text in parts
//   NAME.events   what workers send; the desk removes what it has taken
// One partition each. A desk writes the first two in transactions of one name, so that a second desk fences the first.
#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "server/kafka.h"
#include "server/service.h"

namespace quorate::server {

struct LogTopicOptions {
  kafka::Address address;
  kafka::Settings settings = {};
  std::string dir;                                          ///< of the desk
  std::function<void(std::string_view)> log = nullptr;      ///< receives one line at a time; on any thread
  std::function<void(const std::string&)> waits = nullptr;  ///< kafka::Connection::waits, while it is made
  std::function<void()> ended = nullptr;                    ///< called once if this desk may not go on: see failed()
};

class LogFolder;

/// Copies a desk's journal into its topic, and gives the desk what workers send.
///
/// An answer is acknowledged once it is on the desk's disk. A record is in the topic some milliseconds later; while the
/// broker is away people go on, and the topic follows. A desk that was fenced ends: what it acknowledged since then is in
/// its journal alone.
class LogTopic {
 public:
  /// Before the service is made. Creates topics that are missing and fences an older desk. A folder without a journal takes
  /// the log's; one whose journal ends before the log takes the rest. Throws Unreachable; FileError; UsageError for a folder
  /// with the journal of another log, or one that went on otherwise.
  explicit LogTopic(LogTopicOptions options);
  ~LogTopic();  ///< copies what the journal has, for at most 10 s
  LogTopic(const LogTopic&) = delete;
  LogTopic& operator=(const LogTopic&) = delete;

  void begin(Service& service);  ///< the service must outlive this. Throws Unreachable, FileError.
  std::string failed() const;    ///< why this desk may not go on; empty: it may
  /// Records of the journal that the topic has. Any thread.
  std::uint64_t next() const { return next_; }

 private:
  struct Moment {
    std::uint64_t sequence = 0;
    std::int64_t at = 0;  ///< its first message
  };

  void open();
  void take(LogFolder& folder);
  void catch_up(const std::function<void(std::uint64_t, std::string_view)>& record = nullptr);
  void copy();
  bool copy_some();
  void keep_moment();
  void listen();
  void look_for_others();
  std::int64_t offset_of(std::uint64_t sequence) const;
  void note(std::uint64_t sequence, std::int64_t offset);
  void end(const std::string& why);
  void say(const std::string& line) const;

  LogTopicOptions o_;
  const std::string name_, moments_, events_;  // topics
  const kafka::Connection to_;
  std::string me_;              // of this run, for other desks
  std::int64_t announced_ = 0;  // offset of that in events_
  std::optional<kafka::Transactions> transactions_;
  std::string log_;                                           // log_name() that the topics have; empty: none yet
  std::vector<std::pair<std::uint64_t, std::int64_t>> runs_;  // first sequence and offset of records with no gap between
  std::optional<Moment> before_, newest_;
  std::uint64_t cut_ = 0;        // records before this one are removed
  std::int64_t first_kept_ = 0;  // of the moments
  std::atomic<std::uint64_t> next_ = 0;
  Service* service_ = nullptr;
  std::atomic<bool> closing_ = false;
  mutable std::mutex mutex_;
  std::string failed_;
  std::thread copier_, listener_;
};

/// The newest moment in the topic, as DeskMoment::text(), and the offset in the log's topic of the record after it; nothing
/// if there is none. Throws Unreachable, FileError, DataError.
struct TopicMoment {
  std::string text;
  std::uint64_t sequence = 0;
  std::int64_t offset = 0, at = 0;  ///< at: of its first message
  std::string before = {};          ///< hash of the record before it; empty: none, or it was dropped
};
std::optional<TopicMoment> newest_moment(const kafka::Connection& to, const std::string& topic);

}  // namespace quorate::server
