// Creates, restores and saves a desk; dispatches events; limits and forgetting.
#include "quorate/desk/desk.h"

#include <algorithm>
#include <utility>

#include "quorate/base/hash.h"
#include "quorate/desk/replies.h"
#include "quorate/stream/example_reader.h"

namespace quorate {
namespace {

constexpr std::size_t kSavedAtOnce = std::size_t{1} << 16;  // bytes
constexpr std::string_view kForgotten = "its example was forgotten";

/// Throws UsageError for a label that is empty, begins or ends with a blank, or occurs twice.
void check_classes(const std::vector<std::string>& names) {
  for (auto name = names.begin(); name != names.end(); ++name) {
    const bool twice = std::find(names.begin(), name, *name) != name;
    const bool blank = !name->empty() && (name->front() == ' ' || name->back() == ' ');
    if (name->empty() || blank || twice)
      throw UsageError("--classes: " + quoted_value(*name) +
                       (twice   ? " is there twice"
                        : blank ? " begins or ends with a blank"
                                : " is no label") +
                       "; expected labels that differ, as a,b,c");
  }
}

Model make_model(const DeskSettings& s) {
  const Spec learner = parse_spec(s.learner);
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
    return Model::make(learner, s.learning, s.features, std::move(labels));
  }
  check_classes(s.classes);
  const auto reduction = value_named<Reduction::Kind>(s.reduction);
  if (!reduction || *reduction == Reduction::Kind::kNone)
    throw UsageError("reduction " + s.reduction + ": expected one-vs-rest or one-vs-one");
  const bool users = capabilities(learner).groups;
  return Model::make(learner, s.learning, s.features, Labels::of_classes(ClassNames(s.classes), false),
                     Reduction(*reduction, s.classes, users));
}

/// The reply, or the refusal that is thrown.
template <class Do>
DeskReply refused_as_reply(Do work) {
  try {
    return work();
  } catch (const Refused& e) {
    return e.reply();
  } catch (const UsageError& e) {
    return refusal(Verdict::kUnusable, e.what());
  } catch (const Error& e) {  // part of the event may have taken effect, and does so again in a replay
    const bool memory = dynamic_cast<const MemoryError*>(&e) != nullptr;
    DeskReply out = refusal(memory ? Verdict::kNoMemory : Verdict::kUnusable, e.what());
    out.changed = true;
    return out;
  }
}

}  // namespace

Desk::Desk(const DeskSettings& settings) : settings_(settings), model_(make_model(settings)) {
  settings_.desk.check();
  model_.session.keep_waiting();  // annotators may see pending questions: only the desk withdraws them
  model_bytes_ = model_.bytes();
}

