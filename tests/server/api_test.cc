#include "server/api.h"

#include <gtest/gtest.h>

#include <future>
#include <nlohmann/json.hpp>
#include <set>

#include "support/journal.h"
#include "support/temp.h"

namespace quorate::server {
namespace {

using Json = nlohmann::json;

/// A router with everything behind it.
struct Bench {
  explicit Bench(const std::vector<std::pair<Role, std::string>>& who = {}) {
    std::filesystem::create_directories(dir.at("d"));
    Tokens made(dir.at("d/tokens.json"));
    for (const auto& [role, name] : who) token[name] = made.add(role, name);
    ServiceOptions options;
    options.dir = dir.at("d");
    options.settings.emplace();
    options.settings->positive = "spam";
    options.settings->negative = "ham";
    options.settings->features.bits = 8;
    service.emplace(options, disk);
    tokens.emplace(dir.at("d/tokens.json"));
    api.emplace(*service, *tokens, ApiOptions{"mail", ""});
    api->add_to(router);
  }
  Response call(const std::string& method, const std::string& path, const std::string& body = "", const std::string& as = "",
                const std::string& type = "application/json") {
    Request request;
    request.method = method;
    request.path = path.substr(0, path.find('?'));
    if (path.find('?') != path.npos) {
      EXPECT_EQ(parse_query(path.substr(path.find('?') + 1), request.query), "");
    }
    request.body = body;
    if (!body.empty()) request.headers.emplace_back("content-type", type);
    if (!as.empty()) request.headers.emplace_back("authorization", "Bearer " + token.at(as));
    std::promise<Response> response;
    router(std::move(request), Respond([&](Response r) { response.set_value(std::move(r)); }));
    return response.get_future().get();
  }

  test::TempDir dir;
  test::FastDisk disk;
  std::map<std::string, std::string> token;
  std::optional<Tokens> tokens;
  std::optional<Service> service;
  std::optional<Api> api;
  Router router;

