// The tasks of an instance that learn from one label: its own, or all classes against the rest.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <span>
#include <vector>

#include "quorate/algorithms/cohort/classes.h"
#include "quorate/algorithms/cohort/decided.h"
#include "quorate/algorithms/cohort/mixture.h"
#include "quorate/algorithms/cohort/multiclass.h"
#include "quorate/algorithms/cohort/two_level.h"
#include "quorate/base/learner_context.h"
#include "quorate/base/memory.h"

namespace quorate::cohort {

/// The latest instance: the prediction of its task or, of classes against the rest, those of all classes. Labels and guesses
/// of it change both models, that of x and that of its embedding z, each with its own p, r and dual variables, by the steps
/// of two_level.h for yes or no, of multiclass.h for classes. The noise of a label is
///   nu = noise times the factor of classes.h / weight for yes or no,  nu = noise / weight for classes
class OfInstance {
 public:
  OfInstance(double noise, const LearnerContext& context)
      : classes_(context), noise_(noise), of_class_(classes_.size(), context.memory) {}

  bool exclusive() const { return classes_.size() > 0; }  ///< classes against the rest
  /// The number of tasks that learn from a label.
  std::size_t size() const { return exclusive() ? classes_.size() : 1; }
  /// e as an example of one of them.
  Example of(const Example& e, std::size_t k) const { return exclusive() ? classes_.of(e, k) : e; }
  Task first_task(const Example& e) const { return of(e, 0).task; }
  Task last_task(const Example& e) const { return of(e, size() - 1).task; }
  /// In which labels of e are counted: of classes against the rest the class.
  std::uint32_t group(const Example& e) const {
    return exclusive() ? static_cast<std::uint32_t>(classes_.class_of(e)) : e.group;
  }

  // Predict ------------------------------------------------------------------------------------------------------------

  /// same: the instance is the latest one.
  void predict(const Mixture& mixture, const Example& e, bool same = false) {
    decided_.forget();
    if (!same) place_.known = false;
    if (!exclusive()) of_task_ = mixture.predict(e, place_);
    for (std::size_t k = 0; k < of_class_.size(); ++k) of_class_[k] = mixture.predict(classes_.of(e, k), place_);
  }
  std::span<const Prediction> predictions() const { return exclusive() ? std::span(of_class_) : std::span(&of_task_, 1); }
  /// The margins of all classes, in `out`. Changes nothing here.
  void margins(const Mixture& mixture, const Example& e, std::span<double> out) const {
    Place place;
    for (std::size_t k = 0; k < size(); ++k) out[k] = mixture.predict(of(e, k), place).p;
  }
  /// The margin by which e's class exceeds that of every other one. Changes nothing here.
  double lead(const Mixture& mixture, const Example& e) const {
    std::vector<double> p(size());
    margins(mixture, e, p);
    const Leaders of(p.size(), [&](std::size_t k) { return p[k]; });
    const std::size_t c = classes_.class_of(e);
    return p[c] - p[c == of.top ? of.second : of.top];
  }

  /// Before guess() of an example of another instance.
  void forget_embedding() { place_.known = false; }
  /// The latest instance is that of a question, whose label may come before anything else changes.
  void keep(const Example& e) { decided_.keep(of(e, 0)); }
  void forget() { decided_.forget(); }
  bool keeps(const Example& e) const { return decided_.is(of(e, 0)); }

  // Learn: e is an example of the latest instance ----------------------------------------------------------------------

