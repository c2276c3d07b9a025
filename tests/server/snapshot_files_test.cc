#include "server/snapshot_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "quorate/base/error.h"
#include "quorate/base/hash.h"
#include "support/temp.h"

namespace quorate::server {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// A snapshot of these bytes.
void write(const test::TempDir& dir, std::uint64_t sequence, const std::string& model, const std::string& state) {
  const std::string name = snapshot_name("", sequence).substr(1);
  dir.write(name + ".model", model);
  dir.write(name + ".desk", snapshot_head(sequence, "j", hash128_hex(model), hash128_hex(state)) + state);
}

TEST(SnapshotFiles, TheNewestComeFirst) {
  const test::TempDir dir;
  for (const std::uint64_t sequence : {7U, 12U, 3U}) write(dir, sequence, "model", "{}");
  EXPECT_THAT(snapshots_of(dir.path()), ElementsAre(12, 7, 3));
  EXPECT_GT(snapshot_bytes_of(dir.path()), 3 * 5u);
  remove_snapshot(dir.path(), 7);
  EXPECT_THAT(snapshots_of(dir.path()), ElementsAre(12, 3));
}

TEST(SnapshotFiles, AStateIsReadAsItWasWrittenOrNotAtAll) {
  const test::TempDir dir;
  write(dir, 7, "model", R"({"now":1})");
  EXPECT_EQ(read_state(dir.path(), 7, "j"), R"({"now":1})");
  for (const auto& [ending, bytes] : {std::pair{".model", "mode"}, std::pair{".desk", "{}"}}) {
    write(dir, 7, "model", R"({"now":1})");
    dir.write(snapshot_name("", 7).substr(1) + ending, bytes);
    try {
      read_state(dir.path(), 7, "j");
      FAIL() << ending;
    } catch (const DataError& e) {
      EXPECT_THAT(e.what(), HasSubstr(ending));
    }
  }
}

}  // namespace
}  // namespace quorate::server
