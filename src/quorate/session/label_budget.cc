#include "quorate/session/label_budget.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "quorate/base/number.h"

namespace quorate {
namespace {

constexpr std::pair<std::string_view, double> kUnits[] = {
    {"second", 1}, {"minute", 60}, {"hour", 3600}, {"day", 86400}, {"week", 604800}};

std::optional<LabelRate> parse_rate(std::string_view count, std::string_view window) {
  LabelRate out;
  const auto labels = parse_number<std::uint64_t>(count), examples = parse_number<std::uint64_t>(window);
  if (!labels) return std::nullopt;
  out.count = *labels;
  for (const auto& [unit, seconds] : kUnits)
    if (window == unit) {
      out.window = seconds;
      out.seconds = true;
    }
  if (!out.seconds) {
    if (!examples) return std::nullopt;
    out.window = static_cast<double>(*examples);
  }
  return out.good() ? std::optional(out) : std::nullopt;
}

}  // namespace

bool LabelRate::good() const {
  return count >= 1 && count <= kMostLabels && window >= 1 && window <= 1e15 && window == std::floor(window);
}

void LabelLimits::add(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == text.npos) {
    const auto labels = parse_number<std::uint64_t>(text);
    if (text.ends_with('%'))
      throw UsageError("labels " + quoted_value(text) +
                       ": a share of examples whose number is not known; expected a number in all, as 500, or a rate, as "
                       "10/100 (examples)");
    if (!labels)
      throw UsageError("labels " + quoted_value(text) +
                       "; expected a whole number in all, as 500, or a rate, as 50/1000 (examples) or 20/day");
    if (total != kNone) throw UsageError("labels " + quoted_value(text) + ": a second number in all; expected one");
    total = *labels;
    return;
  }
  const auto parsed = parse_rate(text.substr(0, slash), text.substr(slash + 1));
  if (!parsed)
    throw UsageError("labels " + quoted_value(text) +
                     "; expected 1 to 1000000 labels in a number of examples, as 50/1000, or in a second, minute, hour, "
                     "day or week, as 20/day");
  if (rate) throw UsageError("labels " + quoted_value(text) + ": a second rate; expected one");
  rate = parsed;
}

std::string to_text(const LabelRate& rate) {
  std::string window = std::to_string(static_cast<std::uint64_t>(rate.window));
  for (const auto& [unit, seconds] : kUnits)
    if (rate.seconds && rate.window == seconds) window = unit;
  return std::to_string(rate.count) + "/" + window;
}

LabelBudget::LabelBudget(const LabelLimits& limits, std::pmr::memory_resource* memory)
    : limits_(limits), times_(memory), audits_(memory) {
  if (!limits_.rate) return;
  if (!limits_.rate->good()) throw UsageError("label rate " + to_text(*limits_.rate) + ": out of range");
  times_.resize(limits_.rate->count);
  audits_.resize(limits_.rate->count);
}

void LabelBudget::advance(double now) { set_back(at(now)); }

LabelBudget::Clock LabelBudget::at(double now) const {
  Clock out{std::max(now_, now), busy_, busy_audits_};
  for (; out.busy > 0 && out.now - times_[oldest(out.busy)] >= limits_.rate->window; --out.busy)
    out.busy_audits -= static_cast<std::size_t>(audits_[oldest(out.busy)]);
  return out;
}

std::optional<double> LabelBudget::free_at() const {
  if (!limits_.rate || free() > 0) return std::nullopt;
  const std::uint64_t beyond = busy_ + waiting_ - limits_.rate->count;
  return beyond < busy_ ? std::optional(times_[oldest(busy_ - beyond)] + limits_.rate->window) : std::nullopt;
}

void LabelBudget::buy(bool audit) {
  ++bought_;
  note(audit);
}

void LabelBudget::hold(bool audit) {
  if (!while_waiting_) return buy(audit);
  ++bought_;
  ++waiting_;
  waiting_audits_ += audit;
}

bool LabelBudget::refund(bool audit) {
  --bought_;
  return wait_no_longer(audit);
}

void LabelBudget::settle(bool audit) {
  if (wait_no_longer(audit)) note(audit);
}

