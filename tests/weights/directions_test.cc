#include "quorate/weights/directions.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory_resource>
#include <vector>

#include "quorate/base/memory.h"
#include "quorate/base/rng.h"

namespace quorate {
namespace {

using Matrix = std::vector<std::vector<double>>;

struct Text {
  std::vector<Index> index;
  std::vector<double> value;
  Features x() const { return {index, value}; }
};

/// Texts of ten words from one of eight subjects, each with words of its own, and of two from anywhere; unit length.
std::vector<Text> texts(std::size_t n, std::size_t words, std::uint64_t seed) {
  Rng rng = make_rng(seed, 0);
  std::vector<Text> out;
  for (std::size_t i = 0; i < n; ++i) {
    std::vector<double> row(words + 1, 0.0);
    const std::size_t subject = rng() % 8, part = words / 8;
    for (int k = 0; k < 10; ++k) row[1 + subject * part + rng() % part] += 1;
    for (int k = 0; k < 2; ++k) row[1 + rng() % words] += 1;
    double squares = 0;
    for (const double v : row) squares += v * v;
    Text text;
    for (std::size_t f = 0; f < row.size(); ++f)
      if (row[f] != 0) {
        text.index.push_back(static_cast<Index>(f));
        text.value.push_back(row[f] / std::sqrt(squares));
      }
    out.push_back(text);
  }
  return out;
}

const auto kAsItIs = [](const Features& x, std::span<double> out) {
  std::copy(x.value.begin(), x.value.end(), out.begin());
  return Features{x.index, out.first(x.size())};
};

Directions directions_of(const std::vector<Text>& all, std::size_t rank) {
  Directions out(rank, std::pmr::get_default_resource());
  for (const Text& text : all) {
    out.see(text.x());
    if (out.due()) out.compute(kAsItIs);
  }
  return out;
}

/// Column by column.
void gram_schmidt(Matrix& m, std::size_t rank) {
  for (std::size_t a = 0; a < rank; ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      double along = 0;
      for (const auto& row : m) along += row[a] * row[b];
      for (auto& row : m) row[a] -= along * row[b];
    }
    double squares = 0;
    for (const auto& row : m) squares += row[a] * row[a];
    for (auto& row : m) row[a] /= std::sqrt(squares);
  }
}

double sign_of(std::uint64_t feature, std::uint64_t column) {
  std::uint64_t z = (feature * 1024 + column + 1) * 0x9E3779B97F4A7C15u;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
  z = (z ^ z >> 27) * 0x94D049BB133111EBu;
  return ((z ^ z >> 31) >> 63) == 0 ? 1 : -1;
}

/// The header's formula, in full matrices: V of the first n, from `start`, or from signs.
Matrix literal(const std::vector<Text>& all, std::size_t n, std::size_t words, std::size_t rank, const Matrix* start) {
  Matrix a(n, std::vector<double>(words + 1, 0.0));
  std::vector<int> df(words + 1, 0);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t k = 0; k < all[i].index.size(); ++k) {
      a[i][all[i].index[k]] = all[i].value[k];
      ++df[all[i].index[k]];
    }
  Matrix b(words + 1, std::vector<double>(rank, 0.0)), u(n, std::vector<double>(rank));
  for (std::size_t f = 1; f <= words; ++f)
    for (std::size_t c = 0; c < rank; ++c) {
      if (df[f] < 2)
        for (auto& row : a) row[f] = 0;
      else
        b[f][c] = start != nullptr ? (*start)[f][c] : sign_of(f, c);
    }
  for (int step = start != nullptr ? Directions::kSteps : Directions::kFirstSteps; step > 0; --step) {
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t c = 0; c < rank; ++c) {
        u[i][c] = 0;
        for (std::size_t f = 1; f <= words; ++f) u[i][c] += a[i][f] * b[f][c];
      }
    gram_schmidt(u, rank);
    for (std::size_t f = 1; f <= words; ++f)
      for (std::size_t c = 0; c < rank; ++c) {
        b[f][c] = 0;
        for (std::size_t i = 0; i < n; ++i) b[f][c] += a[i][f] * u[i][c];
      }
  }
  gram_schmidt(b, rank);
  return b;
}

TEST(Directions, AreThoseOfTheLiteralFormulaAtFirstAndWhenDoubled) {
  constexpr std::size_t kWords = 160, kRank = 8;
  const std::vector<Text> all = texts(400, kWords, 1);
  const Matrix first = literal(all, 200, kWords, kRank, nullptr), second = literal(all, 400, kWords, kRank, &first);
  for (const std::size_t n : {200u, 400u}) {
    const Directions directions = directions_of({all.begin(), all.begin() + static_cast<std::ptrdiff_t>(n)}, kRank);
    ASSERT_TRUE(directions.any());
    for (std::size_t i = 0; i < 20; ++i) {
      std::vector<double> z(kRank);
      const double length = directions.place(all[i].x(), z);
      double squares = 0;
      for (std::size_t c = 0; c < kRank; ++c) {
        double expected = 0;
        for (std::size_t k = 0; k < all[i].index.size(); ++k)
          expected += all[i].value[k] * (n == 200 ? first : second)[all[i].index[k]][c];
        EXPECT_NEAR(z[c], expected, 2e-4);
        squares += z[c] * z[c];
      }
      EXPECT_NEAR(length, std::sqrt(squares), 1e-12);
      EXPECT_LE(length, 1 + 1e-5);
    }
  }
}

