#include "quorate/stream/dataset.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace quorate {

Example Dataset::example(std::size_t i) const {
  const Extent begin = i == 0 ? Extent{} : end_[i - 1], end = end_[i];
  return {task_[i],
          {{index_.data() + begin.index, end.index - begin.index},
           {value_.data() + begin.value, end.value - begin.value},
           norm_[i]}};
}

std::optional<double> Dataset::time(std::size_t i) const {
  if (time_.empty() || std::isnan(time_[i])) return {};
  return time_[i];
}

void Dataset::add(Task task, int label, const Features& x, std::optional<double> time) {
  constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
  if (time && time_.empty()) time_.assign(size(), kUnknown);
  if (time || !time_.empty()) time_.push_back(time.value_or(kUnknown));
  task_.push_back(task);
  label_.push_back(static_cast<std::int16_t>(label));
  index_.insert(index_.end(), x.index.begin(), x.index.end());
  value_.insert(value_.end(), x.value.begin(), x.value.end());
  end_.push_back({index_.size(), value_.size()});
  norm_.push_back(x.norm);
}

void Dataset::clear() {
  task_.clear();
  label_.clear();
  time_.clear();
  end_.clear();
  norm_.clear();
  index_.clear();
  value_.clear();
}

void Dataset::move_classes(const std::vector<std::size_t>& place) {
  for (std::int16_t& label : label_)
    if (label > 0) label = static_cast<std::int16_t>(place[static_cast<std::size_t>(label) - 1] + 1);
}

void Dataset::read(ExampleReader& examples, NameTable& tasks) {
  ExampleReader::Item item;
  while (examples.next(item)) add(tasks.intern(item.task), item.label, item.x, item.time);
}

std::size_t Dataset::distinct_features() const {
  std::vector<Index> all;
  std::vector<bool> dense;
  for (std::size_t i = 0; i < size(); ++i) {
    const Features x = example(i).x;
    if (!x.dense()) continue;
    if (x.size() > dense.size()) dense.resize(x.size());
    for (std::size_t f = 0; f < x.size(); ++f)
      if (x.value[f] != 0) dense[f] = true;
  }
  for (std::size_t f = 0; f < dense.size(); ++f)
    if (dense[f]) all.push_back(static_cast<Index>(f));
  all.insert(all.end(), index_.begin(), index_.end());
  std::sort(all.begin(), all.end());
  return static_cast<std::size_t>(std::unique(all.begin(), all.end()) - all.begin());
}

}  // namespace quorate
