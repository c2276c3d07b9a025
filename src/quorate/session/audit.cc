#include "quorate/session/audit.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <string>

#include "quorate/base/error.h"
#include "quorate/base/example.h"
#include "quorate/base/number.h"

namespace quorate {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kZ = 1.959963984540054;  // 97.5 % point of the normal distribution
constexpr double kLargest = 0x1p52;       // of counts in a model file: doubles hold them exactly

// Examples that a credit is spread over, as parts of all so far. Eight brings the audits to 90 % of their share where labels
// come evenly, more where they come early; larger follows bursts of labels more closely, so that weights differ more.
constexpr double kPart = 8, kPartWithLimit = 2;
constexpr double kAsleep = 16;  // p is 0 where it would be about this factor below its average

/// A learning curve: error = floor + (1 - floor) / (1 + e^-(a + b x)), x = log(labels) - centre.
struct Curve {
  double a, b, var_a, cov, var_b, loss;
};

/// By maximum likelihood (Fisher's scoring, steps halved while they go uphill). The prior, a ~ N(0, 5^2) and b ~ N(0, 2^2),
/// is there to keep a and b finite; it draws b towards no progress.
Curve fit(std::span<const Audit::Bin> bins, double centre, double floor) {
  constexpr double kPriorA = 1.0 / 25, kPriorB = 1.0 / 4;
  struct Slopes {
    double loss, a, b, aa, ab, bb;
  };
  const auto at = [&](double a, double b) {
    Slopes out{(kPriorA * a * a + kPriorB * b * b) / 2, kPriorA * a, kPriorB * b, kPriorA, 0, kPriorB};
    for (const Audit::Bin& bin : bins) {
      const double x = bin.log_labels() - centre, s = 1 / (1 + std::exp(-a - b * x));
      const double error = std::clamp(floor + (1 - floor) * s, 1e-12, 1 - 1e-12), rise = (1 - floor) * s * (1 - s);
      const double n = static_cast<double>(bin.audits), k = static_cast<double>(bin.mistakes);
      const double slope = (n * error - k) / (error * (1 - error)) * rise, bend = n * rise * rise / (error * (1 - error));
      out.loss -= k * std::log(error) + (n - k) * std::log1p(-error);
      out.a += slope, out.b += slope * x;
      out.aa += bend, out.ab += bend * x, out.bb += bend * x * x;
    }
    return out;
  };
  double a = 0, b = 0;
  Slopes now = at(a, b);
  for (int step = 0; step < 100; ++step) {
    const double det = now.aa * now.bb - now.ab * now.ab;
    double da = (now.bb * now.a - now.ab * now.b) / det, db = (now.aa * now.b - now.ab * now.a) / det;
    Slopes next = at(a - da, b - db);
    for (int half = 0; half < 30 && !(next.loss <= now.loss); ++half) {
      da /= 2, db /= 2;
      next = at(a - da, b - db);
    }
    if (!(next.loss <= now.loss)) break;
    a -= da, b -= db, now = next;
    if (std::abs(da) + std::abs(db) < 1e-8) break;
  }
  const double det = now.aa * now.bb - now.ab * now.ab;
  return {a, b, now.bb / det, -now.ab / det, now.aa / det, now.loss};
}

}  // namespace

Audit::Audit(double share, double floor, std::pmr::memory_resource* memory)
    : share_(share), floor_(floor), rate_(share / (1 - share)), bins_(memory) {
  if (!(share > 0 && share < 1))
    throw UsageError("audit " + std::to_string(share) + ": expected a share of the labels above 0 and below 1");
  if (!(floor >= 0 && floor < 1))
    throw UsageError("audit floor " + std::to_string(floor) + ": expected a share of the examples, 0 or more and below 1");
  // Before a learner takes its part of the rest. By the limit alone, so that a loaded model takes as much.
  if (is_limited(memory) && memory_limit(memory) >= 4 * kMost * sizeof(Bin)) bins_.reserve(kMost);
}

std::uint64_t Audit::reserve(std::uint64_t limit) const {
  if (!open_ || limit == LabelLimits::kNone || limit == 0) return 0;
  const double rounded = std::floor(share_ * static_cast<double>(limit) + 0.5);
  return rounded < static_cast<double>(limit - 1) ? static_cast<std::uint64_t>(rounded) : limit - 1;
}

