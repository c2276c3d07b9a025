// Stores the weights of all tasks for a feature side by side: one pass over the features gives all K margins.
#pragma once
#include <memory_resource>
#include <span>
#include <vector>

#include "quorate/base/column.h"
#include "quorate/base/features.h"
#include "quorate/base/memory.h"
#include "quorate/weights/table.h"

namespace quorate {

/// w: features x K, float, a row for every feature that was ever added to; K may grow.
class FeatureMajorWeights {
 public:
  explicit FeatureMajorWeights(std::pmr::memory_resource* memory) : row_(memory), weights_(memory), margins_(memory) {}

  std::size_t tasks() const { return tasks_; }
  /// At least K tasks from now on; new ones start at 0. Amortised O(rows) per task.
  void ensure_tasks(std::size_t K);
  /// Makes room for K tasks, and `rows` rows more, so that ensure_tasks(K) and adding them cannot fail. If memory is refused
  /// nothing changed.
  void reserve_tasks(std::size_t K, std::size_t rows = 0);
  /// Bytes that reserve_tasks() allocates before it frees the old ones.
  std::size_t bytes_to_reserve(std::size_t K, std::size_t rows = 0) const;

  /// <w_task, x>; 0 for a task that is not covered. O(non-zeros).
  double operator()(Task task, const Features& x) const;
  /// p[j] = <w_j, x> for all j; p.size() == tasks(). Terms are added in ascending order of the features. O(K non-zeros).
  void margins(const Features& x, std::span<double> p) const;
  /// As margins(x, p), cached until weights change: learning from the example just judged reuses them.
  std::span<const double> margins(const Features& x);
  /// Rows that add() of x would make. O(non-zeros).
  std::size_t new_rows(const Features& x) const;
  /// Makes room for new_rows(x), so that add() of x cannot fail. O(non-zeros).
  void reserve(const Features& x);
  /// w_j += c[j] x for all j; c.size() == tasks(). O(K non-zeros), or O(non-zeros) if few c are not 0. If
  /// memory is refused nothing changed.
  void add(std::span<const double> c, const Features& x);
  /// w_task += a x; task < tasks(). O(non-zeros), and O(K) for every feature that is new.
  void add(Task task, double a, const Features& x);

  /// The rows in ascending order of their features; value: rows x K. room: under a memory limit, the allocated rows, so that
  /// a loaded model has as much memory left as the saved one.
  struct Packed {
    std::uint64_t tasks = 0;
    Column<std::uint32_t> feature;
    Column<float> value;
    std::vector<std::uint64_t> room = {};
    template <class S>
    static void state(S& s, auto&& v) {
      v("tasks", s.tasks);
      v("feature", s.feature);
      v("value", s.value);
      visit_unless_empty(v, "room", s.room);
    }
  };
  Packed pack() const;
  void unpack(const Packed& packed);  ///< throws DataError: sizes do not fit, out of order, not finite

 private:
  const float* find(Index feature) const {
    const std::uint32_t* row = row_.find(feature);
    return row == nullptr ? nullptr : weights_.data() + std::size_t{*row} * stride_;
  }
  std::uint32_t row_at(Index feature);  // after reserve(); a new row has no weights yet
  struct Room {
    std::size_t stride, rows;
  };
  Room room_for(std::size_t K, std::size_t rows) const;
  bool limited() const { return is_limited(weights_.get_allocator().resource()); }

  std::size_t tasks_ = 0, stride_ = 0;  // stride_: allocated tasks per row
  std::size_t rows_ = 0;                // allocated rows
  Table<Index, std::uint32_t> row_;     // feature -> its row, rows in order of first use
  std::pmr::vector<float> weights_;     // rows x stride_

  // The cache of margins(x): valid for the last instance if kept_.
  bool kept_ = false;
  std::pmr::vector<double> margins_;
  std::vector<Index> of_index_;  // scratch, as large as an instance
  std::vector<double> of_value_;
};

}  // namespace quorate
