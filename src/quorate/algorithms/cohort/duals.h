// The dual variables of the labels that are kept to be learned again.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory_resource>
#include <span>
#include <vector>

namespace quorate::cohort {

/// `width` dual variables of each recent label, all finite and at least 0.
class Duals {
 public:
  Duals(std::size_t width, std::pmr::memory_resource* memory) : values(memory), width_(width) {}

  std::size_t width() const { return width_; }
  std::span<double> operator[](std::size_t label) { return std::span(values).subspan(label * width_, width_); }
  /// The latest label was kept with these, and may have replaced older ones; `kept` are.
  void keep(std::span<const double> latest, std::size_t kept) {
    if (width_ == 0) return;
    values.erase(values.begin(), values.end() - static_cast<std::ptrdiff_t>(width_ * (kept - 1)));
    values.insert(values.end(), latest.begin(), latest.end());
  }
  /// After loading: whether they can be those of `kept` labels.
  bool good(std::size_t kept) const {
    return values.size() == width_ * kept && std::ranges::all_of(values, [](double a) { return a >= 0 && !std::isinf(a); });
  }

  std::pmr::vector<double> values;

 private:
  std::size_t width_;
};

}  // namespace quorate::cohort