/// Of a question that waits; not of one that came before count_while_waiting().
bool LabelBudget::wait_no_longer(bool audit) {
  if (waiting_ == 0) return false;
  --waiting_;
  if (audit && waiting_audits_ > 0) --waiting_audits_;
  waiting_audits_ = std::min(waiting_audits_, waiting_);
  return true;
}

void LabelBudget::note(bool audit) {
  if (!limits_.rate) return;
  times_[next_] = now_;
  audits_[next_] = audit;
  busy_audits_ += audit;
  next_ = (next_ + 1) % times_.size();
  ++busy_;
}

void LabelBudget::set_limits(const LabelLimits& limits) {
  if (limits.rate == limits_.rate) {
    limits_ = limits;
    return;
  }
  LabelBudget changed(limits, times_.get_allocator().resource());
  // Maybe more than it allows: those that wait are answered all the same, and the rate after it may count them, too.
  const bool same_unit = limits.rate && limits_.rate && limits.rate->seconds == limits_.rate->seconds;
  if (limits.rate) {
    changed.times_.resize(std::max<std::size_t>((same_unit ? busy_ : 0) + waiting_, changed.times_.size()));
    changed.audits_.resize(changed.times_.size());
  }
  if (same_unit) {
    for (std::size_t i = 0; i < busy_; ++i) {
      const std::size_t from = oldest(busy_ - i);
      changed.times_[i] = times_[from];
      changed.audits_[i] = audits_[from];
    }
    changed.busy_ = busy_;
    changed.busy_audits_ = busy_audits_;
    changed.next_ = busy_ % changed.times_.size();
    changed.advance(now_);
  }
  limits_ = changed.limits_;
  times_.swap(changed.times_);
  audits_.swap(changed.audits_);
  next_ = changed.next_;
  busy_ = changed.busy_;
  busy_audits_ = changed.busy_audits_;
  now_ = changed.now_;
}

LabelBudget::Packed LabelBudget::pack() const {
  const LabelRate rate = limits_.rate.value_or(LabelRate{});
  return {limits_.total,
          limits_.per_task,
          bought_,
          waiting_,
          waiting_audits_,
          limits_.rate ? rate.count : 0,
          rate.seconds,
          next_,
          busy_,
          rate.window,
          now_,
          times_,
          audits_};
}

void LabelBudget::unpack(const Packed& p) {
  LabelLimits limits{p.total, p.per_task, {}};
  if (p.rate_count > 0) limits.rate = LabelRate{p.rate_count, p.window, p.rate_seconds == 1};
  if (p.times.size() < p.rate_count || p.times.size() > (limits.rate ? LabelRate::kMostLabels : 0) ||
      p.audits.size() != p.times.size() || p.rate_seconds > 1 || (limits.rate && !limits.rate->good()))
    throw DataError("label budget: rate out of range");
  if (p.waiting > p.bought || p.waiting_audits > p.waiting) throw DataError("label budget: more wait than were asked about");
  if (p.busy > p.times.size() || (limits.rate && p.waiting > p.times.size() - p.busy) ||
      (limits.rate ? p.next >= p.times.size() : p.next != 0) || std::isnan(p.now) ||
      p.now == std::numeric_limits<double>::infinity())
    throw DataError("label budget: times that do not fit its rate");
  std::size_t audits = 0;
  double last = -std::numeric_limits<double>::infinity();
  for (std::size_t back = p.busy; back > 0; --back) {
    const std::size_t from = (p.next + p.times.size() - back) % p.times.size();
    const double time = p.times[from];
    audits += p.audits[from] == 1;
    if (p.audits[from] < 0 || p.audits[from] > 1) throw DataError("label budget: an audit is neither 0 nor 1");
    if (!std::isfinite(time) || time < last || time > p.now || p.now - time >= p.window)
      throw DataError("label budget: times that do not fit its rate");
    last = time;
  }
  limits_ = limits;
  bought_ = p.bought;
  waiting_ = p.waiting;
  waiting_audits_ = p.waiting_audits;
  times_.assign(p.times.begin(), p.times.end());
  audits_.assign(p.audits.begin(), p.audits.end());
  busy_audits_ = audits;
  next_ = p.next;
  busy_ = p.busy;
  now_ = p.now;
}

}  // namespace quorate
