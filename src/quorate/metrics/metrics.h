// Measures of predictions.
#pragma once
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace quorate {

/// How well margins put positives first; NaN without a positive. Equal margins are one threshold.
struct Ranking {
  double average_precision;  ///< sum over thresholds, from the highest, of precision times the recall gained, in [0, 1]
  double recall_at_90;       ///< the highest recall of a threshold with precision 0.9 or more; 0: none has it
  double lift;               ///< share of positives in the tenth with the highest margins, over their share in all; 0 to 10
};

/// Measures of a set of predictions, each in [0, 1]; NaN where the data leave one undefined (no example, one class).
struct Measures {
  double accuracy, balanced_accuracy, f1, auc;
  Ranking ranking;
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

/// Counts of predictions of C classes, by truth.
class ClassConfusion {
 public:
  ClassConfusion() = default;
  explicit ClassConfusion(std::size_t classes) : classes_(classes), count_(classes * classes) {}

  void add(std::size_t truth, std::size_t predicted) { ++count_[truth * classes_ + predicted]; }
  std::size_t classes() const { return classes_; }
  std::uint64_t operator()(std::size_t truth, std::size_t predicted) const { return count_[truth * classes_ + predicted]; }
  ClassConfusion& operator+=(const ClassConfusion& other);  ///< with the same number of classes
  std::uint64_t total() const;
  std::uint64_t mistakes() const;
  std::uint64_t count(std::size_t truth) const;
  double error() const;                ///< share of wrong predictions; NaN without any
  double recall(std::size_t c) const;  ///< share of c's examples predicted as c; NaN without any
  double f1(std::size_t c) const;      ///< NaN if c neither occurs nor is predicted
  Measures measures() const;  ///< mean recall and mean F1 over the classes where they are defined; no AUC, no ranking

 private:
  std::size_t classes_ = 0;
  std::vector<std::uint64_t> count_;
};

/// Predictions of classes: as ClassConfusion, but small where there are few predictions of many classes.
class ClassPredictions {
 public:
  /// Both below 2^16.
  void add(std::size_t truth, std::size_t predicted) {
    all_.emplace_back(static_cast<std::uint16_t>(truth), static_cast<std::uint16_t>(predicted));
  }
  ClassConfusion confusion(std::size_t classes) const {
    ClassConfusion out(classes);
    for (const auto& [truth, predicted] : all_) out.add(truth, predicted);
    return out;
  }

 private:
  std::vector<std::pair<std::uint16_t, std::uint16_t>> all_;
};

/// Collects labels and margins.
class Scores {
 public:
  void add(int y, double margin);
  std::size_t size() const { return margins_[0].size() + margins_[1].size(); }
  const Confusion& confusion() const { return confusion_; }
  Measures measures() const;  ///< O(n log n)
  Ranking ranking() const;    ///< O(n log n)
  double auc() const;         ///< probability that a positive's margin is above a negative's; ties count half

 private:
  Confusion confusion_;
  std::vector<double> margins_[2];  // of negatives, of positives
};

/// Calibration of probabilities: Brier score, and expected calibration error over kBins bins of equal width.
class Reliability {
 public:
  static constexpr std::size_t kBins = 10;
  struct Bin {
    std::uint64_t examples = 0, positive = 0;
    double sum = 0;  ///< of the probabilities
  };

  void add(int y, double probability);
  const Bin& bin(std::size_t i) const { return bins_[i]; }  ///< probabilities from i / kBins to (i + 1) / kBins
  std::uint64_t examples() const;
  double brier() const;  ///< mean of (probability - truth)^2; NaN without any
  double error() const;  ///< mean distance of a bin's mean probability from its share of positives; NaN without any
  Reliability& operator+=(const Reliability& other);

 private:
  Bin bins_[kBins];
  double squares_ = 0;
};

}  // namespace quorate
