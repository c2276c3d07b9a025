// A learner at work: it predicts rounds, asks for labels within the limits, and learns from the answers.
#pragma once
#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quorate/base/answer.h"
#include "quorate/base/learner_context.h"
#include "quorate/base/memory.h"
#include "quorate/base/name_table.h"
#include "quorate/capabilities.h"
#include "quorate/params/spec.h"
#include "quorate/session/label_ledger.h"
#include "quorate/session/label_memory.h"
#include "quorate/session/pending_questions.h"

namespace quorate {

class Learner;

/// What happened with one example.
struct Outcome {
  Decision decision;
  bool asked = false;                        ///< the learner asked, and limits and pace had a label left
  std::optional<Answer> answer = {};         ///< nothing if not asked, or not answered
  bool updated = false;                      ///< the model changed
  bool audited = false;                      ///< bought to audit the prediction, not to learn from; then not `asked`
  std::optional<std::uint64_t> label = {};   ///< its id, if one was bought: 0, 1, 2, ... (KeptLabel)
  std::optional<std::uint64_t> ticket = {};  ///< of a question that waits for its answer: 0, 1, 2, ... in order of asking
};

/// A question about an example of the open round.
struct Question {
  std::size_t example;  ///< its index in the round
  bool audit;           ///< the answer is used to audit the prediction, not to learn from
};

struct SessionOptions {
  std::uint64_t seed = 1;  ///< of the learner's draws
  LabelLimits limits = {};
  /// > 0: limits.total is spent evenly over this number of examples of all tasks (an estimate). If more come, the rest is
  /// bought at once; if fewer, it stays unspent. For learners that are `paced`.
  std::uint64_t spread_over = 0;
  const NameTable* tasks = nullptr;  ///< named beforehand; others get their id when they come
  /// Tasks that have one name: of a user with classes, the tasks of all of them (Reduction::tasks).
  std::size_t tasks_per_name = 1;
  bool exclusive = false;              ///< the tasks are classes against the rest, with or without users
  std::uint64_t labels_per_round = 1;  ///< that a learner which selects asks for in each round; at least 1
  /// Bytes that the model, growth included, never exceeds. Learners that forget do; others throw MemoryError.
  std::size_t memory_limit = Memory::kNoLimit;
  std::size_t memory_for_names = 0;  ///< bytes of the limit that are not the session's (Model::make)
  /// > 0: that share of all labels is bought at random, whatever the learner asks for, and used for nothing but to estimate
  /// its accuracy (audit.h). A label limit is for both together. Drawn from generator 3 of the seed.
  double audit = 0;
  double audit_floor = 0;              ///< least chance of every example to be audited, within the label limits; needs audit
  std::uint64_t max_pending = 10'000;  ///< questions that wait; beyond that the oldest is withdrawn
  /// Bytes for the labels that were bought, with their instances, and for the latest examples without one, to learn again
  /// from: KeptLabels. Of a memory limit at most an eighth, taken when the first label comes, if it is free then. 0: none.
  std::size_t keep_labels = 0;
  static constexpr std::size_t kMostKept = std::size_t{1} << 36;  ///< of keep_labels
};

/// The one way to a learner: decide() a round, take its questions, reply to each; answer() or withdraw() later what could
/// not be answered at once.
///
///   session.decide({examples});
///   while (const auto question = session.next_question()) session.reply(annotator(question->example));
///
/// The calls and their arguments decide everything that follows, so a record of them repeats a session to the bit.
///
/// Thread-safety: one thread at a time; or any number that call const members only.
class Session {
 public:
  /// A new learner. `spec` may leave parameters out. Throws as make_learner; UsageError for options out of range.
  explicit Session(const Spec& spec, const SessionOptions& options = {});

  Session(Session&&) noexcept;
  ~Session();
  Session& operator=(Session&&) = delete;  // its parts live in its own memory

  /// The id of the task called `name`, given to it now if it is new; kUntracked if memory holds no more tasks and the
  /// learner can go on without. With several tasks per name, the id of the first of them; the others follow it. Throws
  /// MemoryError; then nothing has changed.
  Task task(std::string_view name);
  /// The same to predict with, which changes nothing: kUntracked for a task never seen.
  Task known_task(std::string_view name) const {
    const auto place = tasks_.find(name);
    return place ? first_task(*place) : kUntracked;
  }

