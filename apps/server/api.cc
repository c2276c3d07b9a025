#include "server/api.h"

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <utility>

#include "quorate/base/error.h"
#include "quorate/base/number.h"
#include "quorate/store/files.h"
#include "quorate/version.h"
#include "server/memory_reserve.h"
#include "server/metrics.h"
#include "server/openapi.h"

namespace quorate::server {
namespace {

// Who may call what; status_for(), labels() and questions() say what each role reads there (docs/serve.md has the table).
constexpr Roles kOpen = 0, kOwner = bit(Role::kOwner), kAnnotators = kOwner | bit(Role::kAnnotator),
                kData = kOwner | bit(Role::kData), kAll = kAnnotators | kData, kWorkers = kOwner | bit(Role::kWorker);

constexpr std::size_t kShortBody = 4096;  // predicted at once
constexpr std::uint64_t kPage = 1000;

struct NoFields {
  static constexpr auto fields() { return std::tuple{}; }
};

/// A part of a long list.
struct Page {
  std::optional<std::uint64_t> from = {}, most = {};
  static constexpr auto fields() {
    return std::tuple{EventField{&Page::from, "from", event::kWhole,
                                 "the first row: its place, ticket or sequence; 0 if missing", In::kQuery},
                      EventField{&Page::most, "most", {1, 100'000}, "most rows; 1000 if missing", In::kQuery}};
  }
};

/// A part of the log.
struct LogFrom {
  std::uint64_t from = 0;
  std::string log;
  static constexpr auto fields() {
    return std::tuple{EventField{&LogFrom::from, "from", event::kWhole, "the sequence of the first record", In::kQuery},
                      EventField{&LogFrom::log, "log", {32, 32}, "which log: what GET /v1/model names", In::kQuery}};
  }
};

/// A question.
struct About {
  std::uint64_t ticket = 0;
  static constexpr auto fields() {
    return std::tuple{EventField{&About::ticket, "ticket", event::kWhole, "of the question", In::kPath}};
  }
};
struct AnswersOf {
  std::uint64_t ticket = 0;
  std::optional<std::string> example = {};
  static constexpr auto fields() {
    return std::tuple{
        EventField{&AnswersOf::ticket, "ticket", event::kWhole, "of the question", In::kPath},
        EventField{&AnswersOf::example, "example", kAny,
                   "the question's example: if the question was withdrawn, the one about the example now", In::kQuery}};
  }
};

/// Examples as lines. Those of application/x-ndjson are passed on as they are.
std::string lines_of(Request& request) {
  const auto type = media_type(request);
  const std::string expected = "application/json with an example or an array of them, or application/x-ndjson with lines";
  if (request.body.find_first_not_of(" \t\r\n") == std::string::npos) throw BadRequest{400, "the body is empty", expected};
  if (type == "application/x-ndjson") {
    check_lengths(request.body);
    if (request.body.back() != '\n') request.body += '\n';
    return std::move(request.body);
  }
  if (type != "application/json")
    throw BadRequest{415, "the content type is " + quoted_value(request.header("content-type")), expected};
  try {
    std::string lines = lines_of_json(request.body);
    if (lines.empty()) throw BadRequest{400, "the array is empty", "at least one example"};
    check_lengths(lines);
    return lines;
  } catch (const DataError& e) {
    throw BadRequest{400, e.what(), expected};
  }
}

Response text_response(std::string body, const char* type) {
  Response out;
  out.body = std::move(body);
  out.type = type;
  return out;
}

int status_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::kDone:
      return 200;
    case Verdict::kMalformed:
      return 400;
    case Verdict::kForbidden:
      return 403;
    case Verdict::kUnknown:
      return 404;
    case Verdict::kConflict:
      return 409;
    case Verdict::kGone:
      return 410;
    case Verdict::kTooLong:
      return 413;
    case Verdict::kUnusable:
      return 422;
    case Verdict::kUnavailable:
      return 503;
    case Verdict::kNoMemory:
      return 507;
  }
  return 500;
}

Response response_of(const DeskReply& reply) {
  if (reply.done()) return text_response(reply.text(), "application/json");
  const int status = status_of(reply.verdict);
  Response out = problem_with(status, reply.detail(), reply.body);
  if (status == 503) out.headers.emplace_back("Retry-After", "1");
  return out;
}

/// What a role reads of the status. An owner everything; data nothing about people; annotators what is theirs, and nothing
/// that moves when they answer an audit.
Json status_for(const Identity& who, Json all) {
  if (who.role == Role::kOwner) return all;
  if (who.role == Role::kData) {
    for (const char* key : {"annotators", "questions", "disagreements"}) all[key] = Json::array();
    all.erase("disagreement_count");
    return all;
  }
  Json own = Json::object();
  for (const char* key : {"name", "labels", "problem", "taking_answers"})
    if (all.contains(key)) own[key] = std::move(all[key]);
  for (const char* key : {"audits", "waiting", "rate", "per_task"}) own["labels"].erase(key);
  for (const char* key : {"annotators", "questions", "disagreements"}) own[key] = Json::array();
  for (Json& one : all["annotators"])
    if (one["name"] == who.name) own["annotators"].push_back(std::move(one));
  return own;
}

/// What an annotator hears of an event of hers: not the ticket, nor how many questions wait, which would tell when the
/// question was bought, and so whether it is an audit.
DeskReply without_tickets(DeskReply reply) {
  if (!reply.done()) return reply;
  Json& body = reply.body;
  body.erase("ticket");
  for (const char* part : {"question", "undone"})
    if (const auto found = body.find(part); found != body.end() && found->is_object()) found->erase("ticket");
  if (const auto labels = body.find("labels"); labels != body.end()) labels->erase("waiting");
  if (const auto reason = body.find("reason"); reason != body.end() && *reason == kAuditsAlone) *reason = kNothingAsked;
  return reply;
}

}  // namespace

/// A request whose sender may make it.
struct Api::Call {
  Request request;
  std::shared_ptr<Respond> respond;
  Json fields = {};  ///< of its path, query and body
  Identity who = {};

