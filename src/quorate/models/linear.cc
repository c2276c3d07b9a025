#include "quorate/models/linear.h"

#include <algorithm>
#include <cmath>

#include "quorate/base/error.h"

namespace quorate {

double Linear::operator()(std::uint32_t block, const Features& x) const {
  const std::uint32_t* place = place_.find(block);
  if (place == nullptr) return 0;
  const Block& b = blocks_[*place];
  if (const auto* table = std::get_if<Weights>(&b)) {
    return dot(x, [&](Index feature) {
      const float* w = table->find(feature);
      return w == nullptr ? 0.0 : static_cast<double>(*w);
    });
  }
  const Row& row = std::get<Row>(b);
  const float* w = row.data();
  const std::size_t extent = row.size();
  if (x.extent() <= extent) return dot(x, [&](Index feature) { return static_cast<double>(w[feature]); });
  return dot(x, [&](Index feature) { return feature < extent ? static_cast<double>(w[feature]) : 0.0; });
}

void Linear::gather(std::uint32_t block, const Features& x, std::size_t begin, std::span<double> out) const {
  std::fill(out.begin(), out.end(), 0.0);
  const std::uint32_t* place = place_.find(block);
  if (place == nullptr) return;
  const Block& b = blocks_[*place];
  if (const auto* table = std::get_if<Weights>(&b)) {
    for (std::size_t k = 0; k < out.size(); ++k)
      if (const float* w = table->find(x.at(begin + k))) out[k] = static_cast<double>(*w);
  } else {
    const Row& row = std::get<Row>(b);
    for (std::size_t k = 0; k < out.size(); ++k)
      if (const std::size_t f = x.at(begin + k); f < row.size()) out[k] = static_cast<double>(row[f]);
  }
}

void Linear::add(std::uint32_t block, double a, const Features& x) {
  std::uint32_t& place = place_.at(block);
  if (place_.size() > blocks_.size()) {
    place = static_cast<std::uint32_t>(blocks_.size());
    blocks_.emplace_back(Weights(memory()));
  }
  Block& b = blocks_[place];
  make_room(b, x);
  const auto each = [&](auto weight) {
    for (std::size_t k = 0; k < x.size(); ++k) {
      float& w = weight(x.at(k));
      w = static_cast<float>(static_cast<double>(w) + a * x.value[k]);
    }
  };
  if (auto* table = std::get_if<Weights>(&b))
    each([&](Index feature) -> float& { return table->at(feature); });
  else
    each([w = std::get<Row>(b).data()](Index feature) -> float& { return w[feature]; });
}

/// Lets x be added to the block: a row long enough, or a table that has slots enough unless a row is smaller.
void Linear::make_room(Block& b, const Features& x) {
  const std::size_t extent = x.extent();
  if (auto* table = std::get_if<Weights>(&b)) {
    if (table->has_room(x.size())) return;
    std::size_t end = extent;  // of the features there are
    table->for_each([&](Index feature, float) { end = std::max(end, std::size_t{feature} + 1); });
    if (end > 2 * Weights::slots_for(table->size() + x.size())) return table->reserve(table->size() + x.size());
    Row row(end, 0.0f, memory());
    table->for_each([&](Index feature, float w) { row[feature] = w; });
    b.emplace<Row>(std::move(row));
    return;
  }
  Row& row = std::get<Row>(b);
  if (extent <= row.size()) return;
  const auto used = static_cast<std::size_t>(std::count_if(row.begin(), row.end(), [](float w) { return w != 0; }));
  if (extent <= 4 * Weights::slots_for(used + x.size())) {  // twice as large as a table before it becomes one
    row.reserve(std::max(extent, row.size() + row.size() / 2));
    row.resize(row.capacity(), 0.0f);
    return;
  }
  Weights table(memory());
  table.reserve(used + x.size());
  for (std::size_t f = 0; f < row.size(); ++f)
    if (row[f] != 0) table.at(static_cast<Index>(f)) = row[f];
  b.emplace<Weights>(std::move(table));
}

Linear::Packed Linear::pack() const {
  Packed out;
  std::vector<std::pair<Index, float>> entries;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> blocks;
  place_.for_each([&](std::uint32_t block, std::uint32_t place) { blocks.emplace_back(block, place); });
  std::sort(blocks.begin(), blocks.end());
  for (const auto& [block, place] : blocks) {
    entries.clear();
    const auto put = [&](Index feature, float w) {
      if (w != 0) entries.emplace_back(feature, w);
    };
    if (const auto* table = std::get_if<Weights>(&blocks_[place])) {
      table->for_each(put);
      std::sort(entries.begin(), entries.end());
    } else {
      const Row& row = std::get<Row>(blocks_[place]);
      for (std::size_t f = 0; f < row.size(); ++f) put(static_cast<Index>(f), row[f]);
    }
    for (const auto& [feature, w] : entries) {
      out.block.push_back(block);
      out.feature.push_back(feature);
      out.value.push_back(w);
    }
  }
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
  place_ = Table<std::uint32_t, std::uint32_t>(memory());
  blocks_.clear();
  std::vector<double> value;
  for (std::size_t begin = 0, end = 0; begin < n; begin = end) {  // a block at a time
    while (end < n && packed.block[end] == packed.block[begin]) ++end;
    value.assign(packed.value.begin() + static_cast<std::ptrdiff_t>(begin),
                 packed.value.begin() + static_cast<std::ptrdiff_t>(end));
    add(packed.block[begin], 1, {std::span(packed.feature).subspan(begin, end - begin), value});
  }
}

}  // namespace quorate
