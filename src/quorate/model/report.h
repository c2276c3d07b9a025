// What there is to say of a model, once for all who show it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "quorate/model/quality.h"
#include "quorate/params/json.h"
#include "quorate/session/audit.h"

namespace quorate {

/// What audits say.
struct AuditReport {
  /// learned: labels bought for learning; now: of the model as it is (quality_of).
  AuditReport(const Audit& audit, std::uint64_t learned, const Quality& now);

  double share;          ///< of all labels
  std::uint64_t labels;  ///< bought for audits
  std::uint64_t scored;  ///< those that were right or wrong
  Quality now;
  Estimate stream, recent, earlier;  ///< as Audit has them
  bool streams, fell;                ///< Audit::streams, Audit::fell
};
/// Nothing if there are no audits. Cost and `most`: as quality_of.
std::optional<AuditReport> audit_report(const Model& model, std::size_t most = std::numeric_limits<std::size_t>::max());

/// A model at a moment, all of its life counted.
struct Report {
  explicit Report(const Model& model);

  std::string learner, scale;
  std::uint64_t examples, updates;
  std::uint64_t untracked_examples;                               ///< of tasks that memory has no room for
  std::uint64_t bought, answered, pending, unanswered, too_late;  ///< labels, of which answered; questions; answers
  LabelLimits limits;
  bool even;                                      ///< the total is spent evenly
  std::optional<std::uint64_t> labels_per_round;  ///< of a learner that selects
  std::optional<AuditReport> audit;
  std::optional<double> threshold;   ///< Model::threshold
  std::vector<std::string> classes;  ///< names of the labels, of yes and no, too
  std::optional<std::string> reduction;
  std::optional<std::size_t> users;
  std::size_t tasks;  ///< of all users
  std::size_t model_bytes, peak_bytes;
  std::optional<std::size_t> memory_limit;
  std::optional<std::size_t> support_vectors;
  std::uint64_t names_left_out;
  Json settings;  ///< its options (values_json)
};

Json to_json(const Report& report);
/// Null for NaN and infinity, which JSON does not have.
Json number(double value);
/// {"total": 500, "rate": "50/1000", "per_task": null, "pace": "even"}
Json limits_json(const LabelLimits& limits, bool even);

}  // namespace quorate
