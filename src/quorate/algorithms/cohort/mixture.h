// The prediction: shared and own weights, of instances and of their embeddings, mixed as past mistakes advise.
#pragma once
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <memory_resource>
#include <span>

#include "quorate/algorithms/cohort/embedding.h"
#include "quorate/algorithms/cohort/two_level.h"
#include "quorate/learner.h"
#include "quorate/weights/calibration.h"
#include "quorate/weights/hedge.h"

namespace quorate::cohort {

/// p and r of an example, from its instance (x) and from its embedding (z).
struct Prediction {
  Estimate x, z;
  double p = 0, r = 0;
  bool placed = false;  ///< z is of an embedding
};

/// E_j^2 + O_j^2 = kTotal and O_j^2 / E_j^2 = kRatio[j]; m_j: the number of bought labels that p_j = E_j <w, x> + O_j <v_i,
/// x> predicted wrong. E and O are the means of E_j and O_j weighted by exp(-eta m_j): two numbers, for all tasks together,
/// that learn how much the tasks have in common. u is the mean of kSecond weighted likewise by the mistakes of
/// (1 - u_j) p_0 + u_j p_1; it begins near 0, and learns how many labels are wrong. The prediction is (1 - l) p + l p', l
/// the trust in embeddings.
class Mixture {
 public:
  static constexpr std::array kRatio{1.0 / 32, 1.0 / 8, 1.0 / 2, 2.0, 8.0};
  static constexpr double kTotal = 1.2;
  static constexpr std::array kSecond{0.0, 0.25, 0.5, 0.75, 1.0};
  static constexpr std::uint64_t kHandicap = 3;  // mistakes that each step of kSecond has at first

  /// slots: of the own weights' table, 0 for exact storage; rank: of embeddings, 0 for none; classes: that are learned
  /// together, 0 for yes or no; shares: there are shared weights.
  Mixture(double eta, std::size_t slots, std::size_t rank, std::size_t classes, bool shares,
          std::pmr::memory_resource* memory)
      : of_x(slots / 4, slots, memory),
        embedding(rank, std::max<std::size_t>(classes, 1), memory),
        ratios(shares, memory),
        seconds(true, memory, kHandicap),
        eta_(eta),
        shares_(shares) {
    lean();
  }

