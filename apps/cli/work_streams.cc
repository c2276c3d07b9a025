#include "work_streams.h"

#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <filesystem>
#include <functional>
#include <iostream>
#include <mutex>
#include <random>
#include <set>
#include <thread>

#include "common.h"
#include "desk_options.h"
#include "quorate/stream/source.h"

namespace quorate::cli {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

/// Lines as they arrive: a thread reads them, so that those that are there are judged while others are awaited.
class Arriving : public Input {
 public:
  Arriving(Link& link, std::string source, const std::string& path, std::uint64_t position)
      : link_(link), source_(std::move(source)), position_(position), reader_(path, end_.get_token()) {
    const std::uint64_t passed_over = path == "-" ? 0 : position;
    thread_ = std::jthread([this, passed_over](const std::stop_token& end) { read(end, passed_over); });
  }
  ~Arriving() override { end_.request_stop(); }
  Arriving(const Arriving&) = delete;
  Arriving& operator=(const Arriving&) = delete;
  Batch next(std::size_t most) override {
    std::unique_lock lock(mutex_);
    while (!arrived_.wait_for(lock, 500ms, [&] { return !lines_.empty() || ended_; })) link_.check();
    if (lines_.empty() && failed_) std::rethrow_exception(failed_);
    Batch out{source_, position_, 0, {}, {}};
    for (; out.count < most && !lines_.empty(); ++out.count, lines_.pop_front()) {
      bytes_ -= lines_.front().size();
      out.lines.append(lines_.front());
    }
    position_ += out.count;
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
        lines_.emplace_back(line) += reader_.complete() ? "\n" : "";
        bytes_ += lines_.back().size();
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

  Link& link_;
  const std::string source_;
  std::uint64_t position_;  // of the next line
  std::stop_source end_;
  std::stop_callback<std::function<void()>> interrupted_{interrupt(), [this] { end_.request_stop(); }};
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

class KafkaInput : public Input {
 public:
  KafkaInput(Link& link, const kafka::Address& topic, const kafka::Settings& settings, const std::string& group,
             const std::string& member, bool quiet)
      : link_(link), topic_(topic.topic), quiet_(quiet) {
    const auto say = [this](std::string_view line) {
      if (!quiet_) std::cerr << "quorate: " << line << "\n";
    };
    kafka::Member::Events events;
    events.assigned = [this, say](const std::vector<std::int32_t>& partitions) {
      std::vector<std::int64_t> offsets;
      std::string names;
      for (const std::int32_t partition : partitions) {
        const std::uint64_t next = link_.begin(name(partition));
        offsets.push_back(next == 0 ? -1 : static_cast<std::int64_t>(next));
        mine_.insert(partition);
        names += " " + std::to_string(partition);
      }
      if (!partitions.empty())
        say(topic_ + ": reads" + (partitions.size() > 1 ? " the partitions" : " the partition") + names);
      return offsets;
    };
    events.revoked = [this](const std::vector<std::int32_t>& partitions) {
      for (const std::int32_t partition : partitions) {
        link_.end(name(partition));
        mine_.erase(partition);
        if (held_ && held_->partition == partition) held_.reset();
      }
    };
    events.gone = say;
    const kafka::Connection to{.servers = topic.servers, .settings = settings, .waits = waits_for_broker(say)};
    member_.emplace(to, topic.topic, group, member, events);
  }

  Batch next(std::size_t most) override {
    Batch out;
    std::int32_t partition = -1;
    while (!interrupt().stop_requested() && out.count < most && out.lines.size() < kBytesAtOnce) {
      commit();
      if (!held_) hold(out.count == 0 ? 100ms : 0ms);
      if (!held_ && out.count > 0) break;
      if (!held_) continue;
      if (out.count > 0 && (held_->partition != partition || held_->offset != out.position + out.count)) break;
      if (out.count == 0) {
        partition = held_->partition;
        out.source = name(partition);
        out.position = held_->offset;
      }
      out.lines.append(held_->line).append("\n");
      out.keys.push_back(std::move(held_->key));
      held_.reset();
      ++out.count;
    }
    // A partition that went to another member meanwhile: that one judges these lines.
    return out.count > 0 && !mine_.contains(partition) ? Batch() : out;
  }

 private:
  static constexpr std::size_t kBytesAtOnce = std::size_t{4} << 20;
  struct Line {
    std::int32_t partition;
    std::uint64_t offset;
    std::string line, key;
  };

  std::string name(std::int32_t partition) const { return topic_ + "/" + std::to_string(partition); }
  void hold(std::chrono::milliseconds wait) {
    const auto message = member_->next(wait);
    if (!message || !mine_.contains(message->partition)) return;
    held_ = Line{message->partition, static_cast<std::uint64_t>(message->offset), std::string(message->value),
                 std::string(message->key)};
    std::ranges::replace_if(
        held_->line, [](char c) { return c == '\n' || c == '\r'; }, ' ');
    if (held_->line.find_first_not_of(" \t") == std::string::npos) held_->line = "{}";  // an unusable line, not none
  }
  /// So that the tools of Kafka show how far this is behind.
  void commit() {
    if (!member_->steady()) return;
    for (const std::int32_t partition : mine_)
      member_->commit(partition, static_cast<std::int64_t>(link_.known_until(name(partition))));
  }

  Link& link_;
  const std::string topic_;
  const bool quiet_;
  std::set<std::int32_t> mine_;
  std::optional<Line> held_;
  std::optional<kafka::Member> member_;
};

class StandardOutput : public Output {
 public:
  bool write(const Batch&, std::string_view predictions) override {
    return static_cast<bool>(std::cout << predictions << std::flush);
  }
};

class KafkaOutput : public Output {
 public:
  KafkaOutput(const kafka::Address& topic, const kafka::Settings& settings)
      : writer_({.servers = topic.servers, .settings = settings, .waits = waits_for_broker([](std::string_view line) {
                                                                   std::cerr << "quorate: " << line << "\n";
                                                                 })},
                topic.topic, 0ms) {}
  bool write(const Batch& batch, std::string_view predictions) override {
    for (std::size_t n = 0; !predictions.empty(); ++n) {
      const std::size_t end = predictions.find('\n');
      writer_.write(n < batch.keys.size() ? batch.keys[n] : "", predictions.substr(0, end));
      predictions.remove_prefix(end + 1);
    }
    while (!writer_.flush(100ms))
      if (interrupt().stop_requested()) return writer_.flush(1'000ms);
    return true;
  }

 private:
  kafka::Writer writer_;
};

}  // namespace

std::unique_ptr<Input> lines_input(Link& link, const std::string& data, std::string source, bool quiet) {
  if (source.empty()) source = source_of(data);
  const std::uint64_t judged = link.begin(source);
  if (judged > 0 && !quiet)
    std::cerr << "quorate: " << counted(judged, "line") << " of " << source << " are judged already"
              << (data == "-" ? "\n" : "; passed over (--source names another reading)\n");
  return std::make_unique<Arriving>(link, std::move(source), data, judged);
}

std::unique_ptr<Input> kafka_input(Link& link, const kafka::Address& topic, const kafka::Settings& settings,
                                   const std::string& group, const std::string& member, bool quiet) {
  return std::make_unique<KafkaInput>(link, topic, settings, group, member, quiet);
}

std::unique_ptr<Output> standard_output() { return std::make_unique<StandardOutput>(); }

std::unique_ptr<Output> kafka_output(const kafka::Address& topic, const kafka::Settings& settings) {
  return std::make_unique<KafkaOutput>(topic, settings);
}

}  // namespace quorate::cli
