// Answering: labels reach the learner, at once or after a hold, are taken back, compared and counted.
#include "quorate/desk/desk.h"

#include <algorithm>

#include "quorate/base/counted.h"
#include "quorate/base/hash.h"
#include "quorate/desk/replies.h"
#include "quorate/model/quality.h"

namespace quorate {
namespace {

constexpr std::size_t kMostTimes = 101;  // of an annotator's answers
constexpr std::size_t kMostCurve = 200;
constexpr double kDay = 86'400;
constexpr std::string_view kTakenBack = "the answer before was taken back, and its question went back to who gave it";
constexpr double kHold = 30;  // seconds, if the model cannot be rebuilt

}  // namespace

void Desk::note_label(Question& question, const std::optional<Outcome>& outcome) {
  if (outcome && outcome->label) question.labels.push_back(*outcome->label);
  posted_at_label_ = posted_;
}

/// Under a rate by time: labels are bought now, not when the last example came. Returns whether there is such a rate.
bool Desk::pass_time() {
  const auto& rate = model_.session.budget().limits().rate;
  if (!rate || !rate->seconds) return false;
  model_.session.pass_time(now_);
  return true;
}

/// Where classes are learned, the example of the label's class says it all.
void Desk::give(Question& question, std::span<const Example> round, Label label, std::string_view annotator) {
  const auto one = [&](Example e) {
    e.id = question.about.example;
    const Reply reply = model_.reduction.reply(label, e);
    if (!reply.answered()) return;
    const Task task = model_.reduction.task_of(e);
    const auto audit = std::ranges::find_if(
        question.measured, [&](const auto& measured) { return measured.first == task || model_.session.learns_classes(); });
    note_label(question, audit != question.measured.end()
                             ? model_.session.measure_again(e, audit->second, reply.answer(), annotator)
                             : model_.session.give(e, reply.answer(), annotator, question.probability));
  };
  if (model_.session.learns_classes())
    one(round[label.class_index()]);
  else if (question.class_tasks.empty())
    std::ranges::for_each(round, one);
  else
    for (const Task task : question.class_tasks) one(round[task]);
}

/// The class that answers one question answers those of all classes. They are learned, too, and cost nothing; of an audit
/// nothing is learned.
void Desk::give_rest(Question& question, std::span<const Task> bought, Label label, std::string_view annotator) {
  if (!model_.reduction.has_classes() || model_.session.learns_classes() || question.audit) return;
  for (Task task = 0; task < model_.reduction.tasks(); ++task)
    if (std::ranges::find(bought, task) == bought.end()) question.class_tasks.push_back(task);
  try {
    if (!question.class_tasks.empty())
      with_examples(question, [&](std::span<const Example> round) { give(question, round, label, annotator); });
  } catch (const MemoryError& e) {  // the answer that was bought is learned
    full_ = e.what();
  }
  question.class_tasks.clear();
}

/// Gives an answer's label to the learner. Throws MemoryError; then later answers are refused.
void Desk::learn(Question& question, Label label, std::string_view annotator) {
  pass_time();
  try {
    std::vector<Task> bought;
    for (const std::uint64_t ticket : question.tickets) {
      const PendingQuestions::Item* item = model_.session.pending().find(ticket);
      if (item == nullptr) continue;
      bought.push_back(model_.reduction.task_of(item->example()));
      note_label(question, model_.answer(ticket, label, annotator, question.about.example));
    }
    if (bought.empty())  // an answer was taken back before: the label is already bought
      with_examples(question, [&](std::span<const Example> round) { give(question, round, label, annotator); });
    else
      give_rest(question, bought, label, annotator);
  } catch (const MemoryError& e) {
    full_ = e.what();
    throw;
  }
}

void Desk::check_memory() const {
  if (std::string why = problem(); !why.empty()) throw Refused{Verdict::kNoMemory, std::move(why)};
}

/// Why answers are refused; empty: they are accepted.
std::string Desk::problem() const {
  if (const std::string& broken = model_.session.broken(); !broken.empty())
    return "the model broke off and learns no more: " + broken + "; expected a larger --memory in a new folder";
  if (full_.empty()) return "";
  return "the learner cannot learn any more: " + full_ + "; expected a larger --memory in a new folder, or " +
         "something forgotten" +
         (waiting_.empty()
              ? ""
              : ". Of the answers saved, " + counted(waiting_.size(), "answer") + " will be learned from then") +
         (unlearned_ == 0 ? "" : ". Of the answers saved, " + counted(unlearned_, "answer") + " could not be learned from");
}

double Desk::hold() const { return settings_.desk.hold.value_or(may_rebuild() ? 0 : kHold); }

/// Ends the hold of the question's answer.
void Desk::let_go(std::uint64_t id, Question& question) {
  question.held = false;
  std::erase_if(held_, [&](const auto& item) { return item.second == id; });
  std::erase(waiting_, id);
}

/// If the question's answer is held, ends the hold: learns from the answer, or lets it wait for memory.
void Desk::learn_held(std::uint64_t id) {
  Question* question = find(id);
  if (question == nullptr || !question->held) return;
  let_go(id, *question);
  try {
    const std::string& word = question->settled.empty() ? question->given[0].label : question->settled;
    learn(*question, label_of(word), question->annotator(word));
  } catch (const MemoryError&) {
    question->held = true;
    waiting_.push_back(id);
  }
  note_curve();
}

/// After a rebuild: labels may have found no memory, as the kept labels are in another order than they came.
void Desk::note_left_out() {
  if (const std::uint64_t labels = model_.session.left_out())
    full_ = "made anew, it had no memory for " + counted(labels, "label") + " of those that are kept";
}

/// Something was forgotten: the learner may have memory again.
void Desk::has_room() {
  full_.clear();
  for (; !waiting_.empty(); waiting_.pop_back()) held_.push_front({now_, waiting_.back()});
}

/// Learns from held answers that are due. Returns whether there were any.
bool Desk::learn_due() {
  bool any = false;
  for (; !held_.empty() && held_.front().first <= now_; any = true) learn_held(std::uint64_t{held_.front().second});
  return any;
}

/// Removes the question's label from the learner; the label stays bought. A held answer is only dropped: the learner never
/// had its label.
void Desk::unlearn(std::uint64_t id, Question& question) {
  if (question.held) return let_go(id, question);
  if (!model_.session.capabilities().rebuilds)
    throw Refused{Verdict::kConflict,
                  "this answer cannot be taken back any more: it was learned from, and " +
                      parse_spec(settings_.learner).word + " cannot unlearn" +
                      (hold() > 0 ? "; answers wait " + shortest(hold()) + " s before that (--hold)" : "; see --hold")};
  std::vector<Task> class_tasks;
  std::vector<std::pair<Task, Session::Measured>> measured;
  UnpackedInstance memory;
  const KeptLabels& kept = model_.session.labels();
  for (const std::uint64_t label : question.labels) {
    const auto place = kept.find(label);
    if (!place)
      throw Refused{Verdict::kConflict,
                    "this answer cannot be taken back: its label is not among those that the model keeps; expected " +
                        std::string(kept.keeps() ? "more room for them" : "some to be kept") + " (--keep-labels)"};
    const Task task = model_.reduction.task_of(kept.example(*place, memory));
    class_tasks.push_back(task);
    if (const auto audit = model_.session.measured(label)) measured.emplace_back(task, *audit);
  }
  if (!question.labels.empty()) {
    model_.session.undo(question.labels);
    note_left_out();
    question.class_tasks = std::move(class_tasks);
    question.measured = std::move(measured);
  }
  question.labels.clear();
  question.tickets.clear();
}

void Desk::close(std::uint64_t id) {
  auto node = open_.extract(id);
  node.mapped().holder.clear();
  archive(id, std::move(node.mapped()));
}

void Desk::note_curve() {
  const Audit* audit = model_.session.audit();
  if (audit == nullptr || audit->bought() == 0) return;
  const std::uint64_t labels = model_.session.total().labels;
  const std::uint64_t step = std::max<std::uint64_t>(5, labels / 100);
  if (!curve_.empty() && labels < curve_.back().labels + step) return;
  const Estimate a = quality_of(model_, kMostMeasured).accuracy;
  if (a.examples == 0) return;
  curve_.push_back({labels, a.value, a.low, a.high});
  if (curve_.size() <= kMostCurve) return;
  std::vector<CurvePoint> half;
  for (std::size_t i = 0; i < curve_.size(); i += 2) half.push_back(curve_[i]);
  curve_ = std::move(half);
}

/// Counts the comparison of two annotators' answers (by = 1), or removes it from the counts (by = -1).
void Desk::compare(const Question& question, int by) {
  for (const Given& given : question.given) {
    Annotator& annotator = annotators_[given.annotator];
    annotator.compared += static_cast<std::uint64_t>(by);
    if (question.agrees()) annotator.agreed += static_cast<std::uint64_t>(by);
  }
}

/// Counts held answers, but no answers that were taken back.
std::uint64_t Desk::answers_today(const std::string& annotator) const {
  const auto found = annotators_.find(annotator);
  if (found == annotators_.end()) return 0;
  const auto& times = found->second.times;
  return static_cast<std::uint64_t>(
      std::count_if(times.begin(), times.end(), [&](double time) { return time > now_ - kDay; }));
}

void Desk::note_answer(std::uint64_t id, const Given& given, std::optional<double> seconds) {
  Annotator& annotator = annotators_[given.annotator];
  ++annotator.answers;
  annotator.times.push_back(now_);
  while (annotator.times.front() <= now_ - kDay) annotator.times.pop_front();
  if (seconds) {
    annotator.seconds.push_back(std::clamp(*seconds, 0.0, kDay));
    if (annotator.seconds.size() > kMostTimes) annotator.seconds.pop_front();
  }
  annotator.latest.push_back(id);
  if (annotator.latest.size() > kMostTimes) annotator.latest.pop_front();
}

/// Records the first or second answer to an open question. Call check_memory() before a first answer.
void Desk::take_answer(std::uint64_t id, Question& question, Given given, std::optional<double> seconds) {
  if (question.given.empty()) {
    // A question without tickets has no pending label, so its answer is not held.
    if (const double wait = hold(); wait > 0 && !question.tickets.empty()) {
      question.held = true;
      const double due = now_ + wait;  // earlier answers may be due later, by older settings
      held_.insert(std::ranges::upper_bound(held_, due, {}, [](const auto& item) { return item.first; }), {due, id});
    } else {
      try {
        learn(question, label_of(given.label), given.annotator);
      } catch (const MemoryError&) {  // no answer is possible
        drop(id, "the model has no memory to learn from its answer");
        throw;
      }
    }
  }
  // An annotator who holds the question for a second answer keeps it.
  const bool closes = !question.second || !question.given.empty();
  if (question.lease == given.lease || closes || question.holder == given.annotator) {
    if (question.lease != given.lease) end_lease(question.lease, "its question was answered by another tool");
    question.release();
  }
  note_answer(id, given, seconds);
  question.given.push_back(std::move(given));
  if (question.given.size() > 1) compare(question, 1);
  if (closes) close(id);
  note_curve();
}

/// If another label of the question was learned, learns this one instead.
void Desk::settle(std::uint64_t id, Question& question, const std::string& word) {
  const std::string& learned = question.settled.empty() ? question.given[0].label : question.settled;
  if (learned == word || question.labels.empty()) return;
  unlearn(id, question);
  try {
    learn(question, label_of(word), question.annotator(word));
  } catch (const MemoryError&) {
    ++unlearned_;
    throw;
  }
}

/// Removes an answer, and opens its question again. What a disagreement was settled with counts no more.
void Desk::take_back(std::uint64_t id, Question& question, std::vector<Given>::iterator given) {
  if (given == question.given.begin()) {
    if (question.given.size() > 1)
      throw Refused{Verdict::kConflict, "this answer cannot be taken back: somebody gave a second opinion"};
    unlearn(id, question);
  } else {
    settle(id, question, question.given[0].label);
    compare(question, -1);
  }
  question.settled.clear();
  Annotator& annotator = annotators_[given->annotator];
  --annotator.answers;
  std::erase(annotator.latest, id);
  if (const auto time = std::find(annotator.times.begin(), annotator.times.end(), given->at); time != annotator.times.end())
    annotator.times.erase(time);
  end_lease(given->lease, "its answer was taken back");
  question.given.erase(given);
  if (auto node = closed_.extract(id)) {
    closed_bytes_ -= node.mapped().about.line.size();
    open_.insert(std::move(node));
  }
}

std::string Desk::was_answered(std::uint64_t id, const Question& question, std::string_view annotator) {
  return to_text(Json{{"ticket", id},
                      {"example", question.about.example},
                      {"task", question.about.task},
                      {"annotator", annotator},
                      {"probability", question.probability},
                      {"audit", question.audit}});
}

DeskReply Desk::on(const event::Answer& event) {
  const std::string &lease = event.lease, &word = event.label;
  const std::uint64_t id = id_of_lease(lease);
  Question* question = find(id);
  if (question == nullptr) refuse_lease(lease);
  const Json done{{"saved", true}, {"ticket", id}, {"label", word}};
  for (const Given& given : question->given)
    if (given.lease == lease) {
      if (given.label != word)
        throw Refused{Verdict::kConflict, "lease: it answered '" + given.label + "' before; undo takes that back"};
      Json again = done;
      again["labels"] = labels_json();
      return reply(again, false);
    }
  if (question->lease != lease || !open_.contains(id)) refuse_lease(lease);
  choice_of(word);
  const std::string name = question->holder;
  check_holder(event.annotator, name);
  if (question->given.empty()) check_memory();
  if (const auto daily = settings_.desk.labels_per_annotator; daily && answers_today(name) >= *daily)
    throw Refused{Verdict::kConflict,
                  "you have given " + counted(*daily, "answer") + " in 24 hours, the limit; this one is not saved", "",
                  "daily-limit"};
  std::string was = was_answered(id, *question, name);
  take_answer(id, *question, {name, word, lease, now_}, event.seconds);
  Json out = done;
  out["labels"] = labels_json();
  return reply(out, true, std::move(was));
}

DeskReply Desk::on(const event::Undo& event) {
  const std::string& name = event.annotator;
  const auto found = annotators_.find(name);
  if (found == annotators_.end() || found->second.latest.empty())
    throw Refused{Verdict::kConflict, "nothing to undo: you have given no answer yet"};
  const std::uint64_t id = found->second.latest.back();
  Question* question = find(id);
  if (question == nullptr) throw Refused{Verdict::kConflict, "nothing to undo: the answer is too old"};
  const auto given =
      std::find_if(question->given.begin(), question->given.end(), [&](const Given& g) { return g.annotator == name; });
  if (given == question->given.end()) throw Refused{Verdict::kConflict, "nothing to undo"};
  const std::string word = given->label;
  take_back(id, *question, given);
  Question& again = open_.at(id);
  lease_to(id, again, name, kTakenBack);
  return reply(
      {{"undone", {{"ticket", id}, {"label", word}}}, {"question", question_json(id, again)}, {"labels", labels_json()}},
      true, to_text(Json{{"ticket", id}, {"lease", again.lease}}));
}

DeskReply Desk::on(const event::Put& event) {
  const std::string &name = event.annotator, &source = event.source, example = event.example.value_or("");
  const std::uint64_t ticket = event.ticket;
  if (ticket >= next_question_) throw Refused{Verdict::kUnknown, "ticket " + std::to_string(ticket) + " was never issued"};
  const std::uint64_t id = number_about(ticket, example);
  const bool back = !event.label;
  const std::string word = event.label.value_or("");
  const Label label = back ? Label() : choice_of(word);
  std::string was;
  const auto done = [&](bool changed) {
    Json out{{"saved", true}, {"ticket", id}, {"label", back ? Json(nullptr) : Json(word)}, {"labels", labels_json()}};
    return reply(out, changed, was);
  };
  Question* question = find(id);
  if (question == nullptr) {  // withdrawn; or forgotten, and then not in the pool
    const auto item = std::find_if(pool_.begin(), pool_.end(), [&](const Posted& p) { return p.example == example; });
    if (example.empty() || item == pool_.end())
      throw Refused{Verdict::kGone, "ticket " + std::to_string(id) + ": its question is not open any more"};
    if (back) return done(false);
    check_memory();
    Question late = question_about(std::move(*item));
    pool_.erase(item);
    late.unasked = true;
    learn(late, label, name);
    ++gifts_;
    late.given.push_back({name, word, source, now_});
    note_answer(id, late.given[0], event.seconds);
    if (const auto seen = seen_.find(hash64(example)); seen != seen_.end()) seen->second = id + 1;
    was = was_answered(id, late, name);
    archive(id, std::move(late));
    return done(true);
  }
  const auto given =
      std::find_if(question->given.begin(), question->given.end(), [&](const Given& g) { return g.annotator == name; });
  if (given == question->given.end()) {
    if (back) return done(false);
    if (!open_.contains(id))
      throw Refused{Verdict::kConflict, "ticket " + std::to_string(id) + ": somebody else answered it before"};
    if (question->given.empty()) check_memory();
    was = was_answered(id, *question, name);
    take_answer(id, *question, {name, word, source, now_}, event.seconds);
    return done(true);
  }
  if (given->label == word) {
    const bool same = given->lease == source;
    given->lease = source;
    return done(!same);
  }
  if (!back) check_memory();
  was = was_answered(id, *question, name);
  take_back(id, *question, given);
  if (!back) {
    take_answer(id, *question, {name, word, source, now_}, event.seconds);
  } else if (question->unasked) {
    withdraw(id, true, kTakenBack);
    --gifts_;
  } else {
    lease_to(id, *question, event.holder.value_or(name), kTakenBack);
  }
  return done(true);
}

DeskReply Desk::on(const event::Decide& event) {
  const std::string& word = event.label;
  const std::uint64_t id = event.ticket;
  const auto found = closed_.find(id);
  if (found == closed_.end() || found->second.given.size() < 2)
    throw Refused{Verdict::kUnknown, "ticket " + std::to_string(id) + ": no disagreement to settle"};
  Question& question = found->second;
  choice_of(word);
  settle(id, question, word);
  question.settled = word;
  return reply({{"saved", true}, {"ticket", id}, {"label", word}}, true);
}

}  // namespace quorate
