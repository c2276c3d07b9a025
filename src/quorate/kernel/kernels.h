// Kernels: inner products of instances in another space.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <string_view>
#include <tuple>
#include <variant>

#include "quorate/base/portable_math.h"
#include "quorate/base/simd.h"
#include "quorate/params/params.h"

namespace quorate {

/// Each kernel turns inner products <x, z_j> into K(x, z_j), in place; xx and zz_j are the squared lengths.
struct LinearKernel : Tag<"linear", "<x, z>"> {
  void operator()(double, std::span<const double>, std::span<double>) const {}
};

struct PolynomialKernel {
  static constexpr std::string_view name = "polynomial", meaning = "(offset + <x, z>)^degree";
  std::uint64_t degree = 2;
  double offset = 1;
  static constexpr auto fields() {
    return std::tuple{Field{&PolynomialKernel::degree, "degree", Interval{1, 20}, "exponent", "Cavallanti 5"},
                      Field{&PolynomialKernel::offset, "offset", Interval{0}, "added to the inner product", "Cavallanti 5"}};
  }

  void operator()(double, std::span<const double>, std::span<double> k) const {
    constexpr double kLargest = 1e100;  // so that sums stay finite, whatever the values
    simd([=, this] {
      for (double& v : k) {
        const double base = offset + v;
        for (std::uint64_t i = (v = base, 1); i < degree; ++i) v *= base;
        v = std::clamp(v, -kLargest, kLargest);
      }
    });
  }
};

struct GaussianKernel {
  static constexpr std::string_view name = "gaussian", meaning = "exp(-gamma |x - z|^2)";
  double gamma = 1;
  static constexpr auto fields() {
    return std::tuple{Field{&GaussianKernel::gamma, "gamma", kPositive, "inverse squared width", "Cavallanti 5"}};
  }

  void operator()(double xx, std::span<const double> zz, std::span<double> k) const {
    simd([=, gamma = gamma] {
      for (std::size_t j = 0; j < k.size(); ++j) {
        const double distance = xx + zz[j] - 2 * k[j];
        k[j] = exp_negative(distance > 0 ? -gamma * distance : 0.0);
      }
    });
  }
};

using Kernel = std::variant<GaussianKernel, PolynomialKernel, LinearKernel>;

}  // namespace quorate
