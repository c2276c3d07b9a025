// The module quorate._core: the registry, batches of examples, models, experiments.
#include "module.h"

#include "options.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include "quorate/base/number.h"
#include "quorate/base/simd.h"
#include "quorate/experiments/simulate.h"
#include "quorate/registry.h"
#include "quorate/stream/example_reader.h"
#include "quorate/version.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace quorate::python {

std::optional<Rounds> rounds_of(const std::string& name) {
  LearningOptions options;
  if (!name.empty()) read_value(options.rounds, Spec{name, {}}, "rounds", kAny);
  return options.rounds;
}

void check_size(const char* what, std::size_t is, std::size_t expected) {
  if (is != expected)
    throw UsageError(std::string(what) + ": " + std::to_string(is) + " for " + std::to_string(expected) + " examples");
}

namespace {

nb::list describe_params(const std::vector<ParamInfo>& params) {
  nb::list out;
  for (const ParamInfo& p : params) {
    nb::dict one;
    one["name"] = p.name;
    one["type"] = p.type;
    one["initial"] = p.initial;
    one["range"] = p.range;
    one["meaning"] = p.meaning;
    one["source"] = p.source;
    nb::list choices;
    for (const ChoiceInfo& c : p.choices) {
      nb::dict choice;
      choice["name"] = c.name;
      choice["meaning"] = c.meaning;
      choice["params"] = describe_params(c.params);
      choices.append(choice);
    }
    one["choices"] = choices;
    out.append(one);
  }
  return out;
}

/// The declared options in four groups: learning, features, files, runs.
nb::dict describe_options() {
  nb::dict out;
  out["learning"] = describe_params(quorate::describe_params<LearningOptions>());
  out["features"] = describe_params(quorate::describe_params<FeatureSettings>());
  out["files"] = describe_params(quorate::describe_params<ReadOptions>());
  out["runs"] = describe_params(quorate::describe_params<SimulateOptions>());
  for (const auto& [of, options] : out)
    for (const nb::handle option : options) option["name"] = python_name(nb::cast<std::string>(option["name"]));
  return out;
}

/// Throws UsageError for a value that its option does not allow.
void check_options(const nb::dict& given) {
  LearningOptions learning;
  read_options(given, learning);
  learning.limits(true);
  learning.labels_share();
  FeatureSettings features;
  read_options(given, features);
  SimulateOptions run;
  read_options(given, run);
}

/// The rows of the registry.
nb::list describe() {
  nb::list out;
  for (const Algorithm& a : algorithms()) {
    nb::dict one;
    one["name"] = std::string(a.name);
    one["title"] = std::string(a.title);
    one["source"] = std::string(a.source);
    one["params"] = describe_params(a.params());
    nb::dict can;
    for (const CapabilityInfo& c : kCapabilities)
      can[nb::str(c.name.data(), c.name.size())] = a.capabilities({std::string(a.name), {}}).*c.member;
    one["capabilities"] = can;
    out.append(one);
  }
  return out;
}

/// A spec's word, and the text of each of its arguments.
std::tuple<std::string, std::vector<std::tuple<std::string, std::string>>> parts(const std::string& spec) {
  const Spec whole = canonical(parse_spec(spec));
  std::vector<std::tuple<std::string, std::string>> args;
  for (const Spec::Arg& a : whole.args) args.emplace_back(a.key, to_text(a.value));
  return {whole.word, args};
}

/// The kind of a column of strings, judged by its first values as in a file, and why. None is a missing value.
std::tuple<std::string, std::string> column_kind(const std::string& name, const nb::list& values) {
  ColumnSample sample;
  for (const nb::handle value : values) {
    if (value.is_none())
      sample.skip();
    else
      sample.add(nb::cast<std::string_view>(value), "", ColumnSample::Type::kString);
  }
  const ColumnReport report = sample.judge(name);
  return {std::string(word_of(report.kind)), report.why};
}

/// The number that a text means in a file; none for other texts.
std::optional<double> number(std::string_view text) {
  const auto plain = parse_number<double>(text.substr(text.starts_with('+') ? 1 : 0));
  if (plain && is_value(*plain)) return plain;
  const auto written = written_number(text, {});
  return written ? written : flag_of(text);
}

std::string canonical_text(const std::string& spec) { return to_text(canonical(parse_spec(spec))); }

}  // namespace
}  // namespace quorate::python

NB_MODULE(_core, m) {
  using namespace quorate;
  using namespace quorate::python;
  nb::set_leak_warnings(false);  // the thread of a Follower may run until the interpreter ends
  if (const char* set = std::getenv("QUORATE_SIMD"); set != nullptr && !use_simd(set))
    throw std::runtime_error("QUORATE_SIMD=" + std::string(set) + " in the environment: expected plain, avx2 or avx512");
  nb::register_exception_translator([](const std::exception_ptr& p, void*) {
    const auto raise = [](PyObject* type, const std::exception& e) {  // a path or a value need not be UTF-8
      const std::string_view what = e.what();
      const nb::object text =
          nb::steal(PyUnicode_DecodeUTF8(what.data(), static_cast<Py_ssize_t>(what.size()), "backslashreplace"));
      PyErr_SetObject(type, text.ptr());
    };
    try {
      std::rethrow_exception(p);
    } catch (const FileError& e) {
      raise(PyExc_OSError, e);
    } catch (const MemoryError& e) {
      raise(PyExc_MemoryError, e);
    } catch (const Error& e) {
      raise(PyExc_ValueError, e);
    }
  });
  m.attr("VERSION") = kVersion;
  m.attr("ONLY_TASK") = std::string(kOnlyTask);
  m.def("describe", &describe);
  m.def("options", &describe_options);
  m.def("check_options", &check_options, "options"_a);
  m.def("canonical", &canonical_text, "spec"_a);
  m.def("parts", &parts, "spec"_a);
  m.def("column_kind", &column_kind, "name"_a, "values"_a);
  m.def("number", &number, "text"_a);

  nb::class_<Batch>(m, "Batch").def("__len__", &Batch::size);
  m.def("csr", &csr32, "indptr"_a, "indices"_a, "data"_a, "columns"_a);
  m.def("csr", &csr64, "indptr"_a, "indices"_a, "data"_a, "columns"_a);
  m.def("dense", &dense, "values"_a);
  m.def("dicts", &dicts, "rows"_a, "texts"_a = nb::none());
  m.def("texts", &texts, "rows"_a);
  m.def("table", &table, "columns"_a, "rows"_a);

  nb::class_<TaskCodes>(m, "Tasks")
      .def(
          "__init__",
          [](TaskCodes* self, Array<std::uint32_t> codes, std::vector<std::string> names) {
            for (std::size_t n = 0; n < codes.shape(0); ++n)
              if (codes(n) >= names.size()) throw UsageError("tasks: a code without a name");
            new (self) TaskCodes{std::move(codes), std::move(names)};
          },
          "codes"_a, "names"_a);
  add_model(m);
  add_experiments(m);
  add_follow(m);
}
