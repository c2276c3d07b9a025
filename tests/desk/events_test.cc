// Events as the journal stores them.
#include "quorate/desk/events.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "quorate/desk/replies.h"

namespace quorate {
namespace {

using testing::HasSubstr;

/// The error of a record that is no event.
std::string error_of_record(const std::string& record) {
  try {
    read_event(record);
  } catch (const Refused& e) {
    EXPECT_EQ(e.verdict, Verdict::kMalformed);
    return e.detail;
  }
  return "";
}

const std::pair<event::Any, const char*> kRecords[] = {
    {event::Examples{{}, "{\"x\": 1}\n"}, "{\"at\":7.5,\"do\":\"examples\"}\n{\"x\": 1}\n"},
    {event::Examples{256, "{}"}, "{\"at\":7.5,\"do\":\"examples\",\"first\":256}\n{}"},
    {event::Next{"ann"}, R"({"at":7.5,"do":"next","annotator":"ann"})"},
    {event::Next{"ann", 3}, R"({"at":7.5,"do":"next","annotator":"ann","hold":3})"},
    {event::Answer{"l", "spam", 2.0, "ann"},
     R"({"at":7.5,"do":"answer","lease":"l","label":"spam","seconds":2,"annotator":"ann"})"},
    {event::Skip{"l\""}, R"({"at":7.5,"do":"skip","lease":"l\""})"},
    {event::Undo{"ann"}, R"({"at":7.5,"do":"undo","annotator":"ann"})"},
    {event::Renew{"l"}, R"({"at":7.5,"do":"renew","lease":"l"})"},
    {event::Put{4, "ann", {}, "tool 5", {}, "bo"},
     R"({"at":7.5,"do":"put","ticket":4,"annotator":"ann","label":null,"source":"tool 5","holder":"bo"})"},
    {event::Decide{4, "ham"}, R"({"at":7.5,"do":"decide","ticket":4,"label":"ham"})"},
    {event::Limits{{}, false}, R"({"at":7.5,"do":"limits","labels":null,"audits":false})"},
    {event::Limits{7}, R"({"at":7.5,"do":"limits","labels":7})"},
    {event::Settings{}, R"({"at":7.5,"do":"settings","desk":{}})"},
    {event::Tick{}, R"({"at":7.5,"do":"tick"})"},
    {event::ForgetTask{"t"}, R"({"at":7.5,"do":"forget_task","task":"t"})"},
    {event::ForgetExample{"#1"}, R"({"at":7.5,"do":"forget_example","example":"#1"})"}};

TEST(Events, AreWrittenAndReadBack) {
  for (const auto& [what, record] : kRecords) {
    EXPECT_EQ(to_record({7.5, what}), record);
    const Event again = read_event(record);
    EXPECT_EQ(again.what.index(), what.index()) << record;
    EXPECT_EQ(to_record(again), record);
    const std::string with_was = with_result(record, R"({"lease":"x"})");
    EXPECT_THAT(with_was, HasSubstr(R"(,"was":{"lease":"x"}})"));
    EXPECT_EQ(to_record(read_event(with_was)), record);
  }
}

/// Every field of every event: missing, or of another type.
TEST(Events, FieldsHaveTheirTypes) {
  for (const auto& [what, record] : kRecords) {
    const std::string text = record;
    const Json whole = Json::parse(text.substr(0, text.find('\n')));
    const auto rules = std::visit([](const auto& one) { return rules_of<std::remove_cvref_t<decltype(one)>>(); }, what);
    for (const FieldRule& rule : rules) {
      const std::string name(rule.name);
      Json without = whole;
      without.erase(name);
      EXPECT_EQ(error_of_record(without.dump()), rule.required ? name + ": expected " + rule.expected() : "") << record;
      for (const Json& wrong : {Json(Json::array()), Json(-1), Json("")}) {
        if (rule.accepts(wrong)) continue;
        Json bad = whole;
        bad[name] = wrong;
        EXPECT_EQ(error_of_record(bad.dump()), name + ": expected " + rule.expected()) << record;
      }
    }
  }
  for (const char* bad : {"", "3", "{", R"({"do":"tick"})", R"({"at":"1","do":"tick"})"})
    EXPECT_NE(error_of_record(bad), "") << bad;
  EXPECT_THAT(error_of_record(R"({"at":1,"do":"dance"})"), HasSubstr("unknown event 'dance'"));
}

TEST(Events, LimitsOfTextsAndNumbers) {
  const auto rule = [](const std::vector<FieldRule>& rules, std::string_view name) {
    return *std::ranges::find(rules, name, &FieldRule::name);
  };
  const FieldRule hold = rule(rules_of<event::Next>(), "hold"), lease = rule(rules_of<event::Skip>(), "lease");
  EXPECT_EQ(hold.expected(), "a whole number from 1 to 1000");
  EXPECT_TRUE(hold.accepts_within(3.0));
  EXPECT_FALSE(hold.accepts_within(0));
  EXPECT_FALSE(hold.accepts_within(3.5));
  EXPECT_EQ(lease.expected(), "a text of 1 to 200 bytes without control characters");
  EXPECT_TRUE(lease.accepts_within(std::string(200, 'x')));
  EXPECT_FALSE(lease.accepts_within(std::string(201, 'x')));
  EXPECT_FALSE(lease.accepts_within("a\tb"));
  EXPECT_TRUE(lease.accepts("a\tb")) << "an old journal may have one";
}

TEST(Events, TextsAreUtf8) { EXPECT_THROW(to_record({1, event::ForgetTask{"\xff"}}), Refused); }

}  // namespace
}  // namespace quorate