void Audit::begin(std::size_t examples, std::uint64_t learned, std::uint64_t limit) {
  if (seen_ == 0) base_ = learned;
  learned_ = learned;
  seen_ += examples;
  const double of_labels = rate_ * static_cast<double>(learned - base_), round = static_cast<double>(examples);
  double earned = of_labels, most = std::floor(of_labels + floor_ * static_cast<double>(seen_)) + 1, limited = round;
  const double used = spent_ - static_cast<double>(refunded_);
  if (limit != LabelLimits::kNone) {
    const double reserved = static_cast<double>(std::min(reserve(limit), limit - std::min(limit, learned)));
    earned = std::min(earned, reserved);
    most = std::min(most, reserved);
    limited = std::max(0.0, reserved - used);
  }
  const double part = limit == LabelLimits::kNone ? kPart : kPartWithLimit, credit = std::max(0.0, earned - used);
  p_ = std::min(1.0, credit / std::max(round, static_cast<double>(seen_) / part));
  if (kAsleep * part * credit < used) p_ = 0;
  p_ = std::max(p_, std::min(floor_, limited / round));
  const std::uint64_t taken = bought_ + held_;
  left_ = most > static_cast<double>(taken) ? static_cast<std::uint64_t>(most) - taken : 0;
}

bool Audit::draw(Rng& rng) {
  marks_ = 0;
  if (!open_) pass();
  if (!open_ || p_ <= 0) return false;
  ++covered_;
  const double end = spent_ + p_;
  for (;;) {
    marks_ += mark_ >= spent_ && mark_ < end;
    if (static_cast<double>(units_) >= end) break;
    mark_ = static_cast<double>(units_) + uniform(rng);
    ++units_;
  }
  spent_ = end;
  return marks_ > 0 && left_ > 0;  // left_ is 0 only where rounding made S too large by a last bit
}

/// For a bin more, if the answer will need one: all of record() that may throw.
void Audit::make_room(std::optional<Answer> answer) {
  if (!answer || *answer == kNeither || bins_.size() == kMost) return;
  if (bins_.empty() || bins_.back().audits >= width_) bins_.reserve(std::bit_ceil(bins_.size() + 1));
}

void Audit::record(double margin, std::optional<Answer> answer) {
  make_room(answer);
  hold();
  record(next(), margin, answer);
}

void Audit::record(const Held& held, double margin, std::optional<Answer> answer) {
  make_room(answer);
  --held_;
  if (!answer) {
    refunded_ += held.marks;
    return;
  }
  ++bought_;
  if (*answer != kNeither) add(held, margin, *answer);
}

void Audit::record_again(const Held& held, double margin, Answer answer) {
  make_room(answer);
  if (answer != kNeither) add(held, margin, answer);
}

void Audit::add(const Held& held, double margin, Answer answer) {
  if (bins_.empty() || bins_.back().audits >= width_) {
    if (bins_.size() == kMost) {
      for (std::size_t i = 0; i < kMost / 2; ++i) {
        bins_[i] = bins_[2 * i];
        bins_[i].add(bins_[2 * i + 1]);
      }
      bins_.resize(kMost / 2);
      width_ *= 2;
    }
    bins_.emplace_back();
  }
  const double weight = held.weight;
  const bool mistake = predicted(margin) != answer;
  bins_.back().add({held.learned, 1, mistake, weight, weight * weight, mistake ? weight : 0});
}

void Audit::take_back(const Held& held, double margin, Answer answer) {
  if (answer == kNeither) return;
  const bool mistake = predicted(margin) != answer;
  const auto learned = static_cast<double>(held.learned);
  const auto distance = [&](const Bin& bin) {  // where all labels are equal, by the weights
    return std::pair{std::abs(bin.mean_labels() - learned),
                     std::abs(bin.weight / static_cast<double>(bin.audits) - held.weight)};
  };
  auto best = bins_.end();
  for (auto bin = bins_.begin(); bin != bins_.end(); ++bin)
    if ((mistake ? bin->mistakes > 0 : bin->audits > bin->mistakes) && bin->labels >= held.learned &&
        (best == bins_.end() || distance(*bin) <= distance(*best)))
      best = bin;
  if (best == bins_.end()) return;
  if (best->audits == 1) {
    bins_.erase(best);
    return;
  }
  const double least = best->weight / static_cast<double>(best->audits) / 1e6;  // rounding leaves no sum at or below 0
  --best->audits;
  best->labels -= held.learned;
  best->weight = std::max(best->weight - held.weight, least);
  best->squares = std::max(best->squares - held.weight * held.weight, least * least);
  if (mistake) {
    --best->mistakes;
    best->wrong = best->mistakes == 0 ? 0 : std::max(best->wrong - held.weight, least);
  }
  best->wrong = std::min(best->wrong, best->weight);
}

