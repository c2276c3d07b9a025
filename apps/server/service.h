// A desk that lasts: the folder with its journal and snapshots, the one thread that changes it, and its readers.
#pragma once
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "quorate/base/fair_mutex.h"
#include "quorate/desk/desk.h"
#include "quorate/desk/settings.h"
#include "quorate/journal/journal.h"
#include "quorate/journal/reader.h"

namespace quorate::server {

struct ServiceOptions {
  std::string dir;
  /// Of a new folder; of one that exists, nothing or the same, but for those of the desk, which may change.
  std::optional<DeskSettings> settings = {};
  /// The desk's of a folder that exists, from those it has; nothing: they stay. A change is an event of the journal.
  std::function<DeskOptions(DeskOptions)> change = nullptr;
  std::size_t most_waiting = 4096;                          ///< events not answered yet; 503 beyond
  std::size_t most_waiting_bytes = std::size_t{128} << 20;  ///< of these events; 503 beyond
  std::size_t chunk_lines = 256;                            ///< examples applied while readers wait
  std::uint64_t snapshot_events = 100'000;                  ///< in the journal between two snapshots
  std::uint64_t snapshot_bytes = std::uint64_t{256} << 20;  ///< of events between two snapshots
  double snapshot_work = 10;       ///< seconds of applying events between two snapshots, as long as a start would take
  std::size_t keep_snapshots = 2;  ///< the newest ones; at least 2
  std::uint64_t segment_bytes = std::uint64_t{64} << 20;  ///< of the journal's files
  std::function<double()> clock = nullptr;                ///< seconds since 1970; nothing: the system's
  std::function<double()> stopwatch = nullptr;          ///< seconds; nothing: the system's, or with a clock one that stands
  std::function<void(std::string_view)> log = nullptr;  ///< receives one line at a time; on any thread
};

/// Numbers for people who watch the service.
struct ServiceFigures {
  std::uint64_t events = 0;   ///< changes since the start
  std::uint64_t refused = 0;  ///< events answered 503 since the start
  std::size_t waiting = 0;    ///< events not answered yet
  std::uint64_t journal_events = 0, durable_events = 0;
  std::uint64_t journal_bytes = 0, snapshot_bytes = 0;  ///< on disk
  std::uint64_t snapshot_at = 0;                        ///< events before the newest snapshot
  std::uint64_t snapshot_failures = 0;
  Desk::Figures desk = {};
};

/// The folder has journal/ (the truth), and snapshot-SEQUENCE.model and .desk: the state before record SEQUENCE, so that a
/// start need not read the whole journal. The .desk is written last and has the hashes of both.
///
/// An event is applied, then journalled, then answered once its record and all before it are on disk. All members may be
/// called from any thread.
class Service {
 public:
  using Done = std::function<void(DeskReply)>;

  /// Goes on from the newest intact snapshot and the journal's records after it.
  /// Throws FileError, also if another process serves the folder; JournalDamage; DataError if the journal ends before a
  /// snapshot or a record does not apply; UsageError for settings that differ from the folder's, with the name of the first
  /// one, or if a new folder has none.
  explicit Service(ServiceOptions options, Disk& disk = Disk::real());
  ~Service();  ///< stop()
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  /// The settings of a folder that was served before, the desk's as they were at first. Throws FileError, JournalDamage,
  /// DataError, also for a folder whose journal is gone.
  static std::optional<DeskSettings> settings_of(const std::string& dir);
  /// These settings as the journal has them; log_name() is their hash. Throws as settings_of.
  static std::optional<std::string> beginning_of(const std::string& dir);
  const DeskOptions& desk_options() const { return desk_options_; }  ///< as they are now

  /// Applies an event now. `done` is called once, maybe at once, on any thread, in the order of the calls; it must not throw
  /// or wait. The reply is kUnavailable if the journal has failed or the queue is full.
  void submit(event::Any what, Done done);
  /// The same for examples, lines of JSON. Chunks of them are events of their own; the replies are joined. If one is
  /// refused, those before it stay.
  void submit_examples(std::string lines, Done done);
  /// The same for what a worker judged, with its lines, in one event.
  void submit_shared(event::Shared what, std::string lines, Done done);

  // Requests that change nothing, as the members of Desk. They wait for the event at work, if there is one; not for the
  // model to be rebuilt, unless it has a memory limit: till it is done they see the old one.
  DeskReply predict(std::string_view lines) const;
  DeskReply explain(std::uint64_t ticket) const;
  DeskReply answers(std::uint64_t ticket, const std::string& example) const;
  DeskReply status() const;  ///< with "taking_answers", and "problem" if it is false
  DeskReply questions(std::uint64_t from, std::uint64_t most, bool names = true) const;
  std::string labels(std::uint64_t from, std::uint64_t most, bool names = true) const;
  std::string tasks(std::uint64_t from, std::uint64_t most) const;

  /// Events that are on disk, from record `from` on, at most `most`, a line of JSON each:
  /// {"sequence": 17, "event": {..}, "examples": [..]}. Ends early after 4 MB. Throws UsageError if `from` was dropped;
  /// JournalDamage; FileError.
  std::string journal(std::uint64_t from, std::uint64_t most) const;

