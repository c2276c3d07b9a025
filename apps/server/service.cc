#include "server/service.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <random>
#include <shared_mutex>
#include <vector>

#include "quorate/base/hash.h"
#include "quorate/base/number.h"
#include "quorate/journal/reader.h"
#include "quorate/share/replica.h"
#include "quorate/store/files.h"
#include "quorate/stream/example_reader.h"
#include "server/memory_reserve.h"
#include "server/snapshot_files.h"

namespace quorate::server {
namespace {

constexpr std::size_t kChunkBytes = std::size_t{1} << 20;      // of an event
constexpr std::size_t kPredictedBytes = std::size_t{1} << 16;  // while an event waits
constexpr std::size_t kPageBytes = std::size_t{4} << 20;
constexpr double kWorkPerSnapshot = 20;                 // seconds of applying events for each of a snapshot
constexpr std::size_t kPredictedAtOnce = 64;            // lines, while an event waits
constexpr std::uint64_t kListedAtOnce = 256;            // and rows
constexpr double kTick = 1;                             // seconds
constexpr double kFirstPause = 5, kLongestPause = 300;  // seconds until what was forgotten is to leave the disk again
constexpr std::size_t kReplyBytes = std::size_t{16} << 20, kReplyBytesOfByte = 10;  // most_of_reply()

double system_stopwatch() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}
double system_clock() { return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count(); }

/// Tails that were cut: what they have was never acknowledged, but may be what is forgotten.
bool remove_torn(const std::string& dir) {
  std::error_code error;
  std::vector<std::filesystem::path> torn;
  for (const auto& entry : std::filesystem::directory_iterator(journal_folder(dir), error))
    if (entry.path().filename().string().starts_with("torn-")) torn.push_back(entry.path());
  for (const auto& path : torn)
    if (!error) std::filesystem::remove(path, error);
  return !error;
}

/// The name of the first setting that differs, or an empty text. Settings that are not there have their defaults.
std::string difference(const Json& given, const Json& is) {
  for (const auto& [key, value] : given.items()) {
    const auto found = is.find(key);
    if (found == is.end()) return key;
    if (value == *found) continue;
    return value.is_object() && found->is_object() ? difference(value, *found) : key;
  }
  for (const auto& [key, value] : is.items())
    if (!given.contains(key)) return key;
  return "";
}

void check_same(DeskSettings given, const DeskSettings& is, const std::string& dir) {
  given.desk = is.desk;
  given.secret = is.secret;
  const std::string name = difference(Json::parse(given.to_json()), Json::parse(is.to_json()));
  if (!name.empty())
    throw UsageError("setting " + quoted_value(name) + " differs from that of " + dir +
                     " and never changes; leave it out, or serve another folder");
}

DataError no_journal(const std::string& dir) {
  return DataError(dir + ": has snapshots but no journal; expected the folder " + journal_folder(dir));
}

/// The first header text of a folder's journal, if there is one.
std::optional<std::string> header_of(const std::string& dir) {
  const auto segments = journal_segments(dir);
  if (segments.empty()) return std::nullopt;
  return JournalReader(dir, segments.front().first).header().text;
}

/// Lines in parts, each of whole lines.
class Chunks {
 public:
  /// Each has at least one line.
  Chunks(std::string_view lines, std::size_t most_lines, std::size_t most_bytes)
      : rest_(lines), most_lines_(most_lines), most_bytes_(most_bytes) {}

  bool end() const { return rest_.empty(); }
  std::uint64_t first() const { return first_; }  ///< lines before next()
  std::string_view next() {
    first_ += lines_;
    lines_ = 0;
    std::size_t at = 0;
    while (lines_ < most_lines_ && at < rest_.size()) {
      const auto end = rest_.find('\n', at);
      const std::size_t next = end == rest_.npos ? rest_.size() : end + 1;
      if (lines_ > 0 && next > most_bytes_) break;
      at = next;
      ++lines_;
    }
    const std::string_view out = rest_.substr(0, at);
    rest_.remove_prefix(at);
    return out;
  }

 private:
  std::string_view rest_;
  std::size_t most_lines_, most_bytes_;
  std::uint64_t first_ = 0, lines_ = 0;
};

/// The reply to a line of a few bytes may have hundreds, so replies are limited, too.
std::size_t most_of_reply(std::size_t body) { return kReplyBytes + kReplyBytesOfByte * body; }
DeskReply too_long_reply(std::size_t body, std::uint64_t taken) {
  DeskReply out =
      refusal(Verdict::kTooLong, "the reply to these lines is longer than " + std::to_string(most_of_reply(body)) + " bytes",
              "fewer lines in a request");
  if (taken > 0) out.body["taken"] = taken;
  return out;
}

DeskReply all_bad(const std::string& first) { return refusal(Verdict::kUnusable, "no line can be used: " + first); }

DeskReply unavailable(const std::string& why) { return refusal(Verdict::kUnavailable, why); }

/// The replies to the parts of a request, joined: their lists one after the other, the rest of the last.
void join(DeskReply& whole, DeskReply part) {
  std::string list = std::move(whole.list);
  list.append(list.empty() || part.list.empty() ? "" : ",").append(part.list);
  part.list = std::move(list);
  part.used += whole.used;
  if (!whole.first_bad.empty()) part.first_bad = std::move(whole.first_bad);
  whole = std::move(part);
}

}  // namespace

