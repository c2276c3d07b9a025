// Weights of one feature side by side for all tasks: all K margins of an example in one pass over its features.
#pragma once
#include <memory_resource>
#include <span>

#include "quorate/base/column.h"
#include "quorate/base/features.h"
#include "quorate/weights/table.h"

namespace quorate {

/// w: features x K, float, a row for every feature that was ever added to; K may grow.
class FeatureMajorWeights {
 public:
  explicit FeatureMajorWeights(std::pmr::memory_resource* memory)
      : row_(memory), weights_(memory), margins_(memory), of_index_(memory), of_value_(memory) {}

  std::size_t tasks() const { return tasks_; }
  /// At least K tasks from now on; new ones start at 0. Amortised O(rows) per task.
  void ensure_tasks(std::size_t K);
  /// Makes room for K tasks, so that ensure_tasks(K) cannot fail.
  void reserve_tasks(std::size_t K);

  /// <w_task, x>; 0 for a task that is not covered. O(non-zeros).
  double operator()(Task task, const Features& x) const;
  /// p[j] = <w_j, x> for all j; p.size() == tasks(). Terms are added in ascending order of the features. O(K non-zeros).
  void margins(const Features& x, std::span<double> p) const;
  /// The same, kept until weights change: who learns from the example just judged does not compute them again.
  std::span<const double> margins(const Features& x);
  /// Makes room for that, with K tasks.
  void reserve_margins(std::size_t K, const Features& x);
  /// Makes room for the rows of x, so that add() of x cannot fail as long as no task comes. O(non-zeros).
  void reserve(const Features& x);
  /// w_j += c[j] x for all j; c.size() == tasks(). O(K non-zeros), or O(non-zeros) if few c are not 0. If
  /// memory is refused nothing changed.
  void add(std::span<const double> c, const Features& x);
  /// w_task += a x; task < tasks(). O(non-zeros), and O(K) for every feature that is new.
  void add(Task task, double a, const Features& x);

  /// The rows in ascending order of their features; value: rows x K.
  struct Packed {
    std::uint64_t tasks = 0;
    Column<std::uint32_t> feature;
    Column<float> value;
    template <class S>
    static void state(S& s, auto&& v) {
      v("tasks", s.tasks);
      v("feature", s.feature);
      v("value", s.value);
    }
  };
  Packed pack() const;
  void unpack(const Packed& packed);  ///< throws DataError: sizes do not fit, out of order, not finite

 private:
  const float* find(Index feature) const {
    const std::uint32_t* row = row_.find(feature);
    return row == nullptr ? nullptr : weights_.data() + std::size_t{*row} * stride_;
  }
  std::uint32_t row_at(Index feature);  // after reserve()

  std::size_t tasks_ = 0, stride_ = 0;  // stride_: room for tasks in a row
  Table<Index, std::uint32_t> row_;     // feature -> its row, rows in order of first use
  std::pmr::vector<float> weights_;     // rows x stride_

  // margins(x) of the instance given last, if nothing changed since.
  bool kept_ = false;
  std::pmr::vector<double> margins_;
  std::pmr::vector<Index> of_index_;
  std::pmr::vector<double> of_value_;
};

}  // namespace quorate