TEST(Directions, TextsOfOneSubjectAreNearThoughTheyShareNoWord) {
  const std::vector<Text> all = texts(400, 400, 2);
  const Directions directions = directions_of(all, 8);
  const auto near = [&](Index a, Index b) {
    const std::vector<double> one{1.0};
    const std::vector<Index> at_a{a}, at_b{b};
    std::vector<double> za(8), zb(8);
    const double length = directions.place({at_a, one}, za) * directions.place({at_b, one}, zb);
    double sum = 0;
    for (std::size_t c = 0; c < 8; ++c) sum += za[c] * zb[c];
    return sum / length;
  };
  EXPECT_GT(near(3, 40), 0.8);  // the first subject has words 1 to 50
  EXPECT_LT(near(3, 90), 0.4);
}

TEST(Directions, ThereAreNoneOfFewWordsOrExamplesOrUnderAMemoryLimitOrWithoutARank) {
  EXPECT_FALSE(directions_of(texts(199, 400, 3), 8).any());
  EXPECT_FALSE(directions_of(texts(400, 24, 3), 8).any());
  EXPECT_FALSE(directions_of(texts(400, 400, 3), 0).any());
  Memory memory(std::size_t{1} << 26);
  Directions directions(8, &memory);
  for (const Text& text : texts(400, 400, 3)) directions.see(text.x());
  EXPECT_FALSE(directions.due());
  EXPECT_EQ(memory.bytes(), 0u);
}

TEST(Directions, AfterManyExamplesAFairSampleIsKept) {
  Directions directions(4, std::pmr::get_default_resource());
  const std::vector<Text> all = texts(100, 80, 4);
  for (std::size_t i = 0; i < 5 * Directions::kMost; ++i) directions.see(all[i % 100].x());
  const Directions::Packed packed = directions.pack();
  EXPECT_EQ(packed.seen, 5 * Directions::kMost);
  EXPECT_EQ(packed.every, 8u);
  EXPECT_EQ(packed.kept.task.size(), 5 * Directions::kMost / 8);
}

TEST(Directions, TextsThatTakeMoreThanHalfOfAllRoomFollowEachOther) {
  Directions directions(8, std::pmr::get_default_resource());
  const std::vector<double> value(Directions::kMostBytes / InstanceQueue<PlainInstance>::kValueBytes / 2 + 1, 1.0);
  for (int n = 0; n < 70; ++n) directions.see({{}, value});
  EXPECT_FALSE(directions.due());
}

TEST(Directions, SavedAndContinuedEqualsNeverSaved) {
  const std::vector<Text> all = texts(900, 400, 5);
  Directions one = directions_of({all.begin(), all.begin() + 300}, 8), other(8, std::pmr::get_default_resource());
  other.unpack(one.pack());
  for (std::size_t i = 300; i < all.size(); ++i)
    for (Directions* directions : {&one, &other}) {
      directions->see(all[i].x());
      if (directions->due()) directions->compute(kAsItIs);
    }
  EXPECT_TRUE(one.pack().value == other.pack().value);
  EXPECT_EQ(one.pack().used, 800u);
}

TEST(Directions, WhatIsForgottenIsNotInTheFileButWhatItTaughtStaysUntilAllIsForgotten) {
  Directions directions = directions_of(texts(300, 400, 6), 8);
  directions.forget_instances();
  EXPECT_TRUE(directions.pack().kept.value.empty());
  EXPECT_TRUE(directions.any());
  for (const Text& text : texts(150, 400, 7)) directions.see(text.x());
  EXPECT_FALSE(directions.due());  // 450 seen, but too few kept
  directions.forget();
  EXPECT_FALSE(directions.any());
  EXPECT_EQ(directions.pack().seen, 0u);
}

TEST(Directions, ABrokenFileIsRefused) {
  const Directions directions = directions_of(texts(300, 400, 8), 8);
  const auto refuses = [&](auto change) {
    Directions::Packed packed = directions.pack();
    change(packed);
    Directions loaded(8, std::pmr::get_default_resource());
    EXPECT_THROW(loaded.unpack(packed), DataError);
  };
  refuses([](auto& p) { p.every = 3; });
  refuses([](auto& p) { p.next = 100'000; });
  refuses([](auto& p) { p.value = {1.0f}; });
  refuses([](auto& p) {
    std::vector<float> values = p.value.list();
    values[5] = std::nanf("");
    p.value = values;
  });
  refuses([](auto& p) {
    std::vector<std::uint32_t> features = p.feature.list();
    std::swap(features[0], features[1]);
    p.feature = features;
  });
}

}  // namespace
}  // namespace quorate
