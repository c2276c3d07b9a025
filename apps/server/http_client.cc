#include "server/http_client.h"

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <optional>

namespace quorate::server {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::use_awaitable;
using asio::ip::tcp;

struct Url {
  bool tls;
  std::string host, port;
};

Url parsed(std::string_view url) {
  const auto wrong = [&] {
    return UsageError("'" + std::string(url) + "' is not the address of a server; expected https://HOST:PORT");
  };
  Url out{url.starts_with("https://"), "", ""};
  if (!out.tls && !url.starts_with("http://")) throw wrong();
  std::string_view rest = url.substr(out.tls ? 8 : 7);
  if (rest.ends_with('/')) rest.remove_suffix(1);
  const bool ipv6 = rest.starts_with('[');
  const auto colon = rest.find(':', ipv6 ? rest.find(']') : 0);
  out.host = rest.substr(ipv6 ? 1 : 0, std::min(colon, rest.size()) - (ipv6 ? 2 : 0));
  out.port = colon == rest.npos ? (out.tls ? "443" : "80") : std::string(rest.substr(colon + 1));
  if (out.host.empty() || out.host.find_first_of("/?#@ ") != std::string::npos || out.port.empty() ||
      out.port.find_first_not_of("0123456789") != std::string::npos)
    throw wrong();
  return out;
}

}  // namespace

struct HttpClient::State {
  using Tls = asio::ssl::stream<beast::tcp_stream>;

  explicit State(HttpClientOptions o) : options(std::move(o)), url(parsed(options.url)) {
    if (!url.tls) return;
    context.set_verify_mode(asio::ssl::verify_peer);
    boost::system::error_code error;
    if (options.authorities.empty())
      context.set_default_verify_paths(error);
    else
      context.load_verify_file(options.authorities, error);
    if (error) throw FileError(options.authorities + ": cannot be read as PEM certificates: " + error.message());
  }

  beast::tcp_stream& tcp_of() { return url.tls ? tls->next_layer() : *plain; }

  asio::awaitable<void> connect() {
    tcp::resolver resolver(io);
    const auto found = co_await resolver.async_resolve(url.host, url.port, use_awaitable);
    buffer.clear();
    if (url.tls)
      tls.emplace(io, context);
    else
      plain.emplace(io);
    tcp_of().expires_after(options.timeout);
    co_await tcp_of().async_connect(found, use_awaitable);
    tcp_of().socket().set_option(tcp::no_delay(true));
    if (url.tls) {
      tls->set_verify_callback(asio::ssl::host_name_verification(url.host));
      SSL_set_tlsext_host_name(tls->native_handle(), url.host.c_str());
      co_await tls->async_handshake(asio::ssl::stream_base::client, use_awaitable);
    }
    open = true;
  }

  template <class Stream>
  asio::awaitable<HttpResult> exchange(Stream& stream, const http::request<http::string_body>& request) {
    co_await http::async_write(stream, request, use_awaitable);
    http::response_parser<http::string_body> parser;
    parser.body_limit(options.reply_limit);
    co_await http::async_read(stream, buffer, parser, use_awaitable);
    auto reply = parser.release();
    open = reply.keep_alive();
    co_return HttpResult{static_cast<int>(reply.result_int()), std::move(reply.body())};
  }

  asio::awaitable<HttpResult> once(const http::request<http::string_body>& request) {
    if (!open) co_await connect();
    tcp_of().expires_after(options.timeout);
    open = false;  // until the reply is whole
    if (url.tls)
      co_return co_await exchange(*tls, request);
    else
      co_return co_await exchange(*plain, request);
  }

  /// Runs it to its end on this thread.
  HttpResult run(const http::request<http::string_body>& request) {
    std::optional<HttpResult> out;
    std::exception_ptr failed;
    io.restart();
    if (stopped) throw boost::system::system_error(asio::error::operation_aborted);  // stop() may have come before
    asio::co_spawn(io, once(request), [&](const std::exception_ptr& error, HttpResult result) {
      if (error)
        failed = error;
      else
        out = std::move(result);
    });
    io.run();
    if (failed) std::rethrow_exception(failed);
    if (!out) throw boost::system::system_error(asio::error::operation_aborted);
    return *std::move(out);
  }

  /// What the user should know of a failure.
  [[noreturn]] void fail(const boost::system::error_code& code) {
    const bool of_tls = code.category() == asio::error::get_ssl_category();
    const int reason = of_tls ? ERR_GET_REASON(static_cast<unsigned long>(code.value())) : 0;
    if (reason == SSL_R_CERTIFICATE_VERIFY_FAILED)
      throw WrongPeer(options.url + ": the server's certificate is not trusted (" +
                      X509_verify_cert_error_string(SSL_get_verify_result(tls->native_handle())) + "); expected one for " +
                      url.host + ", of an authority in --tls-authorities or of this system");
    if (reason == SSL_R_WRONG_VERSION_NUMBER || reason == SSL_R_HTTP_REQUEST)
      throw WrongPeer(options.url + ": what answers there does not speak TLS; expected http://" + url.host + ":" + url.port +
                      ", or the address of a server with TLS");
    throw Unreachable(options.url + ": " + code.message());
  }

  HttpClientOptions options;
  Url url;
  asio::ssl::context context{asio::ssl::context::tls_client};
  asio::io_context io{1};
  std::optional<beast::tcp_stream> plain;
  std::optional<Tls> tls;
  beast::flat_buffer buffer;
  bool open = false;
  std::atomic<bool> stopped = false;
};

HttpClient::HttpClient(HttpClientOptions options) : state_(std::make_unique<State>(std::move(options))) {}
HttpClient::~HttpClient() = default;

HttpResult HttpClient::request(std::string_view method, std::string_view target, std::string_view body,
                               std::string_view type) {
  State& s = *state_;
  http::request<http::string_body> request;
  request.method_string(method);
  request.target(target);
  request.version(11);
  request.set(http::field::host, s.url.host + ":" + s.url.port);
  if (!s.options.token.empty()) request.set(http::field::authorization, "Bearer " + s.options.token);
  if (!type.empty()) request.set(http::field::content_type, type);
  request.body() = body;
  request.prepare_payload();
  for (bool kept = s.open;; kept = false) {
    try {
      return s.run(request);
    } catch (const boost::system::system_error& e) {
      s.open = false;
      if (kept && !s.stopped) continue;
      s.fail(e.code());
    }
  }
}

void HttpClient::stop() {
  state_->stopped = true;
  state_->io.stop();
}

}  // namespace quorate::server