  ~Bench() { service->stop(); }
};

std::set<std::string> page_paths() {
  std::set<std::string> out{"/openapi.json"};
  for (const Asset& asset : page_assets()) out.emplace(asset.path);
  return out;
}

TEST(Api, TheDeclarationAndTheRouterHaveTheSameRoutes) {
  const Bench bench;
  std::set<std::string> routed, declared;
  const auto pages = page_paths();
  for (const Router::Route* route : bench.router.routes())
    if (!pages.contains(route->pattern))
      for (const auto& [method, handler] : route->handlers) routed.insert(lower_case(method) + " " + route->pattern);
  const Json document = Json::parse(openapi_assets().front().bytes);
  for (const auto& [path, methods] : document["paths"].items())
    for (const auto& [method, operation] : methods.items()) declared.insert(method + " " + path);
  EXPECT_EQ(routed, declared);
  EXPECT_GT(routed.size(), 20U);
  EXPECT_EQ(document["openapi"], "3.1.0");
}

TEST(Api, EveryRouteAllowsTheRolesThatTheDeclarationNames) {
  Bench bench({{Role::kAnnotator, "ann"}, {Role::kData, "pipeline"}, {Role::kOwner, "eva"}});
  const std::vector<std::pair<std::string, std::string>> who{{"annotator", "ann"}, {"data", "pipeline"}, {"owner", "eva"}};
  const Json document = Json::parse(openapi_assets().front().bytes);
  for (const auto& [path, methods] : document["paths"].items())
    for (const auto& [method, operation] : methods.items()) {
      std::string upper = method;
      for (char& c : upper) c = static_cast<char>(std::toupper(c));
      std::string concrete = path;
      if (const auto at = concrete.find('{'); at != concrete.npos) concrete = concrete.substr(0, at) + "7";
      if (operation.contains("security")) {
        EXPECT_EQ(bench.call(upper, concrete).status, 200) << path;
        continue;
      }
      EXPECT_EQ(bench.call(upper, concrete).status, 401) << path;
      const std::string roles = operation["description"];
      const std::string named = roles.substr(roles.find("Roles: "));
      for (const auto& [role, name] : who) {
        const int status = bench.call(upper, concrete, "", name).status;
        EXPECT_NE(status, 401) << path;
        EXPECT_EQ(status == 403, named.find(role) == named.npos) << path << " " << role;
      }
    }
}

TEST(Api, ErrorsAreProblemDocuments) {
  Bench bench;
  for (const auto& [method, path, body, status] : std::vector<std::tuple<std::string, std::string, std::string, int>>{
           {"POST", "/v1/next", "", 400},
           {"POST", "/v1/next", "{\"annotator\":7}", 400},
           {"POST", "/v1/undo", "{\"annotator\":\"ann\"}", 409},
           {"POST", "/v1/answer", "{\"lease\":\"1-2\",\"label\":\"spam\"}", 404},
           {"GET", "/v1/explain/1", "", 404},
           {"GET", "/v1/guidelines", "", 404},
           {"GET", "/v1/labels?most=0", "", 400},
           {"GET", "/v1/nothing", "", 404},
           {"PUT", "/v1/next", "", 405}}) {
    const Response response = bench.call(method, path, body);
    EXPECT_EQ(response.status, status) << path;
    EXPECT_EQ(response.type, "application/problem+json") << path;
    const Json document = Json::parse(response.body);
    EXPECT_EQ(document["status"], status);
    EXPECT_EQ(document["title"], reason(status));
    EXPECT_FALSE(document["detail"].get<std::string>().empty());
  }
}

TEST(Api, ARefusalAsTheJournalFailedAsksToRetry) {
  Bench bench;
  bench.service->stop();
  const Response response = bench.call("POST", "/v1/next", "{\"annotator\":\"ann\"}");
  EXPECT_EQ(response.status, 503);
  ASSERT_EQ(response.headers.size(), 1U);
  EXPECT_EQ(response.headers[0].first, "Retry-After");
  EXPECT_EQ(bench.call("GET", "/v1/status").status, 200);
}

TEST(Api, ExamplesComeAsJsonOrAsLines) {
  Bench bench;
  const Response one = bench.call("POST", "/v1/examples", R"({"id":"a","text":"free money"})");
  ASSERT_EQ(one.status, 200) << one.body;
  EXPECT_EQ(Json::parse(one.body)["examples"][0]["id"], "a");
  const Response array =
      bench.call("POST", "/v1/examples", "[{\"id\":\"b\",\"text\":\"x\"},\n{\"id\":\"c\",\"text\":\"y\"}]");
  EXPECT_EQ(Json::parse(array.body)["examples"].size(), 2U) << array.body;
  const Response lines =
      bench.call("POST", "/v1/examples", "{\"id\":\"d\",\"text\":\"x\"}\n{\"id\":\"a\",\"text\":\"free money\"}", "",
                 "application/x-ndjson");
  EXPECT_EQ(Json::parse(lines.body)["examples"][1]["known"], true) << lines.body;
  EXPECT_EQ(Json::parse(bench.call("GET", "/v1/status").body)["examples"], 4);
  EXPECT_EQ(bench.call("POST", "/v1/examples", "[{},7]").status, 400);
}

TEST(Api, ARoleReadsNothingMoreThanItsFields) {
  Bench bench({{Role::kAnnotator, "ann"}, {Role::kAnnotator, "bob"}, {Role::kData, "pipeline"}, {Role::kOwner, "eva"}});
  std::string lines;
  for (int n = 0; n < 20; ++n)
    lines +=
        Json{{"id", "m" + std::to_string(n)}, {"task", "t"}, {"text", "private words of m" + std::to_string(n)}}.dump() +
        "\n";
  ASSERT_EQ(bench.call("POST", "/v1/examples", lines, "pipeline", "application/x-ndjson").status, 200);
  const auto asked = [&](const std::string& who) {
    return Json::parse(bench.call("POST", "/v1/next", Json{{"annotator", who}}.dump(), who).body)["question"];
  };
  for (int n = 0; n < 3; ++n) {
    const Json question = asked("bob");
    bench.call("POST", "/v1/answer", Json{{"lease", question["lease"]}, {"label", "spam"}}.dump(), "bob");
  }
  asked("bob");
  const auto keys = [&](const Json& object) {
    std::set<std::string> out;
    for (const auto& [key, value] : object.items()) out.insert(key);
    return out;
  };
  const auto status = [&](const std::string& who) { return Json::parse(bench.call("GET", "/v1/status", "", who).body); };
  const Json ann = status("ann"), data = status("pipeline"), all = status("eva");
  EXPECT_EQ(keys(ann),
            (std::set<std::string>{"name", "labels", "taking_answers", "annotators", "questions", "disagreements"}));
  EXPECT_EQ(keys(ann["labels"]), (std::set<std::string>{"bought", "limit"}));
  EXPECT_TRUE(ann["annotators"].empty()) << "she was asked nothing";
  EXPECT_EQ(status("bob")["annotators"].size(), 1U);
  EXPECT_TRUE(ann["questions"].empty() && ann["disagreements"].empty()) << "those of others";
  std::set<std::string> without = keys(all);
  without.erase("disagreement_count");
  for (const char* of_people : {"annotators", "questions", "disagreements"}) {
    EXPECT_EQ(data[of_people], Json::array()) << of_people;
  }
  EXPECT_EQ(keys(data), without);
  for (const char* path : {"/v1/status", "/v1/labels", "/v1/questions", "/v1/tasks", "/metrics"}) {
    EXPECT_EQ(bench.call("GET", path, "", "pipeline").body.find("bob"), std::string::npos) << path;
  }
  for (const char* path : {"/v1/status", "/v1/labels", "/v1/questions"}) {
    EXPECT_NE(bench.call("GET", path, "", "eva").body.find("bob"), std::string::npos) << path;
  }
}

TEST(Api, AnExampleHasAMostLength) {
  Bench bench;
  const std::string is_long = R"({"text":")" + std::string(5'000'000, 'a') + "\"}", more = "{\"text\":\"free\"}\n" + is_long;
  for (const char* path : {"/v1/examples", "/v1/predict"}) {
    EXPECT_EQ(bench.call("POST", path, is_long, "", "application/json").status, 413) << path;
    const Response reply = bench.call("POST", path, more, "", "application/x-ndjson");
    EXPECT_EQ(reply.status, 413) << path;
    EXPECT_NE(reply.body.find("example 2 has 5000011 bytes"), std::string::npos) << reply.body;
  }
}

TEST(Api, MediaTypesHaveNoCase) {
  Bench bench;
  EXPECT_EQ(bench.call("POST", "/v1/next", R"({"annotator":"ann"})", "", "Application/JSON; charset=utf-8").status, 200);
  EXPECT_EQ(bench.call("POST", "/v1/examples", R"({"text":"free money"})", "", "APPLICATION/X-NDJSON").status, 200);
}

}  // namespace
}  // namespace quorate::server
