// quorate work: judges a stream by a model that follows the log of a desk, and asks for labels there.
#include <iostream>
#include <thread>

#include "common.h"
#include "desk_options.h"
#include "help.h"
#include "quorate/store/files.h"
#include "server/http.h"
#include "server/metrics.h"
#include "server/router.h"
#include "work_link.h"
#include "work_streams.h"

namespace quorate::cli {
namespace {

constexpr std::size_t kJudgedAtOnce = 64;   // lines, while the log waits
constexpr std::size_t kKafkaAtOnce = 4096;  // the same, where each batch waits for the brokers

struct WorkOptions {
  server::HttpClientOptions server;
  std::string log, data = "-", token_file, source, examples, group, member, to;
  std::vector<std::string> kafka;
  LinkOptions link;
  std::optional<std::uint16_t> metrics_port;
  std::string metrics_address = "127.0.0.1";
};

/// /metrics, /healthz and /readyz of a worker, on a thread of its own.
class Watched {
 public:
  Watched(const WorkOptions& o, Link& link) {
    const auto text = [](std::string body, const char* type) {
      server::Response out;
      out.body = std::move(body);
      out.type = type;
      return out;
    };
    router_.add("GET", "/healthz", [text](const server::Request&, server::Respond respond) {
      respond(text(R"({"ok":true})", "application/json"));
    });
    router_.add("GET", "/readyz", [&link, text](const server::Request&, server::Respond respond) {
      const std::string why = link.not_ready();
      respond(why.empty() ? text(R"({"ready":true})", "application/json") : server::problem(503, why));
    });
    router_.add("GET", "/metrics", [&link, text](const server::Request&, server::Respond respond) {
      respond(text(link.metrics(), server::Metrics::kType));
    });
    server::HttpOptions options;
    options.address = o.metrics_address;
    options.port = *o.metrics_port;
    http_.emplace(options, [this](server::Request request, server::Respond respond) {
      router_(std::move(request), std::move(respond));
    });
    std::cerr << "quorate: figures of this worker: " << http_->url() << "/metrics\n";
    thread_ = std::thread([this] { http_->run(); });
  }
  ~Watched() {
    http_->stop();
    thread_.join();
  }
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;

 private:
  server::Router router_;
  std::optional<server::HttpServer> http_;
  std::thread thread_;
};

std::unique_ptr<server::LogClient> log_of(WorkOptions& o, const kafka::Settings& settings) {
  if (o.server.url.empty() == o.log.empty()) throw UsageError("expected --server or --log: where the desk is");
  if (!o.log.empty()) return server::kafka_log(kafka::Address::parse("--log", o.log), settings);
  if (!o.token_file.empty())
    o.server.token = read_file(o.token_file);
  else if (const char* token = std::getenv("QUORATE_TOKEN"))
    o.server.token = token;
  while (!o.server.token.empty() && std::string_view("\r\n ").find(o.server.token.back()) != std::string_view::npos)
    o.server.token.pop_back();
  if (std::ranges::any_of(o.server.token, [](char c) { return c <= ' ' || c > '~'; }))
    throw UsageError((o.token_file.empty() ? "QUORATE_TOKEN" : o.token_file) +
                     std::string(": expected a token alone, in one line, as quorate serve token writes it"));
  return server::http_log(o.server);
}

int judge_all(WorkOptions o) {
  const std::stop_token stop = interrupt();
  interrupt_on_closed_pipe();
  if (o.source.size() > 100)
    throw UsageError("--source has " + std::to_string(o.source.size()) + " bytes; expected 1 to 100");
  if (std::ranges::any_of(o.source, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }))
    throw UsageError("--source " + quoted_value(o.source) + ": expected a name without control characters");
  if (o.examples.empty() != o.group.empty())
    throw UsageError("--examples and --group: expected both or neither; members of a group share the topic");
  if (!o.member.empty() && o.group.empty()) throw UsageError("--member: expected with --examples and --group");
  const kafka::Settings settings = kafka_settings(o.kafka);
  std::optional<kafka::Address> examples, to;
  if (!o.examples.empty()) examples = kafka::Address::parse("--examples", o.examples);
  if (!o.to.empty()) to = kafka::Address::parse("--to", o.to);
  o.link.worker.moves = examples.has_value();
  Link link(log_of(o, settings), o.link);
  const std::unique_ptr<Output> output = to ? kafka_output(*to, settings) : standard_output();
  std::optional<Watched> watched;
  if (o.metrics_port) watched.emplace(o, link);
  const std::unique_ptr<Input> input = examples ? kafka_input(link, *examples, settings, o.group, o.member, o.link.quiet)
                                                : lines_input(link, o.data, o.source, o.link.quiet);
  const std::size_t at_once = to ? kKafkaAtOnce : kJudgedAtOnce;
  std::string out;
  std::uint64_t count = 0, unusable = 0;
  for (;;) {
    const Batch some = input->next(at_once);
    if (stop.stop_requested() || (some.count == 0 && !examples)) break;
    if (some.count == 0) continue;
    out.clear();
    const std::size_t bad = link.judge(some.source, some.position, some.lines, out);
    if (bad > 0 && unusable == 0) {
      const auto at = out.find(R"("error")"), from = out.rfind('\n', at) + 1;  // npos + 1 is 0
      const std::string line = out.substr(from, out.find('\n', at) - from);
      const bool says = line.find("expected") != line.npos && line.find("expected JSON") == line.npos;
      std::cerr << "quorate: a line cannot be used: " << line
                << (says ? "\n" : "; expected JSON, as quorate convert --to jsonl makes it of other formats\n");
    }
    if (!output->write(some, out)) {
      link.give_up(some.source);
      break;
    }
    link.wrote(some.source);
    unusable += bad;
    count += some.count;
  }
  const std::uint64_t left = link.finish(std::chrono::seconds(o.link.patience));
  if (!o.link.quiet)
    std::cerr << "quorate: " << counted(count - unusable, "line") << " judged"
              << (unusable > 0 ? ", " + counted(unusable, "line") + " unusable; " : "; ") << link.summary() << "\n";
  if (left > 0) {
    std::cerr << "quorate: the server does not know of " << counted(left, "line") << " judged; "
              << (examples ? "the next member of the group judges them again\n"
                           : "judge them again with the same --source\n");
    return kFileTrouble;
  }
  if (stop.stop_requested()) return kInterrupted;
  return unusable > 0 ? kBadData : kDone;
}

int run(const WorkOptions& o) {
  try {
    return judge_all(o);
  } catch (const Refused& e) {
    throw UsageError(o.log + o.server.url + ": " + e.detail + (e.expected.empty() ? "" : "; expected " + e.expected));
  }
}

}  // namespace

