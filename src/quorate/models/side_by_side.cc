#include "quorate/models/side_by_side.h"

#include <algorithm>
#include <cmath>

#include "quorate/base/error.h"

namespace quorate {

void SideBySide::cover(std::size_t K) {
  if (K <= tasks_) return;
  if (K > stride_) {
    const std::size_t stride = std::max(K, stride_ + stride_ / 2), rows = row_.size();
    std::pmr::vector<float> grown(rows * stride, 0.0f, weights_.get_allocator());
    for (std::size_t r = 0; r < rows; ++r) std::copy_n(weights_.data() + r * stride_, stride_, grown.data() + r * stride);
    weights_.swap(grown);
    stride_ = stride;
  }
  tasks_ = K;
}

double SideBySide::operator()(Task task, const Features& x) const {
  if (task >= tasks_) return 0;
  double sum = 0;
  for (std::size_t k = 0; k < x.size(); ++k)
    if (const float* w = find(x.at(k))) sum += static_cast<double>(w[task]) * x.value[k];
  return sum;
}

void SideBySide::margins(const Features& x, std::span<double> p) const {
  std::fill(p.begin(), p.end(), 0.0);
  double* const sums = p.data();
  const std::size_t K = p.size();
  for (std::size_t k = 0; k < x.size(); ++k) {
    const double v = x.value[k];  // a copy, so that the compiler sees that sums do not change it
    if (const float* w = find(x.at(k)))
      for (std::size_t j = 0; j < K; ++j) sums[j] += static_cast<double>(w[j]) * v;
  }
}

float* SideBySide::at(Index feature) {
  const std::size_t rows = row_.size();
  std::uint32_t& row = row_.at(feature);
  if (row_.size() > rows) {
    row = static_cast<std::uint32_t>(rows);
    weights_.resize((rows + 1) * stride_, 0.0f);
  }
  return weights_.data() + std::size_t{row} * stride_;
}

void SideBySide::add(std::span<const double> c, const Features& x) {
  for (std::size_t k = 0; k < x.size(); ++k) {
    float* w = at(x.at(k));
    for (std::size_t j = 0; j < c.size(); ++j) w[j] = static_cast<float>(static_cast<double>(w[j]) + c[j] * x.value[k]);
  }
}

void SideBySide::add(Task task, double a, const Features& x) {
  for (std::size_t k = 0; k < x.size(); ++k) {
    float& w = at(x.at(k))[task];
    w = static_cast<float>(static_cast<double>(w) + a * x.value[k]);
  }
}

SideBySide::Packed SideBySide::pack() const {
  Packed out;
  out.tasks = tasks_;
  std::vector<std::pair<Index, std::uint32_t>> rows;
  row_.for_each([&](Index feature, std::uint32_t row) { rows.emplace_back(feature, row); });
  std::sort(rows.begin(), rows.end());
  for (const auto& [feature, row] : rows) {
    out.feature.push_back(feature);
    const float* w = weights_.data() + std::size_t{row} * stride_;
    out.value.insert(out.value.end(), w, w + tasks_);
  }
  return out;
}

void SideBySide::unpack(const Packed& packed) {
  const std::size_t rows = packed.feature.size();
  if (packed.tasks > 0xFFFFFFFEu || (rows > 0 && packed.value.size() / rows != packed.tasks) ||
      packed.value.size() != rows * packed.tasks)
    throw DataError("weights: expected a value for each of " + std::to_string(packed.tasks) + " tasks in each row");
  for (std::size_t r = 0; r < rows; ++r)
    if (packed.feature[r] > kMaxIndex + 1 || (r > 0 && packed.feature[r] <= packed.feature[r - 1]))
      throw DataError("weights: row " + std::to_string(r) + " is out of order");
  for (const float w : packed.value)
    if (!std::isfinite(w)) throw DataError("weights: a value is not finite");
  cover(packed.tasks);
  for (std::size_t r = 0; r < rows; ++r) std::copy_n(packed.value.data() + r * tasks_, tasks_, at(packed.feature[r]));
}

}  // namespace quorate
