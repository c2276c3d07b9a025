// Rounds of one example per task.
#pragma once
#include <algorithm>
#include <vector>

#include "support/make.h"

namespace quorate::test {

/// The stream's examples so that each round of K in turn has one of every task, in the tasks' order; the rest is left out.
inline Stream in_rounds(const Stream& s, Task K) {
  std::vector<std::vector<std::size_t>> queue(K);
  for (std::size_t n = 0; n < s.size(); ++n) queue[s.task[n]].push_back(n);
  std::size_t rounds = s.size();
  for (const auto& of_task : queue) rounds = std::min(rounds, of_task.size());
  Stream out;
  for (std::size_t r = 0; r < rounds; ++r)
    for (Task i = 0; i < K; ++i) {
      out.task.push_back(i);
      out.x.push_back(s.x[queue[i][r]]);
      out.y.push_back(s.y[queue[i][r]]);
    }
  return out;
}
inline Stream make_rounds(std::size_t rounds, Task K, std::size_t d, std::uint64_t seed, bool holes = false) {
  Stream out = in_rounds(make_stream(3 * rounds * K + 200, K, d, seed, holes), K);
  out.task.resize(rounds * K);
  out.x.resize(rounds * K);
  out.y.resize(rounds * K);
  return out;
}

/// Round r of a session whose tasks have their places.
inline std::vector<Outcome> play_round(Session& session, const Stream& s, Task K, std::size_t r) {
  std::vector<Example> round;
  for (std::size_t n = r * K; n < (r + 1) * K; ++n) round.push_back(s.example(n));
  std::vector<Outcome> out(K);
  run_round(
      session, round, [&](std::size_t n) { return s.y[r * K + n]; }, out);
  return out;
}
/// All rounds, one step after the other.
inline std::vector<Outcome> play(Session& session, const Stream& s, Task K) {
  std::vector<Outcome> out;
  for (std::size_t r = 0; r < s.size() / K; ++r)
    for (const Outcome& outcome : play_round(session, s, K, r)) out.push_back(outcome);
  return out;
}

}  // namespace quorate::test
