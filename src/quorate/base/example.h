// The input of a learner, an example, and its output, a decision.
#pragma once
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>

#include "quorate/base/features.h"

namespace quorate {

/// Importance weights of examples: above 0, up to this.
inline constexpr double kMostWeight = 1000;
inline bool is_weight(double weight) { return weight > 0 && weight <= kMostWeight; }

/// One instance of one task. It carries no label, so a learner cannot use it.
struct Example {
  Task task = 0;
  Features x;
  /// The class that the task is about, where every user has a task of each class; else 0. Tasks of a group may share
  /// weights, tasks of different groups do not.
  std::uint32_t group = 0;
  double weight = 1;         ///< importance: a label of weight 2 teaches as much as two labels, 0.5 as half of one
  std::string_view id = {};  ///< the data's; only kept, with the label
};

/// Bytes that a learner may keep of its own for each example of a round while it decides.
inline constexpr std::size_t kBytesOfScratch = 192;

/// Examples that arrive before a label is bought.
struct Round {
  std::span<const Example> examples;
  std::size_t tasks_per_instance = 1;  ///< > 1: that many examples in a row are one instance, shown to as many tasks
};

/// The output of a learner for one example, before the label is known.
struct Decision {
  double margin = 0;                                       ///< signed confidence in +1
  double probability = 1;                                  ///< of asking for the label
  double draw = std::numeric_limits<double>::quiet_NaN();  ///< uniform, compared with `probability`; NaN without a draw
  bool ask = false;                                        ///< whether to buy the label
  /// Learners that select within a round: 0 or less for the most uncertain example, larger for more certain ones; else NaN.
  double selection_score = std::numeric_limits<double>::quiet_NaN();
  /// Learners that ask their peers before the annotator: the peers' margin and the second draw; NaN if not asked.
  double peer_margin = std::numeric_limits<double>::quiet_NaN(), peer_draw = std::numeric_limits<double>::quiet_NaN();
};

/// The predicted label: +1 if margin > 0, otherwise -1 (docs/papers.md section 0: zero predicts -1).
inline int predicted(double margin) { return margin > 0 ? 1 : -1; }

/// Whether a perceptron update fires: y * margin <= 0 (a zero margin is a mistake and updates).
inline bool mistaken(double y, double margin) { return y * margin <= 0; }

}  // namespace quorate