  /// The stream's time, in seconds since whenever, from the next round on; an earlier one than before changes nothing.
  void set_time(double seconds);

  /// The same at once, between rounds: before ask(), whose label counts as bought then.
  void pass_time(double seconds);

  /// Predicts a round, and opens it: next_question() goes through its questions. Questions of the round before that had no
  /// reply count as unanswered. The result has an outcome for each example, filled as replies come; both it and the round's
  /// examples have to stay until the last question. Tasks of the examples are < task_count(), or kUntracked. Throws
  /// UsageError if labels are limited in time and none was ever set; MemoryError, and then nothing has changed.
  std::span<const Outcome> decide(const Round& round);
  /// The open round's next question; nothing at its end. A question without a reply counts as unanswered.
  std::optional<Question> next_question();
  /// Ends the open round: its remaining examples are counted, and their questions stay unanswered.
  void end_round() {
    while (next_question()) {
    }
  }
  /// Ends the round and frees what decide() keeps for the next one: its outcomes are gone.
  void release_round();
  /// Replies to the question given last. Of a later answer the example is copied; if there is no memory for it, it is not
  /// asked about after all. annotator: a name, kept with the label; empty: not known. Throws MemoryError if there is no
  /// memory to learn: then nothing is learned, bought or counted, and the question has no reply.
  void reply(Reply reply, std::string_view annotator = {});

  /// Learns from an answer that came later, by the decision that was made then. Returns the outcome or, if the ticket no
  /// longer waits, nothing: a second answer, or one that came after the question was withdrawn, changes nothing and is
  /// counted as too late. `id`: the example's, kept with the label. Throws UsageError for a ticket never issued; MemoryError
  /// as reply(), and the ticket still waits.
  std::optional<Outcome> answer(std::uint64_t ticket, Reply reply, std::string_view annotator = {},
                                std::string_view id = {});
  /// An instance that was decided elsewhere (Learner::judge): its example for each task that it is shown to, and what was
  /// decided. Counted, looked at and kept as decide() does, but never audited. The outcome of an example that was asked
  /// about has the ticket of its question or none: the limits leave no label (the pace has no say), or there is no memory.
  /// Tickets are answered or withdrawn as others. Ends an open round; outcomes stay until the next one. Throws as decide();
  /// UsageError for a question's margin that is not finite or a probability outside of (0, 1].
  std::span<const Outcome> take(std::span<const Example> instance, std::span<const Decision> decisions);
  /// Asks about an example that was decided before without a question, whatever the learner's rule says. Returns the
  /// ticket, or nothing: the limits leave no label, or there is no memory. Throws UsageError for an unknown task.
  std::optional<std::uint64_t> ask(const Example& e);
  /// Whether the limits leave a label for that: the task's own, and, once pass_time(seconds) was called, those of all.
  bool may_ask(Task task) const { return ledger_.task_may_ask(task, pending_.of_task(task)); }
  bool may_ask_at(double seconds) const { return ledger_.all_may_ask(seconds); }
  /// Learns from a label that nobody was asked for: a gift. It is kept, but neither bought nor counted as a label, a
  /// mistake or an audit. probability: with which it was asked about, if that was before. Throws UsageError for an unknown
  /// task; MemoryError as reply().
  Outcome give(const Example& e, Answer y, std::string_view annotator = {}, double probability = 1);
  /// What is known of an audit that is kept; nothing of another label.
  struct Measured {
    Audit::Held held;
    double margin;
    std::uint32_t audit;  ///< KeptLabel::audit
  };
  std::optional<Measured> measured(std::uint64_t label) const;
  /// The answer to an audit that was taken back: it measures the accuracy as the first one did. Neither bought nor counted
  /// again. Throws as give().
  /// Of classes learned together, e is the example of the class, and y a yes.
  Outcome measure_again(const Example& e, const Measured& before, Answer y, std::string_view annotator = {});
  /// Counts the features of an instance that is only given, as those of decided ones are, so that they are scaled.
  void see(const Features& x);
  /// Nobody will answer: the label goes back to the budget (not to a rate, but after keep_waiting()) and is counted as
  /// unanswered. Returns whether the ticket waited. Throws UsageError for a ticket never issued.
  bool withdraw(std::uint64_t ticket);
  /// An answer came that nobody may learn from, as its example is forgotten: the label stays bought. Otherwise as
  /// withdraw().
  bool spend(std::uint64_t ticket);
  /// From now on no question that waits is withdrawn to make room: the new one is not asked. A rate of labels counts the
  /// questions while they wait (LabelBudget::count_while_waiting). Not saved.
  void keep_waiting() {
    keep_waiting_ = true;
    ledger_.count_while_waiting();
  }
  std::uint64_t no_room() const { return no_room_; }     ///< questions that were not asked therefore. Not saved
  const std::string& broken() const { return broken_; }  ///< why it cannot be used any more; empty: it can

