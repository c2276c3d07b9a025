#include "server/api.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <utility>

#include "quorate/base/error.h"
#include "quorate/base/number.h"
#include "quorate/store/files.h"
#include "quorate/version.h"
#include "server/memory_reserve.h"

namespace quorate::server {
namespace {

constexpr unsigned bit(Role role) { return 1U << static_cast<unsigned>(role); }
// Who may call what; status_for(), labels() and questions() say what each role reads there (docs/serve.md has the table).
constexpr unsigned kOpen = 0, kOwner = bit(Role::kOwner), kAnnotators = kOwner | bit(Role::kAnnotator),
                   kData = kOwner | bit(Role::kData), kAll = kAnnotators | kData;

constexpr std::size_t kLongestSmallBody = 16'384, kShortBody = 4096;  // kShortBody: predicted at once
constexpr std::uint64_t kPage = 1000, kLargestPage = 100'000, kLargestNumber = static_cast<std::uint64_t>(event::kWhole.hi);

/// A request that is not as expected.
struct BadRequest {
  int status;
  std::string detail, expected;
};

std::string media_type(const Request& request) {
  const auto type = request.header("content-type");
  std::string out = lower_case(type.substr(0, type.find(';')));
  out.erase(out.find_last_not_of(" \t") + 1);
  return out;
}

void check_query(const Request& request, std::initializer_list<std::string_view> names) {
  for (const auto& [name, value] : request.query)
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      std::string expected;
      for (const auto known : names) expected += (expected.empty() ? "" : ", ") + std::string(known);
      throw BadRequest{400, "unknown query parameter " + quoted_value(name), expected.empty() ? "none" : expected};
    }
}

/// The body: an object with the fields that stand in a body, and no others.
Json object_of(const Request& request, const std::vector<FieldRule>& rules) {
  std::string names;
  for (const FieldRule& rule : rules)
    if (rule.in == In::kBody) names.append(names.empty() ? "" : ", ").append(rule.name);
  const std::string expected = "a JSON object with " + names;
  if (!request.body.empty() && media_type(request) != "application/json")
    throw BadRequest{415, "the content type is " + quoted_value(request.header("content-type")), "application/json"};
  if (request.body.size() > kLongestSmallBody)
    throw BadRequest{413, "the body is too long", std::to_string(kLongestSmallBody) + " bytes at most"};
  Json body = Json::parse(request.body, nullptr, false);
  if (body.is_discarded()) throw BadRequest{400, "the body is not JSON", expected};
  if (!body.is_object()) throw BadRequest{400, "the body is no object", expected};
  for (const auto& [key, value] : body.items()) {
    const auto rule = std::ranges::find(rules, std::string_view(key), &FieldRule::name);
    if (rule == rules.end() || rule->in != In::kBody) throw BadRequest{400, "unknown field " + quoted_value(key), expected};
    if (!rule->accepts_within(value))
      throw BadRequest{400, "field " + quoted_value(key) + " is " + shown_value(quorate::to_text(value)), rule->expected()};
  }
  for (const FieldRule& rule : rules)
    if (rule.in == In::kBody && rule.required && !body.contains(rule.name))
      throw BadRequest{400, "no field " + quoted_value(rule.name), expected};
  return body;
}

/// The event of a body. path: its fields that stand in the path.
template <class E>
E event_in(const Request& request, const Json& path = Json::object()) {
  check_query(request, {});
  Json fields = object_of(request, rules_of<E>());
  fields.update(path);
  return event_of<E>(fields);
}

std::uint64_t number_of(const Request& request, const char* name, std::uint64_t initial, std::uint64_t least,
                        std::uint64_t most) {
  const auto found = request.query.find(name);
  if (found == request.query.end()) return initial;
  const auto value = parse_number<std::uint64_t>(found->second);
  if (!value || *value < least || *value > most)
    throw BadRequest{400, "query parameter " + quoted_value(name) + " is " + quoted_value(found->second),
                     "a whole number from " + std::to_string(least) + " to " + std::to_string(most)};
  return *value;
}

struct Page {
  std::uint64_t from, most;
};
Page page_of(const Request& request) {
  check_query(request, {"from", "most"});
  return {number_of(request, "from", 0, 0, kLargestNumber), number_of(request, "most", kPage, 1, kLargestPage)};
}

/// A question's example is taken apart while others wait.
void check_lengths(std::string_view lines) {
  constexpr std::size_t kLongest = std::size_t{4} << 20;
  std::uint64_t number = 1;
  for (; !lines.empty(); ++number) {
    const std::size_t length = std::min(lines.find('\n'), lines.size());
    if (length > kLongest)
      throw BadRequest{413, "example " + std::to_string(number) + " has " + std::to_string(length) + " bytes",
                       std::to_string(kLongest) + " at most"};
    lines.remove_prefix(std::min(length + 1, lines.size()));
  }
}

/// Examples as lines. Those of application/x-ndjson are passed on as they are.
std::string lines_of(Request& request) {
  check_query(request, {});
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
  for (const char* key : {"audits", "waiting"}) own["labels"].erase(key);
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

/// Figures in the text format of Prometheus.
class Metrics {
 public:
  void add(const char* name, const char* type, const char* help, double value) {
    head(name, type, help);
    row(name, "", value);
  }
  void head(const char* name, const char* type, const char* help) {
    text_.append("# HELP ").append(name).append(" ").append(help).append("\n# TYPE ").append(name).append(" ");
    text_.append(type).append("\n");
  }
  void row(const char* name, const std::string& labels, double value) {
    text_.append(name).append(labels).append(" ");
    text_.append(std::isnan(value) ? "NaN" : shortest(value)).append("\n");
  }
  std::string text() { return std::move(text_); }

 private:
  std::string text_;
};

}  // namespace

/// A request whose sender may make it.
struct Api::Call {
  Request request;
  std::shared_ptr<Respond> respond;
  Identity who;

