#include <quorate/model/model.h>
#include <quorate/registry.h>
#include <quorate/session/session.h>
#include <quorate/stream/example_reader.h>
#include <quorate/version.h>
#include <array>
#include <cstdio>

int main() {
  quorate::Session session(quorate::parse_spec("cmtl"), {.seed = 1, .limits = {.total = 2}});
  const std::array x{0.6, 0.8};
  for (const char* user : {"ann", "bob", "ann"}) {
    const quorate::Example mail{session.task(user), {{}, x}};
    const auto outcomes = quorate::run_round(session, {{&mail, 1}}, [](std::size_t) { return quorate::kYes; });
    std::printf("%s: margin %g, %s\n", user, outcomes[0].decision.margin, outcomes[0].asked ? "asked" : "not asked");
  }
  const quorate::Model model = quorate::Model::make(quorate::parse_spec("cohort"), {}, {}, quorate::Labels{});
  std::printf("%zu learners, a model of %s\n", quorate::algorithms().size(),
              quorate::Model::from_bytes(model.to_bytes()).session.spec().word.c_str());
  std::printf("%llu labels\n", static_cast<unsigned long long>(session.budget().bought()));
}