void check_lengths(std::string_view lines) {
  constexpr std::size_t kLongest = std::size_t{4} << 20;
  std::uint64_t number = 1;
  for (; !lines.empty(); ++number) {
    const std::size_t length = std::min(lines.find('\n'), lines.size());
    if (length > kLongest)
      throw Refused{Verdict::kTooLong, "example " + std::to_string(number) + " has " + std::to_string(length) + " bytes",
                    std::to_string(kLongest) + " at most"};
    lines.remove_prefix(std::min(length + 1, lines.size()));
  }
}

event::Shared shared_of(std::string& body) {
  constexpr std::size_t kMost = 4096;
  const Json head = Json::parse(body.substr(0, body.find('\n')), nullptr, false);
  if (!head.is_object())
    throw Refused{Verdict::kMalformed, "the first line is no JSON object",
                  "a line with source, read, positions and probabilities, then examples"};
  for (const FieldRule& rule : rules_of<event::Shared>())
    if (const auto found = head.find(rule.name); found == head.end() || !rule.accepts_within(*found))
      throw Refused{Verdict::kMalformed, "field " + quoted_value(std::string(rule.name)) + " of the first line",
                    rule.expected()};
  auto shared = event_of<event::Shared>(head);
  if (shared.positions.size() > kMost)
    throw Refused{Verdict::kTooLong, std::to_string(shared.positions.size()) + " examples",
                  std::to_string(kMost) + " at most"};
  body.erase(0, std::min(body.find('\n'), body.size() - 1) + 1);
  check_lengths(body);
  return shared;
}

std::string lines_of_json(std::string_view body) {
  const auto expected = "expected an object with an example, or an array of such objects";
  if (!Json::accept(body)) throw DataError(std::string("the body is not JSON; ") + expected);
  std::string out;
  out.reserve(body.size() + 1);
  int depth = 0;
  bool array = false, text = false, element = false;
  for (std::size_t i = 0; i < body.size(); ++i) {
    const char c = body[i];
    if (text) {
      out += c;
      if (c == '\\') out += body[++i];  // JSON: something follows
      text = c != '"';
      continue;
    }
    if (c == ' ' || c == '\t' || c == '\n' || c == '\r') continue;
    if (!array && depth == 0 && out.empty() && c == '[') {
      array = true;
      continue;
    }
    if (array && depth == 0 && (c == ',' || c == ']')) {
      if (element) out += '\n';
      element = false;
      continue;
    }
    if (depth == 0 && c != '{') throw DataError(std::string("the body has an element that is no object; ") + expected);
    text = c == '"';
    depth += (c == '{' || c == '[') - (c == '}' || c == ']');
    element = true;
    out += c;
  }
  if (!array) out += '\n';
  return out;
}

Service::Service(ServiceOptions options, Disk& disk) : options_(std::move(options)) {
  if (!options_.stopwatch) options_.stopwatch = options_.clock ? [] { return 0.0; } : system_stopwatch;
  if (!options_.clock) options_.clock = system_clock;
  stopwatch_ = options_.stopwatch();
  open(disk);
  writer_ = std::thread([this] { run(); });
}

Service::~Service() { stop(); }

std::optional<std::string> Service::beginning_of(const std::string& dir) {
  auto text = header_of(dir);
  if (!text && !snapshots_of(dir).empty()) throw no_journal(dir);
  return text;
}

std::optional<DeskSettings> Service::settings_of(const std::string& dir) {
  const auto text = beginning_of(dir);
  return text ? std::optional(DeskSettings::from_json(*text)) : std::nullopt;
}

