#include "server/host_policy.h"

#include <algorithm>
#include <charconv>

#include "quorate/base/error.h"

namespace quorate::server {
namespace {

bool is_loopback(const std::string& address) { return address.starts_with("127.") || address == "::1"; }

std::uint16_t default_port(bool tls) { return tls ? 443 : 80; }

}  // namespace

std::optional<HostPolicy::Authority> HostPolicy::parse(std::string_view text) {
  const auto colon = text.starts_with('[') ? text.find(':', std::min(text.find(']'), text.size())) : text.find(':');
  Authority authority{lower_case(text.substr(0, colon)), std::nullopt};
  if (colon != std::string_view::npos) {
    const auto digits = text.substr(colon + 1);
    std::uint16_t port = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
    if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
    authority.port = port;
  }
  const bool ipv6 = authority.name.starts_with('[') && authority.name.ends_with(']');
  constexpr std::string_view kName = "abcdefghijklmnopqrstuvwxyz0123456789-._", kAddress = "[]0123456789abcdef:.";
  if (authority.name.empty() || authority.name.find_first_not_of(ipv6 ? kAddress : kName) != std::string::npos)
    return std::nullopt;
  return authority;
}

HostPolicy::HostPolicy(const std::string& address, std::uint16_t port, bool tls, const std::vector<std::string>& allowed)
    : port_(port), tls_(tls) {
  own_.push_back(address.find(':') == std::string::npos ? address : "[" + address + "]");
  if (is_loopback(address)) own_.insert(own_.end(), {"localhost", "127.0.0.1", "[::1]"});
  any_ = !is_loopback(address) && allowed.empty();
  expected_ = (is_loopback(address) ? "localhost" : own_.front()) + ":" + std::to_string(port);
  for (const auto& text : allowed) {
    auto authority = parse(text);
    if (!authority) throw UsageError("allowed host " + quoted_value(text) + ": expected a name or name:port");
    allowed_.push_back(std::move(*authority));
    expected_ += " or " + text;
  }
}

std::optional<Response> HostPolicy::refusal(const Provenance& from) const {
  const auto host = parse(from.host);
  const auto named = [&](const Authority& entry) {
    return entry.name == host->name && (!entry.port || *entry.port == host->port.value_or(default_port(tls_)));
  };
  const bool listed = host && std::any_of(allowed_.begin(), allowed_.end(), named);
  const bool own = host && host->port.value_or(default_port(tls_)) == port_ &&
                   std::find(own_.begin(), own_.end(), host->name) != own_.end();
  if (!host || (!any_ && !listed && !own))
    return problem(421, "the header Host is " + quoted_value(from.host) + ", which this server does not serve", expected_);

  if (!from.origin.empty()) {
    bool same = false;
    for (const bool https : {false, true}) {
      const std::string_view scheme = https ? "https://" : "http://";
      if (!from.origin.starts_with(scheme) || (https != tls_ && !(https && listed))) continue;
      const auto origin = parse(from.origin.substr(scheme.size()));
      // A proxy that ends TLS listens on 443 and may pass the name alone.
      same = origin && origin->name == host->name &&
             origin->port.value_or(default_port(https)) == host->port.value_or(default_port(https));
    }
    if (!same)
      return problem(403, "a page of " + quoted_value(from.origin) + " may not use this server",
                     "no header Origin, or this server's own");
  }
  if (from.fetch_site == "cross-site" || from.fetch_site == "same-site") {
    const bool opens_page =
        (from.method == "GET" || from.method == "HEAD") && from.fetch_mode == "navigate" && from.fetch_dest == "document";
    if (!opens_page)
      return problem(403,
                     "another site's page may not use this server (Sec-Fetch-Site is " + quoted_value(from.fetch_site) + ")",
                     "a request of this server's own page, or of a program");
  }
  return std::nullopt;
}

}  // namespace quorate::server
