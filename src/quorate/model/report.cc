#include "quorate/model/report.h"

#include <cmath>

namespace quorate {

AuditReport::AuditReport(const Audit& audit, std::uint64_t learned, const Quality& quality)
    : share(audit.share()),
      labels(audit.bought()),
      scored(audit.scored()),
      now(quality),
      stream(audit.stream()),
      recent(audit.recent()),
      earlier(audit.earlier()),
      streams(audit.streams(learned)),
      fell(audit.fell()) {}

std::optional<AuditReport> audit_report(const Model& model, std::size_t most) {
  const Audit* audit = model.session.audit();
  if (audit == nullptr) return std::nullopt;
  return AuditReport(*audit, model.session.learned(), quality_of(model, most));
}

Report::Report(const Model& model)
    : learner(to_text(model.session.spec())),
      scale(model.session.scale()),
      examples(model.session.total().examples),
      updates(model.session.total().updates),
      untracked_examples(model.session.ledger().untracked().examples),
      bought(model.session.budget().bought()),
      answered(model.session.total().labels),
      pending(model.session.pending().size()),
      unanswered(model.session.unanswered()),
      too_late(model.session.too_late()),
      limits(model.session.budget().limits()),
      even(model.session.pace().even()),
      audit(audit_report(model)),
      threshold(model.threshold()),
      classes(model.labels.names()),
      tasks(model.session.task_count()),
      model_bytes(model.bytes()),
      peak_bytes(model.peak_bytes()),
      support_vectors(model.session.support_vectors()),
      names_left_out(model.featurizer.names_left_out()),
      settings(values_json(model.learning)) {
  if (model.session.capabilities().selects) labels_per_round = model.session.labels_per_round();
  if (model.reduction.has_classes()) reduction = word_of(model.reduction.kind());
  if (model.reduction.users()) users = model.session.tasks().size();
  if (model.session.memory_limit() != Memory::kNoLimit) memory_limit = model.session.memory_limit();
  settings.update(values_json(model.featurizer.settings()));
}

namespace {

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json to_json(const Estimate& of) {
  return {{"value", number(of.value)}, {"low", number(of.low)}, {"high", number(of.high)}, {"audits", of.examples}};
}

Json to_json(const AuditReport& audit, const std::vector<std::string>& classes) {
  Json now = Json::object();
  audit.now.for_each([&](const char* name, const Estimate& measure) { now[name] = to_json(measure); });
  now["always"] = {{"label", std::isfinite(audit.now.always) ? Json(classes[audit.now.most_frequent]) : Json()},
                   {"accuracy", number(audit.now.always)}};
  return {{"share", audit.share},
          {"labels", audit.labels},
          {"now", std::move(now)},
          {"stream", to_json(audit.stream)},
          {"recent", to_json(audit.recent)},
          {"earlier", to_json(audit.earlier)},
          {"fell", audit.fell}};
}

}  // namespace

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json limits_json(const LabelLimits& limits, bool even) {
  const auto limit = [](std::uint64_t n) { return n == LabelLimits::kNone ? Json(nullptr) : Json(n); };
  return {{"total", limit(limits.total)},
          {"rate", limits.rate ? Json(to_text(*limits.rate)) : Json(nullptr)},
          {"per_task", limit(limits.per_task)},
          {"pace", even ? Json("even") : Json(nullptr)}};
}

Json to_json(const Report& r) {
  const Json limits = limits_json(r.limits, r.even);
  Json out{{"learner", r.learner},
           {"labels",
            {{"bought", r.bought},
             {"answered", r.answered},
             {"limit", limits["total"]},
             {"rate", limits["rate"]},
             {"per_task", limits["per_task"]},
             {"pace", limits["pace"]},
             {"pending", r.pending},
             {"unanswered", r.unanswered},
             {"too_late", r.too_late}}},
           {"audit", r.audit ? to_json(*r.audit, r.classes) : Json(nullptr)},
           {"threshold", or_null(r.threshold)},
           {"examples", r.examples},
           {"untracked_examples", r.untracked_examples},
           {"updates", r.updates},
           {"model_bytes", r.model_bytes},
           {"peak_bytes", r.peak_bytes},
           {"names_left_out", r.names_left_out},
           {"memory_limit", or_null(r.memory_limit)},
           {"settings", r.settings},
           {"scale", r.scale},
           {"classes", r.classes},
           {"reduction", or_null(r.reduction)},
           {"users", or_null(r.users)},
           {"labels_per_round", or_null(r.labels_per_round)},
           {"task_count", r.tasks}};
  if (r.support_vectors) out["support_vectors"] = *r.support_vectors;
  return out;
}

}  // namespace quorate
