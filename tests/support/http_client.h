// A client that sends exactly the bytes it is given, for tests of servers.
#pragma once
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>

namespace quorate::test {

struct HttpReply {
  int status = 0;  ///< 0: the server closed without a whole answer
  std::map<std::string, std::string> headers;
  std::string body;
};

/// A connection to a port of this machine. Every wait ends after five minutes, as if the server had closed: only a
/// guard against hanging.
class HttpClient {
 public:
  explicit HttpClient(std::uint16_t port, bool ipv6 = false) : socket_(::socket(ipv6 ? AF_INET6 : AF_INET, SOCK_STREAM, 0)) {
    int result = -1;
    if (ipv6) {
      sockaddr_in6 address{};
      address.sin6_family = AF_INET6;
      address.sin6_port = htons(port);
      address.sin6_addr = in6addr_loopback;
      result = connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address);
    } else {
      sockaddr_in address{};
      address.sin_family = AF_INET;
      address.sin_port = htons(port);
      address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      result = connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address);
    }
    if (result != 0) {
      close();
      throw std::runtime_error("cannot connect");
    }
    host = (ipv6 ? "[::1]:" : "127.0.0.1:") + std::to_string(port);
  }
  ~HttpClient() { close(); }
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  /// Sends bytes; false if the server closed.
  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const auto n = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (n <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(n));
    }
    return true;
  }

  /// The next answer, which may have been received with an earlier one. `head`: without a body, whatever its length.
  HttpReply receive(bool head = false) {
    HttpReply reply;
    std::size_t end = 0;
    while ((end = buffer_.find("\r\n\r\n")) == std::string::npos)
      if (!more()) return {};
    std::string_view text = std::string_view(buffer_).substr(0, end + 2);
    if (!text.starts_with("HTTP/1.1 ")) throw std::runtime_error("not an HTTP answer: " + buffer_);
    reply.status = std::stoi(std::string(text.substr(9, 3)));
    for (text.remove_prefix(text.find("\r\n") + 2); !text.empty(); text.remove_prefix(text.find("\r\n") + 2)) {
      const auto line = text.substr(0, text.find("\r\n"));
      reply.headers[std::string(line.substr(0, line.find(':')))] = line.substr(line.find(": ") + 2);
    }
    buffer_.erase(0, end + 4);
    if (head || !reply.headers.contains("Content-Length")) return reply;
    const std::size_t length = std::stoull(reply.headers["Content-Length"]);
    while (buffer_.size() < length)
      if (!more()) return {};
    reply.body = buffer_.substr(0, length);
    buffer_.erase(0, length);
    return reply;
  }

  /// A whole request in one call. `more` are header lines, each with its line end.
  HttpReply request(const std::string& method, const std::string& target, const std::string& more_headers = {},
                    const std::string& body = {}) {
    send(method + " " + target + " HTTP/1.1\r\nHost: " + host + "\r\n" + more_headers +
         (body.empty() ? "" : "Content-Length: " + std::to_string(body.size()) + "\r\n") + "\r\n" + body);
    return receive(method == "HEAD");
  }

  HttpReply post(const std::string& target, const std::string& body) {
    return request("POST", target, "Content-Type: application/json\r\n", body);
  }

  /// Reads until `text` was received and returns all up to its end; empty if the server closed before.
  std::string read_until(std::string_view text) {
    std::size_t found = 0;
    while ((found = buffer_.find(text)) == std::string::npos)
      if (!more()) return {};
    auto all = buffer_.substr(0, found + text.size());
    buffer_.erase(0, found + text.size());
    return all;
  }

  /// Everything until the server closes.
  std::string read_all() {
    while (more()) continue;
    return std::move(buffer_);
  }

  /// Whether the server closes, without another byte.
  bool closed() { return buffer_.empty() && !more() && !timed_out_; }

  void finish_sending() { shutdown(socket_, SHUT_WR); }
  void close() {
    if (socket_ >= 0) ::close(socket_);
    socket_ = -1;
  }
  int socket() const { return socket_; }

  std::string host;  ///< what request() sends as Host

 private:
  bool more() {
    pollfd waiting{socket_, POLLIN, 0};
    timed_out_ = poll(&waiting, 1, 300'000) != 1;
    if (timed_out_) return false;
    char bytes[65536];
    const auto n = recv(socket_, bytes, sizeof bytes, 0);
    if (n <= 0) return false;
    buffer_.append(bytes, static_cast<std::size_t>(n));
    return true;
  }

  int socket_;
  bool timed_out_ = false;
  std::string buffer_;
};

}  // namespace quorate::test
