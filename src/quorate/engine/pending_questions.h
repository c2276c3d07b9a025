// Examples that were asked about and whose answer has not come.
#pragma once
#include <cstdint>
#include <map>
#include <memory_resource>
#include <vector>

#include "quorate/base/example.h"
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

  /// Bytes of an example, or a few more.
  static std::size_t bytes_of(const Features& x) {
    constexpr std::size_t kNode = 64;  // what a map keeps beside an item
    return kNode + sizeof(Items::value_type) + x.index.size() * sizeof(Index) + x.value.size() * sizeof(double);
  }
  /// Bytes that add() may allocate, what it then frees included.
  std::size_t bytes_to_add(const Example& e) const {
    return bytes_of(e.x) + (e.task < of_task_.size() ? 0 : growth(of_task_, e.task + std::size_t{1} - of_task_.size()));
  }
  void add(std::uint64_t ticket, const Example& e, const Decision& d);  ///< ticket: above all there are
  const Item* find(std::uint64_t ticket) const;                         ///< null if it is not there
  void erase(std::uint64_t ticket);
  std::uint64_t oldest() const { return items_.begin()->first; }  ///< size() > 0
  std::size_t size() const { return items_.size(); }
  std::uint64_t of_task(Task task) const { return task < of_task_.size() ? of_task_[task] : 0; }
  std::size_t bytes() const { return bytes_; }  ///< of all examples, by bytes_of
  template <class F>
  void for_each(F f) const {
    for (const auto& [ticket, item] : items_) f(ticket, item);
  }

  struct Packed {
    std::pmr::vector<std::uint64_t> ticket;
    std::pmr::vector<std::uint32_t> task;
    std::pmr::vector<double> decision;  // kNumbers of each
    std::pmr::vector<std::uint64_t> index_end, value_end;
    std::pmr::vector<std::uint32_t> index;
    std::pmr::vector<double> value, norm;
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
    }
  };
  Packed pack() const;
  void unpack(const Packed& packed);  ///< throws DataError: sizes that do not fit, places that do not ascend

 private:
  using Items = std::pmr::map<std::uint64_t, Item>;

  std::pmr::memory_resource* memory() const { return items_.get_allocator().resource(); }

  Items items_;
  std::pmr::vector<std::uint32_t> of_task_;  // how many
  std::size_t bytes_ = 0;
};

}  // namespace quorate
