// Replies of the desk: what became of an event or a request. Front ends translate a verdict into a status or an error.
#pragma once
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>

#include "quorate/params/json.h"

namespace quorate {

/// What became of an event or a request, and the HTTP status that `quorate serve` gives it.
enum class Verdict {
  kDone,         ///< 200
  kMalformed,    ///< 400: a field is missing or of the wrong type
  kForbidden,    ///< 403: not for this annotator or this learner
  kUnknown,      ///< 404: no such question, task or example
  kConflict,     ///< 409: the state does not allow it
  kGone,         ///< 410: the lease or the question ended
  kTooLong,      ///< 413
  kUnusable,     ///< 422: well formed, and not usable: a label that is no choice, a line without features
  kUnavailable,  ///< 503: not now: the queue is full, or the journal failed
  kNoMemory,     ///< 507: the learner has no memory for it
};

/// The text of a reply. Bytes that are not UTF-8, which an error may quote, are replaced.
inline std::string to_text(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

/// "43 s", "12 min", "5 h", of a time that is left.
inline std::string duration(double seconds) {
  const double unit = seconds > 2 * 3600 ? 3600 : seconds > 120 ? 60 : 1;
  return std::to_string(std::llround(std::ceil(seconds / unit))) + (unit == 3600 ? " h" : unit == 60 ? " min" : " s");
}

/// The reply to an event or a request: a JSON object, whose first member may be a long list.
struct DeskReply {
  Verdict verdict = Verdict::kDone;
  Json body = Json::object();  ///< of a refusal: "detail", and maybe "expected" and "reason"
  bool changed = false;        ///< the event changed the desk, so it belongs in the journal
  /// The result of the event, one JSON object, or empty. The journal stores it as "was": then answers can be read from the
  /// journal without a desk, and a replay with another result is detected.
  std::string was = {};
  bool forgot = false;  ///< the event forgot data, which must be removed from disk too
  /// The list before the members of `body`: its name, empty if there is none, and its items as JSON separated by commas.
  /// A JSON array would take 100 times the memory.
  std::string list_name = {}, list = {};
  /// For lines with examples: the number of usable lines, and the error of the first unusable one.
  std::uint64_t used = 0;
  std::string first_bad = {};

  bool done() const { return verdict == Verdict::kDone; }
  /// The detail of a refusal.
  std::string detail() const { return body.value("detail", std::string("refused")); }
  /// The whole reply as JSON.
  std::string text() const {
    if (list_name.empty()) return to_text(body);
    std::string out = "{\"" + list_name + "\":[" + list + "]";
    return body.empty() ? out + "}" : out.append(",").append(to_text(body), 1);
  }
};

/// The reply of an event or request that succeeded.
inline DeskReply reply(Json body, bool changed, std::string was = {}) {
  return {Verdict::kDone, std::move(body), changed, std::move(was)};
}

/// The reply of an event or request that failed. expected: what to do instead; reason: for programs, if the verdict is
/// ambiguous.
inline DeskReply refusal(Verdict verdict, const std::string& detail, const std::string& expected = {},
                         const std::string& reason = {}) {
  Json body{{"detail", detail}};
  if (!expected.empty()) body["expected"] = expected;
  if (!reason.empty()) body["reason"] = reason;
  return {verdict, std::move(body)};
}

/// A refusal: nothing has changed.
struct Refused {
  Verdict verdict;
  std::string detail;
  std::string expected = {};
  std::string reason = {};

  DeskReply reply() const { return refusal(verdict, detail, expected, reason); }
};

/// The result of an unusable line: its number and its error.
inline Json bad_line(std::uint64_t number, const std::string& error) { return {{"line", number}, {"error", error}}; }

inline void add_to_list(std::string& list, const Json& one) {
  if (!list.empty()) list += ',';
  list += to_text(one);
}

}  // namespace quorate
