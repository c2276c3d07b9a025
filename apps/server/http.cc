#include "server/http.h"

#include <openssl/err.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <ctime>
#include <mutex>
#include <optional>
#include <thread>
#include <type_traits>
#include <unordered_set>
#include <utility>

#include "quorate/base/error.h"
#include "server/host_policy.h"
#include "server/memory_reserve.h"

namespace quorate::server {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;
// Concrete executors: type-erased ones cost a microsecond a request.
using Executor = asio::io_context::executor_type;
using Socket = asio::basic_stream_socket<tcp, Executor>;
using Acceptor = asio::basic_socket_acceptor<tcp, Executor>;
using Timer = asio::basic_waitable_timer<Clock, asio::wait_traits<Clock>, Executor>;
using TlsStream = asio::ssl::stream<Socket>;

constexpr std::size_t kReadBytes = 16384;      // what a connection reads at once
constexpr std::size_t kBodyReadBytes = 65536;  // and of a body
constexpr std::size_t kCopyBytes = 16384;      // a body up to this size is sent in one piece with its header
constexpr milliseconds kLinger{2000};
constexpr milliseconds kPauseOfAccept{100};
constexpr std::size_t kRefused = 64;  // connections beyond the limit that hear why; further ones are only closed

constexpr std::string_view kSecurityHeaders =
    "Content-Security-Policy: default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; "
    "frame-ancestors 'none'; form-action 'self'\r\n"
    "X-Content-Type-Options: nosniff\r\n"
    "Referrer-Policy: no-referrer\r\n"
    "Cross-Origin-Opener-Policy: same-origin\r\n"
    "Cross-Origin-Resource-Policy: same-origin\r\n";

std::string_view view(boost::beast::string_view text) { return {text.data(), text.size()}; }

bool is_json(std::string_view content_type) {
  auto type = lower_case(content_type.substr(0, content_type.find(';')));
  type.erase(type.find_last_not_of(" \t") + 1);
  return type == "application/json" || type == "application/x-ndjson";
}

/// Whether a header could end early and begin another one.
bool breaks_header(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; });
}

class Peer;

/// What one thread serves. Everything but `post` and `thread` belongs to that thread while it runs.
struct Loop {
  asio::io_context context{1};
  Timer sweeper{context};
  std::unordered_set<Peer*> peers;
  bool stopping = false;
  Clock::time_point drained_by;
  milliseconds tick{250};
  std::atomic<std::thread::id> thread;
  std::mutex mutex;
  bool ended = false;  // guarded by mutex
  std::time_t second = 0;
  std::string date;

  /// Runs f on this loop's thread, unless the loop has ended. Any thread.
  template <class F>
  void post(F f) {
    const std::lock_guard lock(mutex);
    if (!ended) once_there_is_memory([&] { asio::post(context, f); });
  }

  bool here() const { return thread.load(std::memory_order_relaxed) == std::this_thread::get_id(); }

  const std::string& date_header() {
    const std::time_t now = std::time(nullptr);
    if (now != second) {
      second = now;
      std::tm utc{};
      gmtime_r(&now, &utc);
      char text[40];
      date.assign(text, std::strftime(text, sizeof text, "Date: %a, %d %b %Y %H:%M:%S GMT\r\n", &utc));
    }
    return date;
  }

  void run();
  void sweep();
  void stop(milliseconds drain);
};

/// A connection as its loop sees it.
class Peer {
 public:
  virtual ~Peer() = default;
  virtual void check_time(Clock::time_point now) = 0;
  virtual void stop() = 0;
  virtual void close() = 0;
};

void Loop::run() {
  thread = std::this_thread::get_id();
  sweep();
  for (;;) try {
      context.run();
      break;
    } catch (const std::bad_alloc&) {  // of no connection in particular
    }
  {
    const std::lock_guard lock(mutex);
    ended = true;
  }
  // What was posted since: it finds its connection closed.
  context.restart();
  context.poll();
  thread = std::thread::id();
}