  /// Records that are on disk, from record `from` on, as they are, for a worker: "SEQUENCE BYTES\n", the bytes, "\n". Ends
  /// early after 4 MB; empty if there are none yet. `log`: log_name() of the log that the reader followed so far.
  /// Throws Refused: the log is another one or ends before `from`; `from` was dropped. JournalDamage; FileError.
  std::string log_records(std::uint64_t from, std::string_view log) const;
  /// The newest snapshot: a line of JSON {"log": .., "sequence": .., "settings": {..}, "model": bytes, "state": bytes}, the
  /// model and the state. Throws FileError, DataError.
  std::string newest_snapshot() const;
  std::string first_moment() const;                           ///< the same of the desk before its first record
  std::uint64_t first_record() const;                         ///< that is still stored
  std::uint64_t snapshot_at() const { return snapshot_at_; }  ///< records before the newest snapshot
  /// 32 hexadecimal digits. Each folder's log has another name, unless one is a copy.
  std::string log_name() const;

  /// Empty, or why no event is taken any more.
  std::string failed() const;
  /// Grows with every change that is on disk.
  std::uint64_t changes() const { return changes_; }
  ServiceFigures figures() const;
  const DeskSettings& settings() const { return desk_->settings(); }
  /// The bytes of the model now. Waits for the event at work.
  std::string model_bytes() const;

  /// Answers what waits, writes a snapshot if anything changed since the last one, and takes no events from now on.
  void stop();

 private:
  struct Job {
    event::Any what;
    std::string lines;  // of event::Examples and event::Shared
    Done done;
    std::size_t bytes() const { return sizeof(Job) + lines.size(); }
  };
  struct Waiting {
    std::uint64_t needs = 0;  // records on disk
    std::size_t bytes = 0;
    DeskReply reply;
    Done done;
  };

  void open(Disk& disk);
  void make_desk(const DeskSettings& settings);
  void make_desk_again();
  void change_settings();
  const Desk& desk() const;
  std::uint64_t load_snapshot(const DeskSettings& settings);
  void replay(std::uint64_t from);
  void enqueue(Job job);
  void run();
  double now();
  void tick();
  template <class List>
  Desk::Part listed(std::uint64_t from, std::uint64_t most, const char* between, List list) const;
  DeskReply carry_out(Job& job);
  void log_left_out();
  DeskReply apply(event::Any what);
  void answer_durable();
  struct Snapshot;
  bool snapshot_due() const;
  void take_snapshot();
  std::shared_ptr<Snapshot> begin_snapshot() const;
  bool finish_snapshot(Snapshot& snapshot);
  bool write_snapshot();
  void no_snapshot(const std::exception& why);
  bool forget_past();
  bool clear_past();
  void drop_old();
  std::vector<Segment> drop_before(std::uint64_t sequence, const std::string& archive = "");
  void fail(const std::string& why);
  void log(const std::string& line) const;

  ServiceOptions options_;
  std::string beginning_;  // the journal's header: the settings of its first event, whatever they are now
  DeskOptions desk_options_;
  std::optional<Desk> desk_;  // changed by the writer alone, with desk_mutex_ held exclusively; none once the service failed
  mutable FairMutex desk_mutex_;

  // Of the writer.
  double time_ = 0, stopwatch_ = 0;  // at the last look
  std::uint64_t events_since_ = 0, bytes_since_ = 0;
  double work_since_ = 0, snapshot_took_ = 0;  // seconds
  std::size_t logged_keys_ = 0;                // of LeftOut, when the log said so last
  bool logged_task_ = false;
  std::future<void> snapshot_;
  bool past_stays_ = false;  // what was forgotten is still on the disk
  double past_pause_ = 0, past_again_ = 0;

  /// Where followers of the log are, by the record that each needs next: so that no segment is read from its beginning
  /// again.
  mutable std::map<std::uint64_t, JournalReader> followers_;
  mutable std::mutex followers_mutex_;
  static constexpr std::size_t kMostFollowers = 8;
  mutable std::mutex queue_mutex_;
  std::condition_variable work_;
  std::deque<Job> queue_;
  std::size_t waiting_ = 0, waiting_bytes_ = 0;  // not answered
  bool closing_ = false;
  std::atomic<bool> stopped_ = false;  // the same, for long reads

  std::mutex turn_mutex_;  // the order of answers
  mutable std::mutex answer_mutex_;
  std::deque<Waiting> unanswered_;
  std::uint64_t durable_ = 0;
  std::string failed_;

  std::atomic<std::uint64_t> changes_ = 0, events_ = 0, refused_ = 0, snapshot_at_ = 0, snapshot_failures_ = 0;
  std::unique_ptr<Journal> journal_;
  std::thread writer_;
};

/// Throws DataError, with what helps, unless `reply`, of a replay, is that of the event as the journal has it.
void check_replayed(const std::string& dir, std::uint64_t sequence, std::string_view event, const DeskReply& reply);

/// An event of a journal as a line of JSON: {"sequence": 17, "event": {..}, "examples": [..]}.
std::string event_line(std::uint64_t sequence, std::string_view payload);

/// Throws Refused for an example of more than 4 MB: a question's example is taken apart while others wait.
void check_lengths(std::string_view lines);

/// Takes the first line off what a worker sends: source, read, positions and probabilities; the examples stay. Throws
/// Refused.
event::Shared shared_of(std::string& body);

/// Examples as lines: those of an application/json body, one object or an array of objects, spelled as there.
/// Throws DataError for a body that is neither.
std::string lines_of_json(std::string_view body);

}  // namespace quorate::server