  /// What was bought, audits included.
  const KeptLabels& labels() const { return kept_.labels(); }
  /// Learns again: a new learner is given the kept labels, in their order, and the latest examples that nobody was asked
  /// about. Exactly repeatable. Features are scaled by the counts of all examples so far; with `recount` by those of the
  /// kept examples alone, so that nothing is left of any other. Counts, limits and audits stay.
  /// No file is read again: the graph and the prior of tasks stay. Throws UsageError if the learner cannot (`rebuilds`) or
  /// keeps none; then nothing has changed. Under a memory limit a label that finds no memory is left out, and stays kept:
  /// left_out(). O(all that is kept).
  void rebuild(bool recount = false);
  std::uint64_t left_out() const { return left_out_; }  ///< kept labels, of the latest rebuild; not saved
  void check_none_left_out() const;                     ///< throws MemoryError
  /// From now on, without a memory limit, a new learner is made beside the one at work, and takes its place when it is done.
  /// run(work) calls work(); meanwhile other threads may call const members, but not memory() or what counts its bytes.
  /// Equal to the bit. Takes memory for two learners and two lists of kept examples at a time; where the machine has none,
  /// and under a memory limit, run is not called. Not saved.
  using RunBeside = std::function<void(const std::function<void()>& work)>;
  void rebuild_beside(RunBeside run) { beside_ = std::move(run); }
  /// Takes answers back, or corrects them, and rebuilds: the model is that of a session which never had them, and audits
  /// among them no longer measure the accuracy. Their examples
  /// stay, as ones without a label; one whose answer came at once, before any other example, stays if there is room among
  /// those. The labels stay bought. Throws UsageError for an id that is not kept, and as rebuild(); then nothing has
  /// changed.
  void undo(std::vector<std::uint64_t> ids, bool recount = false);
  void correct(std::uint64_t id, Reply reply);
  /// Learns again, as rebuild(), with another learner or other parameters; features are counted anew. Throws UsageError
  /// also for a model with a memory limit, and as the constructor; then nothing has changed.
  void relearn(const Spec& spec);
  /// Forgets what came of tasks: labels, examples, questions that wait, the name; and rebuilds. Counts of the task stay,
  /// without a name, as do audits and, unless `recount`, the part of its examples in the scales of features. As rebuild().
  void forget(std::string_view task, bool recount = false);

  /// The same two where nothing can be rebuilt: the learner keeps what it learned. Throws UsageError for an unknown task or
  /// label; then nothing has changed.
  void forget_kept(std::string_view task);
  void forget_kept_example(std::vector<std::uint64_t> labels, std::span<const Example> round);

  /// Gives a task another name; nothing else changes. Throws UsageError for an unknown task, and for a new name that another
  /// task has, or that is none; MemoryError. Then nothing has changed. O(tasks).
  void rename_task(std::string_view task, std::string_view name);

  /// Forgets an example: the labels with these ids, as undo(), and what is kept of it without one, once for each example of
  /// `round`, as decide() was given them. What counts of its features say stays. As rebuild().
  void forget_example(std::vector<std::uint64_t> labels, std::span<const Example> round);

  /// What is known of features by their places; to be said before the first example, and again after load().
  void set_kinds(const FeatureKinds& kinds);

  /// Other limits from now on (LabelBudget::set_limits). What is spent evenly is now the new total.
  void set_limits(const LabelLimits& limits);
  /// Spends the rest of limits.total over the next `examples` examples, as SessionOptions::spread_over; 0: as the
  /// learner asks. Throws UsageError without a total, or if the learner is not paced.
  void set_spread_over(std::uint64_t examples);

