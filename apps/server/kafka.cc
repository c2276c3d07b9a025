#include "server/kafka.h"

#ifdef QUORATE_KAFKA
#include <librdkafka/rdkafka.h>

#include <algorithm>
#include <map>
#include <mutex>

namespace quorate::kafka {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::milliseconds kReply{10'000};  // longest wait for a reply of the broker
constexpr const char* kLongest = "68157440";         // bytes of a message: a record has up to 64 MiB

int in_ms(std::chrono::milliseconds time) { return static_cast<int>(std::min<std::int64_t>(time.count(), 1 << 30)); }

/// Whether trying again cannot help.
bool is_final(rd_kafka_resp_err_t error) {
  switch (error) {
    case RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC:
    case RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION:
    case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART:
    case RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION:
    case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_TRANSACTIONAL_ID_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR__AUTHENTICATION:
    case RD_KAFKA_RESP_ERR_SASL_AUTHENTICATION_FAILED:
    case RD_KAFKA_RESP_ERR__SSL:
    case RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE:
    case RD_KAFKA_RESP_ERR_INVALID_CONFIG:
    case RD_KAFKA_RESP_ERR_INVALID_REPLICATION_FACTOR:
    case RD_KAFKA_RESP_ERR_POLICY_VIOLATION:
    case RD_KAFKA_RESP_ERR_UNSUPPORTED_VERSION:
    case RD_KAFKA_RESP_ERR__UNSUPPORTED_FEATURE:
    case RD_KAFKA_RESP_ERR__INVALID_ARG:
      return true;
    default:
      return false;
  }
}

using ErrorObject = std::unique_ptr<rd_kafka_error_t, decltype(&rd_kafka_error_destroy)>;
ErrorObject owned(rd_kafka_error_t* error) { return {error, &rd_kafka_error_destroy}; }

/// A handle of librdkafka, and what its threads say.
class Client {
 public:
  explicit Client(const Connection& to) : to_(to), conf_(rd_kafka_conf_new()) {}
  ~Client() {
    if (conf_) rd_kafka_conf_destroy(conf_);
    if (handle_) rd_kafka_destroy_flags(handle_, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
  }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  rd_kafka_conf_t* conf() { return conf_; }
  rd_kafka_t* get() const { return handle_; }

  /// Callbacks get `opaque`.
  void open(rd_kafka_type_t type, const Settings& ours, void* opaque = nullptr) {
    const auto set = [this](const std::string& key, const std::string& value, const char* option) {
      char why[512];
      if (rd_kafka_conf_set(conf_, key.c_str(), value.c_str(), why, sizeof why) != RD_KAFKA_CONF_OK)
        throw UsageError(option + key + "=" + value + ": " + why);
    };
    set("reconnect.backoff.max.ms", "2000", "");
    for (const auto& [key, value] : to_.settings) {
      const bool taken = key == "bootstrap.servers" ||
                         std::ranges::any_of(ours, [&name = key](const auto& one) { return one.first == name; });
      if (taken) throw UsageError("--kafka " + key + ": quorate sets it itself; leave it out");
      set(key, value, "--kafka ");
    }
    set("bootstrap.servers", to_.servers, "");
    set("client.id", "quorate", "");
    for (const auto& [key, value] : ours) set(key, value, "");
    rd_kafka_conf_set_error_cb(conf_, [](rd_kafka_t* handle, int error, const char* reason, void*) {
      of(handle)->said(static_cast<rd_kafka_resp_err_t>(error), reason);
    });
    rd_kafka_conf_set_log_cb(conf_, [](const rd_kafka_t*, int, const char*, const char*) {});
    opaque_ = opaque;
    rd_kafka_conf_set_opaque(conf_, this);
    char why[512];
    handle_ = rd_kafka_new(type, conf_, why, sizeof why);
    if (!handle_) throw UsageError("kafka://" + to_.servers + ": " + why);
    conf_ = nullptr;
  }
  static Client* of(const rd_kafka_t* handle) { return static_cast<Client*>(rd_kafka_opaque(handle)); }
  template <class T>
  static T* of(void* opaque) {
    return static_cast<T*>(static_cast<Client*>(opaque)->opaque_);
  }

  [[noreturn]] void fail(rd_kafka_resp_err_t error, const std::string& about) const {
    const std::string text = why(error, about);
    if (is_final(error)) throw FileError(text);
    throw Unreachable(text);
  }
  std::string why(rd_kafka_resp_err_t error, const std::string& about) const {
    std::string text = "kafka://" + to_.servers + (about.empty() ? "" : "/" + about) + ": " + rd_kafka_err2str(error);
    const std::lock_guard lock(mutex_);
    if (!last_.empty() && !is_final(error)) return text + " (" + last_ + ")";
    if (error == RD_KAFKA_RESP_ERR__TRANSPORT)
      text += " (no reply; expected a broker of Kafka, and --kafka security.protocol=SSL or SASL_SSL if it wants TLS)";
    return text;
  }
  void check(rd_kafka_resp_err_t error, const std::string& about) const {
    if (error != RD_KAFKA_RESP_ERR_NO_ERROR) fail(error, about);
  }

  /// The number of partitions of a topic, which no broker creates by this question. Throws FileError if there is none, or if
  /// the broker refuses the user.
  int partitions(const std::string& topic) const {
    const rd_kafka_metadata_t* found = nullptr;
    const auto end = std::chrono::steady_clock::now() + to_.wait;
    for (;;) {
      const auto error = rd_kafka_metadata(handle_, 1, nullptr, &found, 1000);
      if (error == RD_KAFKA_RESP_ERR_NO_ERROR) break;
      rd_kafka_poll(handle_, 0);  // says why
      {
        const std::lock_guard lock(mutex_);
        if (refused_ && rd_kafka_version() < 0x02060100 && last_.find("SCRAM") != std::string::npos)
          throw FileError("kafka://" + to_.servers + ": " + last_ + "; brokers of Kafka 4 refuse SCRAM of librdkafka " +
                          rd_kafka_version_str() + ": expected 2.6.1, or sasl.mechanism=PLAIN with TLS");
        if (refused_) throw FileError("kafka://" + to_.servers + ": " + last_ + "; see --kafka");
      }
      if (std::chrono::steady_clock::now() >= end) fail(error, topic);
      if (to_.waits) to_.waits(why(error, topic));
    }
    int out = 0;
    for (int n = 0; n < found->topic_cnt; ++n)
      if (topic == found->topics[n].topic) out = found->topics[n].partition_cnt;
    rd_kafka_metadata_destroy(found);
    return out;
  }
  void expect(const std::string& topic) const {
    if (partitions(topic) == 0)
      throw FileError("kafka://" + to_.servers + "/" + topic + ": no such topic; expected one that exists");
  }
  std::pair<std::int64_t, std::int64_t> range(const std::string& topic) const {
    std::int64_t low = 0, high = 0;
    check(rd_kafka_query_watermark_offsets(handle_, topic.c_str(), 0, &low, &high, in_ms(kReply)), topic);
    return {low, high};
  }

 private:
  void said(rd_kafka_resp_err_t error, const char* reason) {
    if (error == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN) return;  // says less than the one before
    const std::lock_guard lock(mutex_);
    last_ = reason;
    refused_ |= error == RD_KAFKA_RESP_ERR__AUTHENTICATION || error == RD_KAFKA_RESP_ERR__SSL;
  }

  Connection to_;
  rd_kafka_conf_t* conf_;
  rd_kafka_t* handle_ = nullptr;
  void* opaque_ = nullptr;
  mutable std::mutex mutex_;
  std::string last_;  // that librdkafka said
  bool refused_ = false;
};

Message view(const rd_kafka_message_t& m) {
  return {{static_cast<const char*>(m.key), m.key_len}, {static_cast<const char*>(m.payload), m.len}, m.partition, m.offset};
}

/// A message, until the next one.
class Held {
 public:
  ~Held() { hold(nullptr); }
  rd_kafka_message_t* hold(rd_kafka_message_t* message) {
    if (held_) rd_kafka_message_destroy(held_);
    return held_ = message;
  }

