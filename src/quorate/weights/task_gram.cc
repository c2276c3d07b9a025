#include "quorate/weights/task_gram.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "quorate/base/error.h"
#include "quorate/base/memory.h"
#include "quorate/base/prefetch.h"
#include "quorate/base/simd.h"

namespace quorate {
namespace {

/// The increment of G[j,l] by an update; the same bits for G[l,j].
inline double added(double c_j, double c_l, double p_j, double p_l, double xx) {
  return (c_j * p_l + c_l * p_j) + c_j * c_l * xx;
}

}  // namespace

void TaskGram::reserve_tasks(std::size_t K) {
  if (K <= tasks()) return;
  reserve(below_, row(K));
  reserve(c_, kWaiting * K);
  reserve(p_, kWaiting * K);
  reserve(diagonal_, K);
}

std::size_t TaskGram::bytes_to_reserve(std::size_t K) const {
  if (K <= tasks()) return 0;
  return quorate::bytes_to_reserve(below_, row(K)) + quorate::bytes_to_reserve(c_, kWaiting * K) +
         quorate::bytes_to_reserve(p_, kWaiting * K) + quorate::bytes_to_reserve(diagonal_, K);
}

void TaskGram::ensure_tasks(std::size_t K) {
  if (K <= tasks()) return;
  reserve_tasks(K);
  apply();
  below_.resize(row(K), 0.0);
  c_.resize(kWaiting * K);
  p_.resize(kWaiting * K);
  diagonal_.resize(K, 0.0);
}

void TaskGram::add(std::span<const double> c, std::span<const double> p, double xx) {
  const std::size_t K = tasks();
  std::copy_n(c.begin(), K, c_.begin() + static_cast<std::ptrdiff_t>(waiting_ * K));
  std::copy_n(p.begin(), K, p_.begin() + static_cast<std::ptrdiff_t>(waiting_ * K));
  xx_[waiting_] = xx;
  simd([=, d = diagonal_.data()] {
    for (std::size_t j = 0; j < K; ++j) d[j] += added(c[j], c[j], p[j], p[j], xx);
  });
  if (++waiting_ == kWaiting) apply();
}

void TaskGram::apply() {
  // Parts of rows, short enough that the values of all updates for one part stay in the L1 cache.
  constexpr std::size_t kPart = 256;
  const std::size_t K = tasks(), waiting = waiting_;
  const auto pass = [&](auto updates) {  // number of updates per pass, a compile-time constant
    constexpr std::size_t U = updates;
    for (std::size_t first = 0; first + U <= waiting; first += U) {
      const double *const c = c_.data() + first * K, *const p = p_.data() + first * K, *const xx = xx_.data() + first;
      simd([=, g = below_.data()] {
        for (std::size_t begin = 0; begin < K; begin += kPart)
          for (std::size_t j = begin + 1; j < K; ++j) {
            double c_j[U], p_j[U], length[U];
            for (std::size_t n = 0; n < U; ++n) {
              c_j[n] = c[n * K + j];
              p_j[n] = p[n * K + j];
              length[n] = xx[n];
            }
            double* const of_j = g + row(j);
            const std::size_t end = std::min(j, begin + kPart);
            std::size_t l = begin;
            for (; l + kLanes <= end; l += kLanes) {
              Lanes sum = lanes(of_j + l).v;
              for (std::size_t n = 0; n < U; ++n) {
                const Lanes c_l = lanes(c + n * K + l).v, p_l = lanes(p + n * K + l).v;
                sum += (c_j[n] * p_l + c_l * p_j[n]) + c_j[n] * c_l * length[n];  // added(), lane by lane
              }
              lanes(of_j + l).v = sum;
            }
            for (; l < end; ++l) {
              double sum = of_j[l];
              for (std::size_t n = 0; n < U; ++n) sum += added(c_j[n], c[n * K + l], p_j[n], p[n * K + l], length[n]);
              of_j[l] = sum;
            }
          }
      });
    }
  };
  if (waiting == kWaiting)
    pass(std::integral_constant<std::size_t, kWaiting>());
  else
    pass(std::integral_constant<std::size_t, 1>());
  waiting_ = 0;
}

double TaskGram::at(std::size_t j, std::size_t l) const {
  if (j == l) return diagonal_[j];
  const std::size_t K = tasks();
  double sum = below_[row(std::max(j, l)) + std::min(j, l)];
  for (std::size_t n = 0; n < waiting_; ++n)
    sum += added(c_[n * K + j], c_[n * K + l], p_[n * K + j], p_[n * K + l], xx_[n]);
  return sum;
}

double TaskGram::squared_distance(Task j, Task l) const { return std::max(0.0, (at(j, j) + at(l, l)) - 2 * at(j, l)); }

void TaskGram::squared_distances(Task i, std::span<double> out) const {
  constexpr std::size_t kAhead = 16;  // rows: each has one value of the column, in a line of its own
  const std::size_t K = tasks();
  std::copy_n(below_.data() + row(std::max<Task>(i, 1)), i, out.data());
  for (std::size_t j = i + 1; j < K; ++j) {
    prefetch(below_.data() + row(std::min(j + kAhead, K - 1)) + i);
    out[j] = below_[row(j) + i];
  }
  simd([=, this] {
    for (std::size_t n = 0; n < waiting_; ++n) {
      const double *const c = c_.data() + n * K, *const p = p_.data() + n * K, c_i = c[i], p_i = p[i], xx = xx_[n];
      for (std::size_t j = 0; j < K; ++j) out[j] += added(c[j], c_i, p[j], p_i, xx);
    }
    const double* const d = diagonal_.data();
    const double d_i = d[i];
    for (std::size_t j = 0; j < K; ++j) out[j] = std::max(0.0, (d[j] + d_i) - 2 * out[j]);
  });
  out[i] = 0;
}

TaskGram::Packed TaskGram::pack() const {
  const std::size_t K = tasks();
  return {
      K, Column<double>::of(K * K, [this, K](std::size_t i) { return at(std::max(i / K, i % K), std::min(i / K, i % K)); })};
}

void TaskGram::unpack(const Packed& packed) {
  const std::size_t K = packed.tasks;
  if (K > TaskMatrix::kMost || packed.value.size() != K * K) throw DataError("Gram matrix: expected tasks x tasks values");
  const auto value = [&](std::size_t j, std::size_t l) { return packed.value[j * K + l]; };
  for (std::size_t j = 0; j < K; ++j)
    for (std::size_t l = 0; l < K; ++l)
      if (!std::isfinite(value(j, l))) throw DataError("Gram matrix: a value is not finite");
  for (std::size_t j = 0; j < K; ++j) {
    if (value(j, j) < -1e-6) throw DataError("Gram matrix: negative squared length of " + std::to_string(j));
    for (std::size_t l = 0; l < j; ++l)
      if (value(j, l) != value(l, j))
        throw DataError("Gram matrix: not symmetric at " + std::to_string(j) + ", " + std::to_string(l));
  }
  TaskGram out(below_.get_allocator().resource());
  out.ensure_tasks(K);
  for (std::size_t j = 0; j < K; ++j) {
    out.diagonal_[j] = value(j, j);
    packed.value.read(j * K, std::span(out.below_).subspan(j > 0 ? row(j) : 0, j));
  }
  *this = std::move(out);
}

}  // namespace quorate
