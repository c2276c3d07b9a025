// The desk of `quorate serve`: who is asked what, who holds which question, and the model that learns from the answers. A
// state machine without I/O, clock or threads: events go in, with their times, and replies come out.
#pragma once
#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "quorate/desk/settings.h"
#include "quorate/model/model.h"
#include "quorate/stream/formats.h"

namespace quorate {

/// What the desk replies to an event or a request: a status with the meaning that HTTP gives it, and a JSON text.
struct DeskReply {
  int status = 200;
  std::string body = {};
  bool changed = false;  ///< the event changed the desk, so it belongs in the journal
  /// What came of the event, one JSON object, or empty: kept in the journal as "was", so that answers can be read from it
  /// without a desk, and a replay that gives something else is noticed.
  std::string was = {};
  bool forgot = false;  ///< something is to be forgotten, on disk too
  /// Of lines with examples: how many could be used, and what was wrong with the first other one.
  std::uint64_t used = 0;
  std::string first_bad = {};
};

/// What examples had that nothing was learned from, since the desk was made.
struct LeftOut {
  std::map<std::string, std::uint64_t>
      keys;                        ///< that the model does not know, the first kMostKeys: how many examples had each
  std::uint64_t without_task = 0;  ///< examples without a task, where tasks are learned
  static constexpr std::size_t kMostKeys = 20;
};

/// A long reply, an object whose first member is a list: as text, of which several can be made one.
struct ListReply {
  std::string_view begin;  ///< of the object and the list
  std::string_view after;  ///< the list; "" where it is the only member. What comes then has no texts.

  std::string whole(std::string_view list, const nlohmann::ordered_json& rest) const;
  std::string_view list_of(std::string_view reply) const;
};
/// Why `next` has no question. The first is nothing for annotators: they would know what the next ones are.
inline constexpr std::string_view kAuditsAlone = "the labels that are left are for audits of examples to come",
                                  kNothingAsked = "nothing is asked now";
inline constexpr ListReply kExamples{"{\"examples\":[", "],\"asked\":"}, kPredictions{"{\"predictions\":[", "]"};

/// The events and the requests of the desk. An event is one line of JSON, {"do": .., "at": seconds since 1970, ..}; that
/// of `examples` is followed by their lines. The events alone decide the state: a desk with the same settings that is given
/// the same events has the same model, to the bit, and gives the same replies. An event that is refused changes nothing; a
/// field "was" is not looked at.
/// An answer that was taken (200) is learned from, now or when it was held back long enough. If the learner has no memory
/// for it by then, it waits, and answers after it are refused (507), until something is forgotten; the status says so.
///
///   examples                      lines of JSON, one example each: id, task, label (a gift), and whatever describes it;
///                                 `first`: lines of the same request that came before, in events of their own
///   next      annotator hold      the question worth most now, leased, while the annotator holds fewer than `hold` (2) and
///                                 has a label left for today
///   answer    lease label seconds
///   skip      lease
///   undo      annotator           takes the annotator's last answer back; the question comes back leased
///   renew     lease
///   put       ticket example annotator label source seconds holder
///                                 an answer that another tool has: what the annotator answers becomes `label`, given before
///                                 or not, leased or not; null takes it back, and leases the question to `holder`
///   decide    ticket label        settles a disagreement
///   limits    labels audits       another label budget; audits false: none are drawn any more, true: they are again
///   settings  desk                other DeskOptions from now on, all of them
///   tick                          nothing but the time
///   forget_task task | forget_example example
///
/// Thread-safety: const members may be called by many threads while no other member is at work.
class Desk {
 public:
  /// A new desk. Throws UsageError for settings out of range.
  explicit Desk(const DeskSettings& settings);
  /// One that goes on from a snapshot: both texts as save() gave them. Throws DataError.
  Desk(const DeskSettings& settings, Model model, std::string_view state);

  /// Throws nothing but std::bad_alloc: what is wrong with an event is the reply.
  DeskReply apply(std::string_view event);

