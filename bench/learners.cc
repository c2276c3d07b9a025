// Time of one example through a session: decide, answer, learn. One iteration is a whole stream, from a new model, so that
// growth is paid for too. The stream: text-like, 64 of 2^17 hashed features an example, frequent ones first, tasks that
// agree on most of their rule; fixed seed. Counters: ns an example, bytes of the model, share of mistakes.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>

#include "quorate/base/rng.h"
#include "quorate/run/dataset.h"
#include "quorate/run/session.h"

namespace quorate {
namespace {

constexpr std::size_t kExamples = 100'000, kNonZeros = 64;
constexpr double kFeatures = 1 << 17;

const Dataset& stream(std::size_t K) {
  static std::map<std::size_t, Dataset> made;
  Dataset& data = made[K];
  if (data.size() > 0) return data;
  Rng rng = make_rng(2011, K);
  const auto rule = [](std::uint64_t key) { return static_cast<double>((key * 0x9E3779B97F4A7C15u) >> 40) / (1 << 23) - 1; };
  std::vector<Index> index;
  for (std::size_t n = 0; n < kExamples; ++n) {
    const auto task = static_cast<Task>(below(K, rng));
    index.clear();
    while (index.size() < kNonZeros) index.push_back(static_cast<Index>(std::pow(kFeatures, uniform(rng))));  // P(f) ~ 1/f
    std::sort(index.begin(), index.end());
    index.erase(std::unique(index.begin(), index.end()), index.end());
    const std::vector<double> value(index.size(), 1 / std::sqrt(static_cast<double>(index.size())));
    double margin = 0;
    for (const Index f : index) margin += rule(f) + 0.3 * rule(f + (std::uint64_t{task} << 32));
    data.add(task, margin > 0 ? 1 : -1, {index, value});
  }
  return data;
}

void learner(benchmark::State& state, const char* spec) {
  const auto K = static_cast<std::size_t>(state.range(0));
  const Dataset& data = stream(K);
  Names tasks;
  for (std::size_t i = 0; i < K; ++i) tasks.intern(std::to_string(i));
  std::size_t bytes = 0, mistakes = 0;
  for (auto _ : state) {
    state.PauseTiming();
    Session session(parse_spec(spec), {.seed = 1, .tasks = &tasks});
    state.ResumeTiming();
    mistakes = 0;
    for (std::size_t i = 0; i < data.size(); ++i) {
      const Example e = data.example(i);
      Step step;
      session.round({&e, 1}, [&](std::size_t) { return data.label(i); }, {&step, 1});
      mistakes += predicted(step.decision.margin) != data.label(i);
    }
    bytes = session.model_bytes();
  }
  state.counters["ns_per_example"] = benchmark::Counter(
      static_cast<double>(kExamples) * 1e-9, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
  state.counters["bytes"] = static_cast<double>(bytes);
  state.counters["mistakes"] = static_cast<double>(mistakes) / static_cast<double>(kExamples);
}

/// Rounds of K tasks over one instance of 784 pixels, 150 of them lit, one label each: what --classes does with digits.
const Dataset& digits() {
  static Dataset data;
  if (data.size() > 0) return data;
  constexpr std::size_t kDigits = 1'000, kPixels = 784, kRun = 10;
  Rng rng = make_rng(2011, 0);
  std::vector<Index> index;
  for (std::size_t n = 0; n < kDigits; ++n) {
    index.clear();
    while (index.size() < 150)  // strokes: runs of neighbouring pixels
      for (Index first = static_cast<Index>(below(kPixels - kRun, rng)), f = first; f < first + kRun; ++f)
        index.push_back(1 + f);
    std::sort(index.begin(), index.end());
    index.erase(std::unique(index.begin(), index.end()), index.end());
    const std::vector<double> value(index.size(), 1 / std::sqrt(static_cast<double>(index.size())));
    data.add(0, static_cast<int>(below(10, rng)), {index, value});
  }
  return data;
}

void rounds(benchmark::State& state, const char* spec) {
  const auto K = static_cast<std::size_t>(state.range(0));
  const Dataset& data = digits();
  Names tasks;
  for (std::size_t i = 0; i < K; ++i) tasks.intern(std::to_string(i));
  std::vector<Example> round(K);
  std::vector<Step> steps(K);
  std::size_t bytes = 0;
  for (auto _ : state) {
    state.PauseTiming();
    Session session(parse_spec(spec), {.seed = 1, .tasks = &tasks});
    state.ResumeTiming();
    for (std::size_t i = 0; i < data.size(); ++i) {
      for (Task task = 0; task < K; ++task) round[task] = {task, data.example(i).x};
      session.round(
          round, [&](std::size_t n) { return static_cast<std::size_t>(data.label(i)) == n % 10 ? 1 : -1; }, steps);
    }
    bytes = session.model_bytes();
  }
  state.counters["ns_per_round"] = benchmark::Counter(
      static_cast<double>(data.size()) * 1e-9, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
  state.counters["bytes"] = static_cast<double>(bytes);
}

#define LEARNER(name, spec) BENCHMARK_CAPTURE(learner, name, spec)->Unit(benchmark::kMillisecond)->MinTime(0.5)
LEARNER(perceptron, "perceptron")->Arg(10)->Arg(100'000);
// Cost per example must not depend on the number of tasks: compare ns_per_example of the two.
LEARNER(cmtl, "cmtl")->Arg(10)->Arg(1'000)->Arg(100'000);
LEARNER(cmtl_margin, "cmtl(query=margin(b=1))")->Arg(10)->Arg(100'000);
LEARNER(amtl, "amtl")->Arg(10)->Arg(100);
LEARNER(amtl_similarity, "amtl(query=similarity)")->Arg(10)->Arg(100);
LEARNER(peer, "peer")->Arg(10)->Arg(100);
LEARNER(amlc, "amlc")->Arg(10)->Arg(100);
LEARNER(shampo, "shampo(b=0.01)")->Arg(10);
#undef LEARNER
#define ROUNDS(name, spec) BENCHMARK_CAPTURE(rounds, name, spec)->Unit(benchmark::kMillisecond)->MinTime(0.5)
ROUNDS(shampo, "shampo(b=0.01)")->Arg(10)->Arg(45);
ROUNDS(shampo_diagonal, "shampo-second-order(b=0.01, diagonal=true)")->Arg(10)->Arg(45);
ROUNDS(shampo_second_order, "shampo-second-order(b=0.01)")->Arg(10)->Arg(45);
#undef ROUNDS

}  // namespace
}  // namespace quorate