 private:
  rd_kafka_message_t* held_ = nullptr;
};

/// Waits for the result of an administrator's request on a queue.
using Queue = std::unique_ptr<rd_kafka_queue_t, decltype(&rd_kafka_queue_destroy)>;
using EventObject = std::unique_ptr<rd_kafka_event_t, decltype(&rd_kafka_event_destroy)>;
EventObject result_of(const Client& client, rd_kafka_queue_t* queue, const std::string& about) {
  EventObject out(rd_kafka_queue_poll(queue, in_ms(2 * kReply)), &rd_kafka_event_destroy);
  if (!out) client.fail(RD_KAFKA_RESP_ERR__TIMED_OUT, about);
  client.check(rd_kafka_event_error(out.get()), about);
  return out;
}

using PartitionList = std::unique_ptr<rd_kafka_topic_partition_list_t, decltype(&rd_kafka_topic_partition_list_destroy)>;
PartitionList partition_list(const std::string& topic, std::int32_t partition, std::int64_t offset) {
  PartitionList out(rd_kafka_topic_partition_list_new(1), &rd_kafka_topic_partition_list_destroy);
  rd_kafka_topic_partition_list_add(out.get(), topic.c_str(), partition)->offset = offset;
  return out;
}

}  // namespace

bool available() { return true; }

Address Address::parse(std::string_view option, std::string_view text) {
  constexpr std::string_view kScheme = "kafka://";
  const std::string_view rest = is(text) ? text.substr(kScheme.size()) : std::string_view();
  const auto slash = rest.find('/');
  Address out;
  if (slash != rest.npos) out = {std::string(rest.substr(0, slash)), std::string(rest.substr(slash + 1))};
  const bool named =
      !out.topic.empty() && out.topic.size() <= 200 &&
      out.topic.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") == out.topic.npos;
  if (out.servers.empty() || !named)
    throw UsageError(std::string(option) + " " + quoted_value(std::string(text)) +
                     ": expected kafka://HOST:PORT/TOPIC, with more brokers as HOST:PORT,HOST:PORT");
  return out;
}

std::vector<std::string> create_topics(const Connection& to, const std::vector<std::string>& names) {
  Client client(to);
  client.open(RD_KAFKA_PRODUCER, {});
  std::vector<std::string> made;
  for (const auto& name : names) {
    if (client.partitions(name) > 0) continue;
    char why[512];
    rd_kafka_NewTopic_t* topic = rd_kafka_NewTopic_new(name.c_str(), 1, -1, why, sizeof why);
    if (!topic) throw FileError("kafka://" + to.servers + "/" + name + ": " + why);
    rd_kafka_NewTopic_set_config(topic, "retention.ms", "-1");
    rd_kafka_NewTopic_set_config(topic, "retention.bytes", "-1");
    rd_kafka_NewTopic_set_config(topic, "cleanup.policy", "delete");
    rd_kafka_NewTopic_set_config(topic, "max.message.bytes", kLongest);
    const Queue queue(rd_kafka_queue_new(client.get()), &rd_kafka_queue_destroy);
    rd_kafka_CreateTopics(client.get(), &topic, 1, nullptr, queue.get());
    rd_kafka_NewTopic_destroy(topic);
    const EventObject done = result_of(client, queue.get(), name);
    std::size_t count = 0;
    const auto* topics = rd_kafka_CreateTopics_result_topics(rd_kafka_event_CreateTopics_result(done.get()), &count);
    for (std::size_t n = 0; n < count; ++n) {
      const auto error = rd_kafka_topic_result_error(topics[n]);
      if (error == RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS) continue;
      if (error != RD_KAFKA_RESP_ERR_NO_ERROR) {
        const char* reason = rd_kafka_topic_result_error_string(topics[n]);
        throw FileError("kafka://" + to.servers + "/" + name +
                        ": the topic is missing and cannot be created: " + (reason ? reason : rd_kafka_err2str(error)));
      }
      made.push_back(name);
    }
    // The brokers take a moment to learn of it.
    for (const auto end = std::chrono::steady_clock::now() + kReply; client.partitions(name) == 0;)
      if (std::chrono::steady_clock::now() >= end) client.fail(RD_KAFKA_RESP_ERR__TIMED_OUT, name);
  }
  return made;
}

void delete_before(const Connection& to, const std::string& topic, std::int64_t offset) {
  Client client(to);
  client.open(RD_KAFKA_PRODUCER, {});
  const PartitionList list = partition_list(topic, 0, offset);
  rd_kafka_DeleteRecords_t* what = rd_kafka_DeleteRecords_new(list.get());
  const Queue queue(rd_kafka_queue_new(client.get()), &rd_kafka_queue_destroy);
  rd_kafka_DeleteRecords(client.get(), &what, 1, nullptr, queue.get());
  rd_kafka_DeleteRecords_destroy(what);
  const EventObject done = result_of(client, queue.get(), topic);
  const auto* offsets = rd_kafka_DeleteRecords_result_offsets(rd_kafka_event_DeleteRecords_result(done.get()));
  for (int n = 0; n < offsets->cnt; ++n) client.check(offsets->elems[n].err, topic);
}

// Reader ----------------------------------------------------------------------------------------------------------------

struct Reader::State {
  Client client;
  std::string name;
  rd_kafka_topic_t* topic = nullptr;
  bool reads = false;
  std::int64_t at = 0;
  Held held = {};

