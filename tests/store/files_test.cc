#include "quorate/store/files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "quorate/base/error.h"
#include "support/temp.h"

namespace quorate::test {
namespace {

using testing::HasSubstr;

TEST(OutputFile, IsNotThereBeforeItIsWhole) {
  const TempDir dir;
  const std::string path = dir.at("model");
  {
    OutputFile file(path);
    file.write("half");
    EXPECT_FALSE(std::filesystem::exists(path));
    file.write(" and half");
    file.commit();
    EXPECT_EQ(read_file(path), "half and half");
  }
  EXPECT_EQ(read_file(path), "half and half");
  EXPECT_EQ(dir.files(), 1u);
}

TEST(OutputFile, LeavesTheOldFileIfItIsNotFinished) {
  const TempDir dir;
  const std::string path = dir.write("model", "old");
  {
    OutputFile file(path);
    file.write("new");
    EXPECT_EQ(read_file(path), "old");
  }
  EXPECT_EQ(read_file(path), "old");
  EXPECT_EQ(dir.files(), 1u) << "a temporary file was left";
  {
    OutputFile file(path);
    file.write("new");
    file.commit();
  }
  EXPECT_EQ(read_file(path), "new");
  EXPECT_EQ(dir.files(), 1u);
}

TEST(OutputFile, HasTheUsualPermissions) {
  const TempDir dir;
  const mode_t mask = umask(022);
  {
    OutputFile file(dir.at("model"));
    file.commit();
  }
  umask(mask);
  struct stat info {};
  ASSERT_EQ(stat(dir.at("model").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777u, 0644u);
}

TEST(OutputFile, SaysWhichFileCannotBeWritten) {
  const TempDir dir;
  const std::string path = dir.at("no/such/directory/model");
  try {
    OutputFile file(path);
    FAIL() << "written";
  } catch (const FileError& e) {
    EXPECT_THAT(e.what(), HasSubstr(path));
  }
  EXPECT_THROW(OutputFile(dir.path()), FileError) << "a directory";
}

TEST(OutputFile, AFullDiskIsAnErrorAndNotAShorterFile) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full";
  OutputFile file("/dev/full");
  EXPECT_THROW(
      {
        file.write(std::string(1 << 20, 'x'));
        file.commit();
      },
      FileError);
}

TEST(SameFile, FollowsLinksAndIsNeverADevice) {
  const TempDir dir;
  const std::string file = dir.write("file", "x"), other = dir.write("other", "x");
  std::filesystem::create_symlink(file, dir.at("soft"));
  std::filesystem::create_hard_link(file, dir.at("hard"));
  for (const std::string& name : {file, dir.at("soft"), dir.at("hard"), dir.path() + "/./file"}) {
    EXPECT_TRUE(same_file(name, file)) << name;
    EXPECT_FALSE(same_file(name, other)) << name;
  }
  EXPECT_FALSE(same_file(dir.at("new"), dir.at("new"))) << "nothing to lose";
  EXPECT_FALSE(same_file("/dev/null", "/dev/null"));
}

TEST(OutputFile, WritesWhatALinkPointsToAndKeepsTheLink) {
  const TempDir dir;
  const std::string target = dir.write("target", "old"), link = dir.at("link");
  std::filesystem::create_symlink(target, link);
  OutputFile file(link);
  file.write("new");
  file.commit();
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_EQ(read_file(target), "new");
}

TEST(OutputFile, WritesIntoADeviceThatIsThere) {
  OutputFile file("/dev/null");
  file.write("gone");
  EXPECT_NO_THROW(file.commit());
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
}

TEST(ReadFile, ReturnsEveryByteOrSaysWhichFileItCannotOpen) {
  const TempDir dir;
  std::string bytes;
  for (int i = 0; i < 200'000; ++i) bytes += static_cast<char>(i * 7);
  EXPECT_EQ(read_file(dir.write("all", bytes)), bytes);
  EXPECT_EQ(read_file(dir.write("none", "")), "");
  EXPECT_THROW(read_file(dir.at("missing")), FileError);
  EXPECT_THROW(read_file(dir.path()), FileError) << "a directory";
}

}  // namespace
}  // namespace quorate::test
