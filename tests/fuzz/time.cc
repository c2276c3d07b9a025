#include "quorate/stream/time.h"

#include "fuzz.h"
#include "quorate/session/label_budget.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace quorate;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto seconds = parse_time(text);
  fuzz::require(!seconds || std::isfinite(*seconds), "times are finite");
  fuzz::only_errors([&] {
    LabelLimits limits;
    limits.add(text);
    if (!limits.rate) return;
    LabelLimits again;
    again.add(to_text(*limits.rate));
    fuzz::require(again.rate == limits.rate, "a rate's text is its inverse");
  });
  return 0;
}