  void reply(Response response) const { (*respond)(std::move(response)); }
  /// Throws unless the token allows events of this annotator.
  void check_annotator(const std::string& name) const {
    if (who.role == Role::kAnnotator && name != who.name)
      throw BadRequest{403, "this token belongs to annotator " + quoted_value(who.name) + ", not " + quoted_value(name), ""};
  }
};

Api::Api(Service& service, const Tokens& tokens, ApiOptions options)
    : service_(service),
      tokens_(tokens),
      options_(std::move(options)),
      publisher_([this](const std::stop_token& end) { publish(end); }),
      reader_([this](const std::stop_token& end) { work_aside(end); }) {}

/// What a request is about, what it takes and gives, who may make it, and what carries it out.
struct Api::Route {
  Operation operation;
  Run run;
  Work work = Work::kShort;
};

/// A request that makes an event.
template <class E>
Api::Route Api::change(std::string_view method, std::string_view path, std::string_view name, Roles roles,
                       std::string_view summary, std::string_view description, std::string_view gives,
                       std::vector<int> refusals, Run run) {
  return {{method, path, name, roles, summary, description, rules_of<E>(), gives, std::move(refusals), false, true}, run};
}

/// A request that changes nothing.
template <class Fields>
Api::Route Api::look(std::string_view path, std::string_view name, Roles roles, std::string_view summary,
                     std::string_view description, std::string_view gives, std::vector<int> refusals, Run run, Work work) {
  return {{"GET", path, name, roles, summary, description, rules_of<Fields>(), gives, std::move(refusals)}, run, work};
}

const std::vector<Api::Route>& Api::routes() {
  constexpr Work kShort = Work::kShort, kLong = Work::kLong;
  constexpr std::string_view kLines = "application/x-ndjson";
  constexpr std::string_view kForgets =
      "What stays is named in 'left': as old files of the journal, unless the server keeps none (--keep-journal 0).";
  const auto lines = [](Route route) {
    route.operation.method = "POST";
    route.operation.lines = true;
    return route;
  };
  const auto judged = [](Route route) {
    route.operation.judged = true;
    return route;
  };
  static const std::vector<Route> all{
      change<event::Next>("POST", "/v1/next", "next", kAnnotators, "Leases the question of highest worth to the annotator.",
                          "hold is not for an annotator's token.", "Asked", {409, 422}, &Api::make<event::Next>),
      change<event::Answer>("POST", "/v1/answer", "answer", kAnnotators, "Answers a question.",
                            "The reply means that the answer is on disk. The same lease and label again get the same reply.",
                            "Saved", {404, 409, 410, 422, 507}, &Api::make<event::Answer>),
      change<event::Skip>("POST", "/v1/skip", "skip", kAnnotators, "Leaves a question to another annotator.", "", "Saved",
                          {404, 409, 410}, &Api::make<event::Skip>),
      change<event::Undo>("POST", "/v1/undo", "undo", kAnnotators,
                          "Takes the annotator's last answer back; its question is leased to them again.", "", "Undone",
                          {404, 409, 507}, &Api::make<event::Undo>),
      change<event::Renew>("POST", "/v1/renew", "renew", kAnnotators, "Extends a lease.", "", "Renewed", {404, 409, 410},
                           &Api::make<event::Renew>),
      look<About>("/v1/explain/{ticket}", "explain", kOwner, "Why a question is asked.",
                  "403 for learners whose margins are not sums over features.", "Explanation", {404, 409, 507},
                  &Api::explain, kShort),
      look<NoFields>("/v1/guidelines", "guidelines", kAll, "What annotators should know, in Markdown.", "", "text/markdown",
                     {404, 500}, &Api::guidelines, kShort),
      look<NoFields>("/v1/status", "status", kAll,
                     "Counts, budget, accuracy, tasks, annotators, open questions, disagreements.",
                     "A data token reads nothing about people; an annotator's token the budget and its own counts.",
                     "Status", {}, &Api::status, kShort),
      look<NoFields>("/v1/events", "events", kOwner, "Server-sent events.", "", "text/event-stream", {503}, &Api::events,
                     kShort),
      lines(change<NoFields>(
          "POST", "/v1/examples", "examples", kData, "Unlabelled examples of the stream, or labelled ones.",
          "An id makes it safe to send an example again. A label of its own is learned from and costs no label. A body of "
          "many examples is taken in chunks; if one is refused, `taken` in the problem is the number of lines before its "
          "chunk.",
          "Results", {404, 409, 422, 507}, &Api::examples)),
      lines(look<NoFields>("/v1/predict", "predict", kData, "Predictions; nothing is learned or asked.", "", "Results",
                           {409, 422, 503, 507}, &Api::predict, kLong)),
      look<Page>("/v1/tasks", "tasks", kData, "Tasks with their counts.", "", kLines, {}, &Api::tasks, kLong),
      look<Page>("/v1/questions", "questions", kData, "Open questions, in the order of their tickets.",
                 "The next page begins at `next`.", "Questions", {}, &Api::questions, kLong),
      look<Page>("/v1/labels", "labels", kData, "The labels bought.", "", kLines, {}, &Api::labels, kLong),
      look<AnswersOf>("/v1/answers/{ticket}", "answers", kOwner, "The answers of a question, and its holder.", "", "Answers",
                      {404}, &Api::answers, kShort),
      change<event::Put>(
          "PUT", "/v1/answers/{ticket}", "put_answer", kOwner, "Makes this the annotator's answer to a question.",
          "For another labelling tool, which may repeat a request: an answer that is there stays, another label takes its "
          "place, null takes it back. No lease is needed. An answer to a question that was withdrawn is learned from as an "
          "unsolicited label, if the example is still in the pool.",
          "Saved", {404, 409, 410, 422, 507}, &Api::make<event::Put>),
      change<event::Decide>("POST", "/v1/decide", "decide", kOwner, "Settles a disagreement.", "", "Decided",
                            {404, 409, 422, 507}, &Api::make<event::Decide>),
      change<event::Limits>("PUT", "/v1/limits", "limits", kOwner, "Replaces the label budget.",
                            "409 for audits where the server was made without --audit.", "Status", {409, 422}, &Api::limits),
      change<event::ForgetTask>("DELETE", "/v1/tasks/{task}", "forget_task", kOwner,
                                "Forgets a task: its labels, examples and weights.", kForgets, "Results",
                                {404, 409, 422, 507}, &Api::make<event::ForgetTask>),
      change<event::ForgetExample>("DELETE", "/v1/examples/{example}", "forget_example", kOwner,
                                   "Forgets an example and its label.", kForgets, "Results", {404, 409, 422, 507},
                                   &Api::make<event::ForgetExample>),
      look<Page>("/v1/journal", "journal", kOwner, "Events that are on disk.",
                 "A line has sequence, event and, for examples, examples. A page may end early; the next one begins at the "
                 "last sequence + 1.",
                 kLines, {500}, &Api::journal, kLong),
      look<LogFrom>(
          "/v1/log", "log", kWorkers, "The records of the log that are on disk, as a worker applies them.",
          "Each record is a line with its sequence and its bytes, then these bytes and a newline. A reply may end "
          "early; the next one begins at the last sequence + 1. 409: the log is another one, or ends before `from`; "
          "410: the records from `from` on are no longer stored. In both cases start from /v1/model.",
          "application/octet-stream", {409, 410, 500}, &Api::log, kLong),
      judged(change<NoFields>("POST", "/v1/log", "append", kWorkers, "Examples that a worker judged by its replica.",
                              "Safe to send again: a position counts once. A question is accepted if the label budget "
                              "allows it now; else the example counts without one.",
                              "Results", {422, 507}, &Api::append)),
      look<NoFields>(
          "/v1/model", "model", kWorkers, "The newest snapshot, from which a worker starts.",
          "A line of JSON with the log, the sequence of the first record after the snapshot, the settings, and the "
          "bytes of the model and of the desk's state; then these. Both have 0 bytes if there is no snapshot yet.",
          "application/octet-stream", {500}, &Api::model, kLong),
      look<NoFields>("/metrics", "metrics", kData, "Figures for Prometheus.", "", "text/plain", {}, &Api::metrics, kShort),
      look<NoFields>("/healthz", "healthz", kOpen, "The program runs.", "", "Health", {}, &Api::health, kShort),
      look<NoFields>("/readyz", "readyz", kOpen, "Answers are taken.", "", "Ready", {503}, &Api::ready, kShort)};
  return all;
}

std::string Api::document() {
  std::vector<const Operation*> operations;
  for (const Route& route : routes()) operations.push_back(&route.operation);
  return openapi(operations).dump();
}

void Api::add_to(Router& router) {
  for (const Route& route : routes())
    router.add(route.operation.method, route.operation.path,
               [this, &route](Request request, Respond respond) { handle(std::move(request), std::move(respond), route); });
  router.add("GET", "/openapi.json",
             [text = document()](const Request&, Respond respond) { respond(text_response(text, "application/json")); });
  add_assets(router, page_assets());
}

void Api::handle(Request request, Respond respond, const Route& route) {
  const auto to = std::make_shared<Respond>(std::move(respond));
  const auto call = std::make_shared<Call>(Call{std::move(request), std::make_shared<Respond>([this, to](Response response) {
                                                  count(response.status);
                                                  (*to)(std::move(response));
                                                })});
  guarded(*call, [&] {
    const Operation& operation = route.operation;
    if (operation.roles != kOpen)
      if (auto refused = identify(call->request, operation.roles, call->who)) return call->reply(std::move(*refused));
    call->fields = fields_of(operation, call->request);
    const std::size_t body = call->request.body.size();
    if (route.work == Work::kShort || (body > 0 && body <= kShortBody)) return (this->*route.run)(*call);
    const std::lock_guard lock(aside_mutex_);
    aside_.emplace_back([this, run = route.run, call] { guarded(*call, [&] { (this->*run)(*call); }); });
    aside_wanted_.notify_one();
  });
}

/// Whatever is thrown is the reply.
template <class Do>
void Api::guarded(const Call& call, Do work) {
  try {
    renew_memory_reserve();
    return refused(call, work);
  } catch (const std::bad_alloc&) {
  }
  once_there_is_memory(
      [&] { call.reply(problem(503, "the machine has no memory left for this request; try again later")); });
}

template <class Do>
void Api::refused(const Call& call, Do work) {
  try {
    work();
  } catch (const BadRequest& bad) {
    call.reply(problem(bad.status, bad.detail, bad.expected));
  } catch (const Refused& e) {
    call.reply(response_of(e.reply()));
  } catch (const UsageError& e) {
    call.reply(problem(400, e.what()));
  } catch (const MemoryError& e) {
    call.reply(problem(503, e.what()));
  } catch (const Error& e) {
    call.reply(problem(500, e.what()));
  }
}

void Api::work_aside(const std::stop_token& end) {
  std::unique_lock lock(aside_mutex_);
  for (;;) {
    aside_wanted_.wait(lock, end, [this] { return !aside_.empty(); });
    if (aside_.empty()) return;
    const auto work = std::move(aside_.front());
    aside_.pop_front();
    lock.unlock();
    work();
    lock.lock();
  }
}

std::optional<Response> Api::identify(const Request& request, Roles roles, Identity& who) const {
  if (!tokens_.exist()) return std::nullopt;
  constexpr std::string_view kScheme = "bearer ";
  const auto given = request.header("authorization");
  const auto found =
      lower_case(given.substr(0, kScheme.size())) == kScheme ? tokens_.find(given.substr(kScheme.size())) : std::nullopt;
  if (!found) {
    auto response = problem(401, given.empty() ? "this server needs a token" : "this token is unknown or was revoked",
                            "Authorization: Bearer TOKEN, with a token that quorate serve token made");
    response.headers.emplace_back("WWW-Authenticate", "Bearer");
    return response;
  }
  if ((roles & bit(found->role)) == 0) {
    std::string expected;
    for (const Role role : {Role::kAnnotator, Role::kData, Role::kWorker, Role::kOwner})
      if ((roles & bit(role)) != 0) expected += (expected.empty() ? "" : " or ") + std::string(to_text(role));
    return problem(403, "a token of the role " + std::string(to_text(found->role)) + " does not allow this",
                   "a token of the role " + expected);
  }
  who = *found;
  return std::nullopt;
}

void Api::submit(Call& call, event::Any what) {
  const bool annotator = call.who.role == Role::kAnnotator;
  service_.submit(std::move(what), [respond = call.respond, annotator](DeskReply reply) {
    (*respond)(response_of(annotator ? without_tickets(std::move(reply)) : std::move(reply)));
  });
}

void Api::count(int status) { ++answered_[static_cast<std::size_t>(status / 100) % answered_.size()]; }

/// Makes the event of the request. An annotator's token allows the annotator's own.
template <class E>
void Api::make(Call& call) {
  E what = event_of<E>(call.fields);
  if (call.who.role == Role::kAnnotator) {
    if constexpr (requires { what.hold; })
      if (what.hold) throw BadRequest{403, "an annotator's token does not allow hold", ""};
    if constexpr (requires { what.annotator.emplace(); })
      what.annotator = call.who.name;
    else if constexpr (requires { what.annotator; })
      call.check_annotator(what.annotator);
  }
  submit(call, std::move(what));
}

void Api::limits(Call& call) {
  service_.submit(event_of<event::Limits>(call.fields), [this, respond = call.respond](DeskReply reply) {
    (*respond)(response_of(reply.done() ? named_status() : std::move(reply)));
  });
}

void Api::examples(Call& call) {
  service_.submit_examples(lines_of(call.request),
                           [respond = call.respond](DeskReply reply) { (*respond)(response_of(std::move(reply))); });
}

void Api::predict(Call& call) { call.reply(response_of(service_.predict(lines_of(call.request)))); }

void Api::explain(Call& call) { call.reply(response_of(service_.explain(event_of<About>(call.fields).ticket))); }

void Api::answers(Call& call) {
  const auto of = event_of<AnswersOf>(call.fields);
  call.reply(response_of(service_.answers(of.ticket, of.example.value_or(""))));
}

DeskReply Api::named_status() const {
  DeskReply reply = service_.status();
  reply.body["name"] = options_.name;
  return reply;
}

void Api::status(Call& call) {
  DeskReply reply = named_status();
  reply.body = status_for(call.who, std::move(reply.body));
  call.reply(response_of(reply));
}

void Api::events(Call& call) {
  events_.open(Respond([respond = call.respond](Response response) { (*respond)(std::move(response)); }),
               event_text("status", named_status().text()), [this, request = call.request] {
                 Identity who;
                 return !identify(request, bit(Role::kOwner), who);  // a token may be revoked meanwhile
               });
}

void Api::publish(const std::stop_token& end) {
  std::uint64_t seen = service_.changes();
  std::unique_lock lock(mutex_);
  while (!ending_.wait_for(lock, end, options_.between_events, [&] { return end.stop_requested(); })) {
    events_.end_refused();
    const std::uint64_t now = service_.changes();
    if (now == seen || events_.readers() == 0) continue;
    seen = now;
    try {
      events_.publish("status", named_status().text());
    } catch (const std::exception&) {  // no memory: the next one has all that this one would say
    }
  }
}

void Api::tasks(Call& call) {
  const auto [from, most] = event_of<Page>(call.fields);
  call.reply(text_response(service_.tasks(from.value_or(0), most.value_or(kPage)), "application/x-ndjson"));
}

void Api::labels(Call& call) {
  const auto [from, most] = event_of<Page>(call.fields);
  call.reply(text_response(service_.labels(from.value_or(0), most.value_or(kPage), call.who.role == Role::kOwner),
                           "application/x-ndjson"));
}

void Api::questions(Call& call) {
  const auto [from, most] = event_of<Page>(call.fields);
  call.reply(response_of(service_.questions(from.value_or(0), most.value_or(kPage), call.who.role == Role::kOwner)));
}

void Api::journal(Call& call) {
  const auto [from, most] = event_of<Page>(call.fields);
  call.reply(text_response(service_.journal(from.value_or(0), most.value_or(kPage)), "application/x-ndjson"));
}

void Api::log(Call& call) {
  const auto [from, log] = event_of<LogFrom>(call.fields);
  call.reply(text_response(service_.log_records(from, log), "application/octet-stream"));
}

void Api::append(Call& call) {
  std::string& body = call.request.body;
  const bool is_json = Json::parse(body.substr(0, body.find('\n')), nullptr, false).is_object();
  if (is_json && media_type(call.request) != "application/x-ndjson")
    throw BadRequest{415, "the content type is " + quoted_value(call.request.header("content-type")),
                     "application/x-ndjson: a line with source, read, positions and probabilities, then examples"};
  auto shared = shared_of(body);
  service_.submit_shared(std::move(shared), std::move(body),
                         [respond = call.respond](DeskReply reply) { (*respond)(response_of(std::move(reply))); });
}

void Api::model(Call& call) { call.reply(text_response(service_.newest_snapshot(), "application/octet-stream")); }

void Api::guidelines(Call& call) {
  if (options_.guidelines.empty()) throw BadRequest{404, "this server has no guidelines", ""};
  call.reply(text_response(read_file(options_.guidelines), "text/markdown; charset=utf-8"));
}

void Api::health(Call& call) {
  call.reply(text_response(Json{{"version", std::string(kVersion)}}.dump(), "application/json"));
}

void Api::ready(Call& call) {
  const std::string why = service_.failed();
  if (!why.empty()) throw BadRequest{503, why, ""};
  call.reply(text_response(R"({"ready":true})", "application/json"));
}

void Api::metrics(Call& call) {
  const ServiceFigures figures = service_.figures();
  const Desk::Figures& desk = figures.desk;
  const auto number = [](auto value) { return static_cast<double>(value); };
  Metrics out;
  out.add("quorate_examples_total", "counter", "Examples that arrived.", number(desk.examples));
  out.add("quorate_labels", "gauge", "Labels bought, questions that wait not counted.", number(desk.bought));
  if (desk.limit) out.add("quorate_labels_limit", "gauge", "Label budget.", number(*desk.limit));
  out.add("quorate_questions", "gauge", "Questions that wait for an answer.", number(desk.waiting));
  if (desk.accuracy) out.add("quorate_accuracy", "gauge", "Accuracy of the model now, by audits.", *desk.accuracy);
  out.add("quorate_tasks", "gauge", "Tasks.", number(desk.tasks));
  out.add("quorate_model_bytes", "gauge", "Memory of the model.", number(desk.model_bytes));
  out.add("quorate_taking_answers", "gauge", "1 if answers are taken, 0 after the journal failed or memory ran out.",
          desk.taking_answers ? 1 : 0);
  out.add("quorate_events_total", "counter", "Events journalled since the start.", number(figures.events));
  out.add("quorate_events_refused_total", "counter", "Events refused since the start: queue full or journal failed.",
          number(figures.refused));
  out.add("quorate_events_waiting", "gauge", "Events that are not answered yet.", number(figures.waiting));
  out.add("quorate_journal_events", "gauge", "Events in the journal.", number(figures.journal_events));
  out.add("quorate_journal_durable_events", "gauge", "Events on disk.", number(figures.durable_events));
  if (options_.copied)
    out.add("quorate_log_topic_records", "gauge", "Records of the journal that the topic of --log has.",
            number(options_.copied()));
  out.add("quorate_journal_bytes", "gauge", "Bytes of the journal on disk.", number(figures.journal_bytes));
  out.add("quorate_snapshot_bytes", "gauge", "Bytes of snapshots on disk.", number(figures.snapshot_bytes));
  out.add("quorate_snapshot_events", "gauge", "Events before the newest snapshot.", number(figures.snapshot_at));
  out.add("quorate_snapshot_failures_total", "counter", "Failed writes of snapshots.", number(figures.snapshot_failures));
  out.add("quorate_event_readers", "gauge", "Readers of the event stream.", number(events_.readers()));
  out.head("quorate_http_responses_total", "counter", "Responses by the class of their status.");
  for (const int hundreds : {2, 4, 5})
    out.row("quorate_http_responses_total", "{code=\"" + std::to_string(hundreds) + "xx\"}",
            number(answered_[static_cast<std::size_t>(hundreds)].load()));
  call.reply(text_response(out.text(), Metrics::kType));
}

}  // namespace quorate::server
