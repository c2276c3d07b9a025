#include "quorate/weights/trust.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "quorate/base/memory.h"
#include "quorate/base/rng.h"

namespace quorate::test {
namespace {

double row_mean(const Trust& tau, Task k, bool others) {
  double sum = 0;
  for (Task m = 0; m < tau.tasks(); ++m)
    if (!others || m != k) sum += tau(k, m);
  return sum / static_cast<double>(tau.tasks() - (others ? 1 : 0));
}

TEST(Trust, AtFirstEverybodyIsListenedToAlike) {
  Trust tau(std::pmr::get_default_resource());
  tau.ensure_tasks(3);
  const std::vector<double> p{1, 2, 4};
  EXPECT_EQ(tau.margin(1, p, false), 7);
  EXPECT_EQ(tau.margin(1, p, true), 5);
}

RC_GTEST_PROP(Trust, RowsKeepTheirMeanAndTheWrongLoseTrust, (std::uint64_t seed, bool others)) {
  Rng rng = make_rng(seed, 0);
  Trust tau(std::pmr::get_default_resource());
  const std::size_t K = 2 + below(6, rng);
  tau.ensure_tasks(K);
  for (int round = 0; round < 20; ++round) {
    const auto k = static_cast<Task>(below(K, rng));
    std::vector<double> decay(K);
    for (double& v : decay) v = 0.1 + 0.9 * uniform(rng);
    const Trust before = tau;
    tau.weigh(k, decay, others);
    RC_ASSERT(std::abs(row_mean(tau, k, others) - 1) < 1e-12);
    for (Task m = 0; m < K; ++m)
      for (Task n = 0; n < K; ++n) {
        if (others && (m == k || n == k)) continue;
        // Trust in m against trust in n changes by the ratio of their decays.
        RC_ASSERT(std::abs(tau(k, m) * before(k, n) * decay[n] - tau(k, n) * before(k, m) * decay[m]) < 1e-12);
      }
    if (others) RC_ASSERT(tau(k, k) == before(k, k));
  }
}

TEST(Trust, EqualMembersStayEqualToTheBit) {
  Trust tau(std::pmr::get_default_resource());
  tau.ensure_tasks(15);
  const std::vector<double> decay(15, 0.7);
  for (int n = 0; n < 50; ++n) tau.weigh(3, decay, false);
  for (Task m = 0; m < 15; ++m) EXPECT_EQ(tau(3, m), tau(3, 3));
}

TEST(Trust, WeightsThatWouldAllVanishStay) {
  Trust tau(std::pmr::get_default_resource());
  tau.ensure_tasks(2);
  tau.weigh(0, std::vector<double>{0, 0}, false);
  EXPECT_EQ(tau(0, 0), 1);
  EXPECT_EQ(tau(0, 1), 1);
}

TEST(Trust, ATaskThatComesLateTakesASeatOfMeanWeight) {
  Trust tau(std::pmr::get_default_resource());
  tau.ensure_tasks(2);
  tau.weigh(0, std::vector<double>{1, 0.25}, false);
  tau.ensure_tasks(3);
  EXPECT_EQ(tau(0, 2), 1);
  EXPECT_NEAR(row_mean(tau, 0, false), 1, 1e-15);
}

TEST(Trust, UnpackRefusesNegativeTrust) {
  Trust tau(std::pmr::get_default_resource());
  EXPECT_THROW(tau.unpack({1, {-0.5}}), DataError);
  EXPECT_THROW(tau.unpack({2, {1, 1, 1}}), DataError);
  EXPECT_NO_THROW(tau.unpack({1, {1}}));
}

}  // namespace
}  // namespace quorate::test
