// Data of two tasks, one feature each, that a perceptron learns.
#pragma once
#include "quorate/experiments/experiment_data.h"
#include "support/temp.h"

namespace quorate::test {

inline ExperimentData small_experiment() {
  const TempDir dir;
  std::string lines = "task,label,a,b\n";
  for (int n = 0; n < 40; ++n) {
    const bool yes = n % 3 == 0;
    lines +=
        std::string(n % 2 == 0 ? "u," : "v,") + (yes ? "1," : "-1,") + (yes ? "1," : "-1,") + std::to_string(n % 5) + "\n";
  }
  ExperimentData data;
  data.read(dir.write("a.csv", lines), {}, data.train);
  data.finish();
  return data;
}

}  // namespace quorate::test
