#include "quorate/weights/feature_major.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "quorate/base/error.h"
#include "quorate/base/memory.h"
#include "quorate/base/prefetch.h"
#include "quorate/base/simd.h"
#include "quorate/weights/task_matrix.h"

namespace quorate {

/// Room for K tasks, and `rows` more rows. Under a memory limit it depends only on K, the rows and the present room.
FeatureMajorWeights::Room FeatureMajorWeights::room_for(std::size_t K, std::size_t rows) const {
  const bool limited = this->limited();
  const std::size_t all = row_.size() + rows;
  return {K <= stride_ ? stride_
          : limited    ? quorate::room_for(K)
                       : std::max(K, stride_ + stride_ / 2),
          all <= rows_ ? rows_
          : limited    ? quorate::room_for(all)
                       : std::max(all, 2 * row_.size())};
}

std::size_t FeatureMajorWeights::bytes_to_reserve(std::size_t K, std::size_t rows) const {
  if (K <= stride_ && row_.size() + rows <= rows_) return 0;
  const Room room = room_for(K, rows);
  return room.rows * room.stride * sizeof(float) + row_.bytes_to_reserve(room.rows) + quorate::bytes_to_reserve(margins_, K);
}

void FeatureMajorWeights::reserve_tasks(std::size_t K, std::size_t rows) {
  if (K <= stride_ && row_.size() + rows <= rows_) return;
  const Room room = room_for(K, rows);
  if (limited()) check_bytes_left(row_.memory(), bytes_to_reserve(K, rows));
  quorate::reserve(margins_, K);
  row_.reserve(limited() ? room.rows : row_.size() + rows);
  std::pmr::vector<float> grown(weights_.get_allocator());
  grown.reserve(room.rows * room.stride);
  grown.resize(row_.size() * room.stride, 0.0f);
  for (std::size_t r = 0; r < row_.size(); ++r)
    std::copy_n(weights_.data() + r * stride_, stride_, grown.data() + r * room.stride);
  weights_.swap(grown);
  stride_ = room.stride;
  rows_ = room.rows;
}

void FeatureMajorWeights::ensure_tasks(std::size_t K) {
  if (K <= tasks_) return;
  reserve_tasks(K);
  tasks_ = K;
  kept_ = false;
}

double FeatureMajorWeights::operator()(Task task, const Features& x) const {
  if (task >= tasks_) return 0;
  double sum = 0;
  for (std::size_t k = 0; k < x.size(); ++k)
    if (const float* w = find(x.at(k))) sum += static_cast<double>(w[task]) * x.value[k];
  return sum;
}

namespace {

/// Rows are looked up kRows at a time before any is used, so that the look-ups do not wait for one another.
constexpr std::size_t kRows = 64;
constexpr std::size_t kTogether = 8;  // rows added to the sums in one pass
constexpr std::size_t kPart = 64;     // tasks, in four cache lines of each row

/// sums[j] += rows[0][j] v[0], then += rows[1][j] v[1] and so on, for R rows; `ahead`, rows that come next, are fetched.
template <std::size_t R>
void add_rows(const float* const* rows, const double* v, const float* const* ahead, std::size_t K, double* sums) {
  simd([=] {
    const float* w[R];
    double value[R];
    for (std::size_t r = 0; r < R; ++r) {
      w[r] = rows[r];
      value[r] = v[r];
    }
    for (std::size_t begin = 0; begin < K; begin += kPart) {
      for (std::size_t r = 0; r < R; ++r)
        for (std::size_t l = 0; l < kPart; l += 16) prefetch(ahead[r] + begin + l);
      const std::size_t end = std::min(K, begin + kPart);
      for (std::size_t j = begin; j < end; ++j) {
        double sum = sums[j];
        for (std::size_t r = 0; r < R; ++r) sum += static_cast<double>(w[r][j]) * value[r];
        sums[j] = sum;
      }
    }
  });
}

}  // namespace

void FeatureMajorWeights::margins(const Features& x, std::span<double> p) const {
  std::fill(p.begin(), p.end(), 0.0);
  const float* rows[kRows];
  double v[kRows];
  for (std::size_t k = 0; k < x.size();) {
    std::size_t n = 0;
    for (; n < kRows && k < x.size(); ++k) {
      const float* w = find(x.at(k));
      if (w == nullptr) continue;
      prefetch(w);
      rows[n] = w;
      v[n++] = x.value[k];
    }
    std::size_t r = 0;
    for (; r + kTogether <= n; r += kTogether) {
      const bool more = r + 2 * kTogether <= n;
      add_rows<kTogether>(rows + r, v + r, rows + (more ? r + kTogether : r), p.size(), p.data());
    }
    for (; r < n; ++r) add_rows<1>(rows + r, v + r, rows + r, p.size(), p.data());
  }
}

std::span<const double> FeatureMajorWeights::margins(const Features& x) {
  if (kept_ && std::ranges::equal(x.index, of_index_) && std::ranges::equal(x.value, of_value_)) return margins_;
  kept_ = false;
  margins_.resize(tasks_);
  of_index_.assign(x.index.begin(), x.index.end());
  of_value_.assign(x.value.begin(), x.value.end());
  std::as_const(*this).margins(x, margins_);
  kept_ = true;
  return margins_;
}

std::uint32_t FeatureMajorWeights::row_at(Index feature) {
  const auto rows = static_cast<std::uint32_t>(row_.size());
  std::uint32_t& row = row_.at(feature);
  if (row_.size() > rows) row = rows;
  return row;
}

std::size_t FeatureMajorWeights::new_rows(const Features& x) const {
  std::size_t rows = 0;
  for (std::size_t k = 0; k < x.size(); ++k) rows += row_.find(x.at(k)) == nullptr;
  return rows;
}

void FeatureMajorWeights::reserve(const Features& x) {
  if (row_.size() + x.size() > rows_) reserve_tasks(tasks_, new_rows(x));
}

void FeatureMajorWeights::add(std::span<const double> c, const Features& x) {
  constexpr std::size_t kFew = 8;  // tasks: as many cache lines of each row at most
  std::size_t taught = 0;
  for (const double v : c) taught += v != 0;
  if (taught <= std::min(kFew, c.size() / 32)) {
    for (std::size_t j = 0; j < c.size() && taught > 0; ++j)
      if (c[j] != 0) add(static_cast<Task>(j), c[j], x), --taught;
    return;
  }
  reserve(x);
  kept_ = false;
  std::uint32_t rows[kRows];
  for (std::size_t begin = 0; begin < x.size(); begin += kRows) {
    const std::size_t n = std::min(kRows, x.size() - begin), stride = stride_;
    for (std::size_t k = 0; k < n; ++k) rows[k] = row_at(x.at(begin + k));
    weights_.resize(row_.size() * stride_, 0.0f);
    float* const weights = weights_.data();
    const double* const value = x.value.data() + begin;
    simd([=] {
      for (std::size_t k = 0; k < n; ++k) {
        float* const w = weights + std::size_t{rows[k]} * stride;
        const double v = value[k];
        for (std::size_t j = 0; j < c.size(); ++j) w[j] = static_cast<float>(static_cast<double>(w[j]) + c[j] * v);
      }
    });
  }
}

void FeatureMajorWeights::add(Task task, double a, const Features& x) {
  reserve(x);
  kept_ = false;
  std::uint32_t rows[kRows];
  for (std::size_t begin = 0; begin < x.size(); begin += kRows) {
    const std::size_t n = std::min(kRows, x.size() - begin);
    for (std::size_t k = 0; k < n; ++k) rows[k] = row_at(x.at(begin + k));
    weights_.resize(row_.size() * stride_, 0.0f);
    for (std::size_t k = 0; k < n; ++k) {
      float& w = weights_[std::size_t{rows[k]} * stride_ + task];
      w = static_cast<float>(static_cast<double>(w) + a * x.value[begin + k]);
    }
  }
}

FeatureMajorWeights::Packed FeatureMajorWeights::pack() const {
  const auto rows = std::make_shared<std::vector<std::pair<Index, std::uint32_t>>>();
  row_.for_each([&](Index feature, std::uint32_t row) { rows->emplace_back(feature, row); });
  std::sort(rows->begin(), rows->end());
  return {tasks_, Column<std::uint32_t>::of(rows->size(), [rows](std::size_t r) { return (*rows)[r].first; }),
          Column<float>::of(rows->size() * tasks_,
                            [this, rows](std::size_t i) {
                              return weights_[std::size_t{(*rows)[i / tasks_].second} * stride_ + i % tasks_];
                            }),
          limited() ? std::vector<std::uint64_t>{rows_} : std::vector<std::uint64_t>()};
}

void FeatureMajorWeights::unpack(const Packed& packed) {
  const std::size_t rows = packed.feature.size();
  if (packed.tasks > TaskMatrix::kMost || (rows > 0 && packed.value.size() / rows != packed.tasks) ||
      packed.value.size() != rows * packed.tasks)
    throw DataError("weights: expected a value for each of " + std::to_string(packed.tasks) + " tasks in each row");
  Index before = 0;
  for (std::size_t r = 0; r < rows; ++r) {
    const Index feature = packed.feature[r];
    if (feature > kMaxIndex + 1 || (r > 0 && feature <= before))
      throw DataError("weights: row " + std::to_string(r) + " is out of order");
    before = feature;
  }
  for (std::size_t i = 0; i < packed.value.size(); ++i)
    if (!std::isfinite(packed.value[i])) throw DataError("weights: a value is not finite");
  const std::size_t room = limited() && !packed.room.empty() ? packed.room[0] : rows;
  if (constexpr std::size_t kMostRows = std::size_t{kMaxIndex} + 2; room < rows || room > kMostRows)
    throw DataError("weights: room for " + std::to_string(room) + " rows; expected " + std::to_string(rows) + " to " +
                    std::to_string(kMostRows));
  FeatureMajorWeights out(weights_.get_allocator().resource());
  out.reserve_tasks(packed.tasks, room);
  out.ensure_tasks(packed.tasks);
  for (std::size_t r = 0; r < rows; ++r) {
    const std::uint32_t row = out.row_at(packed.feature[r]);
    out.weights_.resize(out.row_.size() * out.stride_, 0.0f);
    packed.value.read(r * out.tasks_, std::span(out.weights_).subspan(row * out.stride_, out.tasks_));
  }
  *this = std::move(out);
}

}  // namespace quorate
