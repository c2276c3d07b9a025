#include "server/http.h"

#include <dirent.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <set>
#include <stdexcept>
#include <thread>

#include "quorate/base/error.h"
#include "server/router.h"
#include "support/certificate.h"
#include "support/http_client.h"
#include "support/temp.h"

namespace quorate::server {
namespace {

using namespace std::chrono_literals;
using test::HttpClient;
using test::HttpReply;

/// What a Respond was handed over to: answered by the test, or by a thread.
struct Later {
  std::mutex mutex;
  std::condition_variable arrived;
  std::deque<Respond> waiting;

  void push(Respond respond) {
    {
      const std::lock_guard lock(mutex);
      waiting.push_back(std::move(respond));
    }
    arrived.notify_one();
  }
  Respond pop() {
    if (auto respond = pop_within(300s)) return *std::move(respond);
    throw std::runtime_error("no request arrived");
  }
  std::optional<Respond> pop_within(std::chrono::seconds most) {
    std::unique_lock lock(mutex);
    if (!arrived.wait_for(lock, most, [&] { return !waiting.empty(); })) return std::nullopt;
    std::optional<Respond> respond = std::move(waiting.front());
    waiting.pop_front();
    return respond;
  }
};

Response text(std::string body, int status = 200) {
  Response response;
  response.status = status;
  response.type = "text/plain";
  response.body = std::move(body);
  return response;
}

/// A server in a thread, with a handler for every way to answer.
class Running {
 public:
  explicit Running(HttpOptions options = {}, std::chrono::milliseconds drain = 500ms)
      : server_(local(std::move(options), drain), table()), thread_([this] { server_.run(); }) {}
  ~Running() { stop(); }
  void stop() {
    server_.stop();
    if (thread_.joinable()) thread_.join();
  }
  std::uint16_t port() const { return server_.port(); }
  HttpServer& server() { return server_; }
  /// Waits until the server has `n` connections.
  bool has_connections(std::size_t n) const {
    for (int i = 0; i < 30'000 && server_.connections() != n; ++i) std::this_thread::sleep_for(10ms);
    return server_.connections() == n;
  }

  Later later;
  EventStream events{4, 4 << 20};
  std::atomic<int> handled = 0;

 private:
  static HttpOptions local(HttpOptions options, std::chrono::milliseconds drain) {
    options.port = 0;
    options.drain = drain;
    return options;
  }

  Router table() {
    Router router;
    router.add("POST", "/echo", [this](Request request, Respond respond) {
      ++handled;
      respond(text(std::move(request.body)));
    });
    router.add("GET", "/request", [](const Request& request, Respond respond) {
      nlohmann::json seen{{"method", request.method},     {"path", request.path},
                          {"query", request.query},       {"peer", request.peer},
                          {"loopback", request.loopback}, {"agent", request.header("user-agent")}};
      respond(text(seen.dump()));
    });
    router.add("GET", "/big", [](const Request&, Respond respond) {
      static const auto kBig = std::make_shared<const std::string>(8 << 20, 'x');
      Response response = text("");
      response.shared = kBig;
      respond(std::move(response));
    });
    router.add("GET", "/empty", [](const Request&, Respond respond) { respond(text("", 204)); });
    router.add("GET", "/later", [this](const Request&, Respond respond) { later.push(std::move(respond)); });
    router.add("GET", "/events",
               [this](const Request&, Respond respond) { events.open(std::move(respond), "data: first\n\n"); });
    router.add("GET", "/throws", [](const Request&, const Respond&) { throw std::runtime_error("a fault\nof two lines"); });
    router.add("GET", "/forgets", [](const Request&, const Respond&) {});
    router.add("GET", "/splits", [](const Request&, Respond respond) {
      Response response = text("");
      response.headers.emplace_back("X-Name", "a\r\nSet-Cookie: b");
      respond(std::move(response));
    });
    return router;
  }

  HttpServer server_;
  std::thread thread_;
};

void expect_problem(const HttpReply& reply, int status) {
  EXPECT_EQ(reply.status, status);
  ASSERT_EQ(reply.headers.count("Content-Type"), 1U);
  EXPECT_EQ(reply.headers.at("Content-Type"), "application/problem+json");
  const auto document = nlohmann::json::parse(reply.body);
  EXPECT_EQ(document["status"], status);
  EXPECT_FALSE(document["detail"].get<std::string>().empty());
}

// Requests and answers ----------------------------------------------------------------------------------------------------

TEST(Http, KeepsAConnectionForManyRequests) {
  Running running;
  HttpClient client(running.port());
  for (int i = 0; i < 100; ++i) {
    const auto reply = client.post("/echo", "body " + std::to_string(i));
    ASSERT_EQ(reply.status, 200);
    ASSERT_EQ(reply.body, "body " + std::to_string(i));
  }
  EXPECT_EQ(running.server().connections(), 1U);
}

TEST(Http, AnswersPipelinedRequestsInOrder) {
  Running running;
  HttpClient client(running.port());
  std::string all;
  for (int i = 0; i < 500; ++i)
    all += "POST /echo HTTP/1.1\r\nHost: " + client.host +
           "\r\nContent-Type: application/json\r\nContent-Length: 4\r\n\r\n" + std::to_string(1000 + i);
  client.send(all);
  for (int i = 0; i < 500; ++i) ASSERT_EQ(client.receive().body, std::to_string(1000 + i));
}

TEST(Http, ReadsARequestInPiecesOfOneByte) {
  Running running;
  HttpClient client(running.port());
  for (const char byte :
       "POST /echo HTTP/1.1\r\nHost: " + client.host +
           "\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n3\r\ncde\r\n0\r\n\r\n") {
    client.send({&byte, 1});
    std::this_thread::sleep_for(200us);
  }
  EXPECT_EQ(client.receive().body, "abcde");
  EXPECT_EQ(client.post("/echo", "x").body, "x");
}

TEST(Http, GivesTheHandlerTheDecodedRequest) {
  Running running;
  HttpClient client(running.port());
  const auto seen = [&](const std::string& target) {
    return nlohmann::json::parse(client.request("GET", target, "User-Agent: test\r\n").body);
  };
  const auto plain = seen("/request?a=1&b=x+y%21");
  EXPECT_EQ(plain["method"], "GET");
  EXPECT_EQ(plain["path"], "/request");
  EXPECT_EQ(plain["query"], (nlohmann::json{{"a", "1"}, {"b", "x y!"}}));
  EXPECT_EQ(plain["peer"], "127.0.0.1");
  EXPECT_EQ(plain["loopback"], true);
  EXPECT_EQ(plain["agent"], "test");
  EXPECT_EQ(seen("http://" + client.host + "/request?a=1")["path"], "/request") << "the form that proxies use";
  expect_problem(client.request("GET", "/request?a=1&a=2"), 400);
  expect_problem(client.request("GET", "http://" + client.host), 404);
  expect_problem(client.request("GET", "http://evil.example/request"), 421);
}

TEST(Http, HeadHasTheLengthAndNoBody) {
  Running running;
  HttpClient client(running.port());
  const auto head = client.request("HEAD", "/big");
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.headers.at("Content-Length"), std::to_string(8 << 20));
  EXPECT_EQ(client.request("HEAD", "/nowhere").status, 404);
  EXPECT_EQ(client.post("/echo", "next").body, "next") << "nothing of a body was sent";
}

TEST(Http, SendsLargeAndEmptyBodies) {
  Running running;
  HttpClient client(running.port());
  EXPECT_EQ(client.request("GET", "/big").body, std::string(8 << 20, 'x'));
  const auto empty = client.request("GET", "/empty");
  EXPECT_EQ(empty.status, 204);
  EXPECT_FALSE(empty.headers.contains("Content-Length"));
  const std::string large(3 << 20, 'y');
  EXPECT_EQ(client.post("/echo", large).body, large);
}

TEST(Http, RefusesUnknownMethodsAndPaths) {
  Running running;
  HttpClient client(running.port());
  for (const auto* method : {"OPTIONS", "TRACE", "PUT", "PATCH", "DELETE", "GET", "NONSENSE"}) {
    const auto reply = client.request(method, "/echo");
    expect_problem(reply, 405);
    EXPECT_EQ(reply.headers.at("Allow"), "POST");
  }
  expect_problem(client.request("GET", "/nowhere"), 404);
  expect_problem(client.request("OPTIONS", "*"), 400);
}

TEST(Http, SendsSecurityHeadersWithEveryAnswer) {
  Running running;
  HttpClient client(running.port());
  for (const auto* path : {"/request", "/nowhere"}) {
    const auto headers = client.request("GET", path).headers;
    EXPECT_EQ(headers.at("Content-Security-Policy"),
              "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; frame-ancestors 'none'; "
              "form-action 'self'");
    EXPECT_EQ(headers.at("X-Content-Type-Options"), "nosniff");
    EXPECT_EQ(headers.at("Referrer-Policy"), "no-referrer");
    EXPECT_EQ(headers.at("Cross-Origin-Opener-Policy"), "same-origin");
    EXPECT_EQ(headers.at("Cross-Origin-Resource-Policy"), "same-origin");
    EXPECT_EQ(headers.at("Cache-Control"), "no-store");
    EXPECT_TRUE(headers.at("Date").ends_with(" GMT"));
    for (const auto& [name, value] : headers) EXPECT_FALSE(name.starts_with("Access-Control")) << name;
  }
}

TEST(Http, ConnectionCloseAndHttp10End) {
  Running running;
  HttpClient client(running.port());
  EXPECT_EQ(client.request("GET", "/request", "Connection: close\r\n").headers.at("Connection"), "close");
  EXPECT_TRUE(client.closed());
  HttpClient old(running.port());
  old.send("GET /request HTTP/1.0\r\nHost: " + old.host + "\r\n\r\n");
  EXPECT_EQ(old.receive().status, 200);
  EXPECT_TRUE(old.closed());
  HttpClient kept(running.port());
  for (int i = 0; i < 2; ++i) {
    kept.send("GET /request HTTP/1.0\r\nHost: " + kept.host + "\r\nConnection: keep-alive\r\n\r\n");
    EXPECT_EQ(kept.receive().headers.at("Connection"), "keep-alive");
  }
}

TEST(Http, AnswersAClientThatSendsNothingMore) {
  Running running;
  HttpClient client(running.port());
  client.send("GET /request HTTP/1.1\r\nHost: " + client.host + "\r\n\r\n");
  client.finish_sending();
  EXPECT_EQ(client.receive().status, 200);
  EXPECT_TRUE(client.closed());
}

TEST(Http, AsksForABodyThatIsExpectedToBe) {
  Running running;
  HttpClient client(running.port());
  const auto head = [&](const std::string& length, const std::string& expectation) {
    client.send("POST /echo HTTP/1.1\r\nHost: " + client.host + "\r\nContent-Type: application/json\r\nContent-Length: " +
                length + "\r\nExpect: " + expectation + "\r\n\r\n");
  };
  head("3", "100-continue");
  EXPECT_EQ(client.read_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  client.send("abc");
  EXPECT_EQ(client.receive().body, "abc");
  head("99999999999", "100-continue");
  expect_problem(client.receive(), 413);
  HttpClient other(running.port());
  other.send("POST /echo HTTP/1.1\r\nHost: " + other.host +
             "\r\nContent-Type: application/json\r\nContent-Length: 1\r\nExpect: cake\r\n\r\n");
  expect_problem(other.receive(), 417);
}

// Answers given later -----------------------------------------------------------------------------------------------------

TEST(Http, AnswersMayComeLaterFromAnotherThread) {
  HttpOptions options;
  options.threads = 2;
  Running running(options);
  std::vector<std::thread> clients;
  std::atomic<int> right = 0;
  for (int c = 0; c < 8; ++c)
    clients.emplace_back([&] {
      HttpClient client(running.port());
      for (int i = 0; i < 50; ++i) right += client.request("GET", "/later").body == "done";
    });
  for (int i = 0; i < 400; ++i) running.later.pop()(text("done"));
  for (auto& client : clients) client.join();
  EXPECT_EQ(right, 400);
}

TEST(Http, AFaultOfTheHandlerIs500AndLogged) {
  std::mutex mutex;
  std::vector<std::string> lines;
  HttpOptions options;
  options.log = [&](std::string_view line) {
    const std::lock_guard lock(mutex);
    lines.emplace_back(line);
  };
  Running running(options);
  HttpClient client(running.port());
  for (const auto* path : {"/throws", "/forgets", "/splits"}) {
    const auto reply = client.request("GET", path);
    expect_problem(reply, 500);
    EXPECT_FALSE(reply.headers.contains("Set-Cookie"));
  }
  const std::lock_guard lock(mutex);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0], "a request failed: a fault\\nof two lines");
  EXPECT_EQ(lines[1], "a response has a control character in its header 'X-Name'");
}

TEST(Http, AClientThatLeavesBeforeItsAnswerDoesNoHarm) {
  Running running;
  for (int i = 0; i < 50; ++i) {
    HttpClient client(running.port());
    client.send("GET /later HTTP/1.1\r\nHost: " + client.host + "\r\n\r\n");
    auto respond = running.later.pop();
    client.close();
    respond(text("too late"));
  }
  EXPECT_TRUE(running.has_connections(0));
  HttpClient client(running.port());
  EXPECT_EQ(client.post("/echo", "alive").body, "alive");
}

TEST(Http, AnAnswerMayOutliveTheServer) {
  std::optional<Running> running(std::in_place);
  HttpClient client(running->port());
  client.send("GET /later HTTP/1.1\r\nHost: " + client.host + "\r\n\r\n");
  auto respond = running->later.pop();
  running->stop();
  EXPECT_EQ(client.receive().status, 0) << "cut off after `drain`";
  running.reset();
  respond(text("nobody listens"));
}

// Stopping ----------------------------------------------------------------------------------------------------------------

TEST(Http, StopLetsRequestsInFlightFinish) {
  Running running({}, 300s);
  HttpClient idle(running.port()), busy(running.port()), partial(running.port()), stream(running.port());
  EXPECT_EQ(idle.request("GET", "/request").status, 200);
  stream.send("GET /events HTTP/1.1\r\nHost: " + stream.host + "\r\n\r\n");
  EXPECT_FALSE(stream.read_until("first\n\n").empty());
  partial.send("POST /echo HTTP/1.1\r\nHost: " + partial.host +
               "\r\nContent-Type: application/json\r\nContent-Length: 4\r\n\r\nab");
  busy.send("GET /later HTTP/1.1\r\nHost: " + busy.host + "\r\n\r\n");
  auto respond = running.later.pop();
  running.server().stop();
  EXPECT_TRUE(idle.closed());
  EXPECT_TRUE(stream.closed());
  EXPECT_THROW(HttpClient(running.port()), std::runtime_error);
  partial.send("cd");
  EXPECT_EQ(partial.receive().body, "abcd");
  respond(text("finished"));
  const auto reply = busy.receive();
  EXPECT_EQ(reply.body, "finished");
  EXPECT_EQ(reply.headers.at("Connection"), "close");
  running.stop();
  EXPECT_EQ(running.server().connections(), 0U);
}

TEST(Http, StopBeforeRunEndsRun) {
  HttpOptions options;
  options.port = 0;
  HttpServer server(options, [](const Request&, const Respond&) {});
  server.stop();
  server.run();
  EXPECT_THROW(HttpClient(server.port()), std::runtime_error);
}

// Limits ------------------------------------------------------------------------------------------------------------------

TEST(Http, LimitsBodies) {
  HttpOptions options;
  options.body_limit = 1000;
  options.bodies_limit = 1500;
  Running running(options);
  EXPECT_EQ(HttpClient(running.port()).post("/echo", std::string(1000, 'x')).status, 200);
  HttpClient client(running.port());
  expect_problem(client.post("/echo", std::string(1001, 'x')), 413);
  EXPECT_TRUE(client.closed());
  HttpClient chunked(running.port());
  chunked.send("POST /echo HTTP/1.1\r\nHost: " + chunked.host +
               "\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n3e9\r\n" + std::string(1001, 'x'));
  expect_problem(chunked.receive(), 413);
  HttpClient extended(running.port());
  extended.send("POST /echo HTTP/1.1\r\nHost: " + extended.host +
                "\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n1;" + std::string(100'000, 'x'));
  expect_problem(extended.receive(), 400);

  const std::string half = "POST /echo HTTP/1.1\r\nHost: " + client.host +
                           "\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n" + std::string(999, 'x');
  HttpClient one(running.port()), other(running.port());
  one.send(half);
  other.send(half);
  // Whichever comes second finds no memory left, and is answered before its end.
  pollfd waiting[] = {{one.socket(), POLLIN, 0}, {other.socket(), POLLIN, 0}};
  ASSERT_EQ(poll(waiting, 2, 300'000), 1);
  const bool refused_one = waiting[0].revents != 0;
  HttpClient &first = refused_one ? other : one, &second = refused_one ? one : other;
  const auto reply = second.receive();
  expect_problem(reply, 503);
  EXPECT_EQ(reply.headers.at("Retry-After"), "1");
  first.send("x");
  EXPECT_EQ(first.receive().status, 200);
  EXPECT_EQ(HttpClient(running.port()).post("/echo", std::string(1000, 'x')).status, 200) << "the memory is given back";
}

TEST(Http, LimitsHeaders) {
  HttpOptions options;
  options.header_limit = 1000;
  Running running(options);
  HttpClient client(running.port());
  EXPECT_EQ(client.request("GET", "/request", "X: " + std::string(800, 'x') + "\r\n").status, 200);
  expect_problem(client.request("GET", "/request", "X: " + std::string(1000, 'x') + "\r\n"), 431);
  EXPECT_TRUE(client.closed());
  HttpClient endless(running.port());
  endless.send("GET /" + std::string(100'000, 'x'));
  expect_problem(endless.receive(), 431);
}

TEST(Http, LimitsConnections) {
  HttpOptions options;
  options.max_connections = 3;
  Running running(options);
  std::optional<HttpClient> a(running.port()), b(running.port()), c(running.port());
  for (auto* client : {&*a, &*b, &*c}) EXPECT_EQ(client->request("GET", "/request").status, 200);
  HttpClient refused(running.port());
  const auto reply = refused.receive();
  expect_problem(reply, 503);
  EXPECT_EQ(reply.headers.at("Retry-After"), "5");
  EXPECT_TRUE(refused.closed());
  refused.close();
  a.reset();
  EXPECT_TRUE(running.has_connections(2));
  EXPECT_EQ(HttpClient(running.port()).request("GET", "/request").status, 200);
}

TEST(Http, AnIdleClientIsTimedOut) {
  HttpOptions options;
  options.idle_timeout = 150ms;
  Running running(options);
  HttpClient idle(running.port());
  EXPECT_TRUE(idle.closed());
}

TEST(Http, SlowClientsAreTimedOut) {
  HttpOptions options;  // not idle_timeout: a loaded machine may take longer to send the first byte
  options.header_timeout = options.body_timeout = 150ms;
  Running running(options);
  HttpClient head(running.port()), body(running.port());
  body.send("POST /echo HTTP/1.1\r\nHost: " + body.host +
            "\r\nContent-Type: application/json\r\nContent-Length: 4\r\n\r\nab");
  // A byte now and then, without end, does not help.
  std::jthread trickle([&](const std::stop_token& stop) {
    head.send("GET /request HTTP/1.1\r\nX-Long: ");
    while (!stop.stop_requested() && head.send("x")) std::this_thread::sleep_for(20ms);
  });
  expect_problem(body.receive(), 408);
  expect_problem(head.receive(), 408);
  trickle.request_stop();
  trickle.join();
}

TEST(Http, AHandlerMayTakeLongerThanAClientMayBeIdle) {
  HttpOptions options;
  options.idle_timeout = 50ms;
  Running running(options);
  std::optional<HttpClient> waiting;
  std::optional<Respond> respond;
  while (!respond) {  // on a loaded machine the client may be idle for too long before it sends
    waiting.emplace(running.port());
    waiting->send("GET /later HTTP/1.1\r\nHost: " + waiting->host + "\r\n\r\n");
    if (auto arrived = running.later.pop_within(10s)) respond.emplace(*std::move(arrived));
  }
  std::this_thread::sleep_for(300ms);
  (*respond)(text("in time"));
  EXPECT_EQ(waiting->receive().body, "in time") << "the handler's time is not the client's";
}

TEST(Http, AClientThatDoesNotReadItsAnswerIsTimedOut) {
  HttpOptions options;
  options.write_timeout = 150ms;
  Running running(options);
  HttpClient client(running.port());
  const int small = 4096;
  setsockopt(client.socket(), SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
  for (int i = 0; i < 4; ++i) client.send("GET /big HTTP/1.1\r\nHost: " + client.host + "\r\n\r\n");
  EXPECT_TRUE(running.has_connections(0));
}

// Where requests come from ------------------------------------------------------------------------------------------------

TEST(Http, OnlyItsOwnHostAndOriginAreServed) {
  Running running;
  const auto port = std::to_string(running.port());
  const auto reply = [&](const std::string& headers, const std::string& method = "GET", const std::string& body = {}) {
    HttpClient client(running.port());
    client.send(method + " /" + (body.empty() ? "request" : "echo") + " HTTP/1.1\r\n" + headers +
                "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
    return client.receive();
  };
  const std::string host = "Host: localhost:" + port + "\r\n";
  EXPECT_EQ(reply(host + "Origin: http://localhost:" + port + "\r\n").status, 200);
  expect_problem(reply(host + "Origin: http://evil.example\r\n"), 403);
  expect_problem(reply(host + "Sec-Fetch-Site: cross-site\r\n"), 403);
  expect_problem(reply("Host: evil.example:" + port + "\r\n"), 421);
  expect_problem(reply(host + host), 400);
  expect_problem(reply(""), 400);
  expect_problem(reply(host + "Origin: null\r\nContent-Type: application/json\r\n", "POST", "{}"), 403);
  EXPECT_EQ(running.handled, 0);
}

TEST(Http, OnlyJsonBodiesAreRead) {
  Running running;
  for (const auto* type : {"application/json", "Application/JSON ; charset=utf-8", "application/x-ndjson"})
    EXPECT_EQ(
        HttpClient(running.port()).request("POST", "/echo", "Content-Type: " + std::string(type) + "\r\n", "{}").status, 200)
        << type;
  for (const auto* header :
       {"Content-Type: application/x-www-form-urlencoded\r\n", "Content-Type: text/plain\r\n",
        "Content-Type: multipart/form-data; boundary=application/json\r\n", "Content-Type: application/jsonx\r\n", ""})
    expect_problem(HttpClient(running.port()).request("POST", "/echo", header, "{}"), 415);
  HttpClient client(running.port());
  EXPECT_EQ(client.request("POST", "/echo", "Content-Length: 0\r\n").status, 200) << "no body, no type";
  expect_problem(client.request("POST", "/echo", "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 0\r\n"),
                 415);
  expect_problem(HttpClient(running.port())
                     .request("POST", "/echo", "Content-Type: application/json\r\nContent-Encoding: gzip\r\n", "{}"),
                 415);
}

TEST(Http, AmbiguousRequestsAreRefused) {
  Running running;
  const auto status = [&](const std::string& headers) {
    HttpClient client(running.port());
    client.send("POST /echo HTTP/1.1\r\nHost: " + client.host + "\r\nContent-Type: application/json\r\n" + headers +
                "\r\n0\r\n\r\n");
    const auto reply = client.receive();
    EXPECT_TRUE(client.closed()) << "what follows could be read in two ways";
    return reply.status;
  };
  EXPECT_EQ(status("Transfer-Encoding: gzip\r\n"), 501);
  EXPECT_EQ(status("Transfer-Encoding: gzip, chunked\r\n"), 501);
  EXPECT_EQ(status("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n"), 400);
  EXPECT_EQ(status("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n"), 400);
  EXPECT_EQ(status("Content-Length: 5\r\nContent-Length: 6\r\n"), 400);
  EXPECT_EQ(status("Content-Length: -1\r\n"), 400);
  EXPECT_EQ(status("X : y\r\n"), 400);
}

TEST(Http, OtherVersionsAreRefused) {
  Running running;
  for (const auto* line : {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "GET / HTTP/1.2\r\n\r\n", "GET / HTTP/9.9\r\n\r\n"}) {
    HttpClient client(running.port());
    client.send(line);
    const auto status = client.receive().status;
    EXPECT_TRUE(status == 505 || status == 400) << line << status;
  }
}

// Server-sent events ------------------------------------------------------------------------------------------------------

TEST(Http, EventsReachEveryReader) {
  HttpOptions options;
  options.threads = 2;
  options.heartbeat = 60ms;
  Running running(options);
  std::vector<std::unique_ptr<HttpClient>> readers;
  for (int i = 0; i < 4; ++i) {
    auto& client = *readers.emplace_back(std::make_unique<HttpClient>(running.port()));
    client.send("GET /events HTTP/1.1\r\nHost: " + client.host + "\r\n\r\n");
    const auto head = client.read_until("\r\n\r\n");
    EXPECT_NE(head.find("HTTP/1.1 200"), std::string::npos);
    EXPECT_NE(head.find("Content-Type: text/event-stream\r\n"), std::string::npos);
    EXPECT_NE(head.find("Cache-Control: no-store\r\n"), std::string::npos);
    EXPECT_EQ(client.read_until("\n\n"), "data: first\n\n");
  }
  expect_problem(HttpClient(running.port()).request("GET", "/events"), 503);
  for (int i = 0; i < 100; ++i) running.events.publish("status", std::to_string(i));
  for (auto& client : readers) {
    EXPECT_TRUE(client->read_until("event: status\ndata: 99\n\n").ends_with("data: 98\n\nevent: status\ndata: 99\n\n"));
    EXPECT_EQ(client->read_until(":\n\n"), ":\n\n") << "a heartbeat";
  }
  readers.clear();
  EXPECT_TRUE(running.has_connections(0)) << "readers that left are noticed";
  EXPECT_EQ(running.events.readers(), 0U);
  HttpClient head(running.port());
  EXPECT_EQ(head.request("HEAD", "/events").status, 200);
  EXPECT_TRUE(head.closed());
}

TEST(Http, AReaderOfEventsThatDoesNotReadIsDropped) {
  Running running;
  HttpClient slow(running.port()), quick(running.port());
  const int small = 4096;
  setsockopt(slow.socket(), SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
  for (auto* client : {&slow, &quick}) {
    client->send("GET /events HTTP/1.1\r\nHost: " + client->host + "\r\n\r\n");
    EXPECT_FALSE(client->read_until("first\n\n").empty());
  }
  const std::string data(100'000, 'x');
  for (int i = 0; i < 200; ++i) {
    running.events.publish("", data);
    ASSERT_FALSE(quick.read_until("\n\n").empty());
  }
  EXPECT_TRUE(running.has_connections(1));
  EXPECT_EQ(running.events.readers(), 1U);
}

// Addresses and TLS -------------------------------------------------------------------------------------------------------

TEST(Http, ListensOnIPv6) {
  HttpOptions options;
  options.address = "::1";
  Running running(options);
  HttpClient client(running.port(), true);
  const auto reply = client.request("GET", "/request");
  EXPECT_EQ(nlohmann::json::parse(reply.body)["peer"], "::1");
  EXPECT_EQ(running.server().url(), "http://[::1]:" + std::to_string(running.port()));
}

TEST(Http, OnEveryAddressIsNotLoopback) {
  HttpOptions options;
  options.address = "::";
  Running running(options);
  for (const bool ipv6 : {false, true}) {
    HttpClient client(running.port(), ipv6);
    client.host = "labels.example";
    EXPECT_EQ(nlohmann::json::parse(client.request("GET", "/request").body)["loopback"], false);
  }
  EXPECT_EQ(running.server().url(), "http://localhost:" + std::to_string(running.port()));
}

std::string message_of(const HttpOptions& options) {
  try {
    const HttpServer server(options, [](const Request&, const Respond&) {});
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(Http, ErrorsOfItsOptionsNameThem) {
  const Running running;
  HttpOptions options;
  options.port = running.port();
  const auto port = std::to_string(options.port);
  EXPECT_EQ(message_of(options),
            "cannot listen on '127.0.0.1', port " + port + ": Address already in use; choose another address or port");
  options.address = "example.org";
  EXPECT_EQ(message_of(options), "address 'example.org': expected an IPv4 or IPv6 address, or localhost");
  options = {};
  options.port = 0;
  options.threads = 0;
  EXPECT_EQ(message_of(options), "threads 0: expected at least 1");
  options = {};
  options.certificate = "a.pem";
  EXPECT_EQ(message_of(options), "expected both a certificate and a key, or neither; the missing one is the key");
  options.key = "b.pem";
  EXPECT_NE(message_of(options).find("certificate 'a.pem': No such file"), std::string::npos) << message_of(options);
}

/// A TLS client over an HttpClient's socket.
class TlsClient {
 public:
  TlsClient(HttpClient& under, int version) : context_(SSL_CTX_new(TLS_client_method())), ssl_(nullptr) {
    SSL_CTX_set_security_level(context_, 0);
    SSL_CTX_set_min_proto_version(context_, version);
    SSL_CTX_set_max_proto_version(context_, version);
    ssl_ = SSL_new(context_);
    SSL_set_fd(ssl_, under.socket());
    connected = SSL_connect(ssl_) == 1;
  }
  ~TlsClient() {
    SSL_free(ssl_);
    SSL_CTX_free(context_);
  }
  TlsClient(const TlsClient&) = delete;
  TlsClient& operator=(const TlsClient&) = delete;
  void send(const std::string& bytes) { SSL_write(ssl_, bytes.data(), static_cast<int>(bytes.size())); }
  std::string read_all() {
    std::string all;
    char bytes[4096];
    for (int n = 0; (n = SSL_read(ssl_, bytes, sizeof bytes)) > 0;) all.append(bytes, static_cast<std::size_t>(n));
    clean_end = SSL_get_shutdown(ssl_) & SSL_RECEIVED_SHUTDOWN;
    return all;
  }
  std::string read_until(std::string_view end) {
    std::string all;
    for (char byte = 0; !all.ends_with(end) && SSL_read(ssl_, &byte, 1) == 1;) all += byte;
    return all;
  }

  bool connected = false, clean_end = false;

 private:
  SSL_CTX* context_;
  SSL* ssl_;
};

TEST(Http, SpeaksTls12AndLater) {
  const test::TempDir folder;
  const test::Certificate identity, other;
  HttpOptions options;
  options.certificate = folder.write("certificate.pem", identity.certificate);
  options.key = folder.write("key.pem", identity.key);
  options.heartbeat = 100ms;
  Running running(options);
  EXPECT_TRUE(running.server().url().starts_with("https://127.0.0.1:"));
  const std::string host = "\r\nHost: localhost:" + std::to_string(running.port()) + "\r\n";
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    HttpClient under(running.port());
    TlsClient client(under, version);
    ASSERT_TRUE(client.connected);
    client.send("GET /request HTTP/1.1" + host + "Origin: https://localhost:" + std::to_string(running.port()) + "\r\n\r\n" +
                "GET /big HTTP/1.1" + host + "Connection: close\r\n\r\n");
    const auto all = client.read_all();
    EXPECT_TRUE(all.starts_with("HTTP/1.1 200 OK\r\n"));
    EXPECT_TRUE(all.ends_with(std::string(8 << 20, 'x')));
    EXPECT_TRUE(client.clean_end);

    HttpClient under_stream(running.port());
    TlsClient stream(under_stream, version);
    stream.send("GET /events HTTP/1.1" + host + "\r\n");
    EXPECT_TRUE(stream.read_until("data: first\n\n").starts_with("HTTP/1.1 200"));
    running.events.publish("", "second");
    EXPECT_TRUE(stream.read_until("data: second\n\n").ends_with("data: second\n\n"));
    EXPECT_TRUE(stream.read_until(":\n\n").ends_with(":\n\n")) << "a heartbeat";
  }
  HttpClient under(running.port());
  EXPECT_FALSE(TlsClient(under, TLS1_1_VERSION).connected);
  HttpClient plain(running.port());
  plain.send("GET /request HTTP/1.1" + host + "\r\n");
  const auto refusal = plain.read_all();
  EXPECT_TRUE(refusal.starts_with("HTTP/1.1 400 Bad Request\r\n")) << refusal;
  EXPECT_NE(refusal.find("expected an address that begins with https://"), std::string::npos) << refusal;

  options.header_timeout = 2s;  // of handshakes, too
  Running impatient(options);
  HttpClient silent(impatient.port()), under_old(impatient.port()), under_new(impatient.port());
  TlsClient slow_old(under_old, TLS1_2_VERSION), slow_new(under_new, TLS1_3_VERSION);
  slow_old.send("GET /request HT");
  slow_new.send("GET /request HT");
  EXPECT_TRUE(silent.closed()) << "no handshake in time";
  EXPECT_TRUE(slow_old.read_all().starts_with("HTTP/1.1 408"));
  EXPECT_TRUE(slow_new.read_all().starts_with("HTTP/1.1 408"));

  options.port = 0;
  options.key = folder.write("other.pem", other.key);
  EXPECT_NE(message_of(options).find("other.pem': "), std::string::npos) << message_of(options);
  options.key = folder.write("garbage.pem", "garbage");
  EXPECT_NE(message_of(options).find("garbage.pem': "), std::string::npos) << message_of(options);
}

// Robustness --------------------------------------------------------------------------------------------------------------

std::size_t open_files() {
  std::size_t n = 0;
  DIR* folder = opendir("/proc/self/fd");
  while (readdir(folder)) ++n;
  closedir(folder);
  return n;
}

TEST(Http, TenThousandDroppedConnectionsLeakNothing) {
  HttpOptions options;
  options.threads = 2;
  Running running(options);
  EXPECT_EQ(HttpClient(running.port()).post("/echo", "x").status, 200);
  ASSERT_TRUE(running.has_connections(0));
  const auto before = open_files();
  for (int i = 0; i < 10'000; ++i) {
    HttpClient client(running.port());
    if (i % 4 == 1) client.send("GET /req");
    if (i % 4 == 2)
      client.send("POST /echo HTTP/1.1\r\nHost: " + client.host +
                  "\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\nx");
    if (i % 4 == 3) client.send("GET /big HTTP/1.1\r\nHost: " + client.host + "\r\n\r\n");
  }
  EXPECT_EQ(HttpClient(running.port()).post("/echo", "alive").body, "alive") << "accepted after all others";
  EXPECT_TRUE(running.has_connections(0));
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);  // a socket is closed after it is counted
  while (open_files() != before && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  EXPECT_EQ(open_files(), before);
}

// Bytes of valid requests are changed, removed, doubled and spliced. Whatever arrives is answered, or the connection ends.
TEST(Http, TwoThousandMutatedRequestsNeverBreakIt) {
  HttpOptions options;
  options.body_limit = 4096;
  options.header_limit = 2048;
  Running running(options);
  const std::string host = "Host: 127.0.0.1:" + std::to_string(running.port()) + "\r\n";
  const std::string json = host + "Content-Type: application/json\r\n";
  const std::vector<std::string> seeds{
      "GET /request?a=1&b=%20x HTTP/1.1\r\n" + host + "Accept: */*\r\nConnection: keep-alive\r\n\r\n",
      "POST /echo HTTP/1.1\r\n" + json + "Content-Length: 11\r\n\r\n{\"a\":[1,2]}",
      "POST /echo HTTP/1.1\r\n" + json +
          "Transfer-Encoding: chunked\r\n\r\n5;x=y\r\n{\"a\":\r\n2\r\n1}\r\n0\r\nTrailer: z\r\n\r\n",
      "HEAD /request HTTP/1.1\r\n" + host + "Origin: http://127.0.0.1:" + std::to_string(running.port()) +
          "\r\nRange: bytes=0-\r\n\r\n",
      "POST /echo HTTP/1.1\r\n" + json + "Expect: 100-continue\r\nContent-Length: 2\r\n\r\n{}",
      "DELETE /request HTTP/1.0\r\n" + host + "\r\n"};
  std::mt19937 random(1);  // NOLINT: the same mutations every time
  const auto below = [&](std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random); };
  std::set<int> seen;
  for (int i = 0; i < 2000; ++i) {
    std::string bytes = seeds[below(seeds.size())];
    if (below(3) == 0) bytes += seeds[below(seeds.size())];
    for (std::size_t mutations = 1 + below(4); mutations > 0 && !bytes.empty(); --mutations) {
      const auto at = below(bytes.size());
      switch (below(6)) {
        case 0:
          bytes[at] = static_cast<char>(below(256));
          break;
        case 1:
          bytes.erase(at, 1 + below(8));
          break;
        case 2:
          bytes.insert(at, bytes.substr(below(bytes.size()), 1 + below(40)));
          break;
        case 3:
          bytes.insert(at, 1 + below(3000), "\0 \r\n:,%/0aA;"[below(12)]);
          break;
        case 4:
          bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(8)));
          break;
        default:
          bytes.resize(at);
          break;
      }
    }
    HttpClient client(running.port());
    client.send(bytes);
    client.finish_sending();
    const auto answer = client.read_all();
    if (answer.empty()) continue;
    ASSERT_TRUE(answer.starts_with("HTTP/1.1 ")) << answer;
    for (auto found = answer.find("HTTP/1.1 "); found != std::string::npos; found = answer.find("HTTP/1.1 ", found + 1))
      if (found == 0 || answer[found - 1] == '\n' || answer[found - 1] == '}')
        seen.insert(std::stoi(answer.substr(found + 9, 3)));
  }
  for (const int status : seen)
    EXPECT_TRUE(status == 100 || status == 200 || status == 501 || status == 505 || (status >= 400 && status < 500))
        << status;
  EXPECT_TRUE(seen.contains(400) && seen.contains(404) && seen.contains(415) && seen.contains(421)) << seen.size();
  EXPECT_TRUE(running.has_connections(0));
  EXPECT_EQ(HttpClient(running.port()).post("/echo", "alive").body, "alive");
}

}  // namespace
}  // namespace quorate::server
