#include "quorate/kernel/support_vectors.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <functional>
#include <limits>
#include <map>
#include <numeric>

#include "quorate/base/error.h"
#include "quorate/base/memory.h"
#include "support/allocations.h"
#include "support/dense_matrix.h"
#include "support/edit.h"

namespace quorate::test {
namespace {

/// Valid until the next call.
Features vector_of(const SupportVectors& support, std::size_t slot) {
  static std::vector<Index> index;
  static std::vector<double> value;
  return support.vector(slot, index, value);
}

constexpr Index kFar = 4'000'000'000u;

/// The vectors written out, without zeros.
using Entries = std::map<Index, double>;
Entries entries(const Features& x) {
  Entries out;
  for (std::size_t n = 0; n < x.size(); ++n)
    if (x.value[n] != 0) out[x.at(n)] = x.value[n];
  return out;
}
double inner(const Entries& a, const Entries& b) {  // in order of the features, as promised
  double sum = 0;
  for (const auto& [f, v] : a)
    if (const auto found = b.find(f); found != b.end()) sum += v * found->second;
  return sum;
}
double squared_distance(const Entries& a, const Entries& b) {
  Entries difference = a;
  for (const auto& [f, v] : b) difference[f] -= v;
  return inner(difference, difference);
}

enum Shape { kDense, kSparse, kMixed, kShapes };

/// Features below `limit`, or a few far ones; some values are 0, some vectors empty.
Vector some(Shape shape, std::size_t limit, Rng& rng) {
  const auto value = [&] { return below(8, rng) == 0 ? 0 : 2 * uniform(rng) - 1; };
  if (below(12, rng) == 0) return {};
  if (shape == kMixed) shape = below(3, rng) == 0 ? kSparse : kDense;
  Vector out;
  if (shape == kDense) {
    out.value.resize(1 + below(limit, rng));
    for (double& v : out.value) v = value();
    if (below(4, rng) == 0) {  // the same with its places written
      out.index.resize(out.value.size());
      std::iota(out.index.begin(), out.index.end(), Index{0});
    }
    return out;
  }
  out = some_vector(rng, limit);
  if (out.index.empty()) out = sparse({static_cast<Index>(below(limit, rng))}, {value()});
  if (below(3, rng) == 0) {
    out.index.push_back(kFar + static_cast<Index>(below(3, rng)));
    out.value.push_back(value());
  }
  return out;
}

DenseVector row(const SupportVectors& support, const Features& x) {
  DenseVector k(support.size(), 77.0);  // what it held does not matter
  support.row(x, k);
  return k;
}
DenseVector row_of(const SupportVectors& support, std::size_t slot) {
  DenseVector k(support.size(), 77.0);
  support.row_of(slot, k);
  return k;
}
bool same(const DenseVector& a, const DenseVector& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), same_bits);
}

const Kernel kKernels[] = {LinearKernel{}, PolynomialKernel{3, 0.5}, GaussianKernel{0.3}};

double literal(const Kernel& kernel, const Entries& a, const Entries& b) {
  if (const auto* p = std::get_if<PolynomialKernel>(&kernel))
    return std::pow(p->offset + inner(a, b), static_cast<double>(p->degree));
  if (const auto* g = std::get_if<GaussianKernel>(&kernel)) return std::exp(-g->gamma * squared_distance(a, b));
  return inner(a, b);
}
bool near(double a, double b) { return std::abs(a - b) <= 1e-11 * (1 + std::abs(b)); }

