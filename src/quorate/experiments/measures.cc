#include "quorate/experiments/measures.h"

#include <cmath>

#include "quorate/metrics/statistics.h"

namespace quorate {
namespace {

/// Counts by truth, then by prediction.
Json matrix(const ClassConfusion& confusion) {
  Json out = Json::array();
  for (std::size_t truth = 0; truth < confusion.classes(); ++truth) {
    out.push_back(Json::array());
    for (std::size_t c = 0; c < confusion.classes(); ++c) out.back().push_back(confusion(truth, c));
  }
  return out;
}

}  // namespace

NamedMeasures measures(const Measures& m) {
  return {
      {"accuracy", m.accuracy}, {"balanced_accuracy", m.balanced_accuracy},         {"f1", m.f1},
      {"auc", m.auc},           {"average_precision", m.ranking.average_precision}, {"recall@0.9", m.ranking.recall_at_90},
      {"lift", m.ranking.lift}};
}
NamedMeasures measures(const RunTotals& o) {
  NamedMeasures out = measures(o.test);
  out.emplace_back("progressive_f1", o.progressive_f1);
  out.emplace_back("mistakes", static_cast<double>(o.mistakes));
  out.emplace_back("labels", static_cast<double>(o.labels));
  out.emplace_back("updates", static_cast<double>(o.updates));
  return out;
}
NamedMeasures measures(const RunResult& r) {
  auto out = measures(r.all);
  if (r.progressive.classes() > 0) {
    out.emplace_back("error", r.test.error());
    out.emplace_back("progressive_error", r.progressive.error());
  }
  if (r.reliability.examples() > 0) {
    out.emplace_back("brier", r.reliability.brier());
    out.emplace_back("calibration_error", r.reliability.error());
  }
  if (r.audit) {
    out.emplace_back("audit_labels", static_cast<double>(r.audit->audit.bought()));
    const auto add = [&](const std::string& name, const Estimate& of) {
      out.emplace_back(name, of.value);
      out.emplace_back(name + "_low", of.low);
      out.emplace_back(name + "_high", of.high);
    };
    r.audit->now.for_each([&](const char* name, const Estimate& of) { add(std::string("audit_") + name, of); });
    out.emplace_back("audit_always", r.audit->now.always);
    add("audit_stream", r.audit->audit.stream());
    add("audit_recent", r.audit->audit.recent());
    if (const auto& f = r.audit->forecast) {
      out.emplace_back("forecast", f->labels);
      out.emplace_back("forecast_low", f->low);
      out.emplace_back("forecast_high", f->high);
    }
  }
  if (r.late) {
    out.emplace_back("pending", static_cast<double>(r.pending));
    out.emplace_back("unanswered", static_cast<double>(r.unanswered));
  }
  out.emplace_back("seconds", r.seconds);
  out.emplace_back("model_bytes", static_cast<double>(r.model_bytes));
  out.emplace_back("peak_bytes", static_cast<double>(r.peak_bytes));
  return out;
}

bool is_count(const std::string& name) {
  return name == "mistakes" || name == "labels" || name == "updates" || name == "pending" || name == "unanswered" ||
         name == "audit_labels" || name == "shared" || name == "refused" || name.ends_with("_bytes");
}

Json object(const NamedMeasures& values) {
  Json out = Json::object();
  for (const auto& [name, value] : values)
    out[name] = is_count(name) ? Json(static_cast<std::uint64_t>(value)) : number(value);
  return out;
}

std::vector<double> values_of(const SimulateResult& result, const std::string& measure) {
  std::vector<double> out;
  for (const RunResult& r : result.runs)
    for (const auto& [name, value] : measures(r))
      if (name == measure) out.push_back(value);
  return out;
}

std::pair<Json, Json> mean_and_std(const std::vector<RunResult>& runs) {
  Json mean = Json::object(), deviation = Json::object();
  std::vector<NamedMeasures> all;
  for (const RunResult& r : runs) all.push_back(measures(r));
  for (std::size_t m = 0; m < all[0].size(); ++m) {
    std::vector<double> values;
    for (const NamedMeasures& run : all) values.push_back(run[m].second);
    const Summary s = summary(values);
    mean[all[0][m].first] = number(s.mean);
    deviation[all[0][m].first] = number(s.deviation);
  }
  return {mean, deviation};
}

const ClassConfusion& class_confusion(const RunResult& r) { return r.test.total() > 0 ? r.test : r.progressive; }

Json document(const SimulateResult& result, const ExperimentData& data, const SimulateOptions& options) {
  Json out;
  out["learner"] = to_text(result.learner);
  out["rounds"] = word_of(result.rounds);
  out["limits"] = limits_json(data.limits(options), options.learning.pace.has_value());
  if (data.reduction.has_classes()) out["classes"] = data.reduction.classes();
  if (data.reduction.users()) out["users"] = data.tasks.size();
  out["tasks"] = result.tasks;
  out["features"] = result.features;
  out["examples"] = result.examples;
  out["runs"] = Json::array();
  for (const RunResult& r : result.runs) {
    Json run = {{"seed", r.seed}};
    run.update(object(measures(r)));
    if (data.reduction.has_classes()) {
      run["recall"] = Json::object();
      for (std::size_t c = 0; c < data.reduction.size(); ++c)
        run["recall"][data.reduction.classes()[c]] = number(class_confusion(r).recall(c));
      if (r.test.total() > 0) run["confusion"] = matrix(r.test);
      run["progressive_confusion"] = matrix(r.progressive);
    }
    if (r.audit) {
      run["stopped"] = r.stopped;
      if (r.audit->forecast) {
        run["forecast_none"] = r.audit->forecast->none.empty() ? Json(nullptr) : Json(r.audit->forecast->none);
        run["forecast_floor_possible"] = r.audit->forecast->floor_possible;
      }
    }
    if (!r.per_task.empty()) {
      run["per_task"] = Json::object();
      for (Task task = 0; task < r.per_task.size(); ++task) {
        Json& entry = run["per_task"][std::string(data.tasks[task])] = object(measures(r.per_task[task]));
        entry["examples"] = r.per_task[task].examples;
      }
    }
    out["runs"].push_back(std::move(run));
  }
  const auto [mean, std] = mean_and_std(result.runs);
  out["mean"] = mean;
  out["std"] = std;
  return out;
}

Json trace_json(const TraceLine& t, const ExperimentData& data) {
  const Decision& d = t.outcome.decision;
  Json out{{"run", t.run},
           {"pass", t.pass},
           {"round", t.round},
           {"example", t.example},
           {"task", data.task_name(t.task)},
           {"margin", d.margin},
           {"probability", d.probability},
           {"draw", number(d.draw)},
           {"asked", t.outcome.asked},
           {"label", t.outcome.answer ? Json(int{*t.outcome.answer}) : Json(nullptr)},
           {"updated", t.outcome.updated}};
  if (t.support_vectors) out["support_vectors"] = *t.support_vectors;
  if (t.outcome.audited) out["audited"] = true;
  if (t.outcome.ticket) out["ticket"] = *t.outcome.ticket;
  if (t.late) out["late"] = true;
  if (data.reduction.has_classes()) out["question"] = data.question(t.task);
  if (!std::isnan(d.peer_margin)) {
    out["peer_margin"] = d.peer_margin;
    out["peer_draw"] = d.peer_draw;
  }
  return out;
}

}  // namespace quorate
