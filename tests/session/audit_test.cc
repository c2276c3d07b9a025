#include "quorate/session/audit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "quorate/store/state.h"

namespace quorate::test {
namespace {

using testing::HasSubstr;

/// A made run: chance of asking for a label at example t (from 1), and of an error with so many labels learned from.
struct World {
  std::function<double(double t)> asks;
  std::function<double(double labels)> error;
  std::size_t examples = 8000, round = 1;
  double share = 0.1;
  std::uint64_t limit = LabelLimits::kNone;
  double floor = 0;
};

/// What happened in it. The learner asks twice as often for an example that it gets wrong.
struct History {
  Audit audit;
  std::uint64_t learned = 0, mistakes_before = 0;
  double errors = 0;                  // of the examples with p > 0
  std::vector<double> p, error;       // of every example: its chance, and its expected error
  std::vector<std::uint64_t> labels;  // learned at its round
  double true_recent() const {        // what recent() estimates
    double sum = 0, weight = 0;
    for (std::size_t i = 0; i < p.size(); ++i)
      if (2 * labels[i] >= labels.back()) {
        sum += p[i] * error[i];
        weight += p[i];
      }
    return 1 - sum / weight;
  }
  double true_stream() const { return 1 - errors / static_cast<double>(audit.covered()); }
};

/// after: called after every round; stops if it returns true.
History run(const World& world, std::uint64_t seed, const std::function<bool(const History&)>& after = {}) {
  History out{Audit(world.share, world.floor), 0, 0, 0, {}, {}, {}};
  Rng rng = make_rng(seed, 0), coins = make_rng(seed, 1);
  for (std::size_t t = 0; t < world.examples; t += world.round) {
    out.audit.begin(world.round, out.learned, world.limit);
    const std::uint64_t before = out.learned;
    for (std::size_t n = 0; n < world.round; ++n) {
      const double p = out.audit.probability(), chance = world.error(static_cast<double>(before));
      const bool wrong = uniform(rng) < chance;
      const double ask = world.asks(static_cast<double>(t + n + 1)) * (wrong ? 2 : 1);
      const bool asked = uniform(rng) < ask && out.learned < out.audit.learning_limit(world.limit);
      out.p.push_back(p);
      out.error.push_back(chance);
      out.labels.push_back(before);
      if (p > 0) out.errors += wrong;
      if (out.audit.draw(coins)) {
        out.audit.record(1, wrong ? kNo : kYes);
      } else if (asked) {
        ++out.learned;
        out.mistakes_before += wrong;
      }
    }
    if (after && after(out)) break;
  }
  return out;
}

double falling(double t) { return std::min(1.0, 5 / std::sqrt(t)); }
double learning(double labels) { return 0.05 + 0.45 / (1 + labels / 100); }

World improving(double share = 0.1) { return {falling, learning, 8000, 1, share}; }

TEST(Audit, TheWeightedShareIsUnbiasedWhereLabelsComeEarlyAndTheErrorFalls) {
  double weighted = 0, plain = 0, online = 0, truth = 0;
  constexpr int kRuns = 300;
  for (int r = 0; r < kRuns; ++r) {
    const History one = run(improving(0.2), 1000 + static_cast<std::uint64_t>(r));
    const Audit::Packed packed = one.audit.pack();
    double mistakes = 0;
    for (const std::uint64_t m : packed.mistakes) mistakes += static_cast<double>(m);
    weighted += one.audit.stream().value / kRuns;
    plain += (1 - mistakes / static_cast<double>(one.audit.scored())) / kRuns;
    online += (1 - static_cast<double>(one.mistakes_before) / static_cast<double>(one.learned)) / kRuns;
    truth += one.true_stream() / kRuns;
  }
  EXPECT_NEAR(weighted, truth, 0.004) << "standard error about 0.0015: " << plain << online;
  EXPECT_LT(plain, truth - 0.02) << "audits crowd where labels were bought: early, when the error was large";
  EXPECT_LT(online, truth - 0.05) << "labels asked for are about uncertain examples";
}

/// In how many percent of runs the intervals hold what they estimate: stream(), recent().
std::pair<double, double> coverage(const World& world, int runs) {
  int stream = 0, now = 0, of_stream = 0, of_now = 0;  // runs without an audit say nothing
  for (int r = 0; r < runs; ++r) {
    const History one = run(world, static_cast<std::uint64_t>(r));
    const Estimate s = one.audit.stream(), n = one.audit.recent();
    of_stream += s.examples > 0;
    of_now += n.examples > 0;
    stream += s.low <= one.true_stream() && one.true_stream() <= s.high;
    now += n.low <= one.true_recent() && one.true_recent() <= n.high;
  }
  EXPECT_GT(of_now, runs / 2);
  return {100.0 * stream / of_stream, 100.0 * now / of_now};
}

TEST(Audit, IntervalsHoldTheTruthInMostRuns) {
  const std::pair<const char*, World> worlds[] = {
      {"labels early, error falls", improving()},
      {"evenly", {[](double) { return 0.1; }, learning}},
      {"in bursts", {[](double t) { return std::fmod(t, 2000) < 1000 ? 0.2 : 0.002; }, learning}},
      {"in rounds of 20", {falling, learning, 8000, 20}},
      {"a limit soon reached", {falling, learning, 8000, 1, 0.1, 500}},
      {"few errors", {falling, [](double) { return 0.02; }}},
      {"errors that rise and fall", {falling, [](double l) { return 0.3 + 0.2 * std::sin(l / 50); }}},
  };
  for (const auto& [name, world] : worlds) {
    SCOPED_TRACE(name);
    const std::pair<double, double> percent = coverage(world, 500);
    EXPECT_GE(percent.first, 90);
    EXPECT_GE(percent.second, 90);
    // Exact intervals are wide where errors are few: one error in 50 is 0.05 to 10 %.
    const double most = world.error(1e9) < 0.03 ? 99.9 : 99;
    EXPECT_LE(percent.first, most);
    EXPECT_LE(percent.second, most);
  }
}

TEST(Audit, IntervalsHoldTheTruthAtSmallNumbersToo) {
  const auto once = [](double t) { return t < 100 ? 0.9 : 0.0; };
  const std::pair<const char*, World> worlds[] = {
      {"nine audits, few errors", {once, [](double) { return 0.02; }}},
      {"nine audits, some errors", {once, [](double) { return 0.1; }}},
      {"nine audits, many errors", {once, [](double) { return 0.4; }}},
      {"nine audits, errors fall", {once, learning}},
      {"two audits", {once, [](double) { return 0.05; }, 8000, 1, 0.02}},
      {"a floor", {once, [](double) { return 0.05; }, 8000, 1, 0.05, LabelLimits::kNone, 0.002}},
  };
  for (const auto& [name, world] : worlds) {
    SCOPED_TRACE(name);
    const std::pair<double, double> percent = coverage(world, 500);
    EXPECT_GE(percent.first, 93);
    EXPECT_GE(percent.second, 93);
  }
}

TEST(Audit, IntervalsHoldTheTruthWithFiveToAHundredAudits) {
  struct Case {
    double audits, asked_until, share;
  };
  const std::pair<const char*, std::function<double(double)>> errors[] = {{"few errors", [](double) { return 0.02; }},
                                                                          {"some errors", [](double) { return 0.1; }},
                                                                          {"many errors", [](double) { return 0.4; }},
                                                                          {"errors fall", learning}};
  for (const Case& c : {Case{5, 100, 0.05}, Case{10, 100, 0.1}, Case{30, 300, 0.1}, Case{100, 1000, 0.1}})
    for (const auto& [name, error] : errors) {
      SCOPED_TRACE(name + (", audits: " + std::to_string(c.audits)));
      const auto early = [&](double t) { return t < c.asked_until ? 0.9 : 0.0; };
      const World world{early, error, 8000, 1, c.share};
      EXPECT_NEAR(static_cast<double>(run(world, 1).audit.scored()), c.audits, 0.2 * c.audits);
      const std::pair<double, double> percent = coverage(world, 200);
      EXPECT_GE(percent.first, 93);
      EXPECT_GE(percent.second, 93);
    }
}

TEST(Audit, AFloorAuditsARunThatStoppedAsking) {
  const auto once = [](double t) { return t < 100 ? 0.9 : 0.0; };
  World world{once, learning, 20'000};
  EXPECT_LE(run(world, 1).audit.scored(), 12u) << "a tenth of the labels";
  world.floor = 0.005;
  const History floored = run(world, 1);
  EXPECT_GE(floored.audit.scored(), 100u) << "what the floor promises, in full";
  EXPECT_LE(floored.audit.scored(), 112u) << "and no more than the share of the labels besides";
  EXPECT_GE(*std::min_element(floored.p.begin(), floored.p.end()), 0.005);
  // Within a label limit the share of it is reserved, and no more.
  world.limit = 300;
  EXPECT_LE(run(world, 1).audit.bought(), 30u);
  // Before the first label, too.
  world = {[](double) { return 0.0; }, learning, 10'000};
  world.floor = 0.01;
  EXPECT_NEAR(static_cast<double>(run(world, 2).audit.scored()), 100, 1);
}

TEST(Audit, SaysThatTheAccuracyFellWhereItDidAndSeldomElse) {
  const auto asks = [](double) { return 0.1; };
  const auto falls_in = [&](const std::function<double(double)>& error) {
    int out = 0;
    for (std::uint64_t seed = 0; seed < 400; ++seed) out += run({asks, error, 8000, 1, 0.2}, seed).audit.fell();
    return out;
  };
  EXPECT_LE(falls_in([](double) { return 0.1; }), 8) << "at most 0.5 % of 400, two, are expected";
  EXPECT_LE(falls_in([](double) { return 0.002; }), 8);
  EXPECT_EQ(falls_in(learning), 0);
  EXPECT_GE(falls_in([](double labels) { return labels < 400 ? 0.05 : 0.3; }), 350)
      << "the test finds 94 % of such falls with 75 audits in each half";
  EXPECT_FALSE(Audit(0.1).fell());
  const History one = run({asks, [](double labels) { return labels < 400 ? 0.05 : 0.3; }, 8000, 1, 0.2}, 1);
  EXPECT_GT(one.audit.earlier().value, one.audit.recent().value + 0.1);
  EXPECT_EQ(one.audit.earlier().examples + one.audit.recent().examples, one.audit.scored());
}

TEST(Audit, AnIntervalHoldsItsOwnValueWhereAllOrNoneWereRight) {
  for (const int answer : {1, -1}) {
    Audit audit(0.5);
    Rng coins = make_rng(3, 1);
    for (std::uint64_t learned = 1; learned < 400; ++learned) {
      audit.begin(1, learned);
      if (!audit.draw(coins)) continue;
      audit.record(1, answer_of(answer));
      for (const Estimate& a : {audit.stream(), audit.recent()}) {
        EXPECT_EQ(a.value, answer == 1 ? 1 : 0);
        EXPECT_TRUE(0 <= a.low && a.low <= a.value && a.value <= a.high && a.high <= 1) << a.low << ' ' << a.high;
      }
    }
    EXPECT_GT(audit.scored(), 50u);
  }
}

TEST(Audit, NeverMoreThanItsShareAndOneOfAllLabels) {
  for (const double share : {0.01, 0.1, 0.5, 0.9})
    for (const std::size_t round : {1u, 7u, 100u}) {
      World world{falling, learning, 7000, round, share};
      double worst = 0;
      const History one = run(world, 5, [&](const History& so_far) {
        const double audits = static_cast<double>(so_far.audit.bought()), learned = static_cast<double>(so_far.learned);
        worst = std::max(worst, audits - share * (audits + learned));
        return false;
      });
      EXPECT_LE(worst, 1) << share << ' ' << round;
      const double audits = static_cast<double>(one.audit.bought()), all = audits + static_cast<double>(one.learned);
      EXPECT_GE(audits, 0.8 * share * all - 1) << share << ' ' << round << ": near its share in the end";
    }
}

TEST(Audit, TheReserveOfALimitIsNeverSpentOnLearningAndAuditsGoOnAfterIt) {
  for (const std::uint64_t limit : {1u, 2u, 30u, 200u, 1000u})
    for (const std::size_t round : {1u, 50u}) {
      World world{falling, learning, 20000, round, 0.1, limit};
      std::uint64_t when_spent = 0;
      const History one = run(world, 9, [&](const History& so_far) {
        EXPECT_LE(so_far.learned + so_far.audit.bought(), limit);
        if (so_far.learned < so_far.audit.learning_limit(limit)) when_spent = so_far.audit.bought();
        return false;
      });
      const std::uint64_t reserve =
          limit == 1 ? 0 : static_cast<std::uint64_t>(std::round(0.1 * static_cast<double>(limit)));
      EXPECT_EQ(one.audit.reserve(limit), reserve);
      EXPECT_EQ(one.learned, limit - reserve);
      EXPECT_LE(one.audit.bought(), reserve);
      if (limit < 200) continue;
      EXPECT_GE(one.audit.bought(), reserve * 9 / 10);
      EXPECT_GE(one.audit.bought(), when_spent + reserve / 10) << "the final model is judged too";
    }
  EXPECT_EQ(Audit(0.1).reserve(LabelLimits::kNone), 0u);
  EXPECT_EQ(Audit(0.1).learning_limit(LabelLimits::kNone), LabelLimits::kNone);
  EXPECT_EQ(Audit(0.9).reserve(1), 0u);
  EXPECT_EQ(Audit(0.9).reserve(2), 1u);
  EXPECT_EQ(Audit(0.1).reserve(0), 0u);
}

TEST(Audit, AModelThatLearnedBeforeOwesNoAudits) {
  Audit audit(0.1);
  Rng coins = make_rng(1, 1);
  for (std::uint64_t t = 0; t < 1000; ++t) {
    audit.begin(1, 5000 + t / 2);
    if (audit.draw(coins)) audit.record(1, kYes);
  }
  EXPECT_GE(audit.bought(), 45u);
  EXPECT_LE(audit.bought(), 56u) << "a tenth of the 500 labels bought since, and of themselves";
}

TEST(Audit, ALimitLoweredOrRaisedIsKept) {
  Audit audit(0.2);
  Rng coins = make_rng(3, 1);
  const auto go = [&](int examples, std::uint64_t learned, std::uint64_t limit) {
    for (int i = 0; i < examples; ++i) {
      audit.begin(1, learned, limit);
      if (audit.draw(coins)) audit.record(1, kYes);
    }
  };
  go(1, 0, 100);
  go(1000, 80, 100);
  EXPECT_GE(audit.bought(), 18u);
  EXPECT_LE(audit.bought(), 20u);
  const std::uint64_t before = audit.bought();
  go(1000, 80, 90);
  go(1000, 80, 0);
  EXPECT_EQ(audit.bought(), before);
  go(1000, 160, 200);
  EXPECT_GT(audit.bought(), before + 5);
  EXPECT_LE(audit.bought(), 40u);
}

TEST(Audit, TheChanceOfAnExampleIsWhatItSays) {
  // In rounds, with a limit that is reached in the middle: audits counted by parts of the stream, against the sum of p.
  std::vector<double> parts(4, 0), expected(4, 0);
  for (std::uint64_t r = 0; r < 3000; ++r) {
    Audit audit(0.2);
    Rng coins = make_rng(r, 1);
    std::uint64_t learned = 0;
    for (std::size_t t = 0; t < 2000; t += 10) {
      learned = std::min<std::uint64_t>(audit.learning_limit(300), t < 600 ? t / 2 + 10 : learned);
      audit.begin(10, t == 0 ? 0 : learned, 300);
      for (int n = 0; n < 10; ++n) {
        expected[t / 500] += audit.probability();
        if (audit.draw(coins)) {
          parts[t / 500] += 1;
          audit.record(1, kYes);
        }
      }
    }
  }
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(parts[i] / expected[i], 1, 0.02) << i << ": " << expected[i];
}

TEST(Audit, NothingIsAuditedBeforeTheFirstLabelNorLongAfterTheLast) {
  Audit audit(0.5);
  Rng coins = make_rng(1, 1), untouched = coins;
  for (int i = 0; i < 1000; ++i) {
    audit.begin(1, 0);
    EXPECT_FALSE(audit.draw(coins));
  }
  EXPECT_EQ(coins, untouched) << "no draws either";
  EXPECT_EQ(audit.covered(), 0u);
  std::uint64_t t = 0;
  for (; t < 100; ++t) {
    audit.begin(1, 100);
    if (audit.draw(coins)) audit.record(1, kYes);
  }
  for (; t < 100000; ++t) {
    audit.begin(1, 100);
    if (audit.draw(coins)) audit.record(1, kYes);
  }
  EXPECT_EQ(audit.probability(), 0);
  EXPECT_LT(audit.covered(), 50000u);
  audit.begin(1, 200);
  EXPECT_GT(audit.probability(), 0) << "labels are bought again";
}

TEST(Audit, AnswersThatAreMissingCostNothingAndNeitherCountsAsALabelOnly) {
  Audit audit(0.5);
  Rng coins = make_rng(1, 1);
  std::uint64_t asked = 0;
  audit.begin(1, 0);
  for (int i = 0; i < 2000; ++i) {
    audit.begin(1, 50);
    if (audit.draw(coins)) {
      audit.record(1, std::nullopt);
      ++asked;
    }
  }
  EXPECT_EQ(audit.bought(), 0u);
  EXPECT_GT(asked, 200u) << "it goes on asking";
  for (int i = 0; i < 20000; ++i) {
    audit.begin(1, 50);
    if (audit.draw(coins)) audit.record(1, kNeither);
  }
  EXPECT_GE(audit.bought(), 45u);
  EXPECT_LE(audit.bought(), 51u);
  EXPECT_EQ(audit.scored(), 0u);
  EXPECT_TRUE(std::isnan(audit.stream().value));
  EXPECT_TRUE(std::isnan(audit.recent().low));
}

/// Bins as given: labels, audits, mistakes, weight, squares, wrong; every audit of a unit.
Audit audit_of(const std::vector<Audit::Bin>& bins, double share = 0.5) {
  Audit::Packed packed = Audit(share).pack();
  for (const Audit::Bin& bin : bins) {
    packed.labels.push_back(bin.labels);
    packed.audits.push_back(bin.audits);
    packed.mistakes.push_back(bin.mistakes);
    packed.weight.push_back(bin.weight);
    packed.squares.push_back(bin.squares);
    packed.wrong.push_back(bin.wrong);
    packed.bought += bin.audits;
    packed.width = bins[0].audits;
    packed.learned = std::max(packed.learned, bin.labels / bin.audits);
  }
  packed.units = packed.bought;
  packed.spent = static_cast<double>(packed.units);
  packed.mark = packed.spent;
  packed.seen = packed.covered = packed.learned + packed.units;
  Audit out(share);
  out.unpack(packed);
  return out;
}

TEST(Audit, EstimatesByHand) {
  // Weights 1, 1, 2 and 4; mistakes at 1 and 2: 3/8 wrong; 8^2 / (1 + 1 + 4 + 16) effective. The last two are since half of
  // 100.
  const Audit audit = audit_of({{10, 1, 1, 1, 1, 1}, {49, 1, 0, 1, 1, 0}, {50, 1, 1, 2, 4, 2}, {100, 1, 0, 4, 16, 0}});
  const Estimate all = audit.stream(), now = audit.recent();
  EXPECT_DOUBLE_EQ(all.value, 1 - 3.0 / 8);
  EXPECT_EQ(all.examples, 4u);
  EXPECT_DOUBLE_EQ(all.effective, 64.0 / 22);
  EXPECT_DOUBLE_EQ(now.value, 0.5);
  EXPECT_EQ(now.examples, 2u);
  EXPECT_EQ(now.effective, 2);
  // Clopper and Pearson's interval of 1 of 2 is 1 - sqrt(0.975) to sqrt(0.975); of 40 of 50: 0.6628 to 0.8997.
  EXPECT_NEAR(now.low, 1 - std::sqrt(0.975), 1e-9);
  EXPECT_NEAR(now.high, std::sqrt(0.975), 1e-9);
  const Estimate fifty = audit_of({{500, 50, 10, 100, 200, 20}}).recent();
  EXPECT_NEAR(fifty.low, 0.6628, 1e-4);
  EXPECT_NEAR(fifty.high, 0.8997, 1e-4);
  EXPECT_EQ(audit_of({{500, 50, 0, 100, 200, 0}}).recent().high, 1);
}

TEST(Audit, MemoryIsBoundedAndMergingKeepsWhatItEstimates) {
  Memory memory;
  Audit audit(0.5, 0, &memory);
  Rng coins = make_rng(1, 1), rng = make_rng(1, 2);
  std::vector<std::pair<double, bool>> audited;
  for (std::uint64_t i = 1; i < 80000; ++i) {
    audit.begin(1, i / 8);
    if (!audit.draw(coins)) continue;
    const bool mistake = uniform(rng) < 0.3;
    const std::size_t allowed = audit.bytes_to_add(), before = memory.bytes();
    audit.record(-1, mistake ? kYes : kNo);
    EXPECT_LE(memory.bytes(), before + allowed);
    audited.emplace_back(1 / audit.probability(), mistake);
  }
  double weight = 0, wrong = 0;
  for (const auto& [w, mistake] : audited) {
    weight += w;
    wrong += mistake ? w : 0;
  }
  EXPECT_GT(audited.size(), 16 * Audit::kMost);
  EXPECT_EQ(audit.scored(), audited.size());
  EXPECT_LE(audit.pack().audits.size(), Audit::kMost);
  EXPECT_LE(memory.peak(), Audit::kMost * sizeof(Audit::Bin) * 3 / 2);
  EXPECT_NEAR(audit.stream().value, 1 - wrong / weight, 1e-3) << "the same but for audits that count twice";
  const double half = static_cast<double>(audited.size()) / 2;
  EXPECT_NEAR(static_cast<double>(audit.recent().examples), half, 0.1 * half);
}

TEST(Audit, UnderALimitTheirRoomIsTakenAtOnceIfThereIsEnough) {
  for (const std::size_t limit : {100'000u, 30'000u}) {
    Memory memory(limit), there(limit);
    Audit audit(0.5, 0, &memory);
    const std::size_t room = limit == 100'000 ? Audit::kMost * sizeof(Audit::Bin) : 0;
    EXPECT_EQ(memory.bytes(), room);
    Rng coins = make_rng(1, 1);
    for (std::uint64_t i = 1; i < 4'000; ++i) {
      audit.begin(1, i / 8);
      if (room == 0 && audit.scored() == 200) break;
      if (audit.draw(coins)) audit.record(-1, i % 3 == 0 ? kYes : kNo);
    }
    if (room > 0) {
      EXPECT_EQ(memory.peak(), room);
    }
    Tensors tensors;
    Writer{tensors}("audit", audit);
    Audit loaded(0.5, 0, &there);
    Reader{tensors}("audit", loaded);
    EXPECT_EQ(there.bytes(), memory.bytes()) << limit;
    EXPECT_EQ(loaded.stream().value, audit.stream().value);
  }
}

TEST(Audit, SavedAndContinuedIsAsIfNeverSaved) {
  for (const std::uint64_t pause : {1u, 700u, 9000u}) {
    Audit whole(0.3), first(0.3);
    Rng coins = make_rng(1, 1), rng = make_rng(1, 2);
    std::string log_whole, log_second;
    const auto go = [](Audit& audit, Rng& c, Rng& e, std::uint64_t from, std::uint64_t to, std::string& log) {
      for (std::uint64_t i = from; i < to; ++i) {
        audit.begin(1, i / 3);
        if (audit.draw(c)) {
          const double u = uniform(e);
          audit.record(1, u < 0.1 ? std::nullopt : std::optional(u < 0.15 ? kNeither : u < 0.35 ? kNo : kYes));
          log += std::to_string(i) + ' ';
        }
      }
    };
    std::string before;
    go(first, coins, rng, 0, pause, before);
    Rng coins_whole = make_rng(1, 1), rng_whole = make_rng(1, 2);
    go(whole, coins_whole, rng_whole, 0, 20000, log_whole);
    Tensors tensors;
    Writer writer(tensors);
    writer("audit", first);
    Audit second(0.9);
    Reader reader(tensors);
    reader("audit", second);
    reader.finish();
    go(second, coins, rng, pause, 20000, log_second);
    EXPECT_EQ(before + log_second, log_whole) << pause;
    EXPECT_EQ(second.share(), 0.3);
    EXPECT_EQ(second.stream().value, whole.stream().value);
    EXPECT_EQ(second.covered(), whole.covered());
    Tensors a, b;
    Writer{a}("audit", second);
    Writer{b}("audit", whole);
    for (const auto& [name, tensor] : a.tensors) EXPECT_EQ(tensor.bytes, b.tensors.at(name).bytes) << name;
  }
}

TEST(Audit, AStateThatDoesNotFitIsRefusedAndNothingIsFilled) {
  const double nan = std::nan("");
  const std::vector<std::function<void(Audit::Packed&)>> damages = {
      [](auto& p) { p.share = 1; },
      [=](auto& p) { p.share = nan; },
      [](auto& p) { p.spent = -1; },
      [=](auto& p) { p.spent = nan; },
      [](auto& p) { p.units += 1; },
      [](auto& p) { p.units = ~std::uint64_t{0}; },
      [](auto& p) { p.mark = -1; },
      [=](auto& p) { p.mark = nan; },
      [](auto& p) { p.refunded = p.units + 1; },
      [](auto& p) { p.bought = p.units + 1; },
      [](auto& p) { p.bought = 0; },
      [](auto& p) { p.covered = p.seen + 1; },
      [](auto& p) { p.base = p.learned + 1; },
      [](auto& p) { p.learned = 1; },
      [](auto& p) { p.width = 0; },
      [](auto& p) { p.labels.pop_back(); },
      [](auto& p) { p.wrong.push_back(0); },
      [](auto& p) { p.audits[0] = 0; },
      [](auto& p) { p.audits.back() = 0; },
      [](auto& p) { p.audits.back() = ~std::uint64_t{0}; },
      [](auto& p) { p.mistakes[1] = 2; },
      [](auto& p) { p.labels[0] = 0; },
      [](auto& p) { p.labels[0] = p.learned + 1; },
      [](auto& p) { p.weight[0] = 0; },
      [=](auto& p) { p.weight[0] = nan; },
      [](auto& p) { p.squares[0] = std::numeric_limits<double>::infinity(); },
      [](auto& p) { p.wrong[0] = p.weight[0] * 2; },
      [](auto& p) { p.wrong[0] = -1; },
      [](auto& p) { p.labels.assign(600, 1), p.audits.assign(600, 1), p.mistakes.assign(600, 0); },
  };
  const Audit good = run(improving(), 1).audit;
  for (std::size_t i = 0; i < damages.size(); ++i) {
    Audit::Packed packed = good.pack();
    damages[i](packed);
    Audit audit(0.5);
    EXPECT_THROW(audit.unpack(packed), DataError) << i;
    EXPECT_EQ(audit.share(), 0.5);
    EXPECT_EQ(audit.scored(), 0u);
  }
}

TEST(Audit, RefusesSharesThatAreNone) {
  EXPECT_THROW(Audit(0), UsageError);
  EXPECT_THROW(Audit(0.1, 1), UsageError);
  EXPECT_THROW(Audit(0.1, -0.1), UsageError);
  EXPECT_THROW(Audit(1), UsageError);
  EXPECT_THROW(Audit(std::nan("")), UsageError);
  EXPECT_THROW(Audit(0.1).forecast(1), UsageError);
}

/// The curve of an error whose odds are a power of the labels.
std::function<double(double)> power(double odds, double slope) {
  return [=](double labels) {
    const double o = odds * std::pow(std::max(labels, 1.0) / 100, -slope);
    return o / (1 + o);
  };
}

struct Forecasts {
  int given = 0, held = 0, floor_possible = 0;  // held: the interval holds the truth
};
Forecasts forecasts(const std::function<double(double)>& error, double target, double share, int runs) {
  const World world{[](double t) { return std::min(0.5, 10 / std::sqrt(t)); }, error, 10000, 1, share};
  double needed = 1;
  while (error(needed) > 1 - target && needed < 1e9) needed *= 1.001;
  needed /= 1 - share;
  Forecasts out;
  for (int r = 0; r < runs; ++r) {
    const Forecast f = run(world, static_cast<std::uint64_t>(r)).audit.forecast(target);
    if (!f.none.empty()) continue;
    ++out.given;
    out.held += f.low <= needed && needed <= f.high;
    out.floor_possible += f.floor_possible;
  }
  return out;
}

TEST(Forecast, ItsIntervalHoldsTheTruthWhereItsCurveIsRight) {
  struct Case {
    double odds, slope, target, share;
    int least;  // forecasts given of 200
  };
  for (const Case& c : {Case{0.5, 0.5, 0.9, 0.2, 180}, Case{0.5, 0.5, 0.93, 0.2, 180}, Case{0.5, 0.5, 0.8, 0.2, 180},
                        Case{0.4, 0.3, 0.85, 0.2, 120}, Case{0.8, 1, 0.95, 0.05, 120}, Case{0.5, 0.5, 0.9, 0.05, 60}}) {
    SCOPED_TRACE(std::to_string(c.slope) + " " + std::to_string(c.target) + " " + std::to_string(c.share));
    const Forecasts f = forecasts(power(c.odds, c.slope), c.target, c.share, 200);
    EXPECT_GE(f.given, c.least);
    EXPECT_GE(f.held, 0.9 * f.given);
  }
}

TEST(Forecast, NoTrendNoForecastAndAFloorIsNotOverlooked) {
  EXPECT_LE(forecasts(power(0.3, 0), 0.9, 0.2, 200).given, 10) << "the error does not fall";
  const Forecasts never = forecasts([](double l) { return 0.12 + 0.4 * std::pow(1 + l / 20, -0.7); }, 0.9, 0.2, 200);
  EXPECT_GE(never.floor_possible, 0.95 * never.given) << "it levels off above the target";
  const Forecasts passed = forecasts(power(0.5, 0.5), 0.8, 0.2, 200);
  EXPECT_LE(passed.floor_possible, 0.1 * passed.given) << "the target was passed long ago";
}

TEST(Forecast, IsOnTheCurveThatTheAuditsLieOn) {
  // Mistakes as 1000 audits have them on odds 0.5 (labels / 100)^-0.5. Odds of an error of 0.1 are 1/9: 100 (4.5)^2 = 2025
  // labels, and as many audits again.
  std::vector<Audit::Bin> bins;
  for (const std::uint64_t labels : {50u, 100u, 200u, 400u, 800u, 1600u}) {
    const auto mistakes = static_cast<std::uint64_t>(std::lround(1000 * power(0.5, 0.5)(static_cast<double>(labels))));
    bins.push_back({1000 * labels, 1000, mistakes, 1000, 1000, static_cast<double>(mistakes)});
  }
  const Forecast f = audit_of(bins).forecast(0.9);
  EXPECT_EQ(f.none, "");
  EXPECT_NEAR(f.labels, 4050, 40);
  EXPECT_LT(f.low, 4050);
  EXPECT_GT(f.low, 3000);
  EXPECT_GT(f.high, 4050);
  EXPECT_LT(f.high, 5500);
  EXPECT_THAT(std::string(audit_of(bins).forecast(0.999).none), HasSubstr("10 times"));
  std::reverse(bins.begin(), bins.end());
  for (std::size_t i = 0; i < bins.size(); ++i) bins[i].labels = 1000 * (50u << i);
  EXPECT_THAT(std::string(audit_of(bins).forecast(0.9).none), HasSubstr("do not clearly fall"));
  EXPECT_THAT(std::string(Audit(0.1).forecast(0.9).none), HasSubstr("fewer than 10 mistakes"));
  EXPECT_THAT(std::string(audit_of({{900, 9, 9, 9, 9, 9}}).forecast(0.9).none), HasSubstr("fewer than 10 mistakes"));
  EXPECT_THAT(std::string(audit_of({{9000, 90, 90, 90, 90, 90}}).forecast(0.9).none), HasSubstr("do not clearly fall"));
  EXPECT_TRUE(std::isnan(Audit(0.1).forecast(0.9).labels));
  // An error that stays at 0.2 after a steep fall.
  const std::vector<Audit::Bin> flat{{10000, 1000, 600, 1000, 1000, 600},
                                     {100000, 1000, 200, 1000, 1000, 200},
                                     {400000, 1000, 200, 1000, 1000, 200},
                                     {1600000, 1000, 200, 1000, 1000, 200}};
  EXPECT_THAT(std::string(audit_of(flat).forecast(0.81).none), HasSubstr("level off"));
}

}  // namespace
}  // namespace quorate::test
