// quorate work: judges a stream by a model that follows the log of quorate serve, and asks for labels there.
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <condition_variable>
#include <deque>
#include <filesystem>
#include <iostream>
#include <mutex>
#include <random>
#include <thread>

#include "common.h"
#include "help.h"
#include "quorate/share/replica.h"
#include "quorate/share/worker.h"
#include "quorate/store/files.h"
#include "quorate/stream/source.h"
#include "server/http.h"
#include "server/http_client.h"
#include "server/metrics.h"
#include "server/router.h"

namespace quorate::cli {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kSentAtOnce = 256;              // lines of a request
constexpr std::size_t kJudgedAtOnce = 64;             // lines, while the log waits
constexpr std::chrono::milliseconds kTurn{50};        // between two looks at the log, if there is nothing new
constexpr std::chrono::milliseconds kClock{1'000};    // between two messages that say nothing but how much was read
constexpr std::chrono::milliseconds kLongest{5'000};  // between two tries while the server is away
constexpr std::chrono::seconds kStale{30};            // a worker that has not read the log for longer is not ready

struct WorkOptions {
  server::HttpClientOptions server;
  std::string data = "-", token_file;
  WorkerOptions worker;
  std::uint64_t patience = 60;
  std::optional<std::uint16_t> metrics_port;
  std::string metrics_address = "127.0.0.1";
  bool quiet = false;
};

/// The reason in a refusal: the detail of quorate serve, or that something else answers there.
std::string reason_of(const server::HttpResult& result) {
  const Json body = Json::parse(result.body, nullptr, false);
  const std::string status = "status " + std::to_string(result.status);
  if (!body.is_object() || !body.contains("detail") || !body["detail"].is_string())
    return status + ", which is not of quorate serve; expected its own address, not that of a page to log in";
  const std::string detail = body["detail"].get<std::string>();
  return body.contains("expected") && body["expected"].is_string() && detail.find("expected") == detail.npos
             ? detail + "; expected " + body["expected"].get<std::string>()
             : detail;
}

/// The replica and what goes to the desk, on a thread of its own.
class Link {
 public:
  Link(const WorkOptions& o, Worker& worker) : o_(o), client_(o.server), worker_(worker) {
    begin();
    thread_ = std::thread([this] { run(); });
  }
  ~Link() {
    {
      const std::lock_guard lock(mutex_);
      closing_ = true;
    }
    wake_.notify_all();
    client_.stop();
    thread_.join();
  }
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  /// Judges lines with the desk as it is now; returns the number of unusable ones. Throws what stopped the link.
  std::size_t judge(std::string_view lines, std::string& out) {
    std::unique_lock lock(mutex_);
    // With a full queue predictions go on, and nothing is asked. No line with a label is lost: the input waits.
    while (failed_ == nullptr && worker_.make_room(replica_->desk())) {
      if (!std::exchange(said_full_, true)) log("labels wait for the server; the input waits, too");
      room_.wait_for(lock, 100ms);
      if (interrupt().stop_requested()) return 0;
    }
    if (failed_) std::rethrow_exception(failed_);
    const std::uint64_t before = worker_.next(replica_->desk());
    const std::size_t unusable = worker_.judge(replica_->desk(), lines, out);
    judged_ += worker_.next(replica_->desk()) - before;
    unusable_ += unusable;
    return unusable;
  }
  /// The predictions so far are written.
  void wrote() {
    const std::lock_guard lock(mutex_);
    worker_.wrote();
  }
  std::uint64_t next() {
    const std::lock_guard lock(mutex_);
    return worker_.next(replica_->desk());
  }
  /// Waits until the desk has everything, for at most that long, or, interrupted, a second. Returns the number of lines that
  /// it lacks.
  std::size_t finish(std::chrono::seconds most) {
    std::unique_lock lock(mutex_);
    finishing_ = true;
    wake_.notify_all();
    const auto begin = std::chrono::steady_clock::now();
    while (failed_ == nullptr && !worker_.done(replica_->desk())) {
      if (std::chrono::steady_clock::now() - begin >= (interrupt().stop_requested() ? std::min(most, 1s) : most)) break;
      room_.wait_for(lock, 50ms);
    }
    if (failed_) std::rethrow_exception(failed_);
    return worker_.waiting(replica_->desk());
  }
  /// Figures of this worker. Any thread.
  std::string metrics() {
    const std::lock_guard lock(mutex_);
    const Desk::Figures figures = replica_->desk().figures();
    server::Metrics out;
    const auto add = [&](const char* name, const char* type, const char* help, auto value) {
      out.add(name, type, help, static_cast<double>(value));
    };
    add("quorate_work_lines_total", "counter", "Lines judged since the start.", judged_);
    add("quorate_work_lines_unusable_total", "counter", "Unusable lines among these.", unusable_);
    add("quorate_work_asked_total", "counter", "Questions since the start, refused ones included.", worker_.asked());
    add("quorate_work_waiting", "gauge", "Lines that wait for the server.", worker_.waiting(replica_->desk()));
    add("quorate_work_log_record", "gauge", "Records of the log that the model has.", replica_->next());
    add("quorate_work_log_age_seconds", "gauge", "Time since the log was read to its end.", log_age());
    add("quorate_labels", "gauge", "Labels bought by all, as far as the log is read.", figures.bought);
    add("quorate_model_bytes", "gauge", "Memory of the model.", figures.model_bytes);
    return out.text();
  }
  /// Why this worker is not ready; empty if it is. Any thread.
  std::string not_ready() {
    const std::lock_guard lock(mutex_);
    if (failed_) return "it has failed and ends";
    if (log_age() <= static_cast<double>(kStale.count())) return "";
    return "the log was not read for " + std::to_string(std::llround(log_age())) + " s; predictions go on by the last model";
  }
  std::string summary() {
    const std::lock_guard lock(mutex_);
    const Desk::Figures figures = replica_->desk().figures();
    return counted(figures.bought, "label") + " bought by all, log read to record " + std::to_string(replica_->next());
  }

 private:
  double log_age() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - read_).count(); }
  void log(const std::string& line) const {
    if (!o_.quiet) std::cerr << "quorate: " << line << "\n";
  }
  server::HttpResult ask(std::string_view method, const std::string& target, std::string_view body = {}) {
    auto result = client_.request(method, target, body, body.empty() ? "" : "application/x-ndjson");
    if (result.status == 502 || result.status == 503 || result.status == 504)
      throw server::Unreachable(o_.server.url + ": " + reason_of(result));
    if (result.status == 401 || result.status == 403)
      throw UsageError(o_.server.url + ": " + reason_of(result) +
                       "; type quorate serve token --role worker where it runs, and " + "set QUORATE_TOKEN or --token-file");
    return result;
  }
  /// From the newest snapshot to the end of the log, which knows the source then. Waits for a server that is away.
  void begin() {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(o_.patience);
    for (bool said = false;;) try {
        if (!replica_) start();
        while (follow() || send()) {
        }
        return;
      } catch (const server::Unreachable& e) {
        if (std::chrono::steady_clock::now() >= end) throw;
        if (!std::exchange(said, true)) log(std::string(e.what()) + "; waits for it");
        std::this_thread::sleep_for(kTurn);
        if (interrupt().stop_requested()) throw Interrupted("interrupted before the server answered");
      }
  }
  /// From the newest snapshot.
  void start() {
    const auto result = ask("GET", "/v1/model");
    if (result.status != 200) throw DataError(o_.server.url + "/v1/model: " + reason_of(result));
    auto made = std::make_unique<Replica>(result.body);
    made->desk().check_followed();
    const std::lock_guard lock(mutex_);
    replica_ = std::move(made);
  }
  /// Applies what is new. Returns whether there may be more.
  bool follow() {
    const auto result = ask("GET", "/v1/log?from=" + std::to_string(replica_->next()) + "&log=" + replica_->log());
    if (result.status == 409 || result.status == 410) {
      log(o_.server.url + ": " + reason_of(result) + "; starts again from its snapshot");
      start();
      return true;
    }
    if (result.status != 200) throw DataError(o_.server.url + "/v1/log: " + reason_of(result));
    if (result.body.empty()) {
      const std::lock_guard lock(mutex_);
      read_ = std::chrono::steady_clock::now();
    }
    std::string_view rest = result.body;
    while (!rest.empty()) try {  // a record at a time, so that the examples do not wait
        const std::lock_guard lock(mutex_);
        rest.remove_prefix(replica_->apply(rest, 1));
      } catch (const DataError& e) {
        if (bad_ == replica_->next()) throw;
        bad_ = replica_->next();
        log(std::string(e.what()) + "; starts again from the snapshot of the server");
        start();
        return true;
      }
    return !result.body.empty();
  }
  /// Sends what the replica lacks. Returns whether there was anything.
  bool send() {
    std::string body;
    {
      const std::lock_guard lock(mutex_);
      const auto now = std::chrono::steady_clock::now();
      const bool idle = worker_.waiting(replica_->desk()) == 0;
      if (idle && now - told_ < kClock && !finishing_) return false;
      std::string lines;
      auto shared = worker_.to_send(replica_->desk(), kSentAtOnce, lines);
      if (!shared) return false;
      body = to_record({0, *std::move(shared)});
      told_ = now;
    }
    const auto result = ask("POST", "/v1/log", body);
    if (result.status != 200) throw DataError(o_.server.url + "/v1/log: " + reason_of(result));
    return true;
  }
  void run() {
    std::chrono::milliseconds pause = kTurn;
    bool away = false;
    for (;;) {
      bool more = false;
      try {
        const bool sent = send();
        more = follow() || sent;
        if (std::exchange(away, false)) log(o_.server.url + " is back");
        pause = kTurn;
      } catch (const server::Unreachable& e) {
        if (!std::exchange(away, true)) log(std::string(e.what()) + "; predictions go on, questions wait");
        pause = std::min(2 * pause, kLongest);
      } catch (...) {
        const std::lock_guard lock(mutex_);
        failed_ = std::current_exception();
      }
      std::unique_lock lock(mutex_);
      room_.notify_all();
      if (failed_) return;
      if (more && !away) {
        if (closing_) return;
        continue;
      }
      if (wake_.wait_for(lock, pause, [&] { return closing_; })) return;
    }
  }

  const WorkOptions& o_;
  server::HttpClient client_;
  Worker& worker_;
  std::mutex mutex_;
  std::condition_variable wake_, room_;
  std::unique_ptr<Replica> replica_;
  std::optional<std::uint64_t> bad_;  // the last record that did not apply
  std::exception_ptr failed_;
  bool closing_ = false, finishing_ = false, said_full_ = false;
  std::chrono::steady_clock::time_point told_, read_ = std::chrono::steady_clock::now();
  std::uint64_t judged_ = 0, unusable_ = 0;
  std::thread thread_;
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

/// Lines as they arrive: a thread reads them, so that those that are there are judged while others are awaited.
class Arriving {
 public:
  Arriving(const std::string& path, std::uint64_t passed_over) : reader_(path, interrupt()) {
    thread_ = std::jthread([this, passed_over](const std::stop_token& end) { read(end, passed_over); });
  }
  /// At least one line, at most that many, each with its newline; empty at the end. Throws what the reader threw.
  std::string next(std::size_t most) {
    std::unique_lock lock(mutex_);
    arrived_.wait(lock, [&] { return !lines_.empty() || ended_; });
    if (lines_.empty() && failed_) std::rethrow_exception(failed_);
    std::string out;
    for (; most > 0 && !lines_.empty(); --most, lines_.pop_front()) {
      bytes_ -= lines_.front().size();
      out.append(lines_.front()).append("\n");
    }
    taken_.notify_one();
    return out;
  }

 private:
  static constexpr std::size_t kAhead = 4096, kBytesAhead = std::size_t{16} << 20;

  void read(const std::stop_token& end, std::uint64_t passed_over) {
    std::exception_ptr failed;
    try {
      std::string_view line;
      for (std::uint64_t n = 0; reader_.next(line); ++n) {
        if (n < passed_over) continue;
        std::unique_lock lock(mutex_);
        if (!taken_.wait(lock, end, [&] { return lines_.size() < kAhead && bytes_ < kBytesAhead; })) return;
        lines_.emplace_back(line);
        bytes_ += line.size();
        arrived_.notify_one();
      }
    } catch (...) {
      failed = std::current_exception();
    }
    const std::lock_guard lock(mutex_);
    failed_ = failed;
    ended_ = true;
    arrived_.notify_one();
  }

  LineReader reader_;
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::condition_variable_any taken_;
  std::deque<std::string> lines_;
  std::size_t bytes_ = 0;  // of these
  bool ended_ = false;
  std::exception_ptr failed_;
  std::jthread thread_;
};

/// Of this file on this machine; of a pipe, of this run alone.
std::string source_of(const std::string& data) {
  char host[128] = "";
  gethostname(host, sizeof host - 1);
  if (data != "-") {
    const std::string path = std::filesystem::absolute(data).lexically_normal().string();
    return std::string(host).substr(0, 40) + ":" + (path.size() > 50 ? ".." + path.substr(path.size() - 48) : path);
  }
  std::random_device random;
  return std::string(host).substr(0, 40) + ":" + std::to_string(getpid()) + ":" + std::to_string(random());
}

int judge_all(WorkOptions o) {
  const std::stop_token stop = interrupt();
  interrupt_on_closed_pipe();
  if (!o.token_file.empty())
    o.server.token = read_file(o.token_file);
  else if (const char* token = std::getenv("QUORATE_TOKEN"))
    o.server.token = token;
  while (!o.server.token.empty() && std::string_view("\r\n ").find(o.server.token.back()) != std::string_view::npos)
    o.server.token.pop_back();
  if (o.worker.source.size() > 100)
    throw UsageError("--source has " + std::to_string(o.worker.source.size()) + " bytes; expected 1 to 100");
  if (o.worker.source.empty()) o.worker.source = source_of(o.data);
  Worker worker(o.worker);
  Link link(o, worker);
  std::optional<Watched> watched;
  if (o.metrics_port) watched.emplace(o, link);
  const std::uint64_t judged = link.next();
  if (judged > 0 && !o.quiet)
    std::cerr << "quorate: " << counted(judged, "line") << " of " << o.worker.source << " are judged already"
              << (o.data == "-" ? "\n" : "; passed over (--source names another reading)\n");
  Arriving lines(o.data, o.data == "-" ? 0 : judged);
  std::string out;
  std::uint64_t count = 0, unusable = 0;
  for (;;) {
    const std::string some = lines.next(kJudgedAtOnce);
    if (some.empty() || stop.stop_requested()) break;
    out.clear();
    const std::size_t bad = link.judge(some, out);
    if (bad > 0 && unusable == 0) {
      const auto at = out.find(R"("error")"), from = out.rfind('\n', at) + 1;  // npos + 1 is 0
      std::cerr << "quorate: a line cannot be used: " << out.substr(from, out.find('\n', at) - from)
                << "; expected JSON, as quorate convert --to jsonl makes it of other formats\n";
    }
    unusable += bad;
    count += static_cast<std::uint64_t>(std::ranges::count(some, '\n'));
    std::cout << out << std::flush;
    link.wrote();
  }
  const std::size_t left = link.finish(std::chrono::seconds(o.patience));
  if (!o.quiet)
    std::cerr << "quorate: " << counted(count - unusable, "line") << " judged"
              << (unusable > 0 ? ", " + counted(unusable, "line") + " unusable; " : "; ") << link.summary() << "\n";
  if (left > 0) {
    std::cerr << "quorate: the server lacks " << counted(left, "line") << "; judge them again with --source "
              << o.worker.source << "\n";
    return kFileTrouble;
  }
  if (stop.stop_requested()) return kInterrupted;
  return unusable > 0 ? kBadData : kDone;
}

int run(const WorkOptions& o) {
  try {
    return judge_all(o);
  } catch (const Refused& e) {
    throw UsageError(o.server.url + ": " + e.detail + (e.expected.empty() ? "" : "; expected " + e.expected));
  }
}

}  // namespace

Command add_work(CLI::App& app) {
  const auto o = std::make_shared<WorkOptions>();
  app.add_option("--server", o->server.url, "address of quorate serve")->required()->type_name("URL");
  app.add_option("--data", o->data, "lines of JSON, as quorate serve takes them; - for standard input")
      ->capture_default_str()
      ->type_name("FILE");
  app.add_option("--source", o->worker.source,
                 "name of the stream, as a partition of a queue: the server knows how many of its lines are judged "
                 "(default: the file's on this machine; of a pipe, one for each run)")
      ->type_name("NAME");
  app.add_option("--token-file", o->token_file, "file with a token of the role worker (default: QUORATE_TOKEN)")
      ->type_name("FILE");
  app.add_option("--tls-authorities", o->server.authorities,
                 "PEM file of those that sign the server's certificate (default: the system's)")
      ->type_name("FILE");
  app.add_option("--share-examples", o->worker.share_examples,
                 "examples sent for each label without a question; cohort learns from them what words are rare and which go "
                 "together")
      ->check(whole(0))
      ->capture_default_str();
  app.add_option("--queue", o->worker.queue,
                 "lines that wait for a server that is away; those without a question go first, and then nothing is asked")
      ->check(whole(1))
      ->capture_default_str();
  app.add_option("--patience", o->patience, "seconds to wait for the server, at the start and at the end")
      ->check(whole(0))
      ->capture_default_str();
  app.add_option("--seed", o->worker.seed, "random seed of the questions, with the source")
      ->check(whole(0))
      ->capture_default_str();
  app.add_option("--metrics-port", o->metrics_port,
                 "port for /metrics, /healthz and /readyz; 0: a free one (default: none)");
  app.add_option("--metrics-address", o->metrics_address, "address for them")->capture_default_str()->type_name("ADDRESS");
  app.add_flag("--quiet", o->quiet, "say errors alone");
  app.footer(
      "Run as many as the stream needs, on any machines: each judges its part by the same model, which learns from the "
      "labels "
      "of all.\nPredictions go to standard output, a line of JSON each.\nExample:\n  "
      "tail -F emails.jsonl | quorate work --server https://desk:8717 --source emails > predictions.jsonl");
  return [o] { return run(*o); };
}

}  // namespace quorate::cli
