// The fields of a request, and the document of the operations.
#include "server/openapi.h"

#include <gtest/gtest.h>

namespace quorate::server {
namespace {

struct Turn {
  std::uint64_t ticket = 0;
  std::optional<std::uint64_t> most = {};
  std::string name;
  Nullable<double> angle = {};
  static constexpr auto fields() {
    return std::tuple{EventField{&Turn::ticket, "ticket", {0, 9}, "which", In::kPath},
                      EventField{&Turn::most, "most", {1, 5}, "how many", In::kQuery},
                      EventField{&Turn::name, "name", {1, 3}, "whose"},
                      EventField{&Turn::angle, "angle", {0, 90}, "degrees"}};
  }
};

const Operation kTurn{"PUT", "/turn/{ticket}", "turn", bit(Role::kData), "Turns.", "", rules_of<Turn>(), "Saved", {409}};

Request turn(const std::string& ticket, const std::string& most, const std::string& body) {
  Request out;
  out.parameters["ticket"] = ticket;
  if (!most.empty()) out.query["most"] = most;
  out.headers.emplace_back("content-type", "application/json");
  out.body = body;
  return out;
}

std::string refusal_of(const Request& request) {
  try {
    fields_of(kTurn, request);
  } catch (const BadRequest& e) {
    return std::to_string(e.status) + ": " + e.detail + "; " + e.expected;
  }
  return "";
}

TEST(OpenApi, FieldsComeFromPathQueryAndBody) {
  const auto made = event_of<Turn>(fields_of(kTurn, turn("7", "3", R"({"name": "ann", "angle": 30})")));
  EXPECT_EQ(made.ticket, 7U);
  EXPECT_EQ(made.most, 3U);
  EXPECT_EQ(made.name, "ann");
  EXPECT_EQ(made.angle, 30.0);
  const auto less = event_of<Turn>(fields_of(kTurn, turn("7", "", R"({"name": "ann", "angle": null})")));
  EXPECT_FALSE(less.most || less.angle);
}

TEST(OpenApi, ARefusalNamesTheFieldItsValueAndWhatIsExpected) {
  const std::string body = R"({"name": "ann", "angle": null})";
  EXPECT_EQ(refusal_of(turn("x", "", body)), "404: there is no ticket 'x'; a whole number from 0 to 9");
  EXPECT_EQ(refusal_of(turn("1", "6", body)), "400: query parameter 'most' is '6'; a whole number from 1 to 5");
  EXPECT_EQ(refusal_of(turn("1", "", R"({"name": "anna", "angle": null})")),
            "400: field 'name' is \"anna\"; a text of 1 to 3 bytes without control characters");
  EXPECT_EQ(refusal_of(turn("1", "", R"({"name": "ann", "angle": 91})")),
            "400: field 'angle' is 91; a number from 0 to 90, or null");
  EXPECT_EQ(refusal_of(turn("1", "", R"({"name": "ann"})")), "400: no field 'angle'; a JSON object with name, angle");
  EXPECT_EQ(refusal_of(turn("1", "", R"({"ticket": 1})")), "400: unknown field 'ticket'; a JSON object with name, angle");
}

TEST(OpenApi, TheDocumentHasEveryFieldRoleAndRefusal) {
  const Operation* const all[] = {&kTurn};
  const Json put = openapi(all)["paths"]["/turn/{ticket}"]["put"];
  EXPECT_EQ(put["description"], "Roles: data.");
  EXPECT_EQ(put["parameters"][0]["in"], "path");
  EXPECT_EQ(put["parameters"][1]["required"], false);
  const Json schema = put["requestBody"]["content"]["application/json"]["schema"];
  EXPECT_EQ(schema["required"], (Json{"name", "angle"}));
  EXPECT_EQ(schema["properties"]["angle"]["anyOf"][1]["type"], "null");
  EXPECT_EQ(schema["properties"]["name"]["maxLength"], 3);
  std::string statuses;
  for (const auto& [status, response] : put["responses"].items()) statuses += status + " ";
  EXPECT_EQ(statuses, "200 400 401 403 409 413 415 ");
}

}  // namespace
}  // namespace quorate::server
