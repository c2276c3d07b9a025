// Query rules: which labels to buy. A rule is a small struct: its parameters and a call operator that fills a decision whose
// margin is known. A rule that selects within a round uses a SharedAnnotator instead.
#pragma once
#include <cmath>
#include <optional>
#include <string_view>
#include <tuple>
#include <variant>

#include "quorate/base/example.h"
#include "quorate/base/rng.h"
#include "quorate/params/params.h"
#include "quorate/queries/shared_annotator.h"

namespace quorate {

/// Asks with this probability. One draw.
inline void ask_with(double probability, Rng& rng, Decision& d) {
  d.probability = probability;
  d.draw = uniform(rng);
  d.ask = d.draw < probability;
}

/// Buys every label. No draw.
struct Always {
  static constexpr std::string_view name = "always", meaning = "buy every label";
  static constexpr auto fields() { return std::tuple{}; }

  void operator()(Rng&, Decision& d) const {
    d.probability = 1;
    d.ask = true;
  }
};

/// Buys each label with the same probability. One draw per example.
struct RandomQuery {
  static constexpr std::string_view name = "random", meaning = "buy each label with probability p";
  double p = 0.5;
  static constexpr auto fields() {
    return std::tuple{Field{&RandomQuery::p, "p", kProbability, "probability of asking", "Xu et al., baseline Random"}};
  }

  void operator()(Rng& rng, Decision& d) const { ask_with(p, rng, d); }
};

/// Buys labels of uncertain examples: probability b / (b + |margin|). One draw per example.
struct MarginQuery {
  static constexpr std::string_view name = "margin", meaning = "buy a label with probability b / (b + |margin|)";
  double b = 1;
  static constexpr auto fields() {
    return std::tuple{
        Field{&MarginQuery::b, "b", kPositive, "larger asks more often", "Cesa-Bianchi et al. 2006; Saha et al. 3.1"}};
  }

  void operator()(Rng& rng, Decision& d) const { ask_with(b / (b + std::abs(d.margin)), rng, d); }
};

/// One annotator shared by all tasks of a round. Draws as SharedAnnotator.
struct SharedQuery : SharedAnnotatorParams {
  static constexpr std::string_view
      name = "shared",
      meaning = "share one annotator: buy a fixed number of labels a round, for the most uncertain examples first";
};

using Query = std::variant<Always, RandomQuery, MarginQuery, SharedQuery>;

/// A learner's query rule with its state. `Rule` is a variant; a learner implements its own alternatives itself.
template <class Rule>
class QueryPolicy {
 public:
  QueryPolicy(const Rule& rule, const LearnerContext& context) : rule_(rule) {
    if (const auto* shared = std::get_if<SharedQuery>(&rule_)) annotator_.emplace(*shared, context);
  }

  /// Fills the decisions of a round from their margins (and selection scores, if the rule reads them). Draws as the rule, in
  /// the round's order.
  void operator()(std::span<const Example> round, Rng& rng, std::span<Decision> out) const {
    if (annotator_) return annotator_->by_margin(round, rng, out);
    std::visit(
        [&](const auto& query) {
          if constexpr (kHasB<std::decay_t<decltype(query)>>) {
            auto scaled = query;
            scaled.b *= scale_;
            for (Decision& d : out) scaled(rng, d);
          } else if constexpr (requires { query(rng, out[0]); }) {
            for (Decision& d : out) query(rng, d);
          }
        },
        rule_);
  }
  void learned(Task task, bool mistake, bool updated) {
    if (annotator_) annotator_->learned(task, mistake, updated);
  }
  bool chooses() const { return annotator_ && annotator_->chooses(); }
  /// As Learner::set_query_scale.
  bool set_query_scale(double factor) {
    scale_ = factor;
    return std::visit([](const auto& query) { return kHasB<std::decay_t<decltype(query)>>; }, rule_);
  }
  double scale() const { return scale_; }

  template <class S>
  static void state(S& s, auto&& v) {
    if (s.annotator_) v("shared", *s.annotator_);
  }

 private:
  /// Whether the rule decides per example against a threshold b.
  template <class Q>
  static constexpr bool kHasB = requires(Q query, Rng& rng, Decision& d) {
    query.b *= 1.0;
    query(rng, d);
  };

  Rule rule_;
  std::optional<SharedAnnotator> annotator_;  // of SharedQuery
  double scale_ = 1;
};

/// The query rule as a parameter, described once for every learner that has one.
template <class P, class Q>
constexpr auto query_field(Q P::*member) {
  return Field{member, "query", kAny, "when a label is bought", "Saha et al. 3.1; Cohen and Crammer"};
}

}  // namespace quorate
