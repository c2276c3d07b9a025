// How good predictions were.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace quorate {

/// Measures of a set of predictions, each in [0, 1]; NaN where the data leave one undefined (no example, one class).
struct Measures {
  double accuracy, balanced_accuracy, f1, auc;
};

/// Counts of predictions by truth.
struct Confusion {
  std::uint64_t true_positive = 0, false_positive = 0, true_negative = 0, false_negative = 0;

  void add(int y, int predicted);  ///< both +1 or -1
  std::uint64_t total() const { return true_positive + false_positive + true_negative + false_negative; }
  std::uint64_t mistakes() const { return false_positive + false_negative; }
  double accuracy() const;
  double balanced_accuracy() const;  ///< mean recall of the classes that occur
  double f1() const;                 ///< of the positive class
};

/// Collects labels and margins.
class Scores {
 public:
  void add(int y, double margin);
  std::size_t size() const { return margins_[0].size() + margins_[1].size(); }
  const Confusion& confusion() const { return confusion_; }
  Measures measures() const;  ///< O(n log n)
  double auc() const;         ///< chance that a positive's margin is above a negative's, ties counting half

 private:
  Confusion confusion_;
  std::vector<double> margins_[2];  // of negatives, of positives
};

}  // namespace quorate
