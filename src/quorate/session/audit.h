// How good are the predictions really? A share of the labels is bought at random and used for nothing but this estimate:
// the labels that a learner asks for are about uncertain examples, so its online error says little.
//
// Of classes that are learned together an instance is one example here, and its audit asks whether the predicted class is
// right: the answer is a class.
//
// Chances. Every example of a round has the same chance p of being audited, fixed before the round is predicted from nothing
// but the numbers of examples and labels so far; so the audited examples are a random sample of the stream, whatever the
// learner asks for. p spends a credit: with share s, L labels bought for learning earn s / (1 - s) L audits, S = the sum of
// all p so far is spent, and p = (credit left) / (1/8 of the examples so far). With a label limit it is 1/2 of them, which
// keeps a fifth to a third of the audits for the time when learning has stopped. With a floor f, p is at least f as long as
// a label limit leaves audits, so a run that stopped asking is still audited. An example that comes while a rate leaves no
// label has p = 0 and is none of "the examples so far": otherwise most of the chances of a narrow rate were spent where
// nothing can be bought, and audits got half of their share.
//
// Coins. Not one for each example: S runs through units of length 1, and in each unit one point, uniformly random, is
// marked; the example whose p covers it is audited. The chance is p again, but when S is n there were n audits, not n +-
// sqrt(n): so audits are never more than s of all labels and f of all examples plus one, and p need never be 0 to keep to
// that.
//
// What is estimated. stream(): the share of right predictions among all examples with p > 0, each audited example with
// weight 1 / p (Hajek). Without a floor p is 0 before the first label was bought for learning, and while so few labels are
// bought that p would be below about 1/16 of its average: one audit would then outweigh all others. recent(): among audits
// since half of today's labels were bought, all alike; so it says how good the models were that learned from half of the
// labels to all of them, and of a model that improves rather too little than too much. With weights 1 / p it would be worth
// 5 to 15 audits instead of 25 where a limit is reached early and examples go on.
//
// Bias. An audited label is kept from the learner, so of two runs that differ in the position of the mark in a unit, one
// learned from a label less; apart from that p and the errors do not depend on the mark, so estimates of sums are unbiased,
// those of shares up to O(1 / audits). If some questions are not answered, all is about the examples that are.
#pragma once
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <memory_resource>
#include <optional>
#include <string_view>
#include <vector>

#include "quorate/base/answer.h"
#include "quorate/base/column.h"
#include "quorate/base/memory.h"
#include "quorate/base/rng.h"
#include "quorate/metrics/statistics.h"
#include "quorate/session/label_budget.h"

namespace quorate {

/// How many labels, audits among them, will have been bought when the model reaches a target, and the 95 % interval
/// (Fieller's). It believes that the odds of an error are a power of the number of labels, down to 0 in the end.
struct Forecast {
  double labels, low, high;  ///< NaN if there is none
  bool floor_possible;       ///< a curve that levels off at the target and never gets there is not excluded (at 95 %)
  std::string_view none;     ///< why; empty if there is one
};

class Audit {
 public:
  /// share: of all labels bought from now on, audits included; 0 < share < 1, else UsageError. floor: least chance of every
  /// example, as far as label limits allow, so that n examples have at least floor * n audits (rounded down); 0 <= floor <
  /// 1, else UsageError.
  explicit Audit(double share, double floor = 0, std::pmr::memory_resource* memory = std::pmr::get_default_resource());

  /// Closed, no more examples are audited and learning may have all labels; opened again, audits catch up to their share.
  void set_open(bool open) { open_ = open; }
  bool open() const { return open_; }
  double share() const { return share_; }
  double floor() const { return floor_; }
  /// Labels of a hard limit that are left to audits: share * limit, rounded; but one at least is left to learning.
  std::uint64_t reserve(std::uint64_t limit) const;
  /// The others: learning stops there. kNone: no limit.
  std::uint64_t learning_limit(std::uint64_t limit) const { return limit - reserve(limit); }

  /// Before a round of `examples` examples is predicted. learned: labels bought so far for learning; limit: of all labels.
  void begin(std::size_t examples, std::uint64_t learned, std::uint64_t limit = LabelLimits::kNone);
  /// That round is none after all.
  void cancel(std::size_t examples) { seen_ -= examples; }
  /// Whether the round's next example is audited. If so, record() has to follow before the next one. O(1); one draw when
  /// a unit begins (then about once in an audit), else none.
  bool draw(Rng& rng);
  /// Instead of draw(): a rate leaves no label for the round's next example, so it has p = 0.
  void pass() { --seen_; }
  /// The answer about the example just drawn, predicted with this margin: +1, -1, 0 for neither (a label is spent, nothing
  /// learned about the accuracy), nullopt without an answer (nothing is spent). O(1), rarely O(kMost).
  void record(double margin, std::optional<Answer> answer);
  /// What is to be known of the example just drawn when its answer comes later, or never.
  struct Held {
    double weight = 0;          ///< 1 / p
    std::uint64_t learned = 0;  ///< labels bought for learning by then
    std::uint64_t marks = 0;    ///< 0: no audit
  };
  Held next() const { return {marks_ / p_, learned_, marks_}; }
  /// Instead of record(): record(next(), ..), of this example, follows, in any order.
  void hold() {
    ++held_;
    --left_;
  }
  void record(const Held& held, double margin, std::optional<Answer> answer);
  /// An answer that was recorded is taken back, but its label stays bought; and recorded again, maybe another. Exact while
  /// there were at most kMost audits; later out of the bin that fits best. O(kMost).
  void take_back(const Held& held, double margin, Answer answer);
  void record_again(const Held& held, double margin, Answer answer);
  /// After unpack(): how many are held.
  void set_held(std::uint64_t held) { held_ = held; }

