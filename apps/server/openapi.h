// What a route takes and gives, declared once: requests are checked by it, and /openapi.json is made from it.
#pragma once
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quorate/desk/events.h"
#include "server/message.h"
#include "server/static_files.h"
#include "server/tokens.h"

namespace quorate::server {

/// The roles that may make a request, as bits.
using Roles = unsigned;
constexpr Roles bit(Role role) { return 1U << static_cast<unsigned>(role); }

/// One method of one path.
struct Operation {
  std::string_view method, path;  ///< "/v1/tasks/{task}"
  std::string_view name;          ///< its operationId
  Roles roles;                    ///< 0: everybody, without a token
  std::string_view summary, description;
  std::vector<FieldRule> fields;  ///< in path, query and body
  std::string_view gives;         ///< a schema of schemas.json, or a media type
  /// The statuses of refusals beside those that follow: 400 always; 401 and 403 with roles; 413 and 415 with a body; 503
  /// where an event is made.
  std::vector<int> refusals = {};
  bool lines = false;   ///< the body has examples, as JSON or as lines of JSON
  bool event = false;   ///< makes an event
  bool judged = false;  ///< the body has a line of fields, then lines of examples: those that a worker judged

  bool has(In in) const;
};

/// A request that is not as its operation expects.
struct BadRequest {
  int status;
  std::string detail, expected;
};

/// The media type of a body, in lower case and without parameters.
std::string media_type(const Request& request);

/// The fields of a request, by name: those of the path, of the query and, unless it has lines, of the body. Unknown ones are
/// errors, as are missing ones and values of another type or out of range. Throws BadRequest.
Json fields_of(const Operation& operation, const Request& request);

/// schemas.json (cmake/embed.cmake): all of the document but the paths.
std::span<const Asset> schema_assets();

/// The OpenAPI 3.1 document of these operations.
Json openapi(std::span<const Operation* const> operations);

}  // namespace quorate::server
