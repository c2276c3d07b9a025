#include "quorate/session/session.h"

#include <algorithm>
#include <cmath>
#include <new>

#include "quorate/base/counted.h"
#include "quorate/base/utf8.h"
#include "quorate/learner.h"
#include "quorate/registry.h"
#include "quorate/store/rng_state.h"

namespace quorate {
namespace {

constexpr std::size_t kPendingPart = 4;      // of a limited memory: what questions that wait may take of it
constexpr std::size_t kRoundPart = 8;        // what an open round may take
constexpr std::size_t kKeptPart = 8;         // what kept labels, and unasked examples, may take
constexpr std::uint64_t kLearnerStream = 1;  // of the run's seed; HACKING.md has them all

/// The part of a memory limit that is set aside for rounds.
std::size_t round_part(const Spec& spec, std::size_t limit) {
  if (limit == Memory::kNoLimit) return limit;
  return capabilities(spec).selects ? limit / kRoundPart : 0;
}

[[noreturn]] void refuse_rebuild(const Spec& spec) {
  throw UsageError(to_text(spec) + " cannot learn again from kept labels; expected one of " +
                   learners_with(&Capabilities::rebuilds));
}

}  // namespace

Session::Session(Session&&) noexcept = default;
Session::~Session() = default;

Session::Session(const Spec& spec, const SessionOptions& o, WithoutLearner)
    : spec_(canonical(spec)),
      options_(o),
      round_memory_(round_part(spec_, o.memory_limit)),
      memory_(std::make_unique<Memory>(o.memory_limit,
                                       o.memory_limit == Memory::kNoLimit ? 0 : round_memory_ + o.memory_for_names)),
      tasks_(memory_.get()),
      ledger_(memory_.get()),
      pending_(memory_.get()),
      kept_(memory_.get(), std::min(o.keep_labels, o.memory_limit / kKeptPart)) {
  options_.tasks = nullptr;
  if (o.keep_labels > SessionOptions::kMostKept)
    throw UsageError("keep labels: " + std::to_string(o.keep_labels) + " bytes; expected at most " +
                     std::to_string(SessionOptions::kMostKept));
  if (o.labels_per_round < 1) throw UsageError("labels per round 0: expected at least 1");
  if (o.tasks_per_name < 1 || o.tasks_per_name > kUntracked / 2)
    throw UsageError("tasks per name " + std::to_string(o.tasks_per_name) + ": expected at least 1, and fewer than 2^31");
  if (o.tasks_per_name > 1) check_can_group(spec_);
  pending_.set_groups(static_cast<std::uint32_t>(o.tasks_per_name));
}

Session::Session(const Spec& spec, const SessionOptions& o) : Session(spec, o, WithoutLearner()) {
  rng_ = make_rng(o.seed, kLearnerStream);
  if (o.audit != 0)
    ledger_.start_audit(o.audit, o.audit_floor, o.seed);
  else if (o.audit_floor != 0)
    throw UsageError("audit-floor without audit; expected both, as in audit 0.1 and audit-floor 0.002");
  if (o.tasks != nullptr)
    for (std::uint32_t i = 0; i < o.tasks->size(); ++i) tasks_.intern((*o.tasks)[i]);
  learner_ = make_learner(spec_, context(false));
  if (memory_->limited()) {
    ledger_.reserve_tasks(task_count());
    if (capabilities().untracked_tasks) learner_->reserve_tasks(task_count());
  }
  set_limits(o.limits);
  if (o.spread_over > 0) set_spread_over(o.spread_over);
}

LearnerContext Session::context(bool restore) {
  return {tasks_, memory_.get(), restore, options_.labels_per_round, options_.tasks_per_name, options_.exclusive, kinds_};
}

void Session::set_kinds(const FeatureKinds& kinds) {
  kinds_ = kinds;
  learner_->set_kinds(kinds);
}

void Session::set_limits(const LabelLimits& limits) {
  ledger_.set_limits(limits, capabilities().paced);
  options_.limits = limits;
}

void Session::set_spread_over(std::uint64_t examples) {
  if (examples > 0 && budget().limits().total == LabelLimits::kNone)
    throw UsageError("pace even: no total of labels; expected one, as 500");
  if (examples > 0 && !capabilities().paced)
    throw UsageError("pace even: " + to_text(spec_) +
                     " has no query threshold b; expected a learner with one, as query=margin");
  ledger_.spread_over(examples);
}

void Session::set_time(double seconds) { ledger_.set_time(seconds); }

void Session::pass_time(double seconds) {
  ledger_.set_time(seconds);
  ledger_.pass_time();
}

const Capabilities& Session::capabilities() const { return learner_->capabilities(); }
std::string Session::scale() const { return learner_->scale(); }

std::optional<std::size_t> Session::support_vectors() const {
  return capabilities().keeps_instances ? std::optional(learner_->support_vectors()) : std::nullopt;
}

void Session::free_memory(std::size_t bytes) {
  if (memory_->limited() && capabilities().forgets) learner_->free_memory(bytes);
}

Task Session::task(std::string_view name) {
  if (const auto known = tasks_.find(name)) return first_task(*known);
  check_whole();
  if (task_count() + 2 * options_.tasks_per_name > kUntracked)
    throw DataError("task '" + std::string(name) + "': one more than there are numbers for; expected fewer tasks");
  if (memory_->limited()) {
    const std::size_t tasks = task_count() + options_.tasks_per_name;
    std::size_t bytes = tasks_.bytes_to_add(name) + ledger_.bytes_for_tasks(tasks);
    if (capabilities().untracked_tasks) {
      bytes += learner_->bytes_for_tasks(tasks);
      if (bytes > memory_->left()) return kUntracked;
      learner_->reserve_tasks(tasks);
    } else {
      free_memory(bytes);
      memory_->check_left(bytes);
    }
    ledger_.reserve_tasks(tasks);
  }
  return first_task(tasks_.intern(name));
}

/// Work that changes the learner. MemoryError leaves it as it was (Learner); anything else may leave it in pieces.
template <class Work>
auto Session::guarded(Work work) {
  try {
    return work();
  } catch (const Error&) {
    throw;
  } catch (const std::bad_alloc&) {
    broken_ = "the machine has no memory left";
    throw;
  } catch (const std::exception& e) {
    broken_ = e.what();
    throw;
  }
}

void Session::check_whole() const {
  if (!broken_.empty()) throw MemoryError("the session broke off and cannot be used any more: " + broken_);
}

void Session::refuse_unknown(const Example& e) const {
  if (!knows(e))
    throw UsageError("task " + std::to_string(e.task) + ", group " + std::to_string(e.group) +
                     ": expected one of the session's " + std::to_string(task_count()));
  throw UsageError("weight " + std::to_string(e.weight) + ": expected a number above 0, up to " +
                   std::to_string(static_cast<int>(kMostWeight)));
}

void Session::release_round() {
  end_round();
  round_ = {};
  next_ = 0;
  decisions_ = {};
  outcomes_ = {};
  learner_->release_scratch();
}

std::span<const Outcome> Session::decide(const Round& round) {
  check_whole();
  end_round();
  if (round.tasks_per_instance == 0 || round.examples.size() % round.tasks_per_instance != 0)
    throw UsageError("a round of " + std::to_string(round.examples.size()) + " examples is no multiple of the " +
                     std::to_string(round.tasks_per_instance) + " tasks that an instance is shown to");
  for (const Example& e : round.examples) check_known(e);
  // Before every round, as the factor is no part of the learner's state: the one before may be of a pace that has ended.
  audited_together_ = audited_together(round.tasks_per_instance);
  learner_->set_query_scale(ledger_.begin_round(round.examples.size(), round.tasks_per_instance, audited_together_));
  renew(decisions_, round.examples.size());
  decisions_.resize(round.examples.size());
  if (outcomes_.capacity() < round.examples.size()) renew(outcomes_, round.examples.size());
  outcomes_.resize(round.examples.size());  // not cleared before: each is assigned below, once
  try {
    guarded([&] { learner_->decide(round, rng_, decisions_); });
  } catch (...) {
    ledger_.cancel_round(round.examples.size());
    throw;
  }
  for (std::size_t n = 0; n < outcomes_.size(); ++n) outcomes_[n] = {.decision = decisions_[n]};
  if (kept_.keeps()) guarded([&] { keep_unasked(round); });
  round_ = round.examples;
  next_ = 0;
  return outcomes_;
}

std::optional<Question> Session::next_question() {
  if (asked_) leave_unanswered();
  while (next_ < round_.size()) {
    const std::size_t n = next_++;
    const Task task = round_[n].task;
    Outcome& outcome = outcomes_[n];
    ledger_.begin_example(task);
    if (n % audited_together_ == 0) {
      audited_.reset();
      if (ledger_.draw_audit()) audited_ = predicted_of(n);
    }
    if (audited_ == n) {
      outcome.audited = true;
      keep_unanswered();  // whatever the answer, it is not learned from
      if (ledger_.has_label_left(task, pending_.of_task(task))) {
        asked_ = true;
        return Question{n, true};
      }
      ledger_.record_audit(task, outcome.decision.margin, std::nullopt);
    } else if (!audited_ && ledger_.may_buy(task, pending_.of_task(task), outcome.decision.ask)) {
      outcome.asked = asked_ = true;
      return Question{n, false};
    } else {
      keep_unanswered();
    }
  }
  return std::nullopt;
}

void Session::reply(Reply reply, std::string_view annotator) {
  check_whole();
  if (!asked_) throw UsageError("a reply without a question; expected next_question() before it");
  if (reply == Reply::unknown()) return leave_unanswered();
  const Example& e = round_[next_ - 1];
  Outcome& outcome = outcomes_[next_ - 1];
  if (reply == Reply::later()) {
    outcome.ticket = enqueue(e, outcome.decision, outcome.audited);
    outcome.asked = outcome.ticket && !outcome.audited;
    if (!outcome.audited) keep_unanswered(outcome.ticket);  // the label may come later, or never
    if (outcome.audited && !outcome.ticket) ledger_.record_audit(e.task, outcome.decision.margin, std::nullopt);
  } else if (outcome.audited) {
    free_memory(ledger_.bytes_to_record());
    const Measured audit = measured(e, ledger_.audit()->next(), outcome.decision.margin);
    const Lesson said = lesson(e, reply);
    ledger_.record_audit(e.task, margin_of(audit, said.about), said.y);
    outcome.answer = reply.answer();
    keep(said.about, outcome, said.y, annotator, audit);
  } else {
    learn(e, outcome, reply, annotator, [&] {
      ledger_.buy();
      asked_ = false;
    });
  }
  asked_ = false;
}

void Session::leave_unanswered() {
  asked_ = false;
  if (outcomes_[next_ - 1].audited)
    ledger_.record_audit(round_[next_ - 1].task, outcomes_[next_ - 1].decision.margin, std::nullopt);
  else
    keep_unanswered();
  ledger_.count_unanswered();
}

/// The learner comes first: without memory nothing is counted. A label that it refuses was bought all the same: `settle` is
/// called when the answer counts.
template <class Settle>
void Session::learn(const Example& e, Outcome& outcome, Reply reply, std::string_view annotator, Settle settle) {
  const Answer y = reply.answer();
  const Lesson taught = lesson(e, reply);
  const auto count = [&] {
    ledger_.record_label(e.task, y != kNeither && predicted(outcome.decision.margin) != y);
    settle();
  };
  try {
    guarded([&] { outcome.updated = learner_->learn(taught.about, outcome.decision, taught.y, rng_); });
  } catch (const MemoryError&) {
    throw;
  } catch (const Error&) {
    count();
    throw;
  }
  outcome.answer = y;
  if (outcome.updated) ledger_.record_update(e.task);
  keep(taught.about, outcome, taught.y, annotator);
  count();
}

Session::Lesson Session::lesson(const Example& e, Reply reply) const {
  if (!learns_classes() || !reply.knows_class()) return {e, reply.answer()};
  Example out = e;
  const Task right = reply.class_index();
  if (options_.tasks_per_name == 1) {
    out.task = right;
  } else {
    if (e.task != kUntracked) out.task = e.task - e.group + right;
    out.group = right;
  }
  return {out, kYes};
}

void Session::keep(const Example& e, Outcome& outcome, Answer y, std::string_view annotator, const Measured& audit) {
  outcome.label = kept_.labels().next_id();
  const Decision& d = outcome.decision;
  const KeptLabel label{
      .y = static_cast<double>(y),
      .margin = d.margin,
      .probability = d.probability,
      .selection_score = d.selection_score,
      .time = ledger_.time(),
      .audit = audit.audit,
      .learned = static_cast<std::uint32_t>(std::min<std::uint64_t>(audit.held.learned, ~std::uint32_t{0})),
      .audit_weight = audit.held.weight};
  guarded([&] { kept_.add(e, label, outcome.ticket, outcome.asked, annotator); });
}

Session::Measured Session::measured(const Example& e, const Audit::Held& held, double margin) const {
  return {held, margin, learns_classes() ? 1 + class_of(e) : 1};
}

double Session::margin_of(const Measured& audit, const Example& e) const {
  if (!learns_classes()) return audit.margin;
  return class_of(e) + 1 == audit.audit ? 1 : -1;
}

/// Of the open round's examples from n on that share an audit: the one of the predicted class.
std::size_t Session::predicted_of(std::size_t n) const {
  const auto first = decisions_.begin() + static_cast<std::ptrdiff_t>(n);
  const auto end = first + static_cast<std::ptrdiff_t>(audited_together_);
  return n + static_cast<std::size_t>(std::ranges::max_element(first, end, {}, &Decision::margin) - first);
}

void Session::keep_unasked(const Round& round) {
  kept_.begin_round(round.tasks_per_instance);
  const bool looks = capabilities().learns_unasked;
  const std::size_t step = round.tasks_per_instance;
  for (std::size_t n = 0; n < round.examples.size(); ++n)
    if (!no_guess(std::span<const Decision>(decisions_).subspan(n / step * step, step), n % step))
      kept_.add_unasked(round.examples[n], looks);
}

/// Whether the learner learns nothing from this example of an instance as one that it did not ask about. Where it learns
/// classes, the first stands for all of an instance, unless one of them is asked about.
bool Session::no_guess(std::span<const Decision> instance, std::size_t n) const {
  if (!learns_classes()) return instance[n].ask;
  return n > 0 || std::ranges::any_of(instance, &Decision::ask);
}

/// The example at hand, if the learner asked about it: its words were counted.
void Session::keep_unanswered(std::optional<std::uint64_t> ticket) {
  if (!kept_.keeps() || !decisions_[next_ - 1].ask) return;
  guarded([&] { kept_.add_asked(round_[next_ - 1], ticket, capabilities().learns_unasked); });
}

void Session::check_rebuilds() const {
  check_whole();
  if (asked_ || next_ < round_.size()) throw UsageError("a round is open; expected a reply to each of its questions first");
  if (!capabilities().rebuilds) refuse_rebuild(spec_);
  if (!kept_.keeps()) throw UsageError("the model keeps no labels; expected one that was made with --keep-labels");
}

/// A new learner learns what is kept after change(kept); also() changes the rest, where memory is free that the learner had.
/// An error leaves the session in pieces, and it says so.
template <class Change, class Also>
void Session::start_anew(bool recount, Change change, Also also) {
  check_rebuilds();
  kept_.end_question();
  if (start_beside(recount, change)) return also();
  try {
    guarded([&] {
      change(kept_);
      learner_->restart(context(false), recount || kept_.state() == LabelMemory::State::kWhole);
      also();
      if (memory_->limited() && capabilities().untracked_tasks) learner_->reserve_tasks(task_count());
      left_out_ = kept_.replay(*learner_, options_.seed, recount);
    });
  } catch (const Error& e) {
    broken_ = e.what();
    throw;
  }
}

/// Whether that was done, and done beside the learner at work. Else nothing has changed.
template <class Change>
bool Session::start_beside(bool recount, Change change) {
  if (!beside_ || memory_->limited()) return false;
  std::unique_ptr<Learner> learner;
  left_out_ = 0;
  try {
    beside_([&] {
      LabelMemory after = kept_;
      change(after);
      learner = copy_of_learner();
      learner->restart(context(false), recount || after.state() == LabelMemory::State::kWhole);
      after.replay(*learner, options_.seed, recount);
    });
  } catch (const std::bad_alloc&) {
    return false;
  } catch (const DataError&) {  // the copy could not be loaded; a replay makes none, and has to do the same
    return false;
  }
  learner_ = std::move(learner);
  change(kept_);
  return true;
}

std::unique_ptr<Learner> Session::copy_of_learner() {
  Tensors tensors;
  learner_->save(Writer(tensors, ReadColumns::kWhenWritten));
  auto out = make_learner(spec_, context(true));
  Reader reader(tensors);
  out->load(reader);
  return out;
}

void Session::rebuild(bool recount) {
  start_anew(recount, [](LabelMemory&) {});
}

void Session::undo(std::vector<std::uint64_t> ids, bool recount) {
  check_rebuilds();
  for (const std::uint64_t id : ids) check_kept(id);
  std::ranges::sort(ids);
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  std::vector<std::pair<Measured, Answer>> audits;  // each with the margin of its answer
  UnpackedInstance memory;
  for (const std::uint64_t id : ids)
    if (auto audit = measured(id)) {
      const std::size_t place = check_kept(id);
      audit->margin = margin_of(*audit, labels().example(place, memory));
      audits.emplace_back(*audit, labels()[place].answer());
    }
  const bool looks = capabilities().learns_unasked;
  const auto change = [&](LabelMemory& kept) { kept.take_back(ids, looks); };
  start_anew(recount, change, [&] {
    for (const auto& [audit, y] : audits) ledger_.take_back_audit(audit.held, audit.margin, y);
  });
}

std::optional<Session::Measured> Session::measured(std::uint64_t id) const {
  const auto place = labels().find(id);
  if (!place || labels()[*place].audit == 0 || audit() == nullptr) return std::nullopt;
  const KeptLabel& label = labels()[*place];
  return Measured{{label.audit_weight, label.learned, 1}, label.margin, label.audit};
}

void Session::correct(std::uint64_t id, Reply reply) {
  check_rebuilds();
  const std::size_t place = check_kept(id);
  const auto audit = measured(id);
  const Answer before = labels()[place].answer();
  UnpackedInstance memory;
  const Example e = labels().example(place, memory);
  const Lesson taught = lesson(e, reply);
  const double margin_before = audit ? margin_of(*audit, e) : 0;
  const auto change = [&](LabelMemory& kept) { kept.set_answer(place, taught.about.task, taught.about.group, taught.y); };
  start_anew(false, change, [&] {
    if (!audit) return;
    ledger_.take_back_audit(audit->held, margin_before, before);
    ledger_.record_audit_again(audit->held, margin_of(*audit, taught.about), taught.y);
  });
}

void Session::relearn(const Spec& spec) {
  check_rebuilds();
  if (memory_->limited())
    throw UsageError("another learner: the model has a memory limit; expected a new model, trained with that learner");
  const Spec other = canonical(spec);
  if (!quorate::capabilities(other).rebuilds) refuse_rebuild(other);
  if (pace() && !quorate::capabilities(other).paced)
    throw UsageError(to_text(other) + " has no query threshold b to keep the model's pace; expected a learner with one");
  if (options_.tasks_per_name > 1) check_can_group(other);
  auto learner = make_learner(other, context(false));
  learner_ = std::move(learner);
  spec_ = other;
  guarded([&] { kept_.replay(*learner_, options_.seed, true); });
}

void Session::check_none_left_out() const {
  if (left_out_ > 0)
    throw MemoryError("learned again, the model has no memory for " + counted(left_out_, "label") +
                      " of those that are kept; expected a model with a larger memory limit");
}

std::size_t Session::check_kept(std::uint64_t id) const {
  const auto place = labels().find(id);
  if (place) return *place;
  throw UsageError("label " + std::to_string(id) +
                   (id >= labels().next_id() ? " was never bought; expected one below " + std::to_string(labels().next_id())
                                             : " is not kept; quorate labels lists those that are"));
}

void Session::forget(std::string_view name, bool recount) {
  check_rebuilds();
  const std::uint32_t place = check_task(name);
  const auto change = [&](LabelMemory& kept) { kept.forget_tasks(first_task(place), options_.tasks_per_name); };
  start_anew(recount, change, [&] { forget_name(place); });
}

void Session::forget_kept(std::string_view name) {
  check_whole();
  const std::uint32_t place = check_task(name);
  kept_.forget_tasks(first_task(place), options_.tasks_per_name);
  kept_.end_question();
  forget_name(place);
}

std::uint32_t Session::check_task(std::string_view name) const {
  const auto place = tasks_.find(name);
  if (!place) throw UsageError("task '" + std::string(name) + "': the model knows no such task");
  return *place;
}

/// The number of the task stays, and so does what is known of other tasks; its questions are withdrawn.
void Session::forget_name(std::uint32_t place) {
  tasks_.rename(place, name_of_forgotten(place));
  std::vector<std::uint64_t> tickets;
  pending_.for_each([&](std::uint64_t ticket, const PendingQuestions::Item& item) {
    if (item.task - first_task(place) < options_.tasks_per_name) tickets.push_back(ticket);
  });
  for (const std::uint64_t ticket : tickets) give_up(ticket);
}

void Session::forget_example(std::vector<std::uint64_t> labels, std::span<const Example> round) {
  check_rebuilds();
  const LabelMemory::OfExample example = kept_of(std::move(labels), round);
  start_anew(false, [&](LabelMemory& kept) { kept.forget(example); });
}

void Session::forget_kept_example(std::vector<std::uint64_t> labels, std::span<const Example> round) {
  check_whole();
  kept_.forget(kept_of(std::move(labels), round));
  kept_.end_question();
}

LabelMemory::OfExample Session::kept_of(std::vector<std::uint64_t> labels, std::span<const Example> round) const {
  for (const std::uint64_t id : labels) check_kept(id);
  return kept_.find(std::move(labels), round);
}

std::string Session::name_of_forgotten(std::uint32_t place) const {
  std::string name = "(forgotten " + std::to_string(place) + ")";
  while (tasks_.find(name)) name += "'";
  return name;
}

void Session::rename_task(std::string_view task, std::string_view name) {
  const auto place = tasks_.find(task);
  if (!place) throw UsageError("task " + quoted_value(task) + ": the model knows no such task");
  if (name.empty() || find_not_utf8(name) != std::string::npos)
    throw UsageError("task " + quoted_value(task) + ": " + (name.empty() ? "an empty name" : "a name that is not UTF-8") +
                     "; expected a name");
  if (tasks_.find(name))
    throw UsageError("task " + quoted_value(task) + ": the model has a task " + quoted_value(name) +
                     " already; expected a name that is new");
  tasks_.rename(*place, name);
}

std::optional<std::uint64_t> Session::enqueue(const Example& e, const Decision& d, bool audit) {
  const std::size_t bytes = pending_.bytes_of(e.x), limit = memory_->limit();
  if (options_.max_pending == 0 || bytes > limit / kPendingPart) return std::nullopt;
  const auto make_room = [&](auto full) {
    while (!keep_waiting_ && full() && pending_.size() > 0) give_up(pending_.oldest());
    no_room_ += full();
    return !full();
  };
  if (!make_room([&] {
        return pending_.size() >= options_.max_pending ||
               (memory_->limited() && pending_.bytes() + bytes > limit / kPendingPart);
      }))
    return std::nullopt;
  if (memory_->limited()) {
    free_memory(bytes);
    if (!make_room([&] { return memory_->left() < bytes; })) return std::nullopt;
  }
  pending_.add(next_ticket_, e, d, audit ? ledger_.audit()->next() : Audit::Held{});
  if (audit)
    ledger_.hold_audit();
  else
    ledger_.hold();
  return next_ticket_++;
}

void Session::give_up(std::uint64_t ticket) {
  const Audit::Held held = pending_.find(ticket)->audit;
  pending_.erase(ticket);
  if (held.marks > 0)
    ledger_.give_up_audit(held);
  else
    ledger_.refund();
}

void Session::check_issued(std::uint64_t ticket) const {
  if (ticket >= next_ticket_)
    throw UsageError("ticket " + std::to_string(ticket) + " was never issued; expected one below " +
                     std::to_string(next_ticket_));
}

std::optional<Outcome> Session::answer(std::uint64_t ticket, Reply reply, std::string_view annotator, std::string_view id) {
  check_whole();
  check_issued(ticket);
  const PendingQuestions::Item* item = pending_.find(ticket);
  if (item == nullptr) {
    ++too_late_;
    return std::nullopt;
  }
  const bool audit = item->audit.marks > 0;
  const Answer y = reply.answer();
  Example e = item->example();
  e.id = id;
  Outcome outcome{.decision = item->decision, .asked = !audit, .answer = y, .audited = audit, .ticket = ticket};
  if (audit) {
    free_memory(ledger_.bytes_to_record());
    const Measured measure = measured(e, item->audit, outcome.decision.margin);
    const Lesson said = lesson(e, reply);
    ledger_.record_audit(item->audit, item->task, margin_of(measure, said.about), said.y);
    keep(said.about, outcome, said.y, annotator, measure);
    pending_.erase(ticket);
  } else {
    learn(e, outcome, reply, annotator, [&] {
      ledger_.settle();
      pending_.erase(ticket);
    });
  }
  return outcome;
}

std::optional<std::uint64_t> Session::ask(const Example& e) {
  check_whole();
  check_known(e);
  if (!ledger_.may_ask(e.task, pending_.of_task(e.task))) return std::nullopt;
  Decision decision;
  decision.margin = learner_->score(e);
  decision.ask = true;
  guarded([&] { ledger_.make_room(e.task); });
  return enqueue(e, decision, false);
}

std::span<const Outcome> Session::take(std::span<const Example> instance, std::span<const Decision> decisions) {
  for (const Decision& d : decisions)
    if (d.ask && (!std::isfinite(d.margin) || !(d.probability > 0 && d.probability <= 1)))
      throw UsageError("a decision of margin " + std::to_string(d.margin) + ", probability " +
                       std::to_string(d.probability) + "; expected a finite margin and a probability above 0, up to 1");
  check_whole();
  for (const Example& e : instance) check_known(e);
  end_round();
  const std::size_t size = instance.size();
  const bool looks = capabilities().learns_unasked;
  const std::size_t together = audited_together(size);
  ledger_.begin_round(size, size, together);
  if (outcomes_.capacity() < size) renew(outcomes_, size);
  outcomes_.resize(size);
  try {
    guarded([&] {
      for (const Example& e : instance) learner_->make_task(e.task);
      learner_->count(instance.front().x);
      for (std::size_t n = 0; n < size && looks; ++n)
        if (!no_guess(decisions, n)) learner_->look(instance[n]);
    });
  } catch (...) {
    ledger_.cancel_round(size);
    throw;
  }
  kept_.begin_round(size);
  for (std::size_t n = 0; n < size; ++n) {
    const Example& e = instance[n];
    Outcome& outcome = outcomes_[n] = {.decision = decisions[n]};
    ledger_.begin_example(e.task);
    if (n % together == 0) ledger_.pass_audit();
    if (outcome.decision.ask && ledger_.may_ask(e.task, pending_.of_task(e.task)))
      outcome.ticket = enqueue(e, outcome.decision, false);
    outcome.asked = outcome.ticket.has_value();
    if (!kept_.keeps()) continue;
    guarded([&] {
      if (outcome.decision.ask)
        kept_.add_asked(e, outcome.ticket, looks);
      else if (!no_guess(decisions, n))
        kept_.add_unasked(e, looks);
    });
  }
  return outcomes_;
}

void Session::see(const Features& x) {
  check_whole();
  guarded([&] { learner_->count(x); });
  kept_.count_more();
}

Outcome Session::give(const Example& e, Answer y, std::string_view annotator, double probability) {
  check_whole();
  check_known(e);
  Outcome outcome;
  outcome.answer = y;
  outcome.decision.probability = probability;
  outcome.decision.margin = learner_->score(e);
  guarded([&] { outcome.updated = learner_->learn(e, outcome.decision, y, rng_); });
  keep(e, outcome, y, annotator);
  return outcome;
}

Outcome Session::measure_again(const Example& e, const Measured& before, Answer y, std::string_view annotator) {
  check_whole();
  check_known(e);
  if (audit() == nullptr) throw UsageError("an audit: the session makes none");
  Outcome outcome;
  outcome.answer = y;
  outcome.audited = true;
  outcome.decision.margin = before.margin;
  free_memory(ledger_.bytes_to_record());
  ledger_.record_audit_again(before.held, margin_of(before, e), y);
  keep(e, outcome, y, annotator, before);
  return outcome;
}

bool Session::withdraw(std::uint64_t ticket) {
  check_issued(ticket);
  if (pending_.find(ticket) == nullptr) return false;
  give_up(ticket);
  return true;
}

bool Session::spend(std::uint64_t ticket) {
  check_issued(ticket);
  const PendingQuestions::Item* item = pending_.find(ticket);
  if (item == nullptr) return false;
  const Task task = item->task;
  const Audit::Held held = item->audit;
  pending_.erase(ticket);
  ledger_.spend(task, held);
  return true;
}

TaskCounters Session::count_of_name(std::uint32_t place) const {
  TaskCounters out;
  for (Task task = first_task(place); task < first_task(place + 1); ++task) {
    const TaskCounters of_task = count(task);
    out.examples = of_task.examples;
    out.labels += of_task.labels;
    out.updates += of_task.updates;
    out.mistakes += of_task.mistakes;
  }
  return out;
}

void Session::save(const Writer& writer) const {
  check_whole();
  if (asked_ || next_ < round_.size()) throw UsageError("a round is open; expected a reply to each of its questions first");
  writer("tasks", tasks_);
  writer("rng", words_of(rng_));
  writer("too_late", too_late_);
  writer("pending", pending_);
  kept_.save(writer);
  writer("next_ticket", next_ticket_);
  ledger_.save(writer);
  learner_->save(writer.part("learner."));
}

Session Session::load(const Spec& spec, const SessionOptions& options, Reader& reader) {
  Session out(spec, options, WithoutLearner());
  reader("tasks", out.tasks_);
  for (std::uint32_t i = 0; i < out.tasks_.size(); ++i)
    if (find_not_utf8(out.tasks_[i]) != std::string_view::npos) throw DataError("model file: a task's name is not UTF-8");
  if (out.tasks_.size() > kUntracked / options.tasks_per_name - 1) throw DataError("model file: too many tasks");
  std::vector<std::uint64_t> words;
  reader("rng", words);
  out.rng_ = rng_of(words);
  reader("too_late", out.too_late_);
  reader("pending", out.pending_);
  out.kept_.load(reader);
  reader("next_ticket", out.next_ticket_);
  if (out.memory_->limited()) out.ledger_.reserve_tasks(out.task_count());
  out.ledger_.load(reader);
  out.options_.limits = out.budget().limits();
  out.pending_.for_each([&](std::uint64_t ticket, const PendingQuestions::Item& item) {
    if (!out.knows(item.example()) || ticket >= out.next_ticket_)
      throw DataError("model file: a pending question has an unknown task or ticket");
    out.ledger_.make_room(item.task);  // a file may have no counters of a task that no round has shown
  });
  if (!out.kept_.all_of([&](const Example& e) { return out.knows(e); }))
    throw DataError("model file: a kept example has an unknown task");
  out.ledger_.set_held_audits(out.pending_.audits());
  if (out.pending_.audits() > 0 && out.audit() == nullptr) throw DataError("model file: audits that nobody asked for");
  out.ledger_.check(out.task_count(), out.pending_.size());
  out.learner_ = make_learner(out.spec_, out.context(true));
  // Before and after: lists that are filled grow without a second copy, and have all the room they had.
  const bool reserves = options.memory_limit != Memory::kNoLimit && out.capabilities().untracked_tasks;
  if (reserves) out.learner_->reserve_tasks(out.task_count());
  Reader part = reader.part("learner.");
  out.learner_->load(part);
  const Capabilities& can = out.capabilities();
  const std::size_t classes = options.tasks_per_name == 1 ? out.task_count() : options.tasks_per_name;
  for (std::size_t i = 0; i < out.labels().size(); ++i)
    if (out.labels()[i].audit > (out.learns_classes() ? classes : 1))
      throw DataError("model file: a kept audit of an unknown class");
  if (out.pace() && !can.paced) throw DataError("model file: a pace for a learner without a query threshold");
  if (reserves) out.learner_->reserve_tasks(out.task_count());
  return out;
}

}  // namespace quorate