  const Learner& learner() const { return *learner_; }
  const Capabilities& capabilities() const;  ///< of the learner, with its parameters
  std::string scale() const;                 ///< how the learner scales features: Learner::scale
  /// Whether a label is the class of an instance, from which all of its classes learn, whichever of them was asked about: of
  /// classes against the rest, if the learner learns `classes`. It is kept as a yes about this class.
  bool learns_classes() const { return options_.exclusive && capabilities().classes; }
  const Spec& spec() const { return spec_; }         ///< canonical
  const NameTable& tasks() const { return tasks_; }  ///< their names, each of tasks_per_name() tasks
  std::size_t tasks_per_name() const { return options_.tasks_per_name; }
  std::size_t task_count() const { return tasks_.size() * options_.tasks_per_name; }
  Task first_task(std::uint32_t place) const { return static_cast<Task>(place * options_.tasks_per_name); }  ///< of a name
  /// The name of a task; empty for kUntracked.
  std::string_view name_of(Task task) const {
    return task == kUntracked ? std::string_view() : tasks_[static_cast<std::uint32_t>(task / options_.tasks_per_name)];
  }
  const LabelLedger& ledger() const { return ledger_; }
  const LabelBudget& budget() const { return ledger_.budget(); }
  const Pace& pace() const { return ledger_.pace(); }
  void set_audits(bool open) { ledger_.set_audits(open); }  ///< Audit::set_open
  const Audit* audit() const { return ledger_.audit(); }    ///< null: none
  /// Labels bought and answered, audits left out.
  std::uint64_t learned() const {
    return ledger_.total().labels - std::min(ledger_.total().labels, audit() != nullptr ? audit()->bought() : 0);
  }
  TaskCounters count(Task task) const { return ledger_.count(task); }  ///< zeros for a task never seen
  /// Counts of all tasks of a name together; each of their examples is one of every task, and counts once.
  TaskCounters count_of_name(std::uint32_t place) const;
  const TaskCounters& total() const { return ledger_.total(); }
  const PendingQuestions& pending() const { return pending_; }
  const SessionOptions& options() const { return options_; }  ///< that it was made with; `tasks` is null
  std::uint64_t labels_per_round() const { return options_.labels_per_round; }
  std::uint64_t tickets() const { return next_ticket_; }             ///< issued so far: 0 to one less than this
  std::uint64_t unanswered() const { return ledger_.unanswered(); }  ///< questions without an answer, or withdrawn
  std::uint64_t too_late() const { return too_late_; }               ///< answers to tickets that no longer waited
  Memory& memory() const { return *memory_; }                        ///< for all else that the model owns
  /// Bytes of the limit that are set aside for open rounds (RoundBuilder): an eighth, if the learner selects.
  std::size_t round_memory() const { return round_memory_; }
  /// Bytes that a round takes while it is decided, outside of memory() and until release_round(): of each example, with
  /// the caller's, and of each of its non-zeros.
  static constexpr std::size_t kBytesOfDecision = 2 * sizeof(Example) + sizeof(Decision) + sizeof(Outcome) + kBytesOfScratch;
  static constexpr std::size_t kBytesOfNonZero = sizeof(double);
  std::optional<std::size_t> support_vectors() const;           ///< nothing: the learner keeps no instances
  std::size_t model_bytes() const { return memory_->bytes(); }  ///< all that was allocated in memory()
  std::size_t peak_bytes() const { return memory_->peak(); }
  std::size_t memory_limit() const { return memory_->limit(); }  ///< Memory::kNoLimit: none
  /// Throws MemoryError if the session broke off where the machine had no memory left (a memory limit leaves it whole):
  /// what it learned may be in pieces.
  void check_whole() const;
  /// Lets the learner forget, if it can, until `bytes` bytes are free.
  void free_memory(std::size_t bytes);

  /// Everything that decides what comes next, between rounds, but for options(). load() makes a new session, of the spec and
  /// the options that the one before had; throws DataError, and as the constructor.
  void save(const Writer& writer) const;
  void save(Tensors& out) const { save(Writer(out)); }
  static Session load(const Spec& spec, const SessionOptions& options, Reader& reader);

 private:
  friend class Prefetcher;

