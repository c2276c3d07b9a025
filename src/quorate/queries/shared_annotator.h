// One annotator shared by many tasks: selects the examples of a round whose labels are bought (Cohen and Crammer, SHAMPO),
// and the parameter for the answer "neither".
#pragma once
#include <cstdint>
#include <memory_resource>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <variant>
#include <vector>

#include "quorate/base/column.h"
#include "quorate/base/example.h"
#include "quorate/base/learner_context.h"
#include "quorate/base/memory.h"
#include "quorate/base/rng.h"
#include "quorate/base/segmented_vector.h"
#include "quorate/params/params.h"

namespace quorate {

struct PriorEqual : Tag<"equal", "a = 1 for every task"> {};
struct PriorFile {
  static constexpr std::string_view name = "weights", meaning = "a from a file";
  std::string file;
  static constexpr auto fields() {
    return std::tuple{Field{&PriorFile::file, "file", kAny,
                            "CSV file with the columns task,weight; weights from 1e-9 to 1e9; a task it does not name has 1",
                            "SHAMPO with prior"}};
  }
};
struct PriorCounts : Tag<"counts", "a = (1 + mistakes) / (2 + queries) of the task so far"> {};

struct OwnQueries : Tag<"own", "labels bought for the task"> {};
struct AllQueries : Tag<"all", "labels bought for all tasks"> {};
struct AdaptiveNone : Tag<"none", "b is the same for every task, always"> {};
struct AdaptiveCounts {
  static constexpr std::string_view name = "counts", meaning = "b times (1 + updates of the task)^kappa (1 + queries)^eta";
  double kappa = 0.5, eta = -0.5;
  std::variant<OwnQueries, AllQueries> queries;
  static constexpr auto fields() {
    constexpr Interval kExponent{-10, 10};
    return std::tuple{Field{&AdaptiveCounts::kappa, "kappa", kExponent, "exponent of the updates", "Adaptive b"},
                      Field{&AdaptiveCounts::eta, "eta", kExponent, "exponent of the queries", "Adaptive b"},
                      Field{&AdaptiveCounts::queries, "queries", kAny, "which queries are counted",
                            "Adaptive b; docs/papers.md section 2"}};
  }
};

struct ChooseMargin
    : Tag<"margin", "with probability proportional to a / (b + score), score: |margin| minus the smallest of the round"> {};
struct ChooseUniform : Tag<"uniform", "with probability proportional to a: pure exploration"> {};
struct ChooseSmallest : Tag<"smallest", "the most uncertain: pure exploitation"> {};
struct ChooseAll : Tag<"all", "every label of the round: watch all"> {};

/// What a query rule brings to the learner that has it; see Capabilities.
struct QueryTraits {
  bool paced = false, selects = false, draws = false;
  bool by_round = false;  ///< decides about the examples of a round together
};

/// Parameters of a shared annotator.
struct SharedAnnotatorParams {
  double b = 1;
  std::variant<PriorEqual, PriorFile, PriorCounts> prior;
  std::variant<AdaptiveNone, AdaptiveCounts> adaptive;
  std::variant<ChooseMargin, ChooseUniform, ChooseSmallest, ChooseAll> choose;
  static constexpr auto fields() {
    return std::tuple{
        Field{&SharedAnnotatorParams::b, "b", kPositive, "exploration: larger is nearer to uniform", "Perceptron SHAMPO"},
        Field{&SharedAnnotatorParams::prior, "prior", kAny, "weights a of the tasks", "SHAMPO with prior"},
        Field{&SharedAnnotatorParams::adaptive, "adaptive", kAny, "whether b follows each task's progress", "Adaptive b"},
        Field{&SharedAnnotatorParams::choose, "choose", kAny, "whom to ask about", "Perceptron SHAMPO"}};
  }
  QueryTraits traits() const {
    return {.selects = !std::holds_alternative<ChooseAll>(choose),
            .draws = std::holds_alternative<ChooseMargin>(choose) || std::holds_alternative<ChooseUniform>(choose),
            .by_round = true};
  }
};

/// A shared annotator with its state. It marks LearnerContext::labels_per_round examples of each round, drawn without
/// replacement: Pr[J = j] is proportional to a_j / (b_j + max(score_j, 0)).
///
/// Draws: one per label; none if the choice is not random or the round has no more examples than labels to buy. A draw u
/// selects the first example, in the round's order, whose running sum of weights exceeds u times their sum.
/// Cost: O(examples) per round and label. Memory: 24 bytes a task.
class SharedAnnotator {
 public:
  /// Reads the prior's file unless state is loaded next. Throws UsageError, FileError, DataError.
  SharedAnnotator(const SharedAnnotatorParams& choice, const LearnerContext& context);

