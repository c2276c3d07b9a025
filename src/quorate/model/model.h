// What a model file holds: a session, and how its data are read. The way to it: predict, learn, decide, answer.
#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quorate/model/learning_options.h"
#include "quorate/model/reduction.h"
#include "quorate/session/session.h"
#include "quorate/stream/featurize.h"
#include "quorate/stream/labels.h"

namespace quorate {

/// An example as a stream brings it.
struct Instance {
  Task first = 0;  ///< where its task of the stream has its tasks (Model::task)
  Features x = {};
  double weight = 1;
  std::string_view id = {};  ///< Example::id
};

/// Thread-safety: one thread at a time; or any number that call const members only.
struct Model {
  /// A new model. `tasks`: named beforehand; not looked at if the reduction has tasks of its own. Under a memory limit,
  /// names of features that are kept (bits 0) have a quarter of it. Throws as LearningOptions::session and Session.
  static Model make(const Spec& learner, const LearningOptions& learning, const FeatureSettings& features, Labels labels,
                    Reduction reduction = {}, const NameTable* tasks = nullptr);

  Session session;
  Featurizer featurizer;
  Labels labels;
  Reduction reduction = {};             ///< whose tasks are the session's, of each task of the stream; labels are its
  LearningOptions learning = {};        ///< that it was made with, or has since
  std::size_t names_counted_ = 0;       // bytes of names that are part of the session's memory
  std::vector<Example> examples_ = {};  // of the round decided last

  /// Where a task of the stream has its tasks in the session: the first of them (Session::task); 0 if tasks of the stream
  /// are not looked at.
  Task task(std::string_view name) { return reduction.by_task() ? session.task(name) : 0; }
  Task known_task(std::string_view name) const { return reduction.by_task() ? session.known_task(name) : 0; }
  /// What it says of an instance; `work` has the margins then and, of a `calibrated` learner, probabilities if they are
  /// asked for. first: as task() gives it. O(non-zeros x tasks of the instance).
  Reduction::Prediction predict(Task first, const Features& x, Reduction::Work& work,
                                bool with_probabilities = false) const {
    return reduction.predict(session.learner(), first, x, with_probabilities, work);
  }
  /// The same, of the margins in `work`.
  Reduction::Prediction predict(Reduction::Work& work, bool with_probabilities = false) const {
    return reduction.predict(session.learner(), with_probabilities, work);
  }

  /// A round: the examples of its instances, one of each task of the reduction, and what happened with each. Valid until
  /// the next round.
  struct Decided {
    std::span<const Example> examples;
    std::span<const Outcome> outcomes;
  };
  /// Decides a round of instance(0) to instance(size - 1), and replies to its questions: reply(place, example) to one about
  /// the example at that place of the round. Throws as Session::decide and reply; the round is ended then.
  template <class InstanceOf, class Replies>
  Decided decide(std::size_t size, InstanceOf instance, Replies reply) {
    renew(examples_, size * reduction.tasks());
    for (std::size_t n = 0; n < size; ++n) {
      const Instance& one = instance(n);
      reduction.add_examples(one.first, one.x, examples_, one.weight, one.id);
    }
    return {examples_, run_round(session, {examples_, reduction.tasks()},
                                 [&](std::size_t place) { return reply(place, examples_[place]); })};
  }
  /// A round of one instance whose label is there, if it is known, for a learner that asks.
  Decided learn(const Instance& one, Label label) {
    return decide(
        1, [&](std::size_t) -> const Instance& { return one; },
        [&](std::size_t, const Example& e) { return reduction.reply(label, e); });
  }
  /// A round of instances whose labels come later: each question gets a ticket.
  Decided decide(std::span<const Instance> instances) {
    return decide(
        instances.size(), [&](std::size_t n) -> const Instance& { return instances[n]; },
        [](std::size_t, const Example&) { return Reply::later(); });
  }
  /// Frees what the last round took (Session::release_round).
  void release_round() {
    session.release_round();
    examples_ = {};
  }
  /// A label that is known and came later, as the answer to one of the questions about its example (Session::answer).
  std::optional<Outcome> answer(std::uint64_t ticket, Label label, std::string_view annotator = {},
                                std::string_view id = {});

  /// A label that was wrong, as the right one is known (Session::correct).
  void correct(std::uint64_t id, Label label);

  /// Other limits of labels from now on (Session::set_limits).
  void set_limits(const LabelLimits& limits);
  /// Session::relearn; a learner that does not select buys one label in a round.
  void relearn(const Spec& spec);

  /// What the annotator is asked about an example of classes: "class = 3?", "3 or 8?", of a user "ann: class = 3?"; nothing
  /// of two labels, where it is always the same.
  std::optional<std::string> question(const Example& e) const;

  /// How an answer is written: the label; to a question() "yes" or "no"; "neither".
  std::string answer_word(Answer y) const;

  /// The probability from which the positive label is predicted; nothing with classes, of which the likeliest is predicted,
  /// or if margins are not `calibrated`.
  std::optional<double> threshold() const;

  /// To be called when the featurizer has begun a file: counts the names of columns as memory of the model, and tells the
  /// learner what columns are. Throws MemoryError, and then the featurizer has begun none.
  void begin_file();
  std::size_t bytes() const;       ///< of all that is limited by the session's memory limit
  std::size_t peak_bytes() const;  ///< the most there ever were

  /// The bytes of its file (store/tensors.h). Equal models give equal bytes.
  std::string to_bytes() const;
  /// Throws DataError with the reason; `bytes` may be anything.
  static Model from_bytes(std::string_view bytes);

  void save(const std::string& path) const;    ///< whole or not at all; throws FileError
  void save(OutputFile& file) const;           ///< written part by part, not committed; throws FileError
  static Model load(const std::string& path);  ///< throws FileError, DataError with the path
};

}  // namespace quorate
