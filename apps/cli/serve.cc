// quorate serve: people answer in a browser what the learner asks, and predictions come from the same program.
#include <unistd.h>

#include <condition_variable>
#include <filesystem>
#include <iostream>
#include <mutex>
#include <thread>

#include "common.h"
#include "desk_options.h"
#include "help.h"
#include "quorate/store/files.h"
#include "server/api.h"
#include "server/http.h"
#include "server/log_topic.h"
#include "server/memory_reserve.h"
#include "server/router.h"
#include "server/service.h"
#include "server/tokens.h"

namespace quorate::cli {
namespace {

struct ServeOptions {
  DeskFolder folder;
  server::HttpOptions http;
  std::string log;  // URL of a topic
  std::vector<std::string> kafka;
  bool insecure = false;
};

struct TokenOptions {
  std::string dir, role, name, revoke;
  bool list = false;
};

std::string token_file(const std::string& dir) { return dir + "/tokens.json"; }

bool is_loopback(const std::string& address) {
  return address == "localhost" || address == "::1" || address.starts_with("127.");
}

void check_access(const ServeOptions& o, const server::Tokens& tokens) {
  if (o.http.certificate.empty() != o.http.key.empty())
    throw UsageError("--tls-certificate and --tls-key: expected both or neither");
  if (is_loopback(o.http.address)) return;
  if (o.http.certificate.empty() && !o.insecure)
    throw UsageError("--address " + o.http.address +
                     ": others on the network could read tokens and examples; expected --tls-certificate and --tls-key, or "
                     "--insecure behind a proxy that has them");
  bool owner = false;
  for (const auto& who : tokens.list()) owner |= who.role == server::Role::kOwner;
  if (!owner)
    throw UsageError("--address " + o.http.address +
                     ": anybody could reach it; expected a token first: quorate serve token --dir " + o.folder.dir +
                     " --role owner --name NAME");
}

int run_server(ServeOptions& o) {
  const std::string& dir = o.folder.dir;
  if (dir.empty()) throw UsageError("--dir is required: the folder that keeps everything");
  const server::Tokens tokens(token_file(dir));
  check_access(o, tokens);

  std::mutex log_mutex;
  const auto log = [&](std::string_view line) {
    const std::lock_guard lock(log_mutex);
    std::cerr << "quorate: " << line << "\n";
  };
  const std::stop_token stop = interrupt();
  std::stop_source replaced;  // by another desk
  std::optional<server::LogTopic> topic;
  if (!o.kafka.empty() && o.log.empty()) throw UsageError("--kafka: expected with --log");
  if (!o.log.empty()) {
    server::LogTopicOptions options{kafka::Address::parse("--log", o.log), kafka_settings(o.kafka), dir};
    options.log = log;
    options.waits = waits_for_broker(log);
    options.ended = [&replaced] { replaced.request_stop(); };
    topic.emplace(options);  // gives an empty folder the log's journal
  }
  server::ServiceOptions how;
  o.folder.set(how);
  how.log = log;
  server::reserve_memory();
  server::Service service(how);
  const struct Copying {  // reads the service until it ends
    std::optional<server::LogTopic>& topic;
    ~Copying() { topic.reset(); }
  } copying{topic};
  std::string name = service.desk_options().name;
  if (name.empty()) name = std::filesystem::absolute(dir).lexically_normal().filename().string();
  server::ApiOptions options{name, service.desk_options().guidelines};
  if (topic) options.copied = [&topic] { return topic->next(); };
  server::Api api(service, tokens, options);
  server::Router router;
  api.add_to(router);
  o.http.log = log;
  o.http.threads = std::max(1U, std::thread::hardware_concurrency());
  server::HttpServer http(o.http, [&router](server::Request request, server::Respond respond) {
    router(std::move(request), std::move(respond));
  });
  std::cout << http.url() << std::endl;
  std::cerr << "quorate: serving " << dir << "; open the address to answer, /team to look on; Ctrl-C ends\n";
  const std::stop_callback ended(stop, [&http] { http.stop(); });
  const std::stop_callback fenced(replaced.get_token(), [&http] { http.stop(); });
  if (topic) topic->begin(service);
  http.run();
  service.stop();
  if (!topic) return kDone;
  const std::string why = topic->failed();
  topic.reset();  // the topic has all
  if (!why.empty()) throw FileError(why);
  return kDone;
}

int run_token(const TokenOptions& o) {
  if (o.dir.empty()) throw UsageError("--dir is required: the folder of the server");
  if (int(o.list) + int(!o.revoke.empty()) + int(!o.role.empty()) != 1)
    throw UsageError("serve token: expected --role and --name, or --revoke, or --list");
  std::error_code error;
  std::filesystem::create_directories(o.dir, error);
  if (error) throw FileError(o.dir + ": cannot be created: " + error.message());
  server::Tokens tokens(token_file(o.dir));
  if (o.list) {
    std::vector<std::vector<std::string>> rows{{"name", "role"}};
    for (const auto& who : tokens.list()) rows.push_back({who.name, std::string(to_text(who.role))});
    std::cout << left_table(rows);
  } else if (!o.revoke.empty()) {
    tokens.revoke(o.revoke);
  } else {
    std::cout << tokens.add(server::role_named(o.role).value(), o.name) << "\n";
    std::cerr << "quorate: this is the only time that the token of " << quoted_value(o.name)
              << " is shown; for the page, append #token=TOKEN to the address\n";
  }
  return kDone;
}

}  // namespace

Command add_serve(CLI::App& app) {
  const auto o = std::make_shared<ServeOptions>();
  o->folder.add(app);
  app.add_option("--port", o->http.port, "port; 0: a free one")->check(whole(0, 65'535))->capture_default_str();
  app.add_option("--address", o->http.address, "address to listen on; others than loopback need tokens")
      ->capture_default_str();
  app.add_option("--tls-certificate", o->http.certificate, "PEM file")->type_name("FILE");
  app.add_option("--tls-key", o->http.key, "PEM file")->type_name("FILE");
  app.add_option("--allow-host", o->http.allowed_hosts, "further name of this server, as a proxy sends it; repeatable")
      ->allow_extra_args(false)
      ->type_name("NAME");
  app.add_option(
         "--log", o->log,
         "topic that gets the log, as kafka://HOST:PORT/TOPIC: workers follow it, and a desk with an empty --dir goes on "
         "from it")
      ->type_name("URL");
  add_kafka_settings(app, o->kafka);
  app.add_flag("--insecure", o->insecure, "allow an address other than loopback without TLS");
  app.footer(
      "Settings are those of the first start, and --dir is enough later, but where the server listens (--address, --port, "
      "TLS) is\n"
      "said at each start. The project's name, guidelines, prompt, leases, opinions, --hold, --keep-journal and --archive "
      "may be\n"
      "given again: they change from then on. Ctrl-C ends the server with a snapshot.\nExample:\n  "
      "quorate serve --dir spam --positive spam --negative ham --labels 500 --audit 0.1");

  const auto t = std::make_shared<TokenOptions>();
  CLI::App* token = app.add_subcommand("token", "make, list or revoke tokens");
  token->add_option("--dir", t->dir, "folder of the server")->type_name("FOLDER");
  choose(token->add_option("--role", t->role,
                           "annotator: answer under one name; data: send examples, read predictions; worker: judge\n"
                           "examples elsewhere (quorate work); owner: everything"),
         {"annotator", "data", "worker", "owner"});
  token->add_option("--name", t->name, "who has the token; of an annotator the name that answers carry");
  token->add_option("--revoke", t->revoke, "make the token of this name useless")->type_name("NAME");
  token->add_flag("--list", t->list, "list names and roles");
  token->footer(
      "The token is printed once; DIR/tokens.json has its hash. A server at work notices within a second.\nExample:\n  "
      "quorate serve token --dir spam --role annotator --name ann");
  return [=] { return token->parsed() ? run_token(*t) : run_server(*o); };
}

}  // namespace quorate::cli