  ~State() {
    held.hold(nullptr);
    stop();
    if (topic) rd_kafka_topic_destroy(topic);
  }
  void stop() {
    if (std::exchange(reads, false)) rd_kafka_consume_stop(topic, 0);
  }
};

Reader::Reader(const Connection& to, std::string topic) : state_(new State{Client(to), std::move(topic)}) {
  state_->client.open(RD_KAFKA_CONSUMER, {{"isolation.level", "read_committed"},
                                          {"enable.partition.eof", "true"},
                                          {"fetch.message.max.bytes", "4194304"},
                                          {"fetch.error.backoff.ms", "50"},
                                          {"auto.offset.reset", "error"}});
  state_->client.expect(state_->name);
  state_->topic = rd_kafka_topic_new(state_->client.get(), state_->name.c_str(), nullptr);
}
Reader::~Reader() = default;

std::pair<std::int64_t, std::int64_t> Reader::range() { return state_->client.range(state_->name); }

void Reader::seek(std::int64_t offset) {
  State& s = *state_;
  s.held.hold(nullptr);
  s.stop();
  if (rd_kafka_consume_start(s.topic, 0, offset) != 0) s.client.fail(rd_kafka_last_error(), s.name);
  s.reads = true;
  s.at = offset;
}

std::optional<Message> Reader::next(std::chrono::milliseconds wait) {
  State& s = *state_;
  rd_kafka_poll(s.client.get(), 0);
  const rd_kafka_message_t* m = s.held.hold(rd_kafka_consume(s.topic, 0, in_ms(wait)));
  if (!m) return std::nullopt;
  if (m->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) {
    s.at = std::max(s.at, m->offset);
    return std::nullopt;
  }
  if (m->err == RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET || m->err == RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE)
    throw OutOfRange(s.name + ": the messages from offset " + std::to_string(s.at) + " on are not there");
  s.client.check(m->err, s.name);
  s.at = m->offset + 1;
  return view(*m);
}

bool Reader::at(std::int64_t end) { return state_->at >= end; }

// Writer ----------------------------------------------------------------------------------------------------------------

struct Writer::State {
  Client client;
  std::string name;
  rd_kafka_resp_err_t failed = RD_KAFKA_RESP_ERR_NO_ERROR;
};

Writer::Writer(const Connection& to, std::string topic, std::chrono::milliseconds most)
    : state_(new State{Client(to), std::move(topic)}) {
  rd_kafka_conf_set_dr_msg_cb(state_->client.conf(), [](rd_kafka_t*, const rd_kafka_message_t* m, void* opaque) {
    if (m->err != RD_KAFKA_RESP_ERR_NO_ERROR) Client::of<State>(opaque)->failed = m->err;
  });
  state_->client.open(RD_KAFKA_PRODUCER,
                      {{"enable.idempotence", "true"},
                       {"message.timeout.ms", std::to_string(most.count())},
                       {"message.max.bytes", kLongest},
                       {"partitioner", "murmur2_random"}},
                      state_.get());
  state_->client.expect(state_->name);
}
Writer::~Writer() = default;

void Writer::write(std::string_view key, std::string_view value, std::int32_t partition) {
  State& s = *state_;
  for (;;) {
    const auto error = rd_kafka_producev(s.client.get(), RD_KAFKA_V_TOPIC(s.name.c_str()), RD_KAFKA_V_PARTITION(partition),
                                         RD_KAFKA_V_KEY(key.empty() ? nullptr : key.data(), key.size()),
                                         RD_KAFKA_V_VALUE(const_cast<char*>(value.data()), value.size()),
                                         RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_END);
    if (error != RD_KAFKA_RESP_ERR__QUEUE_FULL) return s.client.check(error, s.name);
    rd_kafka_poll(s.client.get(), 100);
  }
}

bool Writer::flush(std::chrono::milliseconds wait) {
  State& s = *state_;
  const bool all = rd_kafka_flush(s.client.get(), in_ms(wait)) == RD_KAFKA_RESP_ERR_NO_ERROR;
  s.client.check(std::exchange(s.failed, RD_KAFKA_RESP_ERR_NO_ERROR), s.name);
  return all;
}

// Transactions ----------------------------------------------------------------------------------------------------------

struct Transactions::State {
  Client client;
  std::int64_t first = -1;  // offset of the first message of the transaction
  rd_kafka_resp_err_t failed = RD_KAFKA_RESP_ERR_NO_ERROR;

