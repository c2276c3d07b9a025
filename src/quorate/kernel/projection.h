// Projections on the kept instances, when an instance is added or removed.
#pragma once
#include <algorithm>
#include <cstdint>
#include <memory_resource>
#include <span>
#include <vector>

#include "quorate/kernel/gram_inverse.h"

namespace quorate {

/// Projections on the span of an active set, and of a new instance v beside it. With H the Gram matrix of the set,
/// g = H^-1 <v_j, v> and s the squared distance of v from the span, the inverse for the set and v is
///     E = [H^-1 + g g^T / s, -g / s; -g^T / s, 1 / s].
struct Projection {
  explicit Projection(std::pmr::memory_resource* memory) : H(memory), g(memory), scratch(memory) {}

  /// Takes the inner products of v with the set, and its squared length. Returns whether v is nearer than eta and than half
  /// its own length (or than rounding error); then g are the coefficients of its projection.
  bool project(std::span<const double> h, double vv, double eta) {
    constexpr double kLeast = 1e-200;  // least divisor
    g.resize(H.size());
    s = H.project(h, vv, g);
    const double floor = std::max(GramInverse::kFloor * vv, kLeast);
    const bool near = s <= std::max(std::min(eta * eta, vv / 4), floor);
    s = std::max(s, floor);
    return near;
  }
  /// After loading: restores the sizes of arrays.
  void fit() {
    fit_scratch(g, H.size());
    fit_scratch(scratch, H.size());
    scratch.resize(std::max(scratch.size(), H.size()));
  }
  /// No v: E is H^-1 alone.
  void clear_candidate() {
    g.assign(H.size(), 0.0);
    s = 1;
  }
  double diagonal(std::size_t j) const { return H(j, j) + g[j] * g[j] / s; }
  /// In the projection of r on the others and v: the coefficient of j, and that of v.
  double coefficient(std::size_t j, std::size_t r) const { return -(H(j, r) + g[j] * g[r] / s) / diagonal(r); }
  double coefficient_of_new(std::size_t r) const { return g[r] / s / diagonal(r); }
  /// Removes r from the set, and updates g and s.
  void remove(std::size_t r) {
    const double H_rr = H(r, r), g_r = g[r];
    for (std::size_t j = 0; j < g.size(); ++j) g[j] -= H(j, r) / H_rr * g_r;
    s += g_r * g_r / H_rr;
    g[r] = g.back();
    g.pop_back();
    quorate::fit(g);
    H.remove(r);
    fit_scratch(scratch, H.size());
  }
  /// Adds v to the set.
  void add() {
    H.add(g, s);
    fit();
  }

  /// After add(): checks the inverse for drift, every 64 changes. owner.column(j, h) gives column j of the Gram matrix;
  /// owner.drop(r, c) removes r, the combination of those before it with coefficients c.
  template <class Owner>
  void check_drift(Owner& owner) {
    if (++changes % 64 == 0) {
      const std::size_t j = H.size() - 1;
      const std::span<double> of_j(scratch.data(), H.size());
      owner.column(j, of_j);
      const double residual = H.residual(of_j, j);
      worst = std::max(worst, residual);
      if (residual > GramInverse::kDrift) return rebuild(owner);
    }
    repair(owner);
  }
  /// Rebuilds the inverse if it is not sound; returns whether it did. v must then be projected again.
  template <class Owner>
  bool repair(Owner& owner) {
    if (H.sound()) return false;
    rebuild(owner);
    return true;
  }
  template <class Owner>
  void rebuild(Owner& owner) {
    H.rebuild([&](std::size_t j, std::span<double> h) { owner.column(j, h); },
              [&](std::size_t r, std::span<const double> c) { owner.drop(r, c); });
    ++rebuilt;
    fit();
  }
  /// As GramInverse.
  std::size_t bytes_to_add() const {
    return H.bytes_to_add() + bytes_to_fit(g, H.size() + 1) + bytes_to_fit(scratch, H.size() + 1);
  }
  std::size_t bytes_of_first() const { return Projection(g.get_allocator().resource()).bytes_to_add(); }
  std::size_t bytes_to_copy() const { return H.bytes_to_copy(); }
  std::size_t bytes() const { return H.bytes() + bytes_of(g) + bytes_of(scratch); }

  GramInverse H;
  std::pmr::vector<double> g;        // of the current instance
  double s = 1;                      // likewise
  std::pmr::vector<double> scratch;  // a column of the Gram matrix
  std::uint64_t changes = 0, rebuilt = 0;
  double worst = 0;  // largest residual seen

  template <class S>
  static void state(S& s, auto&& v) {
    v("inverse", s.H);
    v("changes", s.changes);
    v("rebuilt", s.rebuilt);
    v("worst_residual", s.worst);
  }
};

}  // namespace quorate
