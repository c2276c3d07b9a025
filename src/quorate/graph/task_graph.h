// The graph over the tasks and its interaction matrix A^-1, which couples their updates.
#pragma once
#include <memory_resource>
#include <string>
#include <string_view>
#include <tuple>
#include <variant>
#include <vector>

#include "quorate/base/features.h"
#include "quorate/base/learner_context.h"
#include "quorate/params/params.h"

namespace quorate {

struct Complete : Tag<"complete", "all tasks are related to each other"> {};
struct Disconnected : Tag<"disconnected", "no task is related to another"> {};
struct Cliques {
  static constexpr std::string_view name = "cliques", meaning = "tasks of one group are related to each other";
  std::string file;
  static constexpr auto fields() {
    return std::tuple{Field{&Cliques::file, "file", kAny,
                            "CSV file with the columns task,group; a task it does not name is alone",
                            "Cavallanti et al. 2.1"}};
  }
};
struct Edges {
  static constexpr std::string_view name = "edges", meaning = "tasks joined by an edge are related";
  std::string file;
  static constexpr auto fields() {
    return std::tuple{Field{&Edges::file, "file", kAny,
                            "CSV file with the columns from,to, an undirected edge a line; at most 4096 tasks hang together",
                            "Cavallanti et al. 2.1"}};
  }
};
using Graph = std::variant<Complete, Disconnected, Cliques, Edges>;

/// A^-1 for A = I + L, L the Laplacian of the graph over the tasks (docs/papers.md section 1). A file is read once, at the
/// start; the model contains the graph. A task that arrives later joins the complete graph; in other graphs it is alone.
///
/// In a clique of m tasks A^-1 = (I + 1 1^T) / (m + 1), so the regular graphs (complete, disconnected, cliques) need no
/// matrix. For an edge list the inverse of every connected component is stored: O(sum of squared sizes) doubles.
class TaskGraph {
 public:
  /// Throws FileError or DataError (file, line, what was expected) for an invalid file of the graph.
  TaskGraph(const Graph& graph, const LearnerContext& context);

  std::size_t tasks() const { return tasks_; }
  void ensure_tasks(std::size_t K);  ///< tasks 0 .. K - 1 exist

  /// Whether every group of related tasks is a clique.
  bool regular() const { return kind_ != Kind::kEdges; }
  /// The clique (or connected component) of a task, and its number of tasks. A task not in the graph is alone; in the
  /// complete graph every task is in group 0.
  std::uint32_t group(Task task) const;
  std::size_t group_size(Task task) const;

  /// (A^-1)[j,i]. O(1).
  double inverse(Task j, Task i) const;
  /// Column i of A^-1 as a function of j, for loops over j; valid until the graph changes.
  auto column(Task i) const {
    const double size = static_cast<double>(group_size(i) + 1);
    return [this, i, of_i = group(i), all = kind_ == Kind::kComplete, own = 2.0 / size, other = 1.0 / size](Task j) {
      if (all) return j == i ? own : other;
      return kind_ == Kind::kEdges ? inverse(j, i) : group(j) != of_i ? 0.0 : j == i ? own : other;
    };
  }
  /// f(j, (A^-1)[j,i]) for all j of i's group, ascending. Edge lists only.
  template <class F>
  void for_each_related(Task i, F f) const {
    if (i >= group_.size()) return f(i, 1.0);
    const Group& g = groups_[group_[i]];
    for (std::size_t a = 0; a < g.size; ++a) f(members_[g.first + a], inverse_[g.matrix + a * g.size + local_[i]]);
  }

  /// The graph of a file: the group of every named task, or both ends of every edge.
  struct Packed {
    std::uint64_t tasks = 0;
    std::pmr::vector<std::uint32_t> a, b;
    template <class S>
    static void state(S& s, auto&& v) {
      v("tasks", s.tasks);
      v("a", s.a);
      v("b", s.b);
    }
  };
  Packed pack() const { return {tasks_, a_, b_}; }
  void unpack(const Packed& packed);  ///< throws DataError: an index of a task out of range, an edge twice

 private:
  enum class Kind { kComplete, kDisconnected, kCliques, kEdges };
  struct Group {
    std::size_t size = 0, first = 0, matrix = 0;  // number of tasks; its part of members_; its part of inverse_
  };
  void read_cliques(const std::string& file, NameTable& tasks);
  void read_edges(const std::string& file, NameTable& tasks);
  void build();  // everything below a_ and b_, from a_ and b_
  void fit_arrays();

  Kind kind_;
  std::size_t tasks_;
  std::pmr::vector<std::uint32_t> a_, b_;  // cliques: a_[i] = group of task i. Edges: a_[e] - b_[e]
  std::pmr::vector<std::uint32_t> group_;  // of the tasks the file names
  std::pmr::vector<Group> groups_;
  std::pmr::vector<std::uint32_t> local_;    // index of a task in its group      (edges)
  std::pmr::vector<std::uint32_t> members_;  // tasks group by group, ascending   (edges)
  std::pmr::vector<double> inverse_;         // size x size per group             (edges)
};

}  // namespace quorate
