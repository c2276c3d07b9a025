// What every learner that chooses among a round's examples promises.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "quorate/learner.h"
#include "quorate/model/model.h"
#include "support/allocations.h"
#include "support/rounds.h"
#include "support/settings.h"

namespace quorate::test {
namespace {

constexpr Task kTasks = 6;

using SharedRounds = EveryLearner;

std::vector<Setting> all_sharing() {
  std::vector<Setting> out = all_settings();
  std::erase_if(out, [](const Setting& s) { return !s.shares(); });
  return out;
}

std::unique_ptr<Model> new_model(const Spec& spec, std::uint64_t m, std::uint64_t seed = 3,
                                 std::uint64_t labels = LabelLimits::kNone) {
  const NameTable names = task_names(kTasks);
  LearningOptions learning{.keep_labels = {0}, .labels_per_round = m, .seed = seed};
  if (labels != LabelLimits::kNone) learning.labels = {std::to_string(labels)};
  return std::make_unique<Model>(Model::make(spec, learning, {}, Labels{}, {}, &names));
}

/// Round r, of which some answers are 0 or not known.
std::vector<Outcome> play_hard_round(Session& session, const Stream& s, std::size_t r) {
  std::vector<Example> round;
  for (std::size_t n = r * kTasks; n < (r + 1) * kTasks; ++n) round.push_back(s.example(n));
  std::vector<Outcome> out(kTasks);
  run_round(
      session, round,
      [&](std::size_t n) -> std::optional<int> {
        const std::size_t place = r * kTasks + n;
        if (place % 11 == 0) return std::nullopt;
        return place % 7 == 0 ? 0 : s.y[place];
      },
      out);
  return out;
}

std::size_t asked(const std::vector<Outcome>& steps) {
  return static_cast<std::size_t>(std::count_if(steps.begin(), steps.end(), [](const Outcome& s) { return s.asked; }));
}

TEST_P(SharedRounds, ExactlySoManyLabelsAreBoughtInEachWhileTheBudgetLasts) {
  const Stream s = make_rounds(40, kTasks, 5, 61);
  const NameTable names = task_names(kTasks);
  for (const std::uint64_t m : {1u, 2u, 5u, 6u, 9u}) {
    Session session(spec(), {.seed = 3, .limits = {.total = 50}, .tasks = &names, .labels_per_round = m});
    const std::uint64_t each = session.capabilities().selects ? std::min<std::uint64_t>(m, kTasks) : kTasks;
    EXPECT_EQ(session.labels_per_round(), m);
    for (std::size_t r = 0; r < 40; ++r) {
      const std::uint64_t left = 50 - session.budget().bought();
      const auto steps = play_round(session, s, kTasks, r);
      ASSERT_EQ(asked(steps), std::min(each, left)) << "round " << r << ", " << m << " a round";
      for (const Outcome& outcome : steps) {
        EXPECT_TRUE(outcome.decision.probability >= 0 && outcome.decision.probability <= 1);
        EXPECT_LE(outcome.asked, outcome.decision.ask);
        if (outcome.decision.ask) {
          EXPECT_GT(outcome.decision.probability, 0);
        }
      }
    }
    EXPECT_EQ(session.budget().bought(), std::min<std::uint64_t>(50, 40 * each));
    EXPECT_EQ(session.total().labels, session.budget().bought());
  }
}

TEST_P(SharedRounds, ARoundOfFewTasksBuysNoMoreThanItHas) {
  // Tasks leave and come back; the same task may come twice.
  const NameTable names = task_names(kTasks);
  Session session(spec(), {.seed = 3, .tasks = &names, .labels_per_round = 2});
  const Stream s = make_stream(300, kTasks, 5, 62);
  Rng rng = make_rng(62, 0);
  for (std::size_t n = 0; n < s.size();) {
    const std::size_t K = std::min<std::size_t>(below(5, rng), s.size() - n);
    std::vector<Example> round;
    for (std::size_t k = 0; k < K; ++k) round.push_back(s.example(n + k));
    std::vector<Outcome> steps(K);
    run_round(
        session, round, [&](std::size_t k) { return s.y[n + k]; }, steps);
    ASSERT_EQ(asked(steps), session.capabilities().selects ? std::min<std::size_t>(K, 2) : K);
    n += K;
  }
}

TEST_P(SharedRounds, SaveAndContinueEqualsNeverSaved) {
  for (const bool holes : {false, true})
    for (const std::uint64_t m : {1u, 3u}) {
      const Stream s = make_rounds(90, kTasks, 7, 63, holes);
      const auto never = new_model(spec(), m, 3, 150);
      auto often = new_model(spec(), m, 3, 150);
      for (std::size_t r = 0; r < 90; ++r) {
        if (r % 7 == 0) often = std::make_unique<Model>(Model::from_bytes(often->to_bytes()));
        ASSERT_EQ(play_hard_round(never->session, s, r), play_hard_round(often->session, s, r)) << "round " << r;
      }
      EXPECT_GT(never->session.total().updates, 0u);
      EXPECT_EQ(never->to_bytes(), often->to_bytes());
      EXPECT_EQ(often->session.labels_per_round(), m);
    }
}

TEST_P(SharedRounds, ASeedDecidesEverythingAndOnlyAChoiceAtRandomNeedsOne) {
  const Stream s = make_rounds(60, kTasks, 5, 64);
  const auto a = new_model(spec(), 2, 3), b = new_model(spec(), 2, 3), c = new_model(spec(), 2, 4);
  const auto steps = play(a->session, s, kTasks);
  EXPECT_EQ(play(b->session, s, kTasks), steps);
  EXPECT_EQ(a->to_bytes(), b->to_bytes());
  const std::string text = to_text(canonical(spec()));
  const bool draws = text.find("choose=smallest") == text.npos && text.find("choose=all") == text.npos;
  const auto other = play(c->session, s, kTasks);
  EXPECT_EQ(other != steps, draws);
}

TEST_P(SharedRounds, ChoosesUnlessItWatchesAll) {
  const auto model = new_model(spec(), 1);
  EXPECT_EQ(model->session.capabilities().selects, to_text(canonical(spec())).find("choose=all") == std::string::npos);
}

TEST_P(SharedRounds, TheSteadyStateAllocatesNothing) {
  const Stream s = make_rounds(40, kTasks, 7, 65);
  const NameTable names = task_names(kTasks);
  Session session(spec(), {.seed = 3, .tasks = &names, .labels_per_round = 2});
  std::vector<Example> round(kTasks);
  std::vector<Outcome> steps(kTasks);
  std::size_t r = 0;
  const auto oracle = [&](std::size_t n) { return n % 5 == 4 ? 0 : s.y[r * kTasks + n]; };
  const auto pass = [&] {
    for (r = 0; r < 40; ++r) {
      for (std::size_t n = 0; n < kTasks; ++n) round[n] = s.example(r * kTasks + n);
      run_round(session, round, oracle, steps);
    }
  };
  for (int warm = 0; warm < 30; ++warm) pass();  // matrices are looked at for drift only now and then
  const std::uint64_t before = allocations(), updates = session.total().updates;
  const std::size_t bytes = session.model_bytes(), peak = session.peak_bytes();
  for (int more = 0; more < 3; ++more) pass();
  EXPECT_EQ(allocations(), before);
  EXPECT_EQ(session.model_bytes(), bytes);
  EXPECT_EQ(session.peak_bytes(), peak);
  RecordProperty("updates", static_cast<int>(session.total().updates - updates));
}

INSTANTIATE_TEST_SUITE_P(All, SharedRounds, testing::ValuesIn(all_sharing()), setting_name);

}  // namespace
}  // namespace quorate::test
