#include "quorate/experiments/generate_users.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "quorate/base/error.h"
#include "quorate/base/rng.h"

namespace quorate {
namespace {

constexpr std::uint64_t kDataStream = 2;
constexpr double kRight = 0.9;  // probability that a word that indicates a class is of the email's class

/// x^s for s >= 0, rounded to a multiple of 1/1024. By square roots and products, which are the same bits on every machine.
double power(double x, double s) {
  const auto units = static_cast<std::uint32_t>(std::lround(s * 1024));
  double out = 1, root = x;
  for (std::uint32_t whole = units / 1024; whole > 0; --whole) out *= x;
  for (std::uint32_t bit = 512; bit > 0 && units % (2 * bit) > 0; bit /= 2) {
    root = std::sqrt(root);
    if ((units & bit) != 0) out *= root;
  }
  return out;
}

/// Draws places 0 .. n - 1, place k with a probability proportional to (k + 1)^-exponent.
class Zipf {
 public:
  Zipf(std::uint64_t n, double exponent) : upto_(n), first_(n) {
    double sum = 0;
    for (std::uint64_t k = 0; k < n; ++k) upto_[k] = sum += 1 / power(static_cast<double>(k + 1), exponent);
    for (std::uint64_t k = 0, cell = 0; cell < n; ++cell) {
      while (k + 1 < n && upto_[k] <= edge(cell)) ++k;
      first_[cell] = static_cast<std::uint32_t>(k);
    }
  }
  /// The first place whose cumulated weight is above u times all. One draw, O(1) on average: the search starts at the
  /// place stored for the cell of u.
  std::uint32_t operator()(Rng& rng) const {
    const double u = uniform(rng), aim = u * upto_.back();
    std::uint32_t k = first_[static_cast<std::size_t>(u * static_cast<double>(first_.size()))];
    while (k > 0 && upto_[k - 1] > aim) --k;  // rounding only
    while (k + 1 < upto_.size() && upto_[k] <= aim) ++k;
    return k;
  }

 private:
  double edge(std::uint64_t cell) const {
    return static_cast<double>(cell) / static_cast<double>(upto_.size()) * upto_.back();
  }
  std::vector<double> upto_;          // sum of the weights up to here
  std::vector<std::uint32_t> first_;  // where the search for u in [cell / n, (cell + 1) / n) starts
};

/// splitmix64's finaliser.
std::uint64_t mixed(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

class Emails {
 public:
  explicit Emails(const UserOptions& o)
      : o_(o),
        lean_(o.words / 10),
        user_(o.tasks, o.exponent),
        leaning_(lean_, 1),
        neutral_(o.words - 2 * lean_, 1),
        rng_(make_rng(o.seed, kDataStream)),
        key_(mixed(o.seed + 0x9E3779B97F4A7C15u)),
        word_(o.words) {
    for (Index& word : word_) word = ++last_;
  }

  UserEmail next(std::uint64_t n) {
    if (n > 0 && n % o_.every == 0 && o_.replaced > 0)
      for (std::uint64_t place = 0; place < lean_; ++place)
        if (uniform(rng_) < o_.replaced) word_[place] = ++last_;
    UserEmail out;
    out.user = user_(rng_) + 1;
    const bool spam = uniform(rng_) < o_.spam, wrong = uniform(rng_) < o_.noise;
    out.label = spam != wrong ? 1 : -1;
    out.time = UserOptions::kStart + n * (o_.days * 86'400) / o_.examples;
    drawn_.clear();
    const std::uint64_t half = o_.length / 2;
    for (std::uint64_t more = o_.length - half + below(2 * half + 1, rng_); more > 0; --more)
      drawn_.push_back(word_[place(out.user, spam)]);
    std::sort(drawn_.begin(), drawn_.end());
    counts_.clear();
    for (const Index word : drawn_) {
      if (counts_.empty() || counts_.back().word != word) counts_.push_back({word, 0});
      ++counts_.back().count;
    }
    out.words = counts_;
    return out;
  }

 private:
  /// Draws the place of a word of an email. Places: spam words, ham words, neutral words. Two or three draws.
  std::uint64_t place(std::uint32_t user, bool spam) {
    const double kind = uniform(rng_);
    if (kind >= o_.signal) return 2 * lean_ + neutral_(rng_);
    const bool side = (uniform(rng_) < kRight) == spam;
    if (kind >= o_.signal * o_.personal) return (side ? 0 : lean_) + leaning_(rng_);
    const std::uint64_t slot = 2 * below(UserOptions::kPersonal / 2, rng_) + (side ? 1 : 0);
    return mixed(key_ + (user * UserOptions::kPersonal + slot) * 0x9E3779B97F4A7C15u) % o_.words;
  }

  const UserOptions& o_;
  std::uint64_t lean_;  // spam words, and as many ham words
  Zipf user_, leaning_, neutral_;
  Rng rng_;
  std::uint64_t key_;
  std::vector<Index> word_;  // the number of the word at a place
  Index last_ = 0;           // the largest number given
  std::vector<Index> drawn_;
  std::vector<WordCount> counts_;
};

}  // namespace

void generate_users(const UserOptions& o, const std::function<bool(const UserEmail&)>& sink) {
  const auto check = [](bool good, const std::string& expected) {
    if (!good) throw UsageError("users: expected " + expected);
  };
  check(o.tasks >= 1 && o.tasks <= 10'000'000, "1 to 10,000,000 tasks");
  check(o.examples >= 1 && o.examples <= 4'000'000'000, "1 to 4,000,000,000 examples");
  check(o.exponent >= 0 && o.exponent <= 4, "an exponent from 0 to 4");
  check(o.words >= 10 && o.words <= 10'000'000, "10 to 10,000,000 words");
  check(o.length >= 1 && o.length <= 10'000, "a length from 1 to 10,000 words");
  check(o.spam >= 0 && o.spam <= 1, "spam from 0 to 1");
  check(o.signal >= 0 && o.signal <= 1, "signal from 0 to 1");
  check(o.personal >= 0 && o.personal <= 1, "personal from 0 to 1");
  check(o.noise >= 0 && o.noise <= 0.5, "noise from 0 to 0.5");
  check(o.every >= 1, "at least one example between two replacements");
  check(o.replaced >= 0 && o.replaced <= 1, "replaced from 0 to 1");
  check(o.days >= 1 && o.days <= 36'500, "1 to 36,500 days");
  check(o.replaced == 0 || o.words + o.examples / o.every * (o.words / 10) < kMaxIndex,
        "fewer than " + std::to_string(kMaxIndex) + " words in all: a larger --every, or --replaced 0");

  Emails emails(o);
  for (std::uint64_t n = 0; n < o.examples; ++n)
    if (!sink(emails.next(n))) return;
}

}  // namespace quorate
