// A whole file of examples in memory, for runs that shuffle and split it.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "quorate/stream/example_reader.h"

namespace quorate {

class Dataset {
 public:
  std::size_t size() const { return task_.size(); }
  Example example(std::size_t i) const;                 ///< valid while the set lives and does not grow
  int label(std::size_t i) const { return label_[i]; }  ///< +1, -1, or 0 if unknown; of classes: 1 + place, or 0
  Task task(std::size_t i) const { return task_[i]; }
  std::optional<double> time(std::size_t i) const;  ///< seconds since 1970-01-01 UTC, if known
  std::size_t distinct_features() const;            ///< features that occur at all, the constant one included

  void add(Task task, int label, const Features& x, std::optional<double> time = {});
  void clear();
  /// Classes have new places: the class at c is now at place[c].
  void move_classes(const std::vector<std::size_t>& place);
  /// Adds every example of `examples`, giving tasks their places in `tasks`.
  void read(ExampleReader& examples, NameTable& tasks);

 private:
  struct Extent {
    std::uint64_t index = 0, value = 0;  // where an example's part of index_ and value_ ends
  };
  std::vector<Task> task_;
  std::vector<std::int16_t> label_;
  std::vector<double> time_;  // NaN: unknown; empty as long as no example has a time
  std::vector<Extent> end_;
  std::vector<double> norm_;
  std::vector<Index> index_;  // of sparse examples
  std::vector<double> value_;
};

}  // namespace quorate
