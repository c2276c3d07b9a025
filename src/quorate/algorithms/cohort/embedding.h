// A second model of the same kind, which learns from the embeddings of instances, and how much it is trusted.
#pragma once
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <memory_resource>
#include <span>
#include <vector>

#include "quorate/algorithms/cohort/replays.h"
#include "quorate/algorithms/cohort/two_level.h"
#include "quorate/base/error.h"
#include "quorate/weights/directions.h"
#include "quorate/weights/hedge.h"
#include "quorate/weights/recent_labels.h"

namespace quorate::cohort {

/// The embedding of an instance, computed once where it is needed.
struct Place {
  std::array<double, Directions::kMostRank> z;
  bool known = false, found = false;
};

/// The embedding of x is z = V^T x / |V^T x|, V from all examples (directions.h); none if V^T x is 0. Trust l is the mean of
/// 0, 1/4, 1/2, 3/4, weighted by the mistakes of (1 - l_j) p + l_j p'. Cost: `rank` times that of TwoLevel.
class Embedding {
 public:
  static constexpr std::array kTrust{0.0, 0.25, 0.5, 0.75};
  static constexpr int kTurns = 5;  // replays of each kept label when directions change

  /// rank: 0 for none; classes: that are learned together, 1 for yes or no.
  Embedding(std::size_t rank, std::size_t classes, std::pmr::memory_resource* memory)
      : directions(rank, memory),
        model(0, 0, memory),
        betas(directions.rank() > 0 ? 2 * classes : 0, memory),
        trusts(directions.rank() > 0, memory) {}

  /// False if there is none. `place` is of x or of no instance.
  bool find(const Features& x, Place& place) const {
    if (!place.known) place.found = find(x, std::span(place.z));
    place.known = true;
    return place.found;
  }
  /// Writes z; false if no feature of x is known.
  bool find(const Features& x, std::span<double> z) const {
    const double length = directions.place(x, z);
    if (!(length > 0)) return false;
    for (double& a : z.first(directions.rank())) a /= length;
    return true;
  }
  /// e with its embedding instead of x.
  Example of(const Example& e, const Place& place) const {
    return {e.task, {{}, std::span(place.z).first(directions.rank())}, e.group, e.weight};
  }
  static double mixed(double trust, const Estimate& x, const Estimate& z) { return (1 - trust) * x.p + trust * z.p; }

  /// V changed: the model is learned anew from the kept labels, in order, then kTurns times again. scaled(e): e as V needs
  /// it. learn(i, z, first): learns label i for the first time, or again; z has its embedding.
  template <class Scaled, class Learn>
  void turn(RecentLabels& recent, Scaled scaled, Learn learn) {
    model = TwoLevel(0, 0, directions.memory());
    const std::size_t rank = directions.rank();
    std::pmr::vector<double> places(recent.size() * rank, directions.memory());
    std::pmr::vector<char> placed(recent.size(), directions.memory());
    const auto at = [&](std::size_t i) { return std::span(places).subspan(i * rank, rank); };
    std::ranges::fill(betas.values, 0.0);
    for (std::size_t i = 0; i < recent.size(); ++i) {
      Example e = scaled(recent.example(i));
      placed[i] = find(e.x, at(i));
      if (!placed[i]) continue;
      e.x = {{}, at(i)};
      learn(i, e, true);
    }
    for (int turn = 0; turn < kTurns; ++turn)
      for (std::size_t i = 0; i < recent.size(); ++i)
        if (placed[i]) learn(i, Example{recent[i].task, {{}, at(i)}, recent[i].group, recent[i].weight}, false);
  }
  /// After loading. Throws DataError.
  void check(std::size_t kept) const {
    const bool used = directions.rank() > 0;
    if (!trusts.has_size(used)) throw DataError("cohort: mistakes_of has another size than its parameters give");
    if (!betas.good(kept))
      throw DataError("cohort: betas: expected finite numbers from 0 for each recent label; none without directions");
  }

  Directions directions;
  TwoLevel model;               ///< w', s', v', t'
  Duals betas;                  ///< a of each mean, of each class
  Hedge<kTrust.size()> trusts;  ///< mistakes of each trust l_j
  double trust = 0;             ///< l, from trusts
};

}  // namespace quorate::cohort
