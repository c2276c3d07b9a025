#include "quorate/graph/task_graph.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <numeric>

#include "quorate/base/memory.h"
#include "quorate/base/two_column_csv.h"

namespace quorate {
namespace {

constexpr std::size_t kMaxComponent = 4096;

}  // namespace

TaskGraph::TaskGraph(const Graph& graph, const LearnerContext& context)
    : kind_(static_cast<Kind>(graph.index())),
      tasks_(context.tasks.size()),
      a_(context.memory),
      b_(context.memory),
      group_(context.memory),
      groups_(context.memory),
      local_(context.memory),
      members_(context.memory),
      inverse_(context.memory) {
  if (context.restore) return;
  if (const auto* cliques = std::get_if<Cliques>(&graph)) read_cliques(cliques->file, context.tasks);
  if (const auto* edges = std::get_if<Edges>(&graph)) read_edges(edges->file, context.tasks);
  tasks_ = context.tasks.size();
  try {
    build();
  } catch (const DataError& e) {
    throw DataError(std::get<Edges>(graph).file + ": " + e.what());
  }
  fit_arrays();
}

void TaskGraph::fit_arrays() {
  for (auto* v : {&a_, &b_, &group_, &local_, &members_}) fit(*v);
  fit(groups_);
  fit(inverse_);
}

void TaskGraph::read_cliques(const std::string& file, NameTable& tasks) {
  constexpr std::uint32_t kUnnamed = 0xFFFFFFFFu;
  NameTable groups;
  read_pairs("graph", file, "task", "group",
             [&](const std::string& task, const std::string& group, const std::string& where) {
               const std::uint32_t i = tasks.intern(task);
               if (i >= a_.size()) a_.resize(i + std::size_t{1}, kUnnamed);
               if (a_[i] != kUnnamed)
                 throw DataError(where + "task '" + task + "' comes twice; expected one group for each task");
               a_[i] = groups.intern(group);
             });
  auto next = static_cast<std::uint32_t>(groups.size());
  for (std::uint32_t& group : a_)
    if (group == kUnnamed) group = next++;  // not named in the file: alone
}

void TaskGraph::read_edges(const std::string& file, NameTable& tasks) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;
  read_pairs("graph", file, "from", "to", [&](const std::string& from, const std::string& to, const std::string& where) {
    if (from == to) throw DataError(where + "an edge from '" + from + "' to itself; expected two tasks");
    const std::uint32_t i = tasks.intern(from), j = tasks.intern(to);
    edges.emplace_back(std::min(i, j), std::max(i, j));
  });
  std::sort(edges.begin(), edges.end());
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  for (const auto& [i, j] : edges) {
    a_.push_back(i);
    b_.push_back(j);
  }
}

