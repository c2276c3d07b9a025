#include "server/log_client.h"

#include <chrono>

#include "quorate/base/number.h"
#include "server/log_topic.h"

namespace quorate::server {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

/// The reason in a refusal: the detail of quorate serve, or that something else answers there.
std::string reason_of(const HttpResult& result) {
  const Json body = Json::parse(result.body, nullptr, false);
  const std::string status = "status " + std::to_string(result.status);
  if (!body.is_object() || !body.contains("detail") || !body["detail"].is_string())
    return status + ", which is not of quorate serve; expected its own address, not that of a page to log in";
  const std::string detail = body["detail"].get<std::string>();
  return body.contains("expected") && body["expected"].is_string() && detail.find("expected") == detail.npos
             ? detail + "; expected " + body["expected"].get<std::string>()
             : detail;
}

class HttpLog : public LogClient {
 public:
  explicit HttpLog(const HttpClientOptions& options) : url_(options.url), client_(options) {}

  std::string moment() override {
    auto result = ask("GET", "/v1/model");
    if (result.status != 200) throw WrongPeer(url_ + "/v1/model: " + reason_of(result));
    return std::move(result.body);
  }
  std::string records(const Replica& replica) override {
    auto result = ask("GET", "/v1/log?from=" + std::to_string(replica.next()) + "&log=" + replica.log());
    if (result.status == 409 || result.status == 410) throw LogGone(url_ + ": " + reason_of(result));
    if (result.status != 200) throw DataError(url_ + "/v1/log: " + reason_of(result));
    return std::move(result.body);
  }
  void send(event::Shared what) override {
    const auto result = ask("POST", "/v1/log", to_record({0, std::move(what)}));
    if (result.status != 200) throw DataError(url_ + "/v1/log: " + reason_of(result));
  }
  void stop() override { client_.stop(); }
  const std::string& address() const override { return url_; }

 private:
  HttpResult ask(std::string_view method, const std::string& target, std::string_view body = {}) {
    auto result = client_.request(method, target, body, body.empty() ? "" : "application/x-ndjson");
    if (result.status == 502 || result.status == 503 || result.status == 504)
      throw Unreachable(url_ + ": " + reason_of(result));
    if (result.status == 401 || result.status == 403)
      throw UsageError(url_ + ": " + reason_of(result) +
                       "; type quorate serve token --role worker where it runs, and set QUORATE_TOKEN or --token-file");
    return result;
  }

  const std::string url_;
  HttpClient client_;
};

/// As log_topic.h says.
class KafkaLog : public LogClient {
 public:
  KafkaLog(const kafka::Address& address, kafka::Settings settings)
      : topic_(address.topic), text_(address.text()), to_{address.servers, std::move(settings), 1'000ms} {}

  std::string moment() override {
    reader_.reset();
    auto found = newest_moment(to_, topic_);
    if (!found) throw Unreachable(text_ + ": no desk has written there yet");
    reader_ = std::make_unique<kafka::Reader>(to_, topic_);
    reader_->seek(found->offset);
    if (!writer_) writer_ = std::make_unique<kafka::Writer>(to_, topic_ + ".events", 5'000ms);
    return std::move(found->text);
  }
  std::string records(const Replica& replica) override {
    std::string out;
    std::uint64_t next = replica.next();
    if (away_) look();  // what librdkafka still has says nothing of the broker
    try {
      while (out.size() < kMost) {
        const auto message = reader_->next(out.empty() ? 20ms : 0ms);
        if (!message) break;
        const auto sequence = parse_number<std::uint64_t>(message->key);
        if (!sequence) throw DataError(text_ + ": message " + std::to_string(message->offset) + " is none of quorate serve");
        if (*sequence < next) continue;
        if (*sequence > next)
          throw LogGone(text_ + ": record " + std::to_string(*sequence) + " instead of " + std::to_string(next));
        add_to_log(out, next++, message->value);
      }
    } catch (const kafka::OutOfRange& e) {
      throw LogGone(e.what());
    }
    // librdkafka waits in silence for a broker that is away.
    if (out.empty() && Clock::now() - looked_ > 1s) look();
    return out;
  }
  void send(event::Shared what) override {
    writer_->write({}, to_record({0, std::move(what)}), 0);
    away_ = true;
    if (!writer_->flush(6'000ms)) throw Unreachable(text_ + ".events: the broker does not answer");
    away_ = false;
  }
  const std::string& address() const override { return text_; }

 private:
  static constexpr std::size_t kMost = std::size_t{4} << 20;  // bytes of records at a time

  void look() {
    away_ = true;
    reader_->range();
    away_ = false;
    looked_ = Clock::now();
  }

  const std::string topic_, text_;
  const kafka::Connection to_;
  std::unique_ptr<kafka::Reader> reader_;
  std::unique_ptr<kafka::Writer> writer_;
  Clock::time_point looked_ = Clock::now();
  bool away_ = false;  // the broker, at the last look
};

}  // namespace

std::unique_ptr<LogClient> http_log(const HttpClientOptions& options) { return std::make_unique<HttpLog>(options); }

std::unique_ptr<LogClient> kafka_log(const kafka::Address& address, kafka::Settings settings) {
  return std::make_unique<KafkaLog>(address, std::move(settings));
}

}  // namespace quorate::server
