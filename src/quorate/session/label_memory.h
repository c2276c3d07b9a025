// What a model keeps to learn again from: the labels that it bought, and the latest examples without one.
#pragma once
#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "quorate/base/example.h"
#include "quorate/base/instance_ring.h"
#include "quorate/base/memory.h"
#include "quorate/session/kept_labels.h"
#include "quorate/store/state.h"

namespace quorate {

class Learner;

/// What is kept of an example without a label.
struct Unasked {
  std::uint64_t labels_before = 0;  ///< the id of the label bought next
  std::uint32_t asked = 0;          ///< 1: the learner asked, and nobody answered at once; kept as it was counted
  static constexpr auto fields() {
    return std::tuple{std::pair{"labels_before", &Unasked::labels_before}, std::pair{"asked", &Unasked::asked}};
  }
};

/// Follows a session example by example, and lets a new learner learn again what is kept. Where `looks` is said, it is
/// whether the learner learns from examples without a label (Capabilities::learns_unasked): if not, they are counted alone.
///
/// Cost: O(non-zeros) an example, amortised. Memory: of KeptLabels and InstanceRing.
///
/// Thread-safety: const members may be called by many threads while no other member is at work.
class LabelMemory {
 public:
  /// How far a new learner can follow the stream.
  enum class State {
    kWhole,    ///< all examples are here, and each was counted once: each is counted, and learned from, in its place
    kCounted,  ///< all examples without a label are here; but labels are a sample, or words were counted otherwise
    kSampled,  ///< the latest of the examples without a label are here
  };

  /// `bytes`: of labels and of examples without one, half for each; 0: none are kept, and labels are numbered alone.
  LabelMemory(Memory* memory, std::size_t bytes);

  const KeptLabels& labels() const { return labels_; }
  bool keeps() const { return labels_.keeps(); }
  State state() const {
    if (unasked_.size() != unasked_seen_) return State::kSampled;
    return labels_.all() && !counted_more_ ? State::kWhole : State::kCounted;
  }

  /// A round, whose instances are shown to this number of tasks each.
  void begin_round(std::size_t tasks_per_instance) {
    counted_more_ |= tasks_per_instance > 1;
    latest_ticket_ = 0;
  }
  /// Features were counted of an instance that is not kept.
  void count_more() {
    counted_more_ = true;
    latest_ticket_ = 0;
  }
  /// An example that the learner did not ask about.
  void add_unasked(const Example& e, bool looks) { add_unasked(e, false, looks); }
  /// One that it asked about, and that has no label yet; with the ticket of its question, if that waits.
  void add_asked(const Example& e, std::optional<std::uint64_t> ticket, bool looks);
  /// A label; of label.id, label.apart and label.annotator nothing is read. `ticket`: of the question, if it waited;
  /// `at_once`: the answer came before anything else did. Before anything else is as good as at once: the example has the
  /// label's place then, not one of its own.
  void add(const Example& e, KeptLabel label, std::optional<std::uint64_t> ticket, bool at_once, std::string_view annotator);

  /// Nothing that comes now is at once.
  void end_question() { latest_ticket_ = 0; }
  void set_answer(std::size_t place, Task task, std::uint32_t group, Answer y) { labels_.set_answer(place, task, group, y); }
  /// Removes labels, in ascending order; examples whose answer came at once stay, as if nobody had answered, where all are
  /// here and there is room.
  void take_back(std::span<const std::uint64_t> ids, bool looks);
  /// Removes what is kept of the tasks from `first` on.
  void forget_tasks(Task first, std::size_t tasks);
  /// What is kept of an example: labels, and places among the examples without one.
  struct OfExample {
    std::vector<std::uint64_t> labels;  ///< in ascending order
    std::vector<std::size_t> unasked;
  };
  /// `labels`: of the example, all of them kept. `round`: the example as decide() was given it, for each of its tasks.
  OfExample find(std::vector<std::uint64_t> labels, std::span<const Example> round) const;
  void forget(const OfExample& example);

  /// Lets a learner learn all that is kept, in its order. Of kWhole each example is counted in its place, so words are
  /// scaled as they were when it came; else, with `recount`, all are counted before. Returns how many labels found no
  /// memory; such an example without a label is not looked at. O(all that is kept).
  std::uint64_t replay(Learner& learner, std::uint64_t seed, bool recount) const;

  /// Whether that is so of every example that is kept.
  template <class Predicate>
  bool all_of(Predicate predicate) const {
    UnpackedInstance memory;
    bool all = true;
    for (std::size_t i = 0; i < labels_.size(); ++i) all &= predicate(labels_.example(i, memory));
    for (std::size_t i = 0; i < unasked_.size(); ++i) all &= predicate(unasked_.example(i, memory));
    return all;
  }

  void save(const Writer& writer) const;
  void load(Reader& reader);  ///< throws DataError, MemoryError

 private:
  void add_unasked(const Example& e, bool asked, bool looks);
  bool take_unanswered(std::uint64_t ticket);
  void leave_example(std::uint64_t label, bool looks);
  void look(Learner& learner, std::size_t next, std::uint64_t& looked) const;

  KeptLabels labels_;
  InstanceRing<Unasked> unasked_;  // the latest examples without a label
  std::uint64_t unasked_seen_ = 0;
  bool counted_more_ = false;  // than once for each example: instances shown to many tasks, or to none
  // The question asked last, while nothing came since: its example is the latest that was seen. 0: none.
  std::uint64_t latest_ticket_ = 0;  // + 1
  bool latest_kept_ = false;         // among unasked_
  std::vector<std::byte> packed_;    // scratch
};

}  // namespace quorate