void TaskGraph::build() {
  group_.clear();
  groups_.clear();
  if (kind_ == Kind::kCliques) {
    group_ = a_;
    for (const std::uint32_t group : group_) {
      if (group >= groups_.size()) groups_.resize(group + std::size_t{1});
      ++groups_[group].size;
    }
  }
  if (kind_ != Kind::kEdges || a_.empty()) return;

  // Connected components, each named by its smallest task (union-find with path halving).
  const std::size_t named = std::size_t{*std::max_element(b_.begin(), b_.end())} + 1;
  std::vector<std::uint32_t> parent(named);
  std::iota(parent.begin(), parent.end(), 0u);
  const auto root = [&](std::uint32_t i) {
    while (parent[i] != i) i = parent[i] = parent[parent[i]];
    return i;
  };
  for (std::size_t e = 0; e < a_.size(); ++e) {
    const std::uint32_t i = root(a_[e]), j = root(b_[e]);
    parent[std::max(i, j)] = std::min(i, j);
  }
  group_.resize(named);
  local_.resize(named);
  for (std::uint32_t i = 0; i < named; ++i) {
    if (root(i) == i) {
      group_[i] = static_cast<std::uint32_t>(groups_.size());
      groups_.push_back({});
    } else {
      group_[i] = group_[root(i)];
    }
    local_[i] = static_cast<std::uint32_t>(groups_[group_[i]].size++);
  }
  std::size_t first = 0, matrix = 0;
  for (Group& g : groups_) {
    if (g.size > kMaxComponent)
      throw DataError(std::to_string(g.size) + " tasks hang together; expected at most " + std::to_string(kMaxComponent) +
                      " in one component of an edge list (cliques have no such limit)");
    g.first = first;
    g.matrix = matrix;
    first += g.size;
    matrix += g.size * g.size;
  }
  members_.resize(first);
  for (std::uint32_t i = 0; i < named; ++i) members_[groups_[group_[i]].first + local_[i]] = i;

  inverse_.assign(matrix, 0.0);
  std::pmr::vector<double> laplacian(matrix, 0.0, inverse_.get_allocator());
  for (std::size_t e = 0; e < a_.size(); ++e) {
    const Group& g = groups_[group_[a_[e]]];
    double* A = laplacian.data() + g.matrix;
    const std::size_t i = local_[a_[e]], j = local_[b_[e]];
    A[i * g.size + i] += 1;
    A[j * g.size + j] += 1;
    A[i * g.size + j] -= 1;
    A[j * g.size + i] -= 1;
  }
  for (const Group& g : groups_) {
    const auto n = static_cast<Eigen::Index>(g.size);
    Eigen::Map<Eigen::MatrixXd> A(laplacian.data() + g.matrix, n, n), inverse(inverse_.data() + g.matrix, n, n);
    A.diagonal().array() += 1;
    inverse.setIdentity();
    Eigen::LLT<Eigen::Ref<Eigen::MatrixXd>>(A).solveInPlace(inverse);
    inverse.triangularView<Eigen::StrictlyUpper>() = inverse.transpose();  // exactly symmetric
  }
}

void TaskGraph::ensure_tasks(std::size_t K) { tasks_ = std::max(tasks_, K); }

std::uint32_t TaskGraph::group(Task task) const {
  if (kind_ == Kind::kComplete) return 0;
  if (kind_ == Kind::kDisconnected) return task;
  // Tasks that the file does not name come after its groups, each alone.
  return task < group_.size() ? group_[task] : static_cast<std::uint32_t>(groups_.size() + (task - group_.size()));
}

std::size_t TaskGraph::group_size(Task task) const {
  if (kind_ == Kind::kComplete) return std::max<std::size_t>(tasks_, 1);
  return kind_ != Kind::kDisconnected && task < group_.size() ? groups_[group_[task]].size : 1;
}

double TaskGraph::inverse(Task j, Task i) const {
  if (group(j) != group(i)) return 0;
  if (kind_ != Kind::kEdges) return (j == i ? 2.0 : 1.0) / static_cast<double>(group_size(i) + 1);
  if (i >= group_.size()) return 1;
  const Group& g = groups_[group_[i]];
  return inverse_[g.matrix + local_[j] * g.size + local_[i]];
}

void TaskGraph::unpack(const Packed& packed) {
  const auto check = [](bool good) {
    if (!good) throw DataError("graph: not a graph over the model's tasks");
  };
  check(packed.tasks <= 0xFFFFFFFEu);
  if (kind_ == Kind::kCliques) {
    check(packed.b.empty() && packed.a.size() <= packed.tasks);
    for (const std::uint32_t group : packed.a) check(group < packed.a.size());
  } else if (kind_ == Kind::kEdges) {
    check(packed.a.size() == packed.b.size());
    for (std::size_t e = 0; e < packed.a.size(); ++e) {
      check(packed.a[e] < packed.b[e] && packed.b[e] < std::min<std::uint64_t>(packed.tasks, tasks_));  // named tasks
      check(e == 0 || std::pair(packed.a[e], packed.b[e]) > std::pair(packed.a[e - 1], packed.b[e - 1]));
    }
  } else {
    check(packed.a.empty() && packed.b.empty());
  }
  tasks_ = packed.tasks;
  a_ = packed.a;
  b_ = packed.b;
  build();
  fit_arrays();
}

}  // namespace quorate