  struct WithoutLearner {};
  Session(const Spec& spec, const SessionOptions& options, WithoutLearner);

  template <class Settle>
  void learn(const Example& e, Outcome& outcome, Reply reply, std::string_view annotator, Settle settle);
  /// What the reply teaches: its class, where classes are learned; else the answer about e.
  struct Lesson {
    Example about;
    Answer y;
  };
  Lesson lesson(const Example& e, Reply reply) const;
  void leave_unanswered();
  /// Its ticket; nothing without memory for it.
  std::optional<std::uint64_t> enqueue(const Example& e, const Decision& d, bool audit);
  void give_up(std::uint64_t ticket);
  void check_issued(std::uint64_t ticket) const;
  void keep(const Example& e, Outcome& outcome, Answer y, std::string_view annotator, const Measured& audit = {});
  /// An audit of e's prediction, which is being recorded.
  Measured measured(const Example& e, const Audit::Held& held, double margin) const;
  std::size_t predicted_of(std::size_t n) const;
  /// A margin whose sign is the prediction of an audit, where its answer is about `e`.
  double margin_of(const Measured& audit, const Example& e) const;
  /// Of an instance's examples: where classes are learned together, one audit is drawn for all, of the predicted class.
  std::size_t audited_together(std::size_t of_instance) const { return learns_classes() ? of_instance : 1; }
  std::uint32_t class_of(const Example& e) const { return options_.tasks_per_name == 1 ? e.task : e.group; }
  void keep_unasked(const Round& round);
  bool no_guess(std::span<const Decision> instance, std::size_t n) const;
  void keep_unanswered(std::optional<std::uint64_t> ticket = {});
  void check_rebuilds() const;
  std::size_t check_kept(std::uint64_t id) const;  ///< its place
  bool knows(const Example& e) const {
    return (e.task == kUntracked || e.task < task_count()) && e.group < options_.tasks_per_name;
  }
  void check_known(const Example& e) const {
    if (!knows(e) || !is_weight(e.weight)) refuse_unknown(e);
  }
  [[noreturn]] void refuse_unknown(const Example& e) const;
  struct Nothing {
    void operator()() const {}
  };
  template <class Change, class Also = Nothing>
  void start_anew(bool recount, Change change, Also also = {});
  template <class Change>
  bool start_beside(bool recount, Change change);
  std::unique_ptr<Learner> copy_of_learner();
  std::string name_of_forgotten(std::uint32_t place) const;
  std::uint32_t check_task(std::string_view name) const;  ///< its place
  void forget_name(std::uint32_t place);
  LabelMemory::OfExample kept_of(std::vector<std::uint64_t> labels, std::span<const Example> round) const;
  LearnerContext context(bool restore);
  template <class Work>
  auto guarded(Work work);

  Spec spec_;
  SessionOptions options_;
  std::size_t round_memory_;
  std::unique_ptr<Memory> memory_;  // first among what it serves
  NameTable tasks_;
  FeatureKinds kinds_;
  std::unique_ptr<Learner> learner_;
  Rng rng_;
  LabelLedger ledger_;
  PendingQuestions pending_;
  LabelMemory kept_;
  RunBeside beside_;
  std::uint64_t too_late_ = 0, next_ticket_ = 0, no_room_ = 0, left_out_ = 0;
  bool keep_waiting_ = false;
  std::string broken_;  // why it can be used no more; empty: it can

  // The open round: examples up to next_ were counted, and asked_ says whether the last of them waits for a reply.
  std::span<const Example> round_;
  std::size_t next_ = 0;
  bool asked_ = false;
  std::size_t audited_together_ = 1;    // examples for which one audit is drawn
  std::optional<std::size_t> audited_;  // of the examples at hand, the index of the one that is audited
  std::vector<Decision> decisions_;
  std::vector<Outcome> outcomes_;
};

/// Decides a round and replies to all of its questions at once: reply(n) for the round's n-th example. If it throws, the
/// round is ended.
template <class Oracle>
std::span<const Outcome> run_round(Session& session, const Round& round, Oracle reply) {
  const std::span<const Outcome> outcomes = session.decide(round);
  try {
    while (const auto question = session.next_question()) session.reply(reply(question->example));
  } catch (...) {
    session.end_round();
    throw;
  }
  return outcomes;
}

}  // namespace quorate
