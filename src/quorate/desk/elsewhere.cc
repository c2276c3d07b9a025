// Examples that workers judged by replicas of the desk.
#include <algorithm>
#include <cmath>

#include "quorate/desk/desk.h"
#include "quorate/desk/replies.h"
#include "quorate/learner.h"

namespace quorate {

std::uint64_t Desk::examples_of_all() const {
  std::uint64_t out = posted_ - shared_;
  for (const auto& [name, source] : sources_) out += source.read;
  return out;
}

void Desk::check_followed() const {
  const Refused refused{Verdict::kUnusable, "",
                        "a total of labels or a rate of time, no --audit, and a learner that judges, as cohort"};
  const auto because = [&](const std::string& why) {
    Refused out = refused;
    out.detail = why;
    return out;
  };
  const LabelLimits& limits = model_.session.budget().limits();
  if (limits.rate && !limits.rate->seconds)
    throw because("a rate of labels by examples counts those that are posted here, and workers judge others");
  if (model_.session.audit() != nullptr) throw because("workers do not draw audits yet, whose labels would stay reserved");
  if (!model_.session.capabilities().judges)
    throw because("workers cannot judge for " + to_text(model_.session.spec()) + ", which selects within a round");
}

std::span<const Outcome> Desk::take_judged(const Instance& instance, Elsewhere elsewhere) {
  Session& session = model_.session;
  const std::vector<Example> examples = examples_of(instance);
  std::vector<Decision> decisions(examples.size());
  for (std::size_t k = 0; k < examples.size(); ++k) {
    decisions[k].margin = session.learner().score(examples[k]);
    decisions[k].ask = elsewhere[k].has_value();
    if (elsewhere[k]) decisions[k].probability = *elsewhere[k];
  }
  return session.take(examples, decisions);
}

DeskReply Desk::on(const event::Shared& event) {
  check_followed();
  const auto malformed = [](const std::string& what, const std::string& expected) {
    return Refused{Verdict::kMalformed, what, expected};
  };
  const auto lines = static_cast<std::size_t>(std::ranges::count(event.lines, '\n'));
  const std::size_t tasks = model_.reduction.tasks();  // of an example
  if (event.positions.size() != lines || event.probabilities.size() != lines * tasks)
    throw malformed(
        "shared: " + std::to_string(lines) + " lines, " + std::to_string(event.positions.size()) + " positions, " +
            std::to_string(event.probabilities.size()) + " probabilities",
        tasks == 1 ? "as many of each, and a newline after each line"
                   : "as many positions, " + std::to_string(tasks) + " probabilities a line, and a newline after each line");
  if (std::ranges::adjacent_find(event.positions, std::greater_equal()) != event.positions.end())
    throw malformed("positions: one is not above the one before", "positions that grow");
  constexpr std::uint64_t kLast = (std::uint64_t{1} << 53) - 1;  // as JSON has them
  if (!event.positions.empty() && event.positions.back() > kLast)
    throw malformed("positions: one is " + std::to_string(event.positions.back()), "at most " + std::to_string(kLast));
  for (const Nullable<double>& p : event.probabilities)
    if (p && !(*p > 0 && *p <= 1))
      throw malformed("probabilities: one is " + shown_value(Json(*p).dump()), "above 0, up to 1");
  auto source = sources_.find(event.source);
  if (source == sources_.end() && sources_.size() >= kMostSources)
    throw Refused{Verdict::kUnusable, "there are " + std::to_string(kMostSources) + " sources already",
                  "the name of one of them"};
  const std::uint64_t next = source == sources_.end() ? 0 : source->second.next,
                      judged = source == sources_.end() ? 0 : source->second.read;
  const bool news = source == sources_.end() || event.read > judged || (lines > 0 && event.positions.back() >= next);
  std::string results, ids;
  std::uint64_t asked = 0;
  const auto known = [&](std::size_t n) { return event.positions[n] < next; };
  const auto result = [&](std::size_t n, Json one) {
    one["position"] = event.positions[n];
    add_to_list(results, one);
  };
  const auto counted_until = [&](std::size_t n) { sources_[event.source].next = event.positions[n] + 1; };
  std::size_t done = 0;  // lines with a result: read() passes over blank ones
  const auto until = [&](std::size_t n) {
    for (; done < n; ++done) {
      add_to_list(ids, nullptr);
      result(done, known(done) ? Json{{"known", true}} : Json{{"error", "a blank line"}});
    }
    ++done;
  };
  if (news && lines > 0)
    read(
        event.lines, 0,
        [&](const RecordReader& reader) {
          model_.featurizer.begin(reader);
          model_.begin_file();
        },
        [&](const Record& record, const Line& line) {
          const std::size_t n = line.number - 1;
          until(n);
          if (known(n)) {
            add_to_list(ids, nullptr);
            return result(n, {{"known", true}});
          }
          const std::uint64_t taken = posted_ + gifts_, arrived = posted_;
          const Elsewhere p = Elsewhere(event.probabilities).subspan(n * tasks, tasks);
          Json one = arrive(record, model_.featurizer(record), line.text, p);
          if (posted_ + gifts_ > taken) note_left_out(record);
          shared_ += posted_ - arrived;
          counted_until(n);
          asked += one.value("asked", false);
          add_to_list(ids, one.value("id", Json(nullptr)));
          if (std::ranges::any_of(p, [](const auto& asks) { return asks.has_value(); }))
            one["refused"] = !one.value("asked", false);
          result(n, std::move(one));
        },
        [&](std::uint64_t number, const std::string& what) {
          until(number - 1);
          add_to_list(ids, nullptr);
          result(number - 1, {{"error", what}});
        });
  until(lines);
  if (news) {
    if (lines > 0 && !known(lines - 1)) counted_until(lines - 1);
    Source& to = sources_[event.source];
    to.read = std::max(judged, event.read);
    to.at = now_;
  }
  DeskReply out = reply({{"asked", asked}, {"labels", labels_json()}}, news, "{\"ids\":[" + ids + "]}");
  out.list_name = "examples";
  out.list = std::move(results);
  return out;
}

}  // namespace quorate