void Audit::Bin::add(const Bin& b) {
  labels += b.labels;
  audits += b.audits;
  mistakes += b.mistakes;
  weight += b.weight;
  squares += b.squares;
  wrong += b.wrong;
}

std::uint64_t Audit::scored() const {
  std::uint64_t out = 0;
  for (const Bin& bin : bins_) out += bin.audits;
  return out;
}

Estimate Audit::stream() const {
  Bin all;
  for (const Bin& bin : bins_) all.add(bin);
  return estimate(1 - all.wrong / all.weight, all.audits, all.weight * all.weight / all.squares);
}

Audit::Bin Audit::recent_bin(bool before) const {
  Bin out;
  for (const Bin& bin : bins_)
    if ((2 * bin.mean_labels() < static_cast<double>(learned_)) == before) out.add(bin);
  return out;
}

bool Audit::streams(std::uint64_t learned) const {
  std::uint64_t late = 0;
  for (const Bin& bin : bins_)
    if (2 * bin.mean_labels() >= static_cast<double>(learned)) late += bin.audits;
  return 4 * late >= scored();
}

Estimate Audit::recent() const {
  const Bin bin = recent_bin();
  const double n = static_cast<double>(bin.audits);
  return estimate(1 - static_cast<double>(bin.mistakes) / n, bin.audits, n);
}

Estimate Audit::earlier() const {
  const Bin bin = recent_bin(true);
  const double n = static_cast<double>(bin.audits);
  return estimate(1 - static_cast<double>(bin.mistakes) / n, bin.audits, n);
}

bool Audit::fell() const {
  const Bin recent = recent_bin(), before = recent_bin(true);
  const auto n = static_cast<double>(recent.audits), other = static_cast<double>(before.audits),
             wrong = static_cast<double>(recent.mistakes), mistakes = wrong + static_cast<double>(before.mistakes);
  if (!(n > 0 && other > 0)) return false;
  // Of all ways to share the mistakes out: how many give the recent ones x, relative to how many give them as many as they
  // have. Towards the middle the numbers may become infinite; then the tail is nothing.
  double tail = 0, all = 0, ways = 1;
  for (double x = wrong; ways > 0 && x <= std::min(n, mistakes); ++x) {
    tail += ways;
    ways *= (mistakes - x) * (n - x) / ((x + 1) * (other - mistakes + x + 1));
  }
  ways = 1;
  for (double x = wrong; x > 0 && other - mistakes + x > 0; --x) {
    ways *= x * (other - mistakes + x) / ((mistakes - x + 1) * (n - x + 1));
    all += ways;
  }
  return tail / (tail + all) <= 0.005;
}

Forecast Audit::forecast(double target) const {
  if (!(target > 0 && target < 1))
    throw UsageError("forecast for accuracy " + std::to_string(target) + ": expected a number above 0 and below 1");
  const auto none = [](std::string_view why) { return Forecast{kNan, kNan, kNan, false, why}; };
  double mistakes = 0, audits = 0, centre = 0;
  for (const Bin& bin : bins_) {
    mistakes += static_cast<double>(bin.mistakes);
    audits += static_cast<double>(bin.audits);
    centre += static_cast<double>(bin.audits) * bin.log_labels();
  }
  if (mistakes < 10) return none("fewer than 10 mistakes were audited");
  centre /= audits;

  // With a floor at the target instead, is it as likely? The likelihood ratio decides, at 95 %.
  const Curve curve = fit(bins_, centre, 0), floored = fit(bins_, centre, 1 - target);
  const double gain = 2 * (floored.loss - curve.loss), z2 = kZ * kZ;
  if (gain < -z2) return none("the errors audited level off above the target");

  // Where the curve, and where the ends of its band, meet the target: (a - t + b x)^2 = z^2 var(a + b x).
  const double b = curve.b, c = curve.a - std::log((1 - target) / target);
  const double squared = b * b - z2 * curve.var_b, mixed = b * c - z2 * curve.cov, constant = c * c - z2 * curve.var_a;
  if (!(b < 0 && squared > 0)) return none("the errors audited do not clearly fall");
  const double root = std::sqrt(std::max(0.0, mixed * mixed - squared * constant)), whole = 1 / (1 - share_);
  const auto labels = [&](double x) { return whole * std::exp(centre + x); };
  const Forecast out{labels(-c / b), labels((-mixed - root) / squared), labels((-mixed + root) / squared), gain < z2, {}};
  if (!(out.labels <= 10 * whole * static_cast<double>(learned_)))
    return none("it would be more than 10 times the labels bought");
  return out;
}

