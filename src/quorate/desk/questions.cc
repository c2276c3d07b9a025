// Asking: examples become questions or wait in the pool, and questions are leased to annotators.
#include "quorate/desk/desk.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>

#include "quorate/base/counted.h"
#include "quorate/base/hash.h"
#include "quorate/desk/replies.h"
#include "quorate/learner.h"
#include "quorate/stream/example_reader.h"

namespace quorate {
namespace {

constexpr std::size_t kMostClosed = 10'000;  // questions that can still be undone
constexpr std::size_t kMostSeen = 200'000;   // ids of examples that are recognized
constexpr std::size_t kMostWeighed = 256;    // the latest open questions, the candidates for an annotator
constexpr std::size_t kMostHeld = 2;         // default leases of one annotator: the question on the page and the next
constexpr std::size_t kLongestName = 1'000;  // bytes of an id or a task's name
constexpr std::size_t kMostEnded = 1'000;    // ended leases whose reason is stored
constexpr std::string_view kExpired = "it has expired, and its question was given to somebody else or is no longer asked";
constexpr std::size_t kMostTried = 128;   // examples of the pool that are candidates for an annotator
constexpr double kSure = 3;               // log-odds beyond which the learner does not ask about an example of the pool
constexpr double kPointless = 6;          // log-odds beyond which an open question is withdrawn
constexpr std::uint64_t kFewLabels = 50;  // below this number of labels no prediction counts as certain
constexpr std::size_t kMostLines = std::size_t{64} << 20;  // bytes of examples in the pool, and of closed questions

/// 16 hexadecimal digits.
std::string hex_of(std::uint64_t number) {
  std::string out;
  for (int shift = 60; shift >= 0; shift -= 4) out += "0123456789abcdef"[number >> shift & 15];
  return out;
}

}  // namespace

DeskReply Desk::on(const event::Examples& event) {
  const std::string_view lines = event.lines;
  if (lines.find_first_not_of(" \t\r\n") == lines.npos)
    throw Refused{Verdict::kMalformed, "examples: expected a line of JSON for each"};
  std::string results, ids;  // texts of lists, without brackets; a JSON array would take 100 times the memory
  std::uint64_t asked = 0, used = 0;
  std::string first_bad;
  const std::uint64_t before = posted_ + gifts_;
  read(
      lines, event.first.value_or(0),
      [&](const RecordReader& reader) {
        model_.featurizer.begin(reader);
        model_.begin_file();
      },
      [&](const Record& record, const Line& line) {
        const std::uint64_t taken = posted_ + gifts_;
        const Json result = arrive(record, model_.featurizer(record), line.text);
        asked += result.value("asked", false);
        if (posted_ + gifts_ > taken) note_left_out(record);  // else the journal may lack the event
        if (!result.contains("error"))
          ++used;
        else if (first_bad.empty())
          first_bad = result["error"];
        add_to_list(ids, result.value("id", Json(nullptr)));
        add_to_list(results, result);
      },
      [&](std::uint64_t number, const std::string& what) {
        if (first_bad.empty()) first_bad = what;
        add_to_list(ids, nullptr);
        add_to_list(results, bad_line(number, what));
      });
  // If all examples are known or refused, the model changed only if they came first, or by their names if --bits is 0.
  const bool changed = before == 0 || posted_ + gifts_ > before || settings_.features.bits == 0;
  DeskReply out = reply({{"asked", asked}, {"labels", labels_json()}}, changed, "{\"ids\":[" + ids + "]}");
  out.list_name = "examples";
  out.list = std::move(results);
  out.used = used;
  out.first_bad = first_bad;
  return out;
}

void Desk::note_left_out(const Record& record) {
  for (const std::string_view key : record.left_out)
    if (const std::string name = shown_value(key);
        left_out_.keys.contains(name) || left_out_.keys.size() < LeftOut::kMostKeys)
      ++left_out_.keys[name];
  if (model_.reduction.by_task() && record.task.empty()) ++left_out_.without_task;
}

std::string Desk::new_id() const {
  for (std::uint64_t n = posted_ + 1;; ++n)
    if (std::string id = "#" + std::to_string(n); !seen_.contains(hash64(id))) return id;
}

std::string Desk::why_refused(const Record& record) const {
  for (const auto& [what, text] : {std::pair{"id", record.id}, std::pair{"task", record.task}})
    if (text.size() > kLongestName)
      return std::string(what) + " of " + std::to_string(text.size()) + " bytes: expected at most " +
             std::to_string(kLongestName);
  if (record.label.empty() || label_of(record.label).known()) return "";
  const std::vector<std::string> words = choices();
  return "label '" + std::string(record.label) + "': expected one of " +
         joined(std::vector<std::string_view>(words.begin(), words.end()));
}

Json Desk::arrive(const Record& record, const Features& x, std::string_view line, std::optional<Elsewhere> elsewhere) {
  Session& session = model_.session;
  const std::string id = record.id.empty() ? new_id() : std::string(record.id);
  const std::string task(record.task.empty() ? kOnlyTask : record.task);
  Json out{{"id", id.substr(0, kLongestName)}, {"task", task.substr(0, kLongestName)}};
  if (!record.left_out.empty()) out["left_out"] = record.left_out;
  if (const std::string why = why_refused(record); !why.empty()) {
    out["error"] = why;
    return out;
  }
  const Label label = label_of(record.label);
  const std::uint64_t hash = hash64(id);
  const auto before = seen_.find(hash);
  const bool known = before != seen_.end();
  Reduction::Work work;
  Question question = question_about({id, task, std::string(line)});
  if (known && !take_late_label(before->second, label, question.about)) {
    out["known"] = true;
    put_prediction(out, model_.known_task(task), x, work);
    return out;
  }
  const Task first = model_.task(question.about.task);
  const auto remember = [&] {  // after the learner took it: if memory ran out, it may be posted again
    if (!known) {
      ++posted_;
      seen_order_.push_back(hash);
      if (seen_order_.size() > kMostSeen) {
        seen_.erase(seen_order_.front());
        seen_order_.pop_front();
      }
    }
    seen_[hash] = 0;
  };
  session.set_time(now_);
  const Instance instance{first, x, record.weight};
  if (label.known()) {
    out["task"] = question.about.task;
    put_prediction(out, first, x, work);
    if (!known)
      session.see(x);
    else
      remember();
    const auto keep = [&] {  // so that it can be forgotten
      remember();
      ++gifts_;
      const std::uint64_t number = number_of(question);
      archive(number, std::move(question));
    };
    try {
      if (!known)
        give(question, examples_of(instance), label);
      else
        with_examples(question, [&](std::span<const Example> as_it_came) { give(question, as_it_came, label); });
    } catch (const MemoryError&) {
      if (!question.labels.empty())  // some classes learned from it: not given again
        keep();
      else if (known)
        pool(std::move(question.about));
      throw;
    }
    keep();
    out["learned"] = true;
    return out;
  }
  const std::uint64_t no_room = session.no_room();
  const auto ask = [&](const Decision& decision, std::optional<std::uint64_t> ticket, bool audit) {
    work.margins.push_back(decision.margin);
    if (!ticket) return;
    question.tickets.push_back(*ticket);
    question.audit |= audit;
    question.worth = std::max(question.worth, -certainty(decision.margin));
    question.probability = std::min(question.probability, decision.probability);
  };
  const std::span<const Outcome> outcomes =
      elsewhere ? take_judged(instance, *elsewhere) : model_.decide({&instance, 1}).outcomes;
  remember();
  std::vector<std::uint64_t> audits;
  for (const Outcome& outcome : outcomes) {
    ask(outcome.decision, outcome.ticket, outcome.audited);
    if (outcome.ticket && outcome.audited) audits.push_back(*outcome.ticket);
  }
  keep_one(question.tickets, audits, hash);
  if (session.learns_classes() && !question.audit && !question.tickets.empty()) question.worth = worth(question);
  if (session.no_room() > no_room) make_room();  // for later examples; this one goes to the pool
  if (!question.audit) question.weighed_at = session.total().labels;
  put_prediction(out, model_.predict(work, true), work);
  out["asked"] = !question.tickets.empty();
  if (question.tickets.empty()) {
    pool(std::move(question.about));
    return out;
  }
  out["ticket"] = open(std::move(question));
  withdraw_surest();
  return out;
}

/// Of classes, a person who is asked says the class: one label, however many of its questions the learner asked. That of the
/// least margin stays; if there are audits one of these, by the `lot`, as the margin would make them no random sample.
void Desk::keep_one(std::vector<std::uint64_t>& tickets, std::span<const std::uint64_t> audits, std::uint64_t lot) {
  if (tickets.size() < 2) return;
  const auto margin = [&](std::uint64_t ticket) { return std::abs(model_.session.pending().find(ticket)->decision.margin); };
  const std::uint64_t kept = audits.empty() ? *std::ranges::min_element(tickets, {}, margin) : audits[lot % audits.size()];
  for (const std::uint64_t ticket : tickets)
    if (ticket != kept) model_.session.withdraw(ticket);
  tickets.assign(1, kept);
}

/// A known example was posted again, with its label. The label goes to the example as first posted, while that is stored.
/// Its open question is withdrawn. False if the label is not taken: it is unknown, or the example already has one.
bool Desk::take_late_label(std::uint64_t state, Label label, Posted& about) {
  if (!label.known()) return false;
  if (state > 0) {
    const auto found = open_.find(state - 1);
    if (found == open_.end() || !found->second.given.empty()) return false;
    about = found->second.about;
    withdraw(state - 1, false, "the label of its example was posted");
    return true;
  }
  const auto item = std::find_if(pool_.begin(), pool_.end(), [&](const Posted& p) { return p.example == about.example; });
  if (item == pool_.end()) return true;
  about = std::move(*item);
  pool_.erase(item);
  return true;
}

Desk::Question Desk::question_about(Posted about) const {
  Question out;
  out.about = std::move(about);
  out.asked = now_;
  return out;
}

/// Takes the next question number, and maps the example's id to it.
std::uint64_t Desk::number_of(const Question& question) {
  if (const auto seen = seen_.find(hash64(question.about.example)); seen != seen_.end()) seen->second = next_question_ + 1;
  return next_question_++;
}

std::uint64_t Desk::open(Question question) {
  const std::uint64_t number = number_of(question);
  question.second = wants_second(number);  // audits too, so that they look like other questions
  open_.emplace(number, std::move(question));
  return number;
}

bool Desk::wants_second(std::uint64_t question) const {
  const std::uint64_t draw = hash64("opinion " + std::to_string(question));
  return static_cast<double>(draw >> 11) * 0x1p-53 < settings_.desk.opinions;
}

void Desk::archive(std::uint64_t number, Question question) {
  closed_bytes_ += question.about.line.size();
  closed_.emplace(number, std::move(question));
  while (closed_.size() > 1 && (closed_.size() > kMostClosed || closed_bytes_ > kMostLines)) {
    auto& [oldest, forgotten] = *closed_.begin();
    learn_held(oldest);
    if (forgotten.held) {
      let_go(oldest, forgotten);
      for (const std::uint64_t ticket : forgotten.tickets) model_.session.withdraw(ticket);
      ++unlearned_;
    }
    closed_bytes_ -= forgotten.about.line.size();
    closed_.erase(closed_.begin());
  }
}

void Desk::withdraw(std::uint64_t id, bool to_pool, std::string_view why) {
  const auto found = open_.find(id);
  Question& question = found->second;
  end_lease(question.lease, why);
  for (const std::uint64_t ticket : question.tickets) model_.session.withdraw(ticket);
  if (to_pool) {
    if (const auto seen = seen_.find(hash64(question.about.example)); seen != seen_.end()) seen->second = 0;
    pool(std::move(question.about));
  }
  open_.erase(found);
}

/// Acts only when 25 % more questions than allowed are open, so it is rare. A worth is computed again only if labels were
/// bought since.
void Desk::withdraw_surest() {
  const std::size_t most = settings_.desk.open;
  if (open_.size() <= most + most / 4) return;
  std::vector<std::pair<double, std::uint64_t>> weighed;
  const std::uint64_t labels = model_.session.total().labels;
  for (auto& [id, question] : open_) {
    if (!may_go(question) || (!question.holder.empty() && question.until >= now_)) continue;
    if (question.weighed_at != labels) {
      question.worth = worth(question);
      question.weighed_at = labels;
    }
    weighed.push_back({question.worth, id});
  }
  std::sort(weighed.begin(), weighed.end());
  for (std::size_t i = 0; i < weighed.size() && open_.size() > most; ++i) withdraw(weighed[i].second, true, kExpired);
}

/// Under a rate by time, questions that somebody skipped, as long ago as the rate's window is, make room for others: maybe
/// nobody else will come. Returns whether there were any.
bool Desk::withdraw_skipped() {
  const auto& rate = model_.session.budget().limits().rate;
  if (!rate || !rate->seconds) return false;
  std::vector<std::uint64_t> gone;
  for (const auto& [id, question] : open_)
    if (may_go(question) && !question.skipped.empty() && question.asked + rate->window <= now_ &&
        (question.holder.empty() || question.until < now_))
      gone.push_back(id);
  for (const std::uint64_t id : gone) withdraw(id, true, kExpired);
  return !gone.empty();
}

/// Withdraws the most certain quarter of the questions without a lease to the pool. False if there are none.
bool Desk::make_room() {
  std::vector<std::pair<double, std::uint64_t>> weighed;
  for (const auto& [id, question] : open_)
    if (may_go(question) && (question.holder.empty() || question.until < now_)) weighed.push_back({worth(question), id});
  std::sort(weighed.begin(), weighed.end());
  for (std::size_t i = 0; i < (weighed.size() + 3) / 4; ++i) withdraw(weighed[i].second, true, kExpired);
  return !weighed.empty();
}

void Desk::pool(Posted about) {
  std::size_t bytes = about.line.size();
  if (bytes * (settings_.desk.pool + 1) > kMostLines)
    for (const Posted& item : pool_) bytes += item.line.size();
  pool_.push_back(std::move(about));
  for (; pool_.size() > settings_.desk.pool || (bytes > kMostLines && pool_.size() > 1); pool_.pop_front())
    bytes -= std::min(bytes, pool_.front().line.size());
}

/// Certainty of a prediction: the size of its log-odds if the learner calibrates, else of its margin.
double Desk::certainty(double margin) const {
  const Learner& learner = model_.session.learner();
  return std::abs(learner.capabilities().calibrated ? learner.log_odds(margin) : margin);
}

/// Of an instance's examples, one for each task, the least certain, and its certainty; anew: of those that may be asked
/// about, infinite if there are none. Of classes that are learned together, that of the likeliest class, by the margin to
/// the next.
std::pair<double, std::size_t> Desk::least_certain(std::span<const Example> instance, bool anew) const {
  std::pair<double, std::size_t> out{std::numeric_limits<double>::infinity(), 0};
  std::vector<double> margins;
  for (const Example& e : instance) margins.push_back(model_.session.learner().score(e));
  if (model_.session.learns_classes()) {
    const auto top = std::ranges::max_element(margins);
    const double most = *top;
    out.second = static_cast<std::size_t>(top - margins.begin());
    *top = -std::numeric_limits<double>::infinity();
    if (!anew || model_.session.may_ask(instance[out.second].task)) out.first = certainty(most - std::ranges::max(margins));
    return out;
  }
  for (std::size_t n = 0; n < instance.size(); ++n)
    if (const double now = certainty(margins[n]); now < out.first && (!anew || model_.session.may_ask(instance[n].task)))
      out = {now, n};
  return out;
}

bool Desk::may_be_sure() const {
  return model_.session.capabilities().calibrated && model_.session.total().labels >= kFewLabels;
}

/// The most uncertain example that may be asked about, in an evenly spaced sample of the pool. The sample shifts with each
/// lease and second.
std::optional<Desk::Pick> Desk::best_of_pool() const {
  const double least = may_be_sure() ? -kSure : -HUGE_VAL;
  std::vector<std::size_t> places(pool_.size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  if (model_.session.budget().limits().per_task != LabelLimits::kNone)
    std::erase_if(places, [this](std::size_t place) { return !may_ask(model_.known_task(pool_[place].task)); });
  const std::size_t step = std::max<std::size_t>(1, places.size() / kMostTried);
  std::size_t at = (leases_ + static_cast<std::uint64_t>(std::fmod(now_, 1e15))) % step;
  std::string lines;  // parsed together
  for (std::size_t i = at; i < places.size(); i += step) lines += pool_[places[i]].line + "\n";
  std::optional<Pick> best;
  if (!lines.empty())
    look_at(
        lines, 0,
        [&](const Look& line) {
          const std::size_t place = places[at];
          const auto [certain, n] = least_certain(examples_of({model_.known_task(pool_[place].task), line.x}), true);
          if (const double worth = -certain; std::isfinite(worth) && worth >= least && (!best || worth > best->worth))
            best = {worth, place, n};
          at += step;
        },
        [&](std::uint64_t, const std::string&) { at += step; });
  return best;
}

/// Whether any example of the instance may be asked about.
bool Desk::may_ask(Task first) const {
  for (Task n = 0; n < model_.reduction.tasks(); ++n)
    if (model_.session.may_ask(first == kUntracked ? first : first + n)) return true;
  return false;
}

/// Asks about the picked example; with classes, this is the class with the highest worth.
std::optional<std::uint64_t> Desk::ask_from_pool(const Pick& pick) {
  Question question = question_about(pool_[pick.place]);
  with_examples(question, [&](std::span<const Example> examples) {
    if (const auto ticket = model_.session.ask(examples[pick.example])) question.tickets.push_back(*ticket);
  });
  if (question.tickets.empty()) return std::nullopt;
  pool_.erase(pool_.begin() + static_cast<std::ptrdiff_t>(pick.place));
  return open(std::move(question));
}

/// Uncertainty of the prediction now: minus its certainty. Infinite for an unanswered audit, because the learner must not
/// influence whether and when it is answered, and for a question whose answer was taken back: its label is already bought.
double Desk::worth(const Question& question) const {
  double least = std::numeric_limits<double>::infinity();
  if (question.given.empty() && (question.audit || question.tickets.empty())) return least;
  for (const std::uint64_t ticket : question.tickets) {
    const auto* item = model_.session.pending().find(ticket);
    if (item == nullptr) continue;
    const Example e = item->example();
    const auto about = model_.session.learns_classes() ? examples_of({model_.reduction.first_of(e), e.x}) : std::vector{e};
    least = std::min(least, least_certain(about, false).first);
  }
  return -least;
}

/// Whether a question may be withdrawn: it has tickets and no answer, and is not an audit.
bool Desk::may_go(const Question& question) const {
  return !question.audit && !question.tickets.empty() && question.given.empty();
}

bool Desk::may_answer(const Question& question, const std::string& annotator) const {
  const bool skipped = std::find(question.skipped.begin(), question.skipped.end(), annotator) != question.skipped.end();
  const bool answered = std::any_of(question.given.begin(), question.given.end(),
                                    [&](const Given& given) { return given.annotator == annotator; });
  return !skipped && !answered && (question.holder.empty() || question.until < now_);
}

/// Secret part of the lease hashes: leases cannot be guessed, and do not reveal the question's number.
std::string Desk::lease_key() const {
  return (settings_.secret.empty() ? std::to_string(settings_.learning.seed) : settings_.secret) + " ";
}

/// why: the reason that is stored for the question's current lease, if that has not expired.
void Desk::lease_to(std::uint64_t id, Question& question, const std::string& annotator, std::string_view why) {
  end_lease(question.lease, why.empty() || question.until < now_ ? kExpired : why);
  const std::string nonce = hash128_hex(lease_key() + std::to_string(++leases_)).substr(0, 16);
  question.lease = nonce + hex_of(id ^ hash64(lease_key() + nonce));
  question.holder = annotator;
  question.until = now_ + settings_.desk.lease;
}

/// Stores the reason, with which later requests under this lease are refused.
void Desk::end_lease(std::string_view lease, std::string_view why) {
  if (lease.empty()) return;
  ended_.emplace_back(lease, why);
  if (ended_.size() > kMostEnded) ended_.pop_front();
}

void Desk::refuse_lease(std::string_view lease) const {
  const auto found = std::find_if(ended_.rbegin(), ended_.rend(), [&](const auto& one) { return one.first == lease; });
  throw Refused{Verdict::kGone, "lease: " + (found == ended_.rend() ? "it ended long ago" : found->second)};
}

std::uint64_t Desk::id_of_lease(std::string_view lease) const {
  std::uint64_t hidden = 0;
  const std::string_view nonce = lease.substr(0, 16), number = lease.substr(nonce.size());
  const auto r = std::from_chars(number.data(), number.data() + number.size(), hidden, 16);
  const std::uint64_t id = hidden ^ hash64(lease_key() + std::string(nonce));
  if (number.size() != 16 || r.ec != std::errc{} || r.ptr != number.data() + number.size() || id >= next_question_)
    throw Refused{Verdict::kUnknown, "lease: unknown; ask for the next question"};
  return id;
}

void Desk::check_holder(const std::optional<std::string>& annotator, const std::string& holder) {
  if (annotator && *annotator != holder) throw Refused{Verdict::kForbidden, "lease: it belongs to another annotator"};
}

DeskReply Desk::on(const event::Next& event) {
  const std::string& name = event.annotator;
  bool changed = false;
  const auto nothing = [&](const std::string& reason) {
    return reply({{"question", nullptr}, {"reason", reason}, {"labels", labels_json()}}, changed);
  };
  if (const std::string why = problem(); !why.empty()) return nothing(why);
  std::vector<std::uint64_t> gone;
  std::size_t looked_at = 0;
  for (auto it = open_.rbegin(); it != open_.rend() && may_be_sure() && looked_at < kMostWeighed; ++it)
    if (const auto& [id, question] = *it; question.until < now_ && may_go(question)) {
      ++looked_at;
      if (worth(question) < -kPointless) gone.push_back(id);
    }
  for (const std::uint64_t id : gone) withdraw(id, true, kExpired);
  changed = !gone.empty();
  const std::uint64_t today = answers_today(name), daily = settings_.desk.labels_per_annotator.value_or(~std::uint64_t{0});
  if (today >= daily) return nothing("you have given " + counted(today, "answer") + " in 24 hours, the limit");
  std::vector<std::pair<double, std::uint64_t>> held;
  for (const auto& [id, question] : open_)
    if (question.holder == name && question.until >= now_) held.push_back({question.until, id});
  const auto oldest_held = [&] {
    const std::uint64_t id = std::min_element(held.begin(), held.end())->second;
    return reply({{"question", question_json(id, open_.at(id))}, {"labels", labels_json()}}, changed);
  };
  if (!held.empty() && (held.size() >= event.hold.value_or(kMostHeld) || today + held.size() >= daily)) return oldest_held();
  std::optional<std::pair<double, std::uint64_t>> best;
  std::vector<std::uint64_t> audits;  // not answered yet
  std::size_t weighed = 0, others = 0;
  for (auto it = open_.rbegin(); it != open_.rend() && weighed < kMostWeighed; ++it) {
    if (!may_answer(it->second, name)) continue;
    ++weighed;
    if (it->second.audit && it->second.given.empty()) {
      audits.push_back(it->first);
      continue;
    }
    ++others;
    const double value = worth(it->second);
    if (!best || value > best->first) best = {value, it->first};
  }
  // Audits are mixed at random with the others, so that their order does not reveal them.
  others += std::min(pool_.size(), settings_.desk.open);
  const std::uint64_t lot = hash64("audit " + std::to_string(settings_.learning.seed) + " " + std::to_string(leases_));
  const auto draw_audit = [&] { return !audits.empty() && (others == 0 || lot % (audits.size() + others) < audits.size()); };
  const auto some_audit = [&] { return std::pair{HUGE_VAL, audits[(lot >> 32) % audits.size()]}; };
  if (draw_audit()) best = some_audit();
  const auto from_pool = [&] {
    const auto pick = best_of_pool();
    if (!pick || (best && pick->worth <= best->first)) return;
    changed |= pass_time();
    if (const auto id = ask_from_pool(*pick)) best = {pick->worth, *id};
  };
  if (!best && !model_.session.may_ask_at(now_)) changed |= withdraw_skipped();
  if (model_.session.may_ask_at(now_) && (!best || best->first < 0)) {  // audits and bought labels come before the pool
    const std::uint64_t no_room = model_.session.no_room();
    from_pool();
    if (!best && model_.session.no_room() > no_room && make_room()) {
      changed = true;
      from_pool();
    }
  }
  if (!best && !audits.empty()) best = some_audit();
  if (!best && !held.empty()) return oldest_held();
  if (!best) {
    const LabelBudget& budget = model_.session.budget();
    const auto& rate = budget.limits().rate;
    const auto rate_spent = [&] {
      const std::optional<double> next = rate->seconds ? budget.free_at() : std::nullopt;
      return "the rate of labels, " + to_text(*rate) + ", leaves none now" +
             (next ? "; the next one in " + duration(*next - now_) : "");
    };
    return nothing(!open_.empty()                             ? "the questions that wait are for somebody else"
                   : budget.bought() >= budget.limits().total ? "the label budget is spent"
                   : audits_left() > 0                        ? std::string(kAuditsAlone)
                   : rate && !model_.session.may_ask_at(now_) ? rate_spent()
                                                              : std::string(kNothingAsked));
  }
  annotators_[name];
  Question& question = open_.at(best->second);
  lease_to(best->second, question, name);
  return reply({{"question", question_json(best->second, question)}, {"labels", labels_json()}}, true,
               to_text(Json{{"lease", question.lease}}));
}

DeskReply Desk::on(const event::Skip& event) {
  const std::string& lease = event.lease;
  const std::uint64_t id = id_of_lease(lease);
  const auto found = open_.find(id);
  if (found == open_.end() || found->second.lease != lease) refuse_lease(lease);
  Question& question = found->second;
  check_holder(event.annotator, question.holder);
  ++annotators_[question.holder].skips;
  question.skipped.push_back(question.holder);
  end_lease(lease, "its question was skipped");
  question.release();
  return reply({{"saved", true}, {"ticket", id}, {"labels", labels_json()}}, true);
}

DeskReply Desk::on(const event::Renew& event) {
  const std::string& lease = event.lease;
  const std::uint64_t id = id_of_lease(lease);
  const auto found = open_.find(id);
  if (found == open_.end() || found->second.lease != lease || found->second.holder.empty()) {
    const Question* question = find(id);
    if (question != nullptr && std::ranges::any_of(question->given, [&](const Given& g) { return g.lease == lease; }))
      throw Refused{Verdict::kGone, "lease: its question was answered with it"};
    refuse_lease(lease);
  }
  check_holder(event.annotator, found->second.holder);
  found->second.until = now_ + settings_.desk.lease;
  return reply({{"until", found->second.until}}, true);
}

}  // namespace quorate
