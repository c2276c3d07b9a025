#include "quorate/weights/beliefs.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "quorate/base/error.h"

namespace quorate {

Beliefs::Beliefs(std::size_t slots, std::pmr::memory_resource* memory)
    : memory_(memory), store_(SparseBlocks<Belief>(memory)) {
  if (slots > 0) store_.emplace<HashedCells<Belief>>(slots, memory);
}

namespace {

/// The margin under beliefs at(feature). Two lanes of each sum alternate, and are added at the end: a fixed order, with four
/// additions under way at a time.
template <class At>
MarginEstimate evidence(const Features& x, At at) {
  MarginEstimate sum, other;
  for (std::size_t f = 0; f < x.size(); ++f) {
    const auto belief = at(x.at(f));
    const double v = x.value[f];
    for (std::size_t k : {0u, 1u}) sum.mean[k] += static_cast<double>(belief.weight[k]) * v;
    sum.variance += v * v * belief.variance();
    std::swap(sum, other);
  }
  return {{sum.mean[0] + other.mean[0], sum.mean[1] + other.mean[1]}, sum.variance + other.variance};
}

}  // namespace

MarginEstimate Beliefs::operator()(std::uint32_t block, const Features& x) const {
  if (const auto* table = std::get_if<HashedCells<Belief>>(&store_))
    return evidence(x, [table, block](Index feature) { return table->at(block, feature); });
  std::optional<MarginEstimate> out;
  std::get<SparseBlocks<Belief>>(store_).read(block, x, [&](auto at) { out = evidence(x, at); });
  // Summed in the same order, so that a missing block gives the same bits as one of initial beliefs.
  return out ? *out : evidence(x, [](Index) { return Belief{}; });
}

void Beliefs::prefetch(std::uint32_t block, const Features& x) const {
  std::visit([&](const auto& store) { store.prefetch(block, x); }, store_);
}

void Beliefs::learn(std::uint32_t block, const Features& x, double scale, const OfMeans& alpha, double beta) {
  constexpr double kMost = 1 - 0x1p-20;  // largest share of a variance that one example removes: never all
  constexpr double kLargest = 1e36;      // largest stored number: huge values and a tiny noise never make it infinite
  const auto change = [&](std::size_t f, Belief& b) {
    const double v = scale * x.value[f], s = b.variance();
    for (std::size_t k : {0u, 1u}) {
      const double weight = static_cast<double>(b.weight[k]) + alpha[k] * s * v;
      b.weight[k] = static_cast<float>(std::clamp(weight, -kLargest, kLargest));
    }
    if (beta == 0) return;
    const double q = std::min(beta * s * v * v, kMost);  // s (1 - q) = 1 / (1 + information + (1 + information) q / (1 - q))
    const double information = static_cast<double>(b.information);
    b.information = static_cast<float>(std::min(information + (1 + information) * (q / (1 - q)), kLargest));
  };
  std::visit([&](auto& store) { store.change(block, x, change); }, store_);
}

void Beliefs::reserve(std::uint32_t block, const Features& x) {
  if (auto* blocks = std::get_if<SparseBlocks<Belief>>(&store_)) blocks->reserve(block, x);
}

void Beliefs::touch(std::uint32_t block, const Features& x) {
  if (auto* blocks = std::get_if<SparseBlocks<Belief>>(&store_)) blocks->change(block, x, [](std::size_t, Belief&) {});
}

std::size_t Beliefs::slots() const {
  const auto* fixed = std::get_if<HashedCells<Belief>>(&store_);
  return fixed != nullptr ? fixed->cells().size() : 0;
}

Beliefs::Packed Beliefs::pack() const {
  if (const auto* table = std::get_if<HashedCells<Belief>>(&store_)) {
    const auto& cells = table->cells();
    return {{},
            {},
            Column<float>::of(cells.size(), [&cells](std::size_t i) { return cells[i].weight[0]; }),
            Column<float>::of(cells.size(), [&cells](std::size_t i) { return cells[i].weight[1]; }),
            Column<float>::of(cells.size(), [&cells](std::size_t i) { return cells[i].information; }),
            {}};
  }
  const auto& blocks = std::get<SparseBlocks<Belief>>(store_);
  const auto order = blocks.order();
  return {blocks.block_column(order),
          blocks.column<Index>(order, [](Index feature, const Belief&) { return feature; }),
          blocks.column<float>(order, [](Index, const Belief& b) { return b.weight[0]; }),
          blocks.column<float>(order, [](Index, const Belief& b) { return b.weight[1]; }),
          blocks.column<float>(order, [](Index, const Belief& b) { return b.information; }),
          blocks.rooms(order)};
}

void Beliefs::unpack(const Packed& packed) {
  const std::size_t n = packed.weight.size(), named = packed.block.size();
  const auto check = [](bool good, const char* why) {
    if (!good) throw DataError(std::string("beliefs: ") + why);
  };
  check(packed.second.size() == n && packed.information.size() == n && packed.feature.size() == named &&
            (named == n || named == 0),
        "block, feature, weight, second and information differ in size");
  std::pair<std::uint32_t, Index> before;
  std::size_t count = 0;  // number of blocks
  for (std::size_t i = 0; i < n; ++i) {
    check(std::isfinite(packed.weight[i]) && std::isfinite(packed.second[i]) && std::isfinite(packed.information[i]) &&
              packed.information[i] >= 0,
          "expected finite weights, and finite information from 0");
    if (named == 0) continue;
    check(packed.feature[i] <= kMaxIndex + 1 && packed.block[i] != 0xFFFFFFFFu, "a block or a feature out of range");
    const std::pair place(packed.block[i], packed.feature[i]);
    check(i == 0 || place > before, "out of order");
    count += i == 0 || place.first != before.first;
    before = place;
  }
  const auto belief = [&](std::size_t i) { return Belief{{packed.weight[i], packed.second[i]}, packed.information[i]}; };
  if (n > 0 && named == 0) {
    auto& table = store_.emplace<HashedCells<Belief>>(n, memory_);
    for (std::size_t i = 0; i < n; ++i) table.cells()[i] = belief(i);
    return;
  }
  auto& blocks = store_.emplace<SparseBlocks<Belief>>(memory_);
  blocks.reserve_blocks(count, packed.rooms);
  for (std::size_t begin = 0, end = 0; begin < n; begin = end) {  // a block at a time
    const std::uint32_t block = packed.block[begin];
    while (end < n && packed.block[end] == block) ++end;
    blocks.restore(
        block, end - begin, [&](std::size_t k) { return packed.feature[begin + k]; },
        [&](std::size_t k) { return belief(begin + k); });
  }
}

}  // namespace quorate
