#include "papers/report.h"

#include <algorithm>
#include <cmath>

#include "papers/verdict.h"

namespace quorate::papers {
namespace {

std::string shortened(const std::string& measure, double v) {
  return std::isfinite(v) ? fixed(v, is_count(measure) ? 1 : 4) : "-";
}

bool published(const Json& row, const std::string& measure) {
  return row.contains("published") && row["published"].contains(measure);
}

}  // namespace

void table(const Json& paper, const Json& group, const std::vector<Result>& results, std::ostream& out) {
  const auto known = [&](const std::string& measure) {
    return std::any_of(group["rows"].begin(), group["rows"].end(), [&](const Json& row) { return published(row, measure); });
  };
  std::string header = "| method | learner ", line = "| --- | --- ";
  for (const Json& m : paper["measures"]) {
    const std::string measure = m;
    header += known(measure) ? "| " + measure + ", published | ours | difference " : "| " + measure + " ";
    line += known(measure) ? "| --- | --- | --- " : "| --- ";
  }
  out << header << "| verdict |\n" << line << "| --- |\n";
  std::string notes;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const Json& row = group["rows"][i];
    out << "| " << results[i].method << " | `" << row["learner"].get<std::string>() << "` ";
    for (const Json& m : paper["measures"]) {
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

void figure(const Json& paper, const Json& group, const std::vector<Result>& results, std::vector<Panel>& panels,
            std::ostream& out) {
  const bool shares = group.contains("shares"), sweep = group.contains("sweep");
  const std::string along = sweep ? group["sweep"].at("parameter").get<std::string>() : "";
  for (const Json& y : paper["figure"]["y"]) {
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
      if (!sweep && published(row, measure)) {
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
    if (y != paper["figure"]["y"].back()) out << "\n";
  }
}

Json group_json(const Json& paper, const Json& group, const std::vector<Result>& results, const std::string& said) {
  Json out{{"name", group.value("name", "")},
           {"note", group.value("note", Json(nullptr))},
           {"verdict", said},
           {"methods", Json::array()},
           {"results", Json::array()}};
  const bool table = !paper.contains("figure");
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
    for (const Json& m : paper["measures"])
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

}  // namespace quorate::papers
