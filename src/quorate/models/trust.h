// Who listens to whom: the relationship matrix tau of a committee.
#pragma once
#include "quorate/base/listening.h"
#include "quorate/models/square.h"

namespace quorate {

/// tau: K x K, double, all ones at first. Row k is how much task k listens to each task; weigh() keeps its mean at 1, so
/// that a task that comes later takes its seat in every committee at the mean weight. A row that sums to 1 is this one
/// divided by the number of seats.
class Trust {
 public:
  explicit Trust(std::pmr::memory_resource* memory) : tau_(1, memory) {}

  std::size_t tasks() const { return tau_.tasks(); }
  void cover(std::size_t K) { tau_.cover(K); }
  double operator()(Task k, Task m) const { return tau_(k, m); }

  /// sum_m tau[k,m] p[m], in ascending order; without k itself if `others`. O(K).
  double margin(Task k, std::span<const double> p, bool others) const {
    const auto row = tau_.row(k);
    double sum = 0;
    for (std::size_t m = 0; m < row.size(); ++m)
      if (!others || m != k) sum += row[m] * p[m];
    return sum;
  }

  /// tau[k,m] *= decay[m] for all m, then the row is scaled back to mean 1; without k itself if `others`. Weights that would
  /// all vanish stay as they are. O(K).
  void weigh(Task k, std::span<const double> decay, bool others) {
    const auto row = tau_.row(k);
    double sum = 0;
    for (std::size_t m = 0; m < row.size(); ++m)
      if (!others || m != k) sum += row[m] * decay[m];
    if (!(sum > 0)) return;
    const double scale = static_cast<double>(row.size() - (others ? 1 : 0)) / sum;
    for (std::size_t m = 0; m < row.size(); ++m)
      if (!others || m != k) row[m] = row[m] * decay[m] * scale;
  }

  using Packed = Square::Packed;
  Packed pack() const { return tau_.pack(); }
  void unpack(const Packed& packed) {  ///< throws DataError: not K x K, not finite, negative
    tau_.unpack(packed);
    for (const double v : packed.value)
      if (v < 0) throw DataError("trust: a negative weight");
  }

 private:
  Square tau_;
};

/// Listening of every task.
class ListeningCounts {
 public:
  explicit ListeningCounts(std::pmr::memory_resource* memory) : hurt_(memory), helped_(memory) {}

  void cover(std::size_t K) {
    if (K <= hurt_.size()) return;
    hurt_.resize(K);
    helped_.resize(K);
  }
  void add(Task task, bool own_right, bool others_right) {
    hurt_[task] += own_right && !others_right;
    helped_[task] += !own_right && others_right;
  }
  std::size_t tasks() const { return std::min(hurt_.size(), helped_.size()); }
  Listening operator()(Task task) const { return task < tasks() ? Listening{hurt_[task], helped_[task]} : Listening{}; }

  template <class S>
  static void state(S& s, auto&& v) {
    v("hurt", s.hurt_);
    v("helped", s.helped_);
  }

 private:
  std::pmr::vector<std::uint64_t> hurt_, helped_;
};

}  // namespace quorate
