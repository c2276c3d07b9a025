#include "quorate/model/round_builder.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>

#include "quorate/base/hash.h"
#include "support/allocations.h"
#include "support/dense_matrix.h"
#include "support/make.h"

namespace quorate::test {
namespace {

Model make(const std::string& learner, std::size_t limit) {
  return Model::make(parse_spec(learner), {.memory = ByteSize{limit}, .keep_labels = {0}}, {}, Labels());
}

TEST(RoundBuilder, KeepsAnOpenRoundWithinTheMemoryLimit) {
  constexpr std::size_t kLimit = 8'000'000;
  constexpr Index kWide = 2'000;
  Model model = make("shampo", kLimit);
  const std::size_t before = live_bytes();
  reset_peak_bytes();
  RoundBuilder rounds(model);
  std::vector<Index> index(kWide);
  for (Index f = 0; f < kWide; ++f) index[f] = f;
  const std::vector<double> value(kWide, 0.01);
  for (int n = 0; n < 2000; ++n)  // 12 MB, were they all kept for one round
    rounds.add({model.task("t" + std::to_string(n % 500)), {index, value}}, n % 2 ? kYes : kNo);
  rounds.flush();
  EXPECT_EQ(model.session.total().examples, 2000u);
  EXPECT_GT(rounds.rounds(), 4u) << "a round that fills its part ends early";
  EXPECT_LE(peak_bytes() - before, kLimit) << "learner, round and all";
  EXPECT_LE(model.session.peak_bytes(), kLimit);
}

TEST(RoundBuilder, DecidingManyNarrowExamplesStaysWithinTheMemoryLimit) {
  for (const char* learner : {"shampo", "cohort(query=shared)", "cmtl(query=shared, scale=idf)"}) {
    constexpr std::size_t kLimit = 4'000'000;
    const std::size_t before = live_bytes();
    Model model = make(learner, kLimit);
    reset_peak_bytes();
    RoundBuilder rounds(model);
    const std::vector<Index> index{7};
    const std::vector<double> value{1};
    for (int n = 0; n < 30'000; ++n)
      rounds.add({model.task("t" + std::to_string(n % 10'000)), {index, value}}, n % 2 ? kYes : kNo);
    rounds.flush();
    EXPECT_EQ(model.session.total().examples, 30'000u);
    EXPECT_GT(rounds.rounds(), 6u) << learner << ": a round whose decisions fill its part ends early";
    EXPECT_LT(rounds.rounds(), 600u) << learner << ": and the next one may be as large";
    EXPECT_LE(peak_bytes() - before, kLimit) << learner << ", round, decisions and all";
    EXPECT_LE(model.session.peak_bytes(), kLimit);
  }
}

TEST(RoundBuilder, UnderALimitABuilderForEachRoundDoesWhatOneForAllDoes) {
  Rng rng = make_rng(11, 0);
  for (int run = 0; run < 40; ++run) {
    const std::size_t limit = 40'000 + below(400'000, rng), tasks = 5 + below(60, rng), widest = 1 + below(100, rng);
    const char* learner = std::array{"shampo", "shampo-second-order(diagonal=true)",
                                     "cohort(query=shared)"}[static_cast<std::size_t>(run) % 3];
    const bool all_new = run % 6 == 5;  // more tasks than memory holds
    Model at_once = make(learner, limit), in_parts = make(learner, limit);
    RoundBuilder all(at_once);
    auto part = std::make_unique<RoundBuilder>(in_parts);
    std::uint64_t rounds = 0;
    for (int n = 0; n < 2'000; ++n) {
      std::vector<Index> index;
      for (std::size_t f = 0, size = 1 + below(widest, rng); f < size; ++f) index.push_back(static_cast<Index>(f));
      const std::vector<double> value(index.size(), 0.1);
      const std::string name = "t" + std::to_string(all_new ? static_cast<std::size_t>(n % 1'100) : below(tasks, rng));
      const auto add = [&](Model& model, RoundBuilder& builder) {
        const Task task = model.task(name);
        builder.add({task, {index, value}}, n % 3 ? kYes : kNo, {}, task == kUntracked ? hash64(name) : 0);
      };
      add(at_once, all);
      const std::uint64_t before = part->rounds();
      add(in_parts, *part);
      if (part->rounds() == before) continue;
      rounds += part->rounds();
      const std::size_t open = part->drop();  // of a round that ended as this example came, it is all there is
      ASSERT_LE(open, 1u);
      part = std::make_unique<RoundBuilder>(in_parts);
      if (open > 0) add(in_parts, *part);
    }
    all.flush();
    rounds += part->rounds();
    part->flush();
    ASSERT_EQ(all.rounds(), rounds + 1) << run;
    ASSERT_EQ(at_once.to_bytes(), in_parts.to_bytes()) << run;
  }
}

TEST(RoundBuilder, ATaskThatMemoryHasNoRoomForComesOnceInARound) {
  Model model = make("cohort(query=shared)", 60'000);
  RoundBuilder rounds(model);
  const auto add = [&](int n) {
    const std::string name = "t" + std::to_string(n);
    const Task task = model.task(name);
    const Vector x = sparse({static_cast<Index>(n)}, {1});
    rounds.add({task, x}, kYes, {}, task == kUntracked ? hash64(name) : 0);
    return task;
  };
  for (int n = 0; n < 300; ++n) add(n);
  rounds.flush();
  const std::uint64_t before = rounds.rounds();
  ASSERT_EQ(add(288), kUntracked);
  add(289);
  EXPECT_EQ(rounds.rounds(), before) << "two of those have a round together";
  add(288);
  EXPECT_EQ(rounds.rounds(), before + 1);
  EXPECT_EQ(rounds.drop(), 1u);
  add(288);
  EXPECT_EQ(rounds.drop(), 1u) << "a round that was dropped is forgotten";
}

}  // namespace
}  // namespace quorate::test
