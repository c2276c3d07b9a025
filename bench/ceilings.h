// What this machine can do at most, measured: how fast memory is read and copied, how fast cache lines are had in no order,
// and how many additions and multiplications of doubles one core does. All of one thread.
#pragma once
#include <cstddef>

namespace quorate::bench {

/// Nanoseconds of processor time that this process took so far: what others do meanwhile does not count, or not all of it.
double now_ns();

/// Nanoseconds per byte read in order, and per byte copied (a byte copied is read and written), from arrays of so many
/// bytes.
double read_ns(std::size_t bytes);
double copy_ns(std::size_t bytes);
/// Nanoseconds per cache line read from so many bytes, in no order and without waiting for one another.
double random_ns(std::size_t bytes);
/// Nanoseconds per cache line if the next one's place is not known before.
double latency_ns(std::size_t bytes);
/// Nanoseconds per addition or multiplication of doubles, in the widest registers there are, no fused ones.
double flop_ns();
/// Nanoseconds of Eigen's A.selfadjointView<Lower>().rankUpdate(u, a), A: n x n doubles, in turn for each of so many A.
double eigen_rank_update_ns(std::size_t n, std::size_t matrices);

}  // namespace quorate::bench
