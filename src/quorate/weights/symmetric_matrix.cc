#include "quorate/weights/symmetric_matrix.h"

#include <algorithm>

#include "quorate/base/prefetch.h"
#include "quorate/base/simd.h"

namespace quorate {

void SymmetricMatrix::reserve(std::size_t n) {
  if (n <= n_) return;
  fit(rows_, std::max(n, rows_.size()));
  while (rows_.size() < n) rows_.emplace_back(rows_.size() + 1, 0.0);
}

void SymmetricMatrix::grow(std::size_t n) {
  reserve(n);
  for (; n_ < n; ++n_) {
    std::fill(rows_[n_].begin(), rows_[n_].end(), 0.0);
    rows_[n_][n_] = 1;
  }
}

namespace {

/// Four rows at a time: each addition to a sum waits for the one before, so a single row leaves the processor idle.
constexpr std::size_t kRows = 4;

/// The four lanes of a sum, in one register where there is one as wide.
using Four __attribute__((vector_size(4 * sizeof(double)))) = double;
Unaligned<Four>& four(double* at) { return *reinterpret_cast<Unaligned<Four>*>(at); }
const Unaligned<Four>& four(const double* at) { return *reinterpret_cast<const Unaligned<Four>*>(at); }

/// out[r] = <rows[r], x> over the first n, in four lanes as dot().
void dot_rows(const double* const* rows, const double* x, std::size_t n, double* out) {
  Four lane[kRows] = {};
  const std::size_t whole = n & ~std::size_t{3};
  for (std::size_t k = 0; k < whole; k += 4)
    for (std::size_t r = 0; r < kRows; ++r) lane[r] += four(rows[r] + k).v * four(x + k).v;
  for (std::size_t r = 0; r < kRows; ++r) {
    for (std::size_t k = whole; k < n; ++k) lane[r][k - whole] += rows[r][k] * x[k];
    out[r] = (lane[r][0] + lane[r][1]) + (lane[r][2] + lane[r][3]);
  }
}

/// Adds the part of rows i .. i + 3 of the triangle, and of the same columns, to out = T x. out[0 .. i - 1] holds the part
/// of the rows before.
void times_rows(const double* const* rows, const double* x, std::size_t i, double* out) {
  Four lane[kRows] = {};
  const double v[kRows] = {x[i], x[i + 1], x[i + 2], x[i + 3]};
  for (std::size_t k = 0; k < i; k += 4) {  // i is a multiple of 4
    const Four x_k = four(x + k).v;
    Four sum = four(out + k).v;
    for (std::size_t r = 0; r < kRows; ++r) {
      const Four t = four(rows[r] + k).v;
      lane[r] += t * x_k;
      sum += v[r] * t;
    }
    four(out + k).v = sum;
  }
  for (std::size_t r = 0; r < kRows; ++r) {
    double sum = (lane[r][0] + lane[r][1]) + (lane[r][2] + lane[r][3]);
    for (std::size_t k = 0; k <= r; ++k) sum += rows[r][i + k] * v[k];
    for (std::size_t k = r + 1; k < kRows; ++k) sum += rows[k][i + r] * v[k];
    out[i + r] = sum;
  }
}

/// out += v t, n of them.
void add(double v, const double* t, std::size_t n, double* out) {
  simd([=] {
    std::size_t k = 0;
    for (; k + kLanes <= n; k += kLanes) lanes(out + k).v += v * lanes(t + k).v;
    for (; k < n; ++k) out[k] += v * t[k];
  });
}

}  // namespace

double SymmetricMatrix::quadratic(const Features& x) const {
  double sum = 0;
  std::size_t begin = 0;
  if (x.extent() == x.size())  // no feature left out, whether written as dense or not
    simd([&] {
      for (; begin + kRows <= std::min(size(), x.size()); begin += kRows) {
        const double* rows[kRows];
        double before[kRows];
        for (std::size_t r = 0; r < kRows; ++r) rows[r] = row(begin + r);
        dot_rows(rows, x.value.data(), begin, before);
        for (std::size_t r = 0; r < kRows; ++r) {
          for (std::size_t k = begin; k < begin + r; ++k) before[r] += rows[r][k] * x.value[k];
          const double v = x.value[begin + r];
          sum += v * (2 * before[r] + rows[r][begin + r] * v);
        }
      }
    });
  for (std::size_t k = begin; k < x.size(); ++k) {
    const double v = x.value[k];
    if (v == 0) continue;
    const std::size_t i = x.at(k);
    if (i >= size()) {
      sum += v * v;
      continue;
    }
    const double* t = row(i);
    if (k + 1 < x.size() && x.at(k + 1) < size()) {  // scattered rows and features: no hardware prefetch
      const double* next = row(x.at(k + 1));
      for (std::size_t l = 0; l <= k; l += 4) prefetch(next + x.at(l));
    }
    const Features before{x.index.first(x.dense() ? 0 : k), x.value.first(k)};
    sum += v * (2 * dot(before, [t](Index j) { return t[j]; }) + t[i] * v);
  }
  return sum;
}

void SymmetricMatrix::times(const Features& x, std::span<double> out) const {
  // A row of the triangle is part of a row of T and part of a column: both are used in one pass over it.
  std::size_t i = 0;
  if (x.extent() == x.size())
    simd([&] {
      for (; i + kRows <= std::min(size(), x.size()); i += kRows) {
        const double* rows[kRows];
        for (std::size_t r = 0; r < kRows; ++r) rows[r] = row(i + r);
        times_rows(rows, x.value.data(), i, out.data());
      }
    });
  std::size_t before = i;  // features of x below the row
  for (; i < size(); ++i) {
    const double* t = row(i);
    while (before < x.size() && x.at(before) < i) ++before;
    const Features part{x.index.first(x.dense() ? 0 : before), x.value.first(before)};
    out[i] = part.size() == 0 ? 0 : dot(part, [t](Index j) { return t[j]; });
    if (before == x.size() || x.at(before) != i) continue;
    const double v = x.value[before];
    add(v, t, i + 1, out.data());
  }
}

void SymmetricMatrix::add_outer(double a, std::span<const double> u) {
  for (std::size_t i = 0; i < size(); ++i)
    if (u[i] != 0) add(a * u[i], u.data(), i + 1, row(i));
}

void SymmetricMatrix::add_outer(const Features& x) {
  for (std::size_t k = 0; k < x.size(); ++k) {
    double* t = row(x.at(k));
    for (std::size_t l = 0; l <= k; ++l) t[x.at(l)] += x.value[k] * x.value[l];
  }
}

void SymmetricMatrix::scale(double a) {
  for (std::size_t i = 0; i < n_; ++i)
    for (double& v : rows_[i]) v *= a;
}

double SymmetricMatrix::factor_row(std::size_t i) {
  double* l = row(i);
  const auto product = [l](const double* t, std::size_t n) { return dot({{}, {l, n}}, [t](Index j) { return t[j]; }); };
  for (std::size_t j = 0; j < i; ++j) l[j] = (l[j] - product(row(j), j)) / row(j)[j];
  return l[i] - product(l, i);
}

void SymmetricMatrix::solve_row(std::size_t i) {
  double* l = row(i);
  for (std::size_t j = i; j-- > 0;) {
    l[j] /= row(j)[j];
    add(-l[j], row(j), j, l);
  }
}

void SymmetricMatrix::invert_factor() {
  for (std::size_t i = 0; i < n_; ++i) {  // L to M = L^-1
    double* m = row(i);
    for (std::size_t k = 0; k < i; ++k) {
      const double v = m[k];
      add(v, row(k), k, m);
      m[k] = v * row(k)[k];
    }
    for (std::size_t j = 0; j < i; ++j) m[j] /= -m[i];
    m[i] = 1 / m[i];
  }
  for (std::size_t i = 0; i < n_; ++i) {  // M to M^T M
    double* t = row(i);
    const double own = t[i];
    for (std::size_t j = 0; j <= i; ++j) t[j] *= own;
    for (std::size_t k = i + 1; k < n_; ++k) add(row(k)[i], row(k), i + 1, t);
  }
}

void SymmetricMatrix::assign(std::size_t n, const Column<double>& values, std::size_t begin) {
  rows_.clear();
  n_ = 0;
  fit(rows_, n);
  rows_.reserve(n);
  for (std::size_t i = 0; i < n; begin += ++i) values.read(begin, rows_.emplace_back(i + 1));
  n_ = n;
}

Column<double> values_of(const std::vector<const SymmetricMatrix*>& matrices) {
  std::vector<std::size_t> ends;
  const auto rows = std::make_shared<std::vector<const double*>>();
  for (const SymmetricMatrix* T : matrices)
    for (std::size_t i = 0; i < T->size(); ++i) {
      rows->push_back(T->row(i));
      ends.push_back((ends.empty() ? 0 : ends.back()) + i + 1);
    }
  return Column<double>::joined(
      std::move(ends), [rows](std::size_t i, std::size_t begin, std::size_t n) { return std::span((*rows)[i] + begin, n); });
}

}  // namespace quorate
