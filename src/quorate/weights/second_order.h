// Weights with confidence matrices: ridge regression of every task on the examples that updated it.
#pragma once
#include <cstdint>
#include <memory_resource>
#include <vector>

#include "quorate/base/features.h"
#include "quorate/weights/linear.h"
#include "quorate/weights/symmetric_matrix.h"

namespace quorate {

/// A task's estimate for an instance.
struct RidgeEstimate {
  double estimate = 0;  ///< x^T A^-1 w
  double r = 0;         ///< x^T A^-1 x: uncertainty about x; 0 to |x|^2
  double margin() const { return estimate / (1 + r); }
};

/// A: d x d per task, I + the sum of x x^T over its updates; w: the sum of y x. A^-1 and u = A^-1 w are kept beside them by
/// rank-one updates, A so that A^-1 can be made anew when it drifts. A task has a matrix from its first update on, as large
/// as the features it has seen.
class FullConfidence {
 public:
  explicit FullConfidence(std::pmr::memory_resource* memory);

  static constexpr std::size_t kMaxFeatures = 16384;  ///< 2 GB a task

  /// O(non-zeros^2 / 2).
  RidgeEstimate operator()(Task task, const Features& x) const;
  /// A += x x^T, w += y x. O(d^2). Throws DataError beyond kMaxFeatures. If memory is refused nothing changed.
  void update(Task task, double y, const Features& x);
  /// w += a x. O(d^2). Throws as update().
  void nudge(Task task, double a, const Features& x);

  std::uint64_t rebuilt() const { return rebuilt_; }  ///< number of rebuilt inverses

  /// Of every task in ascending order: its size n, n (n + 1) / 2 values of A and of A^-1, n of w and of u, its updates.
  struct Packed {
    std::pmr::vector<std::uint32_t> task, size;
    std::pmr::vector<std::uint64_t> updates;
    Column<double> A, inverse;
    std::pmr::vector<double> w, u;
    template <class S>
    static void state(S& s, auto&& v) {
      v("task", s.task);
      v("size", s.size);
      v("updates", s.updates);
      v("A", s.A);
      v("inverse", s.inverse);
      v("w", s.w);
      v("u", s.u);
    }
  };
  Packed pack() const;
  void unpack(const Packed& packed);  ///< throws DataError: sizes do not fit, not finite, not positive

 private:
  struct One {
    explicit One(std::pmr::memory_resource* memory) : A(memory), inverse(memory), w(memory), u(memory) {}
    SymmetricMatrix A, inverse;
    std::pmr::vector<double> w, u;
    std::uint64_t updates = 0;
  };
  One& prepare(Task task, const Features& x);
  std::size_t bytes_to_grow(const One& one, std::size_t n) const;
  void grow(One& one, std::size_t n);
  void repair(One& one, const Features& x);
  void rebuild(One& one);  // A^-1 and u, from A and w

  Table<Task, std::uint32_t> place_;  // task -> its index in tasks_, in order of first use
  std::pmr::vector<One> tasks_;
  std::pmr::vector<double> g_, check_;  // scratch, d each
  std::uint64_t rebuilt_ = 0;
};

/// The same with diagonals: A_f = 1 + the sum of x_f^2 over the task's updates.
class DiagonalConfidence {
 public:
  explicit DiagonalConfidence(std::pmr::memory_resource* memory) : w_(memory), squares_(memory) {}

  RidgeEstimate operator()(Task task, const Features& x) const;  ///< O(non-zeros)
  void update(Task task, double y, const Features& x);           ///< O(non-zeros)
  void nudge(Task task, double a, const Features& x) { w_.add(task, a, x); }
  void check() const;  ///< after loading: throws DataError for sums of squares below 0

  template <class S>
  static void state(S& s, auto&& v) {
    v("w", s.w_);
    v("squares", s.squares_);
  }

 private:
  Linear w_, squares_;          // K x d each
  std::vector<double> square_;  // scratch: of an instance's values
};

}  // namespace quorate
