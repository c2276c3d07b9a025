// The desk of `quorate serve`: it leases questions to annotators and owns the model that learns from the answers. A state
// machine without I/O, clock or threads: events with their times go in, and replies come out.
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

#include "quorate/desk/events.h"
#include "quorate/desk/replies.h"
#include "quorate/desk/settings.h"
#include "quorate/model/model.h"
#include "quorate/params/json_object.h"
#include "quorate/stream/formats.h"

namespace quorate {

/// Ignored parts of examples, counted since the desk was created.
struct LeftOut {
  std::map<std::string, std::uint64_t>
      keys;                        ///< number of examples with each key unknown to the model, for the first kMostKeys keys
  std::uint64_t without_task = 0;  ///< examples without a task, where tasks are learned
  static constexpr std::size_t kMostKeys = 20;
};

/// Reasons why `next` has no question. kAuditsAlone is not for annotators: it reveals that the next questions are audits.
inline constexpr std::string_view kAuditsAlone = "the labels that are left are for audits of examples to come",
                                  kNothingAsked = "nothing is asked now";

/// The desk: events (events.h) change it, requests read it. The events alone determine the state: two desks with the same
/// settings and events have the same model, to the bit, and give the same replies. A refused event changes nothing.
/// The learner learns from an accepted answer at once, or after its hold. If it then has no memory for the answer, the
/// answer waits, and later answers are refused (kNoMemory) until something is forgotten; the status reports this.
///
/// Thread-safety: const members may be called by many threads while no other member is at work.
class Desk {
 public:
  /// A new desk. Throws UsageError for settings out of range.
  explicit Desk(const DeskSettings& settings);
  /// Continues from a snapshot: its model, and its state as save() wrote it. Throws DataError.
  Desk(const DeskSettings& settings, Model model, std::string_view state);

  /// Throws only std::bad_alloc: the reply reports errors in an event.
  DeskReply apply(const Event& event);
  /// The event of a record of the journal.
  DeskReply apply(std::string_view record);

  /// Predictions for lines of JSON, as those of `examples`; nothing is learned or asked. An example without an id is named
  /// by its line number, counted from `first` + 1.
  DeskReply predict(std::string_view lines, std::uint64_t first = 0) const;
  /// Why a question is asked, and which features support which label; kForbidden if margins are not sums over features.
  DeskReply explain(std::uint64_t ticket) const;
  /// The answers of a question, and its holder. If the ticket is unknown, those of the question about the example.
  /// "long_ago": the question was answered so long ago that its answers are no longer stored.
  DeskReply answers(std::uint64_t ticket, const std::string& example) const;
  /// Counts, budget, accuracy, tasks, annotators, open questions, disagreements.
  DeskReply status() const;
  /// The main numbers of status().
  struct Figures {
    std::uint64_t examples = 0;               ///< that arrived
    std::uint64_t bought = 0, waiting = 0;    ///< labels of answered questions; of pending ones
    std::optional<std::uint64_t> limit = {};  ///< of labels
    std::optional<double> accuracy = {};
    std::size_t tasks = 0, model_bytes = 0;
    bool taking_answers = true;
  };
  Figures figures() const;
  /// Part of a list.
  struct Part {
    std::string text;
    std::optional<std::uint64_t> next = {};  ///< start of the next part; none: this is the last
  };
  /// Open questions from ticket `from` on, at most `most`: JSON, separated by commas. names: with the holders' names.
  Part questions(std::uint64_t from, std::uint64_t most, bool names = true) const;
  /// The labels bought: a line of JSON each, from label `from` on, at most `most`. names: with the annotators' names.
  Part labels(std::uint64_t from, std::uint64_t most, bool names = true) const;
  /// Tasks with their counts, from index `from` on, at most `most`: a line of JSON each.
  Part tasks(std::uint64_t from, std::uint64_t most) const;

  /// An example as it was posted: its id, its task's name, its line.
  struct Posted {
    std::string example, task, line;
  };
  /// The example of a question; null if it is no longer stored. All open questions and the latest answered ones are stored.
  const Posted* about(std::uint64_t ticket) const;
  const Model& model() const { return model_; }
  std::size_t model_bytes() const { return model_bytes_; }  ///< of the model after the last event
  /// From now on, if there is no memory limit, const members may be called while run(work) calls work(), the long part of an
  /// event that rebuilds the model. Readers see the old model until it ends. As with Session::rebuild_beside, only
  /// model_bytes() gives the model's size during that time.
  void rebuild_beside(Session::RunBeside run) { model_.session.rebuild_beside(std::move(run)); }
  const DeskSettings& settings() const { return settings_; }
  const LeftOut& left_out() const { return left_out_; }

