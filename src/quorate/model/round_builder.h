// Examples as they come, cut into rounds.
#pragma once
#include <algorithm>
#include <bit>
#include <functional>
#include <memory_resource>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "quorate/base/feature_rows.h"
#include "quorate/model/model.h"
#include "quorate/model/progressive.h"
#include "quorate/model/rounds.h"

namespace quorate {

/// Shows a model one example after the other: each by itself; until a task comes again; or one instance to the tasks of
/// all classes (Reduction). An open round is copied; under a memory limit, into the part that the session sets aside for it
/// (Session::round_memory), which holds its decisions, too. A round that fills it ends early: that follows from the round
/// and the number of tasks alone, so a builder for each round does what one for all of them does.
class RoundBuilder {
 public:
  /// One example of a round, after it: called in the order in which examples came, of classes in that of their tasks.
  using Watch = std::function<void(const Example&, const Outcome&)>;

  /// Rounds as the model has them. `later`: answers come later (Session::answer), whether the data have labels or not.
  /// Throws UsageError for rounds, or labels in a round, that its learner cannot have.
  explicit RoundBuilder(Model& model, bool later = false, Watch watch = {})
      : model_(model),
        rounds_(resolve_rounds(model.learning.rounds, model.reduction.has_classes(), model.session.capabilities())),
        later_(later),
        watch_(std::move(watch)),
        memory_(model.session.round_memory()),
        in_round_(&memory_),
        waiting_(&memory_),
        ids_(&memory_),
        strangers_(&memory_),
        open_(&memory_),
        progressive_(model.reduction) {
    const Session& session = model.session;
    check_labels_per_round(session.labels_per_round(), to_text(session.spec()), session.capabilities());
    if (rounds_ == Rounds::kPerTask && memory_.limited() && !session.capabilities().selects)
      throw UsageError(
          "rounds per-task under a memory limit: " + to_text(session.spec()) +
          " does not select among a round's examples; expected a learner that does, as shampo, or query=shared");
  }

  /// stranger: of a task that memory has no room for (kUntracked), a number by which it is known when it comes again, as the
  /// hash of its name. Throws as Model::decide.
  void add(const Instance& one, Label label, std::optional<double> time = {}, std::uint64_t stranger = 0) {
    if (rounds_ == Rounds::kPerTask) return add_to_round(one, label, time, stranger);
    decide_alone(one, label, time);
  }

  /// Ends the round, if one is open.
  void flush() {
    if (waiting_.empty()) return;
    const auto instance = [&](std::size_t n) -> Instance {
      const std::size_t begin = n == 0 ? 0 : waiting_[n - 1].id_end;
      return {waiting_[n].task, open_[n], waiting_[n].weight, {ids_.data() + begin, waiting_[n].id_end - begin}};
    };
    decide(waiting_.size(), instance, [&](std::size_t n) { return waiting_[n].label; });
    drop();
  }
  /// Forgets the open round. Returns how many examples it had: those were not learned from.
  std::size_t drop() {
    const std::size_t size = waiting_.size();
    for (const Waiting& w : waiting_)
      if (w.task < in_round_.size()) in_round_[w.task] = false;
    waiting_.clear();
    ids_.clear();
    strangers_.clear();
    open_.clear();
    if (memory_.limited()) {  // as if it had held no round yet
      waiting_ = std::pmr::vector<Waiting>(&memory_);
      ids_ = std::pmr::vector<char>(&memory_);
      strangers_ = std::pmr::vector<std::uint64_t>(&memory_);
      open_ = FeatureRows(&memory_);
      model_.release_round();
    }
    return size;
  }

  std::uint64_t rounds() const { return ended_; }
  /// Rounds with no more examples than labels to buy.
  std::uint64_t rounds_without_choice() const { return without_choice_; }
  const ProgressiveCount& progressive() const { return progressive_; }

