// Two learners that must be one under some setting.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <functional>

#include "quorate/graph/task_graph.h"
#include "quorate/learner.h"
#include "support/make.h"
#include "support/temp.h"

namespace quorate::test {
namespace {

std::vector<Outcome> ran(const std::string& spec, const Stream& s, Task K, std::uint64_t labels = LabelLimits::kNone) {
  const NameTable names = task_names(K);
  Session session(parse_spec(spec), {.seed = 5, .limits = {.total = labels}, .tasks = &names});
  return feed(session, s);
}

void expect_near(const std::vector<Outcome>& a, const std::vector<Outcome>& b, double relative) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t n = 0; n < a.size(); ++n) {
    const double m = a[n].decision.margin;
    ASSERT_NEAR(m, b[n].decision.margin, relative * (1 + std::abs(m))) << "example " << n;
    ASSERT_EQ(a[n].asked, b[n].asked) << "example " << n;
    ASSERT_EQ(a[n].updated, b[n].updated) << "example " << n;
  }
}

std::uint64_t asked(const std::vector<Outcome>& steps) {
  std::uint64_t n = 0;
  for (const Outcome& s : steps) n += s.asked;
  return n;
}

std::string everyone_in_one_group(const TempDir& dir, Task K) {
  std::string text = "task,group\n";
  for (Task i = 0; i < K; ++i) text += task_name(i) + ",all\n";
  return dir.write("one.csv", text);
}
std::string every_edge(const TempDir& dir, Task K) {
  std::string text = "from,to\n";
  for (Task i = 0; i < K; ++i)
    for (Task j = 0; j < i; ++j) text += task_name(i) + "," + task_name(j) + "\n";
  return dir.write("edges.csv", text);
}

TEST(Identities, CmtlWithoutCouplingIsThePerceptronToTheBit) {
  for (const std::string query : {"always", "random(p=0.3)", "margin(b=0.1)"})
    for (const bool holes : {false, true}) {
      const Stream s = make_stream(400, 5, 6, 31, holes);
      EXPECT_EQ(ran("cmtl(graph=disconnected, query=" + query + ")", s, 5), ran("perceptron(query=" + query + ")", s, 5));
    }
}

TEST(Identities, CmtlOfOneTaskIsThePerceptron) {
  const TempDir dir;
  const Stream s = make_stream(300, 1, 6, 32);
  const auto perceptron = ran("perceptron", s, 1);
  EXPECT_EQ(ran("cmtl", s, 1), perceptron);
  EXPECT_EQ(ran("cmtl(graph=cliques(file=" + everyone_in_one_group(dir, 1) + "))", s, 1), perceptron);
  expect_near(ran("amtl", s, 1), perceptron, 1e-6);
}

TEST(Identities, OneCliqueOfAllTasksIsTheCompleteGraphToTheBit) {
  const TempDir dir;
  const std::string graph = "graph=cliques(file=" + everyone_in_one_group(dir, 5) + ")";
  for (const std::string query : {"always", "margin(b=0.3)"}) {
    const Stream s = make_stream(400, 5, 6, 33, true);
    EXPECT_EQ(ran("cmtl(" + graph + ", query=" + query + ")", s, 5), ran("cmtl(query=" + query + ")", s, 5));
    EXPECT_EQ(ran("amtl(" + graph + ", query=" + query + ")", s, 5), ran("amtl(query=" + query + ")", s, 5));
  }
}

TEST(Identities, AnEdgeListOfAllPairsIsTheCompleteGraph) {
  const TempDir dir;
  const std::string graph = "graph=edges(file=" + every_edge(dir, 5) + ")";
  const Stream s = make_stream(300, 5, 6, 34);
  expect_near(ran("cmtl(" + graph + ")", s, 5), ran("cmtl", s, 5), 1e-5);
  expect_near(ran("amtl(" + graph + ")", s, 5), ran("amtl", s, 5), 1e-5);
}

