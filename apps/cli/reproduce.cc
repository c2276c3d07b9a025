// quorate reproduce: published tables and figures beside ours. papers/NAME.json says what was published, how it is run,
// within which band we call it reproduced, and why we expect to differ where we do.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <map>
#include <optional>

#include "common.h"
#include "measures.h"
#include "plot.h"
#include "quorate/experiments/generate_drift.h"
#include "quorate/metrics/statistics.h"
#include "quorate/registry.h"
#include "quorate/store/files.h"
#include "quorate/stream/record.h"
#include "quorate/version.h"

namespace quorate::cli {
namespace {

namespace fs = std::filesystem;

struct Options {
  std::string name, papers = "papers", data = "data", plot_dir, report;
  std::uint64_t runs = 0, threads = 2, seed = 1;
  bool json = false;
  ProgressOptions progress;
};

Json read_paper(const Options& o, const std::string& name) {
  const fs::path file = fs::path(o.papers) / (name + ".json");
  if (!fs::exists(file))
    throw UsageError("no paper is called '" + name + "' in " + o.papers + "; quorate reproduce list names them");
  Json out = Json::parse(read_file(file), nullptr, false);
  if (!out.is_object() || !out.contains("groups")) throw DataError(file.string() + ": expected a JSON object with groups");
  return out;
}

std::vector<std::string> names_of_papers(const Options& o) {
  if (!fs::is_directory(o.papers))
    throw FileError(o.papers + ": no such folder; expected --papers FOLDER, the one called papers in a checkout");
  std::vector<std::string> out;
  for (const auto& entry : fs::directory_iterator(o.papers))
    if (entry.path().extension() == ".json") out.push_back(entry.path().stem());
  std::sort(out.begin(), out.end());
  return out;
}

/// How far all of it is; groups are taken to be alike.
struct Done {
  std::size_t groups = 1;  // in all
  std::atomic<std::size_t> ended = 0;
  std::atomic<double> examples = 1;  // of the group under way
  std::atomic<std::uint64_t> learned = 0, learned_before = 0;