  std::uint64_t bought() const { return bought_; }    ///< labels
  std::uint64_t learned() const { return learned_; }  ///< as in the last begin()
  std::uint64_t covered() const { return covered_; }  ///< examples that stream() is about: those with p > 0
  double probability() const { return p_; }           ///< p of the round begun last
  std::uint64_t scored() const;                       ///< audits that were right or wrong

  Estimate stream() const;   ///< O(kMost)
  Estimate recent() const;   ///< O(kMost)
  Estimate earlier() const;  ///< among the audits before those of recent(), all alike. O(kMost)
  /// Whether examples came while labels were bought: at least a quarter of the audits came after half of the `learned`
  /// labels that were learned from by now. Of a pool that was posted at once stream(), recent() and forecast() are about a
  /// model that nobody has any more.
  bool streams(std::uint64_t learned) const;
  /// Whether recent() is worse than earlier() beyond chance: the stream may have changed. Fisher's exact test, one-sided, at
  /// 0.5 %: where nothing changed that is the chance of it. O(audits).
  bool fell() const;
  Forecast forecast(double target) const;  ///< accuracy, 0 < target < 1, else UsageError. O(kMost)
  /// That a record() may allocate.
  std::size_t bytes_to_add() const {
    return bins_.size() < bins_.capacity() ? 0 : std::bit_ceil(bins_.size() + 1) * sizeof(Bin);
  }

  /// Successive audits: one, or twice as many each time that there are kMost bins and neighbours are merged; fewer where
  /// answers were taken back.
  struct Bin {
    std::uint64_t labels = 0, audits = 0, mistakes = 0;  // labels: the sum of `learned` at each
    double weight = 0, squares = 0, wrong = 0;           // sums of 1 / p, of their squares, of those of mistakes
    void add(const Bin& b);
    double mean_labels() const { return static_cast<double>(labels) / static_cast<double>(audits); }
    double log_labels() const { return std::log(std::max(1.0, mean_labels())); }
  };
  static constexpr std::size_t kMost = 512;

  /// Of every bin a value in each list.
  struct Packed {
    double share, spent, mark;
    std::uint64_t units, refunded, seen, covered, base, learned, bought, width;
    std::pmr::vector<std::uint64_t> labels, audits, mistakes;
    std::pmr::vector<double> weight, squares, wrong;
    std::pmr::vector<double> floor{};          // none: 0
    std::pmr::vector<std::uint32_t> closed{};  // none: 0
    template <class S>
    static void state(S& s, auto&& v) {
      v("share", s.share);
      v("spent", s.spent);
      v("mark", s.mark);
      v("units", s.units);
      v("refunded", s.refunded);
      v("seen", s.seen);
      v("covered", s.covered);
      v("base", s.base);
      v("learned", s.learned);
      v("bought", s.bought);
      v("width", s.width);
      v("labels", s.labels);
      v("audits", s.audits);
      v("mistakes", s.mistakes);
      v("weight", s.weight);
      v("squares", s.squares);
      v("wrong", s.wrong);
      visit_unless_empty(v, "floor", s.floor);
      visit_unless_empty(v, "closed", s.closed);
    }
  };
  Packed pack() const;                ///< between rounds
  void unpack(const Packed& packed);  ///< throws DataError: sizes or counts do not fit, not finite, out of range

 private:
  void make_room(std::optional<Answer> answer);
  void add(const Held& held, double margin, Answer answer);
  Bin recent_bin(bool before = false) const;  // since half of the labels, or before

  bool open_ = true;
  double share_, floor_, rate_;             // rate_: audits for each label of learning
  double spent_ = 0;                        // S
  double mark_ = -1;                        // of the unit that S is in
  std::uint64_t units_ = 0, refunded_ = 0;  // units begun; audits without an answer
  std::uint64_t seen_ = 0, covered_ = 0, bought_ = 0;
  std::uint64_t base_ = 0, learned_ = 0;  // labels of learning: before the first round, and now
  std::uint64_t width_ = 1;
  std::pmr::vector<Bin> bins_;  // capacity: kMost under a limit of four times as much, and once they were merged; else
                                // size() rounded up to a power of two
  double p_ = 0;                // of the round at hand, and how many labels it may buy
  std::uint64_t left_ = 0, held_ = 0;
  unsigned marks_ = 0;  // of the example just drawn: 1, or 2 where its p reaches into the next unit
};

}  // namespace quorate