Audit::Packed Audit::pack() const {
  Packed out{share_, spent_, mark_, units_, refunded_, seen_, covered_, base_, learned_, bought_,
             width_, {},     {},    {},     {},        {},    {},       {},    {}};
  for (const Bin& bin : bins_) {
    out.labels.push_back(bin.labels);
    out.audits.push_back(bin.audits);
    out.mistakes.push_back(bin.mistakes);
    out.weight.push_back(bin.weight);
    out.squares.push_back(bin.squares);
    out.wrong.push_back(bin.wrong);
  }
  if (floor_ > 0) out.floor.push_back(floor_);
  if (!open_) out.closed.push_back(1);
  return out;
}

void Audit::unpack(const Packed& packed) {
  const auto check = [](bool good, const char* why) {
    if (!good) throw DataError(std::string("model file: audit: ") + why);
  };
  check(packed.share > 0 && packed.share < 1, "the share is not above 0 and below 1");
  check(packed.floor.empty() || (packed.floor.size() == 1 && packed.floor[0] > 0 && packed.floor[0] < 1),
        "the floor is not above 0 and below 1");
  check(packed.closed.empty() || (packed.closed.size() == 1 && packed.closed[0] == 1), "whether it is closed is neither");
  const double units = static_cast<double>(packed.units);
  check(units < kLargest && packed.spent >= 0 && std::ceil(packed.spent) == units, "what was spent does not fit the units");
  check(packed.units == 0 ? packed.mark == -1 : packed.mark >= units - 1 && packed.mark <= units,
        "the mark is not in its unit");
  check(packed.refunded <= packed.units && packed.bought <= packed.units - packed.refunded,
        "more labels were bought than there are units");
  check(static_cast<double>(packed.seen) < kLargest && packed.covered <= packed.seen && packed.base <= packed.learned,
        "counts of examples or labels do not fit");
  const std::size_t bins = packed.labels.size();
  check(bins <= kMost && packed.audits.size() == bins && packed.mistakes.size() == bins && packed.weight.size() == bins &&
            packed.squares.size() == bins && packed.wrong.size() == bins,
        "the bins' lists differ in size, or are too long");
  check(packed.width >= 1 && static_cast<double>(packed.width) < kLargest, "the bins' width is out of range");
  std::uint64_t scored = 0;
  for (std::size_t i = 0; i < bins; ++i) {
    const std::uint64_t audits = packed.audits[i];
    check(audits >= 1 && audits <= packed.width, "a bin is too full, or empty");
    scored += audits;
    check(scored <= packed.bought, "more was judged than bought");
    check(packed.mistakes[i] <= audits, "a bin has more mistakes than audits");
    check((packed.labels[i] / audits >= 1 && (packed.labels[i] - 1) / audits < packed.learned) ||
              (packed.labels[i] < audits && !packed.floor.empty()),
          "a bin's labels are none, or more than were bought");
    const double weight = packed.weight[i], squares = packed.squares[i];
    check(weight > 0 && std::isfinite(weight) && squares > 0 && std::isfinite(squares) && packed.wrong[i] >= 0 &&
              packed.wrong[i] <= weight && (packed.wrong[i] > 0) == (packed.mistakes[i] > 0),
          "a bin's weights are out of range");
  }
  const std::size_t room = bins == 0 ? 0 : packed.width > 1 ? kMost : std::bit_ceil(bins);
  if (!is_limited(bins_.get_allocator().resource()) || bins_.capacity() < kMost) {
    std::pmr::vector<Bin> read(bins_.get_allocator());
    read.reserve(room);
    bins_ = std::move(read);
  }
  bins_.clear();
  for (std::size_t i = 0; i < bins; ++i)
    bins_.push_back(
        {packed.labels[i], packed.audits[i], packed.mistakes[i], packed.weight[i], packed.squares[i], packed.wrong[i]});
  open_ = packed.closed.empty();
  share_ = packed.share;
  floor_ = packed.floor.empty() ? 0 : packed.floor[0];
  rate_ = share_ / (1 - share_);
  spent_ = packed.spent;
  mark_ = packed.mark;
  units_ = packed.units;
  refunded_ = packed.refunded;
  seen_ = packed.seen;
  covered_ = packed.covered;
  base_ = packed.base;
  learned_ = packed.learned;
  bought_ = packed.bought;
  width_ = packed.width;
  p_ = 0;
  left_ = 0;
}

}  // namespace quorate
