#include "ceilings.h"

#include <Eigen/Core>
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <numeric>
#include <vector>

#include "quorate/base/rng.h"

namespace quorate::bench {
namespace {

constexpr std::size_t kLine = 64;

volatile double sink;  // what is computed is wanted

/// Nanoseconds per `work` of once(): the best of several times, each long enough to be measured. The best, as a ceiling is
/// what the machine can do, not what it does while somebody else is at work.
template <class Once>
double best_ns(double work, Once once) {
  constexpr double kLongEnough = 2e6;
  double best = 1e300;
  for (int times = 1, measured = 0; measured < 9;) {
    const double start = now_ns();
    for (int n = 0; n < times; ++n) {
      once();
      asm volatile("" ::: "memory");  // nothing is known to be as it was
    }
    const double ns = now_ns() - start;
    if (ns < kLongEnough) {
      times *= 2;
      continue;
    }
    best = std::min(best, ns / times);
    ++measured;
  }
  return best / work;
}

[[gnu::target_clones("avx512f", "avx2", "default")]] double sum_of(const double* values, std::size_t n) {
  double lane[64] = {};  // enough of them that no sum waits for another
  for (std::size_t k = 0; k + 64 <= n; k += 64)
    for (std::size_t l = 0; l < 64; ++l) lane[l] += values[k + l];
  return std::accumulate(lane, lane + 64, 0.0);
}

[[gnu::target_clones("avx512f", "avx2", "default")]] double multiply_and_add(std::size_t steps) {
  double lane[96];
  for (std::size_t l = 0; l < 96; ++l) lane[l] = sink;
  for (std::size_t k = 0; k < steps; ++k)
    for (std::size_t l = 0; l < 96; ++l) lane[l] = lane[l] * 0.5 + 1.0;
  return std::accumulate(lane, lane + 96, 0.0);
}

}  // namespace

double now_ns() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

double read_ns(std::size_t bytes) {
  const std::vector<double> values(bytes / sizeof(double), 1.0);
  return best_ns(static_cast<double>(bytes), [&] { sink = sum_of(values.data(), values.size()); });
}

double copy_ns(std::size_t bytes) {
  std::vector<char> from(bytes / 2, 'a'), to(bytes / 2);
  return best_ns(static_cast<double>(bytes / 2), [&] {
    std::memcpy(to.data(), from.data(), to.size());
    sink = to[to.size() / 2];
  });
}

double random_ns(std::size_t bytes) {
  const std::size_t lines = bytes / kLine, reads = std::max<std::size_t>(lines, 1 << 16);
  const std::vector<std::uint64_t> values(lines * (kLine / sizeof(std::uint64_t)), 1);
  const auto place = [&](std::uint64_t k) {
    const std::uint64_t h = (k + 1) * 0x9E3779B97F4A7C15u;
    return (((h ^ h >> 29) * 0xBF58476D1CE4E5B9u >> 32) * lines >> 32) * (kLine / sizeof(std::uint64_t));
  };
  constexpr std::size_t kAhead = 32;  // asked for before they are read: beyond what the processor would find by itself
  return best_ns(static_cast<double>(reads), [&] {
    std::uint64_t sum = 0;
    for (std::uint64_t k = 0; k < reads; ++k) {
      __builtin_prefetch(&values[place(k + kAhead)]);
      sum += values[place(k)];
    }
    sink = static_cast<double>(sum);
  });
}

double latency_ns(std::size_t bytes) {
  const std::size_t lines = bytes / kLine, step = kLine / sizeof(std::uint64_t);
  std::vector<std::uint64_t> order(lines), next(lines * step);
  std::iota(order.begin(), order.end(), 0);
  Rng rng = make_rng(1, 0);
  shuffle(std::span(order), rng);
  for (std::size_t k = 0; k < lines; ++k) next[order[k] * step] = order[(k + 1) % lines] * step;
  std::uint64_t at = 0;
  constexpr std::size_t kReads = 1 << 14;
  return best_ns(static_cast<double>(kReads), [&] {
    for (std::size_t k = 0; k < kReads; ++k) at = next[at];
    sink = static_cast<double>(at);
  });
}

double flop_ns() {
  constexpr std::size_t kSteps = 1000;
  return best_ns(2.0 * 96 * kSteps, [] { sink = multiply_and_add(kSteps); });
}

double eigen_rank_update_ns(std::size_t n, std::size_t matrices) {
  const auto size = static_cast<Eigen::Index>(n);
  std::vector<Eigen::MatrixXd> A(matrices, Eigen::MatrixXd::Identity(size, size));
  const Eigen::VectorXd u = Eigen::VectorXd::Constant(size, 1e-3);
  std::size_t m = 0;
  return best_ns(1, [&] {
    A[m].selfadjointView<Eigen::Lower>().rankUpdate(u, 1e-3);
    sink = A[m](0, 0);
    m = (m + 1) % matrices;
  });
}

}  // namespace quorate::bench
