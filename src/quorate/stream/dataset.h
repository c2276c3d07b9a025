// A whole file of examples in memory, for runs that shuffle and split it.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "quorate/base/answer.h"
#include "quorate/base/feature_rows.h"
#include "quorate/stream/example_reader.h"

namespace quorate {

class Dataset {
 public:
  std::size_t size() const { return task_.size(); }
  Example example(std::size_t i) const;  ///< valid while the set lives and does not grow
  Label label(std::size_t i) const { return label_[i]; }
  Task task(std::size_t i) const { return task_[i]; }
  std::optional<double> time(std::size_t i) const;  ///< seconds since 1970-01-01 UTC, if known
  std::size_t distinct_features() const;            ///< features that occur at all, the constant one included

  void add(Task task, Label label, const Features& x, std::optional<double> time = {}, double weight = 1);
  /// Classes have new indices: class c is now class index[c].
  void move_classes(const std::vector<std::size_t>& index);
  /// Adds every example of `examples`, giving tasks their ids in `tasks`; ends early once `stop` is requested.
  void read(ExampleReader& examples, NameTable& tasks, const std::stop_token& stop = {});

 private:
  std::vector<Task> task_;
  std::vector<Label> label_;
  std::vector<double> time_;    // NaN: unknown; empty as long as no example has a time
  std::vector<double> weight_;  // empty as long as all are 1
  FeatureRows x_;
};

}  // namespace quorate
