#include "quorate/weights/feature_spreads.h"

#include <gtest/gtest.h>

#include <vector>

#include "quorate/base/error.h"
#include "quorate/base/memory.h"

namespace quorate {
namespace {

struct Row {
  std::vector<Index> index;
  std::vector<double> value;
  Features x() const { return {index, value}; }
};

TEST(FeatureSpreads, OfColumnsComeFirstWhateverComesWhen) {
  Memory memory;
  FeatureSpreads spreads(&memory);
  FeatureKinds kinds;
  spreads.count(Row{{0, 7, 9}, {1, 2.5, 3}}.x(), 0, 0, kinds, 1);
  kinds.numbers = 2;
  spreads.add_columns(kinds.numbers);
  EXPECT_TRUE(spreads.begin_with(2));
  EXPECT_FALSE(spreads.begin_with(3));
  spreads.count(Row{{0, 2, 7, 9}, {1, 40, 3.5, 3}}.x(), 1, 2, kinds, 2);
  auto of = spreads.in_order();
  EXPECT_EQ(of(1), 0U);
  EXPECT_EQ(of(2), 1U);
  EXPECT_EQ(of(3), FeatureSpreads::kNone);
  const std::size_t seven = of(7);
  EXPECT_EQ(spreads.spreads().times(seven), 2U);
  EXPECT_FALSE(spreads.spreads().constant(seven));
  EXPECT_TRUE(spreads.spreads().constant(of(9)));
}

TEST(FeatureSpreads, OfFeaturesThatAreSeldomGo) {
  Memory memory;
  FeatureSpreads spreads(&memory);
  for (std::uint64_t n = 1; n <= 64; ++n) spreads.count(n < 3 ? Row{{4, 5}, {1, 2}}.x() : Row{{5}, {2}}.x(), 0, 0, {}, n);
  auto of = spreads.in_order();
  EXPECT_EQ(of(4), FeatureSpreads::kNone);
  EXPECT_EQ(spreads.spreads().times(of(5)), 64U);
  spreads.count(Row{{5, 6}, {2, 2}}.x(), 0, 0, {}, 65);
  EXPECT_EQ(spreads.size(), 1U) << "a feature that comes late has none";
}

TEST(FeatureSpreads, TakeAPartOfALimit) {
  Memory memory(1 << 20);
  FeatureSpreads spreads(&memory);
  Row wide;
  for (Index f = 1; f <= 1000; ++f) wide.index.push_back(f), wide.value.push_back(0.5 + f);
  spreads.count(wide.x(), 0, 0, {}, 1);
  EXPECT_EQ(spreads.size(), FeatureSpreads::most(&memory));
  EXPECT_GT(spreads.size(), 0U);
  EXPECT_LT(spreads.size(), 1000U);
}

TEST(FeatureSpreads, SavedAndLoadedGoOnToTheBit) {
  Memory memory;
  FeatureSpreads spreads(&memory);
  FeatureKinds kinds;
  kinds.numbers = 1;
  spreads.add_columns(1);
  const auto row = [](std::uint64_t n) {
    return Row{{1, 3}, {static_cast<double>(n * n % 17), 1 + static_cast<double>(n % 5)}};
  };
  for (std::uint64_t n = 1; n <= 40; ++n) spreads.count(row(n).x(), 0, 1, kinds, n);
  FeatureSpreads loaded(&memory);
  loaded.unpack(spreads.pack(), 40);
  for (std::uint64_t n = 41; n <= 600; ++n) {
    spreads.count(row(n).x(), 0, 1, kinds, n);
    loaded.count(row(n).x(), 0, 1, kinds, n);
  }
  for (std::size_t i = 0; i < 2; ++i)
    for (const double v : {0.0, 1.5, 4.0, 20.0})
      EXPECT_EQ(loaded.spreads().standard(i, v), spreads.spreads().standard(i, v));
  auto bad = spreads.pack();
  bad.end[0] = 1'000'000;
  EXPECT_THROW(loaded.unpack(bad, 600), DataError);
  EXPECT_THROW(loaded.unpack(spreads.pack(), 599), DataError) << "more values than examples";
  EXPECT_EQ(loaded.size(), 2U);
}

}  // namespace
}  // namespace quorate
