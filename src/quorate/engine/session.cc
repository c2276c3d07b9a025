#include "quorate/engine/session.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <sstream>

#include "quorate/base/prefetch.h"
#include "quorate/base/utf8.h"
#include "quorate/registry.h"

namespace quorate {
namespace {

constexpr std::size_t kPendingPart = 4;      // of a limited memory: what examples that wait may take of it
constexpr std::uint64_t kLearnerStream = 1;  // of the run's seed; the order of the examples has stream 0
constexpr std::uint64_t kAuditStream = 3;    // 2 is a simulated annotator's

std::vector<std::uint64_t> words_of(const Rng& rng) {
  std::stringstream text;
  text << rng;
  std::vector<std::uint64_t> out;
  for (std::uint64_t word = 0; text >> word;) out.push_back(word);
  return out;
}

Rng rng_of(const std::vector<std::uint64_t>& words) {
  std::stringstream text;
  for (const std::uint64_t word : words) text << word << ' ';
  Rng out;
  if (words.size() != words_of(out).size() || words.back() > 312 || !(text >> out))
    throw DataError("model file: the random generator's state does not fit");
  return out;
}

using Column = std::uint64_t TaskCounters::*;
constexpr std::array<std::pair<std::string_view, Column>, 4> kColumns{{{"examples", &TaskCounters::examples},
                                                                       {"labels", &TaskCounters::labels},
                                                                       {"updates", &TaskCounters::updates},
                                                                       {"mistakes", &TaskCounters::mistakes}}};

}  // namespace

Session::Session(const Spec& spec, std::unique_ptr<Memory> memory)
    : spec_(canonical(spec)),
      memory_(std::move(memory)),
      tasks_(memory_.get()),
      budget_({}, memory_.get()),
      counts_(memory_.get()),
      pending_(memory_.get()) {}

Session::Session(const Spec& spec, const SessionOptions& o) : Session(spec, std::make_unique<Memory>(o.memory_limit)) {
  if (o.labels_per_round < 1) throw UsageError("labels per round 0: expected at least 1");
  labels_per_round_ = o.labels_per_round;
  rng_ = make_rng(o.seed, kLearnerStream);
  max_pending_ = o.max_pending;
  if (o.audit != 0) {
    audit_.emplace(o.audit, memory_.get());
    audit_rng_ = make_rng(o.seed, kAuditStream);
  }
  budget_.set_limits(o.limits);
  if (o.tasks != nullptr)
    for (std::uint32_t i = 0; i < o.tasks->size(); ++i) tasks_.intern((*o.tasks)[i]);
  learner_ = make_learner(spec_, {tasks_, memory_.get(), false, labels_per_round_});
  start_pace();
  if (o.spread_over > 0) set_spread_over(o.spread_over);
}

void Session::start_pace() {
  const auto& rate = budget_.limits().rate;
  if (rate && learner_->set_query_scale(1))
    pace_.follow_rate(static_cast<double>(rate->count), rate->window, rate->seconds);
  else
    pace_.follow_rate(0, 0, false);
}

void Session::set_limits(const LabelLimits& limits) {
  const bool same_rate = limits.rate == budget_.limits().rate, same_total = limits.total == budget_.limits().total;
  budget_.set_limits(limits);
  if (!same_rate) start_pace();
  if (!same_total && pace_.even())
    set_spread_over(limits.total == LabelLimits::kNone ? 0 : static_cast<std::uint64_t>(pace_.remaining()));
}

void Session::set_spread_over(std::uint64_t examples) {
  const LabelLimits& limits = budget_.limits();
  if (examples > 0 && limits.total == LabelLimits::kNone)
    throw UsageError("pace even: no number of labels in all; expected one, as 500");
  if (examples > 0 && !learner_->set_query_scale(1))
    throw UsageError("pace even: " + to_text(spec_) +
                     " has no b that decides how much it asks; expected a learner that has, as query=margin");
  const std::uint64_t bought = budget_.bought();
  pace_.follow_even(limits.total > bought ? static_cast<double>(limits.total - bought) : 0, static_cast<double>(examples));
}

bool Session::open(Task task) const {
  return left(task) && pace_.allows() && (!audit_ || bought_to_learn() < audit_->learning_limit(budget_.limits().total));
}

double Session::clock() const {
  const auto& rate = budget_.limits().rate;
  return rate && rate->seconds ? time_ : static_cast<double>(total_.examples);
}

void Session::set_time(double seconds) {
  if (!std::isfinite(seconds)) throw UsageError("time: expected a finite number of seconds");
  time_ = std::max(time_, seconds);
}

Task Session::task(std::string_view name) {
  if (const auto known = tasks_.find(name)) return *known;
  if (memory_->limited()) learner_->free_memory(tasks_.bytes_to_add(name) + counts_.bytes_to_grow(tasks_.size() + 1));
  return tasks_.intern(name);
}

void Session::prefetch_task(std::string_view name, int step) const {
  if (step < 3) return tasks_.prefetch(name, step);
  if (const auto task = tasks_.find(name); task && *task < counts_.size()) prefetch(&counts_[*task]);
}

Task Session::known_task(std::string_view name) const {
  return tasks_.find(name).value_or(static_cast<Task>(tasks_.size()));
}

void Session::round(std::span<const Example> round, const Oracle& oracle, std::span<Outcome> out) {
  const auto& rate = budget_.limits().rate;
  const bool by_time = rate && rate->seconds;
  if (by_time && std::isinf(time_)) throw UsageError("labels " + to_text(*rate) + ": the stream has no time; expected one");
  const double before = budget_.clock();
  if (by_time) budget_.advance(time_);
  // What is due when the round comes decides its b; a rate in examples sees the first of them.
  const double units =
      by_time ? (std::isinf(before) ? 0 : (budget_.clock() - before) / static_cast<double>(round.size())) : 1;
  if (pace_) learner_->set_query_scale(pace_.factor(static_cast<double>(budget_.free())));
  // By what was answered: a question that waits may be withdrawn, and what an audit knows of labels never falls.
  if (audit_) audit_->begin(round.size(), total_.labels - audit_->bought(), budget_.limits().total);
  decisions_.assign(round.size(), {});
  learner_->decide(round, rng_, decisions_);
  for (std::size_t n = 0; n < round.size(); ++n) {
    const Task task = round[n].task;
    if (task >= counts_.size()) counts_.resize(std::size_t{task} + 1);
    ++counts_[task].examples;
    ++total_.examples;
    budget_.advance(clock());
    pace_.advance(units);
    if (audit_ && audit_->draw(audit_rng_)) {
      Outcome& outcome = out[n] = {decisions_[n]};
      const bool is_left = left(task);
      record_audit(round[n], is_left ? oracle(n) : std::nullopt, outcome);
      unanswered_ += is_left && !outcome.label;
      continue;
    }
    const bool is_open = open(task);
    if (is_open) pace_.observe(decisions_[n].ask);
    Outcome& outcome = out[n] = {decisions_[n], decisions_[n].ask && is_open};
    if (!outcome.asked) continue;
    outcome.label = oracle(n);
    if (outcome.label == kLater) {
      outcome.label.reset();
      outcome.ticket = keep(round[n], outcome.decision);
      outcome.asked = outcome.ticket.has_value();
    } else if (outcome.label) {
      buy();
      learn(round[n], outcome);
    } else {
      ++unanswered_;
    }
  }
}

/// An answer that would come later is not waited for.
void Session::record_audit(const Example& e, std::optional<int> label, Outcome& outcome) {
  if (label == kLater) label.reset();
  if (memory_->limited()) learner_->free_memory(audit_->bytes_to_add());
  audit_->record(outcome.decision.margin, label);
  outcome.audited = true;
  outcome.label = label;
  if (!label) return;
  buy();
  ++counts_[e.task].labels;
  ++total_.labels;
}

void Session::buy() {
  budget_.buy();
  pace_.buy();
}

void Session::learn(const Example& e, Outcome& outcome) {
  // Counted first: the label is bought, even if the learner has no memory left to learn from it and throws.
  const bool mistake = *outcome.label != 0 && predicted(outcome.decision.margin) != *outcome.label;
  for (TaskCounters* c : {&counts_[e.task], &total_}) {
    ++c->labels;
    c->mistakes += mistake;
  }
  outcome.updated = learner_->learn(e, outcome.decision, *outcome.label, rng_);
  for (TaskCounters* c : {&counts_[e.task], &total_}) c->updates += outcome.updated;
}

std::optional<std::uint64_t> Session::keep(const Example& e, const Decision& d) {
  const std::size_t bytes = pending_.bytes_to_add(e), limit = memory_->limit();
  if (max_pending_ == 0 || bytes > limit / kPendingPart) return std::nullopt;
  while (pending_.size() > 0 &&
         (pending_.size() >= max_pending_ || (memory_->limited() && pending_.bytes() + bytes > limit / kPendingPart)))
    refund(pending_.oldest());
  if (memory_->limited()) {
    learner_->free_memory(bytes);
    while (memory_->left() < bytes && pending_.size() > 0) refund(pending_.oldest());
    if (memory_->left() < bytes) return std::nullopt;
  }
  pending_.add(next_ticket_, e, d);
  buy();
  return next_ticket_++;
}

void Session::refund(std::uint64_t ticket) {
  pending_.erase(ticket);
  budget_.refund();
  pace_.refund();
  ++unanswered_;
}

void Session::check_issued(std::uint64_t ticket) const {
  if (ticket >= next_ticket_)
    throw UsageError("ticket " + std::to_string(ticket) + " was never issued; expected one below " +
                     std::to_string(next_ticket_));
}

std::optional<Outcome> Session::answer(std::uint64_t ticket, int label) {
  check_issued(ticket);
  if (label < -1 || label > 1) throw UsageError("label " + std::to_string(label) + ": expected 1, -1, or 0 for neither");
  const PendingQuestions::Item* item = pending_.find(ticket);
  if (item == nullptr) {
    ++too_late_;
    return std::nullopt;
  }
  Outcome outcome{.decision = item->decision, .asked = true, .label = label, .ticket = ticket};
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
  refund(ticket);
  return true;
}

TaskCounters Session::count(Task task) const { return task < counts_.size() ? counts_[task] : TaskCounters{}; }

void Session::save(Tensors& out) const {
  Writer writer(out);
  writer("tasks", tasks_);
  writer("rng", words_of(rng_));
  writer("budget", budget_);
  writer("labels_per_round", labels_per_round_);
  writer("memory_limit", std::uint64_t{memory_->limit()});
  writer("unanswered", unanswered_);
  writer("too_late", too_late_);
  writer("time", time_);
  writer("pace", pace_);
  writer("pending", pending_);
  writer("next_ticket", next_ticket_);
  writer("max_pending", max_pending_);
  writer("audited", std::uint32_t{audit_.has_value()});
  if (audit_) {
    writer("audit", *audit_);
    writer("audit_rng", words_of(audit_rng_));
  }
  for (const auto& [name, column] : kColumns) {
    std::vector<std::uint64_t> values;
    values.reserve(counts_.size());
    for (std::size_t i = 0; i < counts_.size(); ++i) values.push_back(counts_[i].*column);
    writer("count." + std::string(name), values);
  }
  learner_->save(Writer(out, "learner."));
}

Session Session::load(const Spec& spec, Reader& reader) {
  std::uint64_t memory_limit = 0;
  reader("memory_limit", memory_limit);
  Session out(spec, std::make_unique<Memory>(memory_limit));
  reader("tasks", out.tasks_);
  for (std::uint32_t i = 0; i < out.tasks_.size(); ++i)
    if (find_not_utf8(out.tasks_[i]) != std::string_view::npos) throw DataError("model file: a task's name is not UTF-8");
  std::vector<std::uint64_t> words;
  reader("rng", words);
  out.rng_ = rng_of(words);
  reader("budget", out.budget_);
  reader("labels_per_round", out.labels_per_round_);
  if (out.labels_per_round_ < 1) throw DataError("model file: labels_per_round is 0; expected at least 1");
  reader("unanswered", out.unanswered_);
  reader("too_late", out.too_late_);
  reader("time", out.time_);
  if (std::isnan(out.time_) || out.time_ == std::numeric_limits<double>::infinity())
    throw DataError("model file: time is not a number");
  reader("pace", out.pace_);
  out.pace_.check();
  reader("pending", out.pending_);
  reader("next_ticket", out.next_ticket_);
  reader("max_pending", out.max_pending_);
  std::uint32_t audited = 0;
  reader("audited", audited);
  if (audited > 1) throw DataError("model file: audited is neither 0 nor 1");
  if (audited == 1) {
    reader("audit", out.audit_.emplace(0.5, out.memory_.get()));
    reader("audit_rng", words);
    out.audit_rng_ = rng_of(words);
  }
  for (const auto& [name, column] : kColumns) {
    std::vector<std::uint64_t> values;
    reader("count." + std::string(name), values);
    if (column != kColumns[0].second && values.size() != out.counts_.size())
      throw DataError("model file: counts differ in size");
    out.counts_.resize(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      out.counts_[i].*column = values[i];
      out.total_.*column += values[i];
    }
  }
  out.pending_.for_each([&](std::uint64_t ticket, const PendingQuestions::Item& item) {
    if (item.task >= out.counts_.size() || ticket >= out.next_ticket_)
      throw DataError("model file: a pending example of a task or ticket that is not known");
  });
  if (out.counts_.size() > out.tasks_.size() || out.total_.labels + out.pending_.size() != out.budget_.bought())
    throw DataError("model file: counts do not fit the tasks or the labels bought");
  if (out.audit_ &&
      (out.audit_->bought() > out.total_.labels || out.audit_->learned() > out.total_.labels - out.audit_->bought() ||
       out.audit_->covered() > out.total_.examples))
    throw DataError("model file: audits do not fit the labels bought or the examples");
  out.learner_ = make_learner(out.spec_, {out.tasks_, out.memory_.get(), true, out.labels_per_round_});
  Reader part = reader.part("learner.");
  out.learner_->load(part);
  if (out.pace_ && !out.learner_->set_query_scale(1)) throw DataError("model file: a pace for a learner that has no b");
  return out;
}

}  // namespace quorate
