// A learner at work: it predicts rounds, asks for labels within the limits, and learns from the answers.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quorate/base/answer.h"
#include "quorate/base/memory.h"
#include "quorate/base/name_table.h"
#include "quorate/engine/label_ledger.h"
#include "quorate/engine/pending_questions.h"
#include "quorate/learner.h"
#include "quorate/params/spec.h"

namespace quorate {

/// What happened with one example.
struct Outcome {
  Decision decision;
  bool asked = false;                        ///< the learner asked, and limits and pace had a label left
  std::optional<Answer> answer = {};         ///< nothing if not asked, or not answered
  bool updated = false;                      ///< the model changed
  bool audited = false;                      ///< bought to audit the prediction, not to learn from; then not `asked`
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
  /// > 0: limits.total is spent evenly over so many examples of all tasks (a guess will do). If more come, what is left is
  /// asked for at once; if fewer come, it is not bought. For learners that are `paced`.
  std::uint64_t spread_over = 0;
  const NameTable* tasks = nullptr;    ///< named beforehand; others get their id when they come
  std::uint64_t labels_per_round = 1;  ///< that a learner which selects asks for in each round; at least 1
  /// Bytes that the model, growth included, never exceeds. Learners that forget do; others throw MemoryError.
  std::size_t memory_limit = Memory::kNoLimit;
  /// > 0: that share of all labels is bought at random, whatever the learner asks for, and used for nothing but to estimate
  /// its accuracy (audit.h). A label limit is for both together. Drawn from generator 3 of the seed.
  double audit = 0;
  std::uint64_t max_pending = 10'000;  ///< questions that wait; beyond that the oldest is withdrawn
};

/// The one way to a learner: decide() a round, take its questions, reply to each; answer() or withdraw() later what could
/// not be answered at once.
///
///   session.decide({examples});
///   while (const auto question = session.next_question()) session.reply(annotator(question->example));
///
/// The calls and their arguments decide everything that follows, so whoever records them can repeat a session to the bit.
///
/// Thread-safety: one thread at a time; or any number that call const members only.
class Session {
 public:
  /// A new learner. `spec` may leave parameters out. Throws as make_learner; UsageError for options out of range.
  explicit Session(const Spec& spec, const SessionOptions& options = {});

  Session(Session&&) = default;
  Session& operator=(Session&&) = delete;  // its parts live in its own memory

  /// The id of the task called `name`, given to it now if it is new; kUntracked if memory holds no more tasks and the
  /// learner can go on without. Throws MemoryError; then nothing has changed.
  Task task(std::string_view name);
  /// The same to predict with, which changes nothing: kUntracked for a task never seen.
  Task known_task(std::string_view name) const { return tasks_.find(name).value_or(kUntracked); }

  /// The stream's time, in seconds since whenever, from the next round on; an earlier one than before changes nothing.
  void set_time(double seconds);

  /// Predicts a round, and opens it: next_question() goes through its questions. Questions of the round before that had no
  /// reply count as unanswered. The result has an outcome for each example, filled as replies come; both it and the round's
  /// examples have to stay until the last question. Tasks of the examples are < tasks().size(), or kUntracked. Throws
  /// UsageError if labels are limited in time and none was ever set; MemoryError, and then the round is not opened.
  std::span<const Outcome> decide(const Round& round);
  /// The open round's next question; nothing at its end. A question without a reply counts as unanswered.
  std::optional<Question> next_question();
  /// Ends the open round: its examples that are left are counted, and nobody answers questions about them.
  void end_round() {
    while (next_question()) {
    }
  }
  /// Replies to the question given last. Of a later answer the example is copied; if there is no memory for it, it is not
  /// asked about after all. Throws MemoryError if the learner has no memory to learn: the label is bought, nothing learned.
  void reply(Reply reply);

