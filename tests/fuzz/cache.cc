// The cache of parsed examples: the input is one block after the file's first line, with its checksum corrected.
#include <array>
#include <cstring>

#include "fuzz.h"
#include "quorate/base/hash.h"
#include "quorate/stream/example_block.h"

namespace {

constexpr std::size_t kHeader = 10 * sizeof(std::uint64_t);  // five sizes, last, three numbers of the reader, checksum

/// Writes the checksum of the header and of the five parts that it announces, if they are there.
std::string corrected(std::string block) {
  if (block.size() < kHeader) return block;
  std::array<std::uint64_t, kHeader / 8> header{};
  std::memcpy(header.data(), block.data(), kHeader);
  header.back() = 0;
  std::uint64_t sum = quorate::hash64({reinterpret_cast<const char*>(header.data()), kHeader});
  const std::size_t sizes[] = {sizeof(quorate::ExampleBlock::Row), 1, sizeof(quorate::Index), sizeof(double), 1};
  std::size_t at = kHeader;
  for (std::size_t part = 0; part < 5; ++part) {
    if (header[part] > (block.size() - at) / sizes[part]) return block;
    const std::size_t bytes = header[part] * sizes[part];
    sum = sum * 0x9E3779B97F4A7C15u + quorate::hash64(std::string_view(block).substr(at, bytes));
    at += bytes;
  }
  std::memcpy(block.data() + kHeader - 8, &sum, 8);
  return block;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace quorate;
  const std::string first = BlockCache::first_line("key");
  const std::string path =
      fuzz::file_of(hash128_hex(first) + ".instances", first + corrected({reinterpret_cast<const char*>(data), size}));
  fuzz::only_errors([&] {
    BlockCache cache(path.substr(0, path.rfind('/')), "key");
    fuzz::require(cache.made(), "the file is found");
    ExampleBlock block;
    do {
      cache.read(block);
      for (std::size_t row = 0; row < block.rows.size(); ++row) {
        const Features x = block.x(row);
        fuzz::require(block.id(row).size() + block.task(row).size() + block.label(row).size() <= block.text.size(),
                      "texts are inside the block");
        fuzz::require(x.index.size() <= block.index.size() && x.value.size() <= block.value.size(),
                      "instances are inside the block");
      }
    } while (!block.last);
  });
  return 0;
}
