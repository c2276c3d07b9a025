// The desk's replies that change nothing: predictions, explanations, questions, counts.
#include "quorate/desk/desk.h"

#include <simdjson.h>

#include <algorithm>
#include <cmath>

#include "quorate/base/counted.h"
#include "quorate/base/hash.h"
#include "quorate/desk/replies.h"
#include "quorate/learner.h"
#include "quorate/model/explanation.h"
#include "quorate/model/report.h"
#include "quorate/stream/example_reader.h"

namespace quorate {
namespace {

namespace dom = simdjson::dom;

constexpr std::size_t kReasons = 12;
constexpr std::size_t kMostListed = 100;    // open questions, and disagreements, in the status
constexpr std::size_t kMostFields = 1'000;  // of a displayed example
constexpr std::size_t kFieldBytes = 4096;
constexpr std::size_t kListedBytes = std::size_t{1} << 17;  // of the examples of disagreements in the status

Json interval_json(const Estimate& a) {
  if (a.examples == 0) return nullptr;
  return {{"value", a.value}, {"low", a.low}, {"high", a.high}, {"audits", a.examples}};
}

/// Into a tree or a text.
template <class Out>
void put(Out& out, const Model& model, const Reduction::Prediction& p, const Reduction::Work& work) {
  set(out, "label", model.labels.name(p.label));
  set(out, "margin", p.margin);
  if (const auto threshold = model.threshold()) {
    set(out, "probability", work.probabilities[1]);
    set(out, "threshold", *threshold);
  } else if (!work.probabilities.empty()) {
    Json each;
    for (std::size_t c = 0; c < work.probabilities.size(); ++c) each[model.labels.name(c)] = work.probabilities[c];
    set(out, "probabilities", each);
  }
}

}  // namespace

void Desk::put_prediction(Json& out, const Reduction::Prediction& p, const Reduction::Work& work) const {
  put(out, model_, p, work);
}

void Desk::put_prediction(JsonObject& out, const Look& line, const Reduction::Prediction& p,
                          const Reduction::Work& work) const {
  if (line.record.id.empty())
    out.set("id", std::to_string(line.number));
  else
    out.set("id", line.record.id);
  out.set("task", line.record.task.empty() ? kOnlyTask : line.record.task);
  if (!line.record.left_out.empty()) out.set("left_out", Json(line.record.left_out));
  put(out, model_, p, work);
}

DeskReply Desk::predict(std::string_view lines, std::uint64_t first) const {
  std::string results, first_bad;
  std::uint64_t used = 0;
  Reduction::Work work;
  try {
    model_.session.check_whole();
    look_at(
        lines, first,
        [&](const Look& line) {
          ++used;
          const Task of = model_.known_task(line.record.task.empty() ? kOnlyTask : line.record.task);
          const Reduction::Prediction said = model_.predict(of, line.x, work, true);
          if (!results.empty()) results += ',';
          JsonObject one(results);
          put_prediction(one, line, said, work);
          one.close();
        },
        [&](std::uint64_t number, const std::string& what) {
          if (first_bad.empty()) first_bad = what;
          add_to_list(results, bad_line(number, what));
        });
  } catch (const Refused& e) {
    return e.reply();
  } catch (const MemoryError& e) {
    return refusal(Verdict::kNoMemory, e.what());
  } catch (const Error& e) {
    return refusal(Verdict::kUnusable, e.what());
  }
  DeskReply out;
  out.list_name = "predictions";
  out.list = std::move(results);
  out.used = used;
  out.first_bad = first_bad;
  return out;
}

DeskReply Desk::explain(std::uint64_t ticket) const {
  const auto found = open_.find(ticket);
  if (found == open_.end()) return refusal(Verdict::kUnknown, "this question is not open");
  const Question& question = found->second;
  if (!model_.session.broken().empty()) return refusal(Verdict::kNoMemory, problem());
  if (!model_.session.capabilities().additive)
    return refusal(Verdict::kForbidden, "there is no explanation for this question");
  Json out{{"ticket", ticket}, {"audit", question.audit}};
  const std::string& task = question.about.task;
  look_at(
      question.about.line, 0,
      [&](const Look& line) {
        const Features& x = line.x;
        const Session& session = model_.session;
        const Task first = model_.known_task(task);
        Json now;
        Reduction::Work work;
        const std::size_t predicted = put_prediction(now, first, x, work).label,
                          towards = model_.reduction.towards(predicted);
        const auto probability = [&](std::size_t label) {
          return work.probabilities.empty() ? 0.5 : work.probabilities[label];
        };
        const std::uint64_t own = first == kUntracked ? 0 : session.count(first).labels, all = session.total().labels;
        const auto whole = [](double share) { return std::to_string(std::lround(100 * share)) + " %"; };
        out["probability"] = probability(towards);
        std::string begins;
        if (now.contains("threshold")) {
          const double threshold = out["threshold"] = now["threshold"];
          if (std::lround(100 * threshold) != 50)
            begins = " (" + settings_.positive + " begins at " + whole(threshold) + ")";
        }
        out["why"] = "It is close: " + whole(probability(predicted)) + " " + model_.labels.name(predicted) + begins +
                     ", from " + counted(own, "label") + " of " + task + " and " + std::to_string(all) + " of all.";
        out["task_labels"] = own;
        out["all_labels"] = all;
        out["towards"] = model_.labels.name(towards);
        out["features"] = Json::array();
        for (const Reason& r :
             quorate::explain(model_, first, x, model_.featurizer.names(line.record, line.columns), predicted, kReasons))
          out["features"].push_back({{"name", r.feature}, {"shared", r.part.shared}, {"own", r.part.own}});
      },
      [&](std::uint64_t, const std::string& what) { out["why"] = what; });
  return reply(out, false);
}

/// Labels reserved for audits of future examples, if nothing else may be asked. The owner may release them for learning.
std::uint64_t Desk::audits_left() const {
  const Audit* audit = model_.session.audit();
  const LabelBudget& budget = model_.session.budget();
  const std::uint64_t total = budget.limits().total;
  if (audit == nullptr || !audit->open() || total == LabelLimits::kNone || budget.bought() >= total) return 0;
  return budget.bought() - audit->bought() >= audit->learning_limit(total) ? total - budget.bought() : 0;
}

/// Labels of unanswered questions. An answered one counts as bought, even if no task, or not every task, has learned it.
std::uint64_t Desk::labels_waiting() const {
  const PendingQuestions& pending = model_.session.pending();
  std::uint64_t waiting = pending.size();
  const auto answered = [&](std::uint64_t id) {
    for (const std::uint64_t ticket : find(id)->tickets) waiting -= pending.find(ticket) != nullptr;
  };
  for (const auto& [due, id] : held_) answered(id);
  for (const std::uint64_t id : waiting_) answered(id);
  return waiting;
}

Json Desk::labels_json(bool audits) const {
  const Session& s = model_.session;
  const std::uint64_t waiting = labels_waiting();
  const Json limits = limits_json(s.budget().limits(), false);
  Json out{{"bought", s.budget().bought() - waiting}, {"limit", limits["total"]}, {"waiting", waiting}};
  if (!audits) return out;
  out["audits"] = s.audit() != nullptr ? s.audit()->bought() : 0;  // elsewhere it would reveal audits
  for (const char* name : {"rate", "per_task"}) out[name] = limits[name];
  return out;
}

Desk::Figures Desk::figures() const {
  const LabelBudget& budget = model_.session.budget();
  Figures out;
  out.examples = posted_;
  out.waiting = labels_waiting();
  out.bought = budget.bought() - out.waiting;
  if (budget.limits().total != LabelLimits::kNone) out.limit = budget.limits().total;
  if (const auto audit = audit_report(model_, kMostMeasured); audit && audit->now.accuracy.examples > 0)
    out.accuracy = audit->now.accuracy.value;
  out.tasks = model_.session.tasks().size();
  out.model_bytes = model_bytes_;
  out.taking_answers = problem().empty();
  return out;
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
  dom::parser parser;
  dom::element line;
  if (parser.parse(question.about.line).get(line) != simdjson::SUCCESS || !line.is_object()) return out;
  std::size_t room = kFieldBytes + 2 * question.about.line.size(),
              more = 0;  // nested names may be longer than the line
  const auto add = [&](const auto& self, const std::string& key, dom::element value) -> void {
    if (dom::object inside; value.get(inside) == simdjson::SUCCESS) {
      for (const auto& [name, inner] : inside)
        self(self, key.empty() ? std::string(name) : key + "." + std::string(name), inner);
      return;
    }
    const std::string_view role = kind(key);
    if (role == "id" || role == "task" || role == "label" || role == "ignored" || value.is_null()) return;
    std::string_view word;
    const std::string text = value.get(word) == simdjson::SUCCESS ? std::string(word) : simdjson::minify(value);
    if (out.size() == kMostFields || key.size() + text.size() > room) {
      ++more;
      return;
    }
    room -= key.size() + text.size();
    const bool image = text.starts_with("data:image/");
    out.push_back({{"name", key},
                   {"kind", image            ? "image"
                            : role == "flag" ? "category"
                                             : std::string(role)},
                   {"value", text}});
  };
  add(add, "", line);
  if (more > 0) out.push_back({{"name", ""}, {"kind", "text"}, {"value", "and " + counted(more, "more field")}});
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

Json Desk::open_json(std::uint64_t id, const Question& question) const {
  const bool held = !question.holder.empty() && question.until >= now_;
  return {{"ticket", id},
          {"task", question.about.task},
          {"holder", held ? Json(question.holder) : Json(nullptr)},
          {"until", held ? Json(question.until) : Json(nullptr)},
          {"waiting_seconds", now_ - question.asked},
          {"probability", question.probability}};
}

Json Desk::curve_json() const {
  Json out = Json::array();
  for (const CurvePoint& p : curve_)
    out.push_back({{"labels", p.labels}, {"value", p.value}, {"low", p.low}, {"high", p.high}});
  return out;
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
      return refusal(Verdict::kUnknown, "ticket " + std::to_string(id) + ": its question is not open any more");
    out["long_ago"] = true;
    return reply(out, false);
  }
  out["example"] = question->about.example;
  out["fields"] = fields_json(*question);
  if (!question->holder.empty()) {
    out["holder"] = question->holder;
    out["lease"] = question->lease;
  }
  for (const Given& g : question->given)
    out["answers"].push_back({{"annotator", g.annotator}, {"label", g.label}, {"source", g.lease}, {"at", g.at}});
  return reply(out, false);
}

DeskReply Desk::status() const {
  const Session& s = model_.session;
  const std::optional<AuditReport> audit = audit_report(model_, kMostMeasured);
  Json out{{"name", settings_.desk.name},
           {"learner", parse_spec(settings_.learner).word},
           {"examples", posted_},
           {"gifts", gifts_},
           {"labels", labels_json(true)},
           {"open_questions", open_.size()},
           {"audited", audit.has_value()},
           {"audits_left", audits_left()},
           {"accuracy", nullptr},
           {"always", nullptr},
           {"measures", Json::object()},
           {"when_each_came", nullptr},
           {"threshold", nullptr},
           {"curve", curve_json()},
           {"forecast", nullptr},
           {"tasks", Json::array()},
           {"task_count", s.tasks().size()},
           {"left_out", {{"keys", left_out_.keys}, {"without_task", left_out_.without_task}}},
           {"workers", {{"sources", sources_.size()}, {"shared", shared_}, {"examples_of_all", examples_of_all()}}},
           {"annotators", Json::array()},
           {"questions", Json::array()},
           {"disagreements", Json::array()},
           {"model_bytes", model_bytes_}};
  if (const std::string why = problem(); !why.empty()) out["problem"] = why;
  if (const auto threshold = model_.threshold()) out["threshold"] = *threshold;
  if (audit && audit->scored > 0) {
    const Quality& now = audit->now;
    out["accuracy"] = interval_json(now.accuracy);
    now.for_each([&](const char* name, const Estimate& of) {
      if (&of != &now.accuracy && of.examples > 0) out["measures"][name] = interval_json(of);
    });
    if (std::isfinite(now.always))
      out["always"] = {{"label", model_.labels.name(now.most_frequent)}, {"accuracy", now.always}};
    if (audit->streams) out["when_each_came"] = interval_json(audit->recent);
    const double target = std::ceil(20 * audit->recent.value + 0.01) / 20;
    if (audit->streams && target < 1)
      if (const Forecast f = s.audit()->forecast(target); f.none.empty() && std::isfinite(f.labels))
        out["forecast"] = {{"target", target}, {"labels", f.labels}, {"low", number(f.low)}, {"high", number(f.high)}};
  }
  if (model_.reduction.by_task()) {
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
  std::map<std::string_view, std::uint64_t> holds;
  for (const auto& [id, q] : open_)
    if (!q.holder.empty() && q.until >= now_) ++holds[q.holder];
  for (const auto& [name, a] : annotators_) {
    std::vector<double> seconds(a.seconds.begin(), a.seconds.end());
    std::sort(seconds.begin(), seconds.end());
    out["annotators"].push_back(
        {{"name", name},
         {"answers", a.answers},
         {"skips", a.skips},
         {"median_seconds", seconds.empty() ? Json(nullptr) : Json(seconds[seconds.size() / 2])},
         {"agreement",
          a.compared == 0 ? Json(nullptr) : Json(static_cast<double>(a.agreed) / static_cast<double>(a.compared))},
         {"holds", holds.contains(name) ? holds[name] : 0}});
  }
  for (const auto& [id, q] : open_) {
    if (out["questions"].size() == kMostListed) break;
    out["questions"].push_back(open_json(id, q));
  }
  std::uint64_t disagreements = 0;
  std::size_t listed = 0;
  for (const auto& [id, q] : closed_)
    if (q.given.size() > 1 && q.settled.empty() && !q.agrees() && ++disagreements <= kMostListed) {
      Json answers = Json::array();
      for (const Given& given : q.given) answers.push_back({{"annotator", given.annotator}, {"label", given.label}});
      out["disagreements"].push_back({{"ticket", id},
                                      {"example", q.about.example},
                                      {"task", q.about.task},
                                      {"choices", choices()},
                                      {"answers", answers}});
      if ((listed += q.about.line.size()) <= kListedBytes) out["disagreements"].back()["fields"] = fields_json(q);
    }
  out["disagreement_count"] = disagreements;
  return reply(out, false);
}

Desk::Part Desk::questions(std::uint64_t from, std::uint64_t most, bool names) const {
  Part out;
  for (auto at = open_.lower_bound(from); at != open_.end(); ++at) {
    if (most-- == 0) {
      out.next = at->first;
      break;
    }
    Json one = open_json(at->first, at->second);
    if (!names) one["holder"] = nullptr;
    add_to_list(out.text, one);
  }
  return out;
}

Desk::Part Desk::labels(std::uint64_t from, std::uint64_t most, bool names) const {
  Part out;
  const KeptLabels& labels = model_.session.labels();
  UnpackedInstance memory;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (labels[i].id < from) continue;
    if (most-- == 0) {
      out.next = labels[i].id;
      break;
    }
    const Example e = labels.example(i, memory);
    const std::string_view name = names ? labels.annotator(labels[i]) : std::string_view();
    const auto question = model_.question(e);
    out.text += to_text(Json{{"id", labels[i].id},
                             {"example", labels.example_id(i)},
                             {"task", model_.session.name_of(e.task)},
                             {"question", question ? Json(*question) : Json(nullptr)},
                             {"label", model_.answer_word(labels[i].answer())},
                             {"audit", labels[i].audit != 0},
                             {"margin", labels[i].margin},
                             {"probability", labels[i].probability},
                             {"annotator", name.empty() ? Json(nullptr) : Json(name)}});
    out.text += '\n';
  }
  return out;
}

Desk::Part Desk::tasks(std::uint64_t from, std::uint64_t most) const {
  Part out;
  const Session& s = model_.session;
  for (std::uint64_t i = from; i < s.tasks().size(); ++i) {
    if (most-- == 0) {
      out.next = i;
      break;
    }
    const auto place = static_cast<std::uint32_t>(i);
    const TaskCounters c = s.count_of_name(place);
    out.text +=
        to_text(Json{{"name", s.tasks()[place]}, {"examples", c.examples}, {"labels", c.labels}, {"mistakes", c.mistakes}});
    out.text += '\n';
  }
  return out;
}

}  // namespace quorate
