// The HTTP/1.1 server: sockets, TLS, limits, timeouts and the checks every request passes. Boost is used in http.cc alone.
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "server/event_stream.h"
#include "server/message.h"

namespace quorate::server {

struct HttpOptions {
  std::string address = "127.0.0.1";  ///< an IPv4 or IPv6 address, or localhost; "::" accepts IPv4 too
  std::uint16_t port = 8717;          ///< 0: a free one, see HttpServer::port
  unsigned threads = 1;               ///< that serve connections, at least 1; handlers run on them

  std::size_t body_limit = std::size_t{16} << 20;      ///< bytes of one body; 413 beyond
  std::size_t bodies_limit = std::size_t{256} << 20;   ///< bytes of all bodies not yet answered; 503 beyond
  std::size_t replies_limit = std::size_t{128} << 20;  ///< bytes of all replies not yet taken by their clients; 503 beyond
  std::uint32_t header_limit = 16384;                  ///< bytes of request line and headers; 431 beyond
  std::size_t max_connections = 1000;                  ///< 503 beyond (with TLS closed, without an answer)

  std::chrono::milliseconds header_timeout{10'000};  ///< from the first byte to the end of the header; of a TLS handshake
  std::chrono::milliseconds body_timeout{60'000};    ///< from the header to the end of the body
  std::chrono::milliseconds idle_timeout{75'000};    ///< of a connection between requests
  std::chrono::milliseconds write_timeout{30'000};   ///< without any progress of a response
  std::chrono::milliseconds heartbeat{15'000};       ///< between comments of a silent event stream
  std::chrono::milliseconds drain{5'000};            ///< for requests in flight after stop()

  std::vector<std::string> allowed_hosts;               ///< further names of this server, see HostPolicy
  std::string certificate, key;                         ///< PEM files; both or neither: TLS 1.2 and later
  std::function<void(std::string_view)> log = nullptr;  ///< receives one line a fault; on any thread
};

/// Serves requests to one handler. A request reaches it only if Host and Origin are this server's own, and a body only as
/// application/json or application/x-ndjson, so that no page elsewhere can send one. Everything else is answered by problem
/// documents. Requests of one connection are answered in order, one at a time.
class HttpServer {
 public:
  /// Listens; serves from run() on. Throws UsageError if the address or an option is invalid or the port is not available,
  /// FileError if certificate or key cannot be used.
  HttpServer(HttpOptions options, Handler handler);
  /// run() must have returned or never been called. A Respond may outlive the server; its answer is dropped.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  std::uint16_t port() const;
  /// "http://127.0.0.1:8717", what to open in a browser on this machine.
  std::string url() const;
  /// Open connections now. Any thread.
  std::size_t connections() const;

  /// Serves, on this thread and `threads` - 1 others, until stop(). Called once.
  void run();
  /// Stops accepting, ends idle connections and event streams, and gives requests in flight the time `drain`. Any thread;
  /// returns at once; run() returns when it is done.
  void stop();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace quorate::server
