#include "server/log_topic.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <filesystem>
#include <random>

#include "quorate/base/hash.h"
#include "quorate/base/number.h"
#include "quorate/journal/reader.h"
#include "quorate/share/replica.h"
#include "server/log_client.h"
#include "server/snapshot_files.h"

namespace quorate::server {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kReply{10'000};    // longest wait for messages that the broker has
constexpr std::chrono::milliseconds kTurn{20};         // between two looks at the journal, if there is nothing new
constexpr std::chrono::milliseconds kTidy{1'000};      // between two looks for what can be removed
constexpr std::chrono::milliseconds kLongest{5'000};   // between two tries while the broker is away
constexpr std::size_t kPart = std::size_t{512} << 10;  // bytes of a moment in a message
constexpr std::size_t kRuns = 4096;
constexpr std::string_view kDesk = "desk";  // key of the message by which a desk announces itself

std::uint64_t sequence_of(const kafka::Message& message, const std::string& topic) {
  const auto out = parse_number<std::uint64_t>(message.key);
  if (!out)
    throw DataError(topic + ": message " + std::to_string(message.offset) +
                    " is none of quorate serve; expected a topic of its own");
  return *out;
}

/// Calls for each message from an offset to the end that the topic has now.
template <class Do>
void read_all(kafka::Reader& reader, std::int64_t from, const Do& call) {
  const std::int64_t end = reader.range().second;
  reader.seek(from);
  for (auto last = Clock::now(); !reader.at(end);) {
    if (const auto message = reader.next(100ms)) {
      call(*message);
      last = Clock::now();
    } else if (Clock::now() - last > 2 * kReply && !reader.at(end)) {
      throw Unreachable("the broker does not send the messages that it has");
    }
  }
}

}  // namespace

/// The folder of a desk while it takes a log: what both have must be equal, what the folder lacks is added.
class LogFolder {
 public:
  LogFolder(const std::string& dir, const std::string& topic)
      : dir_(dir), topic_(topic), beginning_(Service::beginning_of(dir)) {
    if (beginning_) journal_.emplace(dir, JournalOptions{.header = *beginning_});  // locked against other processes
  }

  /// Whether it has the records before the moment: otherwise it takes all that the topic has.
  bool begin(const TopicMoment& moment) {
    const auto end = moment.text.find('\n');
    const Json head = Json::parse(moment.text.substr(0, end));
    const std::string log = head.at("log").get<std::string>();
    if (beginning_ && hash128_hex(*beginning_) != log)
      throw UsageError(dir_ + ": its log is " + hash128_hex(*beginning_) + ", and " + topic_ + " has the log " + log +
                       " of another desk; expected a topic of its own, or an empty --dir, which takes the topic's log");
    if (!beginning_) {
      make(moment, head, end + 1);
      return false;
    }
    const std::uint64_t end_here = journal_->end();
    const std::uint64_t first = journal_->segments().front().first;
    if (!moment.before.empty() && first < moment.sequence && moment.sequence <= end_here) {
      JournalReader reader(dir_, moment.sequence - 1, moment.sequence);
      const auto mine = reader.next();
      if (!mine || hash128_hex(mine->payload) != moment.before) refuse(moment.sequence - 1);
    }
    reader_.emplace(dir_, first, end_here);
    return end_here >= moment.sequence;
  }
  void take(std::uint64_t sequence, std::string_view record) {
    if (!journal_) journal_.emplace(dir_, JournalOptions{.header = *beginning_, .first = sequence});
    if (sequence < journal_->segments().front().first) return;
    if (sequence < journal_->end()) {
      auto mine = reader_ ? reader_->next() : std::nullopt;
      while (mine && mine->sequence < sequence) mine = reader_->next();
      if (mine && mine->sequence == sequence && mine->payload == record) return;
      refuse(sequence);
    }
    if (sequence > journal_->end())
      throw UsageError(dir_ + ": ends at record " + std::to_string(journal_->end()) + ", and " + topic_ + " begins at " +
                       std::to_string(sequence) + "; expected an empty --dir, which takes the topic's log");
    reader_.reset();
    journal_->append(record);
    ++added_;
  }
  std::uint64_t added() const { return added_; }
  void finish() {
    if (!journal_) journal_.emplace(dir_, JournalOptions{.header = *beginning_, .first = from_});
    if (journal_->end() > 0 && added_ > 0 && !journal_->wait(journal_->end() - 1)) throw FileError(journal_->failed());
  }

 private:
  [[noreturn]] void refuse(std::uint64_t sequence) const {
    throw UsageError(dir_ + ": record " + std::to_string(sequence) + " differs from that of " + topic_ +
                     ": this desk went on after another one had taken over; quorate journal shows what it did; expected an "
                     "empty --dir, which takes the topic's log");
  }
  void make(const TopicMoment& moment, const Json& head, std::size_t bytes) {
    beginning_ = head.at("settings").dump();
    if (head.at("log").get<std::string>() != hash128_hex(*beginning_))
      throw DataError(topic_ + ": the log is of another version of quorate");
    std::error_code error;
    std::filesystem::create_directories(dir_, error);
    if (error) throw FileError(dir_ + ": cannot be created: " + error.message());
    const auto model = head.at("model").get<std::size_t>();
    const std::string_view all = std::string_view(moment.text).substr(bytes);
    if (moment.sequence > 0)
      write_snapshot(dir_, moment.sequence, hash128_hex(*beginning_), all.substr(0, model), all.substr(model));
    from_ = moment.sequence;
  }

  const std::string dir_, topic_;
  std::optional<std::string> beginning_;
  std::optional<Journal> journal_;
  std::optional<JournalReader> reader_;
  std::uint64_t added_ = 0, from_ = 0;
};

std::optional<TopicMoment> newest_moment(const kafka::Connection& to, const std::string& topic) {
  kafka::Reader reader(to, topic + ".moments");
  std::optional<TopicMoment> out;
  TopicMoment one;
  std::size_t bytes = 0;
  bool open = false;
  const auto look = [&](const kafka::Message& message) {
    if (!message.key.empty()) {
      const Json head = Json::parse(message.value, nullptr, false);
      if (!head.is_object()) throw DataError(topic + ".moments: not of quorate serve");
      one = {{},
             head.at("sequence").get<std::uint64_t>(),
             head.at("offset").get<std::int64_t>(),
             message.offset,
             head.value("before", "")};
      bytes = head.at("bytes").get<std::size_t>();
      open = true;
    } else if (open) {
      one.text.append(message.value);
    }
    if (open && one.text.size() >= bytes && bytes > 0) {
      out = std::move(one);
      open = false;
    }
  };
  try {
    read_all(reader, reader.range().first, look);
  } catch (const kafka::OutOfRange& e) {  // removed meanwhile, as there is a newer one
    throw Unreachable(e.what());
  }
  return out;
}

LogTopic::LogTopic(LogTopicOptions options)
    : o_(std::move(options)),
      name_(o_.address.topic),
      moments_(name_ + ".moments"),
      events_(name_ + ".events"),
      to_{.servers = o_.address.servers, .settings = o_.settings} {
  LogFolder folder(o_.dir, o_.address.text());
  const kafka::Connection first{.servers = to_.servers, .settings = to_.settings, .waits = o_.waits};
  for (const auto& made : kafka::create_topics(first, {name_, moments_, events_})) say("made the topic " + made);
  std::random_device random;
  char host[128] = "";
  gethostname(host, sizeof host - 1);
  me_ = Json{{"id", std::to_string(random()) + "-" + std::to_string(random())}, {"host", host}, {"dir", o_.dir}}.dump();
  take(folder);  // refused before anybody is fenced
  open();
  announced_ = transactions_->append(events_, {{std::string(kDesk), me_}});
  take(folder);  // what the older desk wrote meanwhile
  if (folder.added() > 0) say("took " + std::to_string(folder.added()) + " records of " + o_.address.text());
}

/// What the topic has after next_, into the folder.
void LogTopic::take(LogFolder& folder) {
  if (!newest_) {
    const auto moment = newest_moment(to_, name_);
    if (!moment) return;
    log_ = Json::parse(moment->text.substr(0, moment->text.find('\n'))).at("log").get<std::string>();
    newest_ = {moment->sequence, moment->at};
    if (folder.begin(*moment)) {  // it has the records before, too
      next_ = moment->sequence;
      note(moment->sequence, moment->offset);
    }
  }
  catch_up([&](std::uint64_t sequence, std::string_view record) { folder.take(sequence, record); });
  folder.finish();
  if (next_ < newest_->sequence) next_ = newest_->sequence;  // the topic has no record
}

LogTopic::~LogTopic() {
  closing_ = true;
  if (listener_.joinable()) listener_.join();
  if (copier_.joinable()) copier_.join();
}

void LogTopic::begin(Service& service) {
  if (!log_.empty() && log_ != service.log_name())
    throw UsageError(o_.address.text() + ": has the log of another desk; expected a topic of its own");
  service_ = &service;
  if (!newest_) keep_moment();  // workers that start now find a log
  copier_ = std::thread([this] { copy(); });
  listener_ = std::thread([this] { listen(); });
}

std::string LogTopic::failed() const {
  const std::lock_guard lock(mutex_);
  return failed_;
}

void LogTopic::end(const std::string& why) {
  {
    const std::lock_guard lock(mutex_);
    if (!failed_.empty()) return;
    failed_ = why;
  }
  closing_ = true;
  if (o_.ended) o_.ended();
}

void LogTopic::say(const std::string& line) const {
  if (o_.log) o_.log(line);
}

void LogTopic::open() {
  transactions_.reset();
  transactions_.emplace(to_, name_);
}

// The log's topic --------------------------------------------------------------------------------------------------------

/// The offset of a record, or one before it.
std::int64_t LogTopic::offset_of(std::uint64_t sequence) const {
  const auto after = std::ranges::upper_bound(runs_, sequence, {}, &std::pair<std::uint64_t, std::int64_t>::first);
  if (after == runs_.begin()) return 0;
  const auto& [first, offset] = *std::prev(after);
  return offset + static_cast<std::int64_t>(sequence - first);
}

void LogTopic::note(std::uint64_t sequence, std::int64_t offset) {
  if (!runs_.empty() && (sequence <= runs_.back().first || offset_of(sequence) == offset)) return;
  runs_.emplace_back(sequence, offset);
  if (runs_.size() > 2 * kRuns)  // every second one of the older half: what is left still says one before
    for (std::size_t n = 1; n <= kRuns / 2; ++n) runs_.erase(runs_.begin() + static_cast<std::ptrdiff_t>(n));
}

/// Reads what the topic has after next_: also what this desk wrote before a transaction failed, or not.
void LogTopic::catch_up(const std::function<void(std::uint64_t, std::string_view)>& record) {
  kafka::Reader reader(to_, name_);
  read_all(reader, std::max(reader.range().first, offset_of(next_)), [&](const kafka::Message& message) {
    const std::uint64_t sequence = sequence_of(message, name_);
    if (sequence < next_) return;
    if (record) record(sequence, message.value);
    note(sequence, message.offset);
    next_ = sequence + 1;
  });
}

/// Throws Fenced if another desk has announced itself.
void LogTopic::look_for_others() {
  kafka::Reader reader(to_, events_);
  read_all(reader, std::max(reader.range().first, announced_ + 1), [&](const kafka::Message& message) {
    if (message.key == kDesk && message.value != me_) throw kafka::Fenced(std::string(message.value));
  });
}

bool LogTopic::copy_some() {
  if (!transactions_) {
    look_for_others();
    open();
    catch_up();
  }
  if (!newest_ || next_ < service_->first_record()) keep_moment();
  const std::string records = service_->log_records(next_, service_->log_name());
  if (records.empty()) return false;
  std::vector<kafka::Transactions::Part> parts;
  for (std::string_view rest = records; !rest.empty();) {
    const LogRecord one = take_from_log(rest);
    parts.push_back({std::to_string(one.sequence), one.bytes});
  }
  note(next_, transactions_->append(name_, parts));
  next_ += parts.size();
  return true;
}

void LogTopic::copy() {
  bool away = false;
  std::chrono::milliseconds pause = kTurn;
  auto tidied = Clock::now();
  std::optional<Clock::time_point> last;
  for (;;) {
    if (closing_ && !last) last = Clock::now() + kReply;
    bool more = false;
    try {
      more = copy_some();
      if (!more && (closing_ || Clock::now() - tidied > kTidy)) {
        tidied = Clock::now();
        keep_moment();
      }
      if (std::exchange(away, false)) say(o_.address.text() + " is back");
      pause = kTurn;
    } catch (const Unreachable& e) {
      transactions_.reset();
      if (!std::exchange(away, true)) say(std::string(e.what()) + "; people go on, the topic follows when it is back");
      pause = std::min(2 * pause, kLongest);
    } catch (const kafka::Fenced& e) {
      transactions_.reset();
      try {
        std::this_thread::sleep_for(kTidy);  // the other one announces itself
        look_for_others();
      } catch (const kafka::Fenced& other) {
        return end(o_.address.text() + ": another desk has taken over: " + other.what());
      } catch (const std::exception&) {  // looked for again
      }
    } catch (const Refused&) {  // the desk has dropped records just now
    } catch (const std::exception& e) {
      return end(e.what());
    }
    if (last && ((!more && !away) || Clock::now() > *last)) {
      if (more || away)
        say(o_.address.text() + ": lacks the records from " + std::to_string(next_) + " on; start the desk again");
      return;
    }
    for (const auto until = Clock::now() + pause; !more && !last && !closing_ && Clock::now() < until;)
      std::this_thread::sleep_for(std::min(pause, kTurn));
  }
}

/// The newest snapshot into the topic; what the desk does not keep out of it.
void LogTopic::keep_moment() {
  const std::uint64_t first = service_->first_record();
  const bool begins = !newest_ || next_ < first;  // what the desk dropped while the broker was away is not copied
  if (begins || (service_->snapshot_at() > newest_->sequence && service_->snapshot_at() <= next_)) {
    // The first one is before all records, so that the topic has them all, if the journal has.
    const std::string text = !newest_ && first == 0 ? service_->first_moment() : service_->newest_snapshot();
    const auto sequence = Json::parse(text.substr(0, text.find('\n'))).at("sequence").get<std::uint64_t>();
    if (!begins && (sequence > next_ || sequence <= newest_->sequence)) return;
    if (begins) {
      next_ = sequence;
      note(sequence, kafka::Reader(to_, name_).range().second);
    }
    std::string before;
    if (sequence > first) {
      const std::string records = service_->log_records(sequence - 1, service_->log_name());
      std::string_view rest = records;
      before = hash128_hex(take_from_log(rest).bytes);
    }
    const Json head{{"sequence", sequence}, {"offset", offset_of(sequence)}, {"bytes", text.size()}, {"before", before}};
    const std::string line = head.dump();
    std::vector<kafka::Transactions::Part> parts{{std::to_string(sequence), line}};
    for (std::string_view rest = text; !rest.empty(); rest.remove_prefix(std::min(kPart, rest.size())))
      parts.push_back({{}, rest.substr(0, kPart)});
    const std::int64_t at = transactions_->append(moments_, parts);
    before_ = newest_;
    newest_ = {sequence, at};
  }
  // A follower starts from the newest one, or reads the one before at this moment, unless that is to be forgotten.
  if (before_) {
    const bool forget = first > before_->sequence;
    if (forget || first_kept_ != before_->at) {
      first_kept_ = forget ? newest_->at : before_->at;
      kafka::delete_before(to_, moments_, first_kept_);
      if (forget) before_.reset();
    }
  }
  if (first > cut_ && newest_->sequence >= first) {
    kafka::delete_before(to_, name_, offset_of(first));
    cut_ = first;
  }
}

// What workers send ------------------------------------------------------------------------------------------------------

void LogTopic::listen() {
  struct Handled {
    std::mutex mutex;
    std::int64_t before = 0;  // messages before this offset are answered
    std::size_t waiting = 0;
    std::string refused;
  };
  const auto handled = std::make_shared<Handled>();
  std::optional<std::pair<std::int64_t, std::uint64_t>> removable;  // messages before, once the topic has records before
  auto tidied = Clock::now();
  std::unique_ptr<kafka::Reader> reader;
  while (!closing_) try {
      if (!reader) {
        reader = std::make_unique<kafka::Reader>(to_, events_);
        reader->seek(reader->range().first);
      }
      {
        const std::lock_guard lock(handled->mutex);
        if (!handled->refused.empty()) say(events_ + ": refused: " + std::exchange(handled->refused, ""));
        if (handled->waiting > 64) {
          std::this_thread::sleep_for(1ms);
          continue;
        }
      }
      if (Clock::now() - tidied > 5 * kTidy) {
        tidied = Clock::now();
        if (removable && next_ >= removable->second) {
          if (removable->first > 0) kafka::delete_before(to_, events_, removable->first);
          removable.reset();
        }
        if (!removable) {
          const std::lock_guard lock(handled->mutex);
          removable.emplace(handled->before, service_->figures().durable_events);
        }
      }
      const auto message = reader->next(100ms);
      if (!message) continue;
      if (message->key == kDesk) {
        if (message->offset > announced_ && message->value != me_)
          end(o_.address.text() + ": another desk has taken over: " + std::string(message->value));
        continue;
      }
      std::string body(message->value);
      event::Shared shared;
      try {
        shared = shared_of(body);
      } catch (const Refused& e) {
        say(events_ + ": message " + std::to_string(message->offset) + " is none of a worker: " + e.detail);
        continue;
      }
      {
        const std::lock_guard lock(handled->mutex);
        ++handled->waiting;
      }
      service_->submit_shared(std::move(shared), std::move(body), [handled, offset = message->offset](DeskReply reply) {
        const std::lock_guard lock(handled->mutex);
        --handled->waiting;
        handled->before = std::max(handled->before, offset + 1);
        if (!reply.done()) handled->refused = reply.detail();
      });
    } catch (const Unreachable&) {  // said by the copier
      std::this_thread::sleep_for(kTidy);
    } catch (const kafka::OutOfRange&) {
      reader.reset();
    } catch (const std::exception& e) {
      return end(e.what());
    }
}

}  // namespace quorate::server
