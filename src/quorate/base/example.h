// What a learner is shown, and what it answers.
#pragma once
#include <cmath>
#include <limits>
#include <span>

#include "quorate/base/features.h"

namespace quorate {

/// One instance of one task. It carries no label: a learner cannot peek.
struct Example {
  Task task = 0;
  Features x;
};

/// Examples that arrive before a label is bought.
struct Round {
  std::span<const Example> examples;
  std::size_t tasks_per_instance = 1;  ///< > 1: that many examples in a row are one instance, shown to as many tasks
};

/// What a learner decides about an example before it knows the label.
struct Decision {
  double margin = 0;                                       ///< signed confidence in +1
  double probability = 1;                                  ///< of asking for the label
  double draw = std::numeric_limits<double>::quiet_NaN();  ///< the uniform draw compared with it; NaN if none was made
  bool ask = false;                                        ///< whether the label is worth buying
  /// Of learners that select within a round: 0 or less for the most uncertain example; NaN elsewhere.
  double selection_score = std::numeric_limits<double>::quiet_NaN();
  /// Of learners that ask their peers before the annotator: the peers' margin and the second draw; NaN if not asked.
  double peer_margin = std::numeric_limits<double>::quiet_NaN(), peer_draw = std::numeric_limits<double>::quiet_NaN();
};

/// The predicted label: +1 if margin > 0, otherwise -1 (a margin of 0 predicts -1, docs/papers.md).
inline int predicted(double margin) { return margin > 0 ? 1 : -1; }

/// Whether a perceptron update fires: y * margin <= 0 (a zero margin is a mistake and updates).
inline bool mistaken(double y, double margin) { return y * margin <= 0; }

}  // namespace quorate