  /// Learns from an answer that came later, by the decision that was made then. Returns the outcome or, if the ticket no
  /// longer waits, nothing: a second answer, or one that came after the question was withdrawn, changes nothing and is
  /// counted as too late. Throws UsageError for a ticket never issued; MemoryError as reply().
  std::optional<Outcome> answer(std::uint64_t ticket, Answer y);
  /// Nobody will answer: the label goes back to the budget (a rate keeps it) and is counted as unanswered. Returns whether
  /// the ticket waited. Throws UsageError for a ticket never issued.
  bool withdraw(std::uint64_t ticket);

  /// Other limits from now on (LabelBudget::set_limits). What is spent evenly is now the new total.
  void set_limits(const LabelLimits& limits);
  /// Spends what is left of limits.total over so many examples from now on, as SessionOptions::spread_over; 0: as the
  /// learner asks. Throws UsageError without a total, or if the learner is not paced.
  void set_spread_over(std::uint64_t examples);

  const Learner& learner() const { return *learner_; }
  const Spec& spec() const { return spec_; }  ///< canonical
  const NameTable& tasks() const { return tasks_; }
  const LabelLedger& ledger() const { return ledger_; }
  const LabelBudget& budget() const { return ledger_.budget(); }
  const Pace& pace() const { return ledger_.pace(); }
  const Audit* audit() const { return ledger_.audit(); }               ///< null: none
  TaskCounters count(Task task) const { return ledger_.count(task); }  ///< zeros for a task never seen
  const TaskCounters& total() const { return ledger_.total(); }
  const PendingQuestions& pending() const { return pending_; }
  std::uint64_t labels_per_round() const { return labels_per_round_; }
  std::uint64_t tickets() const { return next_ticket_; }             ///< issued so far: 0 to one less than this
  std::uint64_t unanswered() const { return ledger_.unanswered(); }  ///< questions nobody answered, or withdrawn
  std::uint64_t too_late() const { return too_late_; }               ///< answers to tickets that no longer waited
  Memory& memory() const { return *memory_; }                        ///< for all else that the model owns
  /// Bytes of the limit that are set aside for whoever collects a round (RoundBuilder): an eighth, if the learner selects.
  std::size_t round_memory() const { return round_memory_; }
  std::size_t model_bytes() const { return memory_->bytes(); }  ///< all that was allocated in memory()
  std::size_t peak_bytes() const { return memory_->peak(); }
  std::size_t memory_limit() const { return memory_->limit(); }  ///< Memory::kNoLimit: none
  /// Lets the learner forget, if it can, until so many bytes are free.
  void free_memory(std::size_t bytes);

  /// Everything that decides what comes next, between rounds. load() makes a new session; throws DataError.
  void save(Tensors& out) const;
  static Session load(const Spec& spec, Reader& reader);

 private:
  friend class Prefetcher;

  Session(const Spec& spec, std::size_t memory_limit);

  void learn(const Example& e, Outcome& outcome);
  std::optional<std::uint64_t> enqueue(const Example& e, const Decision& d);  ///< its ticket; nothing without memory for it
  void give_up(std::uint64_t ticket);
  void check_issued(std::uint64_t ticket) const;
  void check_whole() const;
  template <class Work>
  auto guarded(Work work);

  Spec spec_;
  std::size_t round_memory_;
  std::unique_ptr<Memory> memory_;  // first among what it serves
  NameTable tasks_;
  std::unique_ptr<Learner> learner_;
  Rng rng_;
  LabelLedger ledger_;
  PendingQuestions pending_;
  std::uint64_t labels_per_round_ = 1, too_late_ = 0, next_ticket_ = 0, max_pending_ = 0;
  std::string broken_;  // why it can be used no more; empty: it can

  // The open round: examples up to next_ were counted, and asked_ says whether the last of them waits for a reply.
  std::span<const Example> round_;
  std::size_t next_ = 0;
  bool asked_ = false;
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

/// Decides a round whose answers come later: each question gets a ticket.
inline std::span<const Outcome> run_round_later(Session& session, const Round& round) {
  return run_round(session, round, [](std::size_t) { return Reply::later(); });
}

}  // namespace quorate
