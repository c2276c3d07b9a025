#include "server/router.h"

#include <algorithm>
#include <set>
#include <stdexcept>

#include "quorate/base/error.h"

namespace quorate::server {
namespace {

bool is_name(std::string_view segment) { return segment.size() > 2 && segment.front() == '{' && segment.back() == '}'; }

std::vector<std::string> split(std::string_view path) {
  std::vector<std::string> segments;
  for (path.remove_prefix(1);;) {
    const auto slash = path.find('/');
    segments.emplace_back(path.substr(0, slash));
    if (slash == std::string_view::npos) return segments;
    path.remove_prefix(slash + 1);
  }
}

bool matches(const std::vector<std::string>& pattern, const std::vector<std::string>& path) {
  return std::equal(pattern.begin(), pattern.end(), path.begin(), path.end(), [](const auto& expected, const auto& segment) {
    return is_name(expected) ? !segment.empty() : expected == segment;
  });
}

}  // namespace

void Router::add(std::string_view method, std::string_view pattern, Handler handler) {
  if (!pattern.starts_with('/')) throw std::logic_error("route " + std::string(pattern) + ": expected a leading '/'");
  auto segments = split(pattern);
  const auto same = [&](const Route& route) { return route.pattern == pattern; };
  Route* route = nullptr;
  if (std::none_of(segments.begin(), segments.end(), is_name)) {
    route = &fixed_[std::string(pattern)];
  } else if (const auto found = std::find_if(with_names_.begin(), with_names_.end(), same); found != with_names_.end()) {
    route = &*found;
  } else {
    route = &with_names_.emplace_back();
  }
  route->pattern = pattern;
  route->segments = std::move(segments);
  if (!route->handlers.emplace(method, std::move(handler)).second)
    throw std::logic_error("route " + std::string(method) + " " + std::string(pattern) + " is added twice");
}

void Router::operator()(Request request, Respond respond) const {
  if (const auto found = fixed_.find(request.path); found != fixed_.end())
    return dispatch(found->second, std::move(request), std::move(respond));
  const auto segments = split(request.path);
  const auto found = std::find_if(with_names_.begin(), with_names_.end(),
                                  [&](const Route& route) { return matches(route.segments, segments); });
  if (found == with_names_.end()) return respond(problem(404, "there is nothing at " + quoted_value(request.path)));
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const std::string_view name = found->segments[i];
    if (!is_name(name)) continue;
    auto value = percent_decoded(segments[i]);
    if (!value)
      return respond(problem(400, "path segment " + quoted_value(segments[i]) + " has malformed percent-encoding",
                             "UTF-8 text, percent-encoded"));
    request.parameters.emplace(name.substr(1, name.size() - 2), std::move(*value));
  }
  dispatch(*found, std::move(request), std::move(respond));
}

void Router::dispatch(const Route& route, Request request, Respond respond) const {
  auto found = route.handlers.find(request.method);
  if (found == route.handlers.end() && request.method == "HEAD") found = route.handlers.find("GET");
  if (found != route.handlers.end()) return found->second(std::move(request), std::move(respond));
  std::set<std::string> methods;
  for (const auto& [method, handler] : route.handlers) methods.insert(method);
  if (methods.contains("GET")) methods.insert("HEAD");
  std::string allowed;
  for (const auto& method : methods) allowed += (allowed.empty() ? "" : ", ") + method;
  auto response =
      problem(405, "method " + quoted_value(request.method) + " is not available at " + quoted_value(request.path), allowed);
  response.headers.emplace_back("Allow", allowed);
  respond(std::move(response));
}

std::vector<const Router::Route*> Router::routes() const {
  std::vector<const Route*> all;
  for (const auto& [pattern, route] : fixed_) all.push_back(&route);
  for (const auto& route : with_names_) all.push_back(&route);
  return all;
}

}  // namespace quorate::server