// One timer a loop instead of one a connection: setting a deadline is a store.
void Loop::sweep() {
  const auto now = Clock::now();
  const std::vector<Peer*> all(peers.begin(), peers.end());  // close() removes
  for (Peer* peer : all) stopping&& now >= drained_by ? peer->close() : peer->check_time(now);
  if (stopping && peers.empty()) return;
  sweeper.expires_after(tick);
  sweeper.async_wait([this](error_code) { sweep(); });
}

void Loop::stop(milliseconds drain) {
  stopping = true;
  drained_by = Clock::now() + drain;
  const std::vector<Peer*> all(peers.begin(), peers.end());
  for (Peer* peer : all) peer->stop();
  sweeper.cancel();
}

struct ServerState {
  HttpOptions options;
  Handler handler;
  std::vector<std::shared_ptr<Loop>> loops;
  std::unique_ptr<asio::ssl::context> tls;
  std::optional<Acceptor> acceptor;
  std::optional<Timer> pause;
  std::optional<HostPolicy> policy;
  tcp::endpoint endpoint;
  std::atomic<std::size_t> connections{0}, body_bytes{0}, reply_bytes{0};
  std::size_t next_loop = 0;

  void log(std::string_view line) const {
    if (options.log) options.log(line);
  }
  void listen();
  void load_certificate();
  void accept();
  void accepted(const std::shared_ptr<Loop>& loop, Socket socket);
};

/// One client. Lives as long as an operation of its socket, or a Respond, refers to it; every way ends in close().
template <class Stream>
class Connection final : public Peer, public std::enable_shared_from_this<Connection<Stream>> {
 public:
  static constexpr bool kTls = std::is_same_v<Stream, TlsStream>;

  template <class... Extra>
  Connection(ServerState& server, std::shared_ptr<Loop> loop, bool refused, Socket socket, Extra&... extra)
      : loop_(std::move(loop)), server_(server), refused_(refused), stream_(std::move(socket), extra...) {}

  void start() {
    loop_->peers.insert(this);
    error_code ignored;
    stream_.lowest_layer().set_option(tcp::no_delay(true), ignored);
    const auto remote = stream_.lowest_layer().remote_endpoint(ignored);
    peer_ = remote.address().to_string();
    if (loop_->stopping) return close();
    if (refused_) return refuse_connection();
    if constexpr (kTls) {
      wait_until(Phase::handshake, server_.options.header_timeout);
      stream_.async_handshake(TlsStream::server, [self = self()](error_code error) {
        if (error) return self->refuse_handshake(error);
        self->go_on([&] { self->next_request(); });
      });
    } else {
      next_request();
    }
  }

  void check_time(Clock::time_point now) override {
    if (phase_ == Phase::streaming && now >= heartbeat_at_) {
      static const auto kComment = std::make_shared<const std::string>(":\n\n");
      heartbeat_at_ = now + server_.options.heartbeat;
      events_->push(kComment);
    }
    if (now < deadline_) return;
    deadline_ = Clock::time_point::max();
    timed_out_ = true;
    error_code ignored;
    stream_.lowest_layer().cancel(ignored);  // what was waited for completes with an error
  }

  void stop() override {
    // A request in flight is answered, with Connection: close.
    if (phase_ == Phase::handshake || phase_ == Phase::idle || phase_ == Phase::streaming || phase_ == Phase::lingering)
      close();
  }

  void close() override {
    if (phase_ == Phase::closed) return;
    phase_ = Phase::closed;
    deadline_ = Clock::time_point::max();
    release_body();
    release_reply();
    events_.reset();
    error_code ignored;
    stream_.lowest_layer().close(ignored);
    --server_.connections;
    loop_->peers.erase(this);
    if (loop_->stopping && loop_->peers.empty()) loop_->sweeper.cancel();
  }

