// Which Host and Origin headers are accepted, so that a web page elsewhere cannot reach the server through a browser.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/message.h"

namespace quorate::server {

/// The headers of a request that name where it goes and where it comes from; empty if not sent.
struct Provenance {
  std::string_view method, host, origin, fetch_site, fetch_mode, fetch_dest;
};

/// Immutable after construction; calls may run side by side.
class HostPolicy {
 public:
  /// `address` is the IP address listened on. On a loopback address only its own names with `port` are accepted (localhost,
  /// 127.0.0.1, [::1], the address itself), against DNS rebinding; on another address every name, unless `allowed` has any.
  /// An element of `allowed` is "name" (any port) or "name:port". Throws UsageError if an element is neither.
  HostPolicy(const std::string& address, std::uint16_t port, bool tls, const std::vector<std::string>& allowed);

  /// The response that refuses a request: 421 for a Host that is not ours; 403 for an Origin that is not the Host's, or, in
  /// a browser that says so (Sec-Fetch-Site), another site's page. A link from another site may open a page here. For an
  /// allowed name, https is accepted as the Origin's scheme too: a proxy may end TLS.
  std::optional<Response> refusal(const Provenance& from) const;

 private:
  struct Authority {
    std::string name;
    std::optional<std::uint16_t> port;
  };
  static std::optional<Authority> parse(std::string_view text);

  std::uint16_t port_;
  bool tls_;
  bool any_ = false;
  std::vector<std::string> own_;
  std::vector<Authority> allowed_;
  std::string expected_;
};

}  // namespace quorate::server