RC_GTEST_PROP(SupportVectors, IsALoopOverVectorsThatComeAndGo, ()) {
  Rng rng = make_rng(*rc::gen::arbitrary<std::uint64_t>(), 0);
  const Kernel& kernel = kKernels[below(std::size(kKernels), rng)];
  const auto first = static_cast<Shape>(below(kShapes, rng)), then = static_cast<Shape>(below(kShapes, rng));
  const std::size_t change = below(80, rng), most = 1 + below(40, rng);
  Memory memory;
  SupportVectors support(kernel, &memory);
  std::vector<Entries> expected;
  for (std::size_t step = 0; step < 120; ++step) {
    const Shape shape = step < change ? first : then;
    const std::size_t limit = 1 + step / 4;  // features keep arriving
    if (!expected.empty() && (expected.size() == most || below(3, rng) == 0)) {
      const std::size_t slot = below(expected.size(), rng);
      support.remove(slot);
      expected[slot] = expected.back();
      expected.pop_back();
    } else {
      const Vector x = some(shape, limit, rng);
      support.add(x);
      expected.push_back(entries(x));
    }
    RC_ASSERT(support.size() == expected.size());
    for (const Vector& x : {some(first, limit, rng), some(kSparse, limit + 9, rng), some(kDense, limit + 9, rng)}) {
      const Entries mine = entries(x);
      const DenseVector k = row(support, x);
      for (std::size_t j = 0; j < k.size(); ++j) {
        const double right = literal(kernel, mine, expected[j]);
        const bool exact = std::holds_alternative<LinearKernel>(kernel);
        RC_ASSERT((exact ? k[j] == right : near(k[j], right)));
      }
      RC_ASSERT(near(support.self(x), literal(kernel, mine, mine)));
    }
    for (std::size_t j = 0; j < expected.size(); ++j) {
      RC_ASSERT(near(row_of(support, j)[j], literal(kernel, expected[j], expected[j])));
      const Features back = vector_of(support, j);
      RC_ASSERT(back.index.size() == expected[j].size());
      RC_ASSERT(back.value.size() == expected[j].size());
      RC_ASSERT(std::is_sorted(back.index.begin(), back.index.end()));
      RC_ASSERT(entries(back) == expected[j]);
    }
  }
}

