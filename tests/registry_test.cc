#include "quorate/registry.h"

#include <gmock/gmock.h>

#include <set>

namespace quorate::test {
namespace {

TEST(Registry, NamesAreInKebabCaseAndUnique) {
  std::set<std::string_view> names;
  for (const Algorithm& a : algorithms()) {
    EXPECT_TRUE(names.insert(a.name).second) << a.name;
    EXPECT_THAT(std::string(a.name), testing::MatchesRegex("[a-z]+(-[a-z]+)*"));
    EXPECT_FALSE(a.title.empty() || a.source.empty()) << a.name;
  }
}

TEST(Registry, AnUnknownLearnerIsToldWhichThereAre) {
  try {
    canonical(parse_spec("perceptrn"));
    FAIL();
  } catch (const UsageError& e) {
    EXPECT_THAT(e.what(), testing::HasSubstr("'perceptrn'"));
    for (const Algorithm& a : algorithms()) EXPECT_THAT(e.what(), testing::HasSubstr(std::string(a.name)));
  }
}

}  // namespace
}  // namespace quorate::test
