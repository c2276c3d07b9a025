// Time of every learner on fixed streams, beside what the machine can do, which is measured in the same run. JSON lines: the
// machine, then a line for each scenario. A stream goes through a session twice: from a new model on, so that growth is paid
// for, and once more when nothing grows any longer, which is what is compared with the machine.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <string>
#include <vector>

#include "ceilings.h"
#include "quorate/base/number.h"
#include "quorate/base/rng.h"
#include "quorate/registry.h"
#include "quorate/session/prefetcher.h"
#include "quorate/session/session.h"
#include "quorate/stream/dataset.h"
#include "quorate/weights/second_order.h"

namespace quorate::bench {
namespace {

constexpr std::uint64_t kSeed = 2011;

/// What the second time did, and with how much: what it has to cost follows from it.
struct Ran {
  double K = 0, d = 0, nonzeros = 0;  // of an example
  double lines = 0;                   // that its features lie in, eight doubles each
  double examples = 0, labels = 0, updates = 0;
  double mean_kept = 0;         // support vectors, on average over the run
  double first_ns = 0, ns = 0;  // an example, the first time and the second
  std::size_t bytes = 0;
};

/// What an example cannot do without, on average; each at the machine's ceiling, one beside the other.
struct Need {
  double read = 0, copied = 0;  // bytes in order
  double lines = 0;             // cache lines from anywhere
  double flops = 0;
};

/// The streams. Each example has one task; of `digits` all tasks have every instance.
struct Stream {
  const char* name;
  std::size_t d, nonzeros;
  Dataset (*make)(const Stream&, std::size_t K, std::size_t examples);
  bool rounds;  // of K tasks over one instance, one label each
};

/// Text: features P(f) ~ 1/f, tasks that agree on most of their rule.
Dataset make_text(const Stream& of, std::size_t K, std::size_t examples) {
  Dataset data;
  Rng rng = make_rng(kSeed, K);
  const auto rule = [](std::uint64_t key) { return static_cast<double>((key * 0x9E3779B97F4A7C15u) >> 40) / (1 << 23) - 1; };
  std::vector<Index> index;
  for (std::size_t n = 0; n < examples; ++n) {
    const auto task = static_cast<Task>(below(K, rng));
    index.clear();
    while (index.size() < of.nonzeros)
      index.push_back(static_cast<Index>(std::pow(static_cast<double>(of.d), uniform(rng))));
    std::sort(index.begin(), index.end());
    index.erase(std::unique(index.begin(), index.end()), index.end());
    const std::vector<double> value(index.size(), 1 / std::sqrt(static_cast<double>(index.size())));
    double margin = 0;
    for (const Index f : index) margin += rule(f) + 0.3 * rule(f + (std::uint64_t{task} << 32));
    data.add(task, margin > 0 ? kYes : kNo, {index, value});
  }
  return data;
}

/// Columns of numbers in 0 .. 1, a linear rule with noise.
Dataset make_columns(const Stream& of, std::size_t K, std::size_t examples) {
  Dataset data;
  Rng rng = make_rng(kSeed, K);
  std::vector<double> rule(of.d), value(of.d);
  for (double& r : rule) r = uniform(rng) - 0.5;
  for (std::size_t n = 0; n < examples; ++n) {
    double margin = 0.5 * (uniform(rng) - 0.5);
    for (std::size_t f = 0; f < of.d; ++f) margin += rule[f] * ((value[f] = uniform(rng)) - 0.5);
    data.add(static_cast<Task>(below(K, rng)), margin > 0 ? kYes : kNo, {{}, value});
  }
  return data;
}

/// Digits: strokes, runs of neighbouring pixels. The label is the class, 0 .. 9.
Dataset make_digits(const Stream& of, std::size_t, std::size_t examples) {
  constexpr std::size_t kRun = 10;
  Dataset data;
  Rng rng = make_rng(kSeed, 0);
  std::vector<Index> index;
  for (std::size_t n = 0; n < examples; ++n) {
    index.clear();
    while (index.size() < of.nonzeros)
      for (auto f = static_cast<Index>(below(of.d - kRun, rng)), end = f + static_cast<Index>(kRun); f < end;)
        index.push_back(++f);
    std::sort(index.begin(), index.end());
    index.erase(std::unique(index.begin(), index.end()), index.end());
    const std::vector<double> value(index.size(), 1 / std::sqrt(static_cast<double>(index.size())));
    data.add(0, Label::of_class(below(10, rng)), {index, value});
  }
  return data;
}

constexpr Stream kText{"text", 1 << 17, 64, make_text, false}, kWords{"words", 1 << 14, 64, make_text, false},
    kColumns{"columns", 28, 28, make_columns, false}, kDigits{"digits", 784, 150, make_digits, true};

// What each learner needs. Weights are float, a belief is 8 bytes, matrices are double.
/// Own weights lie anywhere; those an update changes were just read. Shared ones (`places` 2) as well.
template <int places>
Need need_places(const Ran& r) {
  return {.lines = places * r.nonzeros};
}
/// All K margins of `asked` of the examples (or of all), and c x added to all w on updates.
Need need_committee(const Ran& r) {
  return {.read = r.nonzeros * r.K * 4, .copied = r.updates / r.examples * (r.nonzeros * r.K * 4 + r.K * 8)};
}
/// Margins of one task alone unless it errs; then all of them, w and half of G.
Need need_gram(const Ran& r) {
  const double u = r.updates / r.examples;
  return {
      .read = u * r.nonzeros * r.K * 4, .copied = u * (r.nonzeros * r.K * 4 + r.K * (r.K + 1) / 2 * 8), .lines = r.nonzeros};
}
/// All margins if uncertain; a label alone teaches one task.
Need need_peer(const Ran& r) { return {.read = r.labels / r.examples * r.nonzeros * r.K * 4, .lines = r.nonzeros}; }
/// x^T A^-1 x of every task of the round (half of the matrix), then A^-1 x and two rank-one updates of half matrices.
Need need_second_order(const Ran& r) {
  const double u = r.updates / r.examples;
  return {.copied = u * r.d * (r.d + 1) / 2 * 8,
          .lines = r.nonzeros * r.lines / 2,
          .flops = r.nonzeros * r.nonzeros + u * (2 * r.nonzeros * r.d + r.d * r.d + r.nonzeros * r.nonzeros)};
}
/// Inner products with what is kept; the projecting ones two products with half of H^-1 per update.
template <int products>
Need need_kernel(const Ran& r) {
  const double u = r.updates / r.examples, kept = r.mean_kept;
  return {.read = kept * r.nonzeros * 8 + products * u * kept * kept / 2 * 8,
          .flops = 2 * kept * r.nonzeros + products * u * 2 * kept * kept};
}

struct Scenario {
  const char* learner;
  const Stream& stream;
  std::size_t K, examples;
  Need (*need)(const Ran&);
};
const Scenario kScenarios[] = {
    {"cohort", kText, 10, 40'000, need_places<2>},
    {"cohort", kText, 1'000, 40'000, need_places<2>},
    {"cohort(store=hashed)", kText, 1'000, 40'000, need_places<2>},
    {"cohort(store=hashed, scale=none)", kText, 100'000, 40'000, need_places<2>},
    {"perceptron", kText, 10, 100'000, need_places<1>},
    {"perceptron", kText, 1'000, 100'000, need_places<1>},
    {"perceptron", kText, 100'000, 100'000, need_places<1>},
    {"cmtl", kText, 10, 100'000, need_places<2>},
    {"cmtl", kText, 1'000, 100'000, need_places<2>},
    {"cmtl", kText, 100'000, 100'000, need_places<2>},
    {"cmtl(query=margin(b=1))", kText, 1'000, 100'000, need_places<2>},
    {"amtl", kText, 10, 40'000, need_gram},
    {"amtl", kText, 100, 10'000, need_gram},
    {"amtl", kWords, 1'000, 4'000, need_gram},
    {"amtl(query=similarity)", kText, 100, 10'000, need_gram},
    {"peer", kText, 10, 40'000, need_peer},
    {"peer", kText, 100, 20'000, need_peer},
    {"peer", kWords, 1'000, 4'000, need_peer},
    {"peer(share=all)", kWords, 1'000, 4'000, need_committee},
    {"amlc", kText, 10, 40'000, need_committee},
    {"amlc", kText, 100, 20'000, need_committee},
    {"amlc", kWords, 1'000, 4'000, need_committee},
    {"amlc(query=always, share=prediction)", kWords, 1'000, 4'000, need_committee},
    {"shampo(b=0.01)", kDigits, 10, 4'000, need_places<1>},
    {"shampo-second-order(b=0.01)", kDigits, 10, 1'000, need_second_order},
    {"shampo-second-order(b=0.01)", kDigits, 45, 300, need_second_order},
    {"shampo-second-order(b=0.01, diagonal=true)", kDigits, 10, 2'000, need_places<2>},
    {"kernel-perceptron", kColumns, 10, 4'000, need_kernel<0>},
    {"kernel-perceptron", kText, 10, 2'000, need_kernel<0>},
    {"budget-random(budget=1000)", kColumns, 10, 10'000, need_kernel<0>},
    {"budget-forgetron(budget=1000)", kColumns, 10, 10'000, need_kernel<0>},
    {"budget-projectron(budget=500)", kColumns, 10, 2'000, need_kernel<2>},
    {"budget-projectron-shared(budget=500)", kColumns, 10, 2'000, need_kernel<2>},
};

Ran run(const Scenario& s, std::size_t examples) {
  static std::map<std::pair<const Stream*, std::size_t>, Dataset> made;
  Dataset& data = made[{&s.stream, s.K}];
  if (data.size() < examples) data = s.stream.make(s.stream, s.K, examples);
  NameTable tasks;
  for (std::size_t i = 0; i < s.K; ++i) tasks.intern(std::to_string(i));
  Session session(parse_spec(s.learner), {.seed = 1, .tasks = &tasks});
  Ran ran{.K = static_cast<double>(s.K), .d = static_cast<double>(s.stream.d)};
  std::vector<Example> round(s.stream.rounds ? s.K : 1);
  const Prefetcher prefetcher(session);
  std::size_t nonzeros = 0, lines = 0;
  for (std::size_t i = 0; i < examples; ++i) {
    const Features x = data.example(i).x;
    nonzeros += x.size();
    for (std::size_t k = 0; k < x.size(); ++k) lines += k == 0 || x.at(k) / 8 != x.at(k - 1) / 8;
  }
  double kept = 0;
  const auto pass = [&] {
    const TaskCounters before = session.total();
    double updates = static_cast<double>(before.updates);
    kept = 0;
    const double start = now_ns();
    for (std::size_t i = 0; i < examples; ++i) {
      const Example e = data.example(i);
      if (s.stream.rounds) {
        for (Task task = 0; task < s.K; ++task) round[task] = {task, e.x};
        run_round(session, {round, round.size()},
                  [&](std::size_t n) { return data.label(i).class_index() == n % 10 ? kYes : kNo; });
      } else {
        round[0] = e;
        if (i + 1 < examples) prefetcher.example(data.example(i + 1));
        kept += updates += run_round(session, {round}, [&](std::size_t) { return data.label(i).answer(); })[0].updated;
      }
    }
    const double ns = (now_ns() - start);
    ran.examples = static_cast<double>(session.total().examples - before.examples);
    ran.labels = static_cast<double>(session.total().labels - before.labels);
    ran.updates = static_cast<double>(session.total().updates - before.updates);
    return ns / ran.examples;
  };
  ran.first_ns = pass();
  ran.ns = pass();
  ran.nonzeros = static_cast<double>(nonzeros) / static_cast<double>(examples);
  ran.lines = static_cast<double>(lines) / static_cast<double>(examples);
  ran.mean_kept = kept / static_cast<double>(examples);
  for (const auto& arg : session.spec().args)
    if (arg.key == "budget") ran.mean_kept = std::min(ran.mean_kept, std::stod(arg.value.word));
  ran.bytes = session.model_bytes();
  return ran;
}

/// A figure of the machine for so many bytes, measured once for each power of two.
double ceiling(double (*measure)(std::size_t), std::size_t bytes) {
  static std::map<std::pair<double (*)(std::size_t), std::size_t>, double> known;
  const std::size_t rounded = std::clamp(std::bit_ceil(bytes), std::size_t{1} << 15, std::size_t{1} << 29);
  const auto [at, is_new] = known.try_emplace({measure, rounded}, 0.0);
  if (is_new) at->second = measure(rounded);
  return at->second;
}

double rounded(double v) { return v == 0 ? 0 : std::stod((std::ostringstream() << std::setprecision(4) << v).str()); }

nlohmann::ordered_json line(const std::string& name, const Ran& ran, const Need& need) {
  static const double flop = flop_ns();
  const std::pair<const char*, double> bounds[] = {
      {"memory", need.read * ceiling(read_ns, ran.bytes) + need.copied * ceiling(copy_ns, ran.bytes)},
      {"places", need.lines * ceiling(random_ns, ran.bytes)},
      {"flops", need.flops * flop}};
  const auto& bound = *std::max_element(std::begin(bounds), std::end(bounds),
                                        [](const auto& a, const auto& b) { return a.second < b.second; });
  return {{"scenario", name},
          {"tasks", ran.K},
          {"features", ran.d},
          {"nonzeros", rounded(ran.nonzeros)},
          {"examples", ran.examples},
          {"labels", ran.labels},
          {"updates", ran.updates},
          {"seed", kSeed},
          {"ns_per_example", rounded(ran.ns)},
          {"ns_per_nonzero", rounded(ran.ns / ran.nonzeros)},
          {"first_ns_per_example", rounded(ran.first_ns)},
          {"model_bytes", ran.bytes},
          {"bound", bound.first},
          {"ceiling_ns_per_example", rounded(bound.second)},
          {"share", rounded(bound.second / ran.ns)}};
}

/// One update of the second order beside Eigen's rank-one update of a matrix of the same size, of as many matrices in turn.
nlohmann::ordered_json second_order_update(std::size_t times) {
  constexpr std::size_t kMatrices = 10;
  const Dataset data = make_digits(kDigits, 0, 100);
  Memory memory;
  FullConfidence model(&memory);
  const auto update = [&](std::size_t n) {
    model.update(static_cast<Task>(n % kMatrices), n % 3 == 0 ? 1 : -1, data.example(n % data.size()).x);
  };
  for (std::size_t n = 0; n < 2 * kMatrices; ++n) update(n);
  const double start = now_ns();
  for (std::size_t n = 0; n < times; ++n) update(n);
  const double ns = (now_ns() - start) / static_cast<double>(times), eigen = eigen_rank_update_ns(kDigits.d, kMatrices);
  return {{"scenario", "second order update, digits"},
          {"tasks", kMatrices},
          {"features", kDigits.d},
          {"nonzeros", kDigits.nonzeros},
          {"examples", times},
          {"seed", kSeed},
          {"ns_per_example", rounded(ns)},
          {"ns_per_nonzero", rounded(ns / kDigits.nonzeros)},
          {"model_bytes", memory.bytes()},
          {"bound", "eigen"},
          {"ceiling_ns_per_example", rounded(eigen)},
          {"share", rounded(eigen / ns)}};
}

int main(const std::vector<std::string>& args) {
  std::regex only(".*");
  std::size_t most = std::size_t{1} << 40, repeat = 1;
  for (std::size_t n = 0; n < args.size(); n += 2) {
    const auto fail = [&] {
      throw UsageError("'" + args[n] + "': expected --only REGEX, --examples N or --repeat N, N above 0");
    };
    if (n + 1 == args.size()) fail();
    const std::string& value = args[n + 1];
    if (args[n] == "--only") {
      only = value;
      continue;
    }
    const auto number = parse_number<std::size_t>(value);
    if (!number || *number == 0 || (args[n] != "--examples" && args[n] != "--repeat")) fail();
    (args[n] == "--examples" ? most : repeat) = *number;
  }
  const auto print = [](const nlohmann::ordered_json& value) { std::cout << value.dump() << std::endl; };
  constexpr std::size_t kLarge = std::size_t{1} << 28;
  print({{"machine",
          {{"read_gb_per_s", rounded(1 / ceiling(read_ns, kLarge))},
           {"copy_gb_per_s", rounded(1 / ceiling(copy_ns, kLarge))},
           {"random_line_ns", rounded(ceiling(random_ns, kLarge))},
           {"latency_ns", rounded(latency_ns(kLarge))},
           {"gflops", rounded(1 / flop_ns())},
           {"eigen_rank_update_784_ns", rounded(eigen_rank_update_ns(784, 10))}}}});
  for (std::size_t n = 0; n < repeat; ++n) {
    for (const Scenario& s : kScenarios) {
      const std::string name = std::string(s.learner) + ", " + s.stream.name + ", K=" + std::to_string(s.K);
      if (!std::regex_search(name, only)) continue;
      const Ran ran = run(s, std::min(most, s.examples));
      print(line(name, ran, s.need(ran)));
    }
    if (std::regex_search("second order update, digits", only))
      print(second_order_update(std::min<std::size_t>(most, 1000)));
  }
  return 0;
}

}  // namespace
}  // namespace quorate::bench

int main(int argc, char** argv) {
  try {
    return quorate::bench::main({argv + 1, argv + argc});
  } catch (const std::exception& e) {
    std::cerr << "quorate_bench_learners: " << e.what() << '\n';
    return 2;
  }
}