void Service::open(Disk& disk) {
  const std::string& dir = options_.dir;
  auto header = header_of(dir);
  if (!header && !snapshots_of(dir).empty()) throw no_journal(dir);
  if (!header && !options_.settings)
    throw UsageError(dir + ": is not the folder of a service yet; expected settings for a new one");
  if (!header) {
    const Desk valid(*options_.settings);  // throws before anything is written
    DeskSettings first = *options_.settings;
    std::random_device random;
    std::string words;
    for (int n = 0; n < 8; ++n) words += std::to_string(random()) + " ";
    if (first.secret.empty()) first.secret = hash128_hex(words);
    header = first.to_json();
    std::error_code error;
    std::filesystem::create_directories(dir, error);
    if (error) throw FileError(dir + ": cannot be created: " + error.message());
  }
  const DeskSettings settings = DeskSettings::from_json(*header);
  if (options_.settings) check_same(*options_.settings, settings, dir);

  JournalOptions how;
  how.header = *header;
  how.segment_bytes = options_.segment_bytes;
  how.may_fail = true;
  how.on_durable = [this](std::uint64_t durable, const std::string& failure) {
    {
      const std::lock_guard lock(answer_mutex_);
      durable_ = std::max(durable_, durable);
      if (!failure.empty() && failed_.empty()) failed_ = failure;
    }
    ++changes_;
    answer_durable();
  };
  journal_ = std::make_unique<Journal>(dir, how, disk);
  // Before the lock was ours, another process may have made the folder.
  if (const auto now = header_of(dir); now && *now != *header)
    throw UsageError(dir + ": was made with other settings by another process just now; start again without settings");
  {
    const std::lock_guard lock(answer_mutex_);
    durable_ = std::max(durable_, journal_->durable());
  }
  if (const std::string why = journal_->failed(); !why.empty()) {
    fail(why);
    log(why + "; no answer is taken, predictions are given; start again when the cause is removed");
  }
  if (const auto& cut = journal_->cut())
    log(cut->path + ": " + std::to_string(cut->bytes) + " bytes at offset " + std::to_string(cut->offset) +
        " were never finished (" + cut->reason + ") and are kept in " + journal_->cut_file());

  beginning_ = *header;
  make_desk(settings);
  time_ = desk_->time();
  change_settings();
  clear_past();  // the process before may have ended between forgetting and this
}

/// From the newest snapshot and the journal.
void Service::make_desk(const DeskSettings& settings) {
  const std::uint64_t from = load_snapshot(settings);
  if (!desk_) desk_.emplace(settings);
  replay(from);
  desk_->rebuild_beside([this](const auto& work) {  // within an event, whose lock this is
    struct Aside {
      FairMutex& mutex;
      explicit Aside(FairMutex& m) : mutex(m) { mutex.unlock(); }
      ~Aside() { mutex.lock(); }
    } readers_go_on(desk_mutex_);
    work();
  });
}

/// To those that were given at this start.
void Service::change_settings() {
  desk_options_ = desk_->settings().desk;
  DeskOptions wanted = desk_options_;
  if (options_.settings) wanted = options_.settings->desk;
  if (options_.change) wanted = options_.change(desk_options_);
  if (wanted.to_json() == desk_options_.to_json() || !failed().empty()) return;
  wanted.check();
  std::error_code error;
  if (!wanted.archive.empty() && std::filesystem::equivalent(wanted.archive, journal_folder(options_.dir), error))
    throw UsageError("--archive " + wanted.archive + ": is the folder of the journal itself; expected another one");
  const DeskReply reply = apply(event::Settings{wanted});
  if (!reply.changed) throw UsageError(options_.dir + ": " + reply.detail());
  if (!journal_->wait(journal_->end() - 1)) throw FileError(journal_->failed());
  const auto note = [&](const auto& field) {
    const std::string before = to_text(write_value(desk_options_.*(field.member))),
                      now = to_text(write_value(wanted.*(field.member)));
    if (before != now) log("from now on --" + std::string(field.name) + " is " + now + "; it was " + before);
  };
  std::apply([&](const auto&... field) { (note(field), ...); }, DeskOptions::fields());
  desk_options_ = std::move(wanted);
}

/// There was no memory for an event. What it did until then is in no journal, so it never happened.
void Service::make_desk_again() {
  try {
    log("the machine has no memory left for an event, which is refused; the desk is read again from the disk");
    const std::lock_guard lock(desk_mutex_);
    if (const std::uint64_t end = journal_->end(); end > 0 && !journal_->wait(end - 1)) return;  // which says why
    desk_.reset();
    make_desk(DeskSettings::from_json(beginning_));
  } catch (const std::bad_alloc&) {
    fail("the machine has no memory left; restart the server");
  } catch (const std::exception& e) {
    fail(e.what());
  }
}

const Desk& Service::desk() const {
  if (!desk_) throw MemoryError(failed());
  return *desk_;
}

