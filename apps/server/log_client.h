// The log of a desk as a worker sees it: over HTTP, or in topics of Kafka.
#pragma once
#include <memory>
#include <string>

#include "quorate/desk/events.h"
#include "quorate/share/replica.h"
#include "server/http_client.h"
#include "server/kafka.h"

namespace quorate::server {

/// The log cannot be followed from where the replica is: it must start again from a moment.
struct LogGone : Error {
  using Error::Error;
};

/// Of one thread at a time, but for stop(). All throw Unreachable, UsageError for a refusal that a setting causes, and
/// DataError or FileError for others.
class LogClient {
 public:
  virtual ~LogClient() = default;
  /// DeskMoment::text() of the newest moment that there is.
  virtual std::string moment() = 0;
  /// Records from the replica's next one on, as a text of the log; waits a moment for them; empty: the replica has all.
  /// Throws LogGone.
  virtual std::string records(const Replica& replica) = 0;
  virtual void send(event::Shared what) = 0;
  virtual void stop() {}  ///< ends a request that waits. Any thread.

  virtual const std::string& address() const = 0;
};

std::unique_ptr<LogClient> http_log(const HttpClientOptions& options);
std::unique_ptr<LogClient> kafka_log(const kafka::Address& address, kafka::Settings settings);

}  // namespace quorate::server