  /// What is done when an operation is completed. Without memory for it the client hears so, or the connection is closed.
  template <class Work>
  void go_on(Work work) {
    try {
      renew_memory_reserve();
      return work();
    } catch (const std::bad_alloc&) {
    }
    try {
      if (phase_ == Phase::head || phase_ == Phase::body || phase_ == Phase::handling) return refuse_for_memory();
    } catch (const std::bad_alloc&) {
    }
    close();
  }

 private:
  enum class Phase { handshake, idle, head, body, handling, writing, streaming, lingering, closed };
  using Parser = http::request_parser<http::string_body>;

  auto self() { return this->shared_from_this(); }

  void wait_until(Phase phase, milliseconds limit) {
    phase_ = phase;
    timed_out_ = false;
    deadline_ = Clock::now() + limit;
  }

  void refuse_for_memory() {
    release_body();
    parser_.emplace();  // frees what there is of the body
    buffer_ = {};
    refuse(no_memory());
  }
  static Response no_memory() { return problem(503, "the machine has no memory left for this request; try again later"); }

  // Reading ------------------------------------------------------------------------------------------------------------

  void next_request() {
    parser_.emplace();
    parser_->header_limit(server_.options.header_limit);
    parser_->body_limit(server_.options.body_limit);
    response_.reset();
    release_reply();
    if (buffer_.size() == 0 && buffer_.capacity() > kReadBytes) buffer_.shrink_to_fit();  // a large body's
    if (loop_->stopping && buffer_.size() == 0) return close();
    if (buffer_.size() == 0) {
      wait_until(Phase::idle, server_.options.idle_timeout);
      return read(kReadBytes);
    }
    wait_until(Phase::head, server_.options.header_timeout);
    parse_head();
  }

  void read(std::size_t bytes) {
    stream_.async_read_some(buffer_.prepare(bytes), [self = self()](error_code error, std::size_t n) {
      self->go_on([&] { self->on_read(error, n); });
    });
  }

  void on_read(error_code error, std::size_t n) {
    if (phase_ == Phase::closed) return;
    if (error) return read_failed(error);
    buffer_.commit(n);
    if (phase_ == Phase::idle) wait_until(Phase::head, server_.options.header_timeout);
    phase_ == Phase::head ? parse_head() : parse_body();
  }

  void read_failed(error_code error) {
    const bool end = error == asio::error::eof || error == asio::ssl::error::stream_truncated;
    if (phase_ == Phase::idle || (!end && !timed_out_)) return close();
    const char* where = phase_ == Phase::head ? "in its header" : "in its body";
    if (end) return refuse(problem(400, std::string("the request ends ") + where));
    const auto limit = phase_ == Phase::head ? server_.options.header_timeout : server_.options.body_timeout;
    refuse(problem(408, std::string("the request did not arrive in time; it stopped ") + where,
                   "all of it within " + std::to_string(limit.count()) + " ms"));
  }

  void parse_head() {
    error_code error;
    buffer_.consume(parser_->put(buffer_.data(), error));
    if (error == http::error::need_more) return read(kReadBytes);
    if (error) return refuse(of_parser(error));
    if (auto refusal = check_head()) return refuse(std::move(*refusal));
    headers_.clear();  // those of the head alone: trailers, which the parser would add, are none
    headers_.reserve(8);
    for (const auto& header : parser_->get())
      headers_.emplace_back(lower_case(view(header.name_string())), view(header.value()));
    keep_alive_ = parser_->get().keep_alive();
    parser_->eager(true);
    wait_until(Phase::body, server_.options.body_timeout);
    if (parser_->is_done() || buffer_.size() > 0 || parser_->get()[http::field::expect].empty()) return parse_body();
    head_ = "HTTP/1.1 100 Continue\r\n\r\n";
    asio::async_write(stream_, asio::buffer(head_), [self = self()](error_code failed, std::size_t) {
      if (self->phase_ == Phase::closed) return;
      if (failed) return self->close();
      self->go_on([&] { self->parse_body(); });
    });
  }

