#include "quorate/model/learning_options.h"

#include "quorate/base/number.h"

namespace quorate {

namespace {

bool is_share(const std::string& text) { return text.ends_with('%'); }

}  // namespace

LabelLimits LearningOptions::limits(bool shares) const {
  LabelLimits out;
  for (const std::string& text : labels) try {
      if (!shares || !is_share(text)) out.add(text);
    } catch (const UsageError& e) {
      throw UsageError(std::string("--") + e.what());
    }
  if (labels_per_task) out.per_task = *labels_per_task;
  return out;
}

void LearningOptions::set_limits(const LabelLimits& limits) {
  labels.clear();
  if (limits.total != LabelLimits::kNone) labels.push_back(std::to_string(limits.total));
  if (limits.rate) labels.push_back(to_text(*limits.rate));
  labels_per_task = limits.per_task == LabelLimits::kNone ? std::nullopt : std::optional(limits.per_task);
}

std::size_t LearningOptions::memory_limit() const {
  if (memory && memory->bytes == 0) throw UsageError("--memory 0: expected 1 byte or more");
  return memory ? memory->bytes : Memory::kNoLimit;
}

std::optional<double> LearningOptions::labels_share() const {
  std::optional<double> out;
  for (const std::string& text : labels) {
    if (!is_share(text)) continue;
    const auto percent = parse_number<double>(std::string_view(text).substr(0, text.size() - 1));
    if (!percent || !(*percent >= 0 && *percent <= 100))
      throw UsageError("--labels " + quoted_value(text) + "; expected a share from 0% to 100%");
    if (out || limits(true).total != LabelLimits::kNone)
      throw UsageError("--labels " + quoted_value(text) + ": a second number in all; expected one");
    out = *percent / 100;
  }
  return out;
}

SessionOptions LearningOptions::session() const {
  if (pace.has_value() != length.has_value())
    throw UsageError("--pace even and --length: expected both or neither; --length may be an estimate");
  return {.seed = seed,
          .limits = limits(),
          .spread_over = length.value_or(0),
          .labels_per_round = labels_per_round,
          .memory_limit = memory_limit(),
          .audit = audit,
          .audit_floor = floor_of_audits(),
          .max_pending = max_pending,
          .keep_labels = keep_labels.bytes};
}

}  // namespace quorate
