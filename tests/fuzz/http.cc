// Requests to the whole server but its sockets: each line of the input is METHOD PATH TYPE BODY, in any shape; LEASE stands
// for the last lease that was given. Every request gets one answer, an error is a problem document, the service goes on, and
// the folder gives the same model afterwards.
#include <future>
#include <nlohmann/json.hpp>

#include "fuzz.h"
#include "server/api.h"
#include "support/journal.h"

namespace {

using namespace quorate;
using namespace quorate::server;

std::string_view word(std::string_view& line) {
  const std::size_t end = std::min(line.find(' '), line.size());
  const std::string_view out = line.substr(0, end);
  line.remove_prefix(std::min(end + 1, line.size()));
  return out;
}

/// The request of a line; nothing if the server itself would refuse its target.
std::optional<Request> request_of(std::string_view line, const std::string& lease) {
  Request out;
  out.method = word(line);
  const std::string_view target = word(line);
  if (!target.starts_with('/')) return {};
  out.path = target.substr(0, target.find('?'));
  if (const auto query = target.find('?'); query != target.npos)
    if (!parse_query(target.substr(query + 1), out.query).empty()) return {};
  const std::string_view type = word(line);
  out.headers.emplace_back("content-type", type == "json"    ? "application/json"
                                           : type == "lines" ? "application/x-ndjson"
                                                             : std::string(type));
  for (const char c : line) out.body += c == '\x1e' ? '\n' : c;
  if (const auto at = out.body.find("LEASE"); at != out.body.npos) out.body.replace(at, 5, lease);
  return out;
}

/// Checks an answer; a lease in it becomes the last.
void check(const std::string& method, const Response& response, std::string& lease) {
  fuzz::require(response.status >= 200 && response.status < 600 && response.status != 500, "an answer has a status");
  if (response.type == "application/json" && method != "HEAD") {
    const auto body = nlohmann::json::parse(response.content(), nullptr, false);
    fuzz::require(!body.is_discarded(), "an answer is JSON");
    if (body.is_object() && body.contains("question") && body["question"].is_object())
      lease = body["question"].value("lease", lease);
  }
  if (response.status < 400) return;
  fuzz::require(response.type == "application/problem+json", "an error is a problem document");
  const auto body = nlohmann::json::parse(response.content(), nullptr, false);
  fuzz::require(body.is_object() && body["status"] == response.status && body.contains("title"), "a problem is complete");
}

ServiceOptions options_in(const std::string& dir) {
  ServiceOptions out;
  out.dir = dir;
  out.settings.emplace();
  out.settings->positive = "spam";
  out.settings->negative = "ham";
  out.settings->features.bits = 8;
  out.clock = [time = 1e9]() mutable { return time += 1; };
  out.snapshot_events = 8;
  out.segment_bytes = 1 << 16;
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const test::TempDir dir;
  static test::FastDisk disk;
  const std::string folder = dir.at("served");
  std::filesystem::remove_all(folder);
  std::string model;
  {
    std::filesystem::create_directories(folder);
    Service service(options_in(folder), disk);
    const Tokens tokens(folder + "/tokens.json");
    Router router;
    Api api(service, tokens, ApiOptions{"fuzz", ""});
    api.add_to(router);
    std::string lease = "0-x";
    std::string_view rest(reinterpret_cast<const char*>(data), size);
    for (int n = 0; n < 100 && !rest.empty(); ++n) {
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      auto request = request_of(rest.substr(0, end), lease);
      rest.remove_prefix(std::min(end + 1, rest.size()));
      if (!request) continue;
      std::promise<Response> answered;
      const std::string method = request->method;
      router(std::move(*request), Respond([&](Response r) { answered.set_value(std::move(r)); }));
      check(method, answered.get_future().get(), lease);
    }
    service.stop();
    fuzz::require(service.failed().empty(), "the service goes on");
    model = service.model_bytes();
  }
  fuzz::require(Service(options_in(folder), disk).model_bytes() == model, "the folder gives the same model");
  return 0;
}
