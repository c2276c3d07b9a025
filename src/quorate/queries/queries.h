// When a label is worth buying. A rule is a small struct: its parameters, and one verb that fills a decision whose margin
// is known.
#pragma once
#include <cmath>
#include <string_view>
#include <tuple>
#include <variant>

#include "quorate/base/example.h"
#include "quorate/base/rng.h"
#include "quorate/params/params.h"

namespace quorate {

/// Asks with this probability. One draw.
inline void ask_with(double probability, Rng& rng, Decision& d) {
  d.probability = probability;
  d.draw = uniform(rng);
  d.ask = d.draw < probability;
}

/// Every label. No draw.
struct Always {
  static constexpr std::string_view name = "always", meaning = "buy every label";
  static constexpr auto fields() { return std::tuple{}; }

  void operator()(Rng&, Decision& d) const {
    d.probability = 1;
    d.ask = true;
  }
};

/// Each label with the same probability. One draw per example.
struct RandomQuery {
  static constexpr std::string_view name = "random", meaning = "buy each label with probability p";
  double p = 0.5;
  static constexpr auto fields() {
    return std::tuple{Field{&RandomQuery::p, "p", kProbability, "probability of asking", "Xu et al., baseline Random"}};
  }

  void operator()(Rng& rng, Decision& d) const { ask_with(p, rng, d); }
};

/// Labels of doubtful examples: probability b / (b + |margin|). One draw per example.
struct MarginQuery {
  static constexpr std::string_view name = "margin", meaning = "buy a label with probability b / (b + |margin|)";
  double b = 1;
  static constexpr auto fields() {
    return std::tuple{
        Field{&MarginQuery::b, "b", kPositive, "doubt: larger asks more", "Cesa-Bianchi et al. 2006; Saha et al. 3.1"}};
  }

  void operator()(Rng& rng, Decision& d) const { ask_with(b / (b + std::abs(d.margin)), rng, d); }
};

using Query = std::variant<Always, RandomQuery, MarginQuery>;

/// The query rule as a parameter, described once for every learner that has one.
template <class P, class Q>
constexpr auto query_field(Q P::*member) {
  return Field{member, "query", kAny, "when a label is bought", "Saha et al. 3.1"};
}

}  // namespace quorate