  /// `place` is of e's instance, or of none.
  Prediction predict(const Example& e, Place& place) const {
    Prediction j;
    j.x = of_x(e, coupling);
    if (embedding.directions.any()) {
      j.placed = embedding.find(e.x, place);
      if (j.placed) j.z = embedding.model(embedding.of(e, place), coupling);
    }
    combine(j);
    return j;
  }
  Prediction predict(const Example& e) const {
    Place place;
    return predict(e, place);
  }
  /// Counts the candidates that predicted the label wrong, and mixes anew: E, O, u, l, and the prediction.
  void count(double y, Prediction& j) {
    const Estimate& x = j.x;
    const double w = mixed(x.shared.mean, coupling.u), v = mixed(x.own.mean, coupling.u);
    ratios.count([&](std::size_t l) { return mistaken(y, E_j(l) * w + O_j(l) * v); });
    seconds.count([&](std::size_t l) { return mistaken(y, mixed(x.p_of, kSecond[l])); });
    if (j.placed)
      embedding.trusts.count([&](std::size_t l) { return mistaken(y, Embedding::mixed(Embedding::kTrust[l], x, j.z)); });
    lean();
    combine(j);
  }
  /// The same of an instance whose class is `right`: candidates that let another class have as large a margin. `classes`:
  /// its predictions of each class.
  void count(std::size_t right, std::span<Prediction> classes) {
    const auto wrong = [&](auto margin) {
      const double p = margin(classes[right]);
      for (std::size_t k = 0; k < classes.size(); ++k)
        if (k != right && margin(classes[k]) >= p) return true;
      return false;
    };
    const double u = coupling.u;
    ratios.count([&](std::size_t l) {
      return wrong(
          [&](const Prediction& j) { return E_j(l) * mixed(j.x.shared.mean, u) + O_j(l) * mixed(j.x.own.mean, u); });
    });
    seconds.count([&](std::size_t l) { return wrong([&](const Prediction& j) { return mixed(j.x.p_of, kSecond[l]); }); });
    if (classes[right].placed)
      embedding.trusts.count([&](std::size_t l) {
        return wrong([&](const Prediction& j) { return Embedding::mixed(Embedding::kTrust[l], j.x, j.z); });
      });
    lean();
    for (Prediction& j : classes) combine(j);
  }
  /// E, O, u and l from the mistakes; without shared weights O alone.
  void lean() {
    std::array<double, kRatio.size()> E, O;
    for (std::size_t j = 0; j < kRatio.size(); ++j) {
      E[j] = E_j(j);
      O[j] = O_j(j);
    }
    coupling = {ratios.mean(E, eta_), shares_ ? ratios.mean(O, eta_) : std::sqrt(kTotal), seconds.mean(kSecond, eta_)};
    embedding.trust = embedding.trusts.mean(Embedding::kTrust, eta_);
  }
  /// The part of each feature. With embeddings a margin is a sum over features only for a fixed length of V^T x, as here.
  void explain(const Example& e, std::span<Contribution> out) const {
    Place place, part, with, without;
    const Prediction whole = predict(e, place);
    const Directions& directions = embedding.directions;
    const double length = whole.placed ? directions.place(e.x, part.z) : 1, trust = whole.placed ? embedding.trust : 0;
    const auto dense = [&](const Place& z) { return embedding.of(e, z).x; };
    for (std::size_t k = 0; k < e.x.size(); ++k) {
      out[k] = {};
      if (e.x.value[k] == 0) continue;
      const Index index = e.x.at(k);
      const Features alone{{&index, 1}, {&e.x.value[k], 1}};
      const auto add = [&](double share, const TwoLevel& model, const Features& x) {
        out[k].shared += share * coupling.E * mixed(model.shared(e.group, x).mean, coupling.u);
        if (e.task != kUntracked) out[k].own += share * coupling.O * mixed(model.own(e.task, x).mean, coupling.u);
      };
      const auto variance_of = [&](const TwoLevel& model, const Features& x) {
        return model({e.task, x, e.group}, coupling).r;
      };
      add(1 - trust, of_x, alone);
      out[k].uncertainty = (1 - trust) * variance_of(of_x, alone);
      if (trust == 0) continue;
      directions.place(alone, part.z);
      for (std::size_t a = 0; a < directions.rank(); ++a) {
        part.z[a] /= length;
        with.z[a] = place.z[a] + part.z[a];
        without.z[a] = place.z[a] - part.z[a];
      }
      add(trust, embedding.model, dense(part));
      out[k].uncertainty +=
          trust * (variance_of(embedding.model, dense(with)) - variance_of(embedding.model, dense(without))) / 4;
    }
  }
  /// After loading; `kept`: recent labels. Throws DataError.
  void check(std::size_t kept) {
    if (!ratios.has_size(shares_) || !seconds.has_size(true))
      throw DataError("cohort: mistakes has another size than its parameters give");
    embedding.check(kept);
    calibration.check();
    lean();
  }

  TwoLevel of_x;  ///< w, s, v, t
  Embedding embedding;
  Hedge<kRatio.size()> ratios;  ///< m_j
  Hedge<kSecond.size()> seconds;
  Coupling coupling;        ///< E and O, from ratios; u, from seconds
  Calibration calibration;  ///< of p

 private:
  static double E_j(std::size_t j) { return std::sqrt(kTotal / (1 + kRatio[j])); }
  static double O_j(std::size_t j) { return std::sqrt(kTotal * kRatio[j] / (1 + kRatio[j])); }
  void combine(Prediction& j) const {
    j.x = j.x.with(coupling);
    j.p = j.x.p;
    j.r = j.x.r;
    if (!j.placed) return;
    j.z = j.z.with(coupling);
    j.p = Embedding::mixed(embedding.trust, j.x, j.z);
    j.r = (1 - embedding.trust) * j.x.r + embedding.trust * j.z.r;
  }

  double eta_;
  bool shares_;
};

}  // namespace quorate::cohort
