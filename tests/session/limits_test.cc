// Limits of labels and bytes, by random learners, streams, limits and answers: never exceeded by one.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>

#include "quorate/session/session.h"
#include "support/make.h"
#include "support/settings.h"

namespace quorate::test {
namespace {

template <class T>
T one_of(std::initializer_list<T> values) {
  return *rc::gen::elementOf(std::vector<T>(values));
}

RC_GTEST_PROP(Limits, AreNeverExceededByOneLabelOrOneByte, ()) {
  static const std::vector<Setting> kSettings = all_settings();
  static const TempDir dir;
  const Spec spec = with_files(kSettings[*rc::gen::inRange<std::size_t>(0, kSettings.size())].spec, dir);
  const auto K = *rc::gen::inRange<Task>(1, 9);
  const auto N = *rc::gen::inRange<std::size_t>(1, 200);
  const Stream s = make_stream(N, K, *rc::gen::inRange<std::size_t>(1, 30), *rc::gen::arbitrary<std::uint64_t>(),
                               *rc::gen::arbitrary<bool>());
  SessionOptions o{.seed = *rc::gen::arbitrary<std::uint64_t>()};
  if (*rc::gen::arbitrary<bool>()) o.limits.total = *rc::gen::inRange<std::uint64_t>(0, 60);
  if (*rc::gen::arbitrary<bool>()) o.limits.per_task = *rc::gen::inRange<std::uint64_t>(0, 12);
  const bool seconds = *rc::gen::arbitrary<bool>();
  if (*rc::gen::arbitrary<bool>())
    o.limits.rate =
        LabelRate{*rc::gen::inRange<std::uint64_t>(1, 20), static_cast<double>(*rc::gen::inRange(1, 100)), seconds};
  if (*rc::gen::arbitrary<bool>()) o.memory_limit = *rc::gen::inRange<std::size_t>(5'000, 200'000);
  o.labels_per_round = one_of<std::uint64_t>({1, 2, 5});
  o.max_pending = one_of<std::uint64_t>({0, 1, 5, 10'000});
  const double late = one_of({0.0, 0.5, 1.0});
  Rng rng = make_rng(*rc::gen::arbitrary<std::uint64_t>(), 9);
  if (o.limits.total != LabelLimits::kNone && *rc::gen::arbitrary<bool>()) {
    if (capabilities(canonical(spec)).paced) o.spread_over = *rc::gen::inRange<std::uint64_t>(1, 300);
  }

  std::uint64_t asked = 0, back = 0;  // bought, and given back
  std::map<std::string, std::uint64_t> of_task;
  std::vector<double> times;  // of every question put, whatever became of it
  std::map<std::uint64_t, std::string> open;
  double now = 0;
  std::size_t seen = 0;
  try {
    Session session(spec, o);
    for (std::size_t n = 0; n < N;) {
      const std::size_t size = std::min<std::size_t>(N - n, 1 + below(4, rng));
      std::vector<Example> round;
      for (std::size_t k = n; k < n + size; ++k) round.push_back({session.task(task_name(s.task[k])), s.x[k]});
      session.set_time(now += std::floor(40 * uniform(rng)) / 8);
      std::vector<Outcome> outcomes(size);
      run_round(
          session, round,
          [&](std::size_t k) -> std::optional<int> {
            if (uniform(rng) < late) return kLater;
            if (uniform(rng) < 0.1) return std::nullopt;
            return s.y[n + k];
          },
          outcomes);
      for (std::size_t k = 0; k < size; ++k) {
        ++seen;
        const Outcome& outcome = outcomes[k];
        RC_ASSERT(!outcome.asked || outcome.decision.ask);
        if (!outcome.asked || (!outcome.answer && !outcome.ticket)) continue;
        ++asked;
        times.push_back(seconds ? now : static_cast<double>(seen));
        const std::string name = task_name(s.task[n + k]);
        ++of_task[name];
        if (!outcome.ticket) continue;
        open[*outcome.ticket] = name;
      }
      std::erase_if(open, [&](const auto& question) {  // withdrawn to make room
        const bool gone = session.pending().find(question.first) == nullptr;
        of_task[question.second] -= gone;
        back += gone;
        return gone;
      });
      while (!open.empty() && uniform(rng) < 0.4) {
        const auto it = std::next(open.begin(), static_cast<std::ptrdiff_t>(below(open.size(), rng)));
        if (uniform(rng) < 0.3) {
          RC_ASSERT(session.withdraw(it->first));
          --of_task[it->second];
          ++back;
        } else {
          RC_ASSERT(answer_to(session, it->first, uniform(rng) < 0.5 ? 1 : -1).has_value());
        }
        open.erase(it);
      }
      RC_ASSERT(session.budget().bought() <= o.limits.total);
      RC_ASSERT(session.total().labels + session.pending().size() == session.budget().bought());
      for (Task i = 0; i < session.tasks().size(); ++i) {
        RC_ASSERT(session.count(i).labels + session.pending().of_task(i) <= o.limits.per_task);
      }
      RC_ASSERT(session.pending().size() <= o.max_pending);
      RC_ASSERT(session.model_bytes() <= session.peak_bytes());
      RC_ASSERT(session.peak_bytes() <= o.memory_limit);
      n += size;
      RC_ASSERT(session.budget().bought() == asked - back);
    }
    for (const auto& [name, labels] : of_task) RC_ASSERT(labels <= o.limits.per_task);
  } catch (const MemoryError&) {  // a learner that cannot forget, or a limit that holds nothing
    RC_ASSERT(o.memory_limit != Memory::kNoLimit);
  }
  if (o.limits.rate)
    for (std::size_t i = o.limits.rate->count; i < times.size(); ++i)
      RC_ASSERT(times[i] - times[i - o.limits.rate->count] >= o.limits.rate->window);
}

}  // namespace
}  // namespace quorate::test
