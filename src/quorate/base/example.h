// What a learner is shown, and what it answers.
#pragma once
#include <cmath>
#include <limits>

#include "quorate/base/features.h"

namespace quorate {

/// One instance of one task. It carries no label: a learner cannot peek.
struct Example {
  Task task = 0;
  Features x;
};

/// What a learner says about an example before it knows the label.
struct Decision {
  double margin = 0;                                       ///< signed confidence in +1
  double probability = 1;                                  ///< with which the label was asked for
  double draw = std::numeric_limits<double>::quiet_NaN();  ///< the uniform draw compared with it; NaN if none was made
  bool ask = false;                                        ///< whether the label is worth buying
  /// Learners that choose among a round's examples: how far this one is from worth asking; NaN elsewhere.
  double selection_score = std::numeric_limits<double>::quiet_NaN();
  /// Learners that ask their peers before the annotator: what the peers say, and the second draw; NaN if not asked.
  double peer_margin = std::numeric_limits<double>::quiet_NaN(), peer_draw = std::numeric_limits<double>::quiet_NaN();
};

/// The predicted label: +1 if margin > 0, otherwise -1 (docs/papers.md section 0: zero predicts -1).
inline int predicted(double margin) { return margin > 0 ? 1 : -1; }

/// Whether a perceptron update fires: y * margin <= 0 (a zero margin is a mistake and updates).
inline bool mistaken(double y, double margin) { return y * margin <= 0; }

}  // namespace quorate
