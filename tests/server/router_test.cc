#include "server/router.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <stdexcept>

namespace quorate::server {
namespace {

Handler named(const std::string& name) {
  return [name](const Request& request, Respond respond) {
    Response response;
    response.body = name;
    for (const auto& [parameter, value] : request.parameters) response.body += " " + parameter + "=" + value;
    respond(std::move(response));
  };
}

Router table() {
  Router router;
  router.add("GET", "/v1/tasks", named("tasks"));
  router.add("GET", "/v1/tasks/{name}", named("task"));
  router.add("DELETE", "/v1/tasks/{name}", named("forget"));
  router.add("GET", "/v1/tasks/all", named("all"));
  router.add("GET", "/v1/{room}/at/{place}", named("place"));
  return router;
}

Response answer(const Router& router, const std::string& method, const std::string& path) {
  Request request;
  request.method = method;
  request.path = path;
  Response answer;
  router(std::move(request), Respond([&](Response response) { answer = std::move(response); }));
  return answer;
}

TEST(Router, FindsTheHandlerAndDecodesItsParameters) {
  const auto router = table();
  EXPECT_EQ(answer(router, "GET", "/v1/tasks").body, "tasks");
  EXPECT_EQ(answer(router, "HEAD", "/v1/tasks").body, "tasks");
  EXPECT_EQ(answer(router, "GET", "/v1/tasks/a%2Fb%20c").body, "task name=a/b c");
  EXPECT_EQ(answer(router, "DELETE", "/v1/tasks/carl").body, "forget name=carl");
  EXPECT_EQ(answer(router, "GET", "/v1/tasks/all").body, "all") << "a pattern without names is preferred";
  EXPECT_EQ(answer(router, "GET", "/v1/x/at/y").body, "place place=y room=x");
}

TEST(Router, TellsUnknownPathsFromUnknownMethods) {
  const auto router = table();
  for (const auto* path : {"/", "/v1", "/v1/tasks/", "/v1/tasks/a/b", "/v1//at/y", "/v1/Tasks"}) {
    EXPECT_EQ(answer(router, "GET", path).status, 404) << path;
    EXPECT_EQ(answer(router, "OPTIONS", path).status, 404) << path;
  }
  const auto refusal = answer(router, "OPTIONS", "/v1/tasks/carl");
  EXPECT_EQ(refusal.status, 405);
  ASSERT_EQ(refusal.headers.size(), 1U);
  EXPECT_EQ(refusal.headers[0], (std::pair<std::string, std::string>{"Allow", "DELETE, GET, HEAD"}));
  EXPECT_EQ(nlohmann::json::parse(refusal.body)["expected"], "DELETE, GET, HEAD");
  EXPECT_EQ(answer(router, "DELETE", "/v1/tasks").status, 405);
  EXPECT_EQ(answer(router, "GET", "/v1/tasks/%zz").status, 400);
}

TEST(Router, ListsItsRoutesAndRefusesWrongOnes) {
  auto router = table();
  std::vector<std::string> patterns;
  for (const auto* route : router.routes()) patterns.push_back(route->pattern);
  EXPECT_EQ(patterns, (std::vector<std::string>{"/v1/tasks", "/v1/tasks/all", "/v1/tasks/{name}", "/v1/{room}/at/{place}"}));
  EXPECT_THROW(router.add("GET", "/v1/tasks/{name}", named("again")), std::logic_error);
  EXPECT_THROW(router.add("GET", "v1", named("relative")), std::logic_error);
}

}  // namespace
}  // namespace quorate::server
