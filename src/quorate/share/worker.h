// A worker judges the examples of one source by a replica of a desk, and makes the events that it sends to the desk. No I/O.
#pragma once
#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quorate/desk/desk.h"
#include "quorate/learner.h"
#include "quorate/session/pace.h"

namespace quorate {

struct WorkerOptions {
  std::string source = {};  ///< of its examples; one worker at a time reads it
  /// The source may be another worker's for a while, as a partition of a consumer group: lines that the desk has from there
  /// are not sent, and predictions name the source.
  bool moves = false;
  std::uint64_t seed = 1;              ///< of its draws, with the source
  std::uint64_t share_examples = 64;   ///< examples without a question that are sent for each label
  std::uint64_t first_examples = 200;  ///< so many of all sources are sent, whatever the labels
  double live_seconds = 60;            ///< a source that sent nothing for longer buys no labels any more
  std::uint64_t queue = 10'000;        ///< lines that wait for the desk; beyond it, and 64 MB, nothing is asked
};

/// Where the desk has an even pace, its clock is that of all sources: elapsed are the examples, bought the labels that the
/// replica knows of. Examples and questions of this worker that it does not know of yet count as often as sources are live:
/// the others are taken to do the same. The pace says when to ask, never whether the label budget holds: the desk accepts a
/// question or refuses it.
///
/// What may be lost is sent again, before what came later: the desk counts each line once.
///
/// Thread-safety: one thread at a time, while nothing is applied to the replica.
class Worker {
 public:
  /// Goes on after the lines of the source that the desk knows to be judged.
  explicit Worker(WorkerOptions options) : o_(std::move(options)) {}

  /// Judges lines of JSON, at positions next(), next() + 1, ..; appends a prediction a line to `out`, as Desk::predict says
  /// them, with "asked" and "position"; {"line", "error"} for a line that cannot be used. A line with a label is sent, and
  /// learned from. A last line without a newline that cannot be used may be one that is still written: it is not passed.
  /// Returns the number of lines that cannot be used. Throws Refused if the desk cannot be followed, or the
  /// lines cannot be read at all. O(non-zeros).
  std::size_t judge(const Desk& desk, std::string_view lines, std::string& out);
  /// The next line is at that position, if it is not before next(): those between are not there.
  void pass_over(std::uint64_t position) { next_ = std::max(next_, position); }
  /// What the desk does not have yet, of at most that many lines; nothing if it knows the source, has all lines and how
  /// many are judged. To be sent, and applied to the replica, once before the first line is judged: workers that begin
  /// together spend too much of an even pace until they know of each other. `lines` holds the event's.
  std::optional<event::Shared> to_send(const Desk& desk, std::size_t most, std::string& lines);

  void wrote() { written_ = next_; }     ///< the predictions so far are out: until then nothing is sent of their lines
  void give_up();                        ///< the predictions since wrote() will not be out: their lines are not judged
  std::uint64_t next(const Desk& desk);  ///< position of the next line
  std::uint64_t asked() const { return asked_; }  ///< questions so far, refused ones included
  bool done(const Desk& desk);                    ///< whether the replica has all that is to be sent
  /// Lines before this one are judged, as the desk knows; nothing if it does not know the source.
  std::optional<std::uint64_t> known_until(const Desk& desk);
  std::size_t waiting(const Desk& desk);  ///< lines to send that the replica does not have yet
  /// Lines judged that the desk does not know to be judged: those that wait, and all after the first of them.
  std::uint64_t lacking(const Desk& desk);
  /// Gives up lines that wait without a question or a label, the latest first, while the queue is full. Returns whether the
  /// caller should wait: it is still full, and holds lines with a label, of which more may come.
  bool make_room(const Desk& desk);

 private:
  struct Sent {
    std::uint64_t position;
    std::vector<Nullable<double>> asked;  // for each task of the example, the probability of asking; empty: no question
    bool labelled;                        // by the data
    std::string line;
  };
  void catch_up(const Desk& desk);
  double factor(const Desk& desk);
  bool may_ask(const Desk& desk, Task task) const;
  bool shares(const Desk& desk) const;
  bool full() const { return waiting_.size() >= o_.queue || waiting_bytes_ >= std::size_t{64} << 20; }

  WorkerOptions o_;
  Pace pace_;
  JudgeMemory memory_;
  std::deque<Sent> waiting_;  // by position
  std::size_t waiting_bytes_ = 0;
  bool known_ = false;  // to the desk
  bool began_ = false;  // to judge
  std::uint64_t written_ = 0;
  std::uint64_t asked_ = 0, asked_waiting_ = 0, next_ = 0, told_ = 0;  // told_: the source's `read` at the desk
  std::vector<Example> examples_;                                      // of a line
  std::vector<Nullable<double>> probabilities_;
};

}  // namespace quorate
