#include "quorate/weights/feature_major.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <map>

#include "quorate/base/memory.h"
#include "quorate/store/state.h"
#include "support/make.h"

namespace quorate::test {
namespace {

Vector random_vector(Rng& rng) {
  Vector out;
  for (Index f = 0; f < 10; ++f)
    if (uniform(rng) < 0.5) {
      out.index.push_back(f * f * 1000);
      out.value.push_back(2 * uniform(rng) - 1);
    }
  if (out.index.empty()) return dense({0.5, -0.25, 1});
  return out;
}

RC_GTEST_PROP(FeatureMajorWeights, IsAMapFromTaskAndFeatureToAFloat, ()) {
  Rng rng = make_rng(*rc::gen::arbitrary<std::uint64_t>(), 0);
  Memory memory;
  FeatureMajorWeights w(&memory);
  std::map<std::pair<Index, Task>, float> oracle;
  std::size_t K = 0;
  for (int n = 0; n < 60; ++n) {
    if (n == 0 || below(4, rng) == 0) {
      K += below(4, rng) + (n == 0);
      w.ensure_tasks(K);
      w.ensure_tasks(K / 2);  // never shrinks
      RC_ASSERT(w.tasks() == K);
    }
    const Vector x = random_vector(rng);
    std::vector<double> p(K, 7.0);
    w.margins(x, p);
    for (Task j = 0; j < K; ++j) {
      RC_ASSERT(same_bits(p[j], w(j, x)));
      double sum = 0;
      for (std::size_t k = 0; k < x.value.size(); ++k)
        if (const auto found = oracle.find({x.view().at(k), j}); found != oracle.end())
          sum += static_cast<double>(found->second) * x.value[k];
      RC_ASSERT(p[j] == sum);
    }
    RC_ASSERT(w(static_cast<Task>(K), x) == 0.0);
    std::vector<double> c(K);
    for (double& v : c) v = below(3, rng) == 0 ? 0 : 2 * uniform(rng) - 1;
    w.add(c, x);
    for (std::size_t k = 0; k < x.value.size(); ++k)
      for (Task j = 0; j < K; ++j) {
        float& v = oracle[{x.view().at(k), j}];
        v = static_cast<float>(static_cast<double>(v) + c[j] * x.value[k]);
      }
  }
  const FeatureMajorWeights::Packed packed = w.pack();
  RC_ASSERT(packed.tasks == K);
  const auto features = packed.feature.list();
  RC_ASSERT(std::is_sorted(features.begin(), features.end()));
  FeatureMajorWeights back(&memory);
  back.unpack(packed);
  for (int n = 0; n < 10; ++n) {
    const Vector x = random_vector(rng);
    for (Task j = 0; j < K; ++j) RC_ASSERT(same_bits(w(j, x), back(j, x)));
  }
  RC_ASSERT(back.pack().value == packed.value);
}

TEST(FeatureMajorWeights, MarginsThatAreKeptAreThoseOfNow) {
  Memory memory;
  FeatureMajorWeights w(&memory);
  w.ensure_tasks(3);
  std::vector<double> values{1, 2};
  const std::vector<Index> index{4, 9};
  const Features x{index, values};
  const auto margins = [&](const Features& of) {
    const auto kept = w.margins(of);
    return std::vector<double>(kept.begin(), kept.end());
  };
  using Margins = std::vector<double>;
  EXPECT_EQ(margins(x), (Margins{0, 0, 0}));
  w.add(1, 0.5, x);
  EXPECT_EQ(margins(x), (Margins{0, 2.5, 0})) << "weights changed";
  w.add(Margins{1, 0, -1}, x);
  EXPECT_EQ(margins(x), (Margins{5, 2.5, -5}));
  EXPECT_EQ(margins(x), (Margins{5, 2.5, -5}));
  values[0] = 3;
  EXPECT_EQ(margins(x), (Margins{7, 3.5, -7})) << "another instance at the same place";
  EXPECT_EQ(margins(dense({3, 2})), (Margins{0, 0, 0})) << "the same values of other features";
  w.ensure_tasks(4);
  EXPECT_EQ(margins(x), (Margins{7, 3.5, -7, 0})) << "another task";
  w.unpack({4, {4}, {1, 1, 1, 1}});  // feature 4, and no other
  EXPECT_EQ(margins(x), (Margins{3, 3, 3, 3})) << "loaded";
}

TEST(FeatureMajorWeights, AFewTasksOfManyAreTaughtAlone) {
  Memory memory;
  constexpr std::size_t K = 400;
  FeatureMajorWeights few(&memory), each(&memory);
  few.ensure_tasks(K);
  each.ensure_tasks(K);
  const Vector x = sparse({2, 5, 77}, {0.5, -1, 2});
  std::vector<double> c(K, 0.0);
  for (const Task task : {0u, 63u, 399u}) {
    c[task] = 1.0 / (task + 1);
    each.add(task, c[task], x);
  }
  few.add(c, x);
  EXPECT_EQ(few.pack().value, each.pack().value);
  EXPECT_EQ(few.pack().feature, each.pack().feature);
}

TEST(FeatureMajorWeights, KeepsWeightsWhenTasksArrive) {
  Memory memory;
  FeatureMajorWeights w(&memory);
  w.ensure_tasks(1);
  w.add(std::vector<double>{2}, sparse({5}, {1}));
  for (std::size_t K = 2; K < 200; ++K) {
    w.ensure_tasks(K);
    EXPECT_EQ(w(0, sparse({5}, {1})), 2);
    EXPECT_EQ(w(static_cast<Task>(K - 1), sparse({5}, {1})), 0);
  }
  EXPECT_LT(memory.bytes(), 200u * 4 * 2 + 200 * 8 + 16 * 8) << "one row of weights, with some room to grow";
}

TEST(FeatureMajorWeights, TakeTheSameBytesWhetherTheyWereSavedOrNot) {
  Rng rng = make_rng(5, 0);
  for (int run = 0; run < 40; ++run) {
    const std::size_t limit = 4'000 + below(60'000, rng);
    Memory memory(limit), other(limit);
    FeatureMajorWeights never(&memory);
    auto often = std::make_unique<FeatureMajorWeights>(&other);
    for (int n = 0; n < 100; ++n) {
      const std::size_t K = 1 + below(static_cast<std::size_t>(n) + 1, rng), kind = below(3, rng);
      const auto x = sparse({static_cast<Index>(below(60, rng)), static_cast<Index>(100 + below(200, rng))}, {1, 2});
      const auto full = [&](FeatureMajorWeights& w) {
        try {
          if (kind == 0) w.ensure_tasks(K);
          if (kind == 1) w.reserve(x);
          if (kind == 2 && w.tasks() > 0) w.add(static_cast<Task>(w.tasks() - 1), 1, x);
        } catch (const MemoryError&) {
          return true;
        }
        return false;
      };
      ASSERT_EQ(full(never), full(*often)) << run << ' ' << n;
      ASSERT_EQ(memory.bytes(), other.bytes()) << run << ' ' << n;
      if (n % 9 != 0) continue;
      Tensors tensors;
      const Writer writer(tensors);
      writer("w", *often);
      often = nullptr;
      often = std::make_unique<FeatureMajorWeights>(&other);
      Reader reader(tensors);
      reader("w", *often);
      ASSERT_EQ(memory.bytes(), other.bytes()) << run << ' ' << n;
    }
  }
}

TEST(FeatureMajorWeights, UnpackRefusesWhatIsNoModel) {
  const auto unpack = [](std::uint64_t tasks, std::vector<std::uint32_t> feature, std::vector<float> value) {
    Memory memory;
    FeatureMajorWeights w(&memory);
    w.unpack({tasks, feature, value});
    return w.tasks();
  };
  EXPECT_EQ(unpack(2, {1, 4}, {1, 2, 3, 4}), 2u);
  EXPECT_EQ(unpack(0, {}, {}), 0u);
  EXPECT_THROW(unpack(2, {1, 4}, {1, 2, 3}), DataError);
  EXPECT_THROW(unpack(2, {}, {1}), DataError);
  EXPECT_THROW(unpack(3, {1}, {1, 2}), DataError);
  EXPECT_THROW(unpack(1'000'001, {}, {}), DataError) << "too many tasks";
  EXPECT_THROW(unpack(1, {4, 1}, {1, 2}), DataError) << "out of order";
  EXPECT_THROW(unpack(1, {1, 1}, {1, 2}), DataError) << "twice";
  EXPECT_THROW(unpack(1, {0xFFFFFFFFu}, {1}), DataError);
  EXPECT_THROW(unpack(1, {1}, {std::nanf("")}), DataError);
  EXPECT_THROW(unpack(std::uint64_t{1} << 63, {1, 2}, {}), DataError) << "a product that overflows";
  EXPECT_THROW(unpack(std::uint64_t{1} << 40, {}, {}), DataError);
}

}  // namespace
}  // namespace quorate::test