  void reply(Response response) const { (*respond)(std::move(response)); }
  std::uint64_t ticket() const;  ///< of the path
  /// Submits an event about a lease: an annotator's token allows the annotator's own.
  template <class E>
  void submit_as_holder(Api& api, E event) {
    if (who.role == Role::kAnnotator) event.annotator = who.name;
    api.submit(*this, std::move(event));
  }
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

void Api::add_to(Router& router) {
  add(router, "POST", "/v1/next", kAnnotators, &Api::next);
  add(router, "POST", "/v1/answer", kAnnotators, &Api::answer);
  add(router, "POST", "/v1/skip", kAnnotators, &Api::skip);
  add(router, "POST", "/v1/undo", kAnnotators, &Api::undo);
  add(router, "POST", "/v1/renew", kAnnotators, &Api::renew);
  add(router, "GET", "/v1/explain/{ticket}", kOwner, &Api::explain);
  add(router, "GET", "/v1/guidelines", kAll, &Api::guidelines);
  add(router, "GET", "/v1/status", kAll, &Api::status);
  add(router, "GET", "/v1/events", kOwner, &Api::events);
  add(router, "POST", "/v1/examples", kData, &Api::examples);
  add(router, "POST", "/v1/predict", kData, &Api::predict, Work::kLong);
  add(router, "GET", "/v1/tasks", kData, &Api::tasks, Work::kLong);
  add(router, "GET", "/v1/questions", kData, &Api::questions, Work::kLong);
  add(router, "GET", "/v1/labels", kData, &Api::labels, Work::kLong);
  add(router, "GET", "/v1/answers/{ticket}", kOwner, &Api::answers);
  add(router, "PUT", "/v1/answers/{ticket}", kOwner, &Api::put_answer);
  add(router, "POST", "/v1/decide", kOwner, &Api::decide);
  add(router, "PUT", "/v1/limits", kOwner, &Api::limits);
  add(router, "DELETE", "/v1/tasks/{name}", kOwner, &Api::forget_task);
  add(router, "DELETE", "/v1/examples/{id}", kOwner, &Api::forget_example);
  add(router, "GET", "/v1/journal", kOwner, &Api::journal, Work::kLong);
  add(router, "GET", "/metrics", kData, &Api::metrics);
  add(router, "GET", "/healthz", kOpen, &Api::health);
  add(router, "GET", "/readyz", kOpen, &Api::ready);
  add_assets(router, page_assets());
  add_assets(router, openapi_assets());
}

void Api::add(Router& router, const char* method, const char* path, Roles roles, Run run, Work work) {
  router.add(method, path, [this, roles, run, work](Request request, Respond respond) {
    handle(std::move(request), std::move(respond), roles, run, work);
  });
}

void Api::handle(Request request, Respond respond, Roles roles, Run run, Work work) {
  const auto to = std::make_shared<Respond>(std::move(respond));
  const auto call = std::make_shared<Call>(Call{std::move(request),
                                                std::make_shared<Respond>([this, to](Response response) {
                                                  count(response.status);
                                                  (*to)(std::move(response));
                                                }),
                                                {}});
  guarded(*call, [&] {
    if (roles != kOpen)
      if (auto refused = identify(call->request, roles, call->who)) return call->reply(std::move(*refused));
    const std::size_t body = call->request.body.size();
    if (work == Work::kShort || (body > 0 && body <= kShortBody)) return (this->*run)(*call);
    const std::lock_guard lock(aside_mutex_);
    aside_.emplace_back([this, run, call] { guarded(*call, [&] { (this->*run)(*call); }); });
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
    for (const Role role : {Role::kAnnotator, Role::kData, Role::kOwner})
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

void Api::next(Call& call) {
  auto next = event_in<event::Next>(call.request);
  call.check_annotator(next.annotator);
  if (next.hold && call.who.role == Role::kAnnotator) throw BadRequest{403, "an annotator's token does not allow hold", ""};
  submit(call, std::move(next));
}

void Api::answer(Call& call) { call.submit_as_holder(*this, event_in<event::Answer>(call.request)); }

void Api::skip(Call& call) { call.submit_as_holder(*this, event_in<event::Skip>(call.request)); }

void Api::undo(Call& call) {
  auto undo = event_in<event::Undo>(call.request);
  call.check_annotator(undo.annotator);
  submit(call, std::move(undo));
}

void Api::renew(Call& call) { call.submit_as_holder(*this, event_in<event::Renew>(call.request)); }

void Api::decide(Call& call) { submit(call, event_in<event::Decide>(call.request)); }

void Api::limits(Call& call) {
  service_.submit(event_in<event::Limits>(call.request), [this, respond = call.respond](DeskReply reply) {
    (*respond)(response_of(reply.done() ? named_status() : std::move(reply)));
  });
}

void Api::examples(Call& call) {
  service_.submit_examples(lines_of(call.request),
                           [respond = call.respond](DeskReply reply) { (*respond)(response_of(std::move(reply))); });
}

void Api::predict(Call& call) { call.reply(response_of(service_.predict(lines_of(call.request)))); }

std::uint64_t Api::Call::ticket() const {
  const std::string& text = request.parameters.at("ticket");
  const auto ticket = parse_number<std::uint64_t>(text);
  if (!ticket || *ticket > kLargestNumber)
    throw BadRequest{404, "there is no question " + quoted_value(text), "the number of a question's ticket"};
  return *ticket;
}

void Api::explain(Call& call) {
  check_query(call.request, {});
  call.reply(response_of(service_.explain(call.ticket())));
}

void Api::answers(Call& call) {
  check_query(call.request, {"example"});
  const auto example = call.request.query.find("example");
  call.reply(response_of(service_.answers(call.ticket(), example == call.request.query.end() ? "" : example->second)));
}

void Api::put_answer(Call& call) { submit(call, event_in<event::Put>(call.request, {{"ticket", call.ticket()}})); }

DeskReply Api::named_status() const {
  DeskReply reply = service_.status();
  reply.body["name"] = options_.name;
  return reply;
}

void Api::status(Call& call) {
  check_query(call.request, {});
  DeskReply reply = named_status();
  reply.body = status_for(call.who, std::move(reply.body));
  call.reply(response_of(reply));
}

void Api::events(Call& call) {
  check_query(call.request, {});
  events_.open(Respond([respond = call.respond](Response response) { (*respond)(std::move(response)); }),
               event_text("status", named_status().text()));
}

void Api::publish(const std::stop_token& end) {
  std::uint64_t seen = service_.changes();
  std::unique_lock lock(mutex_);
  while (!ending_.wait_for(lock, end, options_.between_events, [&] { return end.stop_requested(); })) {
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
  const Page page = page_of(call.request);
  call.reply(text_response(service_.tasks(page.from, page.most), "application/x-ndjson"));
}

void Api::labels(Call& call) {
  const Page page = page_of(call.request);
  call.reply(text_response(service_.labels(page.from, page.most, call.who.role == Role::kOwner), "application/x-ndjson"));
}

void Api::questions(Call& call) {
  const Page page = page_of(call.request);
  call.reply(response_of(service_.questions(page.from, page.most, call.who.role == Role::kOwner)));
}

void Api::forget_task(Call& call) {
  check_query(call.request, {});
  submit(call, event::ForgetTask{call.request.parameters.at("name")});
}

void Api::forget_example(Call& call) {
  check_query(call.request, {});
  submit(call, event::ForgetExample{call.request.parameters.at("id")});
}

void Api::journal(Call& call) {
  const Page page = page_of(call.request);
  call.reply(text_response(service_.journal(page.from, page.most), "application/x-ndjson"));
}

void Api::guidelines(Call& call) {
  check_query(call.request, {});
  if (options_.guidelines.empty()) throw BadRequest{404, "this server has no guidelines", ""};
  call.reply(text_response(read_file(options_.guidelines), "text/markdown; charset=utf-8"));
}

void Api::health(Call& call) {
  check_query(call.request, {});
  call.reply(text_response(Json{{"version", std::string(kVersion)}}.dump(), "application/json"));
}

void Api::ready(Call& call) {
  check_query(call.request, {});
  const std::string why = service_.failed();
  if (!why.empty()) throw BadRequest{503, why, ""};
  call.reply(text_response(R"({"ready":true})", "application/json"));
}

void Api::metrics(Call& call) {
  check_query(call.request, {});
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
  out.add("quorate_journal_bytes", "gauge", "Bytes of the journal on disk.", number(figures.journal_bytes));
  out.add("quorate_snapshot_bytes", "gauge", "Bytes of snapshots on disk.", number(figures.snapshot_bytes));
  out.add("quorate_snapshot_events", "gauge", "Events before the newest snapshot.", number(figures.snapshot_at));
  out.add("quorate_snapshot_failures_total", "counter", "Failed writes of snapshots.", number(figures.snapshot_failures));
  out.add("quorate_event_readers", "gauge", "Readers of the event stream.", number(events_.readers()));
  out.head("quorate_http_responses_total", "counter", "Responses by the class of their status.");
  for (const int hundreds : {2, 4, 5})
    out.row("quorate_http_responses_total", "{code=\"" + std::to_string(hundreds) + "xx\"}",
            number(answered_[static_cast<std::size_t>(hundreds)].load()));
  call.reply(text_response(out.text(), "text/plain; version=0.0.4; charset=utf-8"));
}

}  // namespace quorate::server
