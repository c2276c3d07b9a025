#include "quorate/weights/directions.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>

#include "quorate/base/memory.h"
#include "quorate/base/prefetch.h"
#include "quorate/base/simd.h"

namespace quorate {
namespace {

constexpr std::size_t kFeaturesPerRank = 4;  // with fewer, V adds nothing to the features
constexpr double kDependent = 1e-10;         // share of the squared length left of a dependent column

/// Capacity: instances, and their values.
std::pair<std::size_t, std::size_t> room(std::size_t rank, std::pmr::memory_resource* memory) {
  if (rank == 0 || is_limited(memory)) return {0, 0};
  return {Directions::kMost, Directions::kMostBytes / InstanceQueue<PlainInstance>::kValueBytes};
}

constexpr std::size_t kLine = 64 / sizeof(float);  // of the cache
using Line __attribute__((vector_size(64))) = float;
Unaligned<Line>& line(float* at) { return *reinterpret_cast<Unaligned<Line>*>(at); }
const Unaligned<Line>& line(const float* at) { return *reinterpret_cast<const Unaligned<Line>*>(at); }

float sign_of(std::uint64_t feature, std::uint64_t column) {
  std::uint64_t z = (feature * 1024 + column + 1) * 0x9E3779B97F4A7C15u;  // splitmix64
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
  z = (z ^ z >> 27) * 0x94D049BB133111EBu;
  return (z ^ z >> 31) >> 63 == 0 ? 1.0f : -1.0f;
}

/// Makes the columns of m, n x r, orthonormal: m = m L^-T where L L^T = m^T m (Cholesky), which is Gram-Schmidt. A column
/// that depends on those before it becomes 0.
void orthonormal(std::span<float> m, std::size_t r, std::pmr::memory_resource* memory) {
  constexpr std::size_t kStep = 4;  // rows of m, then of L^-1, whose products are added together
  const std::size_t n = m.size() / r, steps = (r + kStep - 1) / kStep * kStep;
  std::pmr::vector<double> gram(r * r, 0.0, memory), inverse(steps * r, 0.0, memory);
  simd([n, r, from = m.data(), g = gram.data()] {
    double u[kStep][Directions::kMostRank];
    for (std::size_t i = 0; i < n; i += kStep) {
      for (std::size_t t = 0; t < kStep; ++t)
        for (std::size_t a = 0; a < r; ++a) u[t][a] = i + t < n ? static_cast<double>(from[(i + t) * r + a]) : 0.0;
      for (std::size_t a = 0; a < r; ++a) {  // on and above the diagonal
        const double u0 = u[0][a], u1 = u[1][a], u2 = u[2][a], u3 = u[3][a];
        for (std::size_t b = a; b < r; ++b) g[a * r + b] += (u0 * u[0][b] + u1 * u[1][b]) + (u2 * u[2][b] + u3 * u[3][b]);
      }
    }
  });
  for (std::size_t a = 0; a < r; ++a)
    for (std::size_t b = 0; b < a; ++b) gram[a * r + b] = gram[b * r + a];
  std::pmr::vector<double>& lower = gram;  // column by column in place
  for (std::size_t a = 0; a < r; ++a) {
    const double before = lower[a * r + a];
    double left = before;
    for (std::size_t k = 0; k < a; ++k) left -= lower[a * r + k] * lower[a * r + k];
    const bool depends = !(left > kDependent * before);
    lower[a * r + a] = depends ? 0 : std::sqrt(left);
    for (std::size_t b = a + 1; b < r; ++b) {
      double sum = lower[b * r + a];
      for (std::size_t k = 0; k < a; ++k) sum -= lower[b * r + k] * lower[a * r + k];
      lower[b * r + a] = depends ? 0 : sum / lower[a * r + a];
    }
  }
  // Row k of `inverse` is column k of L^-1.
  for (std::size_t k = 0; k < r; ++k)
    for (std::size_t a = k; a < r; ++a) {
      if (lower[a * r + a] == 0) continue;
      double sum = a == k ? 1 : 0;
      for (std::size_t b = k; b < a; ++b) sum -= lower[a * r + b] * inverse[k * r + b];
      inverse[k * r + a] = sum / lower[a * r + a];
    }
  simd([n, r, steps, to = m.data(), inv = inverse.data()] {
    double u[Directions::kMostRank + kStep] = {}, out[Directions::kMostRank];
    for (std::size_t i = 0; i < n; ++i) {
      float* row = to + i * r;
      for (std::size_t a = 0; a < r; ++a) {
        u[a] = static_cast<double>(row[a]);
        out[a] = 0;
      }
      for (std::size_t k = 0; k < steps; k += kStep) {
        const double *i0 = inv + k * r, *i1 = i0 + r, *i2 = i1 + r, *i3 = i2 + r;
        const double u0 = u[k], u1 = u[k + 1], u2 = u[k + 2], u3 = u[k + 3];
        for (std::size_t a = k; a < r; ++a) out[a] += (u0 * i0[a] + u1 * i1[a]) + (u2 * i2[a] + u3 * i3[a]);
      }
      for (std::size_t a = 0; a < r; ++a) row[a] = static_cast<float>(out[a]);
    }
  });
}

}  // namespace

Directions::Directions(std::size_t rank, std::pmr::memory_resource* memory)
    : rank_(is_limited(memory) ? 0 : rank),
      kept_(memory, room(rank, memory).first, room(rank, memory).second, false),
      place_(memory),
      feature_(memory),
      value_(memory) {}

void Directions::see(const Features& x) {
  if (!kept_.could_fit(x.size())) return;
  if (seen_++ % every_ != 0) return;
  while (!kept_.fits(x.size())) {
    std::size_t place = kept_.size() == 1;  // a single one that takes more than half of the room is erased, too
    kept_.erase_if([&place](const auto&) { return place++ % 2 == 1; });
    every_ = std::min(2 * every_, std::uint64_t{1} << 39);
  }
  kept_.push({0, x, 0}, {});
}

void Directions::forget_instances() {
  kept_.erase_if([](const auto&) { return true; });
  every_ = 1;
}

void Directions::forget() {
  forget_instances();
  seen_ = used_ = 0;
  next_ = kFirst;
  place_ = Table<Index, std::uint32_t>(memory());
  feature_.clear();
  value_.clear();
}

/// Selects the features of at least two kept instances; of more, if that gives more than kMostFeatures.
void Directions::begin(Rows& rows) const {
  Table<Index, std::uint32_t> df(memory());
  for (std::size_t i = 0; i < kept_.size(); ++i) {
    const Features x = kept_.example(i).x;
    for (std::size_t k = 0; k < x.size(); ++k)
      if (x.at(k) != 0 && x.value[k] != 0) ++df.at(x.at(k));
  }
  std::pmr::vector<std::size_t> having(kept_.size() + 2, 0, memory());  // features by their df
  df.for_each([&](Index, std::uint32_t n) { ++having[n]; });
  std::size_t least = kept_.size() + 1, features = 0;
  while (least > 2 && features + having[least - 1] <= kMostFeatures) features += having[--least];
  rows.feature.reserve(features);
  df.for_each([&](Index f, std::uint32_t n) {
    if (n >= least) rows.feature.push_back(f);
  });
  std::ranges::sort(rows.feature);
  rows.place.reserve(features);
  for (std::size_t f = 0; f < features; ++f) rows.place.at(rows.feature[f]) = static_cast<std::uint32_t>(f);
  rows.ends.reserve(kept_.size());
}

void Directions::Rows::add(const Features& x) {
  for (std::size_t k = 0; k < x.size(); ++k)
    if (const std::uint32_t* number = place.find(x.at(k)))
      if (const auto value = static_cast<float>(x.value[k]); value != 0) entries.push_back({*number, value});
  ends.push_back(entries.size());
}

bool Directions::solve(Rows& rows) {
  const std::size_t n = rows.ends.size(), features = rows.feature.size(), r = rank_;
  if (features < kFeaturesPerRank * r || n < r) return false;
  std::pmr::vector<float> b(features * r, memory()), u(n * r, memory());
  for (std::size_t f = 0; f < features; ++f) {
    const std::uint32_t* row = place_.find(rows.feature[f]);
    for (std::size_t a = 0; a < r; ++a)
      b[f * r + a] = row != nullptr ? value_[*row * r + a] : any() ? 0 : sign_of(rows.feature[f], a);
  }
  const auto each_entry = [&rows, n, r, of_rows = u.data(), of_features = b.data()](auto add) {
    simd([add, n, r, of_rows, of_features, entries = rows.entries.data(), ends = rows.ends.data()] {
      for (std::size_t i = 0, e = 0; i < n; ++i)
        for (; e < ends[i]; ++e) add(of_rows + i * r, of_features + entries[e].feature * r, entries[e].value, r);
    });
  };
  for (int step = any() ? kSteps : kFirstSteps; step > 0; --step) {
    std::ranges::fill(u, 0.0f);
    each_entry([](float* of_row, const float* of_feature, float value, std::size_t size) {
      for (std::size_t a = 0; a < size; ++a) of_row[a] += value * of_feature[a];
    });
    orthonormal(u, r, memory());
    std::ranges::fill(b, 0.0f);
    each_entry([](const float* of_row, float* of_feature, float value, std::size_t size) {
      for (std::size_t a = 0; a < size; ++a) of_feature[a] += value * of_row[a];
    });
  }
  orthonormal(b, r, memory());
  place_ = std::move(rows.place);
  feature_ = std::move(rows.feature);
  value_ = std::move(b);
  used_ = n;
  return true;
}

double Directions::place(const Features& x, std::span<double> z) const {
  std::array<float, kMostRank> sum{};
  const std::size_t r = rank_;
  simd([this, &x, r, at = sum.data()] {
    constexpr std::size_t kAhead = 32, kBlock = 4;  // rows fetched before they are added; lines of a row added at once
    const float* direction[kAhead];
    float value[kAhead];
    for (std::size_t k = 0; k < x.size();) {
      std::size_t found = 0;
      for (; k < x.size() && found < kAhead; ++k) {
        const std::uint32_t* row = place_.find(x.at(k));
        if (row == nullptr) continue;
        direction[found] = value_.data() + *row * r;
        for (std::size_t a = 0; a < r; a += kLine) prefetch(direction[found] + a);
        value[found++] = static_cast<float>(x.value[k]);
      }
      std::size_t a = 0;
      for (; a + kBlock * kLine <= r; a += kBlock * kLine) {  // sums stay in registers
        Line block[kBlock];
        for (std::size_t b = 0; b < kBlock; ++b) block[b] = line(at + a + b * kLine).v;
        for (std::size_t i = 0; i < found; ++i)
          for (std::size_t b = 0; b < kBlock; ++b) block[b] += value[i] * line(direction[i] + a + b * kLine).v;
        for (std::size_t b = 0; b < kBlock; ++b) line(at + a + b * kLine).v = block[b];
      }
      for (std::size_t i = 0; i < found; ++i)
        for (std::size_t rest = a; rest < r; ++rest) at[rest] += value[i] * direction[i][rest];
    }
  });
  double squares = 0;
  for (std::size_t a = 0; a < r; ++a) {
    z[a] = static_cast<double>(sum[a]);
    squares += z[a] * z[a];
  }
  return std::sqrt(squares);
}

Directions::Packed Directions::pack() const {
  return {seen_,
          next_,
          every_,
          used_,
          kept_.pack(),
          Column<std::uint32_t>::of(feature_.size(), [this](std::size_t i) { return feature_[i]; }),
          Column<float>::of(value_.size(), [this](std::size_t i) { return value_[i]; })};
}

void Directions::unpack(const Packed& p) {
  const auto check = [](bool good, const char* why) {
    if (!good) throw DataError(std::string("directions: ") + why);
  };
  const std::size_t n = p.feature.size();
  check(p.every > 0 && (p.every & (p.every - 1)) == 0 && p.every < std::uint64_t{1} << 40 &&
            p.seen < std::uint64_t{1} << 62 && p.next <= 2 * p.seen + kFirst && p.used <= kMost,
        "counts out of range");
  check(n <= kMostFeatures && p.value.size() == n * rank_, "features and values differ in size");
  kept_.unpack(p.kept, "directions", [](const auto&) { return true; });
  std::pmr::vector<Index> feature(memory());
  std::pmr::vector<float> value(memory());
  Table<Index, std::uint32_t> place(memory());
  feature.reserve(n);
  place.reserve(n);
  for (std::size_t f = 0; f < n; ++f) {
    check(p.feature[f] <= kMaxIndex + 1 && (f == 0 || p.feature[f] > feature.back()), "features out of order or range");
    feature.push_back(p.feature[f]);
    place.at(feature.back()) = static_cast<std::uint32_t>(f);
  }
  value.reserve(p.value.size());
  for (std::size_t i = 0; i < p.value.size(); ++i) {
    check(std::abs(p.value[i]) <= 2, "a value out of range");
    value.push_back(p.value[i]);
  }
  seen_ = p.seen;
  next_ = p.next;
  every_ = p.every;
  used_ = p.used;
  place_ = std::move(place);
  feature_ = std::move(feature);
  value_ = std::move(value);
}

}  // namespace quorate