  /// Marks examples of a round by their `selection_score` (0 or less is most uncertain). `probability` becomes the
  /// probability of the draw that selected the example or, if none did, its probability in the last draw.
  void by_score(std::span<const Example> round, Rng& rng, std::span<Decision> out) const;
  /// The same with score_j = |margin_j| - min_m |margin_m| (Perceptron SHAMPO).
  void by_margin(std::span<const Example> round, Rng& rng, std::span<Decision> out) const;
  /// Makes room, so that learned(task, ..) cannot fail.
  void reserve_task(Task task) {
    if (task != kUntracked) counts_.resize(std::size_t{task} + 1);
  }
  /// Bytes that reserve_task(K - 1) may allocate.
  std::size_t bytes_for_tasks(std::size_t K) const { return counts_.bytes_to_grow(K); }
  /// Counts a bought answer, unless it is about kUntracked. mistake: it was +1 or -1 and the margin was 0 or of the other
  /// sign; updated: the model changed.
  void learned(Task task, bool mistake, bool updated);

  /// The weights of the prior's file, by task; to give them to another annotator, which did not read it.
  std::pmr::vector<double> prior_weights() const { return weight_; }
  void set_prior_weights(const std::pmr::vector<double>& weights) { load_fitted(weight_, weights); }

  /// The counts, and the weights of the prior's file.
  struct Packed {
    Column<std::uint64_t> mistakes, updates, queries;  // by task
    std::pmr::vector<double> weight;
    template <class S>
    static void state(S& s, auto&& v) {
      v("mistakes", s.mistakes);
      v("updates", s.updates);
      v("queries", s.queries);
      v("weight", s.weight);
    }
  };
  /// Its columns are read from this annotator, which has to stay as it is meanwhile.
  Packed pack() const { return {column(&Counts::mistakes), column(&Counts::updates), column(&Counts::queries), weight_}; }
  void unpack(const Packed& packed);  ///< throws DataError: sizes differ, counts or weights out of range

 private:
  struct Counts {
    std::uint64_t mistakes = 0, updates = 0, queries = 0;
  };
  Counts counts(Task task) const { return task < counts_.size() ? counts_[task] : Counts{}; }
  Column<std::uint64_t> column(std::uint64_t Counts::*of) const {
    return Column<std::uint64_t>::of(counts_.size(), [this, of](std::size_t i) { return counts_[i].*of; });
  }
  double prior(Task task) const;
  double b(Task task) const;

  SharedAnnotatorParams choice_;
  std::size_t labels_;
  std::uint64_t all_queries_ = 0;
  SegmentedVector<Counts> counts_;     // by task
  std::pmr::vector<double> weight_;    // of the prior's file, by task
  mutable std::vector<double> share_;  // scratch (kBytesOfScratch): an example's weight in the draw
  bool limited_;
};

struct ZeroIgnore : Tag<"ignore", "learn nothing from it"> {};
struct ZeroRandom : Tag<"random", "take +1 or -1 by a coin, as if the annotator had to choose"> {};
struct ZeroWeak {
  static constexpr std::string_view name = "weak", meaning = "strengthen the prediction: w += eta sign(p) x";
  double eta = 0.1;
  static constexpr auto fields() {
    return std::tuple{Field{&ZeroWeak::eta, "eta", kPositive, "size of the step", "One vs. one, weak update"}};
  }
};
/// The update on the answer 0, neither of the two.
using Zero = std::variant<ZeroIgnore, ZeroRandom, ZeroWeak>;

}  // namespace quorate