std::uint64_t Service::load_snapshot(const DeskSettings& settings) {
  const std::uint64_t end = journal_->end();
  for (const std::uint64_t sequence : snapshots_of(options_.dir)) {
    if (sequence > end && is_snapshot_of(options_.dir, sequence, hash128_hex(beginning_)))
      throw DataError(snapshot_name(options_.dir, sequence) + ".desk: has events that the journal has lost, which ends at " +
                      std::to_string(end) + "; expected the journal it was made from. To go on without these events, " +
                      "remove this snapshot");
    try {
      const std::string state = read_state(options_.dir, sequence, hash128_hex(beginning_));
      desk_.emplace(settings, Model::load(snapshot_name(options_.dir, sequence) + ".model"), state);
      snapshot_at_ = sequence;
      return sequence;
    } catch (const Error& e) {
      log(std::string(e.what()) + "; this snapshot is passed over");
    }
  }
  return 0;
}

void Service::replay(std::uint64_t from) {
  const std::uint64_t end = journal_->end();
  if (from == end) return;
  JournalReader reader(options_.dir, from, end);
  const double begin = system_stopwatch();
  while (const auto record = reader.next()) {
    const DeskReply reply = desk_->apply(record->payload);
    ++events_since_;
    bytes_since_ += record->payload.size();
    check_replayed(options_.dir, record->sequence, record->payload, reply);
  }
  work_since_ = system_stopwatch() - begin;
  if (reader.position().sequence != end)
    throw DataError(options_.dir + ": the journal ends at event " + std::to_string(reader.position().sequence) +
                    "; expected " + std::to_string(end));
}

void check_replayed(const std::string& dir, std::uint64_t sequence, std::string_view event, const DeskReply& reply) {
  const std::string how = other_result(event, reply);
  if (how.empty()) return;
  const std::string number = std::to_string(sequence);
  throw DataError(dir + ": event " + number + " of the journal does not apply: " + how +
                  "; expected the version of quorate that wrote it. Nothing is lost: quorate journal export --dir " + dir +
                  " gives all answers, and quorate journal rebuild --dir " + dir + " --out FOLDER --until " + number +
                  " a folder that can be served, with what came before");
}

void Service::submit(event::Any what, Done done) { enqueue({std::move(what), {}, std::move(done)}); }

void Service::submit_examples(std::string lines, Done done) {
  enqueue({event::Examples(), std::move(lines), std::move(done)});
}

void Service::submit_shared(event::Shared what, std::string lines, Done done) {
  enqueue({std::move(what), std::move(lines), std::move(done)});
}

void Service::enqueue(Job job) {
  std::string why = failed();
  if (why.empty()) {
    const std::lock_guard lock(queue_mutex_);
    const std::size_t bytes = job.bytes();
    if (closing_) {
      why = "the server is stopping; try again later";
    } else if (waiting_ >= options_.most_waiting || (waiting_ > 0 && waiting_bytes_ + bytes > options_.most_waiting_bytes)) {
      why = std::to_string(waiting_) + " events wait already; try again later";
    } else {
      ++waiting_;
      waiting_bytes_ += bytes;
      queue_.push_back(std::move(job));
      work_.notify_one();
      return;
    }
  }
  ++refused_;
  job.done(unavailable(why));
}

void Service::run() {
  for (;;) {
    Job job;
    {
      std::unique_lock lock(queue_mutex_);
      const auto wanted = [&] { return closing_ || !queue_.empty(); };
      const auto due = desk_ ? desk_->due() : std::nullopt;
      if ((due || past_stays_) && failed().empty()) {  // an answer that is held back, with nothing else to do
        const double seconds = due ? std::clamp(*due - now(), 0.0, kTick) : kTick;
        if (!work_.wait_for(lock, std::chrono::duration<double>(seconds), wanted)) {
          lock.unlock();
          tick();
          continue;
        }
      }
      work_.wait(lock, wanted);
      if (queue_.empty()) return;
      job = std::move(queue_.front());
      queue_.pop_front();
    }
    const std::size_t bytes = job.bytes();
    DeskReply reply;
    try {
      reply = carry_out(job);
    } catch (const std::bad_alloc&) {
      job.lines = {};
      once_there_is_memory([&] {
        if (failed().empty()) make_desk_again();
        reply = unavailable("the machine has no memory left for this request; try again later");
      });
    } catch (const std::exception& e) {
      fail(e.what());
    }
    once_there_is_memory([&] {
      renew_memory_reserve();
      if (const std::string why = failed(); !why.empty()) reply = unavailable(why);
    });
    Waiting waiting{journal_->end(), bytes, std::move(reply), std::move(job.done)};
    once_there_is_memory([&] {
      const std::lock_guard lock(answer_mutex_);
      unanswered_.push_back(std::move(waiting));  // moved once there is a place for it
    });
    answer_durable();
    if (snapshot_due()) take_snapshot();
    if (past_stays_) tick();
  }
}

/// Never less than before. A clock that was set back is caught up with by half of the time that passes: leases still end.
double Service::now() {
  const double clock = std::floor(options_.clock() * 1e6) / 1e6, stopwatch = options_.stopwatch();
  time_ = clock >= time_ ? clock : time_ + std::floor((stopwatch - stopwatch_) * 5e5) / 1e6;
  stopwatch_ = stopwatch;
  return time_;
}

