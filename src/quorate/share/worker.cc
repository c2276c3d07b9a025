#include "quorate/share/worker.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "quorate/base/hash.h"
#include "quorate/desk/replies.h"
#include "quorate/stream/example_reader.h"

namespace quorate {
namespace {

/// Uniform in [0, 1), a function of the example's place: judged again, after a failure, it is decided alike.
double draw_of(std::uint64_t seed, std::uint64_t position) {
  const std::array<std::uint64_t, 2> place{seed, position};
  return static_cast<double>(hash64({reinterpret_cast<const char*>(place.data()), sizeof place}) >> 11) * 0x1p-53;
}

}  // namespace

/// To what the replica has.
void Worker::catch_up(const Desk& desk) {
  const auto found = desk.sources().find(o_.source);
  if (found == desk.sources().end()) return;
  const Desk::Source& source = found->second;
  known_ = true;
  while (!waiting_.empty() && waiting_.front().position < source.next) {
    asked_waiting_ -= !waiting_.front().asked.empty();
    waiting_bytes_ -= waiting_.front().line.size();
    waiting_.pop_front();
  }
  const std::uint64_t there = std::max(source.next, source.read);
  if (began_ && !o_.moves && there > next_)
    throw Refused{Verdict::kConflict, "another worker reads the source " + o_.source + ", too", "a --source of its own"};
  if (!began_ && there > next_) written_ = next_ = there;
  told_ = source.read;
}

std::uint64_t Worker::next(const Desk& desk) {
  catch_up(desk);
  return next_;
}

bool Worker::done(const Desk& desk) {
  catch_up(desk);
  return known_ && waiting_.empty() && told_ >= next_;
}

std::optional<std::uint64_t> Worker::known_until(const Desk& desk) {
  catch_up(desk);
  return known_ ? std::optional(told_) : std::nullopt;
}

std::size_t Worker::waiting(const Desk& desk) {
  catch_up(desk);
  return waiting_.size();
}

std::uint64_t Worker::lacking(const Desk& desk) { return done(desk) ? 0 : next_ - std::min(next_, told_); }

/// On the threshold of the query rule.
double Worker::factor(const Desk& desk) {
  const LearningOptions& learning = desk.model().learning;
  const Session& session = desk.model().session;
  const std::uint64_t total = session.budget().limits().total;
  if (!learning.pace || !learning.length || total == LabelLimits::kNone) return 1;
  const double tasks = static_cast<double>(desk.model().reduction.tasks());  // of an example
  if (!pace_) pace_.follow_even(static_cast<double>(total), static_cast<double>(*learning.length) * tasks);
  std::uint64_t live = 0;
  for (const auto& [name, source] : desk.sources()) live += name == o_.source || source.at + o_.live_seconds >= desk.time();
  live = std::max<std::uint64_t>(live, 1);
  pace_.stand_at(static_cast<double>(desk.examples_of_all() + (next_ - told_) * live) * tasks,
                 static_cast<double>(session.budget().bought() + asked_waiting_ * live));
  return pace_.factor(0);
}

/// By what the replica knows: the desk may refuse all the same.
bool Worker::may_ask(const Desk& desk, Task task) const {
  const Session& session = desk.model().session;
  if (full() || desk.open_questions() + asked_waiting_ >= desk.settings().desk.open) return false;
  const LabelLimits& limits = session.budget().limits();
  return session.budget().bought() + asked_waiting_ < limits.total && session.budget().free() > 0 &&
         (task == kUntracked ? limits.per_task > 0 : session.may_ask(task));
}

bool Worker::shares(const Desk& desk) const {
  const std::uint64_t own = waiting_.size();
  return !full() && (desk.posted() + own < o_.first_examples || desk.posted_since_label() + own < o_.share_examples);
}

std::size_t Worker::judge(const Desk& desk, std::string_view lines, std::string& out) {
  desk.check_followed();
  catch_up(desk);
  began_ = true;
  const Model& model = desk.model();
  const std::uint64_t seed = o_.seed ^ hash64(o_.source), first = next_;
  std::size_t unusable = 0;
  std::uint64_t last_bad = 0;  // number of the line
  const auto bad = [&](std::uint64_t number, const std::string& what) {
    last_bad = number;
    out.append(bad_line(number, what).dump()).append("\n");
    ++unusable;
  };
  Reduction::Work work;
  desk.look_at(
      lines, first,
      [&](const Desk::Look& line) {
        if (const std::string why = desk.why_refused(line.record); !why.empty()) return bad(line.number, why);
        const std::uint64_t position = line.number - 1;
        const Task first_task = model.known_task(line.record.task.empty() ? kOnlyTask : line.record.task);
        examples_.clear();
        model.reduction.add_examples(first_task, line.x, examples_, line.record.weight);
        const bool labelled = !line.record.label.empty();
        const double scale = factor(desk);
        probabilities_.assign(examples_.size(), std::nullopt);
        work.margins.clear();
        std::optional<std::size_t> asked;
        double probability = 0;
        for (std::size_t k = 0; k < examples_.size(); ++k) {
          const Decision d =
              model.session.learner().judge(examples_[k], scale, draw_of(seed, position * examples_.size() + k), memory_);
          work.margins.push_back(d.margin);  // score()'s, to the bit
          if (labelled) continue;
          const bool asks = d.ask && may_ask(desk, examples_[k].task) && (!pace_ || pace_.allows());
          if (pace_) pace_.observe(asks);
          // Of classes one question is enough, that of the least margin: the answer is the class.
          if (!asks || (asked && std::abs(work.margins[*asked]) <= std::abs(d.margin))) continue;
          asked = k;
          probability = d.probability;
        }
        const bool asks = asked.has_value();
        if (asks) probabilities_[*asked] = probability;
        const Reduction::Prediction said = model.predict(work, true);
        JsonObject one(out);
        desk.put_prediction(one, line, said, work);
        if (o_.moves) one.set("source", o_.source);
        one.set("position", position);
        one.set("asked", asks);
        one.close();
        out += '\n';
        if (!asks && !labelled && !shares(desk)) return;
        waiting_.push_back(
            {position, asks ? probabilities_ : std::vector<Nullable<double>>(), labelled, std::string(line.line) + "\n"});
        waiting_bytes_ += waiting_.back().line.size();
        asked_ += asks;
        asked_waiting_ += asks;
      },
      bad);
  next_ = first + static_cast<std::uint64_t>(std::ranges::count(lines, '\n'));
  if (!lines.empty() && lines.back() != '\n' && last_bad != next_ + 1) ++next_;
  return unusable;
}

void Worker::give_up() {
  while (!waiting_.empty() && waiting_.back().position >= written_) {
    asked_waiting_ -= !waiting_.back().asked.empty();
    waiting_bytes_ -= waiting_.back().line.size();
    waiting_.pop_back();
  }
  next_ = std::min(next_, written_);
}

std::optional<event::Shared> Worker::to_send(const Desk& desk, std::size_t most, std::string& lines) {
  if (done(desk)) return std::nullopt;
  constexpr std::size_t kBytes = std::size_t{4} << 20;
  const std::size_t tasks = desk.model().reduction.tasks();
  event::Shared out{o_.source, written_, {}, {}};
  lines.clear();
  for (const Sent& one : waiting_) {
    if (one.position >= written_) break;
    if (out.positions.size() == most || (!lines.empty() && lines.size() + one.line.size() > kBytes)) {
      out.read = one.position;
      break;
    }
    out.positions.push_back(one.position);
    out.probabilities.insert(out.probabilities.end(), one.asked.begin(), one.asked.end());
    if (one.asked.empty()) out.probabilities.resize(out.probabilities.size() + tasks);
    lines += one.line;
  }
  out.lines = lines;
  return out;
}

bool Worker::make_room(const Desk& desk) {
  catch_up(desk);
  for (std::size_t n = waiting_.size(); n-- > 0 && full();)
    if (waiting_[n].asked.empty() && !waiting_[n].labelled) {
      waiting_bytes_ -= waiting_[n].line.size();
      waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(n));
    }
  return full() && std::ranges::any_of(waiting_, &Sent::labelled);
}

}  // namespace quorate