TEST(Identities, AmtlWithoutCouplingIsThePerceptron) {
  for (const std::string query : {"always", "random(p=0.3)", "margin(b=0.1)"}) {
    const Stream s = make_stream(300, 5, 6, 35);
    expect_near(ran("amtl(graph=disconnected, query=" + query + ")", s, 5), ran("perceptron(query=" + query + ")", s, 5),
                1e-6);
  }
}

TEST(Identities, AmtlOfTinyWeightsIsCmtl) {
  // |w_j - w_i|^2 stays below 1e-6, so that every U is 1 up to 1e-6.
  Stream s = make_stream(300, 4, 6, 36);
  for (Vector& x : s.x)
    for (double& v : x.value) v *= 1e-4;
  const auto a = ran("amtl", s, 4), b = ran("cmtl", s, 4);
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t n = 0; n < a.size(); ++n) {
    EXPECT_NEAR(a[n].decision.margin * 1e8, b[n].decision.margin * 1e8, 1e-4) << n;
    EXPECT_EQ(a[n].updated, b[n].updated);
  }
}

TEST(Identities, AmtlIsCmtlUntilTheSecondMistake) {
  const Stream s = make_stream(50, 4, 6, 37);
  const auto a = ran("amtl", s, 4), b = ran("cmtl", s, 4);
  int updates = 0;
  for (std::size_t n = 0; n < a.size() && updates < 2; ++n) {
    EXPECT_NEAR(a[n].decision.margin, b[n].decision.margin, 1e-6);
    updates += a[n].updated;
  }
  EXPECT_EQ(updates, 2);
}

TEST(Identities, EndlessDoubtAsksForEverything) {
  const Stream s = make_stream(300, 4, 6, 38);
  for (const std::string learner : {"perceptron", "cmtl", "amtl"}) {
    const auto always = ran(learner + "(query=always)", s, 4);
    for (const std::string query : {"margin(b=1e300)", "random(p=1)"}) {
      const auto other = ran(learner + "(query=" + query + ")", s, 4);
      for (std::size_t n = 0; n < s.size(); ++n) {
        EXPECT_TRUE(same_bits(always[n].decision.margin, other[n].decision.margin));
        EXPECT_TRUE(other[n].asked);
        EXPECT_EQ(always[n].updated, other[n].updated);
      }
    }
    EXPECT_EQ(asked(ran(learner + "(query=random(p=0))", s, 4)), 0u);
  }
}

TEST(Identities, MoreDoubtAsksMore) {
  const Stream s = make_stream(600, 4, 6, 39);
  for (const std::string learner : {"perceptron", "cmtl", "amtl"}) {
    std::uint64_t last = 0;
    for (const std::string b : {"0.001", "0.03", "1", "30"}) {
      const std::uint64_t now = asked(ran(learner + "(query=margin(b=" + b + "))", s, 4));
      EXPECT_GT(now, last) << learner << " b=" << b;
      last = now;
    }
  }
}

TEST(Identities, DenseAndSparseInstancesAreTheSameInstances) {
  const Stream s = make_stream(300, 4, 6, 40);
  Stream t = s;
  for (Vector& x : t.x) x.index = {0, 1, 2, 3, 4, 5};
  for (const std::string learner : {"perceptron", "cmtl(query=margin)", "amtl(query=similarity)"})
    EXPECT_EQ(ran(learner, s, 4), ran(learner, t, 4));
}

