// quorate generate: data that are made, for experiments.
#include <iostream>

#include "common.h"
#include "quorate/run/generate.h"
#include "quorate/store/files.h"
#include "quorate/stream/record.h"

namespace quorate::cli {
namespace {

struct Options {
  std::string what, out, to, shift = "together";
  DriftOptions drift;
  bool quiet = false;
};

int run(Options& o) {
  const std::stop_token stop = interrupt();
  o.drift.shift = shift_named(o.shift);
  std::vector<std::string> columns;
  for (std::uint64_t f = 1; f <= o.drift.features; ++f) columns.push_back(std::to_string(f));
  const auto writer = make_writer(o.to.empty() ? format_of(o.out) : format_named(o.to), {.features = columns});
  OutputFile out(o.out);
  out.write(writer->header());
  std::atomic<std::uint64_t> seen = 0;
  {
    const Progress shown(
        o.quiet || o.out == "-", [&] { return static_cast<double>(seen) / static_cast<double>(o.drift.examples); },
        [&] { return seen.load(); });
    std::string id, task;
    Record record;
    generate_drift(o.drift, [&](Task k, int label, std::span<const double> x) {
      if (stop.stop_requested()) return;
      record.clear();
      task = "task" + std::to_string(k);
      record.id = id = std::to_string(seen + 1);
      record.task = task;
      record.label = label > 0 ? "1" : "-1";
      for (std::size_t f = 0; f < x.size(); ++f)
        record.entries.push_back({Entry::Kind::kIndex, static_cast<Index>(f + 1), columns[f], x[f]});
      out.write(writer->line(record));
      ++seen;
    });
  }
  if (stop.stop_requested()) {
    std::cerr << "quorate: interrupted; " << o.out << " is not written\n";
    return kInterrupted;
  }
  out.commit();
  return kDone;
}

}  // namespace

Shift shift_named(const std::string& name) {
  if (name == "none") return Shift::kNone;
  if (name == "together") return Shift::kTogether;
  if (name == "apart") return Shift::kApart;
  throw UsageError("shift " + shown(name) + "; expected none, together or apart");
}

Command add_generate(CLI::App& app) {
  const auto o = std::make_shared<Options>();
  DriftOptions& d = o->drift;
  app.add_option("what", o->what, "drift: related tasks whose targets move")->required()->check(CLI::IsMember({"drift"}));
  app.add_option("out", o->out, "file to write; - for standard output")->required();
  app.add_option("--to", o->to, "csv, jsonl, svmlight or vw; default: by the ending of the name");
  app.add_option("--tasks", d.tasks, "tasks, taking turns")->check(whole(1, 1'000'000))->capture_default_str();
  app.add_option("--features", d.features, "numbers of an instance")->check(whole(2, 100'000))->capture_default_str();
  app.add_option("--examples", d.examples, "examples")->check(whole(1))->capture_default_str();
  app.add_option("--related", d.related, "how much the targets have in common, 0 to 1")->capture_default_str();
  app.add_option("--shift", o->shift, "targets move together, apart, or not at all (none)")
      ->check(CLI::IsMember({"together", "apart", "none"}))
      ->capture_default_str();
  app.add_option("--every", d.every, "examples between two shifts")->check(whole(1))->capture_default_str();
  app.add_option("--angle", d.angle, "radians of a shift, in a plane of its own")->capture_default_str();
  app.add_option("--noise", d.noise, "chance that a label is wrong, 0 to 0.5")->capture_default_str();
  app.add_option("--seed", d.seed, "seed of everything")->check(whole(0))->capture_default_str();
  app.add_flag("--quiet", o->quiet, "no progress");
  app.footer(
      "Example:\n  quorate generate drift stream.csv --tasks 8 --shift apart\n  quorate simulate --data stream.csv "
      "--in-order --learner budget-projectron");
  return [o] { return run(*o); };
}

}  // namespace quorate::cli
