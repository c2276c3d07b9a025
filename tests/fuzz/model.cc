// Model files, with the checksum corrected: what loads must work and save the same bytes again.
#include "quorate/model/model.h"

#include <array>

#include "fuzz.h"
#include "quorate/base/hash.h"
#include "quorate/learner.h"

namespace {

/// The file with the checksum that its bytes need, if it has one.
std::string corrected(std::string bytes) {
  constexpr std::string_view kKey = "\"checksum\":\"", kZeros = "00000000000000000000000000000000";
  const std::size_t key = bytes.find(kKey), at = key + kKey.size();
  if (key == bytes.npos || at + kZeros.size() > bytes.size()) return bytes;
  const std::string digits = quorate::hash128_hex(bytes.replace(at, kZeros.size(), kZeros));
  return bytes.replace(at, digits.size(), digits);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace quorate;
  fuzz::only_errors([&] {
    const std::string bytes = corrected({reinterpret_cast<const char*>(data), size});
    const Model model = Model::from_bytes(bytes);
    const std::string saved = model.to_bytes();
    fuzz::require(Model::from_bytes(saved).to_bytes() == saved, "what loads saves the same bytes");
    const std::array<Index, 3> index{0, 2, 7};
    const std::array<double, 3> value{1, 0.5, -2};
    for (Task task = 0; task < std::min<std::size_t>(model.session.tasks().size(), 4); ++task)
      model.session.learner().score({task, {index, value, 1}});
  });
  return 0;
}
