#include "quorate/base/simd.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <string>

#include "quorate/base/portable_math.h"
#include "quorate/session/session.h"
#include "quorate/store/tensors.h"
#include "quorate/weights/symmetric_matrix.h"
#include "support/make.h"
#include "support/settings.h"

namespace quorate::test {
namespace {

/// All tests, not only those here, use the set that the environment names.
const bool told = std::getenv("QUORATE_SIMD") != nullptr && use_simd(std::getenv("QUORATE_SIMD"));

/// Takes an instruction set while it lives.
class Using {
 public:
  explicit Using(Simd simd) : before_(simd_in_use.exchange(simd)) {}
  ~Using() { simd_in_use = before_; }
  Using(const Using&) = delete;
  Using& operator=(const Using&) = delete;

 private:
  Simd before_;
};

/// Those that this processor has.
std::vector<Simd> all_simd() {
  std::vector<Simd> out;
  for (const Simd simd : {Simd::kPlain, Simd::kAvx2, Simd::kAvx512})
    if (simd <= widest_simd()) out.push_back(simd);
  return out;
}

#ifdef __x86_64__
TEST(Simd, FindsWhatTheSystemLists) {
  std::ifstream in("/proc/cpuinfo");
  std::string line;
  while (std::getline(in, line) && !line.starts_with("flags")) {
  }
  const auto has = [&](const std::string& flag) { return (line + " ").find(" " + flag + " ") != line.npos; };
  EXPECT_EQ(widest_simd() >= Simd::kAvx2, has("avx2"));
  EXPECT_EQ(widest_simd() == Simd::kAvx512, has("avx512f") && has("avx512dq") && has("avx512vl"));
}
#endif

TEST(Simd, TakesTheWidestUnlessToldOtherwise) {
  const Simd before = simd_in_use;
  if (!told) {
    EXPECT_EQ(before, widest_simd());
  }
  for (const Simd use : all_simd()) {
    const Using using_it(use);
    int calls = 0;
    simd([&] { ++calls; });
    EXPECT_EQ(calls, 1);
  }
  EXPECT_EQ(simd_in_use, before);
}

TEST(Simd, IsNamedInTheEnvironment) {
  const Using back(simd_in_use);
  EXPECT_TRUE(use_simd("plain"));
  EXPECT_EQ(simd_in_use, Simd::kPlain);
  EXPECT_TRUE(use_simd("avx512"));
  EXPECT_EQ(simd_in_use, widest_simd());
  EXPECT_TRUE(use_simd("avx2"));
  EXPECT_EQ(simd_in_use, std::min(Simd::kAvx2, widest_simd()));
  EXPECT_FALSE(use_simd("sse9"));
  EXPECT_FALSE(use_simd(""));
}

TEST(Simd, ALoopGivesTheSameBitsInEveryInstructionSet) {
  Rng rng = make_rng(1, 0);
  std::vector<double> x(1003);
  for (double& v : x) v = -50 * uniform(rng) * uniform(rng);
  std::optional<std::vector<double>> expected;
  for (const Simd use : all_simd()) {
    const Using using_it(use);
    std::vector<double> y(x.size());
    simd([in = x.data(), out = y.data(), n = x.size()] {
      for (std::size_t k = 0; k < n; ++k) out[k] = exp_negative(in[k]) * in[k] + 1.0 / 3;
    });
    if (!expected) expected = y;
    for (std::size_t k = 0; k < x.size(); ++k) ASSERT_TRUE(same_bits(y[k], (*expected)[k])) << k;
  }
}

/// So many tasks that rows have whole and broken registers, and instances of both kinds.
class Bits : public testing::TestWithParam<Setting> {};

TEST_P(Bits, AreTheSameInEveryInstructionSet) {
  const TempDir dir;
  const Spec spec = with_files(GetParam().spec, dir);
  for (const bool holes : {false, true}) {
    const Stream stream = make_stream(120, 75, 37, 5, holes);
    std::optional<std::string> expected;
    for (const Simd use : all_simd()) {
      const Using using_it(use);
      Session session(spec, {.seed = 3});
      for (std::size_t i = 0; i < 75; ++i) session.task("t" + std::to_string(i));
      std::string said;
      for (std::size_t i = 0; i < stream.size(); ++i) {
        Outcome step;
        const Example e = stream.example(i);
        run_round(session, {&e, 1}, [&](std::size_t) { return stream.y[i]; }, {&step, 1});
        said += std::to_string(std::bit_cast<std::uint64_t>(step.decision.margin)) + " ";
      }
      Tensors out;
      session.save(out);
      said += to_bytes(out);
      if (!expected) expected = said;
      ASSERT_TRUE(said == *expected) << static_cast<int>(use) << (holes ? " sparse" : " dense");
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Learners, Bits, testing::ValuesIn(all_settings()), [](const auto& of) { return of.param.name; });

TEST(Simd, ATriangleHasTheSameBitsInEveryInstructionSet) {
  std::optional<std::pmr::vector<double>> expected;
  for (const Simd use : all_simd()) {
    const Using using_it(use);
    Rng rng = make_rng(4, 0);
    Memory memory;
    SymmetricMatrix T(&memory);
    std::pmr::vector<double> out;
    for (const std::size_t n : {1u, 3u, 4u, 8u, 9u, 31u, 70u}) {
      T.grow(n);
      std::vector<double> u(n), product(n);
      for (double& v : u) v = uniform(rng) - 0.5;
      T.add_outer(0.3, u);
      T.times({{}, u}, product);
      out.insert(out.end(), product.begin(), product.end());
      out.push_back(T.quadratic({{}, u}));
    }
    for (const double v : values_of({&T}).list()) out.push_back(v);
    if (!expected) expected = out;
    for (std::size_t k = 0; k < out.size(); ++k) ASSERT_TRUE(same_bits(out[k], (*expected)[k])) << k;
  }
}

}  // namespace
}  // namespace quorate::test
