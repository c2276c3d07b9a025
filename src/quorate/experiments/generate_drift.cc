#include "quorate/experiments/generate_drift.h"

#include <Eigen/Core>
#include <cmath>
#include <numbers>
#include <vector>

#include "quorate/base/error.h"
#include "quorate/base/rng.h"

namespace quorate {
namespace {

constexpr std::uint64_t kDataStream = 2;

/// Standard normal, by Box and Muller. Two draws.
double normal(Rng& rng) {
  const double radius = std::sqrt(-2 * std::log(1 - uniform(rng)));
  return radius * std::cos(2 * std::numbers::pi * uniform(rng));
}

Eigen::VectorXd direction(std::size_t d, Rng& rng) {
  Eigen::VectorXd v(static_cast<Eigen::Index>(d));
  do
    for (double& x : v) x = normal(rng);
  while (v.norm() == 0);
  return v.normalized();
}

/// A turn by an angle in the plane of two directions.
class Rotation {
 public:
  Rotation(std::size_t d, double angle, Rng& rng) : a_(direction(d, rng)), b_(direction(d, rng)), angle_(angle) {
    b_ -= a_.dot(b_) * a_;
    b_.normalize();
  }
  void operator()(Eigen::VectorXd& v) const {
    const double x = a_.dot(v), y = b_.dot(v), c = std::cos(angle_), s = std::sin(angle_);
    v += (c * x - s * y - x) * a_ + (s * x + c * y - y) * b_;
    v.normalize();
  }

 private:
  Eigen::VectorXd a_, b_;
  double angle_;
};

}  // namespace

Shift shift_named(const std::string& name) {
  if (name == "none") return Shift::kNone;
  if (name == "together") return Shift::kTogether;
  if (name == "apart") return Shift::kApart;
  throw UsageError("shift " + quoted_value(name) + "; expected none, together or apart");
}

void generate_drift(const DriftOptions& o,
                    const std::function<void(Task task, Answer label, std::span<const double> x)>& sink) {
  const auto check = [](bool good, const char* expected) {
    if (!good) throw UsageError(std::string("drift: expected ") + expected);
  };
  check(o.tasks >= 1 && o.tasks <= 1'000'000, "1 to 1,000,000 tasks");
  check(o.features >= 2 && o.features <= 100'000, "2 to 100,000 features");
  check(o.examples >= 1 && o.every >= 1, "at least one example, and one between two shifts");
  check(o.related >= 0 && o.related <= 1, "related from 0 to 1");
  check(o.noise >= 0 && o.noise <= 0.5, "noise from 0 to 0.5");
  check(std::isfinite(o.angle), "a finite angle");

  Rng rng = make_rng(o.seed, kDataStream);
  const Eigen::VectorXd common = direction(o.features, rng);
  std::vector<Eigen::VectorXd> target;
  for (std::uint64_t k = 0; k < o.tasks; ++k)
    target.push_back((std::sqrt(o.related) * common + std::sqrt(1 - o.related) * direction(o.features, rng)).normalized());
  for (std::uint64_t n = 0; n < o.examples; ++n) {
    if (n > 0 && n % o.every == 0 && o.shift != Shift::kNone) {
      const Rotation shared(o.features, o.angle, rng);
      for (Eigen::VectorXd& u : target) (o.shift == Shift::kTogether ? shared : Rotation(o.features, o.angle, rng))(u);
    }
    const auto task = static_cast<Task>(n % o.tasks);
    const Eigen::VectorXd x = direction(o.features, rng);
    const bool wrong = uniform(rng) < o.noise;
    sink(task, (target[task].dot(x) > 0) != wrong ? kYes : kNo, {x.data(), o.features});
  }
}

}  // namespace quorate