/// The time alone, which makes the desk learn from answers that were held back.
void Service::tick() {
  try {
    if (desk_->due().value_or(HUGE_VAL) <= now()) apply(event::Tick());
    if (past_stays_ && options_.stopwatch() >= past_again_) forget_past();
  } catch (const std::bad_alloc&) {
    make_desk_again();
  } catch (const std::exception& e) {
    fail(e.what());
  }
}

DeskReply Service::carry_out(Job& job) {
  if (const std::string why = failed(); !why.empty()) return unavailable(why);
  if (auto* shared = std::get_if<event::Shared>(&job.what)) shared->lines = job.lines;
  if (job.lines.empty() || !std::holds_alternative<event::Examples>(job.what)) return apply(std::move(job.what));
  Chunks chunks(job.lines, options_.chunk_lines, kChunkBytes);
  DeskReply whole;
  std::uint64_t asked = 0;
  bool blank = true;
  while (!chunks.end()) {
    const std::string_view lines = chunks.next();
    const std::uint64_t taken = chunks.first();
    if (lines.find_first_not_of(" \t\r\n") == lines.npos) continue;
    blank = false;
    if (whole.list.size() > most_of_reply(job.lines.size())) return too_long_reply(job.lines.size(), taken);
    DeskReply part = apply(event::Examples{taken > 0 ? std::optional(taken) : std::nullopt, lines});
    if (!part.done()) {
      if (taken > 0) part.body["taken"] = taken;
      return part;
    }
    part.body["asked"] = asked += part.body["asked"].get<std::uint64_t>();
    join(whole, std::move(part));
  }
  if (blank) return apply(event::Examples{});
  return whole.used == 0 && !whole.first_bad.empty() ? all_bad(whole.first_bad) : whole;
}

/// When a key of examples is new, or the first of them has no task.
void Service::log_left_out() {
  const LeftOut& now = desk_->left_out();
  if (now.keys.size() > logged_keys_) {
    std::string keys;
    for (const auto& [key, times] : now.keys) keys += (keys.empty() ? "" : ", ") + key;
    log("examples have keys that the model does not know and leaves out: " + keys);
  }
  if (now.without_task > 0 && !logged_task_)
    log("examples without a task are of the task " + std::string(kOnlyTask) + "; --task-column names the key of tasks");
  logged_keys_ = now.keys.size();
  logged_task_ = now.without_task > 0;
}

DeskReply Service::apply(event::Any what) {
  const Event event{now(), std::move(what)};
  std::string record = to_record(event);
  if (record.size() > kLongestPayload)
    return refusal(Verdict::kTooLong, "the event is too long", std::to_string(kLongestPayload) + " bytes at most");
  DeskReply reply;
  {
    const std::lock_guard lock(desk_mutex_);
    const double begin = system_stopwatch();
    reply = desk_->apply(event);
    work_since_ += system_stopwatch() - begin;
  }
  if (!reply.changed) return reply;
  log_left_out();
  record = with_result(std::move(record), reply.was);
  journal_->append(record);
  ++events_;
  ++events_since_;
  bytes_since_ += record.size();
  if (reply.forgot && !forget_past())
    reply.body["forgotten"]["left"].push_back(
        past_stays_ ? "old files of the journal: no new snapshot could be written, which is tried again (see the log)"
                    : "old files of the journal, as --keep-journal says");
  return reply;
}

// Called by the writer and the journal's thread; answers in order, each once its turn is durable.
void Service::answer_durable() {
  const std::lock_guard turn(turn_mutex_);
  for (;;) {
    Waiting first;
    {
      const std::lock_guard lock(answer_mutex_);
      if (unanswered_.empty()) return;
      const bool lost = unanswered_.front().needs > durable_;
      if (lost && failed_.empty()) return;
      first = std::move(unanswered_.front());
      unanswered_.pop_front();
      if (lost) first.reply = unavailable(failed_);
      refused_ += lost;
    }
    {
      const std::lock_guard lock(queue_mutex_);
      --waiting_;
      waiting_bytes_ -= first.bytes;
    }
    first.done(std::move(first.reply));
  }
}

/// Files of a moment, written but not yet on the disk or named.
struct Service::Snapshot {
  explicit Snapshot(const std::string& name) : model(name + ".model"), desk(name + ".desk") {}

  std::uint64_t sequence = 0;
  std::string state_hash;
  OutputFile model, desk;
};

bool Service::snapshot_due() const {
  return events_since_ >= options_.snapshot_events || bytes_since_ >= options_.snapshot_bytes ||
         work_since_ >= std::max(options_.snapshot_work, kWorkPerSnapshot * snapshot_took_);
}

