#include "quorate/session/kept_labels.h"

#include <gtest/gtest.h>

#include <cmath>

#include "quorate/base/rng.h"

namespace quorate {
namespace {

struct Made {
  std::vector<Index> index{1, 2, 3};
  std::vector<double> value{1, 2, 3};
  Task task;
  Example example() const { return {task, {index, value, 1}, 0}; }
};

KeptLabel answer(double y) {
  KeptLabel out;
  out.y = y;
  return out;
}

TEST(KeptLabels, KeepAllWhileTheyFitAndThenAFairSample) {
  constexpr std::size_t kBytes = 40'000, kLabels = 20'000;
  Memory memory;
  UnpackedInstance memory_of;
  KeptLabels labels(&memory, kBytes);
  std::size_t all = 0;
  for (Task i = 0; i < kLabels; ++i) {
    EXPECT_EQ(labels.next_id(), i);
    labels.add(Made{.task = i}.example(), answer(i % 2 == 0 ? 1 : -1));
    if (labels.share() == 1) all = labels.size();
  }
  EXPECT_GT(all, 50u);
  EXPECT_LE(labels.size() * sizeof(KeptLabels::Item) + labels.size() * 10, kBytes);
  EXPECT_GT(labels.size(), all / 2);
  EXPECT_LT(labels.share(), 0.05);
  // As many of the first half as of the second, and of either answer; four standard deviations.
  std::size_t early = 0, yes = 0;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    EXPECT_EQ(labels[i].id, labels.example(i, memory_of).task);
    EXPECT_EQ(labels.find(labels[i].id), i);
    early += labels[i].id < kLabels / 2;
    yes += labels[i].answer() == kYes;
  }
  const double n = static_cast<double>(labels.size());
  EXPECT_NEAR(static_cast<double>(early), n / 2, 2 * std::sqrt(n));
  EXPECT_NEAR(static_cast<double>(yes), n / 2, 2 * std::sqrt(n));
  EXPECT_EQ(labels.find(kLabels), std::nullopt);
}

TEST(KeptLabels, SavedAndLoadedTheyGoOnAsIfNeverSaved) {
  Memory here(100'000), there(100'000);
  KeptLabels one(&here, 9'000), two(&there, 9'000);
  for (Task i = 0; i < 500; ++i) {
    one.add(Made{.task = i}.example(), answer(0));
    if (i == 300) two.unpack(one.pack());
    if (i > 300) two.add(Made{.task = i}.example(), answer(0));
  }
  ASSERT_EQ(one.size(), two.size());
  EXPECT_EQ(here.bytes(), there.bytes());
  EXPECT_EQ(one.next_id(), two.next_id());
  for (std::size_t i = 0; i < one.size(); ++i) EXPECT_EQ(one[i].id, two[i].id);
}

TEST(KeptLabels, OneThatIsLeftOutForWantOfRoomIsRemembered) {
  Memory memory, there;
  KeptLabels labels(&memory, 4'000), loaded(&there, 4'000);
  labels.add(Made{.task = 0}.example(), answer(1));
  EXPECT_TRUE(labels.all());
  std::vector<Index> index;
  for (Index i = 1; i <= 5'000; ++i) index.push_back(7 * i);
  const std::vector<double> value(index.size(), 1.0);
  labels.add({1, {index, value, 1}, 0}, answer(1));
  EXPECT_EQ(labels.size(), 1u);
  EXPECT_EQ(labels.share(), 1);
  EXPECT_FALSE(labels.all());
  loaded.unpack(labels.pack());
  EXPECT_FALSE(loaded.all());
  KeptLabels::Packed bent = labels.pack();
  bent.next_id = ~std::uint64_t{0};
  EXPECT_THROW(loaded.unpack(bent), DataError);
}

TEST(KeptLabels, HaveTheAnnotatorsThatAreKnown) {
  Memory memory(100'000), there(100'000);
  KeptLabels labels(&memory, 9'000), loaded(&there, 9'000);
  const std::vector<std::string> who{"eve", "", "bob", "eve"};
  for (Task i = 0; i < who.size(); ++i) labels.add(Made{.task = i}.example(), answer(1), who[i]);
  memory.take(memory.left() - 100);  // no room for a long name: the label is kept without it
  labels.add(Made{.task = 4}.example(), answer(1), std::string(1000, 'a'));
  memory.take(memory.left());
  labels.add(Made{.task = 5}.example(), answer(1), "bob");  // who needs none
  labels.erase_if([](const KeptLabel& label) { return label.id == 0; });
  loaded.unpack(labels.pack());
  for (const KeptLabels* at : {&std::as_const(labels), &std::as_const(loaded)}) {
    std::vector<std::string> found;
    for (std::size_t i = 0; i < at->size(); ++i) found.emplace_back(at->annotator((*at)[i]));
    EXPECT_EQ(found, (std::vector<std::string>{"", "bob", "eve", "", "bob"}));
  }
  KeptLabels::Packed unnamed = labels.pack();
  unnamed.annotators = {};
  EXPECT_THROW(loaded.unpack(unnamed), DataError);
  NameTable spoilt;
  for (const char* name : {"\xff", "bob", "eve"}) spoilt.intern(name);
  unnamed.annotators = spoilt.pack();
  EXPECT_THROW(loaded.unpack(unnamed), DataError);
}

TEST(KeptLabels, OneThatIsTooLargeOrHasNoMemoryIsCountedAndNotKept) {
  Memory memory(1'000);
  KeptLabels none(&memory, 0), large(&memory, 900);
  EXPECT_FALSE(none.keeps());
  none.add(Made{.task = 1}.example(), answer(1));
  EXPECT_EQ(none.next_id(), 1u);
  EXPECT_EQ(none.size(), 0u);
  memory.take(500);
  large.add(Made{.task = 1}.example(), answer(1));
  EXPECT_EQ(large.next_id(), 1u);
  EXPECT_EQ(large.size(), 0u);
}

TEST(KeptLabels, RefuseWhatCannotBe) {
  KeptLabels labels(std::pmr::get_default_resource(), 100'000);
  for (Task i = 0; i < 4; ++i) labels.add(Made{.task = i}.example(), answer(1));
  const KeptLabels::Packed good = labels.pack();
  const auto refused = [&](auto spoil) {
    KeptLabels::Packed packed = good;
    spoil(packed);
    KeptLabels loaded(std::pmr::get_default_resource(), 100'000);
    EXPECT_THROW(loaded.unpack(packed), DataError);
  };
  refused([](auto& p) { p.next_id = 3; });
  refused([](auto& p) { p.bound = ~std::uint64_t{0}; });
  refused([](auto& p) { std::get<0>(p.ring.extra) = {0, 2, 1, 3}; });
  refused([](auto& p) { std::get<1>(p.ring.extra) = {1.0, 1.0, 0.5, 1.0}; });
  refused([](auto& p) { std::get<3>(p.ring.extra) = {1.0, 1.0, 1.5, 1.0}; });
}

}  // namespace
}  // namespace quorate
