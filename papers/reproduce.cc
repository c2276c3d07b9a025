#include "papers/reproduce.h"

#include <cmath>
#include <filesystem>
#include <sstream>

#include "papers/report.h"
#include "papers/verdict.h"
#include "quorate/base/error.h"
#include "quorate/experiments/generate_drift.h"
#include "quorate/registry.h"
#include "quorate/store/files.h"
#include "quorate/stream/record.h"
#include "quorate/version.h"

namespace fs = std::filesystem;

namespace quorate::papers {
namespace {

class Reproduction {
 public:
  Reproduction(const ReproduceOptions& o, std::string name)
      : o_(o), name_(std::move(name)), paper_(read_paper(o.papers, name_)) {}

  /// Runs all of it; false if interrupted. Text goes to `out`, as Markdown, and the same to `document`.
  bool run(std::ostream& out, Json& document, Done& done) {
    const std::uint64_t runs = o_.runs > 0 ? o_.runs : paper_.value("runs", std::uint64_t{10});
    out << "## " << name_ << ": " << paper_.value("title", "") << "\n\n"
        << paper_.value("source", "") << ". " << runs << " runs, seeds " << o_.seed << " to " << o_.seed + runs - 1
        << "; mean +- standard deviation.\n";
    if (paper_.contains("note")) out << "\n" << paper_["note"].get<std::string>() << "\n";
    document = {{"name", name_},
                {"title", paper_.value("title", "")},
                {"source", paper_.value("source", "")},
                {"note", paper_.value("note", Json(nullptr))},
                {"runs", runs},
                {"seed", o_.seed},
                {"groups", Json::array()}};
    std::vector<Panel> panels;
    for (const Json& group : paper_["groups"]) {
      std::vector<Result> results;
      if (!simulate_group(group, runs, results, done)) return false;
      done.end_group();
      out << "\n### " << group.value("name", "") << "\n\n";
      if (group.contains("note")) out << group["note"].get<std::string>() << "\n\n";
      if (paper_.contains("figure"))
        figure(paper_, group, results, panels, out);
      else
        table(paper_, group, results, out);
      const std::string said = verdict(paper_, group, results);
      out << "\n**Verdict: " << said << ".**\n";
      document["groups"].push_back(group_json(paper_, group, results, said));
    }
    if (!o_.plot_dir.empty() && !panels.empty()) {
      fs::create_directories(o_.plot_dir);
      const std::string file = (fs::path(o_.plot_dir) / (name_ + ".svg")).string();
      plot(file, panels);
      out << "\n![" << paper_.value("title", "") << "]("
          << (o_.report.empty() ? file : fs::relative(file, fs::absolute(o_.report).parent_path()).string()) << ")\n";
    }
    out << "\n";
    return true;
  }

 private:
  /// A learner with {} in it is run at every value of the group's sweep.
  static bool swept(const Json& row) { return row.at("learner").get<std::string>().find("{}") != std::string::npos; }
  static std::string filled_in(const Json& row, const std::string& value) {
    std::string learner = row.at("learner");
    if (const std::size_t at = learner.find("{}"); at != std::string::npos) learner.replace(at, 2, value);
    return learner;
  }

  /// The stream of a group, with what a row says otherwise; the group's sweep may be over its number of tasks.
  static DriftOptions drift_options(const Json& group, const Json& row, const std::string& tasks) {
    Json stream = group["generate"];
    if (row.contains("generate")) stream.update(row["generate"]);
    DriftOptions out;
    out.tasks = group.contains("sweep") && group["sweep"]["parameter"] == "tasks" && !tasks.empty()
                    ? std::stoull(tasks)
                    : stream.value("tasks", out.tasks);
    out.features = stream.value("features", out.features);
    out.examples = stream.value("examples", out.examples);
    out.related = stream.value("related", out.related);
    out.shift = shift_named(stream.value("shift", "together"));
    out.every = stream.value("every", out.every);
    out.angle = stream.value("angle", out.angle);
    out.noise = stream.value("noise", out.noise);
    return out;
  }
  /// Every run on a stream of its own, in order.
  static SimulateResult simulate_made(DriftOptions stream, SimulateOptions options) {
    SimulateResult out;
    options.in_order = true;
    const std::uint64_t runs = std::exchange(options.runs, 1), first = options.learning.seed;
    for (std::uint64_t r = 0; r < runs; ++r) {
      ExperimentData data;
      stream.seed = options.learning.seed = first + r;
      for (std::uint64_t k = 0; k < stream.tasks; ++k) data.tasks.intern("task" + std::to_string(k));
      generate_drift(stream, [&](Task task, Answer label, std::span<const double> x) {
        data.train.add(task, label, {{}, x});
      });
      SimulateResult one = data.simulate(options);
      if (one.interrupted) return one;
      out.runs.push_back(std::move(one.runs[0]));
    }
    return out;
  }

