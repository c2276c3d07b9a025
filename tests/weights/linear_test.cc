#include "quorate/weights/linear.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <map>

#include "quorate/base/memory.h"
#include "support/make.h"

namespace quorate::test {
namespace {

Vector random_vector(Rng& rng, Index limit) {
  if (below(2, rng) == 0) {
    std::vector<double> value(1 + below(limit, rng));
    for (double& v : value) v = 2 * uniform(rng) - 1;
    return dense(value);
  }
  Vector out;
  for (Index f = 0; f < limit; ++f)
    if (uniform(rng) < 0.4) {
      out.index.push_back(f);
      out.value.push_back(2 * uniform(rng) - 1);
    }
  return out;
}

RC_GTEST_PROP(Linear, IsAMapFromBlockAndFeatureToAFloat, ()) {
  Rng rng = make_rng(*rc::gen::arbitrary<std::uint64_t>(), 0);
  Memory memory;
  Linear w(&memory);
  std::map<std::pair<std::uint32_t, Index>, float> oracle;
  for (int n = 0; n < 60; ++n) {
    const auto block = static_cast<std::uint32_t>(below(6, rng));
    Vector x = random_vector(rng, 12);
    const double margin = w(block, x);
    RC_ASSERT(same_bits(margin, dot(x, [&](Index f) {
                          const auto found = oracle.find({block, f});
                          return found == oracle.end() ? 0.0 : static_cast<double>(found->second);
                        })));
    const double a = 2 * uniform(rng) - 1;
    w.add(block, a, x);
    for (std::size_t k = 0; k < x.value.size(); ++k) {
      float& v = oracle[{block, x.view().at(k)}];
      v = static_cast<float>(static_cast<double>(v) + a * x.value[k]);
    }
  }
  const Linear::Packed packed = w.pack();
  std::erase_if(oracle, [](const auto& entry) { return entry.second == 0; });
  RC_ASSERT(packed.value.size() == oracle.size());
  std::size_t i = 0;
  for (const auto& [place, v] : oracle) {  // ascending, as a map is
    RC_ASSERT(packed.block[i] == place.first);
    RC_ASSERT(packed.feature[i] == place.second);
    RC_ASSERT(same_bits(packed.value[i], v));
    ++i;
  }
}

RC_GTEST_PROP(Linear, WhereTheWeightsLieNeverShows, ()) {
  // The same operations, once alone and once in a model that far features and a far block have driven into tables.
  Rng rng = make_rng(*rc::gen::arbitrary<std::uint64_t>(), 0);
  Memory memory;
  Linear small(&memory), large(&memory);
  const auto jump = below(40, rng);
  for (std::uint64_t n = 0; n < 60; ++n) {
    if (n == jump) {
      large.add(5'000'000, 1, sparse({kMaxIndex + 1}, {1}));
      for (std::uint32_t block = 0; block < 6; ++block) large.add(block, 1, sparse({1'000'000}, {1}));
    }
    const auto block = static_cast<std::uint32_t>(below(6, rng));
    const Vector x = random_vector(rng, 12);
    RC_ASSERT(same_bits(small(block, x), large(block, x)));
    const double a = 2 * uniform(rng) - 1;
    small.add(block, a, x);
    large.add(block, a, x);
  }
  RC_ASSERT(small(9, dense({1, 1})) == 0.0);
  RC_ASSERT(large(5'000'000, sparse({kMaxIndex + 1}, {2})) == 2.0);
}

RC_GTEST_PROP(Linear, GatherIsEveryWeightOfAPartOfTheInstance, ()) {
  Rng rng = make_rng(*rc::gen::arbitrary<std::uint64_t>(), 0);
  const bool far = *rc::gen::arbitrary<bool>();  // a table, or a row
  Memory memory;
  Linear w(&memory);
  for (int n = 0; n < 20; ++n)
    w.add(static_cast<std::uint32_t>(below(3, rng)), 2 * uniform(rng) - 1, random_vector(rng, 12));
  if (far)
    for (std::uint32_t block = 0; block < 3; ++block) w.add(block, 1, sparse({1'000'000}, {1}));
  for (const std::uint32_t block : {0u, 1u, 2u, 9u}) {  // the last was never added to
    const Vector x = random_vector(rng, 20);
    const auto begin = static_cast<std::size_t>(below(x.value.size() + 1, rng));
    std::vector<double> out(below(x.value.size() - begin + 1, rng), 77.0);  // what it held does not matter
    w.gather(block, x, begin, out);
    for (std::size_t k = 0; k < out.size(); ++k) RC_ASSERT(out[k] == w(block, sparse({x.view().at(begin + k)}, {1})));
  }
}

TEST(Linear, UntouchedWeightsAreZeroAndFree) {
  Memory memory;
  const Linear w(&memory);
  EXPECT_EQ(w(0xFFFFFFF0u, sparse({kMaxIndex}, {1})), 0);
  EXPECT_EQ(w(0, dense({})), 0);
  EXPECT_EQ(memory.bytes(), 0u);
}

TEST(Linear, MemoryFollowsTheWeightsNotTheirNumbersWhereItIsLimited) {
  Rng rng = make_rng(1, 0);
  constexpr std::size_t kMuch = std::size_t{1} << 40;
  Memory many_blocks(kMuch), many_features(kMuch), dense_rows(kMuch), few_features(kMuch);
  Linear a(&many_blocks), b(&many_features), c(&dense_rows), d(&few_features);
  for (int n = 0; n < 50'000; ++n) {
    a.add(static_cast<std::uint32_t>(below(0xFFFFFFF0u, rng)), 1, sparse({static_cast<Index>(below(1u << 31, rng))}, {1}));
    b.add(0xFFFFFFF0u, 1, sparse({static_cast<Index>(below(1u << 31, rng))}, {1}));
  }
  for (int n = 0; n < 2000; ++n) d.add(0, 1, sparse({static_cast<Index>(below(1'000'000, rng))}, {1}));
  for (std::uint32_t block = 0; block < 1000; ++block) c.add(block, 1, dense(std::vector<double>(50, 1.0)));
  EXPECT_LT(many_blocks.bytes(), 50'000u * 320) << "a block has a table of its own";
  EXPECT_LT(many_blocks.peak(), 50'000u * 450);
  EXPECT_LT(many_features.bytes(), 50'000u * 8 * 8 / 3 + 256) << "8 bytes a slot, at least 3/8 full";
  EXPECT_LT(few_features.bytes(), 2000u * 8 * 8 / 3 + 256);
  EXPECT_LT(few_features.peak(), 2000u * 8 * 8 / 3 * 3 / 2 + 512);
  EXPECT_LT(dense_rows.bytes(), 1000u * (50 * 4 + 150)) << "a plain row";
}

TEST(Linear, TwoMegabytesMayGoToRowsThatAreLargerThanTables) {
  Rng rng = make_rng(1, 0);
  Memory memory, limited(std::size_t{1} << 40);
  Linear a(&memory), b(&limited);
  for (std::uint32_t block = 0; block < 200; ++block)
    for (int n = 0; n < 20; ++n) {
      const auto x = sparse({static_cast<Index>(below(100'000, rng))}, {1});
      a.add(block, 1, x);
      b.add(block, 1, x);
      ASSERT_EQ(a(block, x), b(block, x));
    }
  EXPECT_GT(memory.bytes(), limited.bytes() + SparseBlocks<float>::kSpare / 2);
  EXPECT_LT(memory.bytes(), limited.bytes() + SparseBlocks<float>::kSpare + 4096);
}

TEST(Linear, ABlockMayTurnFromRowToTableAndBackAndForgetsNothing) {
  Memory memory(std::size_t{1} << 40);
  Linear w(&memory);
  std::map<Index, float> oracle;
  const auto add = [&](Index feature) {
    const double a = feature % 3 == 0 ? -1 : 1;
    w.add(3, a, sparse({feature}, {1}));
    oracle[feature] += static_cast<float>(a);
    for (const auto& [f, v] : oracle) ASSERT_EQ(w(3, sparse({f}, {1})), v);
  };
  for (Index f = 0; f < 60; ++f) add(f);                    // a row
  for (Index f = 1000; f < 1'000'000; f += 50'000) add(f);  // far away: a table
  for (Index f = 60; f < 400; ++f) add(f);                  // more of them
  Linear near(&memory);
  for (Index f = 0; f < 4000; f += 400) near.add(3, 1, sparse({f}, {1}));  // a table
  for (Index f = 0; f < 4000; ++f) near.add(3, 1, sparse({f}, {1}));       // filled: a row
  for (Index f = 0; f < 4000; ++f) ASSERT_EQ(near(3, sparse({f}, {1})), f % 400 == 0 ? 2 : 1);
  EXPECT_EQ(near.pack().value.size(), 4000u);
  EXPECT_EQ(w.pack().value.size(), oracle.size());
}

TEST(Linear, PackAndUnpackIsTheSameModel) {
  for (const bool far : {false, true}) {
    Memory memory;
    Linear w(&memory);
    Rng rng = make_rng(2, 0);
    for (int n = 0; n < 50; ++n)
      w.add(static_cast<std::uint32_t>(below(5, rng)), uniform(rng) - 0.5, random_vector(rng, 10));
    if (far) w.add(3, 1, sparse({4'000'000'000u}, {1}));
    Linear back(&memory);
    back.unpack(w.pack());
    EXPECT_EQ(back.pack().value, w.pack().value);
    EXPECT_EQ(back.pack().feature, w.pack().feature);
    for (int n = 0; n < 50; ++n) {
      const Vector x = random_vector(rng, 15);
      EXPECT_TRUE(same_bits(w(static_cast<std::uint32_t>(n % 6), x), back(static_cast<std::uint32_t>(n % 6), x)));
    }
  }
}

TEST(Linear, UnpackRefusesWhatIsNoModel) {
  const auto unpack = [](std::vector<std::uint32_t> block, std::vector<std::uint32_t> feature, std::vector<float> value) {
    Memory memory;
    Linear w(&memory);
    w.unpack({block, feature, value});
    return w.pack().value.size();
  };
  EXPECT_EQ(unpack({0, 0, 2}, {1, 5, 0}, {1, 2, 3}), 3u);
  EXPECT_EQ(unpack({}, {}, {}), 0u);
  EXPECT_THROW(unpack({0, 0}, {1, 5}, {1}), DataError) << "sizes differ";
  EXPECT_THROW(unpack({0}, {1, 5}, {1, 2}), DataError);
  EXPECT_THROW(unpack({0, 0}, {5, 1}, {1, 2}), DataError) << "features out of order";
  EXPECT_THROW(unpack({1, 0}, {1, 5}, {1, 2}), DataError) << "blocks out of order";
  EXPECT_THROW(unpack({0, 0}, {1, 1}, {1, 2}), DataError) << "twice";
  EXPECT_THROW(unpack({0}, {1}, {std::nanf("")}), DataError);
  EXPECT_THROW(unpack({0}, {1}, {INFINITY}), DataError);
  EXPECT_THROW(unpack({0xFFFFFFFFu}, {1}, {1}), DataError);
  EXPECT_THROW(unpack({0}, {0xFFFFFFFFu}, {1}), DataError);
}

}  // namespace
}  // namespace quorate::test
