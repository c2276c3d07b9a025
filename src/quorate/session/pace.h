// Spending labels evenly: a factor on the b of a learner's query rule.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "quorate/base/error.h"

namespace quorate {

/// Labels that fall due evenly, `labels` in every span of examples or seconds, and the number of them bought.
struct DueLabels {
  double labels = 0, span = 0;  ///< span 0: nothing falls due, nothing is held back
  double elapsed = 0;           ///< since the start, in the unit of the span
  double bought = 0;            ///< since the start

  static constexpr double kLargest = 0x1p63;  ///< of every number here

  explicit operator bool() const { return span > 0; }
  double rate() const { return labels / span; }
  double gap() const { return rate() * elapsed - bought; }  ///< due and not bought
  /// A gap is closed within this share of the span.
  static constexpr double kHorizon = 0.03;
  /// Labels to buy per unit from now on.
  double wanted() const { return std::max(0.0, rate() + gap() / (kHorizon * span)); }
  /// Whether one more stays within 5 % of the span's labels (at least one) of the labels due.
  bool allows() const { return !*this || bought + 1 <= rate() * elapsed + std::max(1.0, 0.05 * labels); }

  template <class S>
  static void state(S& s, auto&& v) {
    v("labels", s.labels);
    v("span", s.span);
    v("elapsed", s.elapsed);
    v("bought", s.bought);
  }
  bool good() const {
    return labels >= 0 && labels <= kLargest && span >= 0 && span <= kLargest && elapsed >= 0 && elapsed <= kLargest &&
           std::abs(bought) <= kLargest;
  }
};

/// A controller of b. It says with which probability q the next label is to be asked for, so that labels are bought as they
/// fall due, and multiplies b by scale * q / (1 - q): where b is small against the margins, the odds of asking are
/// proportional to b, so a learned scale fits every q. The scale moves by the difference of asked and intended.
///
/// A rate of c labels in any window W: c per W fall due, and a label that the window allows again is bought within 3 % of W
/// on average, so that 97 % are used. A total over a length: labels / length fall due with every example, and what is left
/// when the end is near is bought by then. In neither are labels bought much before they are due, however uncertain the
/// examples are: at margins of 0 no b is small enough.
class Pace {
 public:
  /// Follows a rate from now on (labels in a window), or none.
  void follow_rate(double labels, double window, bool seconds) {
    start(rate_, labels, window);
    seen_ = 0;
    per_example_ = seconds ? 0 : 1;
  }
  /// Spends `labels` over the next `examples` examples, or nothing more.
  void follow_even(double labels, double examples) { start(even_, labels, examples); }
  explicit operator bool() const { return rate_ || even_; }
  /// Examples that the total is spent over are still to come; 0 when they are over or there is no total to spend.
  double remaining() const { return even_ ? std::max(0.0, even_.span - even_.elapsed) : 0; }
  bool even() const { return static_cast<bool>(even_); }

  /// The factor on b for the next example. free: labels that the rate allows now.
  double factor(double free) {
    q_ = 1;
    if (rate_) q_ = std::min(rate_.wanted(), free / (DueLabels::kHorizon * rate_.span)) * per_example_;
    if (even_) {
      const double left = even_.labels - even_.bought, remaining = even_.span - even_.elapsed;
      const double wanted = remaining >= 1 ? std::max(even_.wanted(), left / remaining) : 1;
      q_ = std::min(q_, left > 0 ? wanted : 0);
    }
    q_ = std::clamp(q_, kLeast, 1 - kLeast);
    return std::clamp(scale_ * (q_ / (1 - q_)), kLeast, 1 / kLeast);
  }
  /// An example came, `units` after the last one in the rate's unit. The clock stops at the largest time that load takes.
  void advance(double units) {
    units = std::min(units, DueLabels::kLargest);
    if (rate_) {
      rate_.elapsed = std::min(rate_.elapsed + units, DueLabels::kLargest);
      seen_ = std::min(seen_ + 1, 1000.0);
      per_example_ += (units - per_example_) / seen_;
    }
    if (even_) even_.elapsed = std::min(even_.elapsed + 1, even_.span);
  }
  /// Time passed without an example.
  void pass(double units) {
    if (rate_) rate_.elapsed = std::min(rate_.elapsed + units, DueLabels::kLargest);
  }
  /// Of a total, where others buy, too: the examples that came since the start, and the labels that all bought since.
  void stand_at(double examples, double bought) {
    even_.elapsed = std::clamp(examples, 0.0, even_.span);
    even_.bought = std::min(bought, DueLabels::kLargest);
  }
  bool allows() const { return rate_.allows() && even_.allows(); }
  /// Whether the example was asked for, when it could be.
  void observe(bool asked) { scale_ = std::clamp(scale_ * (1 + kStep * (q_ - (asked ? 1 : 0))), kLeast, 1 / kLeast); }
  void buy() { rate_.bought += 1, even_.bought += 1; }
  void refund(bool rate) { rate_.bought -= rate, even_.bought -= 1; }

  template <class S>
  static void state(S& s, auto&& v) {
    v("rate", s.rate_);
    v("even", s.even_);
    v("scale", s.scale_);
    v("seen", s.seen_);
    v("per_example", s.per_example_);
  }
  /// After load. Throws DataError.
  void check() const {
    if (!rate_.good() || !even_.good() || !(scale_ >= kLeast && scale_ <= 1 / kLeast) || !(seen_ >= 0 && seen_ <= 1000) ||
        !(per_example_ >= 0 && per_example_ <= DueLabels::kLargest))
      throw DataError("pace: numbers out of range");
  }

 private:
  static constexpr double kLeast = 1e-6, kStep = 0.2;

  void start(DueLabels& due, double labels, double span) {
    due = {labels, span, 0, 0};
    if (!due || scale_ != 1) return;
    const double q = std::clamp(due.rate(), kLeast, 1 - kLeast);
    scale_ = std::clamp((1 - q) / q, kLeast, 1 / kLeast);  // b as it was given where q is the mean
  }

  DueLabels rate_, even_;
  double scale_ = 1;
  double seen_ = 0, per_example_ = 1;  // mean of the rate's units from one example to the next
  double q_ = 1;                       // scratch, of the example at hand
};

}  // namespace quorate
