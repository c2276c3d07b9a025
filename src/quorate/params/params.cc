#include "quorate/params/params.h"

namespace quorate {

std::string to_text(const Interval& range) {
  const auto number = [](double v) { return to_text(write_value(v)); };
  const bool below = range.lo > -std::numeric_limits<double>::infinity();
  const bool above = range.hi < std::numeric_limits<double>::infinity();
  if (below && above) return (range.open_lo ? " above " : " from ") + number(range.lo) + " to " + number(range.hi);
  if (below) return (range.open_lo ? " above " : " from ") + number(range.lo);
  if (above) return " up to " + number(range.hi);
  return "";
}

}  // namespace quorate
