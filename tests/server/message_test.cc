#include "server/message.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <vector>

namespace quorate::server {
namespace {

TEST(Problem, IsADocumentWithWhatWasExpected) {
  const auto response = problem(404, "no task \"a\"\n\xff", "a task");
  EXPECT_EQ(response.status, 404);
  EXPECT_EQ(response.type, "application/problem+json");
  const auto document = nlohmann::json::parse(response.body);
  EXPECT_EQ(document["type"], "about:blank");
  EXPECT_EQ(document["title"], "Not Found");
  EXPECT_EQ(document["status"], 404);
  EXPECT_EQ(document["detail"], "no task \"a\"\n\xef\xbf\xbd") << "invalid UTF-8 is replaced";
  EXPECT_EQ(document["expected"], "a task");
  EXPECT_FALSE(nlohmann::json::parse(problem(404, "x").body).contains("expected"));
}

TEST(Respond, AnswersOnceAndWith500IfDestroyedUncalled) {
  std::vector<int> statuses;
  const auto to = [&](const Response& response) { statuses.push_back(response.status); };
  {
    Respond called(to);
    Respond moved(std::move(called));
    Response response;
    response.status = 202;
    moved(response);
    EXPECT_THROW(moved(response), std::logic_error);
  }
  EXPECT_EQ(statuses, std::vector{202});
  { const Respond uncalled(to); }
  EXPECT_EQ(statuses, (std::vector{202, 500}));
}

TEST(PercentDecoding, RefusesMalformedEscapesAndOtherEncodings) {
  EXPECT_EQ(percent_decoded("a%2Fb%c3%A4+"), "a/b\xc3\xa4+");
  EXPECT_EQ(percent_decoded("a+b", true), "a b");
  EXPECT_EQ(percent_decoded("%00"), std::string(1, '\0'));
  for (const auto* bad : {"%", "%4", "%g0", "a%2", "%ff", "\xff"}) EXPECT_FALSE(percent_decoded(bad)) << bad;
}

TEST(Query, IsDecodedAndNamesOccurOnce) {
  TextMap query;
  EXPECT_EQ(parse_query("from=12&&text=a+b%26c&flag", query), "");
  EXPECT_EQ(query, (TextMap{{"from", "12"}, {"text", "a b&c"}, {"flag", ""}}));
  EXPECT_EQ(parse_query("x=1&from=2", query), "query parameter 'from' occurs twice");
  EXPECT_EQ(parse_query("y=%zz", query), "query parameter 'y=%zz': malformed percent-encoding or not UTF-8");
}

TEST(Headers, AreFoundByLowerCaseNameAndSplitAtCommas) {
  Request request;
  request.headers = {{"accept", "a"}, {"accept", "b"}};
  EXPECT_EQ(request.header("accept"), "a");
  EXPECT_EQ(request.header("authorization"), "");
  EXPECT_EQ(list_elements(" gzip ;q=1 ,, br\t"), (std::vector<std::string_view>{"gzip ;q=1", "br"}));
  EXPECT_EQ(lower_case("Content-TYPE 1"), "content-type 1");
}

}  // namespace
}  // namespace quorate::server
