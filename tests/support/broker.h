// A Kafka broker in this process: librdkafka's own, for tests that need no other. tests/kafka has the real one.
#pragma once
#include <string>

#if __has_include(<librdkafka/rdkafka_mock.h>)
#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>

namespace quorate {

class Broker {
 public:
  Broker()
      : handle_(rd_kafka_new(RD_KAFKA_PRODUCER, quiet(), nullptr, 0)), cluster_(rd_kafka_mock_cluster_new(handle_, 1)) {}
  ~Broker() {
    rd_kafka_mock_cluster_destroy(cluster_);
    rd_kafka_destroy(handle_);
  }
  Broker(const Broker&) = delete;
  Broker& operator=(const Broker&) = delete;

  std::string servers() const { return rd_kafka_mock_cluster_bootstraps(cluster_); }
  void create(const std::string& topic, int partitions = 1) {
    rd_kafka_mock_topic_create(cluster_, topic.c_str(), partitions, 1);
  }
  void set_away(bool away) {
    if (away)
      rd_kafka_mock_broker_set_down(cluster_, 1);
    else
      rd_kafka_mock_broker_set_up(cluster_, 1);
  }

 private:
  static rd_kafka_conf_t* quiet() {
    rd_kafka_conf_t* out = rd_kafka_conf_new();
    rd_kafka_conf_set_log_cb(out, [](const rd_kafka_t*, int, const char*, const char*) {});
    return out;
  }

  rd_kafka_t* handle_;
  rd_kafka_mock_cluster_t* cluster_;
};

}  // namespace quorate
#define QUORATE_HAS_BROKER 1
#endif