void Service::take_snapshot() {
  if (!failed().empty()) return;
  if (snapshot_.valid() && snapshot_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return;
  events_since_ = bytes_since_ = 0;
  work_since_ = 0;
  try {
    // Nobody else changes the desk, so readers go on meanwhile.
    const double begin = system_stopwatch();
    auto moment = begin_snapshot();
    snapshot_took_ = system_stopwatch() - begin;
    snapshot_ = std::async(std::launch::async, [this, snapshot = std::move(moment)]() mutable {
      finish_snapshot(*snapshot);
      snapshot.reset();  // removes what could not be finished
    });
  } catch (const std::exception& e) {
    no_snapshot(e);
  }
}

/// Writes a snapshot of now, part by part; the system has the bytes when it returns. Throws FileError.
std::shared_ptr<Service::Snapshot> Service::begin_snapshot() const {
  const std::uint64_t sequence = journal_->end();
  const auto out = std::make_shared<Snapshot>(snapshot_name(options_.dir, sequence));
  out->sequence = sequence;
  desk_->model().save(out->model);
  out->model.flush();
  out->desk.write(snapshot_head(sequence, hash128_hex(beginning_), kNoHash, kNoHash));
  Hasher128 hasher;
  desk_->save([&](std::string_view part) {
    hasher.add(part);
    out->desk.write(part);
  });
  out->state_hash = hasher.hex();
  out->desk.flush();
  return out;
}

bool Service::finish_snapshot(Snapshot& snapshot) {
  try {
    const std::uint64_t sequence = snapshot.sequence;
    // A snapshot of events that are not on disk would be of events that never happened.
    if (sequence > 0 && journal_->durable() < sequence && !journal_->wait(sequence - 1)) return false;
    snapshot.model.commit();
    const std::string model_hash = hash_of_file(snapshot_name(options_.dir, sequence) + ".model");
    snapshot.desk.write_at(0, snapshot_head(sequence, hash128_hex(beginning_), model_hash, snapshot.state_hash));
    snapshot.desk.commit();
    snapshot_at_ = sequence;
  } catch (const std::exception& e) {
    no_snapshot(e);
    return false;
  }
  try {
    drop_old();
  } catch (const std::exception& e) {
    log(std::string("old files stay: ") + e.what());
  }
  return true;
}

bool Service::write_snapshot() {
  try {
    return finish_snapshot(*begin_snapshot());
  } catch (const std::exception& e) {
    no_snapshot(e);
    return false;
  }
}

void Service::no_snapshot(const std::exception& why) {
  ++snapshot_failures_;
  log(std::string("no snapshot was written, the journal goes on without: ") + why.what());
}

/// What is forgotten leaves the disk. If it cannot, that is tried again, and when the service stops. Called as clear_past().
bool Service::forget_past() {
  const bool before = past_stays_, done = clear_past() && remove_torn(options_.dir);
  past_stays_ = !done && desk_options_.keep_journal.files == std::uint64_t{0} && failed().empty();
  past_pause_ = before ? std::min(2 * past_pause_, kLongestPause) : kFirstPause;
  past_again_ = options_.stopwatch() + past_pause_;
  if (before && done) log("what was forgotten has left the disk");
  return done;
}

/// Where no old segment is to be kept, everything from before leaves the disk, but for a snapshot of this moment. Called
/// with nobody else at work. False if something stays.
bool Service::clear_past() {
  if (desk_options_.keep_journal.files != std::uint64_t{0} || !failed().empty()) return false;
  if (snapshot_.valid()) snapshot_.wait();
  const std::uint64_t now = journal_->end();
  if (now == 0) return true;
  try {
    if (snapshot_at_ != now && !write_snapshot()) return false;
    events_since_ = bytes_since_ = 0;
    work_since_ = 0;
    read_state(options_.dir, now, hash128_hex(beginning_));    // it will be the only one
    Model::load(snapshot_name(options_.dir, now) + ".model");  // its bytes are right; whether they load is another question
    if (!journal_->begin_segment()) return false;
    for (const std::uint64_t sequence : snapshots_of(options_.dir))
      if (sequence != now) remove_snapshot(options_.dir, sequence);
    drop_before(now);
    return true;
  } catch (const std::exception& e) {
    log(std::string("old files stay: ") + e.what());
    return false;
  }
}

void Service::drop_old() {
  const auto snapshots = snapshots_of(options_.dir);
  const std::size_t kept = std::max<std::size_t>(2, options_.keep_snapshots);
  if (snapshots.size() < kept) return;  // the older one must do without the newer one
  const std::uint64_t needed = snapshots[kept - 1];
  for (std::size_t i = kept; i < snapshots.size(); ++i) remove_snapshot(options_.dir, snapshots[i]);
  const auto& keep = desk_options_.keep_journal.files;
  if (!keep) return;
  std::vector<std::uint64_t> before;  // first records of the segments that are not needed, and of the one after them
  for (const Segment& segment : journal_->segments())
    if (segment.first <= needed) before.push_back(segment.first);
  if (before.size() <= *keep + 1) return;
  const std::string& archive = desk_options_.archive;
  const std::string what = archive.empty() ? "removed" : "moved to " + archive;
  for (const Segment& dropped : drop_before(before[before.size() - 1 - *keep], archive))
    log(dropped.path + ": " + what + ", as it is older than the snapshots and the segments to keep");
}

DeskReply Service::predict(std::string_view lines) const {
  Chunks chunks(lines, kPredictedAtOnce, kPredictedBytes);
  DeskReply whole;
  while (!chunks.end()) {
    if (stopped_ && !whole.list.empty()) return unavailable("the server is stopping; try again later");
    if (whole.list.size() > most_of_reply(lines.size())) return too_long_reply(lines.size(), 0);
    const std::string_view some = chunks.next();
    DeskReply part;
    {
      const std::shared_lock lock(desk_mutex_);
      part = desk().predict(some, chunks.first());
    }
    if (!part.done()) return part;
    join(whole, std::move(part));
  }
  return whole.used == 0 && !whole.first_bad.empty() ? all_bad(whole.first_bad) : whole;
}

DeskReply Service::explain(std::uint64_t ticket) const {
  const std::shared_lock lock(desk_mutex_);
  return desk().explain(ticket);
}

DeskReply Service::answers(std::uint64_t ticket, const std::string& example) const {
  const std::shared_lock lock(desk_mutex_);
  return desk().answers(ticket, example);
}

DeskReply Service::status() const {
  DeskReply reply;
  {
    const std::shared_lock lock(desk_mutex_);
    reply = desk().status();
  }
  if (const std::string why = failed(); !why.empty()) reply.body["problem"] = why;
  reply.body["taking_answers"] = !reply.body.contains("problem");
  return reply;
}

/// Part by part, so that an event waits for one part. list(desk, from, most).
template <class List>
Desk::Part Service::listed(std::uint64_t from, std::uint64_t most, const char* between, List list) const {
  Desk::Part out{"", from};
  while (most > 0 && out.next) {
    const std::uint64_t some = std::min(most, kListedAtOnce);
    Desk::Part part;
    {
      const std::shared_lock lock(desk_mutex_);
      part = list(desk(), *out.next, some);
    }
    out.text.append(out.text.empty() || part.text.empty() ? "" : between).append(part.text);
    out.next = part.next;
    most -= some;
  }
  return out;
}

DeskReply Service::questions(std::uint64_t from, std::uint64_t most, bool names) const {
  Desk::Part part = listed(from, most, ",", [=](const Desk& desk, std::uint64_t at, std::uint64_t some) {
    return desk.questions(at, some, names);
  });
  DeskReply out = reply({{"next", part.next ? Json(*part.next) : Json(nullptr)}}, false);
  out.list_name = "questions";
  out.list = std::move(part.text);
  return out;
}

std::string Service::labels(std::uint64_t from, std::uint64_t most, bool names) const {
  return listed(from, most, "",
                [=](const Desk& desk, std::uint64_t at, std::uint64_t some) { return desk.labels(at, some, names); })
      .text;
}

std::string Service::tasks(std::uint64_t from, std::uint64_t most) const {
  return listed(from, most, "", [](const Desk& desk, std::uint64_t at, std::uint64_t some) { return desk.tasks(at, some); })
      .text;
}

std::string Service::model_bytes() const {
  const std::shared_lock lock(desk_mutex_);
  return desk().model().to_bytes();
}

std::string Service::journal(std::uint64_t from, std::uint64_t most) const {
  std::string out;
  JournalReader reader(options_.dir, from, std::max(from, journal_->durable()));
  for (std::uint64_t n = 0; n < most && out.size() < kPageBytes; ++n) {
    const auto record = reader.next();
    if (!record) break;
    out += event_line(record->sequence, record->payload);
  }
  return out;
}

std::uint64_t Service::first_record() const {
  const auto segments = journal_->segments();
  return segments.empty() ? 0 : segments.front().first;
}

std::string Service::log_name() const { return hash128_hex(beginning_); }

std::string Service::log_records(std::uint64_t from, std::string_view log) const {
  if (log != log_name())
    throw Refused{Verdict::kConflict, "this is the log " + log_name() + ", not " + std::string(log),
                  "a start from /v1/model"};
  const std::uint64_t durable = journal_->durable();
  if (from > durable)
    throw Refused{Verdict::kConflict,
                  "the log ends at record " + std::to_string(durable) + ", before " + std::to_string(from),
                  "a start from /v1/model"};
  if (const std::uint64_t first = first_record(); from < first)
    throw Refused{Verdict::kGone, "records before " + std::to_string(first) + " are no longer stored",
                  "a start from /v1/model"};
  std::optional<JournalReader> reader;
  {
    const std::lock_guard lock(followers_mutex_);
    if (auto known = followers_.extract(from)) reader.emplace(std::move(known.mapped()));
  }
  if (!reader) reader.emplace(options_.dir, from, durable);
  reader->set_until(durable);
  std::string out;
  while (out.size() < kPageBytes) {
    const auto record = reader->next();
    if (!record) break;
    add_to_log(out, record->sequence, record->payload);
  }
  const std::lock_guard lock(followers_mutex_);
  if (reader->header().first < first_record()) return out;  // its segment was dropped meanwhile
  followers_.insert_or_assign(reader->position().sequence, std::move(*reader));
  if (followers_.size() > kMostFollowers) followers_.erase(followers_.begin());
  return out;
}

std::vector<Segment> Service::drop_before(std::uint64_t sequence, const std::string& archive) {
  std::vector<Segment> out = journal_->drop_before(sequence, archive);
  const std::lock_guard lock(followers_mutex_);
  followers_.clear();  // what an open file has stays on the disk
  return out;
}

std::string Service::first_moment() const { return DeskMoment{log_name(), 0, beginning_}.text(); }

std::string Service::newest_snapshot() const {
  DeskMoment out{log_name(), 0, beginning_};
  for (const std::uint64_t sequence : snapshots_of(options_.dir)) try {
      out.state = read_state(options_.dir, sequence, out.log);
      out.model = read_file(snapshot_name(options_.dir, sequence) + ".model");
      out.sequence = sequence;
      break;
    } catch (const Error&) {  // replaced by a newer one meanwhile, or damaged: the one before it and more of the log will do
      out.state.clear();
    }
  return out.text();
}

std::string Service::failed() const {
  const std::lock_guard lock(answer_mutex_);
  return failed_;
}

void Service::fail(const std::string& why) {
  const std::lock_guard lock(answer_mutex_);
  if (failed_.empty()) failed_ = why;
  ++changes_;
}

ServiceFigures Service::figures() const {
  ServiceFigures out;
  out.events = events_;
  out.refused = refused_;
  {
    const std::lock_guard lock(queue_mutex_);
    out.waiting = waiting_;
  }
  out.journal_events = journal_->end();
  out.durable_events = journal_->durable();
  out.journal_bytes = journal_->disk_bytes();
  out.snapshot_bytes = snapshot_bytes_of(options_.dir);
  out.snapshot_at = snapshot_at_;
  out.snapshot_failures = snapshot_failures_;
  {
    const std::shared_lock lock(desk_mutex_);
    out.desk = desk().figures();
  }
  out.desk.taking_answers &= failed().empty();
  return out;
}

void Service::stop() {
  stopped_ = true;
  {
    const std::lock_guard lock(queue_mutex_);
    if (closing_) return;
    closing_ = true;
  }
  work_.notify_all();
  writer_.join();
  if (snapshot_.valid()) snapshot_.wait();
  const std::uint64_t end = journal_->end();
  if (failed().empty() && end > snapshot_at_) write_snapshot();
  if (past_stays_ && failed().empty()) forget_past();
  if (end > 0 && failed().empty()) journal_->wait(end - 1);
  {
    const std::lock_guard lock(answer_mutex_);
    durable_ = std::max(durable_, journal_->durable());
  }
  answer_durable();
}

void Service::log(const std::string& line) const {
  if (options_.log) options_.log(line);
}

std::string event_line(std::uint64_t sequence, std::string_view payload) {
  const auto end = std::min(payload.find('\n'), payload.size());
  std::string out = "{\"sequence\":" + std::to_string(sequence) + ",\"event\":" + std::string(payload.substr(0, end));
  std::string_view lines = payload.substr(std::min(end + 1, payload.size()));
  const char* before = ",\"examples\":[";
  for (bool more = !lines.empty(); more; more = !lines.empty()) {
    const auto length = std::min(lines.find('\n'), lines.size());
    const auto line = lines.substr(0, length);
    lines.remove_prefix(std::min(length + 1, lines.size()));
    if (line.find_first_not_of(" \t\r") == line.npos) continue;
    out.append(before).append(Json::accept(line) ? std::string(line)
                                                 : Json(line).dump(-1, ' ', false, Json::error_handler_t::replace));
    before = ",";
  }
  return out + (before[1] == '\0' ? "]}\n" : "}\n");
}

}  // namespace quorate::server
