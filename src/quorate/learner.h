// The interface of all learners. An algorithm is a plain struct (scaled_learner.h has its requirements); a session holds
// this type-erased view of it.
#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "quorate/base/answer.h"
#include "quorate/base/example.h"
#include "quorate/base/learner_context.h"
#include "quorate/base/rng.h"
#include "quorate/capabilities.h"
#include "quorate/store/state.h"
#include "quorate/weights/peer_benefit.h"

namespace quorate {

/// The contribution of one feature to a margin: shared + own.
struct Contribution {
  double shared = 0;       ///< from the weights that all tasks share
  double own = 0;          ///< from the task's own weights
  double uncertainty = 0;  ///< its part of the margin's variance, 0 for learners without variances
};

/// What a caller of Learner::judge() keeps for it from example to example; empty at first. cohort: mean and variance of the
/// margins judged, to find unusual ones.
using JudgeMemory = std::vector<double>;

/// Optional verbs may be called only if capabilities() has the flag named with them.
///
/// Thread-safety: several threads may call const members at the same time if no other member runs.
class Learner {
 public:
  virtual ~Learner() = default;

  virtual const Capabilities& capabilities() const = 0;

  /// Signed confidence of task e.task in +1. Pure: no draw, no change. Any task is allowed: one never seen gets the margin
  /// of the shared weights. O(non-zeros) unless the learner's file says otherwise.
  virtual double score(const Example& e) const = 0;

  /// additive: the contribution of each feature of e to score(e); out.size() == e.x.size(). They sum to the margin, up to
  /// rounding. Pure. O(non-zeros).
  virtual void explain(const Example& e, std::span<Contribution> out) const = 0;

  /// Prefetches the memory that decide() reads for e. Changes nothing. O(non-zeros).
  virtual void prefetch(const Example& e) const = 0;

  /// Predicts a round and marks the labels worth buying; out.size() == round.examples.size(). Draws from rng in the order
  /// that the learner's file documents. Throws MemoryError.
  virtual void decide(const Round& round, Rng& rng, std::span<Decision> out) = 0;

  /// judges: the decision about e alone that decide() would make if it neither counted e nor learned from it. The margin is
  /// score(e)'s, to the bit. query_scale: as set_query_scale(), for this example; draw: uniform in [0, 1), in place of the
  /// query rule's draw. Changes nothing but `memory`, so threads with a memory each may judge at once. Of classes the
  /// examples of an instance come in their order. O(non-zeros) unless the learner's file says otherwise.
  virtual Decision judge(const Example& e, double query_scale, double draw, JudgeMemory& memory) const = 0;

  /// Learns from one answer, maybe long after decide(); `d` is the decision made about `e` then. Returns whether the model
  /// changed. After MemoryError nothing was learned.
  virtual bool learn(const Example& e, const Decision& d, Answer y, Rng& rng) = 0;

  /// rebuilds: becomes a new learner with the same parameters, to learn again. Feature counts used for scaling stay, unless
  /// `recount`; afterwards call count() for each instance. After MemoryError the learner is unusable.
  virtual void restart(const LearnerContext& context, bool recount) = 0;
  virtual void count(const Features& x) = 0;
  /// Makes room for a task as decide() does. After MemoryError nothing has changed.
  virtual void make_task(Task task) = 0;
  /// learns_unasked: makes the update that decide() would make for e without a label, and nothing else. May do nothing. Of a
  /// learner that learns `classes`, for the instance of which e is an example.
  /// O(non-zeros).
  virtual void look(const Example& e) = 0;

  /// The kinds of features by their index. Not part of the state.
  virtual void set_kinds(const FeatureKinds& kinds) = 0;

  /// The current share of an update of task `from` that also moves the weights of task `to`. Pure. O(1) to O(K).
  virtual double influence(Task to, Task from) const = 0;

  /// The scale of features in use, as text for people; for scale=auto also what it resolved to.
  virtual std::string scale() const = 0;
  /// How it scales the values of a feature, as text for people; "" without scale=auto.
  virtual std::string scale_of(Index feature) const = 0;

  /// paced: multiplies the b that the learner was made with. The factor is no part of its state.
  virtual void set_query_scale(double factor) = 0;

  /// calibrated: log-odds of +1 at this margin, learned from the labels bought.
  virtual double log_odds(double margin) const = 0;

  /// keeps_instances: the number of support vectors.
  virtual std::size_t support_vectors() const = 0;

  /// forgets: frees memory until `bytes` more fit within the limit, or nothing is left to forget.
  virtual void free_memory(std::size_t bytes) = 0;
  /// Frees the scratch that decide() keeps for the next round, outside of the learner's memory.
  virtual void release_scratch() = 0;

  /// untracked_tasks: what reserve_tasks(tasks) would allocate.
  virtual std::size_t bytes_for_tasks(std::size_t tasks) const = 0;
  /// untracked_tasks: allocates memory for that many tasks, so that learning about them cannot fail. Throws MemoryError.
  virtual void reserve_tasks(std::size_t tasks) = 0;

  /// peer_benefit: how often peers corrected or spoiled the predictions of this task.
  virtual PeerBenefit peer_benefit(Task task) const = 0;

  /// Puts into / takes from tensors everything that decides what the learner does next. load() throws DataError.
  virtual void save(Writer writer) const = 0;
  virtual void load(Reader& reader) = 0;
};

}  // namespace quorate
