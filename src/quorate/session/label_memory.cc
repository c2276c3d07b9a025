#include "quorate/session/label_memory.h"

#include "quorate/base/error.h"
#include "quorate/base/rng.h"
#include "quorate/learner.h"

namespace quorate {
namespace {

constexpr std::uint64_t kRebuildStream = 4;  // of the run's seed; HACKING.md has them all
constexpr std::size_t kMostUnasked = 20'000;
constexpr std::uint64_t kMostLooks = 64;  // between two labels
constexpr std::uint64_t kMostRounds =
    16;  // of a rebuild through the unasked examples that are kept (docs/decisions/cohort.md)

/// Whether there was memory for it. If not, the learner is as it was.
template <class Work>
bool finds_memory(Work work) {
  try {
    work();
    return true;
  } catch (const MemoryError&) {
    return false;
  }
}

}  // namespace

LabelMemory::LabelMemory(Memory* memory, std::size_t bytes)
    : labels_(memory, bytes / 2), unasked_(InstanceRing<Unasked>::of_bytes(memory, bytes / 2, kMostUnasked)) {}

void LabelMemory::add_unasked(const Example& e, bool asked, bool looks) {
  latest_ticket_ = 0;
  if (asked && counted_more_) return;  // it would be kept for what was counted alone
  ++unasked_seen_;
  if (!looks) return;
  const auto packed = pack_instance(e.x, packed_);
  if (!unasked_.could_fit(packed.size()) || !unasked_.take_memory()) return;
  if (asked && !unasked_.fits(packed.size())) return;  // those that a rebuild learns from stay
  while (!unasked_.fits(packed.size())) unasked_.pop();
  unasked_.push(e, packed, {labels_.next_id(), asked});
}

void LabelMemory::add_asked(const Example& e, std::optional<std::uint64_t> ticket, bool looks) {
  const std::size_t before = unasked_.size();
  const std::uint64_t seen = unasked_seen_;
  add_unasked(e, true, looks);
  if (!ticket || unasked_seen_ == seen) return;
  latest_ticket_ = *ticket + 1;
  latest_kept_ = unasked_.size() > before;
}

void LabelMemory::add(const Example& e, KeptLabel label, std::optional<std::uint64_t> ticket, bool at_once,
                      std::string_view annotator) {
  const bool in_place = ticket ? take_unanswered(*ticket) : at_once;
  label.apart = !in_place && !counted_more_;
  latest_ticket_ = 0;
  labels_.add(e, label, annotator);
}

bool LabelMemory::take_unanswered(std::uint64_t ticket) {
  if (latest_ticket_ != ticket + 1) return false;
  --unasked_seen_;
  if (latest_kept_) unasked_.pop_back();
  return true;
}

void LabelMemory::take_back(std::span<const std::uint64_t> ids, bool looks) {
  for (const std::uint64_t id : ids) leave_example(id, looks);
  labels_.erase_if([&](const KeptLabel& label) { return std::ranges::binary_search(ids, label.id); });
}

/// The example of an answer that came at once has the label's place; without the label it has one of its own. Where not all
/// examples are kept, or this one cannot be, their words stay counted.
void LabelMemory::leave_example(std::uint64_t id, bool looks) {
  const auto label = labels_.find(id);
  if (!label || labels_[*label].apart != 0 || state() != State::kWhole) return;
  ++unasked_seen_;
  if (!looks) return;
  UnpackedInstance memory;
  const Example e = labels_.example(*label, memory);
  const auto packed = pack_instance(e.x, packed_);
  if (!unasked_.could_fit(packed.size()) || !unasked_.take_memory() || !unasked_.fits(packed.size())) return;
  std::size_t place = unasked_.size();
  while (place > 0 && unasked_[place - 1].labels_before > id) --place;
  unasked_.insert(place, e, packed, {id, true});
}

void LabelMemory::forget_tasks(Task first, std::size_t tasks) {
  const auto gone = [=](const auto& item) { return item.task - first < tasks; };
  labels_.erase_if(gone);
  unasked_seen_ -= unasked_.erase_if(gone);
}

LabelMemory::OfExample LabelMemory::find(std::vector<std::uint64_t> labels, std::span<const Example> round) const {
  OfExample out{std::move(labels), {}};
  std::ranges::sort(out.labels);
  UnpackedInstance memory;
  for (const Example& e : round) {
    const auto same = [&e](const Example& kept) {
      return kept.task == e.task && kept.group == e.group && kept.weight == e.weight &&
             std::ranges::equal(kept.x.index, e.x.index) && std::ranges::equal(kept.x.value, e.x.value);
    };
    const bool in_its_label = !counted_more_ && std::ranges::any_of(out.labels, [&](std::uint64_t id) {
      const std::size_t place = *labels_.find(id);
      return labels_[place].apart == 0 && same(labels_.example(place, memory));
    });
    if (in_its_label) continue;
    std::size_t i = 0;
    while (i < unasked_.size() &&
           !(same(unasked_.example(i, memory)) && std::ranges::find(out.unasked, i) == out.unasked.end()))
      ++i;
    if (i < unasked_.size()) out.unasked.push_back(i);
  }
  return out;
}

void LabelMemory::forget(const OfExample& example) {
  labels_.erase_if([&](const KeptLabel& label) { return std::ranges::binary_search(example.labels, label.id); });
  std::size_t place = 0;
  unasked_seen_ -=
      unasked_.erase_if([&](const auto&) { return std::ranges::find(example.unasked, place++) != example.unasked.end(); });
}

std::uint64_t LabelMemory::replay(Learner& learner, std::uint64_t seed, bool recount) const {
  const bool whole = state() == State::kWhole;
  if (recount && !whole)
    all_of([&](const Example& e) {
      learner.count(e.x);
      return true;
    });
  Rng rng = make_rng(seed, kRebuildStream);
  UnpackedInstance memory;
  std::uint64_t looked = 0, left_out = 0;
  for (std::size_t i = 0; i < labels_.size(); ++i) {
    look(learner, i, looked);
    const KeptLabel& label = labels_[i];
    if (label.audit != 0) continue;
    const Example e = labels_.example(i, memory);
    if (whole && label.apart == 0) learner.count(e.x);
    Decision d;
    d.margin = learner.score(e);
    d.probability = label.probability;
    d.ask = true;
    d.selection_score = label.selection_score;
    left_out += !finds_memory([&] { learner.learn(e, d, label.answer(), rng); });
  }
  look(learner, labels_.size(), looked);
  return left_out;
}

/// Before kept label number `next` is learned. Where all unasked examples are kept, those that came before the label; else
/// as many as came on average between two labels, going round those that are kept: a few of them, seen too often, mislead.
void LabelMemory::look(Learner& learner, std::size_t next, std::uint64_t& looked) const {
  if (unasked_.size() == 0) return;
  const State how = state();
  UnpackedInstance memory;
  const auto look_at = [&](std::size_t i) {
    const Example e = unasked_.example(i, memory);
    if (how == State::kWhole) learner.count(e.x);
    if (unasked_[i].asked == 0) finds_memory([&] { learner.look(e); });
  };
  if (how != State::kSampled) {
    const std::uint64_t id = next < labels_.size() ? labels_[next].id : labels_.next_id();
    for (; looked < unasked_seen_ && unasked_[looked].labels_before <= id; ++looked) look_at(looked);
    return;
  }
  if (labels_.size() == 0) return;
  const double share = static_cast<double>(next) / static_cast<double>(labels_.size());
  const std::uint64_t all = std::min<std::uint64_t>(unasked_seen_, kMostRounds * unasked_.size());
  const auto due = static_cast<std::uint64_t>(static_cast<double>(all) * share);
  for (std::uint64_t most = kMostLooks; looked < due && most > 0; --most) look_at(looked++ % unasked_.size());
  looked = due;
}

void LabelMemory::save(const Writer& writer) const {
  if (!keeps()) return writer("next_label", labels_.next_id());
  writer("labels", labels_);
  writer("unasked", unasked_);
  writer("unasked_seen", unasked_seen_);
  writer("counted_more", std::uint64_t{counted_more_});
  writer("latest_ticket", latest_ticket_);
  writer("latest_kept", std::uint64_t{latest_ticket_ > 0 && latest_kept_});
}

void LabelMemory::load(Reader& reader) {
  if (!keeps()) {
    std::uint64_t next = 0;
    reader("next_label", next);
    return labels_.set_next_id(next);
  }
  std::uint64_t counted_more = 0, latest_kept = 0;
  reader("labels", labels_);
  reader("unasked", unasked_);
  reader("unasked_seen", unasked_seen_);
  reader("counted_more", counted_more);
  reader("latest_ticket", latest_ticket_);
  reader("latest_kept", latest_kept);
  counted_more_ = counted_more != 0;
  latest_kept_ = latest_kept != 0;
  if (latest_ticket_ > 0 && (unasked_seen_ == 0 || (latest_kept_ && unasked_.size() == 0)))
    throw DataError("model file: the latest question has no example");
}

}  // namespace quorate
