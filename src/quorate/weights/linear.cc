#include "quorate/weights/linear.h"

#include <algorithm>
#include <cmath>

#include "quorate/base/error.h"

namespace quorate {

double Linear::operator()(std::uint32_t block, const Features& x) const {
  double margin = 0;
  w_.read(block, x, [&](auto w) { margin = dot(x, [&](Index feature) { return static_cast<double>(w(feature)); }); });
  return margin;
}

void Linear::gather(std::uint32_t block, const Features& x, std::size_t begin, std::span<double> out) const {
  std::fill(out.begin(), out.end(), 0.0);
  w_.read(block, x, [&](auto w) {
    for (std::size_t k = 0; k < out.size(); ++k) out[k] = static_cast<double>(w(x.at(begin + k)));
  });
}

void Linear::add(std::uint32_t block, double a, const Features& x) {
  w_.change(block, x, [&](std::size_t k, float& w) { w = static_cast<float>(static_cast<double>(w) + a * x.value[k]); });
}

Linear::Packed Linear::pack() const {
  const auto order = w_.order();
  return {w_.block_column(order), w_.column<Index>(order, [](Index feature, float) { return feature; }),
          w_.column<float>(order, [](Index, float w) { return w; }), w_.rooms(order)};
}

void Linear::unpack(const Packed& packed) {
  const std::size_t n = packed.value.size();
  if (packed.block.size() != n || packed.feature.size() != n)
    throw DataError("weights: block, feature and value differ in size");
  std::pair<std::uint32_t, Index> before;
  std::size_t blocks = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const auto fail = [i](const char* why) { throw DataError("weights: entry " + std::to_string(i) + " is " + why); };
    if (!std::isfinite(packed.value[i])) fail("not finite");
    if (packed.feature[i] > kMaxIndex + 1 || packed.block[i] == 0xFFFFFFFFu) fail("out of range");
    const std::pair place(packed.block[i], packed.feature[i]);
    if (i > 0 && place <= before) fail("out of order");
    blocks += i == 0 || place.first != before.first;
    before = place;
  }
  w_ = SparseBlocks<float>(w_.memory());
  w_.reserve_blocks(blocks, packed.rooms);
  for (std::size_t begin = 0, end = 0; begin < n; begin = end) {  // a block at a time
    const std::uint32_t block = packed.block[begin];
    while (end < n && packed.block[end] == block) ++end;
    w_.restore(
        block, end - begin, [&](std::size_t k) { return packed.feature[begin + k]; },
        [&](std::size_t k) { return packed.value[begin + k]; });
  }
}

}  // namespace quorate
