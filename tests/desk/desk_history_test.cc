// The state of a desk at random moments of random histories, with every learner and every setting: live, loaded from a
// snapshot, and after a whole replay of its journal.
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>

#include "quorate/base/rng.h"
#include "support/history.h"
#include "support/settings.h"

namespace quorate {
namespace {

struct DrawFromSeed {
  Rng rng;
  std::uint64_t operator()(std::uint64_t n) { return below(n, rng); }
};

/// QUORATE_DESK_HISTORIES: number of histories; QUORATE_DESK_HISTORY: the first of them.
std::uint64_t from_environment(const char* name, std::uint64_t initial) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : initial;
}

TEST(DeskHistory, SnapshotAndJournalDecideAllThatComesNext) {
  auto learners = test::all_settings();
  std::erase_if(learners, [](const test::Setting& learner) { return learner.has("@"); });  // reads a file
  const std::uint64_t first = from_environment("QUORATE_DESK_HISTORY", 0),
                      number = from_environment("QUORATE_DESK_HISTORIES", 120);
  std::uint64_t events = 0, answers = 0, refused = 0, differences = 0;
  for (std::uint64_t n = first; n < first + number; ++n) {
    DrawFromSeed draw{make_rng(n, 0)};
    const test::Setting& learner = learners[n % 3 == 0 ? 0 : below(learners.size(), draw.rng)];
    std::string spec = to_text(learner.spec);
    if (n % 3 == 0) spec = std::array{"cohort", "cohort(query=always)", "peer(b=100, bq=100)", "amlc"}[n / 3 % 4];
    const DeskSettings settings = test::random_settings(draw, spec);
    std::optional<test::History<DrawFromSeed>> history;
    try {
      history.emplace(settings, draw);
    } catch (const Error&) {  // settings that a desk refuses
      ++refused;
      continue;
    }
    std::string wrong;
    try {
      for (int event = 0; event < 150 && wrong.empty(); ++event) {
        wrong = history->step();
        if (wrong.empty() && event % 50 == 49) wrong = history->replay();
      }
    } catch (const std::exception& e) {
      wrong = e.what();
    }
    events += history->events();
    answers += history->answers();
    if (wrong.empty()) continue;
    ++differences;
    ADD_FAILURE() << "history " << n << ", event " << history->events() << " of " << settings.to_json() << "\n" << wrong;
  }
  std::cout << number - refused << " histories, " << events << " events, " << answers << " answers, " << differences
            << " differences\n";
  EXPECT_LT(refused, number / 2 + 1);
}

}  // namespace
}  // namespace quorate
