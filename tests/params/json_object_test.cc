#include "quorate/params/json_object.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <limits>
#include <string>

namespace quorate::test {
namespace {

TEST(JsonObject, IsWhatATreeWouldBe) {
  std::string out = "before ";
  JsonObject one(out);
  one.set("id", "a\"b\n\xc3\xa9\xff");
  one.set("margin", -0.1);
  one.set("whole", 2.0);
  one.set("position", std::uint64_t{18446744073709551615U});
  one.set("asked", true);
  one.set("none", std::numeric_limits<double>::quiet_NaN());
  one.set("list", Json{1, "x"});
  one.close();
  EXPECT_EQ(
      out,
      "before {\"id\":\"a\\\"b\\n\xc3\xa9\xef\xbf\xbd\",\"margin\":-0.1,\"whole\":2.0,\"position\":18446744073709551615,"
      R"("asked":true,"none":null,"list":[1,"x"]})");
  std::string empty;
  JsonObject(empty).close();
  EXPECT_EQ(empty, "{}");
}

RC_GTEST_PROP(JsonObject, AnyTextAndNumberIsReadBack, (const std::string& text, double value)) {
  std::string out;
  JsonObject one(out);
  one.set("text", text);
  one.set("value", value);
  one.close();
  const Json read = Json::parse(out);
  Json tree{{"text", text}};
  RC_ASSERT(read["text"] == Json::parse(tree.dump(-1, ' ', false, Json::error_handler_t::replace))["text"]);
  RC_ASSERT(read["value"].is_number_float());
  RC_ASSERT(read["value"].get<double>() == value);
}

}  // namespace
}  // namespace quorate::test