  double fraction() const {
    return (static_cast<double>(ended) + static_cast<double>(learned) / examples) / static_cast<double>(groups);
  }
  void end_group() {
    learned_before += learned.exchange(0);
    ++ended;
  }
};

/// One learner at one budget, share or value of a parameter: means over the runs.
struct Result {
  std::string method, learner, setting;  // setting: "", "5%" of the labels, a share of the data, or "b=0.1"
  double x;                              // of a figure
  std::map<std::string, Summary> measure;
};

std::string fixed(double v, int digits) {
  char out[32];
  std::snprintf(out, sizeof out, "%.*f", digits, v);
  return out;
}
std::string points(double share) { return fixed(100 * share, 1); }
std::string shortened(const std::string& measure, double v) {
  return std::isfinite(v) ? fixed(v, is_count(measure) ? 1 : 4) : "-";
}

std::string joined(const std::vector<std::string>& parts, std::string_view between) {
  std::string out;
  for (const std::string& part : parts) {
    if (&part != parts.data()) out += between;
    out += part;
  }
  return out;
}

class Reproduction {
 public:
  Reproduction(const Options& o, std::string name) : o_(o), name_(std::move(name)), paper_(read_paper(o, name_)) {}

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
        figure(group, results, panels, out);
      else
        print_table(group, results, out);
      const std::string said = verdict(group, results);
      out << "\n**Verdict: " << said << ".**\n";
      document["groups"].push_back(group_json(group, results, said));
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
    const std::uint64_t runs = std::exchange(options.runs, 1), first = options.seed;
    for (std::uint64_t r = 0; r < runs; ++r) {
      LoadedData data;
      stream.seed = options.seed = first + r;
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
    DataOptions read;
    const auto path = [&](const char* key) {
      return group.contains(key) ? (fs::path(o_.data) / group[key].get<std::string>()).string() : std::string();
    };
    FeatureOptions features;
    features.settings.normalize = group.value("normalize", true);
    const bool made = group.contains("generate");
    LoadedData loaded;
    if (!made) loaded = load(path("data"), path("test"), read, features, ClassOptions{group.value("classes", "")});
    SimulateOptions options;
    options.runs = runs;
    options.seed = o_.seed;
    options.threads = o_.threads;
    options.train_per_task = group.value("train_per_task", std::uint64_t{0});
    options.passes = group.value("passes", std::uint64_t{1});
    options.stop = interrupt();
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
            if (group.contains("shares")) r.setting = percent(share.get<double>());
            if (!swept(row) && !made && value != values[0]) {  // what does not depend on the value is run once
              r.measure = results.back().measure;
            } else {
              options.learner = parse_spec(r.learner);
              options.share = share.get<double>();
              options.pace_even = group.value("pace", "") == "even" && capabilities(options.learner).paced;
              options.limits.total = words.empty()
                                         ? row.value("labels", LabelLimits::kNone)
                                         : static_cast<std::uint64_t>(std::llround(std::stod(words) / 100 * examples));
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

  /// "reproduced" or "not reproduced" for a row of a table that has a band for the paper's own data; else null.
  static Json row_verdict(const Json& group, const Json& row, const Result& r) {
    if (!group.value("same_data", false) || !row.contains("band")) return nullptr;
    return in_band(row, r) ? "reproduced" : "not reproduced";
  }

  Json group_json(const Json& group, const std::vector<Result>& results, const std::string& said) const {
    Json out{{"name", group.value("name", "")},
             {"note", group.value("note", Json(nullptr))},
             {"verdict", said},
             {"methods", Json::array()},
             {"results", Json::array()}};
    const bool table = !paper_.contains("figure");
    for (std::size_t i = 0; i < group["rows"].size(); ++i) {
      const Json& row = group["rows"][i];
      out["methods"].push_back({{"method", row["name"]},
                                {"learner", row["learner"]},
                                {"published", row.value("published", Json::object())},
                                {"verdict", table ? row_verdict(group, row, results[i]) : Json(nullptr)},
                                {"note", row.value("note", Json(nullptr))}});
    }
    for (const Result& r : results) {
      Json mean = Json::object(), deviation = Json::object();
      for (const Json& m : paper_["measures"])
        if (const auto found = r.measure.find(m.get<std::string>()); found != r.measure.end()) {
          mean[found->first] = number(found->second.mean);
          deviation[found->first] = number(found->second.deviation);
        }
      out["results"].push_back({{"method", r.method},
                                {"learner", r.learner},
                                {"setting", r.setting},
                                {"x", table ? Json(nullptr) : number(r.x)},
                                {"mean", mean},
                                {"std", deviation}});
    }
    return out;
  }

  void print_table(const Json& group, const std::vector<Result>& results, std::ostream& out) const {
    const auto published = [&](const Json& row, const std::string& measure) {
      return row.contains("published") && row["published"].contains(measure);
    };
    const auto known = [&](const std::string& measure) {
      return std::any_of(group["rows"].begin(), group["rows"].end(),
                         [&](const Json& row) { return published(row, measure); });
    };
    std::string header = "| method | learner ", line = "| --- | --- ";
    for (const Json& m : paper_["measures"]) {
      const std::string measure = m;
      header += known(measure) ? "| " + measure + ", published | ours | difference " : "| " + measure + " ";
      line += known(measure) ? "| --- | --- | --- " : "| --- ";
    }
    out << header << "| verdict |\n" << line << "| --- |\n";
    std::string notes;
    for (std::size_t i = 0; i < results.size(); ++i) {
      const Json& row = group["rows"][i];
      out << "| " << results[i].method << " | `" << row["learner"].get<std::string>() << "` ";
      for (const Json& m : paper_["measures"]) {
        const std::string measure = m;
        const auto has = [&](const Result& r) { return r.measure.contains(measure); };
        if (!has(results[i]) && std::any_of(results.begin(), results.end(), has)) {  // as of margins that are not calibrated
          out << (known(measure) ? "| - | - | - " : "| - ");
          continue;
        }
        const Summary& ours = results[i].measure.at(measure);
        const double theirs = published(row, measure) ? row["published"][measure].get<double>() : std::nan("");
        if (known(measure)) out << "| " << shortened(measure, theirs) << " ";
        out << "| " << shortened(measure, ours.mean) << " +- " << shortened(measure, ours.deviation) << " ";
        if (known(measure))
          out << "| "
              << (published(row, measure) ? (ours.mean >= theirs ? "+" : "") + shortened(measure, ours.mean - theirs) : "-")
              << " ";
      }
      const Json verdict = row_verdict(group, row, results[i]);
      out << "| " << (verdict.is_null() ? "-" : verdict.get<std::string>()) << " |\n";
      if (row.contains("note")) notes += "\n" + results[i].method + ": " + row["note"].get<std::string>() + "\n";
    }
    out << notes;
  }

  void figure(const Json& group, const std::vector<Result>& results, std::vector<Panel>& panels, std::ostream& out) const {
    const bool shares = group.contains("shares"), sweep = group.contains("sweep");
    const std::string along = sweep ? group["sweep"].at("parameter").get<std::string>() : "";
    for (const Json& y : paper_["figure"]["y"]) {
      const std::string measure = y;
      Panel panel{group.value("name", ""),
                  sweep    ? along
                  : shares ? "share of the training data"
                           : "labels bought",
                  measure,
                  {}};
      panel.log_x = sweep && group["sweep"].value("log", false);
      for (const Json& row : group["rows"]) {
        Series ours{row["name"], {}, {}, {}};
        for (const Result& r : results)
          if (r.method == row["name"]) {
            ours.x.push_back(r.x);
            ours.y.push_back(r.measure.at(measure).mean);
          }
        panel.series.push_back(std::move(ours));
      }
      for (const Json& row : group["rows"])
        if (!sweep && row.contains("published") && row["published"].contains(measure)) {
          Series theirs{row["name"].get<std::string>() + ", published end point", {}, {}, {}, true};
          theirs.x.push_back(shares ? 1.0 : row["published"]["labels"].get<double>());
          theirs.y.push_back(row["published"][measure]);
          panel.series.push_back(std::move(theirs));
        }
      panels.push_back(std::move(panel));
      out << "| " << measure << (sweep ? " at" : shares ? " at share" : " at budget");
      std::vector<std::string> settings;
      for (const Result& r : results)
        if (std::find(settings.begin(), settings.end(), r.setting) == settings.end()) settings.push_back(r.setting);
      for (const std::string& s : settings) out << " | " << s;
      out << " |\n| ---";
      for (std::size_t i = 0; i < settings.size(); ++i) out << " | ---";
      out << " |\n";
      for (const Json& row : group["rows"]) {
        out << "| " << row["name"].get<std::string>();
        for (const Result& r : results)
          if (r.method == row["name"]) out << " | " << shortened(measure, r.measure.at(measure).mean);
        out << " |\n";
      }
      if (y != paper_["figure"]["y"].back()) out << "\n";
    }
  }

  static bool in_band(const Json& row, const Result& r) {
    for (const auto& [measure, band] : row["band"].items()) {
      const double ours = r.measure.at(measure).mean;
      if (!(ours >= band[0].get<double>() && ours <= band[1].get<double>())) return false;
    }
    return true;
  }

  static double mean(const Result& r, const std::string& measure) { return r.measure.at(measure).mean; }

  /// The first result of a method, at a setting if one is given; nullptr if there is none.
  static const Result* find(const std::vector<Result>& results, const std::string& method,
                            const std::optional<std::string>& setting = {}) {
    for (const Result& r : results)
      if (r.method == method && (!setting || r.setting == *setting)) return &r;
    return nullptr;
  }
  /// The same for a claim, which must speak of results that there are.
  static const Result& claimed(const std::string& claim, const std::vector<Result>& results, const std::string& method,
                               const std::optional<std::string>& setting = {}) {
    if (const Result* r = find(results, method, setting)) return *r;
    throw DataError(claim + ": " +
                    (setting ? "no " + quoted_value(method) + " at " + quoted_value(*setting)
                             : quoted_value(method) + "; expected one of the methods"));
  }

  /// The best value of a method's parameter lies so many points below what others reach.
  static std::string knee(const Json& claim, const std::vector<Result>& results) {
    const std::string measure = claim.at("measure"), method = claim.at("method");
    const auto best_of = [&](const std::string& of) {
      const Result* best = &claimed("knee", results, of);
      for (const Result& r : results)
        if (r.method == of && mean(r, measure) < mean(*best, measure)) best = &r;
      return best;
    };
    const Result* best = best_of(method);
    std::string said;
    bool good = true;
    for (const auto& [other, least] : claim.at("below").items()) {
      const double gap = mean(*best_of(other), measure) - mean(*best, measure);
      good = good && gap >= least.get<double>();
      said += ", " + points(gap) + " points below " + other + " (expected " + points(least.get<double>()) + ")";
    }
    return (good ? "as expected: " : "not as expected: ") + method + " is best at " + best->setting + " with " +
           points(mean(*best, measure)) + " %" + said;
  }

  /// The lowest of all, and what the paper's choice reaches.
  static std::string lowest(const Json& claim, const std::vector<Result>& results) {
    const std::string measure = claim.at("measure"), method = claim.at("method"), setting = claim.at("setting");
    const auto below = [&](const Result& a, const Result& b) { return mean(a, measure) < mean(b, measure); };
    const auto best = std::min_element(results.begin(), results.end(), below);
    const Result& theirs = claimed("lowest", results, method, setting);
    const Summary &a = best->measure.at(measure), &b = theirs.measure.at(measure);
    return "lowest " + measure + " " + points(a.mean) + " +- " + points(a.deviation) + " % with " + best->method + ", " +
           best->setting + "; the paper's good choice, " + method + ", " + setting + ": " + points(b.mean) + " +- " +
           points(b.deviation) + " %";
  }

  /// A method costs at most so many times more at one setting than at another; what others cost there.
  static std::string alike(const Json& claim, const std::vector<Result>& results) {
    const std::string measure = claim.at("measure");
    const std::string method = claim.at("method"), from = claim.at("from"), to = claim.at("to");
    const auto times = [&](const std::string& of) {
      return mean(claimed("alike", results, of, to), measure) / mean(claimed("alike", results, of, from), measure);
    };
    const double ours = times(method), most = claim.at("at_most");
    std::string said = (ours <= most ? "as claimed: " : "not as claimed: ") + method + " costs " + fixed(ours, 2) +
                       " times as many " + measure + " at " + to + " as at " + from + " (expected at most " +
                       fixed(most, 2) + ")";
    for (const Json& other : claim.at("others")) said += ", " + other.get<std::string>() + " " + fixed(times(other), 2);
    return said;
  }

  /// Claims "a is at least b, less the slack": [a, b, slack] of one measure.
  static std::string at_least(const Json& claims, const std::vector<Result>& results) {
    const std::string measure = claims.at("measure");
    std::size_t good = 0;
    std::string not_so;
    for (const Json& claim : claims.at("claims")) {
      const std::string first = claim.at(0), second = claim.at(1);
      const double a = mean(claimed("at_least", results, first), measure),
                   b = mean(claimed("at_least", results, second), measure);
      if (a >= b - claim.at(2).get<double>())
        ++good;
      else
        not_so += "; " + first + " is " + points(b - a) + " points below " + second;
    }
    return std::to_string(good) + " of " + std::to_string(claims["claims"].size()) + " relations hold" + not_so;
  }

  std::string verdict(const Json& group, const std::vector<Result>& results) const {
    std::vector<std::string> said;
    if (group.contains("knee")) {
      for (const Json& claim : group["knee"]) said.push_back(knee(claim, results));
      return joined(said, "; ");
    }
    if (group.value("same_data", false) && !paper_.contains("figure")) {
      std::size_t banded = 0, good = 0;
      for (std::size_t i = 0; i < results.size(); ++i)
        if (group["rows"][i].contains("band")) {
          ++banded;
          good += in_band(group["rows"][i], results[i]);
        }
      if (banded > 0)
        said.push_back(good == banded ? "reproduced, all " + std::to_string(banded) + " methods within their bands"
                                      : "not reproduced, " + std::to_string(banded - good) + " of " +
                                            std::to_string(banded) + " methods outside their bands");
    }
    if (group.contains("at_least")) said.push_back(at_least(group["at_least"], results));
    if (!said.empty()) return joined(said, "; ");
    if (group.contains("alike")) return alike(group["alike"], results);
    if (group.contains("lowest")) return lowest(group["lowest"], results);
    // Without a band nothing is claimed to be reproduced, only an order.
    if (!group.contains("order")) return "no order is claimed";
    const Json& order = group["order"];
    const std::string measure = order["measure"];
    const auto mean_at = [&](const std::string& method, const std::string& setting) {
      const Result* r = find(results, method, setting.empty() ? std::nullopt : std::optional(setting));
      return r != nullptr ? mean(*r, measure) : std::nan("");
    };
    const std::string last = results.empty() ? "" : results.back().setting;
    if (order.contains("best")) {
      const std::string best = order["best"];
      std::vector<std::string> worse;
      const std::string first = order.value("from", results[0].setting);
      bool from = false;
      for (const Result& r : results) {
        if (r.method != results[0].method) break;
        from = from || r.setting == first;
        if (!from) continue;
        for (const Json& row : group["rows"])
          if (row["name"] != best && mean_at(row["name"], r.setting) > mean_at(best, r.setting))
            worse.push_back(row["name"].get<std::string>() + " at " + r.setting);
      }
      if (!from) throw DataError(name_ + ": order from " + quoted_value(first) + "; expected one of the settings");
      return worse.empty() ? "same order of methods, " + best + " is first at every budget from " + first + " on"
                           : "another order of methods, " + best + " is behind " + joined(worse, ", ");
    }
    const bool rising = order.contains("rising");
    const std::vector<std::string> methods = order[rising ? "rising" : "falling"];
    bool same = true;
    for (std::size_t i = 1; i < methods.size(); ++i) {
      const double before = mean_at(methods[i - 1], last), now = mean_at(methods[i], last);
      same = same && (rising ? now > before : now < before);
    }
    return (same ? "same order of methods by " : "another order of methods by ") + measure +
           " (published: " + joined(methods, rising ? " < " : " > ") + ")";
  }

  const Options& o_;
  std::string name_;
  Json paper_;
};

/// A file of papers/ that is not of the form expected is bad data, whatever the JSON library calls it.
bool reproduce(const Options& o, const std::string& name, std::ostream& out, Json& document, Done& done) {
  try {
    return Reproduction(o, name).run(out, document, done);
  } catch (const Json::exception& e) {
    throw DataError((fs::path(o.papers) / (name + ".json")).string() + ": not of the form of the others: " + e.what());
  } catch (const std::out_of_range&) {
    throw DataError((fs::path(o.papers) / (name + ".json")).string() + ": a measure that there is not");
  }
}

int run(const Options& o) {
  if (o.name == "list") {
    std::vector<std::vector<std::string>> rows;
    for (const std::string& name : names_of_papers(o)) {
      const Json paper = read_paper(o, name);
      rows.push_back({name, paper.value("title", "")});
    }
    if (o.json) {
      Json out = Json::array();
      for (const auto& row : rows) out.push_back({{"name", row[0]}, {"title", row[1]}});
      std::cout << out.dump(2) << "\n";
      return kDone;
    }
    for (const auto& row : rows)
      std::cout << row[0] << std::string(row[0].size() < 18 ? 18 - row[0].size() : 1, ' ') << row[1] << "\n";
    return kDone;
  }
  const std::vector<std::string> names = o.name == "all" ? names_of_papers(o) : std::vector{o.name};
  std::ostringstream out;
  out << "# Published results and ours\n\nGenerated by `quorate reproduce " << o.name << "`, quorate " << kVersion
      << ". What is run, what was published and the bands are in `papers/`; `./run data all` prepares the data.\n\n";
  const std::size_t preface = out.str().size();
  Json papers = Json::array();
  Done done;
  done.groups = 0;
  for (const std::string& name : names) done.groups += read_paper(o, name)["groups"].size();
  std::string interrupted_in;
  {
    const Progress progress_line(
        o.progress, [&] { return done.fraction(); }, [&] { return done.learned_before + done.learned; });
    for (const std::string& name : names)
      if (!reproduce(o, name, out, papers.emplace_back(), done)) {
        interrupted_in = name;
        break;
      }
  }
  if (!interrupted_in.empty()) {
    std::cerr << "quorate: interrupted in " << interrupted_in << "; no report is written\n";
    return kInterrupted;
  }
  if (o.json)
    std::cout << Json{{"papers", papers}}.dump(2) << "\n";
  else if (o.report.empty())
    std::cout << out.str().substr(preface);
  if (!o.report.empty()) {
    std::string text = out.str();
    while (text.ends_with("\n\n")) text.pop_back();
    OutputFile file(o.report);
    file.write(text);
    file.commit();
  }
  return kDone;
}

}  // namespace

Command add_reproduce(CLI::App& app) {
  const auto o = std::make_shared<Options>();
  app.add_option("name", o->name, "a table or figure, all, or list")->required();
  app.add_option("--runs", o->runs, "runs, instead of the paper's")->check(whole(1, 1'000'000));
  app.add_option("--seed", o->seed, "seed of the first run")->check(whole(0))->capture_default_str();
  app.add_option("--threads", o->threads, "runs at the same time")->check(whole(1, 1'000'000'000))->capture_default_str();
  app.add_option("--plot-dir", o->plot_dir, "draw the figures into this folder");
  app.add_option("--report", o->report, "write a Markdown page");
  app.add_flag("--json", o->json, "one JSON document");
  app.add_option("--papers", o->papers, "folder of the papers' files")->capture_default_str();
  app.add_option("--data", o->data, "folder of the prepared data sets")->capture_default_str();
  o->progress.add(app);
  app.footer("Example:\n  quorate reproduce xu-table-1 --runs 10");
  return [o] { return run(*o); };
}

}  // namespace quorate::cli