// Cavallanti et al., theorem 1 for the perceptron with a fixed interaction matrix: on data that u_1 .. u_K separate with
// y <u_i, x> >= 1 and |x| = 1, the updates are at most max_i (A^-1)[i,i] * sum_ij A[i,j] <u_i, u_j>.
void mistakes_stay_below_the_bound(const std::string& graph, const std::vector<std::pair<Task, Task>>& edges, Task K,
                                   std::uint64_t seed) {
  constexpr std::size_t d = 3;
  constexpr double gap = 0.08;
  Rng rng = make_rng(seed, 9);
  const auto draw = [&] { return 2 * uniform(rng) - 1; };
  std::vector<double> common{draw(), draw(), draw()};
  std::vector<std::vector<double>> u(K);
  for (auto& w : u)
    for (std::size_t f = 0; f < d; ++f) w.push_back((common[f] + 0.5 * draw()) / gap);

  const auto product = [](const std::vector<double>& a, const std::vector<double>& b) {
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
  };
  double complexity = 0;  // sum_i |u_i|^2 + sum over edges |u_i - u_j|^2
  for (const auto& w : u) complexity += product(w, w);
  for (const auto& [i, j] : edges) complexity += product(u[i], u[i]) + product(u[j], u[j]) - 2 * product(u[i], u[j]);

  const NameTable names = task_names(K);
  Session session(parse_spec("cmtl(graph=" + graph + ")"), {.seed = 1, .tasks = &names});
  double largest = 0;
  for (Task i = 0; i < K; ++i) largest = std::max(largest, session.learner().influence(i, i));
  std::vector<Vector> xs;
  std::vector<Task> tasks;
  while (xs.size() < 150) {
    const auto i = static_cast<Task>(below(K, rng));
    std::vector<double> x{draw(), draw(), draw()};
    const double norm = std::sqrt(product(x, x));
    for (double& v : x) v /= norm;
    if (std::abs(product(u[i], x)) < 1) continue;
    xs.push_back(dense(x));
    tasks.push_back(i);
  }
  for (int pass = 0; pass < 4; ++pass)
    for (std::size_t n = 0; n < xs.size(); ++n)
      feed_one(session, {tasks[n], xs[n]}, product(u[tasks[n]], xs[n].value) > 0 ? 1 : -1);
  RC_ASSERT(session.total().updates > 0u);
  RC_ASSERT(static_cast<double>(session.total().updates) <= largest * complexity * (1 + 1e-6));
}

RC_GTEST_PROP(MistakeBound, HoldsInTheCompleteGraph, ()) {
  const auto K = *rc::gen::inRange<Task>(1, 7);
  std::vector<std::pair<Task, Task>> edges;
  for (Task i = 0; i < K; ++i)
    for (Task j = 0; j < i; ++j) edges.emplace_back(i, j);
  mistakes_stay_below_the_bound("complete", edges, K, *rc::gen::arbitrary<std::uint64_t>());
}

RC_GTEST_PROP(MistakeBound, HoldsWithoutEdges, ()) {
  mistakes_stay_below_the_bound("disconnected", {}, *rc::gen::inRange<Task>(1, 7), *rc::gen::arbitrary<std::uint64_t>());
}

RC_GTEST_PROP(MistakeBound, HoldsInCliques, ()) {
  const TempDir dir;
  const auto group = *rc::gen::container<std::vector<int>>(6, rc::gen::inRange(0, 3));
  std::string text = "task,group\n";
  std::vector<std::pair<Task, Task>> edges;
  for (Task i = 0; i < 6; ++i) {
    text += task_name(i) + "," + std::to_string(group[i]) + "\n";
    for (Task j = 0; j < i; ++j)
      if (group[i] == group[j]) edges.emplace_back(i, j);
  }
  mistakes_stay_below_the_bound("cliques(file=" + dir.write("g.csv", text) + ")", edges, 6,
                                *rc::gen::arbitrary<std::uint64_t>());
}

RC_GTEST_PROP(MistakeBound, HoldsInAnyGraph, ()) {
  const TempDir dir;
  std::string text = "from,to\n";
  std::vector<std::pair<Task, Task>> edges;
  for (Task i = 0; i < 6; ++i)
    for (Task j = 0; j < i; ++j)
      if (*rc::gen::arbitrary<bool>()) {
        text += task_name(i) + "," + task_name(j) + "\n";
        edges.emplace_back(i, j);
      }
  mistakes_stay_below_the_bound("edges(file=" + dir.write("g.csv", text) + ")", edges, 6,
                                *rc::gen::arbitrary<std::uint64_t>());
}

}  // namespace
}  // namespace quorate::test
