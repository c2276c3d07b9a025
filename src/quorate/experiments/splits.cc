#include "quorate/experiments/splits.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace quorate {

Split split_folds(std::size_t examples, std::uint64_t folds, std::uint64_t fold, Rng order) {
  std::vector<std::uint64_t> all = learn_all(examples).learn;
  shuffle(std::span(all), order);
  Split out;
  for (std::size_t n = 0; n < all.size(); ++n) (n % folds == fold ? out.test : out.learn).push_back(all[n]);
  return out;
}

std::size_t test_examples(std::size_t examples, double share) {
  const auto wanted = static_cast<std::size_t>(std::llround(share * static_cast<double>(examples)));
  return std::clamp<std::size_t>(wanted, 1, examples - 1);
}

Split split_share(std::size_t examples, double share, bool in_order, Rng& rng) {
  Split out;
  std::vector<std::uint64_t> all = learn_all(examples).learn;
  if (!in_order) shuffle(std::span(all), rng);
  const auto cut = all.end() - static_cast<std::ptrdiff_t>(test_examples(examples, share));
  out.learn.assign(all.begin(), cut);
  out.test.assign(cut, all.end());
  std::sort(out.learn.begin(), out.learn.end());
  return out;
}

Split learn_all(std::size_t examples) {
  Split out;
  out.learn.resize(examples);
  std::iota(out.learn.begin(), out.learn.end(), std::uint64_t{0});
  return out;
}

Schedule rounds_per_task(const Dataset& data, std::span<const std::uint64_t> order, std::size_t tasks) {
  std::vector<std::vector<std::uint64_t>> queue(tasks);
  std::size_t longest = 0;
  for (const std::uint64_t i : order) {
    auto& of_task = queue[data.task(i)];
    of_task.push_back(i);
    longest = std::max(longest, of_task.size());
  }
  Schedule out;
  for (std::size_t r = 0; r < longest; ++r) {
    for (const auto& of_task : queue)
      if (r < of_task.size()) out.example.push_back(of_task[r]);
    out.end.push_back(out.example.size());
  }
  return out;
}

Schedule rounds_of_one(std::span<const std::uint64_t> order) {
  Schedule out;
  out.example.assign(order.begin(), order.end());
  out.end.resize(order.size());
  std::iota(out.end.begin(), out.end.end(), std::size_t{1});
  return out;
}

}  // namespace quorate