  /// What workers read from, by name.
  struct Source {
    std::uint64_t next = 0;  ///< position of the next line that counts
    std::uint64_t read = 0;  ///< lines that were judged
    double at = 0;           ///< time of its latest event
  };
  static constexpr std::size_t kMostSources = 10'000;
  const std::map<std::string, Source, std::less<>>& sources() const { return sources_; }
  /// Throws Refused if workers cannot judge for this desk: it has classes, or its learner does not judge.
  void check_followed() const;
  /// Examples that were posted here or judged elsewhere: the common clock of an even pace. O(sources).
  std::uint64_t examples_of_all() const;
  std::size_t open_questions() const { return open_.size(); }
  std::uint64_t posted() const { return posted_; }  ///< examples that arrived, judged elsewhere or not
  std::uint64_t posted_since_label() const { return posted_ - posted_at_label_; }  ///< since the latest label was learned
  /// A line, read as predict() reads it.
  struct Look {
    const Record& record;
    const Features& x;
    std::span<const Index> columns;
    std::uint64_t number;
    std::string_view line;
  };
  using BadLine = std::function<void(std::uint64_t number, const std::string& what)>;
  std::string why_refused(const Record& record) const;  ///< as an example: its names or its label; empty: it is not
  /// Calls use() for each good line, bad() for each other one. Throws Refused if the lines cannot be read at all.
  void look_at(std::string_view lines, std::uint64_t before, const std::function<void(const Look&)>& use,
               const BadLine& bad) const;
  /// "id", "task" and the prediction: of an example that is named by its number if it has no id.
  void put_prediction(JsonObject& out, const Look& line, const Reduction::Prediction& p, const Reduction::Work& work) const;
  double time() const { return now_; }  ///< of the last event
  /// Time at which the next held answer is due. The first event at that time or later learns from it.
  std::optional<double> due() const { return held_.empty() ? std::nullopt : std::optional(held_.front().first); }
  /// Everything but the model: JSON, part by part.
  void save(const std::function<void(std::string_view part)>& write) const;
  std::string save() const;

 private:
  /// An answer of one annotator.
  struct Given {
    std::string annotator, label, lease;  // lease: for an answer by `put`, its source
    double at = 0;
  };
  /// One example that is, or was, shown to annotators.
  struct Question {
    std::vector<std::uint64_t> tickets;  ///< the session's, with classes maybe several; empty after an undo
    std::vector<std::uint64_t> labels;   ///< ids of the labels learned from
    std::vector<Task> class_tasks;  ///< of labels taken back (Reduction::task_of): a new answer goes to these; empty: to all
    /// Audits taken back, by task (0 without classes): a new answer measures the accuracy, and teaches nothing.
    std::vector<std::pair<Task, Session::Measured>> measured;
    Posted about;
    bool audit = false, second = false;  ///< bought as an audit; needs a second answer
    bool unasked = false;                ///< withdrawn before `put` answered it: its label is unsolicited
    double asked = 0;                    ///< time of asking
    double probability = 1;
    double worth = -std::numeric_limits<double>::infinity();  ///< computed when `weighed_at` labels were bought
    std::optional<std::uint64_t> weighed_at;                  ///< none: never
    std::string lease, holder;                                ///< the current lease and its annotator; empty: none
    double until = 0;
    std::vector<std::string> skipped;  ///< by these annotators
    std::vector<Given> given;
    std::string settled;  ///< a disagreement's label
    bool held = false;    ///< answered, and not learned from yet

    bool agrees() const { return given[0].label == given[1].label; }  ///< two annotators answered
    /// The first annotator who gave that label; empty: none.
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
  /// An instance of the pool: its worth, its index, and the one of its examples (with classes several) of that worth.
  struct Pick {
    double worth;
    std::size_t place, example;
  };
  struct Annotator {
    std::uint64_t answers = 0, skips = 0, agreed = 0, compared = 0;
    std::deque<double> seconds, times;  ///< seconds: of the latest answers; times: of those in 24 hours
    std::deque<std::uint64_t> latest;   ///< questions answered, the last at the end
  };
  /// Accuracy of the model after `labels` labels, estimated from the audits until then.
  struct CurvePoint {
    std::uint64_t labels = 0;
    double value = 0, low = 0, high = 0;
  };
  /// If an event names its annotator, the lease must be theirs.
  static void check_holder(const std::optional<std::string>& annotator, const std::string& holder);
  std::string lease_key() const;
  static constexpr std::size_t kMostMeasured = 2'000;  // audits that a status evaluates

