#include "quorate/graph/task_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "quorate/base/memory.h"
#include "support/allocations.h"
#include "support/make.h"
#include "support/temp.h"

namespace quorate::test {
namespace {

using testing::HasSubstr;
using Matrix = std::vector<std::vector<double>>;
using EdgeList = std::vector<std::pair<Task, Task>>;

TaskGraph interaction(const Graph& graph, NameTable& tasks) {
  return TaskGraph(graph, {tasks, std::pmr::get_default_resource(), false});
}

std::string edges_text(const EdgeList& edges) {
  std::string out = "from,to\n";
  for (const auto& [i, j] : edges) out += task_name(i) + "," + task_name(j) + "\n";
  return out;
}

EdgeList random_edges(Task K) {
  EdgeList out;
  for (Task i = 0; i < K; ++i)
    for (Task j = 0; j < i; ++j)
      if (*rc::gen::inRange(0, 3) == 0) out.emplace_back(i, j);
  return out;
}

/// x with a x = b, by elimination with pivoting.
std::vector<double> solve(Matrix a, std::vector<double> b) {
  const std::size_t n = b.size();
  for (std::size_t c = 0; c < n; ++c) {
    std::size_t pivot = c;
    for (std::size_t r = c + 1; r < n; ++r)
      if (std::abs(a[r][c]) > std::abs(a[pivot][c])) pivot = r;
    std::swap(a[c], a[pivot]);
    std::swap(b[c], b[pivot]);
    for (std::size_t r = 0; r < n; ++r) {
      if (r == c) continue;
      const double factor = a[r][c] / a[c][c];
      for (std::size_t k = c; k < n; ++k) a[r][k] -= factor * a[c][k];
      b[r] -= factor * b[c];
    }
  }
  for (std::size_t c = 0; c < n; ++c) b[c] /= a[c][c];
  return b;
}

/// Resistance between nodes i and j of a connected graph with unit resistors: send a unit current from i to j (grounded).
double resistance(const EdgeList& edges, std::size_t nodes, std::size_t i, std::size_t j) {
  if (i == j) return 0;
  const auto place = [j](std::size_t node) { return node < j ? node : node - 1; };
  Matrix laplacian(nodes - 1, std::vector<double>(nodes - 1, 0.0));
  for (const auto& [a, b] : edges)
    for (const auto& [p, q] : {std::pair<std::size_t, std::size_t>{a, b}, {b, a}}) {
      if (p == j) continue;
      laplacian[place(p)][place(p)] += 1;
      if (q != j) laplacian[place(p)][place(q)] -= 1;
    }
  std::vector<double> current(nodes - 1, 0.0);
  current[place(i)] = 1;
  return solve(laplacian, current)[place(i)];
}

// Cavallanti et al., proposition 3.1: with one more node joined to all K tasks and R the resistances between the nodes,
// (A^-1)[i,j] = (R[i,0] + R[j,0] - R[i,j]) / 2, 0 being that node.
RC_GTEST_PROP(TaskGraph, IsWhatTheResistancesOfTheGraphSay, ()) {
  const auto K = *rc::gen::inRange<Task>(2, 8);
  const EdgeList edges = random_edges(K);
  const TempDir dir;
  NameTable tasks = task_names(K);
  const TaskGraph A = interaction(Edges{dir.write("g.csv", edges_text(edges))}, tasks);
  EdgeList with_extra = edges;
  for (Task i = 0; i < K; ++i) with_extra.emplace_back(K, i);
  for (Task i = 0; i < K; ++i)
    for (Task j = 0; j < K; ++j) {
      const double expected =
          (resistance(with_extra, K + 1, i, K) + resistance(with_extra, K + 1, j, K) - resistance(with_extra, K + 1, i, j)) /
          2;
      RC_ASSERT(std::abs(A.inverse(i, j) - expected) < 1e-12);
    }
}

RC_GTEST_PROP(TaskGraph, IsTheInverseOfIdentityPlusLaplacian, ()) {
  const auto K = *rc::gen::inRange<Task>(1, 12);
  const EdgeList edges = random_edges(K);
  const TempDir dir;
  NameTable tasks = task_names(K);
  const TaskGraph A = interaction(Edges{dir.write("g.csv", edges_text(edges))}, tasks);
  Matrix a(K, std::vector<double>(K, 0.0));
  for (Task i = 0; i < K; ++i) a[i][i] = 1;
  for (const auto& [i, j] : edges) {
    a[i][i] += 1;
    a[j][j] += 1;
    a[i][j] -= 1;
    a[j][i] -= 1;
  }
  for (Task i = 0; i < K; ++i) {
    std::vector<double> unit(K, 0.0);
    unit[i] = 1;
    const std::vector<double> column = solve(a, unit);
    double row = 0;
    for (Task j = 0; j < K; ++j) {
      RC_ASSERT(std::abs(A.inverse(j, i) - column[j]) < 1e-12);
      RC_ASSERT(A.inverse(i, j) == A.inverse(j, i));
      RC_ASSERT(A.inverse(i, j) >= 0);
      row += A.inverse(i, j);
    }
    RC_ASSERT(std::abs(row - 1) < 1e-12);
  }
  std::vector<double> z(K);  // z' A^-1 z > 0
  Rng rng = make_rng(*rc::gen::arbitrary<std::uint64_t>(), 0);
  for (double& v : z) v = uniform(rng) - 0.5;
  double form = 0;
  for (Task i = 0; i < K; ++i)
    for (Task j = 0; j < K; ++j) form += z[i] * A.inverse(i, j) * z[j];
  RC_ASSERT(form > 0);
}

RC_GTEST_PROP(TaskGraph, ForEachRelatedVisitsTheWholeComponentInOrder, ()) {
  const auto K = *rc::gen::inRange<Task>(1, 12);
  const EdgeList edges = random_edges(K);
  const TempDir dir;
  NameTable tasks = task_names(K);
  const TaskGraph A = interaction(Edges{dir.write("g.csv", edges_text(edges))}, tasks);
  for (Task i = 0; i < K + 2; ++i) {
    std::vector<Task> visited, expected;
    A.for_each_related(i, [&](Task j, double a) {
      visited.push_back(j);
      RC_ASSERT(a == A.inverse(j, i));
    });
    for (Task j = 0; j < K + 2; ++j)
      if (A.group(j) == A.group(i)) expected.push_back(j);
    RC_ASSERT(visited == expected);
    RC_ASSERT(visited.size() == A.group_size(i));
  }
  for (const auto& [i, j] : edges) RC_ASSERT(A.group(i) == A.group(j));
}

TEST(TaskGraph, OfACliqueIsIdentityPlusOnesOverSizePlusOne) {
  const TempDir dir;
  NameTable tasks = task_names(5);
  const TaskGraph complete = interaction(Complete{}, tasks);
  const TaskGraph cliques = interaction(Cliques{dir.write("g.csv", "task,group\nt0,a\nt1,a\nt2,a\nt3,b\n")}, tasks);
  const TaskGraph none = interaction(Disconnected{}, tasks);
  EXPECT_EQ(complete.tasks(), 5u);
  for (Task i = 0; i < 5; ++i)
    for (Task j = 0; j < 5; ++j) {
      EXPECT_DOUBLE_EQ(complete.inverse(i, j), i == j ? 2.0 / 6 : 1.0 / 6);
      EXPECT_EQ(none.inverse(i, j), i == j ? 1 : 0);
      const bool together = i < 3 && j < 3;
      EXPECT_DOUBLE_EQ(cliques.inverse(i, j), together ? (i == j ? 2.0 / 4 : 1.0 / 4) : i == j ? 1 : 0);
    }
  EXPECT_EQ(cliques.group_size(0), 3u);
  EXPECT_EQ(cliques.group_size(3), 1u);
  EXPECT_EQ(cliques.group_size(4), 1u) << "not named: alone";
  EXPECT_NE(cliques.group(3), cliques.group(4));
  EXPECT_TRUE(complete.regular() && cliques.regular() && none.regular());
}

TEST(TaskGraph, LateTasksJoinTheCompleteGraphAndAreAloneElsewhere) {
  const TempDir dir;
  NameTable tasks;
  TaskGraph complete = interaction(Complete{}, tasks);
  EXPECT_EQ(complete.inverse(0, 0), 1);
  complete.ensure_tasks(3);
  EXPECT_DOUBLE_EQ(complete.inverse(0, 2), 1.0 / 4);
  complete.ensure_tasks(2);
  EXPECT_EQ(complete.tasks(), 3u) << "tasks never go away";

  for (const Graph& graph : {Graph(Cliques{dir.write("c.csv", "task,group\na,g\nb,g\n")}),
                             Graph(Edges{dir.write("e.csv", "from,to\na,b\n")}), Graph(Disconnected{})}) {
    NameTable names;
    TaskGraph late = interaction(graph, names);
    const double before = late.inverse(0, 0);
    late.ensure_tasks(100);
    EXPECT_EQ(late.inverse(0, 0), before);
    EXPECT_EQ(late.inverse(99, 99), 1);
    EXPECT_EQ(late.inverse(99, 0), 0);
    EXPECT_EQ(late.inverse(99, 98), 0);
    EXPECT_EQ(late.group_size(99), 1u);
    EXPECT_NE(late.group(99), late.group(98));
  }
}

TEST(TaskGraph, AFileMayNameTasksBeforeAndAfterTheDataDo) {
  const TempDir dir;
  NameTable tasks;
  tasks.intern("known");
  tasks.intern("b");
  const TaskGraph A =
      interaction(Cliques{dir.write("g.csv", "task,group\r\na,g\r\nb,g\r\n\r\n\"c,\"\"c\"\"\",g\r\n")}, tasks);
  EXPECT_EQ(tasks.size(), 4u);
  EXPECT_EQ(tasks.find("c,\"c\""), 3u);
  EXPECT_EQ(A.tasks(), 4u);
  EXPECT_DOUBLE_EQ(A.inverse(1, 3), 1.0 / 4);
  EXPECT_EQ(A.inverse(0, 0), 1);
  EXPECT_EQ(A.inverse(0, 1), 0);
}

TEST(TaskGraph, AnEdgeGivenTwiceCountsOnce) {
  const TempDir dir;
  NameTable a, b;
  const TaskGraph once = interaction(Edges{dir.write("1.csv", "from,to\nx,y\ny,z\n")}, a);
  const TaskGraph twice = interaction(Edges{dir.write("2.csv", "from,to\nx,y\ny,x\ny,z\nx,y\n")}, b);
  for (Task i = 0; i < 3; ++i)
    for (Task j = 0; j < 3; ++j) EXPECT_EQ(once.inverse(i, j), twice.inverse(i, j));
}

template <class G>
std::string refusal(const std::string& path) {
  NameTable tasks;
  try {
    interaction(G{path}, tasks);
  } catch (const Error& e) {
    return e.what();
  }
  return "accepted";
}

TEST(TaskGraph, ABadFileIsNamedWithItsLineAndWhatWasExpected) {
  const TempDir dir;
  const std::string missing = dir.at("missing.csv");
  NameTable tasks;
  EXPECT_THROW(interaction(Edges{missing}, tasks), FileError);
  EXPECT_THROW(interaction(Cliques{dir.path()}, tasks), FileError) << "a directory";
  EXPECT_THAT(refusal<Edges>(missing), HasSubstr(missing));
  EXPECT_THAT(refusal<Cliques>(""), HasSubstr("file="));
  const auto file = [&](const std::string& text) { return dir.write("g.csv", text); };
  const std::string at = dir.at("g.csv") + ":";
  EXPECT_THAT(refusal<Edges>(file("task,group\na,b\n")), AllOf(HasSubstr(at + "1"), HasSubstr("from,to")));
  EXPECT_THAT(refusal<Cliques>(file("from,to\na,b\n")), AllOf(HasSubstr(at + "1"), HasSubstr("task,group")));
  EXPECT_THAT(refusal<Edges>(file("from,to\na,b\na,a\n")),
              AllOf(HasSubstr(at + "3"), HasSubstr("'a'"), HasSubstr("expected")));
  EXPECT_THAT(refusal<Edges>(file("from,to\na,b,c\n")), AllOf(HasSubstr(at + "2"), HasSubstr("a,b,c"), HasSubstr("two")));
  EXPECT_THAT(refusal<Edges>(file("from,to\na\n")), AllOf(HasSubstr(at + "2"), HasSubstr("expected")));
  EXPECT_THAT(refusal<Edges>(file("from,to\na,\n")), AllOf(HasSubstr(at + "2"), HasSubstr("expected")));
  EXPECT_THAT(refusal<Cliques>(file("task,group\na,x\nb,x\na,y\n")),
              AllOf(HasSubstr(at + "4"), HasSubstr("'a'"), HasSubstr("twice")));
  EXPECT_THAT(refusal<Cliques>(file("task,group\n\"a,x\n")), AllOf(HasSubstr(at + "2"), HasSubstr("quote")));
  EXPECT_THAT(refusal<Cliques>(file("task,group\n\"a\"b,x\n")), AllOf(HasSubstr(at + "2"), HasSubstr("quote")));
}

TEST(TaskGraph, AnEmptyFileIsRefused) {
  const TempDir dir;
  EXPECT_THAT(refusal<Edges>(dir.write("g.csv", "")), HasSubstr("from,to"));
  EXPECT_THAT(refusal<Cliques>(dir.write("g.csv", "\n\n")), HasSubstr("task,group"));
}

TEST(TaskGraph, TheHeaderIsTheFirstLineThatHoldsAnything) {
  const TempDir dir;
  NameTable tasks;
  interaction(Cliques{dir.write("g.csv", "\n\xEF\xBB\xBFtask,group\na,x\n")}, tasks);
  EXPECT_EQ(tasks.size(), 1u);
}

TEST(TaskGraph, TooManyTasksHangingTogetherAreRefusedAndManyApartAreNot) {
  const TempDir dir;
  std::string star = "from,to\n", pairs = "from,to\n";
  for (Task i = 1; i < 4097; ++i) star += "hub," + task_name(i) + "\n";
  for (Task i = 0; i < 20000; i += 2) pairs += task_name(i) + "," + task_name(i + 1) + "\n";
  EXPECT_THAT(refusal<Edges>(dir.write("g.csv", star)), AllOf(HasSubstr("4097"), HasSubstr("4096")));
  NameTable tasks;
  const TaskGraph A = interaction(Edges{dir.write("p.csv", pairs)}, tasks);
  EXPECT_NEAR(A.inverse(19998, 19999), 1.0 / 3, 1e-15);
}

TEST(TaskGraph, PackAndUnpackIsTheSameGraph) {
  const TempDir dir;
  const std::vector<Graph> graphs{Complete{}, Disconnected{},
                                  Cliques{dir.write("c.csv", "task,group\nt4,a\nt0,a\nt2,b\nt3,b\n")},
                                  Edges{dir.write("e.csv", "from,to\nt4,t0\nt0,t2\nt3,t5\n")}};
  for (const Graph& graph : graphs) {
    NameTable tasks = task_names(6);
    TaskGraph A = interaction(graph, tasks);
    A.ensure_tasks(8);
    TaskGraph B(graph, {tasks, std::pmr::get_default_resource(), true});
    B.unpack(A.pack());
    EXPECT_EQ(B.tasks(), 8u);
    for (Task i = 0; i < 9; ++i)
      for (Task j = 0; j < 9; ++j) {
        EXPECT_TRUE(same_bits(A.inverse(i, j), B.inverse(i, j)));
        EXPECT_EQ(A.group(i) == A.group(j), B.group(i) == B.group(j));
      }
  }
}

TEST(TaskGraph, UnpackRefusesNonsense) {
  NameTable tasks = task_names(4);
  const auto unpack = [&](const Graph& graph, std::uint64_t K, std::vector<std::uint32_t> a, std::vector<std::uint32_t> b) {
    TaskGraph A(graph, {tasks, std::pmr::get_default_resource(), true});
    A.unpack({K, {a.begin(), a.end()}, {b.begin(), b.end()}});
  };
  EXPECT_NO_THROW(unpack(Edges{"x"}, 4, {0, 1}, {1, 3}));
  EXPECT_THROW(unpack(Edges{"x"}, 4, {0, 1}, {1}), DataError) << "an end missing";
  EXPECT_THROW(unpack(Edges{"x"}, 4, {0, 2}, {1, 2}), DataError) << "a loop";
  EXPECT_THROW(unpack(Edges{"x"}, 4, {0, 3}, {1, 4}), DataError) << "a task that is not there";
  EXPECT_THROW(unpack(Edges{"x"}, 4, {0, 3}, {1, 2}), DataError) << "ends in the wrong order";
  EXPECT_THROW(unpack(Edges{"x"}, 4, {0, 0}, {1, 1}), DataError) << "an edge twice";
  EXPECT_NO_THROW(unpack(Cliques{"x"}, 4, {0, 1, 1}, {}));
  EXPECT_THROW(unpack(Cliques{"x"}, 4, {0, 1, 3}, {}), DataError) << "a group number that cannot be";
  EXPECT_THROW(unpack(Cliques{"x"}, 2, {0, 1, 1}, {}), DataError) << "more tasks than there are";
  EXPECT_THROW(unpack(Cliques{"x"}, 4, {0, 1}, {0}), DataError);
  EXPECT_THROW(unpack(Complete{}, 4, {0}, {}), DataError);
  EXPECT_THROW(unpack(Disconnected{}, 4, {}, {0}), DataError);
  EXPECT_THROW(unpack(Complete{}, std::uint64_t{1} << 40, {}, {}), DataError);
}

TEST(TaskGraph, UnpackOfAFewBytesTakesAFewBytes) {
  NameTable tasks = task_names(4);
  TaskGraph A(Edges{"x"}, {tasks, std::pmr::get_default_resource(), true});
  reset_largest_allocation();
  try {
    A.unpack({3'000'000, {0}, {2'999'999}});
  } catch (const DataError&) {
  }
  EXPECT_LT(largest_allocation(), 1'000'000u) << "one edge, and tasks that the model does not have";
}

}  // namespace
}  // namespace quorate::test
