// Generates streams of related linear tasks whose targets move.
#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "quorate/base/answer.h"
#include "quorate/base/features.h"

namespace quorate {

/// How the targets of the tasks move.
enum class Shift {
  kNone,
  kTogether,  ///< all turn in the same plane: their angles stay
  kApart      ///< each turns in its own plane
};
/// "none", "together" or "apart". Throws UsageError.
Shift shift_named(const std::string& name);

/// Examples of K linear tasks with unit targets u_k, the normalised sum of a common direction and an own one.
struct DriftOptions {
  std::uint64_t tasks = 4, features = 20, examples = 10'000, seed = 1;
  double related = 0.9;  ///< weight of the common direction, 0 to 1; cosine of two targets, on average
  Shift shift = Shift::kTogether;
  std::uint64_t every = 1'000;  ///< examples between two shifts
  double angle = 0.5;           ///< radians that a target's part in the plane turns by
  double noise = 0;             ///< probability that a label is wrong, 0 to 0.5
};

/// Calls sink(task, label, x) for every example: tasks in turn, x uniform on the unit sphere, the label the sign of <u_k,
/// x>. Draws: generator 2 of the seed. Throws UsageError for options out of range.
void generate_drift(const DriftOptions& options,
                    const std::function<void(Task task, Answer label, std::span<const double> x)>& sink);

}  // namespace quorate