  /// Calls again what may be, for a while. Throws Fenced, FileError, Unreachable.
  template <class Call>
  void tries(const std::string& about, const Call& call) {
    const auto end = std::chrono::steady_clock::now() + 3 * kReply;
    for (;;) {
      const ErrorObject error = owned(call());
      if (!error) return;
      const auto code = rd_kafka_error_code(error.get());
      if (code == RD_KAFKA_RESP_ERR__FENCED || code == RD_KAFKA_RESP_ERR_PRODUCER_FENCED ||
          code == RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH)
        throw Fenced(about + ": " + rd_kafka_error_string(error.get()));
      if (!rd_kafka_error_is_retriable(error.get()) || std::chrono::steady_clock::now() >= end) client.fail(code, about);
    }
  }
};

Transactions::Transactions(const Connection& to, const std::string& name) : state_(new State{Client(to)}) {
  rd_kafka_conf_set_dr_msg_cb(state_->client.conf(), [](rd_kafka_t*, const rd_kafka_message_t* m, void* opaque) {
    auto& state = *Client::of<State>(opaque);
    if (m->err != RD_KAFKA_RESP_ERR_NO_ERROR)
      state.failed = m->err;
    else if (state.first < 0)
      state.first = m->offset;
  });
  state_->client.open(
      RD_KAFKA_PRODUCER,
      {{"transactional.id", name}, {"transaction.timeout.ms", "15000"}, {"message.max.bytes", kLongest}, {"linger.ms", "0"}},
      state_.get());
  state_->client.expect(name);
  state_->tries(name, [this] { return rd_kafka_init_transactions(state_->client.get(), in_ms(kReply)); });
}
Transactions::~Transactions() = default;

std::int64_t Transactions::append(const std::string& topic, const std::vector<Part>& parts) {
  State& s = *state_;
  rd_kafka_t* const handle = s.client.get();
  s.tries(topic, [&] { return rd_kafka_begin_transaction(handle); });
  s.first = -1;
  s.failed = RD_KAFKA_RESP_ERR_NO_ERROR;
  for (const Part& part : parts)
    for (;;) {
      const auto error = rd_kafka_producev(handle, RD_KAFKA_V_TOPIC(topic.c_str()), RD_KAFKA_V_PARTITION(0),
                                           RD_KAFKA_V_KEY(part.key.data(), part.key.size()),
                                           RD_KAFKA_V_VALUE(const_cast<char*>(part.value.data()), part.value.size()),
                                           RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_END);
      if (error != RD_KAFKA_RESP_ERR__QUEUE_FULL) {
        s.client.check(error, topic);
        break;
      }
      rd_kafka_poll(handle, 100);
    }
  s.tries(topic, [&] { return rd_kafka_commit_transaction(handle, in_ms(kReply)); });
  s.client.check(s.failed, topic);
  return s.first;
}

// Member ----------------------------------------------------------------------------------------------------------------

struct Member::State {
  Client client;
  std::string name;
  Events events;
  Held held = {};
  std::map<std::int32_t, std::int64_t> next = {};  // offsets, of the partitions that are this member's
  bool steady = false;

