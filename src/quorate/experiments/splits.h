// Splits data for a run: the examples to learn from, in order, and the test set.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "quorate/base/counted.h"
#include "quorate/base/rng.h"
#include "quorate/stream/dataset.h"

namespace quorate {

inline constexpr std::uint64_t kOrderStream = 0;  ///< of a run's seed: draws its split and its order

/// The examples of one run: indices in the training data.
struct Split {
  std::vector<std::uint64_t> learn, test;
};

/// Of that many examples: per_group of each of `groups` groups to learn from, the others to test on; group(i) is example
/// i's; groups beyond the last are left out. name(g) is for the message. Throws DataError for a group with too few examples.
template <class Group, class Name>
Split split_per_group(std::size_t all, std::size_t groups, Group group, Name name, std::uint64_t per_group, Rng& rng) {
  std::vector<std::vector<std::uint64_t>> of_group(groups);
  for (std::uint64_t i = 0; i < all; ++i)
    if (const std::size_t g = group(i); g < groups) of_group[g].push_back(i);
  Split out;
  for (std::size_t g = 0; g < groups; ++g) {
    auto& examples = of_group[g];
    if (examples.size() < per_group)
      throw DataError(name(g) + " has " + counted(examples.size(), "example") + "; expected at least the " +
                      std::to_string(per_group) + " to learn from");
    shuffle(std::span(examples), rng);
    const auto cut = examples.begin() + static_cast<std::ptrdiff_t>(per_group);
    out.learn.insert(out.learn.end(), examples.begin(), cut);
    out.test.insert(out.test.end(), cut, examples.end());
  }
  return out;
}

/// Part `fold` of `folds` to test on. All runs of one seed cut the same shuffled order, so every example is tested on once.
Split split_folds(std::size_t examples, std::uint64_t folds, std::uint64_t fold, Rng order);

/// The size of a test set of this share of the examples: at least one and not all. examples: at least 2.
std::size_t test_examples(std::size_t examples, double share);
/// test_examples(examples, share) to test on, drawn at random; in_order: the last ones. The others keep their order.
Split split_share(std::size_t examples, double share, bool in_order, Rng& rng);

/// Every example to learn from, in order.
Split learn_all(std::size_t examples);

/// An order of examples cut into rounds: round r is example[end[r - 1]] .. example[end[r] - 1].
struct Schedule {
  std::vector<std::uint64_t> example;
  std::vector<std::size_t> end;

  std::size_t rounds() const { return end.size(); }
  std::span<const std::uint64_t> round(std::size_t r) const {
    const std::size_t begin = r == 0 ? 0 : end[r - 1];
    return std::span(example).subspan(begin, end[r] - begin);
  }
};

/// Rounds of the next example of every task, in the order of the tasks; a task without more examples is left out.
Schedule rounds_per_task(const Dataset& data, std::span<const std::uint64_t> order, std::size_t tasks);

/// Rounds of one example.
Schedule rounds_of_one(std::span<const std::uint64_t> order);

}  // namespace quorate
