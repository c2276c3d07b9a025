// The grammar of learners and their parameters.
#include "quorate/params/spec.h"

#include "fuzz.h"
#include "quorate/registry.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace quorate;
  fuzz::only_errors([&] {
    const Spec spec = parse_spec({reinterpret_cast<const char*>(data), size});
    const std::string text = to_text(spec);
    fuzz::require(to_text(parse_spec(text)) == text, "a spec's text is its inverse");
    const std::string full = to_text(canonical(spec));
    fuzz::require(to_text(canonical(parse_spec(full))) == full, "the canonical text is canonical");
    capabilities(parse_spec(full));
  });
  return 0;
}
