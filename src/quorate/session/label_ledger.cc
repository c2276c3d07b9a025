#include "quorate/session/label_ledger.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "quorate/base/column.h"

namespace quorate {
namespace {

constexpr std::uint64_t kAuditStream = 3;  // of the run's seed; HACKING.md has them all

using Counter = std::uint64_t TaskCounters::*;
constexpr std::array<std::pair<std::string_view, Counter>, 4> kCounters{{{"examples", &TaskCounters::examples},
                                                                         {"labels", &TaskCounters::labels},
                                                                         {"updates", &TaskCounters::updates},
                                                                         {"mistakes", &TaskCounters::mistakes}}};

}  // namespace

void LabelLedger::start_audit(double share, double floor, std::uint64_t seed) {
  audit_.emplace(share, floor, memory_);
  audit_rng_ = make_rng(seed, kAuditStream);
}

void LabelLedger::set_limits(const LabelLimits& limits, bool paced) {
  const bool same_rate = limits.rate == budget_.limits().rate, same_total = limits.total == budget_.limits().total;
  budget_.set_limits(limits);
  if (!same_rate) {
    if (limits.rate && paced)
      pace_.follow_rate(static_cast<double>(limits.rate->count), limits.rate->window, limits.rate->seconds);
    else
      pace_.follow_rate(0, 0, false);
  }
  if (!same_total && pace_.even())
    spread_over(limits.total == LabelLimits::kNone ? 0 : static_cast<std::uint64_t>(pace_.remaining()));
}

void LabelLedger::spread_over(std::uint64_t examples) {
  const std::uint64_t total = budget_.limits().total, bought = budget_.bought();
  if (examples == 0) return pace_.follow_even(0, 0);
  pace_.follow_even(total > bought ? static_cast<double>(total - bought) : 0, static_cast<double>(examples));
}

void LabelLedger::set_time(double seconds) {
  if (!std::isfinite(seconds)) throw UsageError("time: expected a finite number of seconds");
  time_ = std::max(time_, seconds);
}

void LabelLedger::pass_time() {
  const auto& rate = budget_.limits().rate;
  if (!rate || !rate->seconds || std::isinf(time_)) return;
  const double before = budget_.clock();
  budget_.advance(time_);
  if (!std::isinf(before)) pace_.pass(budget_.clock() - before);
}

double LabelLedger::clock() const {
  const auto& rate = budget_.limits().rate;
  if (rate && rate->seconds) return time_;
  return static_cast<double>((total_.examples + of_instance_ - 1) / of_instance_);
}

std::uint64_t LabelLedger::free_to_learn(const LabelBudget::Clock& at) const {
  const auto& rate = budget_.limits().rate;
  if (!rate || !audit_) return budget_.free(at);
  const std::uint64_t limit = audit_->learning_limit(rate->count);
  return std::min(budget_.free(at), limit - std::min<std::uint64_t>(limit, budget_.waiting() - budget_.waiting_audits() +
                                                                               at.busy - at.busy_audits));
}

double LabelLedger::begin_round(std::size_t examples, std::size_t of_instance, std::size_t audited_together) {
  of_instance_ = of_instance;
  audited_together_ = audited_together;
  const auto& rate = budget_.limits().rate;
  const bool by_time = rate && rate->seconds;
  if (by_time && std::isinf(time_)) throw UsageError("labels " + to_text(*rate) + ": the stream has no time; expected one");
  before_round_ = budget_.now();
  const double before = budget_.clock();
  if (by_time) budget_.advance(time_);
  units_ = by_time ? (std::isinf(before) ? 0 : (budget_.clock() - before) / static_cast<double>(examples))
                   : 1 / static_cast<double>(of_instance);
  // Counts answered labels: a pending question may be withdrawn, and an audit's count never falls.
  if (audit_) audit_->begin(examples / audited_together, total_.labels - audit_->bought(), budget_.limits().total);
  // What is due when the round begins decides its b; a rate in examples sees the first of them.
  return pace_ ? pace_.factor(static_cast<double>(free_to_learn())) : 1;
}

void LabelLedger::cancel_round(std::size_t examples) {
  budget_.set_back(before_round_);
  if (audit_) audit_->cancel(examples / audited_together_);
}

void LabelLedger::begin_example(Task task) {
  make_room(task);
  add(task, &TaskCounters::examples);
  budget_.advance(clock());
  pace_.advance(units_);
}

bool LabelLedger::draw_audit() {
  if (!audit_) return false;
  if (budget_.free() > 0) return audit_->draw(audit_rng_);
  audit_->pass();
  return false;
}

bool LabelLedger::task_may_ask(Task task, std::uint64_t pending) const {
  const std::uint64_t limit = budget_.limits().per_task;
  if (task == kUntracked) return limit == LabelLimits::kNone;  // they are not counted by task
  return count(task).labels + pending < limit;
}

bool LabelLedger::has_label_left(Task task, std::uint64_t pending) const {
  return budget_.left() && task_may_ask(task, pending);
}

bool LabelLedger::may_buy(Task task, std::uint64_t pending, bool asks) {
  if (!asks && !pace_) return false;  // only the pace wants to know
  if (!pace_.allows() || !may_ask(task, pending)) return false;
  if (pace_) pace_.observe(asks);
  return asks;
}

bool LabelLedger::may_ask(Task task, std::uint64_t pending) const {
  return task_may_ask(task, pending) && all_may_ask(budget_.now());
}

bool LabelLedger::all_may_ask(double seconds) const {
  const auto& rate = budget_.limits().rate;
  return all_may_ask(rate && rate->seconds ? budget_.at(seconds) : budget_.now());
}

bool LabelLedger::all_may_ask(const LabelBudget::Clock& at) const {
  const std::uint64_t total = budget_.limits().total;
  if (budget_.bought() >= total || free_to_learn(at) == 0) return false;
  return !audit_ || budget_.bought() - audit_->bought() < audit_->learning_limit(total);
}

void LabelLedger::record_audit(Task task, double margin, std::optional<Answer> answer) {
  audit_->record(margin, answer);
  if (!answer) return;
  buy(true);
  add(task, &TaskCounters::labels);
}

void LabelLedger::record_audit(const Audit::Held& held, Task task, double margin, Answer answer) {
  audit_->record(held, margin, answer);
  settle(true);
  add(task, &TaskCounters::labels);
}

void LabelLedger::record_label(Task task, bool mistake) {
  add(task, &TaskCounters::labels);
  if (mistake) add(task, &TaskCounters::mistakes);
}

void LabelLedger::spend(Task task, const Audit::Held& held) {
  if (held.marks > 0) audit_->record(held, 0, std::nullopt);
  settle(held.marks > 0);
  record_label(task, false);
}

void LabelLedger::record_update(Task task) { add(task, &TaskCounters::updates); }

void LabelLedger::save(const Writer& writer) const {
  writer("budget", budget_);
  writer("unanswered", unanswered_);
  writer("time", time_);
  writer("pace", pace_);
  writer("audited", std::uint32_t{audit_.has_value()});
  if (audit_) {
    writer("audit", *audit_);
    writer("audit_rng", words_of(audit_rng_));
  }
  for (const auto& [name, counter] : kCounters) {
    writer("count." + std::string(name), Column<std::uint64_t>::of(counts_.size(), [this, counter = counter](std::size_t i) {
             return counts_[i].*counter;
           }));
    if (untracked_.examples > 0) writer("untracked." + std::string(name), untracked_.*counter);
  }
}

void LabelLedger::load(Reader& reader) {
  reader("budget", budget_);
  reader("unanswered", unanswered_);
  reader("time", time_);
  if (std::isnan(time_) || time_ == std::numeric_limits<double>::infinity())
    throw DataError("model file: time is not a number");
  reader("pace", pace_);
  pace_.check();
  std::uint32_t audited = 0;
  reader("audited", audited);
  if (audited > 1) throw DataError("model file: audited is neither 0 nor 1");
  if (audited == 1) {
    reader("audit", audit_.emplace(0.5, 0.0, memory_));
    std::vector<std::uint64_t> words;
    reader("audit_rng", words);
    audit_rng_ = rng_of(words);
  }
  for (const auto& [name, counter] : kCounters) {
    std::vector<std::uint64_t> values;
    reader("count." + std::string(name), values);
    if (counter != kCounters[0].second && values.size() != counts_.size())
      throw DataError("model file: counts differ in length");
    counts_.resize(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      counts_[i].*counter = values[i];
      total_.*counter += values[i];
    }
    if (const std::string other = "untracked." + std::string(name); reader.has(other)) {
      reader(other, untracked_.*counter);
      total_.*counter += untracked_.*counter;
    }
  }
}

void LabelLedger::check(std::size_t tasks, std::size_t pending) const {
  if (counts_.size() > tasks || total_.labels + pending != budget_.bought() || pending < budget_.waiting())
    throw DataError("model file: counts do not fit the tasks or the labels bought");
  if (audit_ && (audit_->bought() > total_.labels || audit_->learned() > total_.labels - audit_->bought() ||
                 audit_->covered() > total_.examples))
    throw DataError("model file: audits do not fit the labels bought or the examples");
}

}  // namespace quorate
