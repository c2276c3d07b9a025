#include "quorate/engine/session.h"

#include <algorithm>
#include <new>

#include "quorate/base/utf8.h"
#include "quorate/registry.h"
#include "quorate/store/rng_state.h"

namespace quorate {
namespace {

constexpr std::size_t kPendingPart = 4;      // of a limited memory: what questions that wait may take of it
constexpr std::size_t kRoundPart = 8;        // what an open round may take
constexpr std::uint64_t kLearnerStream = 1;  // of the run's seed; HACKING.md has them all

/// The part of a memory limit that is set aside for rounds.
std::size_t round_part(const Spec& spec, std::size_t limit) {
  if (limit == Memory::kNoLimit) return limit;
  return capabilities(spec).selects ? limit / kRoundPart : 0;
}

}  // namespace

Session::Session(const Spec& spec, std::size_t memory_limit)
    : spec_(canonical(spec)),
      round_memory_(round_part(spec_, memory_limit)),
      memory_(std::make_unique<Memory>(memory_limit, memory_limit == Memory::kNoLimit ? 0 : round_memory_)),
      tasks_(memory_.get()),
      ledger_(memory_.get()),
      pending_(memory_.get()) {}

Session::Session(const Spec& spec, const SessionOptions& o) : Session(spec, o.memory_limit) {
  if (o.labels_per_round < 1) throw UsageError("labels per round 0: expected at least 1");
  labels_per_round_ = o.labels_per_round;
  rng_ = make_rng(o.seed, kLearnerStream);
  max_pending_ = o.max_pending;
  if (o.audit != 0) ledger_.start_audit(o.audit, o.seed);
  if (o.tasks != nullptr)
    for (std::uint32_t i = 0; i < o.tasks->size(); ++i) tasks_.intern((*o.tasks)[i]);
  learner_ = make_learner(spec_, {tasks_, memory_.get(), false, labels_per_round_});
  set_limits(o.limits);
  if (o.spread_over > 0) set_spread_over(o.spread_over);
}

void Session::set_limits(const LabelLimits& limits) { ledger_.set_limits(limits, learner_->capabilities().paced); }

void Session::set_spread_over(std::uint64_t examples) {
  if (examples > 0 && budget().limits().total == LabelLimits::kNone)
    throw UsageError("pace even: no number of labels in all; expected one, as 500");
  if (examples > 0 && !learner_->capabilities().paced)
    throw UsageError("pace even: " + to_text(spec_) +
                     " has no b that decides how much it asks; expected a learner that has, as query=margin");
  ledger_.spread_over(examples);
}

void Session::set_time(double seconds) { ledger_.set_time(seconds); }

void Session::free_memory(std::size_t bytes) {
  if (memory_->limited() && learner_->capabilities().forgets) learner_->free_memory(bytes);
}

Task Session::task(std::string_view name) {
  if (const auto known = tasks_.find(name)) return *known;
  check_whole();
  if (memory_->limited()) {
    const std::size_t tasks = tasks_.size() + 1;
    std::size_t bytes = tasks_.bytes_to_add(name) + ledger_.bytes_for_tasks(tasks);
    if (learner_->capabilities().untracked_tasks) {
      bytes += learner_->bytes_for_tasks(tasks);
      if (bytes > memory_->left()) return kUntracked;
      learner_->reserve_tasks(tasks);
    }
    free_memory(bytes);
    ledger_.reserve_tasks(tasks);
  }
  return tasks_.intern(name);
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

std::span<const Outcome> Session::decide(const Round& round) {
  check_whole();
  end_round();
  if (round.tasks_per_instance == 0 || round.examples.size() % round.tasks_per_instance != 0)
    throw UsageError("a round of " + std::to_string(round.examples.size()) + " examples is no multiple of the " +
                     std::to_string(round.tasks_per_instance) + " tasks that an instance is shown to");
  for (const Example& e : round.examples)
    if (e.task != kUntracked && e.task >= tasks_.size())
      throw UsageError("task " + std::to_string(e.task) + ": expected one of the session's " +
                       std::to_string(tasks_.size()));
  if (const auto factor = ledger_.begin_round(round.examples.size())) learner_->set_query_scale(*factor);
  decisions_.assign(round.examples.size(), {});
  outcomes_.assign(round.examples.size(), {});
  guarded([&] { learner_->decide(round, rng_, decisions_); });
  for (std::size_t n = 0; n < outcomes_.size(); ++n) outcomes_[n].decision = decisions_[n];
  round_ = round.examples;
  next_ = 0;
  return outcomes_;
}

std::optional<Question> Session::next_question() {
  if (asked_) reply(Reply::unknown());
  while (next_ < round_.size()) {
    const std::size_t n = next_++;
    const Task task = round_[n].task;
    Outcome& outcome = outcomes_[n];
    ledger_.begin_example(task);
    if (ledger_.draw_audit()) {
      outcome.audited = true;
      if (ledger_.has_label_left(task, pending_.of_task(task))) {
        asked_ = true;
        return Question{n, true};
      }
      ledger_.record_audit(task, outcome.decision.margin, std::nullopt);
    } else if (ledger_.may_buy(task, pending_.of_task(task), outcome.decision.ask) && outcome.decision.ask) {
      outcome.asked = asked_ = true;
      return Question{n, false};
    }
  }
  return std::nullopt;
}

void Session::reply(Reply reply) {
  check_whole();
  if (!asked_) throw UsageError("a reply without a question; expected next_question() before it");
  asked_ = false;
  const Example& e = round_[next_ - 1];
  Outcome& outcome = outcomes_[next_ - 1];
  if (outcome.audited) {  // which does not wait for an answer
    free_memory(ledger_.bytes_to_record());
    if (reply.answered()) outcome.answer = reply.answer();
    ledger_.record_audit(e.task, outcome.decision.margin, outcome.answer);
    if (!outcome.answer) ledger_.count_unanswered();
  } else if (reply.answered()) {
    outcome.answer = reply.answer();
    ledger_.buy();
    learn(e, outcome);
  } else if (reply == Reply::later()) {
    outcome.ticket = enqueue(e, outcome.decision);
    outcome.asked = outcome.ticket.has_value();
  } else {
    ledger_.count_unanswered();
  }
}

void Session::learn(const Example& e, Outcome& outcome) {
  const Answer y = *outcome.answer;
  ledger_.record_label(e.task, y != kNeither && predicted(outcome.decision.margin) != y);
  guarded([&] { outcome.updated = learner_->learn(e, outcome.decision, y, rng_); });
  if (outcome.updated) ledger_.record_update(e.task);
}

std::optional<std::uint64_t> Session::enqueue(const Example& e, const Decision& d) {
  const std::size_t bytes = pending_.bytes_of(e.x), limit = memory_->limit();
  if (max_pending_ == 0 || bytes > limit / kPendingPart) return std::nullopt;
  while (pending_.size() > 0 &&
         (pending_.size() >= max_pending_ || (memory_->limited() && pending_.bytes() + bytes > limit / kPendingPart)))
    give_up(pending_.oldest());
  if (memory_->limited()) {
    free_memory(bytes);
    while (memory_->left() < bytes && pending_.size() > 0) give_up(pending_.oldest());
    if (memory_->left() < bytes) return std::nullopt;
  }
  pending_.add(next_ticket_, e, d);
  ledger_.buy();
  return next_ticket_++;
}

void Session::give_up(std::uint64_t ticket) {
  pending_.erase(ticket);
  ledger_.refund();
}

void Session::check_issued(std::uint64_t ticket) const {
  if (ticket >= next_ticket_)
    throw UsageError("ticket " + std::to_string(ticket) + " was never issued; expected one below " +
                     std::to_string(next_ticket_));
}

std::optional<Outcome> Session::answer(std::uint64_t ticket, Answer y) {
  check_whole();
  check_issued(ticket);
  const PendingQuestions::Item* item = pending_.find(ticket);
  if (item == nullptr) {
    ++too_late_;
    return std::nullopt;
  }
  Outcome outcome{.decision = item->decision, .asked = true, .answer = y, .ticket = ticket};
  try {
    learn(item->example(), outcome);
  } catch (...) {
    pending_.erase(ticket);  // counted as learned from
    throw;
  }
  pending_.erase(ticket);
  return outcome;
}

bool Session::withdraw(std::uint64_t ticket) {
  check_issued(ticket);
  if (pending_.find(ticket) == nullptr) return false;
  give_up(ticket);
  return true;
}

void Session::save(Tensors& out) const {
  check_whole();
  if (asked_ || next_ < round_.size()) throw UsageError("a round is open; expected a reply to each of its questions first");
  Writer writer(out);
  writer("tasks", tasks_);
  writer("rng", words_of(rng_));
  writer("labels_per_round", labels_per_round_);
  writer("memory_limit", std::uint64_t{memory_->limit()});
  writer("too_late", too_late_);
  writer("pending", pending_);
  writer("next_ticket", next_ticket_);
  writer("max_pending", max_pending_);
  ledger_.save(writer);
  learner_->save(Writer(out, "learner."));
}

Session Session::load(const Spec& spec, Reader& reader) {
  std::uint64_t memory_limit = 0;
  reader("memory_limit", memory_limit);
  Session out(spec, memory_limit);
  reader("tasks", out.tasks_);
  for (std::uint32_t i = 0; i < out.tasks_.size(); ++i)
    if (find_not_utf8(out.tasks_[i]) != std::string_view::npos) throw DataError("model file: a task's name is not UTF-8");
  std::vector<std::uint64_t> words;
  reader("rng", words);
  out.rng_ = rng_of(words);
  reader("labels_per_round", out.labels_per_round_);
  if (out.labels_per_round_ < 1) throw DataError("model file: labels_per_round is 0; expected at least 1");
  reader("too_late", out.too_late_);
  reader("pending", out.pending_);
  reader("next_ticket", out.next_ticket_);
  reader("max_pending", out.max_pending_);
  out.ledger_.load(reader);
  out.pending_.for_each([&](std::uint64_t ticket, const PendingQuestions::Item& item) {
    if ((item.task != kUntracked && item.task >= out.tasks_.size()) || ticket >= out.next_ticket_)
      throw DataError("model file: a pending question has an unknown task or ticket");
  });
  out.ledger_.check(out.tasks_.size(), out.pending_.size());
  out.learner_ = make_learner(out.spec_, {out.tasks_, out.memory_.get(), true, out.labels_per_round_});
  Reader part = reader.part("learner.");
  out.learner_->load(part);
  const Capabilities& can = out.learner_->capabilities();
  if (out.pace() && !can.paced) throw DataError("model file: a pace for a learner that has no b");
  if (memory_limit != Memory::kNoLimit && can.untracked_tasks) out.learner_->reserve_tasks(out.tasks_.size());
  return out;
}

}  // namespace quorate