  void parse_body() {
    while (!parser_->is_done()) {
      if (buffer_.size() == 0) return read(kBodyReadBytes);
      error_code error;
      buffer_.consume(parser_->put(buffer_.data(), error));
      if (error && error != http::error::need_more) return refuse(of_parser(error));
      if (!hold_body(parser_->get().body().size())) {
        auto refusal = problem(503, "the requests in flight fill the memory kept for their bodies; try again later");
        refusal.headers.emplace_back("Retry-After", "1");
        return refuse(std::move(refusal));
      }
      if (!error) continue;
      // What remains is part of a chunk's header, which has no limit of its own.
      if (buffer_.size() > server_.options.header_limit)
        return refuse(
            problem(400, "the header of a chunk is too long", std::to_string(server_.options.header_limit) + " bytes"));
      return read(kBodyReadBytes);
    }
    handle();
  }

  bool hold_body(std::size_t bytes) {
    const std::size_t more = bytes - held_;
    held_ = bytes;
    return (server_.body_bytes += more) <= server_.options.bodies_limit;
  }
  void release_reply() { server_.reply_bytes -= std::exchange(held_reply_, 0); }
  void release_body() { server_.body_bytes -= std::exchange(held_, 0); }

  Response of_parser(error_code error) const {
    if (error == http::error::header_limit)
      return problem(431, "the request line and headers are too long",
                     std::to_string(server_.options.header_limit) + " bytes at most");
    if (error == http::error::body_limit)
      return problem(413, "the body is too long", std::to_string(server_.options.body_limit) + " bytes at most");
    const bool bare = phase_ == Phase::head && bare_line_feed();
    if (error == http::error::bad_version && !bare) return problem(505, "this is not HTTP/1.1", "HTTP/1.1 or HTTP/1.0");
    if (bare) return problem(400, "a line of the header ends without a carriage return", "an HTTP/1.1 request");
    return problem(400, "the request is malformed: " + error.message(), "an HTTP/1.1 request");
  }

  /// Whether the first line in the buffer ends with a line feed alone.
  bool bare_line_feed() const {
    const auto data = buffer_.cdata();
    const std::string_view text(static_cast<const char*>(data.data()), data.size());
    const auto end = text.find('\n');
    return end != text.npos && (end == 0 || text[end - 1] != '\r');
  }

  std::string_view field(http::field name) const { return view(parser_->get()[name]); }

  /// The response that refuses a request because of its header.
  std::optional<Response> check_head() const {
    const auto& head = parser_->get();
    if (head.version() != 11 && head.version() != 10) return problem(505, "this is not HTTP/1.1", "HTTP/1.1 or HTTP/1.0");
    const auto coding = head.find(http::field::transfer_encoding);
    if (coding != head.end() &&
        (head.count(http::field::transfer_encoding) > 1 || lower_case(view(coding->value())) != "chunked"))
      return problem(501, "transfer encoding " + quoted_value(view(coding->value())) + " is not supported",
                     "chunked, or none");
    if (head.count(http::field::host) > 1 || (head.version() == 11 && head.count(http::field::host) == 0))
      return problem(400, "the request has " + std::to_string(head.count(http::field::host)) + " Host headers", "one");

    std::string_view target = view(head.target());
    std::string_view host = field(http::field::host);
    if (const auto scheme = target.find("://"); scheme != std::string_view::npos && !target.starts_with('/')) {
      // The form that proxies use: its authority counts, not the header's.
      host = target.substr(scheme + 3);
      host = host.substr(0, host.find_first_of("/?"));
      target.remove_prefix(scheme + 3 + host.size());
      if (target.empty()) target = "/";
    }
    if (!target.starts_with('/'))
      return problem(400, "the target is " + quoted_value(target), "a path that starts with '/'");
    if (auto refusal = server_.policy->refusal({view(head.method_string()), host, field(http::field::origin),
                                                view(head["Sec-Fetch-Site"]), view(head["Sec-Fetch-Mode"]),
                                                view(head["Sec-Fetch-Dest"])}))
      return refusal;

    const auto type = field(http::field::content_type);
    if ((!parser_->is_done() || !type.empty()) && !is_json(type))
      return problem(415, "the content type is " + quoted_value(type), "application/json or application/x-ndjson");
    const auto encoding = field(http::field::content_encoding);
    if (!encoding.empty() && lower_case(encoding) != "identity")
      return problem(415, "content encoding " + quoted_value(encoding) + " is not supported", "a body without one");
    const auto expect = field(http::field::expect);
    if (!expect.empty() && lower_case(expect) != "100-continue")
      return problem(417, "expectation " + quoted_value(expect) + " is not supported", "100-continue");
    return std::nullopt;
  }

