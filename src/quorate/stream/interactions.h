// Products of features: what two columns, keys, VW namespaces or kinds say together.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "quorate/stream/schema.h"

namespace quorate {

/// Pairs of sides. A side is the name of a column (key, namespace) or number, category or text, for all of that kind.
class Interactions {
 public:
  /// A feature that may be in a product.
  struct Part {
    std::string name;
    std::size_t column = 0;  ///< bytes of `name` that name its column
    ColumnKind kind = ColumnKind::kNumber;
    double value = 0;
  };
  /// The parts of one example. Names keep their memory from one example to the next.
  class Parts {
   public:
    void clear() { used_ = 0; }
    void add(std::string_view name, std::size_t column, ColumnKind kind, double value);
    std::span<const Part> get() const { return {parts_.data(), used_}; }

   private:
    std::vector<Part> parts_;
    std::size_t used_ = 0;
  };

  Interactions() = default;
  /// Each "user*channel". Throws UsageError.
  explicit Interactions(const std::vector<std::string>& pairs);

  bool empty() const { return pairs_.empty(); }
  /// Throws UsageError for a side that is no kind and no column of a schema that has any.
  void check(const Schema& schema) const;
  /// add(name, value) for each product: of a feature of one side and one of the other, of two different ones if both sides
  /// are the same. The name is "a*b". met[n] becomes true for the n-th pair if it has one. O(features of one side x of the
  /// other).
  template <class Add>
  void products(std::span<const Part> parts, std::string& name, std::vector<bool>& met, Add add) const {
    met.resize(pairs_.size());
    for (std::size_t n = 0; n < pairs_.size(); ++n) {
      const auto& [left, right] = pairs_[n];
      for (std::size_t i = 0; i < parts.size(); ++i) {
        if (!is_in(left, parts[i])) continue;
        for (std::size_t j = left == right ? i + 1 : 0; j < parts.size(); ++j) {
          if (i == j || !is_in(right, parts[j])) continue;
          name.assign(parts[i].name).append("*").append(parts[j].name);
          add(name, parts[i].value * parts[j].value);
          met[n] = true;
        }
      }
    }
  }
  /// Names the pairs of which no example had a product, as an option; "" if there is none.
  std::string unmet(const std::vector<bool>& met) const;

 private:
  static bool is_in(const std::string& side, const Part& part);

  std::vector<std::pair<std::string, std::string>> pairs_;
};

}  // namespace quorate