  /// Counts the mistakes about a bought label and calibrates, both before it is learned; not for a no to a class, as the
  /// right class is unknown. asked: as in Calibration.
  void count(Mixture& mixture, const Example& e, double y, double asked) {
    if (!exclusive()) {
      mixture.count(y, of_task_);
      mixture.calibration.add(of_task_.p, y, asked);
    } else if (y > 0) {
      const std::size_t c = classes_.class_of(e);
      mixture.count(c, of_class_);
      renew(margins_, of_class_.size());
      for (const Prediction& j : of_class_) margins_.push_back(j.p);
      mixture.calibration.add(margins_, c, asked);
    }
  }
  /// Learns a label y for the first time, or again. alpha, beta: its dual variables in the models of x and z, two of each
  /// task. Returns whether a weight changed.
  bool learn(Mixture& mixture, const Classes& labels, const Example& e, double y, std::span<double> alpha,
             std::span<double> beta, bool first) {
    decided_.forget();
    bool changed = step(mixture.of_x, &Prediction::x, mixture.coupling, labels, e, y, alpha, first);
    if (predictions()[0].placed) changed |= learn_of_z(mixture, labels, mixture.embedding.of(e, place_), y, beta, first);
    return changed;
  }
  /// The same in the model of embeddings alone, z having the embedding; after predict_of_z().
  bool learn_of_z(Mixture& mixture, const Classes& labels, const Example& z, double y, std::span<double> beta, bool first) {
    return step(mixture.embedding.model, &Prediction::z, mixture.coupling, labels, z, y, beta, first);
  }
  void predict_of_z(const Mixture& mixture, const Example& z) {
    decided_.forget();
    for (std::size_t k = 0; k < size(); ++k) all()[k].z = mixture.embedding.model(of(z, k), mixture.coupling);
  }
  /// Learns the guess y of this weight, j the prediction of e. Returns whether a weight changed.
  bool guess(Mixture& mixture, const Example& e, const Prediction& j, double y, double weight) {
    bool changed = mixture.of_x.guess(e, y, j.x, noise_, weight, mixture.coupling);
    if (j.placed && mixture.embedding.find(e.x, place_))
      changed |= mixture.embedding.model.guess(mixture.embedding.of(e, place_), y, j.z, noise_, weight, mixture.coupling);
    return changed;
  }
  /// Learns the guess that class c is right.
  bool guess_class(Mixture& mixture, const Example& e, std::size_t c, double weight) {
    const Multiclass::How how{.guess = weight};
    bool changed = classes_.right(mixture.of_x, e, c, part(&Prediction::x), noise_, {}, mixture.coupling, how);
    if (of_class_[c].placed)
      changed |= classes_.right(mixture.embedding.model, mixture.embedding.of(e, place_), c, part(&Prediction::z), noise_,
                                {}, mixture.coupling, how);
    return changed;
  }
  /// Allocates all that learn() may change in the model of x, so that it never fails.
  void touch(Mixture& mixture, const Example& e) const {
    for (std::size_t k = 0; k < size(); ++k) mixture.of_x.touch(of(e, k), mixture.coupling);
  }

 private:
  std::span<Prediction> all() { return exclusive() ? std::span(of_class_) : std::span(&of_task_, 1); }
  /// Of each class the estimate by one of the models.
  struct Part {
    std::span<const Prediction> of;
    Estimate Prediction::*by;
    const Estimate& operator()(std::size_t k) const { return of[k].*by; }
  };
  Part part(Estimate Prediction::*by) const { return {of_class_, by}; }
  bool step(TwoLevel& model, Estimate Prediction::*by, Coupling coupling, const Classes& labels, const Example& e, double y,
            std::span<double> alpha, bool first) {
    if (exclusive()) {
      const std::size_t c = classes_.class_of(e);
      const double nu = noise_ / e.weight;
      return y > 0 ? classes_.right(model, e, c, part(by), nu, alpha, coupling, {.first = first})
                   : classes_.wrong(model, e, c, part(by), nu, alpha, coupling, first);
    }
    const double nu = noise_ * labels.factor(e.group, y) / e.weight;
    const Estimate& j = of_task_.*by;
    const OfMeans before{alpha[0], alpha[1]},
        after =
            first ? model.learn(e, y, j, nu, coupling) : model.learn_again(e, y, j, nu, before, e.weight / noise_, coupling);
    std::ranges::copy(after, alpha.begin());
    return after != before;
  }

  Multiclass classes_;  // none for yes or no
  double noise_;
  Prediction of_task_;
  std::pmr::vector<Prediction> of_class_;
  Place place_;
  Decided decided_;
  std::vector<double> margins_;  // scratch
};

}  // namespace quorate::cohort
