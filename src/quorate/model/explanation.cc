#include "quorate/model/explanation.h"

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

struct Parts {
  std::vector<Contribution> of;  // each feature
  double margin = 0;
};

/// What each feature of x brings to the margin: of the class `predicted`, or of yes.
Parts parts_of(const Model& model, Task first, const Features& x, std::size_t predicted) {
  const Learner& learner = model.session.learner();
  Parts out{std::vector<Contribution>(x.size())};
  const Reduction& reduction = model.reduction;
  std::vector<Contribution> one(x.size());
  for (Task task = 0; task < reduction.tasks(); ++task) {
    const double sign = reduction.feedback(task, reduction.towards(predicted));
    if (sign == 0 || (sign < 0 && reduction.exclusive())) continue;
    learner.explain(reduction.example(first, task, x), one);
    out.margin += sign * learner.score(reduction.example(first, task, x));
    for (std::size_t k = 0; k < x.size(); ++k) {
      out.of[k].shared += sign * one[k].shared;
      out.of[k].own += sign * one[k].own;
      out.of[k].uncertainty += one[k].uncertainty;
    }
  }
  return out;
}

}  // namespace

void check_explains(const Model& model) {
  if (model.session.capabilities().additive) return;
  throw UsageError("the margins of " + model.session.spec().word +
                   " are no sums over features, so it cannot explain them; expected one of " +
                   learners_with(&Capabilities::additive));
}

std::vector<Reason> explain(const Model& model, Task first, const Features& x,
                            std::span<const std::pair<Index, std::string>> names, std::size_t predicted, std::size_t count) {
  check_explains(model);
  auto [sum, margin] = parts_of(model, first, x, predicted);
  const auto size = [&sum = sum](std::size_t k) { return std::abs(sum[k].shared + sum[k].own); };
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

void HeavyFeatures::Part::add(double c, double value) {
  size += std::abs(c);
  sum += c;
  with_value += c * value;
}

double HeavyFeatures::Sums::mean(const Part& part) const {
  const auto n = static_cast<double>(examples);
  double sign = part.sum;
  // A number in standard units brings parts of both signs, whose sum says nothing: then how they go with its value.
  if (std::abs(part.sum) < part.size * (1 - 1e-9) && n * squares - value * value > 1e-9 * n * squares)
    sign = n * part.with_value - part.sum * value;
  return std::copysign(part.size / n, sign);
}

HeavyFeatures::HeavyFeatures(const Model& model)
    : model_(model), sums_(model.reduction.has_classes() ? model.reduction.size() : 1) {
  check_explains(model);
}

void HeavyFeatures::add(Task first, const Features& x, std::span<const std::pair<Index, std::string>> names) {
  ++examples_;
  for (const auto& [place, name] : names) {
    std::vector<std::string>& known = names_[place];
    if (std::find(known.begin(), known.end(), name) == known.end()) known.push_back(name);
  }
  for (std::size_t c = 0; c < sums_.size(); ++c) {
    const Parts parts = parts_of(model_, first, x, c);
    for (std::size_t k = 0; k < x.size(); ++k) {
      const Contribution& part = parts.of[k];
      if (part.shared == 0 && part.own == 0) continue;
      const double value = x.norm * x.value[k];
      Sums& sums = sums_[c][x.at(k)];
      ++sums.examples;
      sums.value += value;
      sums.squares += value * value;
      sums.all.add(part.shared + part.own, value);
      sums.shared.add(part.shared, value);
      sums.own.add(part.own, value);
    }
  }
}

void HeavyFeatures::add_kept(std::optional<Task> first) {
  const KeptLabels& labels = model_.session.labels();
  UnpackedInstance memory;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (labels[i].audit != 0) continue;
    const Example e = labels.example(i, memory);
    add(first.value_or(model_.reduction.first_of(e)), e.x);
  }
}

std::string HeavyFeatures::name_of(Index place) {
  constexpr std::size_t kMost = 3;
  if (const auto found = names_.find(place); found != names_.end()) {
    std::string out;
    for (std::size_t i = 0; i < std::min(found->second.size(), kMost); ++i) out += (i > 0 ? " / " : "") + found->second[i];
    return out + (found->second.size() > kMost ? " / ..." : "");
  }
  if (const std::string_view name = model_.featurizer.name_of(place); !name.empty()) return std::string(name);
  unnamed_ = true;
  return "#" + std::to_string(place - 1);
}

std::vector<HeavyFeature> HeavyFeatures::top(std::size_t count) {
  std::vector<HeavyFeature> out;
  for (std::size_t c = 0; c < sums_.size(); ++c) {
    std::vector<const std::pair<const Index, Sums>*> order;
    for (const auto& item : sums_[c]) order.push_back(&item);
    const auto shown = std::min(count, order.size());
    std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(shown), order.end(),
                      [](const auto* a, const auto* b) {
                        const double of_a = a->second.all.size, of_b = b->second.all.size;
                        return of_a != of_b ? of_a > of_b : a->first < b->first;
                      });
    for (std::size_t n = 0; n < shown; ++n) {
      const Sums& sums = order[n]->second;
      out.push_back({name_of(order[n]->first), model_.reduction.towards(c), sums.examples, sums.mean(sums.all),
                     sums.mean(sums.shared), sums.mean(sums.own)});
    }
  }
  return out;
}

}  // namespace quorate
