// Query rules: which labels to buy. A rule is a small struct: its parameters and a call operator that fills a decision whose
// margin is known. A rule that selects within a round uses a SharedAnnotator instead.
#pragma once
#include <cmath>
#include <concepts>
#include <optional>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <variant>

#include "quorate/base/example.h"
#include "quorate/base/rng.h"
#include "quorate/params/params.h"
#include "quorate/queries/shared_annotator.h"

namespace quorate {

/// A draw that is given, where an Rng makes new ones.
struct GivenDraw {
  double value;  ///< in [0, 1)
};
inline double uniform(const GivenDraw& given) { return given.value; }

/// Asks with this probability. One draw, of an Rng or given.
inline void ask_with(double probability, auto& draws, Decision& d) {
  d.probability = probability;
  d.draw = uniform(draws);
  d.ask = d.draw < probability;
}

/// Buys every label. No draw.
struct Always : Tag<"always", "buy every label"> {
  static constexpr QueryTraits traits{};

  void operator()(auto&, Decision& d) const {
    d.probability = 1;
    d.ask = true;
  }
};

/// Buys each label with the same probability. One draw per example.
struct RandomQuery {
  static constexpr std::string_view name = "random", meaning = "buy each label with probability p";
  static constexpr QueryTraits traits{.draws = true};
  double p = 0.5;
  static constexpr auto fields() {
    return std::tuple{Field{&RandomQuery::p, "p", kProbability, "probability of asking", "Xu et al., baseline Random"}};
  }

  void operator()(auto& draws, Decision& d) const { ask_with(p, draws, d); }
};

/// Buys labels of uncertain examples: probability b / (b + |margin|). One draw per example.
struct MarginQuery {
  static constexpr std::string_view name = "margin", meaning = "buy a label with probability b / (b + |margin|)";
  static constexpr QueryTraits traits{.paced = true, .draws = true};
  double b = 1;
  static constexpr auto fields() {
    return std::tuple{
        Field{&MarginQuery::b, "b", kPositive, "larger asks more often", "Cesa-Bianchi et al. 2006; Saha et al. 3.1"}};
  }

  void operator()(auto& draws, Decision& d) const { ask_with(b / (b + std::abs(d.margin)), draws, d); }
};

/// One annotator shared by all tasks of a round. Draws as SharedAnnotator.
struct SharedQuery : SharedAnnotatorParams {
  static constexpr std::string_view
      name = "shared",
      meaning = "share one annotator: buy a fixed number of labels a round, for the most uncertain examples first";
};

/// The rules that every learner with a query rule has, after those of its own.
template <class... Own>
using QueryWith = std::variant<Own..., Always, RandomQuery, MarginQuery, SharedQuery>;
using Query = QueryWith<>;

/// Whether a rule decides example by example: query(rng, decision). The others are SharedQuery, and rules that read what
/// only their learner knows, which then decides by them itself (`by_learner`).
template <class Q>
concept DecidesAlone = requires(const Q query, Rng& rng, GivenDraw& given, Decision& d) {
  query(rng, d);
  query(given, d);
};

/// The traits of the rule chosen.
template <class... Rules>
QueryTraits traits_of(const std::variant<Rules...>& rule) {
  return std::visit(
      [](const auto& query) -> QueryTraits {
        using Q = std::decay_t<decltype(query)>;
        if constexpr (std::same_as<Q, SharedQuery>) {
          return query.SharedAnnotatorParams::traits();
        } else {
          static_assert(
              DecidesAlone<Q> || requires { Q::by_learner; }, "a rule needs operator()(auto& draws, Decision&) const");
          static_assert(
              !DecidesAlone<Q> || Q::traits.paced == requires(Q q) { q.b *= 1.0; }, "what is paced is its b");
          return Q::traits;
        }
      },
      rule);
}

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
    decide_alone(scale_, rng, out);
  }
  /// The decision about one example outside of any round, by a draw that is given. scale: in place of scale(). Without
  /// effect for a rule that decides by_round.
  void judge(double scale, double draw, Decision& d) const {
    GivenDraw given{draw};
    decide_alone(scale, given, {&d, 1});
  }
  std::size_t bytes_for_tasks(std::size_t K) const { return annotator_ ? annotator_->bytes_for_tasks(K) : 0; }
  void reserve_task(Task task) {  ///< as SharedAnnotator
    if (annotator_) annotator_->reserve_task(task);
  }
  void learned(Task task, bool mistake, bool updated) {
    if (annotator_) annotator_->learned(task, mistake, updated);
  }
  std::pmr::vector<double> prior_weights() const {
    return annotator_ ? annotator_->prior_weights() : std::pmr::vector<double>();
  }
  void set_prior_weights(const std::pmr::vector<double>& weights) {
    if (annotator_) annotator_->set_prior_weights(weights);
  }
  /// As Learner::set_query_scale.
  void set_scale(double factor) { scale_ = factor; }
  double scale() const { return scale_; }

  template <class S>
  static void state(S& s, auto&& v) {
    if (s.annotator_) v("shared", *s.annotator_);
  }

 private:
  void decide_alone(double scale, auto& draws, std::span<Decision> out) const {
    std::visit(
        [&](auto query) {
          if constexpr (DecidesAlone<decltype(query)>) {
            if constexpr (decltype(query)::traits.paced) query.b *= scale;
            for (Decision& d : out) query(draws, d);
          }
        },
        rule_);
  }

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
