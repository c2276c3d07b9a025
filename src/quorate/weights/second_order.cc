#include "quorate/weights/second_order.h"

#include <algorithm>
#include <cmath>

#include "quorate/base/error.h"
#include "quorate/base/memory.h"

namespace quorate {
namespace {

constexpr std::uint64_t kLookEvery = 64;  // updates between drift checks; a check costs about as much as an update
constexpr double kDrift = 1e-9;           // largest error of A (A^-1 x) in a coordinate, relative to the largest of x
constexpr double kRidge = 1e-12;          // least pivot, as a share of its diagonal: less is rounding error

}  // namespace

FullConfidence::FullConfidence(std::pmr::memory_resource* memory)
    : place_(memory), tasks_(memory), g_(memory), check_(memory) {}

RidgeEstimate FullConfidence::operator()(Task task, const Features& x) const {
  const std::uint32_t* place = place_.find(task);
  if (place == nullptr) return {0, squared_norm(x)};
  const One& one = tasks_[*place];
  const double* u = one.u.data();
  const std::size_t n = one.u.size();
  return {dot(x, [u, n](Index f) { return f < n ? u[f] : 0.0; }), std::max(0.0, one.inverse.quadratic(x))};
}

FullConfidence::One& FullConfidence::prepare(Task task, const Features& x) {
  const std::size_t n = x.extent();
  if (n > kMaxFeatures)
    throw DataError("full matrices of " + std::to_string(n) + " features would take " +
                    std::to_string(n / 1024 * n / 1024 * 8 / 1024) + " GB a task; expected at most " +
                    std::to_string(kMaxFeatures) +
                    " features: --bits 0, which numbers only the names that occur, or diagonal=true");
  if (const std::uint32_t* place = place_.find(task)) {
    One& one = tasks_[*place];
    if (n <= one.w.size()) return one;
    check_bytes_left(place_.memory(), bytes_to_grow(one, n));
    grow(one, n);
    return one;
  }
  const std::size_t tasks = tasks_.size() + 1;
  One made(place_.memory());
  check_bytes_left(place_.memory(),
                   place_.bytes_to_reserve(tasks) + bytes_to_reserve(tasks_, tasks) + bytes_to_grow(made, n));
  place_.reserve(tasks);
  reserve(tasks_, tasks);
  grow(made, n);
  place_.at(task) = static_cast<std::uint32_t>(tasks_.size());  // from here on nothing can fail
  tasks_.push_back(std::move(made));
  return tasks_.back();
}

std::size_t FullConfidence::bytes_to_grow(const One& one, std::size_t n) const {
  return bytes_to_reserve(g_, n) + bytes_to_reserve(check_, n) + one.A.bytes_to_reserve(n) +
         one.inverse.bytes_to_reserve(n) + bytes_to_reserve(one.w, n) + bytes_to_reserve(one.u, n);
}

/// Grows the task to n features.
void FullConfidence::grow(One& one, std::size_t n) {
  for (auto* scratch : {&g_, &check_}) {
    if (n <= scratch->size()) continue;
    reserve(*scratch, n);
    scratch->resize(n);
  }
  one.A.reserve(n);
  one.inverse.reserve(n);
  reserve(one.w, n);
  reserve(one.u, n);
  one.A.grow(n);  // from here on nothing can fail
  one.inverse.grow(n);
  one.w.resize(n, 0.0);
  one.u.resize(n, 0.0);
}

void FullConfidence::update(Task task, double y, const Features& x) {
  if (x.size() == 0) return;  // nothing to learn: no matrix of no features
  One& one = prepare(task, x);
  const std::span<double> g(g_.data(), one.w.size());
  one.inverse.times(x, g);
  const double r = dot(x, [&](Index f) { return g[f]; }), estimate = dot(x, [&](Index f) { return one.u[f]; });
  one.A.add_outer(x);
  for (std::size_t k = 0; k < x.size(); ++k) one.w[x.at(k)] += y * x.value[k];
  ++one.updates;
  bool sound = r >= 0;  // and the diagonal of the inverse stays positive
  for (std::size_t f = 0; f < g.size(); ++f) sound = sound && g[f] * g[f] < one.inverse.row(f)[f] * (1 + r);
  if (!sound) return rebuild(one);
  one.inverse.add_outer(-1 / (1 + r), g);  // Sherman and Morrison
  const double step = (y - estimate) / (1 + r);
  for (std::size_t f = 0; f < g.size(); ++f) one.u[f] += step * g[f];
  if (one.updates % kLookEvery == 0) repair(one, x);
}

void FullConfidence::nudge(Task task, double a, const Features& x) {
  if (x.size() == 0) return;
  One& one = prepare(task, x);
  const std::span<double> g(g_.data(), one.w.size());
  one.inverse.times(x, g);
  for (std::size_t k = 0; k < x.size(); ++k) one.w[x.at(k)] += a * x.value[k];
  for (std::size_t f = 0; f < g.size(); ++f) one.u[f] += a * g[f];
}

void FullConfidence::repair(One& one, const Features& x) {
  const std::span<double> g(g_.data(), one.w.size());
  const std::span<double> back(check_.data(), g.size());
  one.inverse.times(x, g);
  one.A.times({{}, g}, back);
  double scale = 0;
  for (std::size_t k = 0; k < x.size(); ++k) {
    back[x.at(k)] -= x.value[k];
    scale = std::max(scale, std::abs(x.value[k]));
  }
  bool good = true;
  for (const double v : back) good = good && std::abs(v) <= kDrift * scale;  // false for NaN, too
  if (!good) rebuild(one);
}

void FullConfidence::rebuild(One& one) {
  ++rebuilt_;
  SymmetricMatrix& T = one.inverse;
  for (std::size_t i = 0; i < one.w.size(); ++i) {
    std::copy_n(one.A.row(i), i + 1, T.row(i));
    const double own = T.row(i)[i], pivot = T.factor_row(i);
    T.row(i)[i] = std::sqrt(std::max(std::max(1.0, kRidge * own), pivot));  // A is I and more; false for NaN, too
  }
  T.invert_factor();
  T.times({{}, one.w}, one.u);
}

FullConfidence::Packed FullConfidence::pack() const {
  Packed out;
  std::vector<std::pair<Task, std::uint32_t>> places;
  place_.for_each([&](Task task, std::uint32_t place) { places.emplace_back(task, place); });
  std::sort(places.begin(), places.end());
  std::vector<const SymmetricMatrix*> A, inverse;
  const auto append = [](auto& into, const auto& values) { into.insert(into.end(), values.begin(), values.end()); };
  for (const auto& [task, place] : places) {
    const One& one = tasks_[place];
    out.task.push_back(task);
    out.size.push_back(static_cast<std::uint32_t>(one.w.size()));
    out.updates.push_back(one.updates);
    A.push_back(&one.A);
    inverse.push_back(&one.inverse);
    append(out.w, one.w);
    append(out.u, one.u);
  }
  out.A = values_of(A);
  out.inverse = values_of(inverse);
  return out;
}

void FullConfidence::unpack(const Packed& packed) {
  const auto check = [](bool good, const char* why) {
    if (!good) throw DataError(std::string("confidence: ") + why);
  };
  const std::size_t tasks = packed.task.size();
  check(packed.size.size() == tasks && packed.updates.size() == tasks, "tasks, sizes and updates differ in number");
  std::size_t rows = 0, triangles = 0;
  for (std::size_t i = 0; i < tasks; ++i) {
    const std::size_t n = packed.size[i];
    check(n >= 1 && n <= kMaxFeatures && packed.task[i] != 0xFFFFFFFFu, "a task or its size is out of range");
    check(i == 0 || packed.task[i] > packed.task[i - 1], "tasks are out of order");
    rows += n;
    triangles += n * (n + 1) / 2;
  }
  check(packed.w.size() == rows && packed.u.size() == rows && packed.A.size() == triangles &&
            packed.inverse.size() == triangles,
        "values and sizes do not fit");
  const auto check_finite = [&](const auto& values) {
    for (std::size_t i = 0; i < values.size(); ++i) check(std::isfinite(values[i]), "a value is not finite");
  };
  check_finite(packed.A), check_finite(packed.inverse), check_finite(packed.w), check_finite(packed.u);
  auto* memory = place_.memory();
  Table<Task, std::uint32_t> place(memory);
  std::pmr::vector<One> ones(memory);
  place.reserve(tasks);
  fit(ones, tasks);
  ones.reserve(tasks);
  const double *w = packed.w.data(), *u = packed.u.data();
  std::size_t begin = 0;  // offset of the task's triangles
  for (std::size_t i = 0; i < tasks; ++i) {
    const std::size_t n = packed.size[i], triangle = n * (n + 1) / 2;
    place.at(packed.task[i]) = static_cast<std::uint32_t>(i);
    One& one = ones.emplace_back(memory);
    one.updates = packed.updates[i];
    one.A.assign(n, packed.A, begin);
    one.inverse.assign(n, packed.inverse, begin);
    load_fitted(one.w, std::span(w, n));
    load_fitted(one.u, std::span(u, n));
    for (std::size_t f = 0; f < n; ++f)  // invariants of learning; off the diagonal, rounding may break any bound
      check(one.A(f, f) >= 1 && one.inverse(f, f) > 0, "a matrix is not positive");
    begin += triangle, w += n, u += n;
  }
  place_ = std::move(place);
  tasks_ = std::move(ones);
  std::size_t largest = 0;
  for (const One& one : tasks_) largest = std::max(largest, one.w.size());
  for (auto* scratch : {&g_, &check_}) {
    fit(*scratch, largest);
    scratch->resize(largest);
  }
}

RidgeEstimate DiagonalConfidence::operator()(Task task, const Features& x) const {
  constexpr std::size_t kPart = 64;  // features at a time, so that scoring needs no memory
  double w[kPart], squares[kPart];
  RidgeEstimate out;
  for (std::size_t begin = 0; begin < x.size(); begin += kPart) {
    const std::size_t n = std::min(kPart, x.size() - begin);
    w_.gather(task, x, begin, {w, n});
    squares_.gather(task, x, begin, {squares, n});
    for (std::size_t k = 0; k < n; ++k) {
      const double v = x.value[begin + k], scaled = v / (1 + squares[k]);
      out.estimate += scaled * w[k];
      out.r += scaled * v;
    }
  }
  return out;
}

void DiagonalConfidence::check() const {
  for (const float v : squares_.pack().value.list())
    if (!(v >= 0)) throw DataError("confidence: a sum of squares is negative");
}

void DiagonalConfidence::update(Task task, double y, const Features& x) {
  square_.assign(x.value.begin(), x.value.end());
  for (double& v : square_) v = std::min(v * v, 1e30);  // sums of them stay finite as float
  w_.reserve(task, x);
  squares_.reserve(task, x);
  w_.add(task, y, x);  // from here on nothing can fail
  squares_.add(task, 1, {x.index, square_});
}

}  // namespace quorate
