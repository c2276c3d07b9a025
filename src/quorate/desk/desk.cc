#include "quorate/desk/desk.h"

#include <algorithm>
#include <cmath>

#include "quorate/base/counted.h"
#include "quorate/base/hash.h"
#include "quorate/base/portable_math.h"
#include "quorate/engine/explanation.h"
#include "quorate/engine/progressive.h"
#include "quorate/learner.h"
#include "quorate/stream/example_reader.h"

namespace quorate {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostClosed = 10'000;  // questions that can still be undone
constexpr std::size_t kMostSeen = 200'000;   // ids of examples that are known again
constexpr std::size_t kMostWeighed = 256;    // open questions that compete for an annotator, the latest
constexpr std::size_t kMostHeld = 2;         // leases of one annotator, if not given: the question on the page and the next
constexpr std::size_t kMostTimes = 101;      // of an annotator's answers
constexpr std::size_t kMostCurve = 200;
constexpr std::size_t kReasons = 12;
constexpr std::size_t kMostListed = 100;     // open questions in the status
constexpr std::size_t kLongestName = 1'000;  // bytes of an id or a task's name
constexpr double kDay = 86'400;
constexpr std::size_t kMostTried = 128;   // examples of the pool that compete for an annotator
constexpr double kSure = 3;               // log-odds of a prediction beyond which an example of the pool is not asked
constexpr double kPointless = 6;          // log-odds of a prediction that nobody needs to confirm
constexpr std::uint64_t kFewLabels = 50;  // by which no prediction is sure
constexpr double kHold = 30;              // seconds, for learners that cannot be rebuilt
constexpr std::size_t kMostLines = std::size_t{64} << 20;   // bytes of examples in the pool, and of closed questions
constexpr std::size_t kSavedAtOnce = std::size_t{1} << 16;  // bytes

/// A refusal: nothing has changed.
struct Refused {
  int status;
  std::string detail;
  std::string reason = {};  // for programs, where the status does not tell
};

/// The text of a reply. Bytes that are not UTF-8, which an error may quote, are replaced.
std::string to_text(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

std::string text_of(const Json& event, const char* key) {
  const auto found = event.find(key);
  if (found == event.end() || !found->is_string() || found->get_ref<const std::string&>().empty())
    throw Refused{400, std::string(key) + ": expected a text"};
  return *found;
}

/// An event that names its annotator is about a lease of theirs.
void check_holder(const Json& event, const std::string& holder) {
  if (event.contains("annotator") && event["annotator"] != holder)
    throw Refused{403, "lease: it belongs to another annotator"};
}

Json interval_json(const Accuracy& a) {
  if (a.audits == 0) return nullptr;
  return {{"value", a.value}, {"low", a.low}, {"high", a.high}, {"audits", a.audits}};
}

Model make_model(const DeskSettings& s) {
  const Spec learner = parse_spec(s.learner);
  SessionOptions options = s.learning.session();
  if (s.learning.rounds && *s.learning.rounds == Rounds::kPerTask)
    throw UsageError("--rounds per-task: questions are asked about each example as it comes; leave it out");
  if (capabilities(learner).selects)
    throw UsageError(to_text(canonical(learner)) +
                     " selects among the examples of a round; expected a learner that decides about each, as cohort");
  if (s.classes.empty()) {
    if (s.positive.empty() || s.negative.empty() || s.positive == s.negative)
      throw UsageError("labels '" + s.positive + "' and '" + s.negative +
                       "': expected two words, --positive and --negative, or --classes");
    Labels labels(s.positive);
    labels.restore(s.positive, s.negative);
    return Model::make(learner, options, s.features, std::move(labels));
  }
  const auto reduction = reduction_named(s.reduction);
  if (!reduction) throw UsageError("reduction " + s.reduction + ": expected one-vs-rest or one-vs-one");
  const bool users = capabilities(learner).groups;
  return Model::make(learner, options, s.features, Labels::of_classes(ClassNames(s.classes), false),
                     Classes(*reduction, s.classes, users));
}

}  // namespace

Desk::Desk(const DeskSettings& settings) : settings_(settings), model_(make_model(settings)) {
  model_.session.keep_waiting();  // what waits was shown to somebody: the desk itself withdraws, and says so
  model_bytes_ = model_.bytes();
}

Desk::Desk(const DeskSettings& settings, Model model, std::string_view state)
    : settings_(settings), model_(std::move(model)) {
  model_.session.keep_waiting();
  model_bytes_ = model_.bytes();
  try {
    const Json in = Json::parse(state);
    now_ = in.at("now");
    next_question_ = in.at("next_question");
    leases_ = in.at("leases");
    gifts_ = in.at("gifts");
    posted_ = in.at("posted");
    const auto questions = [](const Json& list, std::map<std::uint64_t, Question>& into) {
      for (const Json& q : list) {
        Question& out = into[q.at("id")];
        out.tickets = q.at("tickets").get<std::vector<std::uint64_t>>();
        out.labels = q.at("labels").get<std::vector<std::uint64_t>>();
        out.about.example = q.at("example");
        out.about.task = q.at("task");
        out.about.line = q.at("line");
        out.audit = q.at("audit");
        out.second = q.at("second");
        out.asked = q.at("asked");
        out.probability = q.at("probability");
        out.lease = q.at("lease");
        out.holder = q.at("holder");
        out.until = q.at("until");
        out.skipped = q.at("skipped").get<std::vector<std::string>>();
        for (const Json& g : q.at("given")) out.given.push_back({g.at(0), g.at(1), g.at(2), g.at(3)});
        out.settled = q.at("settled");
        out.unasked = q.value("unasked", false);
        out.held = q.value("held", false);
        if (q.contains("worth")) {
          out.worth = q["worth"];
          out.weighed_at = q.at("weighed_at");
        }
      }
    };
    questions(in.at("open"), open_);
    questions(in.at("closed"), closed_);
    for (const auto& [id, q] : closed_) closed_bytes_ += q.about.line.size();
    for (const auto& [name, a] : in.at("annotators").items())
      annotators_[name] = {a.at("answers"),
                           a.at("skips"),
                           a.at("agreed"),
                           a.at("compared"),
                           a.at("seconds").get<std::deque<double>>(),
                           a.at("times").get<std::deque<double>>(),
                           a.at("latest").get<std::deque<std::uint64_t>>()};
    for (const Json& pair : in.at("seen")) {
      seen_order_.push_back(pair.at(0));
      seen_[pair.at(0)] = pair.at(1);
    }
    for (const Json& p : in.at("pool")) pool_.push_back({p.at(0), p.at(1), p.at(2)});
    for (const Json& p : in.at("curve")) curve_.push_back({p.at(0), p.at(1), p.at(2), p.at(3)});
    if (in.contains("held"))
      for (const Json& p : in["held"]) held_.push_back({p.at(0), p.at(1)});
    if (in.contains("waiting")) waiting_ = in["waiting"].get<std::deque<std::uint64_t>>();
    full_ = in.value("full", full_);
    unlearned_ = in.value("unlearned", unlearned_);
  } catch (const nlohmann::json::exception& e) {
    throw DataError(std::string("state of the desk: ") + e.what());
  }
}

std::string Desk::save() const {
  std::string out;
  save([&out](std::string_view part) { out += part; });
  return out;
}

void Desk::save(const std::function<void(std::string_view part)>& write) const {
  std::string text;  // that waits to be written; one JSON text of all would take several times the memory of the desk
  const auto put = [&](const std::string& part) {
    text += part;
    if (text.size() < kSavedAtOnce) return;
    write(text);
    text.clear();
  };
  const auto list = [&](const char* name, const auto& from, auto to_json) {
    put(std::string(",\"") + name + "\":[");
    bool first = true;
    for (const auto& item : from) {
      put((first ? "" : ",") + Json(to_json(item)).dump());
      first = false;
    }
    put("]");
  };
  const auto question = [](const auto& item) {
    const auto& [id, q] = item;
    Json given = Json::array();
    for (const Given& g : q.given) given.push_back({g.annotator, g.label, g.lease, g.at});
    Json out{{"id", id},
             {"tickets", q.tickets},
             {"labels", q.labels},
             {"example", q.about.example},
             {"task", q.about.task},
             {"line", q.about.line},
             {"audit", q.audit},
             {"second", q.second},
             {"asked", q.asked},
             {"probability", q.probability},
             {"lease", q.lease},
             {"holder", q.holder},
             {"until", q.until},
             {"skipped", q.skipped},
             {"given", given},
             {"settled", q.settled},
             {"unasked", q.unasked}};
    if (q.held) out["held"] = true;
    if (q.weighed_at) {
      out["worth"] = q.worth;
      out["weighed_at"] = *q.weighed_at;
    }
    return out;
  };
  Json annotators = Json::object();
  for (const auto& [name, a] : annotators_)
    annotators[name] = {{"answers", a.answers}, {"skips", a.skips}, {"agreed", a.agreed}, {"compared", a.compared},
                        {"seconds", a.seconds}, {"times", a.times}, {"latest", a.latest}};
  std::string head =
      Json{{"now", now_}, {"next_question", next_question_}, {"leases", leases_}, {"gifts", gifts_}, {"posted", posted_}}
          .dump();
  head.pop_back();
  put(head);
  list("open", open_, question);
  list("closed", closed_, question);
  put(",\"annotators\":" + annotators.dump());
  list("seen", seen_order_, [this](std::uint64_t hash) { return Json{hash, seen_.at(hash)}; });
  list("pool", pool_, [](const Posted& p) { return Json{p.example, p.task, p.line}; });
  list("curve", curve_, [](const CurvePoint& p) { return Json{p.labels, p.value, p.low, p.high}; });
  if (!held_.empty()) put(",\"held\":" + Json(held_).dump());
  if (!waiting_.empty()) put(",\"waiting\":" + Json(waiting_).dump());
  if (!full_.empty()) put(",\"full\":" + Json(full_).dump());
  if (unlearned_ > 0) put(",\"unlearned\":" + Json(unlearned_).dump());
  text += "}";
  write(text);
}

DeskReply Desk::reply(const Json& body, bool changed) const { return {200, to_text(body), changed}; }

DeskReply Desk::apply(std::string_view event) {
  DeskReply out = carry_out(event);
  model_bytes_ = model_.bytes();
  return out;
}

DeskReply Desk::carry_out(std::string_view text) {
  const double before = now_;
  bool learned = false;  // answers that were held back: then the event belongs in the journal, whatever becomes of it
  const auto refused = [&](int status, const std::string& detail, const std::string& reason = "") -> DeskReply {
    if (!learned) now_ = before;
    Json body{{"detail", detail}};
    if (!reason.empty()) body["reason"] = reason;
    return {status, to_text(body), learned};
  };
  try {
    const std::size_t end = text.find('\n');
    const Json event = Json::parse(text.substr(0, end));
    if (!event.is_object() || !event.contains("at") || !event["at"].is_number())
      throw Refused{400, "at: expected a time in seconds"};
    now_ = std::max(now_, event["at"].get<double>());
    const std::string what = text_of(event, "do");
    learned = learn_due();
    if (what == "examples") return examples(end == text.npos ? std::string_view() : text.substr(end + 1));
    using Handler = DeskReply (Desk::*)(const Json&);
    constexpr std::pair<std::string_view, Handler> kHandlers[] = {{"next", &Desk::next},
                                                                  {"answer", &Desk::answer},
                                                                  {"skip", &Desk::skip},
                                                                  {"undo", &Desk::undo},
                                                                  {"renew", &Desk::renew},
                                                                  {"put", &Desk::put},
                                                                  {"decide", &Desk::decide},
                                                                  {"limits", &Desk::limits},
                                                                  {"tick", &Desk::tick},
                                                                  {"forget_task", &Desk::forget_task},
                                                                  {"forget_example", &Desk::forget_example}};
    for (const auto& [name, handler] : kHandlers)
      if (name == what) {
        DeskReply out = (this->*handler)(event);
        out.changed |= learned;
        if (!out.changed) now_ = before;
        return out;
      }
    throw Refused{400, "do: unknown event '" + what + "'"};
  } catch (const Refused& e) {
    return refused(e.status, e.detail, e.reason);
  } catch (const nlohmann::json::exception& e) {
    return refused(400, std::string("event: ") + e.what());
  } catch (const UsageError& e) {
    return refused(422, e.what());
  } catch (const Error& e) {  // some of the event may have happened, and happens again when it is replayed
    const bool memory = dynamic_cast<const MemoryError*>(&e) != nullptr;
    return {memory ? 507 : 422, to_text(Json{{"detail", e.what()}}), true};
  }
}

template <class Begin, class Use, class Bad>
void Desk::read(std::string_view lines, Begin begin, Use use, Bad bad) const {
  ReadOptions options = of_model(settings_.reading, model_.featurizer);
  options.format = "jsonl";
  options.bytes = &lines;
  std::unique_ptr<RecordReader> reader;
  try {
    reader = open_reader("examples", options);
  } catch (const Error& e) {
    throw Refused{400, e.what()};
  }
  begin(*reader);
  Record record;
  std::string_view rest = lines;
  std::uint64_t at = 1;
  for (;;) try {
      if (!reader->next(record)) return;
      for (; at < reader->line_number(); ++at) rest.remove_prefix(rest.find('\n') + 1);
      use(record, rest.substr(0, rest.find('\n')));
    } catch (const LineError& e) {
      bad(reader->line_number(), e.what());
    } catch (const DataError&) {  // the end, and every line was bad
      return;
    }
}

template <class Use, class Bad>
void Desk::look_at(std::string_view lines, Use use, Bad bad) const {
  Featurizer::Scratch scratch;
  std::vector<Index> columns;
  read(
      lines, [&](const RecordReader& reader) { columns = model_.featurizer.columns(reader.columns(), reader.path()); },
      [&](const Record& record, std::string_view) { use(record, model_.featurizer(record, columns, scratch), columns); },
      bad);
}

namespace {

/// What becomes of a line that cannot be used: its place among the results.
auto bad_line(Json& results) {
  return [&](std::uint64_t number, const std::string& what) { results.push_back({{"line", number}, {"error", what}}); };
}

}  // namespace

DeskReply Desk::examples(std::string_view lines) {
  if (lines.find_first_not_of(" \t\r\n") == lines.npos) throw Refused{400, "examples: expected a line of JSON for each"};
  Json results = Json::array();
  std::uint64_t asked = 0;
  read(
      lines,
      [&](const RecordReader& reader) {
        model_.featurizer.begin(reader);
        model_.begin_file();
      },
      [&](const Record& record, std::string_view line) {
        Json result = arrive(record, model_.featurizer(record), line);
        asked += result.value("asked", false);
        results.push_back(std::move(result));
      },
      bad_line(results));
  return {200, to_text(Json{{"examples", results}, {"asked", asked}, {"labels", labels_json()}}), true};
}

void Desk::put_prediction(Json& out, Classes::Work& work) const {
  const Learner& learner = model_.session.learner();
  const bool calibrated = learner.capabilities().calibrated;
  if (model_.classes) {
    const Classes::Prediction p = model_.classes->predict(learner, calibrated, work);
    out["label"] = model_.classes->name(p.index);
    out["margin"] = p.margin;
    for (std::size_t c = 0; c < work.probabilities.size(); ++c)
      out["probabilities"][model_.classes->name(c)] = work.probabilities[c];
    return;
  }
  const double margin = work.margins[0];
  out["label"] = quorate::predicted(margin) > 0 ? settings_.positive : settings_.negative;
  out["margin"] = margin;
  if (calibrated) out["probability"] = logistic(learner.log_odds(margin));
}

void Desk::put_prediction(Json& out, Task first, const Features& x) const {
  const Learner& learner = model_.session.learner();
  Classes::Work work;
  if (model_.classes)
    model_.classes->score(learner, first, x, work.margins);
  else
    work.margins.assign(1, learner.score({first, x}));
  put_prediction(out, work);
}

Task Desk::known_task(std::string_view task) const { return model_.by_task() ? model_.session.known_task(task) : 0; }

std::vector<Example> Desk::examples_of(Task first, const Features& x, double weight) const {
  std::vector<Example> out;
  if (model_.classes)
    model_.classes->add_examples(first, x, out, weight);
  else
    out.push_back({first, x, 0, weight});
  return out;
}

Label Desk::label_of(std::string_view word) const {
  if (model_.classes) {
    const auto& names = model_.classes->names();
    const auto found = std::find(names.begin(), names.end(), word);
    return found == names.end() ? Label() : Label::of_class(static_cast<std::size_t>(found - names.begin()));
  }
  return word == settings_.positive ? Label(kYes) : word == settings_.negative ? Label(kNo) : Label();
}

std::vector<std::string> Desk::choices() const {
  return model_.classes ? model_.classes->names() : std::vector<std::string>{settings_.negative, settings_.positive};
}

std::string Desk::new_id() const {
  for (std::uint64_t n = posted_ + 1;; ++n)
    if (std::string id = "#" + std::to_string(n); !seen_.contains(hash64(id))) return id;
}

Json Desk::arrive(const Record& record, const Features& x, std::string_view line) {
  Session& session = model_.session;
  const std::string id = record.id.empty() ? new_id() : std::string(record.id);
  const std::string task(record.task.empty() ? kOnlyTask : record.task);
  for (const auto& [what, text] : {std::pair{"id", &id}, std::pair{"task", &task}})
    if (text->size() > kLongestName)
      return {{"error", std::string(what) + " of " + std::to_string(text->size()) + " bytes: expected at most " +
                            std::to_string(kLongestName)}};
  Json out{{"id", id}, {"task", task}};
  const Label label = label_of(record.label);
  if (!record.label.empty() && !label.known()) {
    const std::vector<std::string> words = choices();
    out["error"] = "label '" + std::string(record.label) + "': expected one of " +
                   joined(std::vector<std::string_view>(words.begin(), words.end()));
    return out;
  }
  const std::uint64_t hash = hash64(id);
  const auto before = seen_.find(hash);
  const bool known = before != seen_.end();
  if (known && !take_late_label(before->second, id, label)) {
    out["known"] = true;
    put_prediction(out, known_task(task), x);
    return out;
  }
  const Task first = model_.by_task() ? session.task(task) : 0;
  if (!known) {
    ++posted_;
    seen_order_.push_back(hash);
    if (seen_order_.size() > kMostSeen) {
      seen_.erase(seen_order_.front());
      seen_order_.pop_front();
    }
  }
  seen_[hash] = 0;
  session.set_time(now_);
  Question question = question_about({id, task, std::string(line)});
  const std::vector<Example> round = examples_of(first, x, record.weight);
  if (label.known()) {
    put_prediction(out, first, x);
    ++gifts_;
    if (!known) session.see(x);
    give(question, round, label);
    const std::uint64_t number = number_of(question);
    archive(number, std::move(question));  // so that it can be forgotten
    out["learned"] = true;
    return out;
  }
  const std::uint64_t no_room = session.no_room();
  const auto outcomes = run_round(session, {round, round.size()}, [](std::size_t) { return Reply::later(); });
  if (session.no_room() > no_room) make_room();  // for those that come later; this one competes in the pool
  Classes::Work work;
  for (const Outcome& outcome : outcomes) {
    work.margins.push_back(outcome.decision.margin);
    if (outcome.ticket) {
      question.tickets.push_back(*outcome.ticket);
      question.audit |= outcome.audited;
      question.worth = std::max(question.worth, -sureness(outcome.decision.margin));
      question.probability = std::min(question.probability, outcome.decision.probability);
    }
  }
  if (!question.audit) question.weighed_at = session.total().labels;
  put_prediction(out, work);
  out["asked"] = !question.tickets.empty();
  if (question.tickets.empty()) {
    pool(std::move(question.about));
    return out;
  }
  out["ticket"] = open(std::move(question));
  withdraw_surest();
  return out;
}

Desk::Question Desk::question_about(Posted about) const {
  Question out;
  out.about = std::move(about);
  out.asked = now_;
  return out;
}

/// The next number, by which the example is found from now on.
std::uint64_t Desk::number_of(const Question& question) {
  if (const auto seen = seen_.find(hash64(question.about.example)); seen != seen_.end()) seen->second = next_question_ + 1;
  return next_question_++;
}

std::uint64_t Desk::open(Question question) {
  const std::uint64_t number = number_of(question);
  question.second = !question.audit && wants_second(number);
  open_.emplace(number, std::move(question));
  return number;
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

/// Once a quarter more questions than allowed are open, so it happens seldom. They are weighed anew only when a label was
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
  for (std::size_t i = 0; i < weighed.size() && open_.size() > most; ++i) withdraw(weighed[i].second, true);
}

/// Of the questions that nobody holds, the surest quarter goes to the pool. False if there is none.
bool Desk::make_room() {
  std::vector<std::pair<double, std::uint64_t>> weighed;
  for (const auto& [id, question] : open_)
    if (may_go(question) && (question.holder.empty() || question.until < now_)) weighed.push_back({worth(question), id});
  std::sort(weighed.begin(), weighed.end());
  for (std::size_t i = 0; i < (weighed.size() + 3) / 4; ++i) withdraw(weighed[i].second, true);
  return !weighed.empty();
}

void Desk::withdraw(std::uint64_t id, bool to_pool) {
  const auto found = open_.find(id);
  Question& question = found->second;
  for (const std::uint64_t ticket : question.tickets) model_.session.withdraw(ticket);
  if (to_pool) {
    if (const auto seen = seen_.find(hash64(question.about.example)); seen != seen_.end()) seen->second = 0;
    pool(std::move(question.about));
  }
  open_.erase(found);
}

void Desk::pool(Posted about) {
  std::size_t bytes = about.line.size();
  if (bytes * (settings_.desk.pool + 1) > kMostLines)
    for (const Posted& item : pool_) bytes += item.line.size();
  pool_.push_back(std::move(about));
  for (; pool_.size() > settings_.desk.pool || (bytes > kMostLines && pool_.size() > 1); pool_.pop_front())
    bytes -= std::min(bytes, pool_.front().line.size());
}

/// How far the prediction is from being a toss-up: log-odds where the learner has them, else the margin.
double Desk::sureness(double margin) const {
  const Learner& learner = model_.session.learner();
  return std::abs(learner.capabilities().calibrated ? learner.log_odds(margin) : margin);
}

double Desk::sureness(const Example& e) const { return sureness(model_.session.learner().score(e)); }

bool Desk::may_be_sure() const {
  return model_.session.learner().capabilities().calibrated && model_.session.total().labels >= kFewLabels;
}

/// The most uncertain of some of the pool, spread over it, others each time.
std::optional<Desk::Pick> Desk::best_of_pool() const {
  const double least = may_be_sure() ? -kSure : -HUGE_VAL;
  const std::size_t step = std::max<std::size_t>(1, pool_.size() / kMostTried);
  std::string lines;  // read in one go
  for (std::size_t i = leases_ % step; i < pool_.size(); i += step) lines += pool_[i].line + "\n";
  std::optional<Pick> best;
  std::size_t place = leases_ % step;
  if (!lines.empty())
    look_at(
        lines,
        [&](const Record&, const Features& x, const auto&) {
          const std::vector<Example> examples = examples_of(known_task(pool_[place].task), x);
          for (std::size_t n = 0; n < examples.size(); ++n)
            if (const double worth = -sureness(examples[n]); worth >= least && (!best || worth > best->worth))
              best = {worth, place, n};
          place += step;
        },
        [&](std::uint64_t, const std::string&) { place += step; });
  return best;
}

/// Of classes, asks about the one that makes it worth most.
std::optional<std::uint64_t> Desk::ask_from_pool(const Pick& pick) {
  Question question = question_about(pool_[pick.place]);
  with_examples(question, [&](const std::vector<Example>& examples) {
    if (const auto ticket = model_.session.ask(examples[pick.example])) question.tickets.push_back(*ticket);
  });
  if (question.tickets.empty()) return std::nullopt;
  pool_.erase(pool_.begin() + static_cast<std::ptrdiff_t>(pick.place));
  return open(std::move(question));
}

template <class Use>
void Desk::with_examples(const Question& question, Use use) const {
  look_at(
      question.about.line,
      [&](const Record& record, const Features& x, const auto&) {
        use(examples_of(known_task(question.about.task), x, record.weight));
      },
      [](std::uint64_t, const std::string&) {});
}

bool Desk::wants_second(std::uint64_t question) const {
  const std::uint64_t draw = hash64("opinion " + std::to_string(question));
  return static_cast<double>(draw >> 11) * 0x1p-53 < settings_.desk.opinions;
}

/// An example that is known comes again, with its label. Its question, if it waits, is withdrawn. False if there is none to
/// take: nobody knows it, or the example has one.
bool Desk::take_late_label(std::uint64_t state, const std::string& id, Label label) {
  if (!label.known()) return false;
  if (state > 0) {
    const auto found = open_.find(state - 1);
    if (found == open_.end() || !found->second.given.empty() || found->second.tickets.empty()) return false;
    withdraw(state - 1, false);
  }
  std::erase_if(pool_, [&](const Posted& item) { return item.example == id; });
  return true;
}

const Desk::Question* Desk::find(std::uint64_t id) const {
  for (const auto* all : {&open_, &closed_})
    if (const auto found = all->find(id); found != all->end()) return &found->second;
  return nullptr;
}

const Desk::Posted* Desk::about(std::uint64_t ticket) const {
  const Question* question = find(ticket);
  return question == nullptr ? nullptr : &question->about;
}

Desk::Question* Desk::find(std::uint64_t id) { return const_cast<Question*>(std::as_const(*this).find(id)); }

/// The ticket, or that of the question about the example now: one that is withdrawn may be asked again.
std::uint64_t Desk::number_about(std::uint64_t ticket, const std::string& example) const {
  if (find(ticket) != nullptr) return ticket;
  const auto seen = seen_.find(hash64(example));
  return seen != seen_.end() && seen->second > 0 ? seen->second - 1 : ticket;
}

/// How uncertain the prediction is now; larger is worth more. Audits come first, as their answers must not depend on what
/// the learner thinks of them.
double Desk::worth(const Question& question) const {
  double least = std::numeric_limits<double>::infinity();
  if (question.audit || question.tickets.empty()) return least;
  for (const std::uint64_t ticket : question.tickets)
    if (const auto* item = model_.session.pending().find(ticket)) least = std::min(least, sureness(item->example()));
  return -least;
}

/// Nobody has answered, and the answer is not needed to measure anything.
bool Desk::may_go(const Question& question) const {
  return !question.audit && !question.tickets.empty() && question.given.empty();
}

bool Desk::may_answer(const Question& question, const std::string& annotator) const {
  const bool skipped = std::find(question.skipped.begin(), question.skipped.end(), annotator) != question.skipped.end();
  const bool answered = std::any_of(question.given.begin(), question.given.end(),
                                    [&](const Given& given) { return given.annotator == annotator; });
  return !skipped && !answered && (question.holder.empty() || question.until < now_);
}

void Desk::lease_to(std::uint64_t id, Question& question, const std::string& annotator) {
  const std::string seed = std::to_string(settings_.learning.seed) + " " + std::to_string(++leases_);
  question.lease = std::to_string(id) + "-" + hash128_hex(seed).substr(0, 16);
  question.holder = annotator;
  question.until = now_ + settings_.desk.lease;
}

Json Desk::labels_json() const {
  const Session& s = model_.session;
  const std::uint64_t limit = s.budget().limits().total;
  std::uint64_t waiting = s.pending().size();
  for (const auto& [due, id] : held_) waiting -= find(id)->tickets.size();  // answered: bought, though not learned from yet
  for (const std::uint64_t id : waiting_) waiting -= find(id)->tickets.size();
  return {{"bought", s.budget().bought() - waiting},
          {"limit", limit == LabelLimits::kNone ? Json(nullptr) : Json(limit)},
          {"waiting", open_.size()},
          {"audits", s.audit() != nullptr ? s.audit()->bought() : 0}};
}

Json Desk::fields_json(const Question& question) const {
  Json out = Json::array();
  const Schema& schema = model_.featurizer.schema();
  const ReadOptions& names = settings_.reading;
  const auto kind = [&](const std::string& name) -> std::string_view {
    if (const auto place = schema.place(name)) return word_of(schema.kind(*place));
    // Lines with x have no schema.
    if (name == (names.id.empty() ? "id" : names.id)) return "id";
    if (name == (names.task.empty() ? "task" : names.task)) return "task";
    return name == (names.label.empty() ? "label" : names.label) ? "label" : "text";
  };
  const Json line = Json::parse(question.about.line, nullptr, false);
  if (!line.is_object()) return out;
  const auto add = [&](const auto& self, const std::string& key, const Json& value) -> void {
    if (value.is_object()) {
      for (const auto& [name, inner] : value.items()) self(self, key.empty() ? name : key + "." + name, inner);
      return;
    }
    const std::string_view role = kind(key);
    if (role == "id" || role == "task" || role == "label" || role == "ignored" || value.is_null()) return;
    const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
    const bool image = text.starts_with("data:image/");
    out.push_back({{"name", key},
                   {"kind", image            ? "image"
                            : role == "flag" ? "category"
                                             : std::string(role)},
                   {"value", text}});
  };
  add(add, "", line);
  return out;
}

Json Desk::question_json(std::uint64_t id, const Question& question) const {
  return {{"lease", question.lease},
          {"ticket", id},
          {"example", question.about.example},
          {"task", question.about.task},
          {"prompt", settings_.desk.prompt.empty() ? "Which label?" : settings_.desk.prompt},
          {"fields", fields_json(question)},
          {"choices", choices()},
          {"until", question.until},
          {"seconds", settings_.desk.lease}};
}

/// Those that were taken back are not counted; those that are held back are.
std::uint64_t Desk::answers_today(const std::string& annotator) const {
  const auto found = annotators_.find(annotator);
  if (found == annotators_.end()) return 0;
  const auto& times = found->second.times;
  return static_cast<std::uint64_t>(
      std::count_if(times.begin(), times.end(), [&](double time) { return time > now_ - kDay; }));
}

DeskReply Desk::next(const Json& event) {
  const std::string name = text_of(event, "annotator");
  std::vector<std::uint64_t> gone;
  std::size_t looked_at = 0;
  for (auto it = open_.rbegin(); it != open_.rend() && may_be_sure() && looked_at < kMostWeighed; ++it)
    if (const auto& [id, question] = *it; question.until < now_ && may_go(question)) {
      ++looked_at;
      if (worth(question) < -kPointless) gone.push_back(id);
    }
  for (const std::uint64_t id : gone) withdraw(id, true);
  bool changed = !gone.empty();
  const auto nothing = [&](const std::string& reason) {
    return reply({{"question", nullptr}, {"reason", reason}, {"labels", labels_json()}}, changed);
  };
  if (!full_.empty()) return nothing(problem());
  const std::uint64_t today = answers_today(name), daily = settings_.desk.labels_per_annotator.value_or(~std::uint64_t{0});
  if (today >= daily) return nothing("you have given " + counted(today, "answer") + " in 24 hours, the limit");
  std::vector<std::pair<double, std::uint64_t>> held;
  for (const auto& [id, question] : open_)
    if (question.holder == name && question.until >= now_) held.push_back({question.until, id});
  const auto oldest_held = [&] {
    const std::uint64_t id = std::min_element(held.begin(), held.end())->second;
    return reply({{"question", question_json(id, open_.at(id))}, {"labels", labels_json()}}, changed);
  };
  if (!held.empty() && (held.size() >= event.value("hold", kMostHeld) || today + held.size() >= daily)) return oldest_held();
  std::optional<std::pair<double, std::uint64_t>> best;
  std::size_t weighed = 0;
  for (auto it = open_.rbegin(); it != open_.rend() && weighed < kMostWeighed; ++it) {
    if (!may_answer(it->second, name)) continue;
    ++weighed;
    const double value = worth(it->second);
    if (!best || value > best->first) best = {value, it->first};
  }
  const LabelBudget& budget = model_.session.budget();
  const auto& rate = budget.limits().rate;
  const auto from_pool = [&] {
    const auto pick = best_of_pool();
    if (!pick || (best && pick->worth <= best->first)) return;
    if (rate && rate->seconds) {  // the label is bought now, not when the last example came
      model_.session.pass_time(now_);
      changed = true;
    }
    if (const auto id = ask_from_pool(*pick)) best = {pick->worth, *id};
  };
  if (budget.left_at(rate && rate->seconds ? now_ : budget.clock()) &&
      (!best || best->first < 0)) {  // what others have to be asked about comes before the pool
    const std::uint64_t no_room = model_.session.no_room();
    from_pool();
    if (!best && model_.session.no_room() > no_room && make_room()) {
      changed = true;
      from_pool();
    }
  }
  if (!best && !held.empty()) return oldest_held();
  if (!best)
    return nothing(!open_.empty()                             ? "the questions that wait are for somebody else"
                   : budget.bought() >= budget.limits().total ? "the label budget is spent"
                                                              : "nothing is asked now");
  annotators_[name];
  lease_to(best->second, open_.at(best->second), name);
  return reply({{"question", question_json(best->second, open_.at(best->second))}, {"labels", labels_json()}}, true);
}

std::uint64_t Desk::id_of_lease(std::string_view lease) const {
  std::uint64_t id = 0;
  const auto r = std::from_chars(lease.data(), lease.data() + lease.size(), id);
  if (r.ec != std::errc{} || r.ptr == lease.data() + lease.size() || *r.ptr != '-')
    throw Refused{404, "lease: unknown; ask for the next question"};
  return id;
}

void Desk::note_label(Question& question, const std::optional<Outcome>& outcome) {
  if (outcome && outcome->label) question.labels.push_back(*outcome->label);
}

void Desk::give(Question& question, std::span<const Example> round, Label label, std::string_view annotator) {
  for (const Example& e : round)
    if (const Reply reply = reply_of(label, model_.classes ? &*model_.classes : nullptr, e); reply.answered())
      note_label(question, model_.session.give(e, reply.answer(), annotator));
}

/// The label of an answer reaches the learner. Throws MemoryError; then no answer is taken any more.
void Desk::learn(Question& question, Label label, std::string_view annotator) {
  Session& session = model_.session;
  try {
    bool waited = false;
    for (const std::uint64_t ticket : question.tickets)
      if (const auto* item = session.pending().find(ticket)) {
        const Reply reply = reply_of(label, model_.classes ? &*model_.classes : nullptr, item->example());
        waited = true;
        note_label(question, session.answer(ticket, reply.answer(), annotator));
      }
    if (!waited)  // taken back before: the label is paid for
      with_examples(question, [&](const std::vector<Example>& round) { give(question, round, label, annotator); });
  } catch (const MemoryError& e) {
    full_ = e.what();
    throw;
  }
}

void Desk::check_memory() const {
  if (!full_.empty()) throw Refused{507, problem()};
}

/// Why no answer is taken; empty: they are.
std::string Desk::problem() const {
  if (full_.empty()) return "";
  return "the learner cannot learn any more: " + full_ + "; expected a larger --memory in a new folder, or " +
         "something forgotten" +
         (waiting_.empty()
              ? ""
              : ". Of the answers saved, " + counted(waiting_.size(), "answer") + " will be learned from then") +
         (unlearned_ == 0 ? "" : ". Of the answers saved, " + counted(unlearned_, "answer") + " could not be learned from");
}

double Desk::hold() const {
  return settings_.desk.hold.value_or(model_.session.learner().capabilities().rebuilds ? 0 : kHold);
}

/// The question's answer, which is held back, is no more.
void Desk::let_go(std::uint64_t id, Question& question) {
  question.held = false;
  std::erase_if(held_, [&](const auto& item) { return item.second == id; });
  std::erase(waiting_, id);
}

/// If the question's answer is held back, it is no more: it is learned from, or waits for memory.
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

/// Something was forgotten: the learner may have memory again.
void Desk::has_room() {
  full_.clear();
  for (; !waiting_.empty(); waiting_.pop_back()) held_.push_front({now_, waiting_.back()});
}

/// Answers held back long enough; whether there were any.
bool Desk::learn_due() {
  bool any = false;
  for (; !held_.empty() && held_.front().first <= now_; any = true) learn_held(std::uint64_t{held_.front().second});
  return any;
}

/// The learner never had the question's label, which stays bought; one that was held back was never bought.
void Desk::unlearn(std::uint64_t id, Question& question) {
  if (question.held) return let_go(id, question);
  if (!model_.session.learner().capabilities().rebuilds)
    throw Refused{409, "this answer cannot be taken back any more: it was learned from, and " +
                           parse_spec(settings_.learner).word + " cannot unlearn" +
                           (hold() > 0 ? "; answers wait " + shortest(hold()) + " s before that (--hold)" : "; see --hold")};
  if (!question.labels.empty()) model_.session.undo(question.labels);
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
  const Accuracy a = audit->recent();
  if (a.audits == 0) return;
  curve_.push_back({labels, a.value, a.low, a.high});
  if (curve_.size() <= kMostCurve) return;
  std::vector<CurvePoint> half;
  for (std::size_t i = 0; i < curve_.size(); i += 2) half.push_back(curve_[i]);
  curve_ = std::move(half);
}

/// Two annotators' answers count as compared, or (by = -1) no longer.
void Desk::compare(const Question& question, int by) {
  for (const Given& given : question.given) {
    Annotator& annotator = annotators_[given.annotator];
    annotator.compared += static_cast<std::uint64_t>(by);
    if (question.agrees()) annotator.agreed += static_cast<std::uint64_t>(by);
  }
}

void Desk::note_answer(std::uint64_t id, const Given& given, const Json& event) {
  Annotator& annotator = annotators_[given.annotator];
  ++annotator.answers;
  annotator.times.push_back(now_);
  while (annotator.times.front() <= now_ - kDay) annotator.times.pop_front();
  if (event.contains("seconds") && event["seconds"].is_number()) {
    annotator.seconds.push_back(std::clamp(event["seconds"].get<double>(), 0.0, kDay));
    if (annotator.seconds.size() > kMostTimes) annotator.seconds.pop_front();
  }
  annotator.latest.push_back(id);
  if (annotator.latest.size() > kMostTimes) annotator.latest.pop_front();
}

/// An open question is answered, or answered a second time.
void Desk::take_answer(std::uint64_t id, Question& question, Given given, const Json& event) {
  if (question.given.empty()) {
    check_memory();
    // An audit's answer cannot be taken back, and one whose question was withdrawn has no label of the budget to wait with.
    if (const double wait = hold(); wait > 0 && !question.audit && !question.tickets.empty()) {
      question.held = true;
      held_.push_back({now_ + wait, id});
    } else {
      try {
        learn(question, label_of(given.label), given.annotator);
      } catch (const MemoryError&) {  // nobody can answer it
        drop(id);
        throw;
      }
    }
  }
  question.release();
  note_answer(id, given, event);
  question.given.push_back(std::move(given));
  if (question.given.size() > 1) compare(question, 1);
  if (!question.second || question.given.size() > 1) close(id);
  note_curve();
}

/// The answer was never given, and its question is open.
void Desk::take_back(std::uint64_t id, Question& question, std::vector<Given>::iterator given) {
  if (question.audit) throw Refused{409, "this answer cannot be taken back: it measured the accuracy and is counted"};
  if (given == question.given.begin()) {
    if (question.given.size() > 1) throw Refused{409, "this answer cannot be taken back: somebody gave a second opinion"};
    unlearn(id, question);
    question.settled.clear();
  } else {
    compare(question, -1);
  }
  Annotator& annotator = annotators_[given->annotator];
  --annotator.answers;
  std::erase(annotator.latest, id);
  if (const auto time = std::find(annotator.times.begin(), annotator.times.end(), given->at); time != annotator.times.end())
    annotator.times.erase(time);
  question.given.erase(given);
  if (auto node = closed_.extract(id)) {
    closed_bytes_ -= node.mapped().about.line.size();
    open_.insert(std::move(node));
  }
}

DeskReply Desk::answer(const Json& event) {
  const std::string lease = text_of(event, "lease"), word = text_of(event, "label");
  const std::uint64_t id = id_of_lease(lease);
  Question* question = find(id);
  if (question == nullptr) throw Refused{410, "lease: its question is not open any more"};
  const Json done{{"saved", true}, {"ticket", id}, {"label", word}};
  for (const Given& given : question->given)
    if (given.lease == lease) {
      if (given.label != word) throw Refused{409, "lease: it answered '" + given.label + "' before; undo takes that back"};
      Json again = done;
      again["labels"] = labels_json();
      return reply(again, false);
    }
  if (question->lease != lease || !open_.contains(id))
    throw Refused{410, "lease: it has expired, and the question went to somebody else"};
  const Label label = label_of(word);
  if (!label.known()) throw Refused{422, "label '" + word + "': expected one of the question's choices"};
  const std::string name = question->holder;
  check_holder(event, name);
  if (const auto daily = settings_.desk.labels_per_annotator; daily && answers_today(name) >= *daily)
    throw Refused{409, "you have given " + counted(*daily, "answer") + " in 24 hours, the limit; this one is not saved",
                  "daily-limit"};
  take_answer(id, *question, {name, word, lease, now_}, event);
  Json out = done;
  out["labels"] = labels_json();
  return reply(out, true);
}

DeskReply Desk::skip(const Json& event) {
  const std::string lease = text_of(event, "lease");
  const std::uint64_t id = id_of_lease(lease);
  const auto found = open_.find(id);
  if (found == open_.end() || found->second.lease != lease)
    throw Refused{410, "lease: it has expired, or its question was answered"};
  Question& question = found->second;
  check_holder(event, question.holder);
  ++annotators_[question.holder].skips;
  question.skipped.push_back(question.holder);
  question.release();
  return reply({{"saved", true}, {"ticket", id}, {"labels", labels_json()}}, true);
}

DeskReply Desk::undo(const Json& event) {
  const std::string name = text_of(event, "annotator");
  const auto found = annotators_.find(name);
  if (found == annotators_.end() || found->second.latest.empty())
    throw Refused{409, "nothing to undo: you have given no answer yet"};
  const std::uint64_t id = found->second.latest.back();
  Question* question = find(id);
  if (question == nullptr) throw Refused{409, "nothing to undo: the answer is too old"};
  const auto given =
      std::find_if(question->given.begin(), question->given.end(), [&](const Given& g) { return g.annotator == name; });
  if (given == question->given.end()) throw Refused{409, "nothing to undo"};
  const std::string word = given->label;
  take_back(id, *question, given);
  Question& again = open_.at(id);
  lease_to(id, again, name);
  return reply(
      {{"undone", {{"ticket", id}, {"label", word}}}, {"question", question_json(id, again)}, {"labels", labels_json()}},
      true);
}

DeskReply Desk::renew(const Json& event) {
  const std::string lease = text_of(event, "lease");
  const auto found = open_.find(id_of_lease(lease));
  if (found == open_.end() || found->second.lease != lease || found->second.holder.empty())
    throw Refused{410, "lease: it has expired, or its question was answered"};
  check_holder(event, found->second.holder);
  found->second.until = now_ + settings_.desk.lease;
  return reply({{"until", found->second.until}}, true);
}

DeskReply Desk::put(const Json& event) {
  const std::string name = text_of(event, "annotator"), source = text_of(event, "source"),
                    example = event.value("example", std::string());
  if (!event.contains("ticket") || !event["ticket"].is_number_unsigned()) throw Refused{400, "ticket: expected a number"};
  if (event["ticket"] >= next_question_) throw Refused{404, "ticket " + event["ticket"].dump() + " was never issued"};
  const std::uint64_t id = number_about(event["ticket"], example);
  const bool back = !event.contains("label") || event["label"].is_null();
  const std::string word = back ? "" : text_of(event, "label");
  const Label label = label_of(word);
  if (!back && !label.known()) throw Refused{422, "label '" + word + "': expected one of the question's choices"};
  const auto done = [&](bool changed) {
    Json out{{"saved", true}, {"ticket", id}, {"label", back ? Json(nullptr) : Json(word)}, {"labels", labels_json()}};
    return reply(out, changed);
  };
  Question* question = find(id);
  if (question == nullptr) {  // withdrawn, or forgotten: then the pool has not got it
    const auto item = std::find_if(pool_.begin(), pool_.end(), [&](const Posted& p) { return p.example == example; });
    if (example.empty() || item == pool_.end())
      throw Refused{410, "ticket " + std::to_string(id) + ": its question is not open any more"};
    if (back) return done(false);
    check_memory();
    Question late = question_about(std::move(*item));
    pool_.erase(item);
    late.unasked = true;
    learn(late, label, name);
    ++gifts_;
    late.given.push_back({name, word, source, now_});
    note_answer(id, late.given[0], event);
    if (const auto seen = seen_.find(hash64(example)); seen != seen_.end()) seen->second = id + 1;
    archive(id, std::move(late));
    return done(true);
  }
  const auto given =
      std::find_if(question->given.begin(), question->given.end(), [&](const Given& g) { return g.annotator == name; });
  if (given == question->given.end()) {
    if (back) return done(false);
    if (!open_.contains(id)) throw Refused{409, "ticket " + std::to_string(id) + ": somebody else answered it before"};
    take_answer(id, *question, {name, word, source, now_}, event);
    return done(true);
  }
  if (given->label == word) {
    const bool same = given->lease == source;
    given->lease = source;
    return done(!same);
  }
  if (!back) check_memory();
  take_back(id, *question, given);
  if (!back) {
    take_answer(id, *question, {name, word, source, now_}, event);
  } else if (question->unasked) {
    withdraw(id, true);
    --gifts_;
  } else {
    lease_to(id, *question, event.value("holder", name));
  }
  return done(true);
}

DeskReply Desk::answers(std::uint64_t ticket, const std::string& example) const {
  const std::uint64_t id = number_about(ticket, example);
  const Question* question = find(id);
  Json out{{"ticket", id},
           {"example", example},
           {"open", open_.contains(id)},
           {"holder", nullptr},
           {"lease", nullptr},
           {"seconds", settings_.desk.lease},
           {"answers", Json::array()}};
  if (question == nullptr) {
    const auto seen = seen_.find(hash64(example));
    if (example.empty() || seen == seen_.end() || seen->second != id + 1)
      return {404, to_text(Json{{"detail", "ticket " + std::to_string(id) + ": its question is not open any more"}}), false};
    out["long_ago"] = true;
    return reply(out, false);
  }
  out["example"] = question->about.example;
  if (!question->holder.empty()) {
    out["holder"] = question->holder;
    out["lease"] = question->lease;
  }
  for (const Given& g : question->given)
    out["answers"].push_back({{"annotator", g.annotator}, {"label", g.label}, {"source", g.lease}, {"at", g.at}});
  return reply(out, false);
}

DeskReply Desk::decide(const Json& event) {
  const std::string word = text_of(event, "label");
  if (!event.contains("ticket") || !event["ticket"].is_number_unsigned()) throw Refused{400, "ticket: expected a number"};
  const std::uint64_t id = event["ticket"];
  const auto found = closed_.find(id);
  if (found == closed_.end() || found->second.given.size() < 2)
    throw Refused{404, "ticket " + std::to_string(id) + ": no disagreement to settle"};
  Question& question = found->second;
  const Label label = label_of(word);
  if (!label.known()) throw Refused{422, "label '" + word + "': expected one of the question's choices"};
  const std::string learned = question.settled.empty() ? question.given[0].label : question.settled;
  if (learned != word && !question.labels.empty()) {
    unlearn(id, question);
    try {
      learn(question, label, question.annotator(word));
    } catch (const MemoryError&) {
      ++unlearned_;
      throw;
    }
  }
  question.settled = word;
  return reply({{"saved", true}, {"ticket", id}, {"label", word}}, true);
}

/// Answers that were held back are learned from before every event, so this one has nothing left to do.
DeskReply Desk::tick(const Json&) { return reply({{"time", now_}}, false); }

DeskReply Desk::limits(const Json& event) {
  LabelLimits limits = model_.session.budget().limits();
  if (!event.contains("labels") || !(event["labels"].is_null() || event["labels"].is_number_unsigned()))
    throw Refused{400, "labels: expected a whole number, or null for no limit"};
  limits.total = event["labels"].is_null() ? LabelLimits::kNone : event["labels"].get<std::uint64_t>();
  model_.session.set_limits(limits);
  std::vector<std::pair<double, std::uint64_t>> waiting;  // the surest go first, held or not
  for (const auto& [id, question] : open_)
    if (!question.tickets.empty() && question.given.empty()) waiting.push_back({worth(question), id});
  std::sort(waiting.begin(), waiting.end());
  for (std::size_t i = 0; i < waiting.size() && model_.session.budget().bought() > limits.total; ++i)
    withdraw(waiting[i].second, true);
  return reply({{"labels", labels_json()}}, true);
}

/// Nothing of a question stays but that its number was used.
void Desk::drop(std::uint64_t id) {
  if (Question* question = find(id); question != nullptr && question->held) {
    unlearn(id, *question);
    for (const std::uint64_t ticket : question->tickets) model_.session.withdraw(ticket);
  }
  if (open_.contains(id)) withdraw(id, false);
  if (const auto node = closed_.extract(id)) closed_bytes_ -= node.mapped().about.line.size();
  for (auto& [name, annotator] : annotators_) std::erase(annotator.latest, id);
}

DeskReply Desk::forget_task(const Json& event) {
  const std::string task = text_of(event, "task");
  if (model_.classes && !model_.users()) throw Refused{409, "task: the learner knows no tasks beside the classes"};
  if (model_.session.known_task(task) == kUntracked) throw Refused{404, "task '" + task + "': no example of it was posted"};
  model_.session.forget(task);
  std::vector<std::uint64_t> ids;
  for (const auto* all : {&open_, &closed_})
    for (const auto& [id, question] : *all)
      if (question.about.task == task) ids.push_back(id);
  for (const std::uint64_t id : ids) drop(id);
  std::erase_if(pool_, [&](const Posted& item) { return item.task == task; });
  has_room();
  Json left = Json::array();
  if (model_.session.learner().scale() != "none") left.push_back("counts of its features, by which values are scaled");
  if (settings_.features.bits == 0) left.push_back("names of its features");
  DeskReply out = reply({{"forgotten", {{"task", task}, {"questions", ids.size()}, {"left", left}}}}, true);
  out.forgot = true;
  return out;
}

DeskReply Desk::forget_example(const Json& event) {
  const std::string example = text_of(event, "example");
  const auto found = seen_.find(hash64(example));
  if (found == seen_.end()) throw Refused{404, "example '" + example + "': not posted, or long ago"};
  const std::uint64_t number = found->second;
  Session& session = model_.session;
  const bool rebuilds = session.learner().capabilities().rebuilds && session.labels().keeps();
  const Question* question = number > 0 ? find(number - 1) : nullptr;
  const auto item = std::find_if(pool_.begin(), pool_.end(), [&](const Posted& p) { return p.example == example; });
  const bool known = question != nullptr || item != pool_.end();  // its text
  std::vector<std::uint64_t> ids = question != nullptr ? question->labels : std::vector<std::uint64_t>();
  const bool all_kept = std::erase_if(ids, [&](std::uint64_t id) { return rebuilds && !session.labels().find(id); }) == 0;
  bool forgot = false;
  if (rebuilds && known) {
    bool done = false;
    const auto forget = [&](std::span<const Example> round) {
      session.forget_example(ids, round);
      done = true;
    };
    with_examples(question != nullptr ? *question : question_about(*item), forget);
    if (!done) forget({});
    forgot = true;
  } else if (!ids.empty()) {
    session.undo(ids);  // which says why it cannot
  }
  if (question != nullptr) drop(number - 1);
  if (forgot) has_room();
  const std::size_t labels = ids.size();
  const Learner& learner = session.learner();  // another one, if it was rebuilt
  Json left = Json::array();
  if (!known)
    left.push_back(number > 0 ? "its label: it was given too long ago" : "what is kept of it: it came too long ago");
  if (!all_kept) left.push_back("its label: there was no room to keep it (--keep-labels)");
  if (!rebuilds && learner.capabilities().learns_unasked) left.push_back("what was learned from it without a label");
  if (learner.scale() != "none") left.push_back("counts of its features, by which values are scaled");
  if (settings_.features.bits == 0) left.push_back("names of its features");
  std::erase(seen_order_, found->first);
  seen_.erase(found);
  std::erase_if(pool_, [&](const Posted& p) { return p.example == example; });
  DeskReply out = reply({{"forgotten", {{"example", example}, {"labels", labels}, {"left", left}}}}, true);
  out.forgot = true;
  return out;
}

DeskReply Desk::predict(std::string_view lines) const {
  Json results = Json::array();
  try {
    model_.session.check_whole();
    look_at(
        lines,
        [&](const Record& record, const Features& x, const auto&) {
          const std::string task(record.task.empty() ? kOnlyTask : record.task);
          Json one{{"id", record.id.empty() ? std::to_string(results.size() + 1) : std::string(record.id)}, {"task", task}};
          put_prediction(one, known_task(task), x);
          results.push_back(std::move(one));
        },
        bad_line(results));
  } catch (const Refused& e) {
    return {e.status, to_text(Json{{"detail", e.detail}}), false};
  } catch (const MemoryError& e) {
    return {507, to_text(Json{{"detail", e.what()}}), false};
  } catch (const Error& e) {
    return {422, to_text(Json{{"detail", e.what()}}), false};
  }
  return reply({{"predictions", results}}, false);
}

DeskReply Desk::explain(std::uint64_t ticket) const {
  const auto found = open_.find(ticket);
  if (found == open_.end()) return {404, to_text(Json{{"detail", "this question is not open"}}), false};
  const Question& question = found->second;
  if (question.audit || !model_.session.learner().capabilities().additive)
    return {403, to_text(Json{{"detail", "there is no explanation for this question"}}), false};
  Json out{{"ticket", ticket}};
  const std::string& task = question.about.task;
  look_at(
      question.about.line,
      [&](const Record& record, const Features& x, std::span<const Index> columns) {
        const Session& session = model_.session;
        const Task first = known_task(task);
        Json now;
        put_prediction(now, first, x);
        const std::string label = now.at("label");
        const std::size_t index = model_.classes ? label_of(label).class_index() : 0;
        const std::uint64_t own = first == kUntracked ? 0 : session.count(first).labels, all = session.total().labels;
        double probability = now.value("probability", 0.5);
        if (now.contains("probabilities")) probability = now["probabilities"].value(label, 0.5);
        const double likely = model_.classes || label == settings_.positive ? probability : 1 - probability;
        out["probability"] = probability;
        out["why"] = "It is close: " + std::to_string(static_cast<int>(std::lround(100 * likely))) + " % " + label +
                     ", from " + counted(own, "label") + " of " + task + " and " + std::to_string(all) + " of all.";
        out["task_labels"] = own;
        out["all_labels"] = all;
        out["towards"] = model_.classes ? label : settings_.positive;
        out["features"] = Json::array();
        for (const Reason& r : quorate::explain(model_, first, x, model_.featurizer.names(record, columns), index, kReasons))
          out["features"].push_back({{"name", r.feature}, {"shared", r.part.shared}, {"own", r.part.own}});
      },
      [&](std::uint64_t, const std::string& what) { out["why"] = what; });
  return reply(out, false);
}

Json Desk::curve_json() const {
  Json out = Json::array();
  for (const CurvePoint& p : curve_)
    out.push_back({{"labels", p.labels}, {"value", p.value}, {"low", p.low}, {"high", p.high}});
  return out;
}

DeskReply Desk::status() const {
  const Session& s = model_.session;
  const Audit* audit = s.audit();
  Json out{{"name", settings_.desk.prompt.empty() ? "Quorate" : settings_.desk.prompt},
           {"learner", parse_spec(settings_.learner).word},
           {"examples", posted_},
           {"gifts", gifts_},
           {"labels", labels_json()},
           {"audited", audit != nullptr},
           {"accuracy", audit != nullptr ? interval_json(audit->recent()) : Json(nullptr)},
           {"curve", curve_json()},
           {"forecast", nullptr},
           {"tasks", Json::array()},
           {"task_count", s.tasks().size()},
           {"annotators", Json::array()},
           {"questions", Json::array()},
           {"disagreements", Json::array()},
           {"model_bytes", model_bytes_}};
  if (!full_.empty()) out["problem"] = problem();
  if (audit != nullptr && audit->scored() > 0) {
    const double now = audit->recent().value, target = std::ceil(20 * now + 0.01) / 20;
    if (target < 1)
      if (const Forecast f = audit->forecast(target); f.none.empty() && std::isfinite(f.labels))
        out["forecast"] = {{"target", target},
                           {"labels", f.labels},
                           {"low", std::isfinite(f.low) ? Json(f.low) : Json(nullptr)},
                           {"high", std::isfinite(f.high) ? Json(f.high) : Json(nullptr)}};
  }
  if (model_.by_task()) {
    std::vector<std::pair<std::uint64_t, std::uint32_t>> most;
    for (std::uint32_t i = 0; i < s.tasks().size(); ++i) most.push_back({s.count_of_name(i).labels, i});
    const std::size_t shown = std::min<std::size_t>(20, most.size());
    std::partial_sort(
        most.begin(), most.begin() + static_cast<std::ptrdiff_t>(shown), most.end(),
        [](const auto& a, const auto& b) { return a.first != b.first ? a.first > b.first : a.second < b.second; });
    for (std::size_t i = 0; i < shown; ++i) {
      const TaskCounters c = s.count_of_name(most[i].second);
      out["tasks"].push_back(
          {{"name", s.tasks()[most[i].second]}, {"examples", c.examples}, {"labels", c.labels}, {"mistakes", c.mistakes}});
    }
  }
  for (const auto& [name, a] : annotators_) {
    std::vector<double> seconds(a.seconds.begin(), a.seconds.end());
    std::sort(seconds.begin(), seconds.end());
    const auto holds = std::count_if(open_.begin(), open_.end(), [&, &who = name](const auto& q) {
      return q.second.holder == who && q.second.until >= now_;
    });
    out["annotators"].push_back(
        {{"name", name},
         {"answers", a.answers},
         {"skips", a.skips},
         {"median_seconds", seconds.empty() ? Json(nullptr) : Json(seconds[seconds.size() / 2])},
         {"agreement",
          a.compared == 0 ? Json(nullptr) : Json(static_cast<double>(a.agreed) / static_cast<double>(a.compared))},
         {"holds", holds}});
  }
  for (const auto& [id, q] : open_) {
    if (out["questions"].size() == kMostListed) break;
    out["questions"].push_back(open_json(id, q));
  }
  for (const auto& [id, q] : closed_)
    if (q.given.size() > 1 && q.settled.empty() && !q.agrees()) {
      Json answers = Json::array();
      for (const Given& given : q.given) answers.push_back({{"annotator", given.annotator}, {"label", given.label}});
      out["disagreements"].push_back({{"ticket", id},
                                      {"example", q.about.example},
                                      {"task", q.about.task},
                                      {"fields", fields_json(q)},
                                      {"choices", choices()},
                                      {"answers", answers}});
    }
  return reply(out, false);
}

Json Desk::open_json(std::uint64_t id, const Question& question) const {
  const bool held = !question.holder.empty() && question.until >= now_;
  return {{"ticket", id},
          {"task", question.about.task},
          {"holder", held ? Json(question.holder) : Json(nullptr)},
          {"until", held ? Json(question.until) : Json(nullptr)},
          {"waiting_seconds", now_ - question.asked},
          {"probability", question.probability}};
}

DeskReply Desk::questions(std::uint64_t from, std::uint64_t most) const {
  Json out{{"questions", Json::array()}, {"next", nullptr}};
  for (auto at = open_.lower_bound(from); at != open_.end(); ++at) {
    if (out["questions"].size() == most) {
      out["next"] = at->first;
      break;
    }
    out["questions"].push_back(open_json(at->first, at->second));
  }
  return reply(out, false);
}

std::string Desk::labels(std::uint64_t from, std::uint64_t most) const {
  std::string out;
  const KeptLabels& labels = model_.session.labels();
  UnpackedInstance memory;
  for (std::size_t i = 0; i < labels.size() && most > 0; ++i) {
    if (labels[i].id < from) continue;
    --most;
    const Example e = labels.example(i, memory);
    out += Json{{"id", labels[i].id},
                {"task", model_.session.name_of(e.task)},
                {"question", model_.classes ? Json(model_.question(e)) : Json(nullptr)},
                {"label", labels[i].answer() == kNeither ? "neither"
                          : model_.classes               ? (labels[i].answer() == kYes ? "yes" : "no")
                          : labels[i].answer() == kYes   ? settings_.positive
                                                         : settings_.negative},
                {"audit", labels[i].audit != 0},
                {"margin", labels[i].margin},
                {"probability", labels[i].probability},
                {"annotator", labels.annotator(labels[i]).empty() ? Json(nullptr) : Json(labels.annotator(labels[i]))}}
               .dump() +
           "\n";
  }
  return out;
}

std::string Desk::tasks(std::uint64_t from, std::uint64_t most) const {
  std::string out;
  const Session& s = model_.session;
  for (std::uint64_t i = from; i < s.tasks().size() && i - from < most; ++i) {
    const auto place = static_cast<std::uint32_t>(i);
    const TaskCounters c = s.count_of_name(place);
    out +=
        Json{{"name", s.tasks()[place]}, {"examples", c.examples}, {"labels", c.labels}, {"mistakes", c.mistakes}}.dump() +
        "\n";
  }
  return out;
}

}  // namespace quorate
