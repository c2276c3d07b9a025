// Questions that were asked and not answered yet.
#pragma once
#include <cstdint>
#include <map>
#include <memory_resource>
#include <vector>

#include "quorate/base/column.h"
#include "quorate/base/example.h"
#include "quorate/base/memory.h"
#include "quorate/session/audit.h"

namespace quorate {

/// Examples by ticket, with what was decided about them. Everything is allocated in the memory given.
class PendingQuestions {
 public:
  struct Item {
    Task task;
    std::uint32_t group;
    Decision decision;
    std::pmr::vector<Index> index;
    std::pmr::vector<double> value;
    double norm, weight;
    Audit::Held audit;  // marks 0: not an audit

    Example example() const { return {task, {index, value, norm}, group, weight}; }
  };

  explicit PendingQuestions(std::pmr::memory_resource* memory) : items_(memory), of_task_(memory) {}
  /// Tasks are in that many groups, task i in group i mod groups. To be called before unpack().
  void set_groups(std::uint32_t groups) { groups_ = groups; }

  /// An upper bound of the bytes that add() allocates.
  static std::size_t bytes_of(const Features& x) {
    constexpr std::size_t kNodes = 128;  // of both maps, beside the item
    return kNodes + sizeof(Items::value_type) + x.index.size() * sizeof(Index) + x.value.size() * sizeof(double);
  }
  /// ticket: above all there are.
  void add(std::uint64_t ticket, const Example& e, const Decision& d, const Audit::Held& audit = {});
  const Item* find(std::uint64_t ticket) const;  ///< null if it is not there
  void erase(std::uint64_t ticket);
  std::uint64_t oldest() const { return items_.begin()->first; }  ///< size() > 0
  std::size_t size() const { return items_.size(); }
  /// How many are about the task. O(log of the tasks with any).
  std::uint64_t of_task(Task task) const {
    if (of_task_.empty()) return 0;
    const auto found = of_task_.find(task);
    return found == of_task_.end() ? 0 : found->second;
  }
  std::uint64_t audits() const { return audits_; }
  std::size_t bytes() const { return bytes_; }  ///< of all examples, by bytes_of
  template <class F>
  void for_each(F f) const {
    for (const auto& [ticket, item] : items_) f(ticket, item);
  }

  struct Packed {
    Column<std::uint64_t> ticket;
    Column<std::uint32_t> task;  // of an example of kUntracked: kUntracked - group
    Column<double> decision;     // six numbers of each
    Column<std::uint64_t> index_end, value_end;
    Column<Index> index;
    Column<double> value, norm;
    Column<double> weight;        // of each; empty if all are 1
    Column<double> audit_weight;  // of each; empty if none is an audit
    Column<std::uint64_t> audit_learned, audit_marks;
    template <class S>
    static void state(S& s, auto&& v) {
      v("ticket", s.ticket);
      v("task", s.task);
      v("decision", s.decision);
      v("index_end", s.index_end);
      v("value_end", s.value_end);
      v("index", s.index);
      v("value", s.value);
      v("norm", s.norm);
      visit_unless_empty(v, "weight", s.weight);
      visit_unless_empty(v, "audit_weight", s.audit_weight);
      visit_unless_empty(v, "audit_learned", s.audit_learned);
      visit_unless_empty(v, "audit_marks", s.audit_marks);
    }
  };
  Packed pack() const;
  void unpack(const Packed& packed);  ///< throws DataError: sizes that do not fit, tickets or indices that do not ascend

 private:
  using Items = std::pmr::map<std::uint64_t, Item>;

  std::pmr::memory_resource* memory() const { return items_.get_allocator().resource(); }

  std::uint32_t groups_ = 1;
  Items items_;
  std::pmr::map<Task, std::uint32_t> of_task_;  // how many, of tasks that have any
  std::size_t bytes_ = 0;
  std::uint64_t audits_ = 0;
};

}  // namespace quorate
