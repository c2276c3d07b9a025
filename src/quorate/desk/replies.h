// Replies and refusals, shared by the files of the desk.
#pragma once
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "quorate/desk/desk.h"

namespace quorate {

using Json = nlohmann::ordered_json;

/// A refusal: nothing has changed.
struct Refused {
  int status;
  std::string detail;
  std::string reason = {};  // for programs, if the status is ambiguous
};

/// The text of a reply. Bytes that are not UTF-8, which an error may quote, are replaced.
inline std::string to_text(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

/// The reply of an event or request that succeeded.
inline DeskReply reply(const Json& body, bool changed, std::string was = {}) {
  return {200, to_text(body), changed, std::move(was)};
}

/// The reply of an event or request that failed.
inline DeskReply refusal(int status, const std::string& detail) { return {status, to_text(Json{{"detail", detail}})}; }

inline std::string text_of(const Json& event, const char* key) {
  const auto found = event.find(key);
  if (found == event.end() || !found->is_string() || found->get_ref<const std::string&>().empty())
    throw Refused{400, std::string(key) + ": expected a text"};
  return *found;
}

inline std::uint64_t ticket_of(const Json& event) {
  if (!event.contains("ticket") || !event["ticket"].is_number_unsigned()) throw Refused{400, "ticket: expected a number"};
  return event["ticket"];
}

/// If an event names its annotator, the lease must be theirs.
inline void check_holder(const Json& event, const std::string& holder) {
  if (event.contains("annotator") && event["annotator"] != holder)
    throw Refused{403, "lease: it belongs to another annotator"};
}

/// The result of an unusable line: its number and its error.
inline Json bad_line(std::uint64_t number, const std::string& what) { return {{"line", number}, {"error", what}}; }

inline void add_to_list(std::string& list, const Json& one) {
  if (!list.empty()) list += ',';
  list += to_text(one);
}

}  // namespace quorate
