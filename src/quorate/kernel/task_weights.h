// Weights of instances that are shared by many tasks.
#pragma once
#include <algorithm>
#include <cmath>
#include <memory_resource>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "quorate/base/column.h"
#include "quorate/base/error.h"
#include "quorate/base/features.h"
#include "quorate/base/memory.h"
#include "quorate/weights/table.h"

namespace quorate {

/// An instance has a weight for every task: b_j[t] sums the updates of instance j by mistakes of task t, and (beta_l)_j =
/// sum_t (A^-1)[l,t] b_j[t]. Stored are the b of tasks that erred and, in cliques, their sum.
struct TaskWeights {
  struct Row {
    bool sum;                    // true: of a clique; false: of one task
    std::uint32_t key;           // the clique, or the task
    Task owner;                  // the task, or one of the clique
    std::pmr::vector<double> b;  // by slot
  };
  explicit TaskWeights(std::pmr::memory_resource* memory) : of_task(memory), of_clique(memory), rows(memory) {}

  const Row* find(bool sum, std::uint32_t key) const {
    const std::uint32_t* at = (sum ? of_clique : of_task).find(key);
    return at == nullptr ? nullptr : &rows[*at];
  }
  /// The index in rows, made if it is new, with weights of 0 for `slots` instances.
  std::size_t at(bool sum, std::uint32_t key, Task owner, std::size_t slots) {
    auto& places = sum ? of_clique : of_task;
    if (const std::uint32_t* known = places.find(key)) return *known;  // at() may grow for a key that is there
    const auto place = static_cast<std::uint32_t>(rows.size());
    fit(rows, rows.size() + 1);
    rows.push_back({sum, key, owner, std::pmr::vector<double>(rows.get_allocator())});
    fit(rows.back().b, slots);
    rows.back().b.resize(slots);
    return places.at(key) = place;
  }
  /// Upper bound of the bytes of `more` new rows; more <= 2.
  std::size_t bytes_to_add_rows(std::size_t more, std::size_t slots) const {
    if (more == 0) return 0;
    const std::size_t list = rows.size() + more <= rows.capacity() ? 0 : room_for(rows.size() + more) * sizeof(Row);
    return more * room_for(slots) * sizeof(double) + list + 32 * (rows.size() + 8);
  }

  struct Packed {
    std::pmr::vector<std::uint32_t> sum, key, owner;
    Column<double> value;  // rows x slots
    template <class S>
    static void state(S& s, auto&& v) {
      v("sum", s.sum);
      v("key", s.key);
      v("owner", s.owner);
      v("value", s.value);
    }
  };
  Packed pack() const {
    Packed out;
    std::vector<std::size_t> ends;
    for (const Row& row : rows) {
      out.sum.push_back(row.sum);
      out.key.push_back(row.key);
      out.owner.push_back(row.owner);
      ends.push_back((ends.empty() ? 0 : ends.back()) + row.b.size());
    }
    out.value = Column<double>::joined(std::move(ends), [this](std::size_t r, std::size_t begin, std::size_t n) {
      return std::span(rows[r].b).subspan(begin, n);
    });
    return out;
  }
  /// Throws DataError, and does not change, for sizes that do not fit, a row twice, or values not finite.
  void unpack(const Packed& packed) {
    const auto check = [](bool good, const char* why) {
      if (!good) throw DataError(std::string("weights by task: ") + why);
    };
    const std::size_t n = packed.key.size(), slots = n == 0 ? 0 : packed.value.size() / n;
    check(packed.sum.size() == n && packed.owner.size() == n && packed.value.size() == slots * n,
          "sum, key, owner and value do not fit in size");
    for (std::size_t i = 0; i < packed.value.size(); ++i) check(std::isfinite(packed.value[i]), "a value is not finite");
    std::set<std::pair<std::uint32_t, std::uint32_t>> seen;
    for (std::size_t r = 0; r < n; ++r)
      check(packed.sum[r] <= 1 && packed.key[r] != 0xFFFFFFFFu && seen.emplace(packed.sum[r], packed.key[r]).second,
            "expected a sum of 0 or 1 and a key below 4294967295 in each row, each pair once");
    *this = TaskWeights(rows.get_allocator().resource());
    for (std::size_t r = 0; r < n; ++r) {
      at(packed.sum[r] == 1, packed.key[r], packed.owner[r], slots);
      packed.value.read(r * slots, rows[r].b);
    }
  }

  Table<std::uint32_t, std::uint32_t> of_task, of_clique;  // key -> index in rows, in order of first use
  std::pmr::vector<Row> rows;
};

}  // namespace quorate
