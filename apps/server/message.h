// Requests and responses, without sockets: what handlers read and write.
#pragma once
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace quorate::server {

class EventReader;

using TextMap = std::map<std::string, std::string, std::less<>>;

struct Request {
  std::string method;  ///< as sent, for example "GET" or "HEAD"
  std::string path;    ///< as sent, percent-encoded, without the query; starts with '/'
  TextMap query;       ///< decoded; every name once
  TextMap parameters;  ///< values of the {names} in the pattern of the route, decoded
  std::vector<std::pair<std::string, std::string>> headers;  ///< names in lower case
  std::string body;
  std::string peer;       ///< IP address of the client, or of the proxy before it
  bool loopback = false;  ///< the server listens on a loopback address only, so the client is on this machine

  /// Value of the first header of that name (in lower case), or an empty text.
  std::string_view header(std::string_view name) const;
};

/// A response. The server adds Content-Length, Date, Connection and the security headers.
struct Response {
  int status = 200;
  std::string type = "application/json";  ///< Content-Type; not sent if empty
  std::string body;
  std::shared_ptr<const std::string> shared;                 ///< the body, if set: sent without a copy
  std::vector<std::pair<std::string, std::string>> headers;  ///< further ones, for example Allow
  std::string cache_control = "no-store";
  std::shared_ptr<EventReader> events;  ///< if set, they follow the header until one side ends (see event_stream.h)

  std::string_view content() const { return shared ? std::string_view(*shared) : std::string_view(body); }
};

/// An RFC 9457 problem document. `expected` names the accepted values; it is left out if empty. Invalid UTF-8 is replaced.
Response problem(int status, std::string_view detail, std::string_view expected = {});
/// The same, with more members.
Response problem_with(int status, std::string_view detail, const nlohmann::ordered_json& more);

/// Standard phrase of a status code, for example "Not Found".
std::string_view reason(int status);

/// The duty to answer one request. Called once, on any thread, at any time. If it is destroyed uncalled, the answer is 500.
class Respond {
 public:
  explicit Respond(std::function<void(Response)> to) : to_(std::move(to)) {}
  Respond(Respond&& other) noexcept : to_(std::exchange(other.to_, nullptr)) {}
  Respond& operator=(Respond&&) = delete;
  Respond(const Respond&) = delete;
  Respond& operator=(const Respond&) = delete;
  ~Respond();

  /// Throws std::logic_error if the request was answered before.
  void operator()(Response response);

 private:
  std::function<void(Response)> to_;
};

/// Answers a request, now or later. Called on the server's threads, so it must not block. If it throws, the answer is 500.
using Handler = std::function<void(Request, Respond)>;

/// Decodes %XX, and + as a space if `plus`. Nothing if an escape is malformed or the result is not UTF-8.
std::optional<std::string> percent_decoded(std::string_view text, bool plus = false);

/// Decodes "a=1&b=2" into `into`. Returns an empty text, or what is wrong: a malformed escape, a name that occurs twice.
std::string parse_query(std::string_view text, TextMap& into);

/// `text` with its ASCII letters in lower case.
std::string lower_case(std::string_view text);

/// The elements of a comma-separated header, without surrounding blanks.
std::vector<std::string_view> list_elements(std::string_view header);

}  // namespace quorate::server
