// The relationship matrix tau: the weight of each task in the committee of each other task.
#pragma once
#include "quorate/base/memory.h"
#include "quorate/base/portable_math.h"
#include "quorate/base/simd.h"
#include "quorate/weights/peer_benefit.h"
#include "quorate/weights/task_matrix.h"

namespace quorate {

/// tau: K x K, double, initially all ones. Row k has the weights of all tasks in the committee of task k. weigh() keeps the
/// mean of a row at 1, so that a new task joins every committee with the mean weight. Divided by the number of members, a
/// row sums to 1.
class Trust {
 public:
  explicit Trust(std::pmr::memory_resource* memory) : tau_(1, memory) {}

  std::size_t tasks() const { return tau_.tasks(); }
  void ensure_tasks(std::size_t K) { tau_.ensure_tasks(K); }
  void reserve_tasks(std::size_t K) { tau_.reserve_tasks(K); }  ///< as TaskMatrix
  std::size_t bytes_to_reserve(std::size_t K) const { return tau_.bytes_to_reserve(K); }
  double operator()(Task k, Task m) const { return tau_(k, m); }

  std::span<const double> row(Task k) const { return tau_.row(k); }

  /// sum_m tau[k,m] p[m], in ascending order; without k itself if `others`. O(K).
  double margin(Task k, std::span<const double> p, bool others) const {
    const auto row = tau_.row(k);
    double sum = 0;
    for_parts(k, others, row.size(), [&](std::size_t begin, std::size_t end) {
      for (std::size_t m = begin; m < end; ++m) sum += row[m] * p[m];
    });
    return sum;
  }

  /// tau[k,m] *= decay[m] for all m, then the row is scaled back to mean 1; without k itself if `others`. Weights that would
  /// all vanish stay as they are. O(K).
  void weigh(Task k, std::span<const double> decay, bool others) {
    const double sum = margin(k, decay, others);
    if (!(sum > 0)) return;
    const auto row = tau_.row(k);
    const double scale = static_cast<double>(row.size() - (others ? 1 : 0)) / sum;
    for_parts(k, others, row.size(), [=](std::size_t begin, std::size_t end) {
      simd([=] {
        for (std::size_t m = begin; m < end; ++m) row[m] = row[m] * decay[m] * scale;
      });
    });
  }

  using Packed = TaskMatrix::Packed;
  Packed pack() const { return tau_.pack(); }
  void unpack(const Packed& packed) {  ///< throws DataError: not K x K, not finite, negative
    tau_.unpack(packed);
    for (const double v : packed.value.list())
      if (v < 0) throw DataError("trust: a negative weight");
  }

 private:
  /// f(begin, end): all K, or those before k and those after it.
  template <class F>
  static void for_parts(Task k, bool others, std::size_t K, F f) {
    f(0, others ? k : K);
    if (others) f(k + 1, K);
  }

  TaskMatrix tau_;
};

/// The hinge losses of the members on an example with label y: loss[m] = max(0, 1 - y p[m]), at most `cap`. O(K).
inline void hinge_losses(std::span<const double> p, double y, double cap, std::span<double> loss) {
  simd([=] {
    for (std::size_t m = 0; m < p.size(); ++m) loss[m] = std::min(cap, std::max(0.0, 1 - y * p[m]));
  });
}

/// Replaces loss[m] by the decay of trust in m, exp(-c loss[m] / sum), sum being that of all losses, if it is above 0; else
/// losses stay, and the result is false. O(K).
inline bool decays_of(std::span<double> loss, double c) {
  double sum = 0;
  for (const double v : loss) sum += v;
  if (!(sum > 0)) return false;
  simd([=] {
    for (double& v : loss) v = exp_negative(-c * v / sum);
  });
  return true;
}

/// step[m] = y for members to be updated: their prediction (0 being -1) is not `says` (+1 or -1), and the trust in them is
/// at least `least`; 0 for the others. Returns the number of members to be updated. O(K).
inline std::size_t teach(std::span<const double> p, double says, std::span<const double> trust, double least, double y,
                         std::span<double> step) {
  std::size_t taught = 0;
  simd([=, &taught] {
    std::size_t sum = 0;
    for (std::size_t m = 0; m < p.size(); ++m) {
      const bool taken = (p[m] > 0 ? 1.0 : -1.0) != says && trust[m] >= least;
      step[m] = taken ? y : 0.0;
      sum += taken;
    }
    taught = sum;
  });
  return taught;
}

/// The peer benefit of every task.
class PeerBenefitCounts {
 public:
  explicit PeerBenefitCounts(std::pmr::memory_resource* memory) : hurt_(memory), helped_(memory) {}

  void ensure_tasks(std::size_t K) {
    if (K <= hurt_.size()) return;
    reserve_tasks(K);
    hurt_.resize(K);
    helped_.resize(K);
  }
  /// Makes room for K tasks, so that ensure_tasks(K) cannot fail.
  void reserve_tasks(std::size_t K) {
    reserve(hurt_, K);
    reserve(helped_, K);
  }
  std::size_t bytes_to_reserve(std::size_t K) const {
    return quorate::bytes_to_reserve(hurt_, K) + quorate::bytes_to_reserve(helped_, K);
  }
  /// After loading.
  void fit_loaded() {
    quorate::fit_loaded(hurt_);
    quorate::fit_loaded(helped_);
  }
  void add(Task task, bool own_right, bool others_right) {
    hurt_[task] += own_right && !others_right;
    helped_[task] += !own_right && others_right;
  }
  std::size_t tasks() const { return std::min(hurt_.size(), helped_.size()); }
  PeerBenefit operator()(Task task) const {
    return task < tasks() ? PeerBenefit{hurt_[task], helped_[task]} : PeerBenefit{};
  }

  template <class S>
  static void state(S& s, auto&& v) {
    v("hurt", s.hurt_);
    v("helped", s.helped_);
  }

 private:
  std::pmr::vector<std::uint64_t> hurt_, helped_;
};

}  // namespace quorate