Command add_work(CLI::App& app) {
  const auto o = std::make_shared<WorkOptions>();
  app.add_option("--server", o->server.url, "address of quorate serve")->type_name("URL");
  app.add_option("--log", o->log, "instead of --server: the log of quorate serve --log, as kafka://HOST:PORT/TOPIC")
      ->excludes("--server")
      ->type_name("URL");
  app.add_option("--data", o->data, "lines of JSON, as quorate serve takes them; - for standard input")
      ->capture_default_str()
      ->type_name("FILE");
  app.add_option("--source", o->source,
                 "name of the stream, as a partition of a queue: the server knows how many of its lines are judged "
                 "(default: the file's on this machine; of a pipe, one for each run)")
      ->type_name("NAME");
  app.add_option("--examples", o->examples, "instead of --data: a topic, as kafka://HOST:PORT/TOPIC")
      ->excludes("--data")
      ->excludes("--source")
      ->type_name("URL");
  app.add_option("--group", o->group, "consumer group whose members share the topic of --examples")->type_name("NAME");
  app.add_option("--member", o->member, "name in the group of a worker that keeps its partitions while it starts again")
      ->type_name("NAME");
  app.add_option("--to", o->to, "topic for predictions, as kafka://HOST:PORT/TOPIC (default: standard output)")
      ->type_name("URL");
  add_kafka_settings(app, o->kafka);
  app.add_option("--token-file", o->token_file, "file with a token of the role worker (default: QUORATE_TOKEN)")
      ->type_name("FILE");
  app.add_option("--tls-authorities", o->server.authorities,
                 "PEM file of those that sign the server's certificate (default: the system's)")
      ->type_name("FILE");
  app.add_option("--share-examples", o->link.worker.share_examples,
                 "examples sent for each label without a question; cohort learns from them what words are rare and which go "
                 "together")
      ->check(whole(0))
      ->capture_default_str();
  app.add_option("--queue", o->link.worker.queue,
                 "lines that wait for a server that is away; those without a question go first, and then nothing is asked")
      ->check(whole(1))
      ->capture_default_str();
  app.add_option("--patience", o->link.patience, "seconds to wait for the server, at the start and at the end")
      ->check(whole(0))
      ->capture_default_str();
  app.add_option("--seed", o->link.worker.seed, "random seed of the questions, with the source")
      ->check(whole(0))
      ->capture_default_str();
  app.add_option("--metrics-port", o->metrics_port,
                 "port for /metrics, /healthz and /readyz; 0: a free one (default: none)");
  app.add_option("--metrics-address", o->metrics_address, "address for them")->capture_default_str()->type_name("ADDRESS");
  app.add_flag("--quiet", o->link.quiet, "say errors alone");
  app.footer(
      "Run as many as the stream needs, on any machines: each judges its part by the same model, which learns from the "
      "labels "
      "of all.\nPredictions go to standard output, a line of JSON each.\nExample:\n  "
      "tail -n +1 -F emails.jsonl | quorate work --server https://desk:8717 --source emails > predictions.jsonl");
  return [o] { return run(*o); };
}

}  // namespace quorate::cli