  bool simulate_group(const Json& group, std::uint64_t runs, std::vector<Result>& results, Done& done) const {
    const bool made = group.contains("generate");
    FeatureSettings features;
    features.normalize = group.value("normalize", true);
    ExperimentData loaded(features, "", group.value("classes", ""), false);
    ReadOptions read;
    read.stop = o_.stop;
    const auto add = [&](const char* key, Dataset& part) {
      if (!group.contains(key)) return false;
      const fs::path file = group[key].get<std::string>();
      try {
        loaded.read((fs::path(o_.data) / file).string(), read, part);
      } catch (const FileError& e) {
        throw FileError(std::string(e.what()) + "; in a checkout, ./run data " + file.begin()->string() + " prepares it");
      }
      return true;
    };
    if (!made) {
      add("data", loaded.train);
      loaded.tested = add("test", loaded.test);
      if (o_.stop.stop_requested()) return false;
      loaded.finish();
    }
    SimulateOptions options;
    options.runs = runs;
    options.learning.seed = o_.seed;
    options.threads = o_.threads;
    options.train_per_task = group.value("train_per_task", std::uint64_t{0});
    options.passes = group.value("passes", std::uint64_t{1});
    options.stop = o_.stop;
    options.progress = &done.learned;
    const double examples =
        made ? static_cast<double>(drift_options(group, group, "").examples) : static_cast<double>(loaded.examples(options));
    const Json shares = group.value("shares", Json::array({1.0})), budgets = group.value("label_budgets", Json::array({""}));
    const Json values = group.contains("sweep") ? group["sweep"].at("values") : Json::array({0.0});
    std::size_t settings = 0;
    for (const Json& row : group["rows"]) settings += swept(row) || made ? values.size() : 1;
    done.examples = examples * static_cast<double>(options.passes * runs * settings * shares.size() * budgets.size());
    for (const Json& row : group["rows"])
      for (const Json& share : shares)
        for (const Json& budget : budgets)
          for (const Json& value : values) {
            const std::string words = budget.get<std::string>(), parameter = shortest(value.get<double>());
            Result r{row["name"], filled_in(row, parameter), words, 0, {}};
            if (group.contains("sweep")) r.setting = group["sweep"].at("parameter").get<std::string>() + "=" + parameter;
            if (group.contains("shares")) r.setting = fixed(100 * share.get<double>(), 1) + " %";
            if (!swept(row) && !made && value != values[0]) {  // what does not depend on the value is run once
              r.measure = results.back().measure;
            } else {
              options.learner = parse_spec(r.learner);
              options.share = share.get<double>();
              options.learning.pace.reset();
              if (group.value("pace", "") == "even" && capabilities(options.learner).paced)
                options.learning.pace = PaceRule::kEven;
              options.learning.set_limits(
                  {.total = words.empty() ? row.value("labels", LabelLimits::kNone)
                                          : static_cast<std::uint64_t>(std::llround(std::stod(words) / 100 * examples))});
              const SimulateResult result =
                  made ? simulate_made(drift_options(group, row, parameter), options) : loaded.simulate(options);
              if (result.interrupted) return false;
              for (const auto& [measure, ignored] : measures(result.runs[0]))
                r.measure[measure] = summary(values_of(result, measure));
            }
            r.x = group.contains("shares")  ? options.share
                  : group.contains("sweep") ? value.get<double>()
                                            : r.measure["labels"].mean;
            results.push_back(std::move(r));
          }
    return true;
  }

  const ReproduceOptions& o_;
  std::string name_;
  Json paper_;
};

/// A file of papers/ that is not of the form expected is bad data, whatever the JSON library calls it.
bool reproduce_one(const ReproduceOptions& o, const std::string& name, std::ostream& out, Json& document, Done& done) {
  const auto fail = [&](const std::string& what) {
    throw DataError((fs::path(o.papers) / (name + ".json")).string() + ": " + what);
  };
  try {
    return Reproduction(o, name).run(out, document, done);
  } catch (const Json::exception& e) {
    fail(std::string("not of the form of the others: ") + e.what());
  } catch (const std::out_of_range&) {
    fail("a measure that there is not");
  }
  return false;
}

}  // namespace

Reproduced reproduce(const ReproduceOptions& o, Done& done) {
  const std::vector<std::string> names = o.name == "all" ? names_of_papers(o.papers) : std::vector{o.name};
  std::ostringstream out;
  Reproduced found{{{"papers", Json::array()}}, "", ""};
  done.groups = 0;
  for (const std::string& name : names) done.groups += read_paper(o.papers, name)["groups"].size();
  for (const std::string& name : names)
    if (!reproduce_one(o, name, out, found.document["papers"].emplace_back(), done)) {
      found.interrupted_in = name;
      return found;
    }
  found.markdown = out.str();
  if (!o.report.empty()) {
    std::string text = "# Published results and ours\n\nGenerated by `quorate reproduce " + o.name + "`, quorate " +
                       kVersion + ". What is run, what was published and the bands are in `papers/`; `./run data all` " +
                       "prepares the data.\n\n" + found.markdown;
    while (text.ends_with("\n\n")) text.pop_back();
    OutputFile file(o.report);
    file.write(text);
    file.commit();
  }
  return found;
}

}  // namespace quorate::papers
