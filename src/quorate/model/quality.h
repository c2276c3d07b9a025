// How good is the model at hand? Audited examples were drawn at random, whatever the model thinks of them, and are never
// learned from: they are a sample that it has not seen, and it is asked about them again. Each counts 1 / the probability
// with which it was audited, so that the shares are those of the stream so far (Hajek 1971).
//
// A prediction that was made when an example came (Audit::stream, recent) is that of another model: of a pool that is posted
// at once the model without a label made them all.
//
// Intervals are for 95 %. Of a share: Clopper and Pearson's for the effective number of examples (Korn and Graubard 1998).
// Of a mean of shares: from the ends of theirs (Zou and Donner 2008, "MOVER"). Of the average precision: the logit interval
// of Boyd, Eng and Page (2013).
#pragma once
#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "quorate/metrics/statistics.h"
#include "quorate/model/model.h"

namespace quorate {

/// Shares among weighted examples; an estimate without examples is NaN.
struct Quality {
  static constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

  Estimate accuracy{};                                  ///< of the label that all tasks say
  Estimate balanced_accuracy{};                         ///< mean recall of the classes that occur
  Estimate recall{}, precision{}, average_precision{};  ///< of the positive label; of classes none
  bool has_positive = false;                            ///< whether there is a positive label
  std::size_t most_frequent = 0;                        ///< label: its number (Reduction)
  double always = kNan;                                 ///< the accuracy of that answer alone
  double fewest = kNan;                                 ///< share of the least frequent class that occurs

  /// Calls f(name, estimate) for each.
  template <class F>
  void for_each(F f) const {
    f("accuracy", accuracy);
    f("recall", recall);
    f("precision", precision);
    f("balanced_accuracy", balanced_accuracy);
    f("average_precision", average_precision);
  }
};

/// Counts predictions whose truth is known.
class QualityCount {
 public:
  explicit QualityCount(const Reduction& reduction) : has_positive_(!reduction.has_classes()), of_(reduction.size()) {}

  /// margin: of positive; not looked at with classes. weight > 0.
  void add(std::size_t truth, std::size_t predicted, double margin, double weight);
  Quality quality() const;  ///< O(n log n)

 private:
  struct Weights {
    std::uint64_t examples = 0;
    double all = 0, squares = 0, right = 0;
    void add(double weight, bool good);
    Estimate estimate() const;
  };
  struct Scored {
    double margin, weight;
    bool positive;
  };

  Estimate average_precision() const;

  bool has_positive_;        // label 1
  Weights all_, flagged_;    // flagged: predicted as positive
  std::vector<Weights> of_;  // by truth
  std::vector<Scored> scored_;
};

/// The audits that are kept (KeptLabels), predicted by the model as it is now. Of a class against the rest an audit tells
/// the class if the answer is yes; others tell nothing about the class. Beyond `most` audits a fair sample of about that
/// number. O(audits, each as a prediction).
Quality quality_of(const Model& model, std::size_t most = std::numeric_limits<std::size_t>::max());

/// "accuracy>=0.9", "error<=0.1", "recall>=0.8" or "precision>=0.8". Holds when the lower end of the estimate's interval is
/// there, so it stops late, not early: at most 5 % of runs stop while the model is below the target, however it moves. For
/// that the interval is looked at only when audits have grown by a quarter, and at look k (from 0) it is one-sided with z^2
/// = 6.2 + k / 4: the chances to be wrong add up to 4.9 %. Looked at after every audit, a one-sided 95 % interval was wrong
/// in more than half of the runs that stay just below the target.
class StopRule {
 public:
  explicit StopRule(std::string_view text);  ///< throws UsageError

  double target() const { return target_; }
  bool of_accuracy() const { return measure_ == &Quality::accuracy; }
  /// After a round: whether to look, after `scored` audits that were right or wrong.
  bool due(std::uint64_t scored) const { return scored >= next_; }
  /// A look, which was due: whether to stop.
  bool holds(std::uint64_t scored, const Quality& now);

 private:
  double target_;
  Estimate Quality::*measure_ = &Quality::accuracy;
  std::uint64_t looks_ = 0, next_;  // next_: audits at the next look
};

}  // namespace quorate
