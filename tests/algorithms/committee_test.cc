// Identities that tie peer and amlc to learners that are simpler.
#include <gtest/gtest.h>

#include "quorate/learner.h"
#include "support/make.h"

namespace quorate::test {
namespace {

std::vector<Outcome> play(const std::string& spec, const Stream& s, std::size_t K, std::uint64_t seed = 4) {
  NameTable tasks;
  for (std::size_t i = 0; i < K; ++i) tasks.intern("t" + std::to_string(i));
  Session session(parse_spec(spec), {.seed = seed, .tasks = &tasks});
  std::vector<Outcome> out;
  for (std::size_t n = 0; n < s.size(); ++n) out.push_back(feed_one(session, s.example(n), s.y[n]));
  return out;
}

// A sampling perceptron of one task, written out: fires when the predicted label, -1 at 0 (or +1, for PEER), is wrong.
std::vector<Outcome> sampling_perceptron(const Stream& s, double b, int at_zero, std::uint64_t seed) {
  Rng rng = make_rng(seed, 1);
  std::vector<double> w(s.x[0].value.size());
  std::vector<Outcome> out;
  for (std::size_t n = 0; n < s.size(); ++n) {
    Outcome outcome;
    for (std::size_t f = 0; f < w.size(); ++f) outcome.decision.margin += w[f] * s.x[n].value[f];
    const double p = outcome.decision.margin;
    outcome.asked = uniform(rng) < b / (b + std::abs(p));
    const int says = p > 0 ? 1 : p < 0 ? -1 : at_zero;
    outcome.updated = outcome.asked && says != s.y[n];
    if (outcome.updated)
      for (std::size_t f = 0; f < w.size(); ++f) w[f] += s.y[n] * s.x[n].value[f];
    out.push_back(outcome);
  }
  return out;
}

TEST(Committees, OfOneTaskAreTheSamplingPerceptron) {
  const Stream s = make_stream(300, 1, 5, 21);
  for (const auto& [spec, at_zero] : {std::pair{"amlc(query=margin(b=0.3))", -1}, {"peer(b=0.3)", 1}}) {
    const auto ours = play(spec, s, 1), plain = sampling_perceptron(s, 0.3, at_zero, 4);
    for (std::size_t n = 0; n < s.size(); ++n) {
      ASSERT_NEAR(ours[n].decision.margin, plain[n].decision.margin, 1e-5) << spec << ", example " << n;
      ASSERT_EQ(ours[n].asked, plain[n].asked) << spec << ", example " << n;
      ASSERT_EQ(ours[n].updated, plain[n].updated) << spec << ", example " << n;
    }
  }
}

TEST(Committees, PeerCountsAndLearnsTheSamePredictionAtZero) {
  NameTable tasks = task_names(2);
  Session session(parse_spec("peer"), {.seed = 1, .tasks = &tasks});
  EXPECT_FALSE(feed_one(session, {0, dense({1, 0})}, 1).updated) << "0 predicts +1";
  EXPECT_EQ(session.total().mistakes, 0u);
  EXPECT_TRUE(feed_one(session, {1, dense({0, 1})}, -1).updated);
  EXPECT_EQ(session.total().mistakes, 1u);
  EXPECT_EQ(predicted(session.learner().score({0, dense({1, 0})})), 1);
}

TEST(Committees, ThatLearnNoTrustAndShareNothingAreThePlainSum) {
  constexpr std::size_t K = 4, d = 5;
  const Stream s = make_stream(300, K, d, 22);
  const auto ours = play("amlc(c=0, share=none, query=margin(b=0.5))", s, K),
             mean = play("amlc(c=0, share=none, query=margin(b=0.125), rows=one)", s, K);
  std::vector<std::vector<double>> w(K, std::vector<double>(d));
  for (std::size_t n = 0; n < s.size(); ++n) {
    double sum = 0;
    for (const auto& weights : w)
      for (std::size_t f = 0; f < d; ++f) sum += weights[f] * s.x[n].value[f];
    ASSERT_NEAR(ours[n].decision.margin, sum, 1e-5) << "example " << n;
    // The mean is the sum over K, so b / K asks for the same labels.
    ASSERT_NEAR(mean[n].decision.margin, sum / K, 1e-5) << "example " << n;
    ASSERT_EQ(mean[n].asked, ours[n].asked) << "example " << n;
    if (ours[n].asked && predicted(ours[n].decision.margin) != s.y[n])
      for (std::size_t f = 0; f < d; ++f) w[s.task[n]][f] += s.y[n] * s.x[n].value[f];
  }
}

TEST(Committees, WhoseMembersAreAllAlikeStayAlike) {
  // docs/papers.md section 3 with share=label: from equal weights every update reaches every task, to the last bit.
  constexpr std::size_t K = 15;
  NameTable tasks;
  for (std::size_t i = 0; i < K; ++i) tasks.intern("t" + std::to_string(i));
  Session session(parse_spec("amlc"), {.seed = 1, .tasks = &tasks});
  const Stream s = make_stream(400, K, 6, 23);
  for (std::size_t n = 0; n < s.size(); ++n) feed_one(session, s.example(n), s.y[n]);
  EXPECT_GT(session.total().updates, 10u);
  for (Task k = 1; k < K; ++k) {
    EXPECT_NEAR(session.learner().score({k, s.x[0]}), session.learner().score({0, s.x[0]}), 1e-12);
    EXPECT_EQ(session.learner().influence(k, 0), session.learner().influence(k, k));
  }
}

TEST(Committees, CountWhomListeningHurtAndHelped) {
  constexpr std::size_t K = 3;
  const Stream s = make_stream(600, K, 4, 24);
  for (const char* spec : {"amlc(share=none)", "peer"}) {
    NameTable tasks;
    for (std::size_t i = 0; i < K; ++i) tasks.intern("t" + std::to_string(i));
    Session session(parse_spec(spec), {.seed = 1, .tasks = &tasks});
    for (std::size_t n = 0; n < s.size(); ++n) feed_one(session, s.example(n), s.y[n]);
    std::uint64_t hurt = 0, helped = 0;
    for (Task k = 0; k < K; ++k) {
      const auto peer_benefit = session.learner().peer_benefit(k);
      EXPECT_LE(peer_benefit.hurt + peer_benefit.helped, session.count(k).labels);
      hurt += peer_benefit.hurt;
      helped += peer_benefit.helped;
    }
    EXPECT_GT(hurt, 0u) << spec;
    EXPECT_GT(helped, 0u) << spec;
  }
  const Session alone(parse_spec("perceptron"), {.seed = 1});
  EXPECT_FALSE(alone.capabilities().peer_benefit);
}

}  // namespace
}  // namespace quorate::test
