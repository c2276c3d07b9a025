// Projections on what is kept, when an instance comes or goes.
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

  /// v comes: its inner products with the set, and its squared length. Whether it is nearer than eta (or than rounding can
  /// tell): then g are the coefficients of its projection.
  bool project(std::span<const double> h, double vv, double eta) {
    g.resize(H.size());
    s = H.project(h, vv, g);
    return s <= std::max(eta * eta, GramInverse::kFloor * vv);
  }
  /// Room for g, to be had before anybody asks what is left.
  void reserve() { g.reserve(H.size()); }
  /// No v: E is H^-1 alone.
  void clear_candidate() {
    g.assign(H.size(), 0.0);
    s = 1;
  }
  double diagonal(std::size_t j) const { return H(j, j) + g[j] * g[j] / s; }
  /// Of the projection of r on the others and v: the share of j, and that of v.
  double coefficient(std::size_t j, std::size_t r) const { return -(H(j, r) + g[j] * g[r] / s) / diagonal(r); }
  double coefficient_of_new(std::size_t r) const { return g[r] / s / diagonal(r); }
  /// r leaves the set; g and s follow.
  void remove(std::size_t r) {
    const double H_rr = H(r, r), g_r = g[r];
    for (std::size_t j = 0; j < g.size(); ++j) g[j] -= H(j, r) / H_rr * g_r;
    s += g_r * g_r / H_rr;
    g[r] = g.back();
    g.pop_back();
    H.remove(r);
  }
  /// v joins the set.
  void add() {
    H.add(g, s);
    scratch.resize(std::max(scratch.size(), H.size()));
  }

  /// Looks every so many changes whether the inverse still is one. column(j, h) gives column j of the Gram matrix.
  template <class Column>
  void check_drift(Column& column) {
    if (++changes % 64 != 0 || H.size() == 0) return;
    const std::size_t j = H.size() - 1;
    const std::span<double> of_j(scratch.data(), H.size());
    column(j, of_j);
    const double residual = H.residual(of_j, j);
    worst = std::max(worst, residual);
    if (residual > GramInverse::kDrift) rebuild(column);
  }
  template <class Column>
  void rebuild(Column& column) {
    const std::size_t n = H.size();
    SymmetricMatrix gram(std::pmr::get_default_resource());
    gram.grow(n);
    scratch.resize(std::max(scratch.size(), n));
    for (std::size_t i = 0; i < n; ++i) {
      column(i, std::span<double>(scratch.data(), n));
      std::copy_n(scratch.begin(), i + 1, gram.row(i));
    }
    H.rebuild(gram);
    ++rebuilt;
  }
  std::size_t bytes_to_add() const {
    return H.bytes_to_add() + growth(g, 1) + growth(scratch, 1 + g.size() - std::min(g.size(), scratch.size()));
  }

  GramInverse H;
  std::pmr::vector<double> g;        // of the instance at hand
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
