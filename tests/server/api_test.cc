#include "server/api.h"

#include <gtest/gtest.h>

#include <algorithm>
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

/// An operation of the document, with a path that can be called.
struct Declared {
  std::string method, path;
  Json operation;
};

std::vector<Declared> declared() {
  std::vector<Declared> out;
  const Json document = Json::parse(Api::document());
  for (const auto& [path, methods] : document["paths"].items())
    for (const auto& [method, operation] : methods.items()) {
      Declared one{method, path, operation};
      for (char& c : one.method) c = static_cast<char>(std::toupper(c));
      if (const auto at = path.find('{'); at != path.npos) one.path = path.substr(0, at) + "7";
      out.push_back(std::move(one));
    }
  EXPECT_GT(out.size(), 20U);
  return out;
}

TEST(Api, EveryRouteAllowsTheRolesThatTheDocumentNames) {
  Bench bench({{Role::kAnnotator, "ann"}, {Role::kData, "pipeline"}, {Role::kWorker, "w"}, {Role::kOwner, "eva"}});
  const std::vector<std::pair<std::string, std::string>> who{
      {"annotator", "ann"}, {"data", "pipeline"}, {"worker", "w"}, {"owner", "eva"}};
  for (const auto& [method, path, operation] : declared()) {
    if (operation.contains("security")) {
      EXPECT_EQ(bench.call(method, path).status, 200) << path;
      continue;
    }
    EXPECT_EQ(bench.call(method, path).status, 401) << path;
    const std::string roles = operation["description"];
    const std::string named = roles.substr(roles.find("Roles: "));
    for (const auto& [role, name] : who) {
      const int status = bench.call(method, path, "", name).status;
      EXPECT_NE(status, 401) << path;
      EXPECT_EQ(status == 403, named.find(role) == named.npos) << path << " " << role;
    }
  }
}

/// A value that the schema allows.
Json sample_of(const Json& schema) {
  if (schema.contains("anyOf")) return sample_of(schema["anyOf"][0]);
  if (schema["type"] == "string") return std::string(schema.value("minLength", std::size_t{1}), 'x');
  return schema["type"] == "boolean" ? Json(true) : schema["minimum"];
}

/// Values that it does not allow.
std::vector<Json> wrong_for(const Json& given) {
  const Json& schema = given.contains("anyOf") ? given["anyOf"][0] : given;
  std::vector<Json> out{Json::array(), Json::object()};
  if (schema["type"] == "string") {
    out.insert(out.end(), {7, "", "a\nb", std::string(schema["maxLength"].get<std::size_t>() + 1, 'a')});
  } else if (schema["type"] == "boolean") {
    out.insert(out.end(), {0, "true"});
  } else {
    out.insert(out.end(), {"1", true, schema["minimum"].get<double>() - 1, schema["maximum"].get<double>() * 2 + 1});
    if (schema["type"] == "integer") out.push_back(schema["minimum"].get<double>() + 0.5);
  }
  if (!given.contains("anyOf")) out.push_back(nullptr);
  return out;
}

