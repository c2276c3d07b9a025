// A second model of the same kind, which learns from the embeddings of instances, and how much it is trusted.
#pragma once
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <memory_resource>
#include <span>
#include <vector>

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

  /// rank: 0 for none.
  Embedding(std::size_t rank, std::pmr::memory_resource* memory)
      : directions(rank, memory), model(0, 0, memory), betas(memory), trusts(directions.rank() > 0, memory) {}

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

  /// The latest label was kept with the alpha `latest`, and may have replaced older ones; `kept` are.
  void keep(const OfMeans& latest, std::size_t kept) {
    if (directions.rank() == 0) return;
    betas.erase(betas.begin(), betas.end() - static_cast<std::ptrdiff_t>(2 * (kept - 1)));
    betas.insert(betas.end(), latest.begin(), latest.end());
  }
  /// Learns the kept label `at` again; z: its embedding, j: its current estimate.
  template <class Loss>
  void learn_again(std::size_t at, double y, const Example& z, const Estimate& j, const Loss& loss, Coupling c) {
    set_beta(at, model.learn_again(z, y, j, loss.noise(z, y), {betas[2 * at], betas[2 * at + 1]}, loss.most_alpha(z), c));
  }
  /// V changed: the model is learned anew from the kept labels, in order, then kTurns times again. scaled(e): e as V needs
  /// it.
  template <class Scaled, class Loss>
  void turn(RecentLabels& recent, Scaled scaled, const Loss& loss, Coupling c) {
    model = TwoLevel(0, 0, directions.memory());
    const std::size_t rank = directions.rank();
    std::pmr::vector<double> places(recent.size() * rank, directions.memory());
    std::pmr::vector<char> placed(recent.size(), directions.memory());
    const auto at = [&](std::size_t i) { return std::span(places).subspan(i * rank, rank); };
    for (std::size_t i = 0; i < recent.size(); ++i) {
      Example e = scaled(recent.example(i));
      placed[i] = find(e.x, at(i));
      set_beta(i, {});
      if (!placed[i]) continue;
      e.x = {{}, at(i)};
      set_beta(i, model.learn(e, recent[i].y, model(e, c), loss.noise(e, recent[i].y), c));
    }
    for (int again = 0; again < kTurns; ++again)
      for (std::size_t i = 0; i < recent.size(); ++i) {
        if (!placed[i]) continue;
        const Example z{recent[i].task, {{}, at(i)}, recent[i].group, recent[i].weight};
        learn_again(i, recent[i].y, z, model(z, c), loss, c);
      }
  }
  /// After loading. Throws DataError.
  void check(std::size_t kept) const {
    const bool used = directions.rank() > 0;
    if (!trusts.has_size(used)) throw DataError("cohort: mistakes_of has another size than its parameters give");
    if (betas.size() != (used ? 2 * kept : 0) ||
        std::ranges::any_of(betas, [](double b) { return !(b >= 0) || std::isinf(b); }))
      throw DataError("cohort: betas: expected two finite numbers from 0 for each recent label; none without directions");
  }

  Directions directions;
  TwoLevel model;                  ///< w', s', v', t'
  std::pmr::vector<double> betas;  ///< of the recent labels: a of each mean
  Hedge<kTrust.size()> trusts;     ///< mistakes of each trust l_j
  double trust = 0;                ///< l, from trusts

 private:
  void set_beta(std::size_t at, const OfMeans& a) { std::ranges::copy(a, &betas[2 * at]); }
};

}  // namespace quorate::cohort