RC_GTEST_PROP(SupportVectors, SumsDoNotDependOnHowTheVectorsCame, ()) {
  Rng rng = make_rng(*rc::gen::arbitrary<std::uint64_t>(), 0);
  const Kernel& kernel = kKernels[below(std::size(kKernels), rng)];
  std::vector<Vector> vectors(1 + below(40, rng));
  for (Vector& x : vectors) x = some(kDense, 25, rng);
  std::vector<std::size_t> order(vectors.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  shuffle(std::span(order), rng);
  Memory memory;
  SupportVectors once(kernel, &memory), again(kernel, &memory);
  for (const Vector& x : vectors) once.add(x);
  again.add(sparse({kFar}, {1}));  // so the same vectors lie as postings
  for (const std::size_t n : order) {
    again.add(some(kSparse, 25, rng));  // gone before the next comes
    again.remove(again.size() - 1);
    again.add(vectors[n]);
  }
  for (int n = 0; n < 5; ++n) {
    const Vector x = some(kMixed, 30, rng);
    const DenseVector a = row(once, x), b = row(again, x);
    for (std::size_t j = 0; j < order.size(); ++j) RC_ASSERT(same_bits(a[order[j]], b[1 + j]));
  }
}

TEST(SupportVectors, OfNothingIsEmpty) {
  Memory memory;
  SupportVectors support(GaussianKernel{}, &memory);
  EXPECT_EQ(support.size(), 0u);
  EXPECT_TRUE(row(support, dense({1, 2})).empty());
  EXPECT_TRUE(row(support, sparse({kFar}, {1})).empty());
  EXPECT_EQ(memory.bytes(), 0u);
}

TEST(SupportVectors, ManyFeaturesOfNumbersAreVectorsLikeOthers) {
  Rng rng = make_rng(2, 0);
  for (const std::size_t features : {4096u, 4097u, 9000u}) {
    Memory memory;
    SupportVectors support(LinearKernel{}, &memory);
    std::vector<Entries> expected;
    for (const std::size_t n : {std::size_t{3}, features, std::size_t{5}, features, std::size_t{17}}) {
      Vector x = dense(DenseVector(n));
      for (double& v : x.value) v = uniform(rng);
      support.add(x);
      expected.push_back(entries(x));
    }
    Vector x = dense(DenseVector(features + 1, 1.0));
    const DenseVector k = row(support, x);
    for (std::size_t j = 0; j < k.size(); ++j) EXPECT_EQ(k[j], inner(entries(x), expected[j])) << features;
  }
}

TEST(SupportVectors, OneFarFeatureDoesNotFillTheSpaceBefore) {
  Memory memory(1 << 20);
  SupportVectors support(LinearKernel{}, &memory);
  support.add(dense({1, 2, 3}));
  support.add(sparse({0, kMaxIndex + 1}, {5, 7}));
  EXPECT_EQ(row(support, sparse({0, 2, kMaxIndex + 1}, {1, 1, 1})), (DenseVector{4, 12}));
}

TEST(SupportVectors, KeepsNoMemoryOfItsOwn) {
  Rng rng = make_rng(3, 0);
  Memory memory;
  {
    SupportVectors support(LinearKernel{}, &memory);
    for (int n = 0; n < 200; ++n) support.add(some(n < 100 ? kDense : kSparse, 40, rng));
    const std::size_t before = live_bytes(), counted = memory.bytes();
    for (int n = 0; n < 100; ++n) support.add(some(kSparse, 40, rng));
    const std::size_t kept = live_bytes() - before, now = memory.bytes() - counted;
    EXPECT_GE(kept, now);
    EXPECT_LE(kept, now + 256 + 100 * 16) << "all that is not counted is what malloc rounds up to, vector by vector";
  }
  EXPECT_EQ(memory.bytes(), 0u);
}

/// With exactly the bytes left that bytes_to_add() and bytes_to_copy() say, all else being taken, x is added.
bool adds_within_its_bytes(SupportVectors& support, const Features& x, Memory& memory) {
  const std::size_t bytes = support.bytes_to_add(x) + support.bytes_to_copy();
  if (bytes > memory.left()) return false;
  const std::size_t ballast = memory.left() - bytes;
  void* all_else = memory.allocate(ballast);
  const std::size_t before = support.size();
  try {
    support.add(x);
  } catch (const MemoryError&) {
  }
  memory.deallocate(all_else, ballast);
  return support.size() == before + 1;
}

RC_GTEST_PROP(SupportVectors, AddsWithinTheBytesItSays, ()) {
  Rng rng = make_rng(*rc::gen::arbitrary<std::uint64_t>(), 0);
  const auto first = static_cast<Shape>(below(kShapes, rng)), then = static_cast<Shape>(below(kShapes, rng));
  const std::size_t change = below(150, rng), limit = 1 + below(300, rng);
  const bool scarce = below(2, rng) == 0;  // or only at times
  Memory memory(std::size_t{1} << 26);
  SupportVectors support(LinearKernel{}, &memory);
  for (std::size_t step = 0; step < 150; ++step) {
    if (support.size() > 0 && below(6, rng) == 0) support.remove(below(support.size(), rng));
    const Vector x = some(step < change ? first : then, 1 + below(limit, rng), rng);
    if (scarce || below(4, rng) == 0)
      RC_ASSERT(adds_within_its_bytes(support, x, memory));
    else
      support.add(x);
  }
}

TEST(SupportVectors, TheBytesItSaysAreNotManyMoreThanItTakes) {
  Rng rng = make_rng(4, 0);
  for (const Shape shape : {kDense, kSparse}) {
    Memory memory(std::size_t{1} << 26);
    SupportVectors support(LinearKernel{}, &memory);
    for (int n = 0; n < 2000; ++n) {
      const Vector x = some(shape, 30, rng);
      EXPECT_LE(support.bytes_to_add(x), 10'000 + memory.bytes()) << "at most what is there, and a block or array";
      support.add(x);
    }
  }
}

TEST(SupportVectors, WhenOneLeavesForOneOfItsShapeNothingIsAllocated) {
  Rng rng = make_rng(5, 0);
  for (const bool far : {false, true}) {
    Memory memory;
    SupportVectors support(GaussianKernel{}, &memory);
    const auto fresh = [&] {
      Vector x = dense(DenseVector(20));
      if (far)
        for (Index f = 0; f < 20; ++f) x.index.push_back(f * 1000 + static_cast<Index>(below(1000, rng)));
      for (double& v : x.value) v = uniform(rng) + 0.1;
      return x;
    };
    for (int n = 0; n < 100; ++n) support.add(fresh());
    const std::size_t bytes = memory.bytes();
    for (int n = 0; n < 1000; ++n) {
      const Vector x = fresh();
      const std::size_t slot = below(100, rng);
      const std::uint64_t before = allocations();
      support.remove(slot);
      const std::size_t said = support.bytes_to_add(x);
      support.add(x);
      ASSERT_EQ(allocations(), before) << (far ? "sparse " : "dense ") << n;
      ASSERT_EQ(said, 0u) << (far ? "sparse " : "dense ") << n;
    }
    EXPECT_EQ(memory.bytes(), bytes);
  }
}

RC_GTEST_PROP(SupportVectors, PackAndUnpackIsTheSameToTheBit, ()) {
  Rng rng = make_rng(*rc::gen::arbitrary<std::uint64_t>(), 0);
  const Kernel& kernel = kKernels[below(std::size(kKernels), rng)];
  const auto shape = static_cast<Shape>(below(kShapes, rng));
  Memory memory;
  SupportVectors support(kernel, &memory);
  const auto change = [&](SupportVectors& s, std::uint64_t seed) {
    Rng of_step = make_rng(seed, 1);
    for (int n = 0; n < 30; ++n)
      if (s.size() > 1 && below(3, of_step) == 0)
        s.remove(below(s.size(), of_step));
      else
        s.add(some(shape, 30, of_step));
  };
  SupportVectors back(kernel, &memory);
  change(back, 99);  // forgotten
  for (int round = 0; round < 4; ++round) {
    const std::uint64_t seed = rng();
    change(support, seed);
    if (round % 2 == 0) {
      const SupportVectors::Packed packed = support.pack();
      back.unpack(packed);
      const SupportVectors::Packed again = back.pack();
      RC_ASSERT(again.end == packed.end);
      RC_ASSERT(again.index == packed.index);
      const std::vector<double> a = again.value.list(), b = packed.value.list();
      RC_ASSERT(std::equal(a.begin(), a.end(), b.begin(), b.end(), same_bits));
      RC_ASSERT(again.dense == packed.dense && again.features == packed.features);
    } else {
      change(back, seed);  // and both go on alike
    }
    for (int n = 0; n < 5; ++n) {
      const Vector x = some(n < 3 ? shape : kMixed, 35, rng);
      RC_ASSERT(same(row(support, x), row(back, x)));
    }
    for (std::size_t j = 0; j < support.size(); ++j) RC_ASSERT(same(row_of(support, j), row_of(back, j)));
  }
}

TEST(SupportVectors, PacksVectorAfterVectorWithoutZeros) {
  Memory memory;
  SupportVectors support(LinearKernel{}, &memory);
  support.add(sparse({3, 7, kFar}, {1, 0, 2}));
  support.add(dense({}));
  support.add(dense({0, 5}));
  const SupportVectors::Packed packed = support.pack();
  EXPECT_EQ(packed.end, (std::pmr::vector<std::uint64_t>{2, 2, 3}));
  EXPECT_EQ(packed.index, (Column<std::uint32_t>{3, kFar, 1}));
  EXPECT_EQ(packed.value, (Column<double>{1, 2, 5}));
  EXPECT_EQ(packed.dense, 0u);
}

TEST(SupportVectors, PacksDenseVectorsWhole) {
  Memory memory;
  SupportVectors support(LinearKernel{}, &memory);
  support.add(dense({1, 0}));
  support.add(dense({0, 5, 2}));
  const SupportVectors::Packed packed = support.pack();
  EXPECT_EQ(packed.end, (std::pmr::vector<std::uint64_t>{3, 6}));
  EXPECT_TRUE(packed.index.empty());
  EXPECT_EQ(packed.value, (Column<double>{1, 0, 0, 0, 5, 2}));
  EXPECT_EQ(packed.dense, 1u);
  EXPECT_EQ(packed.features, 3u);
}

TEST(SupportVectors, UnpackRefusesWhatItCannotHavePacked) {
  const double nan = std::nan(""), infinite = std::numeric_limits<double>::infinity();
  using Change = std::function<void(SupportVectors::Packed&)>;
  const auto try_all = [](const SupportVectors::Packed& good,
                          std::initializer_list<std::pair<const char*, Change>> changes) {
    Memory memory;
    SupportVectors support(LinearKernel{}, &memory);
    const auto is_good = [&] { return row(support, sparse({0, 1, 2}, {1, 1, 1})) == DenseVector{3, 0, 3}; };
    support.unpack(good);
    EXPECT_TRUE(is_good());
    for (const auto& [why, change] : changes) {
      SupportVectors::Packed packed = good;
      change(packed);
      EXPECT_THROW(support.unpack(packed), DataError) << why;
      EXPECT_TRUE(is_good()) << "what was there stays: " << why;
    }
  };
  try_all({0, 0, {2, 2, 3}, {0, 2, 1}, {1, 2, 3}},
          {{"index and value differ", [](auto& p) { edit(p.index)->push_back(9); }},
           {"index and value differ", [](auto& p) { edit(p.value)->push_back(9); }},
           {"ends fall", [](auto& p) { p.end[1] = 1; }},
           {"an end after the last value", [](auto& p) { p.end[2] = 4; }},
           {"an end far after the last value", [](auto& p) { p.end[1] = p.end[2] = ~std::uint64_t{0}; }},
           {"values of no vector", [](auto& p) { p.end.pop_back(); }},
           {"values of no vector", [](auto& p) { p.end.clear(); }},
           {"not a number", [&](auto& p) { (*edit(p.value))[1] = nan; }},
           {"infinite", [&](auto& p) { (*edit(p.value))[2] = -infinite; }},
           {"features out of order", [](auto& p) { (*edit(p.index))[0] = 3; }},
           {"a feature twice", [](auto& p) { (*edit(p.index))[0] = 2; }},
           {"no feature's place", [](auto& p) { (*edit(p.index))[1] = kMaxIndex + 2; }},
           {"sparse, with features", [](auto& p) { p.features = 3; }},
           {"neither dense nor sparse", [](auto& p) { p.dense = 2; }}});
  try_all({1, 3, {3, 6, 9}, {}, {1, 0, 2, 0, 0, 0, 0, 3, 0}},
          {{"an index", [](auto& p) { edit(p.index)->assign(9, 0); }},
           {"a value too many", [](auto& p) { edit(p.value)->push_back(9); }},
           {"ends that do not step by the features", [](auto& p) { p.end[0] = 2; }},
           {"more features", [](auto& p) { p.features = 4; }},
           {"too many features to lie dense", [](auto& p) { p.features = 4097; }},
           {"infinite", [&](auto& p) { (*edit(p.value))[2] = -infinite; }}});
}

TEST(SupportVectors, UnpackedWithoutVectorsItHasNone) {
  for (const std::uint64_t dense : {0u, 1u}) {
    Memory memory;
    SupportVectors support(LinearKernel{}, &memory);
    support.unpack({dense, 0, {}, {}, {}});
    EXPECT_TRUE(row(support, sparse({12345678}, {1})).empty());
    support.add(sparse({3, kFar}, {1, 1}));
    EXPECT_EQ(row(support, sparse({kFar}, {2})), DenseVector{2});
  }
}

}  // namespace
}  // namespace quorate::test
