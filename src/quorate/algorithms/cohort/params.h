// The parameters of cohort.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <string_view>
#include <tuple>
#include <variant>

#include "quorate/algorithms/cohort/threshold.h"
#include "quorate/base/memory.h"
#include "quorate/learner.h"
#include "quorate/params/params.h"
#include "quorate/queries/query_rules.h"
#include "quorate/weights/beliefs.h"
#include "quorate/weights/directions.h"

namespace quorate::cohort {

/// Asks where the prediction is uncertain. One draw per example.
struct ConfidenceQuery {
  static constexpr std::string_view name = "confidence",
                                    meaning =
                                        "buy a label with probability 1 / (1 + (log-odds / b)^3), the log-odds of the "
                                        "prediction being right";
  static constexpr QueryTraits traits{.paced = true, .draws = true};
  double b = 0.5;
  static constexpr auto fields() {
    return std::tuple{
        Field{&ConfidenceQuery::b, "b", kPositive, "log-odds at which one label in two is bought", "docs/cohort.md"}};
  }

  void operator()(auto& draws, Decision& d) const {
    const double odds = d.selection_score / b;
    ask_with(1 / (1 + odds * odds * odds), draws, d);
  }
};

struct StoreAuto : Tag<"auto", "hashed under a memory limit, else exact"> {};
struct StoreExact : Tag<"exact", "every weight has a place of its own"> {};
struct StoreHashed {
  static constexpr std::string_view name = "hashed", meaning = "2^bits own and 2^bits / 4 shared weights, places by a hash";
  std::uint64_t bits = 22;
  static constexpr auto fields() {
    return std::tuple{
        Field{&StoreHashed::bits, "bits", Interval{4, 31}, "size of the tables: 15 bytes times 2^bits", "docs/cohort.md"}};
  }
};

struct RepresentNone : Tag<"none", "instances alone"> {};
struct RepresentSvd {
  static constexpr std::string_view name = "svd",
                                    meaning =
                                        "of texts and other counts also their embedding by a truncated SVD of all "
                                        "examples, labelled or not; without a memory limit";
  std::uint64_t rank = 64;
  static constexpr auto fields() {
    return std::tuple{Field{&RepresentSvd::rank, "rank", Interval{1, static_cast<double>(Directions::kMostRank)},
                            "directions that are kept", "docs/cohort.md"}};
  }
};

struct Params {
  QueryWith<ConfidenceQuery> query;
  double noise = 0.1, guess = 1, eta = 0.3;
  std::uint64_t replays = 10;
  Cost cost;
  std::variant<StoreAuto, StoreExact, StoreHashed> store;
  std::variant<RepresentSvd, RepresentNone> represent;
  std::size_t rank() const {
    const auto* svd = std::get_if<RepresentSvd>(&represent);
    return svd != nullptr ? svd->rank : 0;
  }
  /// Slots of own weights, 0 for exact storage; shared weights have a quarter as many. Both take half of a memory limit,
  /// tasks and counters the rest.
  std::size_t slots(std::pmr::memory_resource* memory) const {
    if (const auto* hashed = std::get_if<StoreHashed>(&store)) return std::size_t{1} << hashed->bits;
    if (std::holds_alternative<StoreExact>(store) || !is_limited(memory)) return 0;
    return std::clamp<std::size_t>(bytes_left(memory) / (5 * Beliefs::kSlotBytes / 2), 4, std::size_t{1} << 32);
  }
  static constexpr auto fields() {
    return std::tuple{
        query_field(&Params::query),
        Field{&Params::noise, "noise", Interval{1e-9, 1e9}, "of labels: larger learns less from each",
              "AROW's r; docs/cohort.md"},
        Field{&Params::guess, "guess", kProbability, "weight of certain guesses beside labels; 0: labels only",
              "docs/cohort.md"},
        Field{&Params::eta, "eta", Interval{0, 100}, "how fast past mistakes decide between shared and own weights",
              "docs/cohort.md"},
        Field{&Params::replays, "replays", Interval{0, 1000}, "kept examples that teach again at each label",
              "docs/cohort.md"},
        Field{&Params::cost, "cost", kAny, "of mistakes: decides what is predicted", "docs/cohort.md"},
        Field{&Params::store, "store", kAny, "storage of the weights", "docs/cohort.md"},
        Field{&Params::represent, "represent", kAny, "what is learned from besides the instance", "docs/cohort.md"}};
  }
  /// Exact weights may use all memory, so a task that arrives later may be an error: the memory left for it depends on the
  /// earlier updates.
  void refine(Capabilities& can) const { can.untracked_tasks &= !std::holds_alternative<StoreExact>(store); }
};

}  // namespace quorate::cohort
