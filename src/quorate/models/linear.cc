#include "quorate/models/linear.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "quorate/base/error.h"

namespace quorate {

double Linear::operator()(std::uint32_t block, const Features& x) const {
  if (in_table_)
    return dot(x, [&](Index feature) {
      const float* w = table_.find(key(block, feature));
      return w == nullptr ? 0.0 : static_cast<double>(*w);
    });
  if (block >= blocks_) return 0;
  const float* w = dense_.data() + block * features_;
  if (x.extent() <= features_) return dot(x, [&](Index feature) { return static_cast<double>(w[feature]); });
  return dot(x, [&](Index feature) { return feature < features_ ? static_cast<double>(w[feature]) : 0.0; });
}

void Linear::add(std::uint32_t block, double a, const Features& x) {
  if (!in_table_ && !fits(block, x.extent())) make_room(block, x.extent());
  for (std::size_t k = 0; k < x.size(); ++k) {
    float& w = place(block, x.at(k));
    w = static_cast<float>(static_cast<double>(w) + a * x.value[k]);
  }
}

void Linear::make_room(std::uint32_t block, std::size_t extent) {
  std::size_t blocks = blocks_, features = features_;
  if (block >= blocks) blocks = std::max<std::size_t>(std::size_t{block} + 1, blocks + blocks / 2);
  if (extent > features) features = std::max(extent, features + features / 2);
  if (blocks <= kDensePlaces && features <= kDensePlaces / blocks) {
    std::pmr::vector<float> grown(blocks * features, 0.0f, dense_.get_allocator());
    for (std::size_t b = 0; b < blocks_; ++b)
      std::copy_n(dense_.data() + b * features_, features_, grown.data() + b * features);
    dense_.swap(grown);
    blocks_ = blocks;
    features_ = features;
    return;
  }
  for (std::size_t b = 0; b < blocks_; ++b)
    for (std::size_t f = 0; f < features_; ++f)
      if (const float w = dense_[b * features_ + f]; w != 0)
        table_.at(key(static_cast<std::uint32_t>(b), static_cast<Index>(f))) = w;
  dense_.clear();
  dense_.shrink_to_fit();
  in_table_ = true;
}

Linear::Packed Linear::pack() const {
  std::vector<std::pair<std::uint64_t, float>> entries;
  if (in_table_)
    table_.for_each([&](std::uint64_t k, float w) {
      if (w != 0) entries.emplace_back(k, w);
    });
  else
    for (std::size_t b = 0; b < blocks_; ++b)
      for (std::size_t f = 0; f < features_; ++f)
        if (const float w = dense_[b * features_ + f]; w != 0)
          entries.emplace_back(key(static_cast<std::uint32_t>(b), static_cast<Index>(f)), w);
  std::sort(entries.begin(), entries.end());
  Packed out;
  for (const auto& [k, w] : entries) {
    out.block.push_back(static_cast<std::uint32_t>(k >> 32));
    out.feature.push_back(static_cast<std::uint32_t>(k));
    out.value.push_back(w);
  }
  return out;
}

void Linear::unpack(const Packed& packed) {
  const std::size_t n = packed.value.size();
  if (packed.block.size() != n || packed.feature.size() != n)
    throw DataError("weights: block, feature and value differ in size");
  std::size_t blocks = 0, features = 0;
  for (std::size_t i = 0; i < n; ++i) {
    if (!std::isfinite(packed.value[i])) throw DataError("weights: value " + std::to_string(i) + " is not finite");
    if (packed.block[i] == 0xFFFFFFFFu || packed.feature[i] > kMaxIndex + 1)
      throw DataError("weights: entry " + std::to_string(i) + " is out of range");
    if (i > 0 && key(packed.block[i], packed.feature[i]) <= key(packed.block[i - 1], packed.feature[i - 1]))
      throw DataError("weights: entry " + std::to_string(i) + " is out of order");
    blocks = std::max<std::size_t>(blocks, packed.block[i]);
    features = std::max<std::size_t>(features, std::size_t{packed.feature[i]} + 1);
  }
  if (n > 0 && !fits(static_cast<std::uint32_t>(blocks), features)) make_room(static_cast<std::uint32_t>(blocks), features);
  for (std::size_t i = 0; i < n; ++i) place(packed.block[i], packed.feature[i]) = packed.value[i];
}

}  // namespace quorate
