#include "server/log_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "server/http.h"

namespace quorate::server {
namespace {

using ::testing::HasSubstr;

/// A server that gives the same reply to all requests.
struct Replying {
  Replying(int status, std::string body)
      : http(options(),
             [status, body](Request, Respond respond) {
               Response out;
               out.status = status;
               out.body = body;
               out.type = "application/json";
               respond(std::move(out));
             }),
        thread([this] { http.run(); }) {}
  ~Replying() {
    http.stop();
    thread.join();
  }
  static HttpOptions options() {
    HttpOptions out;
    out.port = 0;
    return out;
  }
  HttpServer http;
  std::thread thread;
};

template <class E>
void expect_said(int status, const std::string& body, const std::string& expected) {
  Replying server(status, body);
  const auto log = http_log({.url = server.http.url()});
  try {
    log->moment();
    ADD_FAILURE() << status;
  } catch (const E& e) {
    EXPECT_THAT(e.what(), HasSubstr(server.http.url()));
    EXPECT_THAT(e.what(), HasSubstr(expected));
  }
}

TEST(HttpLog, SaysTheReasonOfARefusal) {
  expect_said<UsageError>(403, R"({"detail":"no role","expected":"a token"})",
                          "no role; expected a token; type quorate serve token");
  expect_said<UsageError>(401, R"({"detail":"no role"})", "set QUORATE_TOKEN or --token-file");
  expect_said<WrongPeer>(500, R"({"detail":"it broke"})", "/v1/model: it broke");
  expect_said<Unreachable>(503, R"({"detail":"too much waits"})", "too much waits");
}

TEST(HttpLog, SaysThatSomethingElseAnswers) {
  expect_said<WrongPeer>(404, "<html>Log in</html>", "status 404, which is not of quorate serve");
  expect_said<WrongPeer>(302, R"(["detail"])", "not that of a page to log in");
}

TEST(HttpLog, AServerThatIsNotThereIsUnreachable) {
  EXPECT_THROW(http_log({.url = "http://127.0.0.1:1"})->moment(), Unreachable);
}

}  // namespace
}  // namespace quorate::server