Desk::Desk(const DeskSettings& settings, Model model, std::string_view state)
    : settings_(settings), model_(std::move(model)) {
  model_.session.keep_waiting();
  model_bytes_ = model_.bytes();
  try {
    const Json in = Json::parse(state);
    settings_.desk = DeskOptions::from_json(in.at("settings").dump());
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
        if (q.contains("class_tasks")) out.class_tasks = q["class_tasks"].get<std::vector<Task>>();
        if (q.contains("measured"))
          for (const Json& m : q["measured"]) out.measured.push_back({m.at(0), {{m.at(1), m.at(2), 1}, m.at(3), m.at(4)}});
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
    if (in.contains("ended"))
      for (const Json& p : in["ended"]) ended_.emplace_back(p.at(0), p.at(1));
    full_ = in.value("full", full_);
    unlearned_ = in.value("unlearned", unlearned_);
    shared_ = in.value("shared", shared_);
    posted_at_label_ = in.value("posted_at_label", posted_at_label_);
    if (in.contains("sources"))
      for (const auto& [name, s] : in["sources"].items()) sources_[name] = {s.at(0), s.at(1), s.at(2)};
    if (in.contains("left_out")) {
      left_out_.keys = in["left_out"].at(0).get<std::map<std::string, std::uint64_t>>();
      left_out_.without_task = in["left_out"].at(1);
    }
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
  std::string text;  // not yet written; one JSON text of everything would take several times the desk's memory
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
    if (!q.class_tasks.empty()) out["class_tasks"] = q.class_tasks;
    for (const auto& [task, audit] : q.measured)
      out["measured"].push_back({task, audit.held.weight, audit.held.learned, audit.margin, audit.audit});
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
  std::string head = Json{{"now", now_},       {"next_question", next_question_},
                          {"leases", leases_}, {"gifts", gifts_},
                          {"posted", posted_}, {"settings", Json::parse(settings_.desk.to_json())}}
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
  if (!ended_.empty()) list("ended", ended_, [](const auto& p) { return Json{p.first, p.second}; });
  if (!full_.empty()) put(",\"full\":" + Json(full_).dump());
  if (unlearned_ > 0) put(",\"unlearned\":" + Json(unlearned_).dump());
  if (posted_at_label_ > 0) put(",\"posted_at_label\":" + Json(posted_at_label_).dump());
  if (!sources_.empty()) {
    Json all = Json::object();
    for (const auto& [name, s] : sources_) all[name] = {s.next, s.read, s.at};
    put(",\"shared\":" + Json(shared_).dump() + ",\"sources\":" + all.dump());
  }
  if (!left_out_.keys.empty() || left_out_.without_task > 0)
    put(",\"left_out\":" + Json{left_out_.keys, left_out_.without_task}.dump());
  text += "}";
  write(text);
}

DeskReply Desk::apply(const Event& event) {
  const double before = now_;
  bool learned = false;  // held answers were learned from: then the event belongs in the journal, even if refused
  const auto carry_out = [&]() -> DeskReply {
    now_ = std::max(now_, event.at);
    learned = learn_due();
    return std::visit([this](const auto& what) { return on(what); }, event.what);
  };
  DeskReply out = refused_as_reply(carry_out);
  out.changed |= learned;
  if (!out.changed) now_ = before;
  model_bytes_ = model_.bytes();
  return out;
}

DeskReply Desk::apply(std::string_view record) {
  try {
    return apply(read_event(record));
  } catch (const Refused& e) {
    return e.reply();
  }
}

void Desk::read(std::string_view lines, std::uint64_t before, const std::function<void(const RecordReader&)>& begin,
                const std::function<void(const Record&, const Line&)>& use, const BadLine& bad) const {
  ReadOptions options = of_model(settings_.reading, model_.featurizer);
  options.format = "jsonl";
  options.bytes = &lines;
  options.lines_before = before;
  std::unique_ptr<RecordReader> reader;
  try {
    reader = open_reader("examples", options);
  } catch (const Error& e) {
    throw Refused{Verdict::kMalformed, e.what()};
  }
  Record record;
  bool begun = false;
  std::string_view rest = lines;
  if (rest.starts_with(kByteOrderMark)) rest.remove_prefix(kByteOrderMark.size());
  std::uint64_t at = before + 1;
  for (;;) {
    try {
      if (!reader->next(record)) return;
    } catch (const LineError& e) {
      bad(reader->line_number(), e.what());
      continue;
    }
    try {
      if (record.unknown()) {
        bad(reader->line_number(), "no key that the model knows, but " + shown_value(joined(record.left_out)) +
                                       "; expected " + reader->schema().learned_names());
        continue;
      }
      if (!std::exchange(begun, true)) begin(*reader);
      for (; at < reader->line_number(); ++at) rest.remove_prefix(rest.find('\n') + 1);
      use(record, {rest.substr(0, rest.find('\n')), at});
    } catch (const LineError& e) {
      bad(reader->line_number(), e.what());
    }
  }
}

void Desk::look_at(std::string_view lines, std::uint64_t before, const std::function<void(const Look&)>& use,
                   const BadLine& bad) const {
  Featurizer::Scratch scratch;
  std::vector<Index> columns;
  read(
      lines, before,
      [&](const RecordReader& reader) { columns = model_.featurizer.columns(reader.columns(), reader.path()); },
      [&](const Record& record, const Line& line) {
        use({record, model_.featurizer(record, columns, scratch), columns, line.number, line.text});
      },
      bad);
}

void Desk::with_examples(const Question& question, const std::function<void(std::span<const Example>)>& use) const {
  look_at(
      question.about.line, 0,
      [&](const Look& at) {
        use(examples_of({model_.known_task(question.about.task), at.x, at.record.weight}));
      },
      [](std::uint64_t, const std::string&) {});
}

Label Desk::label_of(std::string_view word) const {
  const std::vector<std::string> names = choices();
  const auto found = std::find(names.begin(), names.end(), word);
  return found == names.end() ? Label() : model_.reduction.label_of(static_cast<std::size_t>(found - names.begin()));
}

/// The label of a word. Throws Refused if it is not one of the choices.
Label Desk::choice_of(const std::string& word) const {
  const Label out = label_of(word);
  if (!out.known()) throw Refused{Verdict::kUnusable, "label '" + word + "': expected one of the question's choices"};
  return out;
}

std::vector<std::string> Desk::choices() const { return model_.labels.names(); }

std::vector<Example> Desk::examples_of(const Instance& one) const {
  std::vector<Example> out;
  model_.reduction.add_examples(one.first, one.x, out, one.weight);
  return out;
}

const Desk::Question* Desk::find(std::uint64_t id) const {
  for (const auto* all : {&open_, &closed_})
    if (const auto found = all->find(id); found != all->end()) return &found->second;
  return nullptr;
}

Desk::Question* Desk::find(std::uint64_t id) { return const_cast<Question*>(std::as_const(*this).find(id)); }

const Desk::Posted* Desk::about(std::uint64_t ticket) const {
  const Question* question = find(ticket);
  return question == nullptr ? nullptr : &question->about;
}

/// The ticket, or else that of the example's current question: a withdrawn question may be asked again.
std::uint64_t Desk::number_about(std::uint64_t ticket, const std::string& example) const {
  if (find(ticket) != nullptr) return ticket;
  const auto seen = seen_.find(hash64(example));
  return seen != seen_.end() && seen->second > 0 ? seen->second - 1 : ticket;
}

/// Every event first learns from the held answers that are due, so this one has nothing left to do.
DeskReply Desk::on(const event::Tick&) { return reply({{"time", now_}}, false); }

DeskReply Desk::on(const event::Limits& event) {
  LabelLimits limits = model_.session.budget().limits();
  if (event.audits) {
    if (model_.session.audit() == nullptr)
      throw Refused{Verdict::kConflict, "audits: this server was made without --audit, so there are none"};
    model_.session.set_audits(*event.audits);
  }
  limits.total = event.labels.value_or(LabelLimits::kNone);
  model_.set_limits(limits);
  std::vector<std::pair<double, std::uint64_t>> waiting;  // the most certain are withdrawn first, leased or not
  for (const auto& [id, question] : open_)
    if (!question.tickets.empty() && question.given.empty()) waiting.push_back({worth(question), id});
  std::sort(waiting.begin(), waiting.end());
  for (std::size_t i = 0; i < waiting.size() && model_.session.budget().bought() > limits.total; ++i)
    withdraw(waiting[i].second, true, "the limit of labels was lowered, and its question is no longer asked");
  return reply({{"labels", labels_json()}}, true);
}

DeskReply Desk::on(const event::Settings& event) {
  event.desk.check();
  settings_.desk = event.desk;
  return reply({{"saved", true}}, true);
}

/// A held answer that is forgotten was bought all the same: otherwise forgetting would give labels back.
void Desk::spend_held(std::uint64_t id) {
  Question* question = find(id);
  if (question == nullptr || !question->held) return;
  let_go(id, *question);
  for (const std::uint64_t ticket : question->tickets) model_.session.spend(ticket);
}

/// Removes a question; its number is not used again.
void Desk::drop(std::uint64_t id, std::string_view why) {
  spend_held(id);
  if (open_.contains(id)) withdraw(id, false, why);
  if (const auto node = closed_.extract(id)) closed_bytes_ -= node.mapped().about.line.size();
  for (auto& [name, annotator] : annotators_) std::erase(annotator.latest, id);
}

DeskReply Desk::on(const event::ForgetTask& event) {
  const std::string& task = event.task;
  if (!model_.reduction.by_task()) throw Refused{Verdict::kConflict, "task: the learner knows no tasks beside the classes"};
  const bool held = model_.session.known_task(task) != kUntracked;  // in the model; memory may have had no room for the task
  const bool posted = std::ranges::any_of(pool_, [&](const Posted& item) { return item.task == task; });
  std::vector<std::uint64_t> ids;
  for (const auto* all : {&open_, &closed_})
    for (const auto& [id, question] : *all)
      if (question.about.task == task) ids.push_back(id);
  if (!held && !posted && ids.empty()) throw Refused{Verdict::kUnknown, "task '" + task + "': no example of it was posted"};
  const bool rebuilds = may_rebuild();
  for (const std::uint64_t id : ids) spend_held(id);
  if (held) rebuilds ? model_.session.forget(task) : model_.session.forget_kept(task);
  for (const std::uint64_t id : ids) drop(id, kForgotten);
  std::erase_if(pool_, [&](const Posted& item) { return item.task == task; });
  has_room();
  if (held && rebuilds) note_left_out();
  Json left = Json::array();
  if (held && !rebuilds) left.push_back(what_stays_learned());
  if (!held) left.push_back("its labels: memory had no room for the task, so they went to what all tasks share");
  if (model_.session.scale() != "none") left.push_back("counts of its features, by which values are scaled");
  if (settings_.features.bits == 0 || model_.featurizer.schema().size() > 0) left.push_back("names of its features");
  DeskReply out = reply({{"forgotten", {{"task", task}, {"questions", ids.size()}, {"left", left}}}}, true);
  out.forgot = true;
  return out;
}

bool Desk::may_rebuild() const { return model_.session.capabilities().rebuilds && model_.session.labels().keeps(); }

std::string Desk::what_stays_learned() const {
  const std::string learner = parse_spec(settings_.learner).word;
  return "what the weights learned: " + (model_.session.capabilities().rebuilds
                                             ? learner + " is made anew from kept labels, and none are (--keep-labels)"
                                             : learner + " cannot unlearn");
}

DeskReply Desk::on(const event::ForgetExample& event) {
  const std::string& example = event.example;
  Session& session = model_.session;
  std::vector<std::uint64_t> ids;
  for (std::size_t i = 0; i < session.labels().size(); ++i)
    if (session.labels().example_id(i) == example) ids.push_back(session.labels()[i].id);
  const auto found = seen_.find(hash64(example));
  if (found == seen_.end() && ids.empty())
    throw Refused{Verdict::kUnknown, "example '" + example + "': not posted, or long ago"};
  const std::uint64_t number = found == seen_.end() ? 0 : found->second;
  const bool rebuilds = may_rebuild();
  const Question* question = number > 0 ? find(number - 1) : nullptr;
  const auto item = std::find_if(pool_.begin(), pool_.end(), [&](const Posted& p) { return p.example == example; });
  const bool has_text = question != nullptr || item != pool_.end(), known = has_text || !ids.empty();
  const std::size_t labels = question != nullptr ? question->labels.size() : ids.size();
  const bool all_kept = ids.size() >= labels;
  if (known) {
    bool done = false;
    const auto forget = [&](std::span<const Example> round) {
      rebuilds ? session.forget_example(ids, round) : session.forget_kept_example(ids, round);
      done = true;
    };
    if (has_text) with_examples(question != nullptr ? *question : question_about(*item), forget);
    if (!done) forget({});
  }
  if (question != nullptr) drop(number - 1, kForgotten);
  if (known && rebuilds) {
    has_room();
    note_left_out();
  }
  Json left = Json::array();
  if (!rebuilds && (labels > 0 || session.capabilities().learns_unasked)) left.push_back(what_stays_learned());
  if (!known)
    left.push_back(number > 0 ? "its label: it was given too long ago" : "what is kept of it: it came too long ago");
  if (rebuilds && !all_kept) left.push_back("its label: there was no room to keep it (--keep-labels)");
  if (session.scale() != "none") left.push_back("counts of its features, by which values are scaled");
  if (settings_.features.bits == 0 || model_.featurizer.schema().size() > 0) left.push_back("names of its features");
  if (found != seen_.end()) {
    std::erase(seen_order_, found->first);
    seen_.erase(found);
  }
  std::erase_if(pool_, [&](const Posted& p) { return p.example == example; });
  DeskReply out = reply({{"forgotten", {{"example", example}, {"labels", labels}, {"left", left}}}}, true);
  out.forgot = true;
  return out;
}

}  // namespace quorate