  // Answering ----------------------------------------------------------------------------------------------------------

  void handle() {
    phase_ = Phase::handling;
    deadline_ = Clock::time_point::max();
    Request request;
    std::string_view target = view(parser_->get().target());
    if (!target.starts_with('/')) {
      const auto path = target.find_first_of("/?", target.find("://") + 3);
      target = path == std::string_view::npos ? "/" : target.substr(path);
    }
    const auto question = target.find('?');
    request.path = question == 0 ? "/" : target.substr(0, question);
    if (question != std::string_view::npos) {
      const auto fault = parse_query(target.substr(question + 1), request.query);
      if (!fault.empty()) return send(problem(400, fault, "each name once, UTF-8, percent-encoded"));
    }
    request.method = view(parser_->get().method_string());
    request.headers = std::move(headers_);
    request.body = std::move(parser_->get().body());
    request.peer = peer_;
    request.loopback = server_.endpoint.address().is_loopback();

    // An answer given before the handler returns is sent after it, not inside it.
    in_handler_ = true;
    try {
      server_.handler(std::move(request),
                      Respond([self = self()](Response response) { self->deliver(std::move(response)); }));
    } catch (const std::bad_alloc&) {
      response_ = no_memory();
    } catch (const std::exception& error) {
      server_.log("a request failed: " + one_line(error.what()));
    }
    in_handler_ = false;
    if (response_) send(std::move(*response_));
  }

  void deliver(Response response) {  // any thread, even after the server's end
    if (loop_->here()) return delivered(std::move(response));
    loop_->post([self = self(), response = std::make_shared<Response>(std::move(response))] {
      self->go_on([&] { self->delivered(std::move(*response)); });
    });
  }

  void delivered(Response response) {
    if (phase_ == Phase::closed) return;
    if (!in_handler_) return send(std::move(response));
    response_ = std::move(response);
  }

  /// Answers and closes: what follows in the connection is not understood, or not read.
  void refuse(Response response) {
    keep_alive_ = false;
    send(std::move(response));
  }

  /// Says so to who speaks HTTP to a server of HTTPS: a browser, or a worker whose address begins with http://.
  void refuse_handshake(error_code error) {
    if constexpr (kTls) {
      if (error.category() == asio::error::get_ssl_category() &&
          ERR_GET_REASON(static_cast<unsigned long>(error.value())) == SSL_R_HTTP_REQUEST) {
        static const std::string kBody =
            problem(400, "this server speaks HTTPS alone; expected an address that begins with https://").body;
        static const std::string kReply =
            "HTTP/1.1 400 Bad Request\r\nContent-Type: application/problem+json\r\n"
            "Connection: close\r\nContent-Length: " +
            std::to_string(kBody.size()) + "\r\n\r\n" + kBody;
        return asio::async_write(stream_.next_layer(), asio::buffer(kReply),
                                 [self = self()](error_code, std::size_t) { self->close(); });
      }
    }
    close();
  }

  void refuse_connection() {
    auto refusal = problem(
        503, "the server has " + std::to_string(server_.options.max_connections) + " connections already; try again later");
    refusal.headers.emplace_back("Retry-After", "5");
    parser_.emplace();
    refuse(std::move(refusal));
  }

