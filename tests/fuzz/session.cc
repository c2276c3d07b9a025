// A session: the input chooses learner, limits and a sequence of calls. Limits hold after each, and a saved and loaded
// session has the same bytes.
#include "quorate/session/session.h"

#include <algorithm>
#include <string>
#include <vector>

#include "fuzz.h"
#include "quorate/registry.h"
#include "quorate/store/state.h"

namespace {

using namespace quorate;

std::string saved(const Session& session) {
  Tensors out;
  session.save(out);
  return to_bytes(out);
}

/// `most`: the last limit, or the labels bought before if they were more.
void check(const Session& session, std::uint64_t most) {
  fuzz::require(session.budget().bought() <= most, "no more labels than the limit");
  fuzz::require(session.model_bytes() <= session.memory_limit(), "no more bytes than the limit");
  fuzz::require(session.pending().size() + session.total().labels == session.budget().bought(), "every label is counted");
}

/// Every learner, those with a budget with one that is soon full, and some variants.
std::vector<std::string> learners() {
  std::vector<std::string> out{"perceptron(query=margin(b=1))", "cmtl(query=margin(b=1))", "amtl(query=similarity)",
                               "shampo-second-order(diagonal=true)"};
  for (const Algorithm& one : algorithms()) {
    const auto params = one.params();
    const bool budget = std::ranges::find(params, "budget", &ParamInfo::name) != params.end();
    out.push_back(std::string(one.name) + (budget ? "(budget=3)" : ""));
  }
  return out;
}

void play(fuzz::Input& in) {
  static const std::vector<std::string> kLearners = learners();
  SessionOptions options{.seed = in.byte()};
  const Spec spec = parse_spec(kLearners[in.byte() % kLearners.size()]);
  if (const std::uint8_t total = in.byte() % 64; total > 0) options.limits.total = total;
  if (const std::uint8_t each = in.byte() % 16; each > 0) options.limits.per_task = each;
  if (const std::uint8_t rate = in.byte() % 8; rate > 0) options.limits.rate = LabelRate{rate, 16, in.flag()};
  if (const std::uint8_t audit = in.byte() % 4; audit > 0) options.audit = audit / 4.0;
  if (const std::uint8_t memory = in.byte(); memory > 0) options.memory_limit = std::size_t{1000} + 200 * memory;
  options.max_pending = 1 + in.byte() % 8;
  options.labels_per_round = 1 + in.byte() % 3;
  Session session(spec, options);
  std::uint64_t most = options.limits.total;
  if (options.limits.rate && options.limits.rate->seconds) session.set_time(0);
  double time = 0;
  for (int step = 0; step < 200 && !in.empty(); ++step) {
    fuzz::only_errors([&] {
      switch (const std::uint8_t verb = in.byte(); verb % 8) {
        case 0:
          session.task("task " + std::to_string(in.byte() % 32));
          break;
        case 1:
          session.set_time(time += in.byte() / 8.0);
          break;
        case 2:
          session.answer(in.byte() % (session.tickets() + 1), answer_of(in.byte() % 3 - 1));
          break;
        case 3:
          session.withdraw(in.byte() % (session.tickets() + 1));
          break;
        case 4: {
          LabelLimits limits = session.budget().limits();
          limits.total = in.byte() % 64;
          session.set_limits(limits);
          most = std::max(limits.total, session.budget().bought());
          break;
        }
        case 5: {
          session.end_round();
          const std::string bytes = saved(session);
          const Tensors in_file = from_bytes(bytes);
          Reader reader(in_file);
          const Session loaded = Session::load(session.spec(), session.options(), reader);
          fuzz::require(saved(loaded) == bytes, "a saved and loaded session has the same bytes");
          break;
        }
        default: {
          const std::size_t size = 1 + in.byte() % 4;
          std::vector<std::array<Index, 3>> index(size);
          std::vector<std::array<double, 3>> value(size);
          std::vector<Example> round;
          for (std::size_t n = 0; n < size; ++n) {
            const Task task = session.task("task " + std::to_string(in.byte() % 32));
            index[n] = {0, 1 + in.byte() % 8u, 9 + in.byte() % 8u};
            value[n] = {1, in.byte() / 64.0 - 2, in.byte() / 16.0 - 8};
            bool again = false;
            for (const Example& e : round) again = again || e.task == task;
            if (!again) round.push_back({task, {index[n], value[n], 1}});
          }
          try {
            session.decide({round});
            while (session.next_question()) {
              const std::uint8_t reply = in.byte() % 5;
              session.reply(reply < 3 ? Reply(answer_of(reply - 1)) : reply == 3 ? Reply::unknown() : Reply::later());
            }
          } catch (const Error&) {  // a learner refused an instance; the round's examples must outlive it
            session.end_round();
            throw;
          }
          break;
        }
      }
      check(session, most);
    });
    fuzz::only_errors([&] { session.end_round(); });
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input in(data, size);
  fuzz::only_errors([&] { play(in); });
  return 0;
}
