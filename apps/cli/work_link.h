// What a worker shares with all others: the replica, and what goes to the desk, on a thread of its own.
#pragma once
#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "quorate/share/replica.h"
#include "quorate/share/worker.h"
#include "server/log_client.h"

namespace quorate::cli {

struct LinkOptions {
  WorkerOptions worker;         ///< of each source
  std::uint64_t patience = 60;  ///< seconds to wait for the log at the start
  bool quiet = false;
};

/// All members may be called from any thread; each source is one thread's at a time.
class Link {
 public:
  /// Waits for a server that is away.
  Link(std::unique_ptr<server::LogClient> log, LinkOptions options);
  ~Link();
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  /// Begins to judge a source, once the desk knows of it. Returns the position of the next line.
  std::uint64_t begin(const std::string& source);
  void end(const std::string& source);  ///< what waits is judged again by who reads it next
  /// Judges lines with the desk as it is now; returns the number of unusable ones. Throws what stopped the link.
  std::size_t judge(const std::string& source, std::uint64_t position, std::string_view lines, std::string& out);
  void give_up(const std::string& source);               ///< those after wrote() are not: as if they had not been judged
  void check();                                          ///< throws what stopped the link
  void wrote(const std::string& source);                 ///< the predictions so far are written
  std::uint64_t known_until(const std::string& source);  ///< lines before this one are judged, as the desk knows
  /// Waits until the desk has everything, for at most that long, or, interrupted, a second. Returns the number of lines
  /// judged that it does not know of.
  std::uint64_t finish(std::chrono::seconds most);
  std::string metrics();
  std::string not_ready();  ///< why this worker is not ready; empty if it is
  std::string summary();

 private:
  using Clock = std::chrono::steady_clock;
  struct Reading {
    Worker worker;
    std::optional<std::uint64_t> sent = {};      // lines before this one, which the log does not have yet
    Clock::time_point sent_at = {}, again = {};  // of the last message; of the next one if the log stays without it
    std::chrono::milliseconds pause{};
  };

  double log_age() const;
  void say(const std::string& line) const;
  void start();
  bool follow();
  bool send();
  void run();

  const LinkOptions o_;
  std::unique_ptr<server::LogClient> log_;
  std::mutex mutex_;
  std::condition_variable wake_, room_;
  std::unique_ptr<Replica> replica_;
  std::map<std::string, Reading, std::less<>> readings_;
  std::optional<std::uint64_t> bad_;  // the last record that did not apply
  std::exception_ptr failed_;
  bool closing_ = false, finishing_ = false, said_full_ = false;
  Clock::time_point read_ = Clock::now();
  std::uint64_t judged_ = 0, unusable_ = 0, asked_before_ = 0;
  std::thread thread_;
};

}  // namespace quorate::cli
