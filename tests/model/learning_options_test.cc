#include "quorate/model/learning_options.h"

#include <gtest/gtest.h>

namespace quorate::test {
namespace {

TEST(LearningOptions, AreThoseOfASession) {
  LearningOptions options;
  options.labels = {"500", "50/1000"};
  options.labels_per_task = 7;
  options.memory = ByteSize{1000};
  options.audit = 0.1;
  options.pace = PaceRule::kEven;
  options.length = 2000;
  const SessionOptions session = options.session();
  EXPECT_EQ(session.limits.total, 500u);
  EXPECT_EQ(session.limits.per_task, 7u);
  EXPECT_EQ(to_text(session.limits.rate.value()), "50/1000");
  EXPECT_EQ(session.memory_limit, 1000u);
  EXPECT_EQ(session.audit, 0.1);
  EXPECT_EQ(session.spread_over, 2000u);
}

TEST(LearningOptions, DefaultsAreThoseOfASession) {
  const SessionOptions ours = LearningOptions().session(), session;
  EXPECT_EQ(ours.seed, session.seed);
  EXPECT_EQ(ours.labels_per_round, session.labels_per_round);
  EXPECT_EQ(ours.max_pending, session.max_pending);
  EXPECT_EQ(ours.memory_limit, session.memory_limit);
  EXPECT_EQ(ours.limits.total, session.limits.total);
}

TEST(LearningOptions, WrongOnesAreRefusedByName) {
  const auto refusal = [](const char* name, const char* text) {
    LearningOptions options;
    try {
      const auto read = [&](const auto& field) {
        if (field.name == name) read_value(options.*(field.member), Spec{text, {}}, field.name, field.range);
      };
      std::apply([&](const auto&... field) { (read(field), ...); }, LearningOptions::fields());
      options.session();
    } catch (const UsageError& e) {
      return std::string(e.what());
    }
    return std::string("accepted");
  };
  EXPECT_EQ(refusal("rounds", "all"), "rounds=all: expected one of each, per-task, all-tasks (did you mean all-tasks?)");
  EXPECT_NE(refusal("memory", "8XB").find("memory=8XB: expected a number of bytes"), std::string::npos);
  EXPECT_NE(refusal("audit", "1").find("audit=1: expected a number"), std::string::npos);
  EXPECT_NE(refusal("labels", "x").find("x"), std::string::npos);
  EXPECT_NE(refusal("pace", "even").find("expected both or neither"), std::string::npos);
  EXPECT_EQ(refusal("rounds", "each"), "accepted");
}

TEST(LearningOptions, AShareOfTheExamplesIsNoLimitOfASession) {
  LearningOptions options;
  options.labels = {"10%", "50/1000"};
  EXPECT_EQ(options.labels_share(), 0.1);
  EXPECT_EQ(options.limits(true).total, LabelLimits::kNone);
  EXPECT_TRUE(options.limits(true).rate);
  EXPECT_THROW(options.limits(), UsageError);
  EXPECT_THROW(options.session(), UsageError);
  options.labels = {"10%", "5%"};
  EXPECT_THROW(options.labels_share(), UsageError);
}

}  // namespace
}  // namespace quorate::test
