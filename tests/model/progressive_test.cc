// Rounds and what is counted of them (model/rounds.h).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "quorate/model/progressive.h"

#include "quorate/model/rounds.h"

namespace quorate::test {
namespace {

using testing::HasSubstr;

TEST(Rounds, AreThoseWantedOrTheOnesThatFitDataAndLearner) {
  const Capabilities yes{.selects = true}, no;
  EXPECT_EQ(resolve_rounds({}, false, no), Rounds::kEach);
  EXPECT_EQ(resolve_rounds({}, false, yes), Rounds::kPerTask);
  EXPECT_EQ(resolve_rounds({}, true, yes), Rounds::kAllTasks);
  EXPECT_EQ(resolve_rounds(Rounds::kEach, false, yes), Rounds::kEach);
  EXPECT_EQ(resolve_rounds(Rounds::kAllTasks, true, no), Rounds::kAllTasks);
  for (const Rounds rounds : {Rounds::kEach, Rounds::kPerTask}) EXPECT_THROW(resolve_rounds(rounds, true, no), UsageError);
  EXPECT_THROW(resolve_rounds(Rounds::kAllTasks, false, no), UsageError);
  EXPECT_NO_THROW(check_labels_per_round(3, "x", yes));
  EXPECT_NO_THROW(check_labels_per_round(1, "x", no));
  EXPECT_THROW(check_labels_per_round(2, "x", no), UsageError);
}

TEST(ProgressiveCount, CountsPredictionsWhoseLabelIsKnown) {
  const Reduction yes_or_no;
  ProgressiveCount count(yes_or_no, 2);
  const std::vector<Example> round{{0, {}}, {1, {}}, {1, {}}, {0, {}}};
  std::vector<Outcome> outcomes(4);
  const double margins[] = {1, -1, 2, 0};
  for (std::size_t n = 0; n < 4; ++n) outcomes[n].decision.margin = margins[n];
  const Label labels[] = {kYes, kYes, {}, kNo};  // right, wrong, unknown, right
  count.add(round, outcomes, [&](std::size_t n) { return labels[n]; });
  EXPECT_EQ(count.total(), 3u);
  EXPECT_EQ(count.mistakes(), 1u);
  EXPECT_EQ(count.of(0).mistakes(), 0u);
  EXPECT_EQ(count.of(1).total(), 1u);
}

TEST(ProgressiveCount, OfClassesCountsTheClassThatAllTasksSay) {
  const Reduction classes(Reduction::Kind::kOneVsOne, {"a", "b", "c"});
  ProgressiveCount count(classes, 3);
  const std::vector<Example> round{{0, {}}, {1, {}}, {2, {}}};
  std::vector<Outcome> outcomes(3);
  outcomes[0].decision.margin = 1, outcomes[1].decision.margin = 1, outcomes[2].decision.margin = 1;  // a, a, b
  count.add(round, outcomes, [](std::size_t) { return Label::of_class(0); });
  count.add(round, outcomes, [](std::size_t) { return Label::of_class(2); });
  count.add(round, outcomes, [](std::size_t) { return Label(); });
  EXPECT_EQ(count.total(), 2u);
  EXPECT_EQ(count.mistakes(), 1u);
  EXPECT_EQ(count.confusion()(2, 0), 1u);
  EXPECT_EQ(count.of(0).total(), 1u) << "a or b? neither, for a c";
  EXPECT_EQ(count.of(1).mistakes(), 1u);
  EXPECT_EQ(classes.reply(Label::of_class(2), {0, {}}).answer(), kNeither);
  EXPECT_EQ(classes.reply({}, {0, {}}), Reply::unknown());
}

TEST(ProgressiveCount, OfUsersCountsTheClassThatTheUsersTasksSay) {
  const Reduction classes(Reduction::Kind::kOneVsRest, {"a", "b", "c"}, true);
  ProgressiveCount count(classes, 2);
  std::vector<Example> round;
  std::vector<Outcome> outcomes(3);
  outcomes[1].decision.margin = 1;  // b
  for (const Task first : {0u, 3u, 3u, kUntracked}) {
    round.clear();
    classes.add_examples(first, {}, round);
    count.add(round, outcomes, [first](std::size_t) { return Label::of_class(first == 3 ? 1 : 2); });
  }
  EXPECT_EQ(count.total(), 4u);
  EXPECT_EQ(count.mistakes(), 2u);
  EXPECT_EQ(count.of_user(0)(2, 1), 1u);
  EXPECT_EQ(count.of_user(1)(1, 1), 2u);
  EXPECT_EQ(count.of_user(1).total(), 2u) << "an untracked user is counted with nobody";
  EXPECT_EQ(classes.reply(Label::of_class(1), round[1]).answer(), kYes);
  EXPECT_EQ(classes.reply(Label::of_class(1), round[2]).answer(), kNo);
}

}  // namespace
}  // namespace quorate::test
