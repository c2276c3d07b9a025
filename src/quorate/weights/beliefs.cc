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

using Two __attribute__((vector_size(16))) = double;  // as wide as every processor has them

Two both(double a) { return Two{a, a}; }
Two weights(const std::array<float, 2>& w) { return Two{w[0], w[1]}; }

/// The margin under beliefs at(feature). Features of even and of odd places are summed apart, and then added: a fixed order,
/// in which two means, or the variances of two features, are computed at once.
template <class At>
MarginEstimate evidence(const Features& x, At at) {
  Two mean{}, other{}, variance{};  // of even and of odd places, each both means; the variances of both
  const std::size_t whole = x.size() & ~std::size_t{1};
  for (std::size_t f = 0; f < whole; f += 2) {
    const auto one = at(x.at(f)), two = at(x.at(f + 1));
    const Two v{x.value[f], x.value[f + 1]};
    mean += weights(one.weight) * both(v[0]);
    other += weights(two.weight) * both(v[1]);
    variance += v * v * (1 / (1 + Two{one.information, two.information}));
  }
  if (whole < x.size()) {
    const auto last = at(x.at(whole));
    const double v = x.value[whole];
    mean += weights(last.weight) * both(v);
    variance[0] += v * v * last.variance();
  }
  mean += other;
  return {{mean[0], mean[1]}, variance[0] + variance[1]};
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
  const Two both_alphas{alpha[0], alpha[1]};
  const auto change = [&](std::size_t f, Belief& b) {
    const double v = scale * x.value[f], s = b.variance();
    Two w = weights(b.weight) + both_alphas * both(s) * both(v);  // both at once
    w = w < -kLargest ? both(-kLargest) : kLargest < w ? both(kLargest) : w;
    b.weight = {static_cast<float>(w[0]), static_cast<float>(w[1])};
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
