#include "quorate/queries/shared_annotator.h"

#include <algorithm>
#include <cmath>

#include "quorate/base/error.h"
#include "quorate/base/memory.h"
#include "quorate/base/number.h"
#include "quorate/base/two_column_csv.h"

namespace quorate {
namespace {

constexpr Interval kWeight{1e-9, 1e9};

double parse_weight(const std::string& text, const std::string& where) {
  const auto weight = parse_number<double>(text);
  if (!weight || !kWeight.contains(*weight))
    throw DataError(where + "weight " + quoted_value(text) + "; expected a number" + to_text(kWeight));
  return *weight;
}

}  // namespace

SharedAnnotator::SharedAnnotator(const SharedAnnotatorParams& choice, const LearnerContext& context)
    : choice_(choice),
      labels_(context.labels_per_round),
      counts_(context.memory),
      weight_(context.memory),
      limited_(is_limited(context.memory)) {
  const auto* prior = std::get_if<PriorFile>(&choice_.prior);
  if (prior == nullptr || context.restore) return;
  std::vector<bool> named;
  read_pairs("prior", prior->file, "task", "weight",
             [&](const std::string& task, const std::string& weight, const std::string& where) {
               const std::uint32_t i = context.tasks.intern(task);
               const std::size_t each = context.tasks_per_name, begin = i * each;
               if (begin >= weight_.size()) weight_.resize(begin + each, 1.0);
               named.resize(weight_.size() / each);
               if (named[i]) throw DataError(where + "task '" + task + "' comes twice; expected one weight for each task");
               named[i] = true;
               std::fill_n(weight_.begin() + static_cast<std::ptrdiff_t>(begin), each, parse_weight(weight, where));
             });
  fit(weight_);
}

double SharedAnnotator::prior(Task task) const {
  if (std::holds_alternative<PriorCounts>(choice_.prior)) {
    const Counts of = counts(task);
    return (1 + static_cast<double>(of.mistakes)) / (2 + static_cast<double>(of.queries));
  }
  return task < weight_.size() ? weight_[task] : 1;
}

double SharedAnnotator::b(Task task) const {
  const auto* adaptive = std::get_if<AdaptiveCounts>(&choice_.adaptive);
  if (adaptive == nullptr) return choice_.b;
  const bool all = std::holds_alternative<AllQueries>(adaptive->queries);
  const Counts of = counts(task);
  const auto updates = static_cast<double>(of.updates), queries = static_cast<double>(all ? all_queries_ : of.queries);
  return choice_.b * (std::pow(1 + updates, adaptive->kappa) * std::pow(1 + queries, adaptive->eta));
}

void SharedAnnotator::by_margin(std::span<const Example> round, Rng& rng, std::span<Decision> out) const {
  double least = std::numeric_limits<double>::infinity();
  for (const Decision& d : out) least = std::min(least, std::abs(d.margin));
  for (Decision& d : out) d.selection_score = std::abs(d.margin) - least;
  by_score(round, rng, out);
}

void SharedAnnotator::by_score(std::span<const Example> round, Rng& rng, std::span<Decision> out) const {
  if (std::holds_alternative<ChooseAll>(choice_.choose) || round.size() <= labels_) {
    for (Decision& d : out) {
      d.probability = 1;
      d.ask = true;
    }
    return;
  }
  for (Decision& d : out) {
    d.probability = 0;
    d.ask = false;
  }
  if (std::holds_alternative<ChooseSmallest>(choice_.choose)) {
    for (std::size_t label = 0; label < labels_; ++label) {
      const auto best = std::min_element(out.begin(), out.end(), [](const Decision& a, const Decision& b) {
        return a.ask != b.ask ? b.ask : a.selection_score < b.selection_score;  // examples already asked about come last
      });
      best->probability = 1;
      best->ask = true;
    }
    return;
  }
  // Weights are relative to the smallest b + score: otherwise a tiny b or a large count could overflow their sum.
  constexpr double kLeast = 1e-300, kMost = 1e300;
  const bool uniform_choice = std::holds_alternative<ChooseUniform>(choice_.choose);
  renew(share_, round.size());
  share_.resize(round.size());
  double least = kMost;
  for (std::size_t n = 0; n < round.size(); ++n) {
    share_[n] = uniform_choice ? 1 : std::clamp(b(round[n].task) + std::max(out[n].selection_score, 0.0), kLeast, kMost);
    least = std::min(least, share_[n]);
  }
  for (std::size_t n = 0; n < round.size(); ++n) share_[n] = std::max(kLeast, prior(round[n].task) * (least / share_[n]));
  for (std::size_t label = 0; label < labels_; ++label) {
    double sum = 0;
    for (const double share : share_) sum += share;
    const double draw = uniform(rng);
    double below = 0;
    std::size_t chosen = round.size();
    for (std::size_t n = 0; n < round.size(); ++n) {
      if (out[n].ask) continue;
      out[n].probability = share_[n] / sum;
      if (below > draw * sum) continue;
      below += share_[n];
      chosen = n;  // the last candidate, if rounding selects none
    }
    out[chosen].draw = draw;
    out[chosen].ask = true;
    share_[chosen] = 0;
  }
  if (limited_) share_ = {};
}

void SharedAnnotator::learned(Task task, bool mistake, bool updated) {
  if (task == kUntracked) return;
  counts_.resize(std::size_t{task} + 1);
  Counts& of = counts_[task];
  ++of.queries;
  ++all_queries_;
  of.mistakes += mistake;
  of.updates += updated;
}

void SharedAnnotator::unpack(const Packed& packed) {
  if (packed.updates.size() != packed.queries.size() || packed.mistakes.size() != packed.queries.size())
    throw DataError("choice: mistakes, updates and queries differ in size");
  std::uint64_t all = 0;
  for (std::size_t i = 0; i < packed.queries.size(); ++i) {
    if (packed.mistakes[i] > packed.queries[i] || packed.updates[i] > packed.queries[i] ||
        packed.queries[i] > std::uint64_t{1} << 53)
      throw DataError("choice: expected no more mistakes or updates than queries");
    all += packed.queries[i];
  }
  for (const double weight : packed.weight)
    if (!kWeight.contains(weight)) throw DataError("choice: a weight out of range");
  counts_ = SegmentedVector<Counts>(weight_.get_allocator().resource());
  counts_.resize(packed.queries.size());
  for (std::size_t i = 0; i < packed.queries.size(); ++i)
    counts_[i] = {packed.mistakes[i], packed.updates[i], packed.queries[i]};
  load_fitted(weight_, packed.weight);
  all_queries_ = all;
}

}  // namespace quorate
