#include "papers/verdict.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "quorate/base/error.h"

namespace quorate::papers {
namespace {

std::string points(double share) { return fixed(100 * share, 1); }

bool in_band(const Json& row, const Result& r) {
  for (const auto& [measure, band] : row["band"].items()) {
    const double ours = r.measure.at(measure).mean;
    if (!(ours >= band[0].get<double>() && ours <= band[1].get<double>())) return false;
  }
  return true;
}

/// The first result of a method, at a setting if one is given; nullptr if there is none.
const Result* find(const std::vector<Result>& results, const std::string& method,
                   const std::optional<std::string>& setting = {}) {
  for (const Result& r : results)
    if (r.method == method && (!setting || r.setting == *setting)) return &r;
  return nullptr;
}
/// The same for a claim, which must speak of results that there are.
const Result& claimed(const std::string& claim, const std::vector<Result>& results, const std::string& method,
                      const std::optional<std::string>& setting = {}) {
  if (const Result* r = find(results, method, setting)) return *r;
  throw DataError(claim + ": " +
                  (setting ? "no " + quoted_value(method) + " at " + quoted_value(*setting)
                           : quoted_value(method) + "; expected one of the methods"));
}

/// The best value of a method's parameter lies so many points below what others reach.
std::string knee(const Json& claim, const std::vector<Result>& results) {
  const std::string measure = claim.at("measure"), method = claim.at("method");
  const auto best_of = [&](const std::string& of) {
    const Result* best = &claimed("knee", results, of);
    for (const Result& r : results)
      if (r.method == of && r.mean(measure) < best->mean(measure)) best = &r;
    return best;
  };
  const Result* best = best_of(method);
  std::string said;
  bool good = true;
  for (const auto& [other, least] : claim.at("below").items()) {
    const double gap = best_of(other)->mean(measure) - best->mean(measure);
    good = good && gap >= least.get<double>();
    said += ", " + points(gap) + " points below " + other + " (expected " + points(least.get<double>()) + ")";
  }
  return (good ? "as expected: " : "not as expected: ") + method + " is best at " + best->setting + " with " +
         points(best->mean(measure)) + " %" + said;
}

/// The lowest of all, and what the paper's choice reaches.
std::string lowest(const Json& claim, const std::vector<Result>& results) {
  const std::string measure = claim.at("measure"), method = claim.at("method"), setting = claim.at("setting");
  const auto below = [&](const Result& a, const Result& b) { return a.mean(measure) < b.mean(measure); };
  const auto best = std::min_element(results.begin(), results.end(), below);
  const Result& theirs = claimed("lowest", results, method, setting);
  const Summary &a = best->measure.at(measure), &b = theirs.measure.at(measure);
  return "lowest " + measure + " " + points(a.mean) + " +- " + points(a.deviation) + " % with " + best->method + ", " +
         best->setting + "; the paper's good choice, " + method + ", " + setting + ": " + points(b.mean) + " +- " +
         points(b.deviation) + " %";
}

/// A method costs at most so many times more at one setting than at another; what others cost there.
std::string alike(const Json& claim, const std::vector<Result>& results) {
  const std::string measure = claim.at("measure");
  const std::string method = claim.at("method"), from = claim.at("from"), to = claim.at("to");
  const auto times = [&](const std::string& of) {
    return claimed("alike", results, of, to).mean(measure) / claimed("alike", results, of, from).mean(measure);
  };
  const double ours = times(method), most = claim.at("at_most");
  std::string said = (ours <= most ? "as claimed: " : "not as claimed: ") + method + " costs " + fixed(ours, 2) +
                     " times as many " + measure + " at " + to + " as at " + from + " (expected at most " + fixed(most, 2) +
                     ")";
  for (const Json& other : claim.at("others")) said += ", " + other.get<std::string>() + " " + fixed(times(other), 2);
  return said;
}

/// Claims "a is at least b, less the slack": [a, b, slack] of one measure.
std::string at_least(const Json& claims, const std::vector<Result>& results) {
  const std::string measure = claims.at("measure");
  std::size_t good = 0;
  std::string not_so;
  for (const Json& claim : claims.at("claims")) {
    const std::string first = claim.at(0), second = claim.at(1);
    const double a = claimed("at_least", results, first).mean(measure),
                 b = claimed("at_least", results, second).mean(measure);
    if (a >= b - claim.at(2).get<double>())
      ++good;
    else
      not_so += "; " + first + " is " + points(b - a) + " points below " + second;
  }
  return std::to_string(good) + " of " + std::to_string(claims["claims"].size()) + " relations hold" + not_so;
}

}  // namespace

Json row_verdict(const Json& group, const Json& row, const Result& r) {
  if (!group.value("same_data", false) || !row.contains("band")) return nullptr;
  return in_band(row, r) ? "reproduced" : "not reproduced";
}

std::string verdict(const Json& paper, const Json& group, const std::vector<Result>& results) {
  std::vector<std::string> said;
  if (group.contains("knee")) {
    for (const Json& claim : group["knee"]) said.push_back(knee(claim, results));
    return joined(said, "; ");
  }
  if (group.value("same_data", false) && !paper.contains("figure")) {
    std::size_t banded = 0, good = 0;
    for (std::size_t i = 0; i < results.size(); ++i)
      if (group["rows"][i].contains("band")) {
        ++banded;
        good += in_band(group["rows"][i], results[i]);
      }
    if (banded > 0)
      said.push_back(good == banded ? "reproduced, all " + std::to_string(banded) + " methods within their bands"
                                    : "not reproduced, " + std::to_string(banded - good) + " of " + std::to_string(banded) +
                                          " methods outside their bands");
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
    return r != nullptr ? r->mean(measure) : std::nan("");
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
    if (!from) throw DataError("order from " + quoted_value(first) + "; expected one of the settings");
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

}  // namespace quorate::papers
