#include "quorate/base/byte_size.h"

#include <gtest/gtest.h>

namespace quorate::test {
namespace {

std::size_t bytes_of(std::string_view text) {
  const auto size = ByteSize::parse(text);
  return size ? size->bytes : 0;
}

TEST(ByteSize, IsANumberWithAUnitOrWithout) {
  EXPECT_EQ(bytes_of("500"), 500u);
  EXPECT_EQ(bytes_of("500"), 500u);
  EXPECT_EQ(bytes_of("8MB"), 8'000'000u);
  EXPECT_EQ(bytes_of("8mb"), 8'000'000u);
  EXPECT_EQ(bytes_of("1.5 GB"), 1'500'000'000u);
  EXPECT_EQ(bytes_of(" 64KiB "), 65536u);
  EXPECT_EQ(bytes_of("2GiB"), std::size_t{2} << 30);
}

TEST(ByteSize, RefusesEverythingElse) {
  for (const char* text : {"", "MB", "-1", "0.5", "8MX", "8 M B", "1e30", "nan", "inf"})
    EXPECT_FALSE(ByteSize::parse(text)) << text;
}

TEST(ByteSize, IsWrittenInTheLargestWholeUnit) {
  EXPECT_EQ(to_text(ByteSize{500}), "500");
  EXPECT_EQ(to_text(ByteSize{8'000'000}), "8MB");
  EXPECT_EQ(to_text(ByteSize{65536}), "64KiB");
  EXPECT_EQ(to_text(ByteSize{65537}), "65537");
  for (const std::size_t bytes : {1u, 1000u, 1024u, 123'456'789u}) EXPECT_EQ(bytes_of(to_text(ByteSize{bytes})), bytes);
}

}  // namespace
}  // namespace quorate::test
