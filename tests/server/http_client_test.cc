#include "server/http_client.h"

#include <gtest/gtest.h>

#include <chrono>
#include <deque>
#include <string>
#include <thread>

#include "quorate/base/error.h"
#include "server/http.h"
#include "server/router.h"
#include "support/certificate.h"
#include "support/temp.h"

namespace quorate::server {
namespace {

using namespace std::chrono_literals;

/// A server that returns what it is sent, on a thread.
class Echo {
 public:
  explicit Echo(HttpOptions options = {})
      : server_(local(std::move(options)), router()), thread_([this] { server_.run(); }) {}
  ~Echo() {
    server_.stop();
    thread_.join();
  }
  std::uint16_t port() const { return server_.port(); }
  std::string url(const std::string& scheme) const { return scheme + "://localhost:" + std::to_string(port()); }

 private:
  static HttpOptions local(HttpOptions options) {
    options.port = 0;
    options.drain = 100ms;
    return options;
  }
  Router router() {
    Router out;
    out.add("POST", "/echo", [](const Request& request, Respond respond) {
      Response response;
      response.body = std::string(request.header("authorization")) + "|" + std::string(request.header("content-type")) +
                      "|" + request.body;
      respond(std::move(response));
    });
    out.add("GET", "/never", [this](const Request&, Respond respond) { kept_.push_back(std::move(respond)); });
    return out;
  }

  std::deque<Respond> kept_;
  HttpServer server_;
  std::thread thread_;
};

std::string wrong_peer(HttpClient& client) {
  try {
    client.request("GET", "/nothing");
  } catch (const WrongPeer& e) {
    return e.what();
  }
  return "nothing is wrong";
}

TEST(HttpClient, SendsRequestsOverOneConnection) {
  const Echo echo;
  HttpClient client({.url = echo.url("http"), .token = "secret"});
  const std::string body(3 << 20, 'x');
  for (int i = 0; i < 20; ++i) {
    const auto result = client.request("POST", "/echo", body, "application/json");
    EXPECT_EQ(result.status, 200);
    EXPECT_EQ(result.body, "Bearer secret|application/json|" + body);
  }
  EXPECT_EQ(client.request("GET", "/nothing").status, 404);
}

TEST(HttpClient, OpensAConnectionAgainThatTheServerClosed) {
  HttpOptions options;
  options.idle_timeout = 50ms;
  const Echo echo(options);
  HttpClient client({.url = echo.url("http") + "/"});
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(client.request("POST", "/echo", "a", "application/json").body, "|application/json|a");
    std::this_thread::sleep_for(300ms);
  }
}

TEST(HttpClient, TrustsTheServersThatItIsToldTo) {
  const test::TempDir folder;
  const test::Certificate own, other;
  HttpOptions options;
  options.certificate = folder.write("certificate.pem", own.certificate);
  options.key = folder.write("key.pem", own.key);
  const Echo echo(options);
  HttpClient client({.url = echo.url("https"), .authorities = options.certificate});
  for (int i = 0; i < 2; ++i) EXPECT_EQ(client.request("POST", "/echo", "a", "application/json").status, 200);
  HttpClient stranger({.url = echo.url("https"), .authorities = folder.write("other.pem", other.certificate)});
  EXPECT_NE(wrong_peer(stranger).find("(self-signed certificate); expected one for localhost, of an authority in "
                                      "--tls-authorities or of this system"),
            std::string::npos)
      << wrong_peer(stranger);
  HttpClient elsewhere({.url = "https://127.0.0.1:" + std::to_string(echo.port()), .authorities = options.certificate});
  EXPECT_NE(wrong_peer(elsewhere).find("expected one for 127.0.0.1"), std::string::npos)
      << "the certificate is of localhost";
  EXPECT_THROW(HttpClient({.url = echo.url("https"), .authorities = folder.at("none.pem")}), FileError);
}

TEST(HttpClient, SaysThatTheAddressHasTheWrongScheme) {
  const Echo plain;
  HttpClient of_plain({.url = plain.url("https")});
  EXPECT_NE(wrong_peer(of_plain).find("does not speak TLS; expected http://localhost:"), std::string::npos);
  const test::TempDir folder;
  const test::Certificate own;
  HttpOptions options;
  options.certificate = folder.write("certificate.pem", own.certificate);
  options.key = folder.write("key.pem", own.key);
  const Echo secure(options);
  HttpClient of_secure({.url = secure.url("http")});
  for (int i = 0; i < 2; ++i) {
    const auto result = of_secure.request("GET", "/nothing");
    EXPECT_EQ(result.status, 400);
    EXPECT_NE(result.body.find("expected an address that begins with https://"), std::string::npos) << result.body;
  }
}

TEST(HttpClient, SaysThatNobodyAnswers) {
  HttpClient client({.url = "http://localhost:1"});
  EXPECT_THROW(client.request("GET", "/"), Unreachable);
  const Echo echo;
  HttpClient impatient({.url = echo.url("http"), .timeout = 100ms});
  EXPECT_THROW(impatient.request("GET", "/never"), Unreachable);
  EXPECT_EQ(impatient.request("POST", "/echo", "a", "application/json").status, 200) << "on a new connection";
}

TEST(HttpClient, StopsOnAnotherThread) {
  const Echo echo;
  HttpClient client({.url = echo.url("http"), .timeout = 300s});
  std::thread stopper([&] {
    std::this_thread::sleep_for(100ms);
    client.stop();
  });
  EXPECT_THROW(client.request("GET", "/never"), Unreachable);
  stopper.join();
  EXPECT_THROW(client.request("POST", "/echo", "a", "application/json"), Unreachable) << "and for good";
}

TEST(HttpClient, RefusesWhatIsNoServer) {
  for (const char* url : {"desk:8717", "ftp://desk", "http://", "https://desk/path", "http://desk:port", "http://user@desk"})
    EXPECT_THROW(HttpClient({.url = url}), UsageError) << url;
}

}  // namespace
}  // namespace quorate::server
