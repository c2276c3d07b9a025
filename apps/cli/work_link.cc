#include "work_link.h"

#include <cmath>
#include <iostream>

#include "common.h"
#include "server/metrics.h"

namespace quorate::cli {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kSentAtOnce = 256;              // lines of a request
constexpr std::chrono::milliseconds kTurn{50};        // between two looks at the log, if there is nothing new
constexpr std::chrono::milliseconds kClock{1'000};    // between two messages that say nothing but how much was read
constexpr std::chrono::milliseconds kAgain{2'000};    // until what the log does not have is sent again, at first
constexpr std::chrono::milliseconds kSeldom{60'000};  // and in the end
constexpr std::chrono::milliseconds kLongest{5'000};  // between two tries while the server is away
constexpr std::chrono::seconds kStale{30};            // a worker that has not read the log for longer is not ready

}  // namespace

Link::Link(std::unique_ptr<server::LogClient> log, LinkOptions options) : o_(std::move(options)), log_(std::move(log)) {
  const auto end = Clock::now() + std::chrono::seconds(o_.patience);
  for (bool said = false; !replica_;) try {
      start();
      while (follow()) {
      }
    } catch (const server::WrongPeer&) {
      throw;
    } catch (const server::Unreachable& e) {
      if (Clock::now() >= end) throw;
      if (!std::exchange(said, true))
        say(std::string(e.what()) + "; waits up to " + std::to_string(o_.patience) + " s for quorate serve");
      std::this_thread::sleep_for(kTurn);
      if (interrupt().stop_requested()) throw Interrupted("interrupted before the server answered");
    }
  thread_ = std::thread([this] { run(); });
}

Link::~Link() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  wake_.notify_all();
  log_->stop();
  if (thread_.joinable()) thread_.join();
}

std::uint64_t Link::begin(const std::string& source) {
  std::unique_lock lock(mutex_);
  WorkerOptions how = o_.worker;
  how.source = source;
  Reading& mine = readings_.insert_or_assign(source, Reading{Worker(how)}).first->second;
  wake_.notify_all();
  const auto end = Clock::now() + std::chrono::seconds(o_.patience);
  while (failed_ == nullptr && !mine.worker.done(replica_->desk())) {
    if (Clock::now() >= end)
      throw server::Unreachable(log_->address() + ": the desk did not take the source " + source + " within " +
                                std::to_string(o_.patience) + " s; expected quorate serve to be there, or see what it says");
    room_.wait_for(lock, 50ms);
    if (interrupt().stop_requested()) throw Interrupted("interrupted before the server answered");
  }
  if (failed_) std::rethrow_exception(failed_);
  return mine.worker.next(replica_->desk());
}

void Link::end(const std::string& source) {
  const std::lock_guard lock(mutex_);
  const auto found = readings_.find(source);
  if (found == readings_.end()) return;
  asked_before_ += found->second.worker.asked();
  readings_.erase(found);
}

std::size_t Link::judge(const std::string& source, std::uint64_t position, std::string_view lines, std::string& out) {
  std::unique_lock lock(mutex_);
  Worker& worker = readings_.at(source).worker;
  // With a full queue predictions go on, and nothing is asked. No line with a label is lost: the input waits.
  while (failed_ == nullptr && worker.make_room(replica_->desk())) {
    if (!std::exchange(said_full_, true)) say("labels wait for the server; the input waits, too");
    room_.wait_for(lock, 100ms);
    if (interrupt().stop_requested()) return 0;
  }
  if (failed_) std::rethrow_exception(failed_);
  worker.next(replica_->desk());
  worker.pass_over(position);
  const std::size_t unusable = worker.judge(replica_->desk(), lines, out);
  judged_ += worker.next(replica_->desk()) - position;
  unusable_ += unusable;
  return unusable;
}

void Link::wrote(const std::string& source) {
  const std::lock_guard lock(mutex_);
  readings_.at(source).worker.wrote();
}

void Link::give_up(const std::string& source) {
  const std::lock_guard lock(mutex_);
  readings_.at(source).worker.give_up();
}

void Link::check() {
  const std::lock_guard lock(mutex_);
  if (failed_) std::rethrow_exception(failed_);
}

std::uint64_t Link::known_until(const std::string& source) {
  const std::lock_guard lock(mutex_);
  if (failed_) std::rethrow_exception(failed_);
  return readings_.at(source).worker.known_until(replica_->desk()).value_or(0);
}

std::uint64_t Link::finish(std::chrono::seconds most) {
  std::unique_lock lock(mutex_);
  finishing_ = true;
  wake_.notify_all();
  const auto begin = Clock::now();
  const auto done = [this] {
    return std::ranges::all_of(readings_, [this](auto& one) { return one.second.worker.done(replica_->desk()); });
  };
  while (failed_ == nullptr && !done()) {
    if (Clock::now() - begin >= (interrupt().stop_requested() ? std::min(most, 1s) : most)) break;
    room_.wait_for(lock, 50ms);
  }
  if (failed_) std::rethrow_exception(failed_);
  std::uint64_t lacks = 0;
  for (auto& [source, mine] : readings_) lacks += mine.worker.lacking(replica_->desk());
  return lacks;
}

std::string Link::metrics() {
  const std::lock_guard lock(mutex_);
  const Desk::Figures figures = replica_->desk().figures();
  std::uint64_t asked = asked_before_, waiting = 0, lacking = 0;
  for (auto& [source, mine] : readings_) {
    asked += mine.worker.asked();
    waiting += mine.worker.waiting(replica_->desk());
    lacking += mine.worker.lacking(replica_->desk());
  }
  server::Metrics out;
  const auto add = [&](const char* name, const char* type, const char* help, auto value) {
    out.add(name, type, help, static_cast<double>(value));
  };
  add("quorate_work_lines_total", "counter", "Lines judged since the start.", judged_);
  add("quorate_work_lines_unusable_total", "counter", "Unusable lines among these.", unusable_);
  add("quorate_work_asked_total", "counter", "Questions since the start, refused ones included.", asked);
  add("quorate_work_waiting", "gauge", "Lines that wait for the server.", waiting);
  add("quorate_work_lacking", "gauge", "Lines judged that the server does not know of yet.", lacking);
  add("quorate_work_sources", "gauge", "Sources that are read.", readings_.size());
  add("quorate_work_log_record", "gauge", "Records of the log that the model has.", replica_->next());
  add("quorate_work_log_age_seconds", "gauge", "Time since the log was read to its end.", log_age());
  add("quorate_labels", "gauge", "Labels bought by all, as far as the log is read.", figures.bought);
  add("quorate_model_bytes", "gauge", "Memory of the model.", figures.model_bytes);
  return out.text();
}

std::string Link::not_ready() {
  const std::lock_guard lock(mutex_);
  if (failed_) return "it has failed and ends";
  if (log_age() <= static_cast<double>(kStale.count())) return "";
  return "the log was not read for " + std::to_string(std::llround(log_age())) + " s; predictions go on by the last model";
}

std::string Link::summary() {
  const std::lock_guard lock(mutex_);
  const Desk::Figures figures = replica_->desk().figures();
  return counted(figures.bought, "label") + " bought by all, log read to record " + std::to_string(replica_->next());
}

double Link::log_age() const { return std::chrono::duration<double>(Clock::now() - read_).count(); }

void Link::say(const std::string& line) const {
  if (!o_.quiet) std::cerr << "quorate: " << line << "\n";
}

/// From the newest moment.
void Link::start() {
  auto made = std::make_unique<Replica>(log_->moment());
  made->desk().check_followed();
  const std::lock_guard lock(mutex_);
  if (replica_ && replica_->log() != made->log())
    throw FileError(log_->address() + ": another desk: its log is " + made->log() + ", not " + replica_->log() +
                    "; expected the one that this worker began with, or start the worker again");
  replica_ = std::move(made);
}

/// Applies what is new. Returns whether there may be more.
bool Link::follow() {
  std::string records;
  try {
    records = log_->records(*replica_);
  } catch (const server::LogGone& e) {
    say(std::string(e.what()) + "; starts again from its snapshot");
    start();
    return true;
  }
  if (records.empty()) {
    const std::lock_guard lock(mutex_);
    read_ = Clock::now();
  }
  std::string_view rest = records;
  while (!rest.empty()) try {  // a record at a time, so that the examples do not wait
      const std::lock_guard lock(mutex_);
      rest.remove_prefix(replica_->apply(rest, 1));
    } catch (const DataError& e) {
      if (bad_ == replica_->next()) throw;
      bad_ = replica_->next();
      say(std::string(e.what()) + "; starts again from the snapshot of the server");
      start();
      return true;
    }
  return !records.empty();
}

/// Sends what the replica lacks, each part once unless it does not come back in the log. Returns whether there was anything.
bool Link::send() {
  bool any = false;
  std::string lines;
  for (std::string source;; source += '\0') {  // the least name after it
    std::optional<event::Shared> shared;
    {
      const std::lock_guard lock(mutex_);
      const auto found = readings_.lower_bound(source);
      if (found == readings_.end()) return any;
      source = found->first;
      Reading& mine = found->second;
      const Desk& desk = replica_->desk();
      const auto now = Clock::now();
      const auto known = mine.worker.known_until(desk);
      const bool came = !mine.sent || (known && *known >= *mine.sent);
      if (!came && now < mine.again) continue;
      if (mine.worker.waiting(desk) == 0 && now - mine.sent_at < kClock && !finishing_) continue;
      shared = mine.worker.to_send(desk, kSentAtOnce, lines);
      if (!shared) continue;
      mine.sent_at = now;
      mine.pause = came || mine.pause == 0ms ? kAgain : std::min(2 * mine.pause, kSeldom);
      mine.again = now + mine.pause;
      mine.sent = shared->read;
    }
    log_->send(*std::move(shared));
    any = true;
  }
}

void Link::run() {
  std::chrono::milliseconds pause = kTurn;
  bool away = false;
  for (;;) {
    bool more = false;
    try {
      const bool sent = send();
      more = follow() || sent;
      if (std::exchange(away, false)) say(log_->address() + " is back");
      pause = kTurn;
    } catch (const server::Unreachable& e) {
      {
        const std::lock_guard lock(mutex_);
        if (closing_) return;  // stop() ended the request
      }
      if (!std::exchange(away, true)) say(std::string(e.what()) + "; predictions go on, questions wait");
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

}  // namespace quorate::cli
