#include "quorate/weights/part_weights.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "quorate/base/error.h"

namespace quorate {
namespace {

double squared_length(const PartWeights& parts) { return parts.columns() * parts.columns() + parts.words() * parts.words(); }

TEST(PartWeights, BeginEvenAndLeanTowardsThePartThatIsRight) {
  PartWeights columns, words;
  EXPECT_DOUBLE_EQ(columns.columns(), columns.words());
  for (int n = 0; n < 100; ++n) {
    columns.learn(1, 1, -1);
    words.learn(-1, 1, -1);
  }
  EXPECT_GT(columns.columns(), 0.95);
  EXPECT_GT(words.words(), 0.95);
  EXPECT_NEAR(columns.columns(), words.words(), 1e-12) << "the grid is symmetric";
  EXPECT_LE(squared_length(columns), 1 + 1e-12);
  EXPECT_GT(columns.words(), 0) << "no part is given up";
  columns.forget();
  EXPECT_EQ(columns.columns(), PartWeights().columns());
}

TEST(PartWeights, AreTheMeanOfTheRatiosByTheirMistakes) {
  PartWeights parts;
  parts.learn(1, 1, -1.5);  // right for ratios above 2.25 alone
  EXPECT_EQ(parts.pack(), (std::vector<std::uint64_t>{1, 1, 1, 1, 0, 0, 0}));
  double columns = 0, sum = 0;
  for (int i = 0; i < 7; ++i) {
    const double ratio = std::pow(4.0, i - 3), weight = std::exp(i < 4 ? -0.3 : 0.0);
    columns += weight * std::sqrt(ratio / (1 + ratio));
    sum += weight;
  }
  EXPECT_NEAR(parts.columns(), columns / sum, 1e-12);
}

TEST(PartWeights, SavedAndLoadedAreTheSame) {
  PartWeights parts, loaded;
  for (int n = 0; n < 5; ++n) parts.learn(n % 2 == 0 ? 1 : -1, 0.3 * n, -0.5);
  loaded.unpack(parts.pack());
  EXPECT_EQ(loaded.columns(), parts.columns());
  EXPECT_EQ(loaded.words(), parts.words());
  EXPECT_THROW(loaded.unpack({1, 2}), DataError);
  EXPECT_EQ(loaded.pack(), parts.pack());
}

}  // namespace
}  // namespace quorate
