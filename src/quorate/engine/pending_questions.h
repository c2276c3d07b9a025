// Questions that were asked and not answered yet.
#pragma once
#include <cstdint>
#include <map>
#include <memory_resource>
#include <vector>

#include "quorate/base/example.h"
#include "quorate/base/feature_rows.h"
#include "quorate/base/memory.h"

namespace quorate {

/// Examples by ticket, with what was decided about them. Everything is allocated in the memory given.
class PendingQuestions {
 public:
  struct Item {
    Task task;
    Decision decision;
    std::pmr::vector<Index> index;
    std::pmr::vector<double> value;
    double norm;

    Example example() const { return {task, {index, value, norm}}; }
  };

  explicit PendingQuestions(std::pmr::memory_resource* memory) : items_(memory), of_task_(memory) {}

  /// An upper bound of the bytes that add() allocates.
  static std::size_t bytes_of(const Features& x) {
    constexpr std::size_t kNodes = 128;  // of both maps, beside the item
    return kNodes + sizeof(Items::value_type) + x.index.size() * sizeof(Index) + x.value.size() * sizeof(double);
  }
  void add(std::uint64_t ticket, const Example& e, const Decision& d);  ///< ticket: above all there are
  const Item* find(std::uint64_t ticket) const;                         ///< null if it is not there
  void erase(std::uint64_t ticket);
  std::uint64_t oldest() const { return items_.begin()->first; }  ///< size() > 0
  std::size_t size() const { return items_.size(); }
  /// How many are about the task. O(log of the tasks with any).
  std::uint64_t of_task(Task task) const {
    if (of_task_.empty()) return 0;
    const auto found = of_task_.find(task);
    return found == of_task_.end() ? 0 : found->second;
  }
  std::size_t bytes() const { return bytes_; }  ///< of all examples, by bytes_of
  template <class F>
  void for_each(F f) const {
    for (const auto& [ticket, item] : items_) f(ticket, item);
  }

  struct Packed {
    std::pmr::vector<std::uint64_t> ticket;
    std::pmr::vector<std::uint32_t> task;
    std::pmr::vector<double> decision;  // six numbers of each
    FeatureRows x;
    template <class S>
    static void state(S& s, auto&& v) {
      v("ticket", s.ticket);
      v("task", s.task);
      v("decision", s.decision);
      FeatureRows::state(s.x, v);
    }
  };
  Packed pack() const;
  void unpack(const Packed& packed);  ///< throws DataError: sizes that do not fit, tickets or indices that do not ascend

 private:
  using Items = std::pmr::map<std::uint64_t, Item>;

  std::pmr::memory_resource* memory() const { return items_.get_allocator().resource(); }

  Items items_;
  std::pmr::map<Task, std::uint32_t> of_task_;  // how many, of tasks that have any
  std::size_t bytes_ = 0;
};

}  // namespace quorate
