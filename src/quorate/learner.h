// What a learner is, to the rest of the world. An algorithm is a plain struct (scaled_learner.h has what it must have);
// this is the type-erased view of it that a session holds.
#pragma once
#include <cstddef>
#include <span>
#include <string>

#include "quorate/base/answer.h"
#include "quorate/base/example.h"
#include "quorate/base/learner_context.h"
#include "quorate/base/rng.h"
#include "quorate/capabilities.h"
#include "quorate/store/state.h"
#include "quorate/weights/peer_benefit.h"

namespace quorate {

/// The part of a margin that one feature brings: shared + own.
struct Contribution {
  double shared = 0;       ///< by what all tasks share
  double own = 0;          ///< by what the task has of its own
  double uncertainty = 0;  ///< its part of the margin's variance, 0 of learners that keep none
};

/// Optional verbs may be called only if capabilities() has the flag named with them.
///
/// Thread-safety: const members may be called by many threads while no other member is at work.
class Learner {
 public:
  virtual ~Learner() = default;

  virtual const Capabilities& capabilities() const = 0;

  /// Signed confidence of task e.task in +1. Pure: no draw, no change. Any task may be asked for: one never seen is answered
  /// with what all tasks share. O(non-zeros) unless the learner's file says otherwise.
  virtual double score(const Example& e) const = 0;

  /// additive: what each feature of e brings to score(e); out.size() == e.x.size(). They sum to the margin, up to rounding.
  /// Pure. O(non-zeros).
  virtual void explain(const Example& e, std::span<Contribution> out) const = 0;

  /// Fetches what decide() will read for e, while other work is done. Changes nothing. O(non-zeros).
  virtual void prefetch(const Example& e) const = 0;

  /// Predicts a round and marks the labels worth buying; out.size() == round.examples.size(). Draws from rng in the order
  /// that the learner's file documents. Throws MemoryError.
  virtual void decide(const Round& round, Rng& rng, std::span<Decision> out) = 0;

  /// Uses one bought answer, maybe long after decide(); `d` is the decision made about `e` then. Returns whether the model
  /// changed. Throws MemoryError, and has then learned nothing.
  virtual bool learn(const Example& e, const Decision& d, Answer y, Rng& rng) = 0;

  /// rebuilds: becomes a new learner with the same parameters, to learn again. What was counted of features to scale them
  /// stays, unless `recount`; then count() takes an instance more. Throws MemoryError, and is of no use any more.
  virtual void restart(const LearnerContext& context, bool recount) = 0;
  virtual void count(const Features& x) = 0;
  /// learns_unasked: what decide() would learn from e without a label, and nothing else. May do nothing. O(non-zeros).
  virtual void look(const Example& e) = 0;

  /// What is known of features by their places. It is no part of the state.
  virtual void set_kinds(const FeatureKinds& kinds) = 0;

  /// Share of an update of task `from` that also moves the weights of task `to`, now. Pure. O(1) to O(K).
  virtual double influence(Task to, Task from) const = 0;

  /// The scale of features at work, for people; of scale=auto also what it resolved to.
  virtual std::string scale() const = 0;
  /// What it does to a feature's values, for people; "" without scale=auto.
  virtual std::string scale_of(Index feature) const = 0;

  /// paced: multiplies the b that the learner was made with. The factor is no part of its state.
  virtual void set_query_scale(double factor) = 0;

  /// calibrated: log-odds of +1 at this margin, learned from the labels bought.
  virtual double log_odds(double margin) const = 0;

  /// keeps_instances: how many.
  virtual std::size_t support_vectors() const = 0;

  /// forgets: frees memory until `bytes` more fit within the limit, or nothing is left to forget.
  virtual void free_memory(std::size_t bytes) = 0;
  /// Frees what decide() keeps for the next round, outside of the learner's memory.
  virtual void release_scratch() = 0;

  /// untracked_tasks: what reserve_tasks(tasks) would allocate.
  virtual std::size_t bytes_for_tasks(std::size_t tasks) const = 0;
  /// untracked_tasks: has memory for that many tasks, so that learning about them cannot fail. Throws MemoryError.
  virtual void reserve_tasks(std::size_t tasks) = 0;

  /// peer_benefit: whether listening to other tasks helped this one.
  virtual PeerBenefit peer_benefit(Task task) const = 0;

  /// Puts into / takes from tensors everything that decides what the learner does next. load() throws DataError.
  virtual void save(Writer writer) const = 0;
  virtual void load(Reader& reader) = 0;
};

}  // namespace quorate
