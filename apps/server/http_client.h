// A client of one HTTP server, for `quorate work`. Boost is used in http_client.cc and http.cc alone.
#pragma once
#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "server/unreachable.h"

namespace quorate::server {

struct HttpClientOptions {
  std::string url;                            ///< "https://desk:8717", or http
  std::string token = {};                     ///< sent as "Authorization: Bearer TOKEN"; empty: none
  std::string authorities = {};               ///< PEM file of those that sign the server's certificate; empty: the system's
  std::chrono::milliseconds timeout{30'000};  ///< of a connection, and of a request and its reply
  std::size_t reply_limit = std::size_t{1} << 30;  ///< bytes of a reply
};

struct HttpResult {
  int status = 0;
  std::string body;
};

/// One connection, opened when it is needed and kept. Of one thread at a time.
class HttpClient {
 public:
  /// Throws UsageError for a URL that is none, or has a path; FileError if the authorities cannot be read.
  explicit HttpClient(HttpClientOptions options);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  /// Sends a request and waits for its reply, whatever its status. If a kept connection turns out to be closed, the request
  /// is sent once more on a new one: it must be safe to send twice. Throws Unreachable.
  HttpResult request(std::string_view method, std::string_view target, std::string_view body = {},
                     std::string_view type = {});
  /// Ends a request that waits, which throws Unreachable, and all later ones. Any thread.
  void stop();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace quorate::server
