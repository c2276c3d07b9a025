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
  Packed out;
  w_.for_each([&](std::uint32_t block, Index feature, float w) {
    out.block.push_back(block);
    out.feature.push_back(feature);
    out.value.push_back(w);
  });
  return out;
}

void Linear::unpack(const Packed& packed) {
  const std::size_t n = packed.value.size();
  if (packed.block.size() != n || packed.feature.size() != n)
    throw DataError("weights: block, feature and value differ in size");
  for (std::size_t i = 0; i < n; ++i) {
    const auto fail = [i](const char* why) { throw DataError("weights: entry " + std::to_string(i) + " is " + why); };
    if (!std::isfinite(packed.value[i])) fail("not finite");
    if (packed.feature[i] > kMaxIndex + 1 || packed.block[i] == 0xFFFFFFFFu) fail("out of range");
    if (i > 0 && std::pair(packed.block[i], packed.feature[i]) <= std::pair(packed.block[i - 1], packed.feature[i - 1]))
      fail("out of order");
  }
  w_ = SparseBlocks<float>(w_.memory());
  std::vector<double> value;
  for (std::size_t begin = 0, end = 0; begin < n; begin = end) {  // a block at a time
    while (end < n && packed.block[end] == packed.block[begin]) ++end;
    value.assign(packed.value.begin() + static_cast<std::ptrdiff_t>(begin),
                 packed.value.begin() + static_cast<std::ptrdiff_t>(end));
    add(packed.block[begin], 1, {std::span(packed.feature).subspan(begin, end - begin), value});
  }
}

}  // namespace quorate
