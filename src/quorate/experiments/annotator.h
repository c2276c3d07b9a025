// A simulated annotator whose answers come late, or never.
#pragma once
#include <cmath>
#include <cstdint>
#include <optional>
#include <string_view>

#include "quorate/base/error.h"
#include "quorate/base/number.h"
#include "quorate/base/portable_math.h"
#include "quorate/base/rng.h"

namespace quorate {

/// How long answers take, in examples.
struct Delay {
  double mean = 0;         ///< from 0 to 10^9
  bool lognormal = false;  ///< sigma 1; else always the mean
  double lost = 0;         ///< probability that an answer never comes

  explicit operator bool() const { return mean > 0 || lost > 0; }
};

/// "100" or "lognormal(100)". Throws UsageError.
inline Delay parse_delay(std::string_view text) {
  constexpr std::string_view kName = "lognormal(";
  Delay out;
  std::string_view number = text;
  if (text.starts_with(kName) && text.ends_with(')')) {
    out.lognormal = true;
    number = text.substr(kName.size(), text.size() - kName.size() - 1);
  }
  out.mean = parse_number<double>(number).value_or(-1);
  if (!(out.mean >= 0 && out.mean <= 1e9) || (!out.lognormal && out.mean != std::floor(out.mean)))
    throw UsageError("delay " + quoted_value(text) + "; expected a number of examples, as 100 or lognormal(100)");
  return out;
}

/// Draws, for each question in the order of asking: one if answers may be lost; then, if the delay is lognormal, pairs until
/// one is accepted, 6.4 on average.
class Annotator {
 public:
  Annotator(const Delay& delay, std::uint64_t seed) : delay_(delay), rng_(make_rng(seed, kStream)) {}

  /// The number of further examples before the answer; 0: at once. None: it never comes.
  std::optional<std::uint64_t> delay() {
    if (delay_.lost > 0 && uniform(rng_) < delay_.lost) return std::nullopt;
    if (!delay_.lognormal) return static_cast<std::uint64_t>(delay_.mean);
    const double x = normal() - 0.5;  // e^x has mean 1
    const double factor = x <= 0 ? exp_negative(x) : 1 / exp_negative(-x);
    return static_cast<std::uint64_t>(std::ceil(delay_.mean * factor));
  }

 private:
  static constexpr std::uint64_t kStream = 2;  // of the run's seed; 0 is the order's, 1 the learner's

  /// By rejection from -8 .. 8, which needs no logarithm: the C library's differs between versions.
  double normal() {
    for (;;) {
      const double z = 16 * uniform(rng_) - 8;
      if (uniform(rng_) < exp_negative(-z * z / 2)) return z;
    }
  }

  Delay delay_;
  Rng rng_;
};

}  // namespace quorate
