#include "server/host_policy.h"

#include <gtest/gtest.h>

#include "quorate/base/error.h"

namespace quorate::server {
namespace {

int status(const HostPolicy& policy, const Provenance& from) {
  const auto refusal = policy.refusal(from);
  return refusal ? refusal->status : 200;
}
int host_status(const HostPolicy& policy, std::string_view host) { return status(policy, {"GET", host, "", "", "", ""}); }
int origin_status(const HostPolicy& policy, std::string_view host, std::string_view origin) {
  return status(policy, {"POST", host, origin, "", "", ""});
}

TEST(HostPolicy, OnLoopbackOnlyItsOwnNamesAreServed) {
  const HostPolicy policy("127.0.0.1", 8717, false, {});
  for (const auto* host : {"localhost:8717", "LocalHost:8717", "127.0.0.1:8717", "[::1]:8717"})
    EXPECT_EQ(host_status(policy, host), 200) << host;
  for (const auto* host :
       {"", "localhost", "localhost:80", "evil.example:8717", "localhost.evil.example:8717", "localhost:8717.evil",
        "127.0.0.1:87170", "user@localhost:8717", "localhost:", "localhost:8717:8717", "[::1", "[::1]8717", "127.0.0.2:8717",
        "localhost:8717/", "localhost :8717"})
    EXPECT_EQ(host_status(policy, host), 421) << host;
  EXPECT_EQ(host_status(HostPolicy("::1", 80, false, {}), "[::1]"), 200) << "the scheme's port may be left out";
  EXPECT_EQ(host_status(HostPolicy("127.0.0.1", 443, true, {}), "localhost"), 200);
  EXPECT_EQ(host_status(HostPolicy("127.0.0.9", 8717, false, {}), "127.0.0.9:8717"), 200);
}

TEST(HostPolicy, AllowedNamesAreServedToo) {
  const HostPolicy policy("127.0.0.1", 8717, false, {"labels.example", "other.example:99"});
  for (const auto* host : {"localhost:8717", "labels.example", "labels.example:5", "other.example:99"})
    EXPECT_EQ(host_status(policy, host), 200) << host;
  for (const auto* host : {"other.example", "other.example:98", "x.labels.example"})
    EXPECT_EQ(host_status(policy, host), 421) << host;
  for (const auto* wrong : {"", "http://labels.example", "a b", "labels.example:x", "labels.example:70000"})
    EXPECT_THROW(HostPolicy("127.0.0.1", 8717, false, {wrong}), UsageError) << wrong;
}

TEST(HostPolicy, OnAnotherAddressEveryNameIsServedUnlessSomeAreListed) {
  EXPECT_EQ(host_status(HostPolicy("0.0.0.0", 8717, false, {}), "labels.example:8717"), 200);
  const HostPolicy listed("192.0.2.7", 8717, false, {"labels.example"});
  EXPECT_EQ(host_status(listed, "labels.example:8717"), 200);
  EXPECT_EQ(host_status(listed, "192.0.2.7:8717"), 200);
  EXPECT_EQ(host_status(listed, "localhost:8717"), 421);
}

TEST(HostPolicy, TheOriginIsTheHostsOwn) {
  const HostPolicy plain("127.0.0.1", 8717, false, {"labels.example"}), tls("0.0.0.0", 443, true, {});
  EXPECT_EQ(origin_status(plain, "localhost:8717", "http://localhost:8717"), 200);
  EXPECT_EQ(origin_status(plain, "labels.example", "https://labels.example"), 200) << "a proxy ends TLS";
  EXPECT_EQ(origin_status(tls, "labels.example", "https://labels.example:443"), 200);
  for (const auto* origin :
       {"null", "http://evil.example", "https://localhost:8717", "http://localhost", "http://127.0.0.1:8717",
        "http://localhost:8717.evil.example", "http://localhost:8717/", "file://", "localhost:8717"})
    EXPECT_EQ(origin_status(plain, "localhost:8717", origin), 403) << origin;
  EXPECT_EQ(origin_status(tls, "labels.example", "http://labels.example"), 403);
  EXPECT_EQ(origin_status(plain, "labels.example", "https://labels.example:444"), 403);
}

TEST(HostPolicy, OtherSitesMayOpenAPageAndNothingElse) {
  const HostPolicy policy("127.0.0.1", 8717, false, {});
  const auto from = [&](std::string_view method, std::string_view site, std::string_view mode, std::string_view dest) {
    return status(policy, {method, "localhost:8717", "", site, mode, dest});
  };
  EXPECT_EQ(from("GET", "same-origin", "cors", "empty"), 200);
  EXPECT_EQ(from("GET", "none", "navigate", "document"), 200);
  for (const auto* site : {"cross-site", "same-site"}) {
    EXPECT_EQ(from("GET", site, "navigate", "document"), 200) << "a link";
    EXPECT_EQ(from("POST", site, "navigate", "document"), 403) << "a form";
    EXPECT_EQ(from("GET", site, "navigate", "iframe"), 403);
    EXPECT_EQ(from("GET", site, "no-cors", "image"), 403);
    EXPECT_EQ(from("GET", site, "cors", "empty"), 403);
  }
}

}  // namespace
}  // namespace quorate::server
