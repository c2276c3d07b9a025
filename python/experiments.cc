// Experiments on data in memory: quorate._core.ExperimentData, simulate, compare, tune. Results are JSON documents.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "beside.h"
#include "module.h"
#include "options.h"
#include "quorate/base/counted.h"
#include "quorate/experiments/compare.h"
#include "quorate/experiments/tune.h"
#include "quorate/registry.h"
#include "quorate/stream/schema.h"
#include "quorate/stream/time.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace quorate::python {
namespace {

/// options[name], if it is there.
template <class T, class Into>
void take(const nb::dict& options, const char* name, Into& into) {
  if (options.contains(name)) into = nb::cast<T>(options[name]);
}
template <class T>
void take(const nb::dict& options, const char* name, T& into) {
  take<T, T>(options, name, into);
}

SimulateOptions simulate_options(const nb::dict& given) {
  SimulateOptions out;
  read_options(given, out.learning);
  read_options(given, out);
  std::string learner, delay = "0", stop_when;
  take(given, "learner", learner);
  take(given, "delay", delay);
  take(given, "stop_when", stop_when);
  take<double>(given, "forecast", out.forecast);
  out.delay = parse_delay(delay);
  if (!stop_when.empty()) {
    out.stop_when.emplace(stop_when);
    if (!out.forecast && out.stop_when->of_accuracy()) out.forecast = out.stop_when->target();
  }
  take(given, "lost", out.delay.lost);
  take(given, "share", out.share);
  take(given, "per_task", out.per_task);
  take(given, "folds", out.folds);
  if (!learner.empty()) {
    out.learner = parse_spec(learner);
    check_labels_per_round(out.learning.labels_per_round, learner, capabilities(out.learner));
  }
  return out;
}

/// Runs an experiment without the interpreter's lock.
template <class Work>
void run(const nb::object& show, const WorkDone& done, Work work) {
  run_beside(work, show, [&](const nb::object& f) { f(done.fraction(), done.examples.load()); });
}

/// Adds the examples of a file. Returns a warning about bad lines, or "".
std::string read(ExperimentData& data, const nb::bytes& path, bool test, const nb::dict& given) {
  const std::string file(path.c_str(), path.size());
  ReadOptions options;
  read_options(given, options);
  take(given, "skip_bad_lines", options.skip_bad_lines);
  ExperimentData::Skipped skipped;
  const auto work = [&](const std::stop_token& stop) {
    options.stop = stop;
    skipped = data.read(file, options, test ? data.test : data.train);
  };
  run_beside(work, nb::none(), [](const nb::object&) {});
  data.tested |= test;
  if (skipped.lines == 0) return "";
  return skipped.path + ": " + counted(skipped.lines, "bad line") + " skipped; the first: " + skipped.first;
}

/// Adds examples in memory. labels: words as in files. times: NaN if unknown.
void add(ExperimentData& data, Batch& batch, bool test, const std::vector<std::string>& labels,
         const std::optional<TaskCodes>& tasks, const std::optional<Array<double>>& times,
         const std::optional<Array<double>>& weights) {
  check_size("labels", labels.size(), batch.size());
  check_size("tasks", tasks ? tasks->codes.shape(0) : batch.size(), batch.size());
  check_size("times", times ? times->shape(0) : batch.size(), batch.size());
  check_size("weights", weights ? weights->shape(0) : batch.size(), batch.size());
  data.tested |= test;
  if (data.path.empty()) data.path = "data";
  Dataset& part = test ? data.test : data.train;
  const nb::gil_scoped_release others;
  batch.begin(data.featurizer, true);
  Featurizer::Scratch scratch;
  for (std::size_t n = 0; n < batch.size(); ++n) {
    Label label;
    try {
      label = data.labels(labels[n]);
    } catch (const DataError& e) {
      throw DataError("row " + std::to_string(n) + ": " + e.what());
    }
    const std::string_view task = tasks ? std::string_view(tasks->names[tasks->codes(n)]) : kOnlyTask;
    const bool timed = times && !std::isnan((*times)(n));
    const double weight = weights ? (*weights)(n) : 1;
    part.add(data.tasks.intern(task), weight == 0 ? Label() : label, batch.instance(n, data.featurizer, true, scratch),
             timed ? std::optional((*times)(n)) : std::nullopt, weight == 0 ? 1 : weight);
  }
}

/// The document and, if `trace`, all steps.
std::tuple<std::string, std::string> simulate_document(const ExperimentData& data, const nb::dict& given, bool trace,
                                                       const nb::object& show) {
  SimulateOptions options = simulate_options(given);
  WorkDone done;
  options.progress = &done.examples;
  done.all = static_cast<double>(data.examples(options) * options.passes * options.runs);
  std::string steps;
  if (trace)
    options.trace = [&](const TraceLine& line) { steps += (steps.empty() ? "" : ",") + trace_json(line, data).dump(); };
  std::string out;
  run(show, done, [&](const std::stop_token& stop) {
    options.stop = stop;
    const SimulateResult result = data.simulate(options);
    if (!result.interrupted) out = document(result, data, options).dump();
  });
  return {out, "[" + steps + "]"};
}

std::string compare_document(const ExperimentData& data, const std::vector<std::string>& learners,
                             const std::string& label_budgets, const nb::dict& given, const nb::object& show) {
  SimulateOptions options = simulate_options(given);
  for (const std::string& learner : learners) canonical(parse_spec(learner));
  WorkDone done;
  std::string out;
  run(show, done, [&](const std::stop_token& stop) {
    options.stop = stop;
    const Comparison found = compare(data, learners, label_budgets, options, done);
    if (!found.interrupted) out = document(found).dump();
  });
  return out;
}

std::string tune_document(const ExperimentData& data, const std::string& learner, const std::string& grid,
                          const std::string& measure, const nb::dict& given, const nb::object& show) {
  SimulateOptions options = simulate_options(given);
  const Grid settings = parse_grid(learner, grid);
  WorkDone done;
  std::string out;
  run(show, done, [&](const std::stop_token& stop) {
    options.stop = stop;
    const Tuned found = tune(data, settings, measure, options, done);
    if (!found.interrupted) out = document(found).dump();
  });
  return out;
}

}  // namespace

void add_experiments(nb::module_& m) {
  nb::class_<ExperimentData>(m, "ExperimentData")
      .def(
          "__init__",
          [](ExperimentData* self, const std::string& positive, const std::string& classes, bool users,
             const nb::dict& options) {
            FeatureSettings settings;
            read_options(options, settings);
            new (self) ExperimentData(settings, positive, classes, users);
          },
          "positive"_a, "classes"_a, "users"_a, "options"_a)
      .def("read", &read, "path"_a, "test"_a, "options"_a)
      .def("add", &add, "batch"_a, "test"_a, "labels"_a, "tasks"_a.none(), "times"_a.none(), "weights"_a.none())
      .def("finish", &ExperimentData::finish);
  m.def("simulate", &simulate_document, "data"_a, "options"_a, "trace"_a, "show"_a.none());
  m.def("compare", &compare_document, "data"_a, "learners"_a, "label_budgets"_a, "options"_a, "show"_a.none());
  m.def("tune", &tune_document, "data"_a, "learner"_a, "grid"_a, "measure"_a, "options"_a, "show"_a.none());
  m.def(
      "seconds", [](const std::string& text) { return parse_time(text); }, "text"_a);
  m.def(
      "is_missing", [](const std::string& text) { return is_missing(text); }, "text"_a);
}

}  // namespace quorate::python