  /// Predictions for lines of JSON, as those of `examples`; nothing is learned or asked. One without an id is named by its
  /// line, of which `first` came before.
  DeskReply predict(std::string_view lines, std::uint64_t first = 0) const;
  /// Why a question is asked, and what speaks for which label; 403 where margins are no sums of features.
  DeskReply explain(std::uint64_t ticket) const;
  /// The answers of a question, and its holder. If the ticket is unknown, of the question about the example. "long_ago" of
  /// one that was answered so long ago that its answers are not known any more.
  DeskReply answers(std::uint64_t ticket, const std::string& example) const;
  /// Counts, budget, accuracy, tasks, annotators, open questions, disagreements.
  DeskReply status() const;
  /// Some of it, as numbers.
  struct Figures {
    std::uint64_t examples = 0;               ///< that arrived
    std::uint64_t bought = 0, waiting = 0;    ///< labels, without those of questions that wait; those
    std::optional<std::uint64_t> limit = {};  ///< of labels
    std::optional<double> accuracy = {};
    std::size_t tasks = 0, model_bytes = 0;
    bool taking_answers = true;
  };
  Figures figures() const;
  /// Part of a list.
  struct Part {
    std::string text;
    std::optional<std::uint64_t> next = {};  ///< where the next part begins; nothing: this is the last
  };
  /// Open questions from ticket `from` on, at most `most`: JSON, separated by commas. names: of those who hold them.
  Part questions(std::uint64_t from, std::uint64_t most, bool names = true) const;
  /// The labels bought: a line of JSON each, from label `from` on, at most `most`. names: of those who gave them.
  Part labels(std::uint64_t from, std::uint64_t most, bool names = true) const;
  /// Tasks with their counts, from place `from` on, at most `most`: a line of JSON each.
  Part tasks(std::uint64_t from, std::uint64_t most) const;

  /// An example as it was posted: its id, its task's name, its line.
  struct Posted {
    std::string example, task, line;
  };
  /// What a question is about; null once it is not known any more. Every question that is open, or was answered last, is.
  const Posted* about(std::uint64_t ticket) const;
  const Model& model() const { return model_; }
  std::size_t model_bytes() const { return model_bytes_; }  ///< of the model after the last event
  /// From now on, without a memory limit, const members may be called while run(work) calls work(): the long part of an
  /// event that rebuilds the model, which nobody sees before it ends. As Session::rebuild_beside, so only model_bytes()
  /// says then how many bytes the model has.
  void rebuild_beside(Session::RunBeside run) { model_.session.rebuild_beside(std::move(run)); }
  const DeskSettings& settings() const { return settings_; }
  const LeftOut& left_out() const { return left_out_; }
  double time() const { return now_; }  ///< of the last event
  /// When the next answer that is held back will be learned from, by an event of that time or a later one.
  std::optional<double> due() const { return held_.empty() ? std::nullopt : std::optional(held_.front().first); }
  /// Everything but the model: JSON, part by part.
  void save(const std::function<void(std::string_view part)>& write) const;
  std::string save() const;

 private:
  using Json = nlohmann::ordered_json;

  /// An answer of one annotator.
  struct Given {
    std::string annotator, label, lease;  // lease: or, of an answer that was put, its source
    double at = 0;
  };
  /// One example that is, or was, shown to annotators.
  struct Question {
    std::vector<std::uint64_t> tickets;  ///< the session's, of classes maybe several; empty after an undo
    std::vector<std::uint64_t> labels;   ///< ids of those that were learned from
    std::vector<Task> class_tasks;  ///< of labels taken back (Reduction::task_of): a new answer is for these; empty: all
    /// Of audits taken back, by their tasks (0 without classes): a new answer measures the accuracy, and teaches nothing.
    std::vector<std::pair<Task, Session::Measured>> measured;
    Posted about;
    bool audit = false, second = false;  ///< bought to audit; wants a second opinion
    bool unasked = false;                ///< withdrawn before its answer was put, which is a gift
    double asked = 0;                    ///< when
    double probability = 1;
    double worth = -std::numeric_limits<double>::infinity();  ///< with as many labels bought as `weighed_at`
    std::optional<std::uint64_t> weighed_at;                  ///< nothing: never
    std::string lease, holder;                                ///< of whoever holds it now; empty: nobody
    double until = 0;
    std::vector<std::string> skipped;  ///< by these annotators
    std::vector<Given> given;
    std::string settled;  ///< a disagreement's label
    bool held = false;    ///< answered, and not learned from yet