  void send(Response response) {
    release_body();
    release_reply();
    held_reply_ = response.body.size() > kCopyBytes ? response.body.size() : 0;
    if ((server_.reply_bytes += held_reply_) > server_.options.replies_limit && held_reply_ > 0) {
      release_reply();
      response = problem(503, "clients have not taken " + std::to_string(server_.options.replies_limit) +
                                  " bytes of replies yet; try again later");
    }
    for (const auto& [name, value] : response.headers) {
      if (!breaks_header(name) && !breaks_header(value)) continue;
      server_.log("a response has a control character in its header " + quoted_value(name));
      response = problem(500, "the server made an invalid header");
      break;
    }
    response_ = std::move(response);
    const auto& answer = *response_;
    const auto& request = parser_->get();
    if (loop_->stopping || answer.events) keep_alive_ = false;

    const std::string_view content = answer.content();
    const bool has_content = answer.status != 204 && answer.status != 304;
    head_.clear();
    head_.append("HTTP/1.1 ").append(std::to_string(answer.status)).append(" ").append(reason(answer.status)).append("\r\n");
    head_.append(loop_->date_header());
    if (!answer.type.empty()) head_.append("Content-Type: ").append(answer.type).append("\r\n");
    if (has_content && !answer.events)
      head_.append("Content-Length: ").append(std::to_string(content.size())).append("\r\n");
    head_.append("Cache-Control: ").append(answer.cache_control).append("\r\n");
    if (answer.events) head_.append("X-Accel-Buffering: no\r\n");  // a proxy must not hold events back
    for (const auto& [name, value] : answer.headers) head_.append(name).append(": ").append(value).append("\r\n");
    if (!keep_alive_) {
      head_.append("Connection: close\r\n");
    } else if (request.version() == 10) {
      head_.append("Connection: keep-alive\r\n");
    }
    head_.append(kSecurityHeaders).append("\r\n");

    wait_until(Phase::writing, server_.options.write_timeout);
    const bool send_content = has_content && request.method() != http::verb::head && !answer.events;
    std::array<asio::const_buffer, 2> buffers;
    if (send_content && content.size() <= kCopyBytes) {
      head_.append(content);
    } else if (send_content) {
      buffers[1] = asio::buffer(content.data(), content.size());
    }
    buffers[0] = asio::buffer(head_);
    const auto progress = [this](error_code error, std::size_t) -> std::size_t {
      if (phase_ == Phase::writing) deadline_ = Clock::now() + server_.options.write_timeout;
      return error ? 0 : kBodyReadBytes;
    };
    const auto done = [self = self()](error_code error, std::size_t) { self->go_on([&] { self->sent(error); }); };
    buffers[1].size() == 0 ? asio::async_write(stream_, buffers[0], progress, done)
                           : asio::async_write(stream_, buffers, progress, done);
  }

  void sent(error_code error) {
    if (phase_ == Phase::closed) return;
    if (error) return close();
    if (response_->events && parser_->get().method() != http::verb::head) return stream_events();
    if (!keep_alive_) return linger();
    next_request();
  }

  // Closing at once could make the kernel discard the answer, because bytes arrived that were not read.
  void linger() {
    wait_until(Phase::lingering, kLinger);
    error_code ignored;
    if constexpr (kTls) {
      stream_.async_shutdown([self = self()](error_code) { self->close(); });
    } else {
      stream_.shutdown(tcp::socket::shutdown_send, ignored);
      discard();
    }
  }

  void discard() {
    buffer_.clear();
    stream_.async_read_some(buffer_.prepare(kReadBytes), [self = self()](error_code error, std::size_t) {
      if (self->phase_ == Phase::closed) return;
      error ? self->close() : self->go_on([&] { self->discard(); });
    });
  }

  // Events -------------------------------------------------------------------------------------------------------------

  void stream_events() {
    phase_ = Phase::streaming;
    deadline_ = Clock::time_point::max();
    heartbeat_at_ = Clock::now() + server_.options.heartbeat;
    events_ = std::move(response_->events);
    // The client has nothing to send any more: it becomes readable when it leaves.
    stream_.lowest_layer().async_wait(tcp::socket::wait_read, [self = self()](error_code) { self->close(); });
    events_->on_ready([weak = this->weak_from_this(), loop = loop_] {
      if (auto self = weak.lock()) loop->post([self] { self->go_on([&] { self->pump(); }); });
    });
  }