 private:
  /// What is known of an example of the open round, beside its features.
  struct Waiting {
    Task task;
    Label label;
    double weight;
    std::size_t id_end;  // in ids_
  };
  std::size_t bytes_to_decide() const {
    return waiting_.size() * Session::kBytesOfDecision + open_.values() * Session::kBytesOfNonZero;
  }
  bool has_room(const Instance& one) const {
    const std::size_t to_decide = Session::kBytesOfDecision + one.x.value.size() * Session::kBytesOfNonZero;
    return open_.bytes_to_add(one.x) + bytes_to_reserve(waiting_, waiting_.size() + 1) +
               bytes_to_reserve(ids_, ids_.size() + one.id.size()) + bytes_to_reserve(strangers_, strangers_.size() + 1) +
               bytes_to_decide() + to_decide <=
           memory_.left();
  }
  /// A bit for each task that is known, to the next power of two; made anew, so that never two are held.
  void make_room_for_tasks() {
    const std::size_t tasks = std::bit_ceil(std::max<std::size_t>(model_.session.task_count(), 64));
    if (tasks <= in_round_.size()) return;
    in_round_ = std::pmr::vector<bool>(&memory_);
    if (tasks / 8 + bytes_to_decide() > memory_.left()) flush();
    in_round_.resize(tasks);
    for (const Waiting& w : waiting_)
      if (w.task != kUntracked) in_round_[w.task] = true;
  }
  void add_to_round(const Instance& one, Label label, std::optional<double> time, std::uint64_t stranger) {
    make_room_for_tasks();
    if (one.first != kUntracked ? in_round_[one.first] : std::ranges::binary_search(strangers_, stranger)) flush();
    if (!has_room(one)) flush();
    if (!has_room(one)) return decide_alone(one, label, time);
    if (time) model_.session.set_time(*time);
    if (one.first != kUntracked) {
      in_round_[one.first] = true;
    } else {
      reserve(strangers_, strangers_.size() + 1);
      strangers_.insert(std::ranges::upper_bound(strangers_, stranger), stranger);
    }
    open_.add(one.x);
    reserve(ids_, ids_.size() + one.id.size());
    ids_.insert(ids_.end(), one.id.begin(), one.id.end());
    reserve(waiting_, waiting_.size() + 1);
    waiting_.push_back({one.first, label, one.weight, ids_.size()});
  }
  void decide_alone(const Instance& one, Label label, std::optional<double> time) {
    if (time) model_.session.set_time(*time);
    decide(
        1, [&](std::size_t) { return one; }, [&](std::size_t) { return label; });
  }
  template <class InstanceOf, class LabelOf>
  void decide(std::size_t size, InstanceOf instance, LabelOf label) {
    const std::size_t tasks = model_.reduction.tasks();
    without_choice_ += size * tasks <= model_.session.labels_per_round();
    ++ended_;
    const Model::Decided round = model_.decide(size, instance, [&](std::size_t place, const Example& e) {
      return later_ ? Reply::later() : model_.reduction.reply(label(place / tasks), e);
    });
    progressive_.add(round.examples, round.outcomes, [&](std::size_t place) { return label(place / tasks); });
    if (watch_)
      for (std::size_t n = 0; n < round.outcomes.size(); ++n) watch_(round.examples[n], round.outcomes[n]);
  }

  Model& model_;
  Rounds rounds_;
  bool later_;
  Watch watch_;
  std::uint64_t ended_ = 0, without_choice_ = 0;
  Memory memory_;                    // first among what it serves
  std::pmr::vector<bool> in_round_;  // of a task: whether the open round has an example of it
  std::pmr::vector<Waiting> waiting_;
  std::pmr::vector<char> ids_;                 // of waiting_, one after the other
  std::pmr::vector<std::uint64_t> strangers_;  // of waiting_, ascending
  FeatureRows open_;                           // of waiting_
  ProgressiveCount progressive_;
};

}  // namespace quorate