    bool agrees() const { return given[0].label == given[1].label; }  ///< two annotators answered
    /// The first who gave that label; empty: nobody.
    std::string_view annotator(std::string_view label) const {
      const auto found = std::ranges::find(given, label, &Given::label);
      return found == given.end() ? std::string_view() : found->annotator;
    }
    void release() {
      lease.clear();
      holder.clear();
      until = 0;
    }
  };
  /// An example of the pool, and which of its examples (of classes) makes it worth that.
  struct Pick {
    double worth;
    std::size_t place, example;
  };
  struct Annotator {
    std::uint64_t answers = 0, skips = 0, agreed = 0, compared = 0;
    std::deque<double> seconds, times;  ///< of the latest answers; times: of those in 24 hours
    std::deque<std::uint64_t> latest;   ///< questions answered, the last at the end
  };
  /// Accuracy of the model of then, by the audits that there were.
  struct CurvePoint {
    std::uint64_t labels = 0;
    double value = 0, low = 0, high = 0;
  };
  std::string lease_key() const;
  static constexpr std::size_t kMostMeasured = 2'000;  // audits that a status looks at

  DeskReply carry_out(std::string_view event);
  DeskReply examples(std::string_view lines, std::uint64_t first);
  void note_left_out(const Record& record);
  Json arrive(const Record& record, const Features& x, std::string_view line);
  DeskReply next(const Json& event);
  DeskReply answer(const Json& event);
  DeskReply skip(const Json& event);
  DeskReply undo(const Json& event);
  DeskReply renew(const Json& event);
  DeskReply put(const Json& event);
  DeskReply decide(const Json& event);
  DeskReply limits(const Json& event);
  DeskReply change_settings(const Json& event);
  DeskReply tick(const Json& event);
  DeskReply forget_task(const Json& event);
  DeskReply forget_example(const Json& event);