  void note_left_out(const Record& record);
  /// What became of an example that was judged elsewhere: for each of its tasks, the probability with which it was asked
  /// about; nothing: it was not.
  using Elsewhere = std::span<const Nullable<double>>;
  std::span<const Outcome> take_judged(const Instance& instance, Elsewhere elsewhere);
  Json arrive(const Record& record, const Features& x, std::string_view line, std::optional<Elsewhere> elsewhere = {});

  DeskReply on(const event::Examples& event);
  DeskReply on(const event::Shared& event);
  DeskReply on(const event::Next& event);
  DeskReply on(const event::Answer& event);
  DeskReply on(const event::Skip& event);
  DeskReply on(const event::Undo& event);
  DeskReply on(const event::Renew& event);
  DeskReply on(const event::Put& event);
  DeskReply on(const event::Decide& event);
  DeskReply on(const event::Limits& event);
  DeskReply on(const event::Settings& event);
  DeskReply on(const event::Tick& event);
  DeskReply on(const event::ForgetTask& event);
  DeskReply on(const event::ForgetExample& event);

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
  double certainty(double margin) const;
  std::pair<double, std::size_t> least_certain(std::span<const Example> instance, bool anew) const;
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
  bool pass_time();
  void note_label(Question& question, const std::optional<Outcome>& outcome);
  void give(Question& question, std::span<const Example> round, Label label, std::string_view annotator = {});
  void give_rest(Question& question, std::span<const Task> bought, Label label, std::string_view annotator);
  void learn(Question& question, Label label, std::string_view annotator);
  bool may_rebuild() const;
  std::string what_stays_learned() const;  ///< the effect of forgotten data that stays without a rebuild
  double hold() const;
  void learn_held(std::uint64_t id);
  void spend_held(std::uint64_t id);
  void let_go(std::uint64_t id, Question& question);
  void has_room();
  void note_left_out();
  bool learn_due();
  void unlearn(std::uint64_t id, Question& question);
  void take_answer(std::uint64_t id, Question& question, Given given, std::optional<double> seconds);
  static std::string was_answered(std::uint64_t id, const Question& question, std::string_view annotator);
  void settle(std::uint64_t id, Question& question, const std::string& word);
  void take_back(std::uint64_t id, Question& question, std::vector<Given>::iterator given);
  void note_answer(std::uint64_t id, const Given& given, std::optional<double> seconds);
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
  /// Calls use(examples) with the examples of the question's line, one for each task that learns from it.
  void with_examples(const Question& question, const std::function<void(std::span<const Example>)>& use) const;
  void keep_one(std::vector<std::uint64_t>& tickets, std::span<const std::uint64_t> audits, std::uint64_t lot);
  void withdraw_surest();
  bool withdraw_skipped();
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
  /// A line as it was posted, and its number, from 1.
  struct Line {
    std::string_view text;
    std::uint64_t number;
  };
  /// Calls use(record, line) for each good line, begin(reader) before the first of them, and bad(line number, what) for the
  /// others, including lines without any key known to the model. Numbers count the `before` lines of the same request, too.
  void read(std::string_view lines, std::uint64_t before, const std::function<void(const RecordReader&)>& begin,
            const std::function<void(const Record&, const Line&)>& use, const BadLine& bad) const;
  DeskSettings settings_;
  Model model_;
  std::size_t model_bytes_ = 0;
  double now_ = 0;
  std::uint64_t next_question_ = 0, leases_ = 0, gifts_ = 0, posted_ = 0;
  std::map<std::uint64_t, Question> open_, closed_;  // closed_: the latest, which can be undone
  std::size_t closed_bytes_ = 0;                     // of the lines in closed_
  std::map<std::string, Annotator> annotators_;
  std::unordered_map<std::uint64_t, std::uint64_t> seen_;  // hash of an example's id -> its question + 1, or 0
  std::deque<std::uint64_t> seen_order_;
  std::deque<Posted> pool_;
  std::vector<CurvePoint> curve_;
  std::deque<std::pair<double, std::uint64_t>> held_;      // due time and question of each held answer, in order
  std::deque<std::uint64_t> waiting_;                      // questions with due answers that found no memory, in order
  std::string full_;                                       // why the learner cannot learn any more; empty: it can
  std::deque<std::pair<std::string, std::string>> ended_;  // the latest leases that ended without an answer, and why
  LeftOut left_out_;
  std::uint64_t unlearned_ = 0;  // accepted answers that will never be learned from
  std::map<std::string, Source, std::less<>> sources_;
  std::uint64_t shared_ = 0;           // of posted_
  std::uint64_t posted_at_label_ = 0;  // posted_ when the latest label was learned
};

}  // namespace quorate
