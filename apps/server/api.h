// The HTTP interface of `quorate serve`: which request does what, and for whom, is a table of routes in api.cc.
#pragma once
#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <stop_token>
#include <string>
#include <thread>

#include "server/event_stream.h"
#include "server/openapi.h"
#include "server/router.h"
#include "server/service.h"
#include "server/static_files.h"
#include "server/tokens.h"

namespace quorate::server {

/// The files of the page (cmake/embed.cmake).
std::span<const Asset> page_assets();

struct ApiOptions {
  std::string name;                                                    ///< of the project, for the page
  std::string guidelines;                                              ///< Markdown file; empty: none
  std::chrono::milliseconds between_events = std::chrono::seconds(1);  ///< of the event stream, at least
  std::function<std::uint64_t()> copied = nullptr;  ///< records that the topic of the log has; nothing: there is none
};

/// Handlers for a Router. Bodies are checked completely: an unknown field is an error. Errors are problem documents.
///
/// If there are tokens, a request needs one in "Authorization: Bearer TOKEN", but for the files of the page, /healthz,
/// /readyz and /openapi.json; an annotator's token allows that annotator's name alone. Without tokens everything is open.
class Api {
 public:
  /// Both references must outlive the Api, which must outlive the router and the service's last answer.
  Api(Service& service, const Tokens& tokens, ApiOptions options);
  Api(const Api&) = delete;
  Api& operator=(const Api&) = delete;

  /// Adds every route, those of the page and /openapi.json too.
  void add_to(Router& router);
  /// The OpenAPI document of the routes.
  static std::string document();

 private:
  struct Call;
  struct Route;
  using Run = void (Api::*)(Call&);

  /// kLong: on a thread of its own, unless the body is short, so that the threads of connections go on.
  enum class Work { kShort, kLong };
  template <class E>
  static Route change(std::string_view method, std::string_view path, std::string_view name, Roles roles,
                      std::string_view summary, std::string_view description, std::string_view gives,
                      std::vector<int> refusals, Run run);
  template <class Fields>
  static Route look(std::string_view path, std::string_view name, Roles roles, std::string_view summary,
                    std::string_view description, std::string_view gives, std::vector<int> refusals, Run run, Work work);
  static const std::vector<Route>& routes();
  void handle(Request request, Respond respond, const Route& route);
  template <class Do>
  void guarded(const Call& call, Do work);
  template <class Do>
  void refused(const Call& call, Do work);
  void work_aside(const std::stop_token& end);
  std::optional<Response> identify(const Request& request, Roles roles, Identity& who) const;
  void submit(Call& call, event::Any what);
  void count(int status);

  template <class E>
  void make(Call& call);
  void limits(Call& call);
  void examples(Call& call);
  void predict(Call& call);
  void explain(Call& call);
  void answers(Call& call);
  void status(Call& call);
  void events(Call& call);
  void tasks(Call& call);
  void labels(Call& call);
  void questions(Call& call);
  void journal(Call& call);
  void log(Call& call);
  void append(Call& call);
  void model(Call& call);
  void guidelines(Call& call);
  void health(Call& call);
  void ready(Call& call);
  void metrics(Call& call);

  DeskReply named_status() const;
  void publish(const std::stop_token& end);

  Service& service_;
  const Tokens& tokens_;
  const ApiOptions options_;
  EventStream events_;
  std::array<std::atomic<std::uint64_t>, 6> answered_{};  // by the hundreds of the status
  std::mutex mutex_;
  std::condition_variable_any ending_;
  std::mutex aside_mutex_;
  std::condition_variable_any aside_wanted_;
  std::deque<std::function<void()>> aside_;  // long work, one at a time
  std::jthread publisher_, reader_;          // end before what they use
};

}  // namespace quorate::server
