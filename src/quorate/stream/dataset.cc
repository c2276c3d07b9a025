#include "quorate/stream/dataset.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace quorate {

Example Dataset::example(std::size_t i) const { return {task_[i], x_[i], 0, weight_.empty() ? 1 : weight_[i]}; }

std::optional<double> Dataset::time(std::size_t i) const {
  if (time_.empty() || std::isnan(time_[i])) return {};
  return time_[i];
}

void Dataset::add(Task task, Label label, const Features& x, std::optional<double> time, double weight) {
  constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
  if (time && time_.empty()) time_.assign(size(), kUnknown);
  if (time || !time_.empty()) time_.push_back(time.value_or(kUnknown));
  if (weight != 1 && weight_.empty()) weight_.assign(size(), 1);
  if (!weight_.empty()) weight_.push_back(weight);
  task_.push_back(task);
  label_.push_back(label);
  x_.add(x);
}

void Dataset::move_classes(const std::vector<std::size_t>& index) {
  for (Label& label : label_)
    if (label.known()) label = Label::of_class(index[label.class_index()]);
}

void Dataset::read(ExampleReader& examples, NameTable& tasks, const std::stop_token& stop) {
  ExampleReader::Item item;
  while (!stop.stop_requested() && examples.next(item))
    add(tasks.intern(item.task), item.label, item.x, item.time, item.weight);
}

std::size_t Dataset::distinct_features() const {
  std::vector<Index> all;
  std::vector<bool> dense;
  for (std::size_t i = 0; i < size(); ++i) {
    const Features x = x_[i];
    all.insert(all.end(), x.index.begin(), x.index.end());
    if (!x.dense()) continue;
    if (x.size() > dense.size()) dense.resize(x.size());
    for (std::size_t f = 0; f < x.size(); ++f)
      if (x.value[f] != 0) dense[f] = true;
  }
  for (std::size_t f = 0; f < dense.size(); ++f)
    if (dense[f]) all.push_back(static_cast<Index>(f));
  std::sort(all.begin(), all.end());
  return static_cast<std::size_t>(std::unique(all.begin(), all.end()) - all.begin());
}

}  // namespace quorate