/// Every route: a body that is none, another type, unknown fields, each field missing and each wrong; unknown queries.
TEST(Api, EveryRouteRefusesWhatItsDocumentDoesNotAllow) {
  Bench bench;
  const auto refused = [&](const Declared& to, const std::string& query, const std::string& body, const std::string& type,
                           int status) {
    const Response response = bench.call(to.method, to.path + query, body, "", type);
    EXPECT_EQ(response.status, status) << to.method << " " << to.path << query << " " << body << "\n" << response.body;
    EXPECT_EQ(response.type, "application/problem+json") << to.path;
    EXPECT_TRUE(to.operation["responses"].contains(std::to_string(status))) << to.path << " " << status;
  };
  constexpr const char* kJson = "application/json";
  for (const Declared& to : declared()) {
    Json whole = Json::object();
    const Json content = to.operation.value("requestBody", Json::object()).value("content", Json::object());
    const bool fields = content.size() == 1 && content.contains(kJson);
    const Json schema = fields ? content[kJson]["schema"] : Json::object();
    if (fields)
      for (const auto& [name, rule] : schema["properties"].items()) whole[name] = sample_of(rule);
    const std::string body = content.empty() ? "" : fields ? whole.dump() : R"({"text":"x"})";
    refused(to, "?colour=red", body, kJson, 400);
    for (const Json& parameter : to.operation.value("parameters", Json::array()))
      if (parameter["in"] == "query" && parameter["schema"]["type"] == "integer")
        for (const char* bad : {"", "x", "-1", "1.5", "99999999999999999999"})
          refused(to, "?" + parameter["name"].get<std::string>() + "=" + bad, body, kJson, 400);
      else if (parameter["in"] == "path" && parameter["schema"]["type"] == "integer")
        refused({to.method, to.path + "x", to.operation}, "", body, kJson, 404);
    if (content.empty()) continue;
    refused(to, "", body, "text/plain", 415);
    for (const char* none : {"", " ", "{", "7"}) refused(to, "", none, kJson, 400);
    if (!fields) continue;
    refused(to, "", "[]", kJson, 400);
    refused(to, "", "{\"" + std::string(20'000, 'a') + "\":1}", kJson, 413);
    Json more = whole;
    more["colour"] = "red";
    refused(to, "", more.dump(), kJson, 400);
    for (const auto& [name, rule] : schema["properties"].items()) {
      Json without = whole;
      without.erase(name);
      if (std::ranges::find(schema["required"], Json(name)) != schema["required"].end())
        refused(to, "", without.dump(), kJson, 400);
      for (const Json& wrong : wrong_for(rule)) {
        without[name] = wrong;
        refused(to, "", without.dump(), kJson, 400);
      }
    }
  }
  EXPECT_EQ(bench.call("GET", "/v1/journal").body, "") << "nothing was done";
}

TEST(Api, WhatAWorkerJudgedIsTakenOnce) {
  Bench bench;
  const std::string type = "application/x-ndjson";
  const std::string head = R"({"source":"a","read":2,"positions":[0,1],"probabilities":[null,1]})"
                           "\n";
  const std::string lines = "{\"id\":\"x\",\"text\":\"a b\"}\n{\"id\":\"y\",\"text\":\"c d\"}\n";
  for (int again = 0; again < 2; ++again) {
    const Response response = bench.call("POST", "/v1/log", head + lines, "", type);
    EXPECT_EQ(response.status, 200) << response.body;
    EXPECT_EQ(Json::parse(response.body)["asked"], again == 0 ? 1 : 0) << response.body;
  }
  const Json status = Json::parse(bench.call("GET", "/v1/status").body);
  EXPECT_EQ(status["examples"], 2);
  EXPECT_EQ(status["open_questions"], 1);
  for (const auto& [body, expected] : std::vector<std::pair<std::string, int>>{
           {head, 400},
           {lines, 400},
           {head + lines.substr(0, 20), 400},
           {R"({"source":"","read":2,"positions":[],"probabilities":[]})", 400},
           {R"({"source":"a","read":-1,"positions":[],"probabilities":[]})", 400},
           {R"({"source":"a","read":1,"positions":[2],"probabilities":[7]})"
            "\n{}\n",
            400},
           {Json{{"source", "a"}, {"read", 1}, {"positions", std::vector<int>(5000)}, {"probabilities", Json::array()}}
                .dump(),
            413}})
    EXPECT_EQ(bench.call("POST", "/v1/log", body, "", type).status, expected) << body.substr(0, 100);
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

TEST(Api, AnyIdCanBeForgotten) {
  Bench bench;
  EXPECT_EQ(bench.call("POST", "/v1/examples", R"({"id":"a\tb","task":"c\u0001d","text":"win money"})").status, 200);
  EXPECT_EQ(bench.call("DELETE", "/v1/examples/a%09b").status, 200);
  EXPECT_EQ(bench.call("DELETE", "/v1/tasks/c%01d").status, 200);
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
