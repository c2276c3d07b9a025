// The labels that a model bought, with their instances: to learn again without some of them, and to export.
#pragma once
#include <cstdint>
#include <limits>
#include <memory_resource>
#include <optional>
#include <string_view>
#include <vector>

#include "quorate/base/answer.h"
#include "quorate/base/instance_ring.h"
#include "quorate/base/name_table.h"

namespace quorate {

/// A label that was bought, and what was decided before.
struct KeptLabel {
  std::uint64_t id = 0;                                     ///< 0, 1, 2, ... of all labels that were bought, in their order
  double y = 0;                                             ///< the answer: +1, -1, 0 for neither
  double margin = 0, probability = 1, selection_score = 0;  ///< Decision
  double time = -std::numeric_limits<double>::infinity();   ///< the stream's, in seconds; without one: minus infinity
  std::uint32_t audit = 0;      ///< 1: bought to audit, not learned from; of classes learned together 1 + the predicted one
  std::uint32_t apart = 0;      ///< 1: its words were counted before, or never
  std::uint32_t annotator = 0;  ///< KeptLabels::annotator(); 0: not known
  std::uint32_t learned = 0;    ///< of an audit: labels learned from when it was asked
  double audit_weight = 0;      ///< of an audit: 1 / its chance (Audit::Held)
  Answer answer() const { return static_cast<Answer>(y); }
  static constexpr auto fields() {
    using K = KeptLabel;
    return std::tuple{std::pair{"id", &K::id},
                      std::pair{"y", &K::y},
                      std::pair{"margin", &K::margin},
                      std::pair{"probability", &K::probability},
                      std::pair{"selection_score", &K::selection_score},
                      std::pair{"time", &K::time},
                      std::pair{"audit", &K::audit},
                      std::pair{"apart", &K::apart},
                      std::pair{"annotator", &K::annotator},
                      std::pair{"learned", &K::learned},
                      std::pair{"audit_weight", &K::audit_weight}};
  }
};

/// All labels while they fit; then a fair sample of them: each is kept with the same chance, whatever it is and whenever it
/// came. A label's number is its lot, by a hash that no one chooses: those with the lowest are kept, and when room is needed
/// the bound falls by a quarter. So the sample follows from the labels alone.
///
/// Cost: O(non-zeros), amortised. Memory: InstanceRing's, at most `bytes`.
///
/// Thread-safety: const members may be called by many threads while no other member is at work.
class KeptLabels {
 public:
  using Ring = InstanceRing<KeptLabel>;
  using Item = Ring::Item;

  /// bytes 0: none are kept.
  KeptLabels(std::pmr::memory_resource* memory, std::size_t bytes);

  /// The next label's id, whether it is kept or not.
  std::uint64_t next_id() const { return next_id_; }
  void set_next_id(std::uint64_t id) { next_id_ = id; }  ///< after load, where none are kept
  /// Counts a label, and keeps it if its lot is among those kept and memory can be had. label.id and label.annotator are
  /// ignored. annotator: a name; empty: not known. Without memory for a new name the label is kept without it.
  void add(const Example& e, KeptLabel label, std::string_view annotator = {});

  bool keeps() const { return keeps_; }
  std::size_t size() const { return ring_.size(); }
  const Item& operator[](std::size_t place) const { return ring_[place]; }  ///< in ascending order of their ids
  /// The annotator's name; empty: not known. Until the next add().
  std::string_view annotator(const KeptLabel& label) const {
    return label.annotator == 0 ? std::string_view() : annotators_[label.annotator - 1];
  }
  std::string example_id(std::size_t place) const { return ring_.text(place); }  ///< Example::id
  /// Until `to` changes; without an id.
  Example example(std::size_t place, UnpackedInstance& to) const { return ring_.example(place, to); }
  /// The place of a label; nothing if it is not kept. O(log size).
  std::optional<std::size_t> find(std::uint64_t id) const;
  /// Whether the label at `place` is of a fair sample of that share of those that are kept, by its lot.
  bool drawn(std::size_t place, double share) const;
  /// task, group: of its example from now on.
  void set_answer(std::size_t place, Task task, std::uint32_t group, Answer y) {
    ring_[place].y = y;
    ring_[place].task = task;
    ring_[place].group = group;
  }
  template <class Remove>
  std::size_t erase_if(Remove remove) {
    return ring_.erase_if(remove);
  }
  /// The share of labels that are kept; 1: all, but those erased and those larger than all room.
  double share() const { return static_cast<double>(bound_) * 0x1p-63; }
  /// Whether none was left out for want of room.
  bool all() const { return bound_ == kAll && !dropped_; }

  struct Packed {
    std::uint64_t next_id = 0, bound = 0, dropped = 0;
    Ring::Packed ring;
    NameTable::Packed annotators;
    template <class S>
    static void state(S& s, auto&& v) {
      v("next_id", s.next_id);
      v("bound", s.bound);
      s.ring.state(s.ring, v);
      v("dropped", s.dropped);
      visit_unless_empty(v, "annotator_text", s.annotators.text);
      visit_unless_empty(v, "annotator_end", s.annotators.end);
    }
  };
  Packed pack() const { return {next_id_, bound_, dropped_, ring_.pack(), annotators_.pack()}; }
  void unpack(const Packed& packed);  ///< throws DataError: sizes differ, out of order, invalid values

 private:
  std::uint64_t next_id_ = 0, bound_ = kAll;
  std::pmr::memory_resource* memory_;
  Ring ring_;
  NameTable annotators_;
  bool keeps_;
  bool dropped_ = false;           // a label was larger than all room, or memory was not free
  std::vector<std::byte> buffer_;  // scratch

  static constexpr std::uint64_t kAll = std::uint64_t{1} << 63;
};

}  // namespace quorate
