// Why a model predicts what it predicts: the features that decided, by name.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "quorate/learner.h"
#include "quorate/model/model.h"

namespace quorate {

/// What a feature of an example brought to its margin.
struct Reason {
  std::string feature;  ///< its name in the data
  double value;         ///< in the data
  Contribution part;    ///< of the margin
};

/// The `count` features that brought most to the margin for x, in magnitude; features that brought nothing are left out.
/// With classes it is the margin of the class `predicted`: one-vs-rest its own, one-vs-one the sum of those against the
/// others. All reasons together sum to it: what the learner's rounding leaves is the largest one's. first: as
/// Reduction::example; names: Featurizer::names(). Throws UsageError for a learner that is not `additive`. O(non-zeros x
/// tasks of the instance).
std::vector<Reason> explain(const Model& model, Task first, const Features& x,
                            std::span<const std::pair<Index, std::string>> names, std::size_t predicted, std::size_t count);

/// A feature that decided much over some examples.
struct HeavyFeature {
  std::string feature;         ///< its name in the data; #place if none is known
  std::size_t label = 0;       ///< to whose margin it brings something: the positive one, or a class
  std::uint64_t examples = 0;  ///< that have it
  /// Mean size of its part of their margins. Above 0: more of it speaks for the label.
  double contribution = 0;
  double shared = 0, own = 0;  ///< the same of the two parts, each with a sign of its own
};

/// Which features decide, over any number of examples: the part of each of their margins, as explain() says it.
/// Memory: O(features that the examples have x classes).
class HeavyFeatures {
 public:
  /// The model outlives this. Throws UsageError as check_explains.
  explicit HeavyFeatures(const Model& model);

  /// One more example. first: whose weights are looked at, as Reduction::example; names: Featurizer::names().
  /// O(non-zeros x tasks of the instance x classes).
  void add(Task first, const Features& x, std::span<const std::pair<Index, std::string>> names = {});
  /// The examples of the kept labels that were learned from, each with the weights of its task, or of the task `first`.
  void add_kept(std::optional<Task> first = {});
  std::uint64_t examples() const { return examples_; }  ///< added
  bool unnamed() const { return unnamed_; }             ///< whether top() gave a feature without a name

  /// The `count` features that brought most in all, in magnitude, the largest first; with classes of each class, one class
  /// after the other.
  std::vector<HeavyFeature> top(std::size_t count);

 private:
  struct Part {
    double size = 0, sum = 0, with_value = 0;  // of contributions c: |c|, c, c * value
    void add(double c, double value);
  };
  struct Sums {
    std::uint64_t examples = 0;
    double value = 0, squares = 0;  // of values, and of their squares
    Part all, shared, own;
    double mean(const Part& part) const;
  };
  std::string name_of(Index place);

  const Model& model_;
  std::uint64_t examples_ = 0;
  bool unnamed_ = false;
  std::vector<std::unordered_map<Index, Sums>> sums_;  // of each class, or of the positive label
  std::unordered_map<Index, std::vector<std::string>> names_;
};

/// Throws UsageError unless the model's learner is additive.
void check_explains(const Model& model);

}  // namespace quorate
