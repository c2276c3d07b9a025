// What a learner is. An algorithm is a plain struct that satisfies LearnerType (registry.h); this is the type-erased
// view that the loop, the bindings and the server hold.
#pragma once
#include <optional>
#include <span>
#include <string>

#include "quorate/base/example.h"
#include "quorate/base/rng.h"
#include "quorate/store/state.h"
#include "quorate/weights/peer_benefit.h"

namespace quorate {

class Learner {
 public:
  virtual ~Learner() = default;

  /// Signed confidence of task e.task in +1. Pure: no draw, no change. Tasks never seen are answered too.
  /// O(non-zeros) unless the learner's file says otherwise.
  virtual double score(const Example& e) const = 0;

  /// An example that decide() is soon to be given alone: lets the processor fetch what that will read, while something else
  /// is done. The places of its features may be in any order. Changes nothing. O(non-zeros).
  virtual void expect(const Example& e) = 0;

  /// Predicts a round and marks the labels worth buying. A round is every example that arrives before a label is bought.
  /// out.size() == round.size(). Draws from rng in the order that the learner's file documents.
  virtual void decide(std::span<const Example> round, Rng& rng, std::span<Decision> out) = 0;

  /// Uses one bought answer, maybe long after decide(); `d` is what decide() said about `e`. y is +1, -1, or 0 for neither,
  /// from which most learners learn nothing. Returns whether the model changed.
  virtual bool learn(const Example& e, const Decision& d, double y, Rng& rng) = 0;

  /// Frees memory, if it is of a kind that can forget, until so many more bytes fit within the limit.
  virtual void free_memory(std::size_t bytes) = 0;

  /// Multiplies the b of its query rule by `factor` from now on (not by those given before); false if no b decides how
  /// much it asks. The factor is no part of the state: whoever gives it gives it again after load().
  virtual bool set_query_scale(double factor) = 0;

  /// Whether it chooses among the examples of a round, and asks for the same number of labels in each.
  virtual bool chooses() const = 0;

  /// How much of a mistake of task `from` reaches the weights of task `to`, now. Pure. O(1) to O(K).
  virtual double influence(Task to, Task from) const = 0;

  /// Of +1, for an example with that margin, learned from the labels bought. Nothing of learners that do not calibrate.
  virtual std::optional<double> log_odds(double margin) const = 0;

  /// The scale at work, in words; `auto` says what it has come to.
  virtual std::string scale() const = 0;

  /// Learners that listen to others: how often that hurt and helped a task. Nothing for the others.
  virtual std::optional<PeerBenefit> peer_benefit(Task task) const = 0;

  /// Puts into / takes from tensors everything that decides what the learner does next. load() throws DataError.
  virtual void save(Writer writer) const = 0;
  virtual void load(Reader& reader) = 0;
};

}  // namespace quorate
