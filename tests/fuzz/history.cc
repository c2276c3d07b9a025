// A desk with settings and events that the input chooses: live, loaded from a snapshot and replayed it is the same.
#include "support/history.h"

#include "fuzz.h"
#include "support/settings.h"

namespace {

using namespace quorate;

struct DrawFromInput {
  fuzz::Input& in;
  std::uint64_t operator()(std::uint64_t n) { return in.byte() % n; }
};

void play(fuzz::Input& in) {
  static const auto learners = [] {
    auto out = test::all_settings();
    std::erase_if(out, [](const test::Setting& learner) { return learner.has("@"); });  // reads a file
    return out;
  }();
  DrawFromInput draw{in};
  const DeskSettings settings = test::random_settings(draw, to_text(learners[in.byte() % learners.size()].spec));
  test::History<DrawFromInput> history(settings, draw);
  const auto holds = [](const std::string& wrong) { fuzz::require(wrong.empty(), wrong.c_str()); };
  for (int event = 0; event < 150 && !in.empty(); ++event) holds(history.step());
  holds(history.replay());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input in(data, size);
  fuzz::only_errors([&] { play(in); });
  return 0;
}
