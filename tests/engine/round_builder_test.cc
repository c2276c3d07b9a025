#include "quorate/engine/round_builder.h"

#include <gtest/gtest.h>

#include "support/allocations.h"
#include "support/dense_matrix.h"
#include "support/make.h"

namespace quorate::test {
namespace {

TEST(RoundBuilder, KeepsAnOpenRoundWithinTheMemoryLimit) {
  constexpr std::size_t kLimit = 8'000'000;
  constexpr Index kWide = 2'000;
  Session session(parse_spec("shampo"), {.seed = 1, .memory_limit = kLimit});
  const std::size_t before = live_bytes();
  reset_peak_bytes();
  RoundBuilder rounds(session, nullptr, Rounds::kPerTask);
  std::vector<Index> index(kWide);
  for (Index f = 0; f < kWide; ++f) index[f] = f;
  const std::vector<double> value(kWide, 0.01);
  for (int n = 0; n < 2000; ++n)  // 12 MB, were they all kept for one round
    rounds.add(session.task("t" + std::to_string(n % 500)), n % 2 ? kYes : kNo, std::nullopt, {index, value});
  rounds.flush();
  EXPECT_EQ(session.total().examples, 2000u);
  EXPECT_GT(rounds.rounds(), 4u) << "a round that fills its part ends early";
  EXPECT_LE(peak_bytes() - before, kLimit) << "learner, round and all";
  EXPECT_LE(session.peak_bytes(), kLimit);
}

TEST(RoundBuilder, DecidingManyNarrowExamplesStaysWithinTheMemoryLimit) {
  constexpr std::size_t kLimit = 4'000'000;
  Session session(parse_spec("shampo"), {.seed = 1, .memory_limit = kLimit});
  const std::size_t before = live_bytes();
  reset_peak_bytes();
  RoundBuilder rounds(session, nullptr, Rounds::kPerTask);
  const std::vector<Index> index{7};
  const std::vector<double> value{1};
  for (int n = 0; n < 30'000; ++n)
    rounds.add(session.task("t" + std::to_string(n % 10'000)), n % 2 ? kYes : kNo, std::nullopt, {index, value});
  rounds.flush();
  EXPECT_EQ(session.total().examples, 30'000u);
  EXPECT_GT(rounds.rounds(), 6u) << "a round whose decisions fill its part ends early";
  EXPECT_LE(peak_bytes() - before, kLimit) << "learner, round, decisions and all";
  EXPECT_LE(session.peak_bytes(), kLimit);
}

}  // namespace
}  // namespace quorate::test