  void rebalance(rd_kafka_t* handle, rd_kafka_resp_err_t error, rd_kafka_topic_partition_list_t* list) {
    std::vector<std::int32_t> partitions;
    for (int n = 0; n < list->cnt; ++n) partitions.push_back(list->elems[n].partition);
    if (error == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS) {
      const auto offsets = events.assigned(partitions);
      for (int n = 0; n < list->cnt; ++n) {
        const std::int64_t at = offsets[static_cast<std::size_t>(n)];
        list->elems[n].offset = at < 0 ? std::int64_t{RD_KAFKA_OFFSET_BEGINNING} : at;
        if (at >= 0) next[list->elems[n].partition] = at;
      }
      owned(rd_kafka_incremental_assign(handle, list));
    } else {
      for (const std::int32_t partition : partitions) next.erase(partition);
      owned(rd_kafka_incremental_unassign(handle, list));
      events.revoked(partitions);
    }
  }
};

Member::Member(const Connection& to, std::string topic, const std::string& group, const std::string& name, Events events)
    : state_(new State{Client(to), std::move(topic), std::move(events)}) {
  State& s = *state_;
  rd_kafka_conf_set_rebalance_cb(s.client.conf(),
                                 [](rd_kafka_t* handle, rd_kafka_resp_err_t error, rd_kafka_topic_partition_list_t* list,
                                    void* opaque) { Client::of<State>(opaque)->rebalance(handle, error, list); });
  rd_kafka_conf_set_stats_cb(s.client.conf(), [](rd_kafka_t*, char* json, std::size_t size, void* opaque) {
    const std::string_view said(json, size);
    Client::of<State>(opaque)->steady = said.find("\"join_state\":\"steady\"") != std::string_view::npos;
    return 0;
  });
  Settings ours{{"group.id", group},
                {"statistics.interval.ms", "1000"},
                {"enable.auto.commit", "false"},
                {"enable.auto.offset.store", "false"},
                {"isolation.level", "read_committed"},
                {"auto.offset.reset", "earliest"},
                {"max.poll.interval.ms", "86400000"},  // a full queue of labelled lines stops the input
                {"partition.assignment.strategy", "cooperative-sticky"}};
  if (!name.empty()) ours.emplace_back("group.instance.id", name);
  s.client.open(RD_KAFKA_CONSUMER, ours, state_.get());
  s.client.expect(s.name);
  rd_kafka_poll_set_consumer(s.client.get());
  s.client.check(
      rd_kafka_subscribe(s.client.get(), partition_list(s.name, RD_KAFKA_PARTITION_UA, RD_KAFKA_OFFSET_INVALID).get()),
      s.name);
}

Member::~Member() {
  state_->held.hold(nullptr);
  rd_kafka_consumer_close(state_->client.get());
}

std::optional<Message> Member::next(std::chrono::milliseconds wait) {
  State& s = *state_;
  const rd_kafka_message_t* m = s.held.hold(rd_kafka_consumer_poll(s.client.get(), in_ms(wait)));
  if (!m) return std::nullopt;
  if (m->err != RD_KAFKA_RESP_ERR_NO_ERROR) {
    if (is_final(m->err)) s.client.fail(m->err, s.name);
    return std::nullopt;  // librdkafka tries again by itself
  }
  std::int64_t& next = s.next.try_emplace(m->partition, m->offset).first->second;
  if (m->offset > next) {  // removed, or markers of transactions
    std::int64_t low = 0, high = 0;
    rd_kafka_get_watermark_offsets(s.client.get(), s.name.c_str(), m->partition, &low, &high);
    if (low > next)
      s.events.gone(s.name + "/" + std::to_string(m->partition) + ": messages " + std::to_string(next) + " to " +
                    std::to_string(low - 1) + " were removed before they were read");
  }
  next = m->offset + 1;
  return view(*m);
}

bool Member::steady() { return std::exchange(state_->steady, false); }

void Member::commit(std::int32_t partition, std::int64_t offset) {
  rd_kafka_commit(state_->client.get(), partition_list(state_->name, partition, offset).get(), 1);
}

}  // namespace quorate::kafka

#else  // where librdkafka is not

namespace quorate::kafka {
namespace {

[[noreturn]] void refuse() {
  throw UsageError(
      "this program was built without Kafka; expected one that was built where librdkafka is: on Debian, apt-get install "
      "librdkafka-dev, then ./run build");
}

}  // namespace

bool available() { return false; }

Address Address::parse(std::string_view, std::string_view) { refuse(); }
std::vector<std::string> create_topics(const Connection&, const std::vector<std::string>&) { refuse(); }
void delete_before(const Connection&, const std::string&, std::int64_t) { refuse(); }

struct Reader::State {};
Reader::Reader(const Connection&, std::string) { refuse(); }
Reader::~Reader() = default;
std::pair<std::int64_t, std::int64_t> Reader::range() { refuse(); }
void Reader::seek(std::int64_t) { refuse(); }
std::optional<Message> Reader::next(std::chrono::milliseconds) { refuse(); }
bool Reader::at(std::int64_t) { refuse(); }

struct Writer::State {};
Writer::Writer(const Connection&, std::string, std::chrono::milliseconds) { refuse(); }
Writer::~Writer() = default;
void Writer::write(std::string_view, std::string_view, std::int32_t) { refuse(); }
bool Writer::flush(std::chrono::milliseconds) { refuse(); }

struct Transactions::State {};
Transactions::Transactions(const Connection&, const std::string&) { refuse(); }
Transactions::~Transactions() = default;
std::int64_t Transactions::append(const std::string&, const std::vector<Part>&) { refuse(); }

struct Member::State {};
Member::Member(const Connection&, std::string, const std::string&, const std::string&, Events) { refuse(); }
Member::~Member() = default;
std::optional<Message> Member::next(std::chrono::milliseconds) { refuse(); }
bool Member::steady() { refuse(); }
void Member::commit(std::int32_t, std::int64_t) { refuse(); }

}  // namespace quorate::kafka

#endif