  void pump() {
    if (phase_ != Phase::streaming) return;
    if (events_->ended()) return close();
    if (pumping_) return;
    events_->take(batch_);
    if (batch_.empty()) return;
    pumping_ = true;
    head_.clear();
    for (const auto& text : batch_) head_.append(*text);
    heartbeat_at_ = Clock::now() + server_.options.heartbeat;
    deadline_ = Clock::now() + server_.options.write_timeout;
    asio::async_write(stream_, asio::buffer(head_), [self = self()](error_code error, std::size_t) {
      if (self->phase_ != Phase::streaming) return;
      if (error) return self->close();
      self->pumping_ = false;
      self->deadline_ = Clock::time_point::max();
      self->go_on([&] { self->pump(); });
    });
  }

  std::shared_ptr<Loop> loop_;  // first, so that it outlives the socket
  ServerState& server_;         // used by the loop's thread alone, while it runs
  bool refused_;
  Stream stream_;
  boost::beast::flat_buffer buffer_;
  std::optional<Parser> parser_;
  std::optional<Response> response_;
  std::string head_, peer_;
  decltype(Request::headers) headers_;
  std::shared_ptr<EventReader> events_;
  std::vector<EventReader::Text> batch_;
  Phase phase_ = Phase::handshake;
  Clock::time_point deadline_ = Clock::time_point::max(), heartbeat_at_ = Clock::time_point::max();
  std::size_t held_ = 0, held_reply_ = 0;  // bytes of this body and reply, counted in body_bytes and reply_bytes
  bool timed_out_ = false, keep_alive_ = false, in_handler_ = false, pumping_ = false;
};

void ServerState::load_certificate() {
  using asio::ssl::context;
  tls = std::make_unique<context>(context::tls_server);
  error_code error;
  tls->set_options(context::default_workarounds | context::no_sslv2 | context::no_sslv3 | context::no_tlsv1 |
                       context::no_tlsv1_1 | context::single_dh_use,
                   error);
  SSL_CTX_set_options(tls->native_handle(), SSL_OP_NO_RENEGOTIATION);
  ERR_clear_error();
  tls->use_certificate_chain_file(options.certificate, error);
  if (error)
    throw FileError("certificate " + quoted_value(options.certificate) + ": " + error.message() +
                    "; expected a readable PEM file with the certificate first");
  tls->use_private_key_file(options.key, context::pem, error);
  if (error)
    throw FileError("key " + quoted_value(options.key) + ": " + error.message() +
                    "; expected a readable PEM file with the key of certificate " + quoted_value(options.certificate));
}

void ServerState::listen() {
  error_code error;
  const auto address = asio::ip::make_address(options.address == "localhost" ? "127.0.0.1" : options.address, error);
  if (error)
    throw UsageError("address " + quoted_value(options.address) + ": expected an IPv4 or IPv6 address, or localhost");
  acceptor.emplace(loops.front()->context);
  pause.emplace(loops.front()->context);
  endpoint = {address, options.port};
  acceptor->open(endpoint.protocol(), error);
  if (!error) acceptor->set_option(tcp::acceptor::reuse_address(true), error);
  if (!error && address.is_v6()) acceptor->set_option(asio::ip::v6_only(!address.is_unspecified()), error);
  if (!error) acceptor->bind(endpoint, error);
  if (!error) acceptor->listen(asio::socket_base::max_listen_connections, error);
  if (!error) endpoint = acceptor->local_endpoint(error);
  if (error)
    throw UsageError("cannot listen on " + quoted_value(options.address) + ", port " + std::to_string(options.port) + ": " +
                     error.message() + "; choose another address or port");
}