  Label label_of(std::string_view word) const;
  Label choice_of(const std::string& word) const;
  std::vector<std::string> choices() const;
  bool take_late_label(std::uint64_t state, Label label, Posted& about);
  void put_prediction(Json& out, const Reduction::Prediction& p, const Reduction::Work& work) const;
  Reduction::Prediction put_prediction(Json& out, Task first, const Features& x, Reduction::Work& work) const {
    const Reduction::Prediction p = model_.predict(first, x, work, true);
    put_prediction(out, p, work);
    return p;
  }
  std::vector<Example> examples_of(const Instance& one) const;
  std::string new_id() const;  ///< of an example without one
  Question question_about(Posted about) const;
  std::uint64_t number_of(const Question& question);
  std::uint64_t open(Question question);
  void archive(std::uint64_t number, Question question);
  double sureness(double margin) const;
  double sureness(const Example& e) const;
  bool may_be_sure() const;
  double worth(const Question& question) const;
  bool may_go(const Question& question) const;
  bool may_answer(const Question& question, const std::string& annotator) const;
  void lease_to(std::uint64_t id, Question& question, const std::string& annotator, std::string_view why = "");
  void end_lease(std::string_view lease, std::string_view why);
  [[noreturn]] void refuse_lease(std::string_view lease) const;
  Question* find(std::uint64_t id);
  const Question* find(std::uint64_t id) const;
  std::uint64_t id_of_lease(std::string_view lease) const;
  void note_label(Question& question, const std::optional<Outcome>& outcome);
  void give(Question& question, std::span<const Example> round, Label label, std::string_view annotator = {});
  void learn(Question& question, Label label, std::string_view annotator);
  bool may_rebuild() const;
  std::string what_stays_learned() const;  ///< of what is forgotten, where nothing is rebuilt
  double hold() const;
  void learn_held(std::uint64_t id);
  void let_go(std::uint64_t id, Question& question);
  void has_room();
  void note_left_out();
  bool learn_due();
  void unlearn(std::uint64_t id, Question& question);
  void take_answer(std::uint64_t id, Question& question, Given given, const Json& event);
  static std::string was_answered(std::uint64_t id, const Question& question, std::string_view annotator);
  void take_back(std::uint64_t id, Question& question, std::vector<Given>::iterator given);
  void note_answer(std::uint64_t id, const Given& given, const Json& event);
  std::uint64_t number_about(std::uint64_t ticket, const std::string& example) const;
  void compare(const Question& question, int by);
  void close(std::uint64_t id);
  void drop(std::uint64_t id, std::string_view why);
  void withdraw(std::uint64_t id, bool to_pool, std::string_view why);
  void pool(Posted about);
  bool wants_second(std::uint64_t question) const;
  std::optional<Pick> best_of_pool() const;
  bool may_ask(Task first) const;
  std::optional<std::uint64_t> ask_from_pool(const Pick& pick);
  /// What was posted, as an example of each task that it is shown to: use(examples).
  void with_examples(const Question& question, const std::function<void(std::span<const Example>)>& use) const;
  void withdraw_surest();
  bool make_room();
  void note_curve();
  Json question_json(std::uint64_t id, const Question& question) const;
  Json fields_json(const Question& question) const;
  Json open_json(std::uint64_t id, const Question& question) const;
  std::uint64_t audits_left() const;
  std::uint64_t labels_waiting() const;
  Json labels_json(bool audits = false) const;
  std::string problem() const;
  void check_memory() const;
  std::uint64_t answers_today(const std::string& annotator) const;
  Json curve_json() const;
  /// A line as it was posted, and which it is: 1, 2, ...
  struct Line {
    std::string_view text;
    std::uint64_t number;
  };
  using BadLine = std::function<void(std::uint64_t number, const std::string& what)>;
  /// Calls begin(reader), then use(record, line) for each good line and bad(line number, what) for the others, those that
  /// the model knows nothing of among them.
  void read(std::string_view lines, const std::function<void(const RecordReader&)>& begin,
            const std::function<void(const Record&, const Line&)>& use, const BadLine& bad) const;
  /// A line that can be read, without learning names.
  struct Look {
    const Record& record;
    const Features& x;
    std::span<const Index> columns;
    std::uint64_t number;
  };
  void look_at(std::string_view lines, const std::function<void(const Look&)>& use, const BadLine& bad) const;

  DeskSettings settings_;
  Model model_;
  std::size_t model_bytes_ = 0;
  double now_ = 0;
  std::uint64_t next_question_ = 0, leases_ = 0, gifts_ = 0, posted_ = 0;
  std::map<std::uint64_t, Question> open_, closed_;  // closed_: the latest, so that they can be undone
  std::size_t closed_bytes_ = 0;                     // of their lines
  std::map<std::string, Annotator> annotators_;
  std::unordered_map<std::uint64_t, std::uint64_t> seen_;  // hash of an example's id -> its question + 1, or 0
  std::deque<std::uint64_t> seen_order_;
  std::deque<Posted> pool_;
  std::vector<CurvePoint> curve_;
  std::deque<std::pair<double, std::uint64_t>> held_;      // when a question's answer is due, in order
  std::deque<std::uint64_t> waiting_;                      // held back, due, and without memory to learn from them, in order
  std::string full_;                                       // why the learner could learn no more; empty: it can
  std::deque<std::pair<std::string, std::string>> ended_;  // leases that ended without an answer, the latest, and why
  LeftOut left_out_;
  std::uint64_t unlearned_ = 0;  // answers that were taken and are not learned from any more
};

}  // namespace quorate
