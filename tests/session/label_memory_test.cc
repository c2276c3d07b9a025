#include "quorate/session/label_memory.h"

#include <gtest/gtest.h>

namespace quorate {
namespace {

using State = LabelMemory::State;

struct Numbered {
  std::vector<Index> index;
  std::vector<double> value{1};
  Example example() const { return {0, {index, value, 1}, 0}; }
};
Numbered numbered(Index n) { return {{n}}; }

LabelMemory loaded(const LabelMemory& from, Memory& memory, std::size_t bytes) {
  Tensors file;
  from.save(Writer(file));
  LabelMemory out(&memory, bytes);
  Reader reader(file);
  out.load(reader);
  reader.finish();
  return out;
}

/// How many examples without a label are kept.
std::size_t unasked(const LabelMemory& kept) {
  std::size_t all = 0;
  kept.all_of([&](const Example&) { return ++all > 0; });
  return all - kept.labels().size();
}

KeptLabel yes() {
  KeptLabel out;
  out.y = 1;
  return out;
}

TEST(LabelMemory, IsWholeUntilSomethingIsCountedOtherwiseOrLost) {
  Memory memory;
  constexpr std::size_t kBytes = 100'000;
  LabelMemory kept(&memory, kBytes);
  kept.begin_round(1);
  kept.add_unasked(numbered(1).example(), true);
  kept.add(numbered(2).example(), yes(), {}, true, "ann");
  EXPECT_EQ(kept.state(), State::kWhole);
  EXPECT_EQ(loaded(kept, memory, kBytes).state(), State::kWhole);
  LabelMemory counted = kept;
  counted.begin_round(10);
  EXPECT_EQ(counted.state(), State::kCounted);
  EXPECT_EQ(loaded(counted, memory, kBytes).state(), State::kCounted);
  LabelMemory more = kept;
  more.count_more();
  EXPECT_EQ(more.state(), State::kCounted);
  LabelMemory without = kept;
  without.add_unasked(numbered(3).example(), false);  // a learner that does not look at it needs its count alone
  EXPECT_EQ(without.state(), State::kSampled);
  for (Index n = 0; n < 10'000; ++n) kept.add_unasked(numbered(n).example(), true);
  EXPECT_EQ(kept.state(), State::kSampled);
  EXPECT_EQ(loaded(kept, memory, kBytes).state(), State::kSampled);
}

TEST(LabelMemory, AnAnswerBeforeAnythingElseHasThePlaceOfItsExample) {
  Memory memory;
  LabelMemory kept(&memory, 100'000);
  kept.add_asked(numbered(1).example(), 7, true);
  EXPECT_EQ(unasked(kept), 1u);
  kept.add(numbered(1).example(), yes(), 7, false, "");
  EXPECT_EQ(unasked(kept), 0u);
  EXPECT_EQ(kept.labels()[0].apart, 0u);
  kept.add_asked(numbered(2).example(), 8, true);
  kept.add_unasked(numbered(3).example(), true);
  kept.add(numbered(2).example(), yes(), 8, false, "");  // too late for that
  EXPECT_EQ(unasked(kept), 2u);
  EXPECT_EQ(kept.labels()[1].apart, 1u);
  EXPECT_EQ(kept.state(), State::kWhole);
}

TEST(LabelMemory, WhatIsTakenBackStaysAsAnExampleWithoutALabelAndWhatIsForgottenDoesNot) {
  Memory memory;
  LabelMemory kept(&memory, 100'000);
  for (Index n = 0; n < 4; ++n) kept.add(numbered(n).example(), yes(), {}, true, "");
  const std::vector<std::uint64_t> back{1, 2};
  kept.take_back(back, true);
  EXPECT_EQ(kept.labels().size(), 2u);
  EXPECT_EQ(unasked(kept), 2u);
  EXPECT_EQ(kept.state(), State::kWhole);
  const Numbered first = numbered(1), last = numbered(3);
  const std::vector<Example> of_first{first.example()}, of_last{last.example()};
  kept.forget(kept.find({}, of_first));
  EXPECT_EQ(unasked(kept), 1u);
  kept.forget(kept.find({3}, of_last));
  EXPECT_EQ(kept.labels().size(), 1u);
  EXPECT_EQ(unasked(kept), 1u);
  kept.forget_tasks(0, 1);
  EXPECT_EQ(kept.labels().size() + unasked(kept), 0u);
}

TEST(LabelMemory, WithoutRoomLabelsAreNumbered) {
  Memory memory;
  LabelMemory kept(&memory, 0);
  for (int n = 0; n < 3; ++n) kept.add(numbered(1).example(), yes(), {}, true, "");
  EXPECT_FALSE(kept.keeps());
  EXPECT_EQ(loaded(kept, memory, 0).labels().next_id(), 3u);
}

}  // namespace
}  // namespace quorate
