// Limits of labels that no run exceeds.
#pragma once
#include <cstdint>
#include <limits>
#include <memory_resource>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quorate/base/error.h"

namespace quorate {

/// At most `count` labels in any window of `window` examples of all tasks, or of `window` seconds of stream time. A label
/// counts from its question on, or as LabelBudget::count_while_waiting() says. A window is half-open: a label bought a whole
/// window ago counts no longer.
struct LabelRate {
  static constexpr std::uint64_t kMostLabels = 1'000'000;  ///< when each was bought is kept
  std::uint64_t count = 1;                                 ///< 1 to kMostLabels
  double window = 1;                                       ///< a whole number from 1 to 10^15
  bool seconds = false;                                    ///< what the window is counted in

  bool operator==(const LabelRate&) const = default;
  bool good() const;
};

/// Hard limits on the labels bought. Pending questions count as bought.
struct LabelLimits {
  static constexpr std::uint64_t kNone = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t total = kNone;
  std::uint64_t per_task = kNone;
  std::optional<LabelRate> rate = {};

  /// Adds what one --labels says: "500" in total, "50/1000" examples, "20/day" (second, minute, hour, day, week). Throws
  /// UsageError for anything else, and for a second total or rate.
  void add(std::string_view text);
};

/// "50/1000", "20/day".
std::string to_text(const LabelRate& rate);

/// Counts the labels bought, and the questions that wait, against the limits. Of a rate it keeps when each of the last
/// `count` labels was bought.
///
/// Cost: O(1) a label. Memory: 9 bytes for each label of a rate's count, allocated at once.
class LabelBudget {
 public:
  explicit LabelBudget(const LabelLimits& limits = {}, std::pmr::memory_resource* memory = std::pmr::get_default_resource());

  /// Advances the clock to `now`, in the unit of the rate. An earlier time has no effect.
  void advance(double now);
  /// What advance() changes; and takes it back, if no label was bought since.
  struct Clock {
    double now = 0;
    std::size_t busy = 0, busy_audits = 0;
  };
  Clock now() const { return {now_, busy_, busy_audits_}; }
  Clock at(double now) const;  ///< after advance(now)
  void set_back(const Clock& before) {
    now_ = before.now;
    busy_ = before.busy;
    busy_audits_ = before.busy_audits;
  }
  bool left() const { return bought_ < limits_.total && free() > 0; }  ///< whether one more may be bought now, by all
  /// Labels that the rate still allows now, or at that time; LabelLimits::kNone without a rate.
  std::uint64_t free() const { return free(now()); }
  std::uint64_t free(const Clock& at) const {
    if (!limits_.rate) return LabelLimits::kNone;
    return limits_.rate->count - std::min<std::uint64_t>(limits_.rate->count, waiting_ + at.busy);
  }
  /// When the rate will allow one more, if none of those that wait is answered; nullopt: now, or never.
  std::optional<double> free_at() const;
  /// From now on a rate counts a question while it waits, however long, and its label from the answer on: so no window has
  /// more answers than the rate, however late they are. A question without an answer goes back to the rate.
  void count_while_waiting() { while_waiting_ = true; }
  void hold(bool audit = false);    ///< for a question that waits; call only while left()
  void settle(bool audit = false);  ///< its answer came
  bool refund(bool audit = false);  ///< it is withdrawn; returns whether it went back to the rate, too
  void buy(bool audit = false);     ///< an answer at once; call only while left()
  std::uint64_t bought() const { return bought_; }
  std::uint64_t waiting() const { return waiting_; }  ///< of these, those that a rate counts while they wait
  std::uint64_t waiting_audits() const { return waiting_audits_; }
  double clock() const { return now_; }  ///< minus infinity: never advanced
  const LabelLimits& limits() const { return limits_; }
  /// If a new limit is below the labels already bought, nothing more is bought. A new rate counts the labels that the old
  /// one still keeps, if both have the same unit.
  void set_limits(const LabelLimits& limits);

  struct Packed {
    std::uint64_t total, per_task, bought, waiting, waiting_audits;
    std::uint64_t rate_count, rate_seconds, next, busy;  // rate_count 0: no rate
    double window, now;
    std::pmr::vector<double> times;
    std::pmr::vector<std::int8_t> audits;  // of each time: whether it was an audit
    template <class S>
    static void state(S& s, auto&& v) {
      v("total", s.total);
      v("per_task", s.per_task);
      v("bought", s.bought);
      v("waiting", s.waiting);
      v("waiting_audits", s.waiting_audits);
      v("rate_count", s.rate_count);
      v("rate_window", s.window);
      v("rate_seconds", s.rate_seconds);
      v("times", s.times);
      v("audits", s.audits);
      v("next", s.next);
      v("busy", s.busy);
      v("now", s.now);
    }
  };
  Packed pack() const;
  void unpack(const Packed& packed);  ///< throws DataError: a rate out of range, times that do not fit it

 private:
  bool wait_no_longer(bool audit);
  void note(bool audit);
  std::size_t oldest(std::size_t busy) const { return (next_ + times_.size() - busy) % times_.size(); }

  LabelLimits limits_;
  std::uint64_t bought_ = 0, waiting_ = 0, waiting_audits_ = 0;
  bool while_waiting_ = false;
  // A ring of rate->count or more, with room for those that wait: the last busy_ before next_ are in the window.
  std::pmr::vector<double> times_;
  std::pmr::vector<std::int8_t> audits_;
  std::size_t next_ = 0, busy_ = 0, busy_audits_ = 0;
  double now_ = -std::numeric_limits<double>::infinity();
};

}  // namespace quorate
