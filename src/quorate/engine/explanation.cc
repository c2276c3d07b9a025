#include "quorate/engine/explanation.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "quorate/registry.h"

namespace quorate {

namespace {

/// Without what rounding added when the value was divided by the norm: 1, not 0.9999999999999999.
double in_15_digits(double value) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, value, std::chars_format::scientific, 14).ptr;
  double out = value;
  std::from_chars(text, end, out);
  return out;
}

}  // namespace

void check_explains(const Model& model) {
  if (model.session.learner().capabilities().additive) return;
  throw UsageError("the margins of " + model.session.spec().word +
                   " are no sums over features, so it cannot explain them; expected one of " +
                   learners_with(&Capabilities::additive));
}

std::vector<Reason> explain(const Model& model, Task first, const Features& x,
                            std::span<const std::pair<Index, std::string>> names, std::size_t predicted, std::size_t count) {
  check_explains(model);
  const Learner& learner = model.session.learner();
  std::vector<Contribution> sum(x.size()), one(x.size());
  double margin = 0;
  if (!model.classes) {
    learner.explain({first, x}, sum);
    margin = learner.score({first, x});
  } else {
    for (Task task = 0; task < model.classes->tasks(); ++task) {
      const double sign = model.classes->feedback(task, predicted);
      if (sign == 0 || (sign < 0 && model.classes->reduction() == Classes::Reduction::kOneVsRest)) continue;
      learner.explain(model.classes->example(first, task, x), one);
      margin += sign * learner.score(model.classes->example(first, task, x));
      for (std::size_t k = 0; k < x.size(); ++k) {
        sum[k].shared += sign * one[k].shared;
        sum[k].own += sign * one[k].own;
        sum[k].uncertainty += one[k].uncertainty;
      }
    }
  }
  const auto size = [&](std::size_t k) { return std::abs(sum[k].shared + sum[k].own); };
  std::vector<std::size_t> order;
  for (std::size_t k = 0; k < x.size(); ++k)
    if (sum[k].shared != 0 || sum[k].own != 0) order.push_back(k);
  const auto shown = std::min(count, order.size());
  for (const std::size_t k : order) margin -= sum[k].shared + sum[k].own;
  const auto largest =
      std::max_element(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return size(a) < size(b); });
  if (largest != order.end()) sum[*largest].shared += margin;  // what rounding left
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(shown), order.end(),
                    [&](std::size_t a, std::size_t b) { return size(a) != size(b) ? size(a) > size(b) : a < b; });
  std::vector<Reason> out;
  for (std::size_t n = 0; n < shown; ++n) {
    const std::size_t k = order[n];
    const Index place = x.at(k);
    const auto name =
        std::lower_bound(names.begin(), names.end(), place, [](const auto& a, Index b) { return a.first < b; });
    const bool named = name != names.end() && name->first == place;
    out.push_back({named        ? name->second
                   : place == 0 ? "constant"
                                : std::to_string(place - 1),
                   in_15_digits(x.norm * x.value[k]), sum[k]});
  }
  return out;
}

}  // namespace quorate