void ServerState::accept() {
  const auto& loop = loops[next_loop++ % loops.size()];
  acceptor->async_accept(loop->context, [this, loop](error_code error, Socket socket) {
    if (!acceptor->is_open()) return;
    if (!error) {
      try {
        accepted(loop, std::move(socket));
      } catch (const std::bad_alloc&) {
        log("no memory for a connection");
      }
      return accept();
    }
    if (error == asio::error::connection_aborted) return accept();
    // No file is left for a connection, most likely. A retry at once would fail again.
    log("cannot accept a connection: " + error.message());
    pause->expires_after(kPauseOfAccept);
    pause->async_wait([this](error_code) {
      if (acceptor->is_open()) accept();
    });
  });
}

void ServerState::accepted(const std::shared_ptr<Loop>& loop, Socket socket) {
  const bool refused = connections >= options.max_connections;
  // A refusal costs a TLS server a handshake.
  if (refused && (tls || connections >= options.max_connections + kRefused)) return;
  const auto start = [&](auto connection) {
    ++connections;
    loop->post([connection] { connection->go_on([&] { connection->start(); }); });
  };
  if (tls) {
    start(std::make_shared<Connection<TlsStream>>(*this, loop, refused, std::move(socket), *tls));
  } else {
    start(std::make_shared<Connection<Socket>>(*this, loop, refused, std::move(socket)));
  }
}

}  // namespace

struct HttpServer::State : ServerState {};

HttpServer::HttpServer(HttpOptions options, Handler handler) : state_(std::make_unique<State>()) {
  auto& state = *state_;
  state.options = std::move(options);
  state.handler = std::move(handler);
  const auto& given = state.options;
  if (given.certificate.empty() != given.key.empty())
    throw UsageError("expected both a certificate and a key, or neither; the missing one is the " +
                     std::string(given.key.empty() ? "key" : "certificate"));
  if (given.threads == 0) throw UsageError("threads 0: expected at least 1");
  if (!given.certificate.empty()) state.load_certificate();
  const auto shortest =
      std::min({given.header_timeout, given.body_timeout, given.idle_timeout, given.write_timeout, given.heartbeat});
  for (unsigned i = 0; i < given.threads; ++i) {
    state.loops.push_back(std::make_shared<Loop>());
    state.loops.back()->tick = std::clamp(shortest / 4, milliseconds(5), milliseconds(250));
  }
  state.listen();
  state.policy.emplace(state.endpoint.address().to_string(), state.endpoint.port(), state.tls != nullptr,
                       given.allowed_hosts);
}

HttpServer::~HttpServer() = default;

std::uint16_t HttpServer::port() const { return state_->endpoint.port(); }

std::string HttpServer::url() const {
  const auto address = state_->endpoint.address();
  std::string host = address.is_unspecified() ? "localhost" : address.to_string();
  if (host.find(':') != std::string::npos) host = "[" + host + "]";
  return (state_->tls ? "https://" : "http://") + host + ":" + std::to_string(port());
}

std::size_t HttpServer::connections() const { return state_->connections; }

void HttpServer::run() {
  std::vector<std::thread> threads;
  try {
    threads.reserve(state_->loops.size());
    for (std::size_t i = 1; i < state_->loops.size(); ++i) threads.emplace_back([loop = state_->loops[i]] { loop->run(); });
  } catch (const std::exception& e) {  // connections are accepted from here on, by these loops alone
    state_->loops.resize(threads.size() + 1);
    state_->log("serving with fewer threads than the machine has cores: no more could be started: " + std::string(e.what()));
  }
  state_->loops.front()->post([state = state_.get()] {
    if (state->acceptor->is_open()) state->accept();
  });
  state_->loops.front()->run();
  for (auto& thread : threads) thread.join();
}

void HttpServer::stop() {
  state_->loops.front()->post([state = state_.get()] {
    // Connections accepted before this were posted to their loops before these stops.
    error_code ignored;
    state->acceptor->close(ignored);
    state->pause->cancel();
    for (const auto& loop : state->loops) loop->post([loop, drain = state->options.drain] { loop->stop(drain); });
  });
}

}  // namespace quorate::server
