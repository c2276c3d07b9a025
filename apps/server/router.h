// Which handler answers which method and path.
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "server/message.h"

namespace quorate::server {

/// A table of routes; it is a Handler. Filled before the server starts; calls are const and may run side by side.
class Router {
 public:
  struct Route {
    std::string pattern;                      ///< "/v1/tasks/{name}"
    std::vector<std::string> segments;        ///< of the pattern, between slashes
    std::map<std::string, Handler> handlers;  ///< by method
  };

  /// Adds a route. A segment {name} of the pattern matches one segment that is not empty and puts it, decoded, into
  /// Request::parameters; patterns without {names} are preferred, then the one added first. GET answers HEAD too.
  /// Throws std::logic_error if the pattern does not start with '/' or has that method already.
  void add(std::string_view method, std::string_view pattern, Handler handler);

  /// Answers 404 for an unknown path and 405, with Allow, for an unknown method of a known path.
  /// Cost: O(log routes) for a path without {names}, else O(routes).
  void operator()(Request request, Respond respond) const;

  /// Every route; those without {names} first.
  std::vector<const Route*> routes() const;

 private:
  void dispatch(const Route& route, Request request, Respond respond) const;

  std::map<std::string, Route, std::less<>> fixed_;
  std::vector<Route> with_names_;
};

}  // namespace quorate::server
