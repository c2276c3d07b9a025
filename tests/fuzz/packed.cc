// Decompression. Byte 1 of the input chooses the format, the rest is the file.
#include "fuzz.h"
#include "quorate/stream/source.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace quorate;
  fuzz::Input in(data, size);
  static const std::string kNames[] = {"input", "input.gz", "input.xz", "input.zst"};
  const std::string& name = kNames[in.byte() % 4];
  fuzz::only_errors([&] {
    LineReader lines(fuzz::file_of(name, in.rest()));
    std::size_t bytes = 0;
    for (std::string_view line; bytes < (1 << 22) && lines.next(line);) bytes += line.size() + 1;
    fuzz::require(lines.consumed() <= in.rest().size(), "no more is read than there is");
  });
  return 0;
}
